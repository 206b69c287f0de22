// Gradients as programs ask for them.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/autograd/tape.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

std::vector<float> host(const Tensor& x) { return x.to_vector<float>(); }
using Floats = std::vector<float>;

template <typename F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Autograd, FunctionsOfOneTensor) {
  const auto f = [](const Tensor& x) { return sum(x * x * x); };
  const Tensor x = Tensor::from({1.f, 2.f, 3.f});
  EXPECT_EQ(host(grad(f)(x)), (Floats{3, 12, 27}));
  const auto [value, gradient] = value_and_grad(f)(x);
  EXPECT_EQ(value.item<float>(), 36);
  EXPECT_EQ(host(gradient), (Floats{3, 12, 27}));
  EXPECT_FALSE(value.needs_grad());
  EXPECT_FALSE(gradient.needs_grad());
  EXPECT_EQ(host(grad([](Tensor v) { return sum(v) * 2; })(x + 1)), (Floats{2, 2, 2}));
}

TEST(Autograd, FunctionsOfSeveral) {
  const Tensor a = Tensor::from({1.f, 2.f}), b = Tensor::from({3.f, 4.f});
  const auto product = [](const Tensor& x, const Tensor& y) { return sum(x * y); };
  const auto [by_a, by_b] = grad(product)(a, b);
  EXPECT_EQ(host(by_a), host(b));
  EXPECT_EQ(host(by_b), host(a));
  const auto [value, both] = value_and_grad(product)(a, b);
  EXPECT_EQ(value.item<float>(), 11);
  EXPECT_EQ(host(std::get<1>(both)), host(a));
  const auto of_list = [](const std::vector<Tensor>& xs) { return sum(xs[0] * xs[0] + xs[1]); };
  const std::vector<Tensor> list = grad(of_list)(std::vector<Tensor>{a, b});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(host(list[0]), (Floats{2, 4}));
  EXPECT_EQ(host(list[1]), (Floats{1, 1}));
}

TEST(Autograd, HigherOrder) {
  const auto f = [](const Tensor& x) { return x * x * x * x; };
  const Tensor x = Tensor::from({2.}).reshape(Shape());
  EXPECT_EQ(grad(f)(x).item<double>(), 32);
  EXPECT_EQ(grad(grad(f))(x).item<double>(), 48);
  EXPECT_EQ(grad(grad(grad(f)))(x).item<double>(), 48);
  // The derivative by x of the derivative by y, which the inner function takes from outside.
  const auto mixed = [&](const Tensor& v) {
    return grad([&](const Tensor& y) { return y * y * v * v; })(x * 1.5);
  };
  EXPECT_EQ(grad(mixed)(x).item<double>(), 2 * 3 * 2 * 2);
}

TEST(Autograd, HigherOrderByOtherValuesThanLeaves) {
  const Tensor leaf = Tensor::from({0.5, 1.5}).requires_grad();
  const Tensor h = exp(leaf);
  const Tensor y = sum(h * h * h);
  (void)y.item<double>();  // h is gone from memory, and computed again
  const Tensor g = gradients(y, {h}, {.create_graph = true})[0];
  EXPECT_TRUE(g.needs_grad());
  const std::vector<double> actual = gradients(sum(g), {h})[0].to_vector<double>();
  const std::vector<double> values = h.to_vector<double>();
  for (int i = 0; i < 2; ++i) EXPECT_DOUBLE_EQ(actual[i], 6 * values[i]);
}

