"""Checks that includes only point down the house.

    check_layers.py <root of the repository>

Prints `file:line: sentence` for each include that points up or out, and exits with 1 if there are
any. A folder may include itself and the folders below it; libraries that one backend is built on
are included in that backend's folder only. Includes of the project's own files are spelled from its
root, those of public headers <sluice/...>, which include nothing but one another, and export what
they declare.
"""

import functools
import pathlib
import re
import sys

# From the top down. A file belongs to the folder its path starts with.
HOUSE = ["frontend", "engine", "kernels", "fusion", "trace", "runtime"]

# Folders outside the house that see all of it, and those that see what a program sees: the public
# headers, and the files beside their own.
INSIDERS = ["tools", "tests", "bench"]
PROGRAMS = ["workloads", "examples"]

# Folders inside a layer, from the top down: a file includes its own folder and those below it.
FLOORS = {
    "fusion": [["fusion/plan"], ["fusion/lower"], ["fusion/partition"], ["fusion/rewrite"],
               ["fusion/graph"], ["fusion/ir"]],
}
# What those above and below one another share all the same.
SHARED = {
    "fusion/plan/plan.h": ["fusion/lower", "fusion/partition"],
    "fusion/partition/partition.h": ["fusion/graph"],
}

# Folders inside a layer that don't know each other, and what each may include of its own layer. A
# folder that is not named here may include its whole layer. The longest one that a file is in counts.
ROOMS = {
    "kernels/math": ["kernels/math", "kernels/*.h"],
    "kernels/interp": ["kernels/interp", "kernels/math", "kernels/*.h"],
    "kernels/compiled": ["kernels/compiled", "kernels/math", "kernels/cache", "kernels/*.h"],
    "kernels/llvm": ["kernels/llvm", "kernels/compiled", "kernels/math", "kernels/*.h"],
    "kernels/gpu": ["kernels/gpu", "kernels/math", "kernels/*.h"],
    "kernels/cuda": ["kernels/cuda", "kernels/gpu", "kernels/math", "kernels/cache",
                     "kernels/library/*.h", "kernels/*.h"],
    "kernels/library": ["kernels/library", "kernels/interp/loops", "kernels/math", "kernels/*.h"],
}

# Headers that only some folders may include.
PRIVATE = [
    (re.compile(r"^llvm(-c)?/"), ["kernels/llvm"]),
    (re.compile(r"^oneapi/"), ["kernels/library/convolution", "bench"]),
    (re.compile(r"^(cuda|nvrtc|cublas|cudnn|cusolver)"), ["kernels/cuda"]),
    (re.compile(r"^runtime/cuda/"), ["runtime", "kernels/cuda"]),
    # What the public headers keep from programs.
    (re.compile(r"^sluice/detail/"), ["include", "engine", "frontend"]),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".h", ".cpp", ".def", ".inc"}


def within(path, folder):
    """True if `path` lies in `folder`; `folder/*.h` means directly in it."""
    if folder.endswith("/*.h"):
        return str(pathlib.PurePosixPath(path).parent) == folder[: -len("/*.h")]
    return path.startswith(folder + "/")


def includes(file):
    """(line number, bracket, what is included) of each include of `file`."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1], match[2]


@functools.lru_cache(maxsize=None)
def shows_tensors(root, header):
    """True if the public header <header> is about tensors, or includes one that is."""
    file = root / "include" / header
    if header == "sluice/tensor.h":
        return True
    return file.exists() and any(target.startswith("sluice/") and shows_tensors(root, target)
                                 for _, _, target in includes(file))


# libstdc++'s own header of std::function, where there is one (<sluice/detail/function.h>).
STANDARD = re.compile(r"[a-z_]+|bits/std_function\.h")


def public_complaint(bracket, target):
    """Why a public header must not include `target`, or None."""
    if bracket == "<" and (target.startswith("sluice/") or STANDARD.fullmatch(target)):
        return None
    return f"a public header must not include {target}: only <sluice/...> and the standard library"


def floor_complaint(source, target):
    for floors in FLOORS.values():
        rank = {folder: k for k, floor in enumerate(floors) for folder in floor}
        above = [folder for folder in rank if within(source, folder)]
        goal = [folder for folder in rank if within(target, folder)]
        if not above or not goal or rank[goal[0]] >= rank[above[0]]:
            continue
        if above[0] not in SHARED.get(target, []):
            return f"{above[0]}/ must not include {target}: {goal[0]}/ is above {above[0]}/"
    return None


def room_complaint(source, target):
    rooms = [room for room in ROOMS if within(source, room)]
    if not rooms or target.split("/")[0] != source.split("/")[0]:
        return None
    room = max(rooms, key=len)
    if any(within(target, place) for place in ROOMS[room]):
        return None
    return f"{room}/ must not include {target}: it may use only {', '.join(ROOMS[room])}"


def complaint(root, source, bracket, target):
    """Why `source` must not include `target`, or None."""
    folder = source.split("/")[0]
    for pattern, owners in PRIVATE if folder not in INSIDERS else []:
        if pattern.match(target) and not any(within(source, owner) for owner in owners):
            return f"{target} may be included in {', '.join(owner + '/' for owner in owners)} only"
    if target.startswith("sluice/"):
        if bracket != "<":
            return f"public headers are spelled <{target}>"
        if not (root / "include" / target).is_file():
            return f"there is no include/{target}"
        if folder in HOUSE and folder != "frontend" and shows_tensors(root, target):
            return f"{folder}/ must not include <{target}>: tensors are above {folder}/"
    if folder == "include":
        return public_complaint(bracket, target)
    if bracket == "<":
        return None

    goal = target.split("/")[0]
    if folder in PROGRAMS:
        beside = (root / source).parent.joinpath(target).is_file()
        if goal == folder or beside or not (root / target).is_file():
            return None
        return f"{folder}/ includes <sluice/...> and its own files, not {target}"
    if not (root / target).is_file():
        if goal in HOUSE or goal in INSIDERS or (root / source).parent.joinpath(target).is_file():
            return f"{target} is not a file: includes are spelled from the root"
        return None  # another library's
    if folder in INSIDERS:
        return None
    if goal not in HOUSE:
        return f"{folder}/ must not include {target}, which is outside the house"
    if HOUSE.index(goal) < HOUSE.index(folder):
        return f"{folder}/ must not include {target}: {goal}/ is above {folder}/"
    return floor_complaint(source, target) or room_complaint(source, target)


# A namespace without the pragma before it. (Of an attribute of the namespace Clang takes no notice
# where a function is defined.)
NOT_EXPORTED = r"(?<!^#pragma GCC visibility push\(default\)\n)^namespace sluice\b"


def check(root):
    found = []
    for folder in ["include"] + HOUSE + INSIDERS + PROGRAMS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            source = file.relative_to(root).as_posix()
            if folder == "include" and re.search(NOT_EXPORTED, file.read_text(), re.M):
                found.append(f"{source}:1: what a public header declares is exported: "
                             "#pragma GCC visibility push(default) before its namespace, pop after")
            for number, bracket, target in includes(file):
                sentence = complaint(root, source, bracket, target)
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
