// Views of more than the caches hold: what is read from them is asked for ahead, and what is
// written goes past the caches, from wherever in a line rows begin. The same bits as interpreted.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/interpreted_bits.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

struct View {
  std::string name;
  std::function<Tensor(const Tensor&)> of;
};

const std::vector<View> kViews = {
    {"whole", [](const Tensor& x) { return x; }},
    {"rows with gaps", [](const Tensor& x) { return x.slice(0, 1, -1).slice(1, 1, -1); }},
    {"every second row", [](const Tensor& x) { return x.slice(0, 0, x.shape()[0], 2); }},
    {"every second column", [](const Tensor& x) { return x.slice(1, 0, x.shape()[1], 2); }},
    {"columns backwards", [](const Tensor& x) { return flip(x, 1); }},
    {"rows backwards", [](const Tensor& x) { return flip(x, 0); }},
};

TEST(LargeViews, SumsHaveTheBitsOfInterpretedOnes) {
  const ConfigGuard guard;
  for (const int64_t width : {3, 10, 28, 50, 301, 2500, 30'000}) {
    const Tensor base = rand({9'000'000 / width, width});
    base.eval();
    for (const View& view : kViews) {
      const Tensor x = view.of(base);
      const std::string what = view.name + " of rows of " + std::to_string(width);
      expect_bits_of_interpreted("sum of all, " + what, [&] { return sum(x); });
      expect_bits_of_interpreted("sum of columns, " + what, [&] { return sum(x, {0}); });
      expect_bits_of_interpreted("argmax of columns, " + what, [&] { return argmax(x, {0}); });
      expect_bits_of_interpreted("all, " + what, [&] { return all(x > -1); });
    }
  }
}

TEST(LargeViews, SumsOfBatchesHaveTheBitsOfInterpretedOnes) {
  const ConfigGuard guard;
  const std::vector<Shape> shapes = {
      {5, 3, 500, 600}, {30, 64, 48, 50}, {300, 64, 15, 16}, {9, 70, 118, 120}};
  for (const Shape& shape : shapes) {
    const Tensor x = rand(shape);
    x.eval();
    const std::vector<std::vector<int>> subsets = {{0, 2, 3}, {0, 1}, {0, 3}, {1, 2}};
    for (const std::vector<int>& axes : subsets) {
      expect_bits_of_interpreted(to_string(shape), [&] { return sum(x, axes); });
      expect_bits_of_interpreted(to_string(shape), [&] { return sum(flip(x, 3), axes); });
    }
  }
}

TEST(LargeViews, OutputsHaveTheBitsOfInterpretedOnes) {
  const ConfigGuard guard;
  for (const int64_t width : {301, 1000, 3001}) {
    const Tensor base = rand({9'000'000 / width, width});
    base.eval();
    for (const View& view : kViews) {
      const std::string what = view.name + " of rows of " + std::to_string(width);
      const Tensor x = view.of(base);
      expect_bits_of_interpreted(what, [&] { return x * x; });
      expect_bits_of_interpreted("padded, " + what, [&] { return pad(x, {{1, 1}, {2, 1}}); });
    }
  }
}

}  // namespace
}  // namespace sluice::test
