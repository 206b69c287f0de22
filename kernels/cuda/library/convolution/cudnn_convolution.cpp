#include "kernels/cuda/library/convolution/cudnn_convolution.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/gpu/run/call.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::ConvolutionAttributes;
using fusion::ConvolutionExtents;
using fusion::ConvolutionRole;
using fusion::kNumRoles;
using runtime::cuda::CurrentContext;

constexpr size_t kMaxConvolutionPlans = 1024;

constexpr const char* kCopyText = R"sluice(
// ---- A copy without gaps. kernels/cuda/library/convolution/cudnn_convolution.cpp fills in sl_copy.

struct sl_copy {
  const void* from;
  void* to;
  sl_i64 extents[5], strides[5], elements;
  sl_i64 first_block;  // of this launch
};

// The bits, whatever they mean.
template <typename M>
SL_INLINE void sl_copy_elements(const sl_copy& p) {
  const sl_i64 place = (p.first_block + sl_block()) * SL_THREADS + sl_thread();
  if (place >= p.elements) return;
  const M* from = (const M*)p.from;
  sl_i64 rest = place;
  SL_UNROLL
  for (int i = 4; i > 0; --i) {
    const sl_i64 next = rest / p.extents[i];
    from += (rest - next * p.extents[i]) * p.strides[i];
    rest = next;
  }
  ((M*)p.to)[place] = from[rest * p.strides[0]];
}
)sluice";

// sl_copy of the text.
struct CopyArguments {
  const void* from;
  void* to;
  int64_t extents[5], strides[5], elements = 1;
  int64_t first_block = 0;

  CopyArguments(const ConvolutionExtents& of, const ConvolutionExtents& at, int rank,
                const void* from, void* to)
      : from(from), to(to) {
    for (int i = 0; i < 5; ++i) {
      extents[i] = i < rank ? of[i] : 1;
      strides[i] = i < rank ? at[i] : 0;
      elements *= extents[i];
    }
  }
};

bool is_dense(const ConvolutionAttributes& of, int operand) {
  const ConvolutionRole role = fusion::kRolesOfConvolution[of.result][operand];
  const ConvolutionExtents extents = of.extents_of(role), dense = of.dense_strides(role);
  for (int i = 0; i < 2 + of.rank; ++i) {
    if (extents[i] > 1 && of.operands[operand].strides[i] != dense[i]) return false;
  }
  return true;
}

bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % kDnnAlignment == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudnnConvolution>> CudnnConvolution::make(
    runtime::cuda::Context* context, Compiler* compiler, const Cudnn* library) {
  std::unique_ptr<CudnnConvolution> made(new CudnnConvolution(context, compiler, library));
  const CurrentContext current(context);
  if (!current.status().ok()) return current.status();
  const DnnStatus status = library->create(&made->handle_);
  if (status == DnnStatus::kSuccess) return made;
  made->handle_ = nullptr;
  return absl::InternalError(
      absl::StrCat(made->name(), " does not start: status ", static_cast<int>(status)));
}

CudnnConvolution::~CudnnConvolution() {
  const CurrentContext current(context_);
  plans_.clear();
  older_plans_.clear();
  if (handle_ != nullptr) library_.destroy(handle_);
}

std::string CudnnConvolution::name() const {
  const size_t version = library_.get_version();
  return absl::StrCat("cuDNN ", version / 10000, ".", version / 100 % 100);
}

absl::StatusOr<std::shared_ptr<CudnnConvolution::Planned>> CudnnConvolution::find(
    const DnnConvolution& convolution) {
  std::shared_ptr<Planned> planned;
  Plans dropped;
  {
    std::lock_guard lock(mutex_);
    if (plans_.size() >= kMaxConvolutionPlans) {
      dropped = std::exchange(older_plans_, std::exchange(plans_, {}));
    }
    std::shared_ptr<Planned>& kept = plans_[convolution];
    if (const auto it = older_plans_.find(convolution); it != older_plans_.end()) {
      kept = std::move(it->second);
      older_plans_.erase(it);
    }
    if (kept == nullptr) kept = std::make_shared<Planned>();
    planned = kept;
  }
  if (!dropped.empty()) {
    // The device may be running them.
    const CurrentContext current(context_);
    if (current.status().ok()) {
      context_->call<&runtime::cuda::Driver::ctx_synchronize>().IgnoreError();
    }
    dropped.clear();
  }
  if (planned->is_made.load(std::memory_order_acquire)) return planned;
  // To make a plan may take a second: others are made meanwhile.
  std::lock_guard lock(planned->mutex);
  if (planned->is_made.load(std::memory_order_relaxed)) return planned;
  const CurrentContext current(context_);
  if (!current.status().ok()) return current.status();
  absl::StatusOr<std::unique_ptr<DnnPlan>> plan =
      DnnPlan::make(library_, {.handle = handle_}, convolution);
  if (!plan.ok()) return plan.status();
  planned->plan = *std::move(plan);
  planned->can_run = planned->plan != nullptr;
  planned->is_made.store(true, std::memory_order_release);
  return planned;
}

