// Modules: names, copies, state, modes, containers, what layers begin as, and how they fail.
#include <cmath>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

struct Net : nn::Module {
  nn::Linear a{4, 3}, b{3, 2, {.bias = false}};
  nn::BatchNorm1d norm{3};
  std::vector<nn::Linear> more;
  Tensor scale = ones({2});
  Net() {
    more.emplace_back(2, 2);
    more.emplace_back(2, 2);
    register_module("a", a);
    register_module("b", b);
    register_module("norm", norm);
    register_module("more", more);
    register_parameter("scale", scale);
  }
  Tensor forward(const Tensor& x) {
    Tensor y = b(relu(norm(a(x))));
    for (const nn::Linear& layer : more) y = layer(y);
    return y * scale;
  }
};

std::vector<std::string> names_of(nn::Module& module) { return module.parameters().names(); }

TEST(Module, NamesParametersByPath) {
  Net net;
  EXPECT_EQ(names_of(net),
            (std::vector<std::string>{"scale", "a.weight", "a.bias", "b.weight", "norm.weight",
                                      "norm.bias", "more.0.weight", "more.0.bias", "more.1.weight",
                                      "more.1.bias"}));
  EXPECT_EQ(net.parameters()[1], &net.a.weight);
  EXPECT_EQ(net.parameter_count(), 2 + 12 + 3 + 6 + 6 + 2 * 6);
  std::vector<std::string> buffers;
  for (const auto& [name, buffer] : net.named_buffers()) buffers.push_back(name);
  EXPECT_EQ(buffers, (std::vector<std::string>{"norm.running_mean", "norm.running_var",
                                               "norm.num_batches_tracked"}));
  EXPECT_EQ(net.buffers().size(), 3u);
  EXPECT_EQ(net.state_dict().size(), 13u);
  EXPECT_EQ(net.named_modules().size(), 6u);
  net.more.emplace_back(2, 2);
  EXPECT_EQ(names_of(net).size(), 12u);
}

// A copy's names lead to its own members, wherever it is.
TEST(Module, CopiesAndMovesKeepToThemselves) {
  Net net;
  auto copy = std::make_unique<Net>(net);
  EXPECT_EQ(copy->parameters()[1], &copy->a.weight);
  EXPECT_EQ(copy->parameters()[6], &copy->more[0].weight);
  *copy->parameters()[1] = zeros({3, 4});
  EXPECT_FALSE(all(net.a.weight == 0).item<bool>());
  const Net moved = std::move(*copy);
  copy.reset();
  EXPECT_TRUE(all(moved.state_dict().at("a.weight") == 0).item<bool>());
  net = moved;
  EXPECT_EQ(net.parameters()[1], &net.a.weight);
  EXPECT_TRUE(all(net.a.weight == 0).item<bool>());
  std::vector<Net> many(3);
  many.resize(20);
  for (Net& each : many) EXPECT_EQ(each.parameters()[1], &each.a.weight);
}

TEST(Module, StateIsLoadedWholeOrNotAtAll) {
  Net net, other;
  net.load_state_dict(other.state_dict());
  EXPECT_EQ(read_bytes(net.a.weight), read_bytes(other.a.weight));

  nn::StateDict state = other.state_dict();
  state.erase("a.weight");
  state["b.weight"] = zeros({3, 2});
  state["c"] = zeros({1});
  state["scale"] = zeros({2});
  EXPECT_TRUE(fails_with(
      [&] { net.load_state_dict(state); }, ErrorCode::kInvalidArgument,
      {"missing: a.weight", "unexpected: c", "of another shape: b.weight (3, 2)", "(2, 3)"}));
  EXPECT_TRUE(all(net.scale == 1).item<bool>());
  state.erase("b.weight");
  net.load_state_dict(state, false);
  EXPECT_TRUE(all(net.scale == 0).item<bool>());

  // Values come in the dtype that is there.
  for (auto& [name, tensor] : state) {
    if (is_float(tensor.dtype())) tensor = tensor.astype(kFloat64);
  }
  net.load_state_dict(state, false);
  EXPECT_EQ(net.a.bias.dtype(), kFloat32);
}

TEST(Module, ModesAndDtypesReachAllModules) {
  Net net;
  EXPECT_TRUE(net.norm.is_training());
  net.eval();
  EXPECT_FALSE(net.norm.is_training());
  net.train();
  EXPECT_TRUE(net.more[1].is_training());
  net.to(kFloat64);
  EXPECT_EQ(net.more[1].bias.dtype(), kFloat64);
  EXPECT_EQ(net.norm.running_var.dtype(), kFloat64);
  EXPECT_EQ(net.norm.num_batches_tracked.dtype(), kInt64);
  EXPECT_EQ(net.forward(randn({5, 4}, kFloat64)).dtype(), kFloat64);
  EXPECT_THROW(net.to(kInt32), Error);
}

