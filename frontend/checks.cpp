#include "frontend/checks.h"

#include <algorithm>
#include <cstring>

#include "engine/record/node.h"

namespace sluice::frontend {

void fail_empty(const char* op) {
  throw Error(ErrorCode::kFailedPrecondition,
              absl::StrCat(op, ": the tensor is empty (default-constructed or moved from)"));
}

std::string describe(DType dtype, const Shape& shape) {
  return absl::StrCat(name_of(dtype), to_string(shape));
}

std::string describe(const Tensor& x) { return describe(x.dtype(), x.shape()); }

engine::Node* node_of(const char* op, const Tensor& x) {
  if (!x.defined()) fail_empty(op);
  return x.node_ref().get();
}

int check_axis(const char* op, int axis, int rank, const Tensor& x) {
  if (axis < -rank || axis >= rank) {
    fail(op, "axis ", axis, " is not in [", -rank, ", ", rank, ") for ", describe(x));
  }
  return axis < 0 ? axis + rank : axis;
}

std::vector<int> check_axes(const char* op, const Axes& axes, const Tensor& x) {
  const int rank = x.ndim();
  std::vector<int> result;
  for (int axis : axes.span()) result.push_back(check_axis(op, axis, rank, x));
  std::sort(result.begin(), result.end());
  if (const auto twice = std::adjacent_find(result.begin(), result.end()); twice != result.end()) {
    fail(op, "axis ", *twice, " is named twice for ", describe(x));
  }
  if (axes.empty()) {
    for (int axis = 0; axis < rank; ++axis) result.push_back(axis);
  }
  return result;
}

Shape make_shape(const char* op, std::span<const int64_t> dims) {
  try {
    return Shape(dims);
  } catch (const Error& error) {
    throw Error(error.code(), absl::StrCat(op, ": ", error.what()));
  }
}

Shape make_shape(const char* op, std::span<const int64_t> dims, const Tensor& x) {
  try {
    return Shape(dims);
  } catch (const Error& error) {
    throw Error(error.code(), absl::StrCat(op, " of ", describe(x), ": ", error.what()));
  }
}

std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  int64_t dims[kMaxRank];
  const int lead = longer.rank() - shorter.rank();
  for (int i = 0; i < longer.rank(); ++i) {
    dims[i] = longer[i];
    if (i < lead || shorter[i - lead] == dims[i] || shorter[i - lead] == 1) continue;
    if (dims[i] != 1) return std::nullopt;
    dims[i] = shorter[i - lead];
  }
  return Shape(std::span<const int64_t>(dims, longer.rank()));
}

void check_bytes(const char* op, DType dtype, const Shape& shape) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.numel(), static_cast<int64_t>(size_of(dtype)), &bytes)) {
    fail(op, describe(dtype, shape), " has more bytes than int64 can count");
  }
}

uint64_t any_scalar_bits(Scalar value, DType dtype) {
  return visit_dtype(dtype, [&]<typename T>() {
    uint64_t bits = 0;
    T element;
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      element = T(value.as<float>());
    } else {
      element = value.as<T>();
    }
    std::memcpy(&bits, &element, sizeof(element));
    return bits;
  });
}

}  // namespace sluice::frontend
