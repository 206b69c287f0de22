// Fused pointwise kernels against hand-written loops: a chain of ten cheap ops, and Mish.
#include <string>

#include "bench/hand/hand_loops.h"
#include "bench/support.h"

namespace sluice::bench {
namespace {

Tensor chain10(const Tensor& x, const Tensor& y) {
  Tensor t = x;
  for (int k = 0; k < 5; ++k) t = std::move(t) * y + x;
  return t;
}

using TensorFn = Tensor (*)(const Tensor& x, const Tensor& y);
using HandFn = void (*)(const float* x, const float* y, float* out, int64_t n);

struct Workload {
  const char* name;
  int inputs;
  TensorFn sluice;
  HandFn hand;
  HandFn streaming;  // null: none
};

constexpr Workload kWorkloads[] = {
    {"chain10", 2, chain10, hand_chain10, hand_chain10_streaming},
    {"mish_composed", 1, [](const Tensor& x, const Tensor&) { return x * tanh(log1p(exp(x))); },
     [](const float* x, const float*, float* out, int64_t n) { hand_mish_composed(x, out, n); },
     nullptr},
    {"mish_op", 1, [](const Tensor& x, const Tensor&) { return mish(x); },
     [](const float* x, const float*, float* out, int64_t n) { hand_mish_algebraic(x, out, n); },
     nullptr},
};

double bytes_of(const Workload& workload, int64_t n) {
  return static_cast<double>((workload.inputs + 1) * n) * sizeof(float);
}

void run_sluice(benchmark::State& state, const Workload& workload, Tier tier, int64_t n) {
  const Tensor x = Tensor::from(random_floats(n, 1));
  const Tensor y = Tensor::from(random_floats(n, 2));
  time_result(state, tier, [&] { return workload.sluice(x, y); });
  report_bytes(state, bytes_of(workload, n));
}

void run_hand(benchmark::State& state, const Workload& workload, HandFn hand, int64_t n) {
  const Floats x = random_floats(n, 1);
  const Floats y = random_floats(n, 2);
  Floats out(n);
  hand(x.data(), y.data(), out.data(), n);
  for (auto _ : state) {
    hand(x.data(), y.data(), out.data(), n);
    benchmark::ClobberMemory();
  }
  report_bytes(state, bytes_of(workload, n));
}

[[maybe_unused]] const bool registered = [] {
  for (const Workload& workload : kWorkloads) {
    for (const int64_t n :
         {int64_t{1} << 10, int64_t{1} << 16, int64_t{1} << 20, int64_t{1} << 24}) {
      auto named = [&](const char* who) {
        return std::string(workload.name) + "/" + who + "/" + std::to_string(n);
      };
      for (const Tier tier : {Tier::kCompiled, Tier::kInterpreted}) {
        benchmark::RegisterBenchmark(named(name_of(tier)).c_str(), run_sluice, workload, tier, n)
            ->UseRealTime();
      }
      benchmark::RegisterBenchmark(named("hand").c_str(), run_hand, workload, workload.hand, n)
          ->UseRealTime();
      if (workload.streaming == nullptr || n < int64_t{1} << 24) continue;
      benchmark::RegisterBenchmark(named("streaming").c_str(), run_hand, workload,
                                   workload.streaming, n)
          ->UseRealTime();
    }
  }
  return true;
}();

}  // namespace
}  // namespace sluice::bench
