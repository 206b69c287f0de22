"""Checks that includes only point down the house.

    check_layers.py <root of the repository>

Prints `file:line: sentence` for each include that points up or out, and exits with 1 if there are
any. A folder may include itself and the folders below it; libraries that one backend is built on
are included in that backend's folder only.
"""

import pathlib
import re
import sys

# From the top down. A file belongs to the folder its path starts with; the longest one wins.
HOUSE = ["frontend", "engine", "kernels", "fusion", "trace", "runtime"]

# Folders inside `kernels` and `runtime` that don't know each other, and what each may include of
# its own layer. A folder that is not named here may include its whole layer.
ROOMS = {
    "kernels/math": ["kernels/math"],
    "kernels/interp": ["kernels/interp", "kernels/math", "kernels/*.h"],
    "kernels/llvm": ["kernels/llvm", "kernels/math", "kernels/*.h"],
    "kernels/cuda": ["kernels/cuda", "kernels/math", "kernels/library/*.h", "kernels/*.h"],
    "kernels/library": ["kernels/library", "kernels/*.h"],
}

# Headers that only one folder may include.
PRIVATE = [
    (re.compile(r"^llvm(-c)?/"), "kernels/llvm"),
    (re.compile(r"^(oneapi/dnnl/|dnnl)"), "kernels/library"),
    (re.compile(r"^sleef\.h$"), "kernels"),
    (re.compile(r"^(cuda|nvrtc|cublas|cudnn)"), "kernels/cuda"),
]

# Folders outside the house. Examples see only what users see.
OUTSIDE = ["tools", "tests", "bench", "workloads", "examples"]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
SUFFIXES = {".h", ".cpp", ".def", ".inc"}


def within(path, folder):
    """True if `path` lies in `folder`; `folder/*.h` means directly in it."""
    if folder.endswith("/*.h"):
        return str(pathlib.PurePosixPath(path).parent) == folder[: -len("/*.h")]
    return path.startswith(folder + "/")


def complaint(root, source, target):
    """Why `source` must not include `target`, or None."""
    folder = source.split("/")[0]
    if folder == "examples":
        if target.startswith("sluice/") and target != "sluice/sluice.h":
            return f"an example includes only <sluice/sluice.h>, not {target}"
        return None
    if folder in OUTSIDE:
        return None

    for pattern, owner in PRIVATE:
        if pattern.match(target) and not within(source, owner):
            return f"{target} may be included in {owner}/ only"
    if not target.startswith("sluice/"):
        if (root / target).exists() or (root / source).parent.joinpath(target).exists():
            return f'{target} must be spelled "sluice/<folder>/<file>"'
        return None

    path = target[len("sluice/"):]
    goal = path.split("/")[0]
    if source == "sluice.h":
        return None if goal in ("frontend", "engine") else f"sluice.h must not include {target}"
    if folder not in HOUSE:
        return f"unknown folder {folder}/"
    if goal not in HOUSE:
        return f"{folder}/ must not include {target}, which is outside the house"
    if HOUSE.index(goal) < HOUSE.index(folder):
        return f"{folder}/ must not include {target}: {goal}/ is above {folder}/"
    for room, allowed in ROOMS.items():
        if goal == folder and within(source, room):
            if not any(within(path, place) for place in allowed):
                return f"{room}/ must not include {target}: it may use only {', '.join(allowed)}"
    return None


def check(root):
    found = []
    files = [root / "sluice.h"]
    for folder in HOUSE + OUTSIDE:
        files += sorted((root / folder).rglob("*"))
    for file in files:
        if file.suffix not in SUFFIXES or not file.is_file():
            continue
        source = file.relative_to(root).as_posix()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match[1]
            sentence = complaint(root, source, target)
            if not sentence and target.startswith("sluice/"):
                if not (root / target[len("sluice/"):]).exists():
                    sentence = f"{target} does not exist"
            if sentence:
                found.append(f"{source}:{number}: {sentence}")
    return found


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    found = check(pathlib.Path(sys.argv[1]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
