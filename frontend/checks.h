// What every op checks and how it says what is wrong; the frontend's own.
#ifndef SLUICE_FRONTEND_CHECKS_H_
#define SLUICE_FRONTEND_CHECKS_H_

#include <bit>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sluice/tensor.h>
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace sluice::frontend {

// Throws Error (kInvalidArgument): "op: parts...".
template <typename... Parts>
[[noreturn]] void fail(const char* op, const Parts&... parts) {
  throw Error(ErrorCode::kInvalidArgument, absl::StrCat(op, ": ", parts...));
}

[[noreturn]] void fail_empty(const char* op);

// "float32(2, 3)".
std::string describe(DType dtype, const Shape& shape);
std::string describe(const Tensor& x);

// The node of `x`; throws if the handle is empty.
engine::Node* node_of(const char* op, const Tensor& x);

// `axis` counted from the front; throws if `x` (of `rank` axes) has no such axis.
int check_axis(const char* op, int axis, int rank, const Tensor& x);

// All of `axes`, from the front, in increasing order; an empty list gives every axis. Throws for an
// axis that is not there or named twice.
std::vector<int> check_axes(const char* op, const Axes& axes, const Tensor& x);

// The shape; what is wrong with it is said of `op`, called with `x`.
Shape make_shape(const char* op, std::span<const int64_t> dims);
Shape make_shape(const char* op, std::span<const int64_t> dims, const Tensor& x);

// The shape that `a` and `b` broadcast to, if they do.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b);

// What `scalar` counts as beside tensors of this dtype: nothing, unless its kind is wider. Beside
// none (where(condition, 1.f, 0.f)), as C++ has it, but for double, which is how literals are
// written.
DType join_scalar(std::optional<DType> dtype, Scalar scalar);

// The dtype that the operands of an element-wise op are brought to.
DType common_dtype(absl::Span<const Operand> operands);

// Throws if a tensor of this shape and dtype would have more bytes than int64 can count.
void check_bytes(const char* op, DType dtype, const Shape& shape);

// The bits of a scalar as an element of `dtype`.
uint64_t any_scalar_bits(Scalar value, DType dtype);
inline uint64_t scalar_bits(Scalar value, DType dtype) {
  if (dtype == DType::kFloat32) return std::bit_cast<uint32_t>(value.as<float>());
  return any_scalar_bits(value, dtype);
}

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_CHECKS_H_
