// Extremes and their positions along rows of every length around that of a vector, a leaf and a
// chunk: the same bits interpreted and compiled, in every layout.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/interpreted_bits.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

struct Selection {
  std::string name;
  Tensor (*f)(const Tensor& x, int axis);
};

const Selection kSelections[] = {
    {"max", [](const Tensor& x, int axis) { return max(x, axis); }},
    {"min", [](const Tensor& x, int axis) { return min(x, axis); }},
    {"any", [](const Tensor& x, int axis) { return any(x, axis); }},
    {"all", [](const Tensor& x, int axis) { return all(x, axis); }},
    {"argmax", [](const Tensor& x, int axis) { return argmax(x, axis); }},
    {"argmin", [](const Tensor& x, int axis) { return argmin(x, axis); }},
};

constexpr int64_t kLengths[] = {1, 3, 7, 8, 15, 17, 28, 31, 33, 64, 77, 513, 1030, 8200};
constexpr int64_t kRows = 35;  // more than two groups of rows

void expect_matches(const Selection& op, const Tensor& x, int axis, const NdArray& expected) {
  const ConfigGuard guard;
  for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
    config().compile = mode;
    EXPECT_TRUE(matches(op.f(x, axis), expected))
        << op.name << " of " << name_of(x.dtype()) << " " << to_string(x.shape());
  }
}

class Extremes : public testing::TestWithParam<DType> {};

TEST_P(Extremes, OfRowsOfEveryLength) {
  std::mt19937_64 rng(31);
  for (const int64_t length : kLengths) {
    // Not at the beginning of a vector, nor to the end of the memory.
    const NdArray x = random_array(rng, GetParam(), {kRows, length}, 0.01);
    const Tensor rows = to_tensor(x);
    const Tensor inside = concat({rows, rows, rows}, 1).slice(1, length, 2 * length).eval();
    const Tensor columns = concat({rows.T(), rows.T()}, 0).eval();
    const Tensor turned = columns.slice(0, 0, length).T();
    for (const Selection& op : kSelections) {
      const NdArray expected = oracle::reduce(op.name, x, {1}, false);
      for (const Tensor& layout : {rows, inside, turned}) expect_matches(op, layout, 1, expected);
    }
  }
}

// Of two dims, between which the rows are.
TEST_P(Extremes, OfRunsOfEveryLength) {
  const ConfigGuard guard;
  std::mt19937_64 rng(33);
  for (const int64_t length : {5, 31, 33, 77, 130}) {
    const NdArray x = random_array(rng, GetParam(), {19, 5, length}, 0.01);
    const Tensor t = to_tensor(x);
    for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
      config().compile = mode;
      EXPECT_TRUE(matches(max(t, {0, 2}), oracle::reduce("max", x, {0, 2}, false))) << length;
      EXPECT_TRUE(matches(min(t, {0, 2}), oracle::reduce("min", x, {0, 2}, false))) << length;
      EXPECT_TRUE(matches(any(t, {0, 2}), oracle::reduce("any", x, {0, 2}, false))) << length;
      EXPECT_TRUE(matches(all(t, {0, 2}), oracle::reduce("all", x, {0, 2}, false))) << length;
    }
  }
}

TEST_P(Extremes, OfComputedElements) {
  std::mt19937_64 rng(32);
  const NdArray x = random_array(rng, GetParam(), {kRows, 1030}, 0.01);
  const Tensor t = to_tensor(x);
  const ConfigGuard guard;
  for (const Selection& op : kSelections) {
    config().compile = CompileMode::kOff;
    const auto interpreted = read_bytes(op.f(t + t, 1));
    const auto reversed = read_bytes(op.f(flip(t, {1}), 1));
    config().compile = CompileMode::kBlocking;
    EXPECT_EQ(read_bytes(op.f(t + t, 1)), interpreted) << op.name;
    EXPECT_EQ(read_bytes(op.f(flip(t, {1}), 1)), reversed) << op.name;
  }
}

// One element is unlike the others, at every place.
TEST_P(Extremes, AreFoundAtEveryPlace) {
  if (GetParam() == DType::kBool) GTEST_SKIP() << "any and all are tested above";
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  for (const int64_t length : {6, 13, 24, 33, 1090}) {
    const Tensor places = arange(length);
    const Tensor is_there = reshape(places, {length, 1}) == reshape(places, {1, length});
    const auto expected = read_bytes(places);
    EXPECT_EQ(read_bytes(argmax(is_there.astype(GetParam()), 1)), expected);
    EXPECT_EQ(read_bytes(argmin((!is_there).astype(GetParam()), 1)), expected);
  }
}

// Of the elements of a view one decides, near its beginning or its end, or what lies between its
// rows.
TEST_P(Extremes, AnyAndAllOfLongViewsAreDecidedAnywhere) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{9000, 7}, {500, 131}, {9, 7000}}) {
    const Tensor place = reshape(arange(rows * width), {rows, width});
    for (const int64_t at : {width + 1, 2 * width - 2, width, rows * width / 2 / width * width + 2,
                             (rows - 1) * width - 2, (rows - 1) * width - 1}) {
      const Tensor is_there = place == at;
      const auto inside = [](const Tensor& x) { return x.slice(0, 1, -1).slice(1, 1, -1); };
      const Tensor one = is_there.astype(GetParam()), others = (!is_there).astype(GetParam());
      one.eval();
      others.eval();
      const int64_t column = at % width;
      const bool is_inside = column > 0 && column < width - 1;
      const std::string what = std::to_string(at) + " of rows of " + std::to_string(width);
      EXPECT_EQ(any(inside(one)).item<bool>(), is_inside) << what;
      EXPECT_EQ(all(inside(others)).item<bool>(), !is_inside) << what;
      EXPECT_TRUE(any(one).item<bool>()) << what;
      EXPECT_FALSE(all(others).item<bool>()) << what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Extremes, testing::ValuesIn(all_dtypes()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

class ExtremesOfFloats : public testing::TestWithParam<DType> {};

TEST_P(ExtremesOfFloats, OfEqualsAndZerosAndNaN) {
  const ConfigGuard guard;
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t length : {9, 24, 33, 1500}) {
    const Tensor places = arange(length), late = places >= length / 2;
    const Tensor rows[] = {
        full({length}, -inf),
        full({length}, inf),
        full({length}, 0.f),
        full({length}, -0.f),
        where(late, 0.f, -0.f),
        where(late, -0.f, 0.f),
        where(late, nan, 1.f),
        where(late, 1.f, -nan),
        where(places == length - 1, nan, inf),
        where(places == length - 1, -nan, -inf),
        full({length}, -nan),
    };
    for (const Tensor& row : rows) {
      const std::vector<Tensor> copies(kRows, reshape(row.astype(GetParam()), {1, length}));
      const Tensor x = concat(copies, 0).eval();
      for (const Selection& op : kSelections) {
        expect_bits_of_interpreted(op.name + std::to_string(length), [&] { return op.f(x, 1); });
      }
    }
    config().compile = CompileMode::kBlocking;
    const Tensor nan_at_end = where(places == length - 1, nan, inf).astype(GetParam());
    EXPECT_EQ(argmax(nan_at_end, 0).item<int64_t>(), length - 1);
    EXPECT_EQ(argmin(nan_at_end, 0).item<int64_t>(), length - 1);
    EXPECT_EQ(argmax(full({length}, -inf).astype(GetParam()), 0).item<int64_t>(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, ExtremesOfFloats,
                         testing::Values(DType::kFloat16, DType::kBFloat16, DType::kFloat32,
                                         DType::kFloat64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace sluice::test
