#include "kernels/cuda/library/products/cublaslt_matmul.h"

#include <atomic>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/cuda_device.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::Op;
using runtime::cuda::CudaStream;
using runtime::cuda::CurrentContext;

constexpr size_t kMaxPlans = 1024;
constexpr uint32_t kAlignment = 16;  // of the vectors that kernels load and store

uint32_t alignment_of(const void* address, DType dtype) {
  return reinterpret_cast<uintptr_t>(address) % kAlignment == 0
             ? kAlignment
             : static_cast<uint32_t>(size_of(dtype));
}

LtDataType type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return LtDataType::kFloat16;
    case DType::kBFloat16: return LtDataType::kBFloat16;
    case DType::kFloat64: return LtDataType::kFloat64;
    default: return LtDataType::kFloat32;
  }
}

LtCompute compute_of(const Matmul& x) {
  if (x.operand_dtype == DType::kFloat64) return LtCompute::kFloat64;
  const bool is_tf32 = x.allow_tf32 && x.operand_dtype == DType::kFloat32;
  return is_tf32 ? LtCompute::kTf32 : LtCompute::kFloat32;
}

bool is_bias(const fusion::Epilogue& epilogue) {
  return epilogue.op == Op::kAdd && epilogue.one_row;
}

LtEpilogue folded_epilogue(absl::Span<const fusion::Epilogue> epilogues) {
  const size_t count = CublasLtMatmul::num_folded(epilogues);
  if (count == 0) return LtEpilogue::kNone;
  if (count == 2) return LtEpilogue::kReluBias;
  return is_bias(epilogues[0]) ? LtEpilogue::kBias : LtEpilogue::kRelu;
}

// A matrix of `rows` by `columns` at these strides, as a matrix of the library: `columns` by `rows`
// (kNo), or its transpose (kYes). False if it is neither.
bool make_operand(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride,
                  LtCall::Operand* operand) {
  // Strides along extents of 1 are arbitrary.
  if (columns == 1) column_stride = 1;
  if (rows == 1) row_stride = column_stride == 1 ? columns : 1;
  if (column_stride == 1 && row_stride >= columns) {
    operand->transpose = LtTranspose::kNo;
    operand->rows = columns;
    operand->columns = rows;
    operand->leading_dimension = row_stride;
    return true;
  }
  operand->transpose = LtTranspose::kYes;
  operand->rows = rows;
  operand->columns = columns;
  operand->leading_dimension = column_stride;
  return row_stride == 1 && column_stride >= rows;
}

}  // namespace

bool LtCall::make(const Matmul& x, LtCall* call) {
  if (x.k == 0 || x.batch > std::numeric_limits<int32_t>::max()) return false;
  if (!make_operand(x.k, x.n, x.b_strides[1], x.b_strides[2], &call->a) ||
      !make_operand(x.m, x.k, x.a_strides[1], x.a_strides[2], &call->b) ||
      !make_operand(x.m, x.n, x.n, 1, &call->c)) {
    return false;
  }
  call->batch = static_cast<int32_t>(x.batch);
  if (x.batch > 1) {
    if (x.a_strides[0] < 0 || x.b_strides[0] < 0) return false;
    call->a.batch_stride = x.b_strides[0];
    call->b.batch_stride = x.a_strides[0];
    call->c.batch_stride = x.m * x.n;
  }
  call->a.alignment = alignment_of(x.b, x.operand_dtype);
  call->b.alignment = alignment_of(x.a, x.operand_dtype);
  call->c.alignment = alignment_of(x.c, x.dtype);
  call->operand_type = type_of(x.operand_dtype);
  call->type = type_of(x.dtype);
  call->compute = compute_of(x);
  call->epilogue = folded_epilogue(x.epilogues);
  if (call->epilogue == LtEpilogue::kBias || call->epilogue == LtEpilogue::kReluBias) {
    call->bias_alignment = alignment_of(x.operand(x.epilogues[0]), x.dtype);
  }
  return true;
}

