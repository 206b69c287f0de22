// What make_docs_test.py's tests compare.
#ifndef SLUICE_TESTS_DOCS_CHECKS_H_
#define SLUICE_TESTS_DOCS_CHECKS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <sluice/sluice.h>

namespace sluice::test {

// What a block of a page does.
struct Expected {
  struct Counter {
    const char* name;
    int64_t Stats::*member;
    int64_t by;
  };
  std::string place;
  std::optional<std::string> output;
  std::vector<Counter> counters;
};

// The blocks of one scope, one after another.
class Checks {
 public:
  void begin(const Expected& expected) {
    expected_ = expected;
    if (!expected.counters.empty()) sync();
    before_ = stats();
    testing::internal::CaptureStdout();
  }
  void end() {
    if (!expected_.counters.empty()) sync();
    std::cout.flush();
    const std::string output = testing::internal::GetCapturedStdout();
    if (expected_.output) EXPECT_EQ(output, *expected_.output) << expected_.place;
    const Stats after = stats();
    for (const Expected::Counter& counter : expected_.counters) {
      EXPECT_EQ(after.*counter.member - before_.*counter.member, counter.by)
          << counter.name << " of " << expected_.place;
    }
  }

 private:
  Expected expected_;
  Stats before_;
};

// What is compiled and not run stands behind this.
inline bool is_never() {
  static volatile bool never = false;
  return never;
}

}  // namespace sluice::test

#endif  // SLUICE_TESTS_DOCS_CHECKS_H_
