// Every op on tensors, as free functions. Names and meaning are those of NumPy and the Python array
// API standard where it has them.
//
// scripts/generate writes this file from fusion/ir/ops.def and frontend/functions.def.
//
// Common to all: operands broadcast as in NumPy; dtypes combine by promote() (<sluice/dtype.h>); a
// C++ number may stand for an operand of an element-wise op. "Numbers" are all dtypes but bool;
// what "gives a float" gives x's dtype if that is one, else float32. `axis` may be negative. A bad
// call throws Error (kInvalidArgument) at once, naming the op and the shapes and dtypes it was
// given, and changes nothing. `where` is the call, for traces.
#ifndef SLUICE_OPS_H_
#define SLUICE_OPS_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/convolution.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {

using TensorPair = std::pair<Tensor, Tensor>;

// What unique_all() gives.
struct UniqueAll {
  Tensor values, indices, inverse_indices, counts;
};

// The shape that tensors of these broadcast to. Throws Error (kInvalidArgument) if they don't.
[[nodiscard]] Shape broadcast_shapes(std::span<const Shape> shapes);
[[nodiscard]] Shape broadcast_shapes(std::initializer_list<Shape> shapes);

// Element-wise, one operand.
//
// Results have x's shape.

// -x. Takes numbers; gives their dtype.
Tensor neg(const Tensor& x, Location where = Location::current());

// The absolute value; the least integer stays. Takes numbers; gives their dtype.
Tensor abs(const Tensor& x, Location where = Location::current());

// -1, 1, or x itself where that is zero or NaN. Takes numbers; gives their dtype.
Tensor sign(const Tensor& x, Location where = Location::current());

// e to the power x. Takes any dtype; gives a float.
Tensor exp(const Tensor& x, Location where = Location::current());

// 2 to the power x. Takes any dtype; gives a float.
Tensor exp2(const Tensor& x, Location where = Location::current());

// exp(x) - 1, accurate near 0. Takes any dtype; gives a float.
Tensor expm1(const Tensor& x, Location where = Location::current());

// The natural logarithm: NaN for negatives, -inf for zero. Takes any dtype; gives a float.
Tensor log(const Tensor& x, Location where = Location::current());

// The logarithm to base 2: NaN for negatives, -inf for zero. Takes any dtype; gives a float.
Tensor log2(const Tensor& x, Location where = Location::current());

// The logarithm to base 10: NaN for negatives, -inf for zero. Takes any dtype; gives a float.
Tensor log10(const Tensor& x, Location where = Location::current());

// log(1 + x), accurate near 0. Takes any dtype; gives a float.
Tensor log1p(const Tensor& x, Location where = Location::current());

// The square root: NaN for negatives. Takes any dtype; gives a float.
Tensor sqrt(const Tensor& x, Location where = Location::current());

// 1 / sqrt(x). Takes any dtype; gives a float.
Tensor rsqrt(const Tensor& x, Location where = Location::current());

// x * x. Takes numbers; gives their dtype.
Tensor square(const Tensor& x, Location where = Location::current());

// 1 / x. Takes any dtype; gives a float.
Tensor reciprocal(const Tensor& x, Location where = Location::current());

// The sine of x in radians. Takes any dtype; gives a float.
Tensor sin(const Tensor& x, Location where = Location::current());

// The cosine of x in radians. Takes any dtype; gives a float.
Tensor cos(const Tensor& x, Location where = Location::current());

// sin(pi * x) / (pi * x), as in NumPy: 1 at 0, accurate near integers. Takes any dtype; gives a
// float.
Tensor sinc(const Tensor& x, Location where = Location::current());

// The tangent of x in radians. Takes any dtype; gives a float.
Tensor tan(const Tensor& x, Location where = Location::current());

// The inverse sine, in [-pi/2, pi/2]: NaN outside [-1, 1]. Takes any dtype; gives a float.
Tensor asin(const Tensor& x, Location where = Location::current());

// The inverse cosine, in [0, pi]: NaN outside [-1, 1]. Takes any dtype; gives a float.
Tensor acos(const Tensor& x, Location where = Location::current());

// The inverse tangent, in [-pi/2, pi/2]. Takes any dtype; gives a float.
Tensor atan(const Tensor& x, Location where = Location::current());

// The hyperbolic sine. Takes any dtype; gives a float.
Tensor sinh(const Tensor& x, Location where = Location::current());

// The hyperbolic cosine. Takes any dtype; gives a float.
Tensor cosh(const Tensor& x, Location where = Location::current());

// The hyperbolic tangent. Takes any dtype; gives a float.
Tensor tanh(const Tensor& x, Location where = Location::current());

// The inverse hyperbolic sine. Takes any dtype; gives a float.
Tensor asinh(const Tensor& x, Location where = Location::current());

// The inverse hyperbolic cosine: NaN below 1. Takes any dtype; gives a float.
Tensor acosh(const Tensor& x, Location where = Location::current());

// The inverse hyperbolic tangent: NaN outside [-1, 1]. Takes any dtype; gives a float.
Tensor atanh(const Tensor& x, Location where = Location::current());

// The error function. Takes any dtype; gives a float.
Tensor erf(const Tensor& x, Location where = Location::current());

// 1 - erf(x), accurate where that is small. Takes any dtype; gives a float.
Tensor erfc(const Tensor& x, Location where = Location::current());

// The greatest integer that is at most x; integers stay. Takes numbers; gives their dtype.
Tensor floor(const Tensor& x, Location where = Location::current());

// The least integer that is at least x; integers stay. Takes numbers; gives their dtype.
Tensor ceil(const Tensor& x, Location where = Location::current());

// The nearest integer, ties to even; integers stay. Takes numbers; gives their dtype.
Tensor round(const Tensor& x, Location where = Location::current());

// The integer part; integers stay. Takes numbers; gives their dtype.
Tensor trunc(const Tensor& x, Location where = Location::current());

// Whether x is NaN. Takes any dtype; gives bool.
Tensor isnan(const Tensor& x, Location where = Location::current());

// Whether x is an infinity of either sign. Takes any dtype; gives bool.
Tensor isinf(const Tensor& x, Location where = Location::current());

