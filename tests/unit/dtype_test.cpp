// Element types: halves to the last bit, promotion by the array API's table, shapes.
#include <gtest/gtest.h>

#include <cmath>

#include <sluice/dtype.h>
#include <sluice/half.h>
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// The number a half's bits stand for, by the definition of the format.
double decode(uint16_t bits, int mantissa_bits, int bias) {
  const int exponent_bits = 15 - mantissa_bits;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa == 0 ? sign * INFINITY : std::nan("");
  }
  const double fraction = std::ldexp(mantissa, -mantissa_bits);
  return exponent == 0 ? sign * std::ldexp(fraction, 1 - bias)
                       : sign * std::ldexp(1 + fraction, exponent - bias);
}

template <typename Half>
void check_every_value(int mantissa_bits, int bias) {
  for (int bits = 0; bits <= 0xffff; ++bits) {
    const Half half = Half::from_bits(static_cast<uint16_t>(bits));
    const float value = half;
    const double expected = decode(static_cast<uint16_t>(bits), mantissa_bits, bias);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(Half(value)))) << bits;
      continue;
    }
    ASSERT_EQ(value, expected) << bits;
    ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
    ASSERT_EQ(Half(value).bits, bits);
  }
}

// Floats next to each half and next to each midpoint round to the nearest, ties to even.
template <typename Half>
void check_rounding(uint16_t infinity_bits) {
  for (uint32_t bits = 0; bits + 1 < infinity_bits; ++bits) {
    const double low = static_cast<float>(Half::from_bits(static_cast<uint16_t>(bits)));
    const double high = static_cast<float>(Half::from_bits(static_cast<uint16_t>(bits + 1)));
    const float middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(Half(middle).bits, bits % 2 == 0 ? bits : bits + 1) << bits;
    ASSERT_EQ(Half(std::nextafter(middle, 0.f)).bits, bits);
    ASSERT_EQ(Half(std::nextafter(middle, INFINITY)).bits, bits + 1);
    ASSERT_EQ(Half(-middle).bits, 0x8000u | (bits % 2 == 0 ? bits : bits + 1));
  }
}

TEST(Half, EveryFloat16) {
  check_every_value<float16>(10, 15);
  check_rounding<float16>(0x7c00);
}
TEST(Half, EveryBFloat16) {
  check_every_value<bfloat16>(7, 127);
  check_rounding<bfloat16>(0x7f80);
}

