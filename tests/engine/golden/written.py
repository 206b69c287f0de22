"""Tensors and attributes as files of calls have them; make_arrayapi.py says how."""
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