// Whether x is neither NaN nor an infinity. Takes any dtype; gives bool.
Tensor isfinite(const Tensor& x, Location where = Location::current());

// Whether x is 0. Takes any dtype; gives bool.
Tensor logical_not(const Tensor& x, Location where = Location::current());

// Every bit inverted; of bool: not. Takes integers and bool; gives their dtype.
Tensor bitwise_not(const Tensor& x, Location where = Location::current());

// 1 / (1 + exp(-x)). Takes any dtype; gives a float.
Tensor sigmoid(const Tensor& x, Location where = Location::current());

// max(x, 0); NaN and -0 stay. Takes numbers; gives their dtype.
Tensor relu(const Tensor& x, Location where = Location::current());

// x * (1 + erf(x / sqrt(2))) / 2 (Hendrycks and Gimpel, 2016); -0 for -inf, the limit. Takes any
// dtype; gives a float.
Tensor gelu(const Tensor& x, Location where = Location::current());

// x * sigmoid(x) (Elfwing et al., 2017); -0 for -inf, the limit. Takes any dtype; gives a float.
Tensor silu(const Tensor& x, Location where = Location::current());

// log(1 + exp(x)). Takes any dtype; gives a float.
Tensor softplus(const Tensor& x, Location where = Location::current());

// x * tanh(softplus(x)) (Misra, 2019); -0 for -inf, the limit. Takes any dtype; gives a float.
Tensor mish(const Tensor& x, Location where = Location::current());

// The elements in another dtype. Floats to integers truncate and saturate, NaN gives 0; integers
// wrap; to bool is != 0. To its own dtype: x itself.
Tensor astype(Arg x, DType dtype);

// neg(), by the standard's name. Takes numbers; gives their dtype.
Tensor negative(const Tensor& x, Location where = Location::current());

// bitwise_not(), by the standard's name. Takes integers and bool; gives their dtype.
Tensor bitwise_invert(const Tensor& x, Location where = Location::current());

// x itself, numbers.
Tensor positive(Arg x);

// Whether the sign is set: of -0 too, of NaN not.
Tensor signbit(Arg x);

// The nearest number of so many decimals, ties to even: round(x * 10^decimals) / 10^decimals, as in
// NumPy. Negative decimals round to tens, hundreds, ...
Tensor around(Arg x, int decimals = 0);
// around(), by another name.
Tensor round(Arg x, int decimals);

// x with this number for NaN, and the dtype's greatest and least for the infinities.
Tensor nan_to_num(Arg x, double nan = 0);
// Likewise with these numbers for the infinities.
Tensor nan_to_num(Arg x, double nan, double posinf, double neginf);

// Operators of the functions above. `where` comes with the operands. Compound assignment makes the
// handle name the new value and lets go of the old one.
Tensor operator-(const Arg& x);
Tensor operator~(const Arg& x);
Tensor operator!(const Arg& x);

// Element-wise, two operands.
//
// Operands are broadcast and promoted. Either one may be a C++ number. Shapes that do not broadcast
// are an error.

// x + y; of bool: or. Takes any dtype; gives their dtype.
Tensor add(const Tensor& x, const Tensor& y, Location where = Location::current());

// x - y. Takes numbers; gives their dtype.
Tensor sub(const Tensor& x, const Tensor& y, Location where = Location::current());

// x * y; of bool: and. Takes any dtype; gives their dtype.
Tensor mul(const Tensor& x, const Tensor& y, Location where = Location::current());

// x / y, as floats. Takes any dtype; gives a float.
Tensor div(const Tensor& x, const Tensor& y, Location where = Location::current());

// x / y rounded toward -inf, as in Python; of integers, x / 0 is 0. Takes numbers; gives their
// dtype.
Tensor floor_divide(const Tensor& x, const Tensor& y, Location where = Location::current());

// x - y * floor(x / y), with the sign of y, as in Python; of integers, x % 0 is 0. Takes numbers;
// gives their dtype.
Tensor remainder(const Tensor& x, const Tensor& y, Location where = Location::current());

// x to the power y; negative integer powers of integers are 0, and pow(x, 0) and pow(1, y) are 1
// even for NaN. The scalar exponents 2 and -1 are square() and reciprocal(); 3 and 4 are products.
// Takes numbers; gives their dtype.
Tensor pow(const Tensor& x, const Tensor& y, Location where = Location::current());

// The angle of the point (x, y), in [-pi, pi]. Takes any dtype; gives a float.
Tensor atan2(const Tensor& y, const Tensor& x, Location where = Location::current());

// The greater of the two; NaN wins. Takes any dtype; gives their dtype.
Tensor maximum(const Tensor& x, const Tensor& y, Location where = Location::current());

// The lesser of the two; NaN wins. Takes any dtype; gives their dtype.
Tensor minimum(const Tensor& x, const Tensor& y, Location where = Location::current());

// sqrt(x * x + y * y), without overflow on the way; an infinity wins over NaN. Takes any dtype;
// gives a float.
Tensor hypot(const Tensor& x, const Tensor& y, Location where = Location::current());

// x with the sign of y; the sign of a NaN counts as positive. Takes any dtype; gives a float.
Tensor copysign(const Tensor& x, const Tensor& y, Location where = Location::current());

// log(exp(x) + exp(y)), without overflow on the way. Takes any dtype; gives a float.
Tensor logaddexp(const Tensor& x, const Tensor& y, Location where = Location::current());

// Whether x == y. Takes any dtype; gives bool.
Tensor equal(const Tensor& x, const Tensor& y, Location where = Location::current());

// Whether x != y. Takes any dtype; gives bool.
Tensor not_equal(const Tensor& x, const Tensor& y, Location where = Location::current());

// Whether x < y. Takes any dtype; gives bool.
Tensor less(const Tensor& x, const Tensor& y, Location where = Location::current());

// Whether x <= y. Takes any dtype; gives bool.
Tensor less_equal(const Tensor& x, const Tensor& y, Location where = Location::current());

