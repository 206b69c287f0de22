#!/usr/bin/env python3
"""Writes onnx.txt: what ONNX's own tests of nodes give for ops of neural networks, as calls of ours,
in the format of arrayapi.txt (make_arrayapi.py); and onnx_left_out.txt: which of them are not there,
and why. The package onnx==1.19.1 ships the tests.

What ONNX has and a call of ours has not is part of the operands or the results here: paddings that
differ at the two ends, biases, heads side by side in one axis, the order of gates.
"""
import os

import numpy as np
import onnx
from onnx import numpy_helper

from written import attribute, tensor

NODES = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "node")
MOST_CHARACTERS = 1 << 16
TOLERANCE = {"float16": 4, "bfloat16": 4}
# Written with four digits.
ROUNDED = {"test_averagepool_2d_ceil_last_window_starts_on_pad": 1024}


class LeftOut(Exception):
    pass


def need(holds, reason):
    if not holds:
        raise LeftOut(reason)


def symmetric(pads):
    half = len(pads) // 2
    return pads[:half] if pads[:half] == pads[half:] else None


def window(a, x, size):
    """The window's strides, pads and dilations."""
    axes = len(size)
    strides, dilations = a.get("strides", [1] * axes), a.get("dilations", [1] * axes)
    pads, auto = a.get("pads", [0] * (2 * axes)), a.get("auto_pad", "NOTSET")
    if auto.startswith("SAME"):
        total = [max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
                 for n, s, k, d in zip(x.shape[2:], strides, size, dilations)]
        low, high = [t // 2 for t in total], [t - t // 2 for t in total]
        pads = low + high if auto == "SAME_UPPER" else high + low
    return strides, pads, dilations


def padded(x, pads, value):
    half = len(pads) // 2
    return np.pad(x, [(0, 0)] * (x.ndim - half) + [*zip(pads[:half], pads[half:])],
                  constant_values=value)


def by_channel(bias, y):
    return bias.reshape([1, -1] + [1] * (y.ndim - 2))


def conv(a, xs, ys):
    x, w, axes = xs[0], xs[1], xs[0].ndim - 2
    strides, pads, dilations = window(a, x, w.shape[2:])
    if symmetric(pads) is None:
        x, pads = padded(x, pads, 0), [0] * (2 * axes)
    y = ys[0] - by_channel(xs[2], ys[0]) if len(xs) > 2 else ys[0]
    return f"conv{axes}d", [x, w], [y], {"options": [*strides, *symmetric(pads), *dilations, a.get("group", 1)]}


def conv_transpose(a, xs, ys):
    axes = xs[0].ndim - 2
    need("output_shape" not in a and a.get("auto_pad", "NOTSET") == "NOTSET", "the result's shape is given")
    strides, pads, dilations = window(a, xs[0], xs[1].shape[2:])
    need(symmetric(pads) is not None, "paddings of a result that differ at its ends")
    options = [*strides, *symmetric(pads), *a.get("output_padding", [0] * axes), *dilations, a.get("group", 1)]
    return f"conv_transpose{axes}d", xs[:2], ys, {"options": options}


def pool(kind):
    def convert(a, xs, ys):
        x, size = xs[0], a["kernel_shape"]
        need(len(ys) == 1, "indices of the greatest elements")
        strides, pads, dilations = window(a, x, size)
        need(set(dilations) == {1}, "dilations")
        counts = a.get("count_include_pad", 0)
        if symmetric(pads) is None or any(2 * p > k for p, k in zip(pads, size)):
            need(kind == "max" or counts, "a mean that does not count paddings which differ at the two ends")
            low = 0 if kind == "avg" else -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
            x, pads = padded(x, pads, low), [0] * len(pads)
        options = [*strides, *symmetric(pads), counts, a.get("ceil_mode", 0)]
        words = {"window": size if len(size) > 1 else size[0], "options": options}
        return f"{kind}_pool{len(size)}d", [x], ys, words
    return convert


def global_pool(kind):
    def convert(a, xs, ys):
        axes = xs[0].ndim - 2
        return f"adaptive_{kind}_pool{axes}d", xs, ys, {"size": [1] * axes if axes > 1 else 1}
    return convert


def resize(a, xs, ys):
    x, y, mode = xs[0], ys[0], a.get("mode", "nearest")
    where = a.get("coordinate_transformation_mode", "half_pixel")
    scales = xs[2] if len(xs) > 2 and xs[2] is not None and xs[2].size else None
    axes = [i for i in range(x.ndim) if x.shape[i] != y.shape[i]] or [x.ndim - 1]
    need(where not in ("tf_crop_and_resize", "half_pixel_symmetric"), f"coordinates \"{where}\"")
    if scales is not None:
        given = dict(zip(a.get("axes", range(x.ndim)), scales))
        need(all(x.shape[i] * s == y.shape[i] for i, s in given.items()),
             "a scale that is not the quotient of the extents")
    size = list(y.shape[axes[0]:])
    words = {"size": size}
    if mode == "nearest":
        how = a.get("nearest_mode", "round_prefer_floor")
        places = [(2 * i + 1) * n / (2 * m) for n, m in zip(x.shape, y.shape) for i in range(m)]
        if where == "asymmetric" and how == "floor":
            words["mode"] = "nearest"
        else:
            need(where == "half_pixel" and how == "round_prefer_floor", f"\"{where}\" with \"{how}\"")
            need(not any(p.is_integer() for p in places), "places midway between elements, rounded down")
            words["mode"] = "nearest-exact"
        return "interpolate", [x], ys, words
    need(where != "asymmetric", f"coordinates \"{where}\"")
    need(not a.get("exclude_outside", 0), "exclude_outside")
    need(where != "pytorch_half_pixel" or min(size) > 1, "one element, which lies at the first")
    whole = all(n % m == 0 for n, m in zip(x.shape, y.shape))
    need(not a.get("antialias", 0) or whole, "antialiased at the edges, where ours is as Pillow's and PyTorch's")
    if mode == "cubic":
        wanted = -0.5 if a.get("antialias", 0) else -0.75
        need(np.isclose(a.get("cubic_coeff_a", -0.75), wanted), "another slope of the cubic filter")
    words |= {"mode": mode, "align_corners": where == "align_corners", "antialias": bool(a.get("antialias", 0))}
    return "interpolate", [x], ys, words


def grid_sample(a, xs, ys):
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(a.get("mode", "linear"), a.get("mode", "linear"))
    return "grid_sample", xs, ys, {"mode": mode, "padding": a.get("padding_mode", "zeros"),
                                   "align_corners": bool(a.get("align_corners", 0))}


def affine_grid(a, xs, ys):
    return "affine_grid", xs[:1], ys, {"size": xs[1].tolist(), "align_corners": bool(a.get("align_corners", 0))}


def last_axes_norm(name, default):
    def convert(a, xs, ys):
        x, y = xs[0], ys[0]
        axis = a.get("axis", -1) % x.ndim
        flat = [*x.shape[:axis], -1]
        return name, [x.reshape(flat), *(p.reshape(-1) for p in xs[1:])], [y.reshape(flat)], {
            "eps": float(a.get("epsilon", default))}
    return convert


def group_norm(a, xs, ys):
    return "group_norm", xs, ys, {"groups": a["num_groups"], "eps": float(a.get("epsilon", 1e-5))}


def instance_norm(a, xs, ys):
    return "instance_norm", xs, ys, {"eps": float(a.get("epsilon", 1e-5))}


def batch_norm(a, xs, ys):
    need(not a.get("training_mode", 0), "running statistics: nn::BatchNorm, tests/nn/golden_test.cpp")
    x, scale, bias, mean, var = xs
    return "batch_norm", [x, mean, var, scale, bias], ys, {"eps": float(a.get("epsilon", 1e-5))}


def along_axis(name):
    return lambda a, xs, ys: (name, xs, ys, {"axis": a.get("axis", -1)})


def plain(name, **renamed):
    return lambda a, xs, ys: (name, xs, ys, {ours: float(a[key]) for ours, key in renamed.items() if key in a})


def gelu(a, xs, ys):
    return "gelu_tanh" if a.get("approximate", "none") == "tanh" else "gelu", xs, ys, {}


def selu(a, xs, ys):
    need(not a, "other constants")
    return "selu", xs, ys, {}


def prelu(a, xs, ys):
    x, slope = xs
    need(slope.size == 1 or (slope.ndim == x.ndim - 1 and slope.size == slope.shape[0]),
         "a slope that is neither one nor one for each channel")
    return "prelu", [x, slope.reshape(-1)], ys, {}


def swish(a, xs, ys):
    need(a.get("alpha", 1.0) == 1, "alpha")
    return "silu", xs, ys, {}


def attention(a, xs, ys):
    need(len(xs) < 5 and len(ys) == 1, "keys and values of earlier calls, or the scores")
    need(not a.get("softcap", 0), "softcap")
    heads = [a.get("q_num_heads"), a.get("kv_num_heads"), a.get("kv_num_heads")]
    q, k, v = (x if x.ndim == 4 else x.reshape(*x.shape[:2], n, -1).swapaxes(1, 2)
               for x, n in zip(xs, heads))
    y = ys[0] if ys[0].ndim == 4 else ys[0].reshape(*ys[0].shape[:2], heads[0], -1).swapaxes(1, 2)
    mask = xs[3] if len(xs) > 3 else np.zeros((1, 1), q.dtype)
    need(mask.shape[-1] in (1, k.shape[2]), "a mask of fewer keys")
    words = {"causal": bool(a.get("is_causal", 0))}
    if "scale" in a:
        words["scale"] = float(a["scale"])
    return "scaled_dot_product_attention", [q, k, v, mask], [y], words


def col2im(a, xs, ys):
    x, size, block = xs[0], xs[1].tolist(), xs[2].tolist()
    need(len(size) == 2, "other than images")
    strides, pads, dilations = a.get("strides", [1, 1]), a.get("pads", [0] * 4), a.get("dilations", [1, 1])
    y = ys[0]
    if symmetric(pads) is None:  # of a larger image, of which these are a part
        raise LeftOut("paddings of a result that differ at its ends")
    return "fold", [x], [y], {"size": size, "window": block, "options": [*strides, *symmetric(pads), *dilations]}


def reordered(x, block):
    """Channels (block, block, c), as (c, block, block)."""
    n, c, h, w = x.shape
    return x.reshape(n, block * block, c // block**2, h, w).swapaxes(1, 2).reshape(x.shape)


def depth_to_space(a, xs, ys):
    x, block = xs[0], a["blocksize"]
    return "pixel_shuffle", [x if a.get("mode", "DCR") == "CRD" else reordered(x, block)], ys, {"factor": block}


def space_to_depth(a, xs, ys):
    block = a["blocksize"]
    return "pixel_unshuffle", xs, [reordered(ys[0], block)], {"factor": block}


def loss(name):
    def convert(a, xs, ys):
        words = {"reduction": {"mean": 0, "sum": 1, "none": 2}[a.get("reduction", "mean")]}
        if "ignore_index" in a:
            words["ignore_index"] = a["ignore_index"]
        return name, xs, ys[:1], words
    return convert


# The gates of ours, among ONNX's.
GATES = {"LSTM": [0, 2, 3, 1], "GRU": [1, 0, 2], "RNN": [0]}


def recurrence(op):
    def convert(a, xs, ys):
        need(a.get("direction", "forward") == "forward" and "activations" not in a and "clip" not in a,
             "directions, other activations or clipping")
        need(op != "GRU" or a.get("linear_before_reset", 0), "the state is reset before its product")
        xs = [*xs, *[None] * (8 - len(xs))]
        need(xs[4] is None and xs[7] is None, "lengths of sequences, or peepholes")
        hidden, gates = a["hidden_size"], GATES[op]
        ordered = lambda w: np.concatenate([w[g * hidden:(g + 1) * hidden] for g in gates])
        x = xs[0] if a.get("layout", 0) else xs[0].swapaxes(0, 1)
        bias = xs[3][0] if xs[3] is not None else np.zeros(2 * len(gates) * hidden, x.dtype)
        half = len(gates) * hidden
        # Outputs that are not asked for are there as None.
        every, last = (list(ys) + [None])[:2]
        need(len(ys) >= 2 and last is not None, "no state is asked for")
        last = last if not a.get("layout", 0) else last.swapaxes(0, 1)
        return op.lower(), [x, ordered(xs[1][0]), ordered(xs[2][0]), ordered(bias[:half]), ordered(bias[half:])], [
            last], {"hidden": hidden}
    return convert


CONVERT = {
    "Conv": conv, "ConvTranspose": conv_transpose, "MaxPool": pool("max"), "AveragePool": pool("avg"),
    "GlobalAveragePool": global_pool("avg"), "GlobalMaxPool": global_pool("max"), "Resize": resize,
    "GridSample": grid_sample, "AffineGrid": affine_grid,
    "LayerNormalization": last_axes_norm("layer_norm", 1e-5),
    "RMSNormalization": last_axes_norm("rms_norm", 1e-5), "GroupNormalization": group_norm,
    "InstanceNormalization": instance_norm, "BatchNormalization": batch_norm,
    "Softmax": along_axis("softmax"), "LogSoftmax": along_axis("log_softmax"), "Gelu": gelu,
    "Elu": plain("elu", alpha="alpha"), "Selu": selu, "Celu": plain("celu", alpha="alpha"),
    "LeakyRelu": plain("leaky_relu", slope="alpha"), "PRelu": prelu, "HardSwish": plain("hardswish"),
    "Mish": plain("mish"), "Softplus": plain("softplus"), "Softsign": plain("softsign"), "Relu": plain("relu"),
    "Sigmoid": plain("sigmoid"), "Tanh": plain("tanh"), "Swish": swish, "Attention": attention, "Col2Im": col2im,
    "DepthToSpace": depth_to_space, "SpaceToDepth": space_to_depth,
    "NegativeLogLikelihoodLoss": loss("nll_loss"), "SoftmaxCrossEntropyLoss": loss("cross_entropy"),
    "LSTM": recurrence("LSTM"), "GRU": recurrence("GRU"), "RNN": recurrence("RNN"),
}
NOT_OURS = {
    "LpPool": "no such op", "MaxUnpool": "no such op", "MaxRoiPool": "no such op", "RoiAlign": "no such op",
    "DeformConv": "no such op", "ConvInteger": "no such op", "QLinearConv": "no such op", "LRN": "no such op",
    "MeanVarianceNormalization": "no such op", "ThresholdedRelu": "no such op",
    "HardSigmoid": "other constants: ours is PyTorch's", "RotaryEmbedding": "takes tables, which rope() makes",
    "Dropout": "draws", "Upsample": "Resize has replaced it",
}


def read(path):
    proto = onnx.TensorProto()
    with open(path, "rb") as file:
        proto.ParseFromString(file.read())
    return numpy_helper.to_array(proto)


def operands(names, folder, kind):
    """Those that the node is given, None where it leaves one out."""
    found, k = [], 0
    for name in names:
        if not name:
            found.append(None)
            continue
        found.append(read(os.path.join(folder, f"{kind}_{k}.pb")))
        k += 1
    return found


lines, left_out = [], []
for test in sorted(os.listdir(NODES)):
    model = onnx.load(os.path.join(NODES, test, "model.onnx"))
    if len(model.graph.node) != 1:
        continue
    node = model.graph.node[0]
    try:
        need(node.op_type not in NOT_OURS, NOT_OURS.get(node.op_type))
        if node.op_type not in CONVERT:
            continue
        folder = os.path.join(NODES, test, "test_data_set_0")
        inputs = operands(node.input, folder, "input")
        outputs = [y for y in operands(node.output, folder, "output")]
        attributes = {x.name: onnx.helper.get_attribute_value(x) for x in node.attribute}
        attributes = {k: v.decode() if isinstance(v, bytes) else v for k, v in attributes.items()}
        name, xs, ys, words = CONVERT[node.op_type](attributes, inputs, outputs)
        while xs and xs[-1] is None:
            xs.pop()
        need(all(x is not None for x in xs), "an operand that is left out")
    except LeftOut as reason:
        left_out.append(f"{node.op_type} {test}: {reason}")
        continue
    given = " ".join(tensor(x, str(x.dtype), "c") for x in xs)
    made = " ".join(tensor(y, str(y.dtype)) for y in ys)
    tolerance = ROUNDED.get(test, TOLERANCE.get(str(ys[0].dtype), 256))
    written = " ".join(f"{k}={attribute(v)}" for k, v in words.items())
    line = f"{name} | {tolerance} | {written} | {given} | {made}"
    if len(line) > MOST_CHARACTERS:
        left_out.append(f"{node.op_type} {test}: large; smaller ones of its kind are there")
    else:
        lines.append(line)

folder = os.path.dirname(__file__)
for file_name, text in (("onnx.txt", lines), ("onnx_left_out.txt", sorted(left_out))):
    with open(os.path.join(folder, file_name), "w") as file:
        file.write("".join(line + "\n" for line in text))
print(len(lines), "cases of", len({line.split(" ")[0] for line in lines}), "functions;", len(left_out), "left out")
