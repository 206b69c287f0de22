#!/usr/bin/env python3
"""Writes nn.txt: losses, layers with weights and steps of optimisers, as PyTorch has them.

In the format of arrayapi.txt (make_arrayapi.py). PyTorch computes in float64. Inputs of a layer are what
it is called with, then its parameters in their order; those of an optimiser a parameter and the
gradients of a few steps, and its result is the parameter after them. tests/nn/nn_golden_test.cpp has the
calls.
"""
import itertools
import os

import numpy as np
import torch
import torch.nn.functional as F

from written import attribute, tensor, rounded

rng = np.random.default_rng(22)
torch.manual_seed(22)
torch.set_default_dtype(torch.float64)
REDUCTIONS = ["mean", "sum", "none"]
lines = []


def values(shape, low=-3, high=3):
    return rng.integers(low * 8, high * 8 + 1, shape) / 8


def case(name, results, inputs, dtypes, out="float32", tolerance=16, **attributes):
    words = " ".join(f"{k}={attribute(v)}" for k, v in attributes.items())
    given = " ".join(tensor(np.asarray(x), dtype, "c") for x, dtype in zip(inputs, dtypes))
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    made = " ".join(tensor(rounded(r.detach().numpy(), out), out) for r in results)
    lines.append(f"{name} | {tolerance} | {words} | {given} | {made}")


t = torch.from_numpy
FLOATS = ["float32", "float64"]


def float_dtype():
    return FLOATS[len(lines) % 2]


# Losses.
for shape, smoothing, ignored, weighted, reduction in itertools.product(
        ((4, 3), (2, 3, 4)), (0.0, 0.25), (None, 1), (False, True), range(3)):
    x, y = values(shape), rng.integers(0, 3, shape[:1] + shape[2:])
    weight = np.abs(values(3)) + 0.5
    dtype = float_dtype()
    options = {"reduction": reduction, "label_smoothing": smoothing}
    if ignored is not None:
        options["ignore_index"] = ignored
    result = F.cross_entropy(t(x), t(y), t(weight) if weighted else None, reduction=REDUCTIONS[reduction],
                             label_smoothing=smoothing, ignore_index=-100 if ignored is None else ignored)
    inputs = [x, y, weight] if weighted else [x, y]
    case("cross_entropy", result, inputs, [dtype, "int64", dtype], dtype, **options)
    if smoothing == 0:
        logp = np.asarray(F.log_softmax(t(x), 1))
        logp = np.round(logp * 64) / 64
        result = F.nll_loss(t(logp), t(y), t(weight) if weighted else None,
                            reduction=REDUCTIONS[reduction],
                            ignore_index=-100 if ignored is None else ignored)
        inputs[0] = logp
        options.pop("label_smoothing")
        case("nll_loss", result, inputs, [dtype, "int64", dtype], dtype, **options)
    shares = np.round(np.asarray(F.softmax(t(values(shape)), 1)) * 64) / 64
    if ignored is None:
        result = F.cross_entropy(t(x), t(shares), t(weight) if weighted else None,
                                 reduction=REDUCTIONS[reduction], label_smoothing=smoothing)
        inputs = [x, shares, weight] if weighted else [x, shares]
        case("cross_entropy", result, inputs, [dtype] * 3, dtype, reduction=reduction,
             label_smoothing=smoothing)
PAIRED = [
    ("mse_loss", F.mse_loss, {}), ("l1_loss", F.l1_loss, {}),
    ("huber_loss", F.huber_loss, {}), ("huber_loss", F.huber_loss, {"delta": 0.5}),
    ("smooth_l1_loss", F.smooth_l1_loss, {}), ("smooth_l1_loss", F.smooth_l1_loss, {"beta": 2.0}),
    ("smooth_l1_loss", F.smooth_l1_loss, {"beta": 0.0}),
]
for (name, f, options), shape, reduction in itertools.product(PAIRED, ((5,), (2, 3)), range(3)):
    x, y, dtype = values(shape), values(shape), float_dtype()
    case(name, f(t(x), t(y), reduction=REDUCTIONS[reduction], **options), [x, y], [dtype] * 2, dtype,
         reduction=reduction, **options)
