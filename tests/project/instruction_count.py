"""Checks how many instructions recording an op and flushing a window take, by callgrind.

    instruction_count.py <host_cost_loop> <libsluice.so> "<compiler> <version> <build type>"
                         [--record]

Fails if a figure is more than 1 % above the recorded one (instruction_counts.json, beside this
file; --record writes it). Counts depend on the compiler: one without recorded figures is skipped,
with exit code 77, as is a machine without valgrind.

Counted is what runs after a warm-up: what LLVM takes to compile depends on addresses. An op is what
one more op costs in a chain of 1,000; a flush is what a chain of 10 costs beside its ops: planning
is done, so that is looking the plan up, running it and reading the result.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

RECORD = pathlib.Path(__file__).with_name("instruction_counts.json")
TOLERANCE = 1.01
SKIPPED = 77


def of_a_chain(program, ops, chains, *operands):
    """Instructions of one chain in the steady state."""
    environment = dict(
        os.environ, SLUICE_THREADS="1", SLUICE_DISK_CACHE="off", SLUICE_COMPILE="blocking"
    )
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            ["valgrind", "--tool=callgrind", "--toggle-collect=steady_state",
             f"--callgrind-out-file={folder}/out", program, str(ops), str(chains), *operands],
            env=environment, cwd=folder, capture_output=True, text=True, check=False)
    match = re.search(r"Collected\s*:\s*(\d+)", result.stderr)
    if result.returncode != 0 or not match:
        sys.exit(f"valgrind failed:\n{result.stderr[-4000:]}")
    return int(match[1]) / chains


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--record"]
    if len(arguments) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    program, library, build = arguments
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed (scripts/setup test installs it)")
        return SKIPPED
    records = json.loads(RECORD.read_text(encoding="utf-8"))
    recording = "--record" in sys.argv
    if build not in records and not recording:
        print(f"skipped: no figures are recorded for {build}; --record writes them")
        return SKIPPED

    op = of_a_chain(program, 1000, 20) / 1000
    scalar_op = of_a_chain(program, 1000, 20, "scalars") / 1000
    gradient_op = of_a_chain(program, 1000, 20, "gradients") / 1000
    flush = of_a_chain(program, 10, 1000) - 10 * op
    measured = {"op": round(op, 1), "op with a scalar": round(scalar_op, 1),
                "op that needs a gradient": round(gradient_op, 1), "flush": round(flush)}
    if recording:
        records[build] = measured
        RECORD.write_text(json.dumps(records, indent=2) + "\n", encoding="utf-8")
    failed = False
    for name, count in measured.items():
        limit = records[build][name] * TOLERANCE
        failed |= count > limit
        print(f"{name}: {count} instructions, recorded {records[build][name]}"
              + (f": above {limit:.1f}" if count > limit else ""))
    if failed:
        print("What each function takes: valgrind --tool=callgrind --toggle-collect=steady_state\n"
              f"{program} 1000 20, then callgrind_annotate; compare with the same before the change. The library is\n"
              f"{library}. If the cost is worth it, record it: --record.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
