"""A peer of bench/cliffs: peers.py numpy|jax|torch [cpu|cuda]

Waits for the commands that main.cpp describes, and answers them alike. NumPy and torch run op by op,
JAX under jit. Views of the inputs are part of the step, as in Sluice.
"""

import functools
import gc
import os
import sys
import time

import numpy
import everyday  # noqa: F401
import networks  # noqa: F401
import programs
import science  # noqa: F401
import views  # noqa: F401

BATCHES = 8  # of steps that are timed one by one
FEW_BATCHES, PATIENCE = 3, 8  # of slow steps there are as many, for as many times the time
KEPT_BYTES = 256 << 20  # of inputs, for later rows

NUMPY_DTYPES = {"f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64,
                "i8": numpy.int8, "i16": numpy.int16, "u8": numpy.uint8, "i32": numpy.int32, "i64": numpy.int64, "bool": numpy.bool_}
WHOLE = {"i8", "i16", "u8", "i32", "i64", "bool"}


@functools.lru_cache(maxsize=4)
def numbers(count, number):
    """Numbers in [0, 1), the same as in given.cpp."""
    h = numpy.arange(count, dtype=numpy.uint32) * numpy.uint32(0x9E3779B1)
    h += numpy.uint32((number + 1) * 0x85EBCA77 & 0xFFFFFFFF)
    h ^= h >> 15
    h *= numpy.uint32(0x2C1B3C6D)
    h ^= h >> 12
    h *= numpy.uint32(0x297A2D39)
    h ^= h >> 15
    return (h >> 8) * 2.0**-24


@functools.lru_cache(maxsize=4)
def weights(count):
    return numpy.resize(numpy.arange(1.0, 18.0), count)


class Peer:
    """What differs between the peers."""

    def array(self, values, dtype):
        """The peer's array of NumPy's, whose dtype it takes unless that is bf16."""
        raise NotImplementedError

    def view(self, x, name):
        xp = self.xp
        if name == "T":
            return xp.swapaxes(x, -1, -2)
        if name == "step2":
            return x[..., ::2]
        if name == "rows2":
            return x[::2]
        if name == "flip":
            return xp.flip(x, (-1,))
        if name == "inside":
            return x[..., 1:-1, 1:-1]
        if name == "nhwc":
            return xp.permute_dims(x, (0, 2, 3, 1))
        if name == "nchw":
            return xp.permute_dims(x, (0, 3, 1, 2))
        if name.startswith("times"):
            return xp.broadcast_to(x, (int(name[5:]), *x.shape))
        return x

    def step(self, program, arguments, inputs, views):
        """A function of nothing that computes the results and waits for them."""
        def viewed():
            return [self.view(x, view) for x, view in zip(inputs, views)]
        if any(views):
            return lambda: program(self.xp, arguments, *viewed())
        return lambda: program(self.xp, arguments, *inputs)

    def wait(self, result):
        pass

    def to_numpy(self, x):
        return numpy.asarray(x, dtype=numpy.float64)


class NumPy(Peer):
    name = "numpy"

    def __init__(self, device):
        if device != "cpu":
            raise ValueError(f"NumPy has no {device}")
        self.xp, self.version = numpy, f"NumPy {numpy.__version__}"
        numpy.seterr(all="ignore")

    def array(self, values, dtype):
        if dtype == "bf16":
            raise TypeError("NumPy has no bf16")
        return values


class Jax(Peer):
    name = "jax"

    def __init__(self, device):
        os.environ["JAX_PLATFORMS"] = device
        import jax

        jax.config.update("jax_enable_x64", True)  # else it has no i64 and f64
        self.jax, self.xp, self.version = jax, jax.numpy, f"JAX {jax.__version__}"

    def array(self, values, dtype):
        x = self.xp.asarray(values)
        return self.jax.block_until_ready(x.astype(self.xp.bfloat16) if dtype == "bf16" else x)

    def step(self, program, arguments, inputs, views):
        if getattr(program, "jits_itself", False):
            return lambda: program(self.xp, arguments, *inputs)
        compiled = self.jax.jit(lambda *given: program(
            self.xp, arguments, *(self.view(x, view) for x, view in zip(given, views))))
        return lambda: compiled(*inputs)

    def wait(self, result):
        self.jax.block_until_ready(result)


