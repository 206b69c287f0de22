#include "kernels/library/sort/sort_words.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/host_isa.h"
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
constexpr int64_t kValues = int64_t{1} << 8 * sizeof(Word);

// Reads several words at a time: any count might be one of the next words.
template <typename Word>
void count_words(const Word* words, int64_t count, int64_t* counts) {
  constexpr int64_t kRead = 8 / sizeof(Word);
  int64_t i = 0;
  for (; i + kRead <= count; i += kRead) {
    uint64_t read;
    std::memcpy(&read, words + i, sizeof(read));
#pragma GCC unroll 8
    for (int64_t j = 0; j < kRead; ++j, read >>= 8 * sizeof(Word))
      ++counts[static_cast<Word>(read)];
  }
  for (; i < count; ++i) ++counts[words[i]];
}

// Parts of the words are counted side by side, and as many ranges of the result written.
template <typename Word>
void sort_by_counting(Word* words, int64_t count, int64_t parts) {
  std::vector<int64_t> counts(static_cast<size_t>(kValues<Word> * parts));
  parallel_for(parts, 1, [&](int64_t part, int64_t end) {
    for (; part < end; ++part) {
      const int64_t first = count * part / parts;
      count_words(words + first, count * (part + 1) / parts - first,
                  counts.data() + kValues<Word> * part);
    }
  });
  // Where those up to each value end.
  int64_t* const ends = counts.data();
  int64_t end_of_last = 0;
  for (int64_t value = 0; value < kValues<Word>; ++value) {
    for (int64_t part = 0; part < parts; ++part) end_of_last += ends[kValues<Word> * part + value];
    ends[value] = end_of_last;
  }
  parallel_for(parts, 1, [&](int64_t first, int64_t last) {
    int64_t at = count * first / parts;
    const int64_t end = count * last / parts;
    int64_t value = std::upper_bound(ends, ends + kValues<Word>, at) - ends;
    for (; at < end; ++value) {
      const int64_t next = std::min(end, ends[value]);
      std::fill(words + at, words + next, static_cast<Word>(value));
      at = next;
    }
  });
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

// Whether a word is mostly one of few thousand: so many of a sample are equal.
template <typename Word>
bool are_few_different(void (*sort)(Word*, int64_t), const Word* words, int64_t count) {
  constexpr int64_t kSampled = 256, kEqual = 2;
  Word sample[kSampled];
  for (int64_t i = 0; i < kSampled; ++i) sample[i] = words[count / kSampled * i];
  sort(sample, kSampled);
  int64_t equal = 0;
  for (int64_t i = 1; i < kSampled; ++i) equal += sample[i] == sample[i - 1];
  return equal >= kEqual;
}

// By loops of ours where there are any, and the library's do not do better: of very many words, and
// of many of which few are different. Those store what they compress.
template <typename Word>
void sort_vectors(void (*loops)(Word*, int64_t), Word* words, int64_t count) {
  constexpr int64_t kMany = int64_t{1} << 18, kVeryMany = int64_t{1} << 21;
  const auto are_ours = [&] {
    return count <= kMany || find_vector_sorts() == nullptr || has_slow_compress_stores() ||
           (count <= kVeryMany && !are_few_different(loops, words, count));
  };
  if (loops != nullptr && are_ours()) {
    loops(words, count);
  } else {
    sort_by_comparing(words, count);
  }
}

}  // namespace

template <typename Word>
void sort_words(Word* words, int64_t count) {
  if constexpr (sizeof(Word) <= 2) {
    if (count >= kValues<Word>) return sort_by_counting(words, count, 1);
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
  if constexpr (sizeof(Word) <= 2) {
    // To add up the counts of a part takes little beside counting it.
    const int64_t most = count / (4 * kValues<Word>);
    sort_by_counting(words, count,
                     std::clamp<int64_t>(num_threads(), 1, std::max<int64_t>(1, most)));
    return words;
  }
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

template void sort_words(uint8_t*, int64_t);
template void sort_words(uint16_t*, int64_t);
template void sort_words(uint32_t*, int64_t);
template void sort_words(uint64_t*, int64_t);
template void sort_words(WideWord*, int64_t);
template uint8_t* sort_long(uint8_t*, uint8_t*, int64_t);
template uint16_t* sort_long(uint16_t*, uint16_t*, int64_t);
template uint32_t* sort_long(uint32_t*, uint32_t*, int64_t);
template uint64_t* sort_long(uint64_t*, uint64_t*, int64_t);
template WideWord* sort_long(WideWord*, WideWord*, int64_t);
template void sort_by_comparing(uint32_t*, int64_t);
template void sort_by_comparing(uint64_t*, int64_t);

}  // namespace sluice::kernels
