// The host's cost of submitting a recurring window to a GPU, measured without one: the driver's
// functions do nothing, so the rest is the engine's own.
//
//   cuda_submit_cost [windows]
//
// Prints nanoseconds from flush to submitted and driver calls, per window: of windows that are
// waited for, then of pipelined ones. Under callgrind the instructions of Queue::run are
// reproducible.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sluice/sluice.h>
#include "kernels/cuda/gpu.h"
#include "runtime/cuda/driver/driver.h"

namespace {

using namespace sluice;                 // NOLINT
using namespace sluice::runtime::cuda;  // NOLINT

int64_t calls = 0, patches = 0;

// Sets a member of the table to a function of its type that only counts its calls.
template <typename... Args>
void set(Result (*&member)(Args...)) {
  member = [](Args...) {
    ++calls;
    return Result::kSuccess;
  };
}

// Likewise for functions that create an object: every handle is the same dummy.
template <typename Handle, typename... Args>
void set_maker(Result (*&member)(Handle*, Args...)) {
  member = [](Handle* handle, Args...) {
    static char object;
    ++calls;
    *handle = reinterpret_cast<Handle>(&object);
    return Result::kSuccess;
  };
}

const Driver* make_null_driver() {
  auto* table = new Driver;
#define SLUICE_CUDA_CALL(name, symbol, ...) set(table->name);
#include "runtime/cuda/driver/driver.def"
#undef SLUICE_CUDA_CALL
  set_maker(table->primary_ctx_retain);
  set_maker(table->stream_create);
  set_maker(table->event_create);
  set_maker(table->mem_pool_create);
  set_maker(table->graph_create);
  // The device is always done.
  table->stream_write_value32 = [](StreamHandle, DevicePtr address, uint32_t value, unsigned) {
    ++calls;
    return *reinterpret_cast<uint32_t*>(address) = value, Result::kSuccess;
  };
  table->driver_get_version = [](int* version) { return *version = 13000, Result::kSuccess; };
  table->device_get_count = [](int* count) { return *count = 1, Result::kSuccess; };
  table->device_get = [](DeviceHandle* device, int) { return *device = 0, Result::kSuccess; };
  table->device_get_name = [](char* name, int size, DeviceHandle) {
    return std::snprintf(name, size, "nothing"), Result::kSuccess;
  };
  table->device_get_attribute = [](int* value, DeviceAttribute, DeviceHandle) {
    return *value = 100, Result::kSuccess;
  };
  table->device_total_mem = [](size_t* bytes, DeviceHandle) {
    return *bytes = size_t{1} << 36, Result::kSuccess;
  };
  table->mem_alloc_from_pool_async = [](DevicePtr* address, size_t, PoolHandle, StreamHandle) {
    static DevicePtr next = DevicePtr{1} << 40;
    return *address = next += 1 << 24, Result::kSuccess;
  };
  table->mem_host_alloc = [](void** memory, size_t bytes, unsigned) {
    return *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096), Result::kSuccess;
  };
  table->func_get_attribute = [](int* value, FunctionAttribute, FunctionHandle) {
    return *value = 0, Result::kSuccess;
  };
  table->module_load_data_ex = [](ModuleHandle* module, const void*, unsigned, JitOption*, void**) {
    static char object;
    return *module = reinterpret_cast<ModuleHandle>(&object), Result::kSuccess;
  };
  // Functions are distinct, or graphs would seem to need no patching.
  table->module_get_function = [](FunctionHandle* function, ModuleHandle, const char*) {
    static uintptr_t next = 0;
    return *function = reinterpret_cast<FunctionHandle>(next += 16), Result::kSuccess;
  };
  table->graph_add_kernel_node = [](GraphNodeHandle* node, GraphHandle, const GraphNodeHandle*,
                                    size_t, const KernelNodeParams*) {
    static uintptr_t next = 0;
    return *node = reinterpret_cast<GraphNodeHandle>(next += 16), Result::kSuccess;
  };
  table->graph_exec_kernel_node_set_params = [](GraphExecHandle, GraphNodeHandle,
                                                const KernelNodeParams*) {
    return ++calls, ++patches, Result::kSuccess;
  };
  table->graph_instantiate = [](GraphExecHandle* exec, GraphHandle, unsigned long long) {
    static char object;
    return *exec = reinterpret_cast<GraphExecHandle>(&object), Result::kSuccess;
  };
  return table;
}

class NullCompiler : public kernels::cuda::Compiler {
 public:
  absl::StatusOr<kernels::cuda::CompiledCode> compile(const std::string&, bool) override {
    return kernels::cuda::CompiledCode{};
  }
  std::string identity() const override { return "nothing"; }
};

// 100 ops. With dependent sums in between: 10 kernels; without: 1.
Tensor window_of(const Tensor& x, bool with_sums) {
  Tensor y = x;
  for (int k = 0; k < 10; ++k) {
    y = with_sums ? y * 1.01f - sum(y, k % 2, true) * 0.001f : (y * 1.01f - 0.5f) * 0.9f + 0.1f;
    y = exp(y * 0.1f) + y * 0.5f;
    y = (y - 0.25f) * 0.5f;
  }
  return y;
}

// `in_flight`: results that are alive at a time, so that their memory is used in turn.
void measure(const char* name, const Tensor& x, bool with_sums, size_t in_flight, int windows) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  int64_t calls_of_last = 0, patches_before = 0;
  std::vector<Tensor> alive(in_flight);
  for (int i = 0; i < windows; ++i) {
    Tensor y = window_of(x, with_sums);
    const int64_t before = calls;
    patches_before = patches;
    const auto start = Clock::now();
    y.eval();
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
    calls_of_last = calls - before;
    if (in_flight == 0)
      sluice::sync();
    else
      alive[i % in_flight] = std::move(y);
  }
  std::sort(times.begin(), times.end());
  std::printf("%-28s %8.0f ns (median), %lld calls of the driver, %lld nodes changed\n", name,
              times[times.size() / 2], static_cast<long long>(calls_of_last),
              static_cast<long long>(patches - patches_before));
  sluice::sync();
}

}  // namespace

int main(int argc, char** argv) {
  const int windows = argc > 1 ? std::atoi(argv[1]) : 2000;
  set_driver_for_testing(make_null_driver());
  kernels::cuda::set_compiler_for_testing([] { return std::make_unique<NullCompiler>(); });
  set_default_device(Device::cuda(0));
  config().compile = CompileMode::kBlocking;
  const Tensor x = Tensor::from(std::vector<float>(64 * 64, 0.5f), {64, 64});
  measure("100 ops in 1 kernel", x, false, 0, windows);
  measure("100 ops in 10 kernels", x, true, 0, windows);
  measure("100 ops in 1, pipelined", x, false, 3, windows);
  measure("100 ops in 10, pipelined", x, true, 3, windows);
}
