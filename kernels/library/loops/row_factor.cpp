// Systems, inverses, determinants and Cholesky factors of matrices of some tens of rows, one after
// another: vectors lie along rows, of which several are subtracted from another at a time. Such
// matrices are smaller than what LAPACK is fast at.
#include "kernels/library/loops/row_factor.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/library/determinant.h"
#include "kernels/library/loops/short_lines.h"
#include "kernels/library/scratch.h"
#include "kernels/math/primitives.h"
#include "kernels/vector_bytes.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {
namespace {

using fusion::FactorAttributes;
using fusion::Op;

// An element of the result is computed by the same operations in the same order whatever the width
// of vectors.
template <typename T>
class RowFactor {
  static constexpr int kLanes = kVectorBytes / sizeof(T);
  static constexpr int kBlock = 4;  // columns that are eliminated together
  using Integer = std::conditional_t<sizeof(T) == sizeof(float), int32_t, int64_t>;
  typedef T Vector __attribute__((vector_size(kVectorBytes), may_alias));
  typedef Integer Bits __attribute__((may_alias));
  typedef Integer Integers __attribute__((vector_size(kVectorBytes), may_alias));

 public:
  RowFactor(const FactorAttributes& attributes, void* const* buffers)
      : a_(attributes),
        size_(attributes.rows),
        sides_(attributes.op == Op::kInv ? size_ : attributes.sides),
        padded_(whole(size_)),
        width_(padded_ + whole(sides_)),
        stride_(odd_lines(width_)),
        x_(static_cast<const T*>(buffers[0]) + attributes.x.offset),
        y_(attributes.op == Op::kSolve ? static_cast<const T*>(buffers[1]) + attributes.y.offset
                                       : nullptr),
        out_(static_cast<T*>(buffers[attributes.op == Op::kSolve ? 2 : 1])),
        scratch_(sizeof(T) * static_cast<size_t>(size_ * stride_ + kBlock * padded_) +
                 sizeof(T*) * static_cast<size_t>(size_)),
        elements_(reinterpret_cast<T*>(scratch_.data())),
        panel_(elements_ + size_ * stride_),
        rows_(reinterpret_cast<T**>(panel_ + kBlock * padded_)) {}

  // Matrices [begin, end); the first that is singular or not positive definite, or `end`.
  int64_t run(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      switch (a_.op) {
        case Op::kCholesky:
          if (!factor(i)) return i;
          break;
        case Op::kDet: determinant(i); break;
        default:
          if (solve(i)) break;
          if (a_.op != Op::kInv || a_.mode != 1) return i;
          T* const inverse = out_ + i * size_ * size_;
          for (int64_t k = 0; k < size_ * size_; ++k) inverse[k] = kNaN;
      }
    }
    return end;
  }

 private:
  static constexpr T kNaN = static_cast<T>(__builtin_nan(""));

  static int64_t whole(int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }
  // Rows are so far apart that they do not all meet in a few sets of the first-level cache.
  static int64_t odd_lines(int64_t elements) {
    constexpr int64_t kLine = 64 / sizeof(T);
    return ((elements + kLine - 1) / kLine | 1) * kLine;
  }
  static Vector& at(T* x) { return *reinterpret_cast<Vector*>(x); }
  static T canonical(T value) { return value == value ? value : kNaN; }

