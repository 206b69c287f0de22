// Distributions, permutations and samples: as they are said to be, the same for a seed in every
// mode and by every generator.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using Code = ErrorCode;

// One of each call.
std::vector<std::vector<uint8_t>> draw(Generator g) {
  std::vector<std::vector<uint8_t>> results;
  const Tensor weights = Tensor::from({1.f, 0.f, 2.f, 5.f, 0.5f});
  for (const Tensor& x :
       {g.rand({50}), g.randn({50}), g.randint(0, 9, {50}), g.normal(1, 2, {50}),
        g.exponential(3, {50}, DType::kFloat64), g.gamma(0.5, 2, {50}), g.gamma(4, 1, {50}),
        g.poisson(3.5, {50}), g.permutation(20), g.shuffle(arange(12).reshape(3, 4), 1),
        g.choice(arange(9), {5}, false), g.choice(arange(9), {5}), g.multinomial(weights, 30),
        g.multinomial(weights, 4, false), g.rand(3)}) {
    results.push_back(read_bytes(x));
  }
  return results;
}

TEST(Generators, GiveTheSameForASeedInEveryMode) {
  const auto expected = draw(Generator(7));
  EXPECT_NE(draw(Generator(8)), expected);
  const ConfigGuard guard;
  for (const bool fuse : {false, true}) {
    for (const CompileMode compile : {CompileMode::kOff, CompileMode::kBlocking}) {
      config().fuse = fuse;
      config().compile = compile;
      EXPECT_EQ(draw(Generator(7)), expected) << fuse << static_cast<int>(compile);
    }
  }
}

TEST(Generators, GiveWhatTheFunctionsGive) {
  Generator g(3);
  manual_seed(3);
  const auto same = [](const Tensor& a, const Tensor& b) {
    EXPECT_EQ(read_bytes(a), read_bytes(b));
  };
  same(g.rand({9}), rand({9}));
  same(g.gamma(2, 1, {9}), gamma(2, 1, {9}));
  same(g.poisson(2, {9}), poisson(2, {9}));
  same(g.permutation(9), permutation(9));
  same(g.multinomial(ones(4), 9), multinomial(ones(4), 9));
  same(g.normal(1, 2, {9}), normal(1, 2, {9}));
  same(g.exponential(2, {9}), exponential(2, {9}));
  same(g.shuffle(arange(9)), shuffle(arange(9)));
  same(g.choice(arange(9), {2}), choice(arange(9), {2}));
  same(g.randn({9}), randn({9}));
}

TEST(Generators, OnesOfTheirOwnMakeThreadsIndependent) {
  const auto expected = draw(Generator(1));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&] { wrong += draw(Generator(1)) != expected; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

constexpr int64_t kCount = 100000;

// The greatest distance from `cdf` in units that are below 1.95 with probability 0.999
// (Kolmogorov).
template <typename F>
double kolmogorov(const Tensor& x, F cdf) {
  std::vector<double> values = x.astype(DType::kFloat64).to_vector<double>();
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double greatest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double p = cdf(values[i]);
    greatest = std::max({greatest, std::fabs(p - static_cast<double>(i) / n),
                         std::fabs(p - static_cast<double>(i + 1) / n)});
  }
  return greatest * std::sqrt(n);
}

// Chi-square in standard deviations from its mean: of how often 0, 1, ... occur.
double excess(const Tensor& x, const std::vector<double>& probabilities) {
  const auto n = static_cast<double>(x.numel());
  std::vector<double> counts(probabilities.size());
  for (const int64_t value : x.astype(DType::kInt64).to_vector<int64_t>()) {
    if (value < 0 || value >= static_cast<int64_t>(counts.size())) return INFINITY;
    counts[static_cast<size_t>(value)] += 1;
  }
  double chi = 0, cells = 0, rest = 0, expected_rest = 0;
  for (size_t k = 0; k < counts.size(); ++k) {
    const double expected = n * probabilities[k];
    if (expected < 10) {
      rest += counts[k], expected_rest += expected;
      if (expected == 0 && counts[k] > 0) return INFINITY;
      continue;
    }
    chi += (counts[k] - expected) * (counts[k] - expected) / expected;
    cells += 1;
  }
  if (std::fabs(rest - expected_rest) > 5 * std::sqrt(expected_rest) + 5) return INFINITY;
  return cells < 2 ? 0 : (chi - (cells - 1)) / std::sqrt(2 * (cells - 1));
}

