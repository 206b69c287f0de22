#include "kernels/library/multiply.h"

#include <algorithm>

#include "kernels/library/scratch.h"
#include "runtime/cpu/parallel.h"
#include "runtime/integers.h"

namespace sluice::kernels {
namespace {

// Products are summed over slabs of kDepth, in order. A panel is as many lines as a tile has. The
// tiles of a block of kBlockPanels of b, or more where they are short, read it from the
// second-level cache, a panel of a from the first. kChunkPanels of a with a block are one task.
constexpr int64_t kDepth = 384;
constexpr int64_t kBlockPanels = 8, kMaxBlockPanels = 32, kChunkPanels = 4;
// Lines of an operand that are packed at a time.
constexpr int64_t kMaxLines = 4096;
// A matrix of so few elements is read as well where it is.
constexpr int64_t kMaxUnpacked = 16384;
// Of so few vectors, of so many elements, products with a matrix are sums along its lines.
constexpr int64_t kMaxVectors = 16, kMinVectorDepth = 128;
// In multiplications; and in elements, where they are read once.
constexpr int64_t kMinTask = 400'000, kMinRead = 65'536;

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

  Panels(int64_t lines, int64_t width, int64_t panels)
      : lines(lines), width(width), block(panels * width) {}
  int64_t blocks() const { return ceil_div(lines, block); }
  // Of the block that begins at `line`.
  int64_t end_of_block(int64_t line) const { return std::min(line + block, lines); }
  int64_t padded(int64_t count) const { return round_up(count, width); }
};

// The lines of one panel of a: all panels have about as many, and at most `max`. Four at a time are
// transposed.
int64_t panel_rows(int64_t lines, int64_t max) {
  const int64_t even = ceil_div(lines, ceil_div(lines, max));
  return round_up(even, 4) <= max ? round_up(even, 4) : even;
}

// The products of one slab of the depth, for some rows and columns of c.
class Slab {
 public:
  Slab(const MatrixProduct& product, int64_t row, int64_t column, int64_t first)
      : x_(product),
        loops_(product.loops),
        row_(row),
        column_(column),
        first_(first),
        depth_(std::min(kDepth, product.k - first)),
        rows_(std::min(kMaxLines, product.m - row),
              panel_rows(std::min(kMaxLines, product.m - row), loops_.rows), kChunkPanels),
        columns_(std::min(kMaxLines, product.n - column),
                 product.n <= loops_.lanes ? loops_.lanes : loops_.columns,
                 std::min(kMaxBlockPanels, kBlockPanels * kDepth / depth_)),
        unpacked_(loops_.element_size == loops_.sum_size && x_.b.line_stride == 1 &&
                  columns_.lines % loops_.lanes == 0 && x_.k * x_.n <= kMaxUnpacked) {}

  void run() {
    // What several tasks read is packed before them, the rest by the one that reads it.
    const int64_t chunks = rows_.blocks(), blocks = columns_.blocks();
    const bool packs_a = blocks > 1;
    const bool packs_b = chunks > 1 && !unpacked_;
    const Scratch a(packs_a ? bytes(rows_.padded(rows_.lines)) : 0);
    const Scratch b(packs_b ? bytes(columns_.padded(columns_.lines)) : 0);
    a_ = a.data();
    b_ = b.data();
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
    const int64_t task =
        std::min(rows_.block, rows_.lines) * std::min(columns_.block, columns_.lines) * depth_;
    parallel_for(chunks * blocks, 1 + kMinTask / task,
                 [&](int64_t begin, int64_t end) { multiply_tasks(begin, end); });
  }

 private:
  size_t bytes(int64_t lines) const {
    return static_cast<size_t>(lines * depth_) * loops_.sum_size;
  }

  void pack(const ProductOperand& operand, int64_t line, int64_t lines, int64_t width,
            char* out) const {
    const int64_t first = line * operand.line_stride + first_ * operand.depth_stride;
    loops_.pack(at(operand.data, first, loops_.element_size), operand.line_stride,
                operand.depth_stride, lines, depth_, width, out);
  }
  // The block that begins at a line.
  void pack_rows(int64_t row, char* out) const {
    pack(x_.a, row_ + row, rows_.end_of_block(row) - row, rows_.width, out);
  }
  void pack_columns(int64_t column, char* out) const {
    pack(x_.b, column_ + column, columns_.end_of_block(column) - column, columns_.width, out);
  }

