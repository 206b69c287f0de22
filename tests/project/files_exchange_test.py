"""Exchanges files with NumPy and the safetensors package, both ways.

    files_exchange_test.py <files_exchange program>

Exits with 77 where Python has neither.
"""

import subprocess
import sys
import tempfile
import zipfile

try:
    import numpy as np
    import safetensors
    import safetensors.numpy
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

random = np.random.default_rng(1)
arrays = {}
for code in "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 >f4 >i8".split():
    for index, shape in enumerate([(), (1,), (3, 5), (0, 2), (2, 3, 4), (200, 301)]):
        array = random.integers(0, 2 if code == "?" else 100, shape).astype(code)
        name = f"{code.strip('?>') or 'b1'}{'_big' if '>' in code else ''}_{index}"
        arrays[name] = np.asfortranarray(array) if index == 4 else array


def check(name, expected, actual):
    native = expected.dtype.newbyteorder("=")
    if actual.dtype != native or actual.shape != expected.shape or not np.array_equal(actual, expected):
        sys.exit(f"{name}: {actual.dtype}{actual.shape}, expected {native}{expected.shape}")


with tempfile.TemporaryDirectory() as folder:
    np.savez_compressed(f"{folder}/numpy.npz", **arrays)
    for name, array in arrays.items():
        np.save(f"{folder}/{name}.npy", array)
    tensors = {name: np.ascontiguousarray(array.astype(array.dtype.newbyteorder("=")))
               for name, array in arrays.items()}
    safetensors.numpy.save_file(tensors, f"{folder}/python.safetensors", {"a": "b", "ü": "☃"})
    subprocess.run([sys.argv[1], folder], check=True)

    assert zipfile.ZipFile(f"{folder}/sluice.npz").testzip() is None
    with np.load(f"{folder}/sluice.npz") as archive:
        assert sorted(archive.files) == sorted(arrays)
        for name, array in arrays.items():
            check(f"{name} in .npz", array, archive[name])
            check(f"{name}.npy", array, np.load(f"{folder}/{name}.sluice.npy"))
    read = safetensors.numpy.load_file(f"{folder}/sluice.safetensors")
    assert sorted(read) == sorted(tensors)
    for name, tensor in tensors.items():
        check(f"{name} in .safetensors", tensor, read[name])
    with safetensors.safe_open(f"{folder}/sluice.safetensors", "numpy") as file:
        assert file.metadata() == {"a": "b", "ü": "☃"}, file.metadata()
print("equal")
