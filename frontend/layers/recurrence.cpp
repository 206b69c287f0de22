#include "frontend/layers/recurrence.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/autograd/tape.h"
#include "frontend/record.h"

namespace sluice::frontend {
namespace {

using fusion::RecurrenceCell;

// The tensors of a recurrence, in the order of the op's operands.
constexpr int kNumTensors = 6;
template <typename Of>
auto tensors_of(Of& of) {
  return std::array{&of.inputs, &of.weight, &of.input_bias, &of.bias, &of.hidden, &of.cell_state};
}

int64_t width_of(const Recurrence& of) { return of.weight.shape(1); }

// Step `at` of (n, length, width).
Tensor step_of(const Tensor& x, int64_t at) { return squeeze(slice(x, 1, at, at + 1), 1); }

struct State {
  Tensor hidden, cell;
};

// What one step makes of the state, given the product with its input.
State step(const Recurrence& of, const Tensor& weight, const Tensor& inputs, const State& before) {
  Tensor product = matmul(before.hidden, weight);
  if (of.bias.defined()) product = std::move(product) + of.bias;
  const int64_t width = width_of(of);
  const auto gate = [&](const Tensor& gates, int64_t number) {
    return slice(gates, -1, number * width, (number + 1) * width);
  };
  if (of.cell == RecurrenceCell::kRnn) return {tanh(inputs + product), {}};
  if (of.cell == RecurrenceCell::kGru) {
    const Tensor reset = sigmoid(gate(inputs, 0) + gate(product, 0));
    const Tensor update = sigmoid(gate(inputs, 1) + gate(product, 1));
    const Tensor fresh = tanh(gate(inputs, 2) + reset * gate(product, 2));
    return {(Scalar(1) - update) * fresh + update * before.hidden, {}};
  }
  const Tensor all = inputs + product;
  const Tensor next =
      sigmoid(gate(all, 1)) * before.cell + sigmoid(gate(all, 0)) * tanh(gate(all, 2));
  return {sigmoid(gate(all, 3)) * tanh(next), next};
}

// After each step, by ops for each.
std::vector<State> composed(const Recurrence& of) {
  const int64_t length = of.inputs.shape(1);
  const Tensor inputs = of.input_bias.defined() ? of.inputs + of.input_bias : of.inputs;
  const Tensor weight = transpose(of.weight);  // once: its gradient is summed as it is
  const auto first = [&](const Tensor& given) {
    return given.defined()
               ? given
               : zeros({of.inputs.shape(0), width_of(of)}, of.inputs.dtype(), of.inputs.device());
  };
  State state{first(of.hidden), of.cell == RecurrenceCell::kLstm ? first(of.cell_state) : Tensor()};
  std::vector<State> states(length);
  for (int64_t i = 0; i < length; ++i) {
    const int64_t at = of.is_reverse ? length - 1 - i : i;
    state = step(of, weight, step_of(inputs, at), state);
    states[at] = state;
  }
  return states;
}

Tensor stacked(const std::vector<State>& states, Tensor State::*member, int axis) {
  std::vector<Tensor> all;
  all.reserve(states.size());
  for (const State& state : states) all.push_back(state.*member);
  return stack(all, axis);
}

// The hidden states, and an LSTM's cells: (planes, n, length, hidden).
Tensor composed_planes(const Recurrence& of) {
  const std::vector<State> states = composed(of);
  std::vector<Tensor> planes = {stacked(states, &State::hidden, 1)};
  if (of.cell == RecurrenceCell::kLstm) planes.push_back(stacked(states, &State::cell, 1));
  return stack(planes, 0);
}

bool has_call(const Recurrence& of) {
  const DType dtype = of.inputs.dtype();
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return false;
  for (const Tensor* x : tensors_of(of)) {
    if (!x->defined()) continue;
    if (x->dtype() != dtype || x->device().type() != DeviceType::kCpu || x->numel() == 0) {
      return false;
    }
  }
  return true;
}

// `flags`: but for those that `of` says.
Tensor record_call(const char* name, fusion::Op op, const Recurrence& of,
                   fusion::RecurrenceFlags flags, std::span<const Tensor* const> tensors,
                   const Shape& shape) {
  flags.cell = static_cast<int64_t>(of.cell);
  flags.is_reverse = of.is_reverse ? 1 : 0;
  flags.has_hidden = of.hidden.defined() ? 1 : 0;
  flags.has_cell_state = of.cell_state.defined() ? 1 : 0;
  std::vector<int64_t> attrs;
  fusion::RecurrenceFlags::for_each_number(flags, [&](int64_t flag) { attrs.push_back(flag); });
  std::vector<engine::NodeOperand> operands;
  for (const Tensor* x : tensors) {
    if (x->defined()) operands.push_back({x->node_ref().get()});
  }
  const DType dtype = of.inputs.dtype();
  return record({.caller = {.name = name},
                 .op = op,
                 .dtype = dtype,
                 .operand_dtype = dtype,
                 .device = of.inputs.device(),
                 .shape = shape,
                 .operands = operands,
                 .attrs = attrs});
}

// Op::kRecurrence.
Tensor forward(const char* name, const Recurrence& of, bool keeps) {
  const int64_t planes = states_of(of.cell) + (keeps ? kept_of(of.cell) : 0);
  return record_call(name, fusion::Op::kRecurrence, of,
                     {.keeps = keeps ? 1 : 0, .has_bias = of.bias.defined() ? 1 : 0},
                     tensors_of(of),
                     {planes, of.inputs.shape(0), of.inputs.shape(1), width_of(of)});
}

// The gradients of the tensors, by those of the states. `result`: of forward(), which keeps.
std::vector<Tensor> backward(const Recurrence& of, const Tensor& result, const Tensor& g) {
  constexpr const char* kName = "gradients";
  const int64_t n = of.inputs.shape(0), length = of.inputs.shape(1), width = width_of(of);
  const int64_t gates = of.weight.shape(0);
  const Tensor* const tensors[] = {&result, &of.weight, &g, &of.hidden, &of.cell_state};
  const Tensor all = record_call(kName, fusion::Op::kRecurrenceGradient, of, {}, tensors,
                                 {fusion::recurrence_gradient_numel(of.cell, n, length, width)});
  int64_t begin = 0;
  const auto next = [&](const Shape& shape) {
    const int64_t end = begin + shape.numel();
    const Tensor part = reshape(slice(all, 0, std::exchange(begin, end), end), shape);
    return part;
  };
  std::vector<Tensor> gradients(kNumTensors);
  gradients[0] = next({n, length, gates});
  const bool is_gru = of.cell == RecurrenceCell::kGru;
  const Tensor of_product = is_gru ? next({n, length, gates}) : gradients[0];
  gradients[4] = next({n, width});
  if (of.cell == RecurrenceCell::kLstm) gradients[5] = next({n, width});
  // Of the product: that of all steps is one.
  const Tensor rows = reshape(of_product, {n * length, gates});
  const Tensor first = expand_dims(
      of.hidden.defined() ? of.hidden : zeros({n, width}, of.inputs.dtype(), of.inputs.device()),
      1);
  const Tensor states = squeeze(slice(result, 0, 0, 1), 0);
  const Tensor before = of.is_reverse ? concat({slice(states, 1, 1, length), first}, 1)
                                      : concat({first, slice(states, 1, 0, length - 1)}, 1);
  gradients[1] = matmul(transpose(rows), reshape(before, {n * length, width}));
  if (of.bias.defined()) {
    gradients[3] = sum(rows, 0);
    gradients[2] = is_gru ? sum(reshape(gradients[0], rows.shape()), 0) : gradients[3];
  }
  return gradients;
}

// As `of`, of the same tensors under names of their own: what depends on these, and nothing else.
Recurrence renamed(const Recurrence& of) {
  Recurrence again = of;
  for (Tensor* x : tensors_of(again)) {
    if (x->defined() && x->needs_grad()) *x = frontend::renamed("recurrence", *x);
  }
  return again;
}

Tensor with_gradient(const Recurrence& of) {
  std::vector<TapeRef> sources;
  for (const Tensor* x : tensors_of(of)) {
    sources.emplace_back(x->defined() ? tape_of(*x) : nullptr);
  }
  Tensor result;
  {
    const GradModeScope constants(false);
    result = forward("recurrence", of, true);
  }
  const Tensor states = slice(result, 0, 0, states_of(of.cell));
  return frontend::with_gradient(
      states, sources,
      [of, result](const Tensor& g, const Tensor&) {
        if (!grad_mode.is_on) return backward(of, result, g);
        // A gradient that has a gradient: of the ops for each step.
        const Recurrence again = renamed(of);
        std::vector<Tape*> targets;
        for (const Tensor* x : tensors_of(again)) {
          targets.push_back(x->defined() ? tape_of(*x) : nullptr);
        }
        return differentiate(tape_of(composed_planes(again)), g, targets);
      },
      false);
}

}  // namespace

RecurrenceStates recurrence(const char* name, const Recurrence& of) {
  const int64_t last = of.is_reverse ? 0 : of.inputs.shape(1) - 1;
  const bool is_lstm = of.cell == RecurrenceCell::kLstm;
  if (!has_call(of)) {
    const std::vector<State> states = composed(of);
    return {stacked(states, &State::hidden, 1), states[last].hidden, states[last].cell};
  }
  const auto tensors = tensors_of(of);
  const bool needs_gradient =
      grad_mode.is_on && std::any_of(tensors.begin(), tensors.end(), [](const Tensor* x) {
        return x->defined() && x->needs_grad();
      });
  const Tensor planes = needs_gradient ? with_gradient(of) : forward(name, of, false);
  const auto plane = [&](int64_t number) {
    return squeeze(slice(planes, 0, number, number + 1), 0);
  };
  const Tensor hidden = plane(0);
  return {hidden, step_of(hidden, last), is_lstm ? step_of(plane(1), last) : Tensor()};
}

}  // namespace sluice::frontend
