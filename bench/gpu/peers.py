"""The workloads of the GPU bench in other frameworks, timed in the same way.

peers.py --who torch|compile|jax|cupy [--device cuda|cpu] [--only GROUP,...] [--quick]
         [--json FILE]

Writes a line of JSON for each result, as gpu_bench does. Exit code 4: the framework is not installed.
"""

import argparse
import json
import os
import statistics
import sys
import time

NOT_THERE = 4
MEBI = 1 << 20


class Torch:
    def __init__(self, device, compiles=False):
        import torch

        if device == "cuda" and not torch.cuda.is_available():
            raise ImportError("torch sees no GPU")
        self.torch, self.device, self.compiles = torch, device, compiles
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.allow_tf32 = False

    def jit(self, f):
        if not self.compiles:
            return f
        self.torch._dynamo.reset()  # else sizes become dynamic, and the number of forms is limited
        return self.torch.compile(f, dynamic=False)

    def uniform(self, shape, dtype="float32"):
        return self.torch.rand(shape, device=self.device).to(getattr(self.torch, dtype))

    def wait(self, _):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def softmax(self, x):
        return self.torch.softmax(x, 1)

    def layer_norm(self, x, weight, bias):
        return self.torch.nn.functional.layer_norm(x, (x.shape[1],), weight, bias, 1e-5)

    def sum(self, x, axis=None):
        return x.sum() if axis is None else x.sum(axis)

    def allow_tf32(self, allow):
        self.torch.set_float32_matmul_precision("high" if allow else "highest")

    def attention(self, q, k, v, causal=False):
        q, k, v = (x[None] for x in (q, k, v))  # three dims have no kernel of their own
        return self.torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def convolution(self, x, weight):
        return self.torch.nn.functional.conv2d(x, weight, padding=1)

    def gelu(self, x):
        return self.torch.nn.functional.gelu(x)

    def integers(self, high, count):
        return self.torch.randint(0, high, (count,), device=self.device)

    def sort(self, x):
        return x.sort(-1)[0]

    def cumsum(self, x):
        return x.cumsum(-1)

    def scatter_add(self, x, indices, updates):
        return x.index_add(0, indices, updates)

    def training_step(self, rows, width):
        torch = self.torch
        nn = torch.nn
        network = nn.Sequential(
            nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 10)).to(self.device)
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4,
                                      fused=self.device == "cuda")
        inputs = self.uniform((rows, 784))
        labels = torch.randint(0, 10, (rows,), device=self.device)
        loss_of = self.jit(lambda x, y: nn.functional.cross_entropy(network(x), y))

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss_of(inputs, labels).backward()
            optimizer.step()
        return step


class LikeNumPy:
    """Workloads written alike for all frameworks; `np` is the framework's module."""

    def layer_norm(self, x, weight, bias):
        d = x - x.mean(1, keepdims=True)
        return d / self.np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * weight + bias

    def sum(self, x, axis=None):
        return x.sum(axis)

    def sort(self, x):
        return self.np.sort(x, -1)

    def cumsum(self, x):
        return self.np.cumsum(x, -1)


