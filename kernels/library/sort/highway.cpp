// sort_by_comparing() by Highway's vqsort.
#include <hwy/contrib/sort/vqsort.h>

#include "kernels/library/sort/sort_words.h"

namespace sluice::kernels {
namespace {

template <typename Word>
void sort(Word* words, int64_t count) {
  thread_local const hwy::Sorter sorter;  // it allocates
  sorter(words, static_cast<size_t>(count), hwy::SortAscending());
}

}  // namespace

void sort_by_comparing(uint16_t* words, int64_t count) { sort(words, count); }
void sort_by_comparing(uint32_t* words, int64_t count) { sort(words, count); }
void sort_by_comparing(uint64_t* words, int64_t count) { sort(words, count); }
void sort_by_comparing(WideWord* words, int64_t count) {
  static_assert(sizeof(WideWord) == sizeof(hwy::uint128_t));
  sort(reinterpret_cast<hwy::uint128_t*>(words), count);
}

}  // namespace sluice::kernels
