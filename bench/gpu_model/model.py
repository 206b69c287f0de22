#!/usr/bin/env python3
"""What to expect of a GPU, without one: a model, not a measurement (docs/gpu.md says what it rests on).

    model.py <folder> [--gpu A100,H100,H200,B200] [--json FILE] [--shares FILE] [--markdown]

<folder> is what gpu_launches (launches.cpp) wrote: the sources of the bench's kernels and what its
workloads launch. Each kernel is compiled by NVRTC and disassembled; its time on a GPU is bounded by

  memory   the bytes that the workload needs, at the bandwidth of a copy
  cache    those that strided lanes ask the second level's cache for
  issue    the instructions of its hot path, at four a cycle for each multiprocessor
  waiting  how long a warp takes from its first instruction to its last, by the warps that registers
           and shared memory let a multiprocessor hold (Little's law)

and the host by the calls of the driver. Exit code 77: a tool is missing.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import re
import sys

import paths
import sass


@dataclasses.dataclass(frozen=True)
class Gpu:
    """Figures of data sheets, but for latency and the copy's share, which are of publications."""
    name: str
    architecture: int
    multiprocessors: int
    clock: float      # Hz, under load
    bandwidth: float  # bytes a second, of the memory
    latency: float    # seconds, of a load from memory while others are under way
    copy_share: float = 0.91  # what a copy reaches of the bandwidth
    near: float = 0.16e-6     # seconds of a load from the second level's cache
    cache: float = 5.5e12     # bytes a second of that
    gap: float = 1.0e-6       # between two kernels of a stream: one drains, the next fills
    warps: int = 64           # of a multiprocessor at most
    blocks: int = 32
    shared_bytes: int = 164 << 10

    @property
    def copy(self):
        return self.bandwidth * self.copy_share


GPUS = {gpu.name: gpu for gpu in (
    Gpu("A100", 80, 108, 1.41e9, 2.039e12, 0.60e-6, cache=4.0e12),
    Gpu("H100", 90, 132, 1.755e9, 3.35e12, 0.65e-6, shared_bytes=228 << 10),
    Gpu("H200", 90, 132, 1.755e9, 4.8e12, 0.65e-6, shared_bytes=228 << 10),
    Gpu("B200", 100, 148, 1.85e9, 8.0e12, 0.75e-6, cache=10e12, shared_bytes=228 << 10),
)}
ISSUED_PER_CYCLE = 4
SECTOR = 32  # bytes, the least that a cache is asked for
BOUNDS = ("memory", "cache", "issue", "waiting")
REGISTERS = 65536
# Host time of calls of the driver, in seconds; others 0.1 us.
CALLS = {"cuLaunchKernelEx": 2.2e-6, "cuGraphLaunch": 3.5e-6, "cuStreamWriteValue32_v2": 1.0e-6,
         "cuGraphExecKernelNodeSetParams_v2": 0.6e-6, "cuMemcpyHtoDAsync_v2": 2.0e-6,
         "cuEventRecord": 0.6e-6, "cuEventQuery": 0.3e-6, "cuStreamWaitEvent": 0.5e-6,
         "cuEventSynchronize": 1.0e-6, "cuCtxPushCurrent_v2": 0.05e-6, "cuCtxPopCurrent_v2": 0.05e-6}
OTHER_CALL = 0.1e-6
SIZES = {"sl_f16": 2, "sl_bf16": 2, "sl_i16": 2, "sl_u16": 2, "sl_b8": 1, "sl_i8": 1, "sl_u8": 1,
         "double": 8, "sl_i64": 8, "sl_u64": 8}


