#include "kernels/gpu/emit/expression.h"

#include <utility>

#include "kernels/math/functions.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::Op;

// Where the expressions of ops.def find both the functions and the primitives they are made of.
namespace m {
using namespace sluice::kernels::math;  // NOLINT
using namespace sluice::kernels::cuda;  // NOLINT
}  // namespace m

// Calls `f.template operator()<T>()` for the type of `dtype` if the domain holds it; else "".
template <fusion::Domain kDomain, typename F>
std::string instantiate(DType dtype, const F& f) {
  return visit_dtype(dtype, [&]<typename T>() -> std::string {
    constexpr DType kType = dtype_of<T>();
    if constexpr (is_half(kType) || !fusion::in_domain(kDomain, kType))
      return {};
    else
      return f.template operator()<T>();
  });
}

// What `f` records and returns.
template <typename F>
Expression record(const F& f) {
  Statements statements;
  std::string result = f();
  return {std::move(statements.list), std::move(result)};
}

template <fusion::TypeRule kRule, typename V>
using FirstOperand = std::conditional_t<kRule == fusion::TypeRule::kSelect, Value<bool>, V>;

std::string pointwise_result(Op op, DType dtype, const std::string* operands) {
  switch (op) {
#define SLUICE_POINTWISE(id, name, arity, rule, domain, ...)                         \
  case Op::k##id:                                                                    \
    return instantiate<fusion::domain>(dtype, [&]<typename T>() -> std::string {     \
      using V = Value<T>;                                                            \
      [[maybe_unused]] const FirstOperand<fusion::TypeRule::rule, V> a{operands[0]}; \
      [[maybe_unused]] const V b{(arity) > 1 ? operands[1] : ""};                    \
      [[maybe_unused]] const V c{(arity) > 2 ? operands[2] : ""};                    \
      return (__VA_ARGS__).text;                                                     \
    });
#define SLUICE_INTERNAL(id, name, arity, in, out, ...)          \
  case Op::k##id: {                                             \
    using V = Value<uint64_t>;                                  \
    static_assert(DType::in == DType::kUInt64);                 \
    [[maybe_unused]] const V a{operands[0]};                    \
    [[maybe_unused]] const V b{(arity) > 1 ? operands[1] : ""}; \
    [[maybe_unused]] const V c{(arity) > 2 ? operands[2] : ""}; \
    return (__VA_ARGS__).text;                                  \
  }
#include "fusion/ir/ops.def"
    default: return {};
  }
}

std::string combined(Op op, DType dtype, const std::string& first, const std::string& second) {
  switch (op) {
#define SLUICE_REDUCTION(id, name, domain, identity, ...)                        \
  case Op::k##id:                                                                \
    return instantiate<fusion::domain>(dtype, [&]<typename T>() -> std::string { \
      const Value<T> a{first}, b{second};                                        \
      return (__VA_ARGS__).text;                                                 \
    });
#include "fusion/ir/ops.def"
    default: return {};
  }
}

}  // namespace

const char* library_function(Op op, DType dtype) {
  switch (op) {
#define SLUICE_EXTERNAL(id, name, ulp, arity, float32_is_inline) \
  case Op::k##id:                                                \
    if (is_float(dtype)) return "sl_" #name;                     \
    break;
#include "kernels/math/externals.def"
    default: break;
  }
#define SLUICE_DEVICE_FUNCTION(id, name, arity, domain) \
  if (op == Op::k##id && fusion::in_domain(fusion::domain, dtype)) return "sl_" #name;
#include "kernels/gpu/emit/device_functions.def"
  return nullptr;
}

Expression pointwise(Op op, DType dtype, const std::string* operands) {
  return record([&] {
    const char* function = library_function(op, dtype);
    if (function == nullptr) return pointwise_result(op, dtype, operands);
    return fusion::op_info(op).arity == 1 ? raw::call(dtype, function, operands[0])
                                          : raw::call(dtype, function, operands[0], operands[1]);
  });
}

Expression cast(DType from, DType to, const std::string& operand) {
  return record([&] {
    return instantiate<fusion::kAll>(from, [&]<typename From>() {
      return instantiate<fusion::kAll>(
          to, [&]<typename To>() { return m::cast<Value<To>>(Value<From>{operand}).text; });
    });
  });
}

std::string identity(Op op, DType dtype) {
  switch (op) {
#define SLUICE_REDUCTION(id, name, domain, identity, ...)                        \
  case Op::k##id:                                                                \
    return instantiate<fusion::domain>(dtype, [&]<typename T>() -> std::string { \
      using V = Value<T>;                                                        \
      return (identity).text;                                                    \
    });
#include "fusion/ir/ops.def"
    case Op::kArgMax:
    case Op::kArgMin:
      return instantiate<fusion::kAll>(dtype, [&]<typename T>() {
        using V = Value<T>;
        return (op == Op::kArgMax ? m::lowest<V>() : m::highest<V>()).text;
      });
    default: return {};
  }
}

Expression combine(Op op, DType dtype, const std::string& a, const std::string& b) {
  return record([&] { return combined(op, dtype, a, b); });
}

}  // namespace sluice::kernels::cuda
