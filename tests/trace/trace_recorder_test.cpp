// What recording costs: what is described when, how much, and that no time in a trace is the
// recorder's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sluice/sluice.h>
#include "absl/strings/str_cat.h"
#include "engine/describe/kernel_describer.h"
#include "engine/observe/counters.h"
#include "engine/observe/trace/trace_clock.h"
#include "tools/trace/json_read.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using engine::KernelDescriber;
using engine::TraceClock;
using testing::EndsWith;
using testing::IsEmpty;
using testing::Not;
using trace::Trace;

Trace parsed(const std::string& json) {
  absl::StatusOr<Trace> trace = trace::from_json(json);
  EXPECT_TRUE(trace.ok()) << trace.status();
  return trace.ok() ? *std::move(trace) : Trace();
}

// What the recorder has done.
struct Done {
  int64_t graphs_noted, graphs_described, kernels_described, codes_made;
};
Done done() {
  const engine::RecorderCounters& counters = engine::recorder_counters();
  return {counters.graphs_noted, counters.graphs_described, counters.kernels_described,
          counters.codes_made};
}

// Every cell with the sum of all cells at most `reach` away: kernels of many nested rolls.
Tensor neighbours(const Tensor& cells, int64_t reach) {
  Tensor sum = cells;
  for (int64_t y = -reach; y <= reach; ++y) {
    for (int64_t x = -reach; x <= reach; ++x) {
      if (x != 0 || y != 0) sum = std::move(sum) + roll(roll(cells, y, 0), x, 1);
    }
  }
  return sum;
}

class TraceRecorder : public testing::Test {
 protected:
  TraceRecorder() { config().compile = CompileMode::kOff; }
  ~TraceRecorder() override {
    TraceClock::set_source(nullptr);
    trace::stop();
    sync();
    config() = before_;
  }

 private:
  const Config before_ = config();
};

// ---- When things are described.

TEST_F(TraceRecorder, NothingIsDescribedWhileTheProgramRuns) {
  Tensor cells = rand({64, 64});
  sync();
  const Done before = done();
  trace::start();
  for (int i = 0; i < 20; ++i) {
    cells = neighbours(cells, 2) * 0.04f;
    cells.eval();
  }
  sync();
  trace::stop();
  EXPECT_GT(done().graphs_noted, before.graphs_noted);
  EXPECT_LT(done().graphs_noted, before.graphs_noted + 20);  // equal windows share one
  EXPECT_EQ(done().graphs_described, before.graphs_described);
  EXPECT_EQ(done().kernels_described, before.kernels_described);
  EXPECT_EQ(done().codes_made, before.codes_made);

  // A text shows graphs; the source of kernels is nobody's business.
  static_cast<void>(trace::to_text());
  const Done after_text = done();
  EXPECT_EQ(after_text.graphs_described - before.graphs_described,
            after_text.graphs_noted - before.graphs_noted);
  EXPECT_EQ(after_text.codes_made, before.codes_made);
  // Graphs are described once.
  static_cast<void>(trace::to_json());
  EXPECT_EQ(done().graphs_described, after_text.graphs_described);
}

TEST_F(TraceRecorder, CodeIsMadeWhenItIsAskedForOnce) {
  const Tensor x = rand({64});
  sync();
  trace::start();
  exp(x).eval();
  trace::stop();
  const int64_t before = done().codes_made;
  const Trace first = parsed(trace::to_json());
  EXPECT_EQ(done().codes_made, before + 1);
  ASSERT_EQ(first.kernels.size(), 1u);
  const Trace second = parsed(trace::to_json());
  EXPECT_EQ(done().codes_made, before + 1);
  EXPECT_EQ(second.kernels[0].source, first.kernels[0].source);
}

// ---- How much.

