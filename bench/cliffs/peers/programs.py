"""The programs of bench/cliffs in NumPy, JAX and torch; each does what the one of its name
does in programs/*.cpp.

Most are written once, in the names of the array API standard: `xp` is numpy, jax.numpy or torch
behind torch_namespace(). A peer that has a better way has a program of its own.
"""

import functools
import math

PROGRAMS = {}  # by (peer, name); peer "" for all without one of their own
NOT_THERE = set()  # (peer, name)


def program(*peers, name=None, without=()):
    def register(function):
        own = name or function.__name__.removesuffix("_")
        for peer in peers or ("",):
            PROGRAMS[peer, own] = function
        NOT_THERE.update((peer, own) for peer in without)
        return function
    return register


def names(peer):
    return sorted({name for owner, name in PROGRAMS if owner in ("", peer)
                   and (peer, name) not in NOT_THERE})


def find(peer, name):
    return PROGRAMS.get((peer, name)) or PROGRAMS["", name]


def torch_namespace(torch):
    """torch in the names of the array API standard."""

    def reduction(function):
        def reduce(x, axis=None, keepdims=False):
            if axis is None:
                return function(x)
            return function(x, dim=axis, keepdim=keepdims)
        return staticmethod(reduce)

    class Namespace:
        def __getattr__(self, name):
            return getattr(torch, name)

        sum = reduction(torch.sum)
        mean = reduction(torch.mean)
        max = reduction(torch.amax)
        min = reduction(torch.amin)
        argmax = reduction(torch.argmax)
        argmin = reduction(torch.argmin)
        any = reduction(torch.any)
        all = reduction(torch.all)
        prod = staticmethod(lambda x, axis=None: torch.prod(x) if axis is None
                            else torch.prod(x, dim=axis[0]))
        var = staticmethod(lambda x, axis=None: torch.var(x, dim=axis, correction=0))
        cumsum = staticmethod(lambda x, axis: torch.cumsum(x, dim=axis))
        cumprod = staticmethod(lambda x, axis: torch.cumprod(x, dim=axis))
        flip = staticmethod(lambda x, axes: torch.flip(x, axes))
        permute_dims = staticmethod(torch.permute)
        concat = staticmethod(lambda arrays, axis: torch.cat(arrays, dim=axis))
        stack = staticmethod(lambda arrays, axis: torch.stack(arrays, dim=axis))
        roll = staticmethod(lambda x, shift, axis: torch.roll(x, shift, dims=axis))
        expand_dims = staticmethod(torch.unsqueeze)
        astype = staticmethod(lambda x, dtype: x.to(dtype))
        dtype_of = staticmethod(lambda name: getattr(torch, name))

    return Namespace()


def axes(arguments):
    return tuple(arguments) or None


# --- Element-wise.

UNARY = """abs sign exp exp2 expm1 log log2 log10 log1p sqrt square sin cos tan sinc asin acos atan sinh
           cosh tanh asinh acosh atanh floor round isnan logical_not reciprocal""".split()
BINARY = """pow atan2 hypot logaddexp maximum floor_divide remainder less equal logical_and
            bitwise_xor""".split()


def call(op):
    return lambda xp, _, *operands: getattr(xp, op)(*operands)


for op in UNARY + BINARY:
    program(name=op)(call(op))

