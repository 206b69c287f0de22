// Recurrences as library calls: what they give is what ops for each step give, to the bit, and
// their gradients are those of central differences.
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

enum class Kind { kRnn, kGru, kLstm };
constexpr Kind kKinds[] = {Kind::kRnn, Kind::kGru, Kind::kLstm};

struct State {
  Tensor hidden, cell;
};

nn::RecurrentResult run(Kind kind, const nn::Recurrent& layer, const Tensor& x,
                        const State& first) {
  return kind == Kind::kLstm ? layer(x, first.hidden, first.cell) : layer(x, first.hidden);
}

std::unique_ptr<nn::Recurrent> make(Kind kind, int64_t inputs, int64_t hidden,
                                    const nn::RecurrentOptions& options) {
  if (kind == Kind::kRnn) return std::make_unique<nn::RNN>(inputs, hidden, options);
  if (kind == Kind::kGru) return std::make_unique<nn::GRU>(inputs, hidden, options);
  return std::make_unique<nn::LSTM>(inputs, hidden, options);
}

// One step by ops, as their formulas say.
State stepped(Kind kind, const Tensor& inputs, const Tensor& product, const State& before) {
  const auto gate = [&](const Tensor& gates, int64_t number) {
    const int64_t width = before.hidden.shape(-1);
    return slice(gates, -1, number * width, (number + 1) * width);
  };
  if (kind == Kind::kRnn) return {tanh(inputs + product), {}};
  if (kind == Kind::kGru) {
    const Tensor reset = sigmoid(gate(inputs, 0) + gate(product, 0));
    const Tensor update = sigmoid(gate(inputs, 1) + gate(product, 1));
    const Tensor fresh = tanh(gate(inputs, 2) + reset * gate(product, 2));
    return {(1 - update) * fresh + update * before.hidden, {}};
  }
  const Tensor all = inputs + product;
  const Tensor next =
      sigmoid(gate(all, 1)) * before.cell + sigmoid(gate(all, 0)) * tanh(gate(all, 2));
  return {sigmoid(gate(all, 3)) * tanh(next), next};
}

// One layer in both directions, or in one, by ops for each step.
nn::RecurrentResult by_ops(Kind kind, nn::Recurrent& layer, const Tensor& x, const State& first) {
  std::map<std::string, Tensor> weights;
  for (const auto& [name, parameter] : layer.named_parameters()) weights[name] = *parameter;
  const int64_t length = x.shape(1);
  std::vector<Tensor> outputs, hidden, cells;
  for (const std::string suffix : {"_l0", "_l0_reverse"}) {
    if (!weights.contains("weight_hh" + suffix)) continue;
    const Tensor weight = weights["weight_hh" + suffix];
    const bool has_bias = weights.contains("bias_hh" + suffix);
    Tensor inputs = matmul(x, transpose(weights["weight_ih" + suffix]));
    if (has_bias) inputs = inputs + weights["bias_ih" + suffix];
    const Tensor none = zeros({x.shape(0), weight.shape(1)}, x.dtype());
    const auto number = static_cast<int64_t>(outputs.size());
    State state{first.hidden.defined() ? first.hidden[number] : none,
                first.cell.defined() ? first.cell[number] : none};
    std::vector<Tensor> steps(length);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = number == 0 ? i : length - 1 - i;
      Tensor product = matmul(state.hidden, transpose(weight));
      if (has_bias) product = product + weights["bias_hh" + suffix];
      state = stepped(kind, squeeze(slice(inputs, 1, at, at + 1), 1), product, state);
      steps[at] = state.hidden;
    }
    outputs.push_back(stack(steps, 1));
    hidden.push_back(state.hidden);
    cells.push_back(state.cell);
  }
  return {concat(outputs, 2), stack(hidden), kind == Kind::kLstm ? stack(cells) : Tensor()};
}

void expect_same(const nn::RecurrentResult& a, const nn::RecurrentResult& b,
                 const std::string& what) {
  EXPECT_EQ(read_bytes(a.output), read_bytes(b.output)) << what;
  EXPECT_EQ(read_bytes(a.hidden), read_bytes(b.hidden)) << what;
  if (!a.cell.defined()) return;
  EXPECT_EQ(read_bytes(a.cell), read_bytes(b.cell)) << what;
}

