#!/usr/bin/env python3
"""Writes print.txt: arrays, options, and how NumPy prints them. Needs NumPy >= 2.3.

A case is a line "dtype dims threshold edge_items width precision lines", a line of the elements'
bytes in hex, and the text in so many lines.
"""
import os

import numpy as np

rng = np.random.default_rng(1)


def name(array):
    return array.dtype.name


cases = []


def add(array, threshold=1000, edge_items=3, width=75, precision=8):
    array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
    with np.printoptions(threshold=threshold, edgeitems=edge_items, linewidth=width,
                         precision=precision):
        text = str(array) if array.ndim else str(array[()])
    lines = text.split("\n")
    dims = ",".join(map(str, array.shape)) or "-"
    cases.append(f"{name(array)} {dims} {threshold} {edge_items} {width} {precision} {len(lines)}\n"
                 f"{array.tobytes().hex() or '-'}\n{text}\n")


floats = [np.float16, np.float32, np.float64]
integers = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
for dtype in floats:
    for values in ([1.5], [0.1, 0.2, 0.3], [1, 2, 3], [-1, 2.25, 1000], [1e-3, 1], [1e-5, 1],
                   [0, 0, 0], [-0.0, 0.5], [1, np.inf], [-np.inf, np.nan, 1], [np.nan], [np.inf],
                   [-np.inf], [1 / 3, 2 / 3], [1e-3, 1000], [1e-3, 1001], [999.5, 0.25],
                   [np.pi, -np.e], [0.99999999, 1], [6.1e-5, 3e-8], [1000.0], [999.0], [65504.0]):
        add(np.array(values, dtype))
    for shape in ((3, 4), (2, 3, 4), (1, 1), (17,), (2, 1, 2, 2)):
        add(rng.standard_normal(shape).astype(dtype))
    for scalar in (0.0, 1.0, -2.5, 0.1, 1 / 3, 1e-5, 1e-4, 12345.678, np.nan, np.inf, -np.inf):
        add(np.array(scalar, dtype))
    add(rng.random((32, 32)).astype(dtype))
    add(rng.random(30).astype(dtype), precision=3)
    add(rng.random(30).astype(dtype) * 1000, precision=0)
    add(rng.standard_normal(1010).astype(dtype))
for dtype in floats[1:]:
    for values in ([1e6, 1], [1e7, 1e5], [123456789.0, 1], [1e8], [99999999.0], [1e30, 1e-30],
                   [1e16, 1e15], [1e-40, 1e-38], [1e10, np.nan], [1e10, -np.inf, np.nan]):
        add(np.array(values, dtype))
    for scalar in (1e15, 1e16, 1e17, 123456789.0, 1e30, 1e-30):
        add(np.array(scalar, dtype))
    add((rng.standard_normal(9) * 10.0 ** rng.integers(-20, 20, 9)).astype(dtype))
add(np.array([1e300, 1e-300, 1e5]))
add(np.array([1e100, 1.0]))
for dtype in integers:
    info = np.iinfo(dtype)
    add(np.array([info.min, info.max, 0], dtype))
    add(rng.integers(0, 100, (3, 5)).astype(dtype))
    add(np.array(info.max, dtype))
add(np.array([True, False, True]))
add(np.array([[True, True], [True, True]]))
add(np.array(True))
add(np.array(False))
for shape in ((0,), (0, 3), (3, 0), (2, 0, 4)):
    add(np.zeros(shape, np.float32))
add(np.arange(100))
add(np.arange(1001, dtype=np.int16))
add(np.arange(10000, dtype=np.int16).reshape(100, 100))
add(np.arange(4000, dtype=np.int16).reshape(10, 20, 20))
add(np.arange(1200, dtype=np.int16).reshape(2, 600))
add(np.arange(1200, dtype=np.int16).reshape(600, 2))
add(np.arange(24).reshape(2, 3, 4), width=20)
add(np.arange(30), width=12)
add(np.arange(30), width=1)
add(np.arange(60).reshape(3, 20), threshold=10)
add(np.arange(60).reshape(3, 20), threshold=10, edge_items=1)
add(np.arange(60).reshape(3, 20), threshold=10, edge_items=2)
add(np.arange(8).reshape((1,) * 7 + (8,)))

with open(os.path.join(os.path.dirname(__file__), "print.txt"), "w") as file:
    file.write("".join(cases))
print(len(cases), "cases")