program(name="neg")(lambda xp, _, x: -x)
program(name="add")(lambda xp, _, x, y: x + y)
program(name="mul")(lambda xp, _, x, y: x * y)
program(name="div")(lambda xp, _, x, y: x / y)
program(name="shift_left")(lambda xp, _, x, y: x << y)
program(name="where")(lambda xp, _, c, x, y: xp.where(c, x, y))
program(name="clip")(lambda xp, _, x: xp.clip(x, -0.5, 0.5))
program(name="floor_divide_by")(lambda xp, arguments, x: x // arguments[0])
program(name="remainder_by")(lambda xp, arguments, x: x % arguments[0])
program(name="pow_const")(lambda xp, _, x: x ** 0.45)
program(name="cube")(lambda xp, _, x: x ** 3)
program(name="scale")(lambda xp, _, x: x * 3)

program("numpy", name="rsqrt")(lambda xp, _, x: 1 / xp.sqrt(x))
program("numpy", name="sigmoid")(lambda xp, _, x: 1 / (1 + xp.exp(-x)))
program("numpy", name="silu")(lambda xp, _, x: x / (1 + xp.exp(-x)))
program("numpy", name="softplus")(lambda xp, _, x: xp.logaddexp(x, x.dtype.type(0)))
program("numpy", name="mish")(lambda xp, _, x: x * xp.tanh(xp.log1p(xp.exp(x))))


def from_module(owner, path, *operations):
    """Programs that are functions of a module of the peer."""
    for operation in operations:
        def run(xp, _, *operands, operation=operation):
            return getattr(module(path), operation)(*operands)
        program(owner, name=operation)(run)


@functools.cache
def module(path):
    import importlib

    return importlib.import_module(path)


from_module("jax", "jax.lax", "rsqrt", "erf", "erfc")
from_module("jax", "jax.nn", "sigmoid", "silu", "softplus", "mish")
program("torch", name="equal")(lambda xp, _, x, y: x == y)
from_module("torch", "torch", "rsqrt", "erf", "erfc", "sigmoid")
from_module("torch", "torch.nn.functional", "silu", "softplus", "mish", "gelu")
program("jax", name="gelu")(lambda xp, _, x: module("jax.nn").gelu(x, approximate=False))

DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i8": "int8",
          "i32": "int32", "i64": "int64", "bool": "bool"}
for short, long in DTYPES.items():
    program(name=f"to_{short}", without=("numpy",) if short == "bf16" else ())(
        lambda xp, _, x, long=long: x.astype(getattr(xp, long)))
    program("torch", name=f"to_{short}")(
        lambda xp, _, x, long=long: x.to(getattr(xp, long)))

# Of transposed operands: a result in row-major order, as Sluice's and JAX's are. NumPy and torch
# keep the operands' order, in which nothing is transposed.
IN_ORDER = ("add", "exp", "to_f16")
for op in IN_ORDER:
    program("jax", name=f"{op}_in_order")(find("jax", op))
    program("numpy", name=f"{op}_in_order")(
        lambda xp, a, *x, run=find("numpy", op): xp.ascontiguousarray(run(xp, a, *x)))
    program("torch", name=f"{op}_in_order")(
        lambda xp, a, *x, run=find("torch", op): run(xp, a, *x).contiguous())


# --- Reductions.

for op in ("sum", "prod", "max", "min", "any", "all", "mean", "var"):
    program(name=op)(lambda xp, arguments, x, op=op: getattr(xp, op)(x, axis=axes(arguments)))
for op in ("argmax", "argmin"):
    program(name=op)(lambda xp, arguments, x, op=op: getattr(xp, op)(
        x, axis=arguments[0] if arguments else None))

program(name="norm")(lambda xp, arguments, x: xp.linalg.vector_norm(x, axis=axes(arguments)))
program("torch", name="norm")(lambda xp, arguments, x: xp.linalg.vector_norm(
    x, dim=axes(arguments)))
program(name="sum_of_sum")(lambda xp, arguments, x, y: xp.sum(x + y, axis=axes(arguments)))
program(name="dot")(lambda xp, arguments, x, y: xp.sum(x * y, axis=axes(arguments)))


@program("numpy")
def logsumexp(xp, arguments, x):
    greatest = x.max(axis=axes(arguments), keepdims=True)
    total = xp.sum(xp.exp(x - greatest), axis=axes(arguments))
    return xp.log(total) + xp.reshape(greatest, total.shape)


program("jax", name="logsumexp")(lambda xp, arguments, x: module("jax.nn").logsumexp(
    x, axis=axes(arguments)))
program("torch", name="logsumexp")(lambda xp, arguments, x: xp.logsumexp(x, dim=axes(arguments)))


@program("numpy", name="softmax")
def numpy_softmax(xp, arguments, x):
    e = xp.exp(x - xp.max(x, axis=arguments[0], keepdims=True))
    return e / xp.sum(e, axis=arguments[0], keepdims=True)


@program("numpy")
def log_softmax(xp, arguments, x):
    d = x - xp.max(x, axis=arguments[0], keepdims=True)
    return d - xp.log(xp.sum(xp.exp(d), axis=arguments[0], keepdims=True))


for op in ("softmax", "log_softmax"):
    program("jax", name=op)(lambda xp, arguments, x, op=op: getattr(module("jax.nn"), op)(
        x, axis=arguments[0]))
    program("torch", name=op)(lambda xp, arguments, x, op=op: getattr(xp, op)(
        x, dim=arguments[0]))


