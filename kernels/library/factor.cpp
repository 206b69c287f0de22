// Matrices taken apart on the CPU, by LAPACK: each by one thread, those of a batch side by side, so
// that bits do not depend on the threads. Those of up to kMaxRowFactor rows have loops of ours, if
// they are not iterated on: LAPACK's blocks, and its calls, are for larger ones.
//
// LAPACK's matrices lie by columns, ours by rows, so that what it is given is x transposed. It is
// asked for that matrix's factors: of x^T = (L Q)^T for x = QR, of x^T = V S U^T for x = U S V^T.
#include "fusion/library/factor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

#include "kernels/library/determinant.h"
#include "kernels/library/factor_failure.h"
#include "kernels/library/lapack.h"
#include "kernels/library/library.h"
#include "kernels/library/loops/loops.h"
#include "kernels/library/loops/row_factor.h"
#include "kernels/library/scratch.h"
#include "runtime/cpu/parallel.h"

namespace sluice::kernels {
namespace {

using fusion::FactorAttributes;
using fusion::Op;
using fusion::StridedMatrices;

constexpr int64_t kFlopGrain = 1 << 16;  // flops

std::mutex one_at_a_time;  // held while a LAPACK runs that is not thread-safe

template <typename T>
void copy_rows(const T* from, const StridedMatrices& layout, int64_t rows, int64_t columns, T* to) {
  for (int64_t i = 0; i < rows; ++i, to += columns) {
    const T* const row = from + i * layout.row;
    if (layout.column == 1) {
      std::copy_n(row, columns, to);
    } else {
      for (int64_t j = 0; j < columns; ++j) to[j] = row[j * layout.column];
    }
  }
}

// The matrices of one call, one after another. Each function returns what LAPACK does: 0, or where
// it failed.
template <typename T>
class Factor {
 public:
  Factor(const FactorAttributes& attributes, const LapackOf<T>& lapack,
         absl::Span<void* const> buffers)
      : a_(attributes),
        lapack_(lapack),
        parts_(attributes.parts()),
        rows_(static_cast<int>(attributes.rows)),
        columns_(static_cast<int>(attributes.columns)),
        least_(std::min(rows_, columns_)),
        sides_(static_cast<int>(attributes.sides)),
        x_(static_cast<const T*>(buffers[0]) + attributes.x.offset),
        y_(attributes.op == Op::kSolve ? static_cast<const T*>(buffers[1]) + attributes.y.offset
                                       : nullptr),
        out_(static_cast<T*>(buffers[buffers.size() - 1])) {
    ask_for_workspace();
  }

  int run(int64_t i) const {
    // What the routines below need at the most, besides the workspace.
    const int64_t matrix = a_.rows * a_.columns, sides = a_.rows * a_.sides;
    const Scratch memory(sizeof(T) * static_cast<size_t>(matrix + sides + least_ + work_size_));
    const Scratch integers(sizeof(int) * static_cast<size_t>(std::max(num_integers_, 1)));
    Space space;
    space.x = reinterpret_cast<T*>(memory.data());
    space.y = space.x + matrix;
    space.tau = space.y + sides;
    space.work = space.tau + least_;
    space.integers = reinterpret_cast<int*>(integers.data());
    switch (a_.op) {
      case Op::kCholesky: return cholesky(i);
      case Op::kQr: return qr(i, space);
      case Op::kSvd: return svd(i, space);
      case Op::kEigh: return eigh(i, space);
      case Op::kSolve: return solve(i, space);
      case Op::kInv: return inv(i, space);
      default: return det(i, space);
    }
  }

  // Every NaN in memory is the canonical one.
  void canonicalize(int64_t i) const {
    for (int k = 0; k < fusion::kMaxFactorParts; ++k) {
      for (T& value : absl::MakeSpan(part(k, i), static_cast<size_t>(parts_[k]))) {
        if (value != value) value = std::numeric_limits<T>::quiet_NaN();
      }
    }
  }

 private:
  struct Space {
    T *x, *y, *tau, *work;
    int* integers;
  };

  // Part k of the i-th matrix.
  T* part(int k, int64_t i) const {
    int64_t before = 0;
    for (int p = 0; p < k; ++p) before += parts_[p];
    return out_ + a_.count * before + i * parts_[k];
  }
  void copy_x(int64_t i, T* to) const {
    copy_rows(x_ + i * a_.x.batch, a_.x, a_.rows, a_.columns, to);
  }