for reduction, weighted in itertools.product(range(3), (False, True)):
    dtype = float_dtype()
    p, y = rng.integers(0, 9, (3, 4)) / 8, rng.integers(0, 5, (3, 4)) / 4
    x, weight, pos = values((3, 4), -9, 9), np.abs(values(4)) + 0.5, np.abs(values(4)) + 0.5
    mode = {"reduction": REDUCTIONS[reduction]}
    w = {"weight": t(weight)} if weighted else {}
    case("bce_loss", F.binary_cross_entropy(t(p), t(y), **w, **mode),
         [p, y, weight] if weighted else [p, y], [dtype] * 3, dtype, reduction=reduction)
    w = {"weight": t(weight), "pos_weight": t(pos)} if weighted else {}
    case("bce_with_logits_loss", F.binary_cross_entropy_with_logits(t(x), t(y), **w, **mode),
         [x, y, weight, pos] if weighted else [x, y], [dtype] * 4, dtype, reduction=reduction)
    case("kl_div_loss", F.kl_div(t(x), t(y), **mode), [x, y], [dtype] * 2, dtype, reduction=reduction)
    case("kl_div_loss", F.kl_div(t(x), t(values((3, 4)) * 0 - 0.5), log_target=True, **mode),
         [x, values((3, 4)) * 0 - 0.5], [dtype] * 2, dtype, reduction=reduction, log_target=True)
    a, b, sign = values((4, 3)) + 0.0625, values((4, 3)) + 0.0625, np.array([1, -1, 1, -1])
    case("cosine_embedding_loss", F.cosine_embedding_loss(t(a), t(b), t(sign), 0.25, **mode),
         [a, b, sign], [dtype, dtype, "int64"], dtype, reduction=reduction, margin=0.25)
    small, count = values((3, 4), -2, 2), rng.integers(0, 5, (3, 4)).astype(np.float64)
    for log_input in (False, True):
        z = small if log_input else np.abs(small)
        case("poisson_nll_loss", F.poisson_nll_loss(t(z), t(count), log_input, **mode), [z, count],
             [dtype] * 2, dtype, 64, reduction=reduction, log_input=log_input)
    h = values((3, 4))
    s = rng.choice([-1.0, 1.0], (3, 4))
    losses = torch.clamp(1 - t(h) * t(s), min=0)
    case("hinge_loss", [losses.mean(), losses.sum(), losses][reduction], [h, s], [dtype] * 2, dtype,
         reduction=reduction)

for reduction, longest, classes in itertools.product(range(3), (1, 3), (3, 5)):
    dtype = float_dtype()
    logp = np.round(np.asarray(F.log_softmax(t(values((7, 4, classes))), 2)) * 64) / 64
    y = rng.integers(0, classes - 1, (4, longest))
    steps, lengths = np.array([7, 6, 7, 7]), rng.integers(0, longest + 1, 4)
    result = F.ctc_loss(t(logp), t(y), t(steps), t(lengths), blank=classes - 1,
                        reduction=REDUCTIONS[reduction])
    case("ctc_loss", result, [logp, y, steps, lengths], [dtype] + ["int64"] * 3, dtype, 64,
         reduction=reduction, blank=classes - 1)


# Layers.
def drawn(module):
    """Gives the parameters values that are short in the file."""
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(t(values(p.shape, -1, 1)))
    return module


def weights(module):
    return [p.detach().numpy() for p in module.parameters()]


RECURRENT = [("RNN", torch.nn.RNN), ("GRU", torch.nn.GRU), ("LSTM", torch.nn.LSTM)]
for (name, kind), layers, both, bias in itertools.product(RECURRENT, (1, 2), (False, True), (False, True)):
    module = drawn(kind(3, 2, layers, bias=bias, batch_first=True, bidirectional=both))
    x = values((2, 4, 3))
    dtype = float_dtype()
    output, state = module(t(x))
    given = [x] + weights(module)
    case(name, [output, *(state if name == "LSTM" else [state])], given, [dtype] * len(given), dtype, 64,
         hidden=2, layers=layers, bidirectional=both, bias=bias)


