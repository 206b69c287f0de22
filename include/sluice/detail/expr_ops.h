// The ops of the functions that map() is given: those of <sluice/ops.h> of the same names, of
// elements.
//
// scripts/generate writes this file from fusion/ir/ops.def and frontend/functions.def.
#ifndef SLUICE_DETAIL_EXPR_OPS_H_
#define SLUICE_DETAIL_EXPR_OPS_H_

#include <sluice/map.h>

#pragma GCC visibility push(default)
namespace sluice {

Expr neg(const ExprArg& x);
Expr abs(const ExprArg& x);
Expr sign(const ExprArg& x);
Expr exp(const ExprArg& x);
Expr exp2(const ExprArg& x);
Expr expm1(const ExprArg& x);
Expr log(const ExprArg& x);
Expr log2(const ExprArg& x);
Expr log10(const ExprArg& x);
Expr log1p(const ExprArg& x);
Expr sqrt(const ExprArg& x);
Expr rsqrt(const ExprArg& x);
Expr square(const ExprArg& x);
Expr reciprocal(const ExprArg& x);
Expr sin(const ExprArg& x);
Expr cos(const ExprArg& x);
Expr sinc(const ExprArg& x);
Expr tan(const ExprArg& x);
Expr asin(const ExprArg& x);
Expr acos(const ExprArg& x);
Expr atan(const ExprArg& x);
Expr sinh(const ExprArg& x);
Expr cosh(const ExprArg& x);
Expr tanh(const ExprArg& x);
Expr asinh(const ExprArg& x);
Expr acosh(const ExprArg& x);
Expr atanh(const ExprArg& x);
Expr erf(const ExprArg& x);
Expr erfc(const ExprArg& x);
Expr floor(const ExprArg& x);
Expr ceil(const ExprArg& x);
Expr round(const ExprArg& x);
Expr trunc(const ExprArg& x);
Expr isnan(const ExprArg& x);
Expr isinf(const ExprArg& x);
Expr isfinite(const ExprArg& x);
Expr logical_not(const ExprArg& x);
Expr bitwise_not(const ExprArg& x);
Expr sigmoid(const ExprArg& x);
Expr relu(const ExprArg& x);
Expr gelu(const ExprArg& x);
Expr silu(const ExprArg& x);
Expr softplus(const ExprArg& x);
Expr mish(const ExprArg& x);
Expr negative(const ExprArg& x);
Expr bitwise_invert(const ExprArg& x);
Expr operator-(const ExprArg& x);
Expr operator~(const ExprArg& x);
Expr operator!(const ExprArg& x);
Expr add(const ExprArg& x, const ExprOperand& y);
Expr add(Scalar x, const ExprArg& y);
Expr sub(const ExprArg& x, const ExprOperand& y);
Expr sub(Scalar x, const ExprArg& y);
Expr mul(const ExprArg& x, const ExprOperand& y);
Expr mul(Scalar x, const ExprArg& y);
Expr div(const ExprArg& x, const ExprOperand& y);
Expr div(Scalar x, const ExprArg& y);
Expr floor_divide(const ExprArg& x, const ExprOperand& y);
Expr floor_divide(Scalar x, const ExprArg& y);
Expr remainder(const ExprArg& x, const ExprOperand& y);
Expr remainder(Scalar x, const ExprArg& y);
Expr pow(const ExprArg& x, const ExprOperand& y);
Expr pow(Scalar x, const ExprArg& y);
Expr atan2(const ExprArg& y, const ExprOperand& x);
Expr atan2(Scalar y, const ExprArg& x);
Expr maximum(const ExprArg& x, const ExprOperand& y);
Expr maximum(Scalar x, const ExprArg& y);
Expr minimum(const ExprArg& x, const ExprOperand& y);
Expr minimum(Scalar x, const ExprArg& y);
Expr hypot(const ExprArg& x, const ExprOperand& y);
Expr hypot(Scalar x, const ExprArg& y);
Expr copysign(const ExprArg& x, const ExprOperand& y);
Expr copysign(Scalar x, const ExprArg& y);
Expr logaddexp(const ExprArg& x, const ExprOperand& y);
Expr logaddexp(Scalar x, const ExprArg& y);
Expr equal(const ExprArg& x, const ExprOperand& y);
Expr equal(Scalar x, const ExprArg& y);
Expr not_equal(const ExprArg& x, const ExprOperand& y);
Expr not_equal(Scalar x, const ExprArg& y);
Expr less(const ExprArg& x, const ExprOperand& y);
Expr less(Scalar x, const ExprArg& y);
Expr less_equal(const ExprArg& x, const ExprOperand& y);
Expr less_equal(Scalar x, const ExprArg& y);
Expr greater(const ExprArg& x, const ExprOperand& y);
Expr greater(Scalar x, const ExprArg& y);
Expr greater_equal(const ExprArg& x, const ExprOperand& y);
Expr greater_equal(Scalar x, const ExprArg& y);
Expr logical_and(const ExprArg& x, const ExprOperand& y);
Expr logical_and(Scalar x, const ExprArg& y);
Expr logical_or(const ExprArg& x, const ExprOperand& y);
Expr logical_or(Scalar x, const ExprArg& y);
Expr logical_xor(const ExprArg& x, const ExprOperand& y);
Expr logical_xor(Scalar x, const ExprArg& y);
Expr bitwise_and(const ExprArg& x, const ExprOperand& y);
Expr bitwise_and(Scalar x, const ExprArg& y);
Expr bitwise_or(const ExprArg& x, const ExprOperand& y);
Expr bitwise_or(Scalar x, const ExprArg& y);
Expr bitwise_xor(const ExprArg& x, const ExprOperand& y);
Expr bitwise_xor(Scalar x, const ExprArg& y);
Expr bitwise_left_shift(const ExprArg& x, const ExprOperand& y);
Expr bitwise_left_shift(Scalar x, const ExprArg& y);
Expr bitwise_right_shift(const ExprArg& x, const ExprOperand& y);
Expr bitwise_right_shift(Scalar x, const ExprArg& y);
Expr relu_gradient(const ExprArg& y, const ExprOperand& gradient);
Expr relu_gradient(Scalar y, const ExprArg& gradient);
Expr subtract(const ExprArg& x, const ExprOperand& y);
Expr subtract(Scalar x, const ExprArg& y);
Expr multiply(const ExprArg& x, const ExprOperand& y);
Expr multiply(Scalar x, const ExprArg& y);
Expr divide(const ExprArg& x, const ExprOperand& y);
Expr divide(Scalar x, const ExprArg& y);
Expr operator+(const ExprArg& x, const ExprOperand& y);
Expr operator+(Scalar x, const ExprArg& y);
Expr operator-(const ExprArg& x, const ExprOperand& y);
Expr operator-(Scalar x, const ExprArg& y);
Expr operator*(const ExprArg& x, const ExprOperand& y);
Expr operator*(Scalar x, const ExprArg& y);
Expr operator/(const ExprArg& x, const ExprOperand& y);
Expr operator/(Scalar x, const ExprArg& y);
Expr operator%(const ExprArg& x, const ExprOperand& y);
Expr operator%(Scalar x, const ExprArg& y);
Expr operator==(const ExprArg& x, const ExprOperand& y);
Expr operator==(Scalar x, const ExprArg& y);
Expr operator!=(const ExprArg& x, const ExprOperand& y);
Expr operator!=(Scalar x, const ExprArg& y);
Expr operator<(const ExprArg& x, const ExprOperand& y);
Expr operator<(Scalar x, const ExprArg& y);
Expr operator<=(const ExprArg& x, const ExprOperand& y);
Expr operator<=(Scalar x, const ExprArg& y);
Expr operator>(const ExprArg& x, const ExprOperand& y);
Expr operator>(Scalar x, const ExprArg& y);
Expr operator>=(const ExprArg& x, const ExprOperand& y);
Expr operator>=(Scalar x, const ExprArg& y);
Expr operator&(const ExprArg& x, const ExprOperand& y);
Expr operator&(Scalar x, const ExprArg& y);
Expr operator|(const ExprArg& x, const ExprOperand& y);
Expr operator|(Scalar x, const ExprArg& y);
Expr operator^(const ExprArg& x, const ExprOperand& y);
Expr operator^(Scalar x, const ExprArg& y);
Expr operator&&(const ExprArg& x, const ExprOperand& y);
Expr operator&&(Scalar x, const ExprArg& y);
Expr operator||(const ExprArg& x, const ExprOperand& y);
Expr operator||(Scalar x, const ExprArg& y);
Expr& operator+=(Expr& x, const ExprOperand& y);
Expr& operator-=(Expr& x, const ExprOperand& y);
Expr& operator*=(Expr& x, const ExprOperand& y);
Expr& operator/=(Expr& x, const ExprOperand& y);
Expr& operator%=(Expr& x, const ExprOperand& y);
Expr& operator&=(Expr& x, const ExprOperand& y);
Expr& operator|=(Expr& x, const ExprOperand& y);
Expr& operator^=(Expr& x, const ExprOperand& y);
Expr where(const ExprArg& condition, const ExprOperand& a, const ExprOperand& b);
Expr where(Scalar condition, const ExprArg& a, const ExprOperand& b);
Expr where(Scalar condition, Scalar a, const ExprArg& b);
Expr clip(const ExprArg& x, const ExprOperand& lo, const ExprOperand& hi);
Expr clip(Scalar x, const ExprArg& lo, const ExprOperand& hi);
Expr clip(Scalar x, Scalar lo, const ExprArg& hi);
Expr lerp(const ExprArg& a, const ExprOperand& b, const ExprOperand& t);
Expr lerp(Scalar a, const ExprArg& b, const ExprOperand& t);
Expr lerp(Scalar a, Scalar b, const ExprArg& t);

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_DETAIL_EXPR_OPS_H_
