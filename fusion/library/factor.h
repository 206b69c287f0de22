// Library calls that take matrices apart: LAPACK's.
#ifndef SLUICE_FUSION_LIBRARY_FACTOR_H_
#define SLUICE_FUSION_LIBRARY_FACTOR_H_

#include <array>
#include <cstdint>
#include <string>

#include <sluice/dtype.h>
#include "fusion/ir/op.h"
#include "fusion/lower/step.h"

namespace sluice::fusion {

// A batch of matrices somewhere in a buffer; all in elements.
struct StridedMatrices {
  int64_t offset = 0, batch = 0, row = 0, column = 0;
};

// What an op gives of each matrix x (rows, columns), by its mode. `least`: of rows and columns.
//
//   cholesky  0: the lower factor, of x's lower triangle; 1: the upper one, of the upper
//   qr        0: q (rows, least), r (least, columns); 1: q (rows, rows), r (rows, columns)
//   svd       0: the singular values (least); 1: u (rows, least), them, vh (least, columns);
//             2: u (rows, rows), them, vh (columns, columns)
//   eigh      0: the eigenvalues (rows); 1: them, and the eigenvectors as rows (rows, rows). Of
//             x's lower triangle
//   solve     x^-1 y, of y (rows, sides)
//   inv       0: x^-1; 1: NaN where there is none, which is no error
//   det       0: the determinant; 1: its sign, the logarithm of its absolute value
inline constexpr int kMaxFactorParts = 3;

// The elements of each part, of one matrix; 0 for those that there are not. `sides`: of solve.
std::array<int64_t, kMaxFactorParts> parts_of_factor(Op op, int64_t mode, int64_t rows,
                                                     int64_t columns, int64_t sides);

// Buffers: x, y if the op is solve, and the result: part 0 of all matrices, then part 1, ...
struct FactorAttributes : SizedAttributes<FactorAttributes> {
  DType dtype = DType::kFloat32;  // float32 or float64
  Op op = Op::kCholesky;
  int64_t mode = 0;
  int64_t count = 0, rows = 0, columns = 0, sides = 0;
  StridedMatrices x, y;

  template <typename Attributes, typename F>
  static void for_each_number(Attributes& of, F f) {
    for (auto* number : {&of.mode, &of.count, &of.rows, &of.columns, &of.sides}) f(*number);
    for (auto* matrices : {&of.x, &of.y}) {
      for (auto* number :
           {&matrices->offset, &matrices->batch, &matrices->row, &matrices->column}) {
        f(*number);
      }
    }
  }
  std::array<int64_t, kMaxFactorParts> parts() const {
    return parts_of_factor(op, mode, rows, columns, sides);
  }
  int64_t result_numel() const;
  std::string text() const override;
  int64_t flops() const override { return count * flops_of_one(); }
  double cost() const override;
  int64_t flops_of_one() const;
};

// `call` is of kind kFactor.
inline const FactorAttributes& factor_of(const LibraryCall& call) {
  return static_cast<const FactorAttributes&>(*call.attributes);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_FACTOR_H_
