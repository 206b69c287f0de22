// Element-wise ops: the result's shape and dtype from the operands', by the op's type rule.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <sluice/ops.h>
#include "absl/strings/str_join.h"
#include "engine/observe/call_site.h"
#include "engine/record/queue_append.h"
#include "frontend/autograd/tape.h"
#include "frontend/call.h"
#include "frontend/checks.h"
#include "frontend/composed/compose.h"
#include "frontend/elementwise.h"
#include "frontend/record.h"

namespace sluice {
namespace frontend {
namespace {

using fusion::Op;
using fusion::TypeRule;

std::string describe_operands(absl::Span<const Operand> operands) {
  return absl::StrJoin(operands, ", ", [](std::string* out, const Operand& operand) {
    out->append(operand.is_tensor() ? describe(operand.tensor()) : "a scalar");
  });
}

// The dtype that the operands from `first` on are brought to.
DType join_dtypes(absl::Span<const Operand> operands, size_t first) {
  std::optional<DType> dtype;
  for (const Operand& operand : operands.subspan(first)) {
    if (!operand.is_tensor()) continue;
    const DType own = operand.tensor().dtype();
    dtype = dtype ? promote(*dtype, own) : own;
  }
  for (const Operand& operand : operands.subspan(first)) {
    if (!operand.is_tensor()) dtype = join_scalar(dtype, operand.scalar());
  }
  return *dtype;
}

// What operands of several shapes and dtypes are brought to.
struct Common {
  Shape shape;
  DType dtype;
};

Common common(const char* name, absl::Span<const Operand> operands, bool is_select) {
  std::optional<Shape> shape;
  const Tensor* first = nullptr;
  for (const Operand& operand : operands) {
    if (!operand.is_tensor()) continue;
    const Tensor& x = operand.tensor();
    if (first == nullptr) {
      first = &x;
      shape = x.shape();
      continue;
    }
    common_device(name, *first, x);
    shape = broadcast_shapes(*shape, x.shape());
    if (!shape) fail(name, "shapes do not broadcast: ", describe_operands(operands));
  }
  return {*shape, join_dtypes(operands, is_select ? 1 : 0)};
}

[[gnu::always_inline]] inline bool is_alike(const engine::Node& a, const engine::Node& b) {
  return &a == &b ||
         (a.dtype == b.dtype && a.device == b.device && a.layout.shape == b.layout.shape);
}

// An op takes over the handle of a temporary, once.
bool is_consumed(const Operand* operands, size_t k) {
  const Tensor* const own = operands[k].consumed();
  return own != nullptr && std::none_of(operands, operands + k, [own](const Operand& earlier) {
           return earlier.consumed() == own;
         });
}

// The queue has taken over the handle.
inline void empty(Tensor* consumed) {
  if (consumed != nullptr) (void)std::move(*consumed).release().release();
}

Tensor pointwise(const char* name, Op op, absl::Span<const Operand> operands) {
  const fusion::OpInfo& info = fusion::op_info(op);
  const bool is_select = info.rule == TypeRule::kSelect;
  std::array<engine::NodeOperand, 3> nodes;
  const engine::Node* first = nullptr;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (!operands[k].is_tensor()) continue;
    nodes[k].node = node_of(name, operands[k].tensor());
    if (first == nullptr) first = nodes[k].node;
  }
  if (first == nullptr) fail(name, "needs a tensor, was given scalars only");
  auto [shape, dtype] = common(name, operands, is_select);
  if (info.rule == TypeRule::kFloat) dtype = float_type(dtype);
  if (info.rule == TypeRule::kLogical) dtype = DType::kBool;
  if (!fusion::in_domain(info.domain, dtype)) {
    fail(name, "is not defined for ", name_of(dtype), ": ", describe_operands(operands));
  }
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].is_tensor()) continue;
    nodes[k].scalar = scalar_bits(operands[k].scalar(), is_select && k == 0 ? DType::kBool : dtype);
  }
  for (size_t k = 0; k < operands.size(); ++k) nodes[k].consumed = is_consumed(operands.data(), k);
  const bool gives_bool = info.rule == TypeRule::kPredicate || info.rule == TypeRule::kLogical;
  Tensor result = record({.caller = {.name = name},
                          .op = op,
                          .dtype = gives_bool ? DType::kBool : dtype,
                          .operand_dtype = dtype,
                          .device = first->device,
                          .shape = shape,
                          .operands = absl::MakeSpan(nodes.data(), operands.size())});
  for (const Operand& operand : operands) empty(operand.consumed());
  return result;
}

// Powers by a scalar that other ops give, at a fraction of the time. Products of halves are of
// float32, to be rounded once, as pow() rounds them; sqrt() differs from pow() at -inf and -0.
std::optional<Tensor> power_by_scalar(absl::Span<const Operand> operands) {
  const Operand& base = operands[0];
  const Operand& exponent = operands[1];
  if (!base.is_tensor() || exponent.is_tensor() || !node_of("pow", base.tensor())) return {};
  const DType dtype = base.tensor().dtype();
  if (dtype == DType::kBool) return {};
  if (is_integer(dtype) && exponent.scalar().kind() == DTypeKind::kFloat) return {};
  const auto of_base = [&](Op op) { return pointwise("pow", op, operands.first(1)); };
  const double power = exponent.scalar().as<double>();
  if (power == 2) return of_base(Op::kSquare);
  if (is_half(dtype) && (power == 3 || power == 4)) {
    Tensor widened = base.tensor().astype(DType::kFloat32, base.where());
    empty(base.consumed());
    return power_by_scalar({{std::move(widened), base.where()}, exponent})
        ->astype(dtype, base.where());
  }
  if (power == 3) {
    const Operand kept(base.tensor(), base.where());
    Tensor square = pointwise("pow", Op::kSquare, {kept});
    return pointwise("pow", Op::kMul, {base, Operand(std::move(square), base.where())});
  }
  if (power == 4) {
    return pointwise("pow", Op::kSquare, {Operand(of_base(Op::kSquare), base.where())});
  }
  if (is_integer(dtype)) return {};
  if (power == -1) return of_base(Op::kReciprocal);
  return {};
}

// 1 / y if every float type has it without rounding, which few but powers of two have.
std::optional<Scalar> exact_inverse(Scalar y) {
  const double value = y.as<double>(), inverse = 1 / value;
  constexpr double kLeast = 0x1p-14, kMost = 0x1p14;  // float16's normal numbers
  int exponent = 0;
  if (!(std::abs(value) >= kLeast && std::abs(value) <= kMost)) return {};
  if (std::abs(std::frexp(value, &exponent)) != 0.5) return {};
  return inverse;
}

// Division by a power of two as a product: the same bits, in a fraction of the time.
std::optional<Scalar> factor_for(const Operand& x, const Operand& y) {
  if (!x.is_tensor() || y.is_tensor()) return {};
  const engine::Node* const node = x.tensor().node_ref().get();
  if (node == nullptr || !is_float(node->dtype)) return {};
  return exact_inverse(y.scalar());
}

}  // namespace

// The general way.
Tensor general_pointwise(Op op, absl::Span<const Operand> operands, const Location& where) {
  const engine::CallSite site(where, fusion::name_of(op));
  if (op == Op::kPow) {
    if (std::optional<Tensor> power = power_by_scalar(operands)) return *std::move(power);
  }
  if (op == Op::kDiv) {
    if (const std::optional<Scalar> factor = factor_for(operands[0], operands[1])) {
      const Operand product[] = {operands[0], Operand(*factor)};
      return pointwise(fusion::name_of(op), Op::kMul, product);
    }
  }
  return pointwise(fusion::name_of(op), op, operands);
}

