// Random numbers: the same for a seed whatever runs between, and distributed as they say.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// Several calls of each kind in one program.
std::vector<std::vector<uint8_t>> draw(uint64_t seed) {
  manual_seed(seed);
  const Tensor a = rand({1000});
  const Tensor b = randn({33, 7});
  const Tensor c = randint(-3, 12, {500});
  const Tensor d = rand({100}, DType::kFloat64) + a.slice(0, 0, 100);
  const Tensor e = randn({50}, DType::kFloat16);
  const Tensor f = randn({51}, DType::kFloat64);
  const Tensor g = rand({40}, DType::kBFloat16) * 2.f;
  const Tensor h = randint(0, 100, {64}, DType::kInt8);
  std::vector<std::vector<uint8_t>> results;
  for (const Tensor& t : {d, c, b, a, e, f, g, h}) results.push_back(read_bytes(t));
  return results;
}

TEST(Random, TheSameSeedGivesTheSameNumbersInEveryMode) {
  const auto expected = draw(42);
  EXPECT_NE(draw(43), expected);
  EXPECT_EQ(draw(42), expected);
  const ConfigGuard guard;
  for (bool fuse : {false, true}) {
    for (CompileMode compile : {CompileMode::kOff, CompileMode::kBlocking}) {
      for (int64_t window : {1, 2, 3, 5, 1000}) {
        config().fuse = fuse;
        config().compile = compile;
        config().window_ops = window;
        EXPECT_EQ(draw(42), expected) << fuse << static_cast<int>(compile) << " " << window;
      }
    }
  }
}

TEST(Random, OtherWorkBetweenChangesNothing) {
  manual_seed(9);
  const auto first = rand({10}).to_vector<float>();
  const auto second = rand({10}).to_vector<float>();
  EXPECT_NE(first, second);
  manual_seed(9);
  const Tensor a = rand({10});
  static_cast<void>((exp(zeros({100})) + 1.f).to_vector<float>());
  const Tensor b = rand({10});
  EXPECT_EQ(b.to_vector<float>(), second);
  EXPECT_EQ(a.to_vector<float>(), first);
}

TEST(Random, ElementsDependOnTheirIndexAlone) {
  manual_seed(5);
  const auto few = randn({100}).to_vector<float>();
  manual_seed(5);
  const auto many = randn({40, 50}).to_vector<float>();
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  manual_seed(5);
  EXPECT_EQ(randn({2000}).slice(0, 50, 60).to_vector<float>(),
            (std::vector<float>(many.begin() + 50, many.begin() + 60)));
}

TEST(Random, AResultReadTwiceIsTheSame) {
  const Tensor x = rand({100});
  const Tensor y = x + 1.f, z = x - 1.f;
  const auto a = y.to_vector<float>();
  const auto b = x.to_vector<float>();
  const auto c = z.to_vector<float>();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(a[i], b[i] + 1.f);
    EXPECT_EQ(c[i], b[i] - 1.f);
  }
}

// The greatest distance of the empirical distribution from `cdf`, in units that are below 1.95 with
// probability 0.999 (Kolmogorov).
template <typename T, typename F>
double kolmogorov(std::vector<T> values, F cdf) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double greatest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double p = cdf(static_cast<double>(values[i]));
    greatest = std::max({greatest, std::fabs(p - static_cast<double>(i) / n),
                         std::fabs(p - static_cast<double>(i + 1) / n)});
  }
  return greatest * std::sqrt(n);
}

double uniform_cdf(double x) { return std::clamp(x, 0.0, 1.0); }
double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(Random, Distributions) {
  manual_seed(1);
  EXPECT_LT(kolmogorov(rand({100000}).to_vector<float>(), uniform_cdf), 1.95);
  EXPECT_LT(kolmogorov(rand({100000}, DType::kFloat64).to_vector<double>(), uniform_cdf), 1.95);
  EXPECT_LT(kolmogorov(randn({100000}).to_vector<float>(), normal_cdf), 1.95);
  EXPECT_LT(kolmogorov(randn({100000}, DType::kFloat64).to_vector<double>(), normal_cdf), 1.95);
}

TEST(Random, UniformStaysBelowOne) {
  for (DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    const Tensor x = rand({200000}, dtype);
    EXPECT_TRUE(all(x >= 0.f).item<bool>()) << name_of(dtype);
    EXPECT_TRUE(all(x < 1.f).item<bool>()) << name_of(dtype);
  }
}

TEST(Random, NormalMoments) {
  manual_seed(2);
  const auto x = randn({200000}).to_vector<float>();
  double sums[5] = {};
  for (double v : x) {
    for (int k = 1; k <= 4; ++k) sums[k] += std::pow(v, k);
  }
  const double n = static_cast<double>(x.size());
  EXPECT_NEAR(sums[1] / n, 0, 0.01);
  EXPECT_NEAR(sums[2] / n, 1, 0.015);
  EXPECT_NEAR(sums[3] / n, 0, 0.04);
  EXPECT_NEAR(sums[4] / n, 3, 0.1);
}

TEST(Random, NeighboursAndCallsAreUncorrelated) {
  manual_seed(3);
  const auto a = rand({100000}).to_vector<float>();
  const auto b = rand({100000}).to_vector<float>();
  double same = 0, next = 0;
  for (size_t i = 0; i + 1 < a.size(); ++i) {
    same += (a[i] - 0.5) * (b[i] - 0.5);
    next += (a[i] - 0.5) * (a[i + 1] - 0.5);
  }
  EXPECT_NEAR(12 * same / 1e5, 0, 0.02);
  EXPECT_NEAR(12 * next / 1e5, 0, 0.02);
}

TEST(Random, IntegersStayInTheirBounds) {
  manual_seed(4);
  const auto x = randint(-2, 3, {50000}).to_vector<int64_t>();
  int64_t counts[5] = {};
  for (int64_t v : x) {
    ASSERT_GE(v, -2);
    ASSERT_LT(v, 3);
    ++counts[v + 2];
  }
  for (int64_t count : counts) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(randint(7, 8, {3}).to_vector<int64_t>(), (std::vector<int64_t>{7, 7, 7}));
  EXPECT_EQ(randint(0, 256, {10}, DType::kUInt8).dtype(), DType::kUInt8);
  const auto wide = randint(INT64_MIN, INT64_MAX, {1000}).to_vector<int64_t>();
  EXPECT_GT(std::count_if(wide.begin(), wide.end(), [](int64_t v) { return v < 0; }), 400);
  EXPECT_LT(std::count_if(wide.begin(), wide.end(), [](int64_t v) { return v < 0; }), 600);
}

}  // namespace
}  // namespace sluice::test
