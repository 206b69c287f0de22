"""The rows of bench/scoreboard: programs and sizes."""


class Row:
    """The command to a contestant: a program, its count, its inputs as shape:low:high."""

    def __init__(self, name, program, *inputs, count=1, ops=0):
        self.name, self.program, self.inputs = name, program, inputs
        self.count, self.ops = count, ops  # ops: those that the cost of one is reckoned from


def host_rows():
    for ops in (64, 1000):
        yield Row(f"host cost, {ops} ops, tensors", "chain", "16:-1:1", "16:-1:1", count=ops,
                  ops=ops)
        yield Row(f"host cost, {ops} ops, mixed", "mixed_chain", "16:-1:1", count=ops, ops=ops)


def sized_rows():
    sizes = (("1K", 1 << 10), ("64K", 1 << 16), ("1M", 1 << 20), ("16M", 1 << 24))
    for label, n in sizes:
        yield Row(f"chain of 10, {label}", "chain10", f"{n}:-1:1", f"{n}:-1:1", count=10)
    for label, n in sizes:
        yield Row(f"Mish, {label}", "mish", f"{n}:-6:6")
    for label, n in sizes:
        yield Row(f"Mish composed, {label}", "composed_mish", f"{n}:-6:6")


def adam_inputs():
    parameters = []
    for i in range(25):
        parameters += [f"{64 + 8 * i}x1024:-1:1", f"{1024 + 8 * i}:-1:1"]
    return parameters * 2  # and gradients


ROWS = [
    *host_rows(),
    *sized_rows(),
    Row("softmax, 4096x1024", "softmax", "4096x1024:-4:4"),
    Row("layer norm, 4096x1024", "layer_norm", "4096x1024:-4:4", "1024:0.5:1.5", "1024:-1:1"),
    Row("matmul, 1024", "matmul", "1024x1024:-1:1", "1024x1024:-1:1"),
    Row("matmul + bias + GELU, 2048x512x2048", "linear_gelu", "2048x512:-1:1",
        "512x2048:-0.1:0.1", "2048:-1:1"),
    Row("Adam, 50 parameters", "adam", *adam_inputs()),
    Row("Black-Scholes, 4M", "black_scholes", *(f"{1 << 22}:{r}" for r in (
        "50:150", "50:150", "0.1:2"))),
    Row("Jacobi, 512x512, 1000 steps", "jacobi", "512x512:-1:1", count=1000),
    Row("pairwise distances, 1024x1024x64", "distances", "1024x64:-1:1", "1024x64:-1:1"),
    Row("digits training step, batch 8", "training_step", "8x64:0:1", "64x512:-0.3:0.3", "512:0:0",
        "512x256:-0.1:0.1", "256:0:0", "256x10:-0.15:0.15", "10:0:0"),
]

# Whole processes: each round starts one with empty caches, then one with warm caches.
FRESH = Row("", "chain10", f"{1 << 20}:-1:1", f"{1 << 20}:-1:1", count=10)
FIRST_RESULT, COMPILED, START = (
    "first result of a new kernel, 1M", "a new kernel until it runs compiled, 1M",
    "start-up to first result, warm cache, 1M")
FRESH_ROWS = (FIRST_RESULT, COMPILED, START)