SourceKernel& CudnnConvolution::copying(DType dtype) {
  const size_t bits = 8 * size_of(dtype);
  const std::string name = absl::StrCat("convolution_copy_", bits, "_bits");
  return kernels_.get(name, [&] {
    return absl::StrCat(kCopyText, "SL_KERNEL(", name, ", sl_copy) { sl_copy_elements<sl_u", bits,
                        ">(p); }\n");
  });
}

absl::StatusOr<bool> CudnnConvolution::prepare(const ConvolutionAttributes& of, bool allow_tf32) {
  const absl::StatusOr<std::shared_ptr<Planned>> planned = find(DnnConvolution(of, allow_tf32));
  if (!planned.ok()) return planned.status();
  if (!(*planned)->can_run) return false;
  if (!is_dense(of, 0) || !is_dense(of, 1)) {
    const absl::Status status = copying(of.dtype).compile();
    if (!status.ok()) return status;
  }
  return true;
}

absl::StatusOr<void*> CudnnConvolution::place(runtime::cuda::CudaStream* stream,
                                              const ConvolutionAttributes& of, int operand,
                                              void* buffer, absl::string_view label, void** copy) {
  const auto size = static_cast<int64_t>(size_of(of.dtype));
  void* const data = static_cast<char*>(buffer) + of.operands[operand].offset * size;
  if (is_dense(of, operand) && is_aligned(data)) return data;
  const ConvolutionExtents extents = of.extents_of(fusion::kRolesOfConvolution[of.result][operand]);
  CopyArguments arguments(extents, of.operands[operand].strides, 2 + of.rank, data, nullptr);
  const absl::StatusOr<void*> memory =
      stream->device().allocator().allocate(static_cast<size_t>(arguments.elements * size), stream);
  if (!memory.ok()) return memory.status();
  *copy = arguments.to = *memory;
  const absl::Status status = copying(of.dtype).launch(
      stream, &arguments, ceil_div(arguments.elements, int64_t{kThreads}), label);
  if (!status.ok()) return status;
  return arguments.to;
}

absl::StatusOr<bool> CudnnConvolution::enqueue(runtime::cuda::CudaStream* stream,
                                               const ConvolutionAttributes& of, bool allow_tf32,
                                               absl::Span<void* const> buffers,
                                               absl::string_view label) {
  const absl::StatusOr<std::shared_ptr<Planned>> found = find(DnnConvolution(of, allow_tf32));
  if (!found.ok()) return found.status();
  Planned& planned = **found;
  if (!planned.can_run) return false;
  if (!is_aligned(buffers[2])) {
    return absl::InternalError(absl::StrCat(std::string(label), ": its result is not aligned"));
  }
  runtime::cuda::DeviceAllocator& allocator = stream->device().allocator();
  const auto& roles = fusion::kRolesOfConvolution[of.result];
  std::array<void*, kNumRoles> tensors{};
  tensors[of.result] = buffers[2];
  std::array<void*, 3> taken{};  // copies, and memory to work in
  absl::Status status = absl::OkStatus();
  for (int i = 0; i < 2 && status.ok(); ++i) {
    const absl::StatusOr<void*> placed = place(stream, of, i, buffers[i], label, &taken[i]);
    if (placed.ok()) tensors[roles[i]] = *placed;
    status = placed.status();
  }
  if (status.ok() && planned.plan->workspace_bytes() > 0) {
    const absl::StatusOr<void*> memory =
        allocator.allocate(planned.plan->workspace_bytes(), stream);
    if (memory.ok()) taken[2] = *memory;
    // Not by another kernel: bits would depend on the free memory.
    status = memory.status();
  }
  DnnStatus result = DnnStatus::kSuccess;
  if (status.ok()) {
    status = stream->enqueue(label, [&] {
      std::lock_guard lock(running_);
      result = library_.set_stream(handle_, stream->handle());
      if (result == DnnStatus::kSuccess) result = planned.plan->run(handle_, tensors, taken[2]);
      return result == DnnStatus::kSuccess ? absl::OkStatus() : absl::InternalError("refused");
    });
  }
  // Later work on the stream may reuse it.
  for (void* const memory : taken) {
    if (memory != nullptr) allocator.free(memory);
  }
  if (is_out_of_memory(result)) {
    return absl::ResourceExhaustedError(absl::StrCat(std::string(label), ": no memory for cuDNN"));
  }
  if (result != DnnStatus::kSuccess) {
    planned.can_run = false;
    return false;
  }
  if (!status.ok()) return status;
  return true;
}

}  // namespace sluice::kernels::cuda