// Whether x > y. Takes any dtype; gives bool.
Tensor greater(const Tensor& x, const Tensor& y, Location where = Location::current());

// Whether x >= y. Takes any dtype; gives bool.
Tensor greater_equal(const Tensor& x, const Tensor& y, Location where = Location::current());

// Whether both are not 0. Takes any dtype; gives bool.
Tensor logical_and(const Tensor& x, const Tensor& y, Location where = Location::current());

// Whether x or y is not 0. Takes any dtype; gives bool.
Tensor logical_or(const Tensor& x, const Tensor& y, Location where = Location::current());

// Whether exactly one is not 0. Takes any dtype; gives bool.
Tensor logical_xor(const Tensor& x, const Tensor& y, Location where = Location::current());

// The bits that both have. Takes integers and bool; gives their dtype.
Tensor bitwise_and(const Tensor& x, const Tensor& y, Location where = Location::current());

// The bits that x or y has. Takes integers and bool; gives their dtype.
Tensor bitwise_or(const Tensor& x, const Tensor& y, Location where = Location::current());

// The bits that exactly one has. Takes integers and bool; gives their dtype.
Tensor bitwise_xor(const Tensor& x, const Tensor& y, Location where = Location::current());

// x shifted left by y bits; 0 where y is negative or at least the width. Takes integers; gives
// their dtype.
Tensor bitwise_left_shift(const Tensor& x, const Tensor& y, Location where = Location::current());

// x shifted right by y bits, keeping the sign; where y is negative or at least the width, 0, or -1
// for a negative x. Takes integers; gives their dtype.
Tensor bitwise_right_shift(const Tensor& x, const Tensor& y, Location where = Location::current());

// gradient where y > 0, else 0: that of relu(), with regard to its argument; y is its result. Takes
// numbers; gives their dtype.
Tensor relu_gradient(const Tensor& y, const Tensor& gradient, Location where = Location::current());

// sub(), by the standard's name. Takes numbers; gives their dtype.
Tensor subtract(const Tensor& x, const Tensor& y, Location where = Location::current());

// mul(), by the standard's name. Takes any dtype; gives their dtype.
Tensor multiply(const Tensor& x, const Tensor& y, Location where = Location::current());

// div(), by the standard's name. Takes any dtype; gives a float.
Tensor divide(const Tensor& x, const Tensor& y, Location where = Location::current());

// x - y * trunc(x / y), with the sign of x, as in C; of integers, x by 0 is 0.
Tensor fmod(const Operand& x, const Operand& y);

// floor_divide(x, y) and remainder(x, y).
[[nodiscard]] TensorPair divmod(const Operand& x, const Operand& y);

// The greatest common divisor of integers, not negative; that of 0 and y is |y|.
Tensor gcd(const Operand& x, const Operand& y);

// The least common multiple of integers, not negative: 0 if either is; wraps.
Tensor lcm(const Operand& x, const Operand& y);

// The next number after x towards y, of the dtype that both have as floats; y if they are equal.
Tensor nextafter(const Operand& x, const Operand& y);

// Whether |a - b| <= atol + rtol * |b|, or a == b; NaN is close to NaN if equal_nan.
Tensor isclose(const Operand& a, const Operand& b, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);

// all(isclose(a, b)): one bool.
Tensor allclose(const Operand& a, const Operand& b, double rtol = 1e-5, double atol = 1e-8,
                bool equal_nan = false);

// Whether a and b have one shape and equal elements: one bool. NaN equals NaN if equal_nan.
Tensor array_equal(Arg a, Arg b, bool equal_nan = false);

// Operators of the functions above. `where` comes with the operands. Compound assignment makes the
// handle name the new value and lets go of the old one.
Tensor operator+(const Arg& x, const Arg& y);
Tensor operator+(const Arg& x, Scalar y);
Tensor operator+(Scalar x, const Arg& y);
Tensor operator-(const Arg& x, const Arg& y);
Tensor operator-(const Arg& x, Scalar y);
Tensor operator-(Scalar x, const Arg& y);
Tensor operator*(const Arg& x, const Arg& y);
Tensor operator*(const Arg& x, Scalar y);
Tensor operator*(Scalar x, const Arg& y);
Tensor operator/(const Arg& x, const Arg& y);
Tensor operator/(const Arg& x, Scalar y);
Tensor operator/(Scalar x, const Arg& y);
Tensor operator%(const Arg& x, const Arg& y);
Tensor operator%(const Arg& x, Scalar y);
Tensor operator%(Scalar x, const Arg& y);
Tensor operator==(const Arg& x, const Arg& y);
Tensor operator==(const Arg& x, Scalar y);
Tensor operator==(Scalar x, const Arg& y);
Tensor operator!=(const Arg& x, const Arg& y);
Tensor operator!=(const Arg& x, Scalar y);
Tensor operator!=(Scalar x, const Arg& y);
Tensor operator<(const Arg& x, const Arg& y);
Tensor operator<(const Arg& x, Scalar y);
Tensor operator<(Scalar x, const Arg& y);
Tensor operator<=(const Arg& x, const Arg& y);
Tensor operator<=(const Arg& x, Scalar y);
Tensor operator<=(Scalar x, const Arg& y);
Tensor operator>(const Arg& x, const Arg& y);
Tensor operator>(const Arg& x, Scalar y);
Tensor operator>(Scalar x, const Arg& y);
Tensor operator>=(const Arg& x, const Arg& y);
Tensor operator>=(const Arg& x, Scalar y);
Tensor operator>=(Scalar x, const Arg& y);
Tensor operator&(const Arg& x, const Arg& y);
Tensor operator&(const Arg& x, Scalar y);
Tensor operator&(Scalar x, const Arg& y);
Tensor operator|(const Arg& x, const Arg& y);
Tensor operator|(const Arg& x, Scalar y);
Tensor operator|(Scalar x, const Arg& y);
Tensor operator^(const Arg& x, const Arg& y);
Tensor operator^(const Arg& x, Scalar y);
Tensor operator^(Scalar x, const Arg& y);
Tensor operator&&(const Arg& x, const Arg& y);
Tensor operator&&(const Arg& x, Scalar y);
Tensor operator&&(Scalar x, const Arg& y);
Tensor operator||(const Arg& x, const Arg& y);
Tensor operator||(const Arg& x, Scalar y);
Tensor operator||(Scalar x, const Arg& y);
Tensor& operator+=(Tensor& x, const Operand& y);
Tensor& operator-=(Tensor& x, const Operand& y);
Tensor& operator*=(Tensor& x, const Operand& y);
Tensor& operator/=(Tensor& x, const Operand& y);
Tensor& operator%=(Tensor& x, const Operand& y);
Tensor& operator&=(Tensor& x, const Operand& y);
Tensor& operator|=(Tensor& x, const Operand& y);
Tensor& operator^=(Tensor& x, const Operand& y);

// Element-wise, three operands.
//
// Operands are broadcast and promoted. Each may be a C++ number, if one is a tensor.

// a where condition is not 0, else b. Of two scalars the dtype is float32 for float and double,
// else that of the C++ type. Takes any dtype; gives the dtype of a and b.
Tensor where(const Operand& condition, const Operand& a, const Operand& b);

// min(max(x, lo), hi); NaN stays. Takes numbers; gives their dtype.
Tensor clip(const Operand& x, const Operand& lo, const Operand& hi);

// a + t * (b - a), rounded after every step. Takes any dtype; gives a float.
Tensor lerp(const Operand& a, const Operand& b, const Operand& t);

// Reductions.
//
// Of any dtype, over `axes` (all if empty): the result has x's shape without them, or, if keepdims,
// with extent 1. An axis that x has not, or one twice, is an error. The order is fixed by the
// shape, not by the number of threads, the layout or the tier. Sums, products and statistics of
// half types are computed in float32 and rounded once.

// The sum: int64 of bool and signed integers, uint64 of unsigned ones; of nothing 0.
Tensor sum(Arg x, const Axes& axes = {}, bool keepdims = false);

// The product: int64 of bool and signed integers, uint64 of unsigned ones; of nothing 1.
Tensor prod(Arg x, const Axes& axes = {}, bool keepdims = false);

// The greatest element; NaN wins; of nothing an error at the call.
Tensor max(Arg x, const Axes& axes = {}, bool keepdims = false);

// The least element; NaN wins; of nothing an error at the call.
Tensor min(Arg x, const Axes& axes = {}, bool keepdims = false);

// Whether any element is not 0; of nothing false.
Tensor any(Arg x, const Axes& axes = {}, bool keepdims = false);

// Whether every element is not 0; of nothing true.
Tensor all(Arg x, const Axes& axes = {}, bool keepdims = false);

// The int64 index of the first greatest element along one axis, or in row-major order over all; NaN
// is the greatest; of nothing an error at the call.
Tensor argmax(Arg x, const Axes& axes = {}, bool keepdims = false);

// The int64 index of the first least element along one axis, or in row-major order over all; NaN is
// the least; of nothing an error at the call.
Tensor argmin(Arg x, const Axes& axes = {}, bool keepdims = false);

// sum(x) / n, a float; of nothing NaN.
Tensor mean(Arg x, const Axes& axes = {}, bool keepdims = false);

// sum((x - mean(x))^2) / (n - ddof), a float, in two steps; of nothing NaN. A ddof of 1 makes it
// the sample variance.
Tensor var(Arg x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);

// The standard deviation: the square root of var().
Tensor std(Arg x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);

// log(sum(exp(x))), a float, shifted by the maximum, so that it overflows only where the result
// does; of nothing -inf.
Tensor logsumexp(Arg x, const Axes& axes = {}, bool keepdims = false);

// The Euclidean norm: sqrt(sum(x^2)), a float; of nothing 0.
Tensor norm(Arg x, const Axes& axes = {}, bool keepdims = false);

// How many elements are not 0, an int64.
Tensor count_nonzero(Arg x, const Axes& axes = {}, bool keepdims = false);

// The sum() of what is not NaN.
Tensor nansum(Arg x, const Axes& axes = {}, bool keepdims = false);

// The prod() of what is not NaN.
Tensor nanprod(Arg x, const Axes& axes = {}, bool keepdims = false);

// The max() of what is not NaN; of NaN alone NaN.
Tensor nanmax(Arg x, const Axes& axes = {}, bool keepdims = false);

// The min() of what is not NaN; of NaN alone NaN.
Tensor nanmin(Arg x, const Axes& axes = {}, bool keepdims = false);

// The mean() of what is not NaN; of NaN alone NaN.
Tensor nanmean(Arg x, const Axes& axes = {}, bool keepdims = false);

// The var() of what is not NaN; NaN where that is no more than ddof numbers.
Tensor nanvar(Arg x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);

// The square root of nanvar().
Tensor nanstd(Arg x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);

// At each x the piecewise linear function through the points (xp[i], fp[i]), a float: fp[0] before
// xp[0], fp[-1] after xp[-1]. xp has one axis, in increasing order.
Tensor interp(Arg x, Arg xp, Arg fp);
// Likewise with these values before and after.
Tensor interp(Arg x, Arg xp, Arg fp, double left, double right);

// The integral along an axis by trapezoids: sum(dx * (y[1:] + y[:-1]) / 2), a float.
Tensor trapezoid(Arg y, double dx = 1, int axis = -1);
// Likewise with diff(x) for dx; x has one axis, or broadcasts with y.
Tensor trapezoid(Arg y, Arg x, int axis = -1);

// The covariances of the rows of x (of the columns if not rowvar): d x d^T / (n - ddof) with d = x
// - mean(x), a float; of one row without axes.
Tensor cov(Arg x, bool rowvar = true, int ddof = 1);

// The correlations of the rows of x: cov_ij / sqrt(cov_ii * cov_jj), in [-1, 1].
Tensor corrcoef(Arg x, bool rowvar = true);

// How often each of the numbers 0, 1, ... is in x, int64, or the sum of its weights, a float. Waits
// for x: its greatest number says how many there are.
Tensor bincount(Arg x, const Tensor& weights = {}, int64_t minlength = 0);