  // Zeros after the `columns` of each row.
  void load(const T* from, int64_t row_stride, int64_t column_stride, int64_t columns, T* to) {
    if (column_stride == 1) {
      for (int64_t r = 0; r < size_; ++r) {
        for (int64_t c = 0; c < columns; ++c) to[r * stride_ + c] = from[r * row_stride + c];
      }
    } else if (row_stride == 1) {
      transpose(from, column_stride, columns, size_, to, stride_);
    } else {
      for (int64_t r = 0; r < size_; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          to[r * stride_ + c] = from[r * row_stride + c * column_stride];
        }
      }
    }
    for (int64_t r = 0; r < size_; ++r) {
      for (int64_t c = columns; c < whole(columns); ++c) to[r * stride_ + c] = 0;
    }
  }
  void load_matrix(int64_t i) {
    load(x_ + i * a_.x.batch, a_.x.row, a_.x.column, size_, elements_);
    for (int64_t r = 0; r < size_; ++r) rows_[r] = elements_ + r * stride_;
  }

  // row -= factors[0] * others[0] + factors[1] * others[1] + ..., one after another, from column
  // `begin` on, where a vector begins.
  template <int kCount>
  static void subtract(T* row, T* const* others, const T (&factors)[kBlock], int64_t begin,
                       int64_t end) {
    for (int64_t c = begin; c < end; c += kLanes) {
      Vector values = at(row + c);
#pragma GCC unroll 8
      for (int j = 0; j < kCount; ++j) values -= factors[j] * at(others[j] + c);
      at(row + c) = values;
    }
  }

  // The row from k on with the greatest element in the panel's column becomes row k.
  void pivot(int64_t block, int64_t k) {
    const auto* const column = reinterpret_cast<const Bits*>(panel_ + (k - block) * padded_);
    Integers most{};
    int64_t r = k;
    for (; r % kLanes != 0 && r < size_; ++r) most[0] = greater(most[0], column[r] & kMagnitude);
    for (; r < size_; r += kLanes) {
      const Integers others = *reinterpret_cast<const Integers*>(column + r) & kMagnitude;
      most = others > most ? others : most;
    }
    Integer greatest = 0;
    for (int lane = 0; lane < kLanes; ++lane) greatest = greater(greatest, most[lane]);
    int64_t found = k;
    while ((column[found] & kMagnitude) != greatest) ++found;
    if (found == k) return;
    is_odd_ = !is_odd_;
    exchange(rows_[k], rows_[found]);
    for (int j = 0; j < kBlock; ++j) {
      exchange(panel_[j * padded_ + k], panel_[j * padded_ + found]);
    }
  }
  static constexpr auto kMagnitude = std::is_same_v<Integer, int32_t>
                                         ? static_cast<Integer>(INT32_MAX)
                                         : static_cast<Integer>(INT64_MAX);
  static Integer greater(Integer a, Integer b) { return a > b ? a : b; }
  template <typename U>
  static void exchange(U& a, U& b) {
    const U old = a;
    a = b;
    b = old;
  }

  // Finds the pivots of the columns from `block` on, and how many times each pivot's row is
  // subtracted from those below it: factors take the place of the elements, in `panel_`. False if
  // the matrix is singular.
  bool factor_panel(int64_t block, int64_t columns) {
    for (int64_t r = 0; r < padded_; ++r) {
      for (int64_t j = 0; j < kBlock; ++j) {
        panel_[j * padded_ + r] = r >= block && r < size_ && j < columns ? rows_[r][block + j] : 0;
      }
    }
    bool is_regular = true;
    for (int64_t k = block; k < block + columns; ++k) {
      pivot(block, k);
      T* const column = panel_ + (k - block) * padded_;
      const bool is_zero = column[k] == 0;
      is_regular &= !is_zero;
      const Vector divisor = Vector{} + (is_zero ? T(1) : column[k]);
      const int64_t first = (k + 1) / kLanes * kLanes;
      T of_row[kBlock];
      for (int64_t j = k + 1 - block; j < columns; ++j) of_row[j] = panel_[j * padded_ + k];
      for (int64_t r = first; r < padded_; r += kLanes) {
        const Vector factors = at(column + r) / divisor;
        at(column + r) = factors;
        for (int64_t j = k + 1 - block; j < columns; ++j) {
          at(panel_ + j * padded_ + r) -= factors * of_row[j];
        }
      }
    }
    return is_regular;
  }

  // Makes the matrix an upper triangle; the sides follow. What is left of the diagonal may be
  // anything. False if it is singular.
  bool eliminate() {
    bool is_regular = true;
    is_odd_ = false;
    for (int64_t block = 0; block < size_; block += kBlock) {
      const int64_t columns = size_ - block < kBlock ? size_ - block : kBlock;
      is_regular &= factor_panel(block, columns);
      const int64_t begin = block / kLanes * kLanes;
      T* const* const pivots = rows_ + block;
      for (int64_t r = block + 1; r < size_; ++r) {
        T factors[kBlock];
        for (int j = 0; j < kBlock; ++j) factors[j] = panel_[j * padded_ + r];
        switch (r - block) {
          case 1: subtract<1>(rows_[r], pivots, factors, begin, width_); break;
          case 2: subtract<2>(rows_[r], pivots, factors, begin, width_); break;
          case 3: subtract<3>(rows_[r], pivots, factors, begin, width_); break;
          default: subtract<4>(rows_[r], pivots, factors, begin, width_); break;
        }
      }
    }
    return is_regular;
  }

  // The sides of row k, from column `begin` on, by the rows below it.
  template <int kVectors>
  void substitute(int64_t k, int64_t begin) {
    T* const row = rows_[k];
    Vector values[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) values[v] = at(row + begin + v * kLanes);
    for (int64_t j = k + 1; j < size_; ++j) {
      const T factor = row[j];
      T* const other = rows_[j] + begin;
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) values[v] -= factor * at(other + v * kLanes);
    }
    const Vector divisor = Vector{} + row[k];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) at(row + begin + v * kLanes) = values[v] / divisor;
  }

  bool solve(int64_t i) {
    load_matrix(i);
    if (a_.op == Op::kSolve) {
      load(y_ + i * a_.y.batch, a_.y.row, a_.y.column, sides_, elements_ + padded_);
    } else {
      for (int64_t r = 0; r < size_; ++r) {
        for (int64_t c = 0; c < width_ - padded_; ++c) rows_[r][padded_ + c] = T(r == c);
      }
    }
    if (!eliminate()) return false;
    for (int64_t k = size_ - 1; k >= 0; --k) {
      int64_t c = padded_;
      for (; c + 8 * kLanes <= width_; c += 8 * kLanes) substitute<8>(k, c);
      for (; c + 4 * kLanes <= width_; c += 4 * kLanes) substitute<4>(k, c);
      for (; c < width_; c += kLanes) substitute<1>(k, c);
    }
    T* out = out_ + i * size_ * sides_;
    for (int64_t r = 0; r < size_; ++r, out += sides_) {
      const T* const row = rows_[r] + padded_;
      for (int64_t c = 0; c < sides_; ++c) out[c] = canonical(row[c]);
    }
    return true;
  }

  void determinant(int64_t i) {
    load_matrix(i);
    eliminate();
    double sign = is_odd_ ? -1 : 1;
    if (a_.mode == 0) {
      out_[i] = canonical(static_cast<T>(sign * product()));
      return;
    }
    double logarithm = 0;
    for (int64_t k = 0; k < size_; ++k) {
      const auto value = static_cast<double>(rows_[k][k]);
      logarithm += __builtin_log(__builtin_fabs(value));
      sign *= value != value ? value : static_cast<double>((value > 0) - (value < 0));
    }
    out_[i] = canonical(static_cast<T>(sign));
    out_[a_.count + i] = canonical(static_cast<T>(logarithm));
  }
  double product() const {
    static_assert(kBlock * sizeof(T) >= sizeof(double));
    double* const pivots = reinterpret_cast<double*>(panel_);
    for (int64_t k = 0; k < size_; ++k) pivots[k] = static_cast<double>(rows_[k][k]);
    return product_of_pivots(pivots, size_);
  }

  // Row by row of the upper factor, of which the lower one is the transpose.
  bool factor(int64_t i) {
    const bool upper = a_.mode == 1;
    const T* const x = x_ + i * a_.x.batch;
    load(x, upper ? a_.x.row : a_.x.column, upper ? a_.x.column : a_.x.row, size_, elements_);
    for (int64_t r = 0; r < size_; ++r) {
      int64_t c = r / kLanes * kLanes;
      for (; c + 4 * kLanes <= width_; c += 4 * kLanes) subtract_rows_above<4>(r, c);
      for (; c < width_; c += kLanes) subtract_rows_above<1>(r, c);
      T* const row = elements_ + r * stride_;
      if (!(row[r] > 0)) return false;
      const T root = math::sqrt(row[r]);
      const Vector divisor = Vector{} + root;
      for (c = r / kLanes * kLanes; c < width_; c += kLanes) at(row + c) /= divisor;
      row[r] = root;
    }
    for (int64_t r = 0; r < size_; ++r) {
      T* const row = elements_ + r * stride_;
      for (int64_t c = 0; c < r; ++c) row[c] = 0;
      for (int64_t c = r; c < size_; ++c) row[c] = canonical(row[c]);
    }
    T* const out = out_ + i * size_ * size_;
    if (upper) {
      for (int64_t r = 0; r < size_; ++r) {
        for (int64_t c = 0; c < size_; ++c) out[r * size_ + c] = elements_[r * stride_ + c];
      }
    } else {
      transpose<T>(elements_, stride_, size_, size_, out, size_);
    }
    return true;
  }
  template <int kVectors>
  void subtract_rows_above(int64_t r, int64_t begin) {
    T* const row = elements_ + r * stride_ + begin;
    Vector values[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) values[v] = at(row + v * kLanes);
    const T* above = elements_;
    for (int64_t k = 0; k < r; ++k, above += stride_) {
      const T factor = above[r];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        values[v] -= factor * *reinterpret_cast<const Vector*>(above + begin + v * kLanes);
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) at(row + v * kLanes) = values[v];
  }

  const FactorAttributes& a_;
  const int64_t size_, sides_;
  // A row's elements are whole vectors, and so are its sides, which follow.
  const int64_t padded_, width_, stride_;
  const T* const x_;
  const T* const y_;
  T* const out_;
  const Scratch scratch_;
  T* const elements_;
  T* const panel_;  // kBlock columns, one after another
  T** const rows_;  // in the order of pivots
  bool is_odd_ = false;
};

}  // namespace

int64_t row_factor(const FactorAttributes& attributes, void* const* buffers, int64_t begin,
                   int64_t end) {
  return attributes.dtype == DType::kFloat32
             ? RowFactor<float>(attributes, buffers).run(begin, end)
             : RowFactor<double>(attributes, buffers).run(begin, end);
}

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE
