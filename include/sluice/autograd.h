// Gradients, by reverse-mode automatic differentiation. docs/guide/gradients.md is a tour.
//
//   auto loss = [](const Tensor& w) { return sum(square(w)); };
//   Tensor g = grad(loss)(w);
//
// Gradients are tensors like any others: lazy, fused with what is around them, and differentiable.
// What the backward pass needs of the forward pass is a recipe, not a copy: results of element-wise
// ops are not kept in memory for it but computed again, unless they are still pending.
//
// Floats carry gradients; what is made of integers and bools has none, and step functions (floor,
// sign) end them. Of equal elements, max() and min() give each an equal share; maximum() and
// minimum() give each operand half.
#ifndef SLUICE_AUTOGRAD_H_
#define SLUICE_AUTOGRAD_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <sluice/detail/function.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {

struct GradOptions {
  // What y's elements are weighted by: of y's shape. Not needed if y has one element: 1.
  Tensor seed = {};
  // Makes the gradients differentiable in turn.
  bool create_graph = false;
};

// The gradient of y by each of `xs`, of its shape and dtype: what requires_grad() gave, or what was
// computed from that. An x that y does not depend on has gradient 0. Throws Error
// (kInvalidArgument) for a y of several elements without a seed, and for an x that is not of
// floats.
[[nodiscard]] std::vector<Tensor> gradients(const Tensor& y, std::span<const Tensor> xs,
                                            const GradOptions& options = {},
                                            Location where = Location::current());
[[nodiscard]] std::vector<Tensor> gradients(const Tensor& y, std::initializer_list<Tensor> xs,
                                            const GradOptions& options = {},
                                            Location where = Location::current());
[[nodiscard]] std::vector<Tensor> gradients(const Tensor& y, const std::vector<Tensor>& xs,
                                            const GradOptions& options = {},
                                            Location where = Location::current());
// gradients(y, xs, seed)
template <std::same_as<Tensor> T>
[[nodiscard]] std::vector<Tensor> gradients(const Tensor& y, std::initializer_list<Tensor> xs,
                                            const T& seed, Location where = Location::current()) {
  return gradients(y, xs, GradOptions{.seed = seed}, where);
}

// Adds the gradient of y, which has one element, to Tensor::grad() of every leaf (see
// Tensor::requires_grad()) that y depends on.
void backward(const Tensor& y, Location where = Location::current());
// Likewise of a y of any shape, weighted by `seed`, which has that shape.
void backward(const Tensor& y, const Tensor& seed, Location where = Location::current());

// Forgets Tensor::grad() of each leaf.
void zero_grad(std::span<const Tensor> leaves);
void zero_grad(std::initializer_list<Tensor> leaves);

// x's value as a constant: no gradient flows through it.
Tensor stop_gradient(const Tensor& x, Location where = Location::current());

// During its lifetime what its thread records has no gradient: NoGrad guard;
class [[nodiscard("a guard lasts as long as its name")]] NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool outer_;
};

// An argument that value_and_grad() differentiates by, of type T. There is one for Tensor and
// std::vector<Tensor>; a specialisation makes another type differentiable. It lives while f runs.
//
//   explicit GradArgument(const T& x)         (or T&)
//   value()                                   what f is given
//   void append_to(std::vector<Tensor>* xs)   adds what to differentiate by: detail::as_input(...)
//   result(std::span<const Tensor> gradients) what the caller gets, of a gradient for each of these
template <typename T>
struct GradArgument;

namespace detail {

// f is differentiated during its lifetime, by this thread: gradients are recorded even within a
// NoGrad, and are differentiable themselves if another Differentiation is under way.
class Differentiation {
 public:
  Differentiation();
  ~Differentiation();
  Differentiation(const Differentiation&) = delete;
  Differentiation& operator=(const Differentiation&) = delete;