def standardised(xp, x, axis):
    d = x - xp.mean(x, axis=axis, keepdims=True)
    return d / xp.sqrt(xp.mean(d * d, axis=axis, keepdims=True) + 1e-5)


program(name="layer_norm")(lambda xp, _, x, weight, bias: standardised(xp, x, -1) * weight + bias)
program("torch", name="layer_norm")(lambda xp, _, x, weight, bias: xp.layer_norm(
    x, x.shape[-1:], weight, bias, 1e-5))
program(name="batch_norm")(lambda xp, _, x: standardised(xp, x, (0, 2, 3)))
program("torch", name="batch_norm")(lambda xp, _, x: xp.nn.functional.batch_norm(
    x, None, None, training=True, eps=1e-5))
program(name="rms_norm")(lambda xp, _, x, weight: x / xp.sqrt(
    xp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * weight)
program("torch", name="rms_norm")(lambda xp, _, x, weight: xp.nn.functional.rms_norm(
    x, x.shape[-1:], weight, 1e-6))
program(name="cumsum")(lambda xp, arguments, x: xp.cumsum(x, axis=arguments[0]))
program(name="cumprod")(lambda xp, arguments, x: xp.cumprod(x, axis=arguments[0]))


# --- Sorting.

program(name="sort")(lambda xp, arguments, x: xp.sort(x, axis=arguments[0]))
program("torch", name="sort")(lambda xp, arguments, x: xp.sort(x, dim=arguments[0]).values)
program(name="argsort")(lambda xp, arguments, x: xp.argsort(x, axis=arguments[0]))
program("numpy", name="topk")(lambda xp, arguments, x: xp.sort(
    xp.partition(x, -arguments[0])[..., -arguments[0]:])[..., ::-1])
program("jax", name="topk")(lambda xp, arguments, x: module("jax").lax.top_k(x, arguments[0])[0])
program("torch", name="topk")(lambda xp, arguments, x: xp.topk(x, arguments[0]).values)
program(name="searchsorted")(lambda xp, _, line, x: xp.searchsorted(xp.sort(line), x))
program("torch", name="searchsorted")(
    lambda xp, _, line, x: xp.searchsorted(xp.sort(line).values, x))
program("numpy", name="median")(lambda xp, arguments, x: xp.median(x, axes(arguments)))
program("jax", name="median")(lambda xp, arguments, x: xp.median(x, axes(arguments)))


# What has as many elements as the values say JAX does not compile.
def eager(name, function):
    program("numpy", "torch", name=name)(function)

    def run(xp, arguments, *inputs):
        return function(xp, arguments, *inputs)
    run.jits_itself = True
    program("jax", name=name)(run)


eager("unique", lambda xp, _, x: xp.unique(x))
eager("masked", lambda xp, _, x, mask: x[mask])
program("numpy", name="nonzero")(lambda xp, _, x: xp.argwhere(x))
program("torch", name="nonzero")(lambda xp, _, x: xp.nonzero(x))


# --- Moving elements.

program("numpy", name="copy")(lambda xp, _, x: xp.ascontiguousarray(x))
program("jax", name="copy")(lambda xp, _, x: x)
program("torch", name="copy")(lambda xp, _, x: x.contiguous())

program(name="take")(lambda xp, arguments, x, at: xp.take(x, at, axis=arguments[0]))
program("torch", name="take")(lambda xp, arguments, x, at: xp.index_select(x, arguments[0], at))
program(name="take_along")(lambda xp, arguments, x, at: xp.take_along_axis(
    x, at, axis=arguments[0]))
program("torch", name="take_along")(lambda xp, arguments, x, at: xp.gather(x, arguments[0], at))
program(name="take_sum")(lambda xp, _, x, at: xp.sum(xp.take(x, at, axis=0), axis=0))
program("torch", name="take_sum")(lambda xp, _, x, at: xp.sum(xp.index_select(x, 0, at), axis=0))


@program("numpy")
def scatter_add(xp, _, x, at, updates):
    y = x.copy()
    xp.add.at(y, at, updates)
    return y


program("jax", name="scatter_add")(lambda xp, _, x, at, updates: x.at[at].add(updates))
program("torch", name="scatter_add")(lambda xp, _, x, at, updates: x.index_add(0, at, updates))


@program("numpy", "torch")
def set_strided(xp, a, x, value=1):
    y = x.copy() if xp.__name__ == "numpy" else x.clone()
    y[..., a[0]::a[1]] = value
    return y


program("jax", name="set_strided")(lambda xp, a, x, value=1: x.at[..., a[0]::a[1]].set(value))

program("numpy", name="one_hot")(lambda xp, arguments, at: xp.eye(
    arguments[0], dtype=xp.float32)[at])
program("jax", name="one_hot")(lambda xp, arguments, at: module("jax.nn").one_hot(
    at, arguments[0], dtype=xp.float32))
program("torch", name="one_hot")(lambda xp, arguments, at: xp.nn.functional.one_hot(
    at, arguments[0]).to(xp.float32))
program(name="concat")(lambda xp, arguments, *parts: xp.concat(parts, axis=arguments[0]))
program(name="stack")(lambda xp, arguments, *parts: xp.stack(parts, axis=arguments[0]))
program(name="concat_many")(lambda xp, arguments, x: xp.concat(
    xp.split(x, arguments[0], axis=0), axis=1))
program("torch", name="concat_many")(lambda xp, arguments, x: xp.cat(
    xp.chunk(x, arguments[0], dim=0), dim=1))
program(name="pad")(lambda xp, _, x: xp.pad(x, 1))
program("torch", name="pad")(lambda xp, _, x: xp.nn.functional.pad(x, (1, 1, 1, 1)))
program(name="pad_images")(lambda xp, _, x: xp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))))
program("torch", name="pad_images")(lambda xp, _, x: xp.nn.functional.pad(x, (1, 1, 1, 1)))
program(name="roll")(lambda xp, arguments, x: xp.roll(x, arguments[1], axis=arguments[0]))
program(name="roll_both")(lambda xp, arguments, x: xp.roll(x, tuple(arguments), axis=(0, 1)))
program(name="tile")(lambda xp, arguments, x: xp.tile(x, tuple(arguments)))
program(name="repeat")(lambda xp, arguments, x: xp.repeat(x, arguments[1], axis=arguments[0]))
program("torch", name="repeat")(lambda xp, arguments, x: xp.repeat_interleave(
    x, arguments[1], dim=arguments[0]))
