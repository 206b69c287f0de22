#include "kernels/library/multiply.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/library/scratch.h"
#include "runtime/cpu/parallel.h"
#include "runtime/integers.h"

namespace sluice::kernels {
namespace {

// Products are summed over slabs of the depth, in order. A panel is as many lines as a tile has.
// The tiles of a block of kBlockPanels of b, or more where they are short, read it from the
// second-level cache, a panel of a from the first. kChunkPanels of a with a block are one task.
constexpr int64_t kBlockBytes = 384 << 10, kMaxBlockPanels = 32, kChunkPanels = 4;
// Lines of an operand that are packed at a time.
constexpr int64_t kMaxPacked = 4096;
// What is packed for several products, at most.
constexpr size_t kMaxPackedBytes = 32 << 20;
// An operand is read where it is if that is one that the tiles can read and it has so few elements,
// or if it has so few panels to be multiplied with that packing would take longer than it saves.
constexpr int64_t kMaxUnpacked = 16384;
constexpr int64_t kFewRowPanels = 4, kFewColumnPanels = 4;
// Rows of so many bytes, or of multiples, are at the same place in a cache of which each place has
// room for a few.
constexpr int64_t kCacheWay = 4096, kWays = 8;
// Where tiles can read rows: to read longer ones, which are of several slabs, takes longer than to
// pack them.
constexpr int64_t kMaxRow = 1024;
// Of an unpacked operand, in elements: what the first-level cache keeps for others.
constexpr int64_t kChunk = 4096;
// A larger b that is read where it is comes from memory, and does so once: a few rows at a time, of
// which the tiles of all rows of a read some columns before the next ones. What they add to stays
// in cache. A strip of columns, so many of b or fewer, is the work of one thread.
constexpr int64_t kStreamedDepth = 64, kMinStrip = 128, kMaxStrip = 1024, kMinStrips = 8;
// So many tiles are fetched ahead.
constexpr int64_t kAhead = 2, kRowsAhead = 16;
// What is fetched with a row of b; and of several products, the least depth that this pays for.
constexpr int64_t kFetchedBytes = 128, kMinFetched = 16;
// In multiplications. A product of so few whose operands would be packed takes less than packing.
constexpr double kSmall = 256;
// Products with few vectors of so many elements are sums along the lines of the matrix; so are
// products of so few multiplications, of lines that a vector holds.
constexpr int64_t kMinVectorDepth = 128;
constexpr int64_t kMaxShort = 4096;
// In elements, where they are read once.
constexpr int64_t kMinRead = 65'536;
// Of so many rows by its own transpose, only the products on one side of the diagonal are computed.
constexpr int64_t kMinGram = 64;
// Squares that are copied across the diagonal at a time: both lie in the first-level cache.
constexpr int64_t kMirrored = 32;

const char* at(const void* data, int64_t element, size_t size) {
  return static_cast<const char*>(data) + element * static_cast<int64_t>(size);
}
char* at(void* data, int64_t element, size_t size) {
  return static_cast<char*>(data) + element * static_cast<int64_t>(size);
}

// Lines of an operand in panels of `width`, of which the last may have fewer. A block is as many
// panels as are packed and multiplied at a time.
struct Panels {
  int64_t lines, width, block;

