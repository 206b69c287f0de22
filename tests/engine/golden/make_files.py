"""Writes the files that files_test reads, as NumPy and the safetensors package write them.

    make_files.py <folder>
"""

import sys

import numpy as np
import safetensors.numpy

folder = sys.argv[1]
x = np.arange(6).reshape(2, 3)
dtypes = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64"]

for dtype in dtypes:
    np.save(f"{folder}/{dtype}.npy", (x % 2 if dtype == "bool" else x).astype(dtype))
np.save(f"{folder}/fortran.npy", np.asfortranarray(x))
np.save(f"{folder}/big_endian.npy", x.astype(">f4"))
np.save(f"{folder}/big_endian_fortran.npy", np.asfortranarray(x.astype(">i2")))
np.save(f"{folder}/scalar.npy", np.float64(2.5))
np.save(f"{folder}/nothing.npy", np.zeros((0, 3), "float32"))
with open(f"{folder}/version2.npy", "wb") as file:
    np.lib.format.write_array(file, x, version=(2, 0))
np.savez(f"{folder}/stored.npz", x=x, y=np.float32([0.5, -1]))
np.savez_compressed(f"{folder}/deflated.npz", x=x, y=np.zeros(1000, "float32"))
safetensors.numpy.save_file({"x": x, "y": np.float16([0.5, -1]), "mask": x > 2, "scalar":
                             np.array(2.5)},
                            f"{folder}/plain.safetensors", {"made by": "safetensors"})
