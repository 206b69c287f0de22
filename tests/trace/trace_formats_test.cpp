// The forms of a trace: its files, what is refused as one, and what text, Graphviz and Perfetto
// get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "tests/trace/trace_samples.h"
#include "tools/trace/json_read.h"
#include "tools/trace/kernel_list.h"
#include "trace/dot.h"
#include "trace/format.h"
#include "trace/json_write.h"
#include "trace/perfetto.h"
#include "trace/text.h"

namespace sluice::trace {
namespace {

using test::op;
using test::sample;
using test::sample_text;
using test::step;
using test::trace_of_windows;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string error_of(const std::string& text) {
  const absl::StatusOr<Trace> trace = from_json(text);
  return trace.ok() ? "no error" : std::string(trace.status().message());
}

TEST(TraceJsonTest, WhatIsReadIsWrittenAgain) {
  for (const char* name : {"fused", "held", "every_member"}) {
    EXPECT_EQ(to_json(sample(name)), sample_text(name)) << name;
  }
}

TEST(TraceJsonTest, DefaultsAreLeftOut) {
  EXPECT_EQ(to_json(Trace()), "{\"format\":\"sluice-trace\",\"version\":2}\n");
  Trace trace;
  trace.graphs.emplace_back().ops.emplace_back();
  EXPECT_EQ(to_json(trace),
            "{\"format\":\"sluice-trace\",\"version\":2,\n\"graphs\":[\n{\"ops\":[{}]}\n]}\n");
  const auto again = from_json(to_json(trace));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->graphs[0].ops[0].site, -1);
}

TEST(TraceJsonTest, AnyBytesCanBeInAName) {
  Trace trace;
  trace.program = "tab\t quote\" newline\n \x01 \xc3\xa9";
  const auto again = from_json(to_json(trace));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->program, trace.program);
  trace.program = "not UTF-8: \xff";
  ASSERT_TRUE(from_json(to_json(trace)).ok());
  EXPECT_THAT(from_json(to_json(trace))->program, StartsWith("not UTF-8: "));
}

TEST(TraceJsonTest, WhatIsNoJsonIsRefused) {
  EXPECT_EQ(error_of(""), "it is empty");
  EXPECT_EQ(error_of(" \n"), "it is empty");
  EXPECT_EQ(error_of("{\"format\":"), "it ends too early: it is not all there");
  EXPECT_EQ(error_of("{\"format\":\"slu"), "it ends too early: it is not all there");
  EXPECT_EQ(error_of("\x7f"
                     "ELF"),
            "not JSON: line 1, column 1");
  EXPECT_EQ(error_of("{\n  \"format\"; 1}"), "not JSON: line 2, column 11");
  EXPECT_EQ(error_of("{} {}"), "not JSON: line 1, column 4");
  EXPECT_EQ(error_of("[1e999]"), "a number is too large");
  EXPECT_EQ(error_of(std::string(100000, '[')), "it ends too early: it is not all there");
  EXPECT_EQ(error_of(std::string(100000, '[') + std::string(100000, ']')),
            "not a trace, but a list");
}

TEST(TraceJsonTest, AFileThatIsCutOffIsRefused) {
  const std::string text = sample_text("every_member");
  for (size_t size = 0; size + 2 < text.size(); size += 7) {
    EXPECT_NE(error_of(text.substr(0, size)), "no error") << size;
  }
}

TEST(TraceJsonTest, OtherFormatsAndVersionsAreRefused) {
  EXPECT_EQ(error_of("3"), "not a trace, but a number");
  EXPECT_EQ(error_of("{}"), "not a trace: it has no format");
  EXPECT_EQ(error_of(R"({"name":"a package","version":"1.0.0"})"), "not a trace: it has no format");
  EXPECT_EQ(error_of(R"({"format":"glTF","version":2})"), "format: it is not \"sluice-trace\"");
  EXPECT_EQ(error_of(R"({"format":"sluice-trace"})"), "version: missing");
  EXPECT_EQ(error_of(R"({"format":"sluice-trace","version":3})"),
            "version: it is 3, and this reads version 2 only");
  EXPECT_EQ(error_of(R"({"format":"sluice-trace","version":"2"})"),
            "version: it is strange, and this reads version 2 only");
  EXPECT_EQ(error_of(R"({"version":1,"windows":[]})"),
            "version: it is 1, and this reads version 2 only");
}

