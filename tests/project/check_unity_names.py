"""Whether the sources of each folder can be compiled as one: what they declare for themselves has
names of its own. The builds with sanitizers do that, and take half an hour to say so."""

import collections
import pathlib
import re
import sys

FOLDERS = ("runtime", "fusion", "kernels", "engine", "frontend")
# At the beginning of a line: in no function and no class.
DECLARATIONS = (
    re.compile(r"^(?:inline )?constexpr [\w:<>]+ (k\w+(?:\[\])? = [^;]*);", re.M),
    re.compile(r"^(?:struct|class|enum class) (\w+)\b[^;]*?\{", re.M),
)
NAMED = re.compile(r"(?:^|, )(k\w+)(?:\[\])? =")


def unnamed(text):
    """What the source keeps to itself, or begins to."""
    return "".join(re.findall(r"^namespace \{$(.*?)^\}  // namespace$", text, re.M | re.S))


def names_of(source):
    text = unnamed(source.read_text())
    constants, types = (pattern.findall(text) for pattern in DECLARATIONS)
    return {name for found in constants for name in NAMED.findall(found)} | set(types)


def main():
    root = pathlib.Path(sys.argv[1])
    clashes, checked = [], 0
    for folder in sorted({path.parent for top in FOLDERS for path in (root / top).rglob("*.cpp")}):
        owners = collections.defaultdict(list)
        for source in sorted(folder.glob("*.cpp")):
            checked += 1
            for name in names_of(source):
                owners[name].append(source.name)
        clashes += [f"{folder.relative_to(root)}: {name} in {' and '.join(sources)}"
                    for name, sources in owners.items() if len(sources) > 1]
    print("\n".join(clashes) or f"{checked} sources, no name twice in a folder")
    return 1 if clashes or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
