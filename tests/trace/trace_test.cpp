// The trace, from the program to its file and back: each thing that breaks a fusion is named, with
// its reason and the line that made it.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <sluice/sluice.h>
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/test_util.h"
#include "tools/trace/json_read.h"
#include "trace/text.h"

namespace sluice {
namespace {

using test::fails_with;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using trace::Cut;
using trace::Graph;
using trace::Trace;
using trace::Window;

Trace recorded() {
  absl::StatusOr<Trace> result = trace::from_json(trace::to_json());
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : Trace();
}

// What `program` does, up to a sync().
template <typename F>
Trace trace_of(F program) {
  sync();
  trace::start();
  program();
  sync();
  trace::stop();
  return recorded();
}

struct FoundCut {
  const Graph* graph;
  const Cut* cut;
};
std::vector<FoundCut> cuts_of(const Trace& trace, const std::string& reason) {
  std::vector<FoundCut> found;
  for (const Graph& graph : trace.graphs) {
    for (const Cut& cut : graph.cuts) {
      if (cut.reason == reason) found.push_back({&graph, &cut});
    }
  }
  return found;
}

std::string describe_cuts(const Trace& trace) {
  std::string text;
  for (const Graph& graph : trace.graphs) {
    for (const Cut& cut : graph.cuts) text += cut.reason + ": " + cut.text + "\n";
  }
  return text;
}

int line_of(const Trace& trace, const Graph& graph, int32_t op) {
  const int32_t site = graph.ops[op].site;
  return site < 0 ? 0 : trace.sites[site].line;
}

// Exactly one cut of this reason, whose sentence has every one of `parts`, from an op of line
// `producer` (0: an input, which has none) to one of line `consumer`.
testing::AssertionResult has_cut(const Trace& trace, const std::string& reason, int producer,
                                 int consumer, const std::vector<std::string>& parts) {
  const std::vector<FoundCut> found = cuts_of(trace, reason);
  if (found.size() != 1) {
    return testing::AssertionFailure() << found.size() << " cuts of reason " << reason << " in\n"
                                       << describe_cuts(trace);
  }
  const auto [graph, cut] = found[0];
  for (const std::string& part : parts) {
    if (cut->text.find(part) == std::string::npos) {
      return testing::AssertionFailure() << "no \"" << part << "\" in: " << cut->text;
    }
  }
  const int lines[] = {line_of(trace, *graph, cut->producer),
                       line_of(trace, *graph, cut->consumer)};
  if (lines[0] != producer || lines[1] != consumer) {
    return testing::AssertionFailure() << "from line " << lines[0] << " to " << lines[1] << ", not "
                                       << producer << " to " << consumer;
  }
  if (cut->bytes <= 0) return testing::AssertionFailure() << cut->bytes << " bytes";
  const int32_t site = graph->ops[cut->consumer].site;
  if (!trace.sites[site].file.ends_with("trace_test.cpp")) {
    return testing::AssertionFailure() << "in " << trace.sites[site].file;
  }
  return testing::AssertionSuccess();
}

Tensor matrix(int64_t rows, int64_t columns) {
  Tensor x = rand({rows, columns});
  sync();
  return x;
}

class TraceTest : public testing::Test {
 protected:
  ~TraceTest() override {
    sync();
    config() = before_;
  }

