// The scalar expressions of fusion/ir/ops.def over a value type that builds code. What the back
// ends that emit code (LLVM IR, C++ text) know of single ops is this template.
//
// A back end has a template Value<T>, where T is bool, an integer, float or double. Its one member
// `raw` names what has been built, a trivially copyable handle: each function here is instantiated
// for up to 11 types, so a value with a destructor would make it slow to compile. The primitives of
// kernels/math/primitives.h over Value<T> are found by argument-dependent lookup.
#ifndef SLUICE_KERNELS_MATH_OP_EXPRESSIONS_H_
#define SLUICE_KERNELS_MATH_OP_EXPRESSIONS_H_

#include <type_traits>

#include <sluice/dtype.h>
#include "fusion/ir/op.h"
#include "kernels/math/functions.h"

namespace sluice::kernels::math {

// What the expressions of ops.def call `m`.
namespace m {
using namespace sluice::kernels::math;  // NOLINT

// The primitives that expressions name: a qualified name is not looked up by its arguments.
template <typename V>
V add(V a, V b) {
  return add(a, b);
}
template <typename V>
V sub(V a, V b) {
  return sub(a, b);
}
template <typename V>
V mul(V a, V b) {
  return mul(a, b);
}
template <typename V>
V sqrt(V a) {
  return sqrt(a);
}
template <typename M, typename V>
V select(M mask, V a, V b) {
  return select(mask, a, b);
}
}  // namespace m

// `dtype` is always the compute type that the expression is instantiated for
// (fusion::expression_dtype). The result is Raw{} where an op is not defined for it.
template <template <typename> class Value>
class OpExpressions {
 public:
  using Raw = decltype(Value<bool>::raw);
  static_assert(std::is_trivially_copyable_v<Raw>);

  // A pointwise op other than kCast.
  static Raw pointwise(fusion::Op op, DType dtype, const Raw* operands) {
    using fusion::Op;
    switch (op) {
#define SLUICE_POINTWISE(id, name, arity, rule, domain, ...)                         \
  case Op::k##id:                                                                    \
    return instantiate<fusion::domain>(dtype, [&]<typename T>() {                    \
      using V = Value<T>;                                                            \
      [[maybe_unused]] const FirstOperand<fusion::TypeRule::rule, V> a{operands[0]}; \
      [[maybe_unused]] const V b{(arity) > 1 ? operands[1] : Raw{}};                 \
      [[maybe_unused]] const V c{(arity) > 2 ? operands[2] : Raw{}};                 \
      return (__VA_ARGS__).raw;                                                      \
    });
#define SLUICE_INTERNAL(id, name, arity, in, out, ...)             \
  case Op::k##id: {                                                \
    using V = Value<uint64_t>;                                     \
    static_assert(DType::in == DType::kUInt64);                    \
    [[maybe_unused]] const V a{operands[0]};                       \
    [[maybe_unused]] const V b{(arity) > 1 ? operands[1] : Raw{}}; \
    [[maybe_unused]] const V c{(arity) > 2 ? operands[2] : Raw{}}; \
    return (__VA_ARGS__).raw;                                      \
  }
#include "fusion/ir/ops.def"
      default: return {};
    }
  }

  static Raw cast(DType from, DType to, Raw value) {
    return instantiate<fusion::kAll>(from, [&]<typename From>() {
      return instantiate<fusion::kAll>(
          to, [&]<typename To>() { return math::cast<Value<To>>(Value<From>{value}).raw; });
    });
  }

  // A reduction's identity: of one that keeps a position, that of its value.
  static Raw identity(fusion::Op op, DType dtype) {
    using fusion::Op;
    switch (op) {
#define SLUICE_REDUCTION(id, name, domain, identity, ...)         \
  case Op::k##id:                                                 \
    return instantiate<fusion::domain>(dtype, [&]<typename T>() { \
      using V = Value<T>;                                         \
      return (identity).raw;                                      \
    });
#define SLUICE_ARG_REDUCTION SLUICE_REDUCTION
#include "fusion/ir/ops.def"
      default: return {};
    }
  }

  // The reduction of two elements; of one that keeps a position, the mask "b is better than a".
  static Raw combine(fusion::Op op, DType dtype, Raw first, Raw second) {
    using fusion::Op;
    switch (op) {
#define SLUICE_REDUCTION(id, name, domain, identity, ...)         \
  case Op::k##id:                                                 \
    return instantiate<fusion::domain>(dtype, [&]<typename T>() { \
      const Value<T> a{first}, b{second};                         \
      return (__VA_ARGS__).raw;                                   \
    });
#define SLUICE_ARG_REDUCTION SLUICE_REDUCTION
#include "fusion/ir/ops.def"
      default: return {};
    }
  }

 private:
  // Calls `f.template operator()<T>()` for the type of `dtype` if the domain holds it.
  template <fusion::Domain kDomain, typename F>
  static Raw instantiate(DType dtype, const F& f) {
    return visit_dtype(dtype, [&]<typename T>() -> Raw {
      constexpr DType kType = dtype_of<T>();
      if constexpr (is_half(kType) || !fusion::in_domain(kDomain, kType))
        return {};
      else
        return f.template operator()<T>();
    });
  }

  template <fusion::TypeRule kRule, typename V>
  using FirstOperand = std::conditional_t<kRule == fusion::TypeRule::kSelect, Value<bool>, V>;
};

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_OP_EXPRESSIONS_H_
