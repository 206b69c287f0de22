#!/usr/bin/env python3
"""Writes linalg.txt: calls of sluice::linalg, and what NumPy and SciPy make of them.

In the format of arrayapi.txt (make_arrayapi.py). Written with NumPy 2.4.6 and SciPy 1.17.1, which compute
in float64. Inputs are multiples of 1/16. Where a factor is unique but for signs, R's diagonal is not
negative, and of each eigenvector and left singular vector the greatest element is positive; it is that of
a matrix for which no other element is about as great, and whose values are well apart.

Tolerances are what backward stable algorithms keep: some epsilons for each row, times how much more than
the matrix the result may change (`sensitivity`): a condition number.
"""
import warnings

import numpy as np
import scipy.linalg
from numpy import linalg as la

from written import Calls

calls = Calls(25)
rng, case = calls.rng, calls.case
warnings.simplefilter("ignore")
np.seterr(all="ignore")

FLOATS = ["float32", "float64"]
SIZES = list(range(1, 10)) + [16, 33]
BATCHES = [(0,), (1,), (5,), (2, 3)]
NO_MATRICES = [(0, 0), (3, 0, 0)]
INF = float("inf")


# Matrices.
def values(shape, low=-4, high=4):
    return rng.integers(low * 16, high * 16 + 1, shape) / 16


def until(make, good):
    for _ in range(20000):
        x = make()
        if good(x):
            return x
    raise RuntimeError("there is none")


def heavy(n):
    """Whose elimination needs no pivots."""
    return values((n, n), -1, 1) + np.diag(np.where(values(n) < 0, -1, 1) * (n / 2 + 1.5))


def pivoted(n):
    return until(lambda: values((n, n)), lambda x: la.cond(x) < 30 * n)


def rectangle(m, n):
    """Of full rank."""
    return until(lambda: values((m, n)), lambda x: la.cond(x) < 8 * max(m, n))


def definite(n):
    x = values((n, n), -1, 1)
    return np.round((x @ x.T + np.eye(n)) * 16) / 16


def low_rank(m, n, rank):
    """Exactly; the singular values that are there are far from 0."""
    if rank == 0:
        return np.zeros((m, n))
    return until(lambda: rng.integers(-4, 5, (m, rank)) @ rng.integers(-4, 5, (rank, n)) / 4,
                 lambda x: la.svdvals(x)[rank - 1] > la.svdvals(x)[0] / 50)


def gap(s):
    return float(np.min(np.abs(np.diff(s)), initial=INF))


def has_clear_signs(columns):
    sizes = np.sort(np.abs(columns), axis=0)
    return columns.shape[0] < 2 or bool(np.all(sizes[-1] > 1.01 * sizes[-2]))


def spread(m, n):
    """Whose singular values are apart."""
    def good(x):
        u, s, _ = la.svd(x, full_matrices=False)
        return gap(s) > s[0] / (4 * len(s) ** 1.5) and s[-1] > s[0] / 100 and has_clear_signs(u)
    weights = np.eye(m, n) * np.arange(1, n + 1) * (2 if min(m, n) > 5 else 0)
    return until(lambda: values((m, n)) + weights, good)


def symmetric(n):
    """Whose eigenvalues are apart."""
    def make():
        half = values((n, n), -1, 1)
        return half + half.T + np.diag(rng.permutation(n) * (3.0 if n > 5 else 1.0) - n)

    def good(x):
        w, v = la.eigh(x)
        return gap(w) > 0.25 and has_clear_signs(v)
    return until(make, good)


def several(kind, batch, *extents):
    count = int(np.prod(batch))
    matrices = [kind(*extents) for _ in range(max(count, 1))]
    return np.reshape(np.array(matrices)[:count], batch + matrices[0].shape)


# Tolerances.
def norm2(x):
    return float(np.max(la.norm(x, 2, (-2, -1)), initial=0)) if x.size else 1.0


