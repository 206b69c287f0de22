// kernels/math against double and long double precision, and its integer, cast and random rules.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <sluice/half.h>
#include "gtest/gtest.h"
#include "kernels/math/functions.h"
#include "tests/support/math_reference.h"

namespace sluice {
namespace {

namespace m = kernels::math;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Every 4099th bit pattern, and those at which functions change their behaviour.
std::vector<float> sample_float32() {
  std::vector<float> sample;
  for (int64_t bits = 0; bits < int64_t{1} << 32; bits += 4099) {
    sample.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (const float x : {0.0f,        0x1p-149f,   0x1p-126f,
                        0x1p-25f,    1.0f,        1.4f,
                        9.0f,        10.0f,       20.0f,
                        88.0f,       88.7228394f, 88.7228470f,
                        89.4159851f, 103.972084f, 104.0f,
                        150.0f,      0x1p25f,     std::numeric_limits<float>::max(),
                        kInf,        kNan}) {
    for (const float near : {std::nextafter(x, 0.0f), x, std::nextafter(x, kInf)}) {
      sample.push_back(near);
      sample.push_back(-near);
    }
  }
  return sample;
}

TEST(Float32Functions, StayWithinTheirDocumentedErrors) {
  const std::vector<float> in = sample_float32();
  std::vector<float> out(in.size());
  for (const testing::UnaryFunction& function : testing::kUnaryFunctions) {
    function.run(in.data(), out.data(), static_cast<int64_t>(in.size()));
    double worst = -1;
    size_t where = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      const double ulp = testing::ulp_error(out[i], function.reference(in[i]));
      if (ulp > worst) worst = ulp, where = i;
    }
    EXPECT_LE(worst, function.max_ulp)
        << function.name << "(" << in[where] << ") gave " << out[where];
  }
}

double ulp_error64(double got, long double expected) {
  if (std::isnan(expected)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isinf(expected) || expected == 0 || std::isinf(got)) {
    return got == static_cast<double>(expected) ? 0 : HUGE_VAL;
  }
  const int exponent = std::max(std::ilogb(static_cast<double>(expected)), -1022);
  return static_cast<double>(std::abs(got - expected) / std::ldexp(1.0L, exponent - 52));
}

struct Float64Function {
  const char* name;
  double max_ulp;
  double (*function)(double);
  long double (*reference)(long double);
};

#define SLUICE_FLOAT64(name, max_ulp, reference)                                              \
  {                                                                                           \
#name, max_ulp, m::name < double>, [](long double x) -> long double { return reference; } \
  }

constexpr Float64Function kFloat64Functions[] = {
    SLUICE_FLOAT64(exp, 1.1, std::exp(x)),
    SLUICE_FLOAT64(exp2, 1.1, std::exp2(x)),
    SLUICE_FLOAT64(expm1, 2.0, std::expm1(x)),
    SLUICE_FLOAT64(log, 1.1, std::log(x)),
    SLUICE_FLOAT64(log2, 1.1, std::log2(x)),
    SLUICE_FLOAT64(log10, 1.1, std::log10(x)),
    SLUICE_FLOAT64(log1p, 2.0, std::log1p(x)),
    SLUICE_FLOAT64(sin, 1.1, std::sin(x)),
    SLUICE_FLOAT64(cos, 1.1, std::cos(x)),
    SLUICE_FLOAT64(tan, 1.1, std::tan(x)),
    SLUICE_FLOAT64(atan, 1.1, std::atan(x)),
    SLUICE_FLOAT64(sinh, 2.0, std::sinh(x)),
    SLUICE_FLOAT64(cosh, 2.0, std::cosh(x)),
    SLUICE_FLOAT64(tanh, 3.0, std::tanh(x)),
    SLUICE_FLOAT64(asinh, 3.0, std::asinh(x)),
    SLUICE_FLOAT64(acosh, 3.0, std::acosh(x)),
    SLUICE_FLOAT64(erf, 1.1, std::erf(x)),
    SLUICE_FLOAT64(erfc, 5.0, std::erfc(x)),
    SLUICE_FLOAT64(sigmoid, 3.0, 1 / (1 + std::exp(-x))),
    SLUICE_FLOAT64(silu, 4.0, x / (1 + std::exp(-x))),
    SLUICE_FLOAT64(softplus, 3.0, std::log1p(std::exp(x))),
    SLUICE_FLOAT64(gelu, 5.0, x * 0.5L * std::erfc(-x * 0.707106781186547524400844362104849L)),
    SLUICE_FLOAT64(mish, 5.0, x* std::tanh(std::log1p(std::exp(x)))),
};

TEST(Float64Functions, AgreeWithLongDouble) {
  for (const Float64Function& f : kFloat64Functions) {
    for (int i = -3000; i <= 3000; ++i) {
      const double x = i * 0.01171875 + 7e-11 * i * i * i;
      EXPECT_LE(ulp_error64(f.function(x), f.reference(x)), f.max_ulp) << f.name << " at " << x;
    }
  }
  EXPECT_EQ(m::exp(-745.2), 0.0);
  EXPECT_EQ(m::exp(-740.0), std::exp(-740.0));
  EXPECT_EQ(m::exp(709.9), HUGE_VAL);
  EXPECT_LE(ulp_error64(m::log(0x1p-1074), std::log(0x1p-1074L)), 1.0);
  EXPECT_EQ(m::log(0.0), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(m::log(-1.0)));
}

TEST(Functions, ComposedMishIsAccurate) {
  for (float x = -80.0f; x < 80.0f; x += 0.013f) {
    const float composed = m::mul(x, m::tanh(m::log1p(m::exp(x))));
    EXPECT_LE(testing::ulp_error(composed, testing::reference_mish(x)), 8.0) << x;
  }
}

TEST(Functions, BinaryFloat) {
  for (float a = -9.5f; a < 10.0f; a += 0.37f) {
    for (float b = -7.3f; b < 8.0f; b += 0.41f) {
      EXPECT_LE(testing::ulp_error(m::hypot(a, b), std::hypot(double{a}, double{b})), 1.0);
      EXPECT_LE(testing::ulp_error(m::atan2(a, b), std::atan2(double{a}, double{b})), 1.0);
      const float base = std::abs(a);
      EXPECT_LE(testing::ulp_error(m::pow(base, b), std::pow(double{base}, double{b})), 1.0);
      const double q = std::floor(double{a} / double{b});
      EXPECT_EQ(m::floor_divide(a, b), static_cast<float>(q)) << a << " // " << b;
      EXPECT_EQ(m::remainder(a, b), static_cast<float>(a - q * b)) << a << " % " << b;
      const double sum = std::log(std::exp(double{a}) + std::exp(double{b}));
      EXPECT_NEAR(m::logaddexp(a, b), sum, 4e-7 * std::max(1.0, std::abs(sum)));
    }
  }
  EXPECT_EQ(m::hypot(kInf, kNan), kInf);
  EXPECT_EQ(m::hypot(3e38f, 0.0f), 3e38f);
  EXPECT_EQ(m::logaddexp(-kInf, -kInf), -kInf);
  EXPECT_EQ(m::logaddexp(kInf, kInf), kInf);
  EXPECT_EQ(m::logaddexp(-kInf, 3.0f), 3.0f);
  EXPECT_EQ(m::remainder(1e30f, 7.0f), static_cast<float>(std::fmod(1e30f, 7.0f)));
  EXPECT_EQ(m::remainder(-1.0f, kInf), kInf);
  EXPECT_EQ(m::remainder(5.5, -2.0), -0.5);
  EXPECT_EQ(m::floor_divide(5.5, -2.0), -3.0);
  EXPECT_EQ(m::floor_divide(1.0f, 0.0f), kInf);
  EXPECT_TRUE(std::isnan(m::remainder(1.0f, 0.0f)));
}

TEST(Functions, NanWinsExtremes) {
  EXPECT_TRUE(std::isnan(m::maximum(kNan, 1.0f)));
  EXPECT_TRUE(std::isnan(m::maximum(1.0f, kNan)));
  EXPECT_TRUE(std::isnan(m::minimum(kNan, 1.0f)));
  EXPECT_TRUE(std::isnan(m::minimum(1.0f, kNan)));
  EXPECT_TRUE(std::isnan(m::relu(kNan)));
  EXPECT_EQ(m::maximum(-1, 2), 2);
  EXPECT_EQ(m::minimum(uint8_t{200}, uint8_t{3}), 3);
  EXPECT_EQ(m::sign(-3.0f), -1.0f);
  EXPECT_TRUE(std::isnan(m::sign(kNan)));
  EXPECT_TRUE(std::signbit(m::sign(-0.0f)));
}

// External functions must not depend on where in an array an element is.
TEST(Externals, ArrayAndSingleElementAgree) {
  for (int f = 0; f < static_cast<int>(m::External::kCount); ++f) {
    const auto external = static_cast<m::External>(f);
    if (f % 2 != 0) continue;  // float32 ones come first
    std::vector<float> a, b;
    for (int i = 0; i < 37; ++i) a.push_back(0.05f * i - 0.9f), b.push_back(1.7f - 0.11f * i);
    std::vector<float> out(a.size());
    const bool binary = m::arity_of(external) == 2;
    m::external_array(external, a.data(), binary ? b.data() : nullptr, out.data(),
                      static_cast<int64_t>(a.size()));
    for (size_t i = 0; i < a.size(); ++i) {
      const float one =
          binary ? m::call_external(external, a[i], b[i]) : m::call_external(external, a[i]);
      EXPECT_EQ(std::bit_cast<uint32_t>(one), std::bit_cast<uint32_t>(out[i])) << f << " " << a[i];
    }
  }
}

// Operands that an inline form is not for.
TEST(Externals, TakeRareOperands) {
  for (const double x : {0x1p40, 0x1p60, 6381956970095103e100, 1e300}) {
    const long double exact = x;
    EXPECT_LE(ulp_error64(m::sin(x), std::sin(exact)), 1.0) << x;
    EXPECT_LE(ulp_error64(m::cos(-x), std::cos(exact)), 1.0) << x;
    EXPECT_LE(ulp_error64(m::tan(-x), std::tan(-exact)), 1.0) << x;
  }
  EXPECT_EQ(m::sin(0x1p100f), static_cast<float>(std::sin(0x1p100)));
  EXPECT_TRUE(std::isnan(m::cos(kInf)));
  EXPECT_EQ(m::remainder(0x1p80f, 3.0f), 1.0f);
  EXPECT_EQ(m::floor_divide(-0x1p80f, 3.0f), std::floor(-0x1p80f / 3.0f));
}

TEST(Integers, DivisionFollowsPython) {
  for (int a = -128; a <= 127; ++a) {
    for (int b = -128; b <= 127; ++b) {
      const auto x = static_cast<int8_t>(a), y = static_cast<int8_t>(b);
      const int q = b == 0 ? 0 : static_cast<int>(std::floor(static_cast<double>(a) / b));
      ASSERT_EQ(m::floor_divide(x, y), static_cast<int8_t>(q)) << a << " // " << b;
      ASSERT_EQ(m::remainder(x, y), static_cast<int8_t>(b == 0 ? 0 : a - q * b)) << a << " % " << b;
    }
  }
  EXPECT_EQ(m::floor_divide(INT64_MIN, int64_t{-1}), INT64_MIN);
  EXPECT_EQ(m::remainder(INT32_MIN, -1), 0);
  EXPECT_EQ(m::floor_divide(7u, 0u), 0u);
  EXPECT_EQ(m::remainder(7u, 0u), 0u);
}

// Division goes by floats, so this looks at quotients next to integers and at the ends of ranges.
template <typename T>
void check_division() {
  using Limits = std::numeric_limits<T>;
  const auto check = [](T a, T b) {
    const auto n = static_cast<__int128>(+a), d = static_cast<__int128>(+b);
    __int128 q = 0, r = 0;
    if (d != 0) q = n / d, r = n % d;
    if (r != 0 && (r < 0) != (d < 0)) q -= 1, r += d;
    ASSERT_EQ(m::floor_divide(a, b), static_cast<T>(q)) << +a << " // " << +b;
    ASSERT_EQ(m::remainder(a, b), static_cast<T>(r)) << +a << " % " << +b;
  };
  std::vector<T> special;
  for (const T x : {T(0), T(1), T(2), T(3), T(-1), T(-2), T(-3), T(7), Limits::max(), Limits::min(),
                    T(Limits::max() / 2), T(Limits::max() / 2 + 1), T(Limits::max() - 1),
                    T(Limits::min() + 1)}) {
    special.push_back(x);
  }
  uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    const auto draw = [&] {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const auto wide = static_cast<T>(state >> 32 | state << 32);
      return static_cast<T>(wide >> (state >> 40) % (8 * sizeof(T)));
    };
    const T a = draw(), b = draw();
    check(a, b);
    const auto product = static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    for (const int step : {-1, 0, 1}) check(static_cast<T>(product + static_cast<T>(step)), b);
    const T x = special[i % special.size()];
    check(a, x);
    check(x, a);
    check(x, special[i / special.size() % special.size()]);
  }
}

TEST(Integers, DivisionIsExactInEveryWidth) {
  check_division<int8_t>();
  check_division<uint8_t>();
  check_division<int16_t>();
  check_division<uint16_t>();
  check_division<int32_t>();
  check_division<uint32_t>();
  check_division<int64_t>();
  check_division<uint64_t>();
}

TEST(Integers, Shifts) {
  EXPECT_EQ(m::shift_left(1, 31), INT32_MIN);
  EXPECT_EQ(m::shift_left(1, 32), 0);
  EXPECT_EQ(m::shift_left(1, -1), 0);
  EXPECT_EQ(m::shift_right(-8, 1), -4);
  EXPECT_EQ(m::shift_right(-8, 99), -1);
  EXPECT_EQ(m::shift_right(8, 99), 0);
  EXPECT_EQ(m::shift_right(uint8_t{200}, uint8_t{8}), 0);
  EXPECT_EQ(m::shift_right(uint8_t{200}, uint8_t{3}), 25);
}

TEST(Integers, Powers) {
  EXPECT_EQ(m::pow(3, 5), 243);
  EXPECT_EQ(m::pow(-2, 3), -8);
  EXPECT_EQ(m::pow(0, 0), 1);
  EXPECT_EQ(m::pow(2, -1), 0);
  EXPECT_EQ(m::pow(1, -5), 0);
  EXPECT_EQ(m::pow(-1, -5), 0);
  EXPECT_EQ(m::pow(-1, -4), 0);
  EXPECT_EQ(m::pow(uint8_t{3}, uint8_t{200}), static_cast<uint8_t>(m::pow(3u, 200u)));
  EXPECT_EQ(m::pow(int64_t{7}, int64_t{22}), 3909821048582988049);
}

TEST(Casts, FloatToIntegerSaturates) {
  EXPECT_EQ(m::cast<int8_t>(127.9f), 127);
  EXPECT_EQ(m::cast<int8_t>(-300.0f), -128);
  EXPECT_EQ(m::cast<int8_t>(-1.9f), -1);
  EXPECT_EQ(m::cast<uint8_t>(-0.9f), 0);
  EXPECT_EQ(m::cast<uint8_t>(-5.0), 0);
  EXPECT_EQ(m::cast<uint8_t>(256.0), 255);
  EXPECT_EQ(m::cast<int32_t>(2147483648.0f), INT32_MAX);
  EXPECT_EQ(m::cast<int32_t>(2147483520.0f), 2147483520);
  EXPECT_EQ(m::cast<int32_t>(-2147483648.0f), INT32_MIN);
  EXPECT_EQ(m::cast<int64_t>(kInf), INT64_MAX);
  EXPECT_EQ(m::cast<int64_t>(-kInf), INT64_MIN);
  EXPECT_EQ(m::cast<uint64_t>(1e30), UINT64_MAX);
  EXPECT_EQ(m::cast<uint64_t>(0x1p63), uint64_t{1} << 63);
  EXPECT_EQ(m::cast<uint32_t>(4294967295.0), UINT32_MAX);
  EXPECT_EQ(m::cast<int32_t>(kNan), 0);
  EXPECT_EQ(m::cast<bool>(kNan), true);
  EXPECT_EQ(m::cast<bool>(0.25f), true);
  EXPECT_EQ(m::cast<bool>(256), true);
  EXPECT_EQ(m::cast<bool>(-0.0), false);
  EXPECT_EQ(m::cast<uint8_t>(-1), 255);
  EXPECT_EQ(m::cast<float>(true), 1.0f);
  EXPECT_EQ(m::cast<float>(16777217), 16777216.0f);
}

uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }

TEST(Casts, RoundingToHalfMatchesTheElementTypes) {
  const auto check = [](float x) {
    ASSERT_EQ(bits_of(m::round_to_float16(x)), bits_of(float{float16(x)})) << x;
    ASSERT_EQ(bits_of(m::round_to_bfloat16(x)), bits_of(float{bfloat16(x)})) << x;
  };
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    // Each value, and the numbers about the middle between it and the next.
    for (const uint32_t offset : {0u, 0xfffu, 0x1000u, 0x1001u}) {
      check(std::bit_cast<float>(bits_of(float{float16::from_bits(half)}) + offset));
    }
    for (const uint32_t offset : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u}) {
      check(std::bit_cast<float>((bits << 16) + offset));
    }
  }
  for (const float x : sample_float32()) check(x);
  EXPECT_EQ(bits_of(m::canonical_nan(-kNan)), 0x7fc00000u);
}

// Known answers of the Random123 distribution (kat_vectors, philox4x32, 10 rounds).
TEST(Random, PhiloxKnownAnswers) {
  const uint64_t zero = 0, ones = ~uint64_t{0};
  EXPECT_EQ(m::philox_low(zero, zero, zero), 0xe169c58d6627e8d5u);
  EXPECT_EQ(m::philox_high(zero, zero, zero), 0x9b00dbd8bc57ac4cu);
  EXPECT_EQ(m::philox_low(ones, ones, ones), 0x41c83b0e408f276du);
  EXPECT_EQ(m::philox_high(ones, ones, ones), 0x6d5451fda20bc7c6u);
}

