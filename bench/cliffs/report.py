"""What bench/cliffs prints."""

import math
import os
import pathlib
import platform
import re
import subprocess

from exceptions import EXCEPTIONS

LIMIT = 1.1  # of the best peer's time; rows above it come first
BUSY_LIMIT = 1.2  # of its own quiet time with one thread, beside busy processes
CHANGE = 1.15  # what counts as one between two runs
PEERS = ("numpy", "jax", "torch")


def machine(device):
    def first(path, pattern):
        try:
            match = re.search(pattern, pathlib.Path(path).read_text())
        except OSError:
            return None
        return match.group(1).strip() if match else None

    if device == "cpu":
        processor = first("/proc/cpuinfo", r"model name\s*:(.*)") or platform.processor()
    else:
        processor = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version",
                                    "--format=csv,noheader", "--id=0"],
                                   text=True, capture_output=True, check=False).stdout.strip()
    return {"processor": processor, "processors": os.cpu_count(),
            "system": first("/etc/os-release", r'PRETTY_NAME="(.*)"') or platform.system()}


def figure_of(mode):
    """Quiet times are least ones, since whatever else ran can only add to them. Beside busy
    processes what they add is the point."""
    return "median" if mode.endswith("busy") else "min"


def time_of(entry, mode, who):
    result = entry["results"].get(mode, {}).get(who)
    return result[figure_of(mode)] if result else None


def best_peer(entry, mode):
    times = {who: time_of(entry, mode, who) for who in PEERS}
    times = {who: seconds for who, seconds in times.items() if seconds}
    return min(times, key=times.get) if times else None


def ratio(entry, mode, who=None):
    """Sluice's time over that of a peer, the best one if none is named."""
    own, who = time_of(entry, mode, "sluice"), who or best_peer(entry, mode)
    other = time_of(entry, mode, who) if who else None
    return own / other if own and other else None