class Torch(Peer):
    name = "torch"

    def __init__(self, device):
        import torch

        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
        torch.set_grad_enabled(False)
        if device != "cpu":
            torch.set_default_device(device)
            torch.backends.cudnn.allow_tf32 = False  # as its products and ours
            self.wait = lambda result: torch.cuda.synchronize()
        self.device = device
        self.torch, self.version = torch, f"torch {torch.__version__}"
        self.xp = programs.torch_namespace(torch)

    def array(self, values, dtype):
        x = self.torch.from_numpy(values).to(self.device)
        return x.to(self.torch.bfloat16) if dtype == "bf16" else x

    def to_numpy(self, x):
        return x.to(self.torch.float64).cpu().numpy() if hasattr(x, "numpy") else numpy.float64(x)


class Server:
    def __init__(self, peer):
        self.peer, self.inputs, self.run_step = peer, {}, None

    def answer(self, command, *words):
        return getattr(self, f"do_{command}")(*words)

    def do_version(self):
        return self.peer.version

    def do_programs(self):
        return " ".join(programs.names(self.peer.name))

    def input(self, text, number):
        """The array's key in `inputs` and the name of its view."""
        dtype, shape, low, high, view = (text + ":").split(":")[:5]
        key = (dtype, shape, low, high, view == "sorted", number)
        if key not in self.inputs:
            extents = [int(extent) for extent in shape.split("x")]
            values = numbers(int(numpy.prod(extents)), number)
            values = float(low) + (float(high) - float(low)) * values
            if dtype in WHOLE:
                values = numpy.floor(values)
            elif dtype != "f64":
                values = values.astype(numpy.float32)
            values = values.astype(NUMPY_DTYPES.get(dtype, numpy.float32))
            if view == "sorted":
                values.sort()
            self.inputs[key] = self.peer.array(values.reshape(extents), dtype)
        return key, "" if view == "sorted" else view

    def do_prepare(self, seconds, program, arguments, *inputs):
        self.run_step, self.seconds, self.steps = None, float(seconds), 0
        given = [self.input(text, number) for number, text in enumerate(inputs)]
        if sum(x.nbytes for x in self.inputs.values()) > KEPT_BYTES:
            self.inputs = {key: self.inputs[key] for key, _ in given}
        arguments = [] if arguments == "-" else [int(a) for a in arguments.split(",")]
        self.run_step = self.peer.step(
            programs.find(self.peer.name, program), arguments,
            [self.inputs[key] for key, _ in given], [view for _, view in given])
        gc.collect()
        return f"first={self.run(1)}" if self.seconds > 0 else ""

    def do_check(self):
        results = self.run_step()
        samples = []
        for result in results if isinstance(results, (tuple, list)) else [results]:
            values = numpy.ravel(self.peer.to_numpy(result))
            last = values.size - 1
            samples += [values[last * i // 4] for i in range(5)]
            samples += [values.mean(), values @ weights(values.size) / values.size]
        return " ".join(f"{value:.9g}" for value in samples)

    def run(self, steps):
        step, wait = self.run_step, self.peer.wait
        start = time.perf_counter()
        for _ in range(steps):
            wait(step())
        return (time.perf_counter() - start) / steps

    def find_steps(self, batch):
        self.steps = 1
        for _ in range(3):
            fitting = max(1, int(batch / self.run(self.steps)))
            found, self.steps = fitting <= self.steps, fitting
            if found:
                return

    def do_time(self):
        if self.seconds == 0:
            return f"{self.run(1):.9g}"
        if self.steps == 0:
            self.find_steps(self.seconds / BATCHES)
        batches, start = [], time.perf_counter()
        while len(batches) < BATCHES:
            limit = self.seconds * (PATIENCE if len(batches) < FEW_BATCHES else 1)
            if batches and time.perf_counter() - start > limit:
                break
            batches.append(self.run(self.steps))
        return " ".join(f"{seconds:.9g}" for seconds in batches)


def main():
    name, device = (sys.argv[1:] + ["cpu"])[:2]
    server = Server({"numpy": NumPy, "jax": Jax, "torch": Torch}[name](device))
    gc.disable()
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        try:
            answer = server.answer(*line.split())
        except Exception as error:  # whatever it is, the row fails and the peer goes on
            answer = f"error {type(error).__name__}: {error}".replace("\n", " ")
        print(answer, flush=True)


if __name__ == "__main__":
    main()
