// Every element-wise op over every dtype it accepts, on nasty values, against the oracle.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

template <typename T>
std::vector<T> values_of(const Tensor& x) {
  return x.to_vector<T>();
}

NdArray nasty(DType dtype) {
  std::vector<Real> values = nasty_values(dtype);
  // Past a vector's width, so that full vectors and remainders run.
  std::mt19937_64 rng(5);
  const NdArray ordinary = random_array(rng, dtype, Shape{37}, 0);
  values.insert(values.end(), ordinary.values.begin(), ordinary.values.end());
  const auto count = static_cast<int64_t>(values.size());
  return NdArray(dtype, Shape{count}, std::move(values));
}

NdArray column(NdArray x) { return oracle::expand_dims(x, 1); }

class EveryDType : public testing::TestWithParam<DType> {};

TEST_P(EveryDType, UnaryOpsMatchTheOracle) {
  const NdArray x = nasty(GetParam());
  const Tensor t = to_tensor(x);
  for (const UnaryOp& op : unary_ops()) {
    if (is_operator(op.name)) continue;
    if (!oracle::types_of(op.name, {x.dtype})) {
      EXPECT_THROW(static_cast<void>(op.f(t)), Error) << op.name;
      continue;
    }
    EXPECT_TRUE(matches(op.f(t), oracle::unary(op.name, x))) << op.name;
  }
}

TEST_P(EveryDType, BinaryOpsMatchTheOracleOnEveryPair) {
  const NdArray x = nasty(GetParam());
  const NdArray y = column(x);
  const Tensor a = to_tensor(x), b = to_tensor(y);
  for (const BinaryOp& op : binary_ops()) {
    if (is_operator(op.name)) continue;
    if (!oracle::types_of(op.name, {x.dtype, x.dtype})) {
      EXPECT_THROW(static_cast<void>(op.f(a, b)), Error) << op.name;
      continue;
    }
    EXPECT_TRUE(matches(op.f(a, b), oracle::binary(op.name, x, y))) << op.name;
  }
}

TEST_P(EveryDType, TernaryOpsMatchTheOracle) {
  const NdArray x = nasty(GetParam());
  const NdArray y = oracle::flip(x, {});
  const NdArray z = oracle::roll(x, 11, 0);
  const Tensor a = to_tensor(x), b = to_tensor(y), c = to_tensor(z);
  for (const TernaryOp& op : ternary_ops()) {
    if (!oracle::types_of(op.name, {x.dtype, x.dtype, x.dtype})) {
      EXPECT_THROW(static_cast<void>(op.f(a, b, c)), Error) << op.name;
      continue;
    }
    EXPECT_TRUE(matches(op.f(a, b, c), oracle::ternary(op.name, x, y, z))) << op.name;
  }
}

TEST_P(EveryDType, AstypeMatchesTheOracle) {
  const NdArray x = nasty(GetParam());
  const Tensor t = to_tensor(x);
  for (DType to : all_dtypes()) {
    EXPECT_TRUE(matches(astype(t, to), oracle::cast(x, to))) << "to " << name_of(to);
  }
}

TEST_P(EveryDType, MixedOperandsArePromotedFirst) {
  std::mt19937_64 rng(3);
  const NdArray x = random_array(rng, GetParam(), Shape{40}, 0.3);
  const Tensor a = to_tensor(x);
  for (DType dtype : all_dtypes()) {
    const NdArray y = random_array(rng, dtype, Shape{40}, 0.3);
    const Tensor b = to_tensor(y);
    for (const char* name : {"add", "mul", "maximum", "div", "less", "equal", "logical_and"}) {
      for (const BinaryOp& op : binary_ops()) {
        if (op.name != name) continue;
        EXPECT_TRUE(matches(op.f(a, b), oracle::binary(name, x, y)))
            << name << " " << name_of(dtype);
      }
    }
    EXPECT_EQ((a + b).dtype(), promote(GetParam(), dtype));
    EXPECT_TRUE(matches(where(a, a, b), oracle::ternary("where", x, x, y)));
  }
}