TEST_F(TraceRecorder, LargeKernelsAreShownInPart) {
  const Tensor cells = rand({64, 64});
  sync();
  trace::start();
  for (int64_t reach = 1; reach <= 5; ++reach) neighbours(cells, reach).eval();
  sync();
  trace::stop();
  const Trace trace = parsed(trace::to_json());
  bool is_any_large = false;
  for (const trace::Kernel& kernel : trace.kernels) {
    EXPECT_LE(kernel.program.size(), KernelDescriber::kMaxBytesShown + 100);
    if (kernel.program.size() <= KernelDescriber::kMaxProgramBytes) continue;
    is_any_large = true;
    EXPECT_THAT(kernel.source, IsEmpty());
    EXPECT_THAT(kernel.assembly, IsEmpty());
  }
  EXPECT_TRUE(is_any_large);
}

// Kernels of a given size, which count how often their code is made.
class SizedCode : public kernels::PlanCode {
 public:
  explicit SizedCode(std::vector<size_t> bytes) : PlanCode({}), bytes_(std::move(bytes)) {}

  absl::StatusOr<std::unique_ptr<kernels::Run>> make_run(runtime::Stream*, kernels::Tier) override {
    return absl::UnimplementedError("");
  }
  std::vector<kernels::KernelDescription> describe(size_t step, bool with_code) const override {
    kernels::KernelDescription kernel;
    kernel.key = absl::StrCat("kernel of ", bytes_[step]);
    while (kernel.program.size() < bytes_[step]) kernel.program += "line\n";
    if (with_code) {
      ++codes_made;
      kernel.source = "source";
      kernel.assembly = "assembly";
    }
    return {kernel};
  }

  mutable int codes_made = 0;

 private:
  const std::vector<size_t> bytes_;
};

TEST(KernelDescriberTest, TheBudgetIsOfSizeAndOfTime) {
  constexpr std::chrono::seconds kSecond{1};
  const SizedCode code({100, KernelDescriber::kMaxProgramBytes + 10, 300});
  KernelDescriber describer;
  EXPECT_THAT(describer.describe(code, 0, kSecond)[0].source, Not(IsEmpty()));
  EXPECT_THAT(describer.describe(code, 1, kSecond)[0].source, IsEmpty());
  EXPECT_THAT(describer.describe(code, 2, std::chrono::seconds(0))[0].source, IsEmpty());
  EXPECT_EQ(code.codes_made, 1);
  // What is known takes no time; what was left out is made once there is time.
  EXPECT_THAT(describer.describe(code, 0, std::chrono::seconds(0))[0].assembly, Not(IsEmpty()));
  EXPECT_EQ(code.codes_made, 1);
  EXPECT_THAT(describer.describe(code, 2, kSecond)[0].source, Not(IsEmpty()));
  EXPECT_EQ(code.codes_made, 2);
}

TEST(KernelDescriberTest, LongProgramsAreCutAtALine) {
  const SizedCode code({10 * KernelDescriber::kMaxBytesShown});
  KernelDescriber describer;
  const std::string program = describer.describe(code, 0, std::chrono::nanoseconds(0))[0].program;
  EXPECT_LE(program.size(), KernelDescriber::kMaxBytesShown + 100);
  EXPECT_THAT(program, EndsWith("more bytes)\n"));
  EXPECT_NE(program.find("line\n... ("), std::string::npos);
}

// ---- Whose time.

// A clock by which the program takes a microsecond between any two looks at it, and whatever the
// recorder does takes a second.
std::atomic<int64_t> fake_time{0};
engine::HostTime fake_clock() {
  const int64_t step = TraceClock::is_stopped() ? 1'000'000'000 : 1'000;
  return engine::HostTime(std::chrono::nanoseconds(fake_time.fetch_add(step) + step));
}