TEST(Half, OverflowAndUnderflow) {
  EXPECT_EQ(float16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(float16(65520.f).bits, 0x7c00);
  EXPECT_EQ(float16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(float16(0x1p-25f).bits, 0);
  EXPECT_EQ(float16(std::nextafter(0x1p-25f, 1.f)).bits, 1);
  EXPECT_EQ(bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(bfloat16(std::numeric_limits<float>::denorm_min()).bits, 0);
}

TEST(DType, SizesAndKinds) {
  for (DType dtype : all_dtypes()) {
    visit_dtype(dtype, [&]<typename T>() {
      EXPECT_EQ(size_of(dtype), sizeof(T));
      EXPECT_EQ(dtype_of<T>(), dtype);
      if constexpr (std::is_integral_v<T>) {
        EXPECT_EQ(is_integer(dtype), (!std::is_same_v<T, bool>));
        EXPECT_FALSE(is_float(dtype));
      } else {
        EXPECT_TRUE(is_float(dtype));
      }
    });
  }
  EXPECT_STREQ(name_of(DType::kBFloat16), "bfloat16");
  EXPECT_STREQ(name_of(DType::kUInt16), "uint16");
}

TEST(DType, PromotionIsSymmetricAndIdempotent) {
  for (DType a : all_dtypes()) {
    EXPECT_EQ(promote(a, a), a);
    for (DType b : all_dtypes()) {
      EXPECT_EQ(promote(a, b), promote(b, a)) << name_of(a) << " " << name_of(b);
      EXPECT_EQ(promote(promote(a, b), a), promote(a, b)) << name_of(a) << " " << name_of(b);
    }
  }
}

// https://data-apis.org/array-api/latest/API_specification/type_promotion.html
TEST(DType, PromotionFollowsTheArrayApi) {
  using enum DType;
  const DType kSigned[] = {kInt8, kInt16, kInt32, kInt64};
  const DType kUnsigned[] = {kUInt8, kUInt16, kUInt32, kUInt64};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      EXPECT_EQ(promote(kSigned[i], kSigned[j]), kSigned[std::max(i, j)]);
      EXPECT_EQ(promote(kUnsigned[i], kUnsigned[j]), kUnsigned[std::max(i, j)]);
      const DType mixed = j == 3 ? kFloat32 : i > j ? kSigned[i] : kSigned[j + 1];
      EXPECT_EQ(promote(kSigned[i], kUnsigned[j]), mixed);
    }
  }
  const DType kFloats[] = {kFloat16, kBFloat16, kFloat32, kFloat64};
  EXPECT_EQ(promote(kFloat16, kBFloat16), kFloat32);
  EXPECT_EQ(promote(kFloat16, kFloat32), kFloat32);
  EXPECT_EQ(promote(kBFloat16, kFloat32), kFloat32);
  EXPECT_EQ(promote(kFloat32, kFloat64), kFloat64);
  for (DType dtype : all_dtypes()) {
    EXPECT_EQ(promote(kBool, dtype), dtype);
    for (DType f : kFloats) {
      if (is_float(dtype)) continue;
      EXPECT_EQ(promote(dtype, f), f);
    }
  }
}

TEST(Shape, CountsAndPrints) {
  EXPECT_EQ((Shape{}).numel(), 1);
  EXPECT_EQ((Shape{2, 3, 4}).numel(), 24);
  EXPECT_EQ((Shape{2, 0, 4}).numel(), 0);
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(to_string(Shape{4}), "(4,)");
  EXPECT_EQ(to_string(Shape{2, 3}), "(2, 3)");
  EXPECT_EQ((Shape{1, 2}), (Shape{1, 2}));
  EXPECT_NE((Shape{1, 2}), (Shape{2, 1}));
  EXPECT_NE((Shape{2}), (Shape{2, 0}));
}

TEST(Shape, RejectsWhatItCannotHold) {
  using Code = ErrorCode;
  EXPECT_TRUE(fails_with([] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }, Code::kInvalidArgument,
                         {"(1, 1, 1, 1, 1, 1, 1, 1, 1)"}));
  EXPECT_TRUE(fails_with([] { Shape{3, -2}; }, Code::kInvalidArgument, {"(3, -2)"}));
  EXPECT_TRUE(fails_with(
      [] {
        Shape{1LL << 40, 1LL << 40};
      },
      Code::kInvalidArgument, {"1099511627776"}));
  EXPECT_EQ((Shape{1LL << 40, 1LL << 40, 0}).numel(), 0);
}

TEST(DType, EveryDTypeGoesInAndOut) {
  for (DType dtype : all_dtypes()) {
    const std::vector<Real> values = nasty_values(dtype);
    const NdArray x(dtype, Shape{static_cast<int64_t>(values.size())}, values);
    EXPECT_TRUE(matches(to_tensor(x), x));
  }
}

TEST(DType, TheWrongTypeIsAnErrorThatNamesBoth) {
  const Tensor x = Tensor::from({1.f});
  const auto code = ErrorCode::kInvalidArgument;
  EXPECT_EQ(x.item<double>(), 1);  // which converts
  EXPECT_TRUE(
      fails_with([&] { return x.to_vector<int>(); }, code, {"to_vector", "float32", "int32"}));
  std::vector<bfloat16> out(1);
  EXPECT_TRUE(fails_with([&] { x.copy_to(std::span<bfloat16>(out)); }, code,
                         {"copy_to", "float32", "bfloat16"}));
}

}  // namespace
}  // namespace sluice::test
