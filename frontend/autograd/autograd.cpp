// Leaves, gradients and guards, as programs ask for them.
#include <sluice/autograd.h>

#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "engine/observe/call_site.h"
#include "frontend/autograd/tape.h"
#include "frontend/checks.h"
#include "frontend/composed/compose.h"
#include "frontend/record.h"

namespace sluice {

using engine::CallSite;
using frontend::describe;
using frontend::fail;
using frontend::grad_mode;
using frontend::GradModeScope;
using frontend::node_of;
using frontend::Tape;
using frontend::tape_of;

namespace {

void check_float(const char* name, const Tensor& x) {
  node_of(name, x);
  if (is_float(x.dtype())) return;
  fail(name, describe(x), " has no gradient: only floats have; astype(kFloat32) gives some");
}

// What y's elements are weighted by.
Tensor seed_of(const char* name, const Tensor& y, const Tensor& seed) {
  if (seed.defined()) {
    if (seed.shape() != y.shape()) {
      fail(name, "the seed ", describe(seed), " has not the shape of ", describe(y));
    }
    frontend::common_device(name, y, seed);
    return astype(seed, y.dtype());
  }
  if (y.numel() != 1) {
    fail(name, describe(y), " has ", y.numel(),
         " elements: give a seed of its shape that weights them, or reduce it, as sum() does");
  }
  return full(y.shape(), 1, y.dtype(), y.device());
}

// Empty where y does not depend on the x.
std::vector<Tensor> gradients_by(const Tensor& y, std::span<const Tensor> xs, const Tensor& seed) {
  std::vector<Tape*> targets;
  for (const Tensor& x : xs) {
    if (tape_of(x) != nullptr) targets.push_back(tape_of(x));
  }
  std::vector<Tensor> found(targets.size());
  if (tape_of(y) != nullptr && !targets.empty()) {
    found = frontend::differentiate(tape_of(y), seed, targets);
  }
  std::vector<Tensor> all;
  auto next = found.begin();
  for (const Tensor& x : xs) {
    all.push_back(tape_of(x) != nullptr ? std::move(*next++) : Tensor());
    if (!all.back().defined()) all.back() = zeros(x.shape(), x.dtype(), x.device());
  }
  return all;
}

}  // namespace

Tensor Tensor::requires_grad(Location where) const {
  const CallSite site(where, "requires_grad");
  check_float("requires_grad", *this);
  return frontend::leaf_of("requires_grad", *this);
}

bool Tensor::needs_grad() const {
  node("needs_grad");
  return tape_of(*this) != nullptr;
}

Tensor Tensor::grad() const {
  node("grad");
  Tape* const tape = tape_of(*this);
  if (tape == nullptr || !tape->is_leaf()) {
    fail("grad", describe(*this), " is no leaf: requires_grad() makes one");
  }
  const std::lock_guard lock(tape->source->mutex);
  return tape->source->grad;
}

void Tensor::zero_grad() const {
  node("zero_grad");
  Tape* const tape = tape_of(*this);
  if (tape == nullptr || !tape->is_leaf()) return;
  Tensor old;  // dies without the lock
  const std::lock_guard lock(tape->source->mutex);
  std::swap(old, tape->source->grad);
}

void zero_grad(std::span<const Tensor> leaves) {
  for (const Tensor& leaf : leaves) leaf.zero_grad();
}
void zero_grad(std::initializer_list<Tensor> leaves) {
  zero_grad(std::span(leaves.begin(), leaves.size()));
}

std::vector<Tensor> gradients(const Tensor& y, std::span<const Tensor> xs,
                              const GradOptions& options, Location where) {
  constexpr const char* kName = "gradients";
  const CallSite site(where, kName);
  check_float(kName, y);
  bool is_any = y.needs_grad();
  for (const Tensor& x : xs) {
    check_float(kName, x);
    is_any = is_any || x.needs_grad();
  }
  if (!is_any && !xs.empty()) {
    fail(kName, "neither ", describe(y), " nor what it is differentiated by needs a gradient: ",
         "compute it from leaves, which requires_grad() makes, and not under a NoGrad");
  }
  const Tensor seed = seed_of(kName, y, options.seed);
  const GradModeScope mode(options.create_graph);
  return frontend::in_name_of(kName, [&] { return gradients_by(y, xs, seed); });
}
std::vector<Tensor> gradients(const Tensor& y, std::initializer_list<Tensor> xs,
                              const GradOptions& options, Location where) {
  return gradients(y, std::span(xs.begin(), xs.size()), options, where);
}
std::vector<Tensor> gradients(const Tensor& y, const std::vector<Tensor>& xs,
                              const GradOptions& options, Location where) {
  return gradients(y, std::span(xs), options, where);
}

void backward(const Tensor& y, Location where) { backward(y, Tensor(), where); }

void backward(const Tensor& y, const Tensor& seed, Location where) {
  constexpr const char* kName = "backward";
  const CallSite site(where, kName);
  check_float(kName, y);
  if (!y.needs_grad()) {
    fail(kName, describe(y),
         " depends on no leaf: requires_grad() makes one, and what is computed ",
         "from it, not under a NoGrad, needs a gradient");
  }
  const Tensor weights = seed_of(kName, y, seed);
  const GradModeScope constants(false);
  for (auto& [leaf, gradient] :
       frontend::in_name_of(kName, [&] { return frontend::differentiate(tape_of(y), weights); })) {
    if (!gradient.defined()) continue;
    const std::lock_guard lock(leaf->source->mutex);
    Tensor& total = leaf->source->grad;
    total = total.defined() ? total + gradient : gradient;
  }
}

Tensor stop_gradient(const Tensor& x, Location where) {
  const CallSite site(where, "stop_gradient");
  node_of("stop_gradient", x);
  if (tape_of(x) == nullptr) return x;
  const GradModeScope constants(false);
  return frontend::renamed("stop_gradient", x);
}

NoGrad::NoGrad() : outer_(std::exchange(grad_mode.is_on, false)) {}
NoGrad::~NoGrad() { grad_mode.is_on = outer_; }

namespace detail {

Differentiation::Differentiation() : outer_(std::exchange(grad_mode.is_on, true)) {
  ++grad_mode.depth;
}
Differentiation::~Differentiation() {
  --grad_mode.depth;
  grad_mode.is_on = outer_;
}

Tensor as_input(const Tensor& x) {
  check_float("grad", x);
  if (grad_mode.is_on && x.needs_grad()) return frontend::renamed("grad", x);
  return frontend::leaf_of("grad", x);
}

Tensor as_parameter(const Tensor& x) {
  const bool is_plain = grad_mode.depth == 1 && x.needs_grad() && tape_of(x)->is_leaf();
  return is_plain ? frontend::leaf_of("grad", x) : as_input(x);
}

std::vector<Tensor> gradients_within(Tensor* y, std::span<const Tensor> inputs) {
  constexpr const char* kName = "grad";
  check_float(kName, *y);
  if (y->numel() != 1) {
    fail(kName, "the function's value ", describe(*y), " has ", y->numel(),
         " elements: only of one is there a gradient; sum() or mean() gives one");
  }
  bool create_graph = grad_mode.depth > 1;
  for (const Tensor& input : inputs) {
    create_graph = create_graph || !tape_of(input)->is_leaf();
  }
  const Tensor seed = seed_of(kName, *y, {});
  const GradModeScope mode(create_graph);
  std::vector<Tensor> all =
      frontend::in_name_of(kName, [&] { return gradients_by(*y, inputs, seed); });
  if (!create_graph) *y = stop_gradient(*y);
  return all;
}

}  // namespace detail
}  // namespace sluice
