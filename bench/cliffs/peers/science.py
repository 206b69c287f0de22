"""The programs of science.cpp in NumPy, JAX and torch (see programs.py)."""

import functools
import operator

from programs import axes, module, program


def total(terms):
    return functools.reduce(operator.add, terms)


def cast(xp, x, dtype):
    return x.to(getattr(xp, dtype)) if hasattr(x, "to") else x.astype(getattr(xp, dtype))


program(name="transformed")(lambda xp, _, x, r, t: x @ xp.swapaxes(r, 0, 1) + t)
program(name="turned_each")(lambda xp, _, r, x: (r @ x[..., None])[..., 0])
program("jax", name="turned_each")(lambda xp, _, r, x: xp.einsum("nij,nj->ni", r, x))
program(name="cross")(lambda xp, _, x, y: xp.linalg.cross(x, y))
program(name="det")(lambda xp, _, x: xp.linalg.det(x))
program(name="row_dots")(lambda xp, _, x, y: xp.sum(x * y, axis=(-1,)))
program("numpy", name="row_dots")(lambda xp, _, x, y: xp.einsum("ij,ij->i", x, y))


@program()
def quaternion_product(xp, _, p, q):
    pw, px, py, pz = (p[..., k] for k in range(4))
    qw, qx, qy, qz = (q[..., k] for k in range(4))
    return xp.stack((pw * qw - px * qx - py * qy - pz * qz, pw * qx + px * qw + py * qz - pz * qy,
                     pw * qy - px * qz + py * qw + pz * qx, pw * qz + px * qy - py * qx + pz * qw),
                    axis=-1)


program(name="covariance")(lambda xp, _, x: xp.cov(x, rowvar=False))
program("torch", name="covariance")(lambda xp, _, x: xp.cov(x.T))


@program()
def moving_mean(xp, a, x):
    c = xp.cumsum(x, axis=0)
    return (c[a[0]:] - c[:-a[0]]) / a[0]


program(name="lagged_product")(lambda xp, a, x: xp.sum(x[:-a[0]] * x[a[0]:]))
program("numpy", "torch", name="lagged_product")(lambda xp, a, x: xp.dot(x[:-a[0]], x[a[0]:]))


@program()
def k_means_step(xp, _, x, centres):
    distances = xp.sum((x[:, None, :] - centres) ** 2, axis=(2,))
    label = xp.argmin(distances, axis=1)
    members = cast(xp, label[:, None] == xp.arange(len(centres)), str(x.dtype).split(".")[-1])
    counts = xp.clip(xp.sum(members, axis=(0,)), 1, None)
    return members.T @ x / counts[:, None]


@program()
def squared_distances(xp, _, x, y):
    return xp.sum(x * x, axis=(1,))[:, None] + xp.sum(y * y, axis=(1,)) - 2 * (x @ y.T)


@program("numpy", "jax")
def counts_in_bins(xp, a, x):
    bins = cast(xp, xp.floor(x * a[0]), "int32")
    if xp.__name__ == "numpy":
        return xp.bincount(bins, minlength=a[0])
    return xp.bincount(bins, length=a[0])


program("torch", name="counts_in_bins")(
    lambda xp, a, x: xp.bincount(cast(xp, xp.floor(x * a[0]), "int64"), minlength=a[0]))
program(name="quartile")(lambda xp, a, x: xp.quantile(x, 0.25, axis=axes(a)))
program("torch", name="quartile")(lambda xp, a, x: xp.quantile(x, 0.25, dim=a[0] if a else None))
program("numpy", "jax", name="interp")(lambda xp, _, x, k, f: xp.interp(x, xp.cumsum(k), f))


@program()
def wave_step(xp, _, u, before):
    around = (xp.roll(u, 1, axis=0) + xp.roll(u, -1, axis=0)
              + xp.roll(u, 1, axis=1) + xp.roll(u, -1, axis=1))
    return 2 * u - before + 0.1 * (around - 4 * u)


@program()
def mandelbrot(xp, _, re, im):
    re, im = re[None, :], im[:, None]
    x, y = re + 0 * im, im + 0 * re
    count = xp.zeros_like(x)
    for _ in range(20):
        x, y = x * x - y * y + re, 2 * x * y + im
        count = xp.where(x * x + y * y < 4, count + 1, count)
        x, y = xp.clip(x, -4, 4), xp.clip(y, -4, 4)
    return count


