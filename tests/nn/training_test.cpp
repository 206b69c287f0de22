// Training as programs do it: gradients by module, steps that are steady, checkpoints, and the same
// bits whatever is fused.
#include <cmath>
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "kernels/executor.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

struct Net : nn::Module {
  nn::Linear a{6, 8}, b{8, 3};
  nn::BatchNorm1d norm{8};
  nn::Dropout dropout{0.25};
  Net() {
    register_module("a", a);
    register_module("norm", norm);
    register_module("dropout", dropout);
    register_module("b", b);
  }
  Tensor forward(const Tensor& x) { return b(dropout(gelu(norm(a(x))))); }
};

struct Data {
  Tensor x = randn({64, 6});
  Tensor labels = argmax(matmul(x, randn({6, 3})), 1);
};

TEST(Training, GradientsComeByName) {
  manual_seed(1);
  const Data data;
  Net net;
  net.eval();
  const auto loss = [&](Net& n) { return nn::cross_entropy(n.forward(data.x), data.labels); };
  const Tensor before = net.a.weight;
  const auto [value, gradients] = value_and_grad(loss)(net);
  EXPECT_EQ(read_bytes(net.a.weight), read_bytes(before));
  EXPECT_EQ(gradients.size(), net.parameters().size());
  // Neither keeps what it was computed of.
  EXPECT_FALSE(value.needs_grad());
  for (const auto& [name, gradient] : gradients) EXPECT_FALSE(gradient.needs_grad()) << name;
  EXPECT_EQ(read_bytes(value), read_bytes(loss(net)));
  // Central differences.
  net.to(kFloat64);
  const Data wide{data.x.astype(kFloat64), data.labels};
  const auto wide_loss = [&](nn::Module& n) {
    return nn::cross_entropy(dynamic_cast<Net&>(n).forward(wide.x), wide.labels);
  };
  const nn::Gradients exact = grad(wide_loss)(net);
  for (const auto& [name, parameter] : net.named_parameters()) {
    const Tensor original = *parameter;
    const Tensor flat = original.reshape(-1);
    double element[2];
    for (const int sign : {0, 1}) {
      *parameter = flat.add_at({1}, sign == 0 ? -1e-5 : 1e-5).reshape(original.shape());
      element[sign] = wide_loss(net).item<double>();
    }
    *parameter = original;
    EXPECT_NEAR(exact.at(name).reshape(-1)[1].item<double>(), (element[1] - element[0]) / 2e-5,
                1e-8)
        << name;
  }
}

// Some steps; their losses.
std::vector<uint8_t> trained(Net& net, optim::Optimizer& optimizer, const Data& data, int steps,
                             bool by_backward = false) {
  std::vector<Tensor> losses;
  for (int i = 0; i < steps; ++i) {
    const auto loss = [&](Net& n) { return nn::cross_entropy(n.forward(data.x), data.labels); };
    if (by_backward) {
      losses.push_back(loss(net));
      backward(losses.back());
      losses.back() = stop_gradient(losses.back());
      optimizer.step();
    } else {
      auto [value, gradients] = value_and_grad(loss)(net);
      losses.push_back(value);
      optimizer.step(gradients);
    }
    flush();
  }
  return read_bytes(stack(losses));
}

TEST(Training, BackwardAndStepAreTheSame) {
  std::vector<std::vector<uint8_t>> losses;
  for (const bool by_backward : {false, true}) {
    manual_seed(2);
    const Data data;
    Net net;
    optim::AdamW optimizer(net.parameters(), {.lr = 0.02});
    losses.push_back(trained(net, optimizer, data, 6, by_backward));
    EXPECT_TRUE(net.a.weight.needs_grad());
    EXPECT_FALSE(net.a.weight.grad().defined());
  }
  EXPECT_EQ(losses[0], losses[1]);
}

