"""The rows of bench/cliffs: programs (in programs/ and peers/), their arguments and inputs."""

import itertools

from rows.everyday import everyday
from rows.large import large
from rows.networks import networks
from rows.science import science
from rows.views import views

MILLION = 1 << 20
FLOATS = ("f16", "bf16", "f32", "f64")
WHOLE = ("i8", "i32", "i64", "bool")
DTYPES = FLOATS + WHOLE
HALVES = ("f16", "bf16")
ROW_LENGTHS = (3, 8, 100, 4096, 1_000_000)


class Row:
    """A name (unique), a class, and what contestants are told."""

    def __init__(self, name, group, program, *inputs, args=(), lacks=(), cold=False, checks=True,
                 tolerance=None):
        self.name, self.group, self.program, self.inputs = name, group, program, inputs
        self.args = args
        self.lacks = set(lacks)  # the contestants that have no such program or dtype
        if any(text.startswith("bf16") for text in inputs):
            self.lacks.add("numpy")
        self.cold = cold  # each step is a new program
        self.checks = checks  # whether all compute the same
        self.tolerance = tolerance or (
            5e-2 if any(text.startswith(HALVES) for text in inputs) else 1e-3)

    def request(self, seconds):
        arguments = ",".join(map(str, self.args)) or "-"
        return " ".join(["prepare", "0" if self.cold else f"{seconds}", self.program, arguments,
                         *self.inputs])


def given(dtype, *shape, between=None, view=""):
    """An input: dtype:shape:low:high:view. The shape is that before the view."""
    default = {"bool": (0, 2), "i8": (-100, 100), "i16": (-100, 100), "u8": (0, 200), "i32": (-1000, 1000), "i64": (-1000, 1000)}
    low, high = between or default.get(dtype, (-1, 1))
    return f"{dtype}:{'x'.join(map(str, shape))}:{low}:{high}:{view}"


