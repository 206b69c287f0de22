// NumPy's .npy format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#ifndef SLUICE_FRONTEND_FILES_NPY_H_
#define SLUICE_FRONTEND_FILES_NPY_H_

#include <string>

#include "frontend/files/file.h"

namespace sluice::frontend {

// What stands before the values, a multiple of 64 bytes.
std::string npy_header(DType dtype, const Shape& shape);

// The tensor that all of `file` is.
Tensor read_npy(const FilePart& file);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_FILES_NPY_H_
