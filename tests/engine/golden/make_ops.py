#!/usr/bin/env python3
"""Writes ops.txt: calls of the ops themselves, and what NumPy and SciPy make of them.

In the format of arrayapi.txt (make_arrayapi.py). Written with NumPy 2.4.6 and SciPy 1.17.1, which compute
floats in float64. What NumPy has not is scipy.special's: erf, erfc, sigmoid, softplus, softmax, log_softmax,
logsumexp.
"""
import warnings

import numpy as np
from scipy import special

from written import Calls, is_float

calls = Calls(26)
rng, case = calls.rng, calls.case
warnings.simplefilter("ignore")
np.seterr(all="ignore")

FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int32", "int64", "uint8", "int8", "int16", "uint16", "uint32", "uint64"]
SHAPES = [(), (0,), (5,), (2, 3), (3, 0, 2), (2, 3, 4)]
PAIRS = [((), ()), ((0,), (0,)), ((3, 1), (4,)), ((), (2, 3)), ((2, 1, 3), (1, 4, 1)), ((5,), (1,)),
         ((0, 1), (3,)), ((2, 3), (3, 2))]
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0]


def values(shape, dtype, low=-4, high=4):
    """Numbers that every dtype has."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if is_float(dtype):
        return rng.integers(low * 8, high * 8 + 1, shape) / 8
    return rng.integers(max(low, 0) if dtype[0] == "u" else low, high + 1, shape).astype(dtype)


def with_special(x, dtype):
    if not is_float(dtype):
        return x
    return np.where(rng.random(x.shape) < 0.2, rng.choice(SPECIAL, x.shape), x)


def float_of(dtype):
    return dtype if is_float(dtype) else "float32"


def sum_of(dtype):
    return dtype if is_float(dtype) else "uint64" if dtype[0] == "u" else "int64"


def wide(f):
    """Of what becomes a float: not in the small one that NumPy has for small integers."""
    return lambda *x: f(*[np.asarray(v, np.float64) for v in x])


# Element-wise.
FLOAT_UNARY = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinc": np.sinc, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "erf": special.erf, "erfc": special.erfc,
    "sigmoid": special.expit, "softplus": lambda x: -special.log_expit(-x),
    "mish": lambda x: np.where(x == -np.inf, -0.0, x * np.tanh(-special.log_expit(-x))),
}
NUMBER_UNARY = {
    "neg": np.negative, "negative": np.negative, "abs": np.abs, "square": np.square, "floor": np.floor,
    "ceil": np.ceil, "round": np.round, "trunc": np.trunc,
    # Of NaN and zeros x itself.
    "sign": lambda x: np.where((x == 0) | (x != x), x, np.sign(x)),
    "relu": lambda x: np.where(x < 0, 0, x),
}
PREDICATES = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "logical_not": np.logical_not}
for shape in SHAPES:
    for dtype in FLOATS + INTEGERS[:4] + ["bool"]:
        x = with_special(values(shape, dtype), dtype)
        for name, f in FLOAT_UNARY.items():
            if dtype in ("uint8", "int8") and shape != (5,):
                continue
            case(name, wide(f), [x], [dtype], float_of(dtype), 4)
        for name, f in PREDICATES.items():
            case(name, f, [x], [dtype], "bool")
    for dtype in FLOATS + INTEGERS:
        x = with_special(values(shape, dtype), dtype)
        for name, f in NUMBER_UNARY.items():
            case(name, f, [x], [dtype], dtype, 1 if name == "square" and is_float(dtype) else 0)
    for dtype in INTEGERS + ["bool"]:
        x = values(shape, dtype)
        for name in ("bitwise_not", "bitwise_invert"):
            case(name, np.invert, [x], [dtype], dtype)
# Where they are small, large, or change.
for name, points in (("erf", [1e-8, 0.25, 0.5, 1, 2, 3, 4, 6]), ("erfc", [1e-8, 0.25, 0.5, 1, 2, 3, 5, 9]),
                     ("expm1", [1e-8, 1e-3, 0.5, 1, 20]), ("log1p", [1e-8, 1e-3, 0.5, 1, 1e6]),
                     ("sigmoid", [1e-3, 1, 8, 20, 80]), ("softplus", [1e-3, 1, 8, 20, 80]),
                     ("sinc", [1e-4, 0.5, 1, 1.5, 10])):
    x = np.array(points)
    both = np.float64(np.float32(np.concatenate([x, -x] if name != "log1p" else [x, -x[:3]])))
    for dtype in FLOATS[:2]:
        for v in both:  # one by one: tolerances are of a result's own size where that is more than 1
            case(name, FLOAT_UNARY[name], [np.array([v])], [dtype], dtype, 4)

NUMBER_BINARY = {"sub": np.subtract, "subtract": np.subtract}
EVERY_BINARY = {"add": np.add, "mul": np.multiply, "multiply": np.multiply, "maximum": np.maximum,
                "minimum": np.minimum}
FLOAT_BINARY = {"div": np.divide, "divide": np.divide, "atan2": np.arctan2, "hypot": np.hypot,
                "copysign": np.copysign, "logaddexp": np.logaddexp}
COMPARISONS = {"equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
               "greater": np.greater, "greater_equal": np.greater_equal, "logical_and": np.logical_and,
               "logical_or": np.logical_or, "logical_xor": np.logical_xor}
BITS = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}
for a_shape, b_shape in PAIRS:
    for dtype in FLOATS + INTEGERS[:4] + ["bool"]:
        x, y = (with_special(values(shape, dtype), dtype) for shape in (a_shape, b_shape))
        is_bool = dtype == "bool"
        for name, f in EVERY_BINARY.items():
            case(name, f, [x, y], [dtype] * 2, dtype, int(is_float(dtype)))
        for name, f in NUMBER_BINARY.items() if not is_bool else ():
            case(name, f, [x, y], [dtype] * 2, dtype, int(is_float(dtype)))
        for name, f in FLOAT_BINARY.items():
            if name == "copysign":
                y = np.where(np.isnan(y), 1, y) if is_float(dtype) else y
            case(name, wide(f), [x, y], [dtype] * 2, float_of(dtype), 4)
        for name, f in COMPARISONS.items():
            case(name, f, [x, y], [dtype] * 2, "bool")
    for dtype in INTEGERS + ["bool"]:
        x, y = values(a_shape, dtype, -100, 100), values(b_shape, dtype, -100, 100)
        for name, f in BITS.items():
            case(name, f, [x, y], [dtype] * 2, dtype)
    for dtype in INTEGERS:
        x, y = values(a_shape, dtype, -4, 4), values(b_shape, dtype, 0, 6)
        case("bitwise_left_shift", np.left_shift, [x, y], [dtype] * 2, dtype)
        case("bitwise_right_shift", np.right_shift, [x, y], [dtype] * 2, dtype)
    for dtype in FLOATS + INTEGERS[:4]:
        x, y = values(a_shape, dtype, -8, 8), values(b_shape, dtype, 1, 3)
        y = y * (rng.choice([-1, 1], y.shape) if dtype[0] != "u" else 1)
        for name, f in (("floor_divide", np.floor_divide), ("remainder", np.remainder)):
            case(name, lambda a, b: np.asarray(f(a, b)), [x, np.asarray(y, x.dtype)], [dtype] * 2, dtype)
        whole = values(b_shape, "uint8", 0, 3).astype(np.asarray(x).dtype)
        case("pow", np.power, [values(a_shape, dtype, 0, 3), whole], [dtype] * 2, dtype, 4 * is_float(dtype))
    for dtypes in (("float32", "int32"), ("int8", "int16"), ("uint8", "int8"), ("float32", "float64"),
                   ("bool", "int64")):
        x, y = (values(shape, dtype) for shape, dtype in zip((a_shape, b_shape), dtypes))
        both = "float32" if dtypes == ("float32", "int32") else str(np.promote_types(*dtypes))
        case("add", np.add, [x, y], dtypes, both)
        case("less", np.less, [x, y], dtypes, "bool")
    if a_shape != (2, 3):
        for dtype in ("float32", "float64", "int32", "uint8"):
            c, x, y = values(a_shape, "bool"), values(a_shape, dtype), values(b_shape, dtype)
            case("where", np.where, [c, x, y], ["bool", dtype, dtype], dtype)
            case("clip", np.clip, [x, np.asarray(y), y + np.asarray(1, x.dtype)], [dtype] * 3, dtype)
            if is_float(dtype):
                case("lerp", lambda a, b, t: a + t * (b - a), [x, y, values((), dtype, 0, 1)], [dtype] * 3,
                     dtype, 4)


# Reductions and scans.
def axes_of(x):
    choices = [[], [0], [-1]] if x.ndim else [[]]
    return choices + ([[0, 2]] if x.ndim > 2 else [])


for dtype in FLOATS + INTEGERS[:4] + ["bool"]:
    for shape in SHAPES:
        x = values(shape, dtype)
        small = values(shape, dtype, -2, 2)
        for axes in axes_of(x):
            keepdims = bool(rng.integers(0, 2))
            over = dict(axis=tuple(axes) if axes else None, keepdims=keepdims)
            given = dict(axes=axes, keepdims=keepdims)
            case("sum", lambda x: np.sum(x, **over), [x], [dtype], sum_of(dtype), 4, **given)
            case("prod", lambda x: np.prod(x, **over), [small], [dtype], sum_of(dtype), 16, **given)
            case("max", lambda x: np.max(x, **over), [x], [dtype], dtype, **given)
            case("min", lambda x: np.min(x, **over), [x], [dtype], dtype, **given)
            case("any", lambda x: np.any(x, **over), [x], [dtype], "bool", **given)
            case("all", lambda x: np.all(x, **over), [x], [dtype], "bool", **given)
            case("mean", wide(lambda x: np.mean(x, **over)), [x], [dtype], float_of(dtype), 4, **given)
            case("var", wide(lambda x: np.var(x, **over)), [x], [dtype], float_of(dtype), 16, **given)
            case("std", wide(lambda x: np.std(x, ddof=1, **over)), [x], [dtype], float_of(dtype), 16, ddof=1,
                 **given)
            case("norm", wide(lambda x: np.sqrt(np.sum(x * x, **over))), [x], [dtype], float_of(dtype), 8,
                 **given)
            if 0 not in shape:
                case("logsumexp",
                     wide(lambda x: np.reshape(special.logsumexp(x, **over), np.sum(x, **over).shape)),
                     [x], [dtype], float_of(dtype), 8, **given)
            if len(axes) < 2:
                along = dict(axis=axes[0] if axes else None, keepdims=keepdims)
                case("argmax", lambda x: np.argmax(x, **along), [x], [dtype], "int64", **given)
                case("argmin", lambda x: np.argmin(x, **along), [x], [dtype], "int64", **given)
        for axis in {0, -1} if shape else ():
            case("cumsum", lambda x: np.cumsum(x, axis), [x], [dtype], sum_of(dtype), 4, axis=axis)
            case("cumprod", lambda x: np.cumprod(x, axis), [small], [dtype], sum_of(dtype), 16, axis=axis)
            if 0 not in shape:
                case("softmax", wide(lambda x: special.softmax(x, axis)), [x], [dtype], float_of(dtype), 8,
                     axis=axis)
                case("log_softmax", wide(lambda x: special.log_softmax(x, axis)), [x], [dtype],
                     float_of(dtype), 8, axis=axis)

# Arrangements.
for dtype in ["float32", "bfloat16", "float64", "int64", "uint8", "bool"]:
    for shape in SHAPES[1:]:
        x = values(shape, dtype)
        rank = len(shape)
        order = [int(v) for v in rng.permutation(rank)]
        a, b, axis = (int(rng.integers(-rank, rank)) for _ in range(3))
        case("permute", lambda x: np.transpose(x, order), [x], [dtype], dtype, axes=order)
        case("transpose", np.transpose, [x], [dtype], dtype)
        case("swapaxes", lambda x: np.swapaxes(x, a, b), [x], [dtype], dtype, a=a, b=b)
        case("expand_dims", lambda x: np.expand_dims(x, axis), [x], [dtype], dtype, axis=axis)
        case("squeeze", np.squeeze, [x[:, None]], [dtype], dtype)
        case("reshape", lambda x: np.reshape(x, -1), [x], [dtype], dtype, shape=[x.size])
        case("reshape", lambda x: np.reshape(x, shape[::-1]), [x], [dtype], dtype, shape=list(shape[::-1]))
        case("reshape", lambda x: np.reshape(x, x.size + 1), [x], [dtype], dtype, shape=[x.size + 1])
        case("broadcast_to", lambda x: np.broadcast_to(x, (2,) + shape), [x], [dtype], dtype,
             shape=[2, *shape])
        case("flip", lambda x: np.flip(x, axis), [x], [dtype], dtype, axes=[axis])
        case("flip", np.flip, [x], [dtype], dtype)
        for shift in (-2, 0, 1, 7):
            case("roll", lambda x: np.roll(x, shift, axis), [x], [dtype], dtype, shift=shift, axis=axis)
        for start, stop, step in ((0, 2, 1), (1, -1, 1), (-2, 9, 2), (2, 0, -1), (-1, -9, -2)):
            cut = (slice(None),) * (axis % rank) + (slice(start, stop, step),)
            case("slice", lambda x: x[cut], [x], [dtype], dtype, axis=axis, start=start, stop=stop, step=step)
        case("concat", lambda x, y: np.concatenate([x, y], axis), [x, values(shape, dtype)], [dtype] * 2,
             dtype, axis=axis)
        case("stack", lambda x, y: np.stack([x, y], axis), [x, values(shape, dtype)], [dtype] * 2, dtype,
             axis=axis)
        reps = [int(v) for v in rng.integers(0, 3, rank + int(rng.integers(0, 2)))]
        case("tile", lambda x: np.tile(x, reps), [x], [dtype], dtype, reps=reps)
        case("repeat", lambda x: np.repeat(x, 2, axis), [x], [dtype], dtype, count=2, axis=axis)
        for sections in (1, 2, 3):
            case("split", lambda x: np.split(x, sections, axis), [x], [dtype], dtype, sections=sections,
                 axis=axis)
        extent = shape[axis]
        if extent:
            at = rng.integers(-extent, extent, (2, 2))
            case("take", lambda x, i: np.take(x, i, axis), [x, at], [dtype, "int64"], dtype, axis=axis)
            along = rng.integers(-extent, extent, shape)
            for name in ("take_along_axis", "gather"):
                case(name, lambda x, i: np.take_along_axis(x, i, axis), [x, along], [dtype, "int64"], dtype,
                     axis=axis)
        if rank > 1:
            for k in (-1, 0, 2):
                case("tril", lambda x: np.tril(x, k), [x], [dtype], dtype, k=k)
                case("triu", lambda x: np.triu(x, k), [x], [dtype], dtype, k=k)


def converted(x, to):
    """Floats saturate on their way to integers."""
    if x.dtype.kind == "f" and not is_float(to) and to != "bool":
        limits = np.iinfo(to)
        return np.clip(np.trunc(x), limits.min, limits.max).astype(to)
    return x.astype(np.float64) if is_float(to) else x.astype(to)


for dtype in FLOATS + INTEGERS + ["bool"]:
    for to in FLOATS + INTEGERS + ["bool"]:
        for shape in ((0,), (2, 3)):
            case("astype", lambda x: converted(x, to),
                 [values(shape, dtype, *((-15, 15) if is_float(dtype) else (-100, 100)))],
                 [dtype], to, dtype=to)
    for shape in SHAPES[1:]:
        widths = [int(v) for v in rng.integers(0, 3, 2 * len(shape))]
        x = values(shape, dtype)
        case("pad", lambda x: np.pad(x, np.reshape(widths, (-1, 2)), constant_values=np.asarray(1, x.dtype)),
             [x], [dtype], dtype, widths=widths, value=1)
for dtype in INTEGERS:
    for shape in SHAPES:
        case("one_hot", lambda x: x[..., None] == np.arange(3), [values(shape, dtype, 0, 4)], [dtype],
             "float32", classes=3)


def scatter_add(axis):
    def f(x, i, u):
        result = np.array(x)
        places = list(np.indices(i.shape))
        places[axis] = i
        np.add.at(result, tuple(places), u)
        return result
    return f


for dtype in FLOATS + INTEGERS[:3]:
    for shape in ((5,), (3, 4), (2, 3, 2)):
        axis = int(rng.integers(0, len(shape)))
        i = rng.integers(-shape[axis], shape[axis], shape)
        case("scatter_add", scatter_add(axis), [values(shape, dtype), i, values(shape, dtype)],
             [dtype, "int64", dtype], dtype, 4 * is_float(dtype), axis=axis)


# Creation.
CREATED = FLOATS + INTEGERS
for dtype in CREATED:
    start_at = 0 if dtype[0] == "u" else -6
    for start, stop, step in ((start_at, 7, 1), (start_at, 7, 3), (9, 2, -2), (9, 1, -4), (3, 3, 1), (5, 2, 1),
                              (2, 5, -1), (1, 2, 5)):
        case("arange", lambda: np.arange(start, stop, step).astype(np.float64 if is_float(dtype) else dtype),
             [], [], dtype, start=start, stop=stop, step=step, dtype=dtype)
    for n, m in ((3, 3), (2, 5), (4, 2), (0, 3), (1, 0)):
        for k in (-5, -1, 0, 1, 2, 7):
            case("eye", lambda: np.eye(n, m, k), [], [], dtype, n=n, m=m, k=k, dtype=dtype)
    for shape in SHAPES:
        case("zeros", lambda: np.zeros(shape), [], [], dtype, shape=list(shape), dtype=dtype)
        case("ones", lambda: np.ones(shape), [], [], dtype, shape=list(shape), dtype=dtype)
        case("full", lambda: np.full(shape, 7), [], [], dtype, shape=list(shape), value=7, dtype=dtype)
        x = values(shape, "float32")
        for name, f in (("zeros_like", np.zeros_like), ("ones_like", np.ones_like),
                        ("full_like", lambda x: np.full_like(x, 7))):
            case(name, f, [x], ["float32"], dtype, dtype=dtype)
for dtype in FLOATS:
    for start, stop, step in ((0.0, 1.0, 0.25), (1.5, -2.0, -0.5), (-1.0, 2.0, 0.75), (2.5, 2.5, 1.0), (1.0, 0.0, 0.5)):
        case("arange", lambda: np.arange(start, stop, step), [], [], dtype, start=start, stop=stop, step=step,
             dtype=dtype)
    for start, stop in ((0.0, 1.0), (-3.0, 2.5), (4.0, -4.0), (2.0, 2.0)):
        for num in (0, 1, 2, 5, 11):
            for endpoint in (True, False):
                case("linspace", lambda: np.linspace(start, stop, num, endpoint), [], [], dtype, 2, start=start,
                     stop=stop, num=num, endpoint=endpoint, dtype=dtype)
for start, stop, step in ((2**53, 2**53 + 3, 1), (-2**62, 2**62, 2**61), (2**62 + 5, 2**62, -2), (2**53 + 1, 2**53, 1)):
    case("arange", lambda: np.array(range(start, stop, step), np.int64), [], [], "int64", start=start, stop=stop,
         step=step, dtype="int64")
case("arange", lambda: range(0, 1, 0), [], [], "int64", start=0, stop=1, step=0, dtype="int64")
case("linspace", lambda: np.linspace(0, 1, -1), [], [], "float32", start=0.0, stop=1.0, num=-1, endpoint=True,
     dtype="float32")
for dtype in ("float32", "bfloat16", "int64", "bool"):
    for shape in SHAPES:
        x = values(shape, dtype)
        for shift in (-3, 0, 1, 10**12):
            case("roll.flat", lambda x: np.roll(x, shift), [x], [dtype], dtype, shift=shift)
        for shifts, axes in (((1,), (0,)), ((1, -2), (0, -1)), ((2, 3), (-1, -1)), ((1, 1), (0,)), ((1,), (0, -1)),
                             ((1, 2), (0, 0, 0)), ((1,), (3,))):
            case("roll.axes", lambda x: np.roll(x, shifts, axes), [x], [dtype], dtype, shifts=list(shifts),
                 axes=list(axes))

calls.write("ops.txt")
