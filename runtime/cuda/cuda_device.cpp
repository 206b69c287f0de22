#include "runtime/cuda/cuda_device.h"

#include <pthread.h>

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice::runtime::cuda {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<int, std::unique_ptr<CudaDevice>> open;  // guarded by mutex
};

// Never destroyed: static objects release buffers after main.
Registry& registry() {
  static Registry* registry = new Registry;
  return *registry;
}

// A device that is being opened is finished first.
void enter_fork() {
  Registry& all = registry();
  all.mutex.lock();
  for (const auto& [index, device] : all.open) device->context().enter_fork();
}
void leave_fork(bool is_child) {
  Registry& all = registry();
  for (const auto& [index, device] : all.open) device->context().leave_fork(is_child);
  all.mutex.unlock();
}

absl::StatusOr<int> count_devices(const Driver& driver) {
  int count = 0;
  const absl::Status status =
      to_status(driver, driver.device_get_count(&count), kNameOf<&Driver::device_get_count>);
  if (!status.ok()) return status;
  return count;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::make(const Driver* driver, int ordinal) {
  std::unique_ptr<CudaDevice> device(new CudaDevice);
  CudaDevice* raw = device.get();
  absl::StatusOr<std::unique_ptr<Context>> context = Context::make(driver, ordinal);
  if (!context.ok()) return context.status();
  device->context_ = *std::move(context);
  device->events_ = std::make_unique<EventPool>(device->context_.get(), kEventDisableTiming);
  device->timing_events_ = std::make_unique<EventPool>(device->context_.get(), kEventDefault);
  absl::StatusOr<std::unique_ptr<DeviceAllocator>> allocator =
      DeviceAllocator::make(device->context_.get(), [raw] { raw->wait_for_all(); });
  if (!allocator.ok()) return allocator.status();
  device->allocator_ = *std::move(allocator);
  device->pinned_ = std::make_unique<PinnedPool>(device->context_.get());
  absl::StatusOr<std::unique_ptr<Copies>> copies = Copies::make(raw);
  if (!copies.ok()) return copies.status();
  device->copies_ = *std::move(copies);
  return device;
}

absl::StatusOr<std::unique_ptr<Stream>> CudaDevice::make_stream() { return CudaStream::make(this); }

absl::StatusOr<BufferRef> CudaDevice::allocate(size_t bytes, Stream* stream) {
  return allocator_->allocate_buffer(bytes, static_cast<CudaStream*>(stream));
}

absl::StatusOr<BufferRef> CudaDevice::upload(const void* host, size_t bytes) {
  absl::StatusOr<BufferRef> buffer = allocator_->allocate_buffer(bytes, copies_->upload_stream());
  if (!buffer.ok()) return buffer;
  // Without bytes too: kernels are given the address, which is valid once its stream has come here.
  const absl::StatusOr<Event> written = copies_->upload((*buffer)->data(), host, bytes);
  if (!written.ok()) return written.status();
  buffer->get()->written = *written;
  return buffer;
}

absl::StatusOr<BufferRef> CudaDevice::copy_from(Backend* source, const BufferRef& buffer,
                                                size_t offset, size_t bytes) {
  absl::StatusOr<BufferRef> made = allocator_->allocate_buffer(bytes, copies_->upload_stream());
  if (!made.ok()) return made;
  auto* const from = static_cast<CudaDevice*>(source);
  if (from != this) from->allocator().give_access_to(context().info().ordinal);
  const absl::StatusOr<Event> written =
      copies_->copy((*made)->data(), from->context(), buffer, offset, bytes);
  if (!written.ok()) return written.status();
  made->get()->written = *written;
  return made;
}

absl::Status CudaDevice::download(const Buffer& buffer, size_t offset, size_t bytes, void* host) {
  if (bytes == 0) {
    wait(buffer.written);
    return absl::OkStatus();
  }
  return copies_->download(host, static_cast<const std::byte*>(buffer.data()) + offset, bytes,
                           buffer.written);
}

void CudaDevice::wait_for_all() {
  std::lock_guard lock(streams_mutex_);
  for (CudaStream* stream : streams_) stream->wait(stream->next_ticket() - 1);
}

void CudaDevice::enrol(CudaStream* stream) {
  std::lock_guard lock(streams_mutex_);
  streams_.push_back(stream);
}

void CudaDevice::leave(CudaStream* stream) {
  std::lock_guard lock(streams_mutex_);
  std::erase(streams_, stream);
}

int num_cuda_devices() {
  const absl::StatusOr<const Driver*> found = driver();
  return found.ok() ? count_devices(**found).value_or(0) : 0;
}

absl::StatusOr<CudaDevice*> cuda_device(int index) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  if (const auto it = all.open.find(index); it != all.open.end()) return it->second.get();
  const absl::StatusOr<const Driver*> found = driver();
  if (!found.ok()) return found.status();
  const absl::StatusOr<int> count = count_devices(**found);
  if (!count.ok()) return count.status();
  if (index < 0 || index >= *count) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no device cuda:", index, ": the CUDA driver lists ", *count));
  }
  absl::StatusOr<std::unique_ptr<CudaDevice>> made = CudaDevice::make(*found, index);
  if (!made.ok()) return made.status();
  [[maybe_unused]] static const int registered = pthread_atfork(
      enter_fork, [] { leave_fork(false); }, [] { leave_fork(true); });
  return (all.open[index] = *std::move(made)).get();
}

absl::StatusOr<Backend*> cuda_backend(int index) { return cuda_device(index); }

std::vector<Backend*> open_cuda_backends() {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  std::vector<Backend*> result;
  for (const auto& [index, device] : all.open) result.push_back(device.get());
  return result;
}

void close_cuda_devices_for_testing() {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.open.clear();
}

}  // namespace sluice::runtime::cuda
