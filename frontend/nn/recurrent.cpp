#include <sluice/nn/recurrent.h>

#include <cmath>
#include <utility>

#include <sluice/nn/init.h>
#include <sluice/ops.h>
#include "absl/strings/str_cat.h"
#include "frontend/checks.h"
#include "frontend/layers/recurrence.h"
#include "frontend/nn/observed.h"

namespace sluice::nn {
namespace {

using frontend::describe;
using frontend::fail;

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
  const int64_t directions = options_.bidirectional ? 2 : 1;

  Tensor layer_input = x;
  std::vector<Tensor> last_hidden, last_cell;
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t number = layer * directions + direction;
      const Weights& weights = weights_[number];
      const Tensor inputs = matmul(layer_input, transpose(weights.input));
      const auto first = [&](const Tensor& given) {
        return given.defined() ? given[number] : Tensor();
      };
      const frontend::RecurrenceStates states =
          frontend::recurrence(name, {.cell = static_cast<fusion::RecurrenceCell>(cell_),
                                      .is_reverse = direction == 1,
                                      .inputs = inputs,
                                      .weight = weights.state,
                                      .input_bias = weights.input_bias,
                                      .bias = weights.state_bias,
                                      .hidden = first(hidden),
                                      .cell_state = first(cell)});
      outputs.push_back(states.hidden);
      last_hidden.push_back(states.last_hidden);
      if (cell_ == Cell::kLstm) last_cell.push_back(states.last_cell);
    }
    layer_input = directions == 1 ? outputs[0] : concat(outputs, 2);
    const bool is_dropped = is_training() && options_.dropout > 0 && layer + 1 < options_.layers;
    if (is_dropped) layer_input = dropout(layer_input, options_.dropout);
  }
  return {frontend::observed(*this, std::move(layer_input)), stack(last_hidden),
          last_cell.empty() ? Tensor() : stack(last_cell)};
}

}  // namespace sluice::nn
