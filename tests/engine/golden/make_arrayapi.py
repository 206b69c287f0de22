#!/usr/bin/env python3
"""Writes arrayapi.txt: calls of composed functions, and what NumPy makes of them. Needs NumPy >= 2.3.

A line is "function | tolerance | attributes | inputs | results". The tolerance counts the result
dtype's epsilons, of the greatest of 1 and the results; 0: equal. An attribute is "axis=i:1", of type
i (int), f (float), b (bool), l (ints) or s (string). A tensor is "dtype dims layout values", joined by
";"; its values are in row-major order. Layouts: c (contiguous), t (of a transposed tensor), s (every
other element along the last axis), r (a reversed one), and of the results none. A call that is an
error has "error" for its results.
"""
import warnings

import numpy as np

from written import Calls, is_float, tensor

calls = Calls(20)
rng, case, lines = calls.rng, calls.case, calls.lines
warnings.simplefilter("ignore")
np.seterr(all="ignore")

FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int32", "int64", "uint8", "int8", "int16", "uint16", "uint32", "uint64"]
SHAPES = [(), (0,), (1,), (5,), (2, 3), (3, 0, 2), (2, 3, 4)]


def wide(dtype):
    """What NumPy computes in: floats in float64, so that what they have lost is not in the values."""
    return np.float64 if is_float(dtype) else np.dtype(dtype)