TEST(Training, LearnsAndIsSteady) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  manual_seed(3);
  const Data data;
  Net net;
  net.dropout.eval();
  optim::Adam optimizer(net.parameters(), {.lr = 0.05});
  for (int i = 0; i < 4; ++i) trained(net, optimizer, data, 10);
  sluice::sync();
  kernels::wait_for_compilers();  // what earlier tests have asked for
  reset_stats();
  trained(net, optimizer, data, 10);
  EXPECT_EQ(stats().compiles, 0);
  EXPECT_EQ(stats().plan_misses, 0);
  net.eval();
  const Tensor right = argmax(net.forward(data.x), 1) == data.labels;
  EXPECT_GT(mean(right).item<float>(), 0.95F);
}

// No more than gradients and an optimiser written by hand (tests/engine/digits_step_test.cpp).
TEST(Training, AStepTakesFewKernels) {
  manual_seed(7);
  const data::Dataset set{rand({40, 64}), randint(0, 10, {40})};
  nn::Sequential net{nn::Linear{64, 48}, nn::ReLU{}, nn::Linear{48, 24}, nn::ReLU{},
                     nn::Linear{24, 10}};
  optim::AdamW optimizer(net.parameters());
  Tensor loss;
  Stats before;
  for (int i = 0; i < 4; ++i) {
    sluice::sync();
    before = stats();
    {
      const data::Batch batch = set.at({3, 17, 4, 39, 8, 21, 0, 11});
      const auto f = [&](nn::Sequential& m) { return nn::cross_entropy(m(batch[0]), batch[1]); };
      auto [value, gradients] = value_and_grad(f)(net);
      optimizer.step(gradients);
      loss = value;
    }
    sluice::sync();  // with none of the step's handles but the loss
  }
  EXPECT_LE(stats().kernels_launched - before.kernels_launched, 8);
  EXPECT_EQ(stats().library_calls - before.library_calls, 8);  // three forward, five backward
  EXPECT_EQ(stats().plan_misses, before.plan_misses);
}

// Eight products, which end with bias, relu and its gradient on the CPU; the loss; all updates.
TEST(Training, AStepOfThreeLayersIsTenLaunchesOnTheCpu) {
  if (default_device().type() != DeviceType::kCpu) GTEST_SKIP() << "counts what a CPU does";
  const Tensor x = rand({32, 64}), labels = randint(0, 10, {32});
  nn::Sequential net{nn::Linear{64, 512}, nn::ReLU{}, nn::Linear{512, 256}, nn::ReLU{},
                     nn::Linear{256, 10}};
  optim::AdamW optimizer(net.parameters());
  for (int i = 0; i < 3; ++i) {
    sluice::sync();
    reset_stats();
    auto [loss, gradients] =
        value_and_grad([&](nn::Sequential& m) { return nn::cross_entropy(m(x), labels); })(net);
    optimizer.step(gradients);
    sluice::sync();
  }
  EXPECT_EQ(stats().kernels_launched, 2);
  EXPECT_EQ(stats().library_calls, 8);
}

TEST(Training, CrossEntropyAndItsGradientTakeFewKernels) {
  const Tensor logits = randn({64, 10}), labels = randint(0, 10, {64});
  for (const Tensor* x : {&logits, &labels}) x->eval();
  const auto loss = [&](const Tensor& x) { return nn::cross_entropy(x, labels); };
  for (int i = 0; i < 2; ++i) {
    sluice::sync();
    reset_stats();
    const auto [value, gradient] = value_and_grad(loss)(logits);
    sluice::sync();
    EXPECT_LE(stats().kernels_launched, 3);
    EXPECT_EQ(stats().library_calls, 0);
  }
}

TEST(Training, FusingChangesNoBit) {
  const ConfigGuard guard;
  std::vector<std::vector<uint8_t>> losses;
  for (const bool fuse : {true, false}) {
    for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
      config().fuse = fuse;
      config().compile = mode;
      manual_seed(4);
      const Data data;
      Net net;
      optim::SGD optimizer(net.parameters(), {.lr = 0.1, .momentum = 0.9, .nesterov = true});
      losses.push_back(trained(net, optimizer, data, 5));
      EXPECT_EQ(losses.back(), losses.front()) << fuse;
    }
  }
}