// Parts that lie side by side are joined, whatever their order; others are added among zeros.
TEST(Autograd, SlicesOfOneTensor) {
  const auto at = [](const Tensor& x, int64_t begin, int64_t end) {
    return slice(x, 0, begin, end);
  };
  const Tensor x = Tensor::from({1.f, 2.f, 3.f, 4.f, 5.f});
  const auto whole = [&](const Tensor& v) {
    return sum(at(v, 3, 5) * 3) + sum(at(v, 0, 1)) + sum(at(v, 1, 3) * 2);
  };
  EXPECT_EQ(host(grad(whole)(x)), (Floats{1, 2, 2, 3, 3}));
  const auto gaps = [&](const Tensor& v) { return sum(at(v, 3, 4)) + sum(square(at(v, 1, 2))); };
  EXPECT_EQ(host(grad(gaps)(x)), (Floats{0, 4, 0, 1, 0}));
  const auto overlapping = [&](const Tensor& v) { return sum(at(v, 1, 5) * at(v, 0, 4)); };
  EXPECT_EQ(host(grad(overlapping)(x)), (Floats{2, 4, 6, 8, 4}));
  const auto with_all = [&](const Tensor& v) {
    return sum(at(v, 0, 2)) + sum(at(v, 3, 5)) + sum(v);
  };
  EXPECT_EQ(host(grad(with_all)(x)), (Floats{2, 2, 1, 2, 2}));
  const auto of_two_axes = [&](const Tensor& v) {
    const Tensor m = reshape(outer(v, v), {5, 5});
    return sum(slice(m, 0, 1, 2)) + sum(slice(m, 1, 0, 1));
  };
  EXPECT_TRUE(grad_check(of_two_axes, x.astype(kFloat64)));
  EXPECT_TRUE(
      grad_check([&](const Tensor& v) { return sum(square(grad(gaps)(v))); }, x.astype(kFloat64)));
}

// The gradient of a sequence's steps is one kernel that writes each element once.
TEST(Autograd, StepsOfASequenceCostNoMoreThanTheSequence) {
  const ConfigGuard guard;
  const Tensor x = rand({100, 16}).requires_grad();
  Tensor y = zeros({1, 16});
  for (int64_t i = 0; i < 100; ++i) y = tanh(y + slice(x, 0, i, i + 1));
  const Tensor gradient = gradients(sum(y), {x})[0];
  const Stats before = stats();
  gradient.eval();
  EXPECT_LE(stats().bytes_read - before.bytes_read, 100 * 16 * 4 * 40);
}

// The maxima and the sums of rows are of use for the gradient, and for nobody once that is
// recorded.
TEST(Autograd, WhatTheTapeAloneHoldsIsNotStored) {
  const ConfigGuard guard;
  const Tensor leaf = rand({100, 40}).eval();
  sync();
  const Tensor gradient = [&] {
    const Tensor x = leaf.requires_grad();
    return gradients(sum(square(softmax(x))), {x})[0];
  }();
  const Stats before = stats();
  sync();
  EXPECT_EQ(stats().kernels_launched - before.kernels_launched, 1);
  EXPECT_EQ(stats().bytes_written - before.bytes_written, 100 * 40 * 4);
  EXPECT_TRUE(gradient.is_materialized());
}

// A recurrence: the weight's gradient is one product of all steps, the bias's one sum.
TEST(Autograd, WeightsThatManyStepsReadTakeOneProduct) {
  const ConfigGuard guard;
  constexpr int64_t kSteps = 12;
  const auto run = [](const Tensor& w, const Tensor& b) {
    Tensor h = full({3, 16}, 0.5, w.dtype());
    for (int64_t i = 0; i < kSteps; ++i) h = tanh(matmul(h, w) + b);
    return sum(square(h));
  };
  const Tensor w = (rand({16, 16}) - 0.5).eval(), b = rand({16}).eval();
  const auto library_calls = [&] {
    const Tensor x = w.requires_grad(), y = b.requires_grad();
    const std::vector<Tensor> slopes = gradients(run(x, y), {x, y});
    const Stats before = stats();
    for (const Tensor& slope : slopes) slope.eval();
    sync();
    return stats().library_calls - before.library_calls;
  };
  // Forwards, the gradients of the state but the first, and the weight's.
  EXPECT_EQ(library_calls(), kSteps + (kSteps - 1) + 1);
  const Tensor b64 = b.astype(kFloat64);
  const Tensor w64 = w.astype(kFloat64);
  EXPECT_TRUE(grad_check([&](const Tensor& v) { return run(v, b64); }, w64));
  EXPECT_TRUE(grad_check([&](const Tensor& v) { return run(w64, v); }, b64));
  const auto slope = [&](const Tensor& v) {
    return sum(square(grad([&](const Tensor& u) { return run(w64, u); })(v)));
  };
  EXPECT_TRUE(grad_check(slope, b64));
}

// Not if what is joined were larger than what is added: more rows than the weight has.
TEST(Autograd, ProductsOfManyRowsAreAddedOneByOne) {
  const Tensor w = rand({4, 4}).requires_grad();
  Tensor h = rand({64, 4});
  for (int i = 0; i < 5; ++i) h = matmul(h, w);
  const Tensor slope = gradients(sum(h), {w})[0];
  const Stats before = stats();
  slope.eval();
  sync();
  EXPECT_EQ(stats().library_calls - before.library_calls, 5 + 4 + 5);
}