 private:
  const Config before_ = config();
};

// ---- The eight breakers.

TEST_F(TraceTest, HeldTemporary) {
  const Tensor x = matrix(64, 64);
  int line = 0;
  const Trace trace = trace_of([&] {
    line = __LINE__ + 1;
    const Tensor hidden = (x * x).named("hidden");
    const Tensor y = exp(hidden);
    sync();
  });
  EXPECT_TRUE(
      has_cut(trace, "observed", line, line + 1,
              {"you still hold `hidden` (t1, mul), trace_test.cpp:" + std::to_string(line)}));
  // Written for the handle alone: the kernel has it at hand.
  EXPECT_EQ(cuts_of(trace, "observed")[0].cut->bytes, 64 * 64 * 4);
  EXPECT_EQ(trace.graphs[0].steps.size(), 1u);
}

TEST_F(TraceTest, ReadInTheMiddle) {
  const Tensor x = matrix(64, 64);
  int line = 0;
  const Trace trace = trace_of([&] {
    const Tensor mid = (x + x).named("mid");
    line = __LINE__ + 1;
    const float total = sum(mid).item<float>();
    const Tensor y = mid * total;
    sync();
  });
  EXPECT_TRUE(has_cut(trace, "window", 0, line + 1,
                      {"`mid`", "was computed by an earlier window, which ended because",
                       "was read at trace_test.cpp:" + std::to_string(line)}));
}

TEST_F(TraceTest, ShapeChange) {
  const Tensor x = matrix(64, 64), y = matrix(64, 64);
  int line = 0;
  const Trace trace = trace_of([&] {
    line = __LINE__ + 1;
    Tensor t = exp(x) / (1 + x);
    const Tensor table = expand_dims(t, 1) * expand_dims(y, 2);
    const Tensor direct = tanh(std::move(t));
    sync();
  });
  EXPECT_TRUE(has_cut(trace, "shape", line, line + 1, {"float32(64, 64)", "iteration space"}))
      << describe_cuts(trace);
}

TEST_F(TraceTest, HugeRow) {
  const Tensor x = matrix(4, 200000);
  int line = 0;
  const Trace trace = trace_of([&] {
    line = __LINE__ + 1;
    const Tensor y = softmax(x, 1);
    sync();
  });
  const std::vector<FoundCut> found = cuts_of(trace, "row");
  ASSERT_FALSE(found.empty()) << describe_cuts(trace);
  EXPECT_THAT(found[0].cut->text, AllOf(HasSubstr("a row of 200000 elements is too long"),
                                        HasSubstr("4 rows are too few")));
  for (const auto [graph, cut] : found) {
    EXPECT_THAT(cut->text, HasSubstr("too long"));
    // An op that is made of others is called where the program calls it.
    EXPECT_EQ(line_of(trace, *graph, cut->producer), line);
    EXPECT_EQ(line_of(trace, *graph, cut->consumer), line);
  }
}

TEST_F(TraceTest, UnsupportedEpilogue) {
  const Tensor a = matrix(64, 64), b = matrix(64, 64);
  int line = 0;
  const Trace trace = trace_of([&] {
    line = __LINE__ + 1;
    Tensor product = matmul(a, b);
    const Tensor y = sin(std::move(product));
    sync();
  });
  EXPECT_TRUE(has_cut(trace, "library", line, line + 1,
                      {"(matmul) is a library call, and has no epilogue that computes", "(sin)"}));
}

TEST_F(TraceTest, Alias) {
  const Tensor x = matrix(64, 64);
  int line = 0;
  const Trace trace = trace_of([&] {
    line = __LINE__ + 1;
    Tensor t = x - 1;
    const Tensor view = t.reshape({4096}).named("view");
    const Tensor y = exp(std::move(t));
    sync();
  });
  EXPECT_TRUE(has_cut(trace, "aliasing", line, line + 2,
                      {"you still hold `view` (t2, reshape), trace_test.cpp:" +
                       std::to_string(line + 1) + ", a view of t1 (sub)"}));
}

TEST_F(TraceTest, WindowLimit) {
  const Tensor x = matrix(64, 64);
  config().window_ops = 10;
  int line = 0;
  const Trace trace = trace_of([&] {
    Tensor t = x;
    for (int i = 0; i < 15; ++i) {
      line = __LINE__ + 1;
      t = i * i % 7 == 2 ? std::move(t) * x : std::move(t) + x;
    }
    sync();
  });
  EXPECT_TRUE(has_cut(trace, "window", 0, line,
                      {"which ended because 10 ops were pending (Config::window_ops)"}));
}

TEST_F(TraceTest, MixedDevices) {
  if (devices().size() < 2) GTEST_SKIP() << "there is one device";
  const Device there = devices()[1];
  set_default_device(Device::cpu());
  const Tensor x = matrix(64, 64);
  int line = 0;
  const Trace trace = trace_of([&] {
    line = __LINE__ + 1;
    const Tensor moved = (x + 1).to(there);
    const Tensor y = moved * 2;
    sync();
  });
  EXPECT_TRUE(has_cut(trace, "device", 0, line + 1,
                      {"was copied from cpu to " + to_string(there) +
                       " at trace_test.cpp:" + std::to_string(line)}));
}

// A read runs only what it needs: what else reads the same value is not a handle.
TEST_F(TraceTest, ReadByWhatIsStillPending) {
  const Tensor x = matrix(64, 64);
  const Trace trace = trace_of([&] {
    Tensor t = x * 3;
    const Tensor later = t + 1;
    static_cast<void>(sum(exp(std::move(t))).item<float>());
  });
  EXPECT_THAT(describe_cuts(trace), HasSubstr("an op that is still pending reads t1 (mul)"));
}

// ---- What windows say.

TEST_F(TraceTest, CausesNameWhatEndedAWindow) {
  const Tensor x = matrix(8, 8);
  int line = 0;
  const Trace trace = trace_of([&] {
    const Tensor y = sum(x * 2).named("total");
    line = __LINE__ + 1;
    static_cast<void>(y.item<float>());
    (x + 1).eval();
    const Tensor z = x + 3;
    flush();
    const Tensor w = x + 4;
  });
  std::vector<std::string> causes, texts;
  for (const Window& window : trace.windows) {
    causes.push_back(window.cause);
    texts.push_back(window.cause_text);
  }
  EXPECT_THAT(causes, ElementsAre("read", "eval", "flush"));
  EXPECT_THAT(
      texts, ElementsAre("`total`, a float32(), was read at trace_test.cpp:" + std::to_string(line),
                         "eval() was called on a float32(8, 8) at trace_test.cpp:" +
                             std::to_string(line + 1),
                         "flush() was called"));
}

TEST_F(TraceTest, StepsHaveTimesAndKernels) {
  const Tensor x = matrix(64, 64), y = matrix(64, 64);
  const Trace trace = trace_of([&] {
    const Tensor z = exp(matmul(x, y) * 2);
    sync();
  });
  ASSERT_EQ(trace.windows.size(), 1u);
  const Window& window = trace.windows[0];
  const Graph& graph = trace.graphs[window.graph];
  ASSERT_EQ(graph.steps.size(), 2u);
  EXPECT_EQ(graph.steps[0].kind, trace::StepKind::kLibrary);
  EXPECT_EQ(graph.steps[0].flops, 2 * 64 * 64 * 64);
  EXPECT_EQ(graph.steps[1].name, "mul+exp");
  EXPECT_EQ(graph.steps[1].flops, 2 * 64 * 64);
  ASSERT_EQ(graph.steps[1].kernels.size(), 1u);
  const trace::Kernel& kernel = trace.kernels[graph.steps[1].kernels[0]];
  EXPECT_THAT(kernel.program, HasSubstr("exp"));
  EXPECT_EQ(kernel.key.empty(), false);
  ASSERT_EQ(window.steps.size(), 2u);
  for (const trace::StepRun& run : window.steps) EXPECT_GT(run.duration, 0);
  EXPECT_LE(window.steps[0].begin, window.steps[1].begin);
  EXPECT_LE(window.begin, window.flushed);
}

TEST_F(TraceTest, ScopesNest) {
  const Tensor x = matrix(8, 8);
  const Trace trace = trace_of([&] {
    const Scope outer("encoder");
    Tensor y = x + 1;
    {
      const Scope inner("layer1");
      y = std::move(y) * 2;
    }
    y = exp(std::move(y));
    sync();
  });
  ASSERT_EQ(trace.graphs.size(), 1u);
  std::vector<std::string> scopes;
  for (const trace::Op& op : trace.graphs[0].ops) {
    scopes.push_back(op.scope < 0 ? "" : trace.scopes[op.scope]);
  }
  EXPECT_THAT(scopes, ElementsAre("", "encoder", "encoder/layer1", "encoder"));
}

TEST_F(TraceTest, CallSitesAreTheProgramsOwn) {
  const Tensor x = matrix(8, 8);
  std::vector<int> lines;
  const Trace trace = trace_of([&] {
    lines.push_back(__LINE__ + 1);
    Tensor y = x + 1;
    lines.push_back(__LINE__ + 1);
    y += 2;
    lines.insert(lines.end(), 2, __LINE__ + 1);
    y = mean(std::move(y), 1, true);
    lines.push_back(__LINE__ + 1);
    y = y.exp();
    lines.push_back(__LINE__ + 1);
    y = maximum(std::move(y), 0.f);
    lines.insert(lines.end(), 2, __LINE__ + 1);
    y = where(y > 1, y, 1);
    sync();
  });
  ASSERT_EQ(trace.graphs.size(), 1u);
  const Graph& graph = trace.graphs[0];
  std::vector<int> found;
  for (size_t i = 1; i < graph.ops.size(); ++i) {
    found.push_back(line_of(trace, graph, static_cast<int32_t>(i)));
  }
  EXPECT_EQ(found, lines);
}

TEST_F(TraceTest, ViewsHaveCallSitesToo) {
  const Tensor x = matrix(8, 8);
  int line = 0;
  const Trace trace = trace_of([&] {
    Tensor y = exp(x);
    line = __LINE__ + 1;
    y = transpose(reshape(y, {4, 16}));
    y = pad(slice(std::move(y), 0, 1, 9), {{1, 1}, {0, 0}});
    y = roll(tile(std::move(y), {2, 1}), 3, 0);
    sync();
  });
  for (const trace::Site& site : trace.sites) {
    EXPECT_TRUE(site.file.ends_with("_test.cpp")) << site.file << ":" << site.line;
  }
  ASSERT_EQ(trace.graphs.size(), 1u);
  const Graph& graph = trace.graphs[0];
  for (size_t i = 2; i < graph.ops.size(); ++i) {
    const int found = line_of(trace, graph, static_cast<int32_t>(i));
    EXPECT_TRUE(found >= line && found <= line + 2) << graph.ops[i].op << " of line " << found;
  }
}

// ---- What it takes.

TEST_F(TraceTest, EqualWindowsShareOneGraph) {
  Tensor x = matrix(8, 8);
  const Trace trace = trace_of([&] {
    for (int i = 0; i < 100; ++i) {
      x = std::move(x) * 0.5f + 1;
      sync();
    }
  });
  EXPECT_EQ(trace.windows.size(), 100u);
  // The first reads what was there before the trace began.
  EXPECT_LE(trace.graphs.size(), 2u);
  EXPECT_EQ(trace.kernels.size(), 1u);
}

TEST_F(TraceTest, KeepsTheNewestOfAMillionWindows) {
  const Tensor x = ones({1});
  sync();
  trace::start();
  constexpr int kWindows = 40'000;
  for (int i = 0; i < kWindows; ++i) {
    const Tensor y = x + static_cast<float>(i);
    y.eval();
  }
  trace::stop();
  sync();
  const Trace trace = recorded();
  EXPECT_EQ(trace.windows_recorded, kWindows);
  EXPECT_EQ(trace.windows.size(), 16384u);
  EXPECT_EQ(trace.windows.back().number, kWindows - 1);
  EXPECT_EQ(trace.graphs.size(), 1u);
}

TEST_F(TraceTest, DifferentWindowsAreBoundedToo) {
  config().compile = CompileMode::kOff;
  const Tensor x = ones({4});
  sync();
  trace::start();
  constexpr int kOps = 4000, kWindows = 160;  // 640,000 ops, all windows different
  for (int i = 0; i < kWindows; ++i) {
    Tensor y = x;
    for (int k = 0; k < kOps; ++k) y = k == i ? std::move(y) * x : std::move(y) + x;
    y.eval();
  }
  trace::stop();
  sync();
  const Trace trace = recorded();
  EXPECT_EQ(trace.windows_recorded, kWindows);
  size_t ops = 0;
  for (const Graph& graph : trace.graphs) ops += graph.ops.size();
  EXPECT_LE(ops, 500'000u);
  EXPECT_GT(ops, 400'000u);
}

TEST_F(TraceTest, EqualProgramsGiveEqualTracesButForTimes) {
  const Tensor x = matrix(16, 16), y = matrix(16, 16);
  auto program = [&] {
    for (int i = 0; i < 3; ++i) {
      const Scope scope("step");
      const Tensor hidden = (x * y).named("hidden");
      static_cast<void>(sum(matmul(hidden, y) + 1).item<float>());
    }
  };
  trace_of(program);  // plans are made
  auto shown = [&] { return trace::to_text(trace_of(program), {.times = false}); };
  const std::string first = shown();
  EXPECT_EQ(first, shown());
  EXPECT_THAT(first, HasSubstr("hidden"));
}

TEST_F(TraceTest, ThreadsHaveLanesOfTheirOwn) {
  const Tensor x = matrix(8, 8);
  const Trace trace = trace_of([&] {
    std::thread other([&] { return (x + 1).to_vector<float>(); });
    other.join();
    static_cast<void>((x + 2).to_vector<float>());
  });
  ASSERT_EQ(trace.windows.size(), 2u);
  EXPECT_NE(trace.windows[0].thread, trace.windows[1].thread);
  EXPECT_GT(trace.threads.size(),
            static_cast<size_t>(std::max(trace.windows[0].thread, trace.windows[1].thread)));
}

TEST_F(TraceTest, KernelStatsAddUp) {
  const Tensor x = matrix(64, 64);
  reset_stats();
  trace_of([&] {
    for (int i = 0; i < 5; ++i) exp(x * 2).eval();
    matmul(x, x).eval();
  });
  std::vector<KernelStats> stats = kernel_stats();
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_GE(stats[0].nanoseconds, stats[1].nanoseconds);
  const KernelStats& kernel = stats[stats[0].name == "matmul"];
  EXPECT_EQ(kernel.name, "mul+exp");
  EXPECT_EQ(kernel.count, 5);
  EXPECT_EQ(kernel.bytes, 5 * 2 * 64 * 64 * 4);
  EXPECT_EQ(kernel.flops, 5 * 2 * 64 * 64);
  EXPECT_GT(kernel.nanoseconds, 0);
  reset_stats();
  EXPECT_TRUE(kernel_stats().empty());
}

TEST_F(TraceTest, NothingIsRecordedAfterStop) {
  trace::start();
  trace::stop();
  static_cast<void>(matrix(8, 8).named("late"));
  EXPECT_TRUE(recorded().windows.empty());
}

TEST_F(TraceTest, WritesWhatThePathAsksFor) {
  const Tensor x = matrix(8, 8);
  trace_of([&] { return sum(x).item<float>(); });
  EXPECT_THAT(trace::to_dot(), HasSubstr("digraph"));
  EXPECT_THAT(trace::to_html(), HasSubstr("</html>"));
  EXPECT_THAT(trace::to_perfetto(), HasSubstr("traceEvents"));
  EXPECT_TRUE(fails_with([] { trace::write("/nowhere/x.json"); }, ErrorCode::kUnavailable,
                         {"trace", "/nowhere/x.json"}));
}

}  // namespace
}  // namespace sluice
