#include "kernels/executor.h"

#include <algorithm>
#include <map>
#include <mutex>

#include <sluice/error.h>
#include "kernels/cache/compile_threads.h"
#include "kernels/cpu/cpu_executor.h"
#include "kernels/cuda/executor.h"

namespace sluice::kernels {
namespace {

// Never destroyed: plans may be let go of after main.
struct Registry {
  std::mutex mutex;
  std::map<int, std::unique_ptr<Executor>> gpus;  // by index; guarded by mutex
};
Registry& registry() {
  static Registry* registry = new Registry;
  return *registry;
}

std::vector<Executor*> all_executors() {
  std::vector<Executor*> result = {&cpu_executor()};
  std::lock_guard lock(registry().mutex);
  for (const auto& [index, executor] : registry().gpus) result.push_back(executor.get());
  return result;
}

}  // namespace

BoundMatmul::BoundMatmul(const fusion::MatmulStep& step, const Bindings* bindings) {
  const auto address = [&](const fusion::MemoryRef& ref, int64_t offset) {
    return bindings == nullptr ? nullptr : static_cast<float*>(bindings->at(ref)) + offset;
  };
  matmul_.batch = step.batch;
  matmul_.m = step.m;
  matmul_.n = step.n;
  matmul_.k = step.k;
  matmul_.a = address(step.a, step.a_offset);
  matmul_.b = address(step.b, step.b_offset);
  matmul_.c = address(step.c, 0);
  std::copy_n(step.a_strides, 3, matmul_.a_strides);
  std::copy_n(step.b_strides, 3, matmul_.b_strides);
  for (const fusion::Epilogue& epilogue : step.epilogues) {
    Epilogue& own = epilogues_.emplace_back();
    own.op = epilogue.op;
    own.one_row = epilogue.one_row;
    if (own.op == fusion::Op::kAdd) own.operand = address(epilogue.operand, epilogue.offset);
  }
  matmul_.epilogues = epilogues_;
}

Executor& executor(Device device) {
  if (device.type() == DeviceType::kCpu) return cpu_executor();
  std::lock_guard lock(registry().mutex);
  std::unique_ptr<Executor>& made = registry().gpus[device.index()];
  if (made == nullptr) {
    absl::StatusOr<std::unique_ptr<Executor>> executor = cuda::make_executor(device.index());
    if (!executor.ok()) throw Error(executor.status());
    made = *std::move(executor);
  }
  return *made;
}

CacheStats total_cache_stats() {
  CacheStats total;
  for (const Executor* executor : all_executors()) {
    const CacheStats own = executor->cache_stats();
    total.compiles += own.compiles;
    total.compile_failures += own.compile_failures;
    total.hits += own.hits;
    total.disk_hits += own.disk_hits;
  }
  return total;
}

void wait_for_compilers() {
  for (Executor* executor : all_executors()) executor->wait_for_compiler();
}

void stop_compilers() { CompileThreads::get().stop(); }

}  // namespace sluice::kernels
