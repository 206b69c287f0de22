#include "runtime/cuda/copies.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::runtime::cuda {
namespace {

constexpr size_t kChunkAlignment = 64;
// For less, two chunks of staging let the caller go on sooner.
constexpr size_t kLeastDirectBytes = 2 * Staging::kChunkBytes;

DevicePtr address(const void* data) { return reinterpret_cast<DevicePtr>(data); }

}  // namespace

Staging::~Staging() {
  Context& context = stream_.device().context();
  const CurrentContext current(&context);
  for (Chunk& chunk : chunks_) {
    if (chunk.busy != nullptr &&
        context.driver().event_synchronize(chunk.busy.get()) != Result::kSuccess) {
      context.driver().stream_synchronize(stream_.handle());
    }
    if (chunk.memory != nullptr) context.driver().mem_free_host(chunk.memory);
  }
}

absl::Status Staging::prepare(Chunk* chunk) {
  Context& context = stream_.device().context();
  if (chunk->memory == nullptr) {
    return context.call<&Driver::mem_host_alloc>(&chunk->memory, kChunkBytes, kHostAllocPortable);
  }
  if (chunk->busy == nullptr) return absl::OkStatus();
  const absl::Status status = context.call<&Driver::event_synchronize>(chunk->busy.get());
  if (status.ok()) chunk->busy = nullptr;
  return status;
}

absl::Status Staging::start(Chunk* chunk, absl::FunctionRef<absl::Status()> copy) {
  absl::Status status = copy();
  if (!status.ok()) return status;
  chunk->busy = stream_.mark_end();
  // Without an event the copy is complete, unless the device is lost.
  const Context& context = stream_.device().context();
  return context.poisoned() ? context.failure()->status : status;
}

bool Staging::is_direct(const void* host, size_t bytes) const {
  if (bytes <= kLeastDirectBytes) return false;
  const auto is_pinned = [&](const void* at) {
    unsigned type = 0;
    return stream_.device().context().driver().pointer_get_attribute(
               &type, PointerAttribute::kMemoryType, address(at)) == Result::kSuccess &&
           type == kHostMemory;
  };
  return is_pinned(host) && is_pinned(static_cast<const std::byte*>(host) + bytes - 1);
}

absl::StatusOr<bool> Staging::try_direct(absl::FunctionRef<absl::Status()> copy) {
  Context& context = stream_.device().context();
  // Such as for memory that was pinned in two parts.
  if (!copy().ok() && !context.poisoned()) return false;
  const EventRef end = stream_.mark_end();
  if (context.poisoned()) return context.failure()->status;
  if (end == nullptr) return true;
  const absl::Status status = context.call<&Driver::event_synchronize>(end.get());
  if (status.ok()) return true;
  return status;
}

absl::Status Staging::to_device(void* target, const void* host, size_t bytes) {
  const std::string label = absl::StrCat("copy of ", bytes, " bytes from the host");
  return stream_.enqueue(label, [&] {
    absl::Status status;
    if (is_direct(host, bytes)) {
      const absl::StatusOr<bool> done = try_direct([&] {
        return stream_.device().context().call<&Driver::memcpy_htod_async>(address(target), host,
                                                                           bytes, stream_.handle());
      });
      if (!done.ok() || *done) return done.status();
    }
    for (size_t begin = 0; begin < bytes && status.ok(); begin += kChunkBytes) {
      const size_t size = std::min(bytes - begin, kChunkBytes);
      if (filled_ + size > kChunkBytes) {
        status = prepare(&chunks_[1 - filling_]);
        if (!status.ok()) break;
        filling_ = 1 - filling_;
        filled_ = 0;
      }
      Chunk& chunk = chunks_[filling_];
      std::byte* const memory = static_cast<std::byte*>(chunk.memory) + filled_;
      std::memcpy(memory, static_cast<const std::byte*>(host) + begin, size);
      filled_ += round_up(size, kChunkAlignment);
      status = start(&chunk, [&] {
        return stream_.device().context().call<&Driver::memcpy_htod_async>(
            address(target) + begin, memory, size, stream_.handle());
      });
    }
    return status;
  });
}

absl::Status Staging::to_host(void* target, const void* memory, size_t bytes) {
  auto* host = static_cast<std::byte*>(target);
  const auto* source = static_cast<const std::byte*>(memory);
  Context& context = stream_.device().context();
  if (is_direct(target, bytes)) {
    const absl::StatusOr<bool> done = try_direct([&] {
      return context.call<&Driver::memcpy_dtoh_async>(target, address(memory), bytes,
                                                      stream_.handle());
    });
    if (!done.ok() || *done) return done.status();
  }
  const size_t count = ceil_div(bytes, kChunkBytes);
  const auto size_of = [&](size_t i) { return std::min(bytes - i * kChunkBytes, kChunkBytes); };
  absl::Status status;
  // The host copies run one chunk behind the device's.
  for (size_t i = 0; i <= count && status.ok(); ++i) {
    Chunk& chunk = chunks_[i % 2];
    if (i < count) {
      status = prepare(&chunk);
      if (status.ok()) {
        status = start(&chunk, [&] {
          return context.call<&Driver::memcpy_dtoh_async>(
              chunk.memory, address(source + i * kChunkBytes), size_of(i), stream_.handle());
        });
      }
    }
    if (i == 0 || !status.ok()) continue;
    Chunk& arrived = chunks_[(i - 1) % 2];
    status = prepare(&arrived);
    if (status.ok()) {
      std::memcpy(host + (i - 1) * kChunkBytes, arrived.memory, size_of(i - 1));
    }
  }
  return status;
}