namespace {

// Floats of one dtype enter the op as they are.
bool takes_floats_alike(const fusion::OpInfo& info) {
  return (info.domain & fusion::kFloating) != 0 &&
         (info.rule == TypeRule::kSame || info.rule == TypeRule::kFloat ||
          info.rule == TypeRule::kPredicate);
}

// An operand of the short way: an Arg, or a Scalar, of which the compiler knows that it is one.
template <typename X>
inline constexpr bool kIsTensor = std::is_same_v<std::remove_cvref_t<X>, Arg>;
inline engine::Node* node_in(const Arg& x) { return x.tensor().node_ref().get(); }
inline engine::Node* node_in(Scalar) { return nullptr; }
inline Tensor* consumed_of(const Arg& x) { return x.consumed(); }
inline Tensor* consumed_of(Scalar) { return nullptr; }
inline uint64_t bits_of(const Arg&, DType) { return 0; }
inline uint64_t bits_of(Scalar x, DType dtype) { return scalar_bits(x, dtype); }
inline const Location& where_of(const Arg& x) { return x.where(); }
inline const Location& where_of(const Arg& x, const Arg&) { return x.where(); }
inline const Location& where_of(const Arg& x, Scalar) { return x.where(); }
inline const Location& where_of(Scalar, const Arg& y) { return y.where(); }

// What nearly every call is: tensors of one shape and float dtype, and scalars. Nothing has to be
// brought together then. Does what the general way does in a third of its instructions; gives null
// if the call is not of this kind.
template <typename X>
[[gnu::always_inline]] inline engine::NodeRef uniform(Op op, const X& x) {
  const fusion::OpInfo& info = fusion::op_info(op);
  engine::Node* const node = node_in(x);
  if (!takes_floats_alike(info) || node == nullptr || !is_float(node->dtype)) return {};
  const engine::NodeOperand nodes[] = {{node, 0, consumed_of(x) != nullptr}};
  const DType dtype = info.rule == TypeRule::kPredicate ? DType::kBool : node->dtype;
  engine::NodeRef result = engine::Queue::current(node->device)
                               .append_inline({.caller = engine::outermost({where_of(x)}),
                                               .op = op,
                                               .dtype = dtype,
                                               .operand_dtype = node->dtype,
                                               .device = node->device,
                                               .shape = node->layout.shape,
                                               .operands = nodes},
                                              std::integral_constant<size_t, 1>());
  empty(consumed_of(x));
  return result;
}

template <typename X, typename Y>
[[gnu::always_inline]] inline engine::NodeRef uniform(Op op, const X& x, const Y& y) {
  const fusion::OpInfo& info = fusion::op_info(op);
  if (!takes_floats_alike(info)) return {};
  engine::Node* const a = node_in(x);
  engine::Node* const b = node_in(y);
  if ((kIsTensor<X> && a == nullptr) || (kIsTensor<Y> && b == nullptr)) return {};
  const engine::Node* const first = kIsTensor<X> ? a : b;
  if constexpr (kIsTensor<X> && kIsTensor<Y>) {
    if (!is_alike(*b, *a)) return {};
  }
  if (!is_float(first->dtype)) return {};
  const engine::NodeOperand nodes[] = {
      {a, bits_of(x, first->dtype), consumed_of(x) != nullptr},
      {b, bits_of(y, first->dtype), consumed_of(y) != nullptr && consumed_of(y) != consumed_of(x)}};
  const DType dtype = info.rule == TypeRule::kPredicate ? DType::kBool : first->dtype;
  engine::NodeRef result = engine::Queue::current(first->device)
                               .append_inline({.caller = engine::outermost({where_of(x, y)}),
                                               .op = op,
                                               .dtype = dtype,
                                               .operand_dtype = first->dtype,
                                               .device = first->device,
                                               .shape = first->layout.shape,
                                               .operands = nodes},
                                              std::integral_constant<size_t, 2>());
  empty(consumed_of(x));
  empty(consumed_of(y));
  return result;
}

// The op comes last, so that an operator's arguments are where it finds them.
template <typename... X>
[[gnu::noinline]] Tensor general(Op op, const X&... x) {
  const Operand operands[] = {Operand(x)...};
  return general_pointwise(op, operands, where_of(x...));
}

// True if something is known of how an operand was computed: it may need a gradient.
inline bool arg_has_tape(const Arg& x) {
  const engine::Node* const node = node_in(x);
  return node != nullptr && node->attachment.load(std::memory_order_relaxed) != nullptr;
}
inline bool arg_has_tape(Scalar) { return false; }
inline Arg kept(const Arg& x) { return {x.tensor(), x.where()}; }
inline Scalar kept(Scalar x) { return x; }
inline void release(const Arg& x) { x.release(); }
inline void release(Scalar) {}

template <typename... X>
[[gnu::always_inline]] inline Tensor with_tape(Op op, const X&... x) {
  // The temporaries have to live until the tape has what it needs of them.
  engine::NodeRef result = uniform(op, kept(x)...);
  if (result == nullptr) return general(op, x...);
  DType dtype{};
  ((kIsTensor<X> ? void(dtype = node_in(x)->dtype) : void()), ...);
  const engine::NodeOperand operands[] = {{node_in(x), bits_of(x, dtype)}...};
  attach_elementwise(op, dtype, operands, result.get());
  (release(x), ...);
  return Tensor(std::move(result));
}

// While a trace is recorded, and once there have been gradients.
template <typename... X>
[[gnu::always_inline]] inline Tensor observe(Op op, const X&... x) {
  if (engine::is_recording()) return general(op, x...);
  if ((arg_has_tape(x) || ...)) return with_tape(op, x...);
  engine::NodeRef result = uniform(op, x...);
  return result != nullptr ? Tensor(std::move(result)) : general(op, x...);
}
// With their callers' arguments, so that these jump here before they save any register.
template <typename X, typename Y>
[[gnu::noinline]] Tensor observed(X x, Y y, Op op) {
  return observe(op, x, y);
}
[[gnu::noinline]] Tensor observed(const Arg& x, Op op) { return observe(op, x); }

template <typename X, typename Y>
[[gnu::noinline]] Tensor unobserved(X x, Y y, Op op) {
  engine::NodeRef result = uniform(op, x, y);
  if (result == nullptr) return general(op, x, y);
  return Tensor(std::move(result));
}
[[gnu::noinline]] Tensor unobserved(const Arg& x, Op op) {
  engine::NodeRef result = uniform(op, x);
  if (result == nullptr) return general(op, x);
  return Tensor(std::move(result));
}

// Which is asked where nothing has been saved yet.
inline bool is_observed() { return engine::is_recording() || may_have_entries(); }
template <typename X, typename Y>
[[gnu::always_inline]] inline Tensor two(X x, Y y, Op op) {
  if (is_observed()) [[unlikely]]
    return observed<X, Y>(x, y, op);
  return unobserved<X, Y>(x, y, op);
}

// Floats are multiplied by an inverse that is exact.
[[gnu::noinline]] Tensor divided(const Arg& x, Scalar y) {
  const engine::Node* const node = node_in(x);
  const bool floats = node != nullptr && is_float(node->dtype);
  const auto factor = floats ? exact_inverse(y) : std::nullopt;
  return two<const Arg&, Scalar>(x, factor.value_or(y), factor ? Op::kMul : Op::kDiv);
}

}  // namespace

