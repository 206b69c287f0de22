// The function table of the emulated driver: each entry counts the call, injects faults and calls
// the implementation.
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "tests/emulated_cuda/emulated_cuda.h"
#include "tests/emulated_cuda/machine.h"

namespace sluice::emulated {
namespace {

using runtime::cuda::Driver;
using runtime::cuda::kNameOf;

constexpr bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Calls that take effect even if they return an error, since callers release an object only once.
constexpr bool releases_object(std::string_view name) {
  return has(name, "Destroy") || has(name, "Free") || has(name, "Release") || has(name, "Unload") ||
         has(name, "Pop");
}
// Calls that succeed with an unusable context.
constexpr bool needs_no_context(std::string_view name) {
  return has(name, "cuInit") || has(name, "cuDriver") || has(name, "cuDevice") ||
         has(name, "Push") || has(name, "Pop");
}

template <auto Member, auto Implementation>
struct Entry;
template <auto Member, typename... Args, Result (*Implementation)(Machine&, Args...)>
struct Entry<Member, Implementation> {
  static Result call(Args... args) {
    Machine* machine = Machine::running;
    if (machine == nullptr) {
      std::fprintf(stderr, "%s without a driver\n", kNameOf<Member>);
      std::abort();
    }
    constexpr std::string_view kName = kNameOf<Member>;
    if constexpr (has(kName, "cuGetError")) {
      return Implementation(*machine, args...);
    } else {
      if (in_host_function) {
        std::fprintf(stderr, "%s within a host function\n", kNameOf<Member>);
        std::abort();
      }
      std::lock_guard lock(machine->mutex);
      const Device* device = machine->current();
      const bool unusable = device != nullptr && device->sticky != Result::kSuccess;
      const Result fault = machine->begin_call(kNameOf<Member>);
      if (fault == Result::kSuccess || (unusable && needs_no_context(kName))) {
        return Implementation(*machine, args...);
      }
      if (releases_object(kName)) Implementation(*machine, args...);
      return fault;
    }
  }
};

Driver make_table() {
  Driver table;
#define SLUICE_CUDA_CALL(name, symbol, ...) table.name = &Entry<&Driver::name, &calls::name>::call;
#include "runtime/cuda/driver/driver.def"
#undef SLUICE_CUDA_CALL
  return table;
}

const Driver& table() {
  static const Driver kTable = make_table();
  return kTable;
}

constexpr char kRegisteredImage[] = "the registered kernels";

}  // namespace

EmulatedCuda::EmulatedCuda(const Options& options) : machine_(std::make_unique<Machine>(options)) {
  if (Machine::running != nullptr) {
    std::fputs("there is an emulated driver already\n", stderr);
    std::abort();
  }
  Machine::running = machine_.get();
  runtime::cuda::set_driver_for_testing(&table());
}

EmulatedCuda::~EmulatedCuda() {
  runtime::cuda::set_driver_for_testing(nullptr);
  Machine::running = nullptr;
}

const Driver& EmulatedCuda::driver() const { return table(); }

const void* EmulatedCuda::registered_image() { return kRegisteredImage; }

void EmulatedCuda::add_kernel(const std::string& name, KernelFunction function,
                              const KernelTraits& traits) {
  std::lock_guard lock(machine_->mutex);
  machine_->registered[name] = {std::move(function), traits};
}

int64_t EmulatedCuda::calls() const {
  std::lock_guard lock(machine_->mutex);
  return machine_->calls;
}

void EmulatedCuda::fail_call(int64_t n, Result result) {
  std::lock_guard lock(machine_->mutex);
  machine_->call_fault = {machine_->calls + n, result};
}

void EmulatedCuda::fail_kernel(int64_t n, Result result) {
  std::lock_guard lock(machine_->mutex);
  machine_->kernel_fault = {machine_->kernels_run + n, result};
}

int64_t EmulatedCuda::kernels_run() const {
  std::lock_guard lock(machine_->mutex);
  return machine_->kernels_run;
}

std::vector<Launch> EmulatedCuda::take_launches() {
  std::lock_guard lock(machine_->mutex);
  return std::exchange(machine_->launches, {});
}

std::map<std::string, int64_t> EmulatedCuda::calls_by_name() const {
  std::lock_guard lock(machine_->mutex);
  return machine_->calls_by_name;
}

int64_t EmulatedCuda::staged_copies() const {
  std::lock_guard lock(machine_->mutex);
  return machine_->staged_copies;
}

size_t EmulatedCuda::memory_in_use(int device) const {
  std::lock_guard lock(machine_->mutex);
  return machine_->devices[device].memory_in_use;
}

std::vector<std::string> EmulatedCuda::violations() const {
  std::lock_guard lock(machine_->mutex);
  return machine_->violations;
}

std::vector<std::string> EmulatedCuda::leaks() const {
  std::lock_guard lock(machine_->mutex);
  std::vector<std::string> found;
  const auto add = [&](const char* kind, size_t count) {
    if (count > 0) found.push_back(std::to_string(count) + " " + kind);
  };
  add("streams", machine_->streams.size());
  add("events", machine_->events.size());
  add("pools", machine_->pools.size());
  add("modules", machine_->modules.size());
  add("graphs", machine_->graphs.size());
  add("executable graphs", machine_->execs.size());
  add("blocks of pinned memory", machine_->pinned_blocks.size());
  add("blocks of device memory", machine_->memory.not_freed().size());
  add("contexts left on this thread", Machine::contexts_of_thread());
  for (const Device& device : machine_->devices) add("retained contexts", device.retained);
  return found;
}

}  // namespace sluice::emulated
