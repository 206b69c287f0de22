"""Rows of bench/cliffs from the sciences, statistics, graphics and signals: programs of science.cpp."""


def science(Row, given):
    def row(name, program, *inputs, args=(), **more):
        return Row(name, "science", program, *inputs, args=args, **more)

    turn = {"between": (-0.7, 0.7)}
    for dtype in ("f32", "f64"):
        def x(*shape, dtype=dtype, **more):
            return given(dtype, *shape, **more)
        yield row(f"transformed points {dtype} 300000x3", "transformed", x(300_000, 3), x(3, 3),
                  x(3))
        yield row(f"each point turned {dtype} 50000 by 3x3", "turned_each", x(50_000, 3, 3),
                  x(50_000, 3))
        for n in (2, 3, 4, 6):
            yield row(f"matmul {dtype} 50000 of {n}x{n}", "matmul", x(50_000, n, n), x(50_000, n, n))
        yield row(f"cross {dtype} 100000x3", "cross", x(100_000, 3), x(100_000, 3))
        for n in (2, 3, 4):
            yield row(f"det {dtype} 10000 of {n}x{n}", "det", x(10_000, n, n))
            yield row(f"inv {dtype} 10000 of {n}x{n}", "inv", x(10_000, n, n), tolerance=5e-2,
                      checks=False)
        yield row(f"solve {dtype} 10000 of 3x3", "solve", x(10_000, 3, 3), x(10_000, 3, 1),
                  checks=False)
        for n in (3, 10, 100):
            yield row(f"dots of rows {dtype} {600_000 // n}x{n}", "row_dots", x(600_000 // n, n),
                      x(600_000 // n, n))
        yield row(f"quaternion products {dtype} 100000", "quaternion_product", x(100_000, 4),
                  x(100_000, 4))
        for n, m in ((10_000, 20), (500, 500), (1000, 3)):
            yield row(f"covariance {dtype} {n}x{m}", "covariance", x(n, m))
        yield row(f"moving mean {dtype} 1M of 50", "moving_mean", x(1 << 20), args=(50,),
                  tolerance=5e-2)
        yield row(f"lagged product {dtype} 1M", "lagged_product", x(1 << 20), args=(7,),
                  tolerance=2e-2)
        for n, m, k in ((10_000, 8, 16), (100_000, 2, 5)):
            yield row(f"k-means step {dtype} {n}x{m} of {k}", "k_means_step", x(n, m), x(k, m))
        yield row(f"squared distances by matmul {dtype} 1000x64", "squared_distances", x(1000, 64),
                  x(1000, 64))
        yield row(f"counts in 100 bins {dtype} 1M", "counts_in_bins",
                  x(1 << 20, between=(0, 0.999)), args=(100,))
        yield row(f"quartile {dtype} 1M", "quartile", x(1 << 20))
        yield row(f"quartile of columns {dtype} 1000x100", "quartile", x(1000, 100), args=(0,))
        yield row(f"quartile of rows {dtype} 1000x100", "quartile", x(1000, 100), args=(1,))
        yield row(f"interp {dtype} 100000 in 1000", "interp", x(100_000, between=(0, 500)),
                  x(1000, between=(0.1, 1)), x(1000), lacks=["torch"])
        yield row(f"wave step {dtype} 1000x1001", "wave_step", x(1000, 1001), x(1000, 1001))
        yield row(f"Mandelbrot {dtype} 500x500", "mandelbrot", x(500, between=(-2, 1)), x(500),
                  checks=False)
        yield row(f"haversine {dtype} 300000", "haversine", x(300_000, 2, **turn),
                  x(300_000, 2, **turn))
        yield row(f"HSV {dtype} 720x1080x3", "hsv", x(720, 1080, 3, between=(0, 1)), tolerance=1e-2)
        yield row(f"Gaussian blur {dtype} 1000x1001", "blur", x(1000, 1001))
        yield row(f"9 taps {dtype} 1M", "filtered", x(1 << 20))
        yield row(f"integral image {dtype} 1000x1001", "integral_image",
                  x(1000, 1001, between=(0, 1)))
        yield row(f"power iteration {dtype} 1000x1000", "power_iteration",
                  x(1000, 1000, between=(0, 1)), x(1000, between=(0, 1)))
        yield row(f"entropy of masked rows {dtype} 10000x50", "entropy", x(10_000, 50),
                  given("bool", 10_000, 50))
        yield row(f"trapezoid {dtype} 1M", "trapezoid", x(1 << 20, between=(0, 1)))
        yield row(f"drawdown {dtype} 1M", "drawdown", x(1 << 20), tolerance=5e-2)
        yield row(f"mean of positive {dtype} 1000x1001", "mean_of_positive", x(1000, 1001))
        yield row(f"mean of positive {dtype} 1000x1001 over 0", "mean_of_positive", x(1000, 1001),
                  args=(0,))
        yield row(f"distances from a point {dtype} 1000x1001", "distances_from", x(1001), x(1000))
        yield row(f"complex product {dtype} 1M", "complex_product", *[x(1 << 20)] * 4)
        yield row(f"Lennard-Jones {dtype} 500x3", "lennard_jones", x(500, 3, between=(0, 8)),
                  tolerance=5e-2)
        yield row(f"logistic gradient {dtype} 10000x50", "logistic_gradient", x(10_000, 50), x(50),
                  x(10_000))
        yield row(f"sorted by key {dtype} 100000x4", "sorted_by_key", x(100_000, 4))
        yield row(f"ranks {dtype} 1000x300", "ranks", x(1000, 300), checks=False)
        yield row(f"all close {dtype} 1M", "all_close", x(1 << 20), x(1 << 20))
    yield row("hashed i64 1M", "hashed", given("i64", 1 << 20))
    yield row("bits set i32 1M", "bits_set", given("i32", 1 << 20, between=(0, 1_000_000_000)))
    yield row("quantised i8 1M", "quantised", given("i8", 1 << 20))
    yield row("quantised f32 1M", "quantised", given("f32", 1 << 20))