def condition(x):
    return float(np.max(la.cond(x), initial=1)) if x.size else 1.0


def scale(x):
    """What a tolerance is a multiple of, beside the dtype's epsilon."""
    return max(1.0, float(np.max(np.abs(x), initial=0)))


def epsilons(x, sensitivity=1.0):
    return int(np.ceil(8 * (max(x.shape[-2:], default=0) + 2) * sensitivity))


def by_condition(x):
    return epsilons(x, condition(x))


# Calls.
def squares(name, f, tolerance, kinds, sizes=SIZES, errors=True, out=None, **attributes):
    """Of one matrix of each size, of batches, and of nothing."""
    for kind in kinds:
        for i, n in enumerate(sizes):
            x = kind(n)
            for dtype in FLOATS if n < 10 else [FLOATS[i % 2]]:
                case(name, f, [x], [dtype], out or dtype, tolerance(x), **attributes)
        for batch in BATCHES:
            x = several(kind, batch, int(rng.integers(2, 5)))
            for dtype in FLOATS:
                case(name, f, [x], [dtype], out or dtype, tolerance(x), **attributes)
    for shape in NO_MATRICES:
        x = np.zeros(shape)
        case(name, f, [x], ["float64"], out or "float64", tolerance(x), **attributes)
    for shape in ((2, 3), (4,)) if errors else ():
        case(name, f, [values(shape)], ["float32"], "float32", 8, **attributes)


RECTANGLES = [(1, 1), (2, 2), (3, 2), (2, 3), (1, 5), (5, 1), (4, 4), (7, 4), (4, 7), (9, 3), (16, 5),
              (6, 6), (9, 9)]


def rectangles(name, f, tolerance, kind, more=(), out=None, **attributes):
    for i, (m, n) in enumerate(RECTANGLES + list(more)):
        x = kind(m, n)
        for dtype in FLOATS if m < 10 else [FLOATS[i % 2]]:
            case(name, f, [x], [dtype], out or dtype, tolerance(x), **attributes)
    for batch in BATCHES:
        x = several(kind, batch, *[(3, 2), (2, 4), (3, 3)][int(rng.integers(0, 3))])
        for dtype in FLOATS:
            case(name, f, [x], [dtype], out or dtype, tolerance(x), **attributes)
    for shape in NO_MATRICES + [(0, 3), (2, 0), (2, 3, 0)]:
        x = np.zeros(shape)
        case(name, f, [x], ["float64"], out or "float64", tolerance(x), **attributes)
    case(name, f, [values((4,))], ["float32"], "float32", 8, **attributes)


# Factors.
for upper in (False, True):
    # NumPy's "upper" makes U = L^H of the upper triangle.
    squares("cholesky", lambda x: la.cholesky(x, upper=upper), by_condition, [definite], upper=upper)
    case("cholesky", lambda x: la.cholesky(x, upper=upper), [np.diag([4.0, -1.0, 1.0])], ["float64"],
         "float64", 8, upper=upper)


def qr(mode):
    def f(x):
        q, r = la.qr(x, mode)
        k = min(x.shape[-2:])
        flips = np.where(np.diagonal(r, 0, -2, -1) < 0, -1.0, 1.0)
        r = r.copy()
        r[..., :k, :] *= flips[..., None]
        return q[..., :k] * flips[..., None, :], r
    return f


def qr_tolerance(x):
    k = min(x.shape[-2:])
    return by_condition(x[..., :k])


for mode in ("reduced", "complete"):
    rectangles("qr", qr(mode), qr_tolerance, rectangle, [(16, 16)], mode=mode)


def svd(x):
    u, s, vh = la.svd(x, full_matrices=False)
    if x.size:
        at = np.argmax(np.abs(u), axis=-2, keepdims=True)
        flips = np.where(np.take_along_axis(u, at, -2) < 0, -1.0, 1.0)
        u, vh = u * flips, vh * np.swapaxes(flips, -1, -2)
    return u, s, vh


