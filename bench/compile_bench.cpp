// The cost of a new kernel: planning, translating, compiling, and the first result of a program new
// to the process.
#include <array>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "bench/support.h"
#include "fusion/graph/graph.h"
#include "fusion/plan/planner.h"
#include "kernels/compiled/compiler.h"
#include "kernels/interp/interpreter.h"

namespace sluice::bench {
namespace {

// Every call returns a new program, whose ops are chosen by a counter.
Tensor unseen_chain(const Tensor& x, const Tensor& y) {
  static uint64_t number = 0;
  uint64_t rest = number++;
  Tensor t = x;
  for (int i = 0; i < 10; ++i, rest /= 5) {
    switch (rest % 5) {
      case 0: t = std::move(t) + y; break;
      case 1: t = std::move(t) * y; break;
      case 2: t = maximum(std::move(t), y); break;
      case 3: t = std::move(t) - y; break;
      default: t = minimum(std::move(t), y); break;
    }
  }
  return t;
}

// From the first op recorded to the values read, with a new window, plan and kernel.
void first_result(benchmark::State& state, Tier tier) {
  const UseTier use(tier);
  const Tensor x = Tensor::from(random_floats(1024, 1));
  const Tensor y = Tensor::from(random_floats(1024, 2));
  std::array<float, 1024> result;
  for (auto _ : state) unseen_chain(x, y).copy_to(std::span<float>(result));
}

// The same with warm caches, for comparison.
void later_result(benchmark::State& state, Tier tier) {
  const UseTier use(tier);
  const Tensor x = Tensor::from(random_floats(1024, 1));
  const Tensor y = Tensor::from(random_floats(1024, 2));
  std::array<float, 1024> result;
  for (auto _ : state) {
    Tensor t = x;
    for (int i = 0; i < 5; ++i) t = std::move(t) * y + x;
    std::move(t).copy_to(std::span<float>(result));
  }
}

fusion::GraphNode input(const Shape& shape) {
  fusion::GraphNode node;
  node.shape = shape;
  node.strides = contiguous_layout(shape).strides;
  return node;
}

// A chain of `ops` ops on two inputs, the last one live; then, optionally, a sum over axis 1.
fusion::Graph chain_graph(int ops, bool reduced) {
  using fusion::Op;
  const Shape shape{256, 256};
  fusion::Graph graph;
  graph.nodes = {input(shape), input(shape)};
  fusion::GraphNode node = input(shape);
  for (int i = 0; i < ops; ++i) {
    node.op = i % 2 == 0 ? Op::kMul : Op::kAdd;
    node.operands = {{.node = i == 0 ? 0 : static_cast<fusion::NodeId>(graph.nodes.size()) - 1},
                     {.node = i % 2 == 0 ? 1 : 0}};
    graph.nodes.push_back(node);
  }
  if (reduced) {
    fusion::GraphNode sum;
    sum.op = Op::kSum;
    sum.shape = Shape{256};
    sum.operands = {{.node = static_cast<fusion::NodeId>(graph.nodes.size()) - 1}};
    sum.attrs = {1};
    graph.nodes.push_back(sum);
  }
  graph.nodes.back().live = true;
  return graph;
}

void plan(benchmark::State& state, const fusion::Graph& graph) {
  for (auto _ : state) benchmark::DoNotOptimize(fusion::make_plan(graph, {}));
}

template <typename Make>
void make_executable(benchmark::State& state, const fusion::Graph& graph, Make make) {
  const auto plan = fusion::make_plan(graph, {});
  const fusion::Program& program = plan->steps[0].kernels[0].program;
  for (auto _ : state) benchmark::DoNotOptimize(make(program));
}

[[maybe_unused]] const bool registered = [] {
  using benchmark::RegisterBenchmark;
  for (const Tier tier : {Tier::kCompiled, Tier::kInterpreted}) {
    const std::string who = name_of(tier);
    RegisterBenchmark(("first_result/" + who + "/10_ops").c_str(), first_result, tier)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
    RegisterBenchmark(("later_result/" + who + "/10_ops").c_str(), later_result, tier)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
  for (const auto& [size, graph] :
       {std::pair("1_op", chain_graph(1, false)), std::pair("10_ops", chain_graph(10, false)),
        std::pair("100_ops", chain_graph(100, false)),
        std::pair("sum_of_10_ops", chain_graph(10, true))}) {
    const auto compile = [](const fusion::Program& p) { return kernels::compile_llvm(p); };
    const auto translate = [](const fusion::Program& p) { return kernels::make_interpreter(p); };
    const std::string suffix = std::string("/sluice/") + size;
    RegisterBenchmark(("make_plan" + suffix).c_str(), plan, graph)->Unit(benchmark::kMicrosecond);
    RegisterBenchmark(("make_interpreter" + suffix).c_str(), make_executable<decltype(translate)>,
                      graph, translate)
        ->Unit(benchmark::kMicrosecond);
    RegisterBenchmark(("compile_llvm" + suffix).c_str(), make_executable<decltype(compile)>, graph,
                      compile)
        ->Unit(benchmark::kMicrosecond);
  }
  return true;
}();

}  // namespace
}  // namespace sluice::bench