program(name="tril")(lambda xp, _, x: xp.tril(x))


# --- Random numbers.

@functools.cache
def generator():
    return module("numpy").random.default_rng(1)


@functools.cache
def key():
    return module("jax.random").key(1)


program("numpy", name="rand")(lambda xp, a: generator().random(a[0], dtype=xp.float32))
program("numpy", name="rand_f64")(lambda xp, a: generator().random(a[0]))
program("numpy", name="rand_f16")(lambda xp, a: generator().random(
    a[0], dtype=xp.float32).astype(xp.float16))
program("numpy", name="randn")(lambda xp, a: generator().standard_normal(a[0], dtype=xp.float32))
program("numpy", name="randn_f64")(lambda xp, a: generator().standard_normal(a[0]))
program("numpy", name="randint")(lambda xp, a: generator().integers(a[1], a[2], a[0]))
for short in ("f16", "f32", "f64"):
    for op in ("rand", "randn"):
        program("torch", name=op if short == "f32" else f"{op}_{short}")(
            lambda xp, a, op=op, long=DTYPES[short]: getattr(xp, op)(
                a[0], dtype=getattr(xp, long)))
program("torch", name="randint")(lambda xp, a: xp.randint(a[1], a[2], (a[0],)))


# A key that is known when it is compiled would have the numbers made by the compiler.
@functools.cache
def jax_random(op, dtype, shape, *more):
    jax = module("jax")
    return jax.jit(lambda key: getattr(jax.random, op)(key, shape, *more, dtype=dtype))


def random_of_jax(name, op, dtype):
    def run(xp, a):
        return jax_random(op, getattr(xp, dtype), (a[0],), *a[1:])(key())
    run.jits_itself = True
    program("jax", name=name)(run)


for short in ("f16", "f32", "f64"):
    suffix = "" if short == "f32" else f"_{short}"
    random_of_jax("rand" + suffix, "uniform", DTYPES[short])
    random_of_jax("randn" + suffix, "normal", DTYPES[short])
random_of_jax("randint", "randint", "int64")


# --- Products, and programs of many ops.

program(name="matmul")(lambda xp, _, x, y: xp.matmul(x, y))
program("jax", name="linear_gelu")(lambda xp, _, x, y, bias: module("jax.nn").gelu(
    x @ y + bias, approximate=False))