  // At most `most` panels are a block, and each is of about as many.
  Panels(int64_t lines, int64_t width, int64_t most) : lines(lines), width(width) {
    const int64_t panels = ceil_div(lines, width);
    block = ceil_div(panels, ceil_div(panels, most)) * width;
  }
  int64_t blocks() const { return ceil_div(lines, block); }
  // Of the block that begins at `line`.
  int64_t end_of_block(int64_t line) const { return std::min(line + block, lines); }
  int64_t padded(int64_t count) const { return round_up(count, width); }
};

// Whether tiles can read b where it is.
bool has_rows(const MatrixProduct& x) {
  return x.loops.direct && (x.b.line_stride == 1 || x.n == 1);
}

// Whether tiles do.
bool reads_b(const MatrixProduct& x) {
  return has_rows(x) && (x.k * x.n <= kMaxUnpacked || x.m <= kFewRowPanels * x.loops.rows);
}
bool streams_b(const MatrixProduct& x) { return reads_b(x) && x.k * x.n > kMaxUnpacked; }
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

// Whether c is symmetric by construction: a matrix by its own transpose. An element and that across
// the diagonal are sums of the same products in the same order.
bool is_gram(const MatrixProduct& x) {
  const size_t size = x.loops.element_size;
  return x.m == x.n && x.m >= kMinGram && size >= sizeof(float) && size == x.loops.result_size &&
         x.a.data == x.b.data && x.a.line_stride == x.b.line_stride &&
         x.a.depth_stride == x.b.depth_stride;
}

// Of one slab.
int64_t max_depth(const MatrixProduct& x) {
  if (streams_b(x)) return kStreamedDepth;
  // To add to c takes as long as a good part of the products that AMX makes of a shallow slab.
  const int64_t slabs = x.k <= x.loops.whole_depth ? 1 : ceil_div(x.k, x.loops.slab_depth);
  const int64_t even = ceil_div(x.k, slabs);
  return x.loops.packed_depth > 1 ? round_up(even, x.loops.packed_depth) : x.loops.slab_depth;
}
int64_t max_rows(const MatrixProduct& x) { return reads_a(x) ? x.m : kMaxPacked; }
int64_t max_columns(const MatrixProduct& x) { return reads_b(x) ? x.n : kMaxPacked; }

// Of columns of b, in panels.
int64_t panel_columns(const MatrixProduct& x) {
  return x.n <= x.loops.lanes ? x.loops.lanes : x.loops.columns;
}

// Of b, all of whose columns are packed: what the slabs take that come before a depth.
size_t packed_bytes_before(const MatrixProduct& x, int64_t depth) {
  return static_cast<size_t>(round_up(x.n, panel_columns(x)) *
                             round_up(depth, x.loops.packed_depth)) *
         x.loops.packed_size;
}

// The lines of one panel of a: all panels have about as many.
int64_t panel_rows(const MatrixProduct& x, int64_t lines) {
  const bool direct = reads_a(x) && !x.loops.reads_rows;
  const bool conflicts =
      direct && x.a.line_stride != 0 &&
      x.a.line_stride * static_cast<int64_t>(x.loops.element_size) % kCacheWay == 0;
  const int64_t max = conflicts ? std::min<int64_t>(kWays, x.loops.rows) : x.loops.rows;
  const int64_t even = ceil_div(lines, ceil_div(lines, max));
  const int64_t packed = round_up(even, x.loops.packed_rows);
  return !direct && packed <= max ? packed : even;
}
int64_t row_panels(const MatrixProduct& x, int64_t rows, int64_t depth) {
  return reads_a(x) ? std::max(kChunkPanels, kChunk / (rows * depth)) : kChunkPanels;
}

// What tiles read after others: memory that these fetch, line by line.
class Fetches {
 public:
  void add(const void* data, int64_t elements, size_t size) {
    ranges_[count_++] = {static_cast<const char*>(data), elements * static_cast<int64_t>(size)};
  }
  // The operands of `count` products of x, if they lie one after another; of a one's first rows
  // alone.
  void add_items(const MatrixProduct& x, int64_t item, int64_t count, int64_t rows) {
    const size_t size = x.loops.element_size;
    const int64_t of_a = count == 1 && has_contiguous_rows(x) ? rows * x.k : count * x.a.next;
    if (x.a.next == x.m * x.k) add(at(x.a.data, item * x.a.next, size), of_a, size);
    if (x.b.next == x.k * x.n) add(at(x.b.data, item * x.b.next, size), count * x.b.next, size);
  }
  // As much as these tiles fetch.
  void give(ProductTile* tile) {
    tile->fetch = nullptr;
    tile->fetch_stride = tile->fetch_next = 0;
    if (current_ == count_) return;
    auto& [data, bytes] = ranges_[current_];
    tile->fetch = data;
    tile->fetch_stride = kFetchedBytes;
    tile->fetch_next = tile->depth * kFetchedBytes;
    data += tile->count * tile->fetch_next;
    bytes -= tile->count * tile->fetch_next;
    if (bytes <= 0) ++current_;
  }

