// What an op costs on the host: chains on 16 floats, where there is next to nothing to compute.
#include <array>
#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "sluice/bench/support.h"

namespace sluice::bench {
namespace {

enum class OperandKind { kTensor, kScalar };

Tensor chain(const Tensor& x, const Tensor& y, int ops, OperandKind kind) {
  Tensor t = x;
  for (int i = 0; i < ops; i += 2) {
    if (kind == OperandKind::kTensor) {
      t = std::move(t) * y;
      t = std::move(t) + x;
    } else {
      t = std::move(t) * 0.5f;
      t = std::move(t) + 1.0f;
    }
  }
  return t;
}

struct Inputs {
  Tensor x = Tensor::from(random_floats(16, 1));
  Tensor y = Tensor::from(random_floats(16, 2));
};

// Recording, flushing by a plan that is there, running, and reading the result.
void steady_state(benchmark::State& state, Tier tier, int ops, OperandKind kind) {
  const UseTier use(tier);
  const Inputs in;
  std::array<float, 16> result;
  chain(in.x, in.y, ops, kind).copy_to(std::span<float>(result));
  for (auto _ : state) {
    chain(in.x, in.y, ops, kind).copy_to(std::span<float>(result));
    benchmark::DoNotOptimize(result);
  }
  report_per_op(state, ops);
}

// Recording alone: nobody holds the chain when it is flushed, so nothing runs.
void append_only(benchmark::State& state, int ops, OperandKind kind) {
  const Inputs in;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    Tensor t = chain(in.x, in.y, ops, kind);
    const auto end = std::chrono::steady_clock::now();
    state.SetIterationTime(std::chrono::duration<double>(end - begin).count());
    t = Tensor();
    flush();
  }
  report_per_op(state, ops);
}

// As steady_state(), on so many threads at once, each with tensors of its own. What an op takes is
// counted over all threads: with two it should be half.
void on_threads(benchmark::State& state, int count, int ops) {
  constexpr int kChains = 500;
  for (auto _ : state) {
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) {
      threads.emplace_back([ops] {
        const Inputs in;
        std::array<float, 16> result;
        for (int i = 0; i < kChains; ++i) {
          chain(in.x, in.y, ops, OperandKind::kTensor).copy_to(std::span<float>(result));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  report_per_op(state, static_cast<double>(count) * kChains * ops);
}

[[maybe_unused]] const bool registered = [] {
  for (const auto& [kind, operands] :
       {std::pair(OperandKind::kTensor, "tensors"), std::pair(OperandKind::kScalar, "scalars")}) {
    for (const int ops : {64, 1000}) {
      const std::string workload = std::string("host_cost_") + operands;
      const std::string size = std::to_string(ops);
      for (const Tier tier : {Tier::kCompiled, Tier::kInterpreted}) {
        benchmark::RegisterBenchmark((workload + "/" + name_of(tier) + "/" + size).c_str(),
                                     steady_state, tier, ops, kind)
            ->UseRealTime();
      }
      benchmark::RegisterBenchmark((workload + "/append_only/" + size).c_str(), append_only, ops,
                                   kind)
          ->UseManualTime();
    }
  }
  for (const int count : {1, 2}) {
    const std::string name = "host_cost_threads/" + std::to_string(count) + "/1000";
    benchmark::RegisterBenchmark(name.c_str(), on_threads, count, 1000)->UseRealTime();
  }
  return true;
}();

}  // namespace
}  // namespace sluice::bench
