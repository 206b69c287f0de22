// The host cost of an op: chains on 16 floats, with almost nothing to compute.
#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/support.h"

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

// Recording, flushing with a cached plan, running, and reading the result.
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

// Recording alone: no handle is left at the flush, so nothing runs.
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

// The throughput of two threads, each with its own tensors, relative to one thread. The threads
// time themselves, so that starting and joining them is not included.
class Pair {
 public:
  explicit Pair(int ops) : ops_(ops) {
    for (int who = 0; who < 2; ++who) threads_[who] = std::thread([this, who] { work(who); });
  }
  ~Pair() {
    run(kStop);
    for (std::thread& thread : threads_) thread.join();
  }

  enum Turn { kFirst = 1, kSecond = 2, kBoth = 3, kStop = 4 };
  // Chains per second of all active threads.
  double run(Turn turn) {
    turn_ = turn;
    rates_ = {};
    begin_.arrive_and_wait();
    if (turn == kStop) return 0;
    end_.arrive_and_wait();
    return rates_[0] + rates_[1];
  }

 private:
  void work(int who) {
    constexpr int kChains = 50;
    const Inputs in;
    std::array<float, 16> result;
    while (true) {
      begin_.arrive_and_wait();
      if (turn_ == kStop) return;
      if ((turn_ >> who & 1) != 0) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < kChains; ++i) {
          chain(in.x, in.y, ops_, OperandKind::kTensor).copy_to(std::span<float>(result));
        }
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        rates_[who] = kChains / taken.count();
      }
      end_.arrive_and_wait();
    }
  }

  const int ops_;
  Turn turn_ = kBoth;
  std::array<double, 2> rates_{};  // by thread
  std::barrier<> begin_{3}, end_{3};
  std::array<std::thread, 2> threads_;
};

void on_two_threads(benchmark::State& state, int ops) {
  Pair pair(ops);
  pair.run(Pair::kBoth);
  std::vector<double> gains, per_op;
  for (auto _ : state) {
    // The pair runs between two single runs, since the load of the machine varies.
    const double first = pair.run(Pair::kFirst);
    const double both = pair.run(Pair::kBoth);
    const double second = pair.run(Pair::kSecond);
    gains.push_back(both / ((first + second) / 2));
    per_op.push_back(1 / (both * ops));
  }
  const auto median = [](std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
  };
  state.counters["over_one"] = median(gains);
  state.counters["per_op"] = median(per_op);
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
  benchmark::RegisterBenchmark("host_cost_threads/sluice/1000", on_two_threads, 1000)
      ->UseRealTime();
  return true;
}();

}  // namespace
}  // namespace sluice::bench
