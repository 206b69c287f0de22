"""Runs the compile commands of a build folder without making code: only what the compiler says.

    compile_commands.py <build folder> [--jobs N] [FILE ...] -- <compiler>
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

# libstdc++'s own algorithms use what it deprecates.
EXTRA = ["-fsyntax-only", "-Wno-deprecated-declarations"]


def commands(build, wanted, compiler):
    root = pathlib.Path.cwd()
    seen = set()
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["file"])
        if root not in path.parents or (root / "build") in path.parents or path in seen:
            continue
        if wanted and path not in wanted:
            continue
        seen.add(path)
        words = shlex.split(entry["command"])
        # Neither a launcher nor an object.
        words = words[next(i for i, word in enumerate(words) if word.endswith(compiler)) :]
        at = words.index("-o")
        yield path, words[:at] + words[at + 2 :] + EXTRA, entry["directory"]


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--")
    build, rest, compiler = pathlib.Path(arguments[0]), arguments[1:split], arguments[split + 1]
    jobs = os.cpu_count()
    if rest[:1] == ["--jobs"]:
        jobs, rest = int(rest[1]), rest[2:]
    wanted = {pathlib.Path(name).resolve() for name in rest}

    def compile_one(task):
        path, words, folder = task
        return path, subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)

    failed = count = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for path, result in pool.map(compile_one, commands(build, wanted, compiler)):
            count += 1
            if result.returncode != 0 or result.stderr:
                failed += 1
                print(f"{path}:\n{result.stderr}")
    print(f"{count} sources, {failed} failed")
    return 1 if failed or count < len(wanted) else 0


if __name__ == "__main__":
    sys.exit(main())
