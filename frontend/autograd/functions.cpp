// What is made of gradients: rules of the user's, checkpoints, products with derivatives, checks.
#include <sluice/autograd.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "absl/container/flat_hash_set.h"
#include "frontend/autograd/tape.h"
#include "frontend/checks.h"

namespace sluice {

using frontend::describe;
using frontend::fail;
using frontend::grad_mode;
using frontend::GradModeScope;
using frontend::node_of;
using frontend::Tape;
using frontend::tape_of;
using frontend::TapeRef;

namespace {

// What is recorded during its lifetime belongs to a checkpoint of its own.
class CheckpointScope {
 public:
  CheckpointScope() : outer_(grad_mode.checkpoint) {
    static std::atomic<uint32_t> count{0};
    grad_mode.checkpoint = ++count;
  }
  ~CheckpointScope() { grad_mode.checkpoint = outer_; }
  CheckpointScope(const CheckpointScope&) = delete;
  CheckpointScope& operator=(const CheckpointScope&) = delete;

 private:
  const uint32_t outer_;
};

// What was recorded before, and what has been recorded within this checkpoint reads.
std::vector<TapeRef> read_from_outside(Tape* y, uint32_t checkpoint) {
  std::vector<TapeRef> outside;
  std::vector<Tape*> stack{y};
  absl::flat_hash_set<Tape*> seen{y};
  while (!stack.empty()) {
    Tape* const tape = stack.back();
    stack.pop_back();
    if (tape->checkpoint != checkpoint) {
      outside.emplace_back(tape);
      continue;
    }
    for (const frontend::TapeOperand& operand : tape->operands) {
      if (operand.tape && !operand.tape->is_constant && seen.insert(operand.tape.get()).second) {
        stack.push_back(operand.tape.get());
      }
    }
  }
  return outside;
}

void check_alike(const char* name, const char* what, const Tensor& v, const Tensor& x) {
  node_of(name, x);
  node_of(name, v);
  if (v.shape() == x.shape()) return;
  fail(name, what, " ", describe(v), " has not the shape of x, ", describe(x));
}

// The elements, weighted differently and added up: a function of one element.
Tensor weighted(const Tensor& y) {
  if (y.numel() == 1) return sum(y);
  const Tensor weights = cos(arange(0, y.numel(), 1, DType::kFloat64, y.device()) + 1.);
  return sum(reshape(y, {-1}) * weights);
}

}  // namespace

void GradArgument<Tensor>::append_to(std::vector<Tensor>* xs) const { xs->push_back(input); }

GradArgument<std::vector<Tensor>>::GradArgument(const std::vector<Tensor>& xs) {
  for (const Tensor& x : xs) inputs.push_back(detail::as_input(x));
}

void GradArgument<std::vector<Tensor>>::append_to(std::vector<Tensor>* xs) const {
  xs->insert(xs->end(), inputs.begin(), inputs.end());
}

std::vector<Tensor> GradArgument<std::vector<Tensor>>::result(std::span<const Tensor> gradients) {
  return {gradients.begin(), gradients.end()};
}

namespace detail {

std::vector<Tensor> as_list(Tensor x) { return {std::move(x)}; }
std::vector<Tensor> as_list(std::vector<Tensor> xs) { return xs; }

Tensor checkpointed(ListFunction f, std::vector<Tensor> xs) {
  for (const Tensor& x : xs) node_of("checkpoint", x);
  if (!grad_mode.is_on) return f(xs);
  std::vector<TapeRef> sources;
  std::vector<Tensor> inputs;
  Tensor y;
  {
    const CheckpointScope scope;
    for (const Tensor& x : xs) {
      inputs.push_back(x.needs_grad() ? frontend::leaf_of("checkpoint", x) : x);
    }
    const Tensor result = f(inputs);
    if (!result.needs_grad()) return result;
    for (const Tensor& x : xs) sources.emplace_back(tape_of(x));
    for (TapeRef& other : read_from_outside(tape_of(result), grad_mode.checkpoint)) {
      sources.push_back(std::move(other));
    }
    y = stop_gradient(result);
  }
  return frontend::with_gradient(
      y, sources,
      [f = std::move(f), xs = std::move(xs), sources](const Tensor& g, const Tensor&) {
        std::vector<Tensor> again;
        std::vector<Tape*> targets;
        for (const Tensor& x : xs) {
          again.push_back(x.needs_grad() ? as_input(x) : x);
          targets.push_back(tape_of(again.back()));
        }
        for (size_t k = xs.size(); k < sources.size(); ++k) targets.push_back(sources[k].get());
        const bool create_graph = grad_mode.is_on;
        const GradModeScope gradients_too(true);
        const Tensor result = f(again);
        const GradModeScope mode(create_graph);
        return frontend::differentiate(tape_of(result), g, targets);
      },
      false);
}

Tensor with_custom_gradient(const ListFunction& forward, ListRule backward,
                            std::vector<Tensor> xs) {
  constexpr const char* kName = "custom_gradient";
  for (const Tensor& x : xs) node_of(kName, x);
  Tensor y;
  {
    const GradModeScope constants(false);
    y = forward(xs);
  }
  node_of(kName, y);
  const std::vector<Tensor> inputs = xs;
  return frontend::with_gradient(
      y, inputs,
      [backward = std::move(backward), xs = std::move(xs)](const Tensor& g, const Tensor&) {
        return frontend::checked_gradients(kName, backward(g, xs), xs);
      },
      false);
}

}  // namespace detail

std::pair<Tensor, Tensor> jvp(const detail::TensorFunction& f, const Tensor& x, const Tensor& v) {
  check_alike("jvp", "v", v, x);
  const detail::Differentiation differentiation;
  const Tensor input = detail::as_input(x);
  const Tensor y = f(input);
  const bool create_graph = grad_mode.depth > 1 || x.needs_grad();
  // The vector-Jacobian product is linear in its vector u, whatever that is: its derivative by u in
  // the direction v is the Jacobian-vector product.
  const Tensor u = ones_like(y).requires_grad();
  if (!y.needs_grad()) return {y, zeros_like(y)};
  const Tensor product = gradients(y, {input}, {.seed = u, .create_graph = true})[0];
  if (!product.needs_grad()) return {create_graph ? y : stop_gradient(y), zeros_like(y)};
  Tensor result = gradients(product, {u}, {.seed = v, .create_graph = create_graph})[0];
  return {create_graph ? y : stop_gradient(y), std::move(result)};
}

Tensor hessian_vector_product(const detail::TensorFunction& f, const Tensor& x, const Tensor& v) {
  constexpr const char* kName = "hessian_vector_product";
  check_alike(kName, "v", v, x);
  const detail::Differentiation differentiation;
  const Tensor input = detail::as_input(x);
  const Tensor y = f(input);
  if (y.numel() != 1) fail(kName, "f gave ", describe(y), ", not one element");
  if (!y.needs_grad()) return zeros_like(x);
  const Tensor gradient = gradients(y, {input}, {.create_graph = true})[0];
  if (!gradient.needs_grad()) return zeros_like(x);
  const bool create_graph = grad_mode.depth > 1 || x.needs_grad();
  return gradients(gradient, {input}, {.seed = v, .create_graph = create_graph})[0];
}

GradCheck grad_check(const detail::TensorFunction& f, const Tensor& x, double tolerance) {
  node_of("grad_check", x);
  const Tensor exact = stop_gradient(astype(x, DType::kFloat64));
  const std::vector<double> values = exact.to_vector<double>();
  std::vector<double> gradient;
  {
    const detail::Differentiation differentiation;
    const Tensor input = detail::as_input(exact);
    Tensor y = weighted(f(input));
    gradient = detail::gradients_within(&y, {&input, 1})[0].to_vector<double>();
  }
  const NoGrad guard;
  GradCheck result{.passed = true};
  for (size_t i = 0; i < values.size(); ++i) {
    const double step = 1e-5 * std::max(1., std::abs(values[i]));
    double sides[2];
    for (int side = 0; side < 2; ++side) {
      std::vector<double> moved = values;
      moved[i] += side == 0 ? -step : step;
      sides[side] =
          weighted(f(Tensor::from(moved, x.shape()).to(x.device()))).template item<double>();
    }
    const double difference = (sides[1] - sides[0]) / (2 * step);
    const double error = std::abs(gradient[i] - difference) / std::max(1., std::abs(difference));
    if (!(error <= tolerance)) result.passed = false;
    if (i == 0 || !(error <= result.error)) {
      result = {result.passed, error, static_cast<int64_t>(i), gradient[i], difference};
    }
  }
  return result;
}

}  // namespace sluice
