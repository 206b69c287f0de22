// The float functions of kernels/math against MPFR, which is exact: at the ends of their ranges, at
// special values, and on samples; in float32, float64 and, rounded, the half types. One table has
// the bounds.
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/math/functions.h"

namespace sluice {
namespace {

namespace m = kernels::math;

// A number of 200 bits.
class Exact {
 public:
  Exact() { mpfr_init2(value_, 200); }
  explicit Exact(double x) : Exact() { mpfr_set_d(value_, x, MPFR_RNDN); }
  ~Exact() { mpfr_clear(value_); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  operator mpfr_ptr() { return value_; }  // NOLINT: it stands for what MPFR's functions take

 private:
  mpfr_t value_;
};

using Unary = void (*)(mpfr_ptr result, mpfr_ptr x);
using Binary = void (*)(mpfr_ptr result, mpfr_ptr x, mpfr_ptr y);

struct UnaryRow {
  const char* name;
  float (*f32)(float);
  double (*f64)(double);
  Unary reference;
  double bound32, bound64;  // in ulps of the result; documented in docs/math.md
};
struct BinaryRow {
  const char* name;
  float (*f32)(float, float);
  double (*f64)(double, double);
  Binary reference;
  double bound32, bound64;
  bool scaled_by_operands = false;  // ulps are those of the greater operand, if that is greater
};

void sigmoid(mpfr_ptr r, mpfr_ptr x) {
  mpfr_neg(r, x, MPFR_RNDN);
  mpfr_exp(r, r, MPFR_RNDN);
  mpfr_add_ui(r, r, 1, MPFR_RNDN);
  mpfr_ui_div(r, 1, r, MPFR_RNDN);
}
void softplus(mpfr_ptr r, mpfr_ptr x) {
  if (mpfr_cmp_ui(x, 1000) > 0) {  // e^x may be too great even for MPFR
    mpfr_set(r, x, MPFR_RNDN);
    return;
  }
  mpfr_exp(r, x, MPFR_RNDN);
  mpfr_log1p(r, r, MPFR_RNDN);
}
// Of functions x f(x), whose limit at minus infinity is -0.
void times_x(mpfr_ptr r, mpfr_ptr x) {
  if (mpfr_inf_p(x) && mpfr_sgn(x) < 0)
    mpfr_set_zero(r, -1);
  else
    mpfr_mul(r, r, x, MPFR_RNDN);
}
void silu(mpfr_ptr r, mpfr_ptr x) {
  sigmoid(r, x);
  times_x(r, x);
}
void mish(mpfr_ptr r, mpfr_ptr x) {
  softplus(r, x);
  mpfr_tanh(r, r, MPFR_RNDN);
  times_x(r, x);
}
void gelu(mpfr_ptr r, mpfr_ptr x) {
  Exact root(0.5);
  mpfr_sqrt(root, root, MPFR_RNDN);
  mpfr_mul(r, x, root, MPFR_RNDN);
  mpfr_neg(r, r, MPFR_RNDN);
  mpfr_erfc(r, r, MPFR_RNDN);
  mpfr_div_2ui(r, r, 1, MPFR_RNDN);
  times_x(r, x);
}
void logaddexp(mpfr_ptr r, mpfr_ptr x, mpfr_ptr y) {
  if (mpfr_nan_p(x) || mpfr_nan_p(y)) return mpfr_set_nan(r);
  const bool less = mpfr_less_p(x, y) != 0;
  mpfr_ptr greater = less ? y : x;
  if (mpfr_inf_p(greater) || mpfr_equal_p(x, y)) {
    Exact ln2;
    mpfr_const_log2(ln2, MPFR_RNDN);
    mpfr_add(r, greater, ln2, MPFR_RNDN);
    return;
  }
  mpfr_sub(r, less ? x : y, greater, MPFR_RNDN);
  mpfr_exp(r, r, MPFR_RNDN);
  mpfr_log1p(r, r, MPFR_RNDN);
  mpfr_add(r, r, greater, MPFR_RNDN);
}
void reciprocal_root(mpfr_ptr r, mpfr_ptr x) {
  mpfr_sqrt(r, x, MPFR_RNDN);  // keeps the sign of zero, which mpfr_rec_sqrt does not
  mpfr_ui_div(r, 1, r, MPFR_RNDN);
}

#define SLUICE_UNARY_OF(name, reference, bound32, bound64) \
  { #name, m::name < float>, m::name < double>, reference, bound32, bound64 }
#define SLUICE_UNARY(name, bound32, bound64) \
  SLUICE_UNARY_OF(                           \
      name, [](mpfr_ptr r, mpfr_ptr x) { mpfr_##name(r, x, MPFR_RNDN); }, bound32, bound64)
#define SLUICE_BINARY(name, bound32, bound64)                                                 \
  {                                                                                           \
#name, m::name < float>, m::name < double>,                                               \
        [](mpfr_ptr r, mpfr_ptr x, mpfr_ptr y) { mpfr_##name(r, x, y, MPFR_RNDN); }, bound32, \
                                                                                  bound64     \
  }

const UnaryRow kUnary[] = {
    SLUICE_UNARY(exp, 1.1, 1.1),
    SLUICE_UNARY(exp2, 1.0, 1.1),
    SLUICE_UNARY(expm1, 2.0, 2.0),
    SLUICE_UNARY(log, 1.0, 1.1),
    SLUICE_UNARY(log2, 1.5, 1.1),
    SLUICE_UNARY(log10, 1.1, 1.1),
    SLUICE_UNARY(log1p, 1.6, 2.0),
    SLUICE_UNARY_OF(rsqrt, reciprocal_root, 1.5, 1.5),
    SLUICE_UNARY(sin, 1.0, 1.1),
    SLUICE_UNARY(cos, 1.0, 1.1),
    SLUICE_UNARY(tan, 1.0, 1.1),
    SLUICE_UNARY(asin, 1.0, 1.1),
    SLUICE_UNARY(acos, 1.0, 1.1),
    SLUICE_UNARY(atan, 1.0, 1.1),
    SLUICE_UNARY(sinh, 2.0, 2.0),
    SLUICE_UNARY(cosh, 2.0, 2.0),
    SLUICE_UNARY(tanh, 3.0, 3.0),
    SLUICE_UNARY(asinh, 2.0, 3.0),
    SLUICE_UNARY(acosh, 2.5, 3.0),
    SLUICE_UNARY(atanh, 2.0, 2.0),
    SLUICE_UNARY(erf, 2.0, 1.0),
    SLUICE_UNARY(erfc, 4.0, 3.5),
    SLUICE_UNARY_OF(sigmoid, sigmoid, 2.5, 3.0),
    SLUICE_UNARY_OF(silu, silu, 3.5, 4.0),
    SLUICE_UNARY_OF(softplus, softplus, 2.0, 3.0),
    SLUICE_UNARY_OF(gelu, gelu, 5.5, 6.0),
    SLUICE_UNARY_OF(mish, mish, 4.0, 5.0),
};

const BinaryRow kBinary[] = {
    SLUICE_BINARY(pow, 1.0, 1.1),
    SLUICE_BINARY(atan2, 1.0, 1.0),
    SLUICE_BINARY(hypot, 1.0, 1.0),
    {"logaddexp", m::logaddexp<float>, m::logaddexp<double>, logaddexp, 3.0, 3.0, true},
};

// The format that results are rounded to.
struct Format {
  int digits;        // of the mantissa, the leading one included
  int min_exponent;  // of the least normal number, 2^min_exponent
  int max_exponent;  // of the greatest power of two
};
constexpr Format kFloat16Format = {11, -14, 15}, kBFloat16Format = {8, -126, 127};
template <typename T>
constexpr Format kFormat = {std::numeric_limits<T>::digits,
                            std::numeric_limits<T>::min_exponent - 1,
                            std::numeric_limits<T>::max_exponent - 1};

// The distance of `got` from `expected` in units of the last place at the greater of `expected` and
// 2^scale_exponent. Infinite if a NaN, an infinity or the sign of a zero differs. Infinity is the
// number that follows the greatest finite one.
double ulp_error(double got, mpfr_ptr expected, const Format& format, int64_t scale_exponent) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (mpfr_nan_p(expected) || std::isnan(got))
    return mpfr_nan_p(expected) && std::isnan(got) ? 0 : kWrong;
  if (mpfr_inf_p(expected))
    return std::isinf(got) && (got > 0) == (mpfr_sgn(expected) > 0) ? 0 : kWrong;
  if (mpfr_zero_p(expected)) {
    return got == 0 && std::signbit(got) == (mpfr_signbit(expected) != 0) ? 0 : kWrong;
  }
  const bool is_scaled = scale_exponent >= mpfr_get_exp(expected);
  if (!is_scaled && std::signbit(got) != (mpfr_signbit(expected) != 0)) return kWrong;
  int64_t exponent = mpfr_get_exp(expected) - 1;
  Exact difference, limit(1);
  mpfr_mul_2si(limit, limit, format.max_exponent + 1, MPFR_RNDN);
  if (exponent > format.max_exponent) {
    mpfr_copysign(difference, limit, expected, MPFR_RNDN);
  } else {
    mpfr_set(difference, expected, MPFR_RNDN);
  }
  if (std::isinf(got)) {
    mpfr_copysign(limit, limit, expected, MPFR_RNDN);
    mpfr_sub(difference, difference, limit, MPFR_RNDN);
  } else {
    mpfr_sub_d(difference, difference, got, MPFR_RNDN);
  }
  exponent = std::max(exponent, scale_exponent);
  exponent = std::clamp<int64_t>(exponent, format.min_exponent, format.max_exponent);
  mpfr_mul_2si(difference, difference, format.digits - 1 - exponent, MPFR_RNDN);
  return std::abs(mpfr_get_d(difference, MPFR_RNDN));
}

// Special values, ends of ranges, and what is next to them.
template <typename T>
std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> result = {0, Limits::infinity(), Limits::quiet_NaN()};
  std::vector<double> centres = {
      Limits::denorm_min(), Limits::min(), Limits::epsilon(), Limits::max(), 0.5, 1, 1.5, 2, 3, 10,
      0x1p17, 0x1p22, 0x1p24, 0x1p40, 0x1p51, 0x1p53, 0x1p60,
      // Where results overflow, vanish, or are a constant.
      88.722839, 89.415985, 103.972084, 104, 128, 149, 150, 709.782712893384, 710.475860073944,
      745.133219101941, 1022, 1024, 1074, 1075, 10.05, 26.54, 3.92, 5.86, 9.01, 19.06, 20,
      0.70710678118654752, 1.57079632679489662, 3.14159265358979324, 6381956970095103e0};
  for (double centre : centres) {
    const T x = static_cast<T>(centre);
    for (const T near : {std::nextafter(x, T(0)), x, std::nextafter(x, Limits::infinity())}) {
      result.push_back(near);
    }
  }
  const size_t n = result.size();
  for (size_t i = 0; i < n; ++i) result.push_back(-result[i]);
  return result;
}

template <typename T>
T of_random_bits(std::mt19937_64& random) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(static_cast<uint32_t>(random()));
  else
    return std::bit_cast<double>(random());
}

int64_t exponent_of(double x) {
  return x == 0 || !std::isfinite(x) ? std::numeric_limits<int64_t>::min() : std::ilogb(x);
}

// Calls function(x, y), y of several scales.
template <typename T, typename F>
void for_each_pair(F function) {
  const std::vector<T> special = edges<T>();
  for (const T x : special) {
    for (const T y : special) function(x, y);
  }
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 4000; ++i) {
    function(of_random_bits<T>(random), of_random_bits<T>(random));
    const double exponents = sizeof(T) == 4 ? 120 : 1000;
    const T x = static_cast<T>(std::exp2((2 * unit(random) - 1) * exponents));
    function(x, static_cast<T>((2 * unit(random) - 1) * exponents / std::log2(x)));
    function(static_cast<T>(8 * unit(random) - 4), static_cast<T>(8 * unit(random) - 4));
    function(static_cast<T>(1 + 1e-5 * unit(random)), static_cast<T>(1e7 * unit(random)));
    function(x, static_cast<T>(x * (0.5 + unit(random))));
  }
}

template <typename T, typename Row, typename F>
void check_unary(const Row& row, F f, double bound) {
  std::vector<T> inputs = edges<T>();
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> near(-30, 30), exponent(-40, 45), unit(-1, 1);
  for (int i = 0; i < 3000; ++i) {
    inputs.push_back(of_random_bits<T>(random));
    inputs.push_back(static_cast<T>(near(random)));
    inputs.push_back(static_cast<T>(unit(random)));
    inputs.push_back(static_cast<T>(unit(random) * std::exp2(exponent(random))));
  }
  double worst = 0;
  T where = 0;
  Exact result;
  for (const T x : inputs) {
    Exact operand(x);
    row.reference(result, operand);
    const double error = ulp_error(f(x), result, kFormat<T>, std::numeric_limits<int64_t>::min());
    if (error > worst) worst = error, where = x;
  }
  EXPECT_LE(worst, bound) << row.name << " of " << 8 * sizeof(T) << " bits at " << std::hexfloat
                          << where << " gave " << f(where);
}

template <typename T, typename F>
void check_binary(const BinaryRow& row, F f, double bound) {
  double worst = 0;
  T where_x = 0, where_y = 0;
  Exact result;
  for_each_pair<T>([&](T x, T y) {
    Exact first(x), second(y);
    row.reference(result, first, second);
    const int64_t scale = row.scaled_by_operands ? std::max(exponent_of(x), exponent_of(y))
                                                 : std::numeric_limits<int64_t>::min();
    const double error = ulp_error(f(x, y), result, kFormat<T>, scale);
    if (error > worst) worst = error, where_x = x, where_y = y;
  });
  EXPECT_LE(worst, bound) << row.name << " of " << 8 * sizeof(T) << " bits at " << std::hexfloat
                          << where_x << ", " << where_y << " gave " << f(where_x, where_y);
}

TEST(MathEdges, Float32) {
  for (const UnaryRow& row : kUnary) check_unary<float>(row, row.f32, row.bound32);
  for (const BinaryRow& row : kBinary) check_binary<float>(row, row.f32, row.bound32);
}

TEST(MathEdges, Float64) {
  for (const UnaryRow& row : kUnary) check_unary<double>(row, row.f64, row.bound64);
  for (const BinaryRow& row : kBinary) check_binary<double>(row, row.f64, row.bound64);
}

float of_float16_bits(uint32_t half) {
  const uint32_t sign = half >> 15 << 31, rest = half & 0x7fff;
  // The exponent's bias is 127 - 15 greater; infinities and NaN have the greatest exponent.
  const float magnitude = rest < 0x7c00 ? std::bit_cast<float>(rest << 13) * 0x1p112f
                                        : std::bit_cast<float>(0x7f800000 | (rest & 0x3ff) << 13);
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

// Half types compute in float32 and round: half a unit, and what float32 was off.
TEST(MathEdges, Halves) {
  for (const bool is_bfloat : {false, true}) {
    const Format format = is_bfloat ? kBFloat16Format : kFloat16Format;
    const auto round = is_bfloat ? m::round_to_bfloat16<float> : m::round_to_float16<float>;
    for (const UnaryRow& row : kUnary) {
      double worst = 0;
      float where = 0;
      Exact result;
      for (uint32_t bits = 0; bits < 1 << 16; bits += 5) {
        const float x = is_bfloat ? std::bit_cast<float>(bits << 16) : of_float16_bits(bits);
        Exact operand(x);
        row.reference(result, operand);
        const double error =
            ulp_error(round(row.f32(x)), result, format, std::numeric_limits<int64_t>::min());
        if (error > worst) worst = error, where = x;
      }
      const double float_ulps = row.bound32 * std::exp2(format.digits - 24);
      EXPECT_LE(worst, 0.5 + float_ulps)
          << row.name << " at " << where << " of format " << is_bfloat;
    }
  }
}

// Whatever they are rounded to is the nearest float16, or nearly as near.
TEST(MathEdges, FormsForFloat16) {
  struct Form {
    std::string name;
    float (*f)(float);
  };
  const Form forms[] = {
#define SLUICE_FLOAT16_FORM(id, function) {#function, m::of_float16::function<float>},
#include "kernels/math/float16_forms.def"
  };
  for (const Form& form : forms) {
    const auto* row = std::find_if(std::begin(kUnary), std::end(kUnary),
                                   [&](const UnaryRow& unary) { return form.name == unary.name; });
    ASSERT_NE(row, std::end(kUnary)) << form.name;
    Exact result;
    for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
      const float x = of_float16_bits(bits);
      Exact operand(x);
      row->reference(result, operand);
      const double error = ulp_error(m::round_to_float16(form.f(x)), result, kFloat16Format,
                                     std::numeric_limits<int64_t>::min());
      EXPECT_LE(error, 0.501) << form.name << " at " << x;
    }
  }
}

template <typename T>
void check_exact_powers() {
  using Limits = std::numeric_limits<T>;
  for (int n = Limits::min_exponent - Limits::digits; n < Limits::max_exponent; ++n) {
    const T power = std::ldexp(T(1), n);
    EXPECT_EQ(m::pow(T(2), T(n)), power) << n;
    EXPECT_EQ(m::pow(T(0.5), T(-n)), power) << n;
    EXPECT_EQ(m::exp2(T(n)), power) << n;
    EXPECT_EQ(m::pow(power, T(1)), power) << n;
    EXPECT_EQ(m::pow(-power, T(1)), -power) << n;
  }
  EXPECT_EQ(m::pow(Limits::max(), T(1)), Limits::max());
  EXPECT_EQ(m::pow(-Limits::max(), T(1)), -Limits::max());
  EXPECT_EQ(m::pow(Limits::denorm_min(), T(1)), Limits::denorm_min());
  for (int base = -12; base <= 4000; ++base) {
    EXPECT_EQ(m::pow(T(base), T(2)), T(base) * T(base));
    EXPECT_EQ(m::pow(T(base), T(0)), T(1));
    EXPECT_EQ(m::pow(T(base), T(1)), T(base));
    EXPECT_EQ(m::pow(T(base) * T(base), T(0.5)), T(std::abs(base)));
    const int small = base % 12;
    EXPECT_EQ(m::pow(T(small), T(5)), T(small * small * small * small * small));
  }
}

TEST(MathEdges, ExactPowersAreExact) {
  check_exact_powers<float>();
  check_exact_powers<double>();
}

}  // namespace
}  // namespace sluice
