// Scatters on the CPU. A range of rows, or of columns where rows are long, is one thread's: it goes
// through all positions in order, so that bits do not depend on the ranges.
#include "fusion/library/scatter.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/library/library.h"
#include "runtime/cpu/parallel.h"

namespace sluice::kernels {
namespace {

using fusion::ScatterAttributes;
using fusion::ScatterMode;

constexpr int64_t kScatterGrain = 1 << 14;  // elements
// Rows of at least so many elements are cut, each range of columns going through all positions.
constexpr int64_t kLongRow = 256;
// Shorter rows are one thread's: to tell in which range a random row is takes longer than adding
// it.
constexpr int64_t kShortRow = 32;

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    const auto sum = static_cast<T>(a + b);
    if constexpr (std::is_floating_point_v<T>) {
      // Every NaN in memory is the canonical one.
      return sum == sum ? sum : std::numeric_limits<T>::quiet_NaN();
    } else {
      return sum;
    }
  }
};
// Of two zeros the first; NaN wins.
struct Max {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b || b != b ? b : a;
  }
};
struct Min {
  template <typename T>
  T operator()(T a, T b) const {
    return b < a || b != b ? b : a;
  }
};
struct Set {
  template <typename T>
  T operator()(T, T b) const {
    return b;
  }
};

template <typename T, typename Combine>
class Scatter {
 public:
  Scatter(const ScatterAttributes& attributes, absl::Span<void* const> buffers)
      : a_(attributes),
        x_(static_cast<const T*>(buffers[0]) + a_.x.offset),
        positions_(static_cast<const int64_t*>(buffers[1]) + a_.positions.offset),
        updates_(static_cast<const T*>(buffers[2]) + a_.updates.offset),
        y_(static_cast<T*>(buffers[3])) {}

  void run() const {
    parallel_for(a_.rows, 1 + kScatterGrain / std::max<int64_t>(1, a_.columns),
                 [&](int64_t begin, int64_t end) { copy(begin, end); });
    if (a_.columns >= kLongRow) {
      const int64_t grain =
          std::max(kLongRow / 4, 1 + kScatterGrain / std::max<int64_t>(1, a_.count));
      parallel_for(a_.columns, grain,
                   [&](int64_t begin, int64_t end) { put(0, a_.rows, begin, end); });
    } else {
      // Each range reads all positions: no more ranges than threads, and none for little work.
      const int64_t most = a_.columns < kShortRow ? 1 : num_threads();
      const int64_t ranges = std::clamp<int64_t>(a_.count * a_.columns / kScatterGrain, 1, most);
      parallel_for(ranges, 1, [&](int64_t begin, int64_t end) {
        put(begin * a_.rows / ranges, end * a_.rows / ranges, 0, a_.columns);
      });
    }
  }

 private:
  void copy(int64_t begin, int64_t end) const {
    if (a_.x.column == 1 && a_.x.row == a_.columns) {
      std::copy(x_ + begin * a_.columns, x_ + end * a_.columns, y_ + begin * a_.columns);
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      const T* const from = x_ + i * a_.x.row;
      T* const to = y_ + i * a_.columns;
      if (a_.x.column == 1) {
        std::copy_n(from, a_.columns, to);
      } else {
        for (int64_t j = 0; j < a_.columns; ++j) to[j] = from[j * a_.x.column];
      }
    }
  }

  // What of the updates meets these rows and columns.
  void put(int64_t begin, int64_t end, int64_t first, int64_t last) const {
    if (a_.columns == 1) {
      return put_each(begin, end, std::integral_constant<int64_t, 1>(),
                      [this](T* to, const T* from) { *to = combine_(*to, *from); });
    }
    if (a_.updates.column == 1) {
      return put_each(begin, end, a_.columns, [&](T* to, const T* from) {
        put_run(to + first, from + first, last - first);
      });
    }
    put_each(begin, end, a_.columns, [&](T* to, const T* from) {
      for (int64_t j = first; j < last; ++j) to[j] = combine_(to[j], from[j * a_.updates.column]);
    });
  }

  // What is the same for all rows is in variables: what is written might change members.
  template <typename Columns, typename PutRow>
  void put_each(int64_t begin, int64_t end, Columns columns, const PutRow& put_row) const {
    const int64_t count = a_.count, step = a_.positions.row, stride = a_.updates.row;
    const int64_t* const positions = positions_;
    const T* from = updates_;
    T* const y = y_;
    for (int64_t i = 0; i < count; ++i, from += stride) {
      const int64_t row = positions[i * step];
      if (row < begin || row >= end) continue;
      put_row(y + row * columns, from);
    }
  }

  // Eight at a time, through an array of their own: the compiler makes vectors of them.
  void put_run(T* to, const T* from, int64_t count) const {
    constexpr int64_t kStep = 8;
    int64_t j = 0;
    for (; j + kStep <= count; j += kStep) {
      T results[kStep];
      for (int64_t k = 0; k < kStep; ++k) results[k] = combine_(to[j + k], from[j + k]);
      std::copy_n(results, kStep, to + j);
    }
    for (; j < count; ++j) to[j] = combine_(to[j], from[j]);
  }

  const ScatterAttributes& a_;
  const T* const x_;
  const int64_t* const positions_;
  const T* const updates_;
  T* const y_;
  const Combine combine_{};
};

template <typename T, typename Combine>
absl::Status run(const ScatterAttributes& attributes, absl::Span<void* const> buffers) {
  Scatter<T, Combine>(attributes, buffers).run();
  return absl::OkStatus();
}

// Of types of which only the size counts: what is moved, and integers that wrap.
template <typename Combine>
absl::Status run_of_size(const ScatterAttributes& attributes, absl::Span<void* const> buffers) {
  switch (size_of(attributes.dtype)) {
    case 1: return run<uint8_t, Combine>(attributes, buffers);
    case 2: return run<uint16_t, Combine>(attributes, buffers);
    case 4: return run<uint32_t, Combine>(attributes, buffers);
    default: return run<uint64_t, Combine>(attributes, buffers);
  }
}

// Of types that are compared.
template <typename Combine>
absl::Status run_ordered(const ScatterAttributes& attributes, absl::Span<void* const> buffers) {
  switch (attributes.dtype) {
    case DType::kInt8: return run<int8_t, Combine>(attributes, buffers);
    case DType::kInt16: return run<int16_t, Combine>(attributes, buffers);
    case DType::kInt32: return run<int32_t, Combine>(attributes, buffers);
    case DType::kInt64: return run<int64_t, Combine>(attributes, buffers);
    case DType::kFloat32: return run<float, Combine>(attributes, buffers);
    case DType::kFloat64: return run<double, Combine>(attributes, buffers);
    default: return run_of_size<Combine>(attributes, buffers);  // unsigned
  }
}

}  // namespace

absl::Status run_scatter(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  const ScatterAttributes& attributes = fusion::scatter_of(call);
  switch (attributes.mode) {
    case ScatterMode::kMax: return run_ordered<Max>(attributes, buffers);
    case ScatterMode::kMin: return run_ordered<Min>(attributes, buffers);
    case ScatterMode::kSet: return run_of_size<Set>(attributes, buffers);
    case ScatterMode::kAdd: break;
  }
  switch (attributes.dtype) {
    case DType::kFloat32: return run<float, Add>(attributes, buffers);
    case DType::kFloat64: return run<double, Add>(attributes, buffers);
    default: return run_of_size<Add>(attributes, buffers);
  }
}

}  // namespace sluice::kernels