// The members of a trace and what is wrong with them.
TEST(TraceJsonTest, WhatIsWrongIsNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("colour":1)", "colour: there is no such member"},
      {R"("two\nlines":1)", "two\\nlines: there is no such member"},
      {R"("program":5)", "program: a number where a string belongs"},
      {R"("deterministic":0)", "deterministic: a number where true or false belongs"},
      {R"("threads":"main")", "threads: a string where a list belongs"},
      {R"("threads":["main",null])", "threads[1]: null where a string belongs"},
      {R"("windows_recorded":-1)", "windows_recorded: -1 is less than 0"},
      {R"("windows_recorded":1.5)", "windows_recorded: a number where a whole number belongs"},
      {R"("windows_recorded":9007199254740992)",
       "windows_recorded: 9007199254740992 is out of range"},
      {R"("windows_recorded":18446744073709551615)",
       "windows_recorded: 18446744073709551615 is out of range"},
      {R"("sites":[{"line":4294967296}])", "sites[0].line: 4294967296 is out of range"},
      {R"("sites":[[]])", "sites[0]: a list where an object belongs"},
      {R"("kernels":[{},{"registers":-2}])", "kernels[1].registers: -2 is less than -1"},
      {R"("kernels":[{"source":{}}])", "kernels[0].source: an object where a string belongs"},
      {R"("events":[{"kernel":0}])", "events[0].kernel: 0 is not a kernel"},
      {R"("events":[{"duration":-5}])", "events[0].duration: -5 is less than 0"},
      {R"("windows":[{}])", "windows[0].graph: missing"},
      {R"("windows":[{"graph":-1}])", "windows[0].graph: -1 is not a graph"},
      {R"("graphs":[{}],"windows":[{"graph":0},{"graph":17}])",
       "windows[1].graph: 17 is not a graph"},
      {R"("graphs":[{}],"windows":[{"graph":0,"thread":0}])",
       "windows[0].thread: 0 is not a thread"},
      {R"("graphs":[{}],"windows":[{"graph":0,"steps":[{}]}])",
       "windows[0].steps: 1 runs, but graphs[0] has 0 steps"},
      {R"("graphs":[{"steps":[{}]}],"windows":[{"graph":0,"steps":[{"begin":"now"}]}])",
       "windows[0].steps[0].begin: a string where a whole number belongs"},
      {R"("graphs":[{"steps":[{}]}],"windows":[{"graph":0,"steps":[{"end":4}]}])",
       "windows[0].steps[0].end: there is no such member"},
      {R"("graphs":[{"ops":[{"shape":[2,-1]}]}])", "graphs[0].ops[0].shape[1]: -1 is less than 0"},
      {R"("graphs":[{"ops":[{"operands":[0]}]}])",
       "graphs[0].ops[0].operands[0]: 0 is not an op before this one"},
      {R"("graphs":[{"ops":[{},{"operands":[0,-1]}]}])",
       "graphs[0].ops[1].operands[1]: -1 is not an op before this one"},
      {R"("graphs":[{"ops":[{"site":0}]}])", "graphs[0].ops[0].site: 0 is not a site"},
      {R"("graphs":[{"ops":[{"scope":-2}]}])", "graphs[0].ops[0].scope: -2 is not a scope"},
      {R"("graphs":[{"ops":[{"live":1}]}])",
       "graphs[0].ops[0].live: a number where true or false belongs"},
      {R"("graphs":[{},{"steps":[{"ops":[0]}]}])", "graphs[1].steps[0].ops[0]: 0 is not an op"},
      {R"("graphs":[{"ops":[{}],"steps":[{"inputs":[0],"outputs":[1]}]}])",
       "graphs[0].steps[0].outputs[0]: 1 is not an op of the graph"},
      {R"("graphs":[{"steps":[{"kernels":[0]}]}])",
       "graphs[0].steps[0].kernels[0]: 0 is not a kernel"},
      {R"("graphs":[{"steps":[{"kind":"copy"}]}])",
       "graphs[0].steps[0].kind: it is neither \"kernel\" nor \"library\""},
      {R"("graphs":[{"steps":[{"kind":0}]}])",
       "graphs[0].steps[0].kind: a number where a string belongs"},
      {R"("graphs":[{"cuts":[{}]}])", "graphs[0].cuts[0].producer: missing"},
      {R"("graphs":[{"ops":[{}],"cuts":[{"producer":0,"consumer":1}]}])",
       "graphs[0].cuts[0].consumer: 1 is not an op of the graph"},
      {R"("graphs":[{"ops":[{}],"cuts":[{"producer":0,"bytes":-8}]}])",
       "graphs[0].cuts[0].bytes: -8 is less than 0"},
  };
  for (const auto& [members, message] : cases) {
    const std::string text =
        absl::StrCat("{\"format\":\"sluice-trace\",\"version\":2,", members, "}");
    EXPECT_THAT(error_of(text), StartsWith(message)) << members;
  }
}

