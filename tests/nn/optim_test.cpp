// Optimisers: what a step costs, groups, state, half types, schedules, clipping, averages.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

std::vector<Tensor> some_parameters() {
  std::vector<Tensor> list;
  for (const Shape& shape : {Shape{16, 8}, Shape{16}, Shape{8, 16}, Shape{8}, Shape{4, 8}}) {
    list.push_back(randn(shape));
  }
  return list;
}

std::vector<Tensor> some_gradients(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> gradients;
  for (const Tensor& x : parameters) {
    gradients.push_back(randn(x.shape()));
    gradients.back().eval();
  }
  return gradients;
}

nn::Parameters pointers(std::vector<Tensor>& tensors) {
  nn::Parameters list;
  for (Tensor& x : tensors) list.push_back(&x);
  return list;
}

// Whatever the rate and the number of the step: one plan, no new kernels, all parameters in few
// launches.
template <typename O>
void expect_steady(const char* name, int64_t most_kernels) {
  SCOPED_TRACE(name);
  std::vector<Tensor> parameters = some_parameters();
  for (Tensor& x : parameters) x.eval();
  O optimizer(pointers(parameters));
  for (int i = 0; i < 8; ++i) {
    const std::vector<Tensor> gradients = some_gradients(parameters);
    sluice::sync();
    reset_stats();
    optimizer.set_lr(0.01 / (i + 1));
    optimizer.step(gradients);
    sluice::sync();
    if (i < 3) continue;
    EXPECT_LE(stats().kernels_launched, most_kernels);
    EXPECT_EQ(stats().plan_misses, 0) << i;
    EXPECT_EQ(stats().compiles, 0) << i;
  }
}

TEST(Optimizers, StepsAreSteadyAndFused) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  expect_steady<optim::SGD>("SGD", 1);
  expect_steady<optim::Adam>("Adam", 1);
  expect_steady<optim::AdamW>("AdamW", 1);
  expect_steady<optim::RMSProp>("RMSProp", 1);
  expect_steady<optim::Adagrad>("Adagrad", 1);
  expect_steady<optim::Lion>("Lion", 1);
  expect_steady<optim::Adafactor>("Adafactor", 12);
}

TEST(Optimizers, LionFollowsTheSign) {
  Tensor p = Tensor::from({1.0, -2.0, 0.5});
  optim::Lion optimizer({&p}, {.lr = 0.125, .beta1 = 0.5, .beta2 = 0.75, .weight_decay = 0.5});
  optimizer.step({Tensor::from({2.0, -4.0, 0.0})});
  const double keep = 1 - 0.125 * 0.5;
  EXPECT_EQ(p.to_vector<double>(),
            (std::vector<double>{keep - 0.125, -2 * keep + 0.125, 0.5 * keep}));
  // The mean is a quarter of the gradient now.
  optimizer.step({Tensor::from({-1.0, 0.0, 1.0})});
  const std::vector<double> moved = p.to_vector<double>();
  EXPECT_NEAR(moved[0], keep * (keep - 0.125) + 0.125, 1e-12);
  EXPECT_NEAR(moved[1], keep * (-2 * keep + 0.125) + 0.125, 1e-12);
}

TEST(Optimizers, GroupsHaveOptionsOfTheirOwn) {
  Tensor a = ones({2}), b = ones({2});
  optim::SGD optimizer({&a}, {.lr = 0.5});
  optimizer.add_group({&b}, {.lr = 0.25, .weight_decay = 1});
  EXPECT_EQ(optimizer.group_count(), 2u);
  optimizer.step({ones({2}), ones({2})});
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{0.5, 0.5}));
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{0.5, 0.5}));
  EXPECT_EQ(optimizer.lr(1), 0.25);
  optimizer.set_lr(1, 0);
  optimizer.step({ones({2}), ones({2})});
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{0.5, 0.5}));
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_THROW(optimizer.add_group({&a}, {}), Error);
}

