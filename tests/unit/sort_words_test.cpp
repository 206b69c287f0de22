// Sorts of words against the standard library's.
#include "kernels/library/sort/sort_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace sluice::kernels {
namespace {

template <typename Word>
class SortWords : public testing::Test {};
using Words = testing::Types<uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(SortWords, Words);

// What quicksorts find hard: one word, few different ones, the greatest, runs.
TYPED_TEST(SortWords, OfEveryKindAndLength) {
  using Word = TypeParam;
  std::mt19937_64 random(1);
  const auto word = [&](int kind, int64_t i, int64_t count) {
    switch (kind) {
      case 0: return static_cast<Word>(random());
      case 1: return static_cast<Word>(random() % 5);
      case 2: return static_cast<Word>(7);
      case 3: return static_cast<Word>(~Word{0} - random() % 3);
      case 4: return static_cast<Word>(i);
      case 5: return static_cast<Word>(count - i);
      case 6: return static_cast<Word>(std::min(i, count - i));
      case 7: return static_cast<Word>(i % 17);
      default: return static_cast<Word>(i == count / 2 ? 0 : ~Word{0});
    }
  };
  for (const int64_t count : {0,   1,   2,   7,   8,   9,   15,   16,   17,      31,     33,  63,
                              64,  65,  100, 127, 128, 129, 191,  192,  193,     255,    256, 257,
                              300, 383, 384, 385, 511, 777, 1000, 5000, 300'000, 600'000}) {
    for (int kind = 0; kind < 9; ++kind) {
      std::vector<Word> words(count);
      for (int64_t i = 0; i < count; ++i) words[i] = word(kind, i, count);
      std::vector<Word> wanted = words;
      std::sort(wanted.begin(), wanted.end());
      std::vector<Word> parts = words, other(count);
      sort_words(words.data(), count);
      ASSERT_EQ(words, wanted) << count << " of kind " << kind;
      if (count <= kLongSort) continue;
      const Word* const sorted = sort_long(parts.data(), other.data(), count);
      ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), sorted)) << count << " of kind " << kind;
    }
  }
}

}  // namespace
}  // namespace sluice::kernels
