// Cumulative sums, products and the like on the CPU.
//
// A line is cut into leaves. Element i is what comes before its leaf, combined with the leaf up to
// i, of which each part is combined in order. What comes before leaf n is made of subtrees as those
// of kernels/reduction.h, one for each set bit of n, the largest first and combined in order. So
// the error of a sum grows as the logarithm of its number, as that of a reduction does.
#include "fusion/library/scan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

#include <sluice/half.h>
#include "kernels/library/library.h"
#include "kernels/reduction.h"
#include "runtime/cpu/parallel.h"

namespace sluice::kernels {
namespace {

using fusion::ScanKind;
using fusion::ScanShape;

// Lines that interleave in memory are scanned side by side, so many at a time.
constexpr int64_t kTile = 64;
// An addition waits for the one before it: so many leaves of a long line take turns.
constexpr int64_t kChains = 8;
constexpr int64_t kScanGrain = 1 << 14;  // elements
constexpr int64_t kLeaf = fusion::leaf_size(fusion::Schedule::kColumn);

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

bool is_extremum(ScanKind kind) { return kind == ScanKind::kMax || kind == ScanKind::kMin; }

// What comes before the leaf at hand, of lines side by side.
template <typename A, int64_t kMost, typename Combine>
class Before {
 public:
  Before(int64_t lines, A identity, Combine combine) : lines_(lines), combine_(combine) {
    std::fill_n(nothing_, lines, identity);
  }

  // `leaf` has come by. It is used up.
  void add(A* leaf) {
    const int level = std::countr_one(leaves_);
    for (int k = 0; k < level; ++k) put(subtrees_[k], leaf, leaf);
    std::copy_n(leaf, kMost == 1 ? 1 : lines_, subtrees_[level]);
    const uint64_t larger = ++leaves_ >> level >> 1 << level << 1;
    put(larger == 0 ? nothing_ : sums_[std::countr_zero(larger)], leaf, sums_[level]);
    sum_ = sums_[level];
  }
  const A* sum() const { return sum_; }

 private:
  void put(const A* a, const A* b, A* out) const {
    const int64_t lines = kMost == 1 ? 1 : lines_;
    for (int64_t j = 0; j < lines; ++j) out[j] = combine_(a[j], b[j]);
  }