TEST(TraceTextTest, NumbersAreShort) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(-1000), "-1,000");
  EXPECT_EQ(format_count(-100), "-100");
  EXPECT_EQ(format_time(999), "999 ns");
  EXPECT_EQ(format_time(1000), "1.00 us");
  EXPECT_EQ(format_time(999'999), "1.00 ms");
  EXPECT_EQ(format_time(12'340'000), "12.3 ms");
  EXPECT_EQ(format_time(7'200'000'000'000), "7200 s");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(1024 * 1024 - 1), "1.00 MiB");
  EXPECT_EQ(format_rate(133, 10), "13.3");
  EXPECT_EQ(format_rate(133, 0), "");
}

TEST(TraceTextTest, AWindowIsAParagraph) {
  const std::string text = to_text(sample("held"));
  EXPECT_THAT(text, StartsWith("train: 10 windows, 1 graph, 2 kernels, deterministic\n"));
  EXPECT_THAT(text, HasSubstr("\nwindows 0-9 (x10), read: 3 ops -> 2 kernels on cpu, 1 temporary "
                              "(4.00 MiB) elided, plan missed 1 of 10 times\n"
                              "  item() of t4 (sum) at net.cpp:15\n"));
  EXPECT_THAT(text, HasSubstr("  kernel     355 us  4.00 MiB  11.8 GB/s  exp+sum  net.cpp:13-14  "
                              "[generic tier 2 of 10]\n"));
  EXPECT_THAT(text, HasSubstr("  not fused  8.00 MiB  observed: you still hold `h` (t2, mul), "
                              "net.cpp:12  net.cpp:12-13\n"));
}

TEST(TraceTextTest, WhatRepeatsIsWrittenOnce) {
  Trace trace;
  Graph& graph = trace.graphs.emplace_back();
  graph.device = "cpu";
  for (int32_t k = 0; k < 401; ++k) graph.ops.emplace_back().op = k == 0 ? "input" : "exp";
  for (int32_t k = 1; k < 401; ++k) {
    Step& step = graph.steps.emplace_back();
    step.name = k % 2 == 1 ? "odd" : "even";
    step.ops = {k};
    graph.cuts.push_back({k - 1, k, "cost", absl::StrCat("t", k - 1, " (exp) is cheap"), 8});
  }
  trace.windows.emplace_back().graph = 0;
  const std::string text = to_text(trace, {.times = false});
  EXPECT_THAT(text, HasSubstr("  200 times 2 steps, of which the first are:\n"
                              "  kernel        0 B  odd\n"
                              "  kernel        0 B  even\n"
                              "  not fused  3.12 KiB  cost: t0 (exp) is cheap, and 399 alike\n"));
}

TEST(TraceTextTest, TimesAreMediansOfCompiledRuns) {
  Trace trace = sample("held");
  const auto set = [&](std::initializer_list<StepRun> runs) {
    trace.windows.resize(runs.size());
    for (size_t w = 0; w < runs.size(); ++w) trace.windows[w].steps[0] = runs.begin()[w];
    return to_text(trace);
  };
  EXPECT_THAT(set({{0, 9000, true}, {0, 1000}, {0, 5000}, {0, 3000}}),
              HasSubstr("  kernel    3.00 us  "));
  EXPECT_THAT(set({{0, 1000}, {0, 3000}}), HasSubstr("  kernel    2.00 us  "));
  EXPECT_THAT(set({{0, 1000, true}, {0, 5000, true}}), HasSubstr("  kernel    3.00 us  "));
}

