// The tree of kernels/reduction.h, written plainly.
#ifndef SLUICE_TESTS_SUPPORT_REDUCTION_TREE_H_
#define SLUICE_TESTS_SUPPORT_REDUCTION_TREE_H_

#include <bit>
#include <cstdint>

namespace sluice::test {

// Of the results leaf(first), ..., leaf(first + count - 1), count >= 1.
template <typename Leaf, typename Combine>
auto reduce_tree(int64_t first, int64_t count, const Leaf& leaf, const Combine& combine)
    -> decltype(leaf(first)) {
  if (count == 1) return leaf(first);
  const int64_t half = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count)) / 2);
  const auto before = reduce_tree(first, half, leaf, combine);
  return combine(before, reduce_tree(first + half, count - half, leaf, combine));
}

}  // namespace sluice::test

#endif  // SLUICE_TESTS_SUPPORT_REDUCTION_TREE_H_