Tensor unary(const Arg& x, Op op) {
  if (is_observed()) [[unlikely]]
    return observed(x, op);
  return unobserved(x, op);
}

Tensor binary(const Arg& x, const Arg& y, Op op) { return two<const Arg&, const Arg&>(x, y, op); }
Tensor binary(const Arg& x, Scalar y, Op op) {
  return op == Op::kDiv ? divided(x, y) : two<const Arg&, Scalar>(x, y, op);
}
Tensor binary(Scalar x, const Arg& y, Op op) { return two<Scalar, const Arg&>(x, y, op); }

namespace {

// By name. pow() is other ops for some exponents.
template <Op op, typename X, typename Y>
Tensor named_binary(const X& x, const Y& y) {
  if constexpr (op == Op::kPow) {
    return general(op, x, y);
  } else {
    return binary(x, y, op);
  }
}

Tensor ternary(const Operand& x, const Operand& y, const Operand& z, Op op) {
  const Operand operands[] = {x, y, z};
  return general_pointwise(op, operands, x.where());
}

// Throws if x = x op y would change x's shape or dtype. What the op itself would not take is left
// to it to say.
[[gnu::noinline]] void check_assignment(const Tensor& x, const Operand& y, Op op,
                                        const char* symbol) {
  const fusion::OpInfo& info = fusion::op_info(op);
  const char* const name = fusion::name_of(op);
  node_of(name, x);
  if (y.is_tensor()) node_of(name, y.tensor());
  const Operand operands[] = {x, y.is_tensor() ? Operand(y.tensor()) : y};
  auto [shape, dtype] = common(name, operands, false);
  if (info.rule == TypeRule::kFloat) dtype = float_type(dtype);
  if (shape == x.shape() && dtype == x.dtype()) return;
  fail(symbol, "the result would be ", describe(dtype, shape), ", but x ", symbol,
       " y keeps x's dtype and shape: of ", describe_operands(operands), "; write x = ", name,
       dtype == x.dtype() ? "(x, y) to have another shape" : "(x, y) to have another dtype",
       shape == x.shape() ? ", or convert y or the result by astype()" : "");
}

Tensor& assign(Tensor& x, const Operand& y, Op op, const char* symbol) {
  const engine::Node* const node = x.node_ref().get();
  const engine::Node* const other = y.is_tensor() ? y.tensor().node_ref().get() : node;
  const bool stays =
      node != nullptr && other != nullptr && is_float(node->dtype) && is_alike(*other, *node);
  if (!stays) check_assignment(x, y, op, symbol);
  const Arg old(std::move(x), y.where());
  if (!y.is_tensor()) return x = binary(old, y.scalar(), op);
  if (y.consumed() != nullptr) return x = binary(old, Arg(std::move(*y.consumed()), y.where()), op);
  return x = binary(old, Arg(y.tensor(), y.where()), op);
}

}  // namespace

