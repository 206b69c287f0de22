"""Rows of bench/cliffs of several views one after another: programs of views.cpp."""


def views(Row, given):
    def row(name, program, *inputs, args=()):
        return Row(name, "views", program, *inputs, args=args)

    for dtype in ("i8", "f16", "f32", "i64"):
        def x(*shape, dtype=dtype):
            return given(dtype, *shape)
        yield row(f"flip {dtype} 1000x1001", "flip", x(1000, 1001), args=(1,))
        yield row(f"flip {dtype} 30000x17", "flip", x(30_000, 17), args=(1,))
        yield row(f"flip {dtype} 100000x5", "flip", x(100_000, 5), args=(1,))
        yield row(f"roll in rows {dtype} 30000x17", "roll", x(30_000, 17), args=(1, 3))
        yield row(f"repeat rows {dtype} 3000x17 5 times", "repeat", x(3000, 17), args=(0, 5))
        yield row(f"heads to rows {dtype} 8x100x12x64", "permuted", x(8, 100, 12, 64),
                  args=(0, 2, 1, 3))
        yield row(f"permuted {dtype} 1000x100x5", "permuted", x(1000, 100, 5), args=(1, 0, 2))
        yield row(f"pairs and triples exchanged {dtype} 100000x2x3", "permuted", x(100_000, 2, 3),
                  args=(0, 2, 1))
        yield row(f"every third {dtype} 1000x1001", "every_nth", x(1000, 1001), args=(3, 1))
        yield row(f"flip of transposed slice {dtype} 777x1003", "flip_of_transposed_slice",
                  x(777, 1003))
        yield row(f"roll of pad {dtype} 777x1003", "roll_of_pad", x(777, 1003))
        yield row(f"pad of flip {dtype} 777x1003", "pad_of_flip", x(777, 1003))
        for axis, other in ((0, (200, 777)), (1, (503, 100))):
            yield row(f"concat of transposed {dtype} 777x503 over {axis}", "concat_of_transposed",
                      x(777, 503), x(*other), args=(axis,))
        yield row(f"reshape of transposed {dtype} 600x1000", "reshape_of_transposed", x(600, 1000),
                  args=(400,))
        yield row(f"broadcast then flat {dtype} 1000x33 by 20", "broadcast_then_flat", x(1000, 33),
                  args=(20,))
        yield row(f"inside of {dtype} 1000x16x16", "copy", given(dtype, 1000, 16, 16, view="inside"))
        yield row(f"inside of {dtype} 300x30x30", "copy", given(dtype, 300, 30, 30, view="inside"))
        yield row(f"add inside of {dtype} 300x30x30", "add",
                  given(dtype, 300, 30, 30, view="inside"), x(300, 28, 28))
        yield row(f"interleaved {dtype} 300000", "interleaved", x(300_000), x(300_000))
        yield row(f"space to depth {dtype} 16x3x64x64", "space_to_depth", x(16, 3, 64, 64))
        yield row(f"patches {dtype} 8x3x224x224 of 16x16", "patches", x(8, 3, 224, 224), args=(16,))
        yield row(f"patches {dtype} 16x3x64x64 of 4x4", "patches", x(16, 3, 64, 64), args=(4,))
        yield row(f"rotated by slices {dtype} 1000x1001", "rotated_by_slices", x(1000, 1001))
        yield row(f"pad by 2, 3 {dtype} 30000x17", "pad_by", x(30_000, 17), args=(2, 3))
        yield row(f"take {dtype} 100000 of 20000", "take", x(20_000),
                  given("i64", 100_000, between=(0, 20_000)), args=(0,))
    angles = [given("f32", 500, 64)] * 2
    yield row("rotary f32 8x500x64", "rotary", given("f32", 8, 500, 64), *angles)
