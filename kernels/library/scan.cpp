// Cumulative sums and products on the CPU.
#include "fusion/library/scan.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <sluice/half.h>
#include "kernels/library/library.h"
#include "runtime/cpu/parallel.h"

namespace sluice::kernels {
namespace {

using fusion::ScanShape;

// Lines that interleave in memory are scanned side by side, so many at a time.
constexpr int64_t kTile = 64;
constexpr int64_t kGrain = 1 << 14;  // elements

// The type in which elements accumulate.
template <typename T>
using Accumulator =
    std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;

// Every NaN in memory is the canonical one.
template <typename T, typename A>
T stored(A value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value == value ? value : std::numeric_limits<T>::quiet_NaN();
  } else {
    return T(value);
  }
}

// Lines [first, first + count), which are neighbours in y.
template <typename T, typename Combine>
void scan_tile(const ScanShape& shape, int64_t first, int64_t count, const T* x, T* y,
               Combine combine) {
  Accumulator<T> total[kTile];
  int64_t begin[kTile];
  for (int64_t j = 0; j < count; ++j) begin[j] = shape.begin_of_x(first + j);
  y += shape.begin_of_y(first);
  for (int64_t j = 0; j < count; ++j) y[j] = stored<T>(total[j] = Accumulator<T>(x[begin[j]]));
  for (int64_t i = 1; i < shape.length; ++i) {
    x += shape.stride;
    y += shape.inner;
    for (int64_t j = 0; j < count; ++j) {
      total[j] = combine(total[j], Accumulator<T>(x[begin[j]]));
      y[j] = stored<T>(total[j]);
    }
  }
}

template <typename T, typename Combine>
void scan(const ScanShape& shape, const T* x, T* y, Combine combine) {
  parallel_for(shape.lines, 1 + kGrain / shape.length, [&](int64_t line, int64_t end) {
    while (line < end) {
      const int64_t neighbours = shape.inner - line % shape.inner;
      const int64_t count = std::min({kTile, neighbours, end - line});
      scan_tile(shape, line, count, x, y, combine);
      line += count;
    }
  });
}

template <typename T>
absl::Status scan(const fusion::ScanAttributes& attributes, absl::Span<void* const> buffers) {
  using A = Accumulator<T>;
  const T* const x = static_cast<const T*>(buffers[0]) + attributes.offset;
  T* const y = static_cast<T*>(buffers[1]);
  if (attributes.shape.multiplies) {
    scan(attributes.shape, x, y, [](A a, A b) { return a * b; });
  } else {
    scan(attributes.shape, x, y, [](A a, A b) { return a + b; });
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status run_scan(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  const fusion::ScanAttributes& attributes = fusion::scan_of(call);
  switch (attributes.dtype) {
    case DType::kFloat16: return scan<float16>(attributes, buffers);
    case DType::kBFloat16: return scan<bfloat16>(attributes, buffers);
    case DType::kFloat32: return scan<float>(attributes, buffers);
    case DType::kFloat64: return scan<double>(attributes, buffers);
    default: return scan<uint64_t>(attributes, buffers);  // signed ones wrap alike
  }
}

}  // namespace sluice::kernels