 private:
  struct Range {
    const char* data;
    int64_t bytes;
  };
  Range ranges_[3];
  int count_ = 0, current_ = 0;
};

// The products of one slab of the depth, for some rows and columns of c. Where these are rounded,
// `sums` has what the slabs before it gave, without gaps; null if it is the only one.
class Slab {
 public:
  Slab(const MatrixProduct& product, int64_t row, int64_t column, int64_t columns, int64_t first,
       char* sums)
      : x_(product),
        loops_(product.loops),
        row_(row),
        column_(column),
        first_(first),
        depth_(std::min(max_depth(product), product.k - first)),
        packed_depth_(round_up(depth_, loops_.packed_depth)),
        rows_(std::min(max_rows(product), product.m - row),
              panel_rows(product, std::min(max_rows(product), product.m - row)),
              row_panels(product, loops_.rows, depth_)),
        columns_(columns, panel_columns(product),
                 std::clamp(kBlockBytes / static_cast<int64_t>(bytes(loops_.columns)), int64_t{1},
                            kMaxBlockPanels)),
        reads_a_(reads_a(product)),
        reads_b_(reads_b(product)),
        is_gram_(is_gram(product)),
        sums_(sums) {}

  void run() {
    // What several tasks read is packed before them, the rest by the one that reads it.
    const int64_t chunks = rows_.blocks(), blocks = columns_.blocks();
    const bool packs_a = blocks > 1 && !reads_a_;
    const bool packs_b = chunks > 1 && !reads_b_ && x_.packed_b == nullptr;
    const Scratch a(packs_a ? bytes(rows_.padded(rows_.lines)) : 0);
    const Scratch b(packs_b ? bytes(columns_.padded(columns_.lines)) : 0);
    a_ = a.data();
    b_ = x_.packed_b == nullptr
             ? b.data()
             : static_cast<char*>(x_.packed_b) + packed_bytes_before(x_, first_) + bytes(column_);
    const int64_t row_blocks = packs_a ? chunks : 0;
    const int64_t to_pack = row_blocks + (packs_b ? blocks : 0);
    parallel_for(to_pack, 1 + kMinRead / (depth_ * rows_.block), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (i < row_blocks) {
          pack_rows(i * rows_.block, a_ + bytes(i * rows_.block));
        } else {
          const int64_t column = (i - row_blocks) * columns_.block;
          pack_columns(column, b_ + bytes(column));
        }
      }
    });
    const int64_t task = product_cost(std::min(rows_.block, rows_.lines),
                                      std::min(columns_.block, columns_.lines), depth_);
    parallel_for(chunks * blocks, 1 + kMinProductTask / task,
                 [&](int64_t begin, int64_t end) { multiply_tasks(begin, end); });
  }

 private:
  size_t bytes(int64_t lines) const {
    return static_cast<size_t>(lines * packed_depth_) * loops_.packed_size;
  }

  void pack(ProductLoops::Pack* pack, const ProductOperand& operand, int64_t line, int64_t lines,
            int64_t width, char* out) const {
    const int64_t first = line * operand.line_stride + first_ * operand.depth_stride;
    pack(at(operand.data, first, loops_.element_size), operand.line_stride, operand.depth_stride,
         lines, depth_, width, out);
  }
  // The block that begins at a line.
  void pack_rows(int64_t row, char* out) const {
    pack(loops_.pack_rows, x_.a, row_ + row, rows_.end_of_block(row) - row, rows_.width, out);
  }
  void pack_columns(int64_t column, char* out) const {
    pack(loops_.pack_columns, x_.b, column_ + column, columns_.end_of_block(column) - column,
         columns_.width, out);
  }

