#include "tests/emulated_cuda/machine.h"

#include <algorithm>

namespace sluice::emulated {

Machine* Machine::running = nullptr;

constexpr double kEagerness[] = {0, 0.05, 0.2, 0.6};

Machine::Machine(const Options& given)
    : options(given),
      devices(given.devices),
      rng_(given.seed),
      eagerness_(kEagerness[given.seed % 4]),
      by_priority_(chance(0.7)) {
  for (int i = 0; i < given.devices; ++i) devices[i].ordinal = i;
}

Result Machine::violation(Result result, const std::string& what) {
  violations.push_back(std::string(last_call) + ": " + what);
  return result;
}

Result Machine::begin_call(const char* name) {
  ++calls;
  if (options.is_dry) ++calls_by_name[name];
  last_call = name;
  if (torn_down) return Result::kDeinitialized;
  Device* device = current();
  Result result = Result::kSuccess;
  if (call_fault && call_fault->at == calls) {
    result = call_fault->result;
    call_fault.reset();
    if (runtime::cuda::is_sticky(result) && device != nullptr) raise(device, result);
  }
  if (device != nullptr && device->sticky != Result::kSuccess) result = device->sticky;
  return result;
}

void Machine::raise(Device* device, Result result) {
  if (device->sticky == Result::kSuccess) device->sticky = result;
  if (!stepping_) drop_work(device);
}

bool Machine::must_be_current(const Device* device) {
  if (current() == device) return true;
  violation(Result::kInvalidContext, "the object belongs to a context that is not current");
  return false;
}

// --- Order.

bool Machine::chance(double probability) {
  return std::uniform_real_distribution<>(0, 1)(rng_) < probability;
}

std::shared_ptr<bool> Machine::push(Stream* stream, std::function<bool()> step,
                                    std::function<bool()> ready) {
  auto done = std::make_shared<bool>(false);
  stream->ops.push_back({std::move(ready), std::move(step), done});
  if (chance(eagerness_)) run_some_steps(3);
  return done;
}

bool Machine::step() {
  std::erase_if(scheduled_, [](const std::shared_ptr<Stream>& stream) {
    return stream->ops.empty() && stream.use_count() == 1;
  });
  std::vector<Stream*> runnable;
  for (const std::shared_ptr<Stream>& stream : scheduled_) {
    if (stream->ops.empty()) continue;
    const Op& op = stream->ops.front();
    if (!op.ready || op.ready()) runnable.push_back(stream.get());
  }
  if (runnable.empty()) return false;
  Stream* stream = runnable[below(runnable.size())];
  if (by_priority_) {
    stream = *std::max_element(
        runnable.begin(), runnable.end(),
        [](const Stream* a, const Stream* b) { return a->priority < b->priority; });
    if (chance(0.05)) stream->priority = below(1000);
  }
  Op& op = stream->ops.front();
  stepping_ = true;
  const bool over = op.step();
  stepping_ = false;
  if (stream->device->sticky != Result::kSuccess) {
    drop_work(stream->device);
  } else if (over) {
    *op.done = true;
    stream->ops.pop_front();
  }
  return true;
}

void Machine::drop_work(Device* device) {
  for (const std::shared_ptr<Stream>& stream : scheduled_) {
    if (stream->device != device) continue;
    for (const Op& op : stream->ops) *op.done = true;
    stream->ops.clear();
  }
}

void Machine::run_some_steps(size_t most) {
  for (size_t steps = below(most + 1); steps > 0 && step(); --steps) {
  }
}

void Machine::make_progress() {
  // With some probability always: the host may be polling.
  if (chance(std::max(eagerness_, 0.1))) run_some_steps(3);
}

Result Machine::run_until(const Device* device, const std::function<bool()>& done) {
  while (!done() && device->sticky == Result::kSuccess) {
    if (!step()) return violation(Result::kUnknown, "the work waits for itself");
  }
  return device->sticky;
}

}  // namespace sluice::emulated
