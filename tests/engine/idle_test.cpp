// Work that starts by itself when the host is busy elsewhere, on a device beside it.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

constexpr int64_t kLarge = 1 << 20;

class Idle : public testing::Test {
 protected:
  void SetUp() override {
    sync();
    config().deterministic = false;
  }
  void TearDown() override { sync(); }

  static bool is_on_cpu() { return default_device() == Device::cpu(); }

  static bool starts_by_itself(const Tensor& x, std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!x.is_materialized() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return x.is_materialized();
  }

  // `x` stays pending while the host is idle, and runs in one window once it is read.
  static void expect_waits(const Tensor& x, float value) {
    const int64_t windows = stats().windows;
    EXPECT_FALSE(starts_by_itself(x, kShort));
    EXPECT_EQ(stats().windows, windows);
    EXPECT_EQ(x.slice(0, 7, 8).item<float>(), value);
    EXPECT_TRUE(x.is_materialized());
    EXPECT_GT(stats().windows, windows);
  }

  // Without this, a test that nothing starts says nothing: large work does.
  static void expect_large_work_starts() {
    if (is_on_cpu()) return;
    EXPECT_TRUE(starts_by_itself(exp(ones({kLarge})), kLong));
  }

  static constexpr std::chrono::seconds kLong{60};
  static constexpr std::chrono::milliseconds kShort{50};
  ConfigGuard guard_;
};

TEST_F(Idle, LargeWorkStarts) {
  if (is_on_cpu()) GTEST_SKIP();
  for (int i = 0; i < 3; ++i) {
    const Tensor x = exp(ones({kLarge}));
    EXPECT_TRUE(starts_by_itself(x, kLong));
    EXPECT_EQ(x.slice(0, 7, 8).item<float>(), std::exp(1.f));
  }
}

TEST_F(Idle, ItStartsAgainAfterALongSleep) {
  if (is_on_cpu()) GTEST_SKIP();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(starts_by_itself(ones({kLarge}) + 1.f, kLong));
}

TEST_F(Idle, NothingStartsOnTheCpu) {
  if (!is_on_cpu()) GTEST_SKIP();
  expect_waits(exp(ones({kLarge})), std::exp(1.f));
}

TEST_F(Idle, SmallWorkWaits) {
  expect_large_work_starts();
  expect_waits(exp(ones({16})), std::exp(1.f));
}

TEST_F(Idle, NothingStartsInDeterministicMode) {
  expect_large_work_starts();
  sync();
  config().deterministic = true;
  expect_waits(exp(ones({kLarge})), std::exp(1.f));
}

TEST_F(Idle, RecordingGoesOnMeanwhile) {
  Tensor x = zeros({kLarge});
  for (int i = 0; i < 100; ++i) {
    x = x + 1.f;
    if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  EXPECT_EQ(x.slice(0, 0, 1).item<float>(), 100.f);
}

}  // namespace
}  // namespace sluice::test
