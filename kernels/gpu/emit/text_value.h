// The value type that builds C++ text: the primitives of kernels/math/primitives.h for code that is
// being emitted, so that the functions of kernels/math and the expressions of ops.def become text.
//
// A Value names an operand, a literal or the result of an earlier statement. Each operation adds a
// statement to the Statements being recorded on this thread, which must exist and own all names but
// the operands'.
#ifndef SLUICE_KERNELS_GPU_EMIT_TEXT_VALUE_H_
#define SLUICE_KERNELS_GPU_EMIT_TEXT_VALUE_H_

#include <array>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include <sluice/dtype.h>
#include "kernels/math/external.h"
#include "kernels/math/primitives.h"

namespace sluice::kernels::cuda {

// `const <type of dtype> t<k> = <expression>;`, where k is the statement's number.
struct Statement {
  DType dtype;
  std::string expression;
};

// Records the statements made on this thread while it lives; these don't nest.
class Statements {
 public:
  Statements();
  ~Statements();
  Statements(const Statements&) = delete;
  Statements& operator=(const Statements&) = delete;

  std::vector<Statement> list;
  std::deque<std::string> names;
};

// T is bool, an integer, float or double; half types are Value<float>. Trivially copyable: with a
// string in it, ops.def takes ten times as long to compile.
template <typename T>
struct Value {
  const char* raw;
};

// The untyped operations behind the primitives. `dtype` is a compute type.
namespace raw {

using Name = const char*;

Name literal(bool value);
Name literal(float value);
Name literal(double value);
Name literal(DType dtype, int64_t value);
Name literal(DType dtype, uint64_t value);

// Adds a statement and returns its name.
Name statement(DType dtype, std::string expression);
// a <op> b, where integers wrap.
Name arithmetic(DType dtype, const char* op, Name a, Name b);
// The operands' dtype is left to C++'s promotions, the result is converted back.
Name binary(DType dtype, const char* op, Name a, Name b);
Name compare(const char* op, Name a, Name b);
Name call(DType dtype, const char* function, Name a);
Name call(DType dtype, const char* function, Name a, Name b);
Name fma(DType dtype, Name a, Name b, Name c);
Name select(DType dtype, Name mask, Name a, Name b);
Name bits_as(DType from, DType to, Name a);
// Selects by the index's bits from `count` entries, a power of two, in memory order.
Name lookup(const double* table, int count, Name index);
Name convert(DType to, Name a);
const char* external_name(math::External f);

}  // namespace raw

template <typename T>
Value<T> make_constant(T value) {
  if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T>)
    return {raw::literal(value)};
  else if constexpr (std::is_signed_v<T>)
    return {raw::literal(dtype_of<T>(), int64_t{value})};
  else
    return {raw::literal(dtype_of<T>(), uint64_t{value})};
}

#define SLUICE_TEXT_BINARY(name, form, op)               \
  template <typename T>                                  \
  Value<T> name(Value<T> a, Value<T> b) {                \
    return {raw::form(dtype_of<T>(), op, a.raw, b.raw)}; \
  }
SLUICE_TEXT_BINARY(add, arithmetic, "+")
SLUICE_TEXT_BINARY(sub, arithmetic, "-")
SLUICE_TEXT_BINARY(mul, arithmetic, "*")
SLUICE_TEXT_BINARY(raw_div, binary, "/")
SLUICE_TEXT_BINARY(bit_and, binary, "&")
SLUICE_TEXT_BINARY(bit_or, binary, "|")
SLUICE_TEXT_BINARY(bit_xor, binary, "^")
SLUICE_TEXT_BINARY(shl, arithmetic, "<<")
SLUICE_TEXT_BINARY(shr, binary, ">>")
#undef SLUICE_TEXT_BINARY

#define SLUICE_TEXT_UNARY(name, function)               \
  template <typename T>                                 \
  Value<T> name(Value<T> a) {                           \
    return {raw::call(dtype_of<T>(), function, a.raw)}; \
  }
SLUICE_TEXT_UNARY(sqrt, "sl_sqrt")
SLUICE_TEXT_UNARY(raw_floor, "sl_floor")
SLUICE_TEXT_UNARY(raw_ceil, "sl_ceil")
SLUICE_TEXT_UNARY(raw_trunc, "sl_trunc")
SLUICE_TEXT_UNARY(raw_rint, "sl_rint")
SLUICE_TEXT_UNARY(raw_abs, "sl_abs")
#undef SLUICE_TEXT_UNARY