 private:
  bool outer_;
};

// x as something to differentiate by: itself under another name if it needs a gradient, so that
// gradients of the gradient find it, else a leaf. Throws Error if x is not of floats.
Tensor as_input(const Tensor& x);
// Likewise of a module's parameter, which is a leaf for backward() anyway: unless another
// Differentiation is under way, gradients by it are not differentiable.
Tensor as_parameter(const Tensor& x);

// The gradients of y, of one element, by these; within a Differentiation. `*y` becomes a constant,
// unless another Differentiation is under way.
std::vector<Tensor> gradients_within(Tensor* y, std::span<const Tensor> inputs);

// What a function of tensors is to the library.
using TensorFunction = std::function<Tensor(const Tensor&)>;
using ListFunction = std::function<Tensor(std::span<const Tensor>)>;
using ListRule = std::function<std::vector<Tensor>(const Tensor& g, std::span<const Tensor> xs)>;

Tensor checkpointed(ListFunction f, std::vector<Tensor> xs);
Tensor with_custom_gradient(const ListFunction& forward, ListRule backward, std::vector<Tensor> xs);

template <size_t count, typename F, typename... Lead>
decltype(auto) call_with(F& f, std::span<const Tensor> xs, const Lead&... lead) {
  return [&]<size_t... k>(std::index_sequence<k...>)->decltype(auto) {
    return f(lead..., xs[k]...);
  }
  (std::make_index_sequence<count>());
}

// The gradients that a user's rule returns, as a list.
std::vector<Tensor> as_list(Tensor x);
std::vector<Tensor> as_list(std::vector<Tensor> xs);
template <typename... X>
std::vector<Tensor> as_list(std::tuple<X...> xs) {
  return std::apply([](auto&... x) { return std::vector<Tensor>{std::move(x)...}; }, xs);
}
template <typename A, typename B>
std::vector<Tensor> as_list(std::pair<A, B> xs) {
  return {std::move(xs.first), std::move(xs.second)};
}

// forward(xs...) with the gradient that backward(g, xs...) gives.
template <typename Forward, typename Backward, std::convertible_to<Tensor>... X>
Tensor with_rule_of(const Forward& forward, const Backward& backward, const X&... xs) {
  return with_custom_gradient(
      [forward](std::span<const Tensor> inputs) mutable -> Tensor {
        return call_with<sizeof...(X)>(forward, inputs);
      },
      [backward](const Tensor& g, std::span<const Tensor> inputs) mutable {
        return as_list(call_with<sizeof...(X)>(backward, inputs, g));
      },
      {Tensor(xs)...});
}
template <typename Forward, typename Backward>
Tensor with_rule_of(const Forward& forward, const Backward& backward,
                    const std::vector<Tensor>& xs) {
  return with_custom_gradient(
      [forward](std::span<const Tensor> inputs) mutable -> Tensor {
        return forward(std::vector<Tensor>(inputs.begin(), inputs.end()));
      },
      [backward](const Tensor& g, std::span<const Tensor> inputs) mutable {
        return as_list(backward(g, std::vector<Tensor>(inputs.begin(), inputs.end())));
      },
      xs);
}

template <typename F, typename... X>
auto value_and_gradients(F& f, X&... xs) {
  const Differentiation differentiation;
  std::tuple<GradArgument<std::remove_cv_t<X>>...> arguments(xs...);
  return std::apply(
      [&](auto&... argument) {
        Tensor y = std::apply(f, std::forward_as_tuple(argument.value()...));
        std::vector<Tensor> inputs;
        std::vector<size_t> ends;
        ((argument.append_to(&inputs), ends.push_back(inputs.size())), ...);
        const std::vector<Tensor> all = gradients_within(&y, inputs);
        size_t k = 0;
        auto own = [&] {
          const size_t begin = k == 0 ? 0 : ends[k - 1];
          return std::span<const Tensor>(all).subspan(begin, ends[k++] - begin);
        };
        if constexpr (sizeof...(X) == 1) {
          return std::pair(std::move(y), (argument, ...).result(own()));
        } else {
          return std::pair(std::move(y), std::tuple{argument.result(own())...});
        }
      },
      arguments);
}

}  // namespace detail