TEST(Autograd, LeavesAddUp) {
  const Tensor w = Tensor::from({1.f, 2.f}).requires_grad();
  EXPECT_TRUE(w.needs_grad());
  EXPECT_FALSE(w.grad().defined());
  backward(sum(w * w));
  EXPECT_EQ(host(w.grad()), (Floats{2, 4}));
  backward(sum(w * 3));
  EXPECT_EQ(host(w.grad()), (Floats{5, 7}));
  w.zero_grad();
  EXPECT_FALSE(w.grad().defined());
  backward(w * 2, Tensor::from({1.f, 10.f}));
  EXPECT_EQ(host(w.grad()), (Floats{2, 20}));
  zero_grad({w});
  EXPECT_FALSE(w.grad().defined());
}

TEST(Autograd, WhatIsNotReachedHasZeros) {
  const Tensor a = ones({2, 3}).requires_grad(), b = ones({4}, DType::kFloat64).requires_grad();
  const std::vector<Tensor> g = gradients(sum(a), {b, a, a});
  EXPECT_EQ(g[0].shape(), b.shape());
  EXPECT_EQ(g[0].dtype(), DType::kFloat64);
  EXPECT_EQ(g[0].to_vector<double>(), std::vector<double>(4, 0));
  EXPECT_EQ(host(g[1]), Floats(6, 1));
  EXPECT_EQ(host(g[2]), Floats(6, 1));
  EXPECT_EQ(host(gradients(sum(a * 0 + floor(a)), {a})[0]), Floats(6, 0));
}

TEST(Autograd, SeedsAndRepetition) {
  const Tensor x = Tensor::from({1.f, 2.f}).requires_grad();
  const Tensor y = x * x;
  const Tensor seed = Tensor::from({1.f, 10.f});
  EXPECT_EQ(host(gradients(y, {x}, {.seed = seed})[0]), (Floats{2, 40}));
  EXPECT_EQ(host(gradients(y, {x}, seed)[0]), (Floats{2, 40}));
}

TEST(Autograd, NothingIsRecordedUnderNoGrad) {
  const Tensor x = ones({2}).requires_grad();
  {
    const NoGrad guard;
    EXPECT_FALSE((x * 2).needs_grad());
    EXPECT_FALSE(matmul(x, x).needs_grad());
    EXPECT_EQ(host(grad([](const Tensor& v) { return sum(v * v); })(x)), (Floats{2, 2}));
    EXPECT_FALSE((x + x).needs_grad());
  }
  EXPECT_TRUE((x * 2).needs_grad());
  EXPECT_FALSE(stop_gradient(x * 2).needs_grad());
  EXPECT_EQ(host(gradients(sum(x * stop_gradient(x)), {x})[0]), (Floats{1, 1}));
  EXPECT_FALSE((x > 0).needs_grad());
  EXPECT_FALSE(x.astype(DType::kInt32).needs_grad());
  EXPECT_FALSE(floor(x).needs_grad());
  EXPECT_TRUE((x[0] * 2).named("named").needs_grad());
}

TEST(Autograd, CustomGradients) {
  const auto clipped =
      custom_gradient([](const Tensor& x) { return x * 1; },
                      [](const Tensor& g, const Tensor&) { return clip(g, -1, 1); });
  const Tensor x = Tensor::from({2.f, 0.1f}).requires_grad();
  EXPECT_EQ(host(gradients(sum(square(clipped(x)) * 3), {x})[0]), (Floats{1, 0.1f * 6}));
  const auto product = custom_gradient(
      [](const Tensor& a, const Tensor& b) { return a * b; },
      [](const Tensor& g, const Tensor& a, const Tensor& b) { return std::tuple(g * b, g * a); });
  const Tensor y = Tensor::from({5.f, 7.f}).requires_grad();
  const std::vector<Tensor> both = gradients(sum(product(x, y)), {x, y});
  EXPECT_EQ(host(both[0]), host(y));
  EXPECT_EQ(host(both[1]), host(x));
  const auto second = [&](const Tensor& v) { return sum(product(v, v)); };
  EXPECT_EQ(host(grad([&](const Tensor& v) { return sum(grad(second)(v)); })(x)), (Floats{2, 2}));
  const auto of_list = custom_gradient([](const std::vector<Tensor>& xs) { return xs[0] + xs[1]; },
                                       [](const Tensor& g, const std::vector<Tensor>&) {
                                         return std::vector<Tensor>{g * 2, g * 3};
                                       });
  const std::vector<Tensor> list = gradients(sum(of_list(std::vector<Tensor>{x, y})), {x, y});
  EXPECT_EQ(host(list[0]), (Floats{2, 2}));
  EXPECT_EQ(host(list[1]), (Floats{3, 3}));
}

