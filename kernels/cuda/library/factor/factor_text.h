// Kernels of matrices that are taken apart, as text, and what they are called with.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_FACTOR_TEXT_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_FACTOR_TEXT_H_

#include <cstdint>

#include "fusion/library/factor.h"

namespace sluice::kernels::cuda {

inline constexpr const char* kFactorText =
#include "kernels/cuda/library/factor/factor_kernel.inc"
    ;

// sl_matrices of the text.
struct MatricesArgument {
  const void* base = nullptr;
  int64_t batch = 0, row = 0, column = 0;

  MatricesArgument() = default;
  MatricesArgument(const fusion::StridedMatrices& of, const void* buffer, DType dtype)
      : base(static_cast<const char*>(buffer) + of.offset * static_cast<int64_t>(size_of(dtype))),
        batch(of.batch),
        row(of.row),
        column(of.column) {}
};

// sl_factor of the text.
struct FactorArguments {
  MatricesArgument x, y;
  void* out[2] = {};
  int64_t out_row = 0, out_column = 1;
  int32_t* failed = nullptr;
  int64_t count = 1, rows = 0, team = 0, sides = 0, chunk = 0, chunks = 1, mode = 0;
  void* scratch = nullptr;
  int64_t first_block = 0;
};

// sl_matrix_copy of the text.
struct MatrixCopyArguments {
  const void* from = nullptr;
  void* to = nullptr;
  int64_t rows = 0, columns = 0, from_row = 0, from_column = 1, to_row = 0, to_column = 1;
  int64_t keep = 0;
  int32_t *failed = nullptr, *has_nan = nullptr;
  int64_t matrix = 0, nan_where_failed = 0;
  int64_t first_block = 0;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_FACTOR_TEXT_H_