  void ask_for_workspace() {
    T size = 0;
    T none = 0;
    int integer = 0, info = 0;
    const int ask = -1;
    const int m = std::max(rows_, 1), n = std::max(columns_, 1), least = std::max(least_, 1);
    switch (a_.op) {
      case Op::kQr: {
        lapack_.gelqf(&n, &m, &none, &n, &none, &size, &ask, &info);
        work_size_ = static_cast<int>(size);
        const int middle = a_.mode == 0 ? least : m;
        lapack_.orglq(&middle, &m, &least, &none, &middle, &none, &size, &ask, &info);
        break;
      }
      case Op::kSvd:
        lapack_.gesdd(job(), &n, &m, &none, &n, &none, &none, &n, &none, &m, &size, &ask, &integer,
                      &info, 1);
        num_integers_ = 8 * least;
        break;
      case Op::kEigh:
        lapack_.syevd(job(), "U", &n, &none, &n, &none, &size, &ask, &num_integers_, &ask, &info, 1,
                      1);
        break;
      case Op::kInv:
        lapack_.getri(&n, &none, &n, &integer, &size, &ask, &info);
        num_integers_ = n;
        break;
      default: num_integers_ = n; break;
    }
    // float32 rounds large sizes, possibly down.
    const T rounded = std::ceil(size * (1 + std::numeric_limits<T>::epsilon()));
    work_size_ = std::max(work_size_, static_cast<int>(rounded));
  }
  const char* job() const {
    if (a_.op == Op::kEigh) return a_.mode == 0 ? "N" : "V";
    return a_.mode == 0 ? "N" : a_.mode == 1 ? "S" : "A";
  }

  int cholesky(int64_t i) const {
    T* const out = part(0, i);
    copy_x(i, out);
    int info = 0;
    const bool upper = a_.mode == 1;
    lapack_.potrf(upper ? "L" : "U", &rows_, out, &rows_, &info, 1);
    for (int64_t r = 0; r < a_.rows; ++r) {
      T* const row = out + r * a_.rows;
      upper ? std::fill(row, row + r, T(0)) : std::fill(row + r + 1, row + a_.rows, T(0));
    }
    return info;
  }

  int qr(int64_t i, const Space& space) const {
    int info = 0;
    copy_x(i, space.x);
    lapack_.gelqf(&columns_, &rows_, space.x, &columns_, space.tau, space.work, &work_size_, &info);
    const int middle = a_.mode == 0 ? least_ : rows_;
    T* const r = part(1, i);
    std::fill_n(r, parts_[1], T(0));
    for (int64_t k = 0; k < least_; ++k) {
      std::copy(space.x + k * columns_ + k, space.x + (k + 1) * columns_, r + k * columns_ + k);
    }
    T* const q = part(0, i);
    for (int64_t k = 0; k < rows_; ++k) {
      std::copy_n(space.x + k * columns_, least_, q + k * middle);
    }
    if (info != 0) return info;
    lapack_.orglq(&middle, &rows_, &least_, q, &middle, space.tau, space.work, &work_size_, &info);
    return info;
  }

  int svd(int64_t i, const Space& space) const {
    int info = 0;
    copy_x(i, space.x);
    const bool with_vectors = a_.mode != 0;
    T* const u = with_vectors ? part(0, i) : space.work;
    T* const s = part(with_vectors ? 1 : 0, i);
    T* const vh = with_vectors ? part(2, i) : space.work;
    const int row_of_u = a_.mode == 1 ? least_ : rows_;
    lapack_.gesdd(job(), &columns_, &rows_, space.x, &columns_, s, vh, &columns_, u, &row_of_u,
                  space.work, &work_size_, space.integers, &info, 1);
    return info;
  }

  int eigh(int64_t i, const Space& space) const {
    int info = 0;
    T* const x = a_.mode == 0 ? space.x : part(1, i);
    copy_x(i, x);
    lapack_.syevd(job(), "U", &rows_, x, &rows_, part(0, i), space.work, &work_size_,
                  space.integers, &num_integers_, &info, 1, 1);
    return info;
  }

  int solve(int64_t i, const Space& space) const {
    int info = 0;
    copy_x(i, space.x);
    lapack_.getrf(&rows_, &rows_, space.x, &rows_, space.integers, &info);
    if (info != 0) return info;
    const T* const y = y_ + i * a_.y.batch;
    T* const out = part(0, i);
    // By columns.
    copy_rows(y, {0, 0, a_.y.column, a_.y.row}, a_.sides, a_.rows, space.y);
    lapack_.getrs("T", &rows_, &sides_, space.x, &rows_, space.integers, space.y, &rows_, &info, 1);
    copy_rows<T>(space.y, {0, 0, 1, a_.rows}, a_.rows, a_.sides, out);
    return info;
  }

