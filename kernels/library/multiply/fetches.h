// What tiles fetch while they compute.
#ifndef SLUICE_KERNELS_LIBRARY_MULTIPLY_FETCHES_H_
#define SLUICE_KERNELS_LIBRARY_MULTIPLY_FETCHES_H_

#include <cstddef>
#include <cstdint>

#include "kernels/library/multiply/matrix_product.h"

namespace sluice::kernels {

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
    tile->fetch_stride = kBytes;
    tile->fetch_next = tile->depth * kBytes;
    data += tile->count * tile->fetch_next;
    bytes -= tile->count * tile->fetch_next;
    if (bytes <= 0) ++current_;
  }

 private:
  static constexpr int64_t kBytes = 128;  // with a row of b

  struct Range {
    const char* data;
    int64_t bytes;
  };
  Range ranges_[3];
  int count_ = 0, current_ = 0;
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_MULTIPLY_FETCHES_H_