// How many elements are in each of `bins` equal bins between the least and the greatest, int64; and
// the bins + 1 edges, floats (float64 of integers). The last bin has its upper edge too; NaN is in
// none.
[[nodiscard]] TensorPair histogram(Arg x, int64_t bins = 10);
// Between `low` and `high`; elements outside are in none.
[[nodiscard]] TensorPair histogram(Arg x, int64_t bins, double low, double high);

// Cumulative.
//
// Of any dtype, in x's shape. Sums and products have the dtype that sum() gives.

// Element i is the sum of elements 0 to i along the axis. Half types accumulate in float32, and
// each element is rounded once.
Tensor cumsum(Arg x, int axis);

// Element i is the product of elements 0 to i along the axis, rounded as cumsum() is.
Tensor cumprod(Arg x, int axis);

// cumsum(), after a 0 if include_initial.
Tensor cumulative_sum(Arg x, int axis = -1, bool include_initial = false);

// cumprod(), after a 1 if include_initial.
Tensor cumulative_prod(Arg x, int axis = -1, bool include_initial = false);

// Element i is the greatest of elements 0 to i along the axis, in x's dtype; NaN wins.
Tensor cummax(Arg x, int axis);

// Element i is the least of elements 0 to i along the axis, in x's dtype; NaN wins.
Tensor cummin(Arg x, int axis);

// Element i is log(sum(exp(x))) of elements 0 to i along the axis, a float; it overflows only where
// the result does.
Tensor logcumsumexp(Arg x, int axis);

// Sorting and searching.
//
// Along one axis. Least first, or greatest first if `descending`; NaN is last in both. Equal
// elements, and -0 and 0 are equal, keep their order.

// The elements in order along an axis.
Tensor sort(Arg x, int axis = -1, bool descending = false);

// The indices, int64, that sort() takes the elements from: take_along_axis(x, argsort(x)) is
// sort(x).
Tensor argsort(Arg x, int axis = -1, bool descending = false);

// The k greatest elements along an axis, greatest first, and their indices, int64: what a
// descending sort() begins with.
[[nodiscard]] TensorPair topk(Arg x, int64_t k, int axis = -1);

// How many elements of x, of one axis and in order, are less than each value, or not greater if
// `right`: int64. x is take(x, sorter, 0) if a sorter is given.
Tensor searchsorted(Arg x, Arg values, bool right = false, const Tensor& sorter = {});

// The middle element in order, or the mean of the middle two, a float; NaN of nothing, and where
// there is NaN.
Tensor median(Arg x, const Axes& axes = {}, bool keepdims = false);

// The median() of what is not NaN.
Tensor nanmedian(Arg x, const Axes& axes = {}, bool keepdims = false);

// What is q of the way, 0 to 1, from the least element to the greatest, interpolated between
// neighbours in order, a float; NaN as of median().
Tensor quantile(Arg x, double q, const Axes& axes = {}, bool keepdims = false);
// Several, along a new axis in front.
Tensor quantile(Arg x, const std::vector<double>& q, const Axes& axes = {}, bool keepdims = false);

// The quantile() of what is not NaN.
Tensor nanquantile(Arg x, double q, const Axes& axes = {}, bool keepdims = false);

// quantile(x, q / 100).
Tensor percentile(Arg x, double q, const Axes& axes = {}, bool keepdims = false);

// Sets.
//
// Of x's elements, whatever its shape, in order. Every NaN is unlike any other.

// The distinct elements. Waits: x says how many there are.
Tensor unique_values(Arg x);

// The distinct elements, and how often each is there, int64. Waits.
[[nodiscard]] TensorPair unique_counts(Arg x);

// The distinct elements, and which of them each element of x is, int64 in x's shape. Waits.
[[nodiscard]] TensorPair unique_inverse(Arg x);

// The distinct elements; where in flattened x each is first; which of them each element of x is;
// how often each is there. Waits.
[[nodiscard]] UniqueAll unique_all(Arg x);

// Whether each element of x is among those of `test`, or, if `invert`, is not.
Tensor isin(Arg x, Arg test, bool invert = false);

// Views.
//
// Of any dtype, which stays. A view costs nothing and copies nothing where a kernel reads its
// elements.

// The same elements, in row-major order, in another shape of as many; else an error.
Tensor reshape(Arg x, const Shape& shape);
// One extent of the list may be -1: what the others leave.
Tensor reshape(Arg x, std::initializer_list<int64_t> dims);
Tensor reshape(Arg x, const std::vector<int64_t>& dims);
Tensor reshape(Arg x, int64_t extent);

// Axis i of the result is axis axes[i] of x. An axis that is missing or there twice is an error.
Tensor permute(Arg x, const Axes& axes);

// The axes in reverse order.
Tensor transpose(Arg x);

// x with axes a and b exchanged.
Tensor swapaxes(Arg x, int a, int b);

// Python's x[start:stop:step] along an axis: negative positions count from the end, both are
// clamped; the step may be negative, not 0. With a negative step, a stop of -extent - 1 reaches
// through element 0.
Tensor slice(Arg x, int axis, int64_t start, int64_t stop, int64_t step = 1);

// x without these axes, whose extents must be 1; without all of extent 1 if empty.
Tensor squeeze(Arg x, const Axes& axes = {});

// x with a new axis of extent 1, which is number `axis` of the result.
Tensor expand_dims(Arg x, int axis);

// x repeated along axes of extent 1 and new leading axes; an error where NumPy's broadcast_to has
// one.
Tensor broadcast_to(Arg x, const Shape& shape);

// x reversed along these axes (all if empty).
Tensor flip(Arg x, const Axes& axes = {});

// `sections` equal parts along an axis; an extent that they do not divide is an error.
[[nodiscard]] std::vector<Tensor> split(const Tensor& x, int sections, int axis = 0,
                                        Location where = Location::current());

// reps[i] copies of x one after another along each of the last axes; more reps than axes add axes
// in front.
Tensor tile(Arg x, std::span<const int64_t> reps);
Tensor tile(Arg x, std::initializer_list<int64_t> reps);