def seconds_text(seconds):
    if seconds is None:
        return "-"
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def ratio_text(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"


def modes_of(result):
    found = {mode for entry in result["rows"] for mode in entry["results"]}
    return sorted(found, key=lambda mode: (mode.endswith("busy"), int(mode.split()[0])))


def quiet(modes):
    return [mode for mode in modes if mode.endswith("quiet")]


def worst(entry, modes):
    return max((ratio(entry, mode) or 0 for mode in modes), default=0)


def slowdown(entry, mode):
    """Beside busy processes: the time over Sluice's own quiet time with one thread."""
    own, alone = time_of(entry, mode, "sluice"), time_of(entry, "1 quiet", "sluice")
    return own / alone if own and alone else None


def is_above(entry, mode):
    """Whether the row is above the limit of the mode."""
    if mode.endswith("busy"):
        return (slowdown(entry, mode) or 0) > BUSY_LIMIT
    return (ratio(entry, mode) or 0) > LIMIT


def exception_of(entry):
    """Why the row may be above the limit; None if there is no reason."""
    return next((reason for pattern, reason in EXCEPTIONS.items()
                 if re.fullmatch(pattern, entry["name"])), None)


def progress(entry, threads):
    mode = f"{threads} quiet" if f"{threads} quiet" in entry["results"] else f"{threads} busy"
    text = (f"{entry['name']}: {seconds_text(time_of(entry, mode, 'sluice'))}, "
            f"{ratio_text(ratio(entry, mode))} of {best_peer(entry, mode)}")
    for what in ("failures", "differences"):
        text += "".join(f"; {who}: {reason}" for who, reason in entry[what].items())
    return text


class Table:
    def __init__(self, result):
        self.modes = modes_of(result)
        self.width = max(len(entry["name"]) for entry in result["rows"])
        self.has_interpreted = any("interpreted" in of_mode for entry in result["rows"]
                                   for of_mode in entry["results"].values())

    def head(self):
        lines = [" " * self.width, " " * self.width]
        for mode in self.modes:
            count, load = mode.split()
            title = f"{count} thread{'s' if count != '1' else ''}, {load}"
            columns = f"{'sluice':>9}" + "".join(f" {peer:>6}" for peer in PEERS)
            if self.has_interpreted:
                columns += f" {'interp':>6}"
            if load == "busy" and "1 quiet" in self.modes:
                columns += f" {'/quiet':>6}"
            lines[0] += f" | {title:^{len(columns)}}"
            lines[1] += " | " + columns
        return lines

    def line(self, entry):
        line = f"{entry['name']:{self.width}}"
        for mode in self.modes:
            line += f" | {seconds_text(time_of(entry, mode, 'sluice')):>9}"
            line += "".join(f" {ratio_text(ratio(entry, mode, peer)):>6}" for peer in PEERS)
            if self.has_interpreted:
                line += f" {ratio_text(ratio(entry, mode, 'interpreted')):>6}"
            if mode.endswith("busy") and "1 quiet" in self.modes:
                line += f" {ratio_text(slowdown(entry, mode)):>6}"
        details = next(iter(entry["sluice"].values()), {})
        if details.get("compiled") == 0:
            line += "  never compiled"
        return line


def section(title, table, entries):
    if not entries:
        return []
    return ["", f"{title} ({len(entries)})", *table.head(), *(table.line(e) for e in entries)]


def summary(result, modes):
    lines = []
    for mode in modes:
        ratios = [r for r in (ratio(entry, mode) for entry in result["rows"]) if r]
        if not ratios:
            continue
        above = sum(r > LIMIT for r in ratios)
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        excepted = sum((ratio(entry, mode) or 0) > LIMIT and exception_of(entry) is not None
                       for entry in result["rows"])
        line = (f"{mode}: {above} of {len(ratios)} rows above {LIMIT} of the best peer "
                f"({100 * above / len(ratios):.0f} %), {excepted} of them for a stated reason, "
                f"geometric mean {mean:.2f}")
        if mode.endswith("busy"):
            slower = [s for s in (slowdown(entry, mode) for entry in result["rows"]) if s]
            line += (f"; {sum(s > BUSY_LIMIT for s in slower)} above {BUSY_LIMIT} of their own "
                     "quiet time with one thread")
        lines.append(line)
    return lines


def text_of(result):
    modes, table = modes_of(result), Table(result)
    entries = result["rows"]
    lines = [f"{result['date']}, Sluice {result['commit']}, {len(entries)} rows, "
             f"{result['rounds']} rounds",
             ", ".join(f"{key} {value}" for key, value in result["machine"].items())]
    lines += [f"  {who:12} {version}" for who, version in result["versions"].items()]
    lines += [f"  {who:12} not there: {why}" for who, why in result["missing"].items()]
    lines += ["", "Sluice's time, and that over theirs: below 1 Sluice is faster.",
              *summary(result, modes)]

    said = [f"  {e['name']}: {who}: {why}" for e in entries for who, why in e["failures"].items()]
    lines += ["", "Failed", *said] if said else []
    said = [f"  {e['name']}: sluice and {who}: {why}" for e in entries
            for who, why in e["differences"].items()]
    lines += ["", "Results differ", *said] if said else []
    said = [f"  {e['name']}" for e in entries if "sluice" in e["lacks"]]
    lines += ["", "Sluice does not have it", *said] if said else []

    def above(entry):
        return worst(entry, quiet(modes)) > LIMIT

    slower = sorted(filter(above, entries), key=lambda e: -worst(e, quiet(modes)))
    lines += section(f"Above {LIMIT} of the best peer", table,
                     [e for e in slower if exception_of(e) is None])
    excepted = [e for e in slower if exception_of(e) is not None]
    lines += section(f"Above {LIMIT} of the best peer, for a reason", table, excepted)
    for reason in dict.fromkeys(map(exception_of, excepted)):
        names = "; ".join(e["name"] for e in excepted if exception_of(e) == reason)
        lines.append(f"  {names}: {reason}")
    busy = [mode for mode in modes if mode.endswith("busy")]

    def held_up(entry):
        return max((slowdown(entry, mode) or 0 for mode in busy), default=0)

    lines += section(f"Beside busy processes above {BUSY_LIMIT} of their own quiet time with one "
                     "thread", table,
                     sorted((e for e in entries if held_up(e) > BUSY_LIMIT),
                            key=lambda e: -held_up(e)))
    for group in dict.fromkeys(entry["class"] for entry in entries):
        lines += section(group, table, [e for e in entries if e["class"] == group])
    return "\n".join(lines)


def comparison(before, after):
    """Rows that changed, in Sluice's time and relative to the best peer, which tells a change from
    another machine."""
    old = {entry["name"]: entry for entry in before["rows"]}
    lines = ["", f"Compared with Sluice {before['commit']}, {before['date']}: time, and ratio to "
             "the best peer, before and after"]
    for mode in modes_of(after):
        changes = []
        for entry in after["rows"]:
            earlier = old.get(entry["name"], {"results": {}})
            times = time_of(earlier, mode, "sluice"), time_of(entry, mode, "sluice")
            if None not in times and not 1 / CHANGE < times[1] / times[0] < CHANGE:
                changes.append((times[1] / times[0], entry, times,
                                (ratio(earlier, mode), ratio(entry, mode))))
        changes.sort(key=lambda change: -change[0])
        slower = sum(change[0] > 1 for change in changes)
        lines += ["", f"{mode}: {slower} slower, {len(changes) - slower} faster"]
        lines += [f"  x {ratio_text(change):>5}  {seconds_text(times[0]):>9} "
                  f"{seconds_text(times[1]):>9}  {ratio_text(ratios[0]):>5} "
                  f"{ratio_text(ratios[1]):>5}  {entry['name']}"
                  for change, entry, times, ratios in changes]
    return "\n".join(lines)
