#!/usr/bin/env python3
"""Writes expected.txt: what the NumPy lines in the comments of the snippets print. Needs NumPy 2.

A snippet is a comment of lines "//   code" right above "void name() {".
"""
import contextlib
import io
import pathlib
import re

import numpy as np

HERE = pathlib.Path(__file__).parent
FILES = ["preprocessing", "statistics", "signals", "images", "numerics"]
SNIPPET = re.compile(r"((?:^//   .*\n)+)void (\w+)\(\) \{", re.M)


def shared():
    return {
        "np": np,
        "samples": np.array([[5.1, 3.5, 1.4], [4.9, 3.0, 1.4], [6.3, 2.8, 5.1],
                             [5.8, 2.7, 5.1], [7.1, 3.0, 5.9], [4.7, 3.2, 1.3]]),
        "labels": np.array([0, 0, 1, 1, 2, 0]),
        "wave": np.array([1.0, 3, 2, 5, 4, 6, 8, 7, 9, 12, 10, 11]),
        "picture": (np.arange(30).reshape(5, 6) * 7 % 32).astype(float),
    }


def main():
    text = ""
    for file in FILES:
        for lines, name in SNIPPET.findall((HERE / f"{file}.cpp").read_text()):
            code = "\n".join(line[5:] for line in lines.splitlines())
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, f"{file}.cpp: {name}", "exec"), shared())
            text += f"== {name}\n{printed.getvalue()}"
    (HERE / "expected.txt").write_text(text)
    print(text.count("== "), "snippets")


main()
