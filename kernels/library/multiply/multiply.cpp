#include "kernels/library/multiply/multiply.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/library/multiply/fetches.h"
#include "kernels/library/multiply/slab.h"
#include "kernels/library/multiply/vector_products.h"
#include "kernels/library/scratch.h"
#include "runtime/cpu/parallel.h"
#include "runtime/integers.h"

namespace sluice::kernels {
namespace {

// What is packed for several products, at most.
constexpr size_t kMaxPackedBytes = 32 << 20;
// Of a b that is streamed from memory, the tiles of all rows of a read some columns before the next
// ones. A strip of columns, so many of b or fewer, is the work of one thread.
constexpr int64_t kMinStrip = 128, kMaxStrip = 1024, kMinStrips = 8;
// Panels of rows of a that take all slabs before the next do.
constexpr int64_t kRowPanels = 4;
// Of several products, the least depth for which it pays to fetch the next ones.
constexpr int64_t kMinFetched = 16;
// Of less depth, so many bytes ahead, if caches do not hold them all and each has a line of its
// own.
constexpr int64_t kBytesAhead = 1024, kCached = 12 << 20, kLine = 64;
// In multiplications. A product of so few whose operands would be packed takes less than packing.
constexpr double kSmall = 256;
// Squares that are copied across the diagonal at a time: both lie in the first-level cache.
constexpr int64_t kMirrored = 32;

// How far products of few elements fetch ahead, in bytes.
int64_t fetched_ahead(const MatrixProduct& x) {
  const auto size = static_cast<int64_t>(x.loops.element_size);
  const int64_t bytes = (x.m * x.k + x.k * x.n + x.m * x.n) * size;
  return x.k < kMinFetched && x.m * x.n * size >= kLine && bytes > kCached / x.count ? kBytesAhead
                                                                                     : 0;
}

// Products of few tiles, which read their operands where they are: tile by tile, each of several
// products in turn.
void multiply_items(const MatrixProduct& x) {
  const size_t size = x.loops.element_size;
  const int64_t chunk = std::max(int64_t{1}, kChunk / (x.m * x.k + x.k * x.n + x.m * x.n));
  const int64_t width = panel_rows(x, x.m), depth = max_depth(x);
  for (int64_t item = 0; item < x.count; item += chunk) {
    ProductTile tile{.a_line_stride = x.a.line_stride,
                     .a_stride = x.a.depth_stride,
                     .b_stride = x.b.depth_stride,
                     .c_stride = x.n,
                     .count = std::min(chunk, x.count - item),
                     .a_next = x.a.next,
                     .b_next = x.b.next,
                     .c_next = x.m * x.n,
                     .ahead = fetched_ahead(x)};
    Fetches next;
    const int64_t left = x.count - item - chunk;
    if (left > 0 && x.k >= kMinFetched) next.add_items(x, item + chunk, std::min(chunk, left), x.m);
    for (int64_t first = 0; first < x.k; first += depth) {
      tile.depth = std::min(depth, x.k - first);
      tile.adds = first > 0;
      for (int64_t row = 0; row < x.m; row += width) {
        tile.rows = static_cast<int>(std::min(width, x.m - row));
        tile.a = at(x.a.data, item * tile.a_next + row * tile.a_line_stride + first * tile.a_stride,
                    size);
        for (int64_t column = 0; column < x.n; column += x.loops.columns) {
          tile.columns = std::min<int64_t>(x.loops.columns, x.n - column);
          tile.b = at(x.b.data, item * tile.b_next + first * tile.b_stride + column, size);
          tile.c = at(x.c, item * tile.c_next + row * x.n + column, x.loops.result_size);
          next.give(&tile);
          x.loops.tile(tile);
        }
      }
    }
  }
}

// Some rows and columns of c, slab after slab.
struct Part {
  int64_t row, end_row, column, end_column;
};
void multiply_part(const MatrixProduct& x, const Part& part) {
  for (int64_t row = part.row; row < part.end_row; row += max_rows(x)) {
    const int64_t rows = std::min(max_rows(x), part.end_row - row);
    for (int64_t column = part.column; column < part.end_column; column += max_columns(x)) {
      const int64_t columns = std::min(max_columns(x), part.end_column - column);
      const bool adds = x.rounds && x.k > max_depth(x);
      const Scratch sums(adds ? static_cast<size_t>(rows * columns) * x.loops.result_size : 0);
      for (int64_t first = 0; first < x.k; first += max_depth(x)) {
        multiply_slab(x, row, rows, column, columns, first, sums.data());
      }
    }
  }
}

// Copies what lies right of the diagonal of c to the left of it.
template <typename T>
void mirror(T* c, int64_t n) {
  parallel_for(ceil_div(n, kMirrored), 1 + kMinRead / (kMirrored * n),
               [&](int64_t begin, int64_t end) {
                 for (int64_t top = begin * kMirrored; top < std::min(end * kMirrored, n);
                      top += kMirrored) {
                   const int64_t bottom = std::min(top + kMirrored, n);
                   for (int64_t left = 0; left < bottom; left += kMirrored) {
                     for (int64_t i = top; i < bottom; ++i) {
                       const int64_t right = std::min(left + kMirrored, i);
                       for (int64_t j = left; j < right; ++j) c[i * n + j] = c[j * n + i];
                     }
                   }
                 }
               });
}

// Whether rows of a are read where they are, and b is packed before or need not be: some rows take
// all slabs before the next do, since a slab of all rows reads a part of each page.
bool reads_rows_whole(const MatrixProduct& x) {
  return reads_a(x) && x.a.depth_stride == 1 && x.k > max_depth(x) &&
         (x.packed_b != nullptr || reads_b(x)) && !streams_b(x);
}

void multiply_one(const MatrixProduct& x) {
  if (reads_rows_whole(x)) {
    const int64_t rows = kRowPanels * panel_rows(x, x.m);
    return parallel_for(ceil_div(x.m, rows), 1 + kMinProductTask / product_cost(rows, x.n, x.k),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            multiply_part(x, {i * rows, std::min((i + 1) * rows, x.m), 0, x.n});
                          }
                        });
  }
  const int64_t strip = std::clamp(round_up(x.n / kMinStrips, kMinStrip), kMinStrip, kMaxStrip);
  if (!streams_b(x) || x.n <= strip) return multiply_part(x, {0, x.m, 0, x.n});
  parallel_for(ceil_div(x.n, strip), 1 + kMinProductTask / product_cost(x.m, strip, x.k),
               [&](int64_t begin, int64_t end) {
                 multiply_part(x, {0, x.m, begin * strip, std::min(end * strip, x.n)});
               });
}

