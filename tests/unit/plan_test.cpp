// Plans of graphs made by hand: which passes run, and which kernels share a launch.
#include "fusion/plan/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "fusion/ir/cost.h"
#include "fusion/library/matmul.h"

namespace sluice::fusion {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSubsetOf;

NodeId add_input(Graph* graph, const Shape& shape) {
  GraphNode node;
  node.shape = shape;
  node.strides = contiguous_layout(shape).strides;
  graph->nodes.push_back(node);
  return static_cast<NodeId>(graph->nodes.size()) - 1;
}

NodeId add_op(Graph* graph, Op op, const std::vector<NodeId>& operands, bool live = false) {
  GraphNode node;
  node.op = op;
  node.shape = graph->nodes[operands[0]].shape;
  node.live = live;
  for (NodeId operand : operands) node.operands.push_back({.node = operand});
  graph->nodes.push_back(node);
  return static_cast<NodeId>(graph->nodes.size()) - 1;
}

TEST(PlanTest, ObserverSeesEveryPassThatChangesSomething) {
  Graph graph;
  const NodeId x = add_input(&graph, {64});
  const NodeId once = add_op(&graph, Op::kNeg, {x});
  const NodeId twice = add_op(&graph, Op::kNeg, {once});
  add_op(&graph, Op::kExp, {twice}, /*live=*/true);
  std::set<std::string> passes;
  PlanOptions options;
  options.observer = [&](const std::string& pass, const std::string& before,
                         const std::string& after) {
    EXPECT_NE(before, after) << pass;
    passes.insert(pass.substr(0, pass.find(':')));
    if (pass == "simplify programs: signs") {
      EXPECT_THAT(before, HasSubstr("neg"));
    }
  };
  const auto plan = make_plan(graph, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(passes, Contains("partition and lower"));
  EXPECT_THAT(passes, Contains("simplify programs"));
  const std::vector<const char*> names = plan_passes();
  EXPECT_THAT(passes, IsSubsetOf(std::vector<std::string>(names.begin(), names.end())));
  // The two negations are gone: a load and the exponential are left.
  EXPECT_EQ(plan->steps[0].kernels[0].program.body.size(), 2u);
}

TEST(PlanTest, IndependentSmallKernelsShareALaunch) {
  Graph graph;
  for (const int64_t length : {10, 20, 30}) {
    add_op(&graph, Op::kExp, {add_input(&graph, {length})}, /*live=*/true);
  }
  const auto plan = make_plan(graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->steps.size(), 1u);
  EXPECT_EQ(plan->steps[0].kernels.size(), 3u);
  EXPECT_EQ(plan->steps[0].bytes_written, 60 * 4);
}

TEST(PlanTest, LargeKernelsKeepTheirOwnLaunches) {
  Graph graph;
  for (int i = 0; i < 2; ++i) {
    add_op(&graph, Op::kExp, {add_input(&graph, {64 << 20})}, /*live=*/true);
  }
  const auto plan = make_plan(graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->steps.size(), 2u);
}

// Whether or not the result may take its operand's memory, which only shows when it runs.
TEST(PlanTest, LargeOutputsAreStoredPastTheCaches) {
  for (const int64_t length : {8 << 20, 4 << 20}) {
    Graph graph;
    add_op(&graph, Op::kExp, {add_input(&graph, {length})}, /*live=*/true);
    const auto plan = make_plan(graph, {});
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_FALSE(plan->results[0].donors.empty());
    EXPECT_EQ(plan->steps[0].kernels[0].program.nontemporal, length == 8 << 20);
  }
}

// The strides of the only output, and the rank of the only kernel.
std::pair<std::vector<int64_t>, int> layout_of_output(const Graph& graph) {
  const auto plan = make_plan(graph, {});
  EXPECT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->outputs.size(), 1u);
  const Layout& layout = plan->outputs[0].layout;
  return {{layout.strides.begin(), layout.strides.begin() + layout.shape.rank()},
          plan->steps[0].kernels[0].program.outer_rank};
}

NodeId add_moved(Graph* graph, Op op, NodeId operand, std::vector<int64_t> attrs,
                 const Shape& shape) {
  const NodeId n = add_op(graph, op, {operand});
  graph->nodes[n].attrs = {attrs.begin(), attrs.end()};
  graph->nodes[n].shape = shape;
  if (op == Op::kPad) {
    graph->nodes[n].operands.push_back({.node = kNoNode, .scalar = graph->num_scalars++});
  }
  return n;
}

TEST(PlanTest, ResultsOfTransposedOperandsAreLaidOutAsThese) {
  constexpr int64_t kRows = 300, kColumns = 200;
  const std::vector<int64_t> row_major = {kColumns, 1}, transposed = {1, kRows};
  auto add_transposed = [](Graph* graph, int64_t rows, int64_t columns) {
    const NodeId x = add_input(graph, {rows, columns});
    graph->nodes[x].strides = {1, rows};
    return x;
  };
  auto add_permuted = [](Graph* graph, int64_t rows, int64_t columns) {
    GraphNode node;
    node.op = Op::kPermute;
    node.attrs = {1, 0};
    node.shape = {rows, columns};
    node.operands.push_back({.node = add_input(graph, {columns, rows})});
    graph->nodes.push_back(node);
    return static_cast<NodeId>(graph->nodes.size()) - 1;
  };
  {
    Graph graph;  // read from end to end
    const NodeId x = add_transposed(&graph, kRows, kColumns);
    const NodeId y = add_permuted(&graph, kRows, kColumns);
    const NodeId row = add_input(&graph, {1, kColumns});
    const NodeId sum = add_op(&graph, Op::kAdd, {add_op(&graph, Op::kExp, {x}), y});
    add_op(&graph, Op::kNeg, {sum}, /*live=*/true);
    EXPECT_EQ(layout_of_output(graph), std::pair(transposed, 1));
    graph.nodes.pop_back();
    add_op(&graph, Op::kMul, {sum, row}, /*live=*/true);
    EXPECT_EQ(layout_of_output(graph), std::pair(transposed, 2));
  }
  {
    Graph graph;  // another operand is row-major
    const NodeId x = add_transposed(&graph, kRows, kColumns);
    add_op(&graph, Op::kAdd, {x, add_input(&graph, {kRows, kColumns})}, /*live=*/true);
    EXPECT_EQ(layout_of_output(graph).first, row_major);
  }
  {
    Graph graph;  // something else reads it
    const NodeId x = add_transposed(&graph, kRows, kColumns);
    const NodeId y = add_op(&graph, Op::kExp, {x}, /*live=*/true);
    add_op(&graph, Op::kNeg, {y}, /*live=*/true);
    const auto plan = make_plan(graph, {});
    ASSERT_TRUE(plan.ok()) << plan.status();
    for (const Output& output : plan->outputs) EXPECT_EQ(output.layout.strides[1], 1);
  }
  {
    Graph graph;  // small
    add_op(&graph, Op::kExp, {add_transposed(&graph, 20, 30)}, /*live=*/true);
    EXPECT_EQ(layout_of_output(graph).first, (std::vector<int64_t>{30, 1}));
  }
}

TEST(PlanTest, WhatIsMadeOfPartsOfTransposedOperandsIsLaidOutAsThese) {
  auto layout = [](Op op, std::vector<Shape> operands, std::vector<int64_t> attrs, Shape result) {
    Graph graph;
    std::vector<NodeId> inputs;
    for (const Shape& shape : operands) {
      inputs.push_back(add_input(&graph, shape));
      int64_t stride = 1;
      for (int axis = 0; axis < shape.rank(); ++axis) {
        graph.nodes[inputs.back()].strides[axis] = stride;
        stride *= shape[axis];
      }
    }
    const NodeId n = add_moved(&graph, op, inputs[0], std::move(attrs), result);
    for (size_t k = 1; k < inputs.size(); ++k)
      graph.nodes[n].operands.push_back({.node = inputs[k]});
    graph.nodes[n].live = true;
    return layout_of_output(graph).first;
  };
  using Strides = std::vector<int64_t>;
  EXPECT_EQ(layout(Op::kRoll, {{300, 200}}, {0, 3}, {300, 200}), (Strides{1, 300}));
  EXPECT_EQ(layout(Op::kPad, {{300, 200}}, {1, 2}, {303, 206}), (Strides{1, 303}));
  EXPECT_EQ(layout(Op::kConcat, {{300, 200}, {70, 200}}, {0}, {370, 200}), (Strides{1, 370}));
  EXPECT_EQ(layout(Op::kConcat, {{300, 200}, {300, 70}}, {1}, {300, 270}), (Strides{1, 300}));
  // Where the first dim of parts of one row lies, nothing tells.
  EXPECT_EQ(layout(Op::kConcat, {{1, 30, 200}, {1, 30, 200}}, {0}, {2, 30, 200}),
            (Strides{6000, 200, 1}));
}

TEST(PlanTest, LargeOutputsOfLongRunsAreStoredPastTheCachesWhereverRunsBegin) {
  for (const int64_t length : {1000, 1024, 100}) {
    Graph graph;
    const int64_t rows = (9 << 20) / length;
    const NodeId x = add_input(&graph, {rows, length});
    graph.nodes[x].strides = {length + 3, 1};
    add_op(&graph, Op::kExp, {x}, /*live=*/true);
    const auto plan = make_plan(graph, {});
    ASSERT_TRUE(plan.ok()) << plan.status();
    const Program& program = plan->steps[0].kernels[0].program;
    EXPECT_EQ(program.nontemporal, length >= 1000) << length;
    EXPECT_EQ(program.runs_cut_lines, length == 1000) << length;
  }
}

int64_t count_of(const Program& program, Op op) {
  return std::count_if(program.body.begin(), program.body.end(),
                       [op](const Instr& instr) { return instr.op == op; });
}

// The neighbours of a cell on a torus: a read each, however many rolls lead there.
TEST(PlanTest, RollsOfRollsAreOneRead) {
  Graph graph;
  const Shape shape{64, 48};
  const NodeId x = add_input(&graph, shape);
  NodeId sum = x;
  for (const int64_t dy : {63, 0, 1}) {
    for (const int64_t dx : {47, 0, 1}) {
      NodeId moved = x;
      if (dy != 0) moved = add_moved(&graph, Op::kRoll, moved, {0, dy}, shape);
      if (dx != 0) moved = add_moved(&graph, Op::kRoll, moved, {1, dx}, shape);
      if (moved != x) sum = add_op(&graph, Op::kAdd, {sum, moved});
    }
  }
  graph.nodes[sum].live = true;
  const auto plan = make_plan(graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->steps.size(), 1u);
  const Program& program = plan->steps[0].kernels[0].program;
  EXPECT_EQ(count_of(program, Op::kLoad), 1);
  EXPECT_EQ(count_of(program, Op::kGather), 8);
  EXPECT_EQ(count_of(program, Op::kCoordinate), 2);
  EXPECT_LE(program.body.size(), 60u);
  EXPECT_EQ(plan->steps[0].bytes_read, 64 * 48 * 4);
}

TEST(PlanTest, RollsThatCancelAreNone) {
  Graph graph;
  const Shape shape{64, 48};
  NodeId x = add_input(&graph, shape);
  for (const int64_t shift : {5, 60, 63}) x = add_moved(&graph, Op::kRoll, x, {0, shift}, shape);
  add_op(&graph, Op::kNeg, {x}, /*live=*/true);
  const auto plan = make_plan(graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->steps[0].kernels[0].program.body.size(), 2u);
}

TEST(PlanTest, PadsOfPadsCompareWhatLiesInsideOnce) {
  Graph graph;
  NodeId x = add_input(&graph, {64, 48});
  for (int64_t k = 1; k <= 64; ++k) {
    x = add_moved(&graph, Op::kPad, x, {1, 1}, {64 + 2 * k, 48 + 2 * k});
  }
  graph.nodes[x].live = true;
  const auto plan = make_plan(graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->steps.size(), 1u);
  const Program& program = plan->steps[0].kernels[0].program;
  EXPECT_EQ(count_of(program, Op::kLoad), 1);
  EXPECT_EQ(count_of(program, Op::kCoordinate), 2);
  EXPECT_EQ(count_of(program, Op::kWhere), 64);
  EXPECT_LE(count_of(program, Op::kLogicalAnd), 3 * 64);
}

// A slice of a pad or of a concat that lies in one part reads that.
TEST(PlanTest, PartsThatNobodyReadsAreLeftOut) {
  Graph graph;
  const Shape shape{64};
  const NodeId x = add_input(&graph, shape);
  const NodeId y = add_input(&graph, shape);
  const NodeId z = add_input(&graph, shape);
  const NodeId joined = add_op(&graph, Op::kConcat, {x, y, z});
  graph.nodes[joined].attrs = {0};
  graph.nodes[joined].shape = {192};
  const NodeId inside = add_moved(&graph, Op::kSlice, joined, {70, 1}, {50});
  add_op(&graph, Op::kNeg, {inside}, /*live=*/true);
  const auto plan = make_plan(graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const Program& program = plan->steps[0].kernels[0].program;
  EXPECT_EQ(program.body.size(), 2u);
  EXPECT_EQ(count_of(program, Op::kLoad), 1);
}

// What takes too long to compile as one kernel is several.
TEST(PlanTest, ProgramsAreBounded) {
  Graph graph;
  const Shape shape{1024, 1024};
  const NodeId x = add_input(&graph, shape);
  NodeId sum = x;
  for (int64_t shift = 1; shift <= 500; ++shift) {
    const NodeId moved = add_moved(&graph, Op::kRoll, x, {shift % 2, shift}, shape);
    sum = add_op(&graph, Op::kAdd, {sum, moved});
  }
  graph.nodes[sum].live = true;
  const auto plan = make_plan(graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GE(plan->steps.size(), 2u);
  EXPECT_LE(plan->steps.size(), 8u);
  for (const Step& step : plan->steps) {
    for (const KernelCall& call : step.kernels) {
      int weight = 0;
      for (const Instr& instr : call.program.body) weight += weight_of(instr.op, instr.dtype);
      EXPECT_LE(weight, kMaxProgramWeight + 16);
    }
  }
}

// Functions whose code is long fill a kernel sooner: in a chain, and where rows of them are summed,
// whose operands are not written for it.
TEST(PlanTest, KernelsOfLongFunctionsAreBounded) {
  for (const bool sums : {false, true}) {
    SCOPED_TRACE(sums);
    Graph graph;
    const Shape shape{64, 64};
    const NodeId x = add_input(&graph, shape);
    NodeId chain = x;
    for (int i = 0; i < 60; ++i) {
      const NodeId power = add_op(&graph, Op::kPow, {x, chain});
      if (!sums) {
        chain = power;
        continue;
      }
      chain = add_op(&graph, Op::kAdd, {chain, x});
      GraphNode sum;
      sum.op = Op::kSum;
      sum.shape = {64};
      sum.operands = {{.node = power}};
      sum.attrs = {1};
      sum.live = true;
      graph.nodes.push_back(sum);
    }
    if (!sums) graph.nodes[chain].live = true;
    const auto plan = make_plan(graph, {});
    ASSERT_TRUE(plan.ok()) << plan.status();
    int powers = 0, kernels = 0;
    for (const Step& step : plan->steps) {
      for (const KernelCall& call : step.kernels) {
        const int own = count_of(call.program, Op::kPow);
        EXPECT_LE(own * long_code_of(Op::kPow, DType::kFloat32) * (sums ? kLongCodeOfRows : 1),
                  kMaxWeight);
        powers += own;
        ++kernels;
      }
    }
    EXPECT_EQ(powers, 60);
    EXPECT_LE(kernels, sums ? 10 : 5);
  }
}

// Loads that are predicated, or read by tiles, take LLVM far longer than others.
TEST(PlanTest, LoadsThatAreSlowToCompileAreCutSooner) {
  const Shape shape{64, 256};
  const auto most_of = [&](const std::function<NodeId(Graph*)>& term) {
    Graph graph;
    NodeId sum = add_input(&graph, shape);
    for (int i = 0; i < 100; ++i) {
      const NodeId added = term(&graph);
      sum = add_op(&graph, Op::kAdd, {sum, added});
    }
    graph.nodes[sum].live = true;
    const auto plan = make_plan(graph, {});
    EXPECT_TRUE(plan.ok()) << plan.status();
    size_t most = 0;
    for (const Step& step : plan->steps) {
      for (const KernelCall& call : step.kernels) most = std::max(most, call.nodes.size());
    }
    return most;
  };
  EXPECT_EQ(most_of([&](Graph* graph) { return add_input(graph, shape); }), 100u);
  EXPECT_LE(most_of([&](Graph* graph) {
              return add_moved(graph, Op::kPad, add_input(graph, {63, 256}), {1, 0}, shape);
            }),
            64u);
  EXPECT_LE(most_of([&](Graph* graph) {
              return add_moved(graph, Op::kPermute, add_input(graph, {256, 64}), {1, 0}, shape);
            }),
            32u);
}

// A step of a recurrence: the four gates are parts of one sum, each of which one kernel computes.
TEST(PlanTest, PartsOfOneValueAreComputedOnceEach) {
  Graph graph;
  const Shape all{1, 256};
  const NodeId sum = add_op(&graph, Op::kAdd, {add_input(&graph, all), add_input(&graph, all)});
  NodeId product = kNoNode;
  for (int64_t gate = 0; gate < 4; ++gate) {
    const NodeId part = add_moved(&graph, Op::kSlice, sum, {0, 1, 64 * gate, 1}, {1, 64});
    const NodeId value = add_op(&graph, Op::kSigmoid, {part});
    product = gate == 0 ? value : add_op(&graph, Op::kMul, {product, value});
  }
  graph.nodes[product].live = true;
  const auto plan = make_plan(graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->steps.size(), 1u);
  EXPECT_EQ(plan->results.size(), 1u);
  EXPECT_EQ(count_of(plan->steps[0].kernels[0].program, Op::kAdd), 4);
}

// Each product's operand has to be copied: one more attempt finds that for all.
TEST(PlanTest, ConstraintsAreFoundTogether) {
  Graph graph;
  std::vector<NodeId> held;
  for (int i = 0; i < 20; ++i) {
    const NodeId x = add_op(&graph, Op::kNeg, {add_input(&graph, {8, 9})});
    held.push_back(add_moved(&graph, Op::kSlice, x, {0, 1, 8, -1}, {8, 9}));
    graph.nodes[held.back()].live = true;
  }
  const auto plan = make_plan(graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->outputs.size(), held.size());
}

// Both chains are cut by their sums; the second halves wait for the first.
TEST(PlanTest, WhatWaitsForALaunchIsNotInIt) {
  Graph graph;
  for (const int64_t length : {1 << 18, 1 << 19}) {
    const NodeId x = add_input(&graph, {length});
    GraphNode sum;
    sum.op = Op::kSum;
    sum.shape = {1};
    sum.operands = {{.node = x}};
    sum.attrs = {0};
    graph.nodes.push_back(sum);
    const auto total = static_cast<NodeId>(graph.nodes.size()) - 1;
    add_op(&graph, Op::kDiv, {x, total}, /*live=*/true);
  }
  const auto plan = make_plan(graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->steps.size(), 2u);
  EXPECT_EQ(plan->steps[0].kernels.size(), 2u);
  EXPECT_EQ(plan->steps[1].kernels.size(), 2u);
}

// The parameters of a product, and what the engine sees of the call.
TEST(PlanTest, ALibraryCallSaysWhatItTouches) {
  Graph graph;
  const NodeId a = add_input(&graph, {4, 5});
  const NodeId b = add_input(&graph, {5, 6});
  const NodeId bias = add_input(&graph, {6});
  const NodeId product = add_op(&graph, Op::kMatmul, {a, b});
  graph.nodes[product].shape = {4, 6};
  const NodeId sum = add_op(&graph, Op::kAdd, {product, bias});
  const NodeId result = add_op(&graph, Op::kRelu, {sum}, /*live=*/true);

  const auto plan = make_plan(graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->steps.size(), 2u);
  ASSERT_TRUE(plan->steps[0].library.has_value());
  const LibraryCall& call = *plan->steps[0].library;
  EXPECT_EQ(call.kind, LibraryKind::kMatmul);
  EXPECT_EQ(call.attributes->text(), "1x4x6x5");
  EXPECT_EQ(call.attributes->flops(), 2 * 4 * 6 * 5);
  EXPECT_EQ(matmul_of(call).shape.k, 5);
  EXPECT_EQ(call.nodes, std::vector<NodeId>{product});
  ASSERT_EQ(call.outputs.size(), 1u);
  EXPECT_EQ(call.output(), call.buffers[2]);
  EXPECT_EQ(call.outputs[0].buffers, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(&plan->steps[0].call(0), &call);
  EXPECT_FALSE(plan->steps[1].library.has_value());
  EXPECT_EQ(plan->steps[1].num_calls(), 1u);

  const auto folded = make_plan(graph, {.fast_math = true, .observer = {}});
  ASSERT_TRUE(folded.ok()) << folded.status();
  ASSERT_EQ(folded->steps.size(), 1u);
  const LibraryCall& whole = *folded->steps[0].library;
  EXPECT_EQ(whole.nodes, (std::vector<NodeId>{product, sum, result}));
  ASSERT_EQ(whole.epilogues.size(), 2u);
  EXPECT_EQ(whole.epilogues[0].op, Op::kAdd);
  EXPECT_TRUE(whole.epilogues[0].one_row);
  const MemoryRef third{MemoryRef::Kind::kInput, 2};
  EXPECT_EQ(whole.buffers[whole.epilogues[0].operand], third);
  EXPECT_EQ(whole.epilogues[1].op, Op::kRelu);
  EXPECT_EQ(whole.outputs[0].buffers, (std::vector<int32_t>{0, 1, 3}));
  EXPECT_EQ(folded->results[whole.output().index].node, result);
  // Where the call has the bits of the ops' kernels it needs no fast math.
  const auto exact = make_plan(graph, {.exact_epilogues = true, .observer = {}});
  ASSERT_TRUE(exact.ok()) << exact.status();
  ASSERT_EQ(exact->steps.size(), 1u);
  EXPECT_EQ(exact->steps[0].library->epilogues.size(), 2u);
}

TEST(PlanTest, ShortOfMemoryAProductIsWrittenOverWhatMultipliesIt) {
  Graph graph;
  const NodeId x = add_input(&graph, {512, 64});
  const NodeId w = add_input(&graph, {64, 64});
  const NodeId v = add_input(&graph, {64, 64});
  const NodeId hidden = add_op(&graph, Op::kMatmul, {x, w});
  const NodeId factor = add_op(&graph, Op::kExp, {hidden});
  const NodeId product = add_op(&graph, Op::kMatmul, {x, v});
  const NodeId result = add_op(&graph, Op::kMul, {product, factor});
  const NodeId last = add_op(&graph, Op::kMatmul, {result, w}, /*live=*/true);

  const auto fast = make_plan(graph, {.exact_epilogues = true, .observer = {}});
  ASSERT_TRUE(fast.ok()) << fast.status();
  EXPECT_TRUE(std::all_of(fast->steps.begin(), fast->steps.end(), [](const Step& step) {
    return !step.library || step.library->epilogues.empty();
  }));

  const MemoryBudget budget{.bytes = int64_t{1} << 30, .inputs = {}};
  const auto frugal =
      make_plan(graph, {.exact_epilogues = true, .budget = &budget, .observer = {}});
  ASSERT_TRUE(frugal.ok()) << frugal.status();
  ASSERT_EQ(frugal->steps.size(), 4u);
  const auto& of_factor = frugal->steps[1];
  ASSERT_FALSE(of_factor.library.has_value());
  EXPECT_EQ(of_factor.kernels[0].nodes, std::vector<NodeId>{factor});
  const LibraryCall& call = *frugal->steps[2].library;
  EXPECT_EQ(call.nodes, (std::vector<NodeId>{product, result}));
  ASSERT_EQ(call.epilogues.size(), 1u);
  EXPECT_EQ(call.epilogues[0].op, Op::kMul);
  const auto donors_of = [&](const MemoryRef& memory) {
    return frugal->results[memory.index].donors;
  };
  const MemoryRef& of_hidden = frugal->steps[0].library->output();
  const MemoryRef& stored = of_factor.kernels[0].memory_of(of_factor.kernels[0].outputs[0]);
  EXPECT_THAT(donors_of(stored), Contains(of_hidden));
  EXPECT_THAT(donors_of(call.output()), Contains(stored));
  EXPECT_EQ(frugal->steps[3].library->nodes, std::vector<NodeId>{last});
}

}  // namespace
}  // namespace sluice::fusion
