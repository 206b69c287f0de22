#include "runtime/cuda/cuda_stream.h"

#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/cuda_device.h"

namespace sluice::runtime::cuda {

CudaStream::CudaStream(CudaDevice* device) : device_(*device), context_(device->context()) {}

absl::StatusOr<std::unique_ptr<CudaStream>> CudaStream::make(CudaDevice* device) {
  std::unique_ptr<CudaStream> stream(new CudaStream(device));
  const absl::Status status = stream->open();
  if (status.ok()) return stream;
  if (device->context().poisoned()) return status;
  return prefixed(absl::StrCat("stream of cuda:", device->context().info().ordinal), status);
}

absl::Status CudaStream::open() {
  const CurrentContext current(&context_);
  absl::Status status = current.status();
  if (!status.ok()) return status;
  status = context_.call<&Driver::stream_create>(&handle_, kStreamNonBlocking);
  if (!status.ok()) return status;
  void* memory = nullptr;
  status = context_.call<&Driver::mem_host_alloc>(&memory, sizeof(*progress_),
                                                  kHostAllocPortable | kHostAllocDeviceMap);
  if (!status.ok()) return status;
  progress_ = new (memory) std::atomic<uint32_t>(0);
  log_ = std::make_unique<LaunchLog>(progress_);
  context_.watch(log_.get());
  device_.enrol(this);
  return status;
}

CudaStream::~CudaStream() {
  const CurrentContext current(&context_);
  if (log_ != nullptr) {
    device_.leave(this);
    wait(submitted_.load());
    // Allocations are stream-ordered too, and need not be followed by a batch.
    context_.driver().stream_synchronize(handle_);
    device_.allocator().forget(this);
    context_.unwatch(log_.get());
  }
  if (progress_ != nullptr) context_.driver().mem_free_host(progress_);
  if (handle_ != nullptr) context_.driver().stream_destroy(handle_);
}

uint64_t CudaStream::next_ticket() const { return submitted_.load() + 1; }

uint64_t CudaStream::submit(std::unique_ptr<CommandBatch> batch, SubmitMode) {
  Pending next;
  next.batch = std::move(batch);
  std::optional<CurrentContext> current;
  if (!context_.poisoned()) current.emplace(&context_);
  {
    std::lock_guard submitting(submit_mutex_);
    next.ticket = submitted_.load() + 1;
    in_use_.store(next.ticket, std::memory_order_release);
    run(&next);
    std::lock_guard lock(pending_mutex_);
    submitted_.store(next.ticket, std::memory_order_release);
    pending_.push_back(std::move(next));
  }
  submitted_changed_.notify_all();
  // A lost device shows when the next batch is run.
  reap(0, /*asks=*/false);
  return next.ticket;
}

void CudaStream::run(Pending* pending) {
  if (context_.poisoned()) return;
  const CurrentContext current(&context_);
  absl::Status status = current.status();
  for (const Event& event : pending->batch->waits_for()) {
    if (status.ok()) status = wait_for(event);
  }
  if (!status.ok()) {
    if (!context_.poisoned()) status = prefixed(pending->batch->label(), status);
    pending->failure = std::make_shared<Failure>(status);
    return;
  }
  pending->after = pending->batch->waits_for();
  const uint64_t launches_before = log_->last();
  pending->batch->run();
  pending->last_launch = log_->last();
  // The driver puts a fence before the write: who reads the number sees what the batch has written.
  // If this fails, the driver is asked, and messages about failures become less precise.
  const absl::Status reports =
      context_.call<&Driver::stream_write_value32>(handle_, reinterpret_cast<DevicePtr>(progress_),
                                                   static_cast<uint32_t>(pending->last_launch), 0u);
  pending->reports = reports.ok() && pending->last_launch > launches_before;
  pending->end = mark_end();
}

EventRef CudaStream::mark_end() {
  absl::StatusOr<EventRef> event = device_.events().record(handle_);
  if (event.ok()) return *std::move(event);
  // Without an event there is nothing to query later.
  const Result result = context_.driver().stream_synchronize(handle_);
  if (result != Result::kSuccess) context_.poison(result, kNameOf<&Driver::stream_synchronize>);
  return nullptr;
}

absl::Status CudaStream::enqueue(absl::string_view label, absl::FunctionRef<absl::Status()> call) {
  const uint64_t number = log_->add(label, in_use_.load(std::memory_order_relaxed));
  absl::Status status = call();
  if (status.ok() && context_.synchronous()) {
    status = context_.call<&Driver::stream_synchronize>(handle_);
    if (status.ok()) log_->set_completed(number);
  }
  if (status.ok() || context_.poisoned()) return status;
  log_->drop(number);
  return prefixed(label, status);
}

absl::Status CudaStream::launch(const KernelLaunch& kernel, absl::string_view label) {
  LaunchConfig config = {};
  for (int i = 0; i < 3; ++i) {
    config.grid[i] = kernel.grid[i];
    config.block[i] = kernel.block[i];
  }
  config.shared_bytes = kernel.shared_bytes;
  config.stream = handle_;
  ParamList params(kernel.params);
  return enqueue(label, [&] {
    return context_.call<&Driver::launch_kernel_ex>(&config, kernel.function, nullptr,
                                                    params.extra());
  });
}

absl::Status CudaStream::wait_for(const Event& event) {
  if (event.stream == nullptr || event.stream == this) return absl::OkStatus();
  auto* other = dynamic_cast<CudaStream*>(event.stream);
  if (other == nullptr) {
    event.stream->wait(event.ticket);
    return absl::OkStatus();
  }
  const EventRef end = other->end_of(event.ticket);
  if (end == nullptr) return absl::OkStatus();
  const Result result = context_.driver().stream_wait_event(handle_, end.get(), 0u);
  if (result == Result::kSuccess) return absl::OkStatus();
  // An error of another device is reported by its own stream, which then counts the ticket as done.
  if (&other->context_ == &context_) {
    const absl::Status status = context_.check(result, kNameOf<&Driver::stream_wait_event>);
    if (context_.poisoned()) return status;
  }
  other->wait(event.ticket);
  return absl::OkStatus();
}

EventRef CudaStream::end_of(uint64_t ticket) {
  std::unique_lock lock(pending_mutex_);
  submitted_changed_.wait(lock, [&] { return submitted_.load() >= ticket; });
  for (auto it = pending_.rbegin(); it != pending_.rend(); ++it) {
    if (it->ticket <= ticket && it->end != nullptr) return it->end;
  }
  return nullptr;
}

void CudaStream::wait(uint64_t ticket) {
  while (!known_done(ticket)) {
    reap(0, /*asks=*/false);
    if (known_done(ticket)) return;
    const EventRef end = end_of(ticket);
    if (end != nullptr && !context_.poisoned()) {
      const CurrentContext current(&context_);
      if (!context_.call<&Driver::event_synchronize>(end.get()).ok() && !context_.poisoned()) {
        const Result result = context_.driver().stream_synchronize(handle_);
        if (result != Result::kSuccess) {
          context_.poison(result, kNameOf<&Driver::stream_synchronize>);
        }
      }
    }
    reap(ticket, /*asks=*/false);
  }
}

bool CudaStream::done(uint64_t ticket) const {
  if (known_done(ticket)) return true;
  const_cast<CudaStream*>(this)->reap(0, /*asks=*/true);
  return known_done(ticket);
}

std::vector<FailureRef> CudaStream::take_failures() {
  std::lock_guard lock(pending_mutex_);
  return std::exchange(failures_, {});
}

bool CudaStream::has_reported(const Pending& pending) const {
  if (!pending.reports) return false;
  const uint32_t progress = progress_->load(std::memory_order_acquire);
  return static_cast<int32_t>(progress - static_cast<uint32_t>(pending.last_launch)) >= 0;
}

bool CudaStream::is_over(const Pending& front, uint64_t known, bool asks) {
  if (front.end == nullptr || front.ticket <= known || context_.poisoned()) return true;
  if (has_reported(front)) return true;
  if (!asks) return false;
  const CurrentContext current(&context_);
  if (!current.status().ok()) return context_.poisoned();
  const Result result = context_.driver().event_query(front.end.get());
  if (result == Result::kNotReady) return false;
  return context_.check(result, kNameOf<&Driver::event_query>).ok() || context_.poisoned();
}

void CudaStream::finish(Pending* front) {
  if (front->failure == nullptr && context_.poisoned()) front->failure = context_.failure();
  if (front->failure == nullptr) {
    log_->set_completed(front->last_launch);
    front->batch->finish();
  } else {
    front->batch->fail(front->failure);
    failures_.push_back(front->failure);
  }
  const std::vector<FailureRef>& own = front->batch->failures();
  failures_.insert(failures_.end(), own.begin(), own.end());
}

void CudaStream::reap(uint64_t known, bool asks) {
  std::vector<Pending> over;  // destroyed unlocked: batches free memory
  std::unique_lock lock(pending_mutex_);
  while (!pending_.empty() && is_over(pending_.front(), known, asks)) {
    Pending& front = pending_.front();
    if (!front.after.empty()) {
      // The device has passed these, but their streams may not have observed it. Two streams may do
      // this for each other, so no lock is held.
      const std::vector<Event> after = front.after;
      const uint64_t ticket = front.ticket;
      lock.unlock();
      for (const Event& event : after) runtime::wait(event);
      lock.lock();
      if (!pending_.empty() && pending_.front().ticket == ticket) pending_.front().after.clear();
      continue;
    }
    finish(&front);
    completed_.store(front.ticket, std::memory_order_release);
    over.push_back(std::move(front));
    pending_.pop_front();
  }
}

}  // namespace sluice::runtime::cuda
