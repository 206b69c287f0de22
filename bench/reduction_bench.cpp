// Reductions and softmax against hand-written loops.
#include <functional>
#include <string>

#include "bench/hand/hand_loops.h"
#include "bench/support.h"

namespace sluice::bench {
namespace {

constexpr int64_t kRows = 4096;
constexpr int64_t kColumns = 1024;

using TensorFn = Tensor (*)(const Tensor& x);
using HandFn = void (*)(const float* x, float* out);

struct Workload {
  const char* name;
  TensorFn sluice;
  HandFn hand;
  int64_t written;  // floats
};

constexpr Workload kWorkloads[] = {
    {"sum_all", [](const Tensor& x) { return sum(x); },
     [](const float* x, float* out) { *out = hand_sum(x, kRows * kColumns); }, 1},
    {"sum_rows", [](const Tensor& x) { return sum(x, {1}); },
     [](const float* x, float* out) { hand_row_sums(x, out, kRows, kColumns); }, kRows},
    {"sum_columns", [](const Tensor& x) { return sum(x, {0}); },
     [](const float* x, float* out) { hand_column_sums(x, out, kRows, kColumns); }, kColumns},
    {"softmax", [](const Tensor& x) { return softmax(x); },
     [](const float* x, float* out) { hand_softmax(x, out, kRows, kColumns); }, kRows* kColumns},
};

double bytes_of(const Workload& workload) {
  return static_cast<double>(kRows * kColumns + workload.written) * sizeof(float);
}

void run_sluice(benchmark::State& state, const Workload& workload, Tier tier) {
  const Tensor x = Tensor::from(random_floats(kRows * kColumns, 1), {kRows, kColumns});
  time_result(state, tier, [&] { return workload.sluice(x); });
  report_bytes(state, bytes_of(workload));
}

void run_hand(benchmark::State& state, const Workload& workload) {
  const Floats x = random_floats(kRows * kColumns, 1);
  Floats out(workload.written);
  workload.hand(x.data(), out.data());
  for (auto _ : state) {
    workload.hand(x.data(), out.data());
    benchmark::ClobberMemory();
  }
  report_bytes(state, bytes_of(workload));
}

[[maybe_unused]] const bool registered = [] {
  const std::string size = std::to_string(kRows) + "x" + std::to_string(kColumns);
  for (const Workload& workload : kWorkloads) {
    const std::string name = std::string(workload.name) + "/";
    for (const Tier tier : {Tier::kCompiled, Tier::kInterpreted}) {
      benchmark::RegisterBenchmark((name + name_of(tier) + "/" + size).c_str(), run_sluice,
                                   workload, tier)
          ->UseRealTime();
    }
    benchmark::RegisterBenchmark((name + "hand/" + size).c_str(), run_hand, workload)
        ->UseRealTime();
  }
  return true;
}();

}  // namespace
}  // namespace sluice::bench