  void multiply_tasks(int64_t begin, int64_t end) const {
    const bool packs_a = a_ == nullptr && !reads_a_, packs_b = b_ == nullptr && !reads_b_;
    const Scratch own_a(packs_a ? bytes(rows_.padded(std::min(rows_.block, rows_.lines))) : 0);
    const Scratch own_b(packs_b ? bytes(columns_.padded(std::min(columns_.block, columns_.lines)))
                                : 0);
    const Scratch own_sums(x_.rounds && sums_ == nullptr ? bytes_of_sums() : 0);
    int64_t packed = -1;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t row = task % rows_.blocks() * rows_.block;
      const int64_t column = task / rows_.blocks() * columns_.block;
      if (packs_a) pack_rows(row, own_a.data());
      if (packs_b && packed != column) pack_columns(packed = column, own_b.data());
      multiply_block(row, column, packs_a ? own_a.data() : a_ + bytes(row),
                     packs_b ? own_b.data() : b_ + bytes(column), own_sums.data());
    }
  }

  // Where both operands are read where they are: what is read after this block of all columns.
  Fetches next_of_block(int64_t row, int64_t column) const {
    Fetches next;
    if (!reads_a_ || depth_ < x_.k || columns_.end_of_block(column) < x_.n) return next;
    const int64_t end = row_ + rows_.end_of_block(row);
    const int64_t rows = std::min(rows_.block, x_.m);
    if (end == x_.m) {
      if (x_.count == 1) return next;
      next.add_items(x_, 1, 1, rows);
    } else if (has_contiguous_rows(x_)) {
      next.add(at(x_.a.data, end * x_.k, loops_.element_size), rows * x_.k, loops_.element_size);
    }
    next.add(at(x_.c, end * x_.n, loops_.result_size), rows * x_.n, loops_.result_size);
    return next;
  }

  // Of a row or column of tiles.
  size_t bytes_of_sums() const {
    const int64_t rows = std::min(rows_.block, rows_.lines);
    const int64_t columns = std::min(columns_.block, columns_.lines);
    return static_cast<size_t>(std::max(rows_.width * columns, rows * columns_.width)) *
           loops_.result_size;
  }

  // a, b: where the blocks that begin at a row and a column are packed. own_sums: a place for those
  // of a row or column of tiles.
  void multiply_block(int64_t first_row, int64_t first_column, const char* a, const char* b,
                      char* own_sums) const {
    const int64_t last_row = rows_.end_of_block(first_row);
    const int64_t last_column = columns_.end_of_block(first_column);
    ProductTile tile{.depth = depth_, .c_stride = x_.n, .adds = first_ > 0};
    if (x_.rounds) {
      tile.c_stride = sums_ != nullptr ? columns_.lines : last_column - first_column;
      tile.halves_stride = x_.n;
    }
    const bool rounds = x_.rounds && first_ + depth_ == x_.k;
    if (reads_a_) {
      tile.a_line_stride = x_.a.line_stride;
      tile.a_stride = x_.a.depth_stride;
    } else {
      tile.a_stride = rows_.width;
    }
    tile.b_stride = reads_b_ ? x_.b.depth_stride : columns_.width;
    const bool fetches_b = !reads_b_ || streams_b(x_);
    const auto size_of_b =
        static_cast<int64_t>(reads_b_ ? loops_.element_size : loops_.packed_size);
    const int64_t ahead = (reads_b_ ? kAhead : kRowsAhead) * columns_.width * size_of_b;
    Fetches next = fetches_b ? Fetches() : next_of_block(first_row, first_column);
    // One column of panels takes rows in turn; so does each whose part of b is hardly read twice.
    const bool is_column = last_column - first_column <= columns_.width ||
                           (streams_b(x_) && last_row - first_row > rows_.width);
    const int64_t next_row = reads_a_ ? tile.a_line_stride : packed_depth_;
    const int64_t next_column = reads_b_ ? 1 : packed_depth_;
    for (int64_t row = first_row; row < last_row;) {
      tile.rows = static_cast<int>(std::min(rows_.width, last_row - row));
      tile.a = reads_a_ ? at(x_.a.data, (row_ + row) * next_row + first_ * tile.a_stride,
                             loops_.element_size)
                        : a + bytes(row - first_row);
      int64_t column = first_column;
      if (is_gram_) column += skipped_tiles(row, first_column) * columns_.width;
      while (column < last_column) {
        tile.columns = std::min(columns_.width, last_column - column);
        tile.b = reads_b_
                     ? at(x_.b.data, first_ * tile.b_stride + column_ + column, loops_.element_size)
                     : b + bytes(column - first_column);
        const int64_t place = (row_ + row) * x_.n + column_ + column;
        if (!x_.rounds) {
          tile.c = at(x_.c, place, loops_.result_size);
        } else if (sums_ != nullptr) {
          tile.c = at(sums_, row * tile.c_stride + column, loops_.result_size);
        } else {
          tile.c = own_sums;
        }
        if (rounds) tile.halves = at(x_.c, place, loops_.element_size);
        if (is_column) {
          tile.count = (last_row - row) / tile.rows;
          tile.a_next = tile.rows * next_row;
          tile.c_next = tile.rows * tile.c_stride;
          tile.halves_next = tile.rows * x_.n;
        } else {
          tile.count = (last_column - column) / tile.columns;
          tile.b_next = tile.columns * next_column;
          tile.c_next = tile.halves_next = tile.columns;
        }
        if (fetches_b) {
          tile.fetch = at(tile.b, ahead, 1);
          tile.fetch_stride = tile.b_stride * size_of_b;
          tile.fetch_next = tile.b_next * size_of_b;
        } else {
          next.give(&tile);
        }
        loops_.tile(tile);
        column += is_column ? tile.columns : tile.count * tile.columns;
      }
      row += is_column ? tile.count * tile.rows : tile.rows;
    }
  }

  // Of a row of tiles, how many lie left of the diagonal.
  int64_t skipped_tiles(int64_t row, int64_t first_column) const {
    return std::max(int64_t{0}, row_ + row - column_ - first_column) / columns_.width;
  }

  const MatrixProduct& x_;
  const ProductLoops& loops_;
  const int64_t row_, column_, first_, depth_, packed_depth_;
  const Panels rows_, columns_;
  const bool reads_a_, reads_b_;  // where they are
  const bool is_gram_;
  char* a_ = nullptr;  // packed blocks, one after another, or null
  char* b_ = nullptr;
  char* const sums_;
};

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
                     .c_next = x.m * x.n};
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