def values(shape, dtype, low=-4, high=4):
    """Numbers that every dtype has."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if is_float(dtype):
        return rng.integers(low * 8, high * 8 + 1, shape) / 8
    return rng.integers(0 if dtype[0] == "u" else low, high + 1, shape).astype(dtype)


def with_some(x, special, share=0.3):
    x = np.array(x)
    mask = rng.random(x.shape) < share
    x[mask] = rng.choice(special, x.shape)[mask] if x.ndim else rng.choice(special)
    return x


def sum_dtype(dtype):
    return dtype if is_float(dtype) else "uint64" if dtype[0] == "u" else "int64"


def float_dtype(dtype):
    return dtype if is_float(dtype) else "float32"


def axes_of(x):
    choices = [[], [0], [-1]] if x.ndim else [[]]
    return choices + ([[0, 2], [1]] if x.ndim > 2 else [])


def numpy_axes(axes):
    return tuple(axes) if axes else None


# Element-wise.
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0]
for dtype in FLOATS + INTEGERS[:4]:
    for shape in SHAPES:
        x = values(shape, dtype)
        if is_float(dtype):
            x = with_some(x, SPECIAL)
        case("positive", lambda x: +x, [x], [dtype], dtype)
        case("signbit", lambda x: np.where(np.isnan(x), False, np.signbit(x)), [x], [dtype], "bool")
        y = with_some(values(shape, dtype, 1, 4), [1])
        for d in (-1, 0, 1, 2):
            z = values(shape, dtype, -16, 16)
            case("around", lambda z: np.round(z, d), [z], [dtype], dtype, 1 if is_float(dtype) else 0,
                 decimals=d)
        case("fmod", np.fmod, [x, y], [dtype] * 2, dtype)
        clean = values(shape, dtype)
        case("divmod", np.divmod, [clean, y], [dtype] * 2, dtype)
        near = with_some(clean, np.asarray(values((3,), dtype)))
        case("isclose", np.isclose, [clean, near], [dtype] * 2, "bool")
        case("array_equal", lambda a, b: np.array(np.array_equal(a, b)), [clean, clean], [dtype] * 2,
             "bool")
        case("array_equal", lambda a, b: np.array(np.array_equal(a, b)), [clean, near], [dtype] * 2,
             "bool", equal_nan=False)
        case("allclose", lambda a, b: np.array(np.allclose(a, b)), [clean, near], [dtype] * 2, "bool")
        if is_float(dtype):
            other = with_some(x, SPECIAL, 0.2)
            for equal_nan in (False, True):
                case("isclose", lambda a, b: np.isclose(a, b, equal_nan=equal_nan), [x, other],
                     [dtype] * 2, "bool", equal_nan=equal_nan)
                case("array_equal", lambda a, b: np.array(np.array_equal(a, b, equal_nan=equal_nan)),
                     [x, x], [dtype] * 2, "bool", equal_nan=equal_nan)
            case("isclose", lambda a, b: np.isclose(a, b, rtol=0.25, atol=0.0625), [clean, near],
                 [dtype] * 2, "bool", rtol=0.25, atol=0.0625)
            limits = np.finfo(dtype) if dtype != "bfloat16" else None
            most = 3.3895313892515355e38 if limits is None else float(limits.max)
            case("nan_to_num", lambda x: np.nan_to_num(x, nan=2.5, posinf=most, neginf=-most), [x],
                 [dtype], dtype, nan=2.5)
            case("nan_to_num", lambda x: np.nan_to_num(x, nan=0.0, posinf=most, neginf=-most), [x],
                 [dtype], dtype)
        else:
            case("nan_to_num", lambda x: x, [x], [dtype], dtype)
            case("fmod", np.fmod, [x, clean], [dtype] * 2, dtype)
            case("divmod", np.divmod, [x, clean], [dtype] * 2, dtype)
for shape_a, shape_b in (((3, 1), (4,)), ((), (2, 3)), ((2, 1, 3), (1, 4, 1)), ((2, 3), (3, 2))):
    for a_dtype, b_dtype, both in (("float32", "int32", "float32"), ("int8", "int16", "int16"),
                                   ("float32", "float64", "float64"), ("uint8", "int16", "int16")):
        a, b = values(shape_a, a_dtype), values(shape_b, b_dtype, 1, 4)
        case("fmod", np.fmod, [a, b], [a_dtype, b_dtype], both)
        case("divmod", np.divmod, [a, b], [a_dtype, b_dtype], both)
        case("isclose", np.isclose, [a, b], [a_dtype, b_dtype], "bool")
        case("outer", np.outer, [a, b], [a_dtype, b_dtype], both)
for dtype in ("float32", "float64", "float16"):
    info = np.finfo(dtype)
    ends = np.array([0.0, -0.0, 1, -1, info.max, info.min, np.inf, -np.inf, np.nan, info.tiny,
                     -info.tiny, info.smallest_subnormal, -info.smallest_subnormal, 1 + info.eps, 2,
                     3.25, -1024, info.tiny * 2, info.tiny * 1024, -info.tiny * 4096], dtype)
    a, b = (grid.ravel() for grid in np.meshgrid(ends, ends))
    for start in range(0, a.size, 50):
        x, y = a[start:start + 50], b[start:start + 50]
        lines.append(f"nextafter | 0 |  | {tensor(x, dtype, 'c')} {tensor(y, dtype, 'c')} | "
                     f"{tensor(np.nextafter(x, y), dtype)}")
    scale = rng.integers(np.log2(info.smallest_subnormal) + 1, np.log2(info.max), 60)
    x = (rng.random(60) * 2.0 ** scale).astype(dtype) * rng.choice([-1, 1], 60).astype(dtype)
    y = x[::-1]
    lines.append(f"nextafter | 0 |  | {tensor(x, dtype, 'c')} {tensor(y, dtype, 'c')} | "
                 f"{tensor(np.nextafter(x, y), dtype)}")

# Reductions.
for dtype in FLOATS + INTEGERS[:3]:
    for shape in SHAPES:
        x = values(shape, dtype)
        small = values(shape, dtype, -2, 2)
        if is_float(dtype):
            x, small = with_some(x, [np.nan]), with_some(small, [np.nan])
            if x.ndim == 2:
                x[1] = np.nan
        for axes in axes_of(x):
            for keepdims in (False, True):
                over = dict(axis=numpy_axes(axes), keepdims=keepdims)
                given = dict(axes=axes, keepdims=keepdims)
                case("count_nonzero", lambda x: np.count_nonzero(x, **over), [x], [dtype], "int64",
                     **given)
                case("nansum", lambda x: np.nansum(x, **over), [x], [dtype], sum_dtype(dtype), 4,
                     **given)
                case("nanmax", lambda x: np.nanmax(x, **over), [x], [dtype], dtype, **given)
                case("nanmin", lambda x: np.nanmin(x, **over), [x], [dtype], dtype, **given)
                case("nanmean", lambda x: np.nanmean(x, **over), [x], [dtype], float_dtype(dtype), 4,
                     **given)
                if keepdims:
                    case("nanvar", lambda x: np.nanvar(x, ddof=1, **over), [x], [dtype],
                         float_dtype(dtype), 16, ddof=1, **given)
                else:
                    case("nanprod", lambda x: np.nanprod(x, **over), [small], [dtype],
                         sum_dtype(dtype), 16, **given)
                    case("nanstd", lambda x: np.nanstd(x, **over), [x], [dtype], float_dtype(dtype),
                         16, **given)
        if shape:
            for axis in {0, -1}:
                y = values(shape, dtype)
                case("trapezoid", lambda y: np.trapezoid(y, dx=0.5, axis=axis), [y], [dtype],
                     float_dtype(dtype), 8, dx=0.5, axis=axis)
                at = np.sort(values((shape[axis],), dtype))
                case("trapezoid.x", lambda y, x: np.trapezoid(y, x.astype(float), axis=axis), [y, at],
                     [dtype] * 2, float_dtype(dtype), 8, axis=axis)
                for n in (0, 1, 2):
                    case("diff.n", lambda y: np.diff(y, n, axis), [y], [dtype], dtype, n=n, axis=axis)
                for initial in (False, True):
                    short = values(shape, dtype, -2, 2)
                    case("cumulative_sum",
                         lambda y: np.cumulative_sum(y, axis=axis, include_initial=initial), [y],
                         [dtype], sum_dtype(dtype), 4, axis=axis, include_initial=initial)
                    case("cumulative_prod",
                         lambda y: np.cumulative_prod(y, axis=axis, include_initial=initial), [short],
                         [dtype], sum_dtype(dtype), 16, axis=axis, include_initial=initial)
    for shape in ((6,), (2, 5), (3, 4), (1, 5)):
        x = values(shape, dtype)
        for rowvar in (False, True):
            if shape == (1, 5) and not rowvar:
                continue  # one observation
            case("cov", lambda x: np.cov(x, rowvar=rowvar, ddof=0), [x], [dtype], float_dtype(dtype),
                 16, rowvar=rowvar, ddof=0)
            case("corrcoef", lambda x: np.corrcoef(x, rowvar=rowvar), [x], [dtype],
                 float_dtype(dtype), 64, rowvar=rowvar)
    for bins in (1, 4, 10):
        for shape in ((0,), (1,), (30,), (3, 7)):
            x = values(shape, dtype)
            edges = "float64" if not is_float(dtype) or dtype == "float64" else "float32"
            case("histogram", lambda x: np.histogram(x, bins), [x], [dtype], ["int64", edges], 2,
                 bins=bins)
            case("histogram.range", lambda x: np.histogram(x, bins, (-1.0, 2.0)), [x], [dtype],
                 ["int64", edges], 2, bins=bins, low=-1.0, high=2.0)
    x = values((2, 3), dtype)
    case("diff", lambda x, p, a: np.diff(x, 1, -1, p, a),
         [x, values((2, 2), dtype), values((2, 1), dtype)], [dtype] * 3, dtype)
    case("diff", lambda x, p, a: np.diff(x, 2, 0, p, a),
         [x, values((), dtype), values((2, 3), dtype)], [dtype] * 3, dtype, n=2, axis=0)
case("diff.n", np.diff, [values((7,), "bool")], ["bool"], "bool")
for dtype in INTEGERS:
    for shape in ((0,), (9,)):
        x = np.abs(values(shape, dtype, 0, 5))
        case("bincount.counts", lambda x: np.bincount(x.astype(int), minlength=3), [x], [dtype],
             "int64", minlength=3)
        w = values(shape, "float32")
        case("bincount", lambda x, w: np.bincount(x.astype(int), w), [x, w], [dtype, "float32"],
             "float32", 2)
case("bincount.counts", np.bincount, [np.array([1, -1])], ["int64"], "int64")

# Arrangements.
for dtype in ["float32", "bfloat16", "int64", "uint8", "bool"]:
    for shape in SHAPES[1:] + [(3, 3), (4, 2), (2, 3, 3, 2)]:
        x = values(shape, dtype)
        rank = len(shape)
        order = [int(v) for v in rng.permutation(rank)]
        case("permute_dims", lambda x: np.transpose(x, order), [x], [dtype], dtype, axes=order)
        for _ in range(3):
            count = int(rng.integers(1, rank + 1))
            source = [int(v) for v in rng.permutation(rank)[:count]]
            target = [int(v) - rank * int(rng.integers(0, 2)) for v in rng.permutation(rank)[:count]]
            case("moveaxis", lambda x: np.moveaxis(x, source, target), [x], [dtype], dtype,
                 source=source, destination=target)
        axis = int(rng.integers(-rank, rank))
        case("unstack", lambda x: np.unstack(x, axis=axis), [x], [dtype], dtype, axis=axis)
        counts = rng.integers(0, 4, shape[axis])
        case("repeat.counts", lambda x, n: np.repeat(x, n, axis), [x, counts], [dtype, "int64"], dtype,
             axis=axis)
        if rank < 2:
            continue
        case("matrix_transpose", np.matrix_transpose, [x], [dtype], dtype)
        for offset in (-3, -1, 0, 1, 4):
            one, two = [(-2, -1), (0, 1), (-1, 0)][int(rng.integers(0, 3))]
            case("diagonal", lambda x: np.diagonal(x, offset, one, two), [x], [dtype], dtype,
                 offset=offset, axis1=one, axis2=two)
        case("diagonal", lambda x: np.diagonal(x, 0, -2, -1), [x], [dtype], dtype)
    for shapes in (((3,), (2,)), ((3,), (2,), (4,)), ((3,),), ((), (2,)), ((0,), (3,)), ((1,), (1,))):
        grid = [values(shape, dtype) for shape in shapes]
        for ij in (False, True):
            case("meshgrid", lambda *x: np.meshgrid(*x, indexing="ij" if ij else "xy"), grid,
                 [dtype] * len(grid), dtype, ij=ij)
    for shapes in (((3, 1), (4,)), ((2, 3), ()), ((2,), (3,)), ((1, 2, 1), (3, 1, 2), (1,)),
                   ((0, 1), (3,))):
        several = [values(shape, dtype) for shape in shapes]
        case("broadcast_arrays", np.broadcast_arrays, several, [dtype] * len(several), dtype)

# Products.
for dtype in FLOATS + INTEGERS[:3]:
    tolerance = 8 * is_float(dtype)
    for a_shape, b_shape in (((4,), (4,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((2, 3, 4), (4,)),
                             ((2, 3, 4), (2, 4, 3)), ((), (2, 3)), ((3, 0), (0, 2)), ((2, 3), (4,))):
        a, b = values(a_shape, dtype), values(b_shape, dtype)
        case("dot", np.dot, [a, b], [dtype] * 2, dtype, tolerance)
        case("inner", np.inner, [a, np.swapaxes(b, -1, -2) if b.ndim > 1 else b], [dtype] * 2, dtype,
             tolerance)
        case("outer", np.outer, [a, b], [dtype] * 2, dtype, tolerance)
        case("kron", np.kron, [a, b], [dtype] * 2, dtype, tolerance)
        case("vecdot", np.vecdot, [a, b], [dtype] * 2, dtype, tolerance)
    for a_shape, b_shape, in_a, in_b in (
            ((2, 3, 4), (3, 4, 5), [1, 2], [0, 1]), ((2, 3, 4), (4, 3, 2), [1, 2], [1, 0]),
            ((3, 4, 2), (3, 4, 5), [0, 1], [0, 1]), ((2, 3, 4), (5, 3), [1], [1]),
            ((2, 3), (3, 2), [0, 1], [1, 0]), ((2, 3), (4,), [], []), ((2, 3), (3, 2), [0], [0]),
            ((2, 0, 3), (0, 4), [1], [0])):
        a, b = values(a_shape, dtype), values(b_shape, dtype)
        case("tensordot", lambda a, b: np.tensordot(a, b, (in_a, in_b)), [a, b], [dtype] * 2, dtype,
             tolerance, a_axes=in_a, b_axes=in_b)
    for count in (0, 1, 2):
        a, b = values((2, 3, 4), dtype), values({0: (2,), 1: (4, 2), 2: (3, 4, 5)}[count], dtype)
        case("tensordot.count", lambda a, b: np.tensordot(a, b, count), [a, b], [dtype] * 2, dtype,
             tolerance, axes=count)

FORMS = ["ij,jk->ik", "ij,jk", "ij,kj->ik", "ji,jk->ik", "ij,jk->ki", "bij,bjk->bik", "bij,bjk->bki",
         "i,i->", "i,i", "i,j->ij", "ij,ij->i", "ij,ij->", "ii->i", "ii", "ii->", "iij->ij", "iji->j",
         "ijk->kji", "ijk->j", "ij->", "ij,j->i", "i,ij->j", "ij,jk,kl->il", "i,ij,j->", "i,j,k->ijk",
         "ij,ik,il->jkl", "...ij,...jk->...ik", "...i->...", "...", "...ii->...i", "i...,i...->...",
         "ij...,jk...->ik...", "bhqd,bhkd->bhqk", "bhqk,bhkd->bhqd", "ba,cb", "abc,cd,d->ab",
         "i,i,i->i", "ij,i,j->ij", "ab,bc,cd,de->ae", "A,a->aA", " i j , j k -> i k "]
ERRORS = ["ij,jk->iz", "ij,jk->ii", "ij,j", "i->i->i", "i.j->ij", "i?", "ij,jk,kl->il", "...ij->ij"]


def einsum(subscripts, dtype, extents, broadcast=0.0):
    terms = subscripts.replace(" ", "").split("->")[0].split(",")
    operands = []
    for term in terms:
        dims = []
        for part in term.replace("...", "."):
            if part == ".":
                count = int(rng.integers(0, 3))
                dims += [1 if rng.random() < 0.3 else d for d in (2, 3)[2 - count:]]
            else:
                dims.append(1 if rng.random() < broadcast else extents[part])
        operands.append(values(dims, dtype, -2, 2))
    case("einsum", lambda *x: np.einsum(subscripts, *x), operands, [dtype] * len(operands), dtype,
         32 * is_float(dtype), subscripts=subscripts.replace(" ", "_"))


for form in FORMS:
    for dtype in ("float32", "float64", "int32", "bfloat16"):
        einsum(form, dtype, {c: int(rng.integers(2, 4)) for c in "abcdefghijklqkdA"})
for form in ERRORS:
    x = values((2, 2), "float32")
    case("einsum", lambda *y: np.einsum(form, *y), [x] * 2, ["float32"] * 2,
         "float32", subscripts=form)
for _ in range(250):
    letters = "abcdef"
    extents = {c: int(rng.choice([0, 1, 2, 2, 3, 3, 4], p=[.03, .17, .2, .2, .2, .1, .1]))
               for c in letters}
    terms = []
    for _ in range(int(rng.integers(1, 4))):
        term = "".join(rng.choice(list(letters), int(rng.integers(0, 4)), replace=rng.random() < 0.2))
        terms.append(term)
    used = sorted(set("".join(terms)))
    text = ",".join(terms)
    if rng.random() < 0.8:
        count = int(rng.integers(0, min(len(used), 4) + 1))
        text += "->" + "".join(rng.permutation(used)[:count])
    einsum(text, str(rng.choice(["float32", "float64", "int32", "int64", "float16"])), extents,
           float(rng.choice([0, 0, 0.1])))



def ordered(f, x, axis, descending):
    """f of x along an axis, NaN last in both directions."""
    if not descending:
        return f(x, axis=axis, stable=True)
    keys = -x if x.dtype.kind == "f" else ~x
    order = np.argsort(keys, axis=axis, stable=True)
    return order if f is np.argsort else np.take_along_axis(x, order, axis)


# Sorting, searching, sets.
for dtype in FLOATS + INTEGERS + ["bool"]:
    special = lambda x: with_some(x, SPECIAL, 0.2) if is_float(dtype) else x
    for shape in SHAPES[1:] + [(20,), (3, 9)]:
        x = special(values(shape, dtype))
        for axis in {0, -1}:
            for descending in (False, True):
                case("sort", lambda x: ordered(np.sort, x, axis, descending), [x], [dtype], dtype,
                     axis=axis, descending=descending)
                case("argsort", lambda x: ordered(np.argsort, x, axis, descending), [x], [dtype],
                     "int64", axis=axis, descending=descending)
            k = (shape[axis] + 1) // 2

            def best(x):
                order = np.take(ordered(np.argsort, x, axis, True), np.arange(k), axis)
                return np.take_along_axis(x, order, axis), order

            case("topk", best, [x], [dtype], [dtype, "int64"], k=k, axis=axis)
            if 0 not in shape:
                case("cummax", lambda x: np.maximum.accumulate(x, axis=axis), [x], [dtype], dtype,
                     axis=axis)
                case("cummin", lambda x: np.minimum.accumulate(x, axis=axis), [x], [dtype], dtype,
                     axis=axis)
        case("nonzero", lambda x: np.stack(np.nonzero(x), -1), [x], [dtype], "int64")
        y = values(shape, dtype, -2, 2)
        case("unique_values", lambda y: np.unique(y), [y], [dtype], dtype)
        case("unique_counts", lambda y: np.unique_counts(y), [y], [dtype], [dtype, "int64"])
        case("unique_inverse", lambda y: np.unique_inverse(y), [y], [dtype], [dtype, "int64"])
        case("unique_all", lambda y: np.unique_all(y), [y], [dtype],
             [dtype, "int64", "int64", "int64"])
        case("unique_values", lambda x: np.unique(x, equal_nan=False), [x], [dtype], dtype)
        for invert in (False, True):
            case("isin", lambda x, y: np.isin(x, y, invert=invert), [x, values((3,), dtype)],
                 [dtype] * 2, "bool", invert=invert)
    for count in (0, 1, 2, 17):
        line = np.sort(special(values((count,), dtype)))
        for right in (False, True):
            case("searchsorted.plain",
                 lambda x, v: np.searchsorted(x, v, "right" if right else "left"),
                 [line, special(values((2, 5), dtype))], [dtype] * 2, "int64", right=right)
    case("searchsorted", lambda x, v, o: np.searchsorted(x, v, sorter=o),
         [(y := values((9,), dtype)), values((4,), dtype), np.argsort(y)], [dtype, dtype, "int64"],
         "int64")
for dtype in FLOATS + ["int32", "uint8"]:
    for shape in SHAPES[1:] + [(20,), (3, 9)]:
        x = values(shape, dtype)
        holes = with_some(x, [np.nan], 0.3) if is_float(dtype) else x
        for axes in axes_of(x):
            over = numpy_axes(axes)
            for keepdims in (False, True):
                args = dict(axes=axes, keepdims=keepdims)
                out = float_dtype(dtype)
                if 0 in shape[1:]:
                    continue  # NumPy fails
                case("median", lambda x: np.median(x, over, keepdims=keepdims), [x], [dtype], out, 2,
                     **args)
                if 0 in shape:
                    continue
                case("median", lambda x: np.median(x, over, keepdims=keepdims), [holes], [dtype], out,
                     2, **args)
                case("nanmedian", lambda x: np.nanmedian(x, over, keepdims=keepdims), [holes],
                     [dtype], out, 2, **args)
                for q in (0.0, 0.3, 0.75, 1.0):
                    case("quantile", lambda x: np.quantile(x, q, over, keepdims=keepdims), [x],
                         [dtype], out, 4, q=q, **args)
                case("nanquantile", lambda x: np.nanquantile(x, 0.4, over, keepdims=keepdims),
                     [holes], [dtype], out, 4, q=0.4, **args)
        if 0 not in shape:
            case("percentile", lambda x: np.percentile(x, 30.0), [x], [dtype], float_dtype(dtype), 4,
                 q=30.0)
            case("logcumsumexp", lambda x: np.logaddexp.accumulate(x.astype(float), axis=-1), [x],
                 [dtype], float_dtype(dtype), 8, axis=-1)
# Divisors and multiples.
for dtype in INTEGERS:
    for shape in SHAPES:
        x, y = values(shape, dtype, -60, 60), values(shape, dtype, -60, 60)
        case("gcd", np.gcd, [x, y], [dtype] * 2, dtype)
        case("lcm", np.lcm, [x, y], [dtype] * 2, dtype)
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max, info.max - 1, 0, 6], dtype)
    case("gcd", np.gcd, [ends, ends[::-1]], [dtype] * 2, dtype)
    case("lcm", np.lcm, [ends, ends[::-1]], [dtype] * 2, dtype)
for a_dtype, b_dtype, both in [("int32", "int64", "int64"), ("uint8", "int8", "int16"),
                               ("int16", "uint8", "int16")]:
    x, y = values((3, 1), a_dtype, -60, 60), values((4,), b_dtype, -60, 60)
    case("gcd", np.gcd, [x, y], [a_dtype, b_dtype], both)
    case("lcm", np.lcm, [x, y], [a_dtype, b_dtype], both)

# Interpolation.
for dtype in ["float32", "float64", "float16", "int32"]:
    for count in [1, 2, 3, 7, 64, 100]:
        xp = np.cumsum(rng.integers(1, 9, count)) / (8 if is_float(dtype) else 1)
        fp = values((count,), dtype)
        for shape in [(), (0,), (40,), (3, 4)]:
            x = values(shape, dtype, -1, int(xp[-1]) + 2)
            case("interp", np.interp, [x, xp, fp], [dtype] * 3, float_dtype(dtype), 8)
        case("interp", np.interp, [xp, xp, fp], [dtype] * 3, float_dtype(dtype), 8)
special = np.array([np.nan, np.inf, -np.inf, 0.5, 1, 1.5])
for fp in [[1, 2, 3], [1, np.inf, 3], [np.nan, 2, 2], [np.inf, np.inf, 1]]:
    case("interp", np.interp, [special, np.array([0, 1, 2]), np.array(fp)], ["float64"] * 3, "float64", 4)
case("interp", lambda *_: None, [special, special, special[1:]], ["float64"] * 3, "float64")

# Scatters: of several updates for one element the last one stays.
def scatter_along(x, indices, updates, axis, combine):
    result = np.array(x)
    shape = list(np.broadcast_shapes(indices.shape, updates.shape))
    for k in range(x.ndim):
        if k != axis % x.ndim:
            shape[k] = x.shape[k]
    indices, updates = np.broadcast_to(indices, shape), np.broadcast_to(updates, shape)
    for at in np.ndindex(*shape):
        to = list(at)
        to[axis] = indices[at]
        result[tuple(to)] = combine(result[tuple(to)], updates[at])
    return result


for dtype in FLOATS + INTEGERS + ["bool"]:
    for shape in [(5,), (2, 3), (2, 3, 4)]:
        for axis in range(-1, len(shape)):
            x = values(shape, dtype)
            dims = list(shape)
            dims[axis] = int(rng.integers(1, 7))
            for narrow in [False, True]:
                of_indices = [1 if narrow and k != axis % len(shape) else d for k, d in enumerate(dims)]
                indices = rng.integers(-shape[axis], shape[axis], of_indices)
                updates = values(dims, dtype)
                if is_float(dtype):
                    updates = with_some(updates, [np.nan, np.inf, -np.inf], 0.1)
                for name, combine in [("scatter", lambda a, b: b), ("put_along_axis", lambda a, b: b),
                                      ("scatter_max", np.maximum), ("scatter_min", np.minimum)]:
                    case(name, lambda *v: scatter_along(*v, axis, combine), [x, indices, updates],
                         [dtype, "int64", dtype], dtype, axis=axis)
x = values((4, 5), "float32")
order = np.argsort(x, axis=1)


def put(x, indices, updates):
    result = np.array(x)
    np.put_along_axis(result, indices, updates, 1)
    return result


case("put_along_axis", put, [x, order[:, :2], values((4, 2), "float32")],
     ["float32", "int64", "float32"], "float32", axis=1)

calls.write("arrayapi.txt")
