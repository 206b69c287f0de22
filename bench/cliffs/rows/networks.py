"""More rows of bench/cliffs: programs of networks.cpp, forwards and with gradients."""


def networks(Row, given):
    def rows(text, program, *inputs, args=(), **more):
        more = {"tolerance": 5e-3, "lacks": ["numpy"], **more}
        if any(x.startswith("bf16") for x in inputs):
            more["tolerance"] = 0.1
        yield Row(text, "networks", program, *inputs, args=args, **more)
        # Sums of gradients in bfloat16 have no digit in common.
        yield Row(f"gradients of {text}", "networks", program + "_gradients", *inputs, args=args,
                  **more, checks=more["tolerance"] < 0.1)

    def norm(*channels, dtype="f32"):
        return [given(dtype, *channels, between=(0.5, 1.5)), given(dtype, *channels)]

    def weight(*shape, dtype="f32"):
        limit = shape[0] ** -0.5
        return given(dtype, *shape, between=(-limit, limit))

    for dtype in ("f32", "bf16"):
        for n, length, width in ((1, 512, 512), (16, 64, 128)):
            yield from rows(
                f"transformer block {dtype} {n}x{length}x{width}", "transformer_block",
                given(dtype, n, length, width),
                *(weight(*shape, dtype=dtype) for shape in (
                    (width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))),
                *norm(width, dtype=dtype), *norm(width, dtype=dtype), args=(8,))
    for n, channels, extent in ((8, 64, 28), (32, 16, 32)):
        filters = given("f32", channels, channels, 3, 3, between=(-0.05, 0.05))
        yield from rows(f"residual block f32 {n}x{channels}x{extent}x{extent}", "residual_block",
                        given("f32", n, channels, extent, extent), filters, filters,
                        *norm(channels), *norm(channels))
    for n, length, width in ((32, 50, 128), (1, 100, 64)):
        for program, gates in (("lstm", 4), ("gru", 3)):
            weights = [given("f32", gates * width, width, between=(-0.1, 0.1)) for _ in range(2)]
            biases = [given("f32", gates * width, between=(-0.1, 0.1)) for _ in range(2)]
            yield from rows(f"{program.upper()} f32 {n}x{length}x{width}", program,
                            given("f32", n, length, width), *weights, *biases)
    for n, widths in ((64, (784, 256, 128, 10)), (1, (784, 256, 10)), (1024, (16, 64, 64, 1))):
        parameters = [x for i, o in zip(widths, widths[1:]) for x in (weight(i, o), given("f32", o))]
        yield from rows(f"perceptron f32 {n}x{'-'.join(map(str, widths))}", "perceptron",
                        given("f32", n, widths[0]), *parameters)
    for dtype, length in (("f32", 1024), ("f32", 64), ("bf16", 768)):
        yield from rows(f"layer norm with weights {dtype}, rows of {length}", "layer_norm_affine",
                        given(dtype, 1_000_000 // length, length), *norm(length, dtype=dtype))
    for n, extent in ((8, 28), (32, 7)):
        yield from rows(f"group norm f32 {n}x64x{extent}x{extent}", "group_norm",
                        given("f32", n, 64, extent, extent), *norm(64), args=(8,))
    for dtype, extent in (("f32", 14), ("f16", 7)):
        yield from rows(f"batch norm with weights {dtype} 32x64x{extent}x{extent}",
                        "batch_norm_affine", given(dtype, 32, 64, extent, extent),
                        *norm(64, dtype=dtype))
    for length in (10, 1000):
        yield from rows(f"softmax alone f32, rows of {length}", "softmax_last",
                        given("f32", 1_000_000 // length, length))
    yield from rows("GELU alone f32 1M", "gelu_only", given("f32", 1 << 20))
    for dtype in ("f32", "bf16"):
        heads = given(dtype, 2, 8, 256, 64)
        yield from rows(f"attention of 4 axes {dtype} 2x8x256x64", "sdpa", heads, heads, heads)
    yield from rows("max_pool2d alone f32 8x64x56x56", "pooled", given("f32", 8, 64, 56, 56))
    yield from rows("conv1d f32 8x64x500 by 64 of 5", "conv1d", given("f32", 8, 64, 500),
                    given("f32", 64, 64, 5))
    yield from rows("conv_transpose2d f32 8x64x14x14 by 32 of 4x4", "conv_transpose2d",
                    given("f32", 8, 64, 14, 14), given("f32", 64, 32, 4, 4))
    for words, width, count in ((10_000, 64, 4096), (1000, 16, 100_000)):
        yield from rows(f"embedding f32 {words}x{width}, {count} words", "embedding",
                        given("f32", words, width), given("i64", count, between=(0, words)))
    for n, classes in ((4096, 1000), (1000, 30), (64, 10)):
        yield from rows(f"cross entropy f32 {n}x{classes}", "cross_entropy",
                        given("f32", n, classes), given("i64", n, between=(0, classes)))