struct Bad : nn::Module {
  std::vector<nn::Linear> list;
  Tensor t;
  explicit Bad(int which) {
    list.emplace_back(1, 1);
    if (which == 0) register_module("x", list[0]);
    if (which == 1) register_parameter("a.b", t);
    if (which == 2) register_parameter("", t);
    if (which == 3) {
      register_parameter("t", t);
      register_buffer("t", t);
    }
  }
};

TEST(Module, OnlyMembersWithNamesOfTheirOwnAreRegistered) {
  const auto bad = [](int which, const std::vector<std::string>& parts) {
    EXPECT_TRUE(fails_with([&] { const Bad module(which); }, ErrorCode::kInvalidArgument, parts));
  };
  bad(0, {"register_module", "\"x\"", "std::vector"});
  bad(1, {"register_parameter", "\"a.b\""});
  bad(2, {"register_parameter", "\"\""});
  bad(3, {"register_buffer", "\"t\" already"});
}

TEST(Sequential, RunsModulesAndFunctionsInTheirOrder) {
  nn::Sequential net{nn::Linear{4, 3}, [](const Tensor& x) { return x * 2; }, nn::ReLU{},
                     nn::Residual{nn::Linear{3, 3}, nn::Tanh{}}};
  EXPECT_EQ(net.size(), 4u);
  EXPECT_EQ(names_of(net),
            (std::vector<std::string>{"0.weight", "0.bias", "3.body.0.weight", "3.body.0.bias"}));
  const Tensor x = randn({2, 4});
  const auto& first = net.at<nn::Linear>(0);
  const Tensor h = relu(first(x) * 2);
  const nn::Sequential copy = net;
  const std::vector<uint8_t> before = read_bytes(net(x));
  const nn::Parameters inner = net.parameters();
  const Tensor expected = h + tanh(matmul(h, transpose(*inner[2])) + *inner[3]);
  EXPECT_EQ(before, read_bytes(expected));
  *net.parameters()[0] = zeros({3, 4});
  EXPECT_EQ(read_bytes(copy(x)), before);
  EXPECT_THROW(static_cast<void>(net.at<nn::Linear>(2)), Error);
  EXPECT_THROW(static_cast<void>(net.at<nn::Linear>(9)), Error);
}

TEST(BatchNorm, KeepsRunningStatistics) {
  nn::BatchNorm2d norm(3);
  const Tensor x = randn({4, 3, 5, 2}) * 2 + 1;
  const Tensor y = norm(x);
  EXPECT_TRUE(allclose(mean(y, {0, 2, 3}), zeros({3}), 0, 1e-5).item<bool>());
  EXPECT_TRUE(allclose(norm.running_mean, mean(x, {0, 2, 3}) * 0.1, 1e-5).item<bool>());
  EXPECT_TRUE(
      allclose(norm.running_var, var(x, {0, 2, 3}, false, 1) * 0.1 + 0.9, 1e-5).item<bool>());
  EXPECT_EQ(norm.num_batches_tracked.item<int64_t>(), 1);
  norm.eval();
  const std::vector<uint8_t> kept = read_bytes(norm.running_mean);
  const Tensor expected =
      batch_norm(x, norm.running_mean, norm.running_var, norm.weight, norm.bias);
  EXPECT_EQ(read_bytes(norm(x)), read_bytes(expected));
  EXPECT_EQ(read_bytes(norm.running_mean), kept);
}

TEST(Layers, BeginAsPyTorchsDo) {
  manual_seed(4);
  const nn::Linear linear(100, 400);
  const double bound = 0.1;
  EXPECT_LE(max(abs(linear.weight)).item<double>(), bound);
  EXPECT_NEAR(std(linear.weight).item<double>(), bound / std::sqrt(3.0), 0.001);
  EXPECT_LE(max(abs(linear.bias)).item<double>(), bound);
  const nn::Conv2d conv(8, 16, {3, 3}, {.groups = 2});
  EXPECT_EQ(conv.weight.shape(), (Shape{16, 4, 3, 3}));
  EXPECT_LE(max(abs(conv.weight)).item<double>(), 1 / std::sqrt(36.0));
  EXPECT_EQ(nn::ConvTranspose2d(8, 6, 2, {.groups = 2}).weight.shape(), (Shape{8, 3, 2, 2}));
}

