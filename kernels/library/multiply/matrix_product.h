// A product of matrices, and how its operands are read: where they are, or packed before.
#ifndef SLUICE_KERNELS_LIBRARY_MULTIPLY_MATRIX_PRODUCT_H_
#define SLUICE_KERNELS_LIBRARY_MULTIPLY_MATRIX_PRODUCT_H_

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
  bool is_part = false;      // some rows of a product that has_parts(), summed as it is
};

// What a product takes, in multiplications: it reads and writes elements too. And how much is worth
// being a task.
constexpr int64_t product_cost(int64_t m, int64_t n, int64_t k) {
  return m * n * k + 12 * (m * k + k * n + m * n);
}
constexpr int64_t kMinProductTask = 400'000;

// At least so many elements are a task, where they are read once.
constexpr int64_t kMinRead = 65'536;
// An operand is read where it is if that is one that the tiles can read and it has so few elements,
// or if it has so few panels to be multiplied with that packing would take longer than it saves.
constexpr int64_t kMaxUnpacked = 16384;
constexpr int64_t kFewRowPanels = 4, kFewColumnPanels = 4;
// Of an unpacked operand, in elements: what the first-level cache keeps for others.
constexpr int64_t kChunk = 4096;

// Whether tiles can read b where it is; whether they do; and whether they do so once, from memory.
bool has_rows(const MatrixProduct& product);
bool is_thin(const MatrixProduct& product);  // its columns are one vector at most
bool reads_b(const MatrixProduct& product);
bool streams_b(const MatrixProduct& product);

bool has_contiguous_rows(const MatrixProduct& product);  // a
bool reads_a(const MatrixProduct& product);              // where it is

// Whether c is symmetric by construction: a matrix by its own transpose. An element and that across
// the diagonal are sums of the same products in the same order.
bool is_gram(const MatrixProduct& product);

// Of one slab: products are summed over slabs of the depth, in order.
int64_t max_depth(const MatrixProduct& product);
int64_t max_rows(const MatrixProduct& product);
int64_t max_columns(const MatrixProduct& product);

// Lines are read in panels: as many as a tile has.
int64_t panel_columns(const MatrixProduct& product);
// Of so many rows: all panels have about as many.
int64_t panel_rows(const MatrixProduct& product, int64_t rows);

// Of b, all of whose columns are packed: what the slabs take that come before a depth.
size_t packed_bytes_before(const MatrixProduct& product, int64_t depth);

inline const char* at(const void* data, int64_t element, size_t size) {
  return static_cast<const char*>(data) + element * static_cast<int64_t>(size);
}
inline char* at(void* data, int64_t element, size_t size) {
  return static_cast<char*>(data) + element * static_cast<int64_t>(size);
}

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_MULTIPLY_MATRIX_PRODUCT_H_