def svd_tolerance(x):
    if not x.size:
        return 8
    s = la.svdvals(x)
    # A vector turns by how near the next value is; 0 is next to the last of a rectangle's.
    apart = np.min(np.concatenate([np.abs(np.diff(s)), s[..., -1:]], -1))
    return epsilons(x, float(np.max(s)) / apart)


for full in (False, True):
    rectangles("svd", svd, svd_tolerance, spread, full_matrices=full)
rectangles("svdvals", la.svdvals, epsilons, rectangle, [(33, 33), (33, 7)])
rectangles("svdvals", la.svdvals, epsilons, lambda m, n: low_rank(m, n, 1))


def eigh(x):
    w, v = la.eigh(x)
    if x.size:
        at = np.argmax(np.abs(v), axis=-2, keepdims=True)
        v = v * np.where(np.take_along_axis(v, at, -2) < 0, -1.0, 1.0)
    return w, v


def eigh_tolerance(x):
    return epsilons(x, norm2(x) / min(gap(la.eigvalsh(x)), norm2(x))) if x.size else 8


squares("eigh", eigh, eigh_tolerance, [symmetric], [n for n in SIZES if n < 33])
squares("eigvalsh", la.eigvalsh, epsilons, [symmetric, definite])

# Systems.
for kind in (heavy, pivoted):
    for i, n in enumerate(SIZES):
        a = kind(n)
        for dtype in FLOATS if n < 10 else [FLOATS[i % 2]]:
            case("solve", la.solve, [a, values((n,))], [dtype] * 2, dtype, by_condition(a))
            case("solve", la.solve, [a, values((n, 1 + n % 4))], [dtype] * 2, dtype, by_condition(a))
    # NumPy takes b for a vector only if it has one axis.
    for a_batch, b_shape in (((), (4, 3, 2)), ((4,), (3,)), ((4,), (3, 2)), ((4, 1), (2, 3, 1)),
                             ((2, 3), (2, 3, 3, 3)), ((1,), (5, 3, 2)), ((0,), (3, 2)), ((), (0, 3, 2)),
                             ((2,), (3, 0)), ((), (2, 2, 3, 2))):
        a = several(kind, a_batch, 3)
        for dtype in FLOATS:
            case("solve", la.solve, [a, values(b_shape)], [dtype] * 2, dtype, by_condition(a))
case("solve", la.solve, [heavy(3), values((3,))], ["float32", "float64"], "float64", 400)
for a_shape, b_shape in (((3, 3), (2, 2)), ((2, 3), (2, 2)), ((2, 3, 3), (4, 3, 1)), ((3, 3), (4,))):
    case("solve", la.solve, [values(a_shape), values(b_shape)], ["float32"] * 2, "float32", 8)
for a_shape, b_shape in (((0, 0), (0,)), ((0, 0), (0, 3)), ((2, 0, 0), (2, 0, 1))):
    case("solve", la.solve, [np.zeros(a_shape), np.zeros(b_shape)], ["float64"] * 2, "float64", 8)
squares("inv", la.inv, by_condition, [heavy, pivoted], [n for n in SIZES if n < 33])
for singular in (np.zeros((2, 2)), np.array([[1.0, 2], [2, 4]]), np.diag([1.0, 0, 2, 3, 4, 5, 6, 7, 8, 9])):
    for dtype in FLOATS:
        case("inv", la.inv, [singular], [dtype], dtype, 8)
        case("solve", la.solve, [singular, np.ones(len(singular))], [dtype] * 2, dtype, 8)


def pinv_of(dtype, rtol=None):
    def f(x):
        share = max(x.shape[-2:]) * np.finfo(dtype).eps if rtol is None else rtol
        return la.pinv(x, rtol=share)
    return f


