// Every op on tensors, as free functions. Names and meaning are those of NumPy and the Python array
// API standard where it has them.
//
// Common to all: operands broadcast as in NumPy; dtypes combine by promote()
// (include/sluice/dtype.h); a C++ number may stand for an operand. `axis` may be negative. A bad
// call throws Error at once, naming the op and the shapes and dtypes it was given, and changes
// nothing. An op that is not there yet throws Error (kUnimplemented) naming it.
#ifndef SLUICE_OPS_H_
#define SLUICE_OPS_H_

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include <sluice/tensor.h>
#include "fusion/ir/op.h"

namespace sluice {

namespace frontend {
// The element-wise op of as many operands as it takes, called at `where`.
Tensor pointwise(fusion::Op op, std::initializer_list<Operand> operands,
                 std::source_location where);
}  // namespace frontend

// Unary and binary element-wise ops: see frontend/elementwise.def for the list. Overloads for
// temporaries let them go before the statement ends. `where` is for traces; the templates are there
// for pointers to functions, which know no default arguments.
#define SLUICE_WHERE std::source_location where = std::source_location::current()
#define SLUICE_UNARY(name, id)                                         \
  inline Tensor name(const Tensor& x, SLUICE_WHERE) {                  \
    return frontend::pointwise(fusion::Op::id, {x}, where);            \
  }                                                                    \
  inline Tensor name(Tensor&& x, SLUICE_WHERE) {                       \
    return frontend::pointwise(fusion::Op::id, {std::move(x)}, where); \
  }                                                                    \
  template <typename = void>                                           \
  Tensor name(const Tensor& x) {                                       \
    return name(x, std::source_location());                            \
  }
#define SLUICE_BINARY_OVERLOAD(name, id, A, a, B, b)           \
  inline Tensor name(A x, B y, SLUICE_WHERE) {                 \
    return frontend::pointwise(fusion::Op::id, {a, b}, where); \
  }
#define SLUICE_BINARY(name, id)                                                    \
  SLUICE_BINARY_OVERLOAD(name, id, const Tensor&, x, const Tensor&, y)             \
  SLUICE_BINARY_OVERLOAD(name, id, Tensor&&, std::move(x), const Tensor&, y)       \
  SLUICE_BINARY_OVERLOAD(name, id, const Tensor&, x, Tensor&&, std::move(y))       \
  SLUICE_BINARY_OVERLOAD(name, id, Tensor&&, std::move(x), Tensor&&, std::move(y)) \
  SLUICE_BINARY_OVERLOAD(name, id, const Tensor&, x, Scalar, y)                    \
  SLUICE_BINARY_OVERLOAD(name, id, Tensor&&, std::move(x), Scalar, y)              \
  SLUICE_BINARY_OVERLOAD(name, id, Scalar, x, const Tensor&, y)                    \
  SLUICE_BINARY_OVERLOAD(name, id, Scalar, x, Tensor&&, std::move(y))              \
  template <typename = void>                                                       \
  Tensor name(const Tensor& x, const Tensor& y) {                                  \
    return name(x, y, std::source_location());                                     \
  }
// Operators take no default arguments: theirs come with the operands.
#define SLUICE_UNARY_OPERATOR(name, id) \
  inline Tensor name(Arg x) { return frontend::pointwise(fusion::Op::id, {x}, x.where()); }
#define SLUICE_BINARY_OPERATOR(name, id)                           \
  inline Tensor name(Arg x, Arg y) {                               \
    return frontend::pointwise(fusion::Op::id, {x, y}, x.where()); \
  }                                                                \
  inline Tensor name(Arg x, Scalar y) {                            \
    return frontend::pointwise(fusion::Op::id, {x, y}, x.where()); \
  }                                                                \
  inline Tensor name(Scalar x, Arg y) {                            \
    return frontend::pointwise(fusion::Op::id, {x, y}, y.where()); \
  }
#include "frontend/elementwise.def"
#undef SLUICE_BINARY_OVERLOAD

// Operators are the binary ops of the table; compound assignment lets go of the old value.
#define SLUICE_COMPOUND(symbol, id)                                        \
  inline Tensor& operator symbol(Tensor& a, OperandArg b) {                \
    a = frontend::pointwise(fusion::Op::id, {std::move(a), b}, b.where()); \
    return a;                                                              \
  }
SLUICE_COMPOUND(+=, kAdd)
SLUICE_COMPOUND(-=, kSub)
SLUICE_COMPOUND(*=, kMul)
SLUICE_COMPOUND(/=, kDiv)
SLUICE_COMPOUND(%=, kRemainder)
SLUICE_COMPOUND(&=, kBitwiseAnd)
SLUICE_COMPOUND(|=, kBitwiseOr)
SLUICE_COMPOUND(^=, kBitwiseXor)
#undef SLUICE_COMPOUND

// `b` where `condition` is false, else `a`; the condition is anything that converts to bool.
Tensor where(OperandArg condition, OperandArg a, OperandArg b);
// min(max(x, lo), hi); NaN stays.
Tensor clip(OperandArg x, OperandArg lo, OperandArg hi);
// a + t * (b - a).
Tensor lerp(OperandArg a, OperandArg b, OperandArg t);

// The elements in another dtype. Floats to integers truncate and saturate, NaN gives 0; integers
// wrap; to bool is != 0.
Tensor astype(Arg x, DType dtype);

// Reductions over `axes` (all if empty). keepdims leaves them with extent 1. Their order is fixed
// by the shape, not by the number of threads. sum, prod of signed integers and bool give int64, of
// unsigned ones uint64. mean, var, std, logsumexp, norm of integers give float32.
Tensor sum(Arg x, const Axes& axes = {}, bool keepdims = false);
Tensor prod(Arg x, const Axes& axes = {}, bool keepdims = false);
Tensor max(Arg x, const Axes& axes = {}, bool keepdims = false);  // NaN wins; of nothing: an error
Tensor min(Arg x, const Axes& axes = {}, bool keepdims = false);
Tensor mean(Arg x, const Axes& axes = {}, bool keepdims = false);
// sum((x - mean)^2) / (n - ddof).
Tensor var(Arg x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);
Tensor std(Arg x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);
Tensor any(Arg x, const Axes& axes = {}, bool keepdims = false);
Tensor all(Arg x, const Axes& axes = {}, bool keepdims = false);
// int64 index of the first of the greatest, along one axis, or in row-major order over all.
Tensor argmax(Arg x, const Axes& axes = {}, bool keepdims = false);
Tensor argmin(Arg x, const Axes& axes = {}, bool keepdims = false);
// log(sum(exp(x))), computed as m + log(sum(exp(x - m))) with m the maximum (0 where infinite).
Tensor logsumexp(Arg x, const Axes& axes = {}, bool keepdims = false);
// sqrt(sum(x^2)).
Tensor norm(Arg x, const Axes& axes = {}, bool keepdims = false);

Tensor cumsum(Arg x, int axis);
Tensor cumprod(Arg x, int axis);

// Views: they cost nothing and copy nothing where their elements are read by a kernel.
Tensor reshape(Arg x, const Shape& shape);
Tensor reshape(Arg x, std::initializer_list<int64_t> dims);  // one of them may be -1
Tensor permute(Arg x, const Axes& axes);
Tensor transpose(Arg x);  // reverses the axes
Tensor swapaxes(Arg x, int a, int b);
// Python's rules: negative start and stop count from the end, both are clamped; step != 0 may be
// negative (a stop before the first element, as -extent - 1, then reaches through element 0).
Tensor slice(Arg x, int axis, int64_t start, int64_t stop, int64_t step = 1);
Tensor squeeze(Arg x, const Axes& axes = {});  // empty: all axes of extent 1
Tensor expand_dims(Arg x, int axis);
Tensor broadcast_to(Arg x, const Shape& shape);
Tensor flip(Arg x, const Axes& axes = {});

Tensor concat(std::span<const Tensor> tensors, int axis = 0, SLUICE_WHERE);
Tensor concat(std::initializer_list<Tensor> tensors, int axis = 0, SLUICE_WHERE);
Tensor concat(const std::vector<Tensor>& tensors, int axis = 0, SLUICE_WHERE);
Tensor stack(std::span<const Tensor> tensors, int axis = 0, SLUICE_WHERE);
Tensor stack(std::initializer_list<Tensor> tensors, int axis = 0, SLUICE_WHERE);
Tensor stack(const std::vector<Tensor>& tensors, int axis = 0, SLUICE_WHERE);
std::vector<Tensor> split(const Tensor& x, int sections, int axis = 0,
                          SLUICE_WHERE);  // equal sections
// widths[i] = {before, after} of axis i.
Tensor pad(Arg x, std::span<const std::pair<int64_t, int64_t>> widths, Scalar value = 0);
Tensor pad(Arg x, std::initializer_list<std::pair<int64_t, int64_t>> widths, Scalar value = 0);
Tensor tile(Arg x, std::span<const int64_t> reps);
Tensor tile(Arg x, std::initializer_list<int64_t> reps);
Tensor repeat(Arg x, int64_t count, int axis);
Tensor roll(Arg x, int64_t shift, int axis);
Tensor tril(Arg x, int64_t k = 0);  // zero above diagonal k of the last two axes
Tensor triu(Arg x, int64_t k = 0);  // zero below it

// Indexing. Negative indices count from the end; one outside its axis is an error where the result
// is read (or at the next sync()), naming op and index.
Tensor take(Arg x, Arg indices, int axis);
Tensor take_along_axis(Arg x, Arg indices, int axis);
Tensor gather(Arg x, Arg indices, int axis);  // take_along_axis
Tensor scatter_add(Arg x, Arg indices, Arg updates, int axis);
// A new last axis of extent `classes`: 1 where its index equals the index, else 0.
Tensor one_hot(Arg indices, int64_t classes, DType dtype = DType::kFloat32);
Tensor nonzero(Arg x);
Tensor sort(Arg x, int axis = -1, bool descending = false);
Tensor argsort(Arg x, int axis = -1, bool descending = false);
std::pair<Tensor, Tensor> topk(Arg x, int64_t k, int axis = -1);

// (.., m, k) x (.., k, n) -> (.., m, n); leading axes broadcast; a 1-D operand is a row (left) or
// column (right) vector whose axis is then dropped. Half types accumulate in float32.
Tensor matmul(Arg a, Arg b);

// exp(x - max) / sum(exp(x - max)) and its logarithm, along `axis`.
Tensor softmax(Arg x, int axis = -1);
Tensor log_softmax(Arg x, int axis = -1);

// An extent or the same one for both spatial axes.
struct Pair {
  int64_t height, width;
  Pair(int64_t both) : height(both), width(both) {}
  Pair(int64_t height, int64_t width) : height(height), width(width) {}
};
struct Conv2dOptions {
  Pair stride = 1;
  Pair padding = 0;
  Pair dilation = 1;
  int64_t groups = 1;
};
struct Pool2dOptions {
  Pair stride = 0;  // 0: the window's extents
  Pair padding = 0;
  bool count_include_pad = true;
};
Tensor conv2d(Arg x, Arg weight, const Conv2dOptions& options = {});
Tensor max_pool2d(Arg x, Pair window, const Pool2dOptions& options = {});
Tensor avg_pool2d(Arg x, Pair window, const Pool2dOptions& options = {});
Tensor layer_norm(Arg x, Arg weight, Arg bias, double eps = 1e-5);
Tensor rms_norm(Arg x, Arg weight, double eps = 1e-6);
Tensor batch_norm(Arg x, Arg mean, Arg var, Arg weight, Arg bias, double eps = 1e-5);
Tensor dropout(Arg x, double p);
Tensor scaled_dot_product_attention(Arg q, Arg k, Arg v, const Tensor& mask = {},
                                    bool causal = false);

#undef SLUICE_WHERE

}  // namespace sluice

#endif  // SLUICE_OPS_H_