TEST(Checkpoints, TrainingGoesOnWithTheSameBits) {
  const std::string path =
      (std::filesystem::temp_directory_path() /
       ("sluice_checkpoint_" + std::to_string(std::random_device()()) + ".safetensors"))
          .string();
  manual_seed(5);
  const Data data;
  std::vector<uint8_t> expected;
  {
    Net net;
    optim::Adam optimizer(net.parameters(), {.lr = 0.02});
    trained(net, optimizer, data, 3);
    data::save_checkpoint(
        path, {.model = &net, .optimizer = &optimizer, .step = 3, .more = {{"note", ones({2})}}});
    expected = trained(net, optimizer, data, 4);
  }
  manual_seed(77);
  Net net;
  optim::Adam optimizer(net.parameters(), {.lr = 1});
  data::Checkpoint checkpoint{.model = &net, .optimizer = &optimizer};
  data::load_checkpoint(path, &checkpoint);
  EXPECT_EQ(checkpoint.step, 3);
  EXPECT_EQ(checkpoint.more.size(), 1u);
  EXPECT_EQ(trained(net, optimizer, data, 4), expected);
  save_safetensors(path, {{"x", ones({2})}});
  EXPECT_TRUE(fails_with([&] { data::load_checkpoint(path, &checkpoint); },
                         ErrorCode::kInvalidArgument, {"load_checkpoint", "checkpoint"}));
  std::filesystem::remove(path);
}

