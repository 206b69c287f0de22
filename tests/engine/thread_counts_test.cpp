// The number of threads: where it comes from, and that it changes no bit. It is determined once in
// a process, so each has one of its own.
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/cpu/parallel.h"
#include "tests/support/child_process.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

std::string threads_with(const std::function<void()>& prepare) {
  std::string threads;
  ChildProcesses(1).start(
      "a number of threads",
      [&] {
        prepare();
        return std::to_string(num_threads());
      },
      [&](const std::string& answer) { threads = answer; });
  return threads;
}

void use_one_core() {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  int core = 0;
  while (!CPU_ISSET(core, &mask)) ++core;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  ASSERT_EQ(sched_setaffinity(0, sizeof(mask), &mask), 0);
}

TEST(ThreadCounts, FollowAffinityAndTheVariable) {
  unsetenv("SLUICE_THREADS");
  EXPECT_EQ(threads_with(use_one_core), "1");
#if SLUICE_HAVE_TBB
  const auto three = [] { setenv("SLUICE_THREADS", "3", 1); };
  EXPECT_EQ(threads_with(three), "3");
  EXPECT_EQ(threads_with([&] { use_one_core(), three(); }), "3");
#endif
}

// Large enough to be divided; several of them are made by one launch.
std::string results(CompileMode mode) {
  config().compile = mode;
  std::string bits;
  const auto add = [&](const Tensor& x) {
    const std::vector<uint8_t> bytes = read_bytes(x);
    bits.append(bytes.begin(), bytes.end());
  };
  manual_seed(7);
  const Tensor x = sin(arange(600'000).astype(DType::kFloat32) * 0.37f);
  for (const Shape& shape : {Shape{600'000}, Shape{3, 200'000}, Shape{1'000, 600},
                             Shape{200'000, 3}, Shape{100, 60, 100}}) {
    const Tensor y = x.reshape(shape);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      add(sum(exp(y), {axis}));
      add(argmax(y, {axis}));
      add(softmax(y, axis));
      add(cumsum(y, axis));
    }
    add(sum(y * y));
    add(mean(y.astype(DType::kFloat16)));
    add(y.transpose() + 1.f);
  }
  const Tensor chain = tanh(x * 2.f + 1.f), other = x.astype(DType::kFloat64) / 3.0;
  add(chain);
  add(other);
  add(take(x, (abs(x) * 1000.f).astype(DType::kInt64), 0));
  add(rand({100'003}));
  const Tensor matrices = x.slice(0, 0, 120'000).reshape({30, 50, 80});
  add(linalg::svd(matrices).vh);
  add(linalg::qr(matrices, "complete").q);
  add(linalg::inv(matmul(matrices, matrix_transpose(matrices))));
  const Tensor images = x.slice(0, 0, 105'840).reshape({5, 27, 28, 28}).requires_grad();
  const Tensor filters = x.slice(0, 7, 31'111).reshape({128, 27, 3, 3}).requires_grad();
  const Tensor places = conv2d(images, filters, {.padding = 1});
  add(places);
  for (const Tensor& slope : gradients(sum(places * places), {images, filters})) add(slope);
  const Tensor sequences = x.slice(0, 0, 44'000).reshape({40, 11, 100}).requires_grad();
  const nn::LSTM lstm(100, 300);
  const Tensor states = lstm(sequences).output;
  add(states);
  add(gradients(sum(states * states), {sequences})[0]);
  return bits;
}

TEST(ThreadCounts, ChangeNoBit) {
  for (CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
    std::string expected;
    for (int threads : {1, 2, 3, 8}) {
      ChildProcesses(1).start(
          std::to_string(threads) + " threads",
          [&] {
            setenv("SLUICE_THREADS", std::to_string(threads).c_str(), 1);
            return results(mode);
          },
          [&](const std::string& bits) {
            if (threads == 1) expected = bits;
            ASSERT_FALSE(bits.empty());
            EXPECT_TRUE(bits == expected) << threads << " threads";
          });
    }
  }
}

}  // namespace
}  // namespace sluice::test