def resident_blocks(gpu, kernel, threads):
    """Blocks that a multiprocessor holds at a time."""
    warps = threads // 32
    registers = math.ceil(max(kernel.registers, 16) * 32 / 256) * 256 * warps
    shared = kernel.shared_bytes + 1024
    return max(1, min(gpu.blocks, gpu.warps // warps, REGISTERS // registers,
                      gpu.shared_bytes // shared))


def kernel_bounds(gpu, kernel, launch):
    """The bounds of a launch in seconds, but for memory's, and what they follow from."""
    threads, blocks = launch["threads"], launch["blocks"]
    warps = blocks * threads / 32
    resident = resident_blocks(gpu, kernel, threads)
    at_once = min(resident, math.ceil(blocks / gpu.multiprocessors)) * threads / 32
    call = launch.get("call")
    if is_last_stage(launch):
        # A thread combines what blocks have left of its row, eight at a time.
        batches = math.ceil(call["chunks"] / call["threads_a_row"] / 8)
        walk = paths.Walk(60 * batches + 200, batches * gpu.near * gpu.clock + 1000, 8 * 4)
    else:
        walk = paths.walk(paths.hot_path(kernel, launch), call, gpu.latency * gpu.clock,
                          gpu.near * gpu.clock)
    share = warps / gpu.multiprocessors
    # Where there are few blocks, some multiprocessors have one more than others.
    if blocks <= 8 * gpu.multiprocessors * resident:
        share = math.ceil(blocks / gpu.multiprocessors) * threads / 32
    return {
        "issue": share * walk.instructions / ISSUED_PER_CYCLE / gpu.clock,
        "waiting": share * walk.cycles / at_once / gpu.clock,
        "cache": launch.get("strided_bytes", 0) / gpu.cache,
        "instructions": walk.instructions,
        "registers": kernel.registers, "blocks": resident,
        "under_way": walk.under_way * 32 * at_once,  # bytes of a multiprocessor
    }


def is_last_stage(launch):
    """The launch after those that reduce parts of rows."""
    call = launch.get("call")
    return bool(call) and call["stage"] > 0 and call["splits"] == 1


def together(*seconds):
    """Of several bounds: the largest, and more where another is close to it."""
    return sum(s ** 4 for s in seconds) ** 0.25


def model(gpu, workload, kernels):
    """A row of the table, or None if a launch is not modelled."""
    copy_time = workload["bytes"] / gpu.copy
    device, rows = 0.0, []
    for number, launch in enumerate(workload["launches"]):
        kernel = kernels.get((gpu.architecture, launch["kernel"]))
        if kernel is None:
            return None
        bounds = kernel_bounds(gpu, kernel, launch)
        # All but the first of several launches work on partial results.
        bounds["memory"] = copy_time if number == 0 else 0.0
        device += together(*(bounds[name] for name in BOUNDS)) + gpu.gap
        rows.append(bounds)
    host = sum(count * CALLS.get(name, OTHER_CALL) for name, count in workload["calls"].items())
    first = rows[0]
    seconds = max(device, host)
    bound = max(BOUNDS, key=lambda name: first[name])
    if host > device:
        bound = "host"
    share = (workload["bytes"] / seconds) / gpu.copy if workload["bytes"] else None
    return dict(gpu=gpu.name, workload=workload["workload"], dtype=workload["dtype"],
                size=workload["size"], seconds=seconds, host=host, of_copy=share, bound=bound,
                launches=len(rows), calls=sum(workload["calls"].values()), **{
                    key: first[key] for key in ("instructions", "registers", "blocks", "under_way",
                                                *BOUNDS)})


def read(folder):
    """The sources, by their kernels, and the workloads."""
    sources, workloads = {}, []
    for line in (folder / "launches.jsonl").read_text().splitlines():
        record = json.loads(line)
        if "source" in record:
            for name in record["kernels"]:
                sources[name] = record
        else:
            workloads.append(record)
    for workload in workloads:
        for launch in workload["launches"]:
            add_team(folder, sources.get(launch["kernel"]), launch)
    return sources, workloads


def add_team(folder, record, launch):
    """Adds how a row is divided (prelude_rows.inc) to a launch's call; a pointwise one has none."""
    call = launch.get("call")
    if call is None or record is None:
        return
    text = (folder / record["source"]).read_text()
    name = launch["kernel"]
    if re.search(rf"SL_KERNEL(_OF)?\({name}, {name}_program0::Args\b", text) is None:
        del launch["call"]  # a table of calls
        return
    text = text[text.index(f"namespace {name}_program0"):]
    text = text[:text.index("}  // namespace")]
    if "sl_row_team<Index> team" in text or "sl_kept_team<Index, " in text:
        call.update(chunk=8192, threads_a_row=call["team"])
    elif "sl_across_team<Index> team" in text or "sl_chunk_team<Index> team" in text:
        team = call["team"]
        call.update(chunk=8192, threads_a_row=team // 8 if team > 32 else min(team, 4))
    elif "sl_column_team<Index, " in text:
        call.update(chunk=512, threads_a_row=8)
    else:
        del launch["call"]
        add_strided(text, launch)


def add_strided(text, launch):
    """Adds what lanes that are not consecutive read: a sector for each element, but by tiles, where the
    threads of a block take all of it."""
    lanes = int(re.search(r"sl_point_team<Index, (\d+)>", text)[1])
    types = {name: t for t, name in re.findall(r"^  (\w+)\* (a\d+);", text, re.M)}
    strided = set(re.findall(r"sl_load\((a\d+)[^;]*\(i(?: \+ l)?\) \* Index", text))
    elements = launch["blocks"] * launch["threads"] * lanes
    launch["strided_bytes"] = sum(
        elements * (SIZES.get(types[a], 4) if "find_tile" in text else SECTOR) for a in strided)


def compile_all(folder, sources, workloads, architectures):
    """Kernels by architecture and name."""
    kernels = {}
    wanted = {launch["kernel"] for w in workloads for launch in w["launches"]}
    for name in sorted(wanted):
        record = sources.get(name)
        if record is None:
            continue
        for architecture in architectures:
            text = (folder / record["source"]).read_text()
            found = sass.kernels_of(text, architecture, record["contracts"])
            kernels[architecture, name] = found[name]
    return kernels


COLUMNS = ("workload", "of copy", "bound by", "KB under way", "instructions", "registers", "blocks")


def cells(row):
    share = "" if row["of_copy"] is None else f"{row['of_copy'] * 100:.0f} %"
    return (f"{row['workload']} {row['dtype']} {row['size']}", share, row["bound"],
            f"{row['under_way'] / 1024:.0f}", f"{row['instructions']:.0f}", str(row["registers"]),
            str(row["blocks"]))


def print_table(rows, markdown):
    lines = [COLUMNS] + [cells(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    for number, line in enumerate(lines):
        text = [cell.ljust(width) for cell, width in zip(line, widths)]
        print("| " + " | ".join(text) + " |" if markdown else "  ".join(text).rstrip())
        if number == 0:
            rule = ["-" * width for width in widths]
            print("| " + " | ".join(rule) + " |" if markdown else "  ".join(rule))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--gpu", default="A100,H100,H200,B200", type=lambda t: t.split(","))
    parser.add_argument("--json", help="writes all figures")
    parser.add_argument("--shares", help="writes the shares of a copy, for scripts/gpu_table.py")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    unknown = [name for name in options.gpu if name not in GPUS]
    if unknown:
        parser.error(f"--gpu: '{unknown[0]}' is none of {', '.join(GPUS)}")
    gpus = [GPUS[name] for name in options.gpu]
    sources, workloads = read(options.folder)
    try:
        kernels = compile_all(options.folder, sources, workloads, [g.architecture for g in gpus])
    except sass.Missing as missing:
        print(f"model.py: {missing}", file=sys.stderr)
        return 77
    every = []
    for gpu in gpus:
        rows = [row for w in workloads if (row := model(gpu, w, kernels))]
        every += rows
        print(f"\n{gpu.name}: a copy at {gpu.copy * 1e-9:.0f} GB/s\n")
        print_table(rows, options.markdown)
    if options.shares:
        shares = {gpu.name: {cells(row)[0]: round(row["of_copy"] * 100) for row in every
                             if row["gpu"] == gpu.name and row["of_copy"] is not None}
                  for gpu in gpus}
        pathlib.Path(options.shares).write_text(json.dumps(shares, indent=1) + "\n")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(every, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