// The sums over the depth of the lines of `matrix`, multiplied by a few vectors; it is read where
// it is, once. Element (line, vector) of c is at line * c_line + vector * c_vector.
struct VectorProducts {
  const MatrixProduct& x;
  const ProductOperand& matrix;
  int64_t lines, c_line;
  const ProductOperand& vectors;
  int64_t num_vectors, c_vector;

  bool along_depth() const { return x.k == 1 ? matrix.line_stride != 1 : matrix.depth_stride == 1; }
  // Without a copy.
  bool reads_vectors() const {
    return (vectors.depth_stride == 1 || x.k == 1) && x.loops.element_size == x.loops.sum_size;
  }
  // Whether tiles would take longer.
  bool pays() const {
    if (num_vectors == 1) {
      return along_depth() ||
             (matrix.line_stride == 1 && !(x.loops.direct && x.k * lines <= kMaxUnpacked));
    }
    if (!along_depth()) return false;
    if (num_vectors <= x.loops.max_vectors && x.k >= kMinVectorDepth) {
      return !has_rows(x) || 2 * num_vectors <= x.loops.lanes;
    }
    return x.loops.direct && reads_vectors() && !has_rows(x) && x.k <= x.loops.lanes &&
           x.m * x.n * x.k <= kMaxShort;
  }

  void run() const {
    const ProductLoops& loops = x.loops;
    const size_t size = loops.element_size;
    if (along_depth() && reads_vectors()) {
      dots(vectors.data, vectors.line_stride, matrix.data, x.c, x.count);
      return;
    }
    const Scratch packed(static_cast<size_t>(num_vectors * x.k) * loops.sum_size);
    for (int64_t i = 0; i < x.count; ++i) {
      const void* v = at(vectors.data, i * vectors.next, size);
      const void* from = at(matrix.data, i * matrix.next, size);
      void* to = at(x.c, i * x.m * x.n, loops.result_size);
      if (!reads_vectors()) {
        loops.pack(v, vectors.line_stride, vectors.depth_stride, num_vectors, x.k, 1,
                   packed.data());
        v = packed.data();
      }
      if (along_depth()) {
        dots(v, x.k, from, to, 1);
      } else {
        parallel_for(lines, 1 + kMinRead / x.k, [&](int64_t begin, int64_t end) {
          loops.sums(at(from, begin, size), matrix.depth_stride, v, end - begin, x.k,
                     at(to, begin, loops.result_size));
        });
      }
    }
  }

