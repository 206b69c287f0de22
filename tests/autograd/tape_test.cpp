// What the tape keeps, how many kernels gradients take, and how long chains fare.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

Tensor composed_mish(const Tensor& x) { return x * tanh(log1p(exp(x))); }

Stats since_reset() {
  sync();
  return stats();
}

TEST(Tape, MishInOneWindowTakesTwoKernels) {
  const Tensor x = randn({64, 256}).eval();
  sync();
  reset_stats();
  const Tensor leaf = x.requires_grad();
  const Tensor g = gradients(sum(composed_mish(leaf)), {leaf})[0].eval();
  const Stats counted = since_reset();
  EXPECT_LE(counted.kernels_launched, 2);
  EXPECT_EQ(counted.windows, 1);
}

TEST(Tape, MishKeepsItsInputOnly) {
  const Tensor x = randn({64, 256}).eval();
  sync();
  const int64_t before = stats().bytes_live;
  const Tensor leaf = x.requires_grad();
  reset_stats();
  const Tensor loss = sum(composed_mish(leaf));
  (void)loss.item<float>();
  EXPECT_EQ(since_reset().kernels_launched, 1);
  EXPECT_LT(stats().bytes_live - before, 64 * 256 * 4 / 2);
  const Tensor late = gradients(loss, {leaf})[0];
  // The same bits as if nothing had been read in between.
  const Tensor other = x.requires_grad();
  const Tensor early = gradients(sum(composed_mish(other)), {other})[0];
  EXPECT_EQ(late.to_vector<float>(), early.to_vector<float>());
}

TEST(Tape, SoftmaxCrossEntropyTakesThreeKernels) {
  const Tensor logits = randn({32, 100}).eval();
  const Tensor labels = randint(0, 100, {32, 1}).eval();
  sync();
  reset_stats();
  const Tensor leaf = logits.requires_grad();
  const Tensor loss = -mean(take_along_axis(log_softmax(leaf), labels, 1));
  const Tensor g = gradients(loss, {leaf})[0];
  loss.eval();
  g.eval();
  const Stats counted = since_reset();
  EXPECT_LE(counted.kernels_launched + counted.library_calls, 3);
}

TEST(Tape, SoftmaxKeepsTwoNumbersARow) {
  const Tensor x = randn({64, 1024}).eval();
  sync();
  const int64_t before = stats().bytes_live;
  const Tensor leaf = x.requires_grad();
  const Tensor loss = sum(square(softmax(leaf)));
  (void)loss.item<float>();
  sync();
  EXPECT_LT(stats().bytes_live - before, 64 * 1024 * 4 / 8);
  const Tensor late = gradients(loss, {leaf})[0];
  const Tensor other = x.requires_grad();
  const Tensor early = gradients(sum(square(softmax(other))), {other})[0];
  EXPECT_EQ(late.to_vector<float>(), early.to_vector<float>());
}

TEST(Tape, DropoutKeepsASeed) {
  const Tensor x = randn({64, 1024}).eval();
  sync();
  const int64_t before = stats().bytes_live;
  const Tensor leaf = x.requires_grad();
  manual_seed(3);
  const Tensor loss = sum(square(dropout(leaf, 0.3)));
  (void)loss.item<float>();
  sync();
  EXPECT_LT(stats().bytes_live - before, 64 * 1024 / 2);
  const Tensor late = gradients(loss, {leaf})[0];
  manual_seed(3);
  const Tensor other = x.requires_grad();
  const Tensor early = gradients(sum(square(dropout(other, 0.3))), {other})[0];
  EXPECT_EQ(late.to_vector<float>(), early.to_vector<float>());
}

TEST(Tape, LongChains) {
  Tensor x = Tensor::from({0.5}).requires_grad();
  Tensor y = x;
  for (int i = 0; i < 100000; ++i) y = y * 1.00001;
  EXPECT_NEAR(gradients(y, {x})[0].item<double>(), std::pow(1.00001, 100000), 1e-9);
  y = x;
  for (int i = 0; i < 100000; ++i) y = sin(y);
  EXPECT_GT(gradients(y, {x})[0].item<double>(), 0);
}

TEST(Tape, MemoryIsFlat) {
  Tensor w = randn({16, 16}).eval();
  sync();
  const auto step = [&] {
    const Tensor leaf = w.requires_grad();
    const Tensor loss = mean(square(tanh(matmul(leaf, leaf))));
    w = w - gradients(loss, {leaf})[0] * 0.01;
  };
  for (int i = 0; i < 2000; ++i) step();
  sync();
  reset_stats();
  const int64_t before = stats().bytes_live;
  for (int i = 0; i < 3000; ++i) step();
  sync();
  EXPECT_LE(stats().bytes_live, before);
  EXPECT_LT(stats().bytes_allocated_peak, before + (8 << 20));
}

TEST(Tape, ReadingInBetweenChangesNoBit) {
  const Tensor x = randn({8, 8}).eval();
  const auto run = [&](bool reads) {
    const Tensor leaf = x.requires_grad();
    Tensor h = leaf;
    for (int i = 0; i < 40; ++i) {
      h = tanh(h * 1.1 + leaf);
      if (reads && i % 7 == 3) (void)h.to_vector<float>();
      if (reads && i % 11 == 3) sync();
    }
    return gradients(sum(matmul(h, h)), {leaf})[0].to_vector<float>();
  };
  EXPECT_EQ(run(false), run(true));
}

TEST(Tape, FromOtherThreads) {
  const Tensor leaf = randn({8, 8}).requires_grad();
  const Tensor h = exp(leaf) * 2;
  std::vector<std::vector<float>> found(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 20; ++k) found[i] = gradients(sum(tanh(h)), {leaf})[0].to_vector<float>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& other : found) EXPECT_EQ(other, found[0]);
}

}  // namespace
}  // namespace sluice::test
