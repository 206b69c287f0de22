#include "kernels/library/sort/highway.h"

#include <hwy/contrib/sort/vqsort.h>

namespace sluice::kernels {
namespace {

template <typename Word, typename Key = Word>
void sort(Word* words, int64_t count) {
  static_assert(sizeof(Word) == sizeof(Key));
  thread_local const hwy::Sorter sorter;  // it allocates
  sorter(reinterpret_cast<Key*>(words), static_cast<size_t>(count), hwy::SortAscending());
}

constexpr VectorSorts kSorts{sort<uint16_t>, sort<uint32_t>, sort<uint64_t>,
                             sort<WideWord, hwy::uint128_t>};

}  // namespace
}  // namespace sluice::kernels

const sluice::kernels::VectorSorts* sluice_vector_sorts() { return &sluice::kernels::kSorts; }
