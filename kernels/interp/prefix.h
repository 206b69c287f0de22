// What a scan keeps from one element to the next (kernels/scan.h), of rows side by side.
#ifndef SLUICE_KERNELS_INTERP_PREFIX_H_
#define SLUICE_KERNELS_INTERP_PREFIX_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/interp/loops/loops.h"
#include "kernels/scan.h"

namespace sluice::kernels::interp {

// Keeps its memory from one row to the next.
class Prefix {
 public:
  // Begins n rows, whose accumulators have `size` bytes each.
  void begin(const ScanLoops& loops, int64_t n, size_t size) {
    loops_ = &loops;
    n_ = n;
    bytes_ = n * size;
    leaves_ = 0;
    memory_.resize(std::max<size_t>(memory_.size(), (2 + 2 * kTreeLevels) * bytes_));
    loops.identity(before(), n);
    loops.identity(leaf(), n);
  }

  // What comes before the leaf, and the leaf up to what has come by.
  char* before() { return memory_.data(); }
  char* leaf() { return memory_.data() + bytes_; }

  // The leaf is complete, and another begins.
  void end_leaf() {
    const int level = level_of_leaf(leaves_);
    for (int k = 0; k < level; ++k) loops_->combine(leaf(), subtree(k), leaf(), n_);
    std::memcpy(subtree(level), leaf(), bytes_);
    const int larger = level_before(leaves_);
    if (larger < kTreeLevels) {
      loops_->combine(before(), upto(larger), leaf(), n_);
    } else {
      loops_->identity(before(), n_);
      loops_->combine(before(), before(), leaf(), n_);
    }
    std::memcpy(upto(level), before(), bytes_);
    loops_->identity(leaf(), n_);
    ++leaves_;
  }

 private:
  // By level: the subtree of 2^level leaves, and all up to and with it.
  char* subtree(int level) { return memory_.data() + (2 + level) * bytes_; }
  char* upto(int level) { return memory_.data() + (2 + kTreeLevels + level) * bytes_; }

  const ScanLoops* loops_ = nullptr;
  int64_t n_ = 0;
  size_t bytes_ = 0;
  uint64_t leaves_ = 0;
  std::vector<char> memory_;
};

}  // namespace sluice::kernels::interp

#endif  // SLUICE_KERNELS_INTERP_PREFIX_H_
