#include <algorithm>
#include <span>
#include <vector>

#include <sluice/ops.h>
#include "frontend/call.h"
#include "frontend/record.h"
#include "frontend/reduce.h"

namespace sluice {
namespace {

using frontend::describe;
using frontend::fail;
using fusion::Op;

Shape joined(std::span<const int64_t> lead, std::initializer_list<int64_t> last) {
  std::vector<int64_t> dims(lead.begin(), lead.end());
  dims.insert(dims.end(), last);
  return Shape(std::span<const int64_t>(dims));
}

std::span<const int64_t> leading(const Tensor& x) {
  return std::span<const int64_t>(x.shape()).first(x.ndim() - 2);
}

// What products on the CPU are computed in. Half types accumulate in float32 and are rounded once.
// Where they are packed, or each element of a matrix is needed once, they are read as they are, and
// the product is written in them.
// Short integers wrap in any wider type: products of little depth and width, which vectors of short
// ones would be too long for, are those of 32 bits.
constexpr int64_t kShortProduct = 256, kManyProducts = 4096;
constexpr int64_t kFewVectors = 16, kMinVectorDepth = 128, kMinPacked = 32;

DType product_type(DType dtype, int64_t count, int64_t m, int64_t n, int64_t k) {
  const bool is_short = is_integer(dtype) && size_of(dtype) < 4;
  if (is_short && k * std::min(m, n) <= kShortProduct && count * m * n * k >= kManyProducts) {
    return DType::kInt32;
  }
  return compute_type(dtype);
}

bool reads_halves(DType dtype, int64_t m, int64_t n, int64_t k) {
  if (!is_half(dtype)) return false;
  return std::min({m, n, k}) >= kMinPacked ||
         (std::min(m, n) <= kFewVectors && k >= kMinVectorDepth);
}

// a and b of rank 2 or 3, and of equal leading axes.
Tensor product(const Tensor& a, const Tensor& b, DType dtype) {
  const int rank = a.ndim();
  const int64_t m = a.shape(-2);
  const int64_t n = b.shape(-1);
  const bool on_cpu = a.device().type() == DeviceType::kCpu;
  const int64_t k = a.shape(-1);
  // Sums of one term are made where they are read.
  if (k == 1) return astype(a, dtype) * astype(b, dtype);
  // Half types that are read and written as they are are summed in float32.
  const DType computed = on_cpu && !reads_halves(dtype, m, n, k)
                             ? product_type(dtype, rank == 3 ? a.shape(0) : 1, m, n, k)
                             : dtype;
  if (is_float(computed) || on_cpu) {
    const Tensor left = astype(a, computed);
    const Tensor right = astype(b, computed);
    const engine::NodeOperand operands[] = {{left.node_ref().get()}, {right.node_ref().get()}};
    const Tensor result = frontend::record({.caller = {.name = "matmul"},
                                            .op = Op::kMatmul,
                                            .dtype = computed,
                                            .operand_dtype = computed,
                                            .device = a.device(),
                                            .shape = joined(leading(a), {m, n}),
                                            .operands = operands});
    return astype(result, dtype);
  }
  // GPUs have no library calls of this dtype: a product of all pairs, summed over the shared axis
  // as it is made.
  const Tensor left = expand_dims(astype(a, dtype), -1);
  const Tensor right = expand_dims(astype(b, dtype), -3);
  return frontend::reduce("matmul", Op::kSum, left * right, {rank - 1}, false, dtype);
}

// Whether a has several matrices that lie by columns, of which all rows together would be a copy
// that takes longer than to multiply each. Only where an element is the same sum either way, as
// whether a lies anywhere depends on when it is computed: tiles sum in the order of k, products
// with vectors do not.
bool lies_by_columns(const Tensor& a, int64_t n) {
  constexpr int64_t kFewRows = 16;
  const engine::Node& node = *a.node_ref();
  const int rank = a.ndim();
  const int64_t m = a.shape(-2), k = a.shape(-1);
  return rank > 2 && a.device().type() == DeviceType::kCpu && m >= kFewRows && k > 1 && n > 1 &&
         (k < kMinVectorDepth || n > kFewVectors) && node.submitted() &&
         node.layout.strides[rank - 2] == 1;
}

Tensor batched_product(const Tensor& a, const Tensor& b, DType dtype) {
  if (a.ndim() == 2 && b.ndim() == 2) return product(a, b, dtype);
  const int64_t m = a.shape(-2);
  const int64_t k = a.shape(-1);
  const int64_t n = b.shape(-1);
  const Shape lead = *frontend::broadcast_shapes(Shape(leading(a)), Shape(leading(b)));
  const Shape shape = joined(lead, {m, n});
  if (b.ndim() == 2 && !lies_by_columns(a, n)) {
    // One matrix for all: the rows of all of a's.
    const Tensor rows = reshape(a, Shape{lead.numel() * m, k});
    return reshape(product(rows, b, dtype), shape);
  }
  const Tensor left = reshape(broadcast_to(a, joined(lead, {m, k})), Shape{lead.numel(), m, k});
  const Tensor right = reshape(broadcast_to(b, joined(lead, {k, n})), Shape{lead.numel(), k, n});
  return reshape(product(left, right, dtype), shape);
}

}  // namespace

Tensor matmul(Arg a, Arg b) {
  return frontend::with_call(a, b, "matmul", [](const Tensor& left, const Tensor& right) {
    frontend::common_device("matmul", left, right);
    if (left.ndim() == 0 || right.ndim() == 0) {
      fail("matmul", "needs at least one dimension each: ", describe(left), ", ", describe(right));
    }
    const bool row = left.ndim() == 1;
    const bool column = right.ndim() == 1;
    const int64_t shared = left.shape(-1);
    if (shared != right.shape(column ? -1 : -2)) {
      fail("matmul", describe(left), " and ", describe(right), " have no common inner dimension");
    }
    const DType dtype = promote(left.dtype(), right.dtype());
    if (dtype == DType::kBool) {
      fail("matmul", "is not defined for bool: ", describe(left), ", ", describe(right));
    }
    const Tensor matrix_a = row ? reshape(left, Shape{1, shared}) : left;
    const Tensor matrix_b = column ? reshape(right, Shape{shared, 1}) : right;
    const auto lead =
        frontend::broadcast_shapes(Shape(leading(matrix_a)), Shape(leading(matrix_b)));
    if (!lead) {
      fail("matmul", "leading dimensions of ", describe(left), " and ", describe(right),
           " do not broadcast");
    }
    Tensor result = batched_product(matrix_a, matrix_b, dtype);
    if (row || column) {
      std::vector<int64_t> dims(lead->begin(), lead->end());
      if (!row) dims.push_back(left.shape(-2));
      if (!column) dims.push_back(right.shape(-1));
      result = reshape(std::move(result), Shape(std::span<const int64_t>(dims)));
    }
    return result;
  });
}

}  // namespace sluice