// Of many inputs of one cause, and of one.
TEST(TraceTextTest, WhatIsCarriedFromAWindowIsOneLine) {
  Trace trace = sample("held");
  Graph& graph = trace.graphs[0];
  graph.cuts = {
      {0, 2, "window", "t0 (input) was computed by an earlier window", 1 << 20},
      {0, 3, "window", "t0 (input) was computed by an earlier window", 1 << 20},
      {1, 2, "window", "t1 (input) was computed by an earlier window", 1 << 20},
      {1, 2, "window", "t1 (input) was computed by another window", 1 << 20},
  };
  const std::string text = to_text(trace);
  EXPECT_THAT(text, HasSubstr("\n  carried    3.00 MiB  window: 2 inputs, each of which was "
                              "computed by an earlier window  net.cpp:12-13\n"
                              "  carried    1.00 MiB  window: t1 (input) was computed by another "
                              "window  net.cpp:12\n"));
  EXPECT_THAT(text, Not(HasSubstr("not fused")));
}

TEST(TraceTextTest, HeadingAndDetailsCanBeLeftOut) {
  const std::string title =
      "windows 0-9 (x10), read: 3 ops -> 2 kernels on cpu, 1 temporary "
      "(4.00 MiB) elided, plan missed 1 of 10 times\n";
  const Trace trace = sample("held");
  EXPECT_EQ(to_text(trace, {.heading = false, .details = false}), title);
  EXPECT_THAT(to_text(trace, {.heading = false}), StartsWith(title + "  item() of t4"));
  EXPECT_THAT(to_text(trace, {.details = false}), EndsWith("\n\n" + title));
}

TEST(TraceTextTest, ThreadsAreApart) {
  const std::string text = to_text(sample("every_member"));
  EXPECT_THAT(text, HasSubstr("the newest of 7 windows\n"));
  EXPECT_THAT(text, HasSubstr("\n== main\n\nwindow 5, sync: "));
  EXPECT_THAT(text, HasSubstr("\n== loader\n\nwindow 4, other thread: "));
  EXPECT_THAT(text, HasSubstr("\n== no thread\n\nwindow 6, op budget: "));
  EXPECT_THAT(text, HasSubstr("1 library call on cuda:0"));
  EXPECT_THAT(text, HasSubstr("matmul  src/net.cpp:31 in encoder/layer1\n"));
}

// All else but times is equal in the runs of a deterministic program.
TEST(TraceTextTest, WithoutTimesRunsAreAlike) {
  for (const char* name : {"fused", "held", "every_member"}) {
    const Trace trace = sample(name);
    Trace other = trace;
    for (Window& window : other.windows) {
      window.begin += 1234567;
      window.flushed += 7654321;
      window.plan_duration = window.bind_duration = window.submit_duration = 111;
      window.compile_duration = 0;
      for (StepRun& run : window.steps) run = {.begin = 3, .duration = 100000000};
    }
    other.windows[0].steps.clear();
    for (Event& event : other.events) event.duration = 1;
    EXPECT_NE(to_text(trace), to_text(other)) << name;
    EXPECT_EQ(to_text(trace, {.times = false}), to_text(other, {.times = false})) << name;
  }
}

// The titles of all paragraphs.
std::vector<std::string> titles(const std::string& letters) {
  std::vector<std::string> result;
  const std::string text = to_text(trace_of_windows(letters));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "window")) result.emplace_back(line.substr(0, line.find(", flush")));
  }
  return result;
}

TEST(TraceTextTest, LoopsAreFolded) {
  using Titles = std::vector<std::string>;
  EXPECT_EQ(titles("A"), (Titles{"window 0"}));
  EXPECT_EQ(titles("AB"), (Titles{"window 0", "window 1"}));
  EXPECT_EQ(titles("ABBBC"), (Titles{"window 0", "windows 1-3 (x3)", "window 4"}));
  EXPECT_EQ(titles("ABAB"), (Titles{"windows 0, 2 (x2)", "windows 1, 3 (x2)"}));
  EXPECT_EQ(titles("CABABABA"), (Titles{"window 0", "windows 1, 3, ... 5 (x3)",
                                        "windows 2, 4, ... 6 (x3)", "window 7"}));
  // Three turns of a loop, of which each has a loop.
  EXPECT_EQ(titles("AABAABAAB"), (Titles{"windows 0, 1, ... 7 (x6)", "windows 2, 5, ... 8 (x3)"}));
  EXPECT_EQ(titles(std::string(1002, 'A')), (Titles{"windows 0-1001 (x1,002)"}));
}

