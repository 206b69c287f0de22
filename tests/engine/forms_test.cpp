// Ops that compiled code has other forms of where all numbers of a vector are ordinary, where an
// operand is the same for all, or where the processor lacks an instruction: at the limits of those
// forms, alone in vectors and mixed, in both tiers.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

constexpr int64_t kVector = 64;  // at least as many lanes as there are
constexpr int64_t kLengths[] = {1, 3, 4, 7, 37, 100};

template <typename T>
Tensor tensor_of(const std::vector<T>& values) {
  return Tensor::from(std::span<const T>(values), {static_cast<int64_t>(values.size())});
}

// Each number fills a vector, or they take turns; and few of each.
template <typename T>
std::vector<std::vector<T>> arranged(const std::vector<T>& numbers) {
  std::vector<std::vector<T>> all(2);
  for (size_t i = 0; i < numbers.size() * kVector; ++i) {
    all[0].push_back(numbers[i / kVector]);
    all[1].push_back(numbers[i % numbers.size()]);
  }
  for (const int64_t n : kLengths) all.emplace_back(all[1].begin(), all[1].begin() + n);
  return all;
}

template <typename T>
void expect_values(const std::function<Tensor()>& program, const std::vector<T>& expected,
                   const std::string& what) {
  const ConfigGuard guard;
  for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
    config().compile = mode;
    const std::vector<T> results = program().to_vector<T>();
    ASSERT_EQ(results.size(), expected.size());
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_EQ(results[i], expected[i])
          << what << " at " << i << ", mode " << static_cast<int>(mode);
    }
  }
}

void expect_alike(const std::function<Tensor()>& program, const std::string& what) {
  const ConfigGuard guard;
  config().compile = CompileMode::kOff;
  const std::vector<uint8_t> expected = read_bytes(program());
  config().compile = CompileMode::kBlocking;
  EXPECT_EQ(read_bytes(program()), expected) << what;
}

