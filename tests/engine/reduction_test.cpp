// Reductions, softmax and matmul against the oracle: axes, dtypes, sizes around the block limits,
// nothing to reduce, NaN.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/interpreted_bits.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using ReduceFn = Tensor (*)(const Tensor&, const Axes&, bool);

struct Reduction {
  std::string name;
  ReduceFn f;
};

const std::vector<Reduction>& reductions() {
#define ROW(name)                                                                         \
  {                                                                                       \
#name, [](const Tensor& x, const Axes& a, bool k) { return ::sluice::name(x, a, k); } \
  }
  static const std::vector<Reduction> rows = {
      ROW(sum),    ROW(prod),   ROW(max),       ROW(min),  ROW(mean), ROW(any), ROW(all),
      ROW(argmax), ROW(argmin), ROW(logsumexp), ROW(norm), ROW(var),  ROW(std)};
#undef ROW
  return rows;
}

bool is_arg(const Reduction& op) { return op.name.starts_with("arg"); }
bool needs_elements(const Reduction& op) {
  return is_arg(op) || op.name == "max" || op.name == "min";
}

class EveryDType : public testing::TestWithParam<DType> {};

TEST_P(EveryDType, AllReductionsOverAllAxes) {
  std::mt19937_64 rng(11);
  const NdArray x = random_array(rng, GetParam(), {3, 5, 4}, 0);
  const Tensor t = to_tensor(x);
  const std::vector<std::vector<int>> all_axes = {{},     {0},    {1},     {2},    {-1},
                                                  {0, 1}, {1, 2}, {0, -1}, {2, 0}, {0, 1, 2}};
  for (const Reduction& op : reductions()) {
    for (const std::vector<int>& axes : all_axes) {
      if (is_arg(op) && axes.size() > 1) continue;
      for (bool keepdims : {false, true}) {
        EXPECT_TRUE(matches(op.f(t, axes, keepdims), oracle::reduce(op.name, x, axes, keepdims)))
            << op.name << " " << testing::PrintToString(axes) << keepdims;
      }
    }
  }
}

TEST_P(EveryDType, NastyValues) {
  std::mt19937_64 rng(12);
  const NdArray x = random_array(rng, GetParam(), {40, 9}, 0.2);
  const Tensor t = to_tensor(x);
  for (const Reduction& op : reductions()) {
    for (int axis : {0, 1}) {
      EXPECT_TRUE(matches(op.f(t, axis, false), oracle::reduce(op.name, x, {axis}, false)))
          << op.name << axis;
    }
  }
}

TEST_P(EveryDType, SizesAroundTheBlocks) {
  std::mt19937_64 rng(13);
  for (int64_t size : {1, 31, 32, 33, 1023, 1024, 1025, 8191, 8192, 8193, 100000}) {
    const NdArray x = random_array(rng, GetParam(), {size}, 0);
    const Tensor t = to_tensor(x);
    for (const char* name : {"sum", "max", "argmin", "any", "mean"}) {
      for (const Reduction& op : reductions()) {
        if (op.name != name) continue;
        EXPECT_TRUE(matches(op.f(t, {}, false), oracle::reduce(name, x, {}, false)))
            << name << " of " << size;
      }
    }
  }
}

TEST_P(EveryDType, ColumnsAroundTheBlocks) {
  std::mt19937_64 rng(14);
  for (int64_t size : {31, 1023, 1024, 1025, 2500}) {
    const NdArray x = random_array(rng, GetParam(), {size, 3}, 0);
    const Tensor t = to_tensor(x);
    EXPECT_TRUE(matches(sum(t, 0), oracle::reduce("sum", x, {0}, false))) << size;
    EXPECT_TRUE(matches(min(t, 0), oracle::reduce("min", x, {0}, false))) << size;
    EXPECT_TRUE(matches(argmax(t, 0), oracle::reduce("argmax", x, {0}, false))) << size;
    EXPECT_TRUE(matches(sum(t.T(), 1), oracle::reduce("sum", x, {0}, false))) << size;
  }
}