TEST(Optimizers, StateGoesOnWhereItWas) {
  manual_seed(6);
  std::vector<Tensor> parameters = some_parameters();
  optim::Adam first(pointers(parameters), {.lr = 0.1});
  first.step(some_gradients(parameters));
  std::vector<Tensor> copies = parameters;
  optim::Adam second(pointers(copies), {.lr = 7});
  second.load_state_dict(first.state_dict());
  EXPECT_EQ(second.steps(), 1);
  EXPECT_EQ(second.lr(), 0.1);
  const std::vector<Tensor> gradients = some_gradients(parameters);
  first.step(gradients);
  second.step(gradients);
  for (size_t i = 0; i < copies.size(); ++i) {
    EXPECT_EQ(read_bytes(copies[i]), read_bytes(parameters[i]));
  }
  std::map<std::string, Tensor> state = first.state_dict();
  state["state.0.mean"] = zeros({3});
  state["state.9.mean"] = zeros({3});
  state.erase("state.1.square");
  EXPECT_TRUE(fails_with([&] { second.load_state_dict(state); }, ErrorCode::kInvalidArgument,
                         {"Adam", "of another shape: state.0.mean (3,)", "unexpected: state.9.mean",
                          "missing: state.1.square"}));
}

TEST(Optimizers, HalfTypesKeepMasters) {
  Tensor p = full({4}, 1, kBFloat16);
  optim::SGD optimizer({&p}, {.lr = 1e-3});
  for (int i = 0; i < 8; ++i) optimizer.step({full({4}, 1, kBFloat16)});
  EXPECT_EQ(p.dtype(), kBFloat16);
  // Each step alone would be rounded away: 1 - 1e-3 is 1 in bfloat16.
  EXPECT_EQ(static_cast<float>(p[0].item<bfloat16>()), 0.9921875F);
  EXPECT_NEAR(optimizer.state_dict().at("state.0.master")[0].item<float>(), 0.992, 1e-6);
}

TEST(Optimizers, GradientsComeByNameAndMayBeMissing) {
  nn::Linear layer(2, 2);
  const std::vector<uint8_t> bias = read_bytes(layer.bias);
  const Tensor before = layer.weight;
  optim::SGD optimizer(layer.parameters(), {.lr = 1});
  optimizer.step({{"weight", ones({2, 2})}});
  EXPECT_EQ(read_bytes(layer.weight), read_bytes(before - 1));
  EXPECT_EQ(read_bytes(layer.bias), bias);
  optimizer.step({Tensor(), zeros({2})});
  EXPECT_EQ(optimizer.steps(), 2);
}