class Jax(LikeNumPy):
    compiles = True

    def __init__(self, device):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        if jax.default_backend() not in (device, "gpu" if device == "cuda" else device):
            raise ImportError(f"JAX runs on {jax.default_backend()}")
        self.on_gpu = device == "cuda"
        jax.config.update("jax_default_matmul_precision", "highest")
        self.jax, self.np, self.key = jax, jax.numpy, jax.random.key(1)

    def jit(self, f):
        return self.jax.jit(f)

    def uniform(self, shape, dtype="float32"):
        return self.jax.block_until_ready(
            self.jax.random.uniform(self.key, shape).astype(getattr(self.np, dtype)))

    def wait(self, result):
        self.jax.block_until_ready(result)

    def softmax(self, x):
        return self.jax.nn.softmax(x, axis=1)

    def allow_tf32(self, allow):
        self.jax.config.update("jax_default_matmul_precision",
                               "tensorfloat32" if allow else "highest")

    def attention(self, q, k, v, causal=False):
        q, k, v = (x[:, :, None, :] for x in (q, k, v))
        library = "cudnn" if self.on_gpu and q.dtype != self.np.float32 else None
        return self.jax.nn.dot_product_attention(q, k, v, is_causal=causal, implementation=library)

    def convolution(self, x, weight):
        return self.jax.lax.conv(x, weight, (1, 1), "SAME")

    def gelu(self, x):
        return self.jax.nn.gelu(x, approximate=False)

    def integers(self, high, count):
        return self.jax.random.randint(self.key, (count,), 0, high)

    def scatter_add(self, x, indices, updates):
        return x.at[indices].add(updates)

    def training_step(self, rows, width):
        jax, np = self.jax, self.np
        widths = (784, width, width, 10)
        weights = [(self.uniform((m, n)) * 0.05, np.zeros(n))
                   for m, n in zip(widths, widths[1:])]
        zeros = jax.tree.map(np.zeros_like, weights)
        inputs = self.uniform((rows, 784))
        targets = jax.nn.one_hot(np.arange(rows) % 10, 10)

        def loss_of(weights):
            x = inputs
            for i, (weight, bias) in enumerate(weights):
                x = (jax.nn.relu(x) if i > 0 else x) @ weight + bias
            return -(targets * jax.nn.log_softmax(x)).sum() / rows

        def update(state):
            weights, means, squares, steps = state
            gradients = jax.grad(loss_of)(weights)
            steps = steps + 1
            means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, gradients)
            squares = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, squares, gradients)
            weights = jax.tree.map(
                lambda w, m, s: w - 1e-4 * (m / (1 - 0.9**steps) / (
                    np.sqrt(s / (1 - 0.999**steps)) + 1e-8) + 0.01 * w),
                weights, means, squares)
            return weights, means, squares, steps

        compiled = jax.jit(update, donate_argnums=0)
        state = [(weights, zeros, jax.tree.map(np.zeros_like, weights), np.float32(0))]

        def step():
            state[0] = compiled(state[0])
            return state[0]
        return step


class CuPy(LikeNumPy):
    compiles = False

    def __init__(self, device):
        import cupy

        if device != "cuda" or cupy.cuda.runtime.getDeviceCount() == 0:
            raise ImportError("CuPy sees no GPU")
        self.np = cupy

    def jit(self, f):
        return f

    def uniform(self, shape, dtype="float32"):
        return self.np.random.random_sample(shape).astype(dtype)

    def wait(self, _):
        self.np.cuda.get_current_stream().synchronize()

    def softmax(self, x):
        e = self.np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def training_step(self, rows, width):
        raise NotImplementedError("CuPy has no gradients")


PEERS = {
    "torch": Torch,
    "compile": lambda device: Torch(device, compiles=True),
    "jax": Jax,
    "cupy": CuPy,
}


def chain(x, ops):
    """The same as in bench/gpu/throughput.cpp."""
    for i in range(ops):
        c = 0.001 * (i + 1)
        x = x * (1 + c) if i % 2 == 0 else x + c
    return x