template <>
struct GradArgument<Tensor> {
  explicit GradArgument(const Tensor& x) : input(detail::as_input(x)) {}
  const Tensor& value() const { return input; }
  void append_to(std::vector<Tensor>* xs) const;
  static Tensor result(std::span<const Tensor> gradients) { return gradients[0]; }

  Tensor input;
};

template <>
struct GradArgument<std::vector<Tensor>> {
  explicit GradArgument(const std::vector<Tensor>& xs);
  const std::vector<Tensor>& value() const { return inputs; }
  void append_to(std::vector<Tensor>* xs) const;
  static std::vector<Tensor> result(std::span<const Tensor> gradients);

  std::vector<Tensor> inputs;
};

// A function of f's arguments that gives f's value, of one element, and its gradient: a Tensor for
// f(Tensor), a std::vector for f(const std::vector<Tensor>&), and of several arguments a
// std::tuple of these. What f uses beside its arguments is constant to it. Nests: within f, and as
// value_and_grad(grad(f)) of an f whose gradient has one element.
template <typename F>
[[nodiscard]] auto value_and_grad(F f) {
  return [f = std::move(f)]<typename... X>(X&&... xs) mutable {
    return detail::value_and_gradients(f, xs...);
  };
}

// Likewise, the gradient alone.
template <typename F>
[[nodiscard]] auto grad(F f) {
  return [f = std::move(f)]<typename... X>(X&&... xs) mutable {
    return detail::value_and_gradients(f, xs...).second;
  };
}

// f(xs...), of which nothing but the xs is kept for the backward pass, which runs f again. f has to
// do the same both times; it may use other tensors that need gradients.
template <typename F, std::convertible_to<Tensor>... X>
Tensor checkpoint(F f, const X&... xs) {
  return detail::checkpointed(
      [f = std::move(f)](std::span<const Tensor> inputs) mutable -> Tensor {
        return detail::call_with<sizeof...(X)>(f, inputs);
      },
      {Tensor(xs)...});
}

// A function that computes forward(xs...) and has the gradient backward(g, xs...) gives: of g, the
// gradient of its result, a Tensor for each x (one, or a std::tuple, std::pair or std::vector of
// them) of its shape. For f(const std::vector<Tensor>&) backward takes g and the vector.
template <typename Forward, typename Backward>
[[nodiscard]] auto custom_gradient(Forward forward, Backward backward) {
  return [forward = std::move(forward), backward = std::move(backward)]<typename... X>(
             const X&... xs) -> Tensor { return detail::with_rule_of(forward, backward, xs...); };
}

// f(x), and its derivative at x in the direction v, which has x's shape: the Jacobian times v.
std::pair<Tensor, Tensor> jvp(const detail::TensorFunction& f, const Tensor& x, const Tensor& v);

// The Hessian of f, which gives one element, at x, times v, which has x's shape.
Tensor hessian_vector_product(const detail::TensorFunction& f, const Tensor& x, const Tensor& v);

// What grad_check() found.
struct GradCheck {
  bool passed = false;
  double error = 0;       // the greatest: |gradient - difference| / max(1, |difference|)
  int64_t element = 0;    // where that is, counted in row-major order
  double gradient = 0;    // there
  double difference = 0;  // there
  operator bool() const { return passed; }  // NOLINT(google-explicit-constructor)
};

// Compares f's gradient at x, in float64, with central differences, element by element: f runs
// twice for each element of x. Of an f that gives several elements, a weighted sum is compared.
GradCheck grad_check(const detail::TensorFunction& f, const Tensor& x, double tolerance = 1e-6);

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_AUTOGRAD_H_
