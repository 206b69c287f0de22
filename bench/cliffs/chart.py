"""The chart of bench/cliffs, as SVG: a bar per row and mode, Sluice's time over the best peer's."""

import html
import math

import report

LINE, LABEL, PANEL, HEAD = 13, 330, 260, 64
FASTER, SLOWER, EQUAL = "#2a9d5c", "#d1495b", "#9aa5b1"
DECADES = 1.5  # to either side of 1; what is further off is drawn up to here


def colour_of(ratio):
    return SLOWER if ratio > report.LIMIT else EQUAL if ratio > 1 / report.LIMIT else FASTER


def text(x, y, content, size=9, anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{html.escape(content)}</text>')


def bar(middle, y, ratio):
    length = max(-DECADES, min(DECADES, math.log10(ratio))) / DECADES * (PANEL / 2 - 24)
    x = middle + min(length, 0)
    right = length > 0
    return [f'<rect x="{x:.1f}" y="{y + 2}" width="{max(abs(length), 0.5):.1f}" height="{LINE - 4}" '
            f'fill="{colour_of(ratio)}"/>',
            text(middle + length + (3 if right else -3), y + LINE - 3, report.ratio_text(ratio), 8,
                 "start" if right else "end")]


def draw(result):
    modes = report.modes_of(result)
    groups = list(dict.fromkeys(entry["class"] for entry in result["rows"]))
    height = HEAD + LINE * (len(result["rows"]) + 2 * len(groups)) + 20
    width = LABEL + PANEL * len(modes) + 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             'font-family="sans-serif">', f'<rect width="{width}" height="{height}" fill="white"/>',
             text(10, 20, f"Sluice's time over that of the best of NumPy, JAX and torch: red above "
                  f"{report.LIMIT}", 13, weight="bold"),
             text(10, 36, f"{result['date'][:10]}, Sluice {result['commit']}, "
                  f"{result['machine']['processor']}")]
    for panel, mode in enumerate(modes):
        middle = LABEL + PANEL * (panel + 0.5)
        parts.append(text(middle, HEAD - 8, f"threads: {mode}".replace(" quiet", ", quiet").replace(
            " busy", ", busy"), 10, "middle", "bold"))
        for factor in (1 / 10, 1 / 3, 1, 3, 10):
            x = middle + math.log10(factor) / DECADES * (PANEL / 2 - 24)
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD}" y2="{height - 16}" '
                         f'stroke="{"#444" if factor == 1 else "#ddd"}" stroke-width="0.7"/>')
            parts.append(text(x, height - 6, f"{factor:.2g}", 8, "middle"))
    y = HEAD
    for group in groups:
        y += LINE
        parts.append(text(10, y + LINE - 3, group, 10, weight="bold"))
        y += LINE
        for entry in (e for e in result["rows"] if e["class"] == group):
            parts.append(text(LABEL - 6, y + LINE - 3, entry["name"], anchor="end"))
            for panel, mode in enumerate(modes):
                ratio = report.ratio(entry, mode)
                if ratio:
                    parts += bar(LABEL + PANEL * (panel + 0.5), y, ratio)
            y += LINE
    return "\n".join([*parts, "</svg>"]) + "\n"
