// The ops of the functions that map() is given: each records what it is on tensors, as called at
// its place in the function.
#include <sluice/map.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/describe/wording.h"
#include "engine/observe/call_site.h"
#include "frontend/checks.h"
#include "frontend/elementwise.h"

namespace sluice {
namespace frontend {
namespace {

using fusion::Op;

// "map: add: <what is wrong>, called at program.cpp:3".
[[noreturn]] void fail_in_map(const Error& error, const Location& where) {
  throw Error(error.code(),
              absl::StrCat("map: ", error.what(), ", called at ", engine::place_of(where)));
}

// f(), an op of the function, which is `name` to its user.
template <typename F>
[[gnu::always_inline]] inline Expr traced(const char* name, const Location& where, F f) {
  const engine::CallSite site(where, name);
  try {
    return Expr(f());
  } catch (const Error& error) {
    fail_in_map(error, where);
  }
}

Arg arg_of(const ExprOperand& x) {
  return x.consumed() != nullptr ? Arg(std::move(*x.consumed()), x.where())
                                 : Arg(x.tensor(), x.where());
}

Tensor of_two(Op op, const ExprArg& x, const ExprOperand& y) {
  if (op == Op::kPow) return general_pointwise(op, {Operand(x), y}, x.where());
  return y.is_tensor() ? binary(x, arg_of(y), op) : binary(x, y.scalar(), op);
}
Tensor of_two(Op op, Scalar x, const ExprArg& y) {
  if (op == Op::kPow) return general_pointwise(op, {Operand(x), Operand(y)}, y.where());
  return binary(x, y, op);
}

}  // namespace
}  // namespace frontend

using frontend::general_pointwise;
using frontend::of_two;
using frontend::traced;
using frontend::unary;
using fusion::Op;

Expr detail::map_input(Tensor tensor, size_t number) {
  if (!tensor.defined()) frontend::fail_empty(absl::StrCat("map: input ", number).c_str());
  return Expr(std::move(tensor));
}

#define SLUICE_DEFINE_1(id, function, shown)                                       \
  Expr function(const ExprArg& x) {                                                \
    return traced("map: " #shown, x.where(), [&] { return unary(x, Op::k##id); }); \
  }
#define SLUICE_DEFINE_2(id, function, shown)                                           \
  Expr function(const ExprArg& x, const ExprOperand& y) {                              \
    return traced("map: " #shown, x.where(), [&] { return of_two(Op::k##id, x, y); }); \
  }                                                                                    \
  Expr function(Scalar x, const ExprArg& y) {                                          \
    return traced("map: " #shown, y.where(), [&] { return of_two(Op::k##id, x, y); }); \
  }
#define SLUICE_DEFINE_TERNARY(id, function, shown, X, Y, Z, expr)                              \
  Expr function(X x, Y y, Z z) {                                                               \
    return traced("map: " #shown, expr.where(), [&] {                                          \
      return general_pointwise(Op::k##id, {Operand(x), Operand(y), Operand(z)}, expr.where()); \
    });                                                                                        \
  }
#define SLUICE_DEFINE_3(id, function, shown)                                                \
  SLUICE_DEFINE_TERNARY(id, function, shown, const ExprArg&, const ExprOperand&,            \
                        const ExprOperand&, x)                                              \
  SLUICE_DEFINE_TERNARY(id, function, shown, Scalar, const ExprArg&, const ExprOperand&, y) \
  SLUICE_DEFINE_TERNARY(id, function, shown, Scalar, Scalar, const ExprArg&, z)
#define SLUICE_POINTWISE_OP(id, name, arity, ...) SLUICE_DEFINE_##arity(id, name, name)
#include "fusion/ir/ops.def"

#define SLUICE_ALIAS(arity, name, id, of) SLUICE_DEFINE_##arity(id, name, name)
#define SLUICE_UNARY_OPERATOR(symbol, id, name) SLUICE_DEFINE_1(id, operator symbol, name)
#define SLUICE_BINARY_OPERATOR(symbol, id, name) SLUICE_DEFINE_2(id, operator symbol, name)
#define SLUICE_COMPOUND_OPERATOR(symbol, id, name)                                             \
  Expr& operator symbol(Expr& x, const ExprOperand& y) {                                       \
    return x = traced("map: " #name, y.where(),                                                \
                      [&] { return of_two(Op::k##id, ExprArg(std::move(x), y.where()), y); }); \
  }
#include "frontend/functions.def"

SLUICE_DEFINE_TERNARY(Where, select, select, const ExprArg&, const ExprOperand&, const ExprOperand&,
                      x)

Expr cast(const ExprArg& x, DType dtype) {
  return traced("map: cast", x.where(), [&] { return astype(x, dtype); });
}

}  // namespace sluice
