"""Calls, tensors and attributes as files of calls have them; make_arrayapi.py says how."""
import os

import numpy as np


def is_float(dtype):
    return "float" in dtype


def number(v):
    if isinstance(v, (bool, int, np.bool_, np.integer)):
        return str(int(v))
    if np.isfinite(v) and v == np.trunc(v) and abs(v) < 1e6 and not np.signbit(v):
        return str(int(v))
    return str(v)


def tensor(x, dtype, layout=""):
    x = np.asarray(x)
    text = ",".join(number(v) for v in x.ravel()) or "-"
    dims = ",".join(map(str, x.shape)) or "-"
    return ";".join([dtype, dims, layout, text] if layout else [dtype, dims, text])


def rounded(x, dtype):
    """To float32, where that is all that the result keeps; shorter in the file."""
    return np.asarray(x, np.float32) if dtype in ("float32", "float16", "bfloat16") else x


def attribute(value):
    if isinstance(value, bool):
        return f"b:{int(value)}"
    if isinstance(value, int):
        return f"i:{value}"
    if isinstance(value, float):
        return f"f:{value}"
    if isinstance(value, str):
        return f"s:{value}"
    return "l:" + (",".join(map(str, value)) or "-")


class Calls:
    """The lines of a file."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.lines = []

    def case(self, name, f, inputs, dtypes, out, tolerance=0, **attributes):
        """`out`: the dtype of the result, or of each; f(*inputs) is what it is."""
        layouts = [str(self.rng.choice(list("ccctsr"))) if np.ndim(x) else "c" for x in inputs]
        try:
            results = f(*inputs)
        except (ValueError, IndexError, TypeError, np.exceptions.AxisError):
            results = None
        words = " ".join(f"{k}={attribute(v)}" for k, v in attributes.items())
        given = " ".join(tensor(*each) for each in zip(inputs, dtypes, layouts))
        if results is None:
            made = "error"
        else:
            results = list(results) if isinstance(results, (tuple, list)) else [results]
            outs = [out] * len(results) if isinstance(out, str) else out
            made = " ".join(tensor(rounded(r, o) if is_float(o) else r, o)
                            for r, o in zip(results, outs))
        self.lines.append(f"{name} | {tolerance} | {words} | {given} | {made}")

    def write(self, file_name):
        with open(os.path.join(os.path.dirname(__file__), file_name), "w") as file:
            file.write("".join(line + "\n" for line in self.lines))
        print(len(self.lines), "cases of", len({line.split(" ")[0] for line in self.lines}),
              "functions,", sum(line.endswith("| error") for line in self.lines), "of them errors")