program("torch", name="linear_gelu")(lambda xp, _, x, y, bias: xp.nn.functional.gelu(
    xp.addmm(bias, x, y)))


def softmax(xp, x):
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


program(name="attention")(lambda xp, _, q, k, v: softmax(
    xp, (q @ xp.swapaxes(k, -1, -2)) * (q.shape[-1] ** -0.5)) @ v)
program("torch", name="attention")(
    lambda xp, _, q, k, v: xp.nn.functional.scaled_dot_product_attention(q, k, v))


# Convolutions and pooling, which NumPy has none of.

def jax_conv2d(a, x, w):
    return module("jax.lax").conv_general_dilated(
        x, w, (a[0],) * 2, [(a[1],) * 2] * 2, feature_group_count=a[2])


@program("jax", name="conv2d_gradients")
def jax_conv2d_gradients(xp, a, x, w, g):
    by_images, by_filters = module("jax").vjp(functools.partial(jax_conv2d, a), x, w)[1](g)
    return by_images + xp.sum(by_filters)


@program("torch", name="conv2d_gradients")
def torch_conv2d_gradients(xp, a, x, w, g):
    by_images, by_filters, _ = xp.ops.aten.convolution_backward(
        g, x, w, None, [a[0]] * 2, [a[1]] * 2, [1, 1], False, [0, 0], a[2], [True, True, False])
    return by_images + xp.sum(by_filters)


def jax_windows(xp, a, x, initial, op):
    lax = module("jax.lax")
    return lax.reduce_window(x, xp.asarray(initial, x.dtype), getattr(lax, op),
                             (1, 1, a[0], a[0]), (1, 1, a[1], a[1]), "valid")


program("torch", name="unfold")(lambda xp, a, x: xp.nn.functional.unfold(x, a[0]))
program("torch", name="fold")(lambda xp, a, x: xp.nn.functional.fold(x, (a[0], a[0]), a[1]))
for mode in ("linear", "cubic"):
    program("torch", name=f"interpolate_{mode}")(
        lambda xp, a, x, mode=mode: xp.nn.functional.interpolate(
            x, (a[0], a[0]), mode=f"bi{mode}", antialias=bool(a[1])))
program("torch", name="grid_sample")(lambda xp, _, x, g: xp.nn.functional.grid_sample(
    x, g * 1.1, align_corners=False))
program("torch", name="causal_attention")(
    lambda xp, _, q, k, v: xp.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))

program("jax", name="conv2d")(lambda xp, a, x, w: jax_conv2d(a, x, w))
program("torch", name="conv2d")(lambda xp, a, x, w: xp.nn.functional.conv2d(
    x, w, None, a[0], a[1], 1, a[2]))
program("jax", name="max_pool2d")(lambda xp, a, x: jax_windows(xp, a, x, -math.inf, "max"))
program("jax", name="avg_pool2d")(
    lambda xp, a, x: jax_windows(xp, a, x, 0, "add") / (a[0] * a[0]))
program("torch", name="max_pool2d")(lambda xp, a, x: xp.nn.functional.max_pool2d(x, *a))
program("torch", name="avg_pool2d")(lambda xp, a, x: xp.nn.functional.avg_pool2d(x, *a))


@program(name="chain")
def chain(xp, _, x, y):
    t = x
    for _ in range(5):
        t = t * y + x
    return t


def square_distances(xp, x, y):
    d = x[:, None] - y[None]
    return xp.sum(d * d, axis=2)


program(name="distances")(lambda xp, _, x, y: square_distances(xp, x, y))
program(name="nearest")(lambda xp, _, x, y: xp.argmin(square_distances(xp, x, y), axis=1))
program("torch", name="distances")(lambda xp, _, x, y: xp.cdist(
    x, y, compute_mode="donot_use_mm_for_euclid_dist").square())
program("torch", name="nearest")(lambda xp, _, x, y: xp.argmin(xp.cdist(
    x, y, compute_mode="donot_use_mm_for_euclid_dist"), axis=1))


def middle(x):
    return 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])


@program(name="jacobi")
def jacobi(xp, arguments, x):
    for _ in range(arguments[0]):
        y = x.clone() if hasattr(x, "clone") else x.copy()
        y[1:-1, 1:-1] = middle(x)
        x = y
    return x


@program("jax", name="jacobi")
def jax_jacobi(xp, arguments, x):
    return module("jax.lax").fori_loop(
        0, arguments[0], lambda _, x: x.at[1:-1, 1:-1].set(middle(x)), x)


program(name="jacobi_rolled")(lambda xp, _, x: 0.25 * (
    xp.roll(x, 1, axis=0) + xp.roll(x, -1, axis=0)
    + xp.roll(x, 1, axis=1) + xp.roll(x, -1, axis=1)))

AROUND = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]


def generation(cells, neighbours):
    alive = (neighbours == 3) | ((cells == 1) & (neighbours == 2))
    return alive.to(cells.dtype) if hasattr(alive, "to") else alive.astype(cells.dtype)


@program(name="life_rolled")
def life_rolled(xp, _, x):
    neighbours = 0
    for dy, dx in AROUND:
        neighbours = neighbours + xp.roll(x, (dy, dx), axis=(0, 1))
    return generation(x, neighbours)


@program(name="life_joined")
def life_joined(xp, _, x):
    tall = xp.concat([x[-1:], x, x[:1]], axis=0)
    wide = xp.concat([tall[:, -1:], tall, tall[:, :1]], axis=1)
    neighbours = 0
    for dy, dx in AROUND:
        neighbours = neighbours + wide[1 + dy:1 + dy + x.shape[0], 1 + dx:1 + dx + x.shape[1]]
    return generation(x, neighbours)


@program(name="bodies")
def bodies(xp, _, x, mass):
    d = x[None] - x[:, None]
    r = xp.sum(d * d, axis=2, keepdims=True) + 1e-3
    return xp.sum(d * (mass[None, :, None] / xp.sqrt(r * r * r)), axis=1)


@program(name="bodies_by_component")
def bodies_by_component(xp, _, x, mass):
    d = [x[:, c][None] - x[:, c][:, None] for c in range(3)]
    r = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 1e-3
    force = mass[None] / xp.sqrt(r * r * r)
    return xp.stack([xp.sum(component * force, axis=1) for component in d], axis=1)


program(name="gamma_of_image")(lambda xp, _, image, weights: xp.sum(
    xp.pow(image, 0.45) * weights, axis=-1))


def black_scholes(xp, erf, spot, strike, years):
    def cdf(d):
        return 0.5 + 0.5 * erf(d * (1 / math.sqrt(2)))
    spread = 0.3 * xp.sqrt(years)
    d = (xp.log(spot / strike) + (0.02 + 0.5 * 0.3 * 0.3) * years) / spread
    exercised, delta = cdf(d - spread), cdf(d)
    discounted = strike * xp.exp(-0.02 * years)
    return (spot * delta - discounted * exercised,
            discounted * (1 - exercised) - spot * (1 - delta))


program("jax", name="black_scholes")(lambda xp, _, *x: black_scholes(
    xp, module("jax.lax").erf, *x))
program("torch", name="black_scholes")(lambda xp, _, *x: black_scholes(xp, xp.erf, *x))


# Adam's state outlives a step. `xp` and the inputs name a row's.
class Adam:
    def __init__(self, inputs):
        half = len(inputs) // 2
        self.parameters, self.gradients = list(inputs[:half]), list(inputs[half:])
        self.means = [x * 0 for x in self.parameters]
        self.squares = [x * 0 for x in self.parameters]
        self.steps, self.inputs = 0, inputs

    def scales(self):
        self.steps += 1
        return 1 / (1 - 0.9 ** self.steps), 1 / (1 - 0.999 ** self.steps)


STATE = {}


def adam_of(inputs):
    state = STATE.get("adam")
    if state is None or any(a is not b for a, b in zip(state.inputs, inputs)):
        state = STATE["adam"] = Adam(inputs)
    return state


def adam_update(xp, scales, parameter, gradient, mean, squares):
    mean = 0.9 * mean + 0.1 * gradient
    squares = 0.999 * squares + 0.001 * gradient * gradient
    parameter = parameter - 1e-3 * (mean * scales[0]) / (xp.sqrt(squares * scales[1]) + 1e-8)
    return parameter, mean, squares


@program("numpy", name="adam")
def adam(xp, _, *inputs):
    state = adam_of(inputs)
    scales = [xp.float32(scale) for scale in state.scales()]
    for i, gradient in enumerate(state.gradients):
        state.parameters[i], state.means[i], state.squares[i] = adam_update(
            xp, scales, state.parameters[i], gradient, state.means[i], state.squares[i])
    return state.parameters