TEST_F(TraceRecorder, NoTimeIsTheRecordersOwn) {
  constexpr int kWindows = 10;
  const Tensor x = rand({64, 64});
  sync();
  TraceClock::set_source(fake_clock);
  trace::start();
  for (int i = 0; i < kWindows; ++i) {
    // Of different graphs: each is noted.
    Tensor y = x + static_cast<float>(i);
    for (int k = 0; k < i; ++k) y = exp(std::move(y));
    y.eval();
    if (i == 5) static_cast<void>(trace::to_json());
  }
  sync();
  trace::stop();
  const std::chrono::nanoseconds own = engine::Lane::current().recorder_time();
  TraceClock::set_source(nullptr);
  const Trace trace = parsed(trace::to_json());

  EXPECT_GE(own, std::chrono::seconds(2 * kWindows));  // it has been kept apart
  ASSERT_EQ(trace.windows.size(), static_cast<size_t>(kWindows));
  for (const trace::Window& window : trace.windows) {
    EXPECT_GT(window.plan_duration, 0);
    for (const int64_t duration : {window.plan_duration, window.compile_duration,
                                   window.bind_duration, window.submit_duration}) {
      EXPECT_LE(duration, 100'000);
    }
  }
  // Nor is it in the gaps between windows.
  EXPECT_LE(trace.windows.back().flushed, kWindows * 1'000'000);
}

TEST_F(TraceRecorder, TheClockStandsStillWhileTheRecorderWorks) {
  TraceClock::set_source(fake_clock);
  TraceClock::restart();
  engine::Lane& lane = engine::Lane::current();
  const int64_t before = TraceClock::now(lane);
  {
    const engine::RecorderWork work;
    const int64_t within = TraceClock::now(lane);
    {
      const engine::RecorderWork nested;
      EXPECT_EQ(TraceClock::now(lane), within);
    }
    EXPECT_EQ(TraceClock::now(lane), within);
  }
  EXPECT_GE(lane.recorder_time(), std::chrono::seconds(1));
  EXPECT_LE(TraceClock::now(lane) - before, 10'000);
}

// Steps are timed by the host's clock, and brought to that of their thread.
TEST_F(TraceRecorder, StepsComeAfterTheirFlushAndOneAfterAnother) {
  Tensor x = rand({256, 256});
  sync();
  trace::start();
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k <= i % 7; ++k) x = exp(std::move(x)) * 0.25f;
    x.eval();
  }
  sync();
  trace::stop();
  const Trace trace = parsed(trace::to_json());
  int64_t end = 0;
  size_t steps = 0;
  for (const trace::Window& window : trace.windows) {
    for (const trace::StepRun& run : window.steps) {
      ++steps;
      EXPECT_GE(run.begin, window.flushed);
      EXPECT_GE(run.begin, end);
      end = run.begin + run.duration;
    }
  }
  EXPECT_GE(steps, 100u);
}

// ---- The end of a process.

// What the process of its own has left behind. `ending`: how it ends.
Trace trace_of_child(const std::string& ending) {
  const fs::path path =
      fs::temp_directory_path() / absl::StrCat("sluice_recorder_", getpid(), "_", ending, ".json");
  const std::string command = absl::StrCat(
      "SLUICE_TRACE='", path.string(), "' '", fs::read_symlink("/proc/self/exe").string(),
      "' --gtest_also_run_disabled_tests --gtest_filter=TraceAtExit.DISABLED_", ending,
      " > /dev/null");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  fs::remove(path);
  return parsed(text);
}

// The last thing that it does: not even its sync() is waited for.
TEST(TraceAtExit, DISABLED_Main) {
  const Tensor x = rand({64});
  exp(x).eval();
}
TEST(TraceAtExit, DISABLED_AnotherThread) {
  const Tensor x = rand({64});
  exp(x).eval();
  std::thread([] { std::exit(0); }).join();
}

bool has_code(const Trace& trace) {
  return std::any_of(trace.kernels.begin(), trace.kernels.end(),
                     [](const trace::Kernel& kernel) { return !kernel.source.empty(); });
}

TEST(TraceAtExit, KernelsHaveTheirCode) {
  const Tensor x = rand({64});
  trace::start();
  exp(x).eval();
  trace::stop();
  const bool has_compiler = has_code(parsed(trace::to_json()));
  const Trace trace = trace_of_child("Main");
  ASSERT_FALSE(trace.windows.empty());
  EXPECT_EQ(trace.windows.back().steps.size(), 1u);  // it has been waited for
  EXPECT_EQ(has_code(trace), has_compiler);
}

TEST(TraceAtExit, AnotherThreadMayEndTheProcess) {
  const Trace trace = trace_of_child("AnotherThread");
  EXPECT_FALSE(trace.windows.empty());
  EXPECT_FALSE(trace.kernels.empty());
  EXPECT_FALSE(has_code(trace));
}

}  // namespace
}  // namespace sluice