class Bench:
    def __init__(self, peer, who, quick, path):
        self.peer, self.who, self.quick = peer, who, quick
        self.file = open(path, "a") if path else sys.stdout

    def write(self, **result):
        print(json.dumps({"who": self.who, **result}), file=self.file, flush=True)

    def time(self, workload, size, step, dtype="float32"):
        """`step` submits work without waiting; see Bench::time() of gpu_bench."""
        def seconds_of(steps):
            start = time.perf_counter()
            for _ in range(steps):
                result = step()
            self.peer.wait(result)
            return (time.perf_counter() - start) / steps

        for steps in (1, 1) if self.quick else (1, 3, 3):
            seconds_of(steps)
        wanted = 1e-3 if self.quick else 30e-3
        steps = max(1, min(2000, round(wanted / seconds_of(1 if self.quick else 5))))
        samples = sorted(seconds_of(steps) for _ in range(3 if self.quick else 9))
        self.write(workload=workload, dtype=dtype, size=size, best=samples[0],
                   seconds=statistics.median(samples))

    def attempt(self, workload, run):
        try:
            run()
        except Exception as error:  # pylint: disable=broad-except  # whatever a framework throws
            self.write(workload=workload, error=f"{type(error).__name__}: {error}"[:500])

    def chains(self, ops, mebi, dtype):
        elements = mebi << (10 if self.quick else 20)
        size = str(elements) if elements % MEBI else f"{elements // MEBI}M"
        x = self.peer.uniform((elements,), dtype)
        f = self.peer.jit(lambda x: chain(x, ops))
        self.time(f"chain of {ops}", size, lambda: f(x), dtype)

    def matrices(self, dtype):
        peer, n = self.peer, 128 if self.quick else 4096
        x, weight, bias = (peer.uniform(s, dtype) for s in ((n, n), (n,), (n,)))
        softmax, layer_norm = peer.jit(peer.softmax), peer.jit(peer.layer_norm)
        self.time("softmax", f"{n}x{n}", lambda: softmax(x), dtype)
        self.time("layer norm", f"{n}x{n}", lambda: layer_norm(x, weight, bias), dtype)

    def sums(self):
        peer, n = self.peer, 256 if self.quick else 8192
        x, y = peer.uniform((n, n)), peer.uniform((n, n))
        for name, axis in (("rows", 1), ("columns", 0), ("all", None)):
            f = peer.jit(lambda x, axis=axis: peer.sum(x, axis))
            self.time(f"sum of {name}", f"{n}x{n}", lambda f=f: f(x))
        add = peer.jit(lambda x, y: x.T + y)
        self.time("transposed add", f"{n}x{n}", lambda: add(x, y))

    def matmul(self, n, dtype, name="matmul"):
        n = n // 32 if self.quick else n
        a, b = self.peer.uniform((n, n), dtype), self.peer.uniform((n, n), dtype)
        f = self.peer.jit(lambda a, b: a @ b)
        self.time(name, f"{n}x{n}", lambda: f(a, b), dtype)

    def matmul_tf32(self, n):
        self.peer.allow_tf32(True)
        try:
            self.matmul(n, "float32", "matmul, TF32")
        finally:
            self.peer.allow_tf32(False)

    # These three are the same as in bench/gpu/layers.cpp.
    def attention_of(self, name, dtype, heads, length, keys, depth, causal=False):
        q = self.peer.uniform((heads, length, depth), dtype)
        k, v = (self.peer.uniform((heads, keys, depth), dtype) for _ in range(2))
        f = self.peer.jit(lambda q, k, v: self.peer.attention(q, k, v, causal))
        self.time(name, f"{heads}x{length}x{depth}", lambda: f(q, k, v), dtype)

    def attention(self, dtype):
        quick = self.quick
        heads, length = (2, 16) if quick else (64, 1024)
        self.attention_of("attention", dtype, heads, length, length, 64)
        if dtype != "float16":
            return
        heads, length = (2, 32) if quick else (16, 4096)
        self.attention_of("causal attention", dtype, heads, length, length, 128, True)
        heads, length = (2, 64) if quick else (32, 8192)
        self.attention_of("attention of one query", dtype, heads, 1, length, 128)

    def convolution(self, dtype):
        images, channels = (1, 4) if self.quick else (32, 128)
        x = self.peer.uniform((images, channels, 28, 28), dtype)
        weight = self.peer.uniform((channels, channels, 3, 3), dtype)
        f = self.peer.jit(self.peer.convolution)
        self.time("convolution 3x3", f"{images}x{channels}x28x28", lambda: f(x, weight), dtype)

    def linear(self, dtype):
        n = 32 if self.quick else 4096
        a, b, bias = (self.peer.uniform(s, dtype) for s in ((n, n), (n, n), (n,)))
        f = self.peer.jit(lambda a, b, bias: self.peer.gelu(a @ b + bias))
        self.time("linear and gelu", f"{n}x{n}", lambda: f(a, b, bias), dtype)

    def arrays(self):
        """The same as in bench/gpu/arrays.cpp."""
        peer = self.peer
        mebi, rows, words, width = (
            (16 << 10, 64, 128, 16) if self.quick else (16 * MEBI, 4096, 65536, 512))
        x, matrix = peer.uniform((mebi,)), peer.uniform((rows, rows))
        size = str(mebi) if self.quick else f"{mebi // MEBI}M"
        for name in ("sort", "cumsum"):
            f = peer.jit(getattr(peer, name))
            self.time(name, size, lambda f=f: f(x))
            self.time(f"{name} of rows", f"{rows}x{rows}", lambda f=f: f(matrix))
        table, indices = peer.uniform((words, width)), peer.integers(words, words)
        take = peer.jit(lambda table, indices: table[indices])
        self.time("take rows", f"{words}x{width}", lambda: take(table, indices))
        add = peer.jit(peer.scatter_add)
        self.time("scatter add rows", f"{words}x{width}", lambda: add(table, indices, table))

    def training_step(self):
        rows, width = (32, 32) if self.quick else (512, 1024)
        step = self.peer.training_step(rows, width)
        self.time("training step", f"{rows}x784-{width}-{width}-10", step)

    def small_tensors(self):
        x, p, q = (self.peer.uniform((1024,)) for _ in range(3))

        def step():
            y = x
            for _ in range(500):
                y = y * p + q
            return y
        self.time("small tensors", "1024", step)

    def first_result(self):
        x = self.peer.uniform((256, 256))
        samples = []
        for number in range(2, 5):
            start = time.perf_counter()
            f = self.peer.jit(lambda x, n=number: chain(abs(x), 8 + n))
            self.peer.wait(f(x))
            samples.append(time.perf_counter() - start)
        self.write(workload="first result, compiled", dtype="float32", size="64K",
                   seconds=statistics.median(samples), best=min(samples))

    def pointwise(self):
        for ops, mebi, dtype in (
                (10, 1, "float32"), (10, 16, "float32"), (10, 64, "float32"),
                (10, 256, "float32"), (1, 64, "float32"), (3, 64, "float32"),
                (10, 64, "float16"), (10, 256, "float16"), (10, 64, "bfloat16"),
                (10, 256, "bfloat16")):
            self.attempt(f"chain of {ops}", lambda: self.chains(ops, mebi, dtype))

    def rows(self):
        for dtype in ("float32", "float16", "bfloat16"):
            self.attempt(f"matrices of {dtype}", lambda: self.matrices(dtype))
        self.attempt("sums", self.sums)

    def products(self):
        for n in (1024, 4096):
            for dtype in ("float32", "float16", "bfloat16"):
                self.attempt("matmul", lambda: self.matmul(n, dtype))
            self.attempt("matmul, TF32", lambda: self.matmul_tf32(n))

    def host(self):
        # A compiled chain is told what to fuse: it is no answer to recording one.
        if not self.peer.compiles:
            self.attempt("small tensors", self.small_tensors)

    def compiler(self):
        if self.peer.compiles:
            self.attempt("first result, compiled", self.first_result)

    def layers(self):
        for dtype in ("float32", "float16", "bfloat16"):
            for layer in (self.attention, self.convolution, self.linear):
                self.attempt(f"{layer.__name__} of {dtype}", lambda: layer(dtype))

    def run(self, only):
        groups = {
            "pointwise": self.pointwise,
            "rows": self.rows,
            "matmul": self.products,
            "step": lambda: self.attempt("training step", self.training_step),
            "host": self.host,
            "compiler": self.compiler,
            "layers": self.layers,
            "arrays": lambda: self.attempt("arrays", self.arrays),
        }
        for name, run in groups.items():
            if not only or name in only:
                run()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--who", choices=PEERS, required=True)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", type=lambda t: t.split(","))  # of gpu_bench's groups
    parser.add_argument("--json")
    options = parser.parse_args()
    try:
        peer = PEERS[options.who](options.device)
    except ImportError as reason:
        print(reason, file=sys.stderr)
        return NOT_THERE
    Bench(peer, options.who, options.quick, options.json).run(options.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
