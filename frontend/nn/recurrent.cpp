#include <sluice/nn/recurrent.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <sluice/creation.h>
#include <sluice/nn/init.h>
#include <sluice/ops.h>
#include "absl/strings/str_cat.h"
#include "frontend/checks.h"
#include "frontend/nn/observed.h"

namespace sluice::nn {
namespace {

using frontend::describe;
using frontend::fail;

struct State {
  Tensor hidden, cell;
};

Tensor plus_bias(Tensor x, const Tensor& bias) { return bias.defined() ? std::move(x) + bias : x; }

}  // namespace

Recurrent::Weights::Weights(int64_t inputs, int64_t rows, int64_t hidden, bool has_bias,
                            const std::string& suffix) {
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  input = init::uniform({rows, inputs}, -bound, bound);
  state = init::uniform({rows, hidden}, -bound, bound);
  if (has_bias) {
    input_bias = init::uniform({rows}, -bound, bound);
    state_bias = init::uniform({rows}, -bound, bound);
  }
  register_parameter("weight_ih_" + suffix, input);
  register_parameter("weight_hh_" + suffix, state);
  register_parameter("bias_ih_" + suffix, input_bias);
  register_parameter("bias_hh_" + suffix, state_bias);
}

Recurrent::Recurrent(Cell cell, int64_t inputs, int64_t hidden, const RecurrentOptions& options)
    : cell_(cell), inputs_(inputs), hidden_(hidden), options_(options) {
  const char* const name = cell == Cell::kRnn ? "RNN" : cell == Cell::kGru ? "GRU" : "LSTM";
  if (inputs < 1 || hidden < 1 || options.layers < 1) {
    fail(name, inputs, " inputs, ", hidden, " hidden and ", options.layers,
         " layers: all must be positive");
  }
  const int64_t gates = cell == Cell::kRnn ? 1 : cell == Cell::kGru ? 3 : 4;
  const int64_t directions = options.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const int64_t width = layer == 0 ? inputs : hidden * directions;
    for (int64_t direction = 0; direction < directions; ++direction) {
      weights_.emplace_back(width, gates * hidden, hidden, options.bias,
                            absl::StrCat("l", layer, direction == 1 ? "_reverse" : ""));
    }
  }
  // Their names say already which layer's they are.
  register_modules("", &weights_, [](void* member, const Visit& visit) {
    for (Weights& each : *static_cast<std::vector<Weights>*>(member)) visit("", each);
  });
}

RecurrentResult Recurrent::operator()(const Tensor& x, const Tensor& hidden,
                                      const Tensor& cell) const {
  const char* const name = cell_ == Cell::kRnn ? "RNN" : cell_ == Cell::kGru ? "GRU" : "LSTM";
  if (x.ndim() != 3 || x.shape(2) != inputs_ || x.shape(1) < 1) {
    fail(name, describe(x), " is not (n, length, ", inputs_, ") of at least one step");
  }
  const auto count = static_cast<int64_t>(weights_.size());
  const Shape states{count, x.shape(0), hidden_};
  for (const Tensor* state : {&hidden, &cell}) {
    if (state->defined() && state->shape() != states) {
      fail(name, "state ", describe(*state), " is not ", to_string(states));
    }
  }
  if (cell.defined() && cell_ != Cell::kLstm) fail(name, "has no cells, was given some");
  const int64_t length = x.shape(1), directions = options_.bidirectional ? 2 : 1;

  // What one step makes of the state, given the product with its input.
  const auto step = [&](const Tensor& weight, const Tensor& bias, const Tensor& inputs,
                        const State& before) {
    const Tensor product = plus_bias(matmul(before.hidden, weight), bias);
    const auto gate = [&](const Tensor& of, int64_t number) {
      return slice(of, -1, number * hidden_, (number + 1) * hidden_);
    };
    if (cell_ == Cell::kRnn) return State{tanh(inputs + product), {}};
    if (cell_ == Cell::kGru) {
      const Tensor reset = sigmoid(gate(inputs, 0) + gate(product, 0));
      const Tensor update = sigmoid(gate(inputs, 1) + gate(product, 1));
      const Tensor fresh = tanh(gate(inputs, 2) + reset * gate(product, 2));
      return State{(Scalar(1) - update) * fresh + update * before.hidden, {}};
    }
    const Tensor all = inputs + product;
    const Tensor next =
        sigmoid(gate(all, 1)) * before.cell + sigmoid(gate(all, 0)) * tanh(gate(all, 2));
    return State{sigmoid(gate(all, 3)) * tanh(next), next};
  };

  Tensor layer_input = x;
  std::vector<Tensor> last_hidden, last_cell;
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t number = layer * directions + direction;
      const Weights& weights = weights_[number];
      const Tensor inputs =
          plus_bias(matmul(layer_input, transpose(weights.input)), weights.input_bias);
      const Tensor state_weight =
          transpose(weights.state);  // once: its gradient is summed as it is
      const auto initial = [&](const Tensor& given) {
        return given.defined() ? given[number]
                               : zeros({x.shape(0), hidden_}, inputs.dtype(), x.device());
      };
      State state{initial(hidden), cell_ == Cell::kLstm ? initial(cell) : Tensor()};
      std::vector<Tensor> steps(length);
      for (int64_t i = 0; i < length; ++i) {
        const int64_t at = direction == 0 ? i : length - 1 - i;
        state =
            step(state_weight, weights.state_bias, squeeze(slice(inputs, 1, at, at + 1), 1), state);
        steps[at] = state.hidden;
      }
      outputs.push_back(stack(steps, 1));
      last_hidden.push_back(state.hidden);
      if (cell_ == Cell::kLstm) last_cell.push_back(state.cell);
    }
    layer_input = directions == 1 ? outputs[0] : concat(outputs, 2);
    const bool is_dropped = is_training() && options_.dropout > 0 && layer + 1 < options_.layers;
    if (is_dropped) layer_input = dropout(layer_input, options_.dropout);
  }
  return {frontend::observed(*this, std::move(layer_input)), stack(last_hidden),
          last_cell.empty() ? Tensor() : stack(last_cell)};
}

}  // namespace sluice::nn
