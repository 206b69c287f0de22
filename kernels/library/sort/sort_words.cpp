#include "kernels/library/sort/sort_words.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "kernels/library/loops/loops.h"
#include "kernels/library/sort/highway.h"
#include "runtime/cpu/parallel.h"

namespace sluice::kernels {
namespace {

constexpr int64_t kMergeGrain = 1 << 15;  // words
constexpr int64_t kMaxParts = 64;

// How many of the first `place` words of a and b merged are a's; of equal ones a's come first.
template <typename Word>
int64_t cut(const Word* a, int64_t a_count, const Word* b, int64_t b_count, int64_t place) {
  int64_t low = std::max<int64_t>(0, place - b_count), high = std::min(place, a_count);
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (b[place - middle - 1] < a[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Words [begin, end) of a and b merged.
template <typename Word>
void merge(const Word* a, int64_t a_count, const Word* b, int64_t b_count, int64_t begin,
           int64_t end, Word* out) {
  int64_t i = cut(a, a_count, b, b_count, begin), j = begin - i;
  for (; begin < end && i < a_count && j < b_count; ++begin) {
    const bool is_b = b[j] < a[i];  // no branch: which one it is cannot be foretold
    out[begin] = is_b ? b[j] : a[i];
    i += !is_b;
    j += is_b;
  }
  const int64_t rest = end - begin;
  std::copy_n(i < a_count ? a + i : b + j, rest, out + begin);
}

template <typename Word>
void sort_by_counting(Word* words, int64_t count) {
  std::vector<int64_t> counts(size_t{1} << 8 * sizeof(Word));
  for (int64_t i = 0; i < count; ++i) ++counts[words[i]];
  for (size_t word = 0; word < counts.size(); ++word) {
    words = std::fill_n(words, counts[word], static_cast<Word>(word));
  }
}

}  // namespace

template <typename Word>
void sort_by_comparing(Word* words, int64_t count) {
  if (const VectorSorts* const vectorised = find_vector_sorts()) {
    (*vectorised)(words, count);
  } else {
    std::sort(words, words + count);
  }
}

namespace {

// By loops of ours where there are any, and words are not so many that the library's do better.
template <typename Word>
void sort_vectors(void (*loops)(Word*, int64_t), Word* words, int64_t count) {
  constexpr int64_t kMany = int64_t{1} << 18;
  if (loops != nullptr && (count <= kMany || find_vector_sorts() == nullptr)) {
    loops(words, count);
  } else {
    sort_by_comparing(words, count);
  }
}

}  // namespace

template <typename Word>
void sort_words(Word* words, int64_t count) {
  if constexpr (sizeof(Word) <= 2) {
    if (count >= int64_t{1} << 8 * sizeof(Word)) return sort_by_counting(words, count);
  }
  if constexpr (sizeof(Word) == 1) {
    std::sort(words, words + count);
  } else if constexpr (sizeof(Word) == 4) {
    sort_vectors(library_loops().sort32, words, count);
  } else if constexpr (sizeof(Word) == 8) {
    sort_vectors(library_loops().sort64, words, count);
  } else {
    sort_by_comparing(words, count);
  }
}

template <typename Word>
Word* sort_long(Word* words, Word* other, int64_t count) {
  const auto parts =
      std::min<int64_t>(kMaxParts, std::bit_ceil(static_cast<uint64_t>(num_threads())));
  auto begin_of = [&](int64_t part) { return count * std::min(part, parts) / parts; };
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      sort_words(words + begin_of(part), begin_of(part + 1) - begin_of(part));
    }
  });
  for (int64_t merged = 1; merged < parts; merged *= 2) {
    // Each range of the result is made by itself, of one pair of parts or of several.
    parallel_for(count, kMergeGrain, [&](int64_t begin, int64_t end) {
      for (int64_t part = 0; part < parts; part += 2 * merged) {
        const int64_t first = begin_of(part), middle = begin_of(part + merged),
                      last = begin_of(part + 2 * merged);
        const int64_t from = std::max(begin, first), to = std::min(end, last);
        if (from >= to) continue;
        merge(words + first, middle - first, words + middle, last - middle, from - first,
              to - first, other + first);
      }
    });
    std::swap(words, other);
  }
  return words;
}

#define SLUICE_WORD(Word)                   \
  template void sort_words(Word*, int64_t); \
  template Word* sort_long(Word*, Word*, int64_t);
SLUICE_WORD(uint8_t)
SLUICE_WORD(uint16_t)
SLUICE_WORD(uint32_t)
SLUICE_WORD(uint64_t)
SLUICE_WORD(WideWord)
#undef SLUICE_WORD
template void sort_by_comparing(uint32_t*, int64_t);
template void sort_by_comparing(uint64_t*, int64_t);

}  // namespace sluice::kernels
