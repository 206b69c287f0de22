// Files of calls, each with the values that another library gives; see
// tests/engine/golden/make_arrayapi.py.
#ifndef SLUICE_TESTS_SUPPORT_GOLDEN_CALLS_H_
#define SLUICE_TESTS_SUPPORT_GOLDEN_CALLS_H_

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/support/golden.h"
#include "tests/support/test_util.h"

namespace sluice::test {

// "dtype dims values" of a result; that of an input has its layout before the values.
struct GoldenArray {
  explicit GoldenArray(const std::string& word) {
    const std::vector<std::string> parts = absl::StrSplit(word, ';');
    const std::vector<int64_t> dims = golden_integers(parts[1]);
    const DType dtype = dtype_named(parts[0]);
    std::vector<Real> values;
    if (parts.back() != "-") {
      for (const absl::string_view value : absl::StrSplit(parts.back(), ',')) {
        values.push_back(number(std::string(value), dtype));
      }
    }
    array = NdArray(dtype, Shape(std::span<const int64_t>(dims)), values);
    if (parts.size() == 4) layout = parts[2][0];
  }
  // A float is written with as many digits as tell it from others of its dtype, or of a wider one.
  static Real number(const std::string& text, DType dtype) {
    if (!is_float(dtype)) return std::strtold(text.c_str(), nullptr);
    return oracle::round_float(std::strtod(text.c_str(), nullptr), dtype);
  }

  NdArray array;
  char layout = 'c';
};

// The tensor as a view of another one where the layout says so.
inline Tensor golden_input(const std::string& word) {
  const GoldenArray written(word);
  const NdArray& x = written.array;
  switch (written.layout) {
    case 't': return to_tensor(oracle::transpose(x)).T();
    case 'r': return to_tensor(oracle::flip(x, {-1})).flip(-1);
    case 's': {
      const NdArray twice = oracle::repeat(x, 2, x.shape.rank() - 1);
      return to_tensor(twice).slice(-1, 0, twice.shape.back(), 2);
    }
    default: return to_tensor(x);
  }
}

inline NdArray golden_result(const std::string& word, int tolerance) {
  NdArray x = GoldenArray(word).array;
  if (tolerance == 0) return x;
  Real scale = 1;
  for (const Real value : x.values) {
    if (std::isfinite(value)) scale = std::max(scale, std::fabs(value));
  }
  x.errors.assign(x.values.size(), tolerance * static_cast<Real>(finfo(x.dtype).eps) * scale);
  return x;
}

inline Attributes golden_attributes(const std::string& text) {
  Attributes attributes;
  for (const absl::string_view part : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const std::string word(part);
    const size_t equals = word.find('=');
    const std::string value = word.substr(equals + 3);
    Attribute& attribute = attributes[word.substr(0, equals)];
    switch (word[equals + 1]) {
      case 'i': attribute = golden_integers(value)[0]; break;
      case 'f': attribute = std::strtod(value.c_str(), nullptr); break;
      case 'b': attribute = value == "1"; break;
      case 's': attribute = absl::StrReplaceAll(value, {{"_", " "}}); break;
      default: attribute = golden_integers(value);
    }
  }
  return attributes;
}

// What call() does not know, by the names that a file has for it.
using GoldenForm = std::vector<Tensor> (*)(std::span<const Tensor> x, const Attributes& given);
using GoldenForms = std::map<std::string, GoldenForm>;

// Expects every call of the file to give what it says; how many there are.
inline int expect_golden_calls(const std::string& path, const GoldenForms& forms) {
  std::ifstream file(path);
  const auto made = [&](const std::string& name, std::span<const Tensor> inputs,
                        const Attributes& given) {
    const auto form = forms.find(name);
    return form == forms.end() ? call(name, inputs, given) : form->second(inputs, given);
  };
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    SCOPED_TRACE(line);
    const std::vector<std::string> fields = absl::StrSplit(line, " | ");
    if (fields.size() != 5) {
      ADD_FAILURE() << fields.size() << " fields";
      continue;
    }
    std::vector<Tensor> inputs;
    for (const absl::string_view word : absl::StrSplit(fields[3], ' ', absl::SkipEmpty())) {
      inputs.push_back(golden_input(std::string(word)));
    }
    const Attributes given = golden_attributes(fields[2]);
    if (fields[4] == "error") {
      // At the call, or where a result is read.
      const auto read = [&] {
        for (const Tensor& result : made(fields[0], inputs, given)) read_bytes(result);
      };
      EXPECT_THROW(read(), Error);
      continue;
    }
    try {
      const std::vector<Tensor> results = made(fields[0], inputs, given);
      const std::vector<std::string> wanted = absl::StrSplit(fields[4], ' ', absl::SkipEmpty());
      EXPECT_EQ(results.size(), wanted.size());
      int tolerance = 0;
      EXPECT_TRUE(absl::SimpleAtoi(fields[1], &tolerance));
      for (size_t i = 0; i < std::min(results.size(), wanted.size()); ++i) {
        const NdArray expected =
            golden_result(wanted[i], is_float(results[i].dtype()) ? tolerance : 0);
        EXPECT_TRUE(matches(results[i], expected));
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  return cases;
}

}  // namespace sluice::test

#endif  // SLUICE_TESTS_SUPPORT_GOLDEN_CALLS_H_
