#include "kernels/library/multiply/slab.h"

#include <algorithm>
#include <cstddef>

#include "kernels/library/multiply/fetches.h"
#include "kernels/library/scratch.h"
#include "runtime/cpu/parallel.h"
#include "runtime/integers.h"

namespace sluice::kernels {
namespace {

// The tiles of a block of kBlockPanels of b, or more where they are short, read it from the
// second-level cache, a panel of a from the first. kChunkPanels of a with a block are one task.
constexpr int64_t kBlockBytes = 384 << 10, kMaxBlockPanels = 32, kChunkPanels = 4;
// So many tiles are fetched ahead.
constexpr int64_t kAhead = 2, kRowsAhead = 16;

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

int64_t row_panels(const MatrixProduct& x, int64_t rows, int64_t depth) {
  return reads_a(x) ? std::max(kChunkPanels, kChunk / (rows * depth)) : kChunkPanels;
}

class Slab {
 public:
  Slab(const MatrixProduct& product, int64_t row, int64_t rows, int64_t column, int64_t columns,
       int64_t first, char* sums)
      : x_(product),
        loops_(product.loops),
        row_(row),
        column_(column),
        first_(first),
        depth_(std::min(max_depth(product), product.k - first)),
        packed_depth_(round_up(depth_, loops_.packed_depth)),
        rows_(rows, panel_rows(product, rows), row_panels(product, loops_.rows, depth_)),
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

}  // namespace

void multiply_slab(const MatrixProduct& product, int64_t row, int64_t rows, int64_t column,
                   int64_t columns, int64_t first, char* sums) {
  Slab(product, row, rows, column, columns, first, sums).run();
}

}  // namespace sluice::kernels