// Each element `count` times in a row along an axis.
Tensor repeat(Arg x, int64_t count, int axis);
// Likewise, by a count for each position along the axis. Waits for the counts.
Tensor repeat(Arg x, Arg counts, int axis);

// permute(), by the standard's name.
Tensor permute_dims(Arg x, const Axes& axes);

// The last two axes exchanged.
Tensor matrix_transpose(Arg x);

// Axis source[i] moved to destination[i]; the others keep their order.
Tensor moveaxis(Arg x, const Axes& source, const Axes& destination);

// The parts along an axis, without that axis.
[[nodiscard]] std::vector<Tensor> unstack(const Tensor& x, int axis = 0,
                                          Location where = Location::current());

// Each broadcast to the shape of all.
[[nodiscard]] std::vector<Tensor> broadcast_arrays(std::span<const Tensor> tensors,
                                                   Location where = Location::current());
[[nodiscard]] std::vector<Tensor> broadcast_arrays(std::initializer_list<Tensor> tensors,
                                                   Location where = Location::current());

// The coordinates of a grid's points, from those along each axis: tensor i varies along axis i if
// `ij`; else the first two exchange theirs, as x and y of a picture.
[[nodiscard]] std::vector<Tensor> meshgrid(std::span<const Tensor> tensors, bool ij = false,
                                           Location where = Location::current());
[[nodiscard]] std::vector<Tensor> meshgrid(std::initializer_list<Tensor> tensors, bool ij = false,
                                           Location where = Location::current());

// The elements where the position along axis2 is that along axis1 + offset, along a new last axis,
// for these two.
Tensor diagonal(Arg x, int64_t offset = 0, int axis1 = -2, int axis2 = -1);

// x[1:] - x[:-1] along an axis, n times, of x with what is prepended and appended, if it is; of
// bool: whether they differ.
Tensor diff(Arg x, int n = 1, int axis = -1, const Tensor& prepend = {}, const Tensor& append = {});

// Joining and padding.

// The tensors one after another along an axis. Their other extents must be equal; dtypes are
// promoted.
Tensor concat(std::span<const Tensor> tensors, int axis = 0, Location where = Location::current());
Tensor concat(std::initializer_list<Tensor> tensors, int axis = 0,
              Location where = Location::current());
Tensor concat(const std::vector<Tensor>& tensors, int axis = 0,
              Location where = Location::current());

// The tensors along a new axis, which is number `axis` of the result. Their shapes must be equal;
// dtypes are promoted.
Tensor stack(std::span<const Tensor> tensors, int axis = 0, Location where = Location::current());
Tensor stack(std::initializer_list<Tensor> tensors, int axis = 0,
             Location where = Location::current());
Tensor stack(const std::vector<Tensor>& tensors, int axis = 0,
             Location where = Location::current());

// x with {before, after} = widths[i] elements of `value`, in x's dtype, around axis i. One pair for
// each axis; a negative width is an error.
Tensor pad(Arg x, std::span<const std::pair<int64_t, int64_t>> widths, Scalar value = 0);
Tensor pad(Arg x, std::initializer_list<std::pair<int64_t, int64_t>> widths, Scalar value = 0);

// The element at i along an axis moves to i + shift, around the end.
Tensor roll(Arg x, int64_t shift, int axis);
// Along several, each by its own shift, or all by one; an axis that is named twice moves by both.
Tensor roll(Arg x, const std::vector<int64_t>& shifts, const Axes& axes);
// Of the elements in order, all of them along one axis; the shape stays.
Tensor roll(Arg x, int64_t shift);

// The lower triangle: 0 above diagonal k of the last two axes.
Tensor tril(Arg x, int64_t k = 0);

// The upper triangle: 0 below diagonal k of the last two axes.
Tensor triu(Arg x, int64_t k = 0);

// Indexing.
//
// Indices are of any integer dtype; negative ones count from the end. One outside its axis is an
// error (kOutOfRange) where the result is read, or at the next sync(), naming op, index and extent.

// The elements at these indices along the axis, whose place the indices' shape takes: of (2, 3, 4)
// and indices (5, 6), along axis 1, (2, 5, 6, 4).
Tensor take(Arg x, Arg indices, int axis);
Tensor take(Arg x, std::initializer_list<int64_t> indices, int axis);

// At each place of the indices, the element of x at that index along the axis. Both have as many
// axes, and broadcast along the others.
Tensor take_along_axis(Arg x, Arg indices, int axis);

// take_along_axis(), by another name.
Tensor gather(Arg x, Arg indices, int axis);

// x with each update in place of the element at its index along the axis: of several for one
// element the last in row-major order. Along the other axes both broadcast to x's extents. Updates
// are converted to x's dtype.
Tensor scatter(Arg x, Arg indices, Arg updates, int axis);

// scatter(), by NumPy's name.
Tensor put_along_axis(Arg x, Arg indices, Arg values, int axis);

// x with each update added to the element at its index along the axis, in row-major order of the
// updates; along the other axes both broadcast to x's extents. Updates are converted to x's dtype;
// sums of half types are rounded once.
Tensor scatter_add(Arg x, Arg indices, Arg updates, int axis);

// The indices of the elements that are not 0, in row-major order: (count, rank), int64. Waits for
// the count.
Tensor nonzero(Arg x);

// Likewise, the greatest of the element and its updates, as of maximum().
Tensor scatter_max(Arg x, Arg indices, Arg updates, int axis);

// Likewise, the least of the element and its updates, as of minimum().
Tensor scatter_min(Arg x, Arg indices, Arg updates, int axis);

// A new last axis: 1 where its position equals the index, else 0; zeros for an index outside [0,
// classes).
Tensor one_hot(Arg indices, int64_t classes, DType dtype = DType::kFloat32);

// Products and normalisation.

// (.., m, k) x (.., k, n) gives (.., m, n); leading axes broadcast; a 1-d operand is a row (left)
// or column (right) vector whose axis is dropped. Dtypes are promoted; half types accumulate in
// float32 and are rounded once, integers wrap, bool is an error.
Tensor matmul(Arg a, Arg b);

