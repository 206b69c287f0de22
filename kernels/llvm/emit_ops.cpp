#include "kernels/llvm/emit_ops.h"

#include <limits>

#include "kernels/math/functions.h"

namespace sluice::kernels::ir {
namespace {

using fusion::Op;

// Where the expressions of ops.def find both the functions and the primitives they are made of.
namespace m {
using namespace sluice::kernels::math;  // NOLINT
using namespace sluice::kernels::ir;    // NOLINT
}  // namespace m

// Calls `f.template operator()<T>()` for the type of `dtype` if the domain holds it; else null.
template <fusion::Domain kDomain, typename F>
llvm::Value* instantiate(DType dtype, const F& f) {
  return visit_dtype(dtype, [&]<typename T>() -> llvm::Value* {
    constexpr DType kType = dtype_of<T>();
    if constexpr (is_half(kType) || !fusion::in_domain(kDomain, kType))
      return nullptr;
    else
      return f.template operator()<T>();
  });
}

template <fusion::TypeRule kRule, typename V>
using FirstOperand = std::conditional_t<kRule == fusion::TypeRule::kSelect, Value<bool>, V>;

}  // namespace

llvm::Value* emit_pointwise(Op op, DType dtype, llvm::Value* const* operands) {
  switch (op) {
#define SLUICE_POINTWISE(id, name, arity, rule, domain, ...)                         \
  case Op::k##id:                                                                    \
    return instantiate<fusion::domain>(dtype, [&]<typename T>() -> llvm::Value* {    \
      using V = Value<T>;                                                            \
      [[maybe_unused]] const FirstOperand<fusion::TypeRule::rule, V> a{operands[0]}; \
      [[maybe_unused]] const V b{(arity) > 1 ? operands[1] : nullptr};               \
      [[maybe_unused]] const V c{(arity) > 2 ? operands[2] : nullptr};               \
      return (__VA_ARGS__).raw;                                                      \
    });
#define SLUICE_INTERNAL(id, name, arity, in, out, ...)               \
  case Op::k##id: {                                                  \
    using V = Value<uint64_t>;                                       \
    static_assert(DType::in == DType::kUInt64);                      \
    [[maybe_unused]] const V a{operands[0]};                         \
    [[maybe_unused]] const V b{(arity) > 1 ? operands[1] : nullptr}; \
    [[maybe_unused]] const V c{(arity) > 2 ? operands[2] : nullptr}; \
    return (__VA_ARGS__).raw;                                        \
  }
#include "fusion/ir/ops.def"
    default: return nullptr;
  }
}

llvm::Value* emit_cast(DType from, DType to, llvm::Value* value) {
  return instantiate<fusion::kAll>(compute_type(from), [&]<typename From>() {
    return instantiate<fusion::kAll>(compute_type(to), [&]<typename To>() {
      return m::cast<Value<To>>(Value<From>{value}).raw;
    });
  });
}

llvm::Value* emit_canonical_nan(DType dtype, llvm::Value* value) {
  if (compute_type(dtype) == DType::kFloat64) return m::canonical_nan(Value<double>{value}).raw;
  return m::canonical_nan(Value<float>{value}).raw;
}

llvm::Value* emit_round_to_bfloat16(llvm::Value* value) {
  return m::round_to_bfloat16(Value<float>{value}).raw;
}

llvm::Value* emit_identity(Op op, DType dtype) {
  switch (op) {
#define SLUICE_REDUCTION(id, name, domain, identity, ...)                         \
  case Op::k##id:                                                                 \
    return instantiate<fusion::domain>(dtype, [&]<typename T>() -> llvm::Value* { \
      using V = Value<T>;                                                         \
      return (identity).raw;                                                      \
    });
#include "fusion/ir/ops.def"
    default: return nullptr;
  }
}

llvm::Value* emit_combine(Op op, DType dtype, llvm::Value* first, llvm::Value* second) {
  switch (op) {
#define SLUICE_REDUCTION(id, name, domain, identity, ...)                         \
  case Op::k##id:                                                                 \
    return instantiate<fusion::domain>(dtype, [&]<typename T>() -> llvm::Value* { \
      const Value<T> a{first}, b{second};                                         \
      return (__VA_ARGS__).raw;                                                   \
    });
#include "fusion/ir/ops.def"
    default: return nullptr;
  }
}

ArgState emit_arg_identity(Op op, DType dtype) {
  llvm::Value* worst = instantiate<fusion::kAll>(dtype, [&]<typename T>() {
    using V = Value<T>;
    return (op == Op::kArgMax ? m::lowest<V>() : m::highest<V>()).raw;
  });
  // The greatest position, so that even an equal element wins.
  return {worst, make_constant<int64_t>(std::numeric_limits<int64_t>::max()).raw};
}

ArgState emit_arg_combine(Op op, DType dtype, ArgState a, ArgState b) {
  Value<bool> take_b;
  ArgState result;
  result.value = instantiate<fusion::kAll>(dtype, [&]<typename T>() {
    const Value<T> va{a.value}, vb{b.value};
    Value<bool> better = op == Op::kArgMax ? lt(va, vb) : lt(vb, va);
    Value<bool> tie = eq(va, vb);
    if constexpr (math::kIsFloat<Value<T>>) {
      const Value<bool> nan_a = ne(va, va), nan_b = ne(vb, vb);
      better = mask_or(better, mask_and(nan_b, mask_not(nan_a)));
      tie = mask_or(tie, mask_and(nan_a, nan_b));
    }
    const Value<int64_t> pa{a.position}, pb{b.position};
    take_b = mask_or(better, mask_and(tie, lt(pb, pa)));
    return select(take_b, vb, va).raw;
  });
  result.position = raw::select(take_b.raw, b.position, a.position);
  return result;
}

}  // namespace sluice::kernels::ir
