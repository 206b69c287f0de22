"""Checks what a shared library exports against a committed list, which is the table of its ABI.

    check_exports.py <library> <list> [--strictly | --record]

Of a library that exports its internals as well (SLUICE_EXPORT_INTERNALS), which are protected,
what is public counts. --strictly: the library may have no other dynamic symbols. --record writes
the list. Exit code 77: a tool of binutils is missing.
"""

import difflib
import pathlib
import shutil
import subprocess
import sys

TYPES = ("typeinfo for sluice::", "typeinfo name for sluice::", "vtable for sluice::")


def symbols(library):
    """(binding, demangled name) of what the library defines and others may link to."""
    table = subprocess.run(["readelf", "--dyn-syms", "--wide", library], check=True,
                           capture_output=True, text=True).stdout
    found = []
    for line in table.splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit() or fields[6] in ("UND", "ABS"):
            continue
        if fields[5] == "DEFAULT":
            found.append((fields[4], fields[7].split("@")[0]))
    names = subprocess.run(["c++filt"], input="\n".join(name for _, name in found), check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return [(binding, name) for (binding, _), name in zip(found, names)]


def exports(library, strictly):
    """Those of sluice, without what its headers define and every program has itself; or of all."""
    return sorted({name for binding, name in symbols(library)
                   if name.startswith(TYPES) or
                   (binding == "GLOBAL" if name.startswith("sluice::") else strictly)})


def main():
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    if len(arguments) != 2 or not set(options) <= {"--strictly", "--record"}:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    if not shutil.which("readelf") or not shutil.which("c++filt"):
        return 77
    library, path = arguments[0], pathlib.Path(arguments[1])
    found = exports(library, "--strictly" in options)
    if "--record" in options:
        path.write_text("\n".join(found) + "\n", encoding="utf-8")
        return 0
    recorded = path.read_text(encoding="utf-8").splitlines()
    if found == recorded:
        return 0
    for line in list(difflib.unified_diff(recorded, found, str(path), library, lineterm="", n=0)):
        print(line)
    print(f"{library} does not export what {path} lists. If that is meant: scripts/generate writes "
          "the list; what programs linked to and is gone asks for another version")
    return 1


if __name__ == "__main__":
    sys.exit(main())