TEST(Random, Distributions) {
  constexpr int kCount = 200000;
  double sum = 0, square = 0, sum64 = 0, square64 = 0, uniform_sum = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    const uint64_t low = m::philox_low(i, uint64_t{42}, uint64_t{7});
    const uint64_t high = m::philox_high(i, uint64_t{42}, uint64_t{7});
    const float u = m::uniform_f32(low);
    const double v = m::uniform_f64(high);
    ASSERT_TRUE(u >= 0 && u < 1 && v >= 0 && v < 1);
    uniform_sum += u + v;
    const double x = m::normal_f32(low), y = m::normal_f64(low, high);
    sum += x, square += x * x, sum64 += y, square64 += y * y;
  }
  EXPECT_NEAR(uniform_sum / (2 * kCount), 0.5, 0.003);
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(square / kCount, 1, 0.02);
  EXPECT_NEAR(sum64 / kCount, 0, 0.01);
  EXPECT_NEAR(square64 / kCount, 1, 0.02);
  for (const uint64_t bits : {uint64_t{0}, ~uint64_t{0}, uint64_t{0xffffffff}}) {
    EXPECT_TRUE(std::isfinite(m::normal_f32(bits)));
    EXPECT_TRUE(std::isfinite(m::normal_f64(bits, bits)));
    EXPECT_LT(m::uniform_f32(bits), 1.0f);
    EXPECT_LT(m::uniform_f64(bits), 1.0);
  }
}

}  // namespace
}  // namespace sluice
