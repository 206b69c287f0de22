// Scatters on the CPU. A range of rows, or of columns where rows are long, is one thread's: it goes
// through all positions in order, so that bits do not depend on the ranges.
#include "fusion/library/scatter.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/library/loops/combined_elements.h"
#include "kernels/library/loops/loops.h"
#include "runtime/cpu/parallel.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {
namespace {

using fusion::ScatterAttributes;
using fusion::ScatterMode;

constexpr int64_t kScatterGrain = 1 << 14;  // elements
// Rows of at least so many elements are cut, each range of columns going through all positions.
constexpr int64_t kLongRow = 256;
// Shorter rows are one thread's: to tell in which range a random row is takes longer than adding
// it.
constexpr int64_t kShortRow = 32;

template <typename T, typename Combine>
class Scatter {
 public:
  Scatter(const ScatterAttributes& attributes, void* const* buffers)
      : a_(attributes),
        x_(static_cast<const T*>(buffers[0]) + a_.x.offset),
        positions_(static_cast<const int64_t*>(buffers[1]) + a_.positions.offset),
        updates_(static_cast<const T*>(buffers[2]) + a_.updates.offset),
        y_(static_cast<T*>(buffers[3])) {}

  void run() const {
    if (a_.rows * a_.columns == 0) return;
    parallel_for(a_.rows, 1 + kScatterGrain / a_.columns,
                 [&](int64_t begin, int64_t end) { copy(begin, end); });
    if (a_.columns >= kLongRow) {
      const int64_t wanted = 1 + kScatterGrain / (a_.count > 0 ? a_.count : 1);
      parallel_for(a_.columns, wanted > kLongRow / 4 ? wanted : kLongRow / 4,
                   [&](int64_t begin, int64_t end) { put(0, a_.rows, begin, end); });
    } else {
      // Each range reads all positions: no more ranges than threads, and none for little work.
      const int64_t most = a_.columns < kShortRow ? 1 : num_threads();
      int64_t ranges = a_.count * a_.columns / kScatterGrain;
      ranges = ranges < 1 ? 1 : ranges > most ? most : ranges;
      parallel_for(ranges, 1, [&](int64_t begin, int64_t end) {
        put(begin * a_.rows / ranges, end * a_.rows / ranges, 0, a_.columns);
      });
    }
  }

 private:
  static constexpr bool kMakesNaN = std::is_floating_point_v<T> && std::is_same_v<Combine, Add>;

  void copy(int64_t begin, int64_t end) const {
    if (a_.x.column == 1 && a_.x.row == a_.columns) {
      std::memcpy(y_ + begin * a_.columns, x_ + begin * a_.columns,
                  sizeof(T) * (end - begin) * a_.columns);
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      const T* const from = x_ + i * a_.x.row;
      T* const to = y_ + i * a_.columns;
      if (a_.x.column == 1) {
        std::memcpy(to, from, sizeof(T) * a_.columns);
      } else if (a_.x.column == 0) {
        const T value = *from;
        for (int64_t j = 0; j < a_.columns; ++j) to[j] = value;
      } else {
        for (int64_t j = 0; j < a_.columns; ++j) to[j] = from[j * a_.x.column];
      }
    }
  }

  // What of the updates meets these rows and columns.
  void put(int64_t begin, int64_t end, int64_t first, int64_t last) const {
    if (a_.columns == 1 || a_.updates.column == 1) {
      switch (a_.columns) {
        case 1:
          if (has_runs()) {
            int64_t i = 0;
            for (; i + kBlock <= a_.count; i += kBlock) {
              if (!put_ascending(begin, end, i)) put_runs<1>(begin, end, i, i + kBlock);
            }
            put_runs<1>(begin, end, i, a_.count);
          } else if (!put_few(begin, end)) {
            put_rows<1>(begin, end);
          }
          break;
        case 2: put_rows<2>(begin, end); break;
        case 3: put_rows<3>(begin, end); break;
        case 4: put_rows<4>(begin, end); break;
        case 5: put_rows<5>(begin, end); break;
        case 6: put_rows<6>(begin, end); break;
        case 7: put_rows<7>(begin, end); break;
        case 8: put_rows<8>(begin, end); break;
        case 9: put_rows<9>(begin, end); break;
        case 10: put_rows<10>(begin, end); break;
        case 11: put_rows<11>(begin, end); break;
        case 12: put_rows<12>(begin, end); break;
        case 13: put_rows<13>(begin, end); break;
        case 14: put_rows<14>(begin, end); break;
        case 15: put_rows<15>(begin, end); break;
        case 16: put_rows<16>(begin, end); break;
        default:
          for_each_row(begin, end, a_.columns, [&](T* to, const T* from) {
            put_run(to + first, from + first, last - first);
          });
      }
    } else {
      for_each_row(begin, end, a_.columns, [&](T* to, const T* from) {
        for (int64_t j = first; j < last; ++j) to[j] = combine_(to[j], from[j * a_.updates.column]);
      });
    }
    if constexpr (kMakesNaN) make_canonical(begin, end, first, last);
  }
  // Never inlined: among all the others each loop would want for registers.
  template <int64_t kColumns>
  [[gnu::noinline]] void put_rows(int64_t begin, int64_t end) const {
    // Sums only: each is as many instantiations as there are dtypes.
    if constexpr (kColumns > 1 && std::is_same_v<Combine, Add>) {
      if (has_runs()) return put_runs<kColumns>(begin, end, 0, a_.count);
    }
    for_each_row(begin, end, std::integral_constant<int64_t, kColumns>(),
                 [this](T* to, const T* from) { put_some<kColumns>(to, from); });
  }

