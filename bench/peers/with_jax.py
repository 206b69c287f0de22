"""JAX's part in bench/scoreboard: under jit, except for the chains recorded op by op."""

import os

import contestant

os.environ["JAX_PLATFORMS"] = "cpu"
if "JAX_COMPILATION_CACHE_DIR" in os.environ:  # else what compiles fast is not kept
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402


class Jax(contestant.Framework):
    xp = jnp
    zero = 0

    def version(self):
        return f"JAX {jax.__version__}"

    def array(self, values):
        return jax.block_until_ready(jnp.asarray(values))

    def wait(self, arrays):
        jax.block_until_ready(arrays)

    def jit(self, function):
        return jax.jit(function)

    def jit_update(self, update):
        compiled = jax.jit(update, donate_argnums=0)
        copied = []

        def step(state, correction, constants):
            if not copied:  # the first state is made of the inputs, which are not to be given away
                copied.append(True)
                state = jax.tree.map(jnp.copy, state)
            return compiled(state, correction, constants)
        return step

    def mish(self, inputs, _):
        return self.pure(jax.nn.mish, inputs)

    def softmax(self, inputs, _):
        return self.pure(lambda x: jax.nn.softmax(x, axis=1), inputs)

    def erf(self, x):
        return jax.lax.erf(x)

    def jacobi(self, inputs, count):
        def one(_, x):
            inside = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
            return x.at[1:-1, 1:-1].set(inside)
        return self.pure(lambda x: jax.lax.fori_loop(0, count, one, x), inputs)


if __name__ == "__main__":
    contestant.main(Jax)
