"""PyTorch's part in bench/scoreboard: eager, or with --compile under torch.compile."""

import os
import sys

import contestant
import torch

COMPILES = "--compile" in sys.argv


class Namespace:
    """torch with the names of the array API standard."""

    def __getattr__(self, name):
        return getattr(torch, name)

    max = staticmethod(torch.amax)


class Torch(contestant.Framework):
    xp = Namespace()

    def __init__(self):
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
        torch.set_grad_enabled(False)
        self.zero = torch.zeros(())

    def version(self):
        return (f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads"
                + (", torch.compile" if COMPILES else ""))

    def array(self, values):
        return torch.frombuffer(bytearray(values.tobytes()), dtype=torch.float32).reshape(
            values.shape)

    def read(self, array):
        return array.contiguous().numpy()

    def jit(self, function):
        if not COMPILES:
            return function
        torch._dynamo.reset()  # else sizes become dynamic, and the number of forms is limited
        return torch.compile(function, dynamic=False)

    def jit_update(self, update):
        return self.jit(update)

    def numbers(self, values):
        return [torch.tensor(float(value)) for value in values]

    def copy(self, array):
        return array.clone()

    def mish(self, inputs, _):
        return self.pure(torch.nn.functional.mish, inputs)

    def softmax(self, inputs, _):
        return self.pure(lambda x: torch.softmax(x, 1), inputs)

    def layer_norm(self, inputs, _):
        return self.pure(lambda x, weight, bias: torch.nn.functional.layer_norm(
            x, (x.shape[1],), weight, bias, 1e-5), inputs)

    def gelu(self, x):
        return torch.nn.functional.gelu(x)

    def distances(self, inputs, count):
        if COMPILES:
            return super().distances(inputs, count)
        return self.pure(lambda x, y: torch.cdist(
            x, y, compute_mode="donot_use_mm_for_euclid_dist").square(), inputs)

    def optimised(self, gradients_of, parameters, constants):
        if COMPILES:
            return super().optimised(gradients_of, parameters, constants)
        groups = [{"params": parameters[0::2], "weight_decay": contestant.WEIGHT_DECAY},
                  {"params": parameters[1::2], "weight_decay": 0.0}]
        optimiser = torch.optim.AdamW(groups, lr=contestant.LEARNING_RATE, eps=contestant.EPSILON,
                                      fused=True)

        def step():
            gradients, results = gradients_of(parameters, *constants), []
            if isinstance(gradients, tuple):
                gradients, loss = gradients
                results = [loss]
            for parameter, gradient in zip(parameters, gradients):
                parameter.grad = gradient
            optimiser.step()
            return results + parameters
        return step


if __name__ == "__main__":
    if COMPILES:
        sys.argv.remove("--compile")
    contestant.main(Torch, {"chain", "mixed_chain", "jacobi"} if COMPILES else ())
