// Numbering beside a search through all that has a number.
#include "fusion/ir/numbering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sluice::fusion {
namespace {

// Numbers random values below `different` by hash(value).
template <typename Hash>
void expect_numbers(int values, int different, Hash hash) {
  std::mt19937 random(different);
  Numbering numbering;
  std::vector<uint32_t> numbered;
  for (int i = 0; i < values; ++i) {
    const uint32_t value = random() % different;
    const auto known = std::find(numbered.begin(), numbered.end(), value);
    const auto [number, is_new] = numbering.find_or_add(hash(value), [&](uint32_t other) {
      EXPECT_LT(other, numbered.size());
      return numbered[other] == value;
    });
    EXPECT_EQ(number, known - numbered.begin());
    EXPECT_EQ(is_new, known == numbered.end());
    if (is_new) numbered.push_back(value);
  }
}

TEST(NumberingTest, NumbersInTheOrderOfFirstAppearance) {
  for (const int different : {1, 2, 15, 16, 17, 33, 1000}) {
    expect_numbers(3000, different, [](uint32_t value) { return WordHash().add(value).value(); });
  }
}

TEST(NumberingTest, TellsEqualHashesApart) {
  for (const int different : {1, 2, 40, 300}) {
    expect_numbers(1000, different, [](uint32_t value) { return value % 2; });
    expect_numbers(1000, different, [](uint32_t) { return 0xffffffff; });
  }
}

TEST(NumberingTest, HashesDependOnWordsAndTheirOrder) {
  EXPECT_EQ(WordHash().add(1).add(2).value(), WordHash().add(1).add(2).value());
  EXPECT_NE(WordHash().add(1).add(2).value(), WordHash().add(2).add(1).value());
  EXPECT_NE(WordHash().add(1).value(), WordHash().add(uint64_t{1} << 63).value());
}

}  // namespace
}  // namespace sluice::fusion