struct Case {
  Kind kind;
  int64_t n, length, inputs, hidden;
  bool bias, bidirectional, has_first;
  DType dtype = kFloat32;

  std::string text() const {
    return "kind " + std::to_string(static_cast<int>(kind)) + ", " + std::to_string(n) + "x" +
           std::to_string(length) + "x" + std::to_string(inputs) + ", hidden " +
           std::to_string(hidden) + (bias ? ", bias" : "") +
           (bidirectional ? ", both directions" : "") + (has_first ? ", first state" : "") + ", " +
           std::string(name_of(dtype));
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  int number = 0;
  for (const Kind kind : kKinds) {
    for (const int64_t n : {1, 3, 33}) {
      for (const int64_t hidden : {1, 20, 64}) {
        for (const int flags : {0, 3, 5, 6}) {
          const int64_t length = 1 + number++ % 4 * 2;
          all.push_back({kind, n, length, 5, hidden, (flags & 1) != 0, (flags & 2) != 0,
                         (flags & 4) != 0, number % 3 == 0 ? kFloat64 : kFloat32});
        }
      }
    }
  }
  for (const Kind kind : kKinds) all.push_back({kind, 1, 3, 4, 8, true, false, true});  // tiny
  all.push_back({Kind::kRnn, 2, 4, 3, 11, true, false, true});
  all.push_back({Kind::kLstm, 20, 3, 7, 140, true, true, true});   // dots along the depth
  all.push_back({Kind::kRnn, 20, 3, 7, 800, false, false, true});  // packed in slabs
  all.push_back({Kind::kGru, 300, 2, 7, 200, true, false, true});
  return all;
}

struct Given {
  std::unique_ptr<nn::Recurrent> layer;
  Tensor x;
  State first;

  explicit Given(const Case& of) {
    layer =
        make(of.kind, of.inputs, of.hidden, {.bias = of.bias, .bidirectional = of.bidirectional});
    layer->to(of.dtype);
    x = randn({of.n, of.length, of.inputs}, of.dtype);
    const Shape states{of.bidirectional ? 2 : 1, of.n, of.hidden};
    if (!of.has_first) return;
    first.hidden = randn(states, of.dtype);
    if (of.kind == Kind::kLstm) first.cell = randn(states, of.dtype);
  }
};

TEST(Recurrence, HasTheBitsOfOpsForEachStep) {
  manual_seed(1);
  const ConfigGuard guard;
  for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
    config().compile = mode;
    for (const Case& of : cases()) {
      if (mode == CompileMode::kBlocking && of.hidden != 20) continue;  // to save time
      const Given given(of);
      const nn::RecurrentResult expected = by_ops(of.kind, *given.layer, given.x, given.first);
      sync();
      expect_same(run(of.kind, *given.layer, given.x, given.first), expected, of.text());
      // What gradients need changes nothing.
      const Tensor input = given.x.requires_grad();
      const nn::RecurrentResult result = run(of.kind, *given.layer, input, given.first);
      EXPECT_TRUE(result.output.needs_grad());
      expect_same(result, expected, of.text() + ", with gradients");
    }
  }
}

TEST(Recurrence, TakesWhatIsNotFinite) {
  manual_seed(2);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Kind kind : kKinds) {
    Given given({kind, 3, 4, 6, 20, true, true, true});
    given.x = where(given.x > 1.5, kInf, where(given.x < -1.8, -kNan, given.x * 60));
    expect_same(run(kind, *given.layer, given.x, given.first),
                by_ops(kind, *given.layer, given.x, given.first), "not finite");
  }
}