// Runs the copy in run(), on the submitting thread.
class Copies::Batch : public CommandBatch {
 public:
  Batch(std::string label, std::vector<Event> waits_for, Copy copy,
        std::shared_ptr<absl::Status> status)
      : label_(std::move(label)), copy_(std::move(copy)), status_(std::move(status)) {
    waits_for_ = std::move(waits_for);
  }

  void run() override {
    ran_ = true;
    *status_ = copy_();
  }
  void fail(const FailureRef& failure) override {
    // If run() was called, the submitting thread has its status; the failure is the device's.
    if (!ran_) *status_ = failure->status;
  }
  std::string label() const override { return label_; }
  double cost() const override { return 0; }

 private:
  const std::string label_;
  const Copy copy_;
  const std::shared_ptr<absl::Status> status_;
  bool ran_ = false;
};

absl::StatusOr<Copies::Downloader> Copies::make_downloader(CudaDevice* device) {
  absl::StatusOr<std::unique_ptr<CudaStream>> stream = CudaStream::make(device);
  if (!stream.ok()) return stream.status();
  Downloader made;
  made.stream = *std::move(stream);
  made.staging = std::make_unique<Staging>(made.stream.get());
  return made;
}

absl::StatusOr<std::unique_ptr<Copies>> Copies::make(CudaDevice* device) {
  std::unique_ptr<Copies> copies(new Copies(device));
  absl::StatusOr<std::unique_ptr<CudaStream>> stream = CudaStream::make(device);
  if (!stream.ok()) return stream.status();
  copies->upload_stream_ = *std::move(stream);
  copies->uploads_ = std::make_unique<Staging>(copies->upload_stream_.get());
  return copies;
}

absl::StatusOr<Event> Copies::upload(void* target, const void* host, size_t bytes) {
  return submit(absl::StrCat("copy of ", bytes, " bytes from the host"), {},
                [=, this] { return uploads_->to_device(target, host, bytes); });
}

absl::StatusOr<Event> Copies::copy(void* target, const Context& source_context,
                                   const BufferRef& source, size_t offset, size_t bytes) {
  return submit(absl::StrCat("copy of ", bytes, " bytes from another GPU"), {source->written},
                [=, this, &source_context] {
                  return copy_between(upload_stream_.get(), target, source_context,
                                      static_cast<const std::byte*>(source->data()) + offset,
                                      bytes);
                });
}

absl::StatusOr<Event> Copies::submit(std::string label, std::vector<Event> waits_for, Copy copy) {
  const auto status = std::make_shared<absl::Status>(absl::UnknownError("it has not run"));
  const uint64_t ticket = upload_stream_->submit(
      std::make_unique<Batch>(std::move(label), std::move(waits_for), std::move(copy), status),
      SubmitMode::kDetached);
  // Not run: fail() has set the status when the wait returns.
  if (absl::IsUnknown(*status)) upload_stream_->wait(ticket);
  if (!status->ok()) return *status;
  return Event{upload_stream_.get(), ticket};
}

absl::Status Copies::download(void* host, const void* source, size_t bytes, const Event& written) {
  const absl::Status status = try_download(host, source, bytes, written);
  if (status.ok() || device_.context().poisoned()) return status;
  return prefixed(absl::StrCat("copy of ", bytes, " bytes to the host"), status);
}

absl::Status Copies::try_download(void* host, const void* source, size_t bytes,
                                  const Event& written) {
  Downloader downloader;
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      downloader = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (downloader.stream == nullptr) {
    absl::StatusOr<Downloader> made = make_downloader(&device_);
    if (!made.ok()) return made.status();
    downloader = *std::move(made);
  }
  const CurrentContext current(&device_.context());
  absl::Status status = current.status();
  if (status.ok()) status = downloader.stream->wait_for(written);
  if (status.ok()) status = downloader.staging->to_host(host, source, bytes);
  // The device has passed it; its stream may still have to finish the batch.
  if (status.ok()) wait(written);
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(downloader));
  return status;
}

absl::Status copy_between(CudaStream* stream, void* target, const Context& source_context,
                          const void* source, size_t bytes) {
  Context& context = stream->device().context();
  if (source_context.poisoned()) return source_context.failure()->status;
  if (bytes == 0) return absl::OkStatus();
  const std::string label =
      absl::StrCat("copy of ", bytes, " bytes from cuda:", source_context.info().ordinal);
  return stream->enqueue(label, [&] {
    if (&context == &source_context) {
      return context.call<&Driver::memcpy_dtod_async>(address(target), address(source), bytes,
                                                      stream->handle());
    }
    return context.call<&Driver::memcpy_peer_async>(address(target), context.handle(),
                                                    address(source), source_context.handle(), bytes,
                                                    stream->handle());
  });
}

}  // namespace sluice::runtime::cuda