TEST(Layers, CallTheirFunctions) {
  const Tensor image = randn({2, 4, 6, 6}), signal = randn({2, 4, 9});
  const nn::Conv2d conv(4, 8, {3, 3}, {.stride = 2, .padding = 1});
  EXPECT_EQ(conv(image).shape(), (Shape{2, 8, 3, 3}));
  const Tensor expected =
      conv2d(image, conv.weight, {.stride = 2, .padding = 1}) + conv.bias.reshape({8, 1, 1});
  EXPECT_EQ(read_bytes(conv(image)), read_bytes(expected));
  EXPECT_EQ(nn::Conv1d(4, 2, 3)(signal).shape(), (Shape{2, 2, 7}));
  EXPECT_EQ(nn::ConvTranspose2d(4, 2, {2, 2}, {.stride = 2})(image).shape(), (Shape{2, 2, 12, 12}));
  const Tensor volume = randn({2, 4, 4, 6, 6});
  EXPECT_EQ(nn::ConvTranspose1d(4, 2, 3, {.stride = 2})(signal).shape(), (Shape{2, 2, 19}));
  const nn::Conv3d conv3d_layer(4, 2, {3, 3, 1}, {.padding = {1, 0, 0}, .bias = false});
  EXPECT_FALSE(conv3d_layer.bias.defined());
  EXPECT_EQ(read_bytes(conv3d_layer(volume)),
            read_bytes(conv3d(volume, conv3d_layer.weight, {.padding = {1, 0, 0}})));
  EXPECT_EQ(nn::ConvTranspose3d(4, 2, 2, {.stride = 2})(volume).shape(), (Shape{2, 2, 8, 12, 12}));
  EXPECT_EQ(nn::MaxPool1d(2, {.ceil_mode = true})(signal).shape(), (Shape{2, 4, 5}));
  EXPECT_EQ(nn::AvgPool3d(2)(volume).shape(), (Shape{2, 4, 2, 3, 3}));
  EXPECT_EQ(read_bytes(nn::AdaptiveMaxPool3d({1, 2, 3})(volume)),
            read_bytes(adaptive_max_pool3d(volume, {1, 2, 3})));
  EXPECT_EQ(nn::GroupNorm(2, 4)(image).shape(), image.shape());
  EXPECT_EQ(nn::MaxPool2d(2)(image).shape(), (Shape{2, 4, 3, 3}));
  EXPECT_EQ(nn::AvgPool2d(2, {.stride = 1})(image).shape(), (Shape{2, 4, 5, 5}));
  EXPECT_EQ(nn::AdaptiveAvgPool2d(1)(image).shape(), (Shape{2, 4, 1, 1}));
  EXPECT_EQ(nn::Flatten{}(image).shape(), (Shape{2, 144}));
  EXPECT_EQ(nn::Flatten(0, 1)(image).shape(), (Shape{8, 6, 6}));
  const nn::Embedding table(5, 3);
  EXPECT_EQ(table(zeros({2, 7}, kInt64)).shape(), (Shape{2, 7, 3}));
  EXPECT_EQ(read_bytes(nn::LayerNorm(6)(image)),
            read_bytes(layer_norm(image, ones({6}), zeros({6}))));
  EXPECT_EQ(read_bytes(nn::RMSNorm(6, {.affine = false})(image)),
            read_bytes(rms_norm(image, Tensor())));
  EXPECT_EQ(read_bytes(nn::LeakyReLU(0.5)(image)), read_bytes(leaky_relu(image, 0.5)));
  EXPECT_EQ(read_bytes(nn::PReLU(4)(image)), read_bytes(leaky_relu(image, 0.25)));
  nn::Dropout dropout(0.5);
  EXPECT_FALSE(all(dropout(image) == image).item<bool>());
  dropout.eval();
  EXPECT_TRUE(all(dropout(image) == image).item<bool>());
}