TEST(Autograd, RulesOfTheLibrarysOwn) {
  const Tensor x = Tensor::from({1., 4.}).requires_grad();
  const auto root = [](const Tensor& v) {
    Tensor y;
    {
      const frontend::GradModeScope constants(false);
      y = sqrt(v);
    }
    return frontend::with_gradient(y, std::span(&v, 1), [](const Tensor& g, const Tensor& result) {
      return std::vector<Tensor>{g / (result * 2)};
    });
  };
  EXPECT_EQ(gradients(sum(root(x)), {x})[0].to_vector<double>(), (std::vector<double>{0.5, 0.25}));
  EXPECT_TRUE(grad_check([&](const Tensor& v) { return root(v); }, x));
  EXPECT_TRUE(grad_check(
      [&](const Tensor& v) { return grad([&](auto u) { return sum(root(u)); })(v); }, x, 1e-5));
}

TEST(Autograd, CheckpointsRunAgain) {
  const Tensor w = randn({8, 8}).requires_grad();
  const Tensor x = randn({4, 8}).requires_grad();
  int runs = 0;
  const auto block = [&](const Tensor& v) {
    ++runs;
    return tanh(matmul(tanh(matmul(v, w)), w));
  };
  const std::vector<Tensor> expected = gradients(sum(block(block(x))), {x, w});
  runs = 0;
  const Tensor y = sum(checkpoint(block, checkpoint(block, x)));
  EXPECT_EQ(runs, 2);
  const std::vector<Tensor> actual = gradients(y, {x, w});
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(host(actual[0]), host(expected[0]));
  for (int i = 0; i < 64; ++i) {
    EXPECT_NEAR(host(actual[1])[i], host(expected[1])[i],
                1e-5 * (1 + std::abs(host(expected[1])[i])));
  }
  const auto nested = [&](const Tensor& v) { return checkpoint(block, checkpoint(block, v)); };
  const std::vector<Tensor> inner = gradients(sum(checkpoint(nested, x)), {x, w});
  EXPECT_EQ(host(inner[0]), host(expected[0]));
  const auto smooth = [](const Tensor& v) {
    return checkpoint([](const Tensor& a, const Tensor& b) { return sin(a) * b; }, v, v * v);
  };
  EXPECT_TRUE(grad_check(smooth, x));
  EXPECT_TRUE(grad_check(
      [&](const Tensor& v) { return grad([&](const Tensor& u) { return sum(smooth(u)); })(v); }, x,
      1e-5));
}

TEST(Autograd, JacobianAndHessianProducts) {
  const Tensor x = Tensor::from({1., 2.}), v = Tensor::from({3., 5.});
  const auto [y, along] = jvp([](const Tensor& a) { return a * a * a; }, x, v);
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{1, 8}));
  EXPECT_EQ(along.to_vector<double>(), (std::vector<double>{9, 60}));
  EXPECT_FALSE(along.needs_grad());
  const auto f = [](const Tensor& a) { return sum(a * a * a) + a[0] * a[1]; };
  EXPECT_EQ(hessian_vector_product(f, x, v).to_vector<double>(),
            (std::vector<double>{6 * 3 + 5, 12 * 5 + 3}));
  EXPECT_EQ(
      hessian_vector_product([](const Tensor& a) { return sum(a); }, x, v).to_vector<double>(),
      (std::vector<double>{0, 0}));
  EXPECT_EQ(jvp([](const Tensor& a) { return ones_like(a); }, x, v).second.to_vector<double>(),
            (std::vector<double>{0, 0}));
}