TEST_P(EveryDType, OperatorsAreTheirFunctions) {
  const NdArray x = nasty(GetParam());
  const NdArray y = oracle::flip(x, {});
  const Tensor a = to_tensor(x), b = to_tensor(y);
  const auto find = [](const auto& ops, const std::string& name) {
    return std::find_if(ops.begin(), ops.end(), [&](const auto& op) { return op.name == name; });
  };
#define SLUICE_UNARY_OPERATOR(symbol, id, name)                                                \
  if (oracle::types_of(#name, {x.dtype})) {                                                    \
    EXPECT_TRUE(matches(find(unary_ops(), "operator" #symbol)->f(a), oracle::unary(#name, x))) \
        << #name;                                                                              \
  }
#define SLUICE_BINARY_OPERATOR(symbol, id, name)                                               \
  if (oracle::types_of(#name, {x.dtype, x.dtype})) {                                           \
    EXPECT_TRUE(                                                                               \
        matches(find(binary_ops(), "operator" #symbol)->f(a, b), oracle::binary(#name, x, y))) \
        << #name;                                                                              \
  }
#include "frontend/functions.def"
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryDType, testing::ValuesIn(all_dtypes()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Ops, IntegerDivisionFollowsPythonAndNeverTraps) {
  const Tensor a = Tensor::from<int32_t>({7, -7, 7, -7, 5, INT32_MIN, 0, INT32_MIN});
  const Tensor b = Tensor::from<int32_t>({2, 2, -2, -2, 0, -1, 0, 0});
  EXPECT_EQ(values_of<int32_t>(floor_divide(a, b)),
            (std::vector<int32_t>{3, -4, -4, 3, 0, INT32_MIN, 0, 0}));
  EXPECT_EQ(values_of<int32_t>(a % b), (std::vector<int32_t>{1, 1, -1, -1, 0, 0, 0, 0}));
  const Tensor c = Tensor::from<int8_t>({-128, 127, -128});
  const Tensor d = Tensor::from<int8_t>({-1, 0, 0});
  EXPECT_EQ(values_of<int8_t>(floor_divide(c, d)), (std::vector<int8_t>{-128, 0, 0}));
}

TEST(Ops, FloatRemainderHasTheDivisorsSign) {
  const Tensor a = Tensor::from({5.5f, -5.5f, 5.5f, -5.5f, 1e30f});
  const Tensor b = Tensor::from({2.f, 2.f, -2.f, -2.f, 7.f});
  EXPECT_EQ(values_of<float>(a % b),
            (std::vector<float>{1.5f, 0.5f, -0.5f, -1.5f, std::fmod(1e30f, 7.f)}));
  EXPECT_EQ(values_of<float>(floor_divide(a.slice(0, 0, 4), b.slice(0, 0, 4))),
            (std::vector<float>{2, -3, -3, 2}));
}

TEST(Ops, IntegerArithmeticWraps) {
  const Tensor a = Tensor::from<int32_t>({INT32_MAX, INT32_MIN});
  EXPECT_EQ(values_of<int32_t>(a + 1), (std::vector<int32_t>{INT32_MIN, INT32_MIN + 1}));
  EXPECT_EQ(values_of<int32_t>(-a), (std::vector<int32_t>{-INT32_MAX, INT32_MIN}));
  EXPECT_EQ(values_of<int32_t>(abs(a)), (std::vector<int32_t>{INT32_MAX, INT32_MIN}));
  const Tensor u = Tensor::from<uint8_t>({255, 0, 200});
  EXPECT_EQ(values_of<uint8_t>(u + u), (std::vector<uint8_t>{254, 0, 144}));
  EXPECT_EQ(values_of<uint8_t>(-u), (std::vector<uint8_t>{1, 0, 56}));
}

TEST(Ops, ShiftsPastTheWidthGiveZeroOrTheSign) {
  const Tensor a = Tensor::from<int32_t>({1, -1, -8, 5});
  const Tensor n = Tensor::from<int32_t>({31, 32, 100, 40});
  EXPECT_EQ(values_of<int32_t>(bitwise_left_shift(a, n)),
            (std::vector<int32_t>{INT32_MIN, 0, 0, 0}));
  EXPECT_EQ(values_of<int32_t>(bitwise_right_shift(a, n)), (std::vector<int32_t>{0, -1, -1, 0}));
  const Tensor u = Tensor::from<uint64_t>({~0ull, 1});
  EXPECT_EQ(values_of<uint64_t>(bitwise_right_shift(u, Tensor::from<uint64_t>({64, 63}))),
            (std::vector<uint64_t>{0, 0}));
}

TEST(Ops, NegativeIntegerPowersGiveZero) {
  const Tensor a = Tensor::from<int32_t>({2, 3, -5, 10});
  const Tensor n = Tensor::from<int32_t>({-1, -2, -3, 9});
  EXPECT_EQ(values_of<int32_t>(pow(a, n)), (std::vector<int32_t>{0, 0, 0, 1000000000}));
}

TEST(Ops, SignedZerosSurvive) {
  const Tensor z = Tensor::from({-0.f, 0.f});
  const auto signs = [](const Tensor& x) {
    std::vector<bool> result;
    for (float v : x.to_vector<float>()) result.push_back(std::signbit(v));
    return result;
  };
  EXPECT_EQ(signs(z + z), (std::vector<bool>{true, false}));
  EXPECT_EQ(signs(z + 0.f), (std::vector<bool>{false, false}));
  EXPECT_EQ(signs(z - 0.f), (std::vector<bool>{true, false}));
  EXPECT_EQ(signs(-z), (std::vector<bool>{false, true}));
  EXPECT_EQ(signs(z * -1.f), (std::vector<bool>{false, true}));
  EXPECT_EQ(signs(0.f - z), (std::vector<bool>{false, false}));
  EXPECT_EQ(signs(sqrt(z)), (std::vector<bool>{true, false}));
  EXPECT_EQ(signs(floor(z)), (std::vector<bool>{true, false}));
  EXPECT_EQ(signs(ceil(Tensor::from({-0.5f, 0.f}))), (std::vector<bool>{true, false}));
  EXPECT_EQ(signs(1.f / z), (std::vector<bool>{true, false}));
  EXPECT_EQ(signs(sum(z.reshape({2, 1}), {1})), (std::vector<bool>{true, false}));
}

TEST(Ops, NaNWinsMaximumAndMinimum) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a = Tensor::from({nan, 1.f, nan});
  const Tensor b = Tensor::from({1.f, nan, nan});
  for (const Tensor& x : {maximum(a, b), minimum(a, b), clip(a, 0.f, b)}) {
    for (float value : x.to_vector<float>()) EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Ops, ScalarsTakeTheTensorsDTypeUnlessTheirKindIsWider) {
  const auto type = [](DType dtype, Scalar scalar) { return (zeros({2}, dtype) + scalar).dtype(); };
  for (DType dtype : all_dtypes()) {
    if (dtype == DType::kBool) continue;
    EXPECT_EQ(type(dtype, 1), dtype) << name_of(dtype);
    EXPECT_EQ(type(dtype, int64_t{1}), dtype) << name_of(dtype);
    EXPECT_EQ(type(dtype, 1.0), float_type(dtype)) << name_of(dtype);
    EXPECT_EQ(type(dtype, 1.0f), float_type(dtype)) << name_of(dtype);
    EXPECT_EQ(type(dtype, true), dtype) << name_of(dtype);
  }
  EXPECT_EQ(type(DType::kBool, true), DType::kBool);
  EXPECT_EQ(type(DType::kBool, 1.5), DType::kFloat32);
  EXPECT_EQ(values_of<float16>(Tensor::from({float16(1.f)}) + 0.1)[0].bits,
            float16(1.f + float(float16(0.1f))).bits);
}

TEST(Ops, ScalarsOnEitherSideAndInEveryOperand) {
  const Tensor x = Tensor::from({1.f, 2.f, -3.f});
  EXPECT_EQ(values_of<float>(10.f - x), (std::vector<float>{9, 8, 13}));
  EXPECT_EQ(values_of<float>(x - 10), (std::vector<float>{-9, -8, -13}));
  EXPECT_EQ(values_of<float>(6 / x), (std::vector<float>{6, 3, -2}));
  EXPECT_EQ(values_of<float>(maximum(x, 0.f)), (std::vector<float>{1, 2, 0}));
  EXPECT_EQ(values_of<float>(maximum(0, x)), (std::vector<float>{1, 2, 0}));
  EXPECT_EQ(values_of<float>(pow(x, 2)), (std::vector<float>{1, 4, 9}));
  EXPECT_EQ(values_of<float>(clip(x, -1, 1)), (std::vector<float>{1, 1, -1}));
  EXPECT_EQ(values_of<float>(where(x > 0, x, 0)), (std::vector<float>{1, 2, 0}));
  EXPECT_EQ(values_of<float>(where(x > 0, 1.f, x)), (std::vector<float>{1, 1, -3}));
  EXPECT_EQ(values_of<float>(lerp(x, 3.f, 0.5f)), (std::vector<float>{2, 2.5f, 0}));
  EXPECT_EQ(values_of<bool>(x == 2), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(values_of<uint8_t>(Tensor::from<uint8_t>({250, 3}) + 10),
            (std::vector<uint8_t>{4, 13}));
  EXPECT_EQ((Tensor::from<int32_t>({7}) / 2).item<float>(), 3.5f);
}

TEST(Ops, PowersByScalarsAreCheaperOps) {
  const Tensor x = Tensor::from({1.f, 2.f, -3.f});
  EXPECT_EQ(values_of<float>(pow(x, 3)), (std::vector<float>{1, 8, -27}));
  EXPECT_EQ(values_of<float>(pow(x, 4.0)), (std::vector<float>{1, 16, 81}));
  EXPECT_EQ(values_of<float>(pow(x, -1)), values_of<float>(reciprocal(x)));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(values_of<float>(pow(Tensor::from({4.f, -infinity}), 0.5)),
            (std::vector<float>{2, infinity}));
  EXPECT_EQ(values_of<float>(pow(x + 0, 3)), (std::vector<float>{1, 8, -27}));
  EXPECT_EQ(values_of<int8_t>(pow(Tensor::from<int8_t>({3, 7}), 3)),
            (std::vector<int8_t>{27, static_cast<int8_t>(343)}));
  // Negative powers of integers are 0.
  EXPECT_EQ(values_of<int32_t>(pow(Tensor::from<int32_t>({1, 2}), -1)),
            (std::vector<int32_t>{0, 0}));
  EXPECT_EQ(pow(Tensor::from<int32_t>({1, 2}), 0.5).dtype(), DType::kFloat32);
  // Of halves a power is rounded once.
  const Tensor half = Tensor::from({float16(1.1f)});
  for (const int exponent : {3, 4}) {
    EXPECT_EQ(values_of<float16>(pow(half, exponent))[0].bits,
              values_of<float16>(pow(half, half * 0 + exponent))[0].bits);
  }
  EXPECT_EQ(values_of<bfloat16>(pow(Tensor::from({bfloat16(0x1p-44f)}) + 0, 3))[0].bits,
            bfloat16(0x1p-132f).bits);
}

// Bits, so that zeros' signs count.
bool is_same(const Tensor& a, const Tensor& b) {
  return array_equal(1 / astype(a, DType::kFloat64), 1 / astype(b, DType::kFloat64)).item<bool>() &&
         array_equal(a, b).item<bool>();
}

TEST(Ops, DivisionByAPowerOfTwoIsAProductOfTheSameBits) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor values =
      Tensor::from({0.0, -0.0, 1.0, -3.7, 0x1p-24, 0x1.8p-24, 0x1.4p-14, 65504.0, 0x1p-149,
                    0x1.8p-148, 0x1p-1074, 0x1.8p-1073, 3e38, 1.7e308, inf, -inf});
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    const Tensor x = astype(values, dtype);
    for (const double divisor : {2.0, -8.0, 0.25, 0x1p14, 0x1p-14, 0x1p15, 3.0}) {
      const Tensor wanted = x / full({values.numel()}, divisor, dtype);
      EXPECT_TRUE(is_same(x / divisor, wanted)) << to_string(dtype) << " / " << divisor;
      Tensor in_place = x;
      in_place /= divisor;
      EXPECT_TRUE(is_same(in_place, wanted)) << to_string(dtype) << " /= " << divisor;
    }
  }
  EXPECT_EQ((Tensor::from<int32_t>({3}) / 2).item<float>(), 1.5f);
}

TEST(Ops, CompoundAssignmentChangesOneHandle) {
  Tensor x = Tensor::from({1.f, 2.f});
  const Tensor before = x;
  x += 1;
  x *= before;
  x -= 1.f;
  x /= 2.f;
  EXPECT_EQ(values_of<float>(x), (std::vector<float>{0.5f, 2.5f}));
  EXPECT_EQ(values_of<float>(before), (std::vector<float>{1, 2}));
  Tensor n = Tensor::from<int32_t>({12, 7});
  n %= 5;
  n |= 8;
  n &= 14;
  n ^= 1;
  EXPECT_EQ(values_of<int32_t>(n),
            (std::vector<int32_t>{((12 % 5 | 8) & 14) ^ 1, ((7 % 5 | 8) & 14) ^ 1}));
}

TEST(Ops, HalfTypesRoundAfterEveryOp) {
  const Tensor x = Tensor::from({float16(1.f)});
  const Tensor tiny = Tensor::from({float16(0x1p-11f)});
  // 1 + 2^-11 is a tie that rounds to 1; without rounding in between the sum would be 1 + 2^-10.
  EXPECT_EQ(float((x + tiny + tiny).item<float16>()), 1.f);
  const Tensor b = Tensor::from({bfloat16(256.f)});
  EXPECT_EQ(float((b + 1 - 256.f).item<bfloat16>()), 0.f);
  EXPECT_EQ(float((Tensor::from({float16(60000.f)}) * 2 / 2).item<float16>()),
            std::numeric_limits<float>::infinity());
}

TEST(Ops, AnEmptyTensorAndAScalarTensor) {
  EXPECT_EQ(values_of<float>(exp(zeros({0, 3})) + 1).size(), 0u);
  EXPECT_EQ((full({}, 2.f) * full({}, 3.f)).item<float>(), 6.f);
  EXPECT_EQ((full({}, 2.f) + zeros({2, 0})).shape(), (Shape{2, 0}));
}

TEST(Ops, AliasedOperands) {
  const Tensor x = Tensor::from({3.f, -4.f});
  EXPECT_EQ(values_of<float>(x * x), (std::vector<float>{9, 16}));
  EXPECT_EQ(values_of<float>(x - x), (std::vector<float>{0, 0}));
  EXPECT_EQ(values_of<float>(where(x > 0, x, x)), (std::vector<float>{3, -4}));
}

}  // namespace
}  // namespace sluice::test
