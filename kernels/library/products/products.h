// The loops that matrix products are made of.
//
// They are compiled once for each instruction set (see cmake/SluiceLibrary.cmake) and found in a
// table. Which of them runs on what, and on which thread, is decided in matmul.cpp: an element of
// the result is summed in an order that depends on none of that but on the loop.
#ifndef SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_H_
#define SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_H_

#include <cstddef>
#include <cstdint>

#include <sluice/dtype.h>

namespace sluice::kernels {

// Tiles of a product, one after another. Each is c (rows, columns) = a (rows, depth) b (depth,
// columns), or is added to c. Both operands have the type that sums have, or are as packed.
struct ProductTile {
  int rows = 0;         // at most ProductLoops::rows, or thin_rows
  int64_t columns = 0;  // at most ProductLoops::columns
  int64_t depth = 0;
  const void* a = nullptr;  // element (i, p) is a[i * a_line_stride + p * a_stride]
  int64_t a_line_stride = 1, a_stride = 0;
  const void* b = nullptr;  // its rows `b_stride` apart
  int64_t b_stride = 0;
  void* c = nullptr;
  int64_t c_stride = 0;
  bool adds = false;
  // Where the sums go instead, rounded, if they are whole; c may then change, or not.
  void* halves = nullptr;
  int64_t halves_stride = 0, halves_next = 0;
  int64_t count = 1;  // of tiles
  int64_t a_next = 0, b_next = 0, c_next = 0;
  // What is read later, or null: of it a large tile fetches two cache lines with each row of b,
  // `fetch_stride` bytes further each time; the next tile from `fetch_next` bytes further on.
  const char* fetch = nullptr;
  int64_t fetch_stride = 0, fetch_next = 0;
  // If not 0: a tile of little depth fetches what lies so many bytes beyond its operands and
  // result.
  int64_t ahead = 0;
};

// y[i * y_line_stride + j * y_column_stride] = the sum over p < depth of
// x[i * line_stride + p] * v[j * v_stride + p], i < lines, j < columns; the same for `count` of x,
// v and y. v has the type of sums. The order of a sum depends on depth, line_stride, columns, j
// and whether i is in the last group of ProductLoops::lanes lines.
struct ProductDots {
  int64_t lines = 0, columns = 0, depth = 0;
  const void* x = nullptr;
  int64_t line_stride = 0;
  const void* v = nullptr;
  int64_t v_stride = 0;
  void* y = nullptr;
  int64_t y_line_stride = 0, y_column_stride = 0;
  int64_t count = 1;
  int64_t x_next = 0, v_next = 0, y_next = 0;
};

// Products too small to be packed: c[i] = a[i] b[i] for i < batch. Strides as in MatmulShape.
struct SmallProducts {
  int64_t batch = 0, m = 0, n = 0, k = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  const int64_t* a_strides = nullptr;
  const int64_t* b_strides = nullptr;
  void* c = nullptr;
};

// For operands of one dtype. Results have that too; of half types they are float32, which round()
// rounds. Sums are of a type of their own: int8 sums as int16.
// Floats are summed by fused multiply-adds where the instruction set has them; integers wrap. NaN
// is written as the canonical one. Strides are in elements.
struct ProductLoops {
  int rows = 0;       // of the largest tile
  int thin_rows = 0;  // of one that has one vector of columns and reads a where it is
  int columns = 0;
  int lanes = 0;          // of a vector of sums
  int packed_rows = 4;    // panels of packed rows are multiples of this wide, if they may be
  int packed_depth = 1;   // packed lines are multiples of this long, by zeros
  int slab_depth = 384;   // at most, of several
  int whole_depth = 384;  // at most, of one that is all
  // Whether tiles can read rows of a where they are if they and their number are as packed, or
  // they are shorter, and multiples of short_depth.
  bool reads_rows = false;
  int short_depth = 1;
  // So few vectors by a matrix are products of its lines, not of tiles.
  int max_vectors = 16;
  size_t element_size = 0, sum_size = 0, result_size = 0, packed_size = 0;
  // Whether elements are of the type of sums, and tiles and dots read no more than they are told.
  // Else they take packed operands only, and tiles read whole vectors of b.
  bool direct = false;

  // Copies lines x[i * line_stride + p * depth_stride], p < depth, to panels of `width` of them,
  // the last of which is filled up with zeros: out[p * width + i] is of line i of the first panel.
  // `out` has the type of sums.
  using Pack = void(const void* x, int64_t line_stride, int64_t depth_stride, int64_t lines,
                    int64_t depth, int64_t width, void* out);
  Pack* pack;
  // The same for tiles: rows of a, columns of b. Where one instruction multiplies matrices
  // (products_amx.cpp), their panels are as it reads them.
  Pack* pack_rows;
  Pack* pack_columns;
  void (*tile)(const ProductTile& tile);

  void (*dots)(const ProductDots& dots);
  // y[i] = the sum over p < depth of x[i + p * depth_stride] * v[p], i < lines.
  void (*sums)(const void* x, int64_t depth_stride, const void* v, int64_t lines, int64_t depth,
               void* y);

  void (*small)(const SmallProducts& products);

  // c[i] = the sum over p < count of parts[p * size + i], i < size; both have the result's type.
  void (*fold)(const void* parts, int64_t count, int64_t size, void* c);

  // Of half types: halves[i * out_stride + j] = sums[i * stride + j] rounded, i < rows, j <
  // columns.
  void (*round)(const void* sums, int64_t stride, int64_t rows, int64_t columns, void* halves,
                int64_t out_stride) = nullptr;
};

struct ProductTable {
  ProductLoops of[kNumDTypes];
};

// Of operands of `dtype`, which is a number, for the best instruction set that this machine
// has.
const ProductLoops& product_loops(DType dtype);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_PRODUCTS_PRODUCTS_H_
