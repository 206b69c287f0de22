#!/usr/bin/env python3
"""Writes layers.txt: calls of what neural networks are made of, and what PyTorch makes of them.

In the format of arrayapi.txt (make_arrayapi.py). PyTorch computes in float64.
"""
import itertools
import os

import numpy as np
import torch
import torch.nn.functional as F

from written import attribute, tensor, rounded

rng = np.random.default_rng(21)
DTYPES = ["float32", "float64", "float16", "bfloat16"]
lines = []


def values(shape, low=-3, high=3):
    """Numbers that every float has."""
    return rng.integers(low * 8, high * 8 + 1, shape) / 8


def case(name, f, inputs, dtypes, out, tolerance, **attributes):
    words = " ".join(f"{k}={attribute(v)}" for k, v in attributes.items())
    layouts = [str(rng.choice(list("ccts"))) if np.ndim(x) else "c" for x in inputs]
    given = " ".join(tensor(*each) for each in zip(inputs, dtypes, layouts))
    try:
        results = f(*[torch.from_numpy(np.array(x)) for x in inputs])
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        made = " ".join(tensor(rounded(r.detach().numpy(), out), out) for r in results)
    except (RuntimeError, ValueError, IndexError):
        made = "error"
    lines.append(f"{name} | {tolerance} | {words} | {given} | {made}")


def floats(name, f, shapes, dtypes=None, tolerance=16, **attributes):
    """Of these dtypes; float32 or float64 if there are none."""
    for dtype in dtypes or [DTYPES[len(lines) % 2]]:
        case(name, f, [values(shape) for shape in shapes], [dtype] * len(shapes), dtype,
             2 if dtype in DTYPES[2:] else tolerance, **attributes)


# Activations.
SHAPES = [(0,), (5,), (2, 4, 3)]
ACTIVATIONS = [
    ("leaky_relu", F.leaky_relu, {}), ("leaky_relu", lambda x: F.leaky_relu(x, 0.25), {"slope": 0.25}),
    ("elu", F.elu, {}), ("elu", lambda x: F.elu(x, 2.0), {"alpha": 2.0}),
    ("selu", F.selu, {}), ("celu", F.celu, {}), ("celu", lambda x: F.celu(x, 0.5), {"alpha": 0.5}),
    ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), {}), ("relu6", F.relu6, {}),
    ("hardtanh", F.hardtanh, {}),
    ("hardtanh", lambda x: F.hardtanh(x, -0.5, 2.0), {"low": -0.5, "high": 2.0}),
    ("hardsigmoid", F.hardsigmoid, {}), ("hardswish", F.hardswish, {}), ("softsign", F.softsign, {}),
    ("log_sigmoid", F.logsigmoid, {}),
]
for (name, f, attributes), shape in itertools.product(ACTIVATIONS, SHAPES):
    for dtype in DTYPES:
        case(name, f, [values(shape, -8, 8)], [dtype], dtype, 4, **attributes)
for axis in (0, 1, -1):
    for shape in ((2, 6), (4, 2, 3), (3, 3)):
        floats("glu", lambda x: F.glu(x, axis), [shape], DTYPES, axis=axis)
for shape, count in [((5,), 1), ((2, 3), 3), ((2, 3), 1), ((2, 3, 4), 3), ((2, 3, 4), 2)]:
    floats("prelu", F.prelu, [shape, (count,)], DTYPES)

# Normalisation.
for shape, groups in [((2, 4), 2), ((2, 6, 5), 3), ((2, 6, 3, 4), 1), ((2, 6, 3, 4), 6), ((0, 4, 3), 2),
                      ((2, 4, 3), 3)]:
    floats("group_norm", lambda x, w, b: F.group_norm(x, groups, w, b), [shape, shape[1:2], shape[1:2]],
           DTYPES, 64, groups=groups)
for shape in [(2, 3, 5), (2, 3, 4, 3)]:
    floats("instance_norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
           [shape, shape[1:2], shape[1:2]], DTYPES, 64)

# Windows.
for stride, padding, dilation, groups in itertools.product((1, 2), (0, 2), (1, 2), (1, 2, 4)):
    options = [stride, padding, dilation, groups]
    floats("conv1d", lambda x, w: F.conv1d(x, w, None, *options), [(2, 4, 9), (4, 4 // groups, 3)],
           options=options)
for stride, padding, more, dilation, groups in itertools.product(
        ((1, 1), (2, 3)), ((0, 0), (1, 2)), ((0, 0), (1, 1)), ((1, 1), (2, 1)), (1, 2)):
    options = [*stride, *padding, *more, *dilation, groups]
    floats("conv_transpose2d",
           lambda x, w: F.conv_transpose2d(x, w, None, stride, padding, more, groups, dilation),
           [(2, 4, 3, 4), (4, 3, 3, 2)], options=options)
floats("conv_transpose2d", F.conv_transpose2d, [(1, 2, 1, 1), (2, 3, 1, 1)])
for window, stride, padding in itertools.product((1, 2, 3), (1, 2, 3), (0, 1)):
    if 2 * padding > window:
        continue
    options = [stride, padding, 1]
    floats("max_pool1d", lambda x: F.max_pool1d(x, window, stride, padding), [(2, 3, 8)], tolerance=0,
           window=window, options=options)
    floats("avg_pool1d", lambda x: F.avg_pool1d(x, window, stride, padding), [(2, 3, 8)],
           window=window, options=options)
    floats("avg_pool1d", lambda x: F.avg_pool1d(x, window, stride, padding, False, False), [(2, 3, 8)],
           window=window, options=[stride, padding, 0])
for size in ((1, 1), (2, 3), (3, 2), (5, 7), (6, 6)):
    floats("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, size), [(1, 2, 6, 7)], DTYPES,
           size=list(size))

# Moving and resampling.
for factor in (1, 2, 3):
    floats("pixel_shuffle", lambda x: F.pixel_shuffle(x, factor), [(2, 2 * factor**2, 3, 2)], tolerance=0,
           factor=factor)
floats("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), [(2, 3, 3, 2)], factor=2)
for size in ((1,), (3,), (5,), (10,), (12,)):
    floats("interpolate", lambda x: F.interpolate(x, size), [(2, 3, 5)], None, 0, size=list(size))
    for corners in (False, True):
        floats("interpolate", lambda x: F.interpolate(x, size, mode="linear", align_corners=corners),
               [(2, 3, 5)], size=list(size), mode="linear", align_corners=corners)
for size in ((1, 1), (3, 9), (8, 12), (4, 6)):
    floats("interpolate", lambda x: F.interpolate(x, size), [(1, 2, 4, 6)], tolerance=0, size=list(size))
    for corners in (False, True):
        floats("interpolate", lambda x: F.interpolate(x, size, mode="bilinear", align_corners=corners),
               [(1, 2, 4, 6)], size=list(size), mode="linear", align_corners=corners)
for shape in ((), (4,), (2, 3)):
    case("embedding", F.embedding, [rng.integers(0, 5, shape), values((5, 3))], ["int64", "float32"],
         "float32", 0)

with open(os.path.join(os.path.dirname(__file__), "layers.txt"), "w") as file:
    file.write("".join(line + "\n" for line in lines))
print(len(lines), "cases of", len({line.split(" ")[0] for line in lines}), "functions,",
      sum(line.endswith("| error") for line in lines), "of them errors")
