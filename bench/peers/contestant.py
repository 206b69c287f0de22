"""Protocol and programs of Python frameworks in bench/scoreboard.

bench/contestants/contestant.h describes the commands. A framework is a subclass of Framework. It
inherits the programs that its array namespace (`xp`, named as in the array API standard) supports, and
overrides those for which it has better functions.
"""

import math
import sys
import time

import numpy

KEPT_MEAN, KEPT_SQUARE, EPSILON, LEARNING_RATE, WEIGHT_DECAY = 0.9, 0.999, 1e-8, 1e-3, 0.01
RATE, VOLATILITY = 0.02, 0.3


class Framework:
    """Arrays of an eager namespace `xp`."""

    xp = None

    def version(self):
        raise NotImplementedError

    def array(self, values):
        """A framework's array, in memory, from a NumPy array."""
        return values

    def read(self, array):
        """The values as a NumPy array."""
        return numpy.asarray(array)

    def wait(self, arrays):
        """Waits until the arrays are computed."""

    def jit(self, function):
        """The fastest form of `function`, which maps arrays to an array or a tuple of arrays."""
        return function

    def finish(self, arrays):
        """Waits for the arrays; reads small ones to the host, as the other contestants do."""
        if all(math.prod(a.shape) <= 1024 for a in arrays):
            for a in arrays:
                self.read(a)
        else:
            self.wait(arrays)

    # Programs: each takes a list of inputs and a count, and gives a function of no arguments that
    # does a step and gives a list of results.

    def pure(self, function, inputs):
        function = self.jit(function)

        def step():
            result = function(*inputs)
            return list(result) if isinstance(result, (tuple, list)) else [result]
        return step

    def chain(self, inputs, count):
        """Op by op, uncompiled: it measures the cost of an op."""
        x, y = inputs

        def step():
            t = x
            for _ in range(count // 2):
                t = t * y
                t = t + x
            return [t]
        return step

    def mixed_chain(self, inputs, count):
        x = inputs[0]

        def step():
            t = x
            for _ in range(count // 2):
                t = t * 0.5
                t = t + x
            return [t]
        return step

    def chain10(self, inputs, _):
        def chain10(x, y):
            t = x
            for _ in range(5):
                t = t * y + x
            return t
        return self.pure(chain10, inputs)

    def mish(self, inputs, count):
        return self.composed_mish(inputs, count)

    def composed_mish(self, inputs, _):
        xp = self.xp
        return self.pure(lambda x: x * xp.tanh(xp.log1p(xp.exp(x))), inputs)

    def softmax(self, inputs, _):
        xp = self.xp

        def softmax(x):
            e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
            return e / xp.sum(e, axis=1, keepdims=True)
        return self.pure(softmax, inputs)

    def layer_norm(self, inputs, _):
        xp = self.xp

        def layer_norm(x, weight, bias):
            d = x - xp.mean(x, axis=1, keepdims=True)
            variance = xp.mean(d * d, axis=1, keepdims=True)
            return d / xp.sqrt(variance + 1e-5) * weight + bias
        return self.pure(layer_norm, inputs)

    def matmul(self, inputs, _):
        return self.pure(lambda a, b: a @ b, inputs)

    def erf(self, x):
        return self.xp.erf(x)

    def gelu(self, x):
        return 0.5 * x * (1 + self.erf(x * math.sqrt(0.5)))

    def linear_gelu(self, inputs, _):
        return self.pure(lambda x, weight, bias: self.gelu(x @ weight + bias), inputs)

    def black_scholes(self, inputs, _):
        xp, erf = self.xp, self.erf

        def normal_cdf(d):
            return 0.5 + 0.5 * erf(d * math.sqrt(0.5))

        def black_scholes(spot, strike, years):
            spread = VOLATILITY * xp.sqrt(years)
            drift = (RATE + 0.5 * VOLATILITY * VOLATILITY) * years
            d = (xp.log(spot / strike) + drift) / spread
            exercised, delta = normal_cdf(d - spread), normal_cdf(d)
            discounted = strike * xp.exp(-RATE * years)
            return (spot * delta - discounted * exercised,
                    discounted * (1 - exercised) - spot * (1 - delta))
        return self.pure(black_scholes, inputs)

    def jacobi(self, inputs, count):
        """In place, alternating between two grids, for writable arrays."""
        start = inputs[0]

        def step():
            old, new = self.copy(start), self.copy(start)
            for _ in range(count):
                inside = new[1:-1, 1:-1]
                self.xp.add(old[:-2, 1:-1], old[2:, 1:-1], out=inside)
                inside += old[1:-1, :-2]
                inside += old[1:-1, 2:]
                inside *= 0.25
                old, new = new, old
            return [old]
        return step

    def copy(self, array):
        return array.copy()

    def distances(self, inputs, _):
        xp = self.xp
        return self.pure(lambda x, y: xp.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2), inputs)

    def adam(self, inputs, _):
        half = len(inputs) // 2
        return self.optimised(lambda _: inputs[half:], inputs[:half], [])

    def training_step(self, inputs, _):
        xp, images, parameters = self.xp, inputs[0], inputs[1:]
        rows = images.shape[0]
        targets = self.array(numpy.eye(10, dtype=numpy.float32)[numpy.arange(rows) % 10])
        depth = len(parameters) // 2

        def gradients_of(parameters, images, targets):
            activations = [images]
            for i in range(depth):
                x = activations[i] @ parameters[2 * i] + parameters[2 * i + 1]
                if i + 1 < depth:
                    activations.append(xp.maximum(x, self.zero))
            x = x - xp.max(x, axis=1, keepdims=True)
            log_probabilities = x - xp.log(xp.sum(xp.exp(x), axis=1, keepdims=True))
            loss = xp.sum(targets * log_probabilities) * (-1 / rows)
            gradients = [None] * len(parameters)
            delta = (xp.exp(log_probabilities) - targets) * (1 / rows)
            for i in reversed(range(depth)):
                gradients[2 * i] = activations[i].T @ delta
                gradients[2 * i + 1] = xp.sum(delta, axis=0)
                if i > 0:
                    delta = (delta @ parameters[2 * i].T) * (activations[i] > 0)
            return gradients, loss

        return self.optimised(gradients_of, parameters, [images, targets])

    zero = numpy.float32(0)

    def optimised(self, gradients_of, parameters, constants):
        """A step of AdamW on alternating weights and biases. gradients_of(parameters, *constants)
        returns the gradients, or the gradients and a result."""
        xp = self.xp

        def update(state, correction, constants):
            parameters, means, squares = state
            gradients = gradients_of(parameters, *constants)
            results = []
            if isinstance(gradients, tuple):
                gradients, result = gradients
                results = [result]
            means = [KEPT_MEAN * m + (1 - KEPT_MEAN) * g for m, g in zip(means, gradients)]
            squares = [KEPT_SQUARE * s + (1 - KEPT_SQUARE) * g * g
                       for s, g in zip(squares, gradients)]
            parameters = [
                p - LEARNING_RATE * (m * correction[0] / (xp.sqrt(s * correction[1]) + EPSILON)
                                     + (WEIGHT_DECAY * p if i % 2 == 0 else 0))
                for i, (p, m, s) in enumerate(zip(parameters, means, squares))]
            return (parameters, means, squares), results

        update = self.jit_update(update)
        zeros = [self.array(numpy.zeros(p.shape, numpy.float32)) for p in parameters]
        state = (list(parameters), zeros, list(zeros))
        steps = 0

        def step():
            nonlocal state, steps
            steps += 1
            correction = [numpy.float32(1 / (1 - d**steps)) for d in (KEPT_MEAN, KEPT_SQUARE)]
            state, results = update(state, self.numbers(correction), constants)
            return results + state[0]
        return step

    def numbers(self, values):
        """Wraps values that change at every step, so that they cause no recompilation."""
        return values

    def jit_update(self, update):
        return update


PROGRAMS = ("chain", "mixed_chain", "chain10", "mish", "composed_mish", "softmax", "layer_norm",
            "matmul", "linear_gelu", "black_scholes", "jacobi", "distances", "adam",
            "training_step")


def parse_input(text, number):
    """Makes the input shape:low:high, with the numbers of bench/contestants/contestant.h."""
    shape, low, high = text.split(":")
    shape = tuple(int(extent) for extent in shape.split("x"))
    low, high = numpy.float32(low), numpy.float32(high)
    offset = numpy.uint32((number + 1) * 0x85EBCA77 & 0xFFFFFFFF)
    h = numpy.arange(math.prod(shape), dtype=numpy.uint32) * numpy.uint32(0x9E3779B1) + offset
    h = (h ^ (h >> numpy.uint32(15))) * numpy.uint32(0x2C1B3C6D)
    h = (h ^ (h >> numpy.uint32(12))) * numpy.uint32(0x297A2D39)
    h ^= h >> numpy.uint32(15)
    unit = (h >> numpy.uint32(8)).astype(numpy.float32) * numpy.float32(2**-24)
    return (low + (high - low) * unit).reshape(shape)


def samples_of(results):
    """Five elements and the mean of every result."""
    samples = []
    for values in results:
        values = numpy.asarray(values, dtype=numpy.float32).reshape(-1)
        samples += [values[(values.size - 1) * i // 4] for i in range(5)]
        samples.append(values.mean(dtype=numpy.float64))
    return " ".join(f"{sample:.9g}" for sample in samples)


class Server:
    def __init__(self, framework, programs):
        self.framework, self.programs = framework, programs
        self.step = self.steps = None
        self.seconds = 0.0

    def start(self, words):
        program, count, *inputs = words
        if program not in self.programs:
            raise ValueError(f"no program {program}")
        arrays = [parse_input(text, number) for number, text in enumerate(inputs)]
        begin = time.perf_counter()
        arrays = [self.framework.array(a) for a in arrays]
        self.step = getattr(self.framework, program)(arrays, int(count))
        return begin

    def run(self, steps):
        begin = time.perf_counter()
        for _ in range(steps):
            self.framework.finish(self.step())
        return time.perf_counter() - begin

    def find_steps(self):
        self.run(2)
        self.steps = 1
        while (taken := self.run(self.steps)) < self.seconds:
            factor = min(1.1 * self.seconds / max(taken, 1e-9), 100)
            self.steps = max(self.steps + 1, int(self.steps * factor))

    def answer(self, line):
        command, *words = line.split()
        if command == "version":
            return self.framework.version()
        if command == "programs":
            return " ".join(self.programs)
        if command == "prepare":
            self.step = self.steps = None
            self.seconds = float(words[0])
            self.start(words[1:])
            return "ok"
        if command == "check":
            self.run(2)
            results = self.step()
            self.framework.finish(results)
            return samples_of([self.framework.read(result) for result in results])
        if command == "time":
            if self.steps is None:
                self.find_steps()
            return f"{self.run(self.steps) / self.steps:.9g} {self.steps}"
        raise ValueError(f"no command {command}")


def main(make_framework, without=()):
    """`without`: programs that the framework does not support."""
    imported = time.perf_counter()
    framework = make_framework()
    server = Server(framework, [name for name in PROGRAMS if name not in without])
    if sys.argv[1:2] == ["once"]:
        made = time.perf_counter()
        begin = server.start(sys.argv[2:])
        inputs, begin = begin - made, time.perf_counter()
        framework.finish(server.step())
        print(f"inputs={inputs:.9g} first={time.perf_counter() - begin:.9g} "
              f"main={time.perf_counter() - imported - inputs:.9g}", flush=True)
        return
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        try:
            print(server.answer(line), flush=True)
        except Exception as error:  # pylint: disable=broad-except  # whatever a framework throws
            text = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"error {text[:300]}", flush=True)
