"""Draws what bench/scoreboard measured: chart.py scoreboard.json scoreboard.png

A panel per contestant, a bar per row, on a logarithmic scale: Sluice is faster to the left of the
middle, the contestant to the right.
"""

import json
import math
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

FASTER, SLOWER, EQUAL = "#2a9d5c", "#d1495b", "#9aa5b1"
LIMIT = 100  # what is further off is drawn up to here; its number is right


def text_of(ratio):
    """The factor by which Sluice is faster or slower."""
    factor = max(ratio, 1 / ratio)
    return f"{factor:.2f}" if factor < 9.95 else f"{factor:.0f}"


def seconds_text(seconds):
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def colour_of(ratio):
    return EQUAL if 0.95 < ratio < 1.05 else FASTER if ratio < 1 else SLOWER


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    rows = [row for row in report["rows"]
            if "sluice" in row["results"] and len(row["results"]) > 1]
    names = [name for name in report["versions"] if name != "sluice" and any(
        name in row["results"] for row in rows)]
    figure, panels = pyplot.subplots(
        1, len(names), sharey=True, squeeze=False,
        figsize=(max(7, 4 + 1.55 * len(names)), 1.6 + 0.3 * len(rows)), layout="constrained")
    places = range(len(rows), 0, -1)
    for panel, name in zip(panels[0], names):
        for place, row in zip(places, rows):
            if name not in row["results"]:
                continue
            ratio = row["results"]["sluice"]["median"] / row["results"][name]["median"]
            length = max(-2.0, min(2.0, math.log10(ratio)))
            panel.barh(place, length, height=0.72, color=colour_of(ratio))
            right = length < 0  # the number stands on the free side
            panel.text(0.06 if right else -0.06, place, text_of(ratio), va="center",
                       ha="left" if right else "right", fontsize=8)
        panel.axvline(0, color="black", linewidth=0.8)
        panel.set_xlim(-math.log10(LIMIT) - 0.1, math.log10(LIMIT) + 0.1)
        panel.set_xticks([-2, -1, 0, 1, 2], ["100", "10", "1", "10", "100"], fontsize=7)
        panel.set_xticks([math.log10(k) for k in (1 / 5, 1 / 2, 2, 5)], minor=True)
        panel.grid(axis="x", linewidth=0.4, alpha=0.6)
        panel.set_axisbelow(True)
        panel.set_title(name, fontsize=10, fontweight="bold")
        for side in ("top", "right", "left"):
            panel.spines[side].set_visible(False)
        panel.tick_params(axis="y", length=0)
    panels[0][0].set_yticks(list(places), [
        f"{row['name']}   {seconds_text(row['results']['sluice']['median']):>7}" for row in rows],
        fontsize=9)
    panels[0][0].set_ylim(0.4, len(rows) + 0.6)
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    figure.suptitle("Sluice is faster (green) or slower (red) by this factor", fontsize=11)
    machine = report["machine"]
    figure.supxlabel(f"{report['date'][:10]}, Sluice {report['commit']}, {machine['processor']}, "
                     f"{report['threads']} threads, medians of {report['rounds']}", fontsize=8)
    figure.savefig(sys.argv[2], dpi=110)


if __name__ == "__main__":
    main()