TEST(Layers, ErrorsNameTheLayer) {
  const auto bad = [](auto f, const std::vector<std::string>& parts) {
    EXPECT_TRUE(fails_with([&] { static_cast<void>(f()); }, ErrorCode::kInvalidArgument, parts));
  };
  bad([] { return nn::Linear(4, 3)(zeros({2, 5})); }, {"Linear", "float32(2, 5)", "4"});
  bad([] { return nn::Linear(0, 3).weight; }, {"Linear", "0"});
  bad([] { return nn::Conv2d(4, 3, 2, {.groups = 2}).weight; }, {"Conv2d", "2 groups", "3"});
  bad([] { return nn::BatchNorm2d(3)(zeros({2, 3})); }, {"BatchNorm2d", "float32(2, 3)"});
  bad([] { return nn::MultiHeadAttention(6, 4).query.weight; }, {"4 heads", "6"});
  bad([] { return nn::LSTM(3, 2)(zeros({2, 3})).output; }, {"LSTM", "float32(2, 3)"});
  bad(
      [] {
        return nn::GRU(3, 2)(zeros({2, 4, 3}), zeros({1, 1, 2})).output;
      },
      {"GRU", "state", "(1, 2, 2)"});
  bad([] { return nn::Dropout(2).parameters(); }, {"Dropout", "2"});
}

TEST(Init, HasTheVariancesThatItSays) {
  manual_seed(5);
  const Shape shape{200, 300};
  const auto deviation = [](const Tensor& x) { return std(x).item<double>(); };
  EXPECT_NEAR(deviation(nn::init::xavier_uniform(shape)), std::sqrt(2. / 500), 0.001);
  EXPECT_NEAR(deviation(nn::init::xavier_normal(shape, 2)), 2 * std::sqrt(2. / 500), 0.002);
  EXPECT_NEAR(deviation(nn::init::kaiming_uniform(shape)), std::sqrt(2. / 300), 0.001);
  EXPECT_NEAR(deviation(nn::init::kaiming_normal(shape, 0, nn::init::Fan::kOut)),
              std::sqrt(2. / 200), 0.001);
  const Tensor cut = nn::init::truncated_normal(shape, 1, 0.5);
  EXPECT_LE(max(abs(cut - 1)).item<double>(), 1.0 + 1e-6);
  EXPECT_NEAR(mean(cut).item<double>(), 1, 0.01);
  EXPECT_NEAR(deviation(cut), 0.5 * 0.8796, 0.005);  // scipy.stats.truncnorm(-2, 2).std()
  for (const Shape& each : {Shape{20, 30}, Shape{30, 4, 5}, Shape{7, 7}}) {
    const Tensor w = nn::init::orthogonal(each, 2).reshape(each[0], -1);
    const Tensor square = each[0] <= w.shape(1) ? matmul(w, w.T()) : matmul(w.T(), w);
    EXPECT_TRUE(allclose(square, eye(square.shape(0)) * 4, 0, 1e-5).item<bool>());
  }
  EXPECT_THROW(static_cast<void>(nn::init::xavier_normal({3})), Error);
}

TEST(Summary, ListsModulesShapesAndParameters) {
  Net net;
  const std::string text = nn::summary(net, randn({5, 4}));
  for (const char* part : {"(all)", "Net", "(5, 2)", "norm", "BatchNorm1d", "(5, 3)", "more.1",
                           "Linear", "41", "kernels"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

// The losses of one batch: forward in few kernels.
TEST(Losses, AreFused) {
  const Tensor logits = randn({64, 10}), labels = randint(0, 10, {64}), other = randn({64, 10});
  const auto kernels = [](const std::function<Tensor()>& f) {
    sluice::sync();
    reset_stats();
    static_cast<void>(f().eval());
    sluice::sync();
    return stats().kernels_launched;
  };
  EXPECT_LE(kernels([&] { return nn::cross_entropy(logits, labels); }), 2);
  EXPECT_LE(stats().bytes_written, 64 * 4 + 4) << "the losses of the samples and their mean";
  EXPECT_EQ(kernels([&] { return nn::mse_loss(logits, other); }), 1);
  EXPECT_EQ(kernels([&] { return nn::bce_with_logits_loss(logits, sigmoid(other)); }), 1);
}

TEST(Losses, LabelsThatAreNoClassGiveNaN) {
  const Tensor logits = zeros({2, 3});
  const Tensor losses =
      nn::cross_entropy(logits, Tensor::from<int64_t>({1, 3}), nn::Reduction::kNone);
  EXPECT_NEAR(losses[0].item<double>(), std::log(3.0), 1e-6);
  EXPECT_TRUE(std::isnan(losses[1].item<float>()));
  EXPECT_TRUE(std::isnan(nn::cross_entropy(logits, Tensor::from<int64_t>({1, -1})).item<float>()));
  EXPECT_TRUE(fails_with([&] { static_cast<void>(nn::cross_entropy(logits, zeros({3}, kInt64))); },
                         ErrorCode::kInvalidArgument,
                         {"cross_entropy: ", "int64(3,)", "(2,)", "float32(2, 3)"}));
}

}  // namespace
}  // namespace sluice::test