  int64_t lines_;
  Combine combine_;
  uint64_t leaves_ = 0;
  A nothing_[kMost];
  const A* sum_ = nothing_;
  // By level: the subtree of 2^level leaves, and all up to and with it.
  A subtrees_[kTreeLevels][kMost], sums_[kTreeLevels][kMost];
};

// Lines [first, first + count), at most kTile, which are neighbours in y. The identity leaves all
// numbers as they are.
template <typename T, typename A, typename Combine>
void scan_neighbours(const ScanShape& shape, int64_t first, int64_t count, const T* x,
                     T* __restrict y, A identity, Combine combine) {
  A leaf[kTile];
  int64_t begin[kTile];
  Before<A, kTile, Combine> before(count, identity, combine);
  for (int64_t j = 0; j < count; ++j) begin[j] = shape.begin_of_x(first + j);
  y += shape.begin_of_y(first);
  for (int64_t i = 0; i < shape.length;) {
    const int64_t end = std::min(shape.length, i + kLeaf);
    const A* const sum = before.sum();
    std::fill_n(leaf, count, identity);
    for (; i < end; ++i, x += shape.stride, y += shape.inner) {
      for (int64_t j = 0; j < count; ++j) {
        leaf[j] = combine(leaf[j], A(x[begin[j]]));
        y[j] = stored<T>(combine(sum[j], leaf[j]));
      }
    }
    if (i < shape.length) before.add(leaf);
  }
}

// A short line, which is consecutive in y: the processor has several of its leaves, or the next
// line's, at work.
template <typename T, typename A, typename Combine>
void scan_short_line(const ScanShape& shape, int64_t line, const T* x, T* __restrict y, A identity,
                     Combine combine) {
  x += shape.begin_of_x(line);
  y += shape.begin_of_y(line);
  if (shape.length <= kLeaf) {
    A leaf = identity;
    for (int64_t i = 0; i < shape.length; ++i) {
      leaf = combine(leaf, A(x[i * shape.stride]));
      y[i] = static_cast<T>(leaf);
    }
    // A NaN lasts to the end of the line.
    if (leaf != leaf) {
      for (int64_t i = 0; i < shape.length; ++i) y[i] = stored<T>(A(y[i]));
    }
    return;
  }
  Before<A, 1, Combine> before(1, identity, combine);
  for (int64_t i = 0; i < shape.length;) {
    const int64_t end = std::min(shape.length, i + kLeaf);
    const A sum = *before.sum();
    A leaf = identity;
    for (; i < end; ++i) {
      leaf = combine(leaf, A(x[i * shape.stride]));
      y[i] = stored<T>(combine(sum, leaf));
    }
    if (i < shape.length) before.add(&leaf);
  }
}

// A long line, which is consecutive in y: first each leaf for itself.
template <typename T, typename A, typename Combine>
void scan_line(const ScanShape& shape, int64_t line, const T* x, T* __restrict y, A identity,
               Combine combine) {
  Before<A, 1, Combine> before(1, identity, combine);
  x += shape.begin_of_x(line);
  y += shape.begin_of_y(line);
  A within[kChains][kLeaf];
  for (int64_t i = 0; i < shape.length; i += kChains * kLeaf) {
    const int64_t elements = std::min(shape.length - i, kChains * kLeaf);
    A leaves[kChains];
    std::fill_n(leaves, kChains, identity);
    if (elements == kChains * kLeaf) {
      for (int64_t k = 0; k < kLeaf; ++k) {
        for (int64_t l = 0; l < kChains; ++l) {
          leaves[l] = combine(leaves[l], A(x[(i + l * kLeaf + k) * shape.stride]));
          within[l][k] = leaves[l];
        }
      }
    } else {
      for (int64_t r = 0; r < elements; ++r) {
        A& leaf = leaves[r / kLeaf];
        leaf = combine(leaf, A(x[(i + r) * shape.stride]));
        within[r / kLeaf][r % kLeaf] = leaf;
      }
    }
    for (int64_t l = 0; l * kLeaf < elements; ++l) {
      const A sum = *before.sum();
      const int64_t count = std::min(kLeaf, elements - l * kLeaf);
      T* const out = y + i + l * kLeaf;
      if (count == kLeaf) {  // a loop of which the compiler makes vectors
        for (int64_t k = 0; k < kLeaf; ++k) out[k] = stored<T>(combine(sum, within[l][k]));
      } else {
        for (int64_t k = 0; k < count; ++k) out[k] = stored<T>(combine(sum, within[l][k]));
      }
      before.add(&leaves[l]);
    }
  }
}

template <typename T, typename A, typename Combine>
void scan(const ScanShape& shape, const T* x, T* y, A identity, Combine combine) {
  parallel_for(shape.lines, 1 + kScanGrain / shape.length, [&](int64_t line, int64_t end) {
    while (line < end) {
      int64_t count = 1;
      if (shape.inner > 1) {
        count = std::min({kTile, shape.inner - line % shape.inner, end - line});
        scan_neighbours(shape, line, count, x, y, identity, combine);
      } else if (shape.length < kChains * kLeaf) {
        scan_short_line(shape, line, x, y, identity, combine);
      } else {
        scan_line(shape, line, x, y, identity, combine);
      }
      line += count;
    }
  });
}

template <typename T>
absl::Status scan(const fusion::ScanAttributes& attributes, absl::Span<void* const> buffers) {
  using A = Accumulator<T>;
  using Limits = std::numeric_limits<A>;
  const T* const x = static_cast<const T*>(buffers[0]) + attributes.offset;
  T* const y = static_cast<T*>(buffers[1]);
  const ScanShape& shape = attributes.shape;
  const A least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  const A greatest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  switch (shape.kind) {
    case ScanKind::kSum: scan(shape, x, y, A(-0.0), [](A a, A b) { return a + b; }); break;
    case ScanKind::kProduct: scan(shape, x, y, A(1), [](A a, A b) { return a * b; }); break;
    // NaN stays, and replaces what is there.
    case ScanKind::kMax:
      scan(shape, x, y, least, [](A a, A b) { return b > a || b != b ? b : a; });
      break;
    case ScanKind::kMin:
      scan(shape, x, y, greatest, [](A a, A b) { return b < a || b != b ? b : a; });
      break;
    case ScanKind::kLogSumExp:
      if constexpr (std::is_floating_point_v<A>) {
        scan(shape, x, y, least, [](A a, A b) {
          constexpr A kLog2 = std::numbers::ln2_v<A>;
          return a == b ? a + kLog2 : std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
        });
      }
      break;
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
    case DType::kInt64:
      if (is_extremum(attributes.shape.kind)) return scan<int64_t>(attributes, buffers);
      [[fallthrough]];  // sums and products wrap as unsigned ones do
    default: return scan<uint64_t>(attributes, buffers);
  }
}

}  // namespace sluice::kernels
