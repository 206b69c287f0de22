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
  std::string page;
  int line = 0;  // of the block's first
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
    const std::string place = expected_.page + ":" + std::to_string(expected_.line);
    if (expected_.output) {
      EXPECT_EQ(as_program(output), *expected_.output) << place;
    }
    const Stats after = stats();
    for (const Expected::Counter& counter : expected_.counters) {
      EXPECT_EQ(after.*counter.member - before_.*counter.member, counter.by)
          << counter.name << " of " << place;
    }
  }

 private:
  // Places in the page as the block has them: lines of program.cpp.
  std::string as_program(std::string output) const {
    const std::string page = expected_.page + ":";
    for (size_t at = output.find(page); at != output.npos; at = output.find(page, at)) {
      const size_t begin = at + page.size();
      const size_t end = output.find_first_not_of("0123456789", begin);
      const int line = std::stoi(output.substr(begin, end - begin)) - expected_.line + 1;
      output = output.substr(0, at) + "program.cpp:" + std::to_string(line) +
               (end == output.npos ? "" : output.substr(end));
    }
    return output;
  }

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
