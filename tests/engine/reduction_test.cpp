// Reductions, softmax and matmul against the oracle: axes, dtypes, sizes around the block limits,
// nothing to reduce, NaN.
#include <gtest/gtest.h>

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

TEST_P(EveryDType, NothingToReduce) {
  const NdArray x(GetParam(), Shape{3, 0});
  const Tensor t = to_tensor(x);
  for (const Reduction& op : reductions()) {
    EXPECT_EQ(op.f(t, 0, false).shape(), Shape{0}) << op.name;
    if (needs_elements(op)) {
      EXPECT_TRUE(fails_with([&] { op.f(t, 1, false); }, absl::StatusCode::kInvalidArgument,
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
                                            {{1, 700}, {700, 1}}};
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

}  // namespace
}  // namespace sluice::test