def lstsq_of(dtype, rtol=None):
    def f(a, b):
        sides = b[:, None] if b.ndim == 1 else b
        batch = np.broadcast_shapes(a.shape[:-2], sides.shape[:-2])
        many = np.broadcast_to(a, batch + a.shape[-2:])
        sides = np.broadcast_to(sides, batch + sides.shape[-2:])
        share = max(a.shape[-2:]) * np.finfo(dtype).eps if rtol is None else rtol
        x = np.zeros(batch + (a.shape[-1], sides.shape[-1]))
        for at in np.ndindex(*batch):
            x[at] = scipy.linalg.lstsq(many[at], sides[at], cond=share)[0]
        residuals = np.sum((sides - many @ x) ** 2, -2)
        if b.ndim == 1:
            x, residuals = x[..., 0], residuals[..., 0]
        return x, residuals, la.matrix_rank(a, rtol=share), la.svdvals(a)
    return f


def least(a, b, dtype, rtol=None):
    """A solution changes by the condition number, and by its square for what is left over; what is left
    over, squared, is small beside the sides."""
    kept = [s[s > (rtol or 1e-6) * s[0]] for s in la.svdvals(a).reshape(-1, min(a.shape[-2:]))]
    condition_number = max((s[0] / s[-1] for s in kept if s.size), default=1.0)
    given = {} if rtol is None else {"rtol": rtol}
    case("lstsq", lstsq_of(dtype, rtol), [a, b], [dtype] * 2, [dtype, dtype, "int64", dtype],
         epsilons(a, condition_number ** 2 + float(np.max(np.abs(b), initial=0)) ** 2), **given)


for dtype in FLOATS:
    for m, n in RECTANGLES:
        a = rectangle(m, n)
        case("pinv", pinv_of(dtype), [a], [dtype], dtype, by_condition(a))
        a = until(lambda: rectangle(m, n), lambda a: la.cond(a) < 12)
        least(a, values((m,)), dtype)
        least(a, values((m, 3)), dtype)
    for m, n, rank in ((2, 2, 1), (4, 4, 2), (5, 3, 2), (3, 5, 2), (9, 9, 4), (6, 6, 0)):
        a = low_rank(m, n, rank)
        s = la.svdvals(a)
        kept = s[0] / s[max(rank - 1, 0)] if rank else 1.0
        # Of what is not there rounding leaves less than this share.
        case("pinv", pinv_of(dtype, 0.001), [a], [dtype], dtype, epsilons(a, kept ** 2), rtol=0.001)
        if kept < 12:
            least(a, values((m, 2)), dtype, 0.001)
    # What is nearly singular counts, or does not.
    near = np.diag([4.0, 1.0, 2.0 ** -4])[[2, 0, 1]]
    for rtol in (0.01, 0.02):
        case("pinv", pinv_of(dtype, rtol), [near], [dtype], dtype, epsilons(near, 64), rtol=rtol)
        least(near, values((3,)), dtype, rtol)
    for batch, m, n in (((0,), 3, 2), ((5,), 2, 4), ((2, 3), 3, 3)):
        a = several(rectangle, batch, m, n)
        case("pinv", pinv_of(dtype), [a], [dtype], dtype, by_condition(a))
    for a_batch, b_shape in (((2,), (5, 3)), ((), (2, 5, 2)), ((2, 1), (3, 5, 1)), ((3,), (5,))):
        a = several(lambda m, n: until(lambda: rectangle(m, n), lambda a: la.cond(a) < 12), a_batch, 5, 3)
        least(a, values(b_shape), dtype)
    for shape in ((0, 0), (0, 3), (2, 0), (2, 3, 0)):
        case("pinv", pinv_of(dtype), [np.zeros(shape)], [dtype], dtype, 8)


def det_tolerance(x):
    """It changes by the product of the singular values but the least."""
    if not x.size:
        return 8
    s = la.svdvals(x)
    return epsilons(x, float(np.max(np.prod(s[..., :-1], -1) * s[..., 0])) / scale(la.det(x)))