// The prelude has one instruction for each where the device does.
template <typename T>
Value<T> maximum_of_floats(Value<T> a, Value<T> b) {
  return {raw::call(dtype_of<T>(), "sl_maximum", a.raw, b.raw)};
}
template <typename T>
Value<T> minimum_of_floats(Value<T> a, Value<T> b) {
  return {raw::call(dtype_of<T>(), "sl_minimum", a.raw, b.raw)};
}

#define SLUICE_TEXT_COMPARE(name, op)        \
  template <typename T>                      \
  Value<bool> name(Value<T> a, Value<T> b) { \
    return {raw::compare(op, a.raw, b.raw)}; \
  }
SLUICE_TEXT_COMPARE(lt, "<")
SLUICE_TEXT_COMPARE(le, "<=")
SLUICE_TEXT_COMPARE(eq, "==")
SLUICE_TEXT_COMPARE(ne, "!=")
#undef SLUICE_TEXT_COMPARE

template <typename T>
Value<T> fma(Value<T> a, Value<T> b, Value<T> c) {
  return {raw::fma(dtype_of<T>(), a.raw, b.raw, c.raw)};
}

inline Value<bool> mask_and(Value<bool> a, Value<bool> b) {
  return {raw::compare("&&", a.raw, b.raw)};
}
inline Value<bool> mask_or(Value<bool> a, Value<bool> b) {
  return {raw::compare("||", a.raw, b.raw)};
}
inline Value<bool> mask_xor(Value<bool> a, Value<bool> b) {
  return {raw::compare("!=", a.raw, b.raw)};
}
inline Value<bool> mask_not(Value<bool> a) { return {raw::call(DType::kBool, "!", a.raw)}; }

template <typename T>
Value<T> select(Value<bool> mask, Value<T> a, Value<T> b) {
  return {raw::select(dtype_of<T>(), mask.raw, a.raw, b.raw)};
}

template <typename To, typename From>
To bits_as(Value<From> a) {
  return {raw::bits_as(dtype_of<From>(), dtype_of<math::ScalarOf<To>>(), a.raw)};
}
template <typename To, size_t kCount>
std::array<To, kCount> lookup(const std::array<math::Sixteen<math::ScalarOf<To>>, kCount>& tables,
                              Value<int64_t> index) {
  std::array<To, kCount> entries;
  for (size_t k = 0; k < kCount; ++k) {
    entries[k] = {raw::lookup(tables[k].data(), static_cast<int>(tables[k].size()), index.raw)};
  }
  return entries;
}
template <typename To, typename From>
To raw_convert(Value<From> a) {
  return {raw::convert(dtype_of<math::ScalarOf<To>>(), a.raw)};
}

// Lanes of a GPU are threads: what they share costs as much as what each decides.
template <typename Usual, typename Full>
auto if_all(Value<bool>, const Usual&, const Full& full) {
  return full();
}

template <typename T, typename Otherwise>
Value<T> scale_or(Value<T>, Value<T>, const Otherwise& otherwise) {
  return otherwise();
}

template <typename T>
Value<T> call_external(math::External f, Value<T> a) {
  return {raw::call(dtype_of<T>(), raw::external_name(f), a.raw)};
}
template <typename T>
Value<T> call_external(math::External f, Value<T> a, Value<T> b) {
  return {raw::call(dtype_of<T>(), raw::external_name(f), a.raw, b.raw)};
}

// CUDA's function serves for all operands.
template <typename T>
Value<T> unless(Value<bool>, math::External f, Value<T> a, Value<T>) {
  return call_external(f, a);
}
template <typename T>
Value<T> unless(Value<bool>, math::External f, Value<T> a, Value<T> b, Value<T>) {
  return call_external(f, a, b);
}

}  // namespace sluice::kernels::cuda

namespace sluice::kernels::math {

template <typename T>
struct Types<cuda::Value<T>> {
  using Scalar = T;
  using Mask = cuda::Value<bool>;
  using Int = cuda::Value<typename Types<T>::Int>;
  using UInt = cuda::Value<typename Types<T>::UInt>;

  template <typename U>
  using Rebind = cuda::Value<U>;
  static constexpr bool kDividesIntegers = true;

  template <typename U>
  static cuda::Value<T> constant(U value) {
    return cuda::make_constant<T>(static_cast<T>(value));
  }
};

}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_GPU_EMIT_TEXT_VALUE_H_