TEST(Recurrence, GradientsHaveTheCanonicalNaN) {
  if (default_device() != Device::cpu()) GTEST_SKIP() << "a GPU makes it of other ops";
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const Kind kind : kKinds) {
    Given given({kind, 2, 3, 6, 20, true, false, true});
    // Gates that are 0, and gradients that are not finite.
    for (auto& [name, parameter] : given.layer->named_parameters()) {
      if (parameter->ndim() == 1) *parameter = *parameter - 1000;
    }
    std::vector<Tensor> inputs = {given.x.requires_grad(), given.first.hidden.requires_grad()};
    State first{inputs[1], {}};
    if (kind == Kind::kLstm) {
      inputs.push_back(given.first.cell.requires_grad());
      first.cell = inputs[2];
    }
    const nn::RecurrentResult result = run(kind, *given.layer, inputs[0], first);
    Tensor all = sum(result.output * kInf);
    if (result.cell.defined()) all = all + sum(result.cell * kInf);
    bool has_nan = false;
    for (const Tensor& gradient : gradients(all, inputs)) {
      for (const float value : gradient.to_vector<float>()) {
        if (value == value) continue;
        has_nan = true;
        EXPECT_EQ(std::bit_cast<uint32_t>(value), 0x7fc00000u);
      }
    }
    EXPECT_TRUE(has_nan);
  }
}

TEST(Recurrence, TakesViews) {
  manual_seed(3);
  for (const Kind kind : kKinds) {
    Given given({kind, 4, 3, 6, 8, true, false, false});
    for (auto& [name, parameter] : given.layer->named_parameters()) {
      if (parameter->ndim() == 2) {
        *parameter = transpose(stop_gradient(transpose(*parameter) * 1));
      } else {
        *parameter = slice(*parameter + zeros({2, 1}), 0, 1, 2).reshape(-1);
      }
    }
    given.first.hidden = swapaxes(randn({1, 8, 4}), 1, 2);
    if (kind == Kind::kLstm) given.first.cell = broadcast_to(randn({1, 4, 1}), {1, 4, 8});
    const nn::RecurrentResult result = run(kind, *given.layer, given.x, given.first);
    const nn::RecurrentResult expected = by_ops(kind, *given.layer, given.x, given.first);
    EXPECT_TRUE(allclose(result.output, expected.output, 0, 1e-6).item<bool>());
  }
}

TEST(Recurrence, IsOneCall) {
  if (default_device() != Device::cpu()) GTEST_SKIP() << "a GPU makes it of other ops";
  const Given given({Kind::kLstm, 2, 50, 6, 8, true, true, true});
  sync();
  reset_stats();
  nn::RecurrentResult result = run(Kind::kLstm, *given.layer, given.x, given.first);
  sync();
  EXPECT_EQ(stats().library_calls, 2 * 2);  // the products of inputs and the recurrences
  const Tensor input = given.x.requires_grad();
  std::vector<Tensor> inputs = {input};
  for (auto& [name, parameter] : given.layer->named_parameters()) {
    *parameter = parameter->requires_grad();
    inputs.push_back(*parameter);
  }
  sync();
  reset_stats();
  result = run(Kind::kLstm, *given.layer, input, given.first);
  const std::vector<Tensor> all = gradients(sum(square(result.output)) + sum(result.cell), inputs);
  sync();
  // Gradients: of the recurrence, of its weight, of the product's two operands.
  EXPECT_EQ(stats().library_calls, 2 * (2 + 4));
  EXPECT_LE(stats().ops_recorded, 250);
}

// Of all that goes in, by a function of all that comes out.
TEST(Recurrence, GradientsAreThoseOfCentralDifferences) {
  manual_seed(4);
  for (const Kind kind : kKinds) {
    for (const bool bias : {false, true}) {
      for (const bool has_first : {false, true}) {
        const Case of{kind, 2, 4, 3, 5, bias, true, has_first, kFloat64};
        Given given(of);
        const auto loss = [&](const Tensor& x, const State& first) {
          const nn::RecurrentResult result = run(kind, *given.layer, x, first);
          const auto weighted = [](const Tensor& y) {
            return sum(y * cos(arange(0, y.numel(), 1, kFloat64).reshape(y.shape())));
          };
          Tensor all = weighted(result.output) + weighted(square(result.hidden));
          if (result.cell.defined()) all = all + weighted(exp(result.cell));
          return all;
        };
        const auto check = [&](const std::string& what, const Tensor& at,
                               const std::function<Tensor(const Tensor&)>& f) {
          const GradCheck result = grad_check(f, at);
          EXPECT_TRUE(result.passed) << of.text() << ": " << what << ", element " << result.element
                                     << ": " << result.gradient << ", not " << result.difference;
        };
        check("x", given.x, [&](const Tensor& x) { return loss(x, given.first); });
        for (auto& [name, parameter] : given.layer->named_parameters()) {
          const Tensor before = *parameter;
          check(name, before, [&](const Tensor& w) {
            *parameter = w;
            return loss(given.x, given.first);
          });
          *parameter = before;
        }
        if (!has_first) continue;
        check("hidden", given.first.hidden, [&](const Tensor& hidden) {
          return loss(given.x, {hidden, given.first.cell});
        });
        if (kind != Kind::kLstm) continue;
        check("cell", given.first.cell, [&](const Tensor& cell) {
          return loss(given.x, {given.first.hidden, cell});
        });
      }
    }
  }
}