TEST(TraceTextTest, AMillionFoldedWindowsAreShort) {
  EXPECT_LT(to_text(trace_of_windows(std::string(1000000, 'A'))).size(), 1000);
  std::string turns;
  for (int i = 0; i < 5000; ++i) turns.append(199, 'A').push_back('B');
  EXPECT_EQ(turns.size(), 1000000);
  EXPECT_LT(to_text(trace_of_windows(turns)).size(), 1000);
}

TEST(TraceDotTest, StepsAreClustersAndCutsAreRed) {
  const std::string dot = to_dot(sample("every_member"));
  EXPECT_THAT(dot, StartsWith("digraph sluice {\n"));
  EXPECT_THAT(dot, EndsWith("}\n"));
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
  for (const char* part :
       {"subgraph cluster_g0 {\n  label=\"windows 5-6 (x2) on cuda:0\";\n", "subgraph cluster_g1 {",
        "subgraph cluster_g0_s1 {\n    label=\"library 1: matmul\\nreads 1.15 MiB",
        // A temporary, a result, an input, and an op that nobody computes.
        "g0_s0_t4 [label=\"t4 (sub)\\nfloat32(256, 784)\\nsrc/net.cpp:30\", color=gray",
        "g0_s2_t8 [label=\"t8 (relu)\\nfloat32(256, 128)\\nsrc/net.cpp:31\", style=bold]",
        "g0_t2 [label=\"t2 (input)\\nfloat32(128,)\", shape=ellipse]",
        "g0_t9 [label=\"t9 (neg)\\nfloat32(256, 128)\\nsrc/net.cpp:31\", style=dashed",
        "g0_s0_t5 -> g0_s1_t6 [color=red, fontcolor=red, label=\"library\", tooltip=\"1.53 MiB: ",
        "g0_s0_t4 -> g0_s0_t5;\n",
        // A cut that no edge of the graph stands for.
        "g1_s0_t1 [color=red, tooltip=\"1.53 MiB: t1 (cast) is copied"}) {
    EXPECT_THAT(dot, HasSubstr(part));
  }
}

TEST(TraceDotTest, WhatIsComputedTwiceIsThereTwice) {
  Trace trace;
  Graph& graph = trace.graphs.emplace_back();
  graph.ops = {op("input", {}), op("neg", {0}), op("exp", {1}), op("sum", {1})};
  graph.ops[1].name = "say \"x\\y\"\n";
  graph.steps = {step("neg+exp", {1, 2}, {0}, {2}), step("neg+sum", {1, 3}, {0}, {3})};
  const std::string dot = to_dot(trace);
  for (const char* part :
       {"g0_t0 -> g0_s0_t1;", "g0_t0 -> g0_s1_t1;", "g0_s0_t1 -> g0_s0_t2;",
        "g0_s1_t1 -> g0_s1_t3;", "\"`say \\\"x\\\\y\\\"\\n` (t1, neg)", "label=\"no windows\""}) {
    EXPECT_THAT(dot, HasSubstr(part));
  }
  EXPECT_THAT(dot, Not(HasSubstr("red")));
}

// The slices of a time line by process and thread, in order, and its arrows.
struct TimeLine {
  explicit TimeLine(const std::string& text) {
    const nlohmann::json file = nlohmann::json::parse(text);
    for (const auto& event : file["traceEvents"]) {
      if (event["ph"] == "M" && event["name"] == "process_name") {
        processes[event["pid"]] = event["args"]["name"];
      } else if (event["ph"] == "M" && event["name"] == "thread_name") {
        threads[{event["pid"], event["tid"]}] = event["args"]["name"];
      } else if (event["ph"] != "M") {
        const auto& thread = threads.at({event["pid"], event["tid"]});
        const std::string line = absl::StrCat(processes.at(event["pid"]), "/", thread);
        (event["ph"] == "X" ? slices : arrows)[line].push_back(event);
      }
    }
  }

  std::vector<std::string> names(const std::string& line) {
    std::vector<std::string> result;
    for (const auto& slice : slices[line]) result.push_back(slice["name"]);
    return result;
  }

  using Events = std::vector<nlohmann::json>;
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  std::map<std::string, Events> slices, arrows;
};