  int inv(int64_t i, const Space& space) const {
    int info = 0;
    T* const out = part(0, i);
    copy_x(i, out);
    lapack_.getrf(&rows_, &rows_, out, &rows_, space.integers, &info);
    if (info > 0 && a_.mode == 1) {
      std::fill_n(out, a_.rows * a_.rows, std::numeric_limits<T>::quiet_NaN());
      return 0;
    }
    if (info != 0) return info;
    lapack_.getri(&rows_, out, &rows_, space.integers, space.work, &work_size_, &info);
    return info;
  }

  // The product of LU's diagonal.
  int det(int64_t i, const Space& space) const {
    int info = 0;
    copy_x(i, space.x);
    lapack_.getrf(&rows_, &rows_, space.x, &rows_, space.integers, &info);
    std::vector<double> pivots(static_cast<size_t>(a_.rows));
    double sign = 1, logarithm = 0;
    for (int64_t k = 0; k < a_.rows; ++k) {
      pivots[k] = space.x[k * a_.rows + k];
      if (space.integers[k] != k + 1) sign = -sign;
    }
    if (a_.mode == 0) {
      *part(0, i) = static_cast<T>(sign * product_of_pivots(pivots.data(), a_.rows));
      return 0;  // that of a singular matrix is 0
    }
    for (const double pivot : pivots) {
      logarithm += std::log(std::abs(pivot));
      sign *= pivot != pivot ? pivot : static_cast<double>((pivot > 0) - (pivot < 0));
    }
    *part(0, i) = static_cast<T>(sign);
    *part(1, i) = static_cast<T>(logarithm);
    return 0;
  }

  const FactorAttributes& a_;
  const LapackOf<T>& lapack_;
  const std::array<int64_t, fusion::kMaxFactorParts> parts_;
  const int rows_, columns_, least_, sides_;
  const T* const x_;
  const T* const y_;
  T* const out_;
  int work_size_ = 1, num_integers_ = 0;
};

// Whether small_factor() has it.
bool is_small(const FactorAttributes& attributes) {
  if (attributes.rows == 0 || std::max(attributes.rows, attributes.sides) > kMaxRowFactor) {
    return false;
  }
  switch (attributes.op) {
    case Op::kCholesky:
    case Op::kSolve:
    case Op::kInv:
    case Op::kDet: return true;
    default: return false;
  }
}

// f(begin, end) takes apart matrices of the batch until one fails, which it returns; else `end`.
template <typename F>
absl::Status run_batch(const FactorAttributes& attributes, F f) {
  std::atomic<int64_t> failed{attributes.count};
  const int64_t grain = 1 + kFlopGrain / std::max<int64_t>(1, attributes.flops_of_one());
  parallel_for(attributes.count, grain, [&](int64_t begin, int64_t end) {
    const int64_t stopped = f(begin, end);
    if (stopped == end) return;
    int64_t first = failed.load();
    while (stopped < first && !failed.compare_exchange_weak(first, stopped)) {
    }
  });
  if (failed == attributes.count) return absl::OkStatus();
  return failure_of_matrix(attributes, failed);
}

template <typename T>
absl::Status run(const FactorAttributes& attributes, const Lapack& lapack,
                 absl::Span<void* const> buffers) {
  auto turn = [&] {
    return lapack.is_thread_safe ? std::unique_lock<std::mutex>() : std::unique_lock(one_at_a_time);
  };
  std::unique_lock<std::mutex> lock = turn();
  const Factor<T> factor(attributes, lapack.of<T>(), buffers);
  lock = {};
  return run_batch(attributes, [&](int64_t begin, int64_t end) {
    const std::unique_lock<std::mutex> lock_of_block = turn();
    for (int64_t i = begin; i < end; ++i) {
      if (factor.run(i) != 0) return i;
      factor.canonicalize(i);
    }
    return end;
  });
}

}  // namespace

absl::Status run_factor(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  const FactorAttributes& attributes = fusion::factor_of(call);
  if (is_small(attributes)) {
    return run_batch(attributes, [&](int64_t begin, int64_t end) {
      return library_loops().small_factor(attributes, buffers.data(), begin, end);
    });
  }
  const absl::StatusOr<Lapack>& lapack = find_lapack();
  if (!lapack.ok()) return lapack.status();
  if (std::max({attributes.rows, attributes.columns, attributes.sides}) > INT_MAX) {
    return absl::UnimplementedError("LAPACK counts rows and columns in 32 bits");
  }
  return attributes.dtype == DType::kFloat32 ? run<float>(attributes, *lapack, buffers)
                                             : run<double>(attributes, *lapack, buffers);
}

}  // namespace sluice::kernels