@program()
def haversine(xp, _, a, b):
    u = xp.sin((b[:, 0] - a[:, 0]) / 2)
    v = xp.sin((b[:, 1] - a[:, 1]) / 2)
    return 12742 * xp.asin(xp.sqrt(u * u + xp.cos(a[:, 0]) * xp.cos(b[:, 0]) * v * v))


@program()
def hsv(xp, _, x):
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    high = xp.max(x, axis=(-1,))
    span = high - xp.min(x, axis=(-1,))
    safe = xp.clip(span, 1e-6, None)
    hue = xp.where(high == r, (g - b) / safe,
                   xp.where(high == g, 2 + (b - r) / safe, 4 + (r - g) / safe))
    return xp.stack((hue / 6, span / xp.clip(high, 1e-6, None), high), axis=-1)


@program()
def blur(xp, _, x):
    taps = (0.0625, 0.25, 0.375, 0.25, 0.0625)
    n, m = x.shape
    x = total([w * x[i:n - 4 + i] for i, w in enumerate(taps)])
    return total([w * x[:, i:m - 4 + i] for i, w in enumerate(taps)])


@program()
def filtered(xp, _, x):
    n = len(x)
    return total([0.1 * (i + 1) * x[i:n - 8 + i] for i in range(9)])


program("numpy", name="filtered")(
    lambda xp, _, x: xp.convolve(x, xp.arange(9, 0, -1, dtype=x.dtype) * x.dtype.type(0.1), "valid"))
program(name="integral_image")(lambda xp, _, x: xp.cumsum(xp.cumsum(x, axis=0), axis=1))


@program()
def power_iteration(xp, _, a, v):
    for _ in range(10):
        v = a @ v
        v = v / xp.sqrt(xp.sum(v * v))
    return v


@program()
def entropy(xp, _, x, mask):
    x = xp.where(mask, x, -1e9)
    e = xp.exp(x - xp.max(x, axis=(-1,), keepdims=True))
    p = e / xp.sum(e, axis=(-1,), keepdims=True)
    return -xp.sum(p * xp.log(p + 1e-9), axis=(-1,))


program(name="trapezoid")(lambda xp, _, x: xp.trapezoid(x, dx=0.1))


@program()
def hashed(xp, _, x):
    x = x ^ (x << 13)
    x = x ^ (x >> 7)
    return x ^ (x << 17)


@program()
def bits_set(xp, _, x):
    x = x & 0x7fffffff
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0f0f0f0f
    return (x * 0x01010101) >> 24


@program()
def quantised(xp, _, x):
    scaled = cast(xp, x, "float32") * 0.7 + 3.0
    return cast(xp, xp.clip(xp.round(scaled), -128, 127), "int8")


def drawdown_by(greatest_so_far):
    def drawdown(xp, _, x):
        worth = xp.exp(xp.cumsum(x, axis=0) * 0.01)
        return xp.min(worth / greatest_so_far(worth) - 1)
    return drawdown


program("numpy", name="drawdown")(drawdown_by(lambda x: module("numpy").maximum.accumulate(x)))
program("jax", name="drawdown")(drawdown_by(lambda x: module("jax.lax").cummax(x)))
program("torch", name="drawdown")(drawdown_by(lambda x: module("torch").cummax(x, 0)[0]))


@program()
def mean_of_positive(xp, a, x):
    good = x > 0
    return xp.sum(xp.where(good, x, 0), axis=axes(a)) / xp.sum(good, axis=axes(a))


program(name="distances_from")(
    lambda xp, _, x, y: xp.sqrt((x[None, :] - 0.3) ** 2 + (y[:, None] - 0.1) ** 2))
program(name="complex_product")(
    lambda xp, _, a, b, c, d: (a * c - b * d, a * d + b * c))


@program()
def lennard_jones(xp, _, x):
    d = x[:, None, :] - x[None, :, :]
    r2 = xp.sum(d * d, axis=(-1,)) + 0.1
    i6 = 1 / (r2 * r2 * r2)
    return xp.sum(((48 * i6 * i6 - 24 * i6) / r2)[:, :, None] * d, axis=(1,))


@program()
def logistic_gradient(xp, _, x, w, y):
    return x.T @ (1 / (1 + xp.exp(-(x @ w))) - y) / len(x)


program(name="sorted_by_key")(lambda xp, _, x: x[xp.argsort(x[:, 0])])
program(name="ranks")(lambda xp, _, x: xp.argsort(xp.argsort(x, -1), -1))
program(name="all_close")(
    lambda xp, _, x, y: xp.all(xp.abs(x - y) <= 1e-5 + 1e-3 * xp.abs(y)))
