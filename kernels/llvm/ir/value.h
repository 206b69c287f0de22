// The value type that builds LLVM IR: the primitives of kernels/math/primitives.h for code that is
// being emitted, so that the functions of kernels/math and the expressions of ops.def become IR.
//
// A Value<T> is either one T or a vector of them, whichever lane count is current (builder.h)
// when it is made; operands of one operation have the same lane count. Everything here may be
// called only while an ir::Builder is alive on this thread. No LLVM header is needed to use it.
#ifndef SLUICE_KERNELS_LLVM_IR_VALUE_H_
#define SLUICE_KERNELS_LLVM_IR_VALUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include <sluice/dtype.h>
#include "kernels/math/external.h"
#include "kernels/math/primitives.h"

namespace llvm {
class Value;
}  // namespace llvm

namespace sluice::kernels::ir {

// T is bool, an integer, float or double; half types are Value<float>.
template <typename T>
struct Value {
  llvm::Value* raw = nullptr;
};

// The untyped operations behind the primitives. `dtype` is a compute type.
namespace raw {

enum class Unary : uint8_t { kSqrt, kFloor, kCeil, kTrunc, kRint, kAbs };
enum class Binary : uint8_t { kAdd, kSub, kMul, kDiv, kAnd, kOr, kXor, kShl, kShr };
enum class Compare : uint8_t { kLt, kLe, kEq, kNe };

llvm::Value* constant(DType dtype, uint64_t bits);
llvm::Value* unary(Unary op, llvm::Value* a);
llvm::Value* binary(Binary op, DType dtype, llvm::Value* a, llvm::Value* b);
llvm::Value* compare(Compare op, DType dtype, llvm::Value* a, llvm::Value* b);
llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c);
llvm::Value* logical_not(llvm::Value* a);
llvm::Value* select(llvm::Value* mask, llvm::Value* a, llvm::Value* b);
llvm::Value* bits_as(DType to, llvm::Value* a);
// Of floats, NaN first, and -0 below +0.
llvm::Value* maximum(llvm::Value* a, llvm::Value* b);
llvm::Value* minimum(llvm::Value* a, llvm::Value* b);
// Of each table the entry at `index` modulo 16; the integers and the entries are of 64 bits.
std::vector<llvm::Value*> lookup(std::span<const math::Sixteen<double>> tables, llvm::Value* index);
llvm::Value* convert(DType from, DType to, llvm::Value* a);
// Of two values of one type the first, if `mask` holds in all lanes; only that one is computed.
llvm::Value* if_all(llvm::Value* mask, const std::function<llvm::Value*()>& usual,
                    const std::function<llvm::Value*()>& full);
// a 2^n for integers n; null if the target has no instruction for that.
llvm::Value* scale(DType dtype, llvm::Value* a, llvm::Value* n);
// math::canonical_nan(); null likewise.
llvm::Value* canonical_nan(DType dtype, llvm::Value* a);
// math::external_array() over the lanes of `a` and `b`, which is null for a unary function.
llvm::Value* call_external(math::External f, DType dtype, llvm::Value* a, llvm::Value* b);
// `usual`, or in the lanes of `rare` what call_external gives, which is called if there are any.
llvm::Value* unless(llvm::Value* rare, math::External f, DType dtype, llvm::Value* a,
                    llvm::Value* b, llvm::Value* usual);

}  // namespace raw

template <typename T>
Value<T> make_constant(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return {raw::constant(dtype_of<T>(), bits)};
}

#define SLUICE_IR_BINARY(name, op)                                      \
  template <typename T>                                                 \
  Value<T> name(Value<T> a, Value<T> b) {                               \
    return {raw::binary(raw::Binary::op, dtype_of<T>(), a.raw, b.raw)}; \
  }
SLUICE_IR_BINARY(add, kAdd)
SLUICE_IR_BINARY(sub, kSub)
SLUICE_IR_BINARY(mul, kMul)
SLUICE_IR_BINARY(raw_div, kDiv)
SLUICE_IR_BINARY(bit_and, kAnd)
SLUICE_IR_BINARY(bit_or, kOr)
SLUICE_IR_BINARY(bit_xor, kXor)
SLUICE_IR_BINARY(shl, kShl)
SLUICE_IR_BINARY(shr, kShr)
#undef SLUICE_IR_BINARY

#define SLUICE_IR_UNARY(name, op)               \
  template <typename T>                         \
  Value<T> name(Value<T> a) {                   \
    return {raw::unary(raw::Unary::op, a.raw)}; \
  }
