// What of a trace costs most, and what two of them have not in common.
#include "tools/trace/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/trace/trace_samples.h"
#include "tools/trace/summary.h"

namespace sluice::trace {
namespace {

using test::sample;
using test::step;
using test::trace_of_windows;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(TraceSummaryTest, StepsAreInTheOrderOfTheirTimes) {
  const Trace trace = sample("held");
  const Summary summary = summarize(trace);
  ASSERT_EQ(summary.steps.size(), 2);
  EXPECT_EQ(summary.steps[0].step, 0);
  EXPECT_EQ(summary.steps[0].count, 10);
  EXPECT_EQ(summary.steps[0].timed, 10);
  EXPECT_EQ(summary.steps[0].generic, 2);
  EXPECT_EQ(summary.steps[0].duration, (8 + 2 * 9) * 390000);
  EXPECT_EQ(summary.steps[0].bytes, 10 * (12 << 20));
  EXPECT_EQ(summary.duration, (8 + 2 * 9) * (390000 + 355000));
  ASSERT_EQ(summary.cuts.size(), 1);
  EXPECT_EQ(summary.cuts[0].bytes, 10 * (8 << 20));
  EXPECT_EQ(summary.cut_bytes, 10 * (8 << 20));

  const std::string text = to_text(trace, summary, 1);
  EXPECT_THAT(text, HasSubstr("kernels and library calls, 19.4 ms in all (the first 1 of 2):\n"));
  EXPECT_THAT(text, HasSubstr("   10.1 ms    52%         10   1.01 ms   120 MiB       12.4       "
                              "1.03  mul  net.cpp:12  [generic tier 2 of 10]\n"));
  EXPECT_THAT(text, Not(HasSubstr("exp+sum")));
  EXPECT_THAT(text, HasSubstr("  80.0 MiB         10  observed: you still hold `h` (t2, mul), "
                              "net.cpp:12  net.cpp:12-13\n"));
}

// One kernel in two graphs is one; one library call on operands of two types is two.
TEST(TraceSummaryTest, EqualStepsOfSeveralGraphsAreOne) {
  Trace trace = sample("every_member");
  trace.graphs.push_back(trace.graphs[0]);
  trace.graphs.back().ops[1].dtype = "float16";
  trace.windows[2].graph = 2;
  const Summary summary = summarize(trace);
  size_t kernels = 0, calls = 0;
  for (const StepUse& use : summary.steps) {
    const bool is_call = trace.graphs[use.graph].steps[use.step].kind == StepKind::kLibrary;
    ++(is_call ? calls : kernels);
    EXPECT_EQ(use.count, is_call || use.graph == 1 ? 1 : 2);
  }
  EXPECT_EQ(kernels, 3);
  EXPECT_EQ(calls, 2);
}

TEST(TraceSummaryTest, WithoutTimesBytesDecide) {
  Trace trace = sample("held");
  for (Window& window : trace.windows) window.steps.clear();
  const Summary summary = summarize(trace);
  EXPECT_EQ(summary.duration, 0);
  EXPECT_EQ(summary.steps[0].all_bytes, 10 * (12 << 20));
  EXPECT_THAT(to_text(trace, summary, 10), HasSubstr("         -                10         -"));
}

TEST(TraceSummaryTest, AnEmptyTraceHasNone) {
  const Summary summary = summarize(Trace());
  EXPECT_THAT(summary.steps, IsEmpty());
  EXPECT_THAT(to_text(Trace(), summary, 10), HasSubstr("0 ns in all"));
}

TEST(TraceDiffTest, EqualTracesDoNotDiffer) {
  for (const char* name : {"fused", "held", "every_member"}) {
    const Trace a = sample(name);
    EXPECT_TRUE(diff(a, a).empty()) << name;
    EXPECT_EQ(to_text(diff(a, a), a, a), "no difference\n") << name;
  }
  EXPECT_TRUE(diff(Trace(), Trace()).empty());
}

// Times, places and names are not compared, nor the order of graphs and kernels.
TEST(TraceDiffTest, WhatEveryRunHasOtherwiseDoesNotDiffer) {
  const Trace a = sample("every_member");
  Trace b = a;
  b.program = "other";
  for (Site& site : b.sites) site.line += 10;
  for (Window& window : b.windows) {
    window.begin += 77;
    window.steps.clear();
    window.graph = 1 - window.graph;
  }
  std::swap(b.graphs[0], b.graphs[1]);
  for (Graph& graph : b.graphs) {
    for (Op& op : graph.ops) op.name += "!";
    for (Step& step : graph.steps) {
      for (int32_t& kernel : step.kernels) kernel = 2 - kernel;
    }
  }
  std::swap(b.kernels[0], b.kernels[2]);
  EXPECT_EQ(to_text(diff(a, b), a, b), "no difference\n");
}

// One handle more is one cut edge, which splits one kernel.
TEST(TraceDiffTest, AHandleMoreIsOneLostFusion) {
  const Trace a = sample("fused"), b = sample("held");
  const Diff difference = diff(a, b);
  ASSERT_EQ(difference.graphs.size(), 1);
  const GraphDiff& graph = difference.graphs[0];
  EXPECT_EQ(graph.match.windows_a, 10);
  EXPECT_EQ(graph.match.windows_b, 10);
  EXPECT_THAT(graph.new_cuts, ElementsAre(0));
  EXPECT_THAT(graph.newly_held, ElementsAre(2));
  ASSERT_EQ(graph.steps.size(), 1);
  EXPECT_THAT(graph.steps[0].a, ElementsAre(0));
  EXPECT_THAT(graph.steps[0].b, ElementsAre(0, 1));
  for (const auto& list :
       {graph.gone_cuts, graph.no_longer_held, graph.new_ops, graph.gone_ops, graph.other_ops}) {
    EXPECT_THAT(list, IsEmpty());
  }
  EXPECT_THAT(difference.new_kernels, ElementsAre(0, 1));
  EXPECT_THAT(difference.gone_kernels, ElementsAre(0));

  const std::string text = to_text(difference, a, b);
  for (const char* line :
       {"kernels run                   10 -> 20\n",
        "bytes written               40 B -> 40.0 MiB\n",
        "lost fusions: 1 cut edge, 80.0 MiB\n"
        "  80.0 MiB in 10 windows  observed: you still hold `h` (t2, mul), net.cpp:12  "
        "net.cpp:12-13\n",
        "  held now  `h` (t2, mul) float32(1024, 1024)  net.cpp:12\n",
        "  split  mul+exp+sum -> mul | exp+sum\n", "new kernels: 2\n", "kernels gone: 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("fusions won")));

  const std::string back = to_text(diff(b, a), b, a);
  for (const char* line : {"fusions won: 1 cut edge, 80.0 MiB\n", "  no longer held  `h` (t2, mul)",
                           "  joined  mul | exp+sum -> mul+exp+sum\n"}) {
    EXPECT_THAT(back, HasSubstr(line));
  }
  EXPECT_THAT(back, Not(HasSubstr("lost fusions")));
}

// The handle costs a store, and no kernel is split.
TEST(TraceDiffTest, AnOutputMoreIsNamed) {
  const Trace a = sample("fused");
  Trace b = a;
  b.graphs[0].ops[3].live = true;
  b.graphs[0].steps[0].outputs = {3, 4};
  b.graphs[0].steps[0].bytes_written += 4 << 20;
  b.graphs[0].cuts.push_back({3, 4, "observed", "", 4 << 20});
  const std::string text = to_text(diff(a, b), a, b);
  EXPECT_THAT(text, HasSubstr("  changed  mul+exp+sum, also writes t3 (exp)\n"));
  EXPECT_THAT(text, HasSubstr("  held now  t3 (exp) float32(1024, 1024)  net.cpp:13\n"));
  EXPECT_THAT(text,
              HasSubstr("40.0 MiB in 10 windows  observed: t3 (exp) -> t4 (sum)  net.cpp:13"));
  EXPECT_THAT(to_text(diff(b, a), b, a), HasSubstr(", no longer writes t3 (exp)\n"));
}

// An op more in the middle: all others keep their counterparts.
TEST(TraceDiffTest, GraphsWithOtherOpsAreAligned) {
  const Trace a = sample("held");
  Trace b = a;
  std::vector<Op>& ops = b.graphs[0].ops;
  Op added = ops[3];
  added.op = "tanh";
  ops.insert(ops.begin() + 3, added);  // t3 of t2
  ops[4].operands = {3};
  ops[5].operands = {4};
  b.graphs[0].steps[1] = step("tanh+exp+sum", {3, 4, 5}, {2}, {5});
  b.graphs[0].cuts[0].consumer = 3;
  const Diff difference = diff(a, b);
  ASSERT_EQ(difference.graphs.size(), 1);
  const GraphDiff& graph = difference.graphs[0];
  EXPECT_THAT(graph.match.to_b, ElementsAre(0, 1, 2, 4, 5));
  EXPECT_THAT(graph.match.to_a, ElementsAre(0, 1, 2, -1, 3, 4));
  EXPECT_THAT(graph.new_ops, ElementsAre(3));
  EXPECT_THAT(graph.other_ops, ElementsAre(4));
  ASSERT_EQ(graph.steps.size(), 1);
  EXPECT_THAT(to_text(difference, a, b), HasSubstr("  changed  exp+sum -> tanh+exp+sum\n"));
}

TEST(TraceDiffTest, OtherShapesAreOtherTypesOfTheSameOps) {
  const Trace a = sample("held");
  Trace b = a;
  for (Op& op : b.graphs[0].ops) {
    if (!op.shape.empty()) op.shape[0] = 512;
  }
  const Diff difference = diff(a, b);
  ASSERT_EQ(difference.graphs.size(), 1);
  EXPECT_THAT(difference.graphs[0].other_ops, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(difference.graphs[0].new_cuts, IsEmpty());
  EXPECT_THAT(to_text(difference, a, b),
              HasSubstr("  changed  `h` (t2, mul): float32(1024, 1024) -> float32(512, 1024)\n"));
}

TEST(TraceDiffTest, OtherReasonsAndDevicesAreNamed) {
  const Trace a = sample("held");
  Trace b = a;
  b.graphs[0].device = "cuda:0";
  b.graphs[0].cuts[0].reason = "cost";
  b.graphs[0].cuts[0].text = "";
  const std::string text = to_text(diff(a, b), a, b);
  EXPECT_THAT(text, HasSubstr("  device  cpu -> cuda:0\n"));
  EXPECT_THAT(text, HasSubstr("  other reason  `h` (t2, mul): observed -> cost: `h` (t2, mul) -> "
                              "t3 (exp)  net.cpp:12-13\n"));
  EXPECT_THAT(text, Not(HasSubstr("lost")));
}

TEST(TraceDiffTest, GraphsWithoutCounterpartAreListed) {
  const Trace a = sample("fused"), b = sample("every_member");
  const std::string text = to_text(diff(a, b), a, b);
  EXPECT_THAT(text, HasSubstr("only in A: graph of 3 ops and 1 step at net.cpp:12-14, 10 windows\n"
                              "  kernel mul+exp+sum\n"));
  EXPECT_THAT(text, HasSubstr("only in B: graph of 6 ops and 3 steps at src/net.cpp:30-31, "
                              "2 windows\n  kernel sub+div\n  library matmul\n"));
  EXPECT_THAT(text, HasSubstr("lost fusions: 4 cut edges, 8.16 MiB\n"));
}

// Equal graphs of one trace, as of two queues, count as one.
TEST(TraceDiffTest, EqualGraphsOfOneTraceAreOne) {
  const Trace a = sample("fused");
  Trace b = a;
  b.graphs.push_back(b.graphs[0]);
  for (size_t w = 5; w < b.windows.size(); ++w) b.windows[w].graph = 1;
  EXPECT_TRUE(diff(a, b).empty()) << to_text(diff(a, b), a, b);
  EXPECT_TRUE(diff(b, a).empty());
}

TEST(TraceDiffTest, CountsThatDifferAreNamed) {
  const Trace a = sample("fused");
  Trace b = a;
  b.windows.pop_back();
  b.windows_recorded = 9;
  b.windows[5].plan_hit = false;
  b.kernels[0].origin = "disk";
  const std::string text = to_text(diff(a, b), a, b);
  EXPECT_THAT(text, HasSubstr("windows                       10 -> 9\n"));
  EXPECT_THAT(text, HasSubstr("plan misses                    1 -> 2\n"));
  EXPECT_THAT(text, HasSubstr("kernels compiled               1 -> 0\n"));
  EXPECT_THAT(text, HasSubstr("graph of 3 ops and 1 step at net.cpp:12-14, 10 -> 9 windows\n"));
  EXPECT_FALSE(diff(a, b).ran_alike());
  // Differences that rounding would hide.
  b = a;
  b.graphs[0].steps[0].bytes_read += 1;
  EXPECT_THAT(to_text(diff(a, b), a, b), HasSubstr("80.0 MiB -> 80.0 MiB (+10 bytes)\n"));
}

TEST(TraceDiffTest, WhatWasCompiledDependsOnTheDisk) {
  const Trace a = sample("fused");
  Trace b = a;
  b.kernels[0].origin = "disk";
  EXPECT_EQ(to_text(diff(a, b), a, b), "kernels compiled               1 -> 0\n");
  EXPECT_FALSE(diff(a, b).empty());
  EXPECT_TRUE(diff(a, b).ran_alike());
}

}  // namespace
}  // namespace sluice::trace
