"""More rows of bench/cliffs: programs of everyday.cpp, and other ops in odd shapes and dtypes."""


def everyday(Row, given):
    def row(name, program, *inputs, args=(), **more):
        return Row(name, "everyday", program, *inputs, args=args, **more)

    bytes_ = {"between": (0, 100)}
    yield row("gray of image i8 720x1080x3", "gray", given("i8", 720, 1080, 3, **bytes_),
              given("f32", 3))
    yield row("normalise pixels i8 4x224x224x3", "normalise_pixels",
              given("i8", 4, 224, 224, 3, **bytes_), given("f32", 3), given("f32", 3, between=(1, 2)))
    yield row("pixels to planes i8 4x224x224x3", "pixels_to_planes",
              given("i8", 4, 224, 224, 3, **bytes_))
    yield row("crop and flip f32 16x3x100x100", "crop_and_flip", given("f32", 16, 3, 100, 100))
    yield row("crop and flip i8 16x3x100x100", "crop_and_flip", given("i8", 16, 3, 100, 100))
    for dtype in ("f32", "i32", "f64"):
        yield row(f"box blur {dtype} 1000x1001", "box_blur", given(dtype, 1000, 1001))
    yield row("sobel f32 1000x1001", "sobel", given("f32", 1000, 1001))
    yield row("dilated i8 1000x1001", "dilated", given("i8", 1000, 1001))
    for dtype in ("f32", "i8", "f64"):
        yield row(f"max of windows {dtype} 64x56x56", "max_of_windows", given(dtype, 64, 56, 56))
    yield row("mean of windows f32 64x56x56", "mean_of_windows", given("f32", 64, 56, 56))
    yield row("doubled f32 64x56x57", "doubled", given("f32", 64, 56, 57))
    yield row("doubled i8 64x56x57", "doubled", given("i8", 64, 56, 57))
    yield row("standardise columns f32 5000x77", "standardise", given("f32", 5000, 77), args=(0,))
    yield row("standardise rows f64 5000x77", "standardise", given("f64", 5000, 77), args=(1,))
    yield row("standardise channels f32 8x3x100x100", "standardise", given("f32", 8, 3, 100, 100),
              args=(0, 2, 3))
    yield row("between extremes f32 1000x1000", "between_extremes", given("f32", 1000, 1000))
    yield row("between extremes of columns f32 5000x77", "between_extremes",
              given("f32", 5000, 77), args=(0,))
    for length in (3, 50, 300):
        yield row(f"unit rows f32, rows of {length}", "unit_rows",
                  given("f32", 600_000 // length, length))
    yield row("masked mean f32 1000x999 over 1", "masked_mean", given("f32", 1000, 999),
              given("bool", 1000, 999), args=(1,))
    yield row("masked mean f32 1000x999 over 0", "masked_mean", given("f32", 1000, 999),
              given("bool", 1000, 999), args=(0,))
    for dtype, between in (("i8", (0, 2)), ("i64", (0, 2)), ("f32", (-1, 1)), ("bool", None)):
        yield row(f"count nonzero {dtype} 1000x1000", "count_nonzero",
                  given(dtype, 1000, 1000, between=between))
    yield row("count nonzero of rows bool 10000x100", "count_nonzero", given("bool", 10_000, 100),
              args=(1,))
    yield row("count nonzero of columns bool 10000x100", "count_nonzero",
              given("bool", 10_000, 100), args=(0,))
    yield row("count equal i64 1M", "count_equal", given("i64", 1 << 20, between=(0, 10)),
              given("i64", 1 << 20, between=(0, 10)))
    yield row("count equal i8 1M", "count_equal", given("i8", 1 << 20, between=(0, 10)),
              given("i8", 1 << 20, between=(0, 10)))
    yield row("any greater over 0 f32 999x1000", "any_greater", given("f32", 999, 1000),
              given("f32", 999, 1000, between=(1, 2)), args=(0,))
    yield row("any greater f64 999x1000", "any_greater", given("f64", 999, 1000),
              given("f64", 999, 1000, between=(1, 2)))
    for dtype in ("f16", "f32", "f64", "i8"):
        yield row(f"greatest magnitude {dtype} 1000x1000", "greatest_magnitude",
                  given(dtype, 1000, 1000))
    yield row("extremes f32 1M", "extremes", given("f32", 1 << 20))
    yield row("extremes of rows i64 1000x1000", "extremes", given("i64", 1000, 1000), args=(1,))
    yield row("absolute distances f32 700x50", "absolute_distances", given("f32", 700, 50),
              given("f32", 700, 50))
    yield row("absolute distances f32 1000x2", "absolute_distances", given("f32", 1000, 2),
              given("f32", 1000, 2))
    yield row("logistic loss f32 1M", "logistic_loss", given("f32", 1 << 20, between=(-4, 4)),
              given("f32", 1 << 20, between=(0, 1)))
    yield row("causal softmax f32 8x300x300", "causal_softmax", given("f32", 8, 300, 300))
    for axis in (0, 1):
        for dtype in ("f32", "i8"):
            yield row(f"diff {dtype} 1000x1001 over {axis}", "diff",
                      given(dtype, 1000, 1001, between=(-50, 50)), args=(axis,))
    for form, *shapes in (
            ("ij,jk->ik", (300, 200), (200, 400)), ("ij,kj->ik", (300, 200), (400, 200)),
            ("ji,jk->ik", (200, 300), (200, 400)), ("bij,bjk->bik", (64, 50, 40), (64, 40, 60)),
            ("bij,bkj->bik", (64, 50, 40), (64, 60, 40)), ("ij,ij->i", (10_000, 100), (10_000, 100)),
            ("ij,ij->", (1000, 1000), (1000, 1000)), ("bij,bij->b", (100, 60, 70), (100, 60, 70)),
            ("i,j->ij", (1000,), (777,)), ("ii->i", (3000, 3000)), ("bii->b", (500, 40, 40)),
            ("ijk->kji", (100, 90, 80)), ("ijk->j", (100, 90, 80)), ("ijk,k->ij", (100, 90, 80), (80,)),
            ("ijk,ik->ij", (100, 90, 80), (100, 80)),
            ("bn,nm,bm->b", (1000, 64), (64, 48), (1000, 48)),
            ("nchw,kc->nkhw", (8, 32, 28, 28), (64, 32)),
            ("bhqd,bhkd->bhqk", (4, 8, 100, 32), (4, 8, 100, 32)),
            ("bqhd,bkhd->bhqk", (4, 100, 8, 32), (4, 100, 8, 32)),
            ("bhqk,bkhd->bqhd", (4, 8, 100, 100), (4, 100, 8, 32)),
            ("abc,bcd->ad", (100, 20, 30), (20, 30, 90))):
        for dtype in ("f32", "f64"):
            size = ", ".join("x".join(map(str, shape)) for shape in shapes)
            yield row(f"einsum {form} {dtype} {size}", f"einsum:{form}",
                      *(given(dtype, *shape) for shape in shapes))
    yield row("diagonal f32 1000x1000", "diagonal", given("f32", 1000, 1000))
    yield row("outer f32 1000x1000", "outer", given("f32", 1000), given("f32", 1000))
    yield row("outer i64 1000x1000", "outer", given("i64", 1000), given("i64", 1000))
    yield row("kron f32 30x30, 30x30", "kron", given("f32", 30, 30), given("f32", 30, 30))
    yield row("kron f64 100x100, 5x7", "kron", given("f64", 100, 100), given("f64", 5, 7))
    yield row("bincount i64 1M of 100", "bincount", given("i64", 1 << 20, between=(0, 100)),
              args=(100,))
    yield row("bincount i64 100000 of 5000", "bincount", given("i64", 100_000, between=(0, 5000)),
              args=(5000,))
    yield row("rotated points f32 300000x2", "rotated", given("f32", 300_000, 2))
    yield row("rotated points f64 300000x2", "rotated", given("f64", 300_000, 2))
    yield row("polynomial f32 100000", "polynomial", given("f32", 100_000))
    yield row("polynomial f64 1M", "polynomial", given("f64", 1 << 20))
    yield row("flattened lookup f32 1000x1000, 100000", "flattened_lookup", given("f32", 1000, 1000),
              given("i64", 100_000, between=(0, 1000)), given("i64", 100_000, between=(0, 1000)))
    yield row("sums of 8 taken rows of 64 f32", "sum_of_taken", given("f32", 10_000, 64),
              given("i64", 16_000, between=(0, 10_000)), args=(8,))
    yield row("bits of bytes i8 1M", "bits_of_bytes", given("i8", 1 << 20, **bytes_))
    # Known ops in other shapes and dtypes.
    for dtype in ("f16", "f64", "i8", "i32"):
        yield row(f"sum over 0 of {dtype} 777x1001", "sum", given(dtype, 777, 1001, between=(0, 2)),
                  args=(0,))
        yield row(f"max over 0 of {dtype} 777x1001", "max", given(dtype, 777, 1001), args=(0,))
        yield row(f"argmax over 0 of {dtype} 777x1001", "argmax",
                  given(dtype, 777, 1001, between=(-100, 100)), args=(0,), checks=dtype != "f16")
        yield row(f"argmax over 1 of {dtype} 777x1001", "argmax",
                  given(dtype, 777, 1001, between=(-100, 100)), args=(1,), checks=dtype != "f16")
        yield row(f"sum over 1 of {dtype}, rows of 28", "sum",
                  given(dtype, 30_000, 28, between=(0, 2)), args=(1,))
        yield row(f"max over 1 of {dtype}, rows of 28", "max", given(dtype, 30_000, 28), args=(1,))
        yield row(f"max over 0, 2 of {dtype} 50x100x77", "max", given(dtype, 50, 100, 77),
                  args=(0, 2))
    for dtype in ("i32", "i64", "i8", "bool", "f16"):
        yield row(f"sum over 1 of transposed {dtype} 1000x1001", "sum",
                  given(dtype, 1000, 1001, view="T", between=(0, 2)), args=(1,))
        yield row(f"sum over 0 of transposed {dtype} 1000x1001", "sum",
                  given(dtype, 1000, 1001, view="T", between=(0, 2)), args=(0,))
    yield row("max over 0 of transposed f32 1000x1001", "max",
              given("f32", 1000, 1001, view="T"), args=(0,))
    yield row("argmin over 1 of every second column f32 1000x2002", "argmin",
              given("f32", 1000, 2002, view="step2"), args=(1,))
    yield row("mean of f32 1000x1001", "mean", given("f32", 1000, 1001))
    yield row("mean over 0 of i8 1000x1001", "mean", given("i8", 1000, 1001), args=(0,),
              lacks=["torch"])
    yield row("var over 0 of f64 3000x301", "var", given("f64", 3000, 301), args=(0,))
    yield row("var over 0, 1 of NHWC f32 40x50x60x3", "var", given("f32", 40, 50, 60, 3),
              args=(0, 1, 2))
    yield row("softmax f64, rows of 7", "softmax", given("f64", 100_000, 7), args=(1,))
    yield row("softmax over 0 f32 10x50000", "softmax", given("f32", 10, 50_000), args=(0,))
    yield row("log_softmax f16, rows of 50", "log_softmax", given("f16", 20_000, 50), args=(1,))
    yield row("add i8 to f32 by row 10000x33", "add", given("f32", 10_000, 33), given("i8", 33))
    yield row("less f64 by column 1000x777", "less", given("f64", 1000, 777), given("f64", 1000, 1))
    for dtype in ("f64", "i8", "bool"):
        yield row(f"copy transposed {dtype} 777x1001", "copy", given(dtype, 777, 1001, view="T"))
        yield row(f"concat columns {dtype} 10000x33 and 10000x5", "concat", given(dtype, 10_000, 33),
                  given(dtype, 10_000, 5), args=(1,))
        yield row(f"pad {dtype} 999x777", "pad", given(dtype, 999, 777))
        yield row(f"roll columns {dtype} 999x777", "roll", given(dtype, 999, 777), args=(1, -3))
        yield row(f"take rows of 17 {dtype}", "take", given(dtype, 20_000, 17),
                  given("i64", 20_000, between=(0, 20_000)), args=(0,))
    for dtype in ("f16", "i8", "f64"):
        yield row(f"pad images {dtype} 32x16x28x28", "pad_images", given(dtype, 32, 16, 28, 28))
    yield row("stack 4 columns i8 300000", "stack", *[given("i8", 300_000)] * 4, args=(1,))
    yield row("stack 5 columns f32 100000", "stack", *[given("f32", 100_000)] * 5, args=(1,))
    yield row("where i64 1M", "where", given("bool", 1 << 20), given("i64", 1 << 20),
              given("i64", 1 << 20))
    yield row("tile f32 3x5 100x200", "tile", given("f32", 3, 5), args=(100, 200))
    yield row("tile i8 64x64 10x10", "tile", given("i8", 64, 64), args=(10, 10))
    yield row("repeat elements i64 1000x300 3 times", "repeat", given("i64", 1000, 300), args=(1, 3))
    yield row("tril f64 999x777", "tril", given("f64", 999, 777))
    yield row("scatter add i64 100000 of 1000", "scatter_add", given("i64", 1000),
              given("i64", 100_000, between=(0, 1000)), given("i64", 100_000))
    yield row("scatter add f32 1M of 100", "scatter_add", given("f32", 100),
              given("i64", 1 << 20, between=(0, 100)), given("f32", 1 << 20))
    yield row("scatter add f64 rows of 3", "scatter_add", given("f64", 10_000, 3),
              given("i64", 50_000, between=(0, 10_000)), given("f64", 50_000, 3))
    yield row("remainder i8 1M", "remainder", given("i8", 1 << 20),
              given("i8", 1 << 20, between=(1, 100)))
    yield row("pow i32 by itself 1M", "mul", given("i32", 1 << 20), given("i32", 1 << 20))
    yield row("matmul f32 77x33 by 33x55", "matmul", given("f32", 77, 33), given("f32", 33, 55))
    yield row("matmul f64 1000x17 by 17x5", "matmul", given("f64", 1000, 17), given("f64", 17, 5))
    yield row("add f32 100", "add", given("f32", 100), given("f32", 100))
    yield row("sum f32 10x10 over 0", "sum", given("f32", 10, 10), args=(0,))
    yield row("softmax f32 32x10", "softmax", given("f32", 32, 10), args=(1,))
    yield row("layer norm f32 4x64", "layer_norm", given("f32", 4, 64), given("f32", 64),
              given("f32", 64))
