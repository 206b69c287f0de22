// Indexing, beside NumPy's: golden/index.txt, which golden/make_index.py writes.
#include <algorithm>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/sluice.h>
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/support/golden.h"
#include "tests/support/golden_file.h"

namespace sluice {
namespace {

Shape shape_of(absl::string_view text) {
  const std::vector<int64_t> dims = test::golden_integers(text);
  return Shape(std::span<const int64_t>(dims));
}

Tensor counted(const Shape& shape, int64_t first) {
  std::vector<int64_t> values(shape.numel());
  std::iota(values.begin(), values.end(), first);
  return Tensor::from(values, shape);
}

Index index_of(absl::string_view word) {
  const char kind = word[0];
  word.remove_prefix(1);
  const std::vector<absl::string_view> parts = absl::StrSplit(word, ':');
  switch (kind) {
    case 'i': return test::golden_integers(word)[0];
    case 'n': return newaxis;
    case 'e': return ellipsis;
    case 's': {
      std::optional<int64_t> given[3];
      for (int k = 0; k < 3; ++k) {
        if (parts[k] != "_") given[k] = test::golden_integers(parts[k])[0];
      }
      return Slice{given[0], given[1], given[2].value_or(1)};
    }
    case 't': return Tensor::from(test::golden_integers(parts[1]), shape_of(parts[0]));
    default: {
      std::vector<bool> bits;
      for (const char c : parts[1]) {
        if (c != '-') bits.push_back(c == '1');
      }
      return Tensor::from(bits, shape_of(parts[0]));
    }
  }
}

TEST(Index, ReadsSetsAndAddsWhatNumPyDoes) {
  std::ifstream file(test::golden_file("index.txt"));
  std::string line;
  int cases = 0;
  while (std::getline(file, line)) {
    SCOPED_TRACE(line);
    const std::vector<std::string> fields = absl::StrSplit(line, " | ");
    const Tensor x = counted(shape_of(fields[0]), 0);
    std::vector<Index> indices;
    for (const absl::string_view word : absl::StrSplit(fields[1], ' ')) {
      indices.push_back(index_of(word));
    }
    ++cases;
    if (fields[2] == "error") {
      EXPECT_THROW((void)x.index(indices).to_vector<int64_t>(), Error);
      continue;
    }
    const std::vector<std::string> expected = absl::StrSplit(fields[2], ' ');
    const Tensor y = x.index(indices);
    ASSERT_EQ(y.shape(), shape_of(expected[0]));
    EXPECT_EQ(y.to_vector<int64_t>(), test::golden_integers(expected[1]));
    const Tensor value = counted(shape_of(fields[3]), 1000);
    EXPECT_EQ(x.set(indices, value).to_vector<int64_t>(), test::golden_integers(fields[4]));
    EXPECT_EQ(x.add_at(indices, value).to_vector<int64_t>(), test::golden_integers(fields[5]));
    if (HasFailure()) return;
  }
  EXPECT_EQ(cases, 2000);
}

TEST(Index, IsWrittenAsInPython) {
  const Tensor x = counted({3, 4}, 0);
  EXPECT_EQ(x[1].to_vector<int64_t>(), (std::vector<int64_t>{4, 5, 6, 7}));
  EXPECT_EQ(x[-1][-1].item<int64_t>(), 11);
  EXPECT_EQ(x(1, 2).item<int64_t>(), 6);
  EXPECT_EQ(x(Slice{}, Slice{0, -1, 2}).shape(), (Shape{3, 2}));
  EXPECT_EQ(x(Slice{1, {}}, newaxis, ellipsis).shape(), (Shape{2, 1, 4}));
  EXPECT_EQ(x(std::vector<int64_t>{2, 0}, 1).to_vector<int64_t>(), (std::vector<int64_t>{9, 1}));
  EXPECT_EQ(x[x > 9].to_vector<int64_t>(), (std::vector<int64_t>{10, 11}));
  EXPECT_EQ(x(ellipsis, x[0] >= 2).shape(), (Shape{3, 2}));
}

TEST(Index, ValuesAreBroadcastAndConverted) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(x.set({0}, 1).to_vector<float>(), (std::vector<float>{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(x.set({Slice{}, 1}, arange(2)).to_vector<float>(),
            (std::vector<float>{0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(x.set({x == 0}, 2.5).dtype(), kFloat32);
  const Tensor counts = zeros({4}, kInt32).add_at({std::vector<int64_t>{1, 1, 3, 1}}, 1);
  EXPECT_EQ(counts.to_vector<int32_t>(), (std::vector<int32_t>{0, 3, 0, 1}));
}

// Elements a few steps apart, which are joined with those between or selected by a mask.
TEST(Index, ElementsStepsApart) {
  for (const int64_t extent : {17, 18, 40, 41, 3001}) {  // few are selected, many scattered
    for (const int64_t row : {1, 3, 40}) {
      const Tensor x = reshape(arange(2 * extent * row), {2, extent, row}).eval();
      for (const int64_t step : {2, 3, 8, 11, 33, -2, -5, -40}) {
        for (const auto& [start, stop] : {std::pair{0, 100}, {1, 5000}, {3, 15}, {2, 3}}) {
          const bool descends = step < 0;
          const Slice range{descends ? stop : start, descends ? start : stop, step};
          std::vector<int64_t> places;
          for (int64_t k = descends ? std::min<int64_t>(stop, extent - 1) : start;
               descends ? k > start : k < std::min<int64_t>(stop, extent); k += step) {
            places.push_back(k);
          }
          const auto count = static_cast<int64_t>(places.size());
          const Tensor values = -1 - reshape(arange(count * row), {count, row});
          std::vector<int64_t> changed = x.to_vector<int64_t>(), added = changed;
          for (size_t i = 0; i < places.size(); ++i) {
            for (int64_t j = 0; j < row; ++j) {  // of the second plane
              const size_t at = (extent + places[i]) * row + j;
              const int64_t value = -1 - (static_cast<int64_t>(i) * row + j);
              changed[at] = value;
              added[at] += value;
            }
          }
          const std::vector<Index> at = {Slice{1, {}}, range};
          EXPECT_EQ(x.set(at, values).to_vector<int64_t>(), changed)
              << extent << ' ' << row << ' ' << start << ' ' << stop << ' ' << step;
          EXPECT_EQ(x.add_at(at, values).to_vector<int64_t>(), added);
          EXPECT_EQ(x.set(at, values[0]).to_vector<int64_t>(),
                    x.set(at, broadcast_to(values[0], {count, row})).to_vector<int64_t>());
          EXPECT_EQ(x.set(at, 7).to_vector<int64_t>(),
                    x.set(at, full({count, row}, 7, kInt64)).to_vector<int64_t>());
        }
      }
    }
  }
}

// The sum of half types is rounded once: 4096 ones are lost one by one.
TEST(Index, SumsOfHalfTypesAreRoundedOnce) {
  const Tensor x = zeros({2}, kBFloat16).add_at({zeros({4096}, kInt64)}, 1);
  EXPECT_EQ(x.astype(kFloat32).to_vector<float>(), (std::vector<float>{4096, 0}));
}

// Where an element is not selected, no bit changes.
TEST(Index, OtherElementsKeepTheirSign) {
  const Tensor x = full({3}, -0.f);
  const std::vector<float> values = x.add_at({Slice{1, 2}}, Tensor::from({1.f})).to_vector<float>();
  EXPECT_TRUE(std::signbit(values[0]));
  EXPECT_TRUE(std::signbit(values[2]));
}

TEST(Index, IntegersAndSlicesCopyNothing) {
  const Tensor x = counted({100, 100}, 0);
  x.eval();
  sync();
  const Stats before = stats();
  const Tensor y = (x(Slice{{}, {}, 2}, 3) + 1).eval();
  sync();
  EXPECT_EQ(stats().kernels_launched - before.kernels_launched, 1);
  EXPECT_EQ(y.shape(), (Shape{50}));
}

TEST(Index, ErrorsNameIndexAxisAndTensor) {
  const Tensor x = zeros({2, 3});
  auto message = [](auto f) {
    try {
      f();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message([&] { (void)x(0, 3); }),
            "index: index 3 is out of range for axis 1 of float32(2, 3)");
  EXPECT_EQ(message([&] { (void)x(0, 0, 0); }), "index: 3 indices for the 2 axes of float32(2, 3)");
  EXPECT_EQ(message([&] {
              (void)x(Slice{0, 1, 0});
            }),
            "index: the step of a Slice is 0, for axis 0 of float32(2, 3)");
  EXPECT_EQ(message([&] { (void)x[zeros({2})]; }),
            "index: indices must be integers or bool, not float32(2,)");
  EXPECT_EQ(message([&] { (void)x.set({0}, zeros({2})); }),
            "set: the value float32(2,) does not broadcast to (3,), what is selected of "
            "float32(2, 3)");
  EXPECT_EQ(message([&] {
              (void)x.set({ellipsis, Slice{0, {}, 2}}, Tensor());
            }),
            "set: the tensor is empty (default-constructed or moved from)");
  const std::string late = message(
      [&] { (void)x(Tensor::from({int64_t{0}}), Tensor::from({int64_t{7}})).to_vector<float>(); });
  EXPECT_NE(late.find("index 7"), std::string::npos) << late;
  EXPECT_THROW(static_cast<void>(x.set({Tensor::from({int64_t{9}})}, 1).to_vector<float>()), Error);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(6, 0.f));
}

}  // namespace
}  // namespace sluice
