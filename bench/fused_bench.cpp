// Programs of several ops, in primitives and views, against one equivalent loop each.
#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "bench/hand/fused_loops.h"
#include "bench/hand/hand_loops.h"
#include "bench/programs.h"
#include "bench/support.h"

namespace sluice::bench {
namespace {

// In huge pages, as Sluice's memory is. Otherwise every element of a column costs a page walk.
template <typename T>
struct HugePages {
  using value_type = T;
  static constexpr size_t kPage = size_t{2} << 20;
  T* allocate(size_t n) {
    void* data = operator new (n * sizeof(T), std::align_val_t{kPage});
    if (n * sizeof(T) >= kPage) madvise(data, n * sizeof(T), MADV_HUGEPAGE);
    return static_cast<T*>(data);
  }
  void deallocate(T* p, size_t) { operator delete (p, std::align_val_t{kPage}); }
  bool operator==(const HugePages&) const { return true; }
};
using Array = std::vector<float, HugePages<float>>;
using Arrays = std::vector<Array>;
using Tensors = std::vector<Tensor>;

using TensorFn = std::function<Tensors(const Tensors& in)>;
using HandFn = std::function<void(const Arrays& in, Arrays& out)>;

struct Workload {
  std::string name;
  std::vector<Shape> inputs;     // float32; the first one names the size
  std::vector<int64_t> results;  // elements
  TensorFn sluice;
  HandFn hand;
  HandFn copy = nullptr;    // moves as many bytes
  bool log_normal = false;  // the inputs, which are normal otherwise
};

Tensor softmax_by_hand(const Tensor& x, int axis) {
  Tensor e = exp(x - max(x, axis, true));
  Tensor total = sum(e, axis, true);
  return std::move(e) / std::move(total);
}

Tensor layer_norm_by_hand(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor scale = rsqrt(var(x, 1, true) + 1e-5f);
  return (x - mean(x, 1, true)) * std::move(scale) * weight + bias;
}

Tensor logsumexp_by_hand(const Tensor& x) {
  Tensor m = max(x, 1, true);
  return log(sum(exp(x - m), 1, true)) + m;
}

Workload softmax_of_rows(int64_t rows, int64_t columns) {
  return {"softmax_rows",
          {{rows, columns}},
          {rows * columns},
          [](const Tensors& in) { return Tensors{softmax_by_hand(in[0], 1)}; },
          [=](const Arrays& in, Arrays& out) {
            hand_softmax(in[0].data(), out[0].data(), rows, columns);
          }};
}

std::vector<Workload> row_workloads() {
  constexpr int64_t kRows = 4096, kColumns = 1024;
  const Shape x{kRows, kColumns}, row{kColumns};
  std::vector<Workload> list = {softmax_of_rows(kRows, kColumns), softmax_of_rows(kRows, 64),
                                softmax_of_rows(256, 16384)};
  list.push_back({"softmax_columns",
                  {x},
                  {x.numel()},
                  [](const Tensors& in) { return Tensors{softmax_by_hand(in[0], 0)}; },
                  [](const Arrays& in, Arrays& out) {
                    hand_softmax_columns(in[0].data(), out[0].data(), kRows, kColumns);
                  }});
  list.push_back(
      {"layer_norm",
       {x, row, row},
       {x.numel()},
       [](const Tensors& in) { return Tensors{layer_norm_by_hand(in[0], in[1], in[2])}; },
       [](const Arrays& in, Arrays& out) {
         hand_layer_norm(in[0].data(), in[1].data(), in[2].data(), out[0].data(), kRows, kColumns);
       }});
  list.push_back({"rms_norm",
                  {x, row},
                  {x.numel()},
                  [](const Tensors& in) {
                    return Tensors{in[0] * rsqrt(mean(square(in[0]), 1, true) + 1e-6f) * in[1]};
                  },
                  [](const Arrays& in, Arrays& out) {
                    hand_rms_norm(in[0].data(), in[1].data(), out[0].data(), kRows, kColumns);
                  }});
  list.push_back({"logsumexp",
                  {x},
                  {kRows},
                  [](const Tensors& in) { return Tensors{logsumexp_by_hand(in[0])}; },
                  [](const Arrays& in, Arrays& out) {
                    hand_logsumexp(in[0].data(), out[0].data(), kRows, kColumns);
                  }});
  return list;
}

std::vector<Workload> transposing_workloads() {
  constexpr int64_t kSide = 4096;
  const Shape square{kSide, kSide};
  std::vector<Workload> list;
  list.push_back({"transposed_add",
                  {square, square},
                  {square.numel()},
                  [](const Tensors& in) { return Tensors{in[0].T() + in[1]}; },
                  [](const Arrays& in, Arrays& out) {
                    hand_transposed_add(in[0].data(), in[1].data(), out[0].data(), kSide, kSide);
                  },
                  [](const Arrays& in, Arrays& out) {
                    hand_copy(in[0].data(), out[0].data(), kSide * kSide);
                    hand_copy(in[1].data(), out[0].data(), kSide * kSide / 2);
                  }});
  list.push_back({"permute_scale",
                  {{64, 512, 512}},
                  {64 * 512 * 512},
                  [](const Tensors& in) {
                    return Tensors{in[0].permute({0, 2, 1}) * 2.0f};
                  },
                  [](const Arrays& in, Arrays& out) {
                    hand_transpose(in[0].data(), 2, out[0].data(), 64, 512, 512);
                  }});
  // The factor makes it a kernel: a permutation alone is a view, which copies nothing.
  list.push_back({"nchw_to_nhwc",
                  {{32, 64, 56, 56}},
                  {32 * 64 * 56 * 56},
                  [](const Tensors& in) {
                    return Tensors{in[0].permute({0, 2, 3, 1}) * 0.5f};
                  },
                  [](const Arrays& in, Arrays& out) {
                    hand_transpose(in[0].data(), 0.5f, out[0].data(), 32, 64, 56 * 56);
                  }});
  list.push_back({"sum_transposed",
                  {square},
                  {kSide},
                  [](const Tensors& in) { return Tensors{sum(in[0].T(), 1)}; },
                  [](const Arrays& in, Arrays& out) {
                    hand_column_sums(in[0].data(), out[0].data(), kSide, kSide);
                  }});
  return list;
}

std::vector<Workload> other_workloads() {
  constexpr int64_t kSide = 4096, kPoints = 1024, kDepth = 64, kOptions = int64_t{1} << 22;
  const Shape grid{kSide, kSide}, points{kPoints, kDepth}, options{kOptions};
  std::vector<Workload> list;
  list.push_back({"jacobi",
                  {grid},
                  {grid.numel()},
                  [](const Tensors& in) { return Tensors{jacobi_step(in[0])}; },
                  [](const Arrays& in, Arrays& out) {
                    hand_jacobi(in[0].data(), out[0].data(), kSide, kSide);
                  }});
  list.push_back({"distances",
                  {points, points},
                  {kPoints * kPoints},
                  [](const Tensors& in) {
                    return Tensors{sum(square(expand_dims(in[0], 1) - expand_dims(in[1], 0)), 2)};
                  },
                  [](const Arrays& in, Arrays& out) {
                    hand_distances(in[0].data(), in[1].data(), out[0].data(), kPoints, kPoints,
                                   kDepth);
                  }});
  list.push_back({.name = "black_scholes",
                  .inputs = {options, options, options},
                  .results = {kOptions, kOptions},
                  .sluice = [](const Tensors& in) { return black_scholes(in[0], in[1], in[2]); },
                  .hand =
                      [](const Arrays& in, Arrays& out) {
                        hand_black_scholes(in[0].data(), in[1].data(), in[2].data(), kRate,
                                           kVolatility, out[0].data(), out[1].data(), kOptions);
                      },
                  .log_normal = true});
  return list;
}

Arrays inputs_of(const Workload& workload) {
  Arrays arrays;
  for (const Shape& shape : workload.inputs) {
    // Drawing all numbers of the larger inputs would take longer than the benchmark.
    const uint32_t seed = static_cast<uint32_t>(arrays.size()) + 1;
    Floats some = random_floats(std::min(shape.numel(), int64_t{1} << 20), seed);
    if (workload.log_normal) {
      for (float& value : some) value = std::exp(value);
    }
    Array& values = arrays.emplace_back(shape.numel());
    for (size_t i = 0; i < values.size(); ++i) values[i] = some[i % some.size()];
  }
  return arrays;
}

double bytes_of(const Workload& workload) {
  int64_t elements = 0;
  for (const Shape& shape : workload.inputs) elements += shape.numel();
  for (const int64_t count : workload.results) elements += count;
  return static_cast<double>(elements) * sizeof(float);
}

void run_sluice(benchmark::State& state, const Workload& workload, Tier tier) {
  Tensors inputs;
  {
    const Arrays arrays = inputs_of(workload);
    for (size_t i = 0; i < arrays.size(); ++i) {
      inputs.push_back(Tensor::from(arrays[i], workload.inputs[i]));
    }
  }
  Tensors results;
  time_result(state, tier, [&] {
    results = workload.sluice(inputs);
    return results[0];
  });
  report_bytes(state, bytes_of(workload));
}

void run_hand(benchmark::State& state, const Workload& workload, const HandFn& hand) {
  const Arrays inputs = inputs_of(workload);
  Arrays results(workload.results.begin(), workload.results.end());
  hand(inputs, results);
  for (auto _ : state) {
    hand(inputs, results);
    benchmark::ClobberMemory();
  }
  report_bytes(state, bytes_of(workload));
}

void register_workload(const Workload& workload) {
  std::string size;
  for (const int64_t extent : workload.inputs[0]) {
    size += (size.empty() ? "" : "x") + std::to_string(extent);
  }
  auto named = [&](const char* who) { return workload.name + "/" + who + "/" + size; };
  for (const Tier tier : {Tier::kCompiled, Tier::kInterpreted}) {
    benchmark::RegisterBenchmark(named(name_of(tier)).c_str(), run_sluice, workload, tier)
        ->UseRealTime();
  }
  benchmark::RegisterBenchmark(named("hand").c_str(), run_hand, workload, workload.hand)
      ->UseRealTime();
  if (workload.copy == nullptr) return;
  benchmark::RegisterBenchmark(named("copy").c_str(), run_hand, workload, workload.copy)
      ->UseRealTime();
}

[[maybe_unused]] const bool registered = [] {
  for (const auto& list : {row_workloads(), transposing_workloads(), other_workloads()}) {
    for (const Workload& workload : list) register_workload(workload);
  }
  return true;
}();

}  // namespace
}  // namespace sluice::bench
