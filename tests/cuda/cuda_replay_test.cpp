// Plans that recur become graphs, on an emulated device.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/emulated_cuda/start.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// One for the process.
emulated::EmulatedCuda& emulator() {
  static auto& made = []() -> emulated::EmulatedCuda& {
    auto& emulator = emulated::start();
    set_default_device(Device::cuda(0));
    config().compile = CompileMode::kBlocking;
    return emulator;
  }();
  return made;
}

// A window of kernels that wait for one another: sums over either axis in turn.
Tensor window_of(const Tensor& x, int kernels, float scale) {
  Tensor y = x;
  for (int i = 0; i < kernels; ++i) y = (y - sum(y, i % 2, true)) * scale;
  return y;
}

std::vector<float> start_values() {
  std::vector<float> values(64 * 32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 37) / 37 - 0.5f;
  return values;
}

struct Iteration {
  int64_t calls;
  std::vector<uint8_t> bytes;
};

// The driver's calls from the flush of each iteration to the end of its submission, and results.
std::vector<Iteration> iterate(int count, const std::vector<float>& scales) {
  const Tensor x = Tensor::from(start_values(), {64, 32});
  sync();
  std::vector<Iteration> iterations;
  for (int i = 0; i < count; ++i) {
    const Tensor y = window_of(x, 10, scales[i % scales.size()]);
    const int64_t before = emulator().calls();
    y.eval();
    const int64_t calls = emulator().calls() - before;
    iterations.push_back({calls, read_bytes(y)});
  }
  return iterations;
}

TEST(CudaReplay, ARecurringPlanIsOneCall) {
  emulator();
  reset_stats();
  const std::vector<Iteration> iterations = iterate(12, {0.5f});
  const int64_t kernels = stats().kernels_launched / 12;
  EXPECT_GE(kernels, 10);
  EXPECT_GT(iterations[0].calls, kernels);
  // A launch of the graph, its parameters where they have changed, and what a batch takes anyway.
  EXPECT_LT(iterations.back().calls, iterations[0].calls - kernels / 2);
  for (const Iteration& iteration : iterations) EXPECT_EQ(iteration.bytes, iterations[0].bytes);
}

// Results that are alive have their memory in turn, as those of windows in flight do.
TEST(CudaReplay, EachOfSeveralBindingsHasItsGraph) {
  emulator();
  const Tensor x = Tensor::from(start_values(), {64, 32});
  sync();
  std::vector<Tensor> alive(3);
  std::vector<uint8_t> expected;
  for (int i = 0; i < 60; ++i) {
    Tensor y = window_of(x, 10, 0.125f);
    const int64_t before = emulator().calls();
    y.eval();
    const int64_t calls = emulator().calls() - before;
    sync();
    // The context, the graph, progress, an event: no node is changed any more.
    if (i >= 40) {
      EXPECT_LE(calls, 6) << i;
    }
    if (i == 0) expected = read_bytes(y);
    EXPECT_EQ(read_bytes(y), expected) << i;
    alive[i % alive.size()] = std::move(y);
  }
}

TEST(CudaReplay, LaunchesBetweenProductsAreGraphs) {
  emulator();
  const Tensor x = Tensor::from(start_values(), {64, 32}), w = full({32, 32}, 0.01f);
  sync();
  std::vector<uint8_t> expected;
  for (int i = 0; i < 12; ++i) {
    const Tensor y = window_of(matmul(window_of(x, 5, 0.25f), w), 5, 0.25f);
    const int64_t before = emulator().calls();
    y.eval();
    const int64_t calls = emulator().calls() - before;
    sync();
    // The context, two graphs and a product, progress, an event.
    if (i >= 8) {
      EXPECT_LE(calls, 7) << i;
    }
    if (i == 0) expected = read_bytes(y);
    EXPECT_EQ(read_bytes(y), expected) << i;
  }
}

TEST(CudaReplay, NewScalarsReachTheGraph) {
  emulator();
  const std::vector<Iteration> iterations = iterate(16, {0.5f, 0.25f});
  ConfigGuard guard;
  config().fuse = false;
  const std::vector<Iteration> expected = iterate(2, {0.5f, 0.25f});
  EXPECT_NE(expected[0].bytes, expected[1].bytes);
  for (size_t i = 0; i < iterations.size(); ++i) {
    EXPECT_EQ(iterations[i].bytes, expected[i % 2].bytes) << i;
  }
}

// Each call of the iteration in which the graph is made fails once, of a plan of its own.
TEST(CudaReplay, AGraphThatCannotBeMadeIsDoneWithout) {
  emulator();
  int64_t right = 0;
  for (int n = 1; n < 40; ++n) {
    const Tensor x = Tensor::from(start_values(), {64, 32}).slice(1, 0, 1 + n % 31);
    const float scale = 0.5f + static_cast<float>(n);
    std::vector<uint8_t> expected;
    for (int i = 0; i < 8; ++i) {
      const Tensor y = window_of(x, 4 + n / 31, scale);
      if (i == 4) emulator().fail_call(n, runtime::cuda::Result::kOutOfMemory);
      try {
        const std::vector<uint8_t> bytes = read_bytes(y);
        if (i == 0) expected = bytes;
        EXPECT_EQ(bytes, expected) << n << " " << i;
        right += i == 4;
      } catch (const Error& error) {
        EXPECT_GE(i, 4) << error.what();  // later if that iteration has fewer calls
      }
    }
  }
  // Most of what fails can be done in another way.
  EXPECT_GT(right, 10);
  for (const std::string& violation : emulator().violations()) ADD_FAILURE() << violation;
}

}  // namespace
}  // namespace sluice::test
