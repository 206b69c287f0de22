#include "kernels/cuda/library/cudnn/handle.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/cuda_device.h"

namespace sluice::kernels::cuda {

using runtime::cuda::CurrentContext;

std::unique_ptr<DnnOnDevice> DnnOnDevice::open(const LibraryDevice& device) {
  const Cudnn* table = device.cudnn;
  if (table == nullptr && device.driver_version != 0) {
    table = find_cudnn(device.driver_version).value_or(nullptr);
  }
  if (table == nullptr) return nullptr;
  std::unique_ptr<DnnOnDevice> made(new DnnOnDevice(device.context, *table));
  const CurrentContext current(device.context);
  if (current.status().ok() && table->create(&made->handle_) == DnnStatus::kSuccess) return made;
  made->handle_ = nullptr;
  return nullptr;
}

DnnOnDevice::~DnnOnDevice() {
  const CurrentContext current(context_);
  if (handle_ != nullptr) library_.destroy(handle_);
}

int64_t DnnOnDevice::version() const { return static_cast<int64_t>(library_.get_version()); }

absl::StatusOr<std::unique_ptr<DnnPlan>> DnnOnDevice::make_plan(const DnnWork& work) const {
  return DnnPlan::make(library_, {.handle = handle_}, work);
}

absl::StatusOr<bool> DnnOnDevice::enqueue(runtime::cuda::CudaStream* stream, const DnnPlan& plan,
                                          absl::Span<const int64_t> ids,
                                          absl::Span<void* const> tensors,
                                          absl::string_view label) {
  runtime::cuda::DeviceAllocator& allocator = stream->device().allocator();
  void* workspace = nullptr;
  if (plan.workspace_bytes() > 0) {
    const absl::StatusOr<void*> memory = allocator.allocate(plan.workspace_bytes(), stream);
    // Not by another kernel: bits would depend on the free memory.
    if (!memory.ok()) return memory.status();
    workspace = *memory;
  }
  DnnStatus result = DnnStatus::kSuccess;
  absl::Status status = stream->enqueue(label, [&] {
    std::lock_guard lock(running_);
    result = library_.set_stream(handle_, stream->handle());
    if (result == DnnStatus::kSuccess) result = plan.run(handle_, ids, tensors, workspace);
    return result == DnnStatus::kSuccess ? absl::OkStatus() : absl::InternalError("refused");
  });
  // Later work on the stream may reuse it.
  if (workspace != nullptr) allocator.free(workspace);
  if (is_out_of_memory(result)) {
    return absl::ResourceExhaustedError(absl::StrCat(std::string(label), ": no memory for cuDNN"));
  }
  if (result != DnnStatus::kSuccess) return false;
  if (!status.ok()) return status;
  return true;
}

}  // namespace sluice::kernels::cuda