// The descriptors of a call, and the algorithm that the library recommends for it.
struct CublasLtMatmul::Plan {
  explicit Plan(const CublasLt& library) : library(library) {}
  ~Plan() {
    for (const LtLayout layout : {a, b, c}) {
      if (layout != nullptr) library.layout_destroy(layout);
    }
    if (operation != nullptr) library.operation_destroy(operation);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  LtStatus open(LtHandle handle, const LtCall& call, uint64_t max_workspace_bytes);
  LtStatus choose_algorithm(LtHandle handle, LtPreference preference, const LtCall& call,
                            uint64_t max_workspace_bytes);
  LtStatus run(LtHandle handle, const Matmul& matmul, void* workspace,
               runtime::cuda::StreamHandle stream);

  const CublasLt& library;
  LtLayout a = nullptr, b = nullptr, c = nullptr;
  LtOperation operation = nullptr;
  LtAlgorithm algorithm = {};
  size_t workspace_bytes = 0;
  bool has_bias = false, is_double = false;
  std::atomic<bool> can_run{false};

 private:
  std::mutex mutex_;  // guards `operation` while it runs
};

namespace {

// Makes calls until the first failure.
class Calls {
 public:
  template <typename F, typename... Args>
  void operator()(F function, Args... args) {
    if (status_ == LtStatus::kSuccess) status_ = function(args...);
  }
  // Sets an attribute.
  template <typename F, typename Object, typename Attribute, typename T>
  void set(F function, Object object, Attribute attribute, const T& value) {
    (*this)(function, object, attribute, static_cast<const void*>(&value), sizeof(T));
  }
  LtStatus status() const { return status_; }