TEST(TracePerfettoTest, EveryLaneHasItsSlices) {
  using Names = std::vector<std::string>;
  TimeLine line(to_perfetto(sample("every_member")));
  EXPECT_EQ(line.names("host: digits/loader"),
            (Names{"record", "plan", "compile", "bind", "submit"}));
  EXPECT_EQ(line.names("host: digits/main"), (Names{"record", "plan", "bind", "submit"}));
  EXPECT_EQ(line.names("cuda:0/main"), (Names{"sub+div", "matmul", "add+relu"}));
  EXPECT_EQ(line.names("cpu/loader"), (Names{"cast"}));
  EXPECT_EQ(line.names("compilers/compiler 1"), (Names{"sub+div"}));
  const nlohmann::json& step = line.slices["cuda:0/main"][0];
  EXPECT_EQ(step["ts"], 53.0);
  EXPECT_EQ(step["dur"], 2.1);
  EXPECT_EQ(step["args"]["bytes_read"], 802820);
  EXPECT_EQ(step["args"]["ops"], 2);
  EXPECT_EQ(step["args"]["site"], "src/net.cpp:30 in encoder");
  EXPECT_EQ(step["args"]["tier"], "generic");
  // What was recorded before the trace began is shown from its beginning.
  EXPECT_EQ(line.slices["host: digits/loader"][0]["ts"], 0);
  EXPECT_EQ(line.slices["host: digits/loader"][0]["dur"], 9.0);
}

TEST(TracePerfettoTest, ArrowsLeadFromSubmissionsToFirstSteps) {
  TimeLine line(to_perfetto(sample("held")));
  const auto &starts = line.arrows["host: train/main"], &ends = line.arrows["cpu/main"];
  ASSERT_EQ(starts.size(), 10);
  ASSERT_EQ(ends.size(), 10);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(starts[i]["ph"], "s");
    EXPECT_EQ(ends[i]["ph"], "f");
    EXPECT_EQ(ends[i]["bp"], "e");
    EXPECT_EQ(starts[i]["id"], ends[i]["id"]);
    EXPECT_EQ(line.slices["cpu/main"][2 * i]["ts"], ends[i]["ts"]);
    const auto& slices = line.slices["host: train/main"];
    EXPECT_TRUE(std::any_of(slices.begin(), slices.end(), [&](const auto& slice) {
      return slice["name"] == "submit" && slice["ts"] == starts[i]["ts"];
    }));
  }
}

TEST(TracePerfettoTest, SlicesOfALineNeverOverlap) {
  Trace trace = sample("held");
  // Recorded before the last flush; steps of two windows side by side.
  for (size_t w = 1; w < trace.windows.size(); ++w) {
    trace.windows[w].begin = trace.windows[0].begin;
    trace.windows[w].steps[0].begin = trace.windows[w - 1].steps[1].begin + 1;
  }
  TimeLine line(to_perfetto(trace));
  size_t count = 0;
  for (auto& [name, slices] : line.slices) {
    std::sort(slices.begin(), slices.end(),
              [](const auto& a, const auto& b) { return a["ts"] < b["ts"]; });
    // Two lines of one name have two numbers.
    std::map<int, double> end;
    for (const auto& slice : slices) {
      EXPECT_GE(slice["ts"].get<double>() + 1e-9, end[slice["tid"]]) << name << slice;
      end[slice["tid"]] = slice["ts"].get<double>() + slice["dur"].get<double>();
      ++count;
    }
  }
  EXPECT_GT(count, 50);
}

TEST(TraceKernelListTest, KernelsAreFoundByNumberAndKey) {
  const Trace trace = sample("every_member");
  EXPECT_THAT(list_kernels(trace),
              HasSubstr("     0  aa01          disk         51.0 ms          2  "
                        "sub+div  (40 registers, 16 B spilled, 4096 B shared)"));
  EXPECT_EQ(*find_kernel(trace, "2"), 2);
  EXPECT_EQ(*find_kernel(trace, "aa"), 0);
  EXPECT_EQ(*find_kernel(trace, "ab03"), 2);
  EXPECT_EQ(find_kernel(trace, "ab").status().message(), "the keys of 2 kernels begin with 'ab'");
  EXPECT_EQ(find_kernel(trace, "3").status().message(),
            "there is no kernel '3' among the 3 of the trace");
  EXPECT_FALSE(find_kernel(trace, "").ok());
  EXPECT_THAT(describe_kernel(trace, 0), HasSubstr("\n== source, cuda-c++\nextern"));
  EXPECT_THAT(describe_kernel(trace, 2), Not(HasSubstr("==")));
}

}  // namespace
}  // namespace sluice::trace
