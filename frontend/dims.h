// Extents while a shape is put together; the frontend's own.
#ifndef SLUICE_FRONTEND_DIMS_H_
#define SLUICE_FRONTEND_DIMS_H_

#include <cstdint>
#include <span>

#include <sluice/tensor.h>
#include "absl/container/inlined_vector.h"
#include "frontend/checks.h"

namespace sluice::frontend {

using Dims = absl::InlinedVector<int64_t, kMaxRank>;

inline std::span<const int64_t> span_of(const Dims& dims) { return {dims.data(), dims.size()}; }

inline Dims dims_of(const Tensor& x) { return Dims(x.shape().begin(), x.shape().end()); }

// Throws if what `op` makes of `x` would have more than kMaxRank dimensions.
inline void check_rank(const char* op, size_t rank, const Tensor& x) {
  if (rank > kMaxRank) fail(op, describe(x), " would have more than ", kMaxRank, " dimensions");
}

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_DIMS_H_