 private:
  LtStatus status_ = LtStatus::kSuccess;
};

}  // namespace

LtStatus CublasLtMatmul::Plan::open(LtHandle handle, const LtCall& call,
                                    uint64_t max_workspace_bytes) {
  Calls calls;
  const auto make_layout = [&](const LtCall::Operand& operand, LtDataType type, LtLayout* layout) {
    calls(library.layout_create, layout, type, operand.rows, operand.columns,
          operand.leading_dimension);
    calls.set(library.layout_set, *layout, LtLayoutAttribute::kBatchCount, call.batch);
    calls.set(library.layout_set, *layout, LtLayoutAttribute::kBatchStride, operand.batch_stride);
  };
  make_layout(call.a, call.operand_type, &a);
  make_layout(call.b, call.operand_type, &b);
  make_layout(call.c, call.type, &c);
  is_double = call.type == LtDataType::kFloat64;
  calls(library.operation_create, &operation, call.compute,
        is_double ? LtDataType::kFloat64 : LtDataType::kFloat32);
  calls.set(library.operation_set, operation, LtOperationAttribute::kTransposeA, call.a.transpose);
  calls.set(library.operation_set, operation, LtOperationAttribute::kTransposeB, call.b.transpose);
  calls.set(library.operation_set, operation, LtOperationAttribute::kEpilogue, call.epilogue);
  has_bias = call.bias_alignment != 0;
  if (has_bias) {
    // The heuristic uses only its alignment.
    const void* bias = reinterpret_cast<const void*>(uintptr_t{call.bias_alignment});
    calls.set(library.operation_set, operation, LtOperationAttribute::kBiasPointer, bias);
  }
  LtPreference preference = nullptr;
  calls(library.preference_create, &preference);
  if (calls.status() != LtStatus::kSuccess) return calls.status();
  const LtStatus status = choose_algorithm(handle, preference, call, max_workspace_bytes);
  library.preference_destroy(preference);
  return status;
}

LtStatus CublasLtMatmul::Plan::choose_algorithm(LtHandle handle, LtPreference preference,
                                                const LtCall& call, uint64_t max_workspace_bytes) {
  using Attribute = LtPreferenceAttribute;
  Calls calls;
  const auto prefer = [&](Attribute attribute, const auto& value) {
    calls.set(library.preference_set, preference, attribute, value);
  };
  prefer(Attribute::kMaxWorkspaceBytes, max_workspace_bytes);
  prefer(Attribute::kMinAlignmentA, call.a.alignment);
  prefer(Attribute::kMinAlignmentB, call.b.alignment);
  prefer(Attribute::kMinAlignmentC, call.c.alignment);
  prefer(Attribute::kMinAlignmentD, call.c.alignment);
  // Parts of k are not to be rounded to a half type before they are summed.
  if (call.type != LtDataType::kFloat32) {
    prefer(Attribute::kReductionSchemes, LtReduction::kAsComputed);
  }
  LtHeuristicResult result = {};
  int count = 0;
  calls(library.heuristic, handle, operation, a, b, c, c, preference, 1, &result, &count);
  if (calls.status() != LtStatus::kSuccess) return calls.status();
  if (count < 1) return LtStatus::kNotSupported;
  algorithm = result.algorithm;
  workspace_bytes = result.workspace_bytes;
  return result.state;
}

LtStatus CublasLtMatmul::Plan::run(LtHandle handle, const Matmul& x, void* workspace,
                                   runtime::cuda::StreamHandle stream) {
  // Factors of the product and of c before, in the type of the sums.
  static constexpr float kOne = 1, kZero = 0;
  static constexpr double kDoubleOne = 1, kDoubleZero = 0;
  const void* const one = is_double ? static_cast<const void*>(&kDoubleOne) : &kOne;
  const void* const zero = is_double ? static_cast<const void*>(&kDoubleZero) : &kZero;
  std::lock_guard lock(mutex_);
  Calls calls;
  if (has_bias) {
    const void* bias = x.operand(x.epilogues[0]);
    calls.set(library.operation_set, operation, LtOperationAttribute::kBiasPointer, bias);
  }
  calls(library.matmul, handle, operation, one, x.b, a, x.a, b, zero, x.c, c, x.c, c, &algorithm,
        workspace, workspace_bytes, stream);
  return calls.status();
}

absl::StatusOr<std::unique_ptr<CublasLtMatmul>> CublasLtMatmul::make(
    runtime::cuda::Context* context, const CublasLt* library) {
  std::unique_ptr<CublasLtMatmul> made(new CublasLtMatmul(context, library));
  const CurrentContext current(context);
  if (!current.status().ok()) return current.status();
  const LtStatus status = library->create(&made->handle_);
  if (status == LtStatus::kSuccess) return made;
  made->handle_ = nullptr;
  return absl::InternalError(
      absl::StrCat(made->name(), " does not start: status ", static_cast<int>(status)));
}

CublasLtMatmul::~CublasLtMatmul() {
  const CurrentContext current(context_);
  plans_.clear();
  if (handle_ != nullptr) library_.destroy(handle_);
}

std::string CublasLtMatmul::name() const {
  const size_t version = library_.get_version();
  return absl::StrCat("cuBLASLt ", version / 10000, ".", version / 100 % 100);
}

size_t CublasLtMatmul::num_folded(absl::Span<const fusion::Epilogue> epilogues) {
  const size_t biases = !epilogues.empty() && is_bias(epilogues[0]) ? 1 : 0;
  const bool relu = epilogues.size() > biases && epilogues[biases].op == Op::kRelu;
  return biases + (relu ? 1 : 0);
}

std::shared_ptr<CublasLtMatmul::Plan> CublasLtMatmul::find_plan(const LtCall& call) {
  // As NVIDIA recommends.
  const uint64_t max_workspace_bytes =
      context_->info().compute_capability >= 90 ? uint64_t{32} << 20 : uint64_t{4} << 20;
  std::lock_guard lock(mutex_);
  const auto it = plans_.find(call);
  if (it != plans_.end()) return it->second;
  if (plans_.size() >= kMaxPlans) plans_.clear();
  auto plan = std::make_shared<Plan>(library_);
  const CurrentContext current(context_);
  plan->can_run =
      current.status().ok() && plan->open(handle_, call, max_workspace_bytes) == LtStatus::kSuccess;
  return plans_[call] = std::move(plan);
}

bool CublasLtMatmul::supports(const Matmul& matmul) {
  LtCall call;
  return LtCall::make(matmul, &call) && find_plan(call)->can_run;
}

absl::StatusOr<bool> CublasLtMatmul::enqueue(CudaStream* stream, const Matmul& matmul,
                                             absl::string_view label) {
  LtCall call;
  if (!LtCall::make(matmul, &call)) return false;
  const std::shared_ptr<Plan> plan = find_plan(call);
  if (!plan->can_run) return false;
  runtime::cuda::DeviceAllocator& allocator = stream->device().allocator();
  void* workspace = nullptr;
  if (plan->workspace_bytes > 0) {
    const absl::StatusOr<void*> data = allocator.allocate(plan->workspace_bytes, stream);
    // Don't fall back to another kernel: bits would depend on the free memory.
    if (!data.ok()) return data.status();
    workspace = *data;
  }
  LtStatus result = LtStatus::kSuccess;
  absl::Status status = stream->enqueue(label, [&] {
    result = plan->run(handle_, matmul, workspace, stream->handle());
    return result == LtStatus::kSuccess ? absl::OkStatus() : absl::InternalError("refused");
  });
  // Later work on the stream may reuse it.
  if (workspace != nullptr) allocator.free(workspace);
  if (result != LtStatus::kSuccess) {
    plan->can_run = false;
    return false;
  }
  if (!status.ok()) return status;
  return true;
}

}  // namespace sluice::kernels::cuda
