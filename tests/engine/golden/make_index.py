#!/usr/bin/env python3
"""Writes index.txt: random index expressions, and what NumPy makes of them. Needs NumPy.

A line is "dims | indices | shape values | value's dims | values after set | values after add", of
x = 0, 1, 2, ... and of a value 1000, 1001, ... An expression that is an error has "error" for the
third field and no more. Indices: i3 (an integer), s1:_:2 (a slice), n (newaxis), e (ellipsis),
t2,3:0,1,.. (integers of that shape), m2,3:0110.. (a mask).
"""
import os
import warnings

import numpy as np

rng = np.random.default_rng(7)
warnings.simplefilter("ignore")


def text(values):
    return ",".join(str(int(v)) for v in np.ravel(values)) or "-"


def some_slice(extent):
    def position():
        return None if rng.random() < 0.4 else int(rng.integers(-extent - 2, extent + 3))

    step = int(rng.choice([1, 1, 1, 2, 3, -1, -2]))
    return slice(position(), position(), None if step == 1 and rng.random() < 0.5 else step)


def case():
    rank = int(rng.integers(1, 5))
    dims = [int(rng.integers(1, 6)) for _ in range(rank)]
    if rng.random() < 0.03:
        dims[int(rng.integers(0, rank))] = 0
    indices, words, axis, ellipses = [], [], 0, 0
    shapes = [(), (2,), (3,), (2, 3), (1, 3), (2, 1)]
    family = rng.choice([0, 1, 2, 3])  # which kinds of index are likely
    base = int(rng.choice([2, 3]))
    while axis < rank and len(indices) < 7:
        extent = dims[axis]
        kind = rng.random()
        if kind < 0.12:
            indices.append(None)
            words.append("n")
        elif kind < 0.2 and not ellipses:
            ellipses = 1
            indices.append(Ellipsis)
            words.append("e")
            if rng.random() < 0.5:
                axis += int(rng.integers(0, rank - axis + 1))
        elif kind < 0.4:
            i = int(rng.integers(-extent, extent)) if extent else 0
            if rng.random() < 0.02:
                i = extent
            indices.append(i)
            words.append(f"i{i}")
            axis += 1
        elif kind < 0.65 or family == 0:
            s = some_slice(extent)
            indices.append(s)
            names = ["_" if v is None else str(v) for v in (s.start, s.stop, s.step)]
            words.append("s" + ":".join(names))
            axis += 1
        elif kind < 0.9 or family == 1:
            shape = [(base,), (), (1,), (2, base), (2, 1)][int(rng.choice([0, 0, 0, 1, 2, 3, 4]))]
            if rng.random() < 0.03:
                shape = (5,)
            values = rng.integers(-extent, extent, shape) if extent else np.zeros(shape, int)
            indices.append(values)
            words.append(f"t{text(values.shape)}:{text(values)}")
            axis += 1
        else:
            width = int(rng.integers(1, min(2, rank - axis) + 1))
            shape = dims[axis:axis + width]
            mask = rng.random(shape) < 0.5
            if family == 2 and mask.size:
                mask[:] = False
                mask.flat[:base] = True
            indices.append(mask)
            words.append(f"m{text(mask.shape)}:{''.join(str(int(v)) for v in mask.flat) or '-'}")
            axis += width
        if rng.random() < 0.12:
            break
    x = np.arange(int(np.prod(dims)), dtype=np.int64).reshape(dims)
    head = f"{text(dims)} | {' '.join(words)}"
    try:
        y = x[tuple(indices)]
    except (IndexError, ValueError):
        return f"{head} | error"
    if np.ndim(y) > 8 or not indices:
        return None
    shape = list(np.shape(y))
    value_dims = [d if rng.random() < 0.8 else 1 for d in shape]
    if rng.random() < 0.3:
        value_dims = value_dims[int(rng.integers(0, len(value_dims) + 1)):]
    value = 1000 + np.arange(int(np.prod(value_dims)), dtype=np.int64).reshape(value_dims)
    changed, added = x.copy(), x.copy()
    changed[tuple(indices)] = value
    np.add.at(added, tuple(indices), value)
    return (f"{head} | {text(shape)} {text(y)} | {text(value_dims)} | {text(changed)} | "
            f"{text(added)}")


lines = []
while len(lines) < 2000:
    line = case()
    if line is not None:
        lines.append(line + "\n")
with open(os.path.join(os.path.dirname(__file__), "index.txt"), "w") as file:
    file.write("".join(lines))
print(len(lines), "cases,", sum("error" in line for line in lines), "of them errors")