// Leaves of so few columns are added side by side.
TEST_P(EveryDType, FewColumnsHaveTheBitsOfInterpretedOnes) {
  const ConfigGuard guard;
  std::mt19937_64 rng(15);
  for (const int64_t rows : {17, 63, 64, 65, 97, 128, 1000, 1200, 3333}) {
    for (const int64_t columns : {1, 2, 5, 16, 17, 33}) {
      const Tensor x = to_tensor(random_array(rng, GetParam(), {rows, columns}, 0));
      x.eval();
      for (const Reduction& op : reductions()) {
        const std::string what = std::string(op.name) + " of " + std::to_string(rows) +
                                 " rows of " + std::to_string(columns);
        expect_bits_of_interpreted(what, [&] { return op.f(x, {0}, false); });
      }
    }
  }
}

TEST_P(EveryDType, NothingToReduce) {
  const NdArray x(GetParam(), Shape{3, 0});
  const Tensor t = to_tensor(x);
  for (const Reduction& op : reductions()) {
    EXPECT_EQ(op.f(t, 0, false).shape(), Shape{0}) << op.name;
    if (needs_elements(op)) {
      EXPECT_TRUE(fails_with([&] { return op.f(t, 1, false); }, ErrorCode::kInvalidArgument,
                             {op.name, "(3, 0)"}));
    } else {
      EXPECT_TRUE(matches(op.f(t, 1, true), oracle::reduce(op.name, x, {1}, true))) << op.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Reductions, EveryDType, testing::ValuesIn(all_dtypes()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Reduction, OfAScalar) {
  const Tensor x = full({}, -3.f);
  EXPECT_EQ(sum(x).item<float>(), -3.f);
  EXPECT_EQ(max(x).item<float>(), -3.f);
  EXPECT_EQ(argmax(x).item<int64_t>(), 0);
  EXPECT_EQ(norm(x).item<float>(), 3.f);
}

TEST(Reduction, ResultDTypes) {
  EXPECT_EQ(sum(zeros({2}, DType::kInt8)).dtype(), DType::kInt64);
  EXPECT_EQ(sum(zeros({2}, DType::kBool)).dtype(), DType::kInt64);
  EXPECT_EQ(prod(zeros({2}, DType::kUInt16)).dtype(), DType::kUInt64);
  EXPECT_EQ(mean(zeros({2}, DType::kInt32)).dtype(), DType::kFloat32);
  EXPECT_EQ(sum(zeros({2}, DType::kFloat16)).dtype(), DType::kFloat16);
  EXPECT_EQ(max(zeros({2}, DType::kUInt8)).dtype(), DType::kUInt8);
  EXPECT_EQ(argmax(zeros({2}, DType::kFloat64)).dtype(), DType::kInt64);
  EXPECT_EQ(any(zeros({2})).dtype(), DType::kBool);
}

TEST(Reduction, SmallIntegersDoNotOverflow) {
  EXPECT_EQ(sum(full({1000}, 127, DType::kInt8)).item<int64_t>(), 127000);
  EXPECT_EQ(sum(full({300}, true, DType::kBool)).item<int64_t>(), 300);
  EXPECT_EQ(prod(full({10}, 10, DType::kUInt8)).item<uint64_t>(), 10000000000u);
}

TEST(Reduction, NaNWins) {
  const Tensor x = Tensor::from({1.f, NAN, 3.f, NAN});
  EXPECT_TRUE(std::isnan(max(x).item<float>()));
  EXPECT_TRUE(std::isnan(min(x).item<float>()));
  EXPECT_EQ(argmax(x).item<int64_t>(), 1);
  EXPECT_EQ(argmin(x).item<int64_t>(), 1);
  EXPECT_TRUE(any(x).item<bool>());
  EXPECT_TRUE(std::isnan(logsumexp(x).item<float>()));
}

TEST(Reduction, ArgmaxTakesTheFirstOfEquals) {
  std::vector<float> values(20000, 1.f);
  values[7] = values[8193] = values[19999] = 2.f;
  values[5000] = values[9000] = 0.f;
  const Tensor x = Tensor::from(values);
  EXPECT_EQ(argmax(x).item<int64_t>(), 7);
  EXPECT_EQ(argmin(x).item<int64_t>(), 5000);
  EXPECT_EQ(argmax(zeros({100000})).item<int64_t>(), 0);
  EXPECT_EQ(argmax(x.reshape({100, 200})).item<int64_t>(), 7);
  EXPECT_EQ(argmax(Tensor::from({-0.f, 0.f})).item<int64_t>(), 0);
  EXPECT_EQ(argmax(full({50}, -INFINITY)).item<int64_t>(), 0);
  EXPECT_EQ(argmin(full({50}, int64_t{INT64_MAX})).item<int64_t>(), 0);
}

TEST(Reduction, HalfTypesAccumulateInFloat32) {
  const Tensor ones16 = full({10000}, 1, DType::kFloat16);
  EXPECT_EQ(float(sum(ones16).item<float16>()), 10000.f);
  EXPECT_EQ(float(mean(full({4}, 60000.f, DType::kFloat16)).item<float16>()), 60000.f - 32 + 32);
  EXPECT_EQ(float(sum(full({1024}, 1, DType::kBFloat16)).item<bfloat16>()), 1024.f);
}

TEST(Reduction, VarianceWithDdof) {
  std::mt19937_64 rng(4);
  const NdArray x = random_array(rng, DType::kFloat32, {6, 10}, 0);
  const Tensor t = to_tensor(x);
  EXPECT_TRUE(matches(var(t, 1, false, 1), oracle::reduce("var", x, {1}, false, 1)));
  EXPECT_TRUE(matches(sluice::std(t, {0, 1}, true, 1), oracle::reduce("std", x, {0, 1}, true, 1)));
}

TEST(Reduction, VarianceOfNoMoreThanDdof) {
  for (const int64_t count : {0, 1, 2}) {
    const Tensor x = zeros({3, count});
    for (const float value : std(x, {1}, false, 2).to_vector<float>()) {
      EXPECT_TRUE(std::isnan(value)) << count;
    }
  }
  EXPECT_EQ(var(Tensor::from({1.f, 2.f}), {}, false, 3).item<float>(), INFINITY);  // 0.5 / 0
}

TEST(Reduction, LogsumexpOfExtremes) {
  EXPECT_NEAR(logsumexp(Tensor::from({1000.f, 1000.f})).item<float>(), 1000 + std::log(2.), 1e-3);
  EXPECT_EQ(logsumexp(Tensor::from({-INFINITY, -INFINITY})).item<float>(), -INFINITY);
  EXPECT_EQ(logsumexp(Tensor::from({1.f, INFINITY})).item<float>(), INFINITY);
}

TEST(Reduction, OfViewsAndComputedValues) {
  std::mt19937_64 rng(8);
  const NdArray x = random_array(rng, DType::kFloat32, {12, 7, 5}, 0);
  const Tensor t = to_tensor(x);
  EXPECT_TRUE(matches(sum(t.T(), 0), oracle::reduce("sum", oracle::transpose(x), {0}, false)));
  EXPECT_TRUE(matches(sum(t.slice(1, 6, -100, -2), {1, 2}),
                      oracle::reduce("sum", oracle::slice(x, 1, 6, -100, -2), {1, 2}, false)));
  EXPECT_TRUE(
      matches(max(t * t, 1), oracle::reduce("max", oracle::unary("square", x), {1}, false)));
  const NdArray m = oracle::reduce("max", x, {2}, true);
  EXPECT_TRUE(matches(sum(t - max(t, 2, true), 2),
                      oracle::reduce("sum", oracle::binary("sub", x, m), {2}, false)));
}

TEST(Reduction, SumIsTheSameWhateverTheLayout) {
  std::mt19937_64 rng(9);
  const NdArray x = random_array(rng, DType::kFloat32, {300, 70}, 0);
  const Tensor a = to_tensor(x);
  const Tensor b = to_tensor(oracle::transpose(x));
  EXPECT_EQ(read_bytes(sum(a, 1)), read_bytes(sum(b.T(), 1)));
  EXPECT_EQ(read_bytes(sum(a, 0)), read_bytes(sum(b.T(), 0)));
  EXPECT_EQ(read_bytes(sum(a)), read_bytes(sum(b.T())));
}

class EverySubsetOfAxes : public testing::TestWithParam<CompileMode> {
 protected:
  void SetUp() override { config().compile = GetParam(); }
  void TearDown() override { config().compile = before_; }

 private:
  const CompileMode before_ = config().compile;
};

TEST_P(EverySubsetOfAxes, IsTheSameWhateverTheLayout) {
  std::mt19937_64 rng(19);
  for (const Shape& shape :
       {Shape{5, 7, 9, 33}, Shape{3, 40, 6, 100}, Shape{17, 2, 31, 3}, Shape{9, 8, 37, 20}}) {
    const NdArray x = random_array(rng, DType::kFloat32, shape, 0);
    const Tensor a = to_tensor(x);
    a.eval();
    for (const std::vector<int>& order :
         {std::vector<int>{0, 2, 3, 1}, {3, 1, 0, 2}, {3, 2, 1, 0}}) {
      std::vector<int> back(4);
      for (int k = 0; k < 4; ++k) back[order[k]] = k;
      const Tensor stored = permute(a, Axes(order)) * 1.f;
      stored.eval();
      const Tensor b = permute(stored, Axes(back));
      for (int set = 1; set < 16; ++set) {
        std::vector<int> axes;
        for (int k = 0; k < 4; ++k) {
          if (set >> k & 1) axes.push_back(k);
        }
        const std::string what = testing::PrintToString(axes) + testing::PrintToString(order);
        EXPECT_EQ(read_bytes(sum(a, axes)), read_bytes(sum(b, axes))) << what;
        EXPECT_EQ(read_bytes(var(a, axes)), read_bytes(var(b, axes))) << what;
        EXPECT_EQ(read_bytes(a - mean(exp(a), axes, true)),
                  read_bytes(b - mean(exp(b), axes, true)))
            << what;
        EXPECT_TRUE(matches(sum(b, axes), oracle::reduce("sum", x, axes, false))) << what;
      }
    }
  }
}

// A run begins at any lane, and leaves end in it anywhere.
TEST_P(EverySubsetOfAxes, RunsOfAnyLength) {
  std::mt19937_64 rng(23);
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16}) {
    for (int64_t length = 2; length <= 145; length += length < 70 ? 1 : 15) {
      const Tensor x = to_tensor(random_array(rng, dtype, {40, 2, length}, 0));
      const Tensor rows = reshape(swapaxes(x, 0, 1) * Scalar(1), {2, 40 * length});
      rows.eval();
      EXPECT_EQ(read_bytes(sum(x, {0, 2})), read_bytes(sum(rows, 1))) << length << dtype;
      EXPECT_EQ(read_bytes(var(x, {0, 2})), read_bytes(var(rows, 1))) << length << dtype;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, EverySubsetOfAxes,
                         testing::Values(CompileMode::kOff, CompileMode::kBlocking));

// The schedules, and views that are reduced along several dims of memory: shapes of `count`
// elements and the axes to reduce.
struct Sums {
  Shape shape;
  std::vector<int> axes;
  std::vector<int> order = {};  // of the axes; empty: as they are
};
std::vector<Sums> sums_of(int64_t count) {
  return {{{count}, {0}},
          {{10, count / 10}, {1}},
          {{count / 10, 10}, {0}},
          {{count / 1000, 10, 100}, {0, 2}},
          {{count / 1000, 10, 100}, {0, 1}},
          {{10, count / 1000, 100}, {0, 2}, {2, 0, 1}},
          {{count / 1000, 1000}, {0, 1}, {1, 0}}};
}
Tensor sum_of(const Tensor& x, const Sums& sums, bool averages) {
  const Tensor view = sums.order.empty() ? x : permute(x, Axes(sums.order));
  return averages ? mean(view, Axes(sums.axes)) : sum(view, Axes(sums.axes));
}

// docs/math.md: within 2 log2(n) ulp of the sum of magnitudes.
double promised(double n, double magnitude, double ulp) {
  return 2 * std::log2(n) * ulp * magnitude;
}

TEST(SumAccuracy, OfOneNumberOverAndOver) {
  // A GPU that is emulated takes its time.
  const int64_t count = default_device() == Device::cpu() ? 100'000'000 : 1'000'000;
  for (const Sums& sums : sums_of(count)) {
    const Tensor average = sum_of(full(sums.shape, 0.1f), sums, true);
    const double n = static_cast<double>(count) / static_cast<double>(average.numel());
    const double tenth = 0.1f;
    for (const float actual : average.to_vector<float>()) {
      EXPECT_NEAR(actual, tenth, promised(n, tenth, std::ldexp(1, -23))) << to_string(sums.shape);
      EXPECT_NEAR(actual, tenth, 1e-6);
    }
  }
}

class SumAccuracyOf : public testing::TestWithParam<DType> {};

TEST_P(SumAccuracyOf, RandomNumbersOfBothSigns) {
  const bool is_half = size_of(GetParam()) == 2;
  const int64_t most = is_half ? 2'000'000 : 10'000'000;
  const int64_t count = default_device() == Device::cpu() ? most : 400'000;
  const double ulp = std::ldexp(1, GetParam() == DType::kFloat64 ? -52 : -23);
  for (const Sums& sums : sums_of(count)) {
    const Tensor x = astype(randn(sums.shape), GetParam());
    // Sums of halves would be rounded once more: their means, which are small.
    const std::vector<double> actual =
        astype(sum_of(x, sums, is_half), DType::kFloat64).to_vector<double>();
    const std::vector<double> values =
        astype(sums.order.empty() ? x : permute(x, Axes(sums.order)), DType::kFloat64)
            .to_vector<double>();
    std::vector<int64_t> shape(sums.shape.begin(), sums.shape.end());
    for (size_t k = 0; k < sums.order.size(); ++k) shape[k] = sums.shape[sums.order[k]];
    std::vector<long double> exact(actual.size()), magnitude(actual.size());
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, result = 0, stride = 1;
      for (int k = static_cast<int>(shape.size()) - 1; k >= 0; --k) {
        const int64_t index = rest % shape[k];
        rest /= shape[k];
        if (std::find(sums.axes.begin(), sums.axes.end(), k) != sums.axes.end()) continue;
        result += index * stride;
        stride *= shape[k];
      }
      exact[result] += values[i];
      magnitude[result] += std::fabs(values[i]);
    }
    const double n = static_cast<double>(count) / static_cast<double>(actual.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      const double scale = is_half ? n : 1;
      double bound = promised(n, static_cast<double>(magnitude[i]), ulp) / scale;
      const double mean_of_all = static_cast<double>(exact[i] / scale);
      // The mean is divided and rounded.
      if (is_half) {
        bound += std::fabs(mean_of_all) * std::ldexp(1, GetParam() == DType::kFloat16 ? -10 : -7);
        bound += std::ldexp(1, -24);
      }
      EXPECT_NEAR(actual[i], mean_of_all, bound) << to_string(sums.shape) << " at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Floats, SumAccuracyOf,
                         testing::Values(DType::kFloat16, DType::kBFloat16, DType::kFloat32,
                                         DType::kFloat64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(SumAccuracy, OfVariancesAndRunningSums) {
  const int64_t count = 1'000'000;
  const std::vector<float> x = (rand({count}) + 100.f).to_vector<float>();
  long double center = 0, squares = 0, total = 0;
  for (const float value : x) center += value;
  center /= count;
  for (const float value : x) squares += (value - center) * (value - center);
  const Tensor t = Tensor::from(x);
  EXPECT_NEAR(var(t).item<float>(), static_cast<double>(squares / count), 1e-6);
  const std::vector<float> running = cumsum(t, 0).to_vector<float>();
  for (int64_t i = 0; i < count; ++i) {
    total += x[i];
    ASSERT_NEAR(
        running[i], static_cast<double>(total),
        promised(static_cast<double>(i + 2), static_cast<double>(total), std::ldexp(1, -23)))
        << i;
  }
}

TEST(Softmax, MatchesTheOracle) {
  std::mt19937_64 rng(10);
  for (DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kInt32}) {
    for (double nastiness : {0.0, 0.1}) {
      const NdArray x = random_array(rng, dtype, {4, 9, 3}, nastiness);
      for (int axis : {-1, 0, 1}) {
        EXPECT_TRUE(matches(softmax(to_tensor(x), axis), oracle::softmax(x, axis)));
        EXPECT_TRUE(matches(log_softmax(to_tensor(x), axis), oracle::log_softmax(x, axis)));
      }
    }
  }
}

TEST(Matmul, ShapesMatchTheOracle) {
  std::mt19937_64 rng(15);
  const std::pair<Shape, Shape> shapes[] = {{{3, 4}, {4, 5}},
                                            {{4}, {4}},
                                            {{4}, {4, 5}},
                                            {{3, 4}, {4}},
                                            {{2, 3, 4}, {4, 5}},
                                            {{2, 3, 4}, {2, 4, 5}},
                                            {{2, 1, 3, 4}, {5, 4, 2}},
                                            {{1, 1}, {1, 1}},
                                            {{3, 0}, {0, 5}},
                                            {{0, 4}, {4, 5}},
                                            {{2, 3, 4}, {4}},
                                            {{4}, {2, 4, 3}},
                                            {{65, 130}, {130, 33}},
                                            {{1, 700}, {700, 1}},
                                            {{40, 200}, {200}},
                                            {{200}, {200, 40}},
                                            {{3, 5, 150}, {3, 150, 2}}};
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                      DType::kInt8, DType::kUInt16, DType::kInt32, DType::kInt64}) {
    for (const auto& [left, right] : shapes) {
      const NdArray a = random_array(rng, dtype, left, 0);
      const NdArray b = random_array(rng, dtype, right, 0);
      EXPECT_TRUE(matches(matmul(to_tensor(a), to_tensor(b)), oracle::matmul(a, b)))
          << name_of(dtype) << " " << to_string(left) << " @ " << to_string(right);
    }
  }
}

// Of all tiles, and of a depth that is cut into parts.
TEST(Matmul, OfDoubles) {
  std::mt19937_64 rng(18);
  const std::pair<Shape, Shape> shapes[] = {{{200, 70}, {70, 190}},
                                            {{20, 9000}, {9000, 30}},
                                            {{3, 17, 40}, {3, 40, 100}},
                                            {{130, 33}, {33, 5}}};
  for (const auto& [left, right] : shapes) {
    const NdArray a = random_array(rng, DType::kFloat64, left, 0);
    const NdArray b = random_array(rng, DType::kFloat64, right, 0);
    EXPECT_TRUE(matches(matmul(to_tensor(a), to_tensor(b)), oracle::matmul(a, b)))
        << to_string(left) << " @ " << to_string(right);
  }
}

// Sums of many short rows of short integers are made in 32 bits: they wrap as sums of their own
// type.
TEST(Matmul, ShortIntegersWrap) {
  for (const DType dtype : {DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16}) {
    std::vector<int64_t> numbers(2000 * 3);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i) * 7919 % 65536;
    const Tensor x = astype(Tensor::from(numbers, Shape{2000, 3}), dtype);
    const Tensor exact = matmul(astype(x, DType::kInt64), astype(x.slice(0, 5, 8), DType::kInt64));
    const Tensor wrapped = matmul(x, x.slice(0, 5, 8));
    EXPECT_EQ(wrapped.dtype(), dtype);
    EXPECT_TRUE(all(wrapped == astype(exact, dtype)).item<bool>()) << name_of(dtype);
  }
}

TEST(Matmul, OfViewsAndMixedTypes) {
  std::mt19937_64 rng(16);
  const NdArray a = random_array(rng, DType::kFloat32, {6, 4}, 0);
  const NdArray b = random_array(rng, DType::kFloat32, {6, 5}, 0);
  const Tensor s = to_tensor(a), t = to_tensor(b);
  EXPECT_TRUE(matches(matmul(s.T(), t), oracle::matmul(oracle::transpose(a), b)));
  EXPECT_TRUE(matches(
      matmul(s.slice(1, 0, 4, 2).T(), t.flip({0})),
      oracle::matmul(oracle::transpose(oracle::slice(a, 1, 0, 4, 2)), oracle::flip(b, {0}))));
  EXPECT_TRUE(
      matches(matmul(s.T() * 2, relu(t)) + 1,
              oracle::binary("add",
                             oracle::matmul(oracle::binary("mul", oracle::transpose(a),
                                                           oracle::full({}, 2, DType::kFloat32)),
                                            oracle::unary("relu", b)),
                             oracle::full({}, 1, DType::kFloat32))));
  const NdArray h = oracle::cast(b, DType::kFloat16);
  EXPECT_TRUE(matches(matmul(s.T(), to_tensor(h)), oracle::matmul(oracle::transpose(a), h)));
}

// Those that are read as they are: of views, computed ones, mixed with others, and read on.
// On the CPU no copy of the matrices is made for it, and the bits are those of one.
TEST(Matmul, OfABatchOfTransposesByOneMatrix) {
  for (const int64_t n : {3, 8, 40}) {
    const Tensor x = randn({5, 33, 70}), y = randn({33, n});
    x.eval();
    const Tensor copy = x.swapaxes(1, 2).reshape({-1}).eval().reshape({5, 70, 33});
    EXPECT_EQ(read_bytes(matmul(x.swapaxes(1, 2), y)), read_bytes(matmul(copy, y)));
    if (default_device().type() != DeviceType::kCpu) continue;
    reset_stats();
    matmul(x.swapaxes(1, 2), y).eval();
    EXPECT_EQ(stats().kernels_launched, 0) << n;
    EXPECT_EQ(stats().library_calls, 1) << n;
  }
}

TEST(Matmul, OfHalvesWithAVector) {
  std::mt19937_64 rng(17);
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const NdArray a = random_array(rng, dtype, {300, 130}, 0);
    const NdArray b = random_array(rng, dtype, {130}, 0);
    const NdArray c = random_array(rng, DType::kFloat32, {300}, 0);
    const Tensor x = to_tensor(a), v = to_tensor(b);
    EXPECT_TRUE(matches(matmul(x, v), oracle::matmul(a, b)));
    EXPECT_TRUE(matches(matmul(to_tensor(c), x), oracle::matmul(c, a)));
    EXPECT_TRUE(matches(matmul(v, x.T()), oracle::matmul(b, oracle::transpose(a))));
    EXPECT_TRUE(matches(matmul(x.slice(0, 0, 300, 2), v),
                        oracle::matmul(oracle::slice(a, 0, 0, 300, 2), b)));
    EXPECT_TRUE(matches(relu(matmul(neg(x), v)),
                        oracle::unary("relu", oracle::matmul(oracle::unary("neg", a), b))));
  }
}

}  // namespace
}  // namespace sluice::test
