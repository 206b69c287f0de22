#include "runtime/cuda/driver/context.h"

#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace sluice::runtime::cuda {
namespace {

thread_local Context* current_context = nullptr;

}  // namespace

Context::Context(const Driver* driver) : driver_(*driver) {
  const char* text = std::getenv("SLUICE_SYNC");
  set_synchronous(text != nullptr && std::string_view(text) == "1");
}

absl::StatusOr<std::unique_ptr<Context>> Context::make(const Driver* driver, int ordinal) {
  std::unique_ptr<Context> context(new Context(driver));
  const absl::Status status = context->open(ordinal);
  if (status.ok()) return context;
  return prefixed(absl::StrCat("cuda:", ordinal, " cannot be used"), status);
}

absl::Status Context::open(int ordinal) {
  info_.ordinal = ordinal;
  char name[128] = "";
  size_t memory = 0;
  absl::Status status = call<&Driver::device_get>(&device_, ordinal);
  status.Update(call<&Driver::device_get_name>(name, static_cast<int>(sizeof(name)), device_));
  status.Update(call<&Driver::device_total_mem>(&memory, device_));
  info_.name = name;
  info_.memory_bytes = static_cast<int64_t>(memory);
  const auto attribute = [&](DeviceAttribute which) {
    int value = 0;
    status.Update(call<&Driver::device_get_attribute>(&value, which, device_));
    return value;
  };
  info_.compute_capability = 10 * attribute(DeviceAttribute::kComputeCapabilityMajor) +
                             attribute(DeviceAttribute::kComputeCapabilityMinor);
  info_.multiprocessors = attribute(DeviceAttribute::kMultiprocessors);
  info_.threads_per_multiprocessor = attribute(DeviceAttribute::kThreadsPerMultiprocessor);
  info_.shared_bytes_per_multiprocessor = attribute(DeviceAttribute::kSharedBytesPerMultiprocessor);
  info_.max_threads_per_block = attribute(DeviceAttribute::kMaxThreadsPerBlock);
  info_.max_shared_bytes_per_block = attribute(DeviceAttribute::kMaxSharedBytesPerBlock);
  info_.registers_per_block = attribute(DeviceAttribute::kRegistersPerBlock);
  info_.l2_bytes = attribute(DeviceAttribute::kL2Bytes);
  const bool has_pools = attribute(DeviceAttribute::kMemoryPools) != 0;
  if (!status.ok()) return status;
  if (!has_pools) {
    return absl::FailedPreconditionError(
        absl::StrCat(info_.name, " has no stream-ordered memory pools"));
  }
  return call<&Driver::primary_ctx_retain>(&handle_, device_);
}

Context::~Context() {
  if (handle_ != nullptr) driver_.primary_ctx_release(device_);
}

absl::Status Context::check_failed(Result result, const char* call) {
  if (is_sticky(result) || poisoned()) return poison(result, call)->status;
  return to_status(driver_, result, call);
}

FailureRef Context::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

FailureRef Context::poison(Result result, const char* call) {
  std::lock_guard lock(mutex_);
  if (failure_ != nullptr) return failure_;
  std::string text = absl::StrCat("cuda:", info_.ordinal, " (", info_.name,
                                  ") failed: ", to_string(driver_, result), ", reported by ", call);
  for (const LaunchLog* log : watched_) {
    const std::string blame = log->describe();
    if (!blame.empty()) absl::StrAppend(&text, "; ", blame);
  }
  absl::StrAppend(&text, ". This process cannot use the device any more",
                  synchronous() ? "" : "; SLUICE_SYNC=1 finds the launch that is to blame");
  failure_ = std::make_shared<Failure>(absl::InternalError(text));
  poisoned_.store(true, std::memory_order_release);
  return failure_;
}

void Context::leave_fork(bool is_child) {
  if (is_child && failure_ == nullptr) {
    failure_ = std::make_shared<Failure>(absl::FailedPreconditionError(
        absl::StrCat("cuda:", info_.ordinal, " (", info_.name,
                     ") cannot be used here: this process was forked from one that used it. Fork "
                     "before the first use of a GPU")));
    poisoned_.store(true, std::memory_order_release);
  }
  mutex_.unlock();
}

void Context::watch(const LaunchLog* log) {
  std::lock_guard lock(mutex_);
  watched_.push_back(log);
}

void Context::unwatch(const LaunchLog* log) {
  std::lock_guard lock(mutex_);
  std::erase(watched_, log);
}

CurrentContext::CurrentContext(Context* context)
    : context_(context),
      before_(current_context),
      status_(before_ == context
                  ? absl::OkStatus()
                  : context->check(context->driver().ctx_push_current(context->handle()),
                                   kNameOf<&Driver::ctx_push_current>)) {
  if (status_.ok()) current_context = context;
}

CurrentContext::~CurrentContext() {
  if (!status_.ok() || before_ == context_) return;
  current_context = before_;
  ContextHandle popped = nullptr;
  context_->driver().ctx_pop_current(&popped);
}

}  // namespace sluice::runtime::cuda
