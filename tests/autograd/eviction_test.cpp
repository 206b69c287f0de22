// Training under a limit of memory: what is given up is computed again, to the same bits.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

constexpr int kLayers = 24;
constexpr int64_t kRows = 512, kWidth = 64;
constexpr int64_t kActivation = kRows * kWidth * 4;
constexpr int kManyLayers = 4 * kLayers;
// Beside the weights and their gradients, a sixth of a layer's result for each of them.
constexpr int64_t kLimitOfManyLayers =
    2 * kManyLayers * kWidth * kWidth * 4 + kManyLayers / 6 * kActivation;

struct Limit {
  explicit Limit(int64_t bytes) : outer(config().memory_limit) { config().memory_limit = bytes; }
  ~Limit() { config().memory_limit = outer; }
  const int64_t outer;
};

class Net {
 public:
  explicit Net(int layers = kLayers) {
    x_ = generator_.normal(0, 1, {kRows, kWidth}).eval();
    y_ = generator_.normal(0, 1, {kRows, kWidth}).eval();
    for (int i = 0; i < layers; ++i) {
      weights_.push_back(generator_.normal(0, 0.1, {kWidth, kWidth}).eval());
    }
    sync();
  }

  // A step of gradient descent.
  float train(bool has_dropout = false) {
    const auto loss_of = [&](const std::vector<Tensor>& weights) {
      Tensor h = x_;
      for (const Tensor& w : weights) {
        Tensor next = tanh(matmul(h, w));
        if (has_dropout)
          next = next * astype(generator_.rand(next.shape()) < 0.9f, DType::kFloat32);
        h = h + next;
      }
      return mean(square(h - y_));
    };
    auto [loss, gradients] = value_and_grad(loss_of)(weights_);
    for (size_t i = 0; i < weights_.size(); ++i) {
      weights_[i] = weights_[i] - 0.1f * gradients[i];
      weights_[i].eval();
    }
    return loss.item<float>();
  }

 private:
  Generator generator_{7};
  Tensor x_, y_;
  std::vector<Tensor> weights_;
};

std::vector<float> losses(int64_t limit, bool has_dropout = false, int layers = kLayers) {
  Net net(layers);
  const Limit guard(limit);
  std::vector<float> all;
  for (int step = 0; step < 3; ++step) all.push_back(net.train(has_dropout));
  sync();
  return all;
}

TEST(Eviction, TrainsInAQuarterOfTheMemoryToTheSameBits) {
  reset_stats();
  const std::vector<float> expected = losses(0);
  const Stats unlimited = stats();
  EXPECT_EQ(unlimited.values_evicted, 0);
  EXPECT_GT(unlimited.bytes_allocated_peak, kLayers * kActivation);

  const int64_t limit = unlimited.bytes_allocated_peak / 4;
  reset_stats();
  EXPECT_EQ(losses(limit), expected);
  const Stats limited = stats();
  EXPECT_LE(limited.bytes_allocated_peak, limit);
  EXPECT_GT(limited.values_recomputed, 0);
}

TEST(Eviction, WindowsOfADeepNetAreShort) {
  const std::vector<float> expected = losses(0, false, kManyLayers);
  reset_stats();
  EXPECT_EQ(losses(kLimitOfManyLayers, false, kManyLayers), expected);
  const Stats limited = stats();
  EXPECT_LE(limited.bytes_allocated_peak, kLimitOfManyLayers);
  EXPECT_GT(limited.values_evicted, 0);
  EXPECT_GE(limited.bytes_evicted, limited.values_evicted * kActivation);
  EXPECT_GT(limited.values_recomputed, 0);
}

// What is given up depends neither on addresses nor on how far work in flight has come.
TEST(Eviction, TheSameProgramGivesUpTheSameValues) {
  const auto given_up = [] {
    reset_stats();
    losses(kLimitOfManyLayers, false, kManyLayers);
    const Stats now = stats();
    return std::vector<int64_t>{now.values_evicted, now.bytes_evicted, now.values_recomputed};
  };
  given_up();  // makes the plans
  const std::vector<int64_t> first = given_up();
  EXPECT_GT(first[0], 0);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(given_up(), first);
}

TEST(Eviction, RandomNumbersAreThoseOfTheForwardPass) {
  reset_stats();
  const std::vector<float> expected = losses(0, true);
  const int64_t limit = stats().bytes_allocated_peak / 3;
  reset_stats();
  EXPECT_EQ(losses(limit, true), expected);
  EXPECT_GT(stats().values_recomputed, 0);
}

