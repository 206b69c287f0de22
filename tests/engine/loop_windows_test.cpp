// Loops that never read: their windows are cut at the loop's own period, so that nothing is planned
// or compiled again, whatever the body's length.
#include <gtest/gtest.h>

#include "kernels/executor.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// What a loop carries from turn to turn.
struct State {
  Tensor x = Tensor::from(std::vector<float>(16, 1.f));
  Tensor m = Tensor::from(std::vector<float>(16, 0.5f));
};

// Op `i` of a body that is not the same for two lengths.
void step(State* s, int i) {
  switch (i % 7 + i % 3) {
    case 0: s->x = s->x * 0.999f; break;
    case 1: s->m = s->m + s->x; break;
    case 2: s->x = maximum(s->x, s->m); break;
    case 3: s->m = s->m * 0.5f; break;
    case 4: s->x = s->x - s->m; break;
    case 5: s->m = minimum(s->m, s->x); break;
    default: s->x = s->x + 0.25f; break;
  }
}

class LoopWindows : public testing::Test {
 protected:
  void SetUp() override {
    config().compile = CompileMode::kBlocking;
    sync();
    kernels::wait_for_compilers();
  }

  // Runs turn(i) until `kWindows` windows' ops are recorded. The first two windows may plan and
  // compile; for all others and for the end of the loop there may be four plans and four
  // compilations.
  template <typename Turn>
  void expect_steady(Turn turn) {
    const int64_t at_first = stats().ops_recorded;
    const auto windows = [&] { return (stats().ops_recorded - at_first) / config().window_ops; };
    int i = 0;
    while (i < 3 || windows() < 2) turn(i++);
    const Stats before = stats();
    const int64_t peak_early = before.bytes_allocated_peak;
    const int warm = i;
    while (i < 2 * warm || windows() < kWindows) turn(i++);
    sync();
    const Stats after = stats();
    EXPECT_LE(after.plan_misses - before.plan_misses, 4);
    EXPECT_LE(after.compiles - before.compiles, 4);
    EXPECT_LE(after.bytes_allocated_peak, peak_early + 64 * 1024);
  }

  static constexpr int kWindows = kSanitized ? 20 : 200;
  ConfigGuard guard_;
};

TEST_F(LoopWindows, OfAnyLength) {
  for (const int ops : {1, 2, 3, 5, 7, 12, 33, 100, 128, 250, 341, 499, 500}) {
    SCOPED_TRACE(ops);
    State s;
    expect_steady([&](int) {
      for (int k = 0; k < ops; ++k) step(&s, k);
    });
  }
}

TEST_F(LoopWindows, AfterAPrefix) {
  for (const int prefix : {1, 50, 1000, 3000}) {
    SCOPED_TRACE(prefix);
    State s;
    for (int k = 0; k < prefix; ++k) step(&s, k * k % 31);
    expect_steady([&](int) {
      for (int k = 0; k < 23; ++k) step(&s, k);
    });
  }
}

TEST_F(LoopWindows, OfLoops) {
  for (const auto& [inner_turns, outer_ops] : {std::pair(20, 7), {333, 1}, {2000, 11}}) {
    SCOPED_TRACE(inner_turns);
    State s;
    expect_steady([&, inner_turns = inner_turns, outer_ops = outer_ops](int) {
      for (int i = 0; i < inner_turns; ++i) {
        for (int k = 0; k < 5; ++k) step(&s, k);
      }
      for (int k = 0; k < outer_ops; ++k) step(&s, 100 + k);
    });
  }
}

TEST_F(LoopWindows, WithABodyThatAlternates) {
  for (const int ops : {4, 60, 400}) {
    SCOPED_TRACE(ops);
    State s;
    expect_steady([&](int i) {
      for (int k = 0; k < ops; ++k) step(&s, i % 2 == 0 ? k : k + 5);
      if (i % 2 == 0) s.m = s.m - 1.f;
    });
  }
}

TEST_F(LoopWindows, WithTemporariesThatDieInTheBody) {
  State s;
  expect_steady([&](int) {
    const Tensor gradient = s.x * 2.f - 1.f;
    s.m = s.m * 0.9f + gradient * 0.1f;
    const Tensor unused = exp(gradient);
    s.x = s.x - 0.01f * s.m;
  });
}

TEST_F(LoopWindows, WithNewDataEachTurn) {
  State s;
  expect_steady([&](int i) {
    const Tensor data = Tensor::from(std::vector<float>(16, 0.001f * static_cast<float>(i)));
    for (int k = 0; k < 10; ++k) step(&s, k);
    s.x = s.x * 0.5f + data;
  });
}

TEST_F(LoopWindows, GiveTheBitsOfThePlainLoop) {
  const auto run = [](int64_t window_ops) {
    config().window_ops = window_ops;
    State s;
    for (int i = 0; i < 300; ++i) {
      for (int k = 0; k < 41; ++k) step(&s, k);
      s.m = s.m / (abs(s.x) + 1.f);
    }
    return std::pair(read_bytes(s.x), read_bytes(s.m));
  };
  const auto expected = run(1);
  EXPECT_EQ(run(4096), expected);
  EXPECT_EQ(run(100), expected);
}

}  // namespace
}  // namespace sluice::test