 private:
  // Of `count` products.
  void dots(const void* v, int64_t v_stride, const void* from, void* to, int64_t count) const {
    const ProductLoops& loops = x.loops;
    // Which lines are summed side by side is a matter of their place.
    const int64_t group = loops.lanes;
    parallel_for(ceil_div(lines, group), 1 + kMinRead / (group * x.k * num_vectors * count),
                 [&](int64_t begin, int64_t end) {
                   const int64_t first = begin * group;
                   loops.dots({.lines = std::min(end * group, lines) - first,
                               .columns = num_vectors,
                               .depth = x.k,
                               .x = at(from, first * matrix.line_stride, loops.element_size),
                               .line_stride = matrix.line_stride,
                               .v = v,
                               .v_stride = v_stride,
                               .y = at(to, first * c_line, loops.result_size),
                               .y_line_stride = c_line,
                               .y_column_stride = c_vector,
                               .count = count,
                               .x_next = matrix.next,
                               .v_next = vectors.next,
                               .y_next = x.m * x.n});
                 });
  }
};

void multiply_columns(const MatrixProduct& x, int64_t begin, int64_t end) {
  for (int64_t row = 0; row < x.m; row += max_rows(x)) {
    for (int64_t column = begin; column < end; column += max_columns(x)) {
      const int64_t columns = std::min(max_columns(x), end - column);
      const int64_t rows = std::min(max_rows(x), x.m - row);
      const bool adds = x.rounds && x.k > max_depth(x);
      const Scratch sums(adds ? static_cast<size_t>(rows * columns) * x.loops.result_size : 0);
      for (int64_t first = 0; first < x.k; first += max_depth(x)) {
        Slab(x, row, column, columns, first, sums.data()).run();
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

void multiply_one(const MatrixProduct& x) {
  const int64_t strip = std::clamp(round_up(x.n / kMinStrips, kMinStrip), kMinStrip, kMaxStrip);
  if (!streams_b(x) || x.n <= strip) return multiply_columns(x, 0, x.n);
  parallel_for(ceil_div(x.n, strip), 1 + kMinProductTask / product_cost(x.m, strip, x.k),
               [&](int64_t begin, int64_t end) {
                 multiply_columns(x, begin * strip, std::min(end * strip, x.n));
               });
}

// x, if that is what it is best computed as.
std::optional<VectorProducts> products_of_vectors(const MatrixProduct& x) {
  const VectorProducts of_a{x, x.a, x.m, x.n, x.b, x.n, 1};
  if (x.n <= x.m && of_a.pays()) return of_a;
  const VectorProducts of_b{x, x.b, x.n, 1, x.a, x.m, x.n};
  if (x.m <= x.n && of_b.pays()) return of_b;
  return std::nullopt;
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
  if (is_small(x)) return x.rounds ? multiply_and_round(x) : multiply_small(x);
  if (const std::optional<VectorProducts> of_vectors = products_of_vectors(x)) {
    return x.rounds ? multiply_and_round(x) : of_vectors->run();
  }
  if (x.n == 1 && x.m > 1 && x.loops.direct && x.a.line_stride == 1) {
    // A row is a column as well.
    MatrixProduct turned = x;
    std::swap(turned.m, turned.n);
    std::swap(turned.a, turned.b);
    return multiply(turned);
  }
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

size_t packed_bytes_of_b(const MatrixProduct& x) {
  if (x.count > 1 || x.n == 1 || is_small(x) || products_of_vectors(x) || reads_b(x)) return 0;
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