DType join_scalar(std::optional<DType> dtype, Scalar scalar) {
  const DType own = scalar.dtype();
  if (!dtype) return own == DType::kFloat64 ? DType::kFloat32 : own;
  if (*dtype == DType::kBool) return is_float(own) ? DType::kFloat32 : own;
  if (is_integer(*dtype) && is_float(own)) return DType::kFloat32;
  return *dtype;
}

DType common_dtype(absl::Span<const Operand> operands) { return join_dtypes(operands, 0); }

}  // namespace frontend

using frontend::assign;
using frontend::binary;
using frontend::named_binary;
using frontend::ternary;
using frontend::unary;
using fusion::Op;

#define SLUICE_DEFINE_1(id, name)                                         \
  Tensor name(const Tensor& x, Location where) {                          \
    return SLUICE_CALL(name, unary(Arg(x, where), Op::k##id));            \
  }                                                                       \
  Tensor name(Tensor&& x, Location where) {                               \
    return SLUICE_CALL(name, unary(Arg(std::move(x), where), Op::k##id)); \
  }
#define SLUICE_DEFINE_TENSORS(id, name, X, x_value, Y, y_value)                                    \
  Tensor name(X x, Y y, Location where) {                                                          \
    return SLUICE_CALL(name, (named_binary<Op::k##id>(Arg(x_value, where), Arg(y_value, where)))); \
  }
#define SLUICE_DEFINE_SCALARS(id, name, X, x_value)                              \
  Tensor name(X x, Scalar y, Location where) {                                   \
    return SLUICE_CALL(name, (named_binary<Op::k##id>(Arg(x_value, where), y))); \
  }                                                                              \
  Tensor name(Scalar y, X x, Location where) {                                   \
    return SLUICE_CALL(name, (named_binary<Op::k##id>(y, Arg(x_value, where)))); \
  }
#define SLUICE_DEFINE_2(id, name)                                                 \
  SLUICE_DEFINE_TENSORS(id, name, const Tensor&, x, const Tensor&, y)             \
  SLUICE_DEFINE_TENSORS(id, name, Tensor&&, std::move(x), const Tensor&, y)       \
  SLUICE_DEFINE_TENSORS(id, name, const Tensor&, x, Tensor&&, std::move(y))       \
  SLUICE_DEFINE_TENSORS(id, name, Tensor&&, std::move(x), Tensor&&, std::move(y)) \
  SLUICE_DEFINE_SCALARS(id, name, const Tensor&, x)                               \
  SLUICE_DEFINE_SCALARS(id, name, Tensor&&, std::move(x))
#define SLUICE_DEFINE_3(id, name)                                     \
  Tensor name(const Operand& x, const Operand& y, const Operand& z) { \
    return SLUICE_CALL(name, ternary(x, y, z, Op::k##id));            \
  }
#define SLUICE_POINTWISE_OP(id, name, arity, ...) SLUICE_DEFINE_##arity(id, name)
#define SLUICE_CALL(name, value) value
#include "fusion/ir/ops.def"
#undef SLUICE_CALL

#define SLUICE_CALL(name, value) frontend::in_name_of(#name, [&] { return value; })
#define SLUICE_ALIAS(arity, name, id, of) SLUICE_DEFINE_##arity(id, name)
#define SLUICE_UNARY_OPERATOR(symbol, id, name) \
  Tensor operator symbol(const Arg& x) { return unary(x, Op::k##id); }
#define SLUICE_BINARY_OPERATOR(symbol, id, name)                                         \
  Tensor operator symbol(const Arg& x, const Arg& y) { return binary(x, y, Op::k##id); } \
  Tensor operator symbol(const Arg& x, Scalar y) { return binary(x, y, Op::k##id); }     \
  Tensor operator symbol(Scalar x, const Arg& y) { return binary(x, y, Op::k##id); }
#define SLUICE_COMPOUND_OPERATOR(symbol, id, name) \
  Tensor& operator symbol(Tensor& x, const Operand& y) { return assign(x, y, Op::k##id, #symbol); }
#include "frontend/functions.def"

Tensor astype(Arg x, DType dtype) {
  return frontend::with_call(x, "astype", [dtype](const Tensor& tensor) {
    if (tensor.dtype() == dtype) return tensor;
    const engine::NodeOperand operand{tensor.node_ref().get()};
    return frontend::record({.caller = {.name = "astype"},
                             .op = Op::kCast,
                             .dtype = dtype,
                             .operand_dtype = tensor.dtype(),
                             .device = tensor.device(),
                             .shape = tensor.shape(),
                             .operands = {&operand, 1}});
  });
}

}  // namespace sluice
