// Products with a few vectors.
#ifndef SLUICE_KERNELS_LIBRARY_MULTIPLY_VECTOR_PRODUCTS_H_
#define SLUICE_KERNELS_LIBRARY_MULTIPLY_VECTOR_PRODUCTS_H_

#include <cstdint>
#include <optional>

#include "kernels/library/multiply/matrix_product.h"

namespace sluice::kernels {

// The sums over the depth of the lines of `matrix`, multiplied by a few vectors; it is read where
// it is, once. Element (line, vector) of c is at line * c_line + vector * c_vector.
class VectorProducts {
 public:
  // x, if that is what it is best computed as. It must outlive the result.
  static std::optional<VectorProducts> of(const MatrixProduct& x);

  void run() const;

 private:
  VectorProducts(const MatrixProduct& x, const ProductOperand& matrix, int64_t lines,
                 int64_t c_line, const ProductOperand& vectors, int64_t num_vectors,
                 int64_t c_vector)
      : x_(x),
        matrix_(matrix),
        lines_(lines),
        c_line_(c_line),
        vectors_(vectors),
        num_vectors_(num_vectors),
        c_vector_(c_vector) {}

  bool along_depth() const;
  bool reads_vectors() const;  // without a copy
  bool pays() const;           // whether tiles would take longer
  // Of `count` products.
  void dots(const void* v, int64_t v_stride, const void* from, void* to, int64_t count) const;

  const MatrixProduct& x_;
  const ProductOperand& matrix_;
  int64_t lines_, c_line_;
  const ProductOperand& vectors_;
  int64_t num_vectors_, c_vector_;
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_MULTIPLY_VECTOR_PRODUCTS_H_
