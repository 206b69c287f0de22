"""Relates what the GPU bench measured to goals and to a model, and prints the table."""

import json
import pathlib

# At most so much of the bandwidth of a copy is asked for.
POINTWISE_GOAL = 0.92
ROWS_GOAL = 0.85
EAGER_GOAL = 10.0  # times the ops of torch eager a second, on small tensors
SUBMIT_GOAL = 10e-6  # seconds
SMALLEST_POINTWISE = 16 << 20  # elements: below, a launch costs more than memory does
PEERS = {"torch": "torch", "compile": "torch.compile", "jax": "JAX", "cupy": "CuPy"}
COMPILED_PEERS = ("compile", "jax")
# Shares of a copy that bench/gpu_model expects, by GPU and workload: `model.py --shares` writes them.
MODELLED = pathlib.Path(__file__).with_name("gpu_modelled.json")
COLUMNS = ("what", "result", "figure", "goal", "met")


class Row:
    """met: True, False, or None where nothing is asked for."""

    def __init__(self, what, result, figure="", goal="", met=None):
        self.what, self.result, self.goal, self.met = what, result, goal, met
        self.figure = " ".join(figure.split())

    def cells(self):
        met = {True: "yes", False: "NO", None: ""}[self.met]
        return (self.what, self.result, self.figure, self.goal, met)

    def to_json(self):
        return dict(zip(COLUMNS, (self.what, self.result, self.figure, self.goal, self.met)))


def key_of(result):
    return (result["workload"], result.get("dtype"), result.get("size"))


def copy_bandwidth(results):
    """Bytes a second of the better of the two copies; None if none was measured."""
    rates = [r["bytes"] / r["seconds"] for r in results
             if r["workload"].startswith("copy by") and "seconds" in r]
    return max(rates, default=None)


def duration(seconds):
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def rate_of(result):
    seconds = result["seconds"]
    if result["flops"] > 0:
        return f"{result['flops'] / seconds * 1e-12:.1f} TFLOP/s"
    if result["bytes"] > 0:
        return f"{result['bytes'] / seconds * 1e-9:.0f} GB/s"
    if result["ops"] > 0 and result["workload"] == "small tensors":
        return f"{result['ops'] / seconds:.3g} ops/s"
    return ""


def elements_of(size):
    return int(size[:-1]) << 20 if size.endswith("M") else 0


def copy_goal(result):
    if result["workload"].startswith("chain of"):
        return POINTWISE_GOAL if elements_of(result["size"]) >= SMALLEST_POINTWISE else None
    if result["workload"] in ("softmax", "layer norm") and result["dtype"] == "float32":
        return ROWS_GOAL if result["size"] == "4096x4096" else None
    return None


def modelled_for(device):
    """Shares by workload for a device whose name has a modelled GPU's in it."""
    if not MODELLED.exists():
        return {}
    shares = json.loads(MODELLED.read_text())
    return next((shares[gpu] for gpu in shares if gpu in device), {})


def bench_row(result, copy, peers, judge, modelled):
    """`peers`: seconds by name, of the same workload. `modelled`: shares of a copy."""
    what = " ".join((result["workload"], result["dtype"], result["size"]))
    figures, goals, met = [rate_of(result)], [], []
    is_copy = result["workload"].startswith("copy by")
    if copy and result["bytes"] > 0 and not is_copy:
        share = result["bytes"] / result["seconds"] / copy
        expected = f" (model: {modelled[what]} %)" if what in modelled else ""
        figures.append(f"{share * 100:.0f} % of copy{expected}")
        if copy_goal(result):
            goals.append(f">= {copy_goal(result) * 100:.0f} % of copy")
            met.append(share >= copy_goal(result))
    for name, seconds in peers.items():
        figures.append(f"{seconds / result['seconds']:.2f} x {PEERS.get(name, name)}")
    compiled = [name for name in COMPILED_PEERS if name in peers]
    if compiled:
        goals.append(">= 1 x " + ", ".join(PEERS[name] for name in compiled))
        met += [peers[name] >= result["seconds"] for name in compiled]
    if result["workload"] == "small tensors" and "torch" in peers:
        goals.append(f">= {EAGER_GOAL:.0f} x torch")
        met.append(peers["torch"] >= EAGER_GOAL * result["seconds"])
    if result["workload"] == "window of 100, submitted":
        goals.append(f"<= {duration(SUBMIT_GOAL)}")
        met.append(result["seconds"] <= SUBMIT_GOAL)
    if result["kernels"] > 0:
        figures.append("1 kernel" if result["kernels"] == 1 else f"{result['kernels']} kernels")
    return Row(what, duration(result["seconds"]), ", ".join(f for f in figures if f),
               "; ".join(goals), all(met) if met and judge else None)


def bench_rows(results, judge, device=""):
    """`judge`: the figures mean something. `device`: the GPU's name."""
    modelled = modelled_for(device)
    copy = copy_bandwidth(results)
    peers = {}
    for r in results:
        if r["who"] != "sluice" and "seconds" in r:
            peers.setdefault(key_of(r), {})[r["who"]] = r["seconds"]
    rows = []
    for r in results:
        if r["who"] == "sluice" and "seconds" in r:
            rows.append(bench_row(r, copy, peers.get(key_of(r), {}), judge,
                                  modelled))
        elif r["who"] == "sluice":
            rows.append(Row(r["workload"], "failed", r["error"][:60]))
    return rows


def print_table(rows):
    lines = [COLUMNS] + [row.cells() for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    for number, line in enumerate(lines):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))