template <typename T>
T floor_quotient(T a, T b) {
  using U = std::make_unsigned_t<T>;
  if (b == 0) return 0;
  if (b == static_cast<T>(-1) && std::is_signed_v<T>)
    return static_cast<T>(U{0} - static_cast<U>(a));
  const T quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

template <typename T>
T floor_remainder(T a, T b) {
  if (b == 0 || (b == static_cast<T>(-1) && std::is_signed_v<T>)) return 0;
  const T remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

template <typename T>
void check_division() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> small = {0, 1, 2, 3, 7, 10, 999};
  for (const int bits : {20, 31, 32, 49, 50}) {
    for (const int offset : {-1, 0, 1}) small.push_back((T{1} << bits) + static_cast<T>(offset));
  }
  std::vector<T> great = {Limits::max(), Limits::max() - 1, Limits::max() / 3, Limits::min(),
                          static_cast<T>(Limits::min() + 1)};
  for (const int bits : {51, 52, 53, 62}) {
    for (const int offset : {-1, 0, 1}) great.push_back((T{1} << bits) + static_cast<T>(offset));
  }
  if (std::is_signed_v<T>) {
    for (std::vector<T>* numbers : {&small, &great}) {
      const std::vector<T> positive = *numbers;
      for (const T x : positive) numbers->push_back(static_cast<T>(0 - std::make_unsigned_t<T>(x)));
    }
  }
  std::vector<T> both = small;
  both.insert(both.end(), great.begin(), great.end());
  for (const std::vector<T>* divisors : {&small, &both}) {
    for (const std::vector<T>& x : arranged(*divisors)) {
      // Another divisor for each time that a dividend comes.
      std::vector<T> y(x.size()), quotients(x.size()), remainders(x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        y[i] = (*divisors)[(i * 7 + i / divisors->size()) % divisors->size()];
        quotients[i] = floor_quotient(x[i], y[i]);
        remainders[i] = floor_remainder(x[i], y[i]);
      }
      const Tensor a = tensor_of(x), b = tensor_of(y);
      expect_values<T>([&] { return floor_divide(a, b); }, quotients, "floor_divide");
      expect_values<T>([&] { return remainder(a, b); }, remainders, "remainder");
    }
  }
  for (const T divisor : both) {
    const std::vector<T>& x = both;
    std::vector<T> quotients, remainders;
    for (const T dividend : x) {
      quotients.push_back(floor_quotient(dividend, divisor));
      remainders.push_back(floor_remainder(dividend, divisor));
    }
    const Tensor a = tensor_of(x), b = tensor_of(std::vector<T>{divisor});
    expect_values<T>([&] { return floor_divide(a, b); }, quotients, "floor_divide by one");
    expect_values<T>([&] { return remainder(a, b); }, remainders, "remainder by one");
  }
}

TEST(Forms, DivisionOfWideIntegers) {
  check_division<int64_t>();
  check_division<uint64_t>();
}

// Truncated, saturated, and 0 for NaN.
template <typename To, typename From>
To converted(From x) {
  if (std::isnan(x)) return 0;
  if (x < static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  // The limit itself may be rounded up.
  if (x >= 2 * static_cast<From>(std::numeric_limits<To>::max() / 2 + 1)) {
    return std::numeric_limits<To>::max();
  }
  return static_cast<To>(x);
}

template <typename To, typename From>
void check_conversion() {
  using Limits = std::numeric_limits<From>;
  std::vector<From> numbers = {0,
                               From(0.25),
                               From(0.75),
                               1,
                               1.5,
                               2,
                               Limits::min(),
                               Limits::denorm_min(),
                               Limits::max(),
                               Limits::infinity(),
                               Limits::quiet_NaN()};
  for (int exponent = 7; exponent <= 65; ++exponent) {
    const From power = std::ldexp(From(1), exponent);
    for (const From x : {power, power / 3, power - From(0.5), power + From(0.5), power + 1,
                         std::nextafter(power, From(0)), std::nextafter(power, Limits::max())}) {
      numbers.push_back(x);
    }
  }
  const std::vector<From> positive = numbers;
  for (const From x : positive) numbers.push_back(-x);
  for (const std::vector<From>& x : arranged(numbers)) {
    std::vector<To> expected;
    for (const From value : x) expected.push_back(converted<To>(value));
    const Tensor from = tensor_of(x);
    expect_values<To>([&] { return astype(from, dtype_of<To>()); }, expected, "cast");
  }
}

TEST(Forms, ConversionsOfFloats) {
  check_conversion<int64_t, float>();
  check_conversion<int64_t, double>();
  check_conversion<uint64_t, float>();
  check_conversion<uint64_t, double>();
  check_conversion<int32_t, float>();
  check_conversion<int8_t, float>();
}

template <typename T>
std::vector<T> strange_numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers = {0,
                            Limits::denorm_min(),
                            Limits::min(),
                            T(1e-30),
                            T(0.001),
                            T(0.4),
                            1,
                            T(1.5),
                            T(3.7),
                            T(26),
                            T(1e20),
                            T(1e37),
                            Limits::max(),
                            Limits::infinity(),
                            Limits::quiet_NaN()};
  const std::vector<T> positive = numbers;
  for (const T x : positive) numbers.push_back(-x);
  return numbers;
}

template <typename T>
void check_extremes() {
  const std::vector<T> numbers = strange_numbers<T>();
  const Tensor x = tensor_of(numbers);
  for (const T low : numbers) {
    // Of operands that vary compiled code has another form.
    const Tensor bound = tensor_of(std::vector<T>{low});
    const Tensor bounds = tensor_of(std::vector<T>(numbers.size(), low));
    const ConfigGuard guard;
    config().compile = CompileMode::kBlocking;
    EXPECT_EQ(read_bytes(maximum(x, bound)), read_bytes(maximum(x, bounds))) << low;
    EXPECT_EQ(read_bytes(maximum(bound, x)), read_bytes(maximum(bounds, x))) << low;
    EXPECT_EQ(read_bytes(minimum(x, bound)), read_bytes(minimum(x, bounds))) << low;
    EXPECT_EQ(read_bytes(minimum(bound, x)), read_bytes(minimum(bounds, x))) << low;
    expect_alike([&] { return maximum(x, bound); }, "maximum");
    expect_alike([&] { return minimum(x, bound); }, "minimum");
    for (const T high : {T(0), T(-0.0), T(0.5), std::numeric_limits<T>::quiet_NaN()}) {
      const Tensor other = tensor_of(std::vector<T>{high});
      expect_alike([&] { return minimum(maximum(x, bound), other); }, "clip");
    }
  }
}

TEST(Forms, ExtremesWithOneNumber) {
  check_extremes<float>();
  check_extremes<double>();
}

template <typename T>
void check_functions() {
  const std::vector<T> numbers = strange_numbers<T>();
  for (const std::vector<T>& values : arranged(numbers)) {
    const Tensor x = tensor_of(values);
    std::vector<T> others(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      others[i] = numbers[(i * 11 + i / 64) % numbers.size()];
    const Tensor y = tensor_of(others);
    expect_alike([&] { return hypot(x, y); }, "hypot");
    expect_alike([&] { return erf(x); }, "erf");
    expect_alike([&] { return erfc(x); }, "erfc");
    expect_alike([&] { return log2(x); }, "log2");
    expect_alike([&] { return log10(x); }, "log10");
  }
  // Every piece of those that are computed by pieces.
  std::vector<T> dense;
  for (int i = -700; i < 700; ++i) dense.push_back(static_cast<T>(i) / 100);
  const Tensor x = tensor_of(dense);
  expect_alike([&] { return erf(x); }, "erf");
  expect_alike([&] { return erfc(x); }, "erfc");
  expect_alike([&] { return log2(x); }, "log2");
  expect_alike([&] { return log10(x); }, "log10");
  expect_alike([&] { return hypot(x, T(1) / x); }, "hypot");
}

TEST(Forms, FunctionsOfStrangeNumbers) {
  check_functions<float>();
  check_functions<double>();
}

// What is gathered along a recurrence is computed with its steps: a body that needs too many
// registers is emitted in another order than it has.
TEST(Forms, CountsAlongARecurrence) {
  const Tensor start = tensor_of(std::vector<double>{-1.7, -0.9, -0.1, 0.0, 0.25, 0.6, 1.1});
  for (const Tensor& re : {start, start.astype(DType::kFloat32)}) {
    const Tensor im = expand_dims(re * 0.7f, 1);
    expect_alike(
        [&] {
          Tensor x = re + 0 * im, y = im + 0 * re, count = zeros_like(x), path = x;
          for (int i = 0; i < 20; ++i) {
            const Tensor next = x * x - y * y + re;
            y = clip(2 * x * y + im, -4, 4);
            x = clip(next, -4, 4);
            count = where(x * x + y * y < 4, count + 1, count);
            path = path - x * y;
          }
          return concat({count, path}, 0);
        },
        "counts");
  }
}

// Bits of halves, which are not converted: NaN becomes canonical all the same.
TEST(Forms, SignsOfHalves) {
  auto check = [&]<typename Half>() {
    std::vector<Half> halves(1 << 16);
    for (size_t i = 0; i < halves.size(); ++i) halves[i].bits = static_cast<uint16_t>(i);
    const Tensor x = tensor_of(halves), is_first = x < Half(1.f);
    const Tensor wide = x.astype(DType::kFloat32);
    auto expect = [&](const Tensor& result, const Tensor& of_floats) {
      EXPECT_EQ(read_bytes(result), read_bytes(of_floats.astype(dtype_of<Half>())));
    };
    for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
      const ConfigGuard guard;
      config().compile = mode;
      expect(-x, -wide);
      expect(abs(x), abs(wide));
      expect(-abs(x), -abs(wide));
      expect(where(is_first, -x, abs(x)), where(is_first, -wide, abs(wide)));
    }
  };
  check.operator()<float16>();
  check.operator()<bfloat16>();
}

}  // namespace
}  // namespace sluice::test
