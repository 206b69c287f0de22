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
CONVOLUTIONS = [F.conv1d, F.conv2d, F.conv3d]
TRANSPOSED = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d]
EXTENTS, WINDOW = (7, 5, 4), (3, 2, 3)
for axes in (1, 2, 3):
    for stride, padding, dilation, groups in itertools.product(
            ((1, 1, 1), (2, 1, 3)), ((0, 0, 0), (2, 0, 1)), ((1, 1, 1), (2, 3, 1)), (1, 2, 4)):
        lists = [stride[:axes], padding[:axes], dilation[:axes]]
        options = [*itertools.chain(*lists), groups]
        floats(f"conv{axes}d", lambda x, w: CONVOLUTIONS[axes - 1](x, w, None, *lists, groups),
               [(2, 4, *EXTENTS[:axes]), (4, 4 // groups, *WINDOW[:axes])], options=options)
    for stride, padding, more, dilation, groups in itertools.product(
            ((1, 1, 1), (2, 3, 1)), ((0, 0, 0), (1, 2, 0)), ((0, 0, 0), (1, 1, 0)),
            ((1, 1, 1), (2, 1, 3)), (1, 2)):
        lists = [stride[:axes], padding[:axes], more[:axes], dilation[:axes]]
        options = [*itertools.chain(*lists), groups]
        floats(f"conv_transpose{axes}d",
               lambda x, w: TRANSPOSED[axes - 1](x, w, None, *lists[:3], groups, lists[3]),
               [(2, 4, 3, 4, 2)[:2 + axes], (4, 3, *WINDOW[:axes])], options=options)
    floats(f"conv{axes}d", CONVOLUTIONS[axes - 1],
           [(1, 9, 4, 3, 3)[:2 + axes], (66, 9, *WINDOW[:axes])], ["float32"])
    floats(f"conv{axes}d", lambda x, w: CONVOLUTIONS[axes - 1](x, w, None, groups=40),
           [(1, 40, 4, 3, 3)[:2 + axes], (40, 1, *WINDOW[:axes])], ["float32"], options=[1] * axes + [0] * axes +
           [1] * axes + [40])
    floats(f"conv_transpose{axes}d", TRANSPOSED[axes - 1],
           [(2, 5, 4, 3, 2)[:2 + axes], (5, 3, *WINDOW[:axes])], DTYPES)
    floats(f"conv{axes}d", CONVOLUTIONS[axes - 1],
           [(2, 5, 4, 3, 4)[:2 + axes], (2, 5, *WINDOW[:axes])], DTYPES)
floats("conv_transpose2d", F.conv_transpose2d, [(1, 2, 1, 1), (2, 3, 1, 1)])
floats("conv2d", F.conv2d, [(1, 2, 4, 4), (3, 2, 5, 1)])

MAX_POOLS = [F.max_pool1d, F.max_pool2d, F.max_pool3d]
AVG_POOLS = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d]
for axes in (1, 2, 3):
    for window, stride, padding, ceil in itertools.product(
            ((1, 2, 1), (2, 1, 3), (3, 3, 2)), ((1, 2, 1), (2, 3, 2), (3, 1, 3)), (0, 1), (False, True)):
        kernel, step, shape = window[:axes], stride[:axes], (1, 2, 8, 7, 5)[:2 + axes]
        if 2 * padding > min(kernel):
            continue
        begin = [*step, *[padding] * axes]
        words = {"window": list(kernel) if axes > 1 else kernel[0], "options": [*begin, 1, int(ceil)]}
        floats(f"max_pool{axes}d",
               lambda x: MAX_POOLS[axes - 1](x, kernel, step, padding, ceil_mode=ceil), [shape],
               tolerance=0, **words)
        for counts in (True, False):
            words["options"] = [*begin, int(counts), int(ceil)]
            floats(f"avg_pool{axes}d",
                   lambda x: AVG_POOLS[axes - 1](x, kernel, step, padding, ceil, counts), [shape], **words)
ADAPTIVE = {"avg": [F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d],
            "max": [F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d]}
for kind, axes in itertools.product(ADAPTIVE, (1, 2, 3)):
    for size in ((1, 1, 1), (2, 3, 3), (3, 2, 4), (5, 7, 2), (6, 6, 8)):
        size = size[:axes]
        floats(f"adaptive_{kind}_pool{axes}d", lambda x: ADAPTIVE[kind][axes - 1](x, size),
               [(1, 2, 6, 7, 4)[:2 + axes]], DTYPES, 0 if kind == "max" else 16,
               size=list(size) if axes > 1 else size[0])

# Moving and resampling.
for factor in (1, 2, 3):
    floats("pixel_shuffle", lambda x: F.pixel_shuffle(x, factor), [(2, 2 * factor**2, 3, 2)], tolerance=0,
           factor=factor)
floats("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), [(2, 3, 3, 2)], factor=2)
for factor in (1, 2, 3):
    floats("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, factor), [(2, 3, 2 * factor, 3 * factor)],
           tolerance=0, factor=factor)
floats("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), [(2, 3, 3, 2)], factor=2)
for groups, shape in itertools.product((1, 2, 3, 6), ((2, 6), (1, 6, 2), (2, 6, 3, 2))):
    floats("channel_shuffle", lambda x: F.channel_shuffle(x[..., None, None], groups).reshape(x.shape)
           if x.ndim < 4 else F.channel_shuffle(x, groups), [shape], tolerance=0, groups=groups)
floats("channel_shuffle", lambda x: F.channel_shuffle(x, 4), [(1, 6, 2, 2)], groups=4)
for window, stride, padding, dilation in itertools.product(
        ((1, 1), (2, 3), (3, 2)), ((1, 1), (2, 3)), ((0, 0), (1, 2)), ((1, 1), (2, 1))):
    options = [*stride, *padding, *dilation]
    floats("unfold", lambda x: F.unfold(x, window, dilation, padding, stride), [(2, 3, 7, 6)], tolerance=0,
           window=list(window), options=options)
    places = F.unfold(torch.zeros(1, 1, 7, 6), window, dilation, padding, stride).shape[2]
    floats("fold", lambda x: F.fold(x, (7, 6), window, dilation, padding, stride),
           [(2, 2 * window[0] * window[1], places)], DTYPES[:2], size=[7, 6], window=list(window),
           options=options)
floats("fold", lambda x: F.fold(x, (7, 6), (2, 2)), [(1, 4, 29)], size=[7, 6], window=[2, 2])
floats("unfold", lambda x: F.unfold(x, (8, 2)), [(1, 2, 7, 6)], window=[8, 2])
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
for size in ((3,), (7,), (13,)):
    floats("interpolate", lambda x: F.interpolate(x, size, mode="nearest-exact"), [(2, 3, 5)], None, 0,
           size=list(size), mode="nearest-exact")
for size, dtype in itertools.product(((1, 1), (2, 3), (3, 9), (8, 12), (5, 6), (11, 2)), DTYPES):
    for corners in (False, True):
        floats("interpolate", lambda x: F.interpolate(x, size, mode="bicubic", align_corners=corners),
               [(1, 2, 5, 7)], [dtype], 64, size=list(size), mode="cubic", align_corners=corners)
for size, mode, corners in itertools.product(((1, 1), (2, 3), (3, 9), (8, 12), (5, 6), (20, 2)),
                                             ("bilinear", "bicubic"), (False, True)):
    floats("interpolate", lambda x: F.interpolate(x, size, mode=mode, align_corners=corners, antialias=True),
           [(1, 2, 9, 13)], None, 64, size=list(size), mode=mode, align_corners=corners, antialias=True)

# Places beyond the image too; no coordinate where two elements are as near.
for mode, padding, corners in itertools.product(
        ("nearest", "bilinear", "bicubic"), ("zeros", "border", "reflection"), (False, True)):
    for shape, places in (((2, 3, 5, 4), (3, 2)), ((1, 1, 1, 6), (4, 1)), ((2, 2, 4, 1), (1, 5)),
                          ((1, 2, 3, 4, 5), (2, 3, 2))):
        axes = len(places)
        if mode == "bicubic" and axes == 3:
            continue
        grid = rng.uniform(-2.6, 2.6, (shape[0], *places, axes)).astype(np.float32)
        for dtype in DTYPES[:2]:
            case("grid_sample", lambda x, g: F.grid_sample(x, g.double(), mode, padding, corners),
                 [values(shape), grid], [dtype, "float32"], dtype, 256, mode=mode, padding=padding,
                 align_corners=corners)
case("grid_sample", F.grid_sample, [values((2, 1, 3, 3)), values((1, 2, 2, 2))], ["float32"] * 2, "float32", 0)
for size, corners in itertools.product(((2, 3, 4, 5), (1, 1, 1, 3), (2, 1, 3, 2, 4)), (False, True)):
    axes = len(size) - 2
    floats("affine_grid", lambda x: F.affine_grid(x, size, corners), [(size[0], axes, axes + 1)],
           size=list(size), align_corners=corners)


def rope(x, base=10000.0, offset=0, interleaved=False):
    length, pairs = x.shape[-2], x.shape[-1] // 2
    angle = torch.outer(torch.arange(offset, offset + length, dtype=torch.float64),
                        base ** (-torch.arange(pairs, dtype=torch.float64) / pairs))
    z = torch.complex(x[..., 0::2], x[..., 1::2]) if interleaved else torch.complex(x[..., :pairs],
                                                                                    x[..., pairs:])
    z = z * torch.polar(torch.ones_like(angle), angle)
    return torch.stack([z.real, z.imag], -1).flatten(-2) if interleaved else torch.cat([z.real, z.imag], -1)


for shape, offset, interleaved, dtype in itertools.product(
        ((3, 2), (2, 5, 8), (2, 3, 7, 4)), (0, 131071), (False, True), DTYPES):
    # Angles are rounded as float64 are.
    floats("rope", lambda x: rope(x, 10000.0, offset, interleaved), [shape], [dtype],
           1 << 20 if dtype == "float64" and offset else 64, offset=offset, interleaved=interleaved)
floats("rope", lambda x: rope(x, 500.0), [(6, 4)], base=500.0)

# Attention: heads that share keys, lengths of several blocks.
for shape, shared, length, causal in itertools.product(
        ((2, 4, 5, 8), (1, 6, 3, 4)), (1, 2), (5, 7), (False, True)):
    keys = (shape[0], shape[1] // shared, length, shape[3])
    words = {"causal": True} if causal else {"scale": 0.3}
    mask = values((shape[2], length)) * (not causal)
    f = lambda q, k, v, mask: F.scaled_dot_product_attention(
        q, k, v, None if causal else mask, is_causal=causal, scale=None if causal else 0.3, enable_gqa=True)
    case("scaled_dot_product_attention", f, [values(shape), values(keys), values(keys), mask],
         ["float64"] * 4, "float64", 256, **words)
case("scaled_dot_product_attention", F.scaled_dot_product_attention,
     [values((1, 4, 2, 2)), values((1, 3, 2, 2)), values((1, 3, 2, 2)), values((2, 2))], ["float32"] * 4,
     "float32", 0)
for shape in ((), (4,), (2, 3)):
    case("embedding", F.embedding, [rng.integers(0, 5, shape), values((5, 3))], ["int64", "float32"],
         "float32", 0)

with open(os.path.join(os.path.dirname(__file__), "layers.txt"), "w") as file:
    file.write("".join(line + "\n" for line in lines))
print(len(lines), "cases of", len({line.split(" ")[0] for line in lines}), "functions,",
      sum(line.endswith("| error") for line in lines), "of them errors")