squares("det", la.det, det_tolerance, [heavy, pivoted, lambda n: low_rank(n, n, n // 2)],
        [n for n in SIZES if n < 33])
squares("slogdet", lambda x: tuple(la.slogdet(x)), by_condition, [heavy, pivoted])


def with_zeros(n):
    x = values((n, n))
    x[:, n // 2] = 0
    return x


squares("det", la.det, lambda x: 0, [with_zeros], errors=False)
squares("slogdet", lambda x: tuple(la.slogdet(x)), lambda x: 0, [with_zeros], errors=False)
case("det", la.det, [np.array([[3, 5, 1], [2, -4, 7], [1, 1, 6]])], ["int32"], "float32", 200)
case("inv", la.inv, [np.array([[3, 5, 1], [2, -4, 7], [1, 1, 6]])], ["int64"], "float32", 200)

for dtype in FLOATS:
    eps = float(np.finfo(dtype).eps)

    def rank_of(x):
        return la.matrix_rank(x, rtol=max(x.shape[-2:]) * eps)

    for m, n in RECTANGLES:
        # Of what is not there rounding leaves less than 1e-4, but maybe more than by default.
        for rank in sorted({0, 1, min(m, n) // 2, min(m, n)}):
            x = low_rank(m, n, rank)
            case("matrix_rank", rank_of, [x], [dtype], "int64",
                 **({} if rank in (0, min(m, n)) else {"rtol": 1e-4}))
    for batch in BATCHES:
        case("matrix_rank", rank_of, [several(lambda n: low_rank(n, n, 2), batch, 4)], [dtype], "int64",
             rtol=1e-4)
    for rtol in (0.01, 0.02):
        case("matrix_rank", lambda x: la.matrix_rank(x, rtol=rtol), [np.diag([4.0, 1.0, 2.0 ** -4])],
             [dtype], "int64", rtol=rtol)
    for shape in ((0, 0), (0, 3), (2, 0), (2, 3, 0)):
        case("matrix_rank", lambda x: np.zeros(x.shape[:-2], int), [np.zeros(shape)], [dtype], "int64")


# Norms.
ORDERS = ["fro", "nuc", 1.0, -1.0, 2.0, -2.0, INF, -INF]

for p in ORDERS:
    for i, n in enumerate([1, 2, 3, 5, 8, 9, 16, 33]):
        x = [heavy, pivoted][i % 2](n)
        for dtype in FLOATS if n < 9 else [FLOATS[i % 2]]:
            case("cond", lambda x: la.cond(x, p), [x], [dtype], dtype, by_condition(x), p=p)
    x = several(heavy, (2, 3), 3)
    case("cond", lambda x: la.cond(x, p), [x], ["float64"], "float64", by_condition(x), p=p)
    case("cond", lambda x: la.cond(x, p), [np.zeros((0, 3, 3))], ["float64"], "float64", 8, p=p)
    case("cond", lambda x: la.cond(x, p), [np.zeros((0, 0))], ["float64"], "float64", 8, p=p)
    for n in (2, 10) if p != "nuc" else ():  # NumPy asks for the singular values of NaN
        singular = np.diag(np.arange(float(n)))
        case("cond", lambda x: la.cond(x, p), [np.zeros((n, n))], ["float64"], "float64", 8, p=p)
        case("cond", lambda x: la.cond(x, p), [np.stack([singular, np.eye(n), singular + 1])], ["float64"],
             "float64", by_condition(singular + 1), p=p)
    if p in (2.0, -2.0):
        x = rectangle(5, 3)
        case("cond", lambda x: la.cond(x, p), [x], ["float32"], "float32", by_condition(x), p=p)
    else:
        case("cond", lambda x: la.cond(x, p), [values((3, 2))], ["float32"], "float32", 8, p=p)

for order in ORDERS:
    for shape in ((1, 1), (3, 2), (2, 5), (4, 4), (9, 16), (2, 3, 3), (2, 2, 1, 4), (0, 3, 2)):
        for dtype in FLOATS:
            keepdims = bool(rng.integers(0, 2))
            x = values(shape)
            case("matrix_norm", lambda x: la.matrix_norm(x, keepdims=keepdims, ord=order), [x], [dtype],
                 dtype, epsilons(x), ord=order, keepdims=keepdims)
    case("matrix_norm", lambda x: la.matrix_norm(x, ord=order), [values((4,))], ["float32"], "float32", 8,
         ord=order)
    for shape in ((0, 0), (0, 3), (3, 0)):
        case("matrix_norm", lambda x: la.matrix_norm(x, ord=order), [np.zeros(shape)], ["float64"],
             "float64", 8, ord=order)
for order in (3.0, "max"):
    case("matrix_norm", lambda x: la.matrix_norm(x, ord=order), [values((2, 2))], ["float32"], "float32", 8,
         ord=order)

for order in (2.0, 1.0, 0.0, INF, -INF, 3.0, 0.5, -1.0, -2.0, 2.5):
    for shape in ((), (1,), (7,), (2, 3), (3, 4, 2), (0,), (2, 0, 3)):
        choices = [[]] if not shape else [[], [-1], [0]]
        if len(shape) == 3:
            choices.append([2, 0])
        for i, axes in enumerate(choices):
            x = values(shape)
            keepdims = bool(rng.integers(0, 2))
            axis = tuple(axes) if axes else None
            dtype = FLOATS[(i + len(shape)) % 2]
            # Orders below 1 make much of a small change: 1 / |order| of it.
            case("vector_norm", lambda x: la.vector_norm(x, axis=axis, keepdims=keepdims, ord=order), [x],
                 [dtype], dtype, 32, axes=axes, keepdims=keepdims, ord=order)
case("vector_norm", lambda x: la.vector_norm(x, axis=2), [values((2, 3))], ["float32"], "float32", 8,
     axes=[2])


# Powers and products.
def power_tolerance(n):
    def tolerance(x):
        if not x.size:
            return 8
        base = la.inv(x) if n < 0 else x
        result = la.matrix_power(x, n)
        change = max(abs(n), 1) * norm2(base) ** abs(n) * (condition(x) if n < 0 else 1.0)
        return epsilons(x, change / scale(result))
    return tolerance


for n in (0, 1, 2, 7, -1, -3):
    squares("matrix_power", lambda x: la.matrix_power(x, n), power_tolerance(n), [heavy], [1, 2, 3, 5, 9],
            n=n)
for n in (0, 1, 2, 5, 10):
    for dtype in ("int32", "int64"):
        case("matrix_power", lambda x: la.matrix_power(x, n), [rng.integers(-2, 3, (2, 3, 3))], [dtype],
             dtype, n=n)
case("matrix_power", lambda x: la.matrix_power(x, -2), [np.array([[2, 1], [1, 3]])], ["int32"], "float32",
     100, n=-2)
case("matrix_power", lambda x: la.matrix_power(x, -2), [np.zeros((2, 2))], ["float32"], "float32", 100, n=-2)


def small(n):
    return values((n, n), -1, 1)


def rotation(n):
    half = values((n, n), -2, 2)
    return half - half.T


squares("expm", scipy.linalg.expm, lambda x: epsilons(x, 2 + 2 * norm2(x)) if x.size else 8,
        [rotation, lambda n: small(n) / 2], [1, 2, 3, 4, 5, 6, 9, 16])
for matrices in (np.diag([0.0, 1, -1]), np.diag([-20.0, -1, 3]), np.zeros((3, 3)), np.triu(values((4, 4))),
                 np.stack([np.eye(2) / 16, np.eye(2) * 12, np.ones((2, 2)) * 3])):
    for dtype in FLOATS:
        case("expm", scipy.linalg.expm, [matrices], [dtype], dtype,
             epsilons(matrices, 2 + 2 * norm2(matrices)))


def cross(axis):
    def f(a, b):
        if a.shape[axis] != 3 or b.shape[axis] != 3:
            raise ValueError
        return la.cross(a, b, axis=axis)
    return f


for dtype in FLOATS + ["int32", "int64"]:
    def of(shape):
        return values(shape) if dtype in FLOATS else rng.integers(-9, 10, shape)

    for a_shape, b_shape, axis in (((3,), (3,), -1), ((4, 3), (4, 3), -1), ((4, 3), (3,), -1),
                                   ((3, 2), (3, 2), 0),
                                   ((3, 1), (3, 4), 0), ((2, 1, 3), (5, 3), -1), ((2, 3, 4), (2, 3, 1), 1),
                                   ((0, 3), (0, 3), -1), ((2, 3, 4), (3, 4), -2), ((2, 3), (2, 2), -1),
                                   ((3,), (4,), 0), ((2, 3), (4, 3), -1)):
        case("cross", cross(axis), [of(a_shape), of(b_shape)], [dtype] * 2, dtype, 4 * (dtype in FLOATS),
             axis=axis)
    for shape in ((1, 1), (3, 4), (4, 3), (2, 3, 3), (2, 1, 2, 5), (0, 0), (0, 2, 2), (3, 0), (4,)):
        for offset in (0, 1, -2, 5):
            x = of(shape)
            summed = dtype if dtype in FLOATS else "int64"
            case("trace", lambda x: la.trace(x, offset=offset), [x], [dtype], summed, 8 * (dtype in FLOATS),
                 offset=offset)
            case("linalg.diagonal", lambda x: la.diagonal(x, offset=offset), [x], [dtype], dtype,
                 offset=offset)
    for a_shape, b_shape in (((), ()), ((3,), (2,)), ((2, 2), (3, 1)), ((0,), (2,)), ((2, 3), (2,)),
                             ((2, 2, 2), (1, 2))):
        case("kron", np.kron, [of(a_shape), of(b_shape)], [dtype] * 2, dtype, 4 * (dtype in FLOATS))
        case("outer", np.outer, [of(a_shape), of(b_shape)], [dtype] * 2, dtype, 4 * (dtype in FLOATS))
    for a_shape, b_shape, axis in (((4,), (4,), -1), ((2, 3), (3,), -1), ((2, 1, 3), (4, 3), -1),
                                   ((3, 2), (3, 1), -2),
                                   ((0,), (0,), -1), ((2, 0), (2, 0), -1), ((3,), (4,), -1)):
        case("vecdot", lambda a, b: np.vecdot(np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)),
             [of(a_shape), of(b_shape)], [dtype] * 2, dtype, 8 * (dtype in FLOATS), axis=axis)
    for shape in ((1, 1), (2, 5), (2, 3, 4), (0, 3), (4,)):
        case("matrix_transpose", np.matrix_transpose, [of(shape)], [dtype], dtype)
    for a_shape, b_shape in (((), (3,)), ((4,), (4,)), ((4,), (4, 2)), ((3, 4), (4,)), ((1, 1), (1, 1)),
                             ((2, 3), (3, 5)), ((9, 16), (16, 7)), ((2, 3, 4), (4, 5)),
                             ((2, 1, 3, 4), (3, 4, 2)), ((3, 4), (2, 4, 3)), ((0, 3), (3, 2)),
                             ((2, 0), (0, 3)), ((2, 3), (3, 0)), ((0, 2, 3), (3, 2)), ((2, 3), (2, 3)),
                             ((5, 2, 2), (3, 2, 2)), ((33, 9), (9, 33))):
        case("matmul", np.matmul, [of(a_shape), of(b_shape)], [dtype] * 2, dtype, 16 * (dtype in FLOATS))

calls.write("linalg.txt")