SLUICE_IR_UNARY(sqrt, kSqrt)
SLUICE_IR_UNARY(raw_floor, kFloor)
SLUICE_IR_UNARY(raw_ceil, kCeil)
SLUICE_IR_UNARY(raw_trunc, kTrunc)
SLUICE_IR_UNARY(raw_rint, kRint)
SLUICE_IR_UNARY(raw_abs, kAbs)
#undef SLUICE_IR_UNARY

#define SLUICE_IR_COMPARE(name, op)                                       \
  template <typename T>                                                   \
  Value<bool> name(Value<T> a, Value<T> b) {                              \
    return {raw::compare(raw::Compare::op, dtype_of<T>(), a.raw, b.raw)}; \
  }
SLUICE_IR_COMPARE(lt, kLt)
SLUICE_IR_COMPARE(le, kLe)
SLUICE_IR_COMPARE(eq, kEq)
SLUICE_IR_COMPARE(ne, kNe)
#undef SLUICE_IR_COMPARE

template <typename T>
Value<T> fma(Value<T> a, Value<T> b, Value<T> c) {
  return {raw::fma(a.raw, b.raw, c.raw)};
}

inline Value<bool> mask_and(Value<bool> a, Value<bool> b) { return bit_and(a, b); }
inline Value<bool> mask_or(Value<bool> a, Value<bool> b) { return bit_or(a, b); }
inline Value<bool> mask_xor(Value<bool> a, Value<bool> b) { return bit_xor(a, b); }
inline Value<bool> mask_not(Value<bool> a) { return {raw::logical_not(a.raw)}; }

template <typename T>
Value<T> select(Value<bool> mask, Value<T> a, Value<T> b) {
  return {raw::select(mask.raw, a.raw, b.raw)};
}

template <typename Usual, typename Full>
auto if_all(Value<bool> mask, const Usual& usual, const Full& full) -> decltype(full()) {
  return {raw::if_all(
      mask.raw, [&] { return usual().raw; }, [&] { return full().raw; })};
}

template <typename T, typename Otherwise>
Value<T> scale_or(Value<T> a, Value<T> n, const Otherwise& otherwise) {
  llvm::Value* scaled = raw::scale(dtype_of<T>(), a.raw, n.raw);
  return scaled != nullptr ? Value<T>{scaled} : otherwise();
}

template <typename To, typename From>
To bits_as(Value<From> a) {
  return {raw::bits_as(dtype_of<math::ScalarOf<To>>(), a.raw)};
}
template <typename To, size_t kCount>
std::array<To, kCount> lookup(const std::array<math::Sixteen<math::ScalarOf<To>>, kCount>& tables,
                              Value<int64_t> index) {
  const std::vector<llvm::Value*> found = raw::lookup(tables, index.raw);
  std::array<To, kCount> entries;
  for (size_t k = 0; k < kCount; ++k) entries[k] = {found[k]};
  return entries;
}
template <typename T>
Value<T> maximum_of_floats(Value<T> a, Value<T> b) {
  return {raw::maximum(a.raw, b.raw)};
}
template <typename T>
Value<T> minimum_of_floats(Value<T> a, Value<T> b) {
  return {raw::minimum(a.raw, b.raw)};
}

template <typename To, typename From>
To raw_convert(Value<From> a) {
  return {raw::convert(dtype_of<From>(), dtype_of<math::ScalarOf<To>>(), a.raw)};
}

template <typename T>
Value<T> call_external(math::External f, Value<T> a) {
  return {raw::call_external(f, dtype_of<T>(), a.raw, nullptr)};
}
template <typename T>
Value<T> call_external(math::External f, Value<T> a, Value<T> b) {
  return {raw::call_external(f, dtype_of<T>(), a.raw, b.raw)};
}

template <typename T>
Value<T> unless(Value<bool> rare, math::External f, Value<T> a, Value<T> usual) {
  return {raw::unless(rare.raw, f, dtype_of<T>(), a.raw, nullptr, usual.raw)};
}
template <typename T>
Value<T> unless(Value<bool> rare, math::External f, Value<T> a, Value<T> b, Value<T> usual) {
  return {raw::unless(rare.raw, f, dtype_of<T>(), a.raw, b.raw, usual.raw)};
}

}  // namespace sluice::kernels::ir

namespace sluice::kernels::math {

template <typename T>
struct Types<ir::Value<T>> {
  using Scalar = T;
  using Mask = ir::Value<bool>;
  using Int = ir::Value<typename Types<T>::Int>;
  using UInt = ir::Value<typename Types<T>::UInt>;

  template <typename U>
  using Rebind = ir::Value<U>;

  template <typename U>
  static ir::Value<T> constant(U value) {
    return ir::make_constant<T>(static_cast<T>(value));
  }
};

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_LLVM_IR_VALUE_H_
