"""MLX's part in bench/scoreboard: lazy; with --compile under mx.compile where possible."""

import os
import sys

import contestant
import mlx.core as mx
import numpy

COMPILES = "--compile" in sys.argv


class Mlx(contestant.Framework):
    xp = mx

    def __init__(self):
        mx.set_default_device(mx.cpu)
        self.zero = mx.array(0.0)

    def version(self):
        blas = os.path.basename(os.environ.get("LD_PRELOAD", "its own BLAS"))
        return f"MLX {mx.__version__}, {blas}" + (", mx.compile" if COMPILES else "")

    def array(self, values):
        result = mx.array(values)
        mx.eval(result)
        return result

    def read(self, array):
        return numpy.array(array)

    def wait(self, arrays):
        mx.eval(arrays)

    def jit(self, function):
        return mx.compile(function) if COMPILES else function

    def jit_update(self, update):
        return self.jit(update)

    def numbers(self, values):
        return [mx.array(float(value)) for value in values]

    def softmax(self, inputs, _):
        return self.pure(lambda x: mx.softmax(x, axis=1), inputs)

    def layer_norm(self, inputs, _):
        return self.pure(lambda x, weight, bias: mx.fast.layer_norm(x, weight, bias, 1e-5), inputs)

    def jacobi(self, inputs, count):
        def one(x):
            inside = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
            middle = mx.concatenate([x[1:-1, :1], inside, x[1:-1, -1:]], axis=1)
            return mx.concatenate([x[:1], middle, x[-1:]], axis=0)
        one = self.jit(one)

        def step():
            x = inputs[0]
            for i in range(count):
                x = one(x)
                if i % 50 == 49:  # a graph of all steps takes longer
                    mx.eval(x)
            return [x]
        return step


if __name__ == "__main__":
    if COMPILES:
        sys.argv.remove("--compile")
    contestant.main(Mlx, {"chain", "mixed_chain"} if COMPILES else ())
