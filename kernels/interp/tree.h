// The tree of kernels/reduction.h, of arrays of accumulators that arrive one after another.
#ifndef SLUICE_KERNELS_INTERP_TREE_H_
#define SLUICE_KERNELS_INTERP_TREE_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/interp/loops/loops.h"
#include "kernels/reduction.h"

namespace sluice::kernels::interp {

// Keeps its memory from one tree to the next.
class Tree {
 public:
  // Begins a tree of arrays of n accumulators, of `size` bytes each.
  void begin(const ReduceLoops& loops, int64_t n, size_t size) {
    loops_ = &loops;
    n_ = n;
    bytes_ = n * size;
    added_ = 0;
  }

  void add(const void* x) {
    const int level = std::countr_one(added_);
    // Level k holds the result of 2^k arrays where bit k of `added_` is set.
    for (int k = 0; k < level; ++k) {
      loops_->combine(memory(k), x, n_);
      x = memory(k);
    }
    std::memcpy(memory(level), x, bytes_);
    ++added_;
  }

  // The result of all; the identity, if there were none.
  void end(void* out) {
    loops_->identity(out, n_);
    for (uint64_t bits = added_; bits != 0; bits &= bits - 1) {
      char* const level = memory(std::countr_zero(bits));
      loops_->combine(level, out, n_);
      std::memcpy(out, level, bytes_);
    }
  }

 private:
  char* memory(int level) {
    std::vector<char>& memory = levels_[level];
    if (memory.size() < bytes_) memory.resize(bytes_);
    return memory.data();
  }

  const ReduceLoops* loops_ = nullptr;
  int64_t n_ = 0;
  size_t bytes_ = 0;
  uint64_t added_ = 0;
  std::vector<char> levels_[kTreeLevels];
};

}  // namespace sluice::kernels::interp

#endif  // SLUICE_KERNELS_INTERP_TREE_H_
