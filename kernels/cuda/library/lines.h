// The lines of an array along an axis, as kernels of library calls have them.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_LINES_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_LINES_H_

#include <algorithm>
#include <cstdint>

#include "fusion/library/lines.h"

namespace sluice::kernels::cuda {

// For a source: sl_lines, and sl_line, which says where a line begins.
inline constexpr const char* kLinesText = R"sluice(
struct sl_lines {
  sl_i64 length, stride, inner, lines;
  sl_i64 rank, extents[8], strides[8];
  const void* x;
  void* y;
};

template <typename M, typename N = M>
struct sl_line {
  const M* x;
  N* y;

  SL_INLINE sl_line(const sl_lines& p, sl_i64 line)
      : x((const M*)p.x), y((N*)p.y + line / p.inner * p.length * p.inner + line % p.inner) {
    for (sl_i64 k = p.rank - 1; k >= 0; --k) {
      x += line % p.extents[k] * p.strides[k];
      line /= p.extents[k];
    }
  }
};
)sluice";

// sl_lines of the text. `x`: where the first line begins.
struct LinesArguments {
  int64_t length, stride, inner, lines;
  int64_t rank, extents[kMaxRank], strides[kMaxRank];
  const void* x;
  void* y;

  LinesArguments(const fusion::Lines& of, const void* x, void* y)
      : length(of.length),
        stride(of.stride),
        inner(of.inner),
        lines(of.lines),
        rank(of.rank),
        x(x),
        y(y) {
    std::copy_n(of.extents.begin(), kMaxRank, extents);
    std::copy_n(of.strides.begin(), kMaxRank, strides);
  }
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_LINES_H_