  // Whether most positions are that before them, by a sample.
  bool has_runs() const {
    constexpr int64_t kSampled = 64;
    if (a_.count < 4 * kSampled) return false;
    const int64_t part = (a_.count - 1) / kSampled;
    int64_t same = 0;
    for (int64_t i = 0; i < kSampled; ++i) {
      const int64_t* const position = positions_ + i * part * a_.positions.row;
      same += position[0] == position[a_.positions.row];
    }
    return same > kSampled / 2;
  }
  // Rows of few elements, each in registers as long as it is the next, too: to read what has just
  // been written takes as long as several additions.
  template <int64_t kColumns>
  void put_runs(int64_t begin, int64_t end, int64_t first, int64_t count) const {
    const int64_t step = a_.positions.row, stride = a_.updates.row;
    const int64_t* const positions = positions_;
    const T* const updates = updates_;
    T* const y = y_;
    const auto rows = static_cast<uint64_t>(end - begin);
    for (int64_t i = first; i < count;) {
      const int64_t row = positions[i * step];
      if (static_cast<uint64_t>(row - begin) >= rows) {
        ++i;
        continue;
      }
      T* const to = y + row * kColumns;
      Elements<T, Combine, kColumns> values;
      values.load(to);
      for (; i < count && positions[i * step] == row; ++i) values.combine(updates + i * stride);
      values.store(to);
    }
  }

  // If the positions [first, first + kBlock) ascend, and rows are not long: parts of them that
  // share no row, side by side, since a sum waits for the one before it, and where a row ends no
  // processor foresees.
  static constexpr int64_t kBlock = 2048;
  bool put_ascending(int64_t begin, int64_t end, int64_t first) const {
    constexpr int64_t kParts = 8;
    const int64_t step = a_.positions.row, stride = a_.updates.row;
    const int64_t* const positions = positions_ + first * step;
    const T* const updates = updates_ + first * stride;
    T* const y = y_;
    if (positions[0] < begin || positions[(kBlock - 1) * step] >= end) return false;
    if (positions[0] == positions[kBlock / kParts * step]) return false;  // rows are long
    int descends = 0;
    for (int64_t i = 1; i < kBlock; ++i) {
      descends |= positions[(i - 1) * step] > positions[i * step];
    }
    if (descends != 0) return false;

    int64_t starts[kParts + 1];
    starts[kParts] = kBlock;
    int64_t least = kBlock;
    for (int64_t k = kParts - 1; k >= 0; --k) {
      int64_t i = k * (kBlock / kParts);
      while (k > 0 && i < starts[k + 1] && positions[i * step] == positions[(i - 1) * step]) ++i;
      starts[k] = i;
      least = starts[k + 1] - i < least ? starts[k + 1] - i : least;
    }
    if (least < kBlock / kParts / 2) return false;
    const auto put = [=, this](int64_t i) {
      T& to = y[positions[i * step]];
      to = combine_(to, updates[i * stride]);
    };
    for (int64_t i = 0; i < least; ++i) {
      for (int64_t k = 0; k < kParts; ++k) put(starts[k] + i);
    }
    for (int64_t k = 0; k < kParts; ++k) {
      for (int64_t i = starts[k] + least; i < starts[k + 1]; ++i) put(i);
    }
    return true;
  }

