"""Rows that nobody chose: programs of the table with inputs drawn at random.

The same seed gives the same rows. What is slow among them belongs into the table, or is the
neighbour of something that does.
"""

import random
from math import prod as product

DTYPES = {"f32": 8, "f64": 4, "f16": 1, "bf16": 1, "i8": 1, "u8": 1, "i32": 2, "i64": 3, "bool": 1}
FLOATS = ("f32", "f64", "f16", "bf16")
REAL = ("f32", "f64")
# How many elements: what the caches hold, mostly, and more.
USUAL, LARGE = (200, 3_000_000), (6_000_000, 24_000_000)
SHORT = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 20, 24, 28, 31, 32, 33, 48, 63, 64)


class Draw:
    """Draws what rows are made of."""

    def __init__(self, seed, row, given, elements):
        self.random, self.row_type, self.given = random.Random(seed), row, given
        self.least, self.most = elements

    def dtype(self, among=tuple(DTYPES)):
        return self.random.choices(among, [DTYPES[name] for name in among])[0]

    def integer(self, low, high):
        """Uniform in its logarithm."""
        return min(high, int(low * ((high + 1) / low) ** self.random.random()))

    def elements(self):
        return self.integer(self.least, self.most)

    def shape(self, rank=None, elements=None):
        """Extents whose product is about `elements`: often one is long and the others short."""
        rank = rank or self.random.choices((1, 2, 3, 4), (2, 6, 4, 2))[0]
        left = elements or self.elements()
        extents = []
        for _ in range(rank - 1):
            most = max(1, min(left, 5000))
            extent = self.random.choice(SHORT) if self.random.random() < 0.5 \
                else self.integer(1, most)
            extents.append(min(extent, most))
            left = max(1, left // extents[-1])
        extents.append(left)
        self.random.shuffle(extents)
        return tuple(extents)

    def axes(self, rank, all_of_them=True):
        count = self.random.randint(0 if all_of_them else 1, rank)
        return tuple(sorted(self.random.sample(range(rank), count)))

    def view(self, shape):
        """A view, and the shape before it that gives this one."""
        views = [""] * 5
        if len(shape) > 1:
            views += ["T", "rows2", "inside"]
        views += ["step2", "flip"]
        view = self.random.choice(views)
        before = list(shape)
        if view == "T":
            before[-1], before[-2] = before[-2], before[-1]
        elif view == "step2":
            before[-1] *= 2
        elif view == "rows2":
            before[0] *= 2
        elif view == "inside":
            before[-1] += 2
            before[-2] += 2
        return view, tuple(before)

    def input(self, dtype, shape, between=None, views=True):
        view, before = self.view(shape) if views else ("", shape)
        if between is None and dtype in ("f16", "bf16"):
            between = (0, 0.01)
        return self.given(dtype, *before, between=between, view=view)

    def row(self, group, program, *inputs, args=(), lacks=(), **more):
        shown = " ".join(":".join(part for part in (text.split(":")[0], text.split(":")[1],
                                                    text.split(":")[4]) if part)
                         for text in inputs)
        name = f"{program}({','.join(map(str, args))}) {shown}"
        return self.row_type(name, group, program, *inputs, args=args, lacks=lacks, **more)


def operands(draw, dtype, between):
    """Two inputs, of which the second may have to be broadcast."""
    shape = draw.shape()
    first = draw.input(dtype, shape, between)
    if draw.random.random() < 0.4:
        shape = tuple(1 if draw.random.random() < 0.5 else extent for extent in shape)
    return first, draw.input(dtype, shape, between)


def element_wise(draw):
    kind = draw.random.choice(("unary", "binary", "binary", "where", "cast", "function"))
    if kind == "unary":
        program = draw.random.choice(("abs", "neg", "square", "copy", "clip"))
        among = FLOATS if program == "clip" else ("f32", "f64", "f16", "i8", "i32", "i64")
        dtype = draw.dtype(among)
        return draw.row(kind, program, draw.input(dtype, draw.shape(), (-9, 9)))
    if kind == "binary":
        program = draw.random.choice(("add", "mul", "maximum", "less", "equal", "div"))
        dtype = draw.dtype(FLOATS if program == "div" else tuple(d for d in DTYPES if d != "bool"))
        return draw.row(kind, program, *operands(draw, dtype, (1, 9)))
    if kind == "where":
        dtype = draw.dtype()
        shape = draw.shape()
        return draw.row(kind, "where", draw.input("bool", shape), draw.input(dtype, shape),
                        draw.input(dtype, shape))
    if kind == "cast":
        source = draw.dtype()
        target = draw.random.choice([d for d in ("f32", "f64", "f16", "i8", "i32", "i64", "bool")
                                     if d != source])
        return draw.row(kind, f"to_{target}", draw.input(source, draw.shape(), (0, 99)),
                        tolerance=2e-2)
    program = draw.random.choice("exp log sin cos tanh sqrt erf sigmoid log1p atan expm1".split())
    lacks = ("numpy",) if program == "erf" else ()
    return draw.row(kind, program, draw.input(draw.dtype(FLOATS), draw.shape(), (0.1, 3)),
                    lacks=lacks)


def reduction(draw):
    shape = draw.shape()
    rank = len(shape)
    program = draw.random.choice(
        "sum sum mean max min prod any all argmax argmin var norm logsumexp dot".split())
    among = {"any": ("bool", "f32", "i32"), "all": ("bool", "f32", "i32"),
             "sum": tuple(DTYPES), "max": tuple(d for d in DTYPES if d != "bool"),
             "min": ("f32", "f64", "i32", "i64", "i8"), "prod": ("f32", "f64", "i64"),
             "argmax": ("f32", "f64", "i32", "i64", "i8"), "argmin": ("f32", "f64", "i32", "i64")}
    dtype = draw.dtype(among.get(program, REAL))
    if program.startswith("arg") or program == "prod":
        axes = (draw.random.randrange(rank),) if draw.random.random() < 0.8 else ()
    else:
        axes = draw.axes(rank)
    if not axes and program == "logsumexp":
        axes = tuple(range(rank))
    between = (0.9, 1.1) if program == "prod" and dtype != "i64" else None
    inputs = [draw.input(dtype, shape, between) for _ in range(2 if program == "dot" else 1)]
    return draw.row("reductions", program, *inputs, args=axes, tolerance=2e-2)


def normalisation(draw):
    shape = draw.shape(rank=draw.random.choice((2, 3)))
    dtype = draw.dtype(FLOATS)
    program = draw.random.choice("softmax log_softmax layer_norm rms_norm cumsum cumprod".split())
    if program in ("softmax", "log_softmax"):
        return draw.row("rows", program, draw.input(dtype, shape),
                        args=(draw.random.randrange(len(shape)),))
    if program in ("layer_norm", "rms_norm"):
        vectors = [draw.input(dtype, shape[-1:], views=False)
                   for _ in range(2 if program == "layer_norm" else 1)]
        lacks = ("jax",) if dtype == "f64" else ()
        return draw.row("rows", program, draw.input(dtype, shape), *vectors, lacks=lacks)
    dtype = draw.dtype(("f32", "f64", "i32", "i64") if program == "cumsum" else REAL)
    between = (0.99, 1.01) if program == "cumprod" else (0, 3)
    return draw.row("rows", program, draw.input(dtype, shape, between),
                    args=(draw.random.randrange(len(shape)),), checks=program == "cumsum")


def movement(draw):
    program = draw.random.choice(
        "concat stack roll flip tile repeat permuted permuted every_nth pad_by pad take take "
        "take_along scatter_add".split())
    dtype = draw.dtype()
    shape = draw.shape(rank=draw.random.choice((2, 2, 3)))
    rank = len(shape)
    axis = draw.random.randrange(rank)
    x = draw.input(dtype, shape)
    if program == "concat":
        parts = [x]
        for _ in range(draw.random.choice((1, 1, 2, 3))):
            own = list(shape)
            own[axis] = draw.random.choice((1, 2, shape[axis], shape[axis]))
            parts.append(draw.input(dtype, tuple(own)))
        return draw.row("movement", program, *parts, args=(axis,))
    if program == "stack":
        parts = [draw.input(dtype, shape) for _ in range(draw.random.choice((2, 3, 4)))]
        return draw.row("movement", program, *parts, args=(draw.random.randrange(rank + 1),))
    if program == "roll":
        return draw.row("movement", program, x, args=(axis, draw.random.choice((1, -1, 3, 40))))
    if program == "flip":
        return draw.row("movement", program, x, args=draw.axes(rank, all_of_them=False))
    if program == "tile":
        shape = draw.shape(rank=2)
        x = draw.input(dtype, shape)
        args = tuple(draw.random.choice((1, 2, 3)) for _ in shape)
        return draw.row("movement", program, x, args=args)
    if program == "repeat":
        return draw.row("movement", program, x, args=(axis, draw.random.choice((2, 3, 5))))
    if program == "permuted":
        order = list(range(rank))
        while order == sorted(order):
            draw.random.shuffle(order)
        return draw.row("movement", program, draw.input(dtype, shape, views=False), args=order)
    if program == "every_nth":
        return draw.row("movement", program, x, args=(draw.random.choice((2, 3, 4, 5)), 0))
    if program in ("pad_by", "pad"):
        shape = draw.shape(rank=2)
        args = (draw.random.choice((0, 1, 3)), draw.random.choice((0, 1, 2)))
        return draw.row("movement", program, draw.input(dtype, shape),
                        args=args if program == "pad_by" else ())
    if program == "take_along":
        return draw.row("movement", program, x, args=(axis,), *[
            draw.given("i64", *shape, between=(0, shape[axis]))])
    if program == "scatter_add":
        dtype = draw.dtype(("f32", "f64", "i32", "i64"))
        shape = draw.shape(rank=draw.random.choice((1, 2, 2)))
        count = draw.integer(10, 100_000)
        x = draw.input(dtype, shape, views=False)
        if count * product(shape[1:]) >= 4_000_000:
            return movement(draw)
        return draw.row("movement", program, x, draw.given("i64", count, between=(0, shape[0])),
                        draw.given(dtype, count, *shape[1:]), checks=False)
    count = draw.integer(10, 2 * shape[axis] + 10)
    if count * product(shape) // shape[axis] > 8_000_000:
        return movement(draw)
    return draw.row("movement", program, x, draw.given("i64", count, between=(0, shape[axis])),
                    args=(axis,))


def sorting(draw):
    program = draw.random.choice("sort argsort topk unique searchsorted median masked".split())
    dtype = draw.dtype(("f32", "f64", "i32", "i64"))
    shape = draw.shape(rank=draw.random.choice((1, 2)), elements=draw.integer(200, 500_000))
    if program in ("sort", "argsort"):
        return draw.row("sorting", program, draw.input(dtype, shape),
                        args=(draw.random.randrange(len(shape)),), checks=program == "sort")
    if program == "topk":
        return draw.row("sorting", program, draw.input("f32", shape),
                        args=(draw.random.randint(1, min(shape[-1], 20)),), checks=False)
    if program == "unique":
        return draw.row("sorting", program, draw.input(dtype, (product(shape),), views=False))
    if program == "searchsorted":
        return draw.row("sorting", program, draw.given("f32", draw.integer(2, 100_000)),
                        draw.given("f32", draw.integer(100, 300_000)))
    if program == "median":
        return draw.row("sorting", program, draw.input("f32", shape), args=(len(shape) - 1,),
                        lacks=("torch",))
    return draw.row("sorting", program, draw.given(dtype, *shape), draw.given("bool", *shape))


def products(draw):
    if draw.random.random() < 0.6:
        m, k, n = (draw.integer(1, 700) for _ in range(3))
        batch = draw.random.choice(((), (), (draw.integer(2, 300),)))
        while m * k * n * (batch or (1,))[0] > 200_000_000:
            m, k, n = m // 2 + 1, k // 2 + 1, n // 2 + 1
        dtype = draw.dtype(("f32", "f64", "i32", "i64"))
        return draw.row("products", "matmul", draw.input(dtype, (*batch, m, k), (0, 1)),
                        draw.input(dtype, (*draw.random.choice((batch, ())), k, n), (0, 1)))
    size = draw.random.choice((1, 2, 3, 5))
    side = draw.random.choice((8, 14, 17, 28, 32, 56))
    channels = draw.random.choice((1, 3, 8, 16, 32, 64))
    filters = draw.random.choice((1, 6, 16, 32, 64))
    images = draw.random.choice((1, 2, 8))
    x = draw.given("f32", images, channels, side, side)
    if draw.random.random() < 0.3:
        kind = draw.random.choice(("max_pool2d", "avg_pool2d"))
        return draw.row("products", kind, x, args=(2, draw.random.choice((1, 2))), lacks=("numpy",))
    return draw.row("products", "conv2d", x, draw.given("f32", filters, channels, size, size),
                    args=(draw.random.choice((1, 1, 2)), size // 2, 1), lacks=("numpy",))


def compound(draw):
    """Programs of several ops, of matrices or of batches of images."""
    dtype = draw.dtype(REAL)
    n, m = draw.shape(rank=2, elements=draw.integer(200, 2_000_000))
    matrix = draw.input(dtype, (n, m))
    axes = draw.axes(2)

    def row(program, *inputs, **more):
        return draw.row("compound", program, *inputs, tolerance=5e-2, **more)

    def norm(channels):
        return [draw.given("f32", channels, between=(0.5, 1.5)), draw.given("f32", channels)]

    def network(program, *inputs, **more):
        name = program + draw.random.choice(("", "_gradients"))
        return row(name, *inputs, lacks=["numpy"], **more)

    side, channels, images = draw.integer(4, 60), draw.integer(1, 64), draw.integer(1, 16)
    batch = draw.given("f32", images, channels, side, side)
    programs = [
        lambda: row("any_greater", matrix, draw.input(dtype, (n, m), (1, 2)), args=axes),
        lambda: network("batch_norm_affine", batch, *norm(channels), checks=False),
        lambda: row("between_extremes", matrix, args=axes),
        lambda: row(
            "count_nonzero", draw.input(draw.dtype(("bool", "i8", "f32")), (n, m)), args=axes),
        lambda: network("cross_entropy", draw.given("f32", n, m),
                        draw.given("i64", n, between=(0, m))),
        lambda: row("diff", draw.given(dtype, n + 1, m + 1), args=(draw.random.choice((0, 1)),)),
        lambda: network("embedding", draw.given("f32", n, m), draw.given(
            "i64", draw.integer(1, max(1, 2_000_000 // m)), between=(0, n)), checks=False),
        lambda: row("entropy", matrix, draw.given("bool", n, m), checks=False),
        lambda: row("extremes", matrix, args=axes),
        lambda: row("greatest_magnitude", matrix),
        lambda: row("hashed", draw.given("i64", n * m)),
        lambda: network("layer_norm_affine", draw.given("f32", n, m), *norm(m), checks=False),
        lambda: row("masked_mean", matrix, draw.input("bool", (n, m)),
                    args=axes or (1,), checks=False),
        lambda: row("mean_of_positive", matrix, args=axes, checks=False),
        lambda: row("polynomial", draw.given(dtype, n * m)),
        lambda: network("pooled", batch),
        lambda: row("quantised", draw.given("f32", n * m)),
        lambda: row("row_dots", matrix, draw.input(dtype, (n, m))),
        lambda: network("softmax_last", draw.given("f32", n, m)),
        lambda: row("standardise", matrix, args=axes or (0,)),
        lambda: row("trapezoid", draw.given(dtype, n * m, between=(0, 1))),
        lambda: row("unit_rows", matrix),
    ]
    return draw.random.choice(programs)()


def random_rows(count, seed, row, given, elements=USUAL):
    draw = Draw(seed, row, given, elements)
    makers = (element_wise, reduction, reduction, normalisation, movement, movement, sorting,
              products, compound, compound)
    rows = {}
    while len(rows) < count:
        drawn = draw.random.choice(makers)(draw)
        rows[drawn.name] = drawn
    return list(rows.values())
