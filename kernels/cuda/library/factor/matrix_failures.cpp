#include "kernels/cuda/library/factor/matrix_failures.h"

#include <algorithm>

#include "kernels/library/factor_failure.h"
#include "runtime/cuda/cuda_device.h"

namespace sluice::kernels::cuda {

MatrixFailures::~MatrixFailures() {
  if (flags_ != nullptr) stream_.device().allocator().free(flags_);
}

absl::Status MatrixFailures::allocate() {
  const size_t bytes = sizeof(int32_t) * static_cast<size_t>(1 + of_.count);
  const absl::StatusOr<void*> memory = stream_.device().allocator().allocate(bytes, &stream_);
  if (!memory.ok()) return memory.status();
  flags_ = static_cast<int32_t*>(*memory);
  return stream_.enqueue(label_, [&] {
    return stream_.device().context().call<&runtime::cuda::Driver::memset_d8_async>(
        reinterpret_cast<runtime::cuda::DevicePtr>(flags_), 0, sizeof(int32_t), stream_.handle());
  });
}

absl::StatusOr<runtime::cuda::PinnedBlock> MatrixFailures::read(const int32_t* from,
                                                                int64_t count) const {
  runtime::cuda::Context& context = stream_.device().context();
  const size_t bytes = sizeof(int32_t) * static_cast<size_t>(count);
  absl::StatusOr<runtime::cuda::PinnedBlock> block = stream_.device().pinned().take(bytes);
  if (!block.ok()) return block;
  absl::Status status = stream_.enqueue(label_, [&] {
    return context.call<&runtime::cuda::Driver::memcpy_dtoh_async>(
        block->data(), reinterpret_cast<runtime::cuda::DevicePtr>(from), bytes, stream_.handle());
  });
  if (!status.ok()) return status;
  const runtime::cuda::EventRef end = stream_.mark_end();
  if (context.poisoned()) return context.failure()->status;
  if (end == nullptr) return block;
  status = context.call<&runtime::cuda::Driver::event_synchronize>(end.get());
  if (!status.ok()) return status;
  return block;
}

absl::Status MatrixFailures::wait() const {
  const absl::StatusOr<runtime::cuda::PinnedBlock> any = read(flags(), 1);
  if (!any.ok()) return any.status();
  if (*reinterpret_cast<const int32_t*>(any->data()) == 0) return absl::OkStatus();
  const absl::StatusOr<runtime::cuda::PinnedBlock> each = read(flag_of(0), of_.count);
  if (!each.ok()) return each.status();
  const auto* const flags = reinterpret_cast<const int32_t*>(each->data());
  const int32_t* const first =
      std::find_if(flags, flags + of_.count, [](int32_t flag) { return flag != 0; });
  return failure_of_matrix(of_, first - flags);
}

}  // namespace sluice::kernels::cuda