def attention_weights(module):
    """query, key, value, output: weight and bias of each."""
    parts = []
    for w, b in zip(module.in_proj_weight.chunk(3), module.in_proj_bias.chunk(3)):
        parts += [w, b]
    return [p.detach().numpy() for p in [*parts, module.out_proj.weight, module.out_proj.bias]]


def never(length):
    return torch.triu(torch.full((length, length), -torch.inf), 1)


for heads, causal in itertools.product((1, 2), (False, True)):
    module = drawn(torch.nn.MultiheadAttention(4, heads, batch_first=True))
    x = values((2, 3, 4))
    result = module(t(x), t(x), t(x), attn_mask=never(3) if causal else None)[0]
    given = [x] + attention_weights(module)
    case("MultiHeadAttention", result, given, ["float64"] * len(given), "float64", 1 << 10, heads=heads,
         causal=causal)
for first, gelu in itertools.product((False, True), (False, True)):
    options = dict(dim_feedforward=6, dropout=0.0, activation="gelu" if gelu else "relu",
                   batch_first=True, norm_first=first)
    module = drawn(torch.nn.TransformerEncoderLayer(4, 2, **options))
    x = values((2, 3, 4))
    norms = [module.norm1.weight, module.norm1.bias, module.norm2.weight, module.norm2.bias]
    rest = [module.linear1.weight, module.linear1.bias, module.linear2.weight, module.linear2.bias, *norms]
    given = [x] + attention_weights(module.self_attn) + [p.detach().numpy() for p in rest]
    case("TransformerEncoderLayer", module(t(x)), given, ["float64"] * len(given), "float64", 1 << 12,
         norm_first=first, gelu=gelu)
    module = drawn(torch.nn.TransformerDecoderLayer(4, 2, **options))
    memory = values((2, 5, 4))
    rest = [module.linear1.weight, module.linear1.bias, module.linear2.weight, module.linear2.bias]
    for norm in (module.norm1, module.norm2, module.norm3):
        rest += [norm.weight, norm.bias]
    given = ([x, memory] + attention_weights(module.self_attn) + attention_weights(module.multihead_attn) +
             [p.detach().numpy() for p in rest])
    case("TransformerDecoderLayer", module(t(x), t(memory), tgt_mask=never(3)), given,
         ["float64"] * len(given), "float64", 1 << 12, norm_first=first, gelu=gelu)

# Optimisers, three steps.
OPTIMISERS = [
    ("SGD", torch.optim.SGD, {}), ("SGD", torch.optim.SGD, {"momentum": 0.75}),
    ("SGD", torch.optim.SGD, {"momentum": 0.75, "nesterov": True, "weight_decay": 0.125}),
    ("Adam", torch.optim.Adam, {}), ("Adam", torch.optim.Adam, {"weight_decay": 0.125}),
    ("AdamW", torch.optim.AdamW, {}), ("RMSProp", torch.optim.RMSprop, {}),
    ("RMSProp", torch.optim.RMSprop, {"centered": True, "momentum": 0.5, "weight_decay": 0.125}),
    ("Adagrad", torch.optim.Adagrad, {}),
    ("Adagrad", torch.optim.Adagrad, {"lr_decay": 0.25, "initial_sum": 0.5, "weight_decay": 0.125}),
    ("Adafactor", torch.optim.Adafactor, {}),
]
for (name, kind, options), shape in itertools.product(OPTIMISERS, ((4,), (3, 4))):
    p = torch.nn.Parameter(t(values(shape)))
    given = [p.detach().numpy().copy()] + [values(shape) + 0.0625 for _ in range(3)]
    renamed = {{"initial_sum": "initial_accumulator_value"}.get(k, k): v for k, v in options.items()}
    if name == "Adafactor":
        renamed = {"weight_decay": 0.0, "eps": (1.1920928955078125e-07, 1e-3)}
    optimiser = kind([p], lr=0.125, **renamed)
    for gradient in given[1:]:
        p.grad = t(gradient)
        optimiser.step()
    case(name, p, given, ["float64"] * 4, "float64", 1 << 10, lr=0.125, **options)

with open(os.path.join(os.path.dirname(__file__), "nn.txt"), "w") as file:
    file.write("".join(line + "\n" for line in lines))
print(len(lines), "cases of", len({line.split(" ")[0] for line in lines}))
