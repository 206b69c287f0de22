// What files of golden values and transcripts of messages have in common.
#ifndef SLUICE_TESTS_SUPPORT_GOLDEN_H_
#define SLUICE_TESTS_SUPPORT_GOLDEN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/dtype.h>
#include <sluice/error.h>
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace sluice::test {

// "2,3,4"; "-" is the empty list.
inline std::vector<int64_t> golden_integers(absl::string_view text) {
  std::vector<int64_t> result;
  if (text == "-") return result;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    result.emplace_back();
    EXPECT_TRUE(absl::SimpleAtoi(part, &result.back())) << text;
  }
  return result;
}

// "00ff10"; no byte: "-". absl::HexStringToBytes() has changed its form.
inline std::string golden_bytes(absl::string_view text) {
  std::string result;
  for (size_t i = 0; text != "-" && i < text.size(); i += 2) {
    int byte = 0;
    EXPECT_TRUE(absl::SimpleHexAtoi(text.substr(i, 2), &byte)) << text;
    result += static_cast<char>(byte);
  }
  return result;
}

// The dtype that name_of() calls so.
inline DType dtype_named(absl::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  ADD_FAILURE() << "there is no dtype " << name;
  return DType::kBool;
}

// What f() says is wrong.
inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace sluice::test

#endif  // SLUICE_TESTS_SUPPORT_GOLDEN_H_