@program("torch", name="adam")
def torch_adam(xp, _, *inputs):
    state = adam_of(inputs)
    if state.steps == 0:
        state.parameters = [x.clone() for x in state.parameters]
        state.optimiser = xp.optim.Adam(state.parameters, lr=1e-3, fused=True)
        for parameter, gradient in zip(state.parameters, state.gradients):
            parameter.grad = gradient
    state.steps += 1
    state.optimiser.step()
    return state.parameters


@functools.cache
def jax_adam_step():
    def update(parameters, means, squares, gradients, scales):
        updated = [adam_update(module("jax.numpy"), scales, *each)
                   for each in zip(parameters, gradients, means, squares)]
        return tuple(map(list, zip(*updated)))
    return module("jax").jit(update, donate_argnums=(0, 1, 2))


@program("jax", name="adam")
def jax_adam(xp, _, *inputs):
    state = adam_of(inputs)
    if state.steps == 0:  # the inputs are not to be given away
        state.parameters = [xp.copy(x) for x in state.parameters]
    scales = [xp.float32(scale) for scale in state.scales()]
    state.parameters, state.means, state.squares = jax_adam_step()(
        state.parameters, state.means, state.squares, state.gradients, scales)
    return state.parameters


jax_adam.jits_itself = True


@program(name="growing_cache")
def growing_cache(xp, arguments, queries, new_keys, new_values):
    keys, values, scale = new_keys[:1], new_values[:1], queries.shape[1] ** -0.5
    for i in range(1, arguments[0]):
        keys = xp.concat([keys, new_keys[i:i + 1]], axis=0)
        values = xp.concat([values, new_values[i:i + 1]], axis=0)
        result = softmax(xp, (queries[i:i + 1] @ keys.T) * scale) @ values
    return result


# Under jit every length would be compiled, so what is used is a cache of the final length and a mask.
@functools.cache
def jax_cache_step():
    jax, xp = module("jax"), module("jax.numpy")

    def step(keys, values, i, queries, new_keys, new_values):
        def row(x):
            return jax.lax.dynamic_slice_in_dim(x, i, 1)
        keys = jax.lax.dynamic_update_slice_in_dim(keys, row(new_keys), i, 0)
        values = jax.lax.dynamic_update_slice_in_dim(values, row(new_values), i, 0)
        scores = (row(queries) @ keys.T) * (queries.shape[1] ** -0.5)
        scores = xp.where(xp.arange(keys.shape[0]) <= i, scores, -xp.inf)
        return keys, values, softmax(xp, scores) @ values
    return jax.jit(step, donate_argnums=(0, 1))


@program("jax", name="growing_cache")
def jax_growing_cache(xp, arguments, queries, new_keys, new_values):
    keys = xp.zeros_like(new_keys).at[0].set(new_keys[0])
    values = xp.zeros_like(new_values).at[0].set(new_values[0])
    for i in range(1, arguments[0]):
        keys, values, result = jax_cache_step()(keys, values, i, queries, new_keys, new_values)
    return result


jax_growing_cache.jits_itself = True


def new_ops(xp, number, x, y):
    t = x
    for _ in range(10):
        number, digit = divmod(number, 4)
        if digit == 0:
            t = t + y
        elif digit == 1:
            t = t * y
        elif digit == 2:
            t = t - x
        else:
            t = xp.maximum(t, y)
    return t


def next_number():
    STATE["number"] = STATE.get("number", 0) + 7919
    return STATE["number"]


program(name="new_chain")(lambda xp, _, x, y: new_ops(xp, next_number(), x, y))


@program("jax", name="new_chain")
def jax_new_chain(xp, _, x, y):
    number = next_number()
    return module("jax").jit(lambda x, y: new_ops(xp, number, x, y))(x, y)


jax_new_chain.jits_itself = True


# --- Matrices taken apart.

def regular(xp, x):
    return x + 2 * x.shape[-1] * xp.eye(x.shape[-1], dtype=x.dtype)


program(name="solve")(lambda xp, _, x, y: xp.linalg.solve(regular(xp, x), y))
program(name="inv")(lambda xp, _, x: xp.linalg.inv(regular(xp, x)))
program(name="cholesky")(lambda xp, _, x: xp.linalg.cholesky(regular(xp, x + x.swapaxes(-1, -2))))


@program()
def svd(xp, _, x):
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return s + abs(u[..., 0, :]) + abs(vh[..., :, 0])
