// Systems, inverses, determinants and Cholesky factors of matrices of a few rows: as many of a
// batch as a vector has lanes, side by side. LAPACK takes longer to be called than these take.
#include "fusion/library/factor.h"

#include <cstdint>
#include <type_traits>

#include "kernels/library/determinant.h"
#include "kernels/library/loops/any_lane.h"
#include "kernels/library/loops/deinterleave.h"
#include "kernels/library/loops/determinant_formula.h"
#include "kernels/library/loops/loops.h"
#include "kernels/library/loops/row_factor.h"
#include "kernels/library/loops/short_lines.h"
#include "kernels/math/primitives.h"
#include "kernels/vector_bytes.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {
namespace {

using fusion::FactorAttributes;
using fusion::Op;
using fusion::StridedMatrices;

// Matrices of kRows rows, one a lane.
template <typename T, int kRows>
class SmallMatrices {
  static constexpr int kLanes = kVectorBytes / sizeof(T);
  using Integer = std::conditional_t<sizeof(T) == sizeof(float), int32_t, int64_t>;
  typedef T Vector __attribute__((vector_size(kVectorBytes), may_alias));
  typedef Integer Mask __attribute__((vector_size(kVectorBytes), may_alias));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(T))));

 public:
  SmallMatrices(const FactorAttributes& attributes, void* const* buffers)
      : a_(attributes),
        sides_(static_cast<int>(attributes.op == Op::kInv ? kRows : attributes.sides)),
        x_(static_cast<const T*>(buffers[0]) + attributes.x.offset),
        y_(attributes.op == Op::kSolve ? static_cast<const T*>(buffers[1]) + attributes.y.offset
                                       : nullptr),
        out_(static_cast<T*>(buffers[attributes.op == Op::kSolve ? 2 : 1])) {}

  // Matrices [begin, end); the first that is singular or not positive definite, or `end`.
  int64_t run(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kLanes) {
      const int count = static_cast<int>(end - i < kLanes ? end - i : kLanes);
      load_matrices(i, count);
      failed_ = Mask{};
      switch (a_.op) {
        case Op::kCholesky: factor(i, count); break;
        case Op::kSolve:
          load(y_ + i * a_.y.batch, a_.y, sides_, count, s_[0]);
          solve(i, count);
          break;
        case Op::kInv:
          for (int r = 0; r < kRows; ++r) {
            for (int c = 0; c < kRows; ++c) s_[r][c] = Vector{} + T(r == c);
          }
          solve(i, count);
          break;
        default: determinant(i, count);
      }
      if (!any_lane(failed_)) continue;
      for (int lane = 0; lane < count; ++lane) {
        if (failed_[lane] == 0) continue;
        if (a_.op != Op::kInv || a_.mode != 1) return i + lane;
        T* const inverse = out_ + (i + lane) * kRows * kRows;
        for (int k = 0; k < kRows * kRows; ++k) inverse[k] = static_cast<T>(__builtin_nan(""));
      }
    }
    return end;
  }

 private:
  static constexpr int kMaxSides = kMaxSmallMatrix;

  // Fewest rows of matrices that are loaded as squares of vectors; smaller ones are few vectors.
  static constexpr int kMinSquares = kVectorBytes == 32 ? 3 : 4;

  void load_matrices(int64_t i, int count) {
    const T* const from = x_ + i * a_.x.batch;
    const bool by_rows = a_.x.column == 1 && a_.x.row == kRows;
    const bool by_columns = a_.x.row == 1 && a_.x.column == kRows;
    if (kRows == 1 || count < kLanes || !(by_rows || by_columns)) {
      return load(from, a_.x, kRows, count, m_[0]);
    }
    if constexpr (kRows >= kMinSquares) {
      transpose(from, a_.x.batch, kLanes, kRows * kRows, reinterpret_cast<T*>(m_), kLanes);
    } else if (a_.x.batch == kRows * kRows) {
      Vector elements[kRows * kRows];
      for (int k = 0; k < kRows * kRows; ++k) {
        elements[k] = *reinterpret_cast<const Unaligned*>(from + k * kLanes);
      }
      Deinterleave<T, kRows * kRows>::run(elements, m_[0]);
    } else {
      return load(from, a_.x, kRows, count, m_[0]);
    }
    if (by_columns) transpose_each();
  }
  void transpose_each() {
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < r; ++c) {
        const Vector below = m_[r][c];
        m_[r][c] = m_[c][r];
        m_[c][r] = below;
      }
    }
  }

  // Lanes without a matrix have the last one.
  template <int kColumns>
  void load(const T* from, const StridedMatrices& layout, int columns, int count,
            Vector (&to)[kColumns]) {
    T* const lanes = reinterpret_cast<T*>(to);
    int64_t matrices[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      matrices[lane] = (lane < count ? lane : count - 1) * layout.batch;
    }
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < columns; ++c) {
        const T* const element = from + r * layout.row + c * layout.column;
        T* const of_element = lanes + (r * kColumns + c) * kLanes;
        for (int lane = 0; lane < kLanes; ++lane) of_element[lane] = element[matrices[lane]];
      }
    }
  }

  // The first rows of `values` are (kRows, columns).
  template <int kColumns>
  void store(const Vector (&values)[kColumns], int columns, int64_t i, int count) {
    const T* const lanes = reinterpret_cast<const T*>(values);
    for (int lane = 0; lane < count; ++lane) {
      T* const matrix = out_ + (i + lane) * kRows * columns;
      for (int r = 0; r < kRows; ++r) {
        for (int c = 0; c < columns; ++c) {
          matrix[r * columns + c] = canonical(lanes[(r * kColumns + c) * kLanes + lane]);
        }
      }
    }
  }
  static T canonical(T value) { return value == value ? value : static_cast<T>(__builtin_nan("")); }

  static Vector magnitude(const Vector& x) {
    constexpr auto kSign = static_cast<Integer>(Integer{1} << (8 * sizeof(T) - 1));
    return reinterpret_cast<Vector>(reinterpret_cast<Mask>(x) & ~kSign);
  }
  static void exchange(const Mask& which, Vector& a, Vector& b) {
    const Vector old = a;
    a = which ? b : a;
    b = which ? old : b;
  }

  // Rows from k on: that with the greatest element in column k becomes row k.
  void pivot(int k, int sides) {
    Vector most = magnitude(m_[k][k]);
    for (int r = k + 1; r < kRows; ++r) {
      const Vector other = magnitude(m_[r][k]);
      const Mask greater = other > most;
      most = greater ? other : most;
      odd_ ^= greater;
      for (int c = k; c < kRows; ++c) exchange(greater, m_[k][c], m_[r][c]);
      for (int c = 0; c < sides; ++c) exchange(greater, s_[k][c], s_[r][c]);
    }
  }

  // Makes the matrix an upper triangle; the sides follow.
  void eliminate(int sides) {
    odd_ = Mask{};
    for (int k = 0; k < kRows; ++k) {
      pivot(k, sides);
      const Mask zero = m_[k][k] == T(0);
      failed_ |= zero;
      const Vector divisor = zero ? Vector{} + T(1) : m_[k][k];
      for (int r = k + 1; r < kRows; ++r) {
        const Vector factor = m_[r][k] / divisor;
        for (int c = k + 1; c < kRows; ++c) m_[r][c] -= factor * m_[k][c];
        for (int c = 0; c < sides; ++c) s_[r][c] -= factor * s_[k][c];
      }
    }
  }

  void solve(int64_t i, int count) {
    eliminate(sides_);
    for (int k = kRows - 1; k >= 0; --k) {
      for (int c = 0; c < sides_; ++c) {
        Vector value = s_[k][c];
        for (int j = k + 1; j < kRows; ++j) value -= m_[k][j] * s_[j][c];
        s_[k][c] = value / m_[k][k];
      }
    }
    store(s_[0], sides_, i, count);
  }

  void determinant(int64_t i, int count) {
    Vector results;
    if constexpr (DeterminantFormula<T, kRows>::kIsKnown) {
      const Mask doubtful = DeterminantFormula<T, kRows>::run(m_, results);
      if (any_lane(doubtful)) {
        eliminate(0);
        for (int lane = 0; lane < kLanes; ++lane) {
          if (doubtful[lane] != 0) results[lane] = product_of_lane(lane);
        }
      }
    } else {
      eliminate(0);
      products(results);
    }
    failed_ = Mask{};  // that of a singular matrix is 0
    results = results == results ? results : Vector{} + static_cast<T>(__builtin_nan(""));
    if (count == kLanes) {
      *reinterpret_cast<Unaligned*>(out_ + i) = results;
    } else {
      for (int lane = 0; lane < count; ++lane) out_[i + lane] = results[lane];
    }
  }

  // Of the pivots.
  void products(Vector& of_lanes) {
    T* const results = reinterpret_cast<T*>(&of_lanes);
    const T* const lanes = reinterpret_cast<const T*>(m_[0]);
    double products[kLanes];
    int64_t exact[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      products[lane] = sign(lane);
      exact[lane] = 1;
    }
    for (int k = 0; k < kRows; ++k) {
      const T* const pivots = lanes + k * (kRows + 1) * kLanes;
      for (int lane = 0; lane < kLanes; ++lane) {
        products[lane] *= static_cast<double>(pivots[lane]);
        const double size = __builtin_fabs(products[lane]);
        exact[lane] &= (size > kLeastExactProduct) & (size < kMostExactProduct);
      }
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      results[lane] = exact[lane] != 0 ? static_cast<T>(products[lane]) : product_of_lane(lane);
    }
  }
  T product_of_lane(int lane) const {
    double pivots[kRows];
    for (int k = 0; k < kRows; ++k) pivots[k] = static_cast<double>(m_[k][k][lane]);
    return static_cast<T>(sign(lane) * product_of_pivots(pivots, kRows));
  }
  double sign(int lane) const { return static_cast<double>(1 + 2 * odd_[lane]); }  // odd: -1

  // Column by column, in place of the lower triangle.
  void factor(int64_t i, int count) {
    const bool upper = a_.mode == 1;
    if (upper) {
      for (int r = 0; r < kRows; ++r) {
        for (int c = 0; c < r; ++c) m_[r][c] = m_[c][r];
      }
    }
    for (int c = 0; c < kRows; ++c) {
      for (int r = c; r < kRows; ++r) {
        Vector value = m_[r][c];
        for (int k = 0; k < c; ++k) value -= m_[r][k] * m_[c][k];
        m_[r][c] = value;
      }
      failed_ |= ~(m_[c][c] > T(0));
      T* const lanes = reinterpret_cast<T*>(&m_[c][c]);
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = math::sqrt(lanes[lane]);
      for (int r = c + 1; r < kRows; ++r) m_[r][c] /= m_[c][c];
    }
    for (int r = 0; r < kRows; ++r) {
      for (int c = r + 1; c < kRows; ++c) {
        if (upper) m_[r][c] = m_[c][r];
        (upper ? m_[c][r] : m_[r][c]) = Vector{};
      }
    }
    store(m_[0], kRows, i, count);
  }

  const FactorAttributes& a_;
  const int sides_;
  const T* const x_;
  const T* const y_;
  T* const out_;
  Vector m_[kRows][kRows], s_[kRows][kMaxSides];
  Mask failed_, odd_;  // by lane: whether it has no result; whether rows were exchanged oddly often
};

template <typename T, int kRows = kMaxSmallMatrix>
int64_t run(const FactorAttributes& attributes, void* const* buffers, int64_t begin, int64_t end) {
  if constexpr (kRows > 1) {
    if (attributes.rows < kRows) return run<T, kRows - 1>(attributes, buffers, begin, end);
  }
  return SmallMatrices<T, kRows>(attributes, buffers).run(begin, end);
}

int64_t small_factor(const FactorAttributes& attributes, void* const* buffers, int64_t begin,
                     int64_t end) {
  const bool has_logarithm = attributes.op == Op::kDet && attributes.mode == 1;
  if (attributes.rows > kMaxSmallMatrix || attributes.sides > kMaxSmallMatrix || has_logarithm) {
    return row_factor(attributes, buffers, begin, end);
  }
  return attributes.dtype == DType::kFloat32 ? run<float>(attributes, buffers, begin, end)
                                             : run<double>(attributes, buffers, begin, end);
}

}  // namespace

void fill_small_factor(LibraryLoops& table) { table.small_factor = small_factor; }

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE
