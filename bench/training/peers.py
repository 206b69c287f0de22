"""A peer of bench/training: peers.py torch|jax. Answers as main.cpp does, with the same programs.

torch runs op by op, with the fused AdamW; JAX jits a whole step, and donates what it replaces.

    peers.py memory PROGRAM STEPS

prints the most bytes that torch had allocated for tensors in these steps, of a model made anew:
its profiler sees each allocation.
"""

import sys
import time

import numpy

READ_EVERY = 8


def torch_programs():
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(1)

    def training(net, loss_of):
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True)

        def step():
            optimizer.zero_grad()
            loss = loss_of(net)
            loss.backward()
            optimizer.step()
            return loss

        return step

    def classifier(net, shape):
        x, labels = torch.rand(shape), torch.randint(0, 10, (shape[0],))
        return training(net, lambda n: F.cross_entropy(n(x), labels))

    def mlp():
        return classifier(nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
                                        nn.Linear(256, 10)), (32, 64))

    def cnn():
        return classifier(nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(32 * 4 * 4, 10)), (32, 1, 8, 8))

    def transformer():
        block = nn.TransformerEncoderLayer(128, 4, 512, dropout=0, activation="gelu",
                                           norm_first=True, batch_first=True)
        x, mask = torch.randn(16, 64, 128), nn.Transformer.generate_square_subsequent_mask(64)
        return training(block, lambda b: b(x, src_mask=mask, is_causal=True).square().mean())

    def cart_pole():
        policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
        state = numpy.full((16, 4), 0.1, numpy.float32)
        states = numpy.full((320, 4), 0.1, numpy.float32)
        weights = numpy.full((320, 1), 0.5, numpy.float32)

        def loss_of(net):
            column = torch.from_numpy(weights)
            logits = net(torch.from_numpy(states))
            return (F.binary_cross_entropy_with_logits(logits, column, reduction="none")
                    * column).mean()

        update = training(policy, loss_of)

        def step():
            for _ in range(20):
                with torch.no_grad():
                    right = torch.sigmoid(policy(torch.from_numpy(state)))
                    (torch.rand(16, 1) < right).float().numpy()
            return update()

        return step

    return {f.__name__: f for f in (mlp, cnn, transformer, cart_pole)}


def jax_programs():
    import functools

    import jax
    from jax import numpy as jnp

    random = numpy.random.default_rng(1)

    def weight(*shape):
        fan = numpy.prod(shape[1:]) if len(shape) > 1 else 1
        return jnp.asarray(random.uniform(-1, 1, shape) / numpy.sqrt(fan), jnp.float32)

    def linear(inputs, outputs):
        return {"w": weight(outputs, inputs), "b": jnp.zeros(outputs)}

    def apply(layer, x):
        return x @ layer["w"].T + layer["b"]

    def training(parameters, state, loss_of):
        """loss_of(parameters, state) gives the loss, and the next state: running statistics."""

        @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
        def train(p, s, moments, t):
            (loss, s), g = jax.value_and_grad(loss_of, has_aux=True)(p, s)
            m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], g)
            v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, moments[1], g)
            a, b = 1 / (1 - 0.9 ** t), 1 / (1 - 0.999 ** t)
            p = jax.tree.map(lambda p, m, v: p * (1 - 1e-5) - 1e-3 * (m * a) /
                             (jnp.sqrt(v * b) + 1e-8), p, m, v)
            return loss, p, s, (m, v)

        zeros = [jax.tree.map(jnp.zeros_like, parameters) for _ in range(2)]
        now = {"p": parameters, "s": state, "m": tuple(zeros), "t": 0}

        def step():
            now["t"] += 1
            loss, now["p"], now["s"], now["m"] = train(now["p"], now["s"], now["m"],
                                                       numpy.float32(now["t"]))
            return loss

        return step, now

    def cross_entropy(logits, labels):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1))

    def mlp():
        x, labels = jnp.asarray(random.random((32, 64), numpy.float32)), jnp.arange(32) % 10

        def loss_of(p, s):
            h = jax.nn.relu(apply(p[1], jax.nn.relu(apply(p[0], x))))
            return cross_entropy(apply(p[2], h), labels), s

        return training([linear(64, 512), linear(512, 256), linear(256, 10)], (), loss_of)[0]

    def cnn():
        x, labels = jnp.asarray(random.random((32, 1, 8, 8), numpy.float32)), jnp.arange(32) % 10

        def conv(p, x):
            return jax.lax.conv_general_dilated(x, p["w"], (1, 1), "SAME") + p["b"][:, None, None]

        def norm(p, s, x):
            mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
            s = [0.9 * s[0] + 0.1 * mean, 0.9 * s[1] + 0.1 * var]
            scale = p["w"] * jax.lax.rsqrt(var + 1e-5)
            return (x - mean[:, None, None]) * scale[:, None, None] + p["b"][:, None, None], s

        def loss_of(p, s):
            h, s0 = norm(p["n0"], s[0], conv(p["c0"], x))
            h, s1 = norm(p["n1"], s[1], conv(p["c1"], jax.nn.relu(h)))
            h = jax.lax.reduce_window(jax.nn.relu(h), -jnp.inf, jax.lax.max, (1, 1, 2, 2),
                                      (1, 1, 2, 2), "VALID")
            return cross_entropy(apply(p["out"], h.reshape(32, -1)), labels), [s0, s1]

        def affine(n):
            return {"w": jnp.ones(n), "b": jnp.zeros(n)}

        parameters = {"c0": {"w": weight(16, 1, 3, 3), "b": jnp.zeros(16)}, "n0": affine(16),
                      "c1": {"w": weight(32, 16, 3, 3), "b": jnp.zeros(32)}, "n1": affine(32),
                      "out": linear(512, 10)}
        state = [[jnp.zeros(n), jnp.ones(n)] for n in (16, 32)]
        return training(parameters, state, loss_of)[0]

    def transformer():
        x = jnp.asarray(random.standard_normal((16, 64, 128)), jnp.float32)
        mask = jnp.tril(jnp.ones((64, 64), bool))

        def norm(p, x):
            mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
            return (x - mean) * jax.lax.rsqrt(var + 1e-5) * p["w"] + p["b"]

        def loss_of(p, s):
            h = norm(p["n0"], x)
            q, k, v = (apply(p[name], h).reshape(16, 64, 4, 32).transpose(0, 2, 1, 3)
                       for name in "qkv")
            scores = jnp.where(mask, q @ k.transpose(0, 1, 3, 2) / numpy.sqrt(32.), -jnp.inf)
            a = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(16, 64, 128)
            y = x + apply(p["o"], a)
            h = apply(p["l0"], norm(p["n1"], y))
            return jnp.square(y + apply(p["l1"], jax.nn.gelu(h, approximate=False))).mean(), s

        parameters = {name: linear(128, 128) for name in "qkvo"}
        parameters |= {"l0": linear(128, 512), "l1": linear(512, 128)}
        parameters |= {n: {"w": jnp.ones(128), "b": jnp.zeros(128)} for n in ("n0", "n1")}
        return training(parameters, (), loss_of)[0]

    def cart_pole():
        state = numpy.full((16, 4), 0.1, numpy.float32)
        states = numpy.full((320, 4), 0.1, numpy.float32)
        weights = numpy.full((320, 1), 0.5, numpy.float32)

        def logits_of(p, x):
            return apply(p[1], jnp.tanh(apply(p[0], x)))

        @jax.jit
        def act(p, x, key):
            key, own = jax.random.split(key)
            right = jax.random.uniform(own, (16, 1)) < jax.nn.sigmoid(logits_of(p, x))
            return right.astype(jnp.float32), key

        def loss_of(p, s):
            z, y = logits_of(p, states), weights
            return (y * (jnp.maximum(z, 0) - z * y + jnp.log1p(jnp.exp(-jnp.abs(z))))).mean(), s

        update, now = training([linear(4, 32), linear(32, 1)], (), loss_of)
        key = [jax.random.key(1)]

        def step():
            for _ in range(20):
                right, key[0] = act(now["p"], state, key[0])
                numpy.asarray(right)
            return update()

        return step

    return {f.__name__: f for f in (mlp, cnn, transformer, cart_pole)}


def timed(step, seconds):
    begin, steps = time.perf_counter(), 0
    while True:
        loss = step()
        steps += 1
        if steps % READ_EVERY == 0:
            loss.item()
            passed = time.perf_counter() - begin
            if passed >= seconds:
                return passed / steps


def peak_of_torch(program, steps):
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                profile_memory=True) as profile:
        step = torch_programs()[program]()
        for _ in range(steps):
            step().item()
    events = profile.profiler.kineto_results.events()
    live = peak = 0
    for event in sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    return peak


def main():
    if sys.argv[1] == "memory":
        print(peak_of_torch(sys.argv[2], int(sys.argv[3])))
        return
    programs = {"torch": torch_programs, "jax": jax_programs}[sys.argv[1]]()
    steps = {}
    for line in sys.stdin:
        name, seconds = line.split()
        if name not in steps:
            steps[name] = programs[name]()
            timed(steps[name], 1)
        print(timed(steps[name], float(seconds)), flush=True)


if __name__ == "__main__":
    main()
