// Other C++ forms of the element-wise functions of <sluice/ops.h>: of temporaries, which they let
// go before the statement ends; of numbers; and templates for pointers to functions, which know no
// default arguments.
//
// scripts/generate writes this file from fusion/ir/ops.def.
#ifndef SLUICE_DETAIL_OP_FORMS_H_
#define SLUICE_DETAIL_OP_FORMS_H_

#include <sluice/ops.h>

#pragma GCC visibility push(default)
namespace sluice {

Tensor neg(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor neg(const Tensor& x) {
  return neg(x, Location());
}
Tensor abs(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor abs(const Tensor& x) {
  return abs(x, Location());
}
Tensor sign(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor sign(const Tensor& x) {
  return sign(x, Location());
}
Tensor exp(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor exp(const Tensor& x) {
  return exp(x, Location());
}
Tensor exp2(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor exp2(const Tensor& x) {
  return exp2(x, Location());
}
Tensor expm1(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor expm1(const Tensor& x) {
  return expm1(x, Location());
}
Tensor log(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor log(const Tensor& x) {
  return log(x, Location());
}
Tensor log2(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor log2(const Tensor& x) {
  return log2(x, Location());
}
Tensor log10(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor log10(const Tensor& x) {
  return log10(x, Location());
}
Tensor log1p(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor log1p(const Tensor& x) {
  return log1p(x, Location());
}
Tensor sqrt(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor sqrt(const Tensor& x) {
  return sqrt(x, Location());
}
Tensor rsqrt(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor rsqrt(const Tensor& x) {
  return rsqrt(x, Location());
}
Tensor square(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor square(const Tensor& x) {
  return square(x, Location());
}
Tensor reciprocal(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor reciprocal(const Tensor& x) {
  return reciprocal(x, Location());
}
Tensor sin(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor sin(const Tensor& x) {
  return sin(x, Location());
}
Tensor cos(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor cos(const Tensor& x) {
  return cos(x, Location());
}
Tensor sinc(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor sinc(const Tensor& x) {
  return sinc(x, Location());
}
Tensor tan(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor tan(const Tensor& x) {
  return tan(x, Location());
}
Tensor asin(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor asin(const Tensor& x) {
  return asin(x, Location());
}
Tensor acos(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor acos(const Tensor& x) {
  return acos(x, Location());
}
Tensor atan(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor atan(const Tensor& x) {
  return atan(x, Location());
}
Tensor sinh(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor sinh(const Tensor& x) {
  return sinh(x, Location());
}
Tensor cosh(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor cosh(const Tensor& x) {
  return cosh(x, Location());
}
Tensor tanh(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor tanh(const Tensor& x) {
  return tanh(x, Location());
}
Tensor asinh(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor asinh(const Tensor& x) {
  return asinh(x, Location());
}
Tensor acosh(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor acosh(const Tensor& x) {
  return acosh(x, Location());
}
Tensor atanh(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor atanh(const Tensor& x) {
  return atanh(x, Location());
}
Tensor erf(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor erf(const Tensor& x) {
  return erf(x, Location());
}
Tensor erfc(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor erfc(const Tensor& x) {
  return erfc(x, Location());
}
Tensor floor(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor floor(const Tensor& x) {
  return floor(x, Location());
}
Tensor ceil(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor ceil(const Tensor& x) {
  return ceil(x, Location());
}
Tensor round(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor round(const Tensor& x) {
  return round(x, Location());
}
Tensor trunc(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor trunc(const Tensor& x) {
  return trunc(x, Location());
}
Tensor isnan(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor isnan(const Tensor& x) {
  return isnan(x, Location());
}
Tensor isinf(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor isinf(const Tensor& x) {
  return isinf(x, Location());
}
Tensor isfinite(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor isfinite(const Tensor& x) {
  return isfinite(x, Location());
}
Tensor logical_not(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor logical_not(const Tensor& x) {
  return logical_not(x, Location());
}
Tensor bitwise_not(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor bitwise_not(const Tensor& x) {
  return bitwise_not(x, Location());
}
Tensor sigmoid(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor sigmoid(const Tensor& x) {
  return sigmoid(x, Location());
}
Tensor relu(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor relu(const Tensor& x) {
  return relu(x, Location());
}
Tensor gelu(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor gelu(const Tensor& x) {
  return gelu(x, Location());
}
Tensor silu(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor silu(const Tensor& x) {
  return silu(x, Location());
}
Tensor softplus(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor softplus(const Tensor& x) {
  return softplus(x, Location());
}
Tensor mish(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor mish(const Tensor& x) {
  return mish(x, Location());
}
Tensor negative(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor negative(const Tensor& x) {
  return negative(x, Location());
}
Tensor bitwise_invert(Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor bitwise_invert(const Tensor& x) {
  return bitwise_invert(x, Location());
}
Tensor add(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor add(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor add(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor add(const Tensor& x, Scalar y, Location where = Location::current());
Tensor add(Tensor&& x, Scalar y, Location where = Location::current());
Tensor add(Scalar x, const Tensor& y, Location where = Location::current());
Tensor add(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor add(const Tensor& x, const Tensor& y) {
  return add(x, y, Location());
}
Tensor sub(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor sub(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor sub(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor sub(const Tensor& x, Scalar y, Location where = Location::current());
Tensor sub(Tensor&& x, Scalar y, Location where = Location::current());
Tensor sub(Scalar x, const Tensor& y, Location where = Location::current());
Tensor sub(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor sub(const Tensor& x, const Tensor& y) {
  return sub(x, y, Location());
}
Tensor mul(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor mul(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor mul(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor mul(const Tensor& x, Scalar y, Location where = Location::current());
Tensor mul(Tensor&& x, Scalar y, Location where = Location::current());
Tensor mul(Scalar x, const Tensor& y, Location where = Location::current());
Tensor mul(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor mul(const Tensor& x, const Tensor& y) {
  return mul(x, y, Location());
}
Tensor div(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor div(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor div(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor div(const Tensor& x, Scalar y, Location where = Location::current());
Tensor div(Tensor&& x, Scalar y, Location where = Location::current());
Tensor div(Scalar x, const Tensor& y, Location where = Location::current());
Tensor div(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor div(const Tensor& x, const Tensor& y) {
  return div(x, y, Location());
}
Tensor floor_divide(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor floor_divide(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor floor_divide(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor floor_divide(const Tensor& x, Scalar y, Location where = Location::current());
Tensor floor_divide(Tensor&& x, Scalar y, Location where = Location::current());
Tensor floor_divide(Scalar x, const Tensor& y, Location where = Location::current());
Tensor floor_divide(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor floor_divide(const Tensor& x, const Tensor& y) {
  return floor_divide(x, y, Location());
}
Tensor remainder(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor remainder(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor remainder(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor remainder(const Tensor& x, Scalar y, Location where = Location::current());
Tensor remainder(Tensor&& x, Scalar y, Location where = Location::current());
Tensor remainder(Scalar x, const Tensor& y, Location where = Location::current());
Tensor remainder(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor remainder(const Tensor& x, const Tensor& y) {
  return remainder(x, y, Location());
}
Tensor pow(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor pow(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor pow(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor pow(const Tensor& x, Scalar y, Location where = Location::current());
Tensor pow(Tensor&& x, Scalar y, Location where = Location::current());
Tensor pow(Scalar x, const Tensor& y, Location where = Location::current());
Tensor pow(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor pow(const Tensor& x, const Tensor& y) {
  return pow(x, y, Location());
}
Tensor atan2(Tensor&& y, const Tensor& x, Location where = Location::current());
Tensor atan2(const Tensor& y, Tensor&& x, Location where = Location::current());
Tensor atan2(Tensor&& y, Tensor&& x, Location where = Location::current());
Tensor atan2(const Tensor& y, Scalar x, Location where = Location::current());
Tensor atan2(Tensor&& y, Scalar x, Location where = Location::current());
Tensor atan2(Scalar y, const Tensor& x, Location where = Location::current());
Tensor atan2(Scalar y, Tensor&& x, Location where = Location::current());
template <typename = void>
Tensor atan2(const Tensor& y, const Tensor& x) {
  return atan2(y, x, Location());
}
Tensor maximum(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor maximum(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor maximum(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor maximum(const Tensor& x, Scalar y, Location where = Location::current());
Tensor maximum(Tensor&& x, Scalar y, Location where = Location::current());
Tensor maximum(Scalar x, const Tensor& y, Location where = Location::current());
Tensor maximum(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor maximum(const Tensor& x, const Tensor& y) {
  return maximum(x, y, Location());
}
Tensor minimum(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor minimum(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor minimum(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor minimum(const Tensor& x, Scalar y, Location where = Location::current());
Tensor minimum(Tensor&& x, Scalar y, Location where = Location::current());
Tensor minimum(Scalar x, const Tensor& y, Location where = Location::current());
Tensor minimum(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor minimum(const Tensor& x, const Tensor& y) {
  return minimum(x, y, Location());
}
Tensor hypot(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor hypot(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor hypot(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor hypot(const Tensor& x, Scalar y, Location where = Location::current());
Tensor hypot(Tensor&& x, Scalar y, Location where = Location::current());
Tensor hypot(Scalar x, const Tensor& y, Location where = Location::current());
Tensor hypot(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor hypot(const Tensor& x, const Tensor& y) {
  return hypot(x, y, Location());
}
Tensor copysign(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor copysign(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor copysign(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor copysign(const Tensor& x, Scalar y, Location where = Location::current());
Tensor copysign(Tensor&& x, Scalar y, Location where = Location::current());
Tensor copysign(Scalar x, const Tensor& y, Location where = Location::current());
Tensor copysign(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor copysign(const Tensor& x, const Tensor& y) {
  return copysign(x, y, Location());
}
Tensor logaddexp(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor logaddexp(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor logaddexp(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor logaddexp(const Tensor& x, Scalar y, Location where = Location::current());
Tensor logaddexp(Tensor&& x, Scalar y, Location where = Location::current());
Tensor logaddexp(Scalar x, const Tensor& y, Location where = Location::current());
Tensor logaddexp(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor logaddexp(const Tensor& x, const Tensor& y) {
  return logaddexp(x, y, Location());
}
Tensor equal(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor equal(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor equal(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor equal(const Tensor& x, Scalar y, Location where = Location::current());
Tensor equal(Tensor&& x, Scalar y, Location where = Location::current());
Tensor equal(Scalar x, const Tensor& y, Location where = Location::current());
Tensor equal(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor equal(const Tensor& x, const Tensor& y) {
  return equal(x, y, Location());
}
Tensor not_equal(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor not_equal(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor not_equal(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor not_equal(const Tensor& x, Scalar y, Location where = Location::current());
Tensor not_equal(Tensor&& x, Scalar y, Location where = Location::current());
Tensor not_equal(Scalar x, const Tensor& y, Location where = Location::current());
Tensor not_equal(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor not_equal(const Tensor& x, const Tensor& y) {
  return not_equal(x, y, Location());
}
Tensor less(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor less(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor less(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor less(const Tensor& x, Scalar y, Location where = Location::current());
Tensor less(Tensor&& x, Scalar y, Location where = Location::current());
Tensor less(Scalar x, const Tensor& y, Location where = Location::current());
Tensor less(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor less(const Tensor& x, const Tensor& y) {
  return less(x, y, Location());
}
Tensor less_equal(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor less_equal(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor less_equal(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor less_equal(const Tensor& x, Scalar y, Location where = Location::current());
Tensor less_equal(Tensor&& x, Scalar y, Location where = Location::current());
Tensor less_equal(Scalar x, const Tensor& y, Location where = Location::current());
Tensor less_equal(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor less_equal(const Tensor& x, const Tensor& y) {
  return less_equal(x, y, Location());
}
Tensor greater(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor greater(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor greater(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor greater(const Tensor& x, Scalar y, Location where = Location::current());
Tensor greater(Tensor&& x, Scalar y, Location where = Location::current());
Tensor greater(Scalar x, const Tensor& y, Location where = Location::current());
Tensor greater(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor greater(const Tensor& x, const Tensor& y) {
  return greater(x, y, Location());
}
Tensor greater_equal(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor greater_equal(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor greater_equal(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor greater_equal(const Tensor& x, Scalar y, Location where = Location::current());
Tensor greater_equal(Tensor&& x, Scalar y, Location where = Location::current());
Tensor greater_equal(Scalar x, const Tensor& y, Location where = Location::current());
Tensor greater_equal(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor greater_equal(const Tensor& x, const Tensor& y) {
  return greater_equal(x, y, Location());
}
Tensor logical_and(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor logical_and(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor logical_and(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor logical_and(const Tensor& x, Scalar y, Location where = Location::current());
Tensor logical_and(Tensor&& x, Scalar y, Location where = Location::current());
Tensor logical_and(Scalar x, const Tensor& y, Location where = Location::current());
Tensor logical_and(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor logical_and(const Tensor& x, const Tensor& y) {
  return logical_and(x, y, Location());
}
Tensor logical_or(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor logical_or(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor logical_or(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor logical_or(const Tensor& x, Scalar y, Location where = Location::current());
Tensor logical_or(Tensor&& x, Scalar y, Location where = Location::current());
Tensor logical_or(Scalar x, const Tensor& y, Location where = Location::current());
Tensor logical_or(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor logical_or(const Tensor& x, const Tensor& y) {
  return logical_or(x, y, Location());
}
Tensor logical_xor(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor logical_xor(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor logical_xor(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor logical_xor(const Tensor& x, Scalar y, Location where = Location::current());
Tensor logical_xor(Tensor&& x, Scalar y, Location where = Location::current());
Tensor logical_xor(Scalar x, const Tensor& y, Location where = Location::current());
Tensor logical_xor(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor logical_xor(const Tensor& x, const Tensor& y) {
  return logical_xor(x, y, Location());
}
Tensor bitwise_and(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor bitwise_and(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor bitwise_and(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor bitwise_and(const Tensor& x, Scalar y, Location where = Location::current());
Tensor bitwise_and(Tensor&& x, Scalar y, Location where = Location::current());
Tensor bitwise_and(Scalar x, const Tensor& y, Location where = Location::current());
Tensor bitwise_and(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor bitwise_and(const Tensor& x, const Tensor& y) {
  return bitwise_and(x, y, Location());
}
Tensor bitwise_or(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor bitwise_or(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor bitwise_or(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor bitwise_or(const Tensor& x, Scalar y, Location where = Location::current());
Tensor bitwise_or(Tensor&& x, Scalar y, Location where = Location::current());
Tensor bitwise_or(Scalar x, const Tensor& y, Location where = Location::current());
Tensor bitwise_or(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor bitwise_or(const Tensor& x, const Tensor& y) {
  return bitwise_or(x, y, Location());
}
Tensor bitwise_xor(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor bitwise_xor(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor bitwise_xor(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor bitwise_xor(const Tensor& x, Scalar y, Location where = Location::current());
Tensor bitwise_xor(Tensor&& x, Scalar y, Location where = Location::current());
Tensor bitwise_xor(Scalar x, const Tensor& y, Location where = Location::current());
Tensor bitwise_xor(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor bitwise_xor(const Tensor& x, const Tensor& y) {
  return bitwise_xor(x, y, Location());
}
Tensor bitwise_left_shift(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor bitwise_left_shift(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor bitwise_left_shift(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor bitwise_left_shift(const Tensor& x, Scalar y, Location where = Location::current());
Tensor bitwise_left_shift(Tensor&& x, Scalar y, Location where = Location::current());
Tensor bitwise_left_shift(Scalar x, const Tensor& y, Location where = Location::current());
Tensor bitwise_left_shift(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor bitwise_left_shift(const Tensor& x, const Tensor& y) {
  return bitwise_left_shift(x, y, Location());
}
Tensor bitwise_right_shift(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor bitwise_right_shift(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor bitwise_right_shift(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor bitwise_right_shift(const Tensor& x, Scalar y, Location where = Location::current());
Tensor bitwise_right_shift(Tensor&& x, Scalar y, Location where = Location::current());
Tensor bitwise_right_shift(Scalar x, const Tensor& y, Location where = Location::current());
Tensor bitwise_right_shift(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor bitwise_right_shift(const Tensor& x, const Tensor& y) {
  return bitwise_right_shift(x, y, Location());
}
Tensor relu_gradient(Tensor&& y, const Tensor& gradient, Location where = Location::current());
Tensor relu_gradient(const Tensor& y, Tensor&& gradient, Location where = Location::current());
Tensor relu_gradient(Tensor&& y, Tensor&& gradient, Location where = Location::current());
Tensor relu_gradient(const Tensor& y, Scalar gradient, Location where = Location::current());
Tensor relu_gradient(Tensor&& y, Scalar gradient, Location where = Location::current());
Tensor relu_gradient(Scalar y, const Tensor& gradient, Location where = Location::current());
Tensor relu_gradient(Scalar y, Tensor&& gradient, Location where = Location::current());
template <typename = void>
Tensor relu_gradient(const Tensor& y, const Tensor& gradient) {
  return relu_gradient(y, gradient, Location());
}
Tensor subtract(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor subtract(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor subtract(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor subtract(const Tensor& x, Scalar y, Location where = Location::current());
Tensor subtract(Tensor&& x, Scalar y, Location where = Location::current());
Tensor subtract(Scalar x, const Tensor& y, Location where = Location::current());
Tensor subtract(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor subtract(const Tensor& x, const Tensor& y) {
  return subtract(x, y, Location());
}
Tensor multiply(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor multiply(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor multiply(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor multiply(const Tensor& x, Scalar y, Location where = Location::current());
Tensor multiply(Tensor&& x, Scalar y, Location where = Location::current());
Tensor multiply(Scalar x, const Tensor& y, Location where = Location::current());
Tensor multiply(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor multiply(const Tensor& x, const Tensor& y) {
  return multiply(x, y, Location());
}
Tensor divide(Tensor&& x, const Tensor& y, Location where = Location::current());
Tensor divide(const Tensor& x, Tensor&& y, Location where = Location::current());
Tensor divide(Tensor&& x, Tensor&& y, Location where = Location::current());
Tensor divide(const Tensor& x, Scalar y, Location where = Location::current());
Tensor divide(Tensor&& x, Scalar y, Location where = Location::current());
Tensor divide(Scalar x, const Tensor& y, Location where = Location::current());
Tensor divide(Scalar x, Tensor&& y, Location where = Location::current());
template <typename = void>
Tensor divide(const Tensor& x, const Tensor& y) {
  return divide(x, y, Location());
}

// What x(...) returns is a value, not a place.
Tensor& operator+=(Tensor&& x, const Operand& y) = delete;  // instead: x = x.add_at({i, j}, y)
Tensor& operator-=(Tensor&& x,
                   const Operand& y) = delete;  // instead: x = x.set({i, j}, x(i, j) - y)
Tensor& operator*=(Tensor&& x,
                   const Operand& y) = delete;  // instead: x = x.set({i, j}, x(i, j) * y)
Tensor& operator/=(Tensor&& x,
                   const Operand& y) = delete;  // instead: x = x.set({i, j}, x(i, j) / y)
Tensor& operator%=(Tensor&& x,
                   const Operand& y) = delete;  // instead: x = x.set({i, j}, x(i, j) % y)
Tensor& operator&=(Tensor&& x,
                   const Operand& y) = delete;  // instead: x = x.set({i, j}, x(i, j) & y)
Tensor& operator|=(Tensor&& x,
                   const Operand& y) = delete;  // instead: x = x.set({i, j}, x(i, j) | y)
Tensor& operator^=(Tensor&& x,
                   const Operand& y) = delete;  // instead: x = x.set({i, j}, x(i, j) ^ y)

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_DETAIL_OP_FORMS_H_
