// map: element-wise functions of one's own, written as lambdas.
//
//   Tensor y = map({a, b}, [](auto x, auto y) { return x * tanh(y) + 1; });
//   auto [sine, cosine] = map(angle, [](auto t) { return std::tuple(sin(t), cos(t)); });
#ifndef SLUICE_MAP_H_
#define SLUICE_MAP_H_

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sluice/ops.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {

// An element in the function that map() is given. Every element-wise op of <sluice/ops.h> that is
// no composition takes it: the functions of one, two and three operands (exp, maximum, clip, ...)
// and the operators, of Exprs and C++ numbers, with the ops' dtypes; and select() and cast(). It
// has no value yet, so that there is no `if` on it.
class Expr {
 public:
  // `tensor`, not empty, element by element.
  explicit Expr(Tensor tensor) : tensor_(std::move(tensor)) {}

  [[nodiscard]] DType dtype() const { return tensor_.dtype(); }
  [[nodiscard]] const Tensor& tensor() const& { return tensor_; }
  [[nodiscard]] Tensor&& tensor() && { return std::move(tensor_); }

 private:
  Tensor tensor_;
};

// An operand of an op in the function, and where in it the op is.
class ExprArg : public Arg {
 public:
  ExprArg(const Expr& x, Location where = Location::current()) : Arg(x.tensor(), where) {}
  ExprArg(Expr&& x, Location where = Location::current()) : Arg(std::move(x).tensor(), where) {}
};

// Likewise, or a C++ number.
class ExprOperand : public Operand {
 public:
  ExprOperand(const Expr& x, Location where = Location::current()) : Operand(x.tensor(), where) {}
  ExprOperand(Expr&& x, Location where = Location::current())
      : Operand(std::move(x).tensor(), where) {}
  template <Element T>
  ExprOperand(T value, Location where = Location::current()) : Operand(value, where) {}
};

// astype() of an element.
Expr cast(const ExprArg& x, DType dtype);

// where(), by another name: a where condition is not 0, else b.
Expr select(const ExprArg& condition, const ExprOperand& a, const ExprOperand& b);

namespace detail {

// Throws Error (kFailedPrecondition) if the tensor, input `number` of map(), is empty.
Expr map_input(Tensor tensor, size_t number);

inline Tensor map_output(Expr&& x) { return std::move(x).tensor(); }
template <typename... X>
auto map_output(std::tuple<X...>&& outputs) {
  static_assert((std::is_same_v<X, Expr> && ...), "map: the function returns Exprs");
  return std::apply([](X&... x) { return std::tuple(map_output(std::move(x))...); }, outputs);
}
template <typename A, typename B>
auto map_output(std::pair<A, B>&& outputs) {
  return map_output(std::tuple(std::move(outputs)));
}

template <typename T>
concept MapInput = std::is_same_v<std::remove_cvref_t<T>, Tensor>;

}  // namespace detail

// function(x...) of the elements of `inputs`, which broadcast: of a std::tuple (std::tie), a braced
// list or one tensor, as many as the function has parameters, each an Expr (or auto). The function
// returns an Expr, or several as a std::tuple or a pair: the result is a Tensor, or a std::tuple of
// Tensors.
//
// It is called once, here, to record its ops: one kernel, by the engine's fusion, with the bits
// that the same ops have when they are called on tensors. What it captures is what it is now. An op
// that does not go with its operands throws, naming map, the op and its place in the function.
template <detail::MapInput... X, typename F>
auto map(std::tuple<X...> inputs, F&& function) {
  return [&]<size_t... k>(std::index_sequence<k...>) {
    return detail::map_output(
        std::forward<F>(function)(detail::map_input(std::get<k>(std::move(inputs)), k)...));
  }
  (std::index_sequence_for<X...>());
}
template <size_t count, typename F>
auto map(const Tensor (&inputs)[count], F&& function) {
  return [&]<size_t... k>(std::index_sequence<k...>) {
    return detail::map_output(std::forward<F>(function)(detail::map_input(inputs[k], k)...));
  }
  (std::make_index_sequence<count>());
}
template <detail::MapInput X, typename F>
auto map(X&& input, F&& function) {
  return detail::map_output(
      std::forward<F>(function)(detail::map_input(std::forward<X>(input), 0)));
}

}  // namespace sluice
#pragma GCC visibility pop

#include <sluice/detail/expr_ops.h>

#endif  // SLUICE_MAP_H_