// The products of a and b, summed over these axes of both, in pairs; the other axes of a come
// first. Here an empty list is no axis. Dtypes as of matmul().
Tensor tensordot(Arg a, Arg b, const Axes& a_axes, const Axes& b_axes);
// Over the last `axes` of a and the first of b.
Tensor tensordot(Arg a, Arg b, int axes = 2);

// sum(a * b) along an axis, of equal extents; the others broadcast. Dtypes as of matmul().
Tensor vecdot(Arg a, Arg b, int axis = -1);

// NumPy's: tensordot() over the last axis of a and the last but one of b (or its only one); a * b
// if either has no axes.
Tensor dot(Arg a, Arg b);

// tensordot() over the last axes of both; a * b if either has no axes.
Tensor inner(Arg a, Arg b);

// a[i] * b[j], of both in a row.
Tensor outer(Arg a, Arg b);

// The Kronecker product: each element of a times all of b.
Tensor kron(Arg a, Arg b);

// NumPy's: einsum("bij,bjk->bik", {x, y}). A letter for each axis; products are summed over letters
// that the result has not; a letter twice in a term is its diagonal; an ellipsis stands for axes
// that broadcast; without "->" the result has the letters that are there once, in order. Pairs are
// contracted greedily, by one matmul() or, where that is no product of matrices, in one fused
// kernel. Dtypes as of matmul().
Tensor einsum(std::string_view subscripts, std::span<const Tensor> operands,
              Location where = Location::current());
Tensor einsum(std::string_view subscripts, std::initializer_list<Tensor> operands,
              Location where = Location::current());

// exp(x - max(x)) / sum(exp(x - max(x))) along an axis, a float in x's shape.
Tensor softmax(Arg x, int axis = -1);

// The logarithm of softmax(), a float: x - max(x) - log(sum(exp(x - max(x)))).
Tensor log_softmax(Arg x, int axis = -1);

// (x - mean) / sqrt(var + eps) * weight + bias over the last axis, a float in x's shape; an empty
// weight or bias is left out (Ba et al., Layer Normalization, 2016).
Tensor layer_norm(Arg x, Arg weight, Arg bias, double eps = 1e-5);

// x / sqrt(mean(x^2) + eps) * weight over the last axis, a float in x's shape; an empty weight is
// left out (Zhang and Sennrich, Root Mean Square Layer Normalization, 2019).
Tensor rms_norm(Arg x, Arg weight, double eps = 1e-6);

// (x - mean) / sqrt(var + eps) * weight + bias, each given for every channel, axis 1; an empty
// weight or bias is left out (Ioffe and Szegedy, Batch Normalization, 2015).
Tensor batch_norm(Arg x, Arg mean, Arg var, Arg weight, Arg bias, double eps = 1e-5);

// (x - mean) / sqrt(var + eps) * weight + bias, with mean and variance over each of `groups` groups
// of channels (axis 1) of a sample (axis 0), weight and bias by channel; an empty weight or bias is
// left out (Wu and He, Group Normalization, 2018).
Tensor group_norm(Arg x, int64_t groups, Arg weight, Arg bias, double eps = 1e-5);

// group_norm() with a group for each channel.
Tensor instance_norm(Arg x, Arg weight, Arg bias, double eps = 1e-5);

// The rows of weight (count, width) at these indices: take() along axis 0.
Tensor embedding(Arg indices, Arg weight);

// Each element 0 with probability p, else x / (1 - p), a float (Srivastava et al., Dropout, 2014).
// Draws as rand() does.
Tensor dropout(Arg x, double p);

// softmax(scale q x k^T + mask) x v, of (.., length, depth); a scale of 0 stands for 1 /
// sqrt(depth). Of a bool mask what is false takes no part, nor do, if causal, keys after their
// query (Vaswani et al., Attention Is All You Need, 2017). Several heads (axis -3) of q may share
// one of k and v (Ainslie et al., GQA, 2023): head i has k's i / (q's heads / k's). What the
// softmax gives is dropped with probability `dropout`. A query without any key gives NaN. Where
// there are many scores they are made, and in the backward pass made again, for some queries at a
// time.
Tensor scaled_dot_product_attention(Arg q, Arg k, Arg v, const Tensor& mask = {},
                                    bool causal = false, double scale = 0, double dropout = 0);

// Rotary position embedding of x (.., length, depth), a float, of an even depth: element i and i +
// depth / 2, or, if interleaved, 2 i and 2 i + 1, turned by (offset + position) base^(-2 i / depth)
// (Su et al., RoFormer, 2021).
Tensor rope(Arg x, double base = 10000, int64_t offset = 0, bool interleaved = false);

// Activations.
//
// Floats, in x's shape, beside relu, gelu, silu, softplus, mish, sigmoid and tanh above. Those of
// half types are computed in float32 and rounded once.

// x where it is positive, else slope * x.
Tensor leaky_relu(Arg x, double slope = 0.01);

// x where it is positive, else weight * x, of one weight or of one for each channel, axis 1 (He et
// al., Delving Deep into Rectifiers, 2015).
Tensor prelu(Arg x, Arg weight);

// x where it is positive, else alpha * (exp(x) - 1) (Clevert et al., 2015).
Tensor elu(Arg x, double alpha = 1);

// 1.0507 * elu(x, 1.6733), which keeps mean 0 and variance 1 (Klambauer et al., Self-Normalizing
// Neural Networks, 2017).
Tensor selu(Arg x);

// x where it is positive, else alpha * (exp(x / alpha) - 1) (Barron, 2017).
Tensor celu(Arg x, double alpha = 1);

// gelu() with tanh(sqrt(2 / pi) * (x + 0.044715 x^3)) in place of erf(x / sqrt(2)).
Tensor gelu_tanh(Arg x);

// min(max(x, 0), 6).
Tensor relu6(Arg x);

// min(max(x, low), high).
Tensor hardtanh(Arg x, double low = -1, double high = 1);

// relu6(x + 3) / 6.
Tensor hardsigmoid(Arg x);

// x * hardsigmoid(x) (Howard et al., Searching for MobileNetV3, 2019).
Tensor hardswish(Arg x);

// x / (1 + |x|).
Tensor softsign(Arg x);