// What layers and losses are composed of has gradients.
TEST(Training, EverythingIsDifferentiable) {
  manual_seed(6);
  const Tensor x = randn({2, 4, 6}, kFloat64), image = randn({1, 4, 5, 5}, kFloat64);
  const Tensor w = rand({4}, kFloat64) + 0.5, y = randint(0, 4, {2, 6});
  const Tensor filters = randn({4, 2, 3, 3}, kFloat64) * 0.25;
  const auto check = [](const char* name, const std::function<Tensor(const Tensor&)>& f,
                        const Tensor& at) {
    const GradCheck result = grad_check(f, at);
    EXPECT_TRUE(result.passed) << name << ": " << result.error;
  };
  check(
      "leaky_relu", [](const Tensor& t) { return leaky_relu(t); }, x);
  check(
      "elu", [](const Tensor& t) { return elu(t * 100) * 0.01; }, x);
  check(
      "selu", [](const Tensor& t) { return selu(t); }, x);
  check(
      "celu", [](const Tensor& t) { return celu(t, 0.5); }, x);
  check(
      "hardswish", [](const Tensor& t) { return hardswish(t * 3); }, x);
  check(
      "softsign", [](const Tensor& t) { return softsign(t); }, x);
  check(
      "log_sigmoid", [](const Tensor& t) { return log_sigmoid(t); }, x);
  check(
      "gelu_tanh", [](const Tensor& t) { return gelu_tanh(t); }, x);
  check(
      "glu", [](const Tensor& t) { return glu(t, 1); }, x);
  check(
      "prelu", [&](const Tensor& t) { return prelu(x, t); }, w);
  check(
      "group_norm", [&](const Tensor& t) { return group_norm(t, 2, w, w); }, x);
  check(
      "conv1d",
      [&](const Tensor& t) {
        return conv1d(t, filters(0, Slice{}, 0, Slice{}).reshape({1, 2, 3}),
                      {.padding = 1, .groups = 1});
      },
      x.reshape({4, 2, 6}));
  check(
      "conv_transpose2d",
      [&](const Tensor& t) { return conv_transpose2d(image, t, {.stride = 2, .padding = 1}); },
      filters);
  check(
      "adaptive_avg_pool2d",
      [](const Tensor& t) {
        return adaptive_avg_pool2d(t, {2, 3});
      },
      image);
  check(
      "max_pool1d", [](const Tensor& t) { return max_pool1d(t, 3, {.stride = 2}); }, x);
  check(
      "interpolate",
      [](const Tensor& t) {
        return interpolate(t, {7, 3}, "linear");
      },
      image);
  check(
      "pixel_shuffle", [](const Tensor& t) { return pixel_shuffle(t, 2); }, image);
  for (const char* padding : {"zeros", "border", "reflection"}) {
    for (const char* mode : {"linear", "cubic"}) {
      const Tensor grid = rand({1, 2, 3, 2}, kFloat64) * 2.6 - 1.3;
      check(
          mode, [&](const Tensor& t) { return grid_sample(t, grid, mode, padding); }, image);
      check(
          padding, [&](const Tensor& t) { return grid_sample(image, t, mode, padding); }, grid);
    }
  }
  check(
      "affine_grid",
      [&](const Tensor& t) {
        return grid_sample(image, affine_grid(t, {1, 4, 2, 3}) * 0.3);
      },
      randn({1, 2, 3}, kFloat64));
  check(
      "cubic",
      [](const Tensor& t) {
        return interpolate(t, {7, 3}, "cubic");
      },
      image);
  check(
      "antialias",
      [](const Tensor& t) {
        return interpolate(t, {2, 3}, "cubic", false, true);
      },
      image);
  check(
      "unfold",
      [](const Tensor& t) {
        return unfold(t, {2, 3}, {.stride = 2, .padding = 1});
      },
      image);
  check(
      "fold",
      [](const Tensor& t) {
        return fold(t, {4, 5}, 2, {.stride = {1, 2}});
      },
      randn({2, 4, 6}, kFloat64));
  check(
      "rope", [](const Tensor& t) { return rope(t, 100, 3); }, randn({2, 3, 4}, kFloat64));
  const Tensor even = randn({3, 4, 2, 3}, kFloat64);
  check(
      "same padding", [&](const Tensor& t) { return conv2d(t, even, {.padding = "same"}); }, image);
  const Tensor heads = randn({1, 2, 130, 2}, kFloat64);
  check(
      "attention",
      [&](const Tensor& t) { return scaled_dot_product_attention(t, heads, t * heads, {}, true); },
      heads);
  check(
      "embedding", [&](const Tensor& t) { return embedding(y, t); }, x.reshape({4, 12}));
  check(
      "cross_entropy",
      [&](const Tensor& t) {
        return nn::cross_entropy(t, y, {.label_smoothing = 0.1, .ignore_index = 1, .weight = w});
      },
      x);
  check(
      "bce", [&](const Tensor& t) { return nn::bce_with_logits_loss(t, sigmoid(x + 1)); }, x);
  check(
      "huber", [&](const Tensor& t) { return nn::huber_loss(t, x * 2 + 0.3); }, x);
  check(
      "kl_div", [&](const Tensor& t) { return nn::kl_div_loss(t, softmax(x)); }, x);
  check(
      "cosine",
      [&](const Tensor& t) {
        return nn::cosine_embedding_loss(t, x * 2 + 1, Tensor::from({1.0, -1.0, 1.0, -1.0}));
      },
      x);
  const Tensor lengths = Tensor::from<int64_t>({2, 1, 3, 0});
  check(
      "ctc",
      [&](const Tensor& t) {
        const Tensor steps = full({4}, 6);
        return nn::ctc_loss(log_softmax(t, 2), full({4, 3}, 1), steps, lengths);
      },
      randn({6, 4, 3}, kFloat64));
  nn::LSTM lstm(6, 3);
  nn::GRU gru(6, 3, {.layers = 2, .bidirectional = true});
  nn::TransformerEncoderLayer encoder(6, 2, {.feedforward = 8, .dropout = 0, .gelu = true});
  for (nn::Module* module : std::initializer_list<nn::Module*>{&lstm, &gru, &encoder}) {
    module->to(kFloat64);
  }
  check(
      "LSTM", [&](const Tensor& t) { return lstm(t).output; }, x);
  check(
      "GRU", [&](const Tensor& t) { return gru(t).output; }, x);
  check(
      "TransformerEncoderLayer", [&](const Tensor& t) { return encoder(t, Tensor(), true); }, x);
}

}  // namespace
}  // namespace sluice::test
