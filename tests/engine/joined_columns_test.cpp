// Columns that a concat or `stack` along the last axis joins: a kernel computes all of them at each
// point. The joined columns have the bits of each by itself, and of interpreted ones.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

Tensor column(const Tensor& x, int64_t k) { return x.slice(1, k, k + 1); }

// As many columns, each made of two of those of `x`.
std::vector<Tensor> columns_of(const Tensor& x, int64_t count) {
  const int64_t n = x.shape()[1];
  std::vector<Tensor> result;
  for (int64_t k = 0; k < count; ++k) {
    result.push_back(column(x, k % n) * column(x, (k + 1) % n) + column(x, (k + 2) % n));
  }
  return result;
}

void expect_columns(const Tensor& joined, const std::vector<Tensor>& parts,
                    const std::string& name) {
  int64_t start = 0;
  const Tensor& whole = joined.eval();
  for (const Tensor& part : parts) {
    const int64_t end = start + part.shape()[1];
    EXPECT_EQ(read_bytes(whole.slice(1, start, end)), read_bytes(part)) << name << " " << start;
    start = end;
  }
}

class JoinedColumns : public testing::TestWithParam<DType> {};

TEST_P(JoinedColumns, HaveTheBitsOfEach) {
  const ConfigGuard guard;
  std::mt19937_64 rng(31);
  for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
    config().compile = mode;
    for (const int64_t rows : {3, 64, 131}) {
      for (const int64_t points : {3, 5}) {
        const Tensor x = to_tensor(random_array(rng, GetParam(), {rows, points}, 0.1));
        for (const int64_t count : {2, 3, 4, 5, 7, 8, 9}) {
          const std::vector<Tensor> parts = columns_of(x, count);
          const std::string name = std::to_string(rows) + "x" + std::to_string(points);
          expect_columns(concat(parts, 1), parts, name);
        }
      }
    }
  }
}

TEST_P(JoinedColumns, OfSeveralEach) {
  const ConfigGuard guard;
  std::mt19937_64 rng(32);
  for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
    config().compile = mode;
    for (const int64_t rows : {70, 999}) {
      const Tensor x = to_tensor(random_array(rng, GetParam(), {rows, 3}, 0.1));
      const Tensor wide = to_tensor(random_array(rng, GetParam(), {rows, 20}, 0.1));
      for (const std::vector<Tensor>& parts :
           {std::vector{x, column(x, 1)}, std::vector{column(x, 0), x, x + x},
            std::vector{wide.slice(1, 3, 5), x}, std::vector{x.slice(1, 0, 3, 2), column(x, 2)},
            std::vector{x.flip({0}), column(wide, 7) + column(x, 0)}}) {
        expect_columns(concat(parts, 1), parts, std::to_string(rows));
        // What is computed of the joined columns.
        const Tensor joined = concat(parts, 1);
        std::vector<Tensor> sums;
        for (const Tensor& part : parts) sums.push_back(part + part);
        expect_columns(joined + joined, sums, std::to_string(rows) + ", twice");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Columns, JoinedColumns, testing::ValuesIn(all_dtypes()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(JoinedColumns, OfImagesAndOfCoordinates) {
  const ConfigGuard guard;
  for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
    config().compile = mode;
    const Tensor x = randn({17, 33, 3});
    auto part = [&](int64_t k) { return x.slice(2, k, k + 1); };
    const Tensor joined = concat({part(2) - part(0), part(1), exp(part(0))}, 2).eval();
    EXPECT_EQ(read_bytes(joined.slice(2, 0, 1)), read_bytes(part(2) - part(0)));
    EXPECT_EQ(read_bytes(joined.slice(2, 1, 2)), read_bytes(part(1)));
    EXPECT_EQ(read_bytes(joined.slice(2, 2, 3)), read_bytes(exp(part(0))));
    const Tensor points = arange(500).astype(kFloat32);
    const Tensor pairs = stack({points * 2, full({500}, 1.f)}, 1).eval();
    EXPECT_EQ(read_bytes(pairs.slice(1, 0, 1)), read_bytes(points * 2));
    EXPECT_EQ(read_bytes(pairs.slice(1, 1, 2)), read_bytes(full({500}, 1.f)));
  }
}

// A kernel, which writes the columns and nothing else.
TEST(JoinedColumns, AreOneKernel) {
  if (default_device() != Device::cpu()) GTEST_SKIP() << "GPUs unroll no rows";
  const Tensor x = randn({1000, 3}).eval(), y = randn({1000, 3}).eval();
  sync();
  reset_stats();
  linalg::cross(x, y).eval();
  sync();
  EXPECT_EQ(stats().kernels_launched, 1);
  EXPECT_EQ(stats().bytes_written, 1000 * 3 * 4);
}

}  // namespace
}  // namespace sluice::test