TEST(Eviction, WhatAHandleHoldsStays) {
  const Tensor w = randn({kWidth, kWidth}).eval();
  const Limit guard(40 * kActivation);
  const Tensor leaf = w.requires_grad();
  Tensor h = randn({kRows, kWidth}).eval();
  std::vector<Tensor> held;
  for (int i = 0; i < 12; ++i) {
    h = tanh(matmul(h, leaf)).eval();
    held.push_back(h);
  }
  sync();
  reset_stats();
  std::vector<Tensor> others;
  EXPECT_THROW(
      {
        for (int i = 0; i < 60; ++i) others.push_back(full({kRows, kWidth}, i).eval());
        sync();
      },
      Error);
  others.clear();
  EXPECT_EQ(held[11].to_vector<float>(), h.to_vector<float>());
  EXPECT_EQ(gradients(sum(h), {leaf})[0].shape(), w.shape());
}

TEST(Eviction, WithoutGradientsAnErrorIsAnError) {
  const Limit guard(8 * kActivation);
  std::vector<Tensor> held;
  EXPECT_THROW(
      {
        for (int i = 0; i < 20; ++i) held.push_back(full({kRows, kWidth}, i).eval());
        sync();
      },
      Error);
}

TEST(Eviction, GradientsOfGradients) {
  const auto second = [](int64_t limit) {
    const Tensor x = full({kRows, kWidth}, 0.3f).eval();
    const Tensor w = full({kWidth, kWidth}, 0.01f).eval();
    sync();
    const Limit guard(limit);
    const Tensor leaf = w.requires_grad();
    Tensor h = x;
    for (int i = 0; i < 8; ++i) h = sin(matmul(h, leaf));
    const Tensor first = gradients(sum(h), {leaf}, {.create_graph = true})[0];
    return gradients(sum(square(first)), {leaf})[0].to_vector<float>();
  };
  reset_stats();
  const std::vector<float> expected = second(0);
  const int64_t peak = stats().bytes_allocated_peak;
  reset_stats();
  EXPECT_EQ(second(peak / 2), expected);
  EXPECT_GT(stats().values_evicted, 0);
}

TEST(Eviction, ThreadsGiveUpWhatOthersNeed) {
  const std::vector<float> expected = losses(0);
  reset_stats();
  losses(0);
  // As much as one of them would like to have.
  const int64_t limit = stats().bytes_allocated_peak;
  std::vector<std::vector<float>> found(2);
  {
    std::vector<Net> nets(2);
    const Limit guard(limit);
    std::vector<std::thread> threads;
    for (int k = 0; k < 2; ++k) {
      threads.emplace_back([&, k] {
        for (int step = 0; step < 3; ++step) found[k].push_back(nets[k].train());
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(found[0], expected);
  EXPECT_EQ(found[1], expected);
}

// In a process of its own: nothing has been given up in it yet. The net's first ops keep nothing.
TEST(EvictionDeathTest, WindowsAreShortFromTheFirstStepOn) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto train_twice = [] {
    const Tensor x = Generator(7).normal(0, 1, {kRows, kWidth}).eval();
    const Tensor weight = ones({kWidth}).eval();
    sync();
    const auto loss_of = [&](const Tensor& w) {
      Tensor h = x;
      for (int i = 0; i < kLayers; ++i) h = tanh(layer_norm(h, w, w));
      return mean(square(h));
    };
    const auto gradient = [&] { return grad(loss_of)(weight).to_vector<float>(); };
    reset_stats();
    const std::vector<float> expected = gradient();
    const int64_t peak = stats().bytes_allocated_peak;
    const Limit guard(peak * 6 / 10);
    const std::vector<float> within = gradient();
    std::_Exit(within == expected && stats().bytes_allocated_peak == peak ? 0 : 1);
  };
  EXPECT_EXIT(train_twice(), testing::ExitedWithCode(0), "");
}

// Gradients by what many steps read are joined, which is an order of their sums: the limit must not
// decide that.
TEST(Eviction, ALimitChangesNoBitOfARecurrencesGradients) {
  Generator generator(11);
  const Tensor w = generator.normal(0, 0.3, {16, 16}).eval();
  const Tensor b = generator.normal(0, 0.3, {16}).eval();
  const Tensor x = generator.normal(0, 1, {12, 3, 16}).eval();
  const auto slopes = [&](int64_t bytes) {
    const Limit limit(bytes);
    const Tensor u = w.requires_grad(), v = b.requires_grad();
    Tensor h = zeros({3, 16});
    for (int64_t i = 0; i < 12; ++i) h = tanh(matmul(h + x[i], u) + v);
    std::vector<std::vector<uint8_t>> bytes_of;
    for (const Tensor& slope : gradients(sum(square(h)), {u, v})) {
      bytes_of.push_back(read_bytes(slope));
    }
    return bytes_of;
  };
  EXPECT_EQ(slopes(1 << 30), slopes(0));
}

}  // namespace
}  // namespace sluice::test