// The regularised lower incomplete gamma function, by its series.
double gamma_cdf(double k, double x) {
  if (x <= 0) return 0;
  double term = 1 / k, sum = term;
  for (int n = 1; n < 2000; ++n) sum += term *= x / (k + n);
  return std::min(1.0, sum * std::exp(-x + k * std::log(x) - std::lgamma(k)));
}

TEST(Distributions, Continuous) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    SCOPED_TRACE(name_of(dtype));
    Generator g(11);
    EXPECT_LT(kolmogorov(g.normal(3, 0.5, {kCount}, dtype),
                         [](double x) { return 0.5 * std::erfc((3 - x) / 0.5 / std::sqrt(2.)); }),
              1.95);
    EXPECT_LT(kolmogorov(g.exponential(2, {kCount}, dtype),
                         [](double x) { return 1 - std::exp(-x / 2); }),
              1.95);
    for (const double k : {0.2, 1., 2.5, 40.}) {
      EXPECT_LT(
          kolmogorov(g.gamma(k, 3, {kCount}, dtype), [&](double x) { return gamma_cdf(k, x / 3); }),
          1.95)
          << k;
    }
  }
}

TEST(Distributions, Moments) {
  Generator g(12);
  const auto check = [](const Tensor& x, double mean_of, double variance) {
    const Tensor wide = x.astype(DType::kFloat64);
    const double n = static_cast<double>(x.numel());
    EXPECT_NEAR(mean(wide).item<double>(), mean_of, 5 * std::sqrt(variance / n) + 1e-9);
    EXPECT_NEAR(var(wide).item<double>(), variance, variance * 50 / std::sqrt(n) + 1e-9);
  };
  check(g.normal(-1, 3, {kCount}), -1, 9);
  check(g.exponential(0.25, {kCount}), 0.25, 0.0625);
  check(g.gamma(0.1, 2, {kCount}), 0.2, 0.4);
  check(g.gamma(1000, 0.5, {kCount}), 500, 250);
  check(g.poisson(0, {kCount}), 0, 0);
  check(g.poisson(0.01, {kCount}), 0.01, 0.01);
  check(g.poisson(1e5, {kCount}), 1e5, 1e5);
  check(g.poisson(1e10, {kCount}), 1e10, 1e10);
  check(g.normal(5, 0, {10}), 5, 0);
  check(g.exponential(0, {10}), 0, 0);
}

TEST(Distributions, Poisson) {
  Generator g(13);
  for (const double mean_of : {0.5, 3., 27.5, 300.}) {
    std::vector<double> probabilities;
    for (int k = 0; k < 600; ++k) {
      probabilities.push_back(std::exp(k * std::log(mean_of) - mean_of - std::lgamma(k + 1.)));
    }
    EXPECT_LT(excess(g.poisson(mean_of, {kCount}), probabilities), 5) << mean_of;
  }
}

TEST(Distributions, DTypes) {
  Generator g(14);
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    for (const Tensor& x : {g.normal(0, 1, {3, 0}, dtype), g.exponential(1, {3, 2}, dtype),
                            g.gamma(2, 1, {3, 2}, dtype), g.poisson(2, {3, 2}, dtype)}) {
      EXPECT_EQ(x.dtype(), dtype);
      EXPECT_TRUE(all(x >= 0).item<bool>());
    }
  }
  EXPECT_EQ(g.poisson(2, {3}, DType::kInt8).dtype(), DType::kInt8);
}

TEST(Samples, PermutationsAreEquallyLikely) {
  Generator g(15);
  std::map<std::vector<int64_t>, int> counts;
  for (int i = 0; i < 2400; ++i) counts[g.permutation(4).to_vector<int64_t>()] += 1;
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 100, 50);
  EXPECT_EQ(g.permutation(0).numel(), 0);
  std::vector<int64_t> many = g.permutation(10000).to_vector<int64_t>();
  EXPECT_FALSE(std::is_sorted(many.begin(), many.end()));
  std::sort(many.begin(), many.end());
  EXPECT_EQ(many, arange(10000).to_vector<int64_t>());
}

