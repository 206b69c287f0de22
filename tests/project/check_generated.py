"""Checks that a committed file is what a program prints, white space aside.

    check_generated.py <file> <program> [argument ...]
"""

import difflib
import subprocess
import sys


def without_space(text):
    return "".join(text.split())


def main():
    if len(sys.argv) < 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    path = sys.argv[1]
    printed = subprocess.run(sys.argv[2:], check=True, capture_output=True, text=True).stdout
    with open(path, encoding="utf-8") as file:
        committed = file.read()
    if without_space(committed) == without_space(printed):
        return 0
    before, after = committed.split(), printed.split()
    for line in list(difflib.unified_diff(before, after, "committed", "printed", lineterm=""))[:40]:
        print(line)
    print(f"{path} is not what the tables of ops say: run scripts/generate")
    return 1


if __name__ == "__main__":
    sys.exit(main())