// The derivative of f, which computes gradients, at x in some direction: that of its gradient is
// that of differences.
void expect_derivative(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  const Tensor direction = randn(x.shape(), kFloat64);
  const Tensor input = x.requires_grad();
  const Tensor exact = sum(gradients(f(input), {input})[0] * direction);
  const auto at = [&](double distance) {
    return stop_gradient(f((x + direction * distance).requires_grad()));
  };
  const double difference = ((at(1e-6) - at(-1e-6)) / 2e-6).item<double>();
  EXPECT_NEAR(exact.item<double>(), difference, 1e-6 * std::max(1., std::abs(difference)));
  EXPECT_GT(std::abs(difference), 1e-3);
}

TEST(Recurrence, GradientsHaveGradients) {
  manual_seed(5);
  for (const Kind kind : kKinds) {
    Given given({kind, 2, 3, 3, 4, true, true, true, kFloat64});
    Tensor& weight = *given.layer->named_parameters()[1].second;
    const Tensor original = weight;
    // Of the gradients by the input and by a weight.
    const auto slope = [&](const Tensor& x, const Tensor& w) {
      weight = w;
      const nn::RecurrentResult result = run(kind, *given.layer, x, given.first);
      const std::vector<Tensor> all =
          gradients(sum(exp(result.output)), {x, w}, {.create_graph = true});
      return sum(all[0] * all[0]) + sum(sin(all[1]));
    };
    expect_derivative([&](const Tensor& x) { return slope(x, original.requires_grad()); }, given.x);
    expect_derivative([&](const Tensor& w) { return slope(given.x.requires_grad(), w); }, original);
    weight = original;

    const auto output = [&](const Tensor& x) { return run(kind, *given.layer, x, {}).output; };
    const Tensor direction = randn(given.x.shape(), kFloat64);
    const Tensor exact = jvp(output, given.x, direction).second;
    const Tensor difference =
        (output(given.x + direction * 1e-6) - output(given.x - direction * 1e-6)) / 2e-6;
    EXPECT_TRUE(allclose(exact, difference, 1e-6, 1e-8).item<bool>());
  }
}

// A weight that the first state depends on as well, and a checkpoint around it all.
TEST(Recurrence, GradientsOfWhatDependsOnOneAnother) {
  manual_seed(6);
  nn::GRU layer(4, 4);
  layer.to(kFloat64);
  const Tensor x = randn({3, 5, 4}, kFloat64);
  Tensor& weight = *layer.named_parameters()[1].second;
  const Tensor original = weight;
  const auto f = [&](const Tensor& w) {
    weight = w;
    const Tensor first = expand_dims(tanh(slice(w, 0, 0, 3)), 0);
    return layer(layer(x, first).output, first).output;
  };
  EXPECT_TRUE(grad_check(f, original).passed);
  EXPECT_TRUE(grad_check([&](const Tensor& w) { return checkpoint(f, w); }, original).passed);
  const auto slope = [&](const Tensor& w) {
    return gradients(sum(square(f(w))), {w}, {.create_graph = true})[0];
  };
  expect_derivative([&](const Tensor& w) { return sum(square(slope(w))); }, original);
  const Tensor input = original.requires_grad();
  const Tensor plain = gradients(sum(square(f(input))), {input})[0];
  EXPECT_TRUE(allclose(plain, slope(input), 1e-12, 1e-12).item<bool>());
  weight = original;
}

}  // namespace
}  // namespace sluice::test