TEST(Samples, ShuffleMovesWholeRows) {
  Generator g(16);
  const Tensor x = arange(60).reshape(20, 3);
  const Tensor y = g.shuffle(x);
  EXPECT_EQ(y.shape(), x.shape());
  EXPECT_TRUE(all(y(Slice{}, 1) == y(Slice{}, 0) + 1).item<bool>());
  EXPECT_EQ(sum(y).item<int>(), 59 * 30);
  EXPECT_FALSE(all(y == x).item<bool>());
}

TEST(Samples, Choice) {
  Generator g(17);
  EXPECT_EQ(g.choice(arange(60).reshape(20, 3), {2, 4}).shape(), (Shape{2, 4, 3}));
  EXPECT_LT(excess(g.choice(arange(10), {kCount}), std::vector<double>(10, 0.1)), 5);
  const auto few = g.choice(arange(10), {10}, false).to_vector<int64_t>();
  EXPECT_EQ(std::set<int64_t>(few.begin(), few.end()).size(), 10u);
  std::vector<int64_t> drawn;
  for (int i = 0; i < 3000; ++i) {
    for (const int64_t each : g.choice(arange(10), {3}, false).to_vector<int64_t>()) {
      drawn.push_back(each);
    }
  }
  EXPECT_LT(excess(Tensor::from(drawn), std::vector<double>(10, 0.1)), 5);
}

TEST(Samples, Multinomial) {
  Generator g(18);
  for (const int64_t n : {1, 2, 3, 7, 8, 9, 100}) {
    std::vector<double> weights;
    for (int64_t k = 0; k < n; ++k) weights.push_back(k % 3 == 1 ? 0. : static_cast<double>(k + 1));
    const double total = std::accumulate(weights.begin(), weights.end(), 0.);
    std::vector<double> probabilities;
    for (const double weight : weights) probabilities.push_back(weight / total);
    EXPECT_LT(excess(g.multinomial(Tensor::from(weights), kCount), probabilities), 5) << n;
  }
  const Tensor rows = Tensor::from({{1.f, 0.f, 0.f}, {0.f, 0.f, 9.f}});
  const Tensor drawn = g.multinomial(rows, 5);
  EXPECT_EQ(drawn.to_vector<int64_t>(), (std::vector<int64_t>{0, 0, 0, 0, 0, 2, 2, 2, 2, 2}));
  // Without replacement, the first is drawn as with it, and zeros never are.
  const Tensor weights = Tensor::from({1.f, 0.f, 2.f, 5.f});
  std::vector<int64_t> first;
  for (int i = 0; i < 4000; ++i) {
    const auto each = g.multinomial(weights, 3, false).to_vector<int64_t>();
    EXPECT_EQ(std::set<int64_t>(each.begin(), each.end()), (std::set<int64_t>{0, 2, 3}));
    first.push_back(each[0]);
  }
  EXPECT_LT(excess(Tensor::from(first), {0.125, 0, 0.25, 0.625}), 5);
}

TEST(Samples, Errors) {
  Generator g(19);
  const auto bad = [](auto f, const std::vector<std::string>& parts) {
    EXPECT_TRUE(fails_with(f, Code::kInvalidArgument, parts));
  };
  bad([&] { return g.normal(0, -1, {2}); }, {"normal", "std", "-1"});
  bad([&] { return g.normal(0, 1, {2}, DType::kInt32); }, {"normal", "int32"});
  bad([&] { return g.exponential(NAN, {2}); }, {"exponential", "scale"});
  bad([&] { return g.gamma(0, 1, {2}); }, {"gamma", "k", "0"});
  bad([&] { return g.poisson(-1, {2}); }, {"poisson", "-1"});
  bad([&] { return g.poisson(1e11, {2}); }, {"poisson", "1e+11"});
  bad([&] { return g.permutation(-1); }, {"permutation", "-1"});
  bad([&] { return g.shuffle(ones({2}), 1); }, {"shuffle", "float32(2,)"});
  bad([&] { return g.choice(ones({2}), {3}, false); }, {"choice", "3", "float32(2,)"});
  bad([&] { return g.multinomial(ones({2, 2, 2}), 3); }, {"multinomial", "float32(2, 2, 2)"});
  bad([&] { return g.multinomial(ones({2}), 3, false); }, {"multinomial", "3", "float32(2,)"});
  bad([&] { return g.multinomial(-ones({2}), 1, false); }, {"multinomial", "-1"});
}

}  // namespace
}  // namespace sluice::test
