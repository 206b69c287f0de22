// Sizes as settings and messages write them.
#include "runtime/size_text.h"

#include <gtest/gtest.h>

namespace sluice::runtime {
namespace {

TEST(SizeText, ReadsUnits) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("9007199254740993"), 9007199254740993);  // exactly
  EXPECT_EQ(parse_size("100M"), 100 << 20);
  EXPECT_EQ(parse_size("100m"), 100 << 20);
  EXPECT_EQ(parse_size("100MB"), 100'000'000);
  EXPECT_EQ(parse_size("2GiB"), int64_t{2} << 30);
  EXPECT_EQ(parse_size("1.5 KiB"), 1536);
  EXPECT_EQ(parse_size("3T"), int64_t{3} << 40);
  EXPECT_EQ(parse_size("12B"), 12);
}

TEST(SizeText, RefusesWhatIsNoSize) {
  for (const char* text : {"", "M", "-1", "1e3", "10 X", "10MBit", "1.2.3", "10 ", "0x10",
                           "99999999999999999999", "99999999999T", "10iB"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

TEST(SizeText, WritesThreeDigits) {
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(1023), "1023 bytes");
  EXPECT_EQ(size_text(1024), "1.00 KiB");
  EXPECT_EQ(size_text(20'000'000), "19.1 MiB");
  EXPECT_EQ(size_text((int64_t{1} << 30) - 1), "1.00 GiB");
  EXPECT_EQ(size_text(int64_t{999} << 30), "999 GiB");
}

}  // namespace
}  // namespace sluice::runtime