  // Sums of integers are the same in any order. Of few rows there are copies, which take turns: to
  // read what has just been written takes as long as several additions, and where it may have been,
  // no processor foresees. False if there is no gain, or the order counts.
  bool put_few(int64_t begin, int64_t end) const {
    constexpr int64_t kMostRows = 512, kCopies = 4, kLeastOfRow = 16;
    const int64_t rows = end - begin;
    if constexpr (!std::is_integral_v<T> || !std::is_same_v<Combine, Add>) return false;
    if (rows > kMostRows || a_.count < kLeastOfRow * rows) return false;
    const int64_t count = a_.count, step = a_.positions.row, stride = a_.updates.row;
    const int64_t* const positions = positions_;
    const T* const updates = updates_;
    T sums[kMostRows * kCopies];
    std::memset(sums, 0, sizeof(T) * rows * kCopies);
    const auto put = [&](int64_t i, int64_t copy) {
      const int64_t row = positions[i * step] - begin;
      if (static_cast<uint64_t>(row) >= static_cast<uint64_t>(rows)) return;
      T& to = sums[row * kCopies + copy];
      to = combine_(to, updates[i * stride]);
    };
    int64_t i = 0;
    for (; i + kCopies <= count; i += kCopies) {
      for (int64_t copy = 0; copy < kCopies; ++copy) put(i + copy, copy);
    }
    for (; i < count; ++i) put(i, 0);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t copy = 0; copy < kCopies; ++copy) {
        T& to = y_[begin + row];
        to = combine_(to, sums[row * kCopies + copy]);
      }
    }
    return true;
  }

  // What is the same for all rows is in variables: what is written might change members.
  template <typename Columns, typename PutRow>
  void for_each_row(int64_t begin, int64_t end, Columns columns, const PutRow& put_row) const {
    const int64_t count = a_.count, step = a_.positions.row, stride = a_.updates.row;
    const int64_t* const positions = positions_;
    const T* from = updates_;
    T* const y = y_;
    const auto rows = static_cast<uint64_t>(end - begin);
    for (int64_t i = 0; i < count; ++i, from += stride) {
      const int64_t row = positions[i * step];
      if (static_cast<uint64_t>(row - begin) >= rows) continue;
      put_row(y + row * columns, from);
    }
  }

  // Through registers or an array of their own, of which the compiler makes vectors. (With memcpy()
  // GCC writes halves of vectors, and the next row of the same position waits until both are in the
  // cache.)
  template <int64_t kCount>
  void put_some(T* to, const T* from) const {
    if constexpr (kCount == 1 || std::is_same_v<Combine, Add>) {
      Elements<T, Combine, kCount> values;
      values.load(to);
      values.combine(from);
      values.store(to);
    } else {
      T results[kCount];
      for (int64_t k = 0; k < kCount; ++k) results[k] = combine_(to[k], from[k]);
      for (int64_t k = 0; k < kCount; ++k) to[k] = results[k];
    }
  }
  // Rows of the same length are cut into the same parts: what has just been written is read again
  // as it was written, and no branch is a surprise.
  void put_run(T* to, const T* from, int64_t count) const {
    int64_t j = 0;
    for (; j + 16 <= count; j += 16) put_some<16>(to + j, from + j);
    const auto put_part = [&](auto part) {
      if ((count & part) == 0) return;
      put_some<part>(to + j, from + j);
      j += part;
    };
    put_part(std::integral_constant<int64_t, 8>());
    put_part(std::integral_constant<int64_t, 4>());
    put_part(std::integral_constant<int64_t, 2>());
    put_part(std::integral_constant<int64_t, 1>());
  }

  // Every NaN in memory is the canonical one: of all rows, or of fewer that something was added to.
  void make_canonical(int64_t begin, int64_t end, int64_t first, int64_t last) const {
    // Mostly there is none, and reading takes half as long as writing, too.
    const auto make = [](T* y, int64_t count) {
      constexpr int64_t kMost = 1024;
      for (int64_t i = 0; i < count; i += kMost) {
        T* const block = y + i;
        const int64_t size = count - i < kMost ? count - i : kMost;
        int has_nan = 0;
        for (int64_t j = 0; j < size; ++j) has_nan |= block[j] != block[j];
        if (has_nan == 0) continue;
        for (int64_t j = 0; j < size; ++j) {
          block[j] = block[j] == block[j] ? block[j] : static_cast<T>(__builtin_nan(""));
        }
      }
    };
    if (a_.count < end - begin && a_.columns == 1) {
      // One by one, a loop for each takes longer than the addition.
      int has_nan = 0;
      const auto one = std::integral_constant<int64_t, 1>();
      for_each_row(begin, end, one, [&](T* to, const T*) { has_nan |= *to != *to; });
      if (has_nan != 0) for_each_row(begin, end, one, [&](T* to, const T*) { make(to, 1); });
    } else if (a_.count < end - begin) {
      for_each_row(begin, end, a_.columns,
                   [&](T* to, const T*) { make(to + first, last - first); });
    } else if (last - first == a_.columns) {
      make(y_ + begin * a_.columns, (end - begin) * a_.columns);
    } else {
      for (int64_t i = begin; i < end; ++i) make(y_ + i * a_.columns + first, last - first);
    }
  }

  const ScatterAttributes& a_;
  const T* const x_;
  const int64_t* const positions_;
  const T* const updates_;
  T* const y_;
  const Combine combine_{};
};

template <typename T, typename Combine>
void run(const ScatterAttributes& attributes, void* const* buffers) {
  Scatter<T, Combine>(attributes, buffers).run();
}

// Of types of which only the size counts: what is moved, and integers that wrap.
template <typename Combine>
void run_of_size(const ScatterAttributes& attributes, void* const* buffers) {
  switch (size_of(attributes.dtype)) {
    case 1: return run<uint8_t, Combine>(attributes, buffers);
    case 2: return run<uint16_t, Combine>(attributes, buffers);
    case 4: return run<uint32_t, Combine>(attributes, buffers);
    default: return run<uint64_t, Combine>(attributes, buffers);
  }
}

// Of types that are compared.
template <typename Combine>
void run_ordered(const ScatterAttributes& attributes, void* const* buffers) {
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

void scatter(const ScatterAttributes& attributes, void* const* buffers) {
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

}  // namespace

void fill_scatter(LibraryLoops& table) { table.scatter = scatter; }

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE
