#include "kernels/library/multiply/matrix_product.h"

#include <algorithm>

#include "runtime/integers.h"

namespace sluice::kernels {
namespace {

// Lines of an operand that are packed at a time.
constexpr int64_t kMaxPacked = 4096;
// Rows of so many bytes, or of multiples, are at the same place in a cache of which each place has
// room for a few.
constexpr int64_t kCacheWay = 4096, kWays = 8;
// Where tiles can read rows: to read longer ones, which are of several slabs, takes longer than to
// pack them.
constexpr int64_t kMaxRow = 1024;
// A larger b that is read where it is comes from memory, and does so once: a few rows at a time.
// What they add to stays in cache.
constexpr int64_t kStreamedDepth = 64;
// Of so many rows by its own transpose, only the products on one side of the diagonal are computed.
constexpr int64_t kMinGram = 64;

}  // namespace

bool has_rows(const MatrixProduct& x) {
  return x.loops.direct && (x.b.line_stride == 1 || x.n == 1);
}

bool is_thin(const MatrixProduct& x) { return x.n <= x.loops.lanes; }

bool reads_b(const MatrixProduct& x) {
  // Rows of one vector lie as packed ones do.
  return has_rows(x) &&
         (x.k * x.n <= kMaxUnpacked || x.m <= kFewRowPanels * x.loops.rows || is_thin(x));
}
bool streams_b(const MatrixProduct& x) {
  return reads_b(x) && x.k * x.n > kMaxUnpacked && !is_thin(x);
}
bool has_contiguous_rows(const MatrixProduct& x) {
  return x.a.depth_stride == 1 && x.a.line_stride == x.k;
}
bool reads_a(const MatrixProduct& x) {
  // Lines with gaps between them may be at the same place in a cache.
  if (x.loops.reads_rows) {
    const int depth = x.k < x.loops.packed_depth ? x.loops.short_depth : x.loops.packed_depth;
    return has_contiguous_rows(x) && x.k <= kMaxRow && x.k % depth == 0 &&
           x.m % x.loops.packed_rows == 0;
  }
  return x.loops.direct && (x.n <= kFewColumnPanels * x.loops.columns || x.m <= x.loops.rows);
}

bool is_gram(const MatrixProduct& x) {
  const size_t size = x.loops.element_size;
  return x.m == x.n && x.m >= kMinGram && size >= sizeof(float) && size == x.loops.result_size &&
         x.a.data == x.b.data && x.a.line_stride == x.b.line_stride &&
         x.a.depth_stride == x.b.depth_stride;
}

int64_t max_depth(const MatrixProduct& x) {
  if (streams_b(x)) return kStreamedDepth;
  // To add to c takes as long as a good part of the products that AMX makes of a shallow slab.
  const int64_t slabs = x.k <= x.loops.whole_depth ? 1 : ceil_div(x.k, x.loops.slab_depth);
  const int64_t even = ceil_div(x.k, slabs);
  return x.loops.packed_depth > 1 ? round_up(even, x.loops.packed_depth) : x.loops.slab_depth;
}
int64_t max_rows(const MatrixProduct& x) { return reads_a(x) ? x.m : kMaxPacked; }
int64_t max_columns(const MatrixProduct& x) { return reads_b(x) ? x.n : kMaxPacked; }

int64_t panel_columns(const MatrixProduct& x) {
  return is_thin(x) ? x.loops.lanes : x.loops.columns;
}

size_t packed_bytes_before(const MatrixProduct& x, int64_t depth) {
  return static_cast<size_t>(round_up(x.n, panel_columns(x)) *
                             round_up(depth, x.loops.packed_depth)) *
         x.loops.packed_size;
}

int64_t panel_rows(const MatrixProduct& x, int64_t lines) {
  const bool direct = reads_a(x) && !x.loops.reads_rows;
  const bool conflicts =
      direct && x.a.line_stride != 0 &&
      x.a.line_stride * static_cast<int64_t>(x.loops.element_size) % kCacheWay == 0;
  const int64_t rows = direct && is_thin(x) ? x.loops.thin_rows : x.loops.rows;
  const int64_t max = conflicts ? std::min(kWays, rows) : rows;
  const int64_t even = ceil_div(lines, ceil_div(lines, max));
  const int64_t packed = round_up(even, x.loops.packed_rows);
  return !direct && packed <= max ? packed : even;
}

}  // namespace sluice::kernels
