// The most memory that training steps take: parameters, gradients and moments, and of what the
// forward pass made no more than is needed at a time.
#include <gtest/gtest.h>

#include <bit>
#include <utility>
#include <vector>

#include "kernels/library/convolution/block_convolution.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// The peak of a step of AdamW, of a net that has been trained for some, and what the parameters
// take.
template <typename Net, typename Loss>
std::pair<int64_t, int64_t> peak_of_step(Net& net, Loss loss_of) {
  int64_t parameters = 0;
  for (const Tensor* p : net.parameters()) parameters += p->numel() * 4;
  optim::AdamW optimizer(net.parameters());
  for (int i = 0; i < 3; ++i) {
    sluice::sync();
    reset_stats();
    auto [loss, gradients] = value_and_grad(loss_of)(net);
    optimizer.step(gradients);
    flush();
    EXPECT_GT(loss.template item<float>(), 0);
  }
  return {stats().bytes_allocated_peak, parameters};
}

// The bits of the losses of some steps of AdamW, of which the last two need no new plan.
template <typename MakeNet, typename Loss>
std::vector<uint32_t> losses_within(int64_t limit, MakeNet make, Loss loss_of) {
  manual_seed(3);
  auto net = make();
  optim::AdamW optimizer(net.parameters());
  sluice::sync();
  const int64_t outer = std::exchange(config().memory_limit, limit);
  std::vector<uint32_t> losses;
  reset_stats();
  int64_t made = 0;
  for (int i = 0; i < 5; ++i) {
    if (i == 3) made = stats().plan_misses;
    auto [loss, gradients] = value_and_grad(loss_of)(net);
    optimizer.step(gradients);
    flush();
    losses.push_back(std::bit_cast<uint32_t>(loss.template item<float>()));
  }
  EXPECT_EQ(stats().plan_misses, made);
  sluice::sync();
  config().memory_limit = outer;
  return losses;
}

// Trains with so many hundredths of the memory that is used without a limit.
template <typename MakeNet, typename Loss>
void train_with_less(int64_t hundredths, int64_t live, MakeNet make, Loss loss_of) {
  const std::vector<uint32_t> losses = losses_within(0, make, loss_of);
  const int64_t limit = live + (stats().bytes_allocated_peak - live) * hundredths / 100;
  EXPECT_EQ(stats().values_recomputed, 0);
  EXPECT_EQ(losses_within(limit, make, loss_of), losses);
  EXPECT_LE(stats().bytes_allocated_peak, limit);
  EXPECT_GT(stats().values_recomputed, 0);
}

nn::TransformerEncoderLayer transformers_block(int64_t width) {
  return nn::TransformerEncoderLayer(
      width, 4, {.feedforward = 4 * width, .dropout = 0, .gelu = true, .norm_first = true});
}

Tensor loss_of_block(nn::TransformerEncoderLayer& block, const Tensor& x) {
  return mean(square(block(x, Tensor(), /*causal=*/true)));
}

// For images of 8 x 8.
nn::Sequential convolutions() {
  return nn::Sequential{nn::Conv2d{1, 16, {3, 3}, {.padding = 1}},
                        nn::BatchNorm2d{16},
                        nn::ReLU{},
                        nn::Conv2d{16, 32, {3, 3}, {.padding = 1}},
                        nn::BatchNorm2d{32},
                        nn::ReLU{},
                        nn::MaxPool2d{2},
                        nn::Flatten{},
                        nn::Linear{32 * 4 * 4, 10}};
}

class TrainingMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (default_device().type() != DeviceType::kCpu) GTEST_SKIP() << "counts what a CPU does";
    sluice::sync();
    live_ = stats().bytes_live;
  }
  int64_t live_ = 0;  // of other tests
};

TEST_F(TrainingMemory, OfAnMlpIsThatOfItsState) {
  nn::Sequential net{nn::Linear{64, 512}, nn::ReLU{}, nn::Linear{512, 256}, nn::ReLU{},
                     nn::Linear{256, 10}};
  const Tensor x = rand({32, 64}).eval(), labels = randint(0, 10, {32}).eval();
  const auto [peak, parameters] =
      peak_of_step(net, [&](nn::Sequential& m) { return nn::cross_entropy(m(x), labels); });
  const int64_t hidden = 32 * (512 + 256) * 4;
  EXPECT_LE(peak - live_, 4 * parameters + hidden + 32 * 64 * 4 + 16384);
}

TEST_F(TrainingMemory, OfATransformersBlock) {
  constexpr int64_t kWidth = 128, kRows = 16 * 64, kActivation = kRows * kWidth * 4;
  nn::TransformerEncoderLayer net = transformers_block(kWidth);
  const Tensor x = randn({16, 64, kWidth}).eval();
  const auto [peak, parameters] = peak_of_step(
      net, [&](nn::TransformerEncoderLayer& block) { return loss_of_block(block, x); });
  // x; two normalised inputs, queries, keys and values, scores of two, what attention gives, its
  // sum with x; hidden values of four before and after gelu; the result and its gradient.
  EXPECT_LE(peak - live_, 4 * parameters + (1 + 2 + 3 + 2 + 1 + 1 + 8 + 2) * kActivation + 65536);
}

TEST_F(TrainingMemory, OfConvolutions) {
  if (kernels::find_convolutions() == nullptr) {
    GTEST_SKIP() << "composed convolutions copy the windows that they multiply";
  }
  nn::Sequential net = convolutions();
  constexpr int64_t kPlane = 32 * 8 * 8 * 4;
  const Tensor x = rand({32, 1, 8, 8}).eval(), labels = randint(0, 10, {32}).eval();
  const auto [peak, parameters] =
      peak_of_step(net, [&](nn::Sequential& m) { return nn::cross_entropy(m(x), labels); });
  // What the first convolution gives, normalised or not, and the second; two gradients of that.
  EXPECT_LE(peak - live_, 4 * parameters + (2 * 16 + 3 * 32) * kPlane + kPlane + 65536);
}

TEST_F(TrainingMemory, ATransformersBlockTrainsWithThreeFifths) {
  constexpr int64_t kWidth = 128;
  const Tensor x = randn({16, 64, kWidth}).eval();
  train_with_less(
      60, live_, [] { return transformers_block(kWidth); },
      [&](nn::TransformerEncoderLayer& block) { return loss_of_block(block, x); });
}

TEST_F(TrainingMemory, ConvolutionsTrainWithTwoThirds) {
  if (kernels::find_convolutions() == nullptr) {
    GTEST_SKIP() << "composed convolutions copy the windows that they multiply";
  }
  const Tensor x = rand({32, 1, 8, 8}).eval(), labels = randint(0, 10, {32}).eval();
  train_with_less(67, live_, convolutions,
                  [&](nn::Sequential& m) { return nn::cross_entropy(m(x), labels); });
}

TEST_F(TrainingMemory, BehindOneOutputNoColumnTimesRowIsStored) {
  const Tensor x = rand({320, 4}).eval();
  nn::Sequential net{nn::Linear{4, 32}, nn::Tanh{}, nn::Linear{32, 1}};
  const auto [peak, parameters] =
      peak_of_step(net, [&](nn::Sequential& m) { return mean(square(m(x))); });
  EXPECT_LE(peak - live_, 4 * parameters + 320 * (4 + 32 + 3) * 4 + 8192);
}

}  // namespace
}  // namespace sluice::test
