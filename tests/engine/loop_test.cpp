// Long loops: constant memory, no recompiling, the bits of a plain loop.
#include <gtest/gtest.h>

#include "kernels/executor.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

std::vector<float> start_values(int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = 1.f + 0.37f * static_cast<float>(i);
  return values;
}

TEST(Loop, AMillionStepsWithoutASync) {
  const int steps = kSanitized ? 50000 : 1000000;
  std::vector<float> expected = start_values(64);
  Tensor x = Tensor::from(expected);
  x = 0.9999f * x;
  sync();
  for (float& value : expected) value *= 0.9999f;

  reset_stats();
  const int64_t at_start = stats().bytes_live;
  int64_t peak_early = 0;
  for (int i = 0; i < steps; ++i) {
    x = 0.9999f * x;
    if (i == steps / 10) peak_early = stats().bytes_allocated_peak;
  }
  const std::vector<float> actual = x.to_vector<float>();
  sync();
  const Stats s = stats();
  // As many batches may be under way late as early, however a device orders them.
  EXPECT_LE(s.bytes_allocated_peak, peak_early + 8 * 256);
  EXPECT_LE(s.bytes_allocated_peak - at_start, 64 * 1024);
  EXPECT_LE(s.compiles, 3);
  EXPECT_LE(s.plan_misses, 8);
  EXPECT_EQ(s.ops_recorded, steps);
  for (int i = 0; i < steps; ++i) {
    for (float& value : expected) {
      value *= 0.9999f;
      asm volatile("" : "+m"(value));  // no fast-math of the test's own
    }
  }
  EXPECT_EQ(0, std::memcmp(actual.data(), expected.data(), expected.size() * sizeof(float)));
}

TEST(Loop, ALoopWithABodyOfSeveralOps) {
  Tensor x = Tensor::from(start_values(100)), m = zeros({100});
  const int steps = kSanitized ? 3000 : 30000;
  reset_stats();
  for (int i = 0; i < steps; ++i) {
    const Tensor gradient = x * 2.f - 1.f;
    m = m * 0.9f + gradient * 0.1f;
    x = x - 0.01f * m;
  }
  EXPECT_NEAR(x.to_vector<float>()[0], 0.5f, 1e-3);
  EXPECT_LE(stats().plan_misses, 12);
  EXPECT_LE(stats().compiles, 16);
  EXPECT_LE(stats().bytes_allocated_peak, stats().bytes_live + 1024 * 1024);
}

// Compilations that earlier tests asked for don't count.
void start_counting() {
  sync();
  kernels::wait_for_compilers();
  reset_stats();
}

TEST(Loop, AThousandScalarsNeedNoCompiling) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  const Tensor x = Tensor::from(start_values(257));
  start_counting();
  for (int i = 0; i < 1000; ++i) {
    const float scalar = 0.5f + static_cast<float>(i);
    const std::vector<float> y = (x * scalar + 1.f).to_vector<float>();
    ASSERT_EQ(y[0], 1.f * scalar + 1.f);
  }
  EXPECT_LE(stats().compiles, 3);
  EXPECT_LE(stats().plan_misses, 3);
}

TEST(Loop, AThousandSizesNeedNoCompiling) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  const Tensor x = Tensor::from(start_values(2000));
  start_counting();
  for (int64_t n = 1; n <= 1000; ++n) {
    const std::vector<float> y = (sqrt(x.slice(0, 0, n)) - 3.f).to_vector<float>();
    ASSERT_EQ(y.size(), static_cast<size_t>(n));
    ASSERT_EQ(y.back(), std::sqrt(1.f + 0.37f * static_cast<float>(n - 1)) - 3.f);
  }
  EXPECT_LE(stats().compiles, 3);
}

TEST(Loop, AThousandSizesOfAReduction) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  start_counting();
  for (int64_t n = 1; n <= 1000; ++n) {
    ASSERT_EQ(sum(full({n}, 2.f) * 3.f).item<float>(), 6.f * static_cast<float>(n));
  }
  EXPECT_LE(stats().compiles, 3);
}

TEST(Loop, ReadsEveryThousandSteps) {
  const int steps = kSanitized ? 10000 : 100000;
  Tensor x = zeros({8});
  reset_stats();
  for (int i = 1; i <= steps; ++i) {
    x += 1.f;
    if (i % 1000 != 0) continue;
    ASSERT_EQ(x.to_vector<float>()[7], static_cast<float>(i));
  }
  EXPECT_EQ(stats().ops_recorded, steps);
  EXPECT_LE(stats().plan_misses, 10);
}

TEST(Loop, HeldResultsAreBoundedByBytes) {
  const ConfigGuard guard;
  config().max_pending_bytes = 1 << 20;
  const Tensor x = Tensor::from(start_values(1 << 14));
  std::vector<Tensor> held;
  for (int i = 0; i < 100; ++i) held.push_back(x + static_cast<float>(i));
  EXPECT_TRUE(held.front().is_materialized());
  EXPECT_EQ(held[99].slice(0, 0, 1).item<float>(), 100.f);
}

TEST(Loop, TemporariesOfAStatementAreNotHeld) {
  const ConfigGuard guard;
  config().max_pending_bytes = 1 << 20;
  const Tensor x = Tensor::from(start_values(1 << 10)).reshape({1 << 10, 1});
  const Tensor y = Tensor::from(start_values(1 << 10)).reshape({1, 1 << 10});
  sync();
  reset_stats();
  const Tensor sums = sum(square(x - y), 1);
  EXPECT_FALSE(sums.is_materialized());
  sync();
  EXPECT_EQ(stats().kernels_launched, 1);
}

TEST(Loop, AFullWindowFlushesItself) {
  const ConfigGuard guard;
  config().window_ops = 50;
  Tensor x = Tensor::from({1.f});
  const Tensor first = x + 1.f;
  for (int i = 0; i < 200; ++i) x = x + 1.f;
  EXPECT_TRUE(first.is_materialized());
  EXPECT_EQ(x.item<float>(), 201.f);
}

}  // namespace
}  // namespace sluice::test
