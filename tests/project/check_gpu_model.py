"""Checks the machine code of the GPU bench's kernels, and what the model of bench/gpu_model expects.

    check_gpu_model.py <root> <gpu_launches>

For compute capability 8.0, 9.0 and 10.0: nothing is spilled; what a thread has of consecutive
elements of 4 bytes or more moves by 16 bytes; rows of 4096 elements have enough on its way; halves
are added by twos. On an H100 the model reaches the goals. Exit code 77: NVRTC or cuobjdump is missing.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

GOALS = (  # workload, dtype, share of a copy on an H100
    (r"chain of (1|3|10) .* (64M|256M)", 0.90), (r"chain of .* float32 (16M|64M|256M)", 0.92),
    (r"(softmax|layer norm) float32", 0.85), (r"(softmax|layer norm) b?float16", 0.80),
    (r"sum of (rows|columns|all)", 0.85))
UNDER_WAY = 32 << 10  # bytes of a multiprocessor, of a matrix's rows
WIDE = ("float", "double", "sl_i32", "sl_u32", "sl_i64", "sl_u64")


def wide_vectors(text):
    """Whether a program loads, or stores, consecutive elements of 4 bytes or more by vectors."""
    types = {name: t for t, name in re.findall(r"^  (\w+)\* (a\d+);", text, re.M)}
    moves = re.findall(r"sl_(load|store)_vector\((?:[\w.\[\]]+, )?(a\d+)", text)
    return {what for what, access in moves if types[access] in WIDE}


def check_kernel(kernel, text, where):
    wrong = []
    names = collections.Counter(i.name for i in kernel.instructions)
    if kernel.stack_bytes:
        wrong.append(f"{where}: {kernel.stack_bytes} bytes of a thread are spilled")
    for what, name in (("load", "LDG.E.128"), ("store", "STG.E.128")):
        if what in wide_vectors(text) and not any(n.startswith(name[:5]) and n.endswith("128")
                                                  for n in names):
            wrong.append(f"{where}: no {name}")
    if re.search(r"sl_(add|mul)2\(", text) and not any(
            n.split(".")[0] in ("HADD2", "HMUL2", "HFMA2") and "F32" not in n for n in names):
        wrong.append(f"{where}: halves are not computed by twos")
    return wrong


def main():
    root, program = sys.argv[1:]
    sys.path.insert(0, f"{root}/bench/gpu_model")
    import model
    import sass
    try:
        sass.find_tool("cuobjdump")
        sass.nvrtc()
    except sass.Missing as missing:
        print(missing)
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([program, name], check=True)
        sources, workloads = model.read(folder)
        kernels = model.compile_all(folder, sources, workloads,
                                    [gpu.architecture for gpu in model.GPUS.values()])
        wrong = []
        for (architecture, kernel), code in kernels.items():
            text = (folder / sources[kernel]["source"]).read_text()
            text = text[text.index("namespace " + kernel):text.rindex("}  // namespace " + kernel)]
            wrong += check_kernel(code, text, f"{kernel} for {architecture}")
        for workload in workloads:
            row = model.model(model.GPUS["H100"], workload, kernels)
            title = f"{row['workload']} {row['dtype']} {row['size']}"
            wanted = [share for pattern, share in GOALS if re.match(pattern, title)]
            if wanted and row["of_copy"] < max(wanted):
                wrong.append(f"{title}: {row['of_copy']:.2f} of a copy, not {max(wanted)}")
            if row["size"] == "4096x4096" and row["under_way"] < UNDER_WAY:
                wrong.append(f"{title}: {row['under_way']:.0f} bytes under way")
    print("\n".join(wrong) or f"{len(kernels)} kernels are as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