TEST(Autograd, ChecksFindWrongGradients) {
  const auto wrong = custom_gradient([](const Tensor& x) { return x * x; },
                                     [](const Tensor& g, const Tensor& x) { return g * x; });
  const GradCheck found = grad_check(wrong, Tensor::from({1.f, 2.f, 3.f}).requires_grad());
  EXPECT_FALSE(found.passed);
  EXPECT_NE(found.gradient, found.difference);
  EXPECT_TRUE(grad_check([](const Tensor& x) { return exp(x); }, ones({2, 2})));
}

TEST(Autograd, AssignmentAndMethods) {
  Tensor x = ones({3}).requires_grad();
  Tensor y = x;
  y *= 2;
  y += x;
  EXPECT_EQ(host(gradients(y.sum(), {x})[0]), (Floats{3, 3, 3}));
  EXPECT_EQ(host(gradients(x.exp().log().sum() + std::move(y).sum(), {x})[0]), (Floats{4, 4, 4}));
}

TEST(Autograd, Errors) {
  const Tensor x = ones({2, 3}).requires_grad();
  EXPECT_EQ(
      message_of([&] { backward(x * 2); }),
      "backward: float32(2, 3) has 6 elements: give a seed of its shape that weights them, or "
      "reduce it, as sum() does");
  EXPECT_EQ(
      message_of([&] { (void)gradients(x * 2, {x}); }),
      "gradients: float32(2, 3) has 6 elements: give a seed of its shape that weights them, or "
      "reduce it, as sum() does");
  EXPECT_EQ(message_of([&] { (void)gradients(x, {x}, {.seed = ones({3})}); }),
            "gradients: the seed float32(3,) has not the shape of float32(2, 3)");
  EXPECT_EQ(message_of([] { (void)arange(3).requires_grad(); }),
            "requires_grad: int64(3,) has no gradient: only floats have; astype(kFloat32) gives "
            "some");
  EXPECT_EQ(message_of([] { (void)grad([](const Tensor& v) { return sum(v); })(arange(3)); }),
            "grad: int64(3,) has no gradient: only floats have; astype(kFloat32) gives some");
  EXPECT_EQ(
      message_of([] { backward(sum(ones({3}))); }),
      "backward: float32() depends on no leaf: requires_grad() makes one, and what is computed "
      "from it, not under a NoGrad, needs a gradient");
  EXPECT_EQ(
      message_of([&] { (void)grad([](const Tensor& v) { return v; })(ones({3})); }),
      "grad: the function's value float32(3,) has 3 elements: only of one is there a gradient; "
      "sum() or mean() gives one");
  EXPECT_EQ(message_of([&] { (void)(x * 2).grad(); }),
            "grad: float32(2, 3) is no leaf: requires_grad() makes one");
  const auto bad = custom_gradient([](const Tensor& v) { return v * 2; },
                                   [](const Tensor& g, const Tensor&) { return sum(g); });
  EXPECT_EQ(message_of([&] { (void)gradients(sum(bad(x)), {x}); }),
            "gradients: custom_gradient: the rule gave float32() as the gradient of input 0, "
            "float32(2, 3)");
  EXPECT_THROW((void)gradients(sum(ones({3})), {ones({3})}), Error);
  EXPECT_THROW((void)Tensor().requires_grad(), Error);
}

// Bits do not depend on how the program runs.
TEST(Autograd, BitsAreTheSameInEveryMode) {
  const ConfigGuard guard;
  const auto run = [] {
    manual_seed(7);
    const Tensor x = randn({6, 5}), w = randn({5, 4}), b = randn({4});
    const Tensor labels = randint(0, 4, {6, 1});
    const auto loss = [&](const Tensor& v, const Tensor& weight, const Tensor& bias) {
      const Tensor h = gelu(matmul(dropout(v, 0.2), weight) + bias);
      const Tensor n = layer_norm(h, Tensor(), Tensor()) * cumsum(h, 1);
      return mean(logsumexp(n, 1, true) - take_along_axis(n, labels, 1)) + max(n) * 0.1;
    };
    const auto [by_x, by_w, by_b] = grad(loss)(x, w, b);
    std::vector<float> all = host(by_x);
    for (const Tensor& other : {by_w, by_b}) {
      const Floats values = host(other);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  config().compile = CompileMode::kOff;
  const Floats expected = run();
  for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
    for (const bool fuse : {true, false}) {
      for (const int64_t window : {1, 2, 7, 100, 4096}) {
        config().compile = mode;
        config().fuse = fuse;
        config().window_ops = window;
        EXPECT_EQ(run(), expected) << fuse << " " << window;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::test
