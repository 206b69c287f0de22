// Every op of the public surface on NdArrays. Operands are taken to be valid; what the engine must
// reject is tested by hand. Names, arguments and meaning are those of the public functions.
#ifndef SLUICE_TESTS_ORACLE_OPS_H_
#define SLUICE_TESTS_ORACLE_OPS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/oracle/ndarray.h"

namespace sluice::oracle {

// Element-wise ops by name, as in "exp" or "floor_divide". The array's errors hold what a correct
// engine may deviate: 0 for ops that IEEE 754 or integer arithmetic defines, 4 ulp of float32 or
// float64 (gelu 5.5; 1 ulp of a half type) for the others, and what operands' errors become.
NdArray unary(const std::string& op, const NdArray& x);
NdArray binary(const std::string& op, const NdArray& a, const NdArray& b);
NdArray ternary(const std::string& op, const NdArray& a, const NdArray& b, const NdArray& c);

// The dtypes in which `op` computes on operands of these dtypes and of its result; none if the op
// is not defined for them.
struct OpTypes {
  DType operand, result;
};
std::optional<OpTypes> types_of(const std::string& op, const std::vector<DType>& operands);

// Reductions: sum prod max min mean var std any all argmax argmin logsumexp norm.
NdArray reduce(const std::string& op, const NdArray& x, const std::vector<int>& axes, bool keepdims,
               int ddof = 0);
// Cumulative: "sum" for cumsum, "prod" for cumprod.
NdArray scan(const std::string& op, const NdArray& x, int axis);
// In order along an axis, NaN last.
NdArray sort(const NdArray& x, int axis, bool descending);
// The positions of what sort() has there, as far as errors leave them known.
NdArray argsort(const NdArray& x, int axis, bool descending);
NdArray softmax(const NdArray& x, int axis);
NdArray log_softmax(const NdArray& x, int axis);
NdArray matmul(const NdArray& a, const NdArray& b);

NdArray reshape(const NdArray& x, const Shape& shape);  // no -1
NdArray permute(const NdArray& x, const std::vector<int>& axes);
NdArray transpose(const NdArray& x);
NdArray swapaxes(const NdArray& x, int a, int b);
NdArray slice(const NdArray& x, int axis, int64_t start, int64_t stop, int64_t step);
NdArray squeeze(const NdArray& x, const std::vector<int>& axes);
NdArray expand_dims(const NdArray& x, int axis);
NdArray broadcast_to(const NdArray& x, const Shape& shape);
NdArray flip(const NdArray& x, const std::vector<int>& axes);
NdArray concat(const std::vector<NdArray>& arrays, int axis);
NdArray stack(const std::vector<NdArray>& arrays, int axis);
NdArray pad(const NdArray& x, const std::vector<std::pair<int64_t, int64_t>>& widths, Real value);
NdArray tile(const NdArray& x, const std::vector<int64_t>& reps);
NdArray repeat(const NdArray& x, int64_t count, int axis);
NdArray roll(const NdArray& x, int64_t shift, int axis);
NdArray tril(const NdArray& x, int64_t k);
NdArray triu(const NdArray& x, int64_t k);
NdArray take(const NdArray& x, const NdArray& indices, int axis);
NdArray take_along_axis(const NdArray& x, const NdArray& indices, int axis);
// Sums are rounded to the dtype one after another; those of half types once.
// `op`: gcd or lcm.
NdArray divisor(const std::string& op, const NdArray& x, const NdArray& y);
// `op`: scatter, scatter_max or scatter_min.
NdArray scatter(const std::string& op, const NdArray& x, const NdArray& indices,
                const NdArray& updates, int axis);
NdArray scatter_add(const NdArray& x, const NdArray& indices, const NdArray& updates, int axis);
NdArray one_hot(const NdArray& indices, int64_t classes, DType dtype);

NdArray arange(Real start, Real stop, Real step, DType dtype);
NdArray linspace(Real start, Real stop, int64_t num, DType dtype);
NdArray eye(int64_t n, int64_t m, DType dtype);

}  // namespace sluice::oracle

#endif  // SLUICE_TESTS_ORACLE_OPS_H_