// log(sigmoid(x)), without overflow on the way.
Tensor log_sigmoid(Arg x);

// a * sigmoid(b), of the halves a and b of x along an axis (Dauphin et al., 2016).
Tensor glu(Arg x, int axis = -1);

// Windows.
//
// Over the last axes; see convolution.h for the options.

// The cross-correlation of x (n, c, length) with weight (o, c / groups, k); gives (n, o, (length +
// 2 padding - dilation (k - 1) - 1) / stride + 1). Sums as matmul() does.
Tensor conv1d(Arg x, Arg weight, const Conv1dOptions& options = {});

// Likewise of x (n, c, h, w) with weight (o, c / groups, kh, kw).
Tensor conv2d(Arg x, Arg weight, const Conv2dOptions& options = {});

// Likewise of x (n, c, d, h, w) with weight (o, c / groups, kd, kh, kw).
Tensor conv3d(Arg x, Arg weight, const Conv3dOptions& options = {});

// The gradient of conv1d() with regard to its x, of weight (c, o / groups, k): x (n, c, length)
// gives (n, o, (length - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1).
Tensor conv_transpose1d(Arg x, Arg weight, const ConvTranspose1dOptions& options = {});

// Likewise of conv2d(), of x (n, c, h, w) and weight (c, o / groups, kh, kw).
Tensor conv_transpose2d(Arg x, Arg weight, const ConvTranspose2dOptions& options = {});

// Likewise of conv3d(), of x (n, c, d, h, w) and weight (c, o / groups, kd, kh, kw).
Tensor conv_transpose3d(Arg x, Arg weight, const ConvTranspose3dOptions& options = {});

// The greatest element of each window along the last axis, in x's dtype; NaN wins. Padding never
// does.
Tensor max_pool1d(Arg x, int64_t window, const Pool1dOptions& options = {});

// Likewise over the last two axes.
Tensor max_pool2d(Arg x, Pair window, const Pool2dOptions& options = {});

// Likewise over the last three.
Tensor max_pool3d(Arg x, Triple window, const Pool3dOptions& options = {});

// The mean of each window along the last axis, a float: its sum over the window's size, or over how
// many of its elements are no padding.
Tensor avg_pool1d(Arg x, int64_t window, const Pool1dOptions& options = {});

// Likewise over the last two axes.
Tensor avg_pool2d(Arg x, Pair window, const Pool2dOptions& options = {});

// Likewise over the last three.
Tensor avg_pool3d(Arg x, Triple window, const Pool3dOptions& options = {});

// Means, floats, of so many windows along the last axis: of n elements, from floor(i n / size) to
// ceil((i + 1) n / size).
Tensor adaptive_avg_pool1d(Arg x, int64_t size);

// Likewise over the last two axes.
Tensor adaptive_avg_pool2d(Arg x, Pair size);

// Likewise over the last three.
Tensor adaptive_avg_pool3d(Arg x, Triple size);

// The greatest element, in x's dtype, of each of the windows of adaptive_avg_pool1d().
Tensor adaptive_max_pool1d(Arg x, int64_t size);

// Likewise over the last two axes.
Tensor adaptive_max_pool2d(Arg x, Pair size);

// Likewise over the last three.
Tensor adaptive_max_pool3d(Arg x, Triple size);

// Of (.., c * factor * factor, h, w), (.., c, h * factor, w * factor): channels become pixels (Shi
// et al., 2016).
Tensor pixel_shuffle(Arg x, int64_t factor);

// The inverse of pixel_shuffle(): of (.., c, h * factor, w * factor), (.., c * factor * factor, h,
// w).
Tensor pixel_unshuffle(Arg x, int64_t factor);

// x (n, c, ..) with the first channel of each group, then the second of each, ... (Zhang et al.,
// ShuffleNet, 2017).
Tensor channel_shuffle(Arg x, int64_t groups);

// The windows of x (n, c, h, w) as columns, (n, c * window, places): what conv2d() with these
// options multiplies by its weight. Groups are none of them.
Tensor unfold(Arg x, Pair window, const Conv2dOptions& options = {});

// Columns (n, c * window, places) added up where unfold() took them from: (n, c, size), its
// gradient.
Tensor fold(Arg x, Pair size, Pair window, const Conv2dOptions& options = {});

// x with its last axes resampled to these extents. "nearest": element floor(i n / size);
// "nearest-exact": floor((i + 0.5) n / size). "linear" (also "bilinear", "trilinear") and "cubic"
// ("bicubic"; a = -0.75), along each axis, a float: elements lie at (i + 0.5) / n, or, if
// align_corners, the first and the last of both at the same place (Keys, Cubic Convolution
// Interpolation, 1981). With antialias the filter is as wide as what becomes one element (and a =
// -0.5), as in Pillow.
Tensor interpolate(Arg x, const Shape& size, std::string_view mode = "nearest",
                   bool align_corners = false, bool antialias = false);

// Where grid_sample() of an image of this size (n, c, h, w) is to read: theta (n, 2, 3) times (x,
// y, 1) of each place, (n, h, w, 2). Likewise (n, 3, 4) and (n, c, d, h, w) give (n, d, h, w, 3)
// (Jaderberg et al., Spatial Transformer Networks, 2015).
Tensor affine_grid(Arg theta, const Shape& size, bool align_corners = false);

// x (n, c, h, w) at the places grid (n, i, j, 2), (x, y) from -1 to 1: (n, c, i, j); or x (n, c, d,
// h, w) at grid (n, i, j, k, 3). -1 and 1 are the outer edges of the first and the last element,
// or, if align_corners, their centres. mode: "nearest", "linear" ("bilinear") or, of images,
// "cubic" ("bicubic"), as interpolate()'s. padding, what lies outside: "zeros", the "border"'s
// elements, or the image's "reflection".
Tensor grid_sample(Arg x, Arg grid, std::string_view mode = "linear",
                   std::string_view padding = "zeros", bool align_corners = false);

}  // namespace sluice
#pragma GCC visibility pop

#include <sluice/detail/op_forms.h>

#endif  // SLUICE_OPS_H_