TEST(Optimizers, ErrorsSayWhatIsWrong) {
  Tensor p = ones({2}), integers = ones({2}, kInt64);
  optim::Adam optimizer({&p});
  const auto bad = [](auto f, const std::vector<std::string>& parts,
                      ErrorCode code = ErrorCode::kInvalidArgument) {
    EXPECT_TRUE(fails_with(f, code, parts));
  };
  bad([&] { optimizer.step({p, p}); }, {"Adam", "2 gradients for 1"});
  bad([&] { optimizer.step({ones({3})}); }, {"Adam", "float32(3,)", "float32(2,)"});
  bad([&] { optimizer.step({{"weight", p}}); }, {"Adam", "weight", "model.parameters()"});
  bad([&] { optimizer.step(); }, {"Adam", "backward"}, ErrorCode::kFailedPrecondition);
  bad([&] { const optim::SGD sgd({&integers}); }, {"SGD", "int64(2,)"});
  bad([&] { const optim::SGD sgd({&p}, {.nesterov = true}); }, {"SGD", "nesterov"});
  bad([&] { static_cast<void>(optimizer.lr(1)); }, {"group 1"});
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(Gradients, AreClippedByNormAndByValue) {
  std::vector<Tensor> list = {full({2}, 3.f), Tensor(), full({1}, 4.f)};
  const Tensor norm = optim::clip_grad_norm(list, 1);
  EXPECT_NEAR(norm.item<double>(), std::sqrt(9 + 9 + 16), 1e-5);
  EXPECT_NEAR(list[2].item<double>(), 4 / std::sqrt(34), 1e-5);
  EXPECT_FALSE(list[1].defined());
  optim::clip_grad_norm(list, 10);
  EXPECT_NEAR(list[2].item<double>(), 4 / std::sqrt(34), 1e-5);
  std::map<std::string, Tensor> map = {{"a", Tensor::from({-3.f, 0.5f})}};
  optim::clip_grad_value(map, 1);
  EXPECT_EQ(map["a"].to_vector<float>(), (std::vector<float>{-1, 0.5}));
  EXPECT_THROW(optim::clip_grad_norm(list, 0), Error);
}

// Averages of gradients that have ended do not become subnormal numbers, which are slow.
TEST(Optimizers, AveragesOfNothingBecomeNothing) {
  for (const double beta : {0.5, 0.9}) {
    Tensor p = ones({4}), q = ones({4});
    optim::AdamW adam({&p}, {.beta1 = beta});
    optim::SGD sgd({&q}, {.momentum = beta});
    for (int step = 0; step < 1200; ++step) {
      const Tensor gradient = full({4}, step == 0 ? 1e-3F : 0.F);
      adam.step({gradient});
      sgd.step({gradient});
    }
    EXPECT_EQ(adam.state_dict().at("state.0.mean").to_vector<float>(), std::vector<float>(4, 0));
    EXPECT_EQ(sgd.state_dict().at("state.0.momentum").to_vector<float>(), std::vector<float>(4, 0));
  }
}

TEST(Averages, FollowAndAreExchanged) {
  Tensor p = zeros({2});
  optim::EMA averages({&p}, 0.75);
  p = ones({2});
  averages.update();
  averages.update();
  EXPECT_EQ(averages.averages()[0].to_vector<float>(), (std::vector<float>{0.4375, 0.4375}));
  averages.swap();
  EXPECT_EQ(p.to_vector<float>(), (std::vector<float>{0.4375, 0.4375}));
  averages.swap();
  EXPECT_EQ(p.to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(Schedules, AreFunctionsOfTheStep) {
  EXPECT_EQ(optim::constant(3)(100), 3);
  const optim::Schedule linear = optim::linear(1, 0, 10);
  EXPECT_NEAR(linear(5), 0.5, 1e-12);
  EXPECT_EQ(linear(20), 0);
  const optim::Schedule cosine = optim::cosine(1, 10, 0.5);
  EXPECT_EQ(cosine(0), 1);
  EXPECT_NEAR(cosine(5), 0.75, 1e-12);
  EXPECT_NEAR(cosine(10), 0.5, 1e-12);
  EXPECT_NEAR(optim::step_decay(1, 3, 0.5)(7), 0.25, 1e-12);
  EXPECT_NEAR(optim::exponential(1, 0.5)(3), 0.125, 1e-12);
  const optim::Schedule cycle = optim::one_cycle(1, 100);
  EXPECT_NEAR(cycle(0), 0.04, 1e-12);
  EXPECT_NEAR(cycle(30), 1, 1e-12);
  EXPECT_NEAR(cycle(100), 4e-6, 1e-12);
  const optim::Schedule warm = optim::warm_up(3, optim::constant(1));
  EXPECT_NEAR(warm(0), 0.25, 1e-12);
  EXPECT_NEAR(warm(2), 0.75, 1e-12);
  EXPECT_EQ(warm(3), 1);
}

TEST(Schedules, APlateauLowersTheRate) {
  optim::Plateau plateau(1, {.factor = 0.5, .patience = 2, .threshold = 0.1, .least = 0.2});
  for (const double value : {1.0, 0.95, 0.95}) EXPECT_EQ(plateau.next(value), 1);
  EXPECT_EQ(plateau.next(0.95), 0.5);  // the third that is not a tenth better
  EXPECT_EQ(plateau.next(0.8), 0.5);
  EXPECT_EQ(plateau.next(NAN), 0.5);
  EXPECT_EQ(plateau.next(0.8), 0.5);
  optim::Plateau other(7, {.factor = 0.5, .patience = 2, .least = 0.3});
  other.load_state_dict(plateau.state_dict());
  EXPECT_EQ(other.next(0.8), 0.3);
  EXPECT_EQ(plateau.next(0.8), 0.25);
  EXPECT_THROW(other.load_state_dict({}), Error);

  optim::Plateau accuracy(1, {.patience = 0, .greater_is_better = true});
  EXPECT_EQ(accuracy.next(0.5), 1);
  EXPECT_EQ(accuracy.next(0.6), 1);
  EXPECT_EQ(accuracy.next(0.6), 0.1);
}

}  // namespace
}  // namespace sluice::test
