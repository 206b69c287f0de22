#include "kernels/cuda/library/factor/cusolver_factor.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/library/factor/factor_text.h"
#include "kernels/gpu/emit/types.h"
#include "kernels/gpu/run/call.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::FactorAttributes;
using fusion::Op;
using runtime::cuda::CurrentContext;

// The library counts what it works with in 32 bits.
constexpr int64_t kMostElements = 1 << 28;
// Iterations and QR of less are the host's: LAPACK takes no longer.
constexpr int64_t kLeastFlops = 1 << 23;
// And of more matrices: the host takes them apart side by side.
constexpr int64_t kMostMatrices = 8;

constexpr int64_t kAll = 0, kLower = 1, kUpper = 2;  // sl_matrix_copy's `keep`

bool is_direct(Op op) { return op != Op::kQr && op != Op::kSvd && op != Op::kEigh; }

}  // namespace

// One call of ours, in the type of its elements. Functions return what the library says; `status_`
// has what failed besides.
template <typename T>
class CusolverFactor::Call {
 public:
  Call(CusolverFactor* of, runtime::cuda::CudaStream* stream, const FactorAttributes& attributes,
       absl::Span<void* const> buffers, absl::string_view label, MatrixFailures* failures)
      : parent_(*of),
        routines_(of->library_.of<T>()),
        handle_(of->handle_),
        stream_(*stream),
        a_(attributes),
        label_(label),
        failures_(*failures),
        parts_(attributes.parts()),
        rows_(static_cast<int>(attributes.rows)),
        columns_(static_cast<int>(attributes.columns)),
        least_(std::min(rows_, columns_)),
        sides_(static_cast<int>(attributes.sides)),
        x_(static_cast<const T*>(buffers[0]) + attributes.x.offset),
        y_(static_cast<const T*>(buffers[buffers.size() - 2]) + attributes.y.offset),
        out_(static_cast<T*>(buffers.back())) {}
  // Later work on the stream may reuse it.
  ~Call() {
    if (memory_ != nullptr) stream_.device().allocator().free(memory_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  SolverStatus run() {
    SolverStatus result = parent_.library_.set_stream(handle_, stream_.handle());
    if (result == SolverStatus::kSuccess) result = ask_for_workspace();
    if (result != SolverStatus::kSuccess || !allocate()) return result;
    for (int64_t i = 0; i < a_.count && result == SolverStatus::kSuccess && status_.ok(); ++i) {
      result = take_apart(i);
    }
    return result;
  }
  const absl::Status& status() const { return status_; }
  // Once the device is done.
  bool is_accurate() const {
    return std::all_of(perturbations_.begin(), perturbations_.end(),
                       [](double added) { return added == 0; });
  }

 private:
  static constexpr SolverType kType =
      sizeof(T) == sizeof(float) ? SolverType::kFloat32 : SolverType::kFloat64;

  // Part k of the i-th matrix.
  T* part(int k, int64_t i) const {
    int64_t before = 0;
    for (int p = 0; p < k; ++p) before += parts_[p];
    return out_ + a_.count * before + i * parts_[k];
  }
  bool with_vectors() const { return a_.mode != 0; }
  SolverVectors vectors() const {
    return with_vectors() ? SolverVectors::kYes : SolverVectors::kNo;
  }
  int* info(int64_t i) const { return failures_.flag_of(i); }

  // ---- Memory: a matrix, others beside it, integers, what the library works in.

  SolverStatus ask_for_workspace() {
    const int64_t m = a_.rows, n = a_.columns;
    first_ = m * n;
    int sizes[2] = {0, 0};
    SolverStatus result = SolverStatus::kSuccess;
    switch (a_.op) {
      case Op::kCholesky:
        if (a_.mode == 1) first_ = 0;
        result = routines_.potrf_bufferSize(handle_, SolverFill::kLower, rows_, out_, rows_, sizes);
        break;
      case Op::kQr: {
        first_ = m * std::max<int64_t>(n, middle());
        second_ = least_;
        result = routines_.geqrf_bufferSize(handle_, rows_, columns_, out_, rows_, sizes);
        if (result != SolverStatus::kSuccess) return result;
        result = routines_.orgqr_bufferSize(handle_, rows_, middle(), least_, out_, rows_, out_,
                                            sizes + 1);
        break;
      }
      case Op::kSvd:
        second_ = m * across();
        third_ = with_vectors() ? 0 : n * down();
        result = parent_.library_.gesvdp_bufferSize(
            handle_, parent_.params_, vectors(), only_least(), n, m, kType, out_, n, kType, out_,
            kType, out_, n, kType, out_, m, kType, &work_bytes_, &host_bytes_);
        perturbations_.resize(static_cast<size_t>(a_.count));
        break;
      case Op::kEigh:
        first_ = with_vectors() ? 0 : m * m;
        result = routines_.syevd_bufferSize(handle_, vectors(), SolverFill::kUpper, rows_, out_,
                                            rows_, out_, sizes);
        break;
      default:
        second_ = a_.op == Op::kSolve ? m * a_.sides : 0;
        integers_ = m;
        result = routines_.getrf_bufferSize(handle_, rows_, rows_, out_, rows_, sizes);
        break;
    }
    work_size_ = std::max({sizes[0], sizes[1], 1});
    work_bytes_ = std::max(work_bytes_, sizeof(T) * static_cast<size_t>(work_size_));
    return result;
  }

  bool allocate() {
    constexpr int64_t kAligned = runtime::kBufferAlignment;
    const auto bytes = [](int64_t elements, size_t size) {
      return round_up(elements * static_cast<int64_t>(size), kAligned);
    };
    const int64_t before[] = {bytes(first_, sizeof(T)), bytes(second_, sizeof(T)),
                              bytes(third_, sizeof(T)), bytes(integers_, sizeof(int)),
                              static_cast<int64_t>(work_bytes_)};
    int64_t all = 0;
    for (const int64_t size : before) all += size;
    const absl::StatusOr<void*> memory =
        stream_.device().allocator().allocate(static_cast<size_t>(all), &stream_);
    if (!memory.ok()) {
      status_ = memory.status();
      return false;
    }
    memory_ = *memory;
    char* next = static_cast<char*>(memory_);
    matrix_ = reinterpret_cast<T*>(next);
    beside_ = reinterpret_cast<T*>(next += before[0]);
    more_ = reinterpret_cast<T*>(next += before[1]);
    pivots_ = reinterpret_cast<int*>(next += before[2]);
    work_ = reinterpret_cast<T*>(next += before[3]);
    return true;
  }

  // ---- Copies. Each part of the result is written by one last, or copied in place: it makes every
  // NaN the canonical one, and looks whether the matrix could be taken apart.

  void copy(MatrixCopyArguments arguments) {
    if (!status_.ok()) return;
    const int64_t blocks = ceil_div(arguments.rows * arguments.columns, int64_t{kThreads});
    status_ = parent_.copying(a_.dtype).launch(&stream_, &arguments, blocks, label_);
  }
  // From strided rows to rows without gaps.
  static MatrixCopyArguments dense(const T* from, int64_t rows, int64_t columns, int64_t from_row,
                                   int64_t from_column, T* to) {
    MatrixCopyArguments arguments;
    arguments.from = from;
    arguments.to = to;
    arguments.rows = rows;
    arguments.columns = columns;
    arguments.from_row = from_row;
    arguments.from_column = from_column;
    arguments.to_row = columns;
    return arguments;
  }
  // From columns, `line` elements apart.
  static MatrixCopyArguments by_columns(const T* from, int64_t rows, int64_t columns, int64_t line,
                                        T* to) {
    return dense(from, rows, columns, 1, line, to);
  }
  // `has_nan`: null, or what to set if there is one.
  void copy_x(int64_t i, T* to, int32_t* has_nan = nullptr) {
    MatrixCopyArguments arguments =
        dense(x_ + i * a_.x.batch, a_.rows, a_.columns, a_.x.row, a_.x.column, to);
    arguments.has_nan = has_nan;
    copy(arguments);
  }
  void copy_columns_of_x(int64_t i, T* to) {
    copy(dense(x_ + i * a_.x.batch, a_.columns, a_.rows, a_.x.column, a_.x.row, to));
  }
  void finish(int64_t i, MatrixCopyArguments arguments, int64_t keep = kAll) {
    arguments.keep = keep;
    arguments.failed = failures_.flags();
    arguments.matrix = i;
    arguments.nan_where_failed = a_.op == Op::kInv && a_.mode == 1;
    copy(arguments);
  }
  void finish_in_place(int64_t i, T* part, int64_t rows, int64_t columns, int64_t keep = kAll) {
    finish(i, dense(part, rows, columns, columns, 1, part), keep);
  }

  // What the library refuses is none of the stream's failures.
  template <typename F>
  SolverStatus enqueue(F call) {
    SolverStatus result = SolverStatus::kSuccess;
    if (!status_.ok()) return result;
    status_ = stream_.enqueue(label_, [&] {
      result = call();
      return absl::OkStatus();
    });
    return result;
  }

  // ---- The ops.

  SolverStatus take_apart(int64_t i) {
    switch (a_.op) {
      case Op::kCholesky: return cholesky(i);
      case Op::kQr: return qr(i);
      case Op::kSvd: return svd(i);
      case Op::kEigh: return eigh(i);
      case Op::kSolve: return solve(i);
      case Op::kInv: return inv(i);
      default: return det(i);
    }
  }

  // The lower triangle by columns, in less than half the time that the upper one takes: of an upper
  // factor that are the rows as they lie.
  SolverStatus cholesky(int64_t i) {
    const bool upper = a_.mode == 1;
    T* const factor = upper ? part(0, i) : matrix_;
    if (upper) {
      copy_x(i, factor);
    } else {
      copy_columns_of_x(i, factor);
    }
    const SolverStatus result = enqueue([&] {
      return routines_.potrf(handle_, SolverFill::kLower, rows_, factor, rows_, work_, work_size_,
                             info(i));
    });
    if (result != SolverStatus::kSuccess) return result;
    if (upper) {
      finish_in_place(i, factor, a_.rows, a_.rows, kUpper);
    } else {
      finish(i, by_columns(factor, a_.rows, a_.rows, a_.rows, part(0, i)), kLower);
    }
    return result;
  }

  int middle() const { return a_.mode == 0 ? least_ : rows_; }

  SolverStatus qr(int64_t i) {
    copy_columns_of_x(i, matrix_);
    SolverStatus result = enqueue([&] {
      return routines_.geqrf(handle_, rows_, columns_, matrix_, rows_, beside_, work_, work_size_,
                             info(i));
    });
    if (result != SolverStatus::kSuccess) return result;
    finish(i, by_columns(matrix_, middle(), a_.columns, a_.rows, part(1, i)), kUpper);
    result = enqueue([&] {
      return routines_.orgqr(handle_, rows_, middle(), least_, matrix_, rows_, beside_, work_,
                             work_size_, info(i));
    });
    if (result != SolverStatus::kSuccess) return result;
    finish(i, by_columns(matrix_, a_.rows, middle(), a_.rows, part(0, i)));
    return result;
  }

  // The matrix is x^T = V S U^T: the library's u are our vh, its v our u.
  bool only_least() const { return a_.mode != 2; }
  int64_t across() const { return only_least() ? least_ : a_.rows; }   // columns of u
  int64_t down() const { return only_least() ? least_ : a_.columns; }  // rows of vh

  SolverStatus svd(int64_t i) {
    copy_x(i, matrix_);
    T* const s = part(with_vectors() ? 1 : 0, i);
    T* const vh = with_vectors() ? part(2, i) : more_;
    std::vector<char> host_work(host_bytes_);
    const SolverStatus result = enqueue([&] {
      return parent_.library_.gesvdp(handle_, parent_.params_, vectors(), only_least(), a_.columns,
                                     a_.rows, kType, matrix_, a_.columns, kType, s, kType, vh,
                                     a_.columns, kType, beside_, a_.rows, kType, work_, work_bytes_,
                                     host_work.data(), host_bytes_, info(i), &perturbations_[i]);
    });
    if (result != SolverStatus::kSuccess) return result;
    finish_in_place(i, s, 1, least_);
    if (with_vectors()) {
      finish(i, by_columns(beside_, a_.rows, across(), a_.rows, part(0, i)));
      finish_in_place(i, vh, down(), a_.columns);
    }
    return result;
  }

  SolverStatus eigh(int64_t i) {
    T* const x = with_vectors() ? part(1, i) : matrix_;
    copy_x(i, x);
    const SolverStatus result = enqueue([&] {
      return routines_.syevd(handle_, vectors(), SolverFill::kUpper, rows_, x, rows_, part(0, i),
                             work_, work_size_, info(i));
    });
    if (result != SolverStatus::kSuccess) return result;
    finish_in_place(i, part(0, i), 1, a_.rows);
    if (with_vectors()) finish_in_place(i, x, a_.rows, a_.rows);
    return result;
  }

  // LU of x^T, in matrix_ and pivots_.
  SolverStatus lu(int64_t i, int32_t* has_nan = nullptr) {
    copy_x(i, matrix_, has_nan);
    return enqueue([&] {
      return routines_.getrf(handle_, rows_, rows_, matrix_, rows_, work_, pivots_, info(i));
    });
  }
  // The i-th matrix's info is LU's: that of this one says only what is wrong with the call.
  SolverStatus substitute(SolverTranspose transpose, int sides, T* b) {
    return enqueue([&] {
      return routines_.getrs(handle_, transpose, rows_, sides, matrix_, rows_, pivots_, b, rows_,
                             reinterpret_cast<int*>(work_));
    });
  }

  SolverStatus solve(int64_t i) {
    SolverStatus result = lu(i);
    if (result != SolverStatus::kSuccess) return result;
    copy(dense(y_ + i * a_.y.batch, a_.sides, a_.rows, a_.y.column, a_.y.row, beside_));
    result = substitute(SolverTranspose::kYes, sides_, beside_);
    if (result != SolverStatus::kSuccess) return result;
    finish(i, by_columns(beside_, a_.rows, a_.sides, a_.rows, part(0, i)));
    return result;
  }

  // The columns of (x^T)^-1 are the rows of x^-1.
  SolverStatus inv(int64_t i) {
    SolverStatus result = lu(i);
    if (result != SolverStatus::kSuccess) return result;
    T* const out = part(0, i);
    copy(dense(nullptr, a_.rows, a_.rows, 0, 0, out));
    result = substitute(SolverTranspose::kNo, rows_, out);
    if (result == SolverStatus::kSuccess) finish_in_place(i, out, a_.rows, a_.rows);
    return result;
  }

  // To the library a column of NaNs is one of zeros. No determinant fails, so the flag for that
  // says whether there is a NaN, until the product is computed.
  SolverStatus det(int64_t i) {
    const SolverStatus result = lu(i, failures_.flags());
    if (result != SolverStatus::kSuccess || !status_.ok()) return result;
    FactorArguments arguments;
    arguments.failed = failures_.flags();
    arguments.x.base = matrix_;
    arguments.x.row = a_.rows;
    arguments.x.column = 1;
    arguments.y.base = pivots_;
    arguments.out[0] = part(0, i);
    arguments.out[1] = part(1, i);
    arguments.rows = a_.rows;
    arguments.mode = a_.mode;
    status_ = parent_.multiplying(a_.dtype).launch(&stream_, &arguments, 1, label_);
    return result;
  }

  CusolverFactor& parent_;
  const CusolverOf<T>& routines_;
  const SolverHandle handle_;
  runtime::cuda::CudaStream& stream_;
  const FactorAttributes& a_;
  const absl::string_view label_;
  MatrixFailures& failures_;
  const std::array<int64_t, fusion::kMaxFactorParts> parts_;
  const int rows_, columns_, least_, sides_;
  const T* const x_;
  const T* const y_;
  T* const out_;
  absl::Status status_;
  int64_t first_ = 0, second_ = 0, third_ = 0, integers_ = 0;  // elements of what follows
  T *matrix_ = nullptr, *beside_ = nullptr, *more_ = nullptr;
  int* pivots_ = nullptr;
  T* work_ = nullptr;
  int work_size_ = 0;  // in elements
  size_t work_bytes_ = 0, host_bytes_ = 0;
  std::vector<double> perturbations_;
  void* memory_ = nullptr;  // that all of these lie in
};

absl::StatusOr<std::unique_ptr<CusolverFactor>> CusolverFactor::make(
    runtime::cuda::Context* context, Compiler* compiler, const Cusolver* library) {
  std::unique_ptr<CusolverFactor> made(new CusolverFactor(context, compiler, library));
  const CurrentContext current(context);
  if (!current.status().ok()) return current.status();
  SolverStatus status = library->create(&made->handle_);
  if (status != SolverStatus::kSuccess) {
    made->handle_ = nullptr;
  } else if (status = library->create_params(&made->params_); status != SolverStatus::kSuccess) {
    made->params_ = nullptr;
  }
  if (status == SolverStatus::kSuccess) return made;
  return absl::InternalError(
      absl::StrCat("cuSOLVER does not start: status ", static_cast<int>(status)));
}

CusolverFactor::~CusolverFactor() {
  const CurrentContext current(context_);
  if (params_ != nullptr) library_.destroy_params(params_);
  if (handle_ != nullptr) library_.destroy(handle_);
}

bool CusolverFactor::suits(const FactorAttributes& of) {
  const auto parts = of.parts();
  const int64_t most =
      std::max(of.rows * of.columns, *std::max_element(parts.begin(), parts.end()));
  if (most == 0 || most > kMostElements) return false;
  if (is_direct(of.op)) return true;
  return of.count <= kMostMatrices && of.flops_of_one() >= kLeastFlops * of.count;
}

SourceKernel& CusolverFactor::copying(DType dtype) {
  const std::string name = absl::StrCat("matrix_copy_", memory_type(dtype));
  return kernels_.get(name, [&] {
    return absl::StrCat(kFactorText, "SL_KERNEL(", name, ", sl_matrix_copy) { sl_copy_matrix<",
                        memory_type(dtype), ">(p); }\n");
  });
}

SourceKernel& CusolverFactor::multiplying(DType dtype) {
  const std::string name = absl::StrCat("product_of_pivots_", memory_type(dtype));
  return kernels_.get(name, [&] {
    return absl::StrCat(kFactorText, "SL_KERNEL(", name, ", sl_factor) { sl_product_of_pivots<",
                        memory_type(dtype), ">(p); }\n");
  });
}

absl::Status CusolverFactor::prepare(const FactorAttributes& of) {
  const absl::Status status = copying(of.dtype).compile();
  return status.ok() && of.op == Op::kDet ? multiplying(of.dtype).compile() : status;
}

absl::StatusOr<bool> CusolverFactor::run(runtime::cuda::CudaStream* stream,
                                         const FactorAttributes& of,
                                         absl::Span<void* const> buffers, absl::string_view label) {
  MatrixFailures failures(stream, &of, label);
  if (absl::Status status = failures.allocate(); !status.ok()) return status;
  std::lock_guard lock(running_);
  const auto run_in = [&]<typename T>(T) -> absl::StatusOr<bool> {
    Call<T> call(this, stream, of, buffers, label, &failures);
    const SolverStatus result = call.run();
    if (!call.status().ok()) return call.status();
    if (result == SolverStatus::kAllocFailed) {
      return absl::ResourceExhaustedError(
          absl::StrCat(std::string(label), ": no memory for cuSOLVER"));
    }
    if (result != SolverStatus::kSuccess) return false;
    absl::Status status = failures.wait();
    if (!status.ok()) return status;
    return call.is_accurate();
  };
  return of.dtype == DType::kFloat32 ? run_in(float{}) : run_in(double{});
}

}  // namespace sluice::kernels::cuda
