// Library calls for products of matrices.
#ifndef SLUICE_FUSION_LIBRARY_MATMUL_H_
#define SLUICE_FUSION_LIBRARY_MATMUL_H_

#include <cstdint>
#include <string>

#include <sluice/dtype.h>
#include "fusion/lower/step.h"

namespace sluice::fusion {

// c[i] = a[i] b[i] for i < batch; a is (m, k), b is (k, n), c is (m, n) row-major without gaps.
// Strides are those of (batch, row, column), in elements, and may be anything.
struct MatmulShape {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  int64_t a_strides[3] = {}, b_strides[3] = {};
};

// A result may take the memory of what an epilogue reads if it is computed elsewhere, some of its
// rows at a time: so many or more, of so many columns.
inline constexpr int64_t kLeastRowsElsewhere = 128, kLeastColumnsElsewhere = 64;
inline bool has_parts_of_rows(const MatmulShape& shape) {
  return shape.batch == 1 && shape.m >= 2 * kLeastRowsElsewhere &&
         shape.n >= kLeastColumnsElsewhere;
}

// Buffers: a, b, c.
struct MatmulAttributes : SizedAttributes<MatmulAttributes> {
  MatmulShape shape;
  DType operand_dtype = DType::kFloat32;  // of a and b: a number
  DType dtype = DType::kFloat32;          // of c: the same, or float32 for half types
  int64_t a_offset = 0, b_offset = 0;     // from the base of the block, in elements

  template <typename Attributes, typename F>
  static void for_each_number(Attributes& of, F f) {
    auto& [batch, m, n, k, a_strides, b_strides] = of.shape;
    for (auto* number : {&batch, &m, &n, &k, &of.a_offset, &of.b_offset}) f(*number);
    for (auto& stride : a_strides) f(stride);
    for (auto& stride : b_strides) f(stride);
  }
  std::string text() const override;
  int64_t flops() const override { return 2 * shape.batch * shape.m * shape.n * shape.k; }
  double cost() const override;
  int64_t epilogue_row() const override { return dtype == DType::kFloat32 ? shape.n : 0; }
};

// `call` is of kind kMatmul.
inline const MatmulAttributes& matmul_of(const LibraryCall& call) {
  return static_cast<const MatmulAttributes&>(*call.attributes);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_MATMUL_H_
