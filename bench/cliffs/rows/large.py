"""Rows of more than the caches hold, where what is read in which order decides."""


def large(Row, given):
    def row(name, program, *inputs, args=(), **more):
        return Row(name, "large", program, *inputs, args=args, **more)

    for dtype, columns in (("f32", 3), ("f32", 8), ("f32", 32), ("f64", 4), ("i64", 4), ("f16", 6)):
        between = (0, 0.01) if dtype == "f16" else None
        n = 12_000_000 // columns
        yield row(f"sum columns {dtype} {n}x{columns}", "sum",
                  given(dtype, n, columns, between=between), args=(0,))
    for name in ("max", "var", "argmax", "softmax"):
        yield row(f"{name} columns f32 1500000x8", name, given("f32", 1_500_000, 8), args=(0,))
    for view in ("flip", "rows2", "inside", "step2"):
        for length in (30, 100, 1000):
            shape = {"rows2": (24_000_000 // length, length),
                     "inside": (12_000_000 // length + 2, length + 2),
                     "step2": (12_000_000 // length, 2 * length)}.get(
                         view, (12_000_000 // length, length))
            x = given("f32", *shape, view=view)
            yield row(f"sum of {view} f32, rows of {length}", "sum", x, args=(0, 1))
            yield row(f"sum columns of {view} f32, rows of {length}", "sum", x, args=(0,))
            yield row(f"square of {view} f32, rows of {length}", "square", x)
    for shape in ((16, 3, 512, 512), (64, 128, 56, 56), (13, 136, 34, 136), (64, 256, 28, 28)):
        name = "x".join(map(str, shape))
        for axes, text in (((0, 2, 3), "N, H, W"), ((0, 1), "N, C"), ((2, 3), "H, W")):
            yield row(f"sum over {text} of {name} f32", "sum", given("f32", *shape), args=axes)
        yield row(f"norm over N, H, W of {name} f32", "norm", given("f32", *shape), args=(0, 2, 3))
    for dtype in ("f32", "f16", "i8"):
        for shape in ((1000, 1000), (4000, 4000)):
            name = f"{dtype} {shape[0]}x{shape[1]}"
            x = given(dtype, *shape, view="T")
            yield row(f"square of transposed {name}", "square", x)
            yield row(f"sum of two transposed {name}", "add", x, x)
    # Between the second-level cache and memory.
    for n in (3, 6, 16):
        yield row(f"sum f32 {n}M", "sum", given("f32", n * 1_000_000), args=(0,))
    for length in (28, 100, 196, 300, 600):
        x = given("f32", 6_500_000 // length, length)
        yield row(f"sum of rows of {length} f32 6.5M", "sum", x, args=(1,))
    yield row("norm of rows of 100 f32 6.5M", "norm", given("f32", 65_000, 100), args=(1,))
    for shape in ((16_000, 1000), (30_000, 600), (4000, 4000)):
        for program in ("sum", "max"):
            yield row(f"{program} columns f32 {shape[0]}x{shape[1]}", program,
                      given("f32", *shape), args=(0,))
    for program in ("any", "all"):
        yield row(f"{program} of inside f32, rows of 285", program,
                  given("f32", 55_000, 287, view="inside"), args=(0, 1))
    for dtype in ("f32", "i8"):
        x = given(dtype, 2969, 3870, view="T")
        yield row(f"roll of transposed {dtype} 2969x3870", "roll", x, args=(0, 40))
        yield row(f"pad of transposed {dtype} 2969x3870", "pad_by", x, args=(3, 1))
        yield row(f"concat of transposed {dtype} 2969x3870", "concat", x, x, args=(0,))
