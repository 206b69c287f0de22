// Products of matrices, divided between threads.
#ifndef SLUICE_KERNELS_LIBRARY_MULTIPLY_H_
#define SLUICE_KERNELS_LIBRARY_MULTIPLY_H_

#include <cstddef>
#include <cstdint>

#include "kernels/library/products/products.h"

namespace sluice::kernels {

// A matrix as lines (rows of a, columns of b) along the depth over which products are summed.
// Strides are in elements.
struct ProductOperand {
  const void* data = nullptr;
  int64_t line_stride = 0, depth_stride = 0;
  int64_t next = 0;  // to that of the next product
};

// c (m, n), row-major without gaps, = a (m, k) b (k, n), `count` times, c after c. None of count,
// m, n, k is 0.
struct MatrixProduct {
  const ProductLoops& loops;
  int64_t count = 1;
  int64_t m = 0, n = 0, k = 0;
  ProductOperand a, b;
  void* c = nullptr;
  bool rounds = false;       // to halves, which c has
  void* packed_b = nullptr;  // b as pack_b() packs it; null: it is packed if need be
};

// What a product takes, in multiplications: it reads and writes elements too. And how much is worth
// being a task.
constexpr int64_t product_cost(int64_t m, int64_t n, int64_t k) {
  return m * n * k + 12 * (m * k + k * n + m * n);
}
constexpr int64_t kMinProductTask = 400'000;

// The bits of each depend on m, n, k, the strides and the loops alone. Many small products share
// what a call takes.
void multiply(const MatrixProduct& product);

// For products by one b, one after another: what it takes in memory as multiply() packs it. 0 if
// that doesn't, or it would take too much.
size_t packed_bytes_of_b(const MatrixProduct& product);
void pack_b(const MatrixProduct& product, void* out);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_MULTIPLY_H_