  void multiply_tasks(int64_t begin, int64_t end) const {
    const bool packs_a = a_ == nullptr, packs_b = b_ == nullptr && !unpacked_;
    const Scratch own_a(packs_a ? bytes(rows_.padded(std::min(rows_.block, rows_.lines))) : 0);
    const Scratch own_b(packs_b ? bytes(columns_.padded(std::min(columns_.block, columns_.lines)))
                                : 0);
    int64_t packed = -1;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t row = task % rows_.blocks() * rows_.block;
      const int64_t column = task / rows_.blocks() * columns_.block;
      if (packs_a) pack_rows(row, own_a.data());
      if (packs_b && packed != column) pack_columns(packed = column, own_b.data());
      multiply_block(row, column, packs_a ? own_a.data() : a_ + bytes(row),
                     packs_b     ? own_b.data()
                     : unpacked_ ? nullptr
                                 : b_ + bytes(column));
    }
  }

  // a, b: where the blocks that begin at a row and a column are packed.
  void multiply_block(int64_t first_row, int64_t first_column, const char* a, const char* b) const {
    for (int64_t row = first_row; row < rows_.end_of_block(first_row); row += rows_.width) {
      ProductTile tile{
          .rows = static_cast<int>(std::min(rows_.width, rows_.end_of_block(first_row) - row)),
          .depth = depth_,
          .a = a + bytes(row - first_row),
          .a_stride = rows_.width,
          .b_stride = unpacked_ ? x_.b.depth_stride : columns_.width,
          .c_stride = x_.n,
          .adds = first_ > 0};
      const int64_t last_column = columns_.end_of_block(first_column);
      for (int64_t column = first_column; column < last_column; column += columns_.width) {
        tile.columns = std::min(columns_.width, last_column - column);
        tile.b = unpacked_ ? at(x_.b.data, first_ * x_.b.depth_stride + column_ + column,
                                loops_.element_size)
                           : b + bytes(column - first_column);
        tile.c = at(x_.c, (row_ + row) * x_.n + column_ + column, loops_.element_size);
        loops_.tile(tile);
      }
    }
  }

  const MatrixProduct& x_;
  const ProductLoops& loops_;
  const int64_t row_, column_, first_, depth_;
  const Panels rows_, columns_;
  const bool unpacked_;  // b is read where it is
  char* a_ = nullptr;    // packed blocks, one after another, or null
  char* b_ = nullptr;
};

// True if it was a product of the lines of `matrix` with so few `vectors` that the matrix is read
// where it is, once. Element (line, vector) of the result is at line * c_line + vector * c_vector.
bool multiply_vectors(const MatrixProduct& x, const ProductOperand& matrix, int64_t lines,
                      int64_t c_line, const ProductOperand& vectors, int64_t count,
                      int64_t c_vector) {
  const ProductLoops& loops = x.loops;
  const bool along_depth = matrix.depth_stride == 1 || x.k == 1;
  if (count > 1 ? !along_depth || count > kMaxVectors || x.k < kMinVectorDepth
                : !along_depth && matrix.line_stride != 1 && lines > 1) {
    return false;
  }
  const bool is_packed = vectors.depth_stride == 1 && (count == 1 || vectors.line_stride == x.k) &&
                         loops.element_size == loops.sum_size;
  const Scratch packed(is_packed ? 0 : static_cast<size_t>(count * x.k) * loops.sum_size);
  const void* v = vectors.data;
  if (!is_packed) {
    loops.pack(vectors.data, vectors.line_stride, vectors.depth_stride, count, x.k, 1,
               packed.data());
    v = packed.data();
  }
  // Which lines are summed side by side is a matter of their place.
  const int64_t group = along_depth ? 16 : 256;
  parallel_for(ceil_div(lines, group), 1 + kMinRead / (group * x.k * count),
               [&](int64_t begin, int64_t end) {
                 const int64_t first = begin * group;
                 const int64_t part = std::min(end * group, lines) - first;
                 const void* from = at(matrix.data, first * matrix.line_stride, loops.element_size);
                 void* to = at(x.c, first * c_line, loops.element_size);
                 if (along_depth) {
                   loops.dots({.lines = part,
                               .columns = count,
                               .depth = x.k,
                               .x = from,
                               .line_stride = matrix.line_stride,
                               .v = v,
                               .y = to,
                               .y_line_stride = c_line,
                               .y_column_stride = c_vector});
                 } else {
                   loops.sums(from, matrix.depth_stride, v, part, x.k, to);
                 }
               });
  return true;
}

}  // namespace

void multiply(const MatrixProduct& x) {
  if (x.n <= x.m && multiply_vectors(x, x.a, x.m, x.n, x.b, x.n, 1)) return;
  if (x.m <= x.n && multiply_vectors(x, x.b, x.n, 1, x.a, x.m, x.n)) return;
  for (int64_t row = 0; row < x.m; row += kMaxLines) {
    for (int64_t column = 0; column < x.n; column += kMaxLines) {
      for (int64_t first = 0; first < x.k; first += kDepth) Slab(x, row, column, first).run();
    }
  }
}

}  // namespace sluice::kernels
