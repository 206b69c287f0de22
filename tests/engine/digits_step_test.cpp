// A training step whose gradients and optimiser are written by hand: how many kernels it takes, and
// that neither fusing nor compiling changes a bit of what is learnt.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/test_util.h"
#include "workloads/hand_adam.h"
#include "workloads/hand_network.h"

// Counts allocations of more than a page, where the process's own malloc may be replaced.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SLUICE_COUNTS_ALLOCATIONS
#include <sys/resource.h>

static std::atomic<int64_t> large_allocations{0};

extern "C" void* __libc_malloc(size_t size);
extern "C" void* malloc(size_t size) {
  if (size > 4096) large_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
#endif

namespace sluice::test {
namespace {

class DigitsStep {
 public:
  explicit DigitsStep(const std::vector<int64_t>& widths = {64, 48, 24, 10}) {
    manual_seed(3);
    network_ = std::make_unique<workloads::Network>(widths);
    adam_ = std::make_unique<workloads::Adam>(network_->layers());
    pixels_ = rand({40, 64});
    labels_ = randint(0, 10, {40});
    sync();
  }

  // The loss is held, as a program that reads it later does.
  void run() {
    const Tensor rows = Tensor::from({3, 17, 4, 39, 8, 21, 0, 11}, {8});
    const Tensor inputs = take(pixels_, rows, 0);
    const Tensor targets = one_hot(take(labels_, rows, 0), 10);
    workloads::Gradients gradients = network_->gradients(inputs, targets);
    adam_->step(0.01, gradients.layers, network_->layers());
    loss_ = std::move(gradients.loss);
    gradients = {};
    sync();
  }

  std::vector<std::vector<uint8_t>> bytes() const {
    std::vector<std::vector<uint8_t>> result = {read_bytes(loss_)};
    for (const workloads::Layer& layer : network_->layers()) {
      result.push_back(read_bytes(layer.weight));
      result.push_back(read_bytes(layer.bias));
    }
    return result;
  }

 private:
  std::unique_ptr<workloads::Network> network_;
  std::unique_ptr<workloads::Adam> adam_;
  Tensor pixels_, labels_, loss_;
};

std::vector<std::vector<uint8_t>> three_steps() {
  DigitsStep step;
  for (int i = 0; i < 3; ++i) step.run();
  return step.bytes();
}

TEST(DigitsStep, TakesFewKernels) {
  const ConfigGuard guard;
  DigitsStep step;
  step.run();
  step.run();
  const Stats before = stats();
  step.run();
  const Stats after = stats();
  EXPECT_LE(after.kernels_launched - before.kernels_launched, 8);
  EXPECT_EQ(after.library_calls - before.library_calls, 8);  // three forward, five backward
  EXPECT_EQ(after.plan_misses, before.plan_misses);
}

#ifdef SLUICE_COUNTS_ALLOCATIONS
int64_t minor_faults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST(DigitsStep, TakesNothingFromTheSystemOnceItHasRun) {
  if (default_device() != Device::cpu()) GTEST_SKIP() << "of the CPU backend";
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  DigitsStep step({64, 512, 256, 10});
  for (int i = 0; i < 200; ++i) step.run();
  const Stats before = stats();
  const int64_t faults = minor_faults();
  const int64_t allocations = large_allocations.load();
  for (int i = 0; i < 500; ++i) step.run();
  EXPECT_EQ(large_allocations.load() - allocations, 0);
  // The kernel itself faults a page now and then, when it moves or merges some.
  EXPECT_LE(minor_faults() - faults, 10);
  EXPECT_EQ(stats().compiles, before.compiles);
  EXPECT_EQ(stats().plan_misses, before.plan_misses);
  EXPECT_EQ(stats().bytes_live, before.bytes_live);
}
#endif

TEST(DigitsStep, LearnsTheSameInAllModes) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  config().fuse = false;
  const auto expected = three_steps();
  config().fuse = true;
  config().compile = CompileMode::kOff;
  EXPECT_EQ(three_steps(), expected) << "interpreted";
  config().compile = CompileMode::kBlocking;
  EXPECT_EQ(three_steps(), expected) << "compiled";
}

}  // namespace
}  // namespace sluice::test