bool is_small(const MatrixProduct& x) {
  const double work =
      static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.k);
  return work <= kSmall && !x.loops.direct;
}
void multiply_small(const MatrixProduct& x) {
  const int64_t a_strides[] = {x.a.next, x.a.line_stride, x.a.depth_stride};
  const int64_t b_strides[] = {x.b.next, x.b.depth_stride, x.b.line_stride};
  x.loops.small({.batch = x.count,
                 .m = x.m,
                 .n = x.n,
                 .k = x.k,
                 .a = x.a.data,
                 .b = x.b.data,
                 .a_strides = a_strides,
                 .b_strides = b_strides,
                 .c = x.c});
}

// The transpose of the product.
MatrixProduct turned(const MatrixProduct& x) {
  MatrixProduct result = x;
  std::swap(result.m, result.n);
  std::swap(result.a, result.b);
  return result;
}

// Whether c has so few columns that tiles would compute vectors of mostly nothing, and a lies by
// columns, which tiles can read as rows of b: the transpose is better computed then.
bool is_better_turned(const MatrixProduct& x) {
  return x.loops.direct && 2 * x.n <= x.loops.lanes && x.m > x.loops.lanes && x.a.line_stride == 1;
}

void multiply_turned(const MatrixProduct& x) {
  const size_t size = x.loops.element_size;
  const int64_t numel = x.m * x.n, chunk = std::clamp<int64_t>(kChunk / numel, 1, x.count);
  const Scratch sums(static_cast<size_t>(chunk * numel) * size);
  MatrixProduct part = turned(x);
  part.c = sums.data();
  for (int64_t item = 0; item < x.count; item += chunk) {
    part.count = std::min(chunk, x.count - item);
    part.a.data = at(x.b.data, item * x.b.next, size);
    part.b.data = at(x.a.data, item * x.a.next, size);
    multiply(part);
    for (int64_t i = 0; i < part.count; ++i) {
      // A panel of all rows of the transpose is what c is.
      parallel_for(x.m, 1 + kMinRead / x.n, [&](int64_t begin, int64_t end) {
        x.loops.pack(at(sums.data(), i * numel + begin, size), x.m, 1, x.n, end - begin, x.n,
                     at(x.c, (item + i) * numel + begin * x.n, size));
      });
    }
  }
}

// What is rounded when all of it is there: small products, and products with vectors, are few.
void multiply_and_round(const MatrixProduct& x) {
  const int64_t numel = x.count * x.m * x.n;
  const Scratch sums(static_cast<size_t>(numel) * x.loops.result_size);
  MatrixProduct exact = x;
  exact.c = sums.data();
  exact.rounds = false;
  multiply(exact);
  x.loops.round(sums.data(), 0, 1, numel, x.c, 0);
}

}  // namespace

void multiply(const MatrixProduct& x) {
  if (x.is_part) return multiply_one(x);
  if (is_small(x)) return x.rounds ? multiply_and_round(x) : multiply_small(x);
  if (const std::optional<VectorProducts> of_vectors = VectorProducts::of(x)) {
    return x.rounds ? multiply_and_round(x) : of_vectors->run();
  }
  if (x.n == 1 && x.m > 1 && x.loops.direct && x.a.line_stride == 1) {
    return multiply(turned(x));  // a row is a column as well
  }
  if (is_better_turned(x)) return multiply_turned(x);
  if (x.count > 1 && reads_a(x) && reads_b(x) && x.m <= kFewRowPanels * x.loops.rows) {
    return multiply_items(x);
  }
  const size_t size = x.loops.element_size;
  for (int64_t i = 0; i < x.count; ++i) {
    MatrixProduct one = x;
    one.count = x.count - i;  // others follow
    one.a.data = at(x.a.data, i * x.a.next, size);
    one.b.data = at(x.b.data, i * x.b.next, size);
    one.c = at(x.c, i * x.m * x.n, x.rounds ? size : x.loops.result_size);
    multiply_one(one);
    if (!is_gram(one)) continue;
    if (size == sizeof(uint32_t)) {
      mirror(static_cast<uint32_t*>(one.c), x.n);
    } else {
      mirror(static_cast<uint64_t*>(one.c), x.n);
    }
  }
}

bool has_parts(const MatrixProduct& x) {
  return x.count == 1 && x.n > 1 && !is_small(x) && !VectorProducts::of(x);
}

size_t packed_bytes_of_b(const MatrixProduct& x) {
  if (!has_parts(x) || reads_b(x)) return 0;
  const size_t bytes = packed_bytes_before(x, x.k);
  return bytes <= kMaxPackedBytes ? bytes : 0;
}

void pack_b(const MatrixProduct& x, void* out) {
  for (int64_t first = 0; first < x.k; first += max_depth(x)) {
    x.loops.pack_columns(at(x.b.data, first * x.b.depth_stride, x.loops.element_size),
                         x.b.line_stride, x.b.depth_stride, x.n,
                         std::min(max_depth(x), x.k - first), panel_columns(x),
                         at(out, packed_bytes_before(x, first), 1));
  }
}

}  // namespace sluice::kernels