def by_rows(length, total=MILLION):
    """The shape of about `total` elements in rows of this length."""
    return max(1, total // length), length


def length_text(length):
    return {1_000_000: "10^6", MILLION: "1M"}.get(length, str(length))


def pointwise():
    def row(name, program, *inputs, **more):
        return Row(name, "element-wise", program, *inputs, **more)

    for dtype in DTYPES:
        yield row(f"add {dtype} 1M", "add", given(dtype, MILLION), given(dtype, MILLION))
    for dtype in ("f16", "bf16", "f64", "i8", "i32", "i64"):
        small = {"between": (-10, 10)} if dtype == "i8" else {}
        yield row(f"mul {dtype} 1M", "mul", given(dtype, MILLION, **small),
                  given(dtype, MILLION, **small))
    for dtype in FLOATS:
        yield row(f"div {dtype} 1M", "div", given(dtype, MILLION),
                  given(dtype, MILLION, between=(0.5, 2)))
    yield row("add f32 16M", "add", given("f32", 16 * MILLION), given("f32", 16 * MILLION))
    for dtype in ("f16", "f32", "f64", "i8", "i64"):
        yield row(f"add transposed {dtype} 1024x1024", "add", given(dtype, 1024, 1024),
                  given(dtype, 1024, 1024, view="T"))
    yield row("add both transposed f32 1024x1024", "add_in_order",
              given("f32", 1024, 1024, view="T"), given("f32", 1024, 1024, view="T"))
    for dtype in ("f16", "f32", "f64", "i8"):
        yield row(f"add every second column {dtype} 1024x2048", "add",
                  given(dtype, 1024, 2048, view="step2"), given(dtype, 1024, 2048, view="step2"))
    yield row("add every second row f32 2048x1024", "add",
              given("f32", 2048, 1024, view="rows2"), given("f32", 2048, 1024, view="rows2"))
    yield row("add flipped f32 1024x1024", "add", given("f32", 1024, 1024),
              given("f32", 1024, 1024, view="flip"))
    yield row("add interior f32 1026x1026", "add", given("f32", 1026, 1026, view="inside"),
              given("f32", 1026, 1026, view="inside"))
    for length in ROW_LENGTHS:
        shape = by_rows(length)
        yield row(f"add a row f32, rows of {length_text(length)}", "add", given("f32", *shape),
                  given("f32", 1, length))
        yield row(f"add a column f32, rows of {length_text(length)}", "add", given("f32", *shape),
                  given("f32", shape[0], 1))
    yield row("add a row i8, rows of 3", "add", given("i8", *by_rows(3)), given("i8", 1, 3))
    yield row("add a row f32 1000x3", "add", given("f32", 1000, 3), given("f32", 1, 3))
    yield row("add a column f32 300x5", "add", given("f32", 300, 5), given("f32", 300, 1))
    yield row("mul column by row f32 1024x1024", "mul", given("f32", 1024, 1),
              given("f32", 1, 1024))
    yield row("mul NCHW by channel f32 32x64x28x28", "mul", given("f32", 32, 64, 28, 28),
              given("f32", 64, 1, 1))
    for dtype in ("f16", "f32", "i8", "i64"):
        yield row(f"less {dtype} 1M", "less", given(dtype, MILLION), given(dtype, MILLION))
    for dtype in ("f16", "f32", "f64", "i8"):
        yield row(f"where {dtype} 1M", "where", given("bool", MILLION), given(dtype, MILLION),
                  given(dtype, MILLION))
    for dtype in ("bf16", "f32", "i8", "i64"):
        yield row(f"maximum {dtype} 1M", "maximum", given(dtype, MILLION), given(dtype, MILLION))
    yield row("clip f32 1M", "clip", given("f32", MILLION))
    yield row("abs i8 1M", "abs", given("i8", MILLION))
    yield row("neg f16 1M", "neg", given("f16", MILLION))
    yield row("isnan f32 1M", "isnan", given("f32", MILLION))
    yield row("floor f32 1M", "floor", given("f32", MILLION, between=(-9, 9)))
    yield row("round f64 1M", "round", given("f64", MILLION, between=(-9, 9)))
    yield row("logical_not bool 1M", "logical_not", given("bool", MILLION))
    yield row("logical_and bool 1M", "logical_and", given("bool", MILLION), given("bool", MILLION))
    yield row("bitwise_xor i32 1M", "bitwise_xor", given("i32", MILLION), given("i32", MILLION))
    yield row("shift left i32 1M", "shift_left", given("i32", MILLION),
              given("i32", MILLION, between=(0, 8)))
    for dtype in ("i8", "i32", "i64", "f32", "f64"):
        divisor = {"between": (1, 100 if dtype != "f32" else 3)}
        yield row(f"floor divide {dtype} 1M", "floor_divide", given(dtype, MILLION),
                  given(dtype, MILLION, **divisor), tolerance=2e-3)
    for dtype in ("i32", "i64", "f32"):
        yield row(f"remainder {dtype} 1M", "remainder",
                  given(dtype, MILLION, between=(-1000, 1000)),
                  given(dtype, MILLION, between=(1, 100)))
    yield row("floor divide by 7 i32 1M", "floor_divide_by", given("i32", MILLION), args=(7,))
    yield row("remainder by 7 i64 1M", "remainder_by", given("i64", MILLION), args=(7,))
    yield row("times 3 i64 1M", "scale", given("i64", MILLION))


def functions():
    ranges = {"exp": (-9, 9), "exp2": (-9, 9), "log": (0.01, 99), "log2": (0.01, 99),
              "log10": (0.01, 99), "log1p": (-0.9, 9), "sqrt": (0, 99), "rsqrt": (0.01, 99),
              "reciprocal": (0.5, 9), "sin": (-9, 9), "cos": (-9, 9), "tan": (-1.5, 1.5),
              "sinh": (-9, 9), "cosh": (-9, 9), "asinh": (-9, 9), "acosh": (1, 99),
              "atan": (-9, 9), "tanh": (-4, 4), "erf": (-4, 4), "erfc": (-4, 4),
              "sigmoid": (-9, 9), "gelu": (-4, 4), "silu": (-9, 9), "softplus": (-9, 9),
              "mish": (-9, 9), "sinc": (-4, 4)}

    def row(op, dtype, *inputs):
        lacks = {"erf": ["numpy"], "erfc": ["numpy"], "gelu": ["numpy"],
                 "mish": [], "reciprocal": []}.get(op, [])
        return Row(f"{op} {dtype} 1M", "elementary functions", op, *inputs, lacks=lacks)

    for op in ("exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan sinc asin acos "
               "atan sinh cosh tanh asinh acosh atanh erf erfc sigmoid gelu silu softplus mish").split():
        yield row(op, "f32", given("f32", MILLION, between=ranges.get(op, (-0.95, 0.95))))
    for op, low, high in (("pow", 0.1, 3), ("atan2", -1, 1), ("hypot", -1, 1),
                          ("logaddexp", -9, 9)):
        for dtype in ("f32", "f64") if op == "pow" else ("f32",):
            yield row(op, dtype, given(dtype, MILLION, between=(low, high)),
                      given(dtype, MILLION, between=(low, high)))
    for dtype, ops in (("f64", "exp log log1p sqrt sin cos tan tanh atan erf"),
                       ("f16", "exp sin tanh sqrt"), ("bf16", "exp gelu sigmoid")):
        for op in ops.split():
            yield row(op, dtype, given(dtype, MILLION, between=ranges.get(op, (-0.9, 0.9))))
    yield Row("pow 0.45 f32 1M", "elementary functions", "pow_const",
              given("f32", MILLION, between=(0, 1)))
    yield Row("cube f32 1M", "elementary functions", "cube", given("f32", MILLION))
    yield Row("exp transposed f32 1024x1024", "elementary functions", "exp_in_order",
              given("f32", 1024, 1024, view="T"))


def casts():
    for pair in ("f32 f16", "f16 f32", "f32 bf16", "bf16 f32", "f32 f64", "f64 f32", "f16 bf16",
                 "f64 f16", "f32 i8", "f32 i32", "i32 f32", "f32 i64", "i64 f32", "i8 f32",
                 "f64 i64", "i64 f64", "i64 i32", "i32 i64", "i8 i64", "i32 i8", "bool f32",
                 "f32 bool", "bool i64", "i64 bool", "f16 i32"):
        source, target = pair.split()
        between = {"between": (-99, 99)} if source != "bool" and target != "bool" else {}
        yield Row(f"cast {source} to {target} 1M", "casts", f"to_{target}",
                  given(source, MILLION, **between),
                  lacks=["numpy"] if target == "bf16" else [],
                  tolerance=2e-2 if target in HALVES else None)
    yield Row("cast transposed f32 to f16 1024x1024", "casts", "to_f16_in_order",
              given("f32", 1024, 1024, view="T"), tolerance=2e-2)


def reductions():
    def row(name, program, *inputs, args=(), **more):
        return Row(name, "reductions", program, *inputs, args=args, **more)

    positive = {"between": (0, 1)}
    batch = given("f32", 32, 64, 28, 28, **positive)
    names = "NCHW"
    for count in range(1, 5):
        for axes in itertools.combinations(range(4), count):
            over = ", ".join(names[axis] for axis in axes)
            yield row(f"sum over {over} of 32x64x28x28 f32", "sum", batch, args=axes)
    for program, subsets in (("var", ((0, 2, 3), (1,), (2, 3), (0,))), ("mean", ((0, 2, 3),)),
                             ("max", ((0, 2, 3), (1,), (2, 3), (3,))),
                             ("argmax", ((0,), (1,), (2,), (3,)))):
        for axes in subsets:
            over = ", ".join(names[axis] for axis in axes)
            yield row(f"{program} over {over} of 32x64x28x28 f32", program, batch, args=axes)
    small = {"f16": (0, 0.1), "bf16": (0, 0.1), "f64": (0, 1)}
    for dtype in ("f16", "bf16", "f64", "i8", "i32", "i64", "bool"):
        x = given(dtype, 1024, 1024, between=small.get(dtype))
        yield row(f"sum rows {dtype} 1024x1024", "sum", x, args=(1,))
        yield row(f"sum columns {dtype} 1024x1024", "sum", x, args=(0,))
        yield row(f"sum all {dtype} 1024x1024", "sum", x)
    yield row("sum all f32 1M", "sum", given("f32", MILLION, **positive))
    yield row("sum all f32 16M", "sum", given("f32", 16 * MILLION, **positive))
    for length in (2, *ROW_LENGTHS):
        x = given("f32", *by_rows(length), **positive)
        for program in ("sum", "max", "argmin"):
            yield row(f"{program} f32, rows of {length_text(length)}", program, x, args=(1,))
    for length in (16, 17, 24, 33, 48, 64):
        yield row(f"argmax f32, rows of {length}", "argmax", given("f32", *by_rows(length)),
                  args=(1,))
    for length in (24, 32):
        yield row(f"argmax f64, rows of {length}", "argmax", given("f64", *by_rows(length)),
                  args=(1,))
    for program in ("sum", "max", "argmax", "var"):
        yield row(f"{program} columns f32 4096x1024", program,
                  given("f32", 4096, 1024, **positive), args=(0,))
    for program in ("sum", "argmin"):
        yield row(f"{program} columns f32 2x500000", program,
                  given("f32", 2, 500_000, **positive), args=(0,))
        yield row(f"{program} columns f32 3x300000", program,
                  given("f32", 3, 300_000, **positive), args=(0,))
    yield row("sum columns f32 300000x3", "sum", given("f32", 300_000, 3, **positive), args=(0,))
    yield row("mean columns f32 100000x8", "mean", given("f32", 100_000, 8, **positive), args=(0,))
    yield row("var rows f32 1024x1024", "var", given("f32", 1024, 1024), args=(1,))
    yield row("var rows f32, rows of 8", "var", given("f32", *by_rows(8)), args=(1,))
    yield row("var columns f32 4096x4096", "var", given("f32", 4096, 4096), args=(0,))
    yield row("var all f64 1M", "var", given("f64", MILLION))
    for dtype in ("f16", "f64", "i8", "i64"):
        yield row(f"max rows {dtype} 1024x1024", "max", given(dtype, 1024, 1024), args=(1,))
        yield row(f"argmax rows {dtype} 1024x1024", "argmax", given(dtype, 1024, 1024), args=(1,),
                  checks=dtype != "f16")
    yield row("max all i64 1M", "max", given("i64", MILLION))
    yield row("min all f32 1M", "min", given("f32", MILLION))
    yield row("argmax all f32 1M", "argmax", given("f32", MILLION))
    yield row("any rows bool 1024x1024", "any", given("bool", 1024, 1024), args=(1,))
    yield row("all bool 1M", "all", given("bool", MILLION, between=(1, 2)))
    yield row("prod rows f32 1024x1024", "prod", given("f32", 1024, 1024, between=(0.95, 1.05)),
              args=(1,), tolerance=1e-2)
    yield row("norm rows f32 1024x1024", "norm", given("f32", 1024, 1024), args=(1,))
    yield row("logsumexp f32, rows of 100", "logsumexp", given("f32", *by_rows(100)), args=(1,))
    yield row("logsumexp f32, rows of 3", "logsumexp", given("f32", *by_rows(3)), args=(1,))
    yield row("sum rows transposed f32 1024x1024", "sum",
              given("f32", 1024, 1024, view="T", **positive), args=(1,))
    yield row("sum columns transposed f32 1024x1024", "sum",
              given("f32", 1024, 1024, view="T", **positive), args=(0,))
    wide = given("f32", 4096, 4096, view="T", **positive)
    for program in ("sum", "var", "max", "argmax"):
        for axes in ((0, 1), (0,), (1,)):
            if program == "argmax" and len(axes) > 1:
                continue
            over = ", ".join(map(str, axes))
            yield row(f"{program} over {over} of transposed f32 4096x4096", program, wide,
                      args=axes)
    yield row("sum all transposed f64 1000x3000", "sum",
              given("f64", 1000, 3000, view="T", **positive))
    yield row("sum all transposed f16 1000x3000", "sum",
              given("f16", 1000, 3000, view="T", between=(0, 0.1)))
    for extents in ((2, 1_000_000), (5, 3648), (1000, 2, 100), (100, 3, 500)):
        shape = "x".join(map(str, extents))
        yield row(f"sum over -2, -1 of transposed f32 {shape}", "sum",
                  given("f32", *extents, view="T", **positive), args=(-2, -1))
    for axes in ((0, 1, 2, 3), (1, 2, 3), (0, 1, 2), (3,), (2, 3)):
        over = ", ".join("NHWC"[axis] for axis in axes)
        yield row(f"sum over {over} of NHWC view of 32x64x56x56 f32", "sum",
                  given("f32", 32, 64, 56, 56, view="nhwc", **positive), args=axes)
    for axes in ((0, 1, 2, 3), (1, 2, 3), (0, 2, 3), (1,), (2, 3)):
        over = ", ".join("NCHW"[axis] for axis in axes)
        yield row(f"sum over {over} of NCHW view of 32x56x56x64 f32", "sum",
                  given("f32", 32, 56, 56, 64, view="nchw", **positive), args=axes)
    yield row("sum rows of every second column f32 1024x2048", "sum",
              given("f32", 1024, 2048, view="step2", **positive), args=(1,))
    yield row("sum rows of every second column f16 1024x2048", "sum",
              given("f16", 1024, 2048, view="step2", between=(0, 0.1)), args=(1,))
    yield row("sum of a broadcast row f32 1024x1024", "sum_of_sum",
              given("f32", 1024, 1024, **positive), given("f32", 1, 1024, **positive), args=(1,))
    yield row("sum of a broadcast over it f32 1024x1024", "sum",
              given("f32", 1024, view="times1024", **positive), args=(0,))
    yield row("dot f32 1M", "dot", given("f32", MILLION, **positive),
              given("f32", MILLION, **positive))
    yield row("dot f64 1M", "dot", given("f64", MILLION, **positive),
              given("f64", MILLION, **positive))
    yield row("dot of rows f32, rows of 3", "dot", given("f32", *by_rows(3), **positive),
              given("f32", *by_rows(3), **positive), args=(1,))


def normalisations():
    def row(name, program, *inputs, **more):
        return Row(name, "normalisations, scans", program, *inputs, **more)

    for length in (2, 3, 8, 100, 1024, 100_000):
        yield row(f"softmax f32, rows of {length}", "softmax",
                  given("f32", *by_rows(length), between=(-4, 4)), args=(1,))
    yield row("softmax columns f32 1024x1024", "softmax",
              given("f32", 1024, 1024, between=(-4, 4)), args=(0,))
    for dtype in ("f16", "bf16", "f64"):
        yield row(f"softmax rows {dtype} 1024x1024", "softmax",
                  given(dtype, 1024, 1024, between=(-4, 4)), args=(1,))
    for columns in (4, 6, 16):
        yield row(f"softmax columns f32 {240_000 // columns}x{columns}", "softmax",
                  given("f32", 240_000 // columns, columns), args=(0,))
    yield row("softmax over C of 8x20x64x64 f32", "softmax",
              given("f32", 8, 20, 64, 64, between=(-4, 4)), args=(1,))
    yield row("log_softmax rows f32 1000x1000", "log_softmax",
              given("f32", 1000, 1000, between=(-4, 4)), args=(1,))
    yield row("log_softmax f32, rows of 10", "log_softmax",
              given("f32", *by_rows(10), between=(-4, 4)), args=(1,))
    for dtype, length in (("f32", 8), ("f32", 64), ("f32", 1024), ("bf16", 1024), ("f64", 1024)):
        yield row(f"layer norm {dtype}, rows of {length}", "layer_norm",
                  given(dtype, *by_rows(length)), given(dtype, length), given(dtype, length))
    yield row("batch norm f32 32x64x28x28", "batch_norm", given("f32", 32, 64, 28, 28))
    yield row("rms norm f32 1024x1024", "rms_norm", given("f32", 1024, 1024), given("f32", 1024))
    for dtype, between in (("f32", (0, 1)), ("f64", (0, 1)), ("i32", None)):
        yield row(f"cumsum {dtype} 1M", "cumsum", given(dtype, MILLION, between=between),
                  args=(0,))
    yield row("cumsum rows f32 1000x1000", "cumsum", given("f32", 1000, 1000, between=(0, 1)),
              args=(1,))
    yield row("cumsum columns f32 1000x1000", "cumsum", given("f32", 1000, 1000, between=(0, 1)),
              args=(0,))
    yield row("cumsum f32, rows of 8", "cumsum", given("f32", *by_rows(8), between=(0, 1)),
              args=(1,))
    yield row("cumprod rows f64 1000x1000", "cumprod",
              given("f64", 1000, 1000, between=(0.99, 1.01)), args=(1,))


def movement():
    def row(name, program, *inputs, **more):
        return Row(name, "moving elements", program, *inputs, **more)

    for dtype in ("f16", "f32", "f64", "i8"):
        yield row(f"copy transposed {dtype} 2048x2048", "copy",
                  given(dtype, 2048, 2048, view="T"))
    yield row("copy transposed f32 300000x3", "copy", given("f32", 300_000, 3, view="T"))
    yield row("copy transposed f32 3x300000", "copy", given("f32", 3, 300_000, view="T"))
    for dtype in ("f32", "i8"):
        yield row(f"copy NCHW to NHWC {dtype} 8x3x224x224", "copy",
                  given(dtype, 8, 3, 224, 224, view="nhwc"))
        yield row(f"copy NHWC to NCHW {dtype} 8x224x224x3", "copy",
                  given(dtype, 8, 224, 224, 3, view="nchw"))
    yield row("copy NCHW to NHWC f32 8x64x56x56", "copy",
              given("f32", 8, 64, 56, 56, view="nhwc"))
    for dtype in ("f32", "f16", "i8"):
        # Sluice would keep a copy of it a view, even in row-major order.
        yield row(f"neg every second column {dtype} 1024x2048", "neg",
                  given(dtype, 1024, 2048, view="step2"))
    yield row("copy flipped f32 1024x1024", "copy", given("f32", 1024, 1024, view="flip"))
    yield row("copy flipped f32, rows of 3", "copy", given("f32", 300_000, 3, view="flip"))
    yield row("copy interior f32 1026x1026", "copy", given("f32", 1026, 1026, view="inside"))
    yield row("copy a broadcast row f32 1024x1024", "copy", given("f32", 1024, view="times1024"))

    for order in ("random", "sorted"):
        def indices(count, extent, order=order):
            return given("i64", count, between=(0, extent),
                         view="sorted" if order == "sorted" else "")
        for dtype in ("f32", "f16", "f64", "i8"):
            if dtype != "f32" and order == "sorted":
                continue
            yield row(f"take {dtype} 1M of 1M, {order}", "take", given(dtype, MILLION),
                      indices(MILLION, MILLION), args=(0,))
        for length in (2, 3, 4, 8, 64, 1024):
            count = MILLION // length
            yield row(f"take rows of {length} f32, {order}", "take", given("f32", count, length),
                      indices(count, count), args=(0,))
        yield row(f"scatter add rows of 5 f32, {order}", "scatter_add", given("f32", 10_000, 5),
                  indices(100_000, 10_000), given("f32", 100_000, 5))
        yield row(f"scatter add rows of 8 f32, {order}", "scatter_add", given("f32", 10_000, 8),
                  indices(100_000, 10_000), given("f32", 100_000, 8))
        yield row(f"scatter add f32 100000, {order}", "scatter_add", given("f32", 10_000),
                  indices(100_000, 10_000), given("f32", 100_000))
    for dtype, length in (("f16", 4), ("f16", 8), ("f64", 4), ("i8", 4)):
        count = MILLION // length
        yield row(f"take rows of {length} {dtype}, random", "take", given(dtype, count, length),
                  given("i64", count, between=(0, count)), args=(0,))
    yield row("take rows of 64 f16, random", "take", given("f16", MILLION // 64, 64),
              given("i64", MILLION // 64, between=(0, MILLION // 64)), args=(0,))
    yield row("take rows of 64 f32, i32 indices", "take", given("f32", MILLION // 64, 64),
              given("i32", MILLION // 64, between=(0, MILLION // 64)), args=(0,))
    yield row("take columns f32 1024x1024", "take", given("f32", 1024, 1024),
              given("i64", 1024, between=(0, 1024)), args=(1,))
    yield row("take along rows f32 1024x1024", "take_along", given("f32", 1024, 1024),
              given("i64", 1024, 1024, between=(0, 1024)), args=(1,))
    yield row("take along columns f32 1024x1024", "take_along", given("f32", 1024, 1024),
              given("i64", 1024, 1024, between=(0, 1024)), args=(0,))
    yield row("one of each row f32 100000x10", "take_along", given("f32", 100_000, 10),
              given("i64", 100_000, 1, between=(0, 10)), args=(1,))
    for dtype, *shape, start, step in (("f32", MILLION, 0, 2), ("f32", 1000, 1001, 1, 3),
                                       ("i8", 1000, 1001, 1, 2), ("f64", 1000, 1001, 0, 10)):
        size = "x".join(map(str, shape))
        count = len(range(start, shape[-1], step))
        yield row(f"set every {step} of {dtype} {size}", "set_strided", given(dtype, *shape),
                  given(dtype, *shape[:-1], count), args=(start, step))
    yield row("set every 2 of f32 1000x1001 to 1", "set_strided", given("f32", 1000, 1001),
              args=(0, 2))
    yield row("sum of taken rows of 64 f32", "take_sum", given("f32", 10_000, 64),
              given("i64", 10_000, between=(0, 10_000)))
    yield row("one hot 10000x100", "one_hot", given("i64", 10_000, between=(0, 100)), args=(100,))

    for dtype in ("f32", "f16", "i8"):
        yield row(f"concat rows {dtype} 2 of 512x1000", "concat", given(dtype, 512, 1000),
                  given(dtype, 512, 1000), args=(0,))
        yield row(f"concat columns {dtype} 2 of 1000x512", "concat", given(dtype, 1000, 512),
                  given(dtype, 1000, 512), args=(1,))
    yield row("concat columns f32 100000x3 and 100000x1", "concat", given("f32", 100_000, 3),
              given("f32", 100_000, 1), args=(1,))
    yield row("concat 100 blocks of 100x100 f32", "concat_many", given("f32", 10_000, 100),
              args=(100,))
    for parts, size in ((8, 1250), (16, 625), (32, 312), (500, 20)):
        yield row(f"concat {parts} blocks of {size}x100 f32", "concat_many",
                  given("f32", parts * size, 100), args=(parts,))
    yield row("concat 100 columns f32 10000", "concat_many", given("f32", 1_000_000, 1),
              args=(100,))
    yield row("stack 3 columns f32 300000", "stack", *[given("f32", 300_000)] * 3, args=(1,))
    yield row("stack 2 rows f32 500000", "stack", *[given("f32", 500_000)] * 2, args=(0,))
    for dtype in ("f32", "f16", "i8"):
        yield row(f"pad {dtype} 1000x1000", "pad", given(dtype, 1000, 1000))
    yield row("pad f32, rows of 8", "pad", given("f32", 100_000, 8))
    yield row("pad i8, rows of 3", "pad", given("i8", 300_000, 3))
    yield row("pad f32, rows of 5", "pad", given("f32", 160_000, 5))
    for extent in (4, 5):
        shape = (32, 128, extent, extent)
        yield row(f"pad images f32 {'x'.join(map(str, shape))}", "pad_images", given("f32", *shape))
    yield row("pad images f32 32x64x28x28", "pad_images", given("f32", 32, 64, 28, 28))
    for dtype in ("f32", "f16", "i8"):
        yield row(f"roll columns {dtype} 1024x1024", "roll", given(dtype, 1024, 1024),
                  args=(1, 5))
    yield row("roll rows f32 1024x1024", "roll", given("f32", 1024, 1024), args=(0, 5))
    yield row("roll f32, rows of 3", "roll", given("f32", 300_000, 3), args=(1, 1))
    yield row("roll both f32 1024x1024", "roll_both", given("f32", 1024, 1024), args=(5, 7))
    yield row("tile f32 256x256 4x4", "tile", given("f32", 256, 256), args=(4, 4))
    yield row("repeat rows f32 256x1024 4 times", "repeat", given("f32", 256, 1024), args=(0, 4))
    yield row("repeat elements f32 1024x256 4 times", "repeat", given("f32", 1024, 256),
              args=(1, 4))
    yield row("tril f32 1024x1024", "tril", given("f32", 1024, 1024))


def sorting():
    def row(name, program, *inputs, **more):
        return Row(name, "sorting", program, *inputs, **more)

    for text, length in (("1K", 1024), ("1M", MILLION), ("16M", 16 * MILLION)):
        for dtype in ("f32", "f64", "i64"):
            more = {} if dtype != "i64" else {"between": (-10**9, 10**9)}
            yield row(f"sort {dtype} {text}", "sort", given(dtype, length, **more), args=(-1,))
            # In which order equal elements come is not said by all.
            yield row(f"argsort {dtype} {text}", "argsort", given(dtype, length, **more), args=(-1,),
                      checks=False)
    for dtype in ("i8", "f16", "i32"):
        yield row(f"sort {dtype} 1M", "sort", given(dtype, MILLION), args=(-1,))
    for length in (8, 64, 1000):
        yield row(f"sort f32, rows of {length}", "sort", given("f32", *by_rows(length)), args=(1,))
        yield row(f"argsort f32, rows of {length}", "argsort", given("f32", *by_rows(length)),
                  args=(1,), checks=False)
    yield row("sort columns f32 1024x1024", "sort", given("f32", 1024, 1024), args=(0,))
    for text, shape, k in (("16M, 100", (16 * MILLION,), 100), ("1M, 1000", (MILLION,), 1000),
                           ("rows of 1000, 5", by_rows(1000), 5)):
        yield row(f"topk f32 {text}", "topk", given("f32", *shape), args=(k,))
    yield row("unique i32 1M of 2000", "unique", given("i32", MILLION))
    yield row("unique f32 1M", "unique", given("f32", MILLION))
    for text, length in (("1K", 1024), ("1M", MILLION)):
        yield row(f"searchsorted f32 1M in {text}", "searchsorted", given("f32", length),
                  given("f32", MILLION))
    for dtype, length, text in (("f32", MILLION, "1M"), ("f64", MILLION, "1M"), ("f32", 1024, "1K")):
        yield row(f"mask {dtype} {text}", "masked", given(dtype, length), given("bool", length))
    yield row("nonzero bool 1M", "nonzero", given("bool", MILLION), lacks=["jax"])
    yield row("median f32 1M", "median", given("f32", MILLION), lacks=["torch"])


def random_numbers():
    def row(name, program, *args):
        return Row(name, "random numbers", program, args=args, checks=False)

    yield row("rand f32 1K", "rand", 1024)
    yield row("rand f32 1M", "rand", MILLION)
    yield row("rand f64 1M", "rand_f64", MILLION)
    yield row("rand f16 1M", "rand_f16", MILLION)
    yield row("randn f32 1M", "randn", MILLION)
    yield row("randn f64 1M", "randn_f64", MILLION)
    yield row("randint 1M", "randint", MILLION, 0, 1000)


def tiny():
    def row(name, program, *inputs, **more):
        return Row(name, "tiny tensors", program, *inputs, **more)

    yield row("add f32 16", "add", given("f32", 16), given("f32", 16))
    yield row("add f32 1", "add", given("f32", 1), given("f32", 1))
    yield row("add f16 16", "add", given("f16", 16), given("f16", 16))
    yield row("exp f32 16", "exp", given("f32", 16))
    yield row("sum f32 16", "sum", given("f32", 16, between=(0, 1)))
    yield row("argmax f32 16", "argmax", given("f32", 16))
    yield row("softmax f32 4x10", "softmax", given("f32", 4, 10), args=(1,))
    yield row("matmul f32 4x4", "matmul", given("f32", 4, 4), given("f32", 4, 4))
    yield row("matmul f32 16x16", "matmul", given("f32", 16, 16), given("f32", 16, 16))
    yield row("matmul f64 4x4", "matmul", given("f64", 4, 4), given("f64", 4, 4))
    yield row("concat f32 16 and 16", "concat", given("f32", 16), given("f32", 16), args=(0,))
    yield row("take f32 16", "take", given("f32", 16), given("i64", 16, between=(0, 16)),
              args=(0,))
    yield row("transposed f32 4x4", "copy", given("f32", 4, 4, view="T"))
    yield row("cumsum f32 16", "cumsum", given("f32", 16, between=(0, 1)), args=(0,))


def products():
    def row(name, x, y, program="matmul", *more, **options):
        return Row(name, "products", program, x, y, *more, **options)

    for dtype, sizes in (("f32", (64, 256, 1024)), ("f64", (64, 512, 1024)), ("f16", (512,)),
                         ("bf16", (512,)), ("i32", (256,)), ("i64", (256,))):
        for n in sizes:
            yield row(f"matmul {dtype} {n}", given(dtype, n, n), given(dtype, n, n))
    yield row("matmul i8 256", given("i8", 256, 256, between=(-2, 2)),
              given("i8", 256, 256, between=(-2, 2)), checks=False)
    for dtype in ("f32", "f64", "bf16", "i32"):
        n = 256 if dtype == "i32" else 512
        yield row(f"matmul A^T B {dtype} {n}", given(dtype, n, n, view="T"), given(dtype, n, n))
        yield row(f"matmul A B^T {dtype} {n}", given(dtype, n, n), given(dtype, n, n, view="T"))
    yield row("matmul A^T B^T f32 512", given("f32", 512, 512, view="T"),
              given("f32", 512, 512, view="T"))
    yield row("matmul every second column f32 512x1024 by 512x512",
              given("f32", 512, 1024, view="step2"), given("f32", 512, 512))
    for dtype in ("f32", "f64", "bf16", "f16"):
        yield row(f"matrix by vector {dtype} 2048x2048", given(dtype, 2048, 2048),
                  given(dtype, 2048))
    yield row("vector by matrix f32 2048x2048", given("f32", 2048), given("f32", 2048, 2048))
    yield row("matrix^T by vector f32 2048x2048", given("f32", 2048, 2048, view="T"),
              given("f32", 2048))
    for m, k, n in ((100_000, 3, 3), (100_000, 3, 1), (4096, 64, 4096), (8, 2048, 2048),
                    (1, 2048, 2048), (64, 100_000, 8), (100_000, 16, 16), (2000, 2000, 3),
                    (100_000, 16, 1), (1000, 1, 1000), (3, 3, 100_000), (32, 784, 10),
                    (8, 2048, 512), (33, 33, 33), (100, 100, 100), (1000, 128, 10),
                    (16, 1000, 1000)):
        yield row(f"matmul f32 {m}x{k} by {k}x{n}", given("f32", m, k), given("f32", k, n))
    yield row("matmul f64 100000x3 by 3x3", given("f64", 100_000, 3), given("f64", 3, 3))
    yield row("matmul i8 100000x3 by 3x1", given("i8", 100_000, 3, between=(-2, 2)),
              given("i8", 3, 1, between=(-2, 2)))
    for count, n in ((10_000, 3), (10_000, 4), (10_000, 8), (1000, 16), (100, 32), (100, 64),
                     (8, 256)):
        yield row(f"matmul f32 {count} of {n}x{n}", given("f32", count, n, n),
                  given("f32", count, n, n))
    yield row("matmul f64 10000 of 4x4", given("f64", 10_000, 4, 4), given("f64", 10_000, 4, 4))
    yield row("matmul f64 100 of 64x64", given("f64", 100, 64, 64), given("f64", 100, 64, 64))
    yield row("matmul bf16 100 of 64x64", given("bf16", 100, 64, 64), given("bf16", 100, 64, 64))
    yield row("matmul i32 100 of 64x64", given("i32", 100, 64, 64), given("i32", 100, 64, 64))
    yield row("matmul f32 100 of 64x64 by one", given("f32", 100, 64, 64), given("f32", 64, 64))
    yield row("matmul f32 10000 of 3x3 by vectors", given("f32", 10_000, 3, 3),
              given("f32", 10_000, 3, 1))
    yield row("matmul f32 1000 of 16x16 by vectors", given("f32", 1000, 16, 16),
              given("f32", 1000, 16, 1))
    yield row("matmul f32 32 of 128x64 by 64x128", given("f32", 32, 128, 64),
              given("f32", 32, 64, 128))
    yield row("matmul A B^T f32 10000 of 3x3", given("f32", 10_000, 3, 3),
              given("f32", 10_000, 3, 3, view="T"))
    yield row("matmul A B^T f32 64 of 128x64", given("f32", 64, 128, 64),
              given("f32", 64, 128, 64, view="T"))
    yield row("matmul + bias + GELU f32 512x512x512", given("f32", 512, 512),
              given("f32", 512, 512, between=(-0.1, 0.1)), "linear_gelu", given("f32", 512),
              lacks=["numpy"])


def linear_algebra():
    def row(name, program, *inputs):
        return Row(name, "linear algebra", program, *inputs, tolerance=5e-3)

    for dtype in ("f32", "f64"):
        for text, shape in (("1000 of 64x64", (1000, 64, 64)), ("1024x1024", (1024, 1024))):
            matrices = given(dtype, *shape)
            yield row(f"solve {dtype} {text}", "solve", matrices, given(dtype, *shape[:-1], 1))
            for program in ("cholesky", "inv", "svd"):
                yield row(f"{program} {dtype} {text}", program, matrices)


def layers():
    def row(name, program, *inputs, args=(), lacks=("numpy",)):
        return Row(name, "layers", program, *inputs, args=args, tolerance=5e-3, lacks=lacks)

    # Batch, channels, extent; filters, window, stride, groups.
    for batch, inputs, extent, outputs, window, stride, groups in (
            (8, 64, 56, 64, 3, 1, 1), (8, 128, 28, 128, 3, 1, 1), (8, 256, 14, 256, 3, 1, 1),
            (8, 512, 7, 512, 3, 1, 1), (8, 64, 56, 128, 3, 2, 1), (8, 64, 56, 256, 1, 1, 1),
            (8, 3, 112, 64, 7, 2, 1), (8, 64, 56, 64, 3, 1, 64), (8, 128, 28, 128, 3, 1, 32),
            (1, 64, 56, 64, 3, 1, 1), (64, 1, 28, 32, 3, 1, 1), (64, 6, 14, 16, 5, 1, 1)):
        padding = window // 2
        places = (extent + 2 * padding - window) // stride + 1
        images = given("f32", batch, inputs, extent, extent)
        filters = given("f32", outputs, inputs // groups, window, window)
        text = f"f32 {batch}x{inputs}x{extent}x{extent} by {outputs} of {window}x{window}"
        text += (f", stride {stride}" if stride > 1 else "") + (
            f", {groups} groups" if groups > 1 else "")
        args = (stride, padding, groups)
        yield row(f"conv2d {text}", "conv2d", images, filters, args=args)
        yield row(f"gradients of conv2d {text}", "conv2d_gradients", images, filters,
                  given("f32", batch, outputs, places, places), args=args)
    for program in ("max_pool2d", "avg_pool2d"):
        for window, stride in ((2, 2), (3, 2), (3, 1)):
            yield row(f"{program} f32 8x64x56x56 of {window}x{window}, stride {stride}", program,
                      given("f32", 8, 64, 56, 56), args=(window, stride))

    def torch_row(name, program, *inputs, args=()):
        return row(name, program, *inputs, args=args, lacks=["numpy", "jax"])

    yield torch_row("unfold f32 2x32x56x56 of 3x3", "unfold", given("f32", 2, 32, 56, 56), args=(3,))
    yield torch_row("fold f32 2x32x56x56 of 3x3", "fold", given("f32", 2, 288, 54 * 54), args=(56, 3))
    images = given("f32", 4, 3, 256, 256)
    for mode, extent, wide in (("linear", 512, 0), ("linear", 64, 1), ("cubic", 512, 0), ("cubic", 100, 1)):
        yield torch_row(
            f"interpolate {mode} f32 4x3x256x256 to {extent}{', antialiased' if wide else ''}",
            f"interpolate_{mode}", images, args=(extent, wide))
    for n, c, extent in ((4, 3, 256), (2, 64, 64)):
        yield torch_row(f"grid_sample f32 {n}x{c}x{extent}x{extent}", "grid_sample",
                        given("f32", n, c, extent, extent), given("f32", n, extent, extent, 2))
    for length in (512, 2048):
        heads = given("f32", 1, 8, length, 64)
        yield torch_row(f"causal attention f32 8 heads of {length}x64", "causal_attention",
                        heads, heads, heads)


def whole_programs():
    def row(name, program, *inputs, **more):
        return Row(name, "programs", program, *inputs, **more)

    for label, n in (("1K", 1 << 10), ("64K", 1 << 16), ("1M", 1 << 20), ("16M", 1 << 24)):
        yield row(f"chain of 10 f32 {label}", "chain", given("f32", n), given("f32", n))
    for dtype in ("f16", "bf16", "f64", "i32"):
        yield row(f"chain of 10 {dtype} 1M", "chain", given(dtype, MILLION), given(dtype, MILLION),
                  tolerance=5e-2)
    yield row("sum of image^0.45 by weights f32 720x1080x3", "gamma_of_image",
              given("f32", 720, 1080, 3, between=(0, 1)), given("f32", 3, between=(0, 1)))
    yield row("pairwise distances f32 1024x64", "distances", given("f32", 1024, 64),
              given("f32", 1024, 64))
    yield row("pairwise distances f32 1024x3", "distances", given("f32", 1024, 3),
              given("f32", 1024, 3))
    yield row("pairwise distances f64 512x64", "distances", given("f64", 512, 64),
              given("f64", 512, 64))
    yield row("nearest of 8 centres f32 100000x3", "nearest", given("f32", 100_000, 3),
              given("f32", 8, 3))
    yield row("Jacobi f32 512x512, 10 steps", "jacobi", given("f32", 512, 512), args=(10,))
    yield row("Jacobi f64 512x512, 10 steps", "jacobi", given("f64", 512, 512), args=(10,))
    yield row("Jacobi by rolls f32 1024x1024", "jacobi_rolled", given("f32", 1024, 1024))
    yield row("Game of Life by rolls i8 1024x1024", "life_rolled",
              given("i8", 1024, 1024, between=(0, 2)))
    yield row("Game of Life by rolls f32 1024x1024", "life_rolled",
              given("f32", 1024, 1024, between=(0, 1)))
    yield row("Game of Life by concat i8 1024x1024", "life_joined",
              given("i8", 1024, 1024, between=(0, 2)))
    yield row("N-body f32 1000, (n, n, 3)", "bodies", given("f32", 1000, 3),
              given("f32", 1000, between=(0, 1)), tolerance=1e-2)
    yield row("N-body f32 1000, by component", "bodies_by_component", given("f32", 1000, 3),
              given("f32", 1000, between=(0, 1)), tolerance=1e-2)
    adam = [given("f32", *shape) for shape in ((512, 512), (512,), (512, 128), (128,), (128, 10))]
    yield row("Adam f32, 5 parameters", "adam", *adam, *adam, checks=False)
    adam = [given("f32", 1024, 1024)]
    yield row("Adam f32, 1024x1024", "adam", *adam, *adam, checks=False)
    yield row("Black-Scholes f32 1M", "black_scholes", given("f32", MILLION, between=(50, 150)),
              given("f32", MILLION, between=(50, 150)), given("f32", MILLION, between=(0.1, 2)),
              lacks=["numpy"])
    heads = [given("f32", 8, 128, 64)] * 3
    yield row("attention f32 8x128x64", "attention", *heads)
    yield row("attention bf16 8x128x64", "attention", *(x.replace("f32", "bf16") for x in heads))
    cache = [given("f32", 1000, 64)] * 3
    yield row("KV cache growing to 1000x64 f32", "growing_cache", *cache, args=(1000,))
    yield row("new chain of 10 f32 1M", "new_chain", given("f32", MILLION), given("f32", MILLION),
              cold=True, checks=False)
    yield row("new chain of 10 f32 1K", "new_chain", given("f32", 1024), given("f32", 1024),
              cold=True, checks=False)


def everyday_programs():
    return everyday(Row, given)


def network_programs():
    return networks(Row, given)


def view_programs():
    return views(Row, given)


def large_programs():
    return large(Row, given)


def science_programs():
    return science(Row, given)


ROWS = [row for rows in (pointwise, functions, casts, reductions, normalisations, movement,
                         sorting, random_numbers, tiny, products, linear_algebra,
                         layers, whole_programs, everyday_programs,
                         network_programs, view_programs,
                         science_programs, large_programs) for row in rows()]
assert len({row.name for row in ROWS}) == len(ROWS), "two rows of one name"
