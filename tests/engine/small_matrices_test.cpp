// Batches of matrices of a few rows, which are taken apart side by side: each as if it were alone,
// whatever its neighbours and however it lies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <sluice/sluice.h>
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

struct SmallOp {
  const char* name;
  std::function<Tensor(const Tensor&)> f;
};

std::vector<SmallOp> small_ops() {
  return {
      {"inv", [](const Tensor& x) { return linalg::inv(x); }},
      {"det", [](const Tensor& x) { return linalg::det(x); }},
      {"cholesky", [](const Tensor& x) { return linalg::cholesky(x); }},
      {"upper cholesky", [](const Tensor& x) { return linalg::cholesky(x, true); }},
      {"solve", [](const Tensor& x) { return linalg::solve(x, slice(x, -1, 0, 1) + 1); }},
  };
}

// Positive definite, not symmetric in memory below that: x x^T + 1 on the diagonal.
Tensor definite(DType dtype, int64_t count, int64_t rows) {
  manual_seed(static_cast<uint64_t>(100 * count + rows));
  const Tensor x = randn({count, rows, rows}, dtype);
  return matmul(x, matrix_transpose(x)) + eye(rows, rows, dtype);
}

// In memory by itself.
Tensor contiguous_transpose_of(const Tensor& x) {
  const Tensor y = matrix_transpose(x) + 0;
  return y.eval();
}

std::string text_of(const SmallOp& op, DType dtype, int64_t count, int64_t rows) {
  return std::string(op.name) + " of " + std::to_string(count) + " of " + std::to_string(rows) +
         " rows, " + to_string(dtype);
}

std::vector<double> values_of(const Tensor& x) {
  return astype(x, DType::kFloat64).to_vector<double>();
}

TEST(SmallMatrices, NeighboursAndLayoutsChangeNoBit) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (int64_t rows = 1; rows <= 9; ++rows) {
      for (const int64_t count : {1, 16, 37}) {
        const Tensor x = definite(dtype, count, rows);
        const Tensor turned = matrix_transpose(contiguous_transpose_of(x));
        for (const SmallOp& op : small_ops()) {
          const Tensor all = op.f(x);
          const std::string what = text_of(op, dtype, count, rows);
          EXPECT_TRUE(array_equal(op.f(turned), all).item<bool>()) << what;
          for (const int64_t i : {int64_t{0}, count / 2, count - 1}) {
            EXPECT_TRUE(
                array_equal(op.f(slice(x, 0, i, i + 1)), slice(all, 0, i, i + 1)).item<bool>())
                << what;
          }
        }
      }
    }
  }
}

// Rows are exchanged in some, and not in others.
TEST(SmallMatrices, InversesTimesTheMatricesAreTheIdentity) {
  for (int64_t rows = 1; rows <= 9; ++rows) {
    manual_seed(static_cast<uint64_t>(rows));
    const Tensor x = randn({50, rows, rows}, DType::kFloat64);
    const Tensor one = eye(rows, rows, DType::kFloat64), inverse = linalg::inv(x);
    const Tensor scale = max(abs(inverse), {-1, -2}, true) * max(abs(x), {-1, -2}, true);
    EXPECT_LT(max(abs(matmul(x, inverse) - one) / scale).item<double>(), 1e-14) << rows;
    const Tensor b = randn({50, rows, 3}, DType::kFloat64), y = linalg::solve(x, b);
    EXPECT_LT(max(abs(matmul(x, y) - b) / scale).item<double>(), 1e-13) << rows;
    EXPECT_TRUE(allclose(linalg::det(inverse) * linalg::det(x), 1.0, 1e-8).item<bool>()) << rows;
  }
}

TEST(SmallMatrices, ProductsOfPivotsNeitherOverflowNorVanish) {
  const Tensor scales = Tensor::from({1e200, 1e200, 1e-200, 1e-200});
  EXPECT_NEAR(linalg::det(eye(4, 4, DType::kFloat64) * scales).item<double>(), 1, 1e-12);
  const Tensor exchanged = flip(eye(4, 4, DType::kFloat64) * scales, {0});
  EXPECT_NEAR(linalg::det(slice(slice(exchanged, 0, 0, 4), 1, 0, 4)).item<double>(), 1, 1e-12);
  EXPECT_EQ(
      linalg::det(full({2, 2}, 1e300, DType::kFloat64) * eye(2, 2, DType::kFloat64)).item<double>(),
      std::numeric_limits<double>::infinity());
  const Tensor odd = Tensor::from({{0.0, 1e200}, {1e-200, 0.0}});
  EXPECT_NEAR(linalg::det(odd).item<double>(), -1, 1e-12);
}

// -1, although its products are the same but for the last of 54 digits.
TEST(SmallMatrices, DeterminantsCancelExactly) {
  const Tensor block = Tensor::from({{0x1p27 + 1, 0x1p27}, {0x1p27, 0x1p27 - 1}});
  EXPECT_EQ(linalg::det(block).item<double>(), -1);
  const Tensor row = Tensor::from({{3.0, 0.0, 0.0}}), column = Tensor::from({{5.0}, {7.0}});
  EXPECT_EQ(linalg::det(concat({row, concat({column, block}, 1)}, 0)).item<double>(), -3);
  EXPECT_EQ(linalg::det(reshape(arange(1, 10, 1, DType::kFloat64), {3, 3})).item<double>(), 0);
  const Tensor floats = Tensor::from({{0x1p23f + 1, 0x1p23f}, {0x1p23f, 0x1p23f - 1}});
  EXPECT_EQ(linalg::det(floats).item<float>(), -1);
}

// Where the formula overflows or loses digits, pivots do not; matrices beside it are as if alone.
TEST(SmallMatrices, DeterminantsOfTwoAndThreeRowsHaveTheRangeOfThePivots) {
  for (const int64_t rows : {2, 3}) {
    const Tensor x = definite(DType::kFloat64, 40, rows);
    const Tensor scales = rows == 2 ? Tensor::from({0x1p-480, 0x1p-540})
                                    : Tensor::from({0x1p300, 0x1p-520, 0x1p-520});
    const Tensor scaled_here = arange(40) % 7 == 3;
    const Tensor scaled = where(reshape(scaled_here, {40, 1, 1}), x * expand_dims(scales, 1), x);
    const Tensor wanted = linalg::det(x);
    const Tensor back = full({}, rows == 2 ? 0x1p1020 : 0x1p740, DType::kFloat64);
    const Tensor got = linalg::det(scaled) * where(scaled_here, back, 1);
    EXPECT_TRUE(allclose(got / wanted, 1.0, 1e-11).item<bool>()) << rows;
    const std::vector<double> a = values_of(got), b = values_of(wanted);
    for (size_t i = 0; i < a.size(); ++i) {
      if (i % 7 != 3) {
        EXPECT_EQ(a[i], b[i]) << rows;
      }
    }
  }
  const Tensor great = Tensor::from({1e200, 1e200, 1e-300});
  EXPECT_NEAR(linalg::det(eye(3, 3, DType::kFloat64) * great).item<double>() / 1e100, 1, 1e-12);
  EXPECT_NEAR(linalg::det(eye(3, 3, DType::kFloat64) / great).item<double>() / 1e-100, 1, 1e-12);
  const Tensor floats = Tensor::from({1e30f, 1e30f, 1e-30f});
  EXPECT_NEAR(linalg::det(eye(3, 3) * floats).item<float>() / 1e30, 1, 1e-6);
}

TEST(SmallMatrices, NaNStaysInItsMatrix) {
  const Tensor x = definite(DType::kFloat64, 20, 3);
  const Tensor bad = expand_dims(expand_dims(arange(20) == 7, 1), 2);
  const Tensor y = where(bad, std::nan(""), x);
  for (const SmallOp& op : small_ops()) {
    if (std::string(op.name).find("cholesky") != std::string::npos) continue;
    const std::vector<double> wanted = values_of(op.f(x)), got = values_of(op.f(y));
    const size_t of_one = wanted.size() / 20;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (i / of_one == 7) {
        EXPECT_TRUE(std::isnan(got[i])) << op.name;
      } else {
        EXPECT_EQ(got[i], wanted[i]) << op.name;
      }
    }
  }
}

TEST(SmallMatrices, TheFirstThatFailsIsNamed) {
  for (const int64_t which : {0, 17, 36}) {
    const Tensor x = definite(DType::kFloat32, 37, 5);
    const Tensor bad = expand_dims(expand_dims(arange(37) >= which, 1), 2);
    const Tensor y = where(bad, 0, x);
    const std::string name = "matrix " + std::to_string(which) + " of the batch of 37 is ";
    auto error = [](const Tensor& result) {
      try {
        (void)values_of(result);
      } catch (const Error& failure) {
        EXPECT_EQ(failure.code(), ErrorCode::kFailedPrecondition);
        return std::string(failure.what());
      }
      return std::string("no error");
    };
    EXPECT_THAT(error(linalg::inv(y)), HasSubstr(name + "singular"));
    EXPECT_THAT(error(linalg::solve(y, x)), HasSubstr(name + "singular"));
    EXPECT_THAT(error(linalg::cholesky(y)), HasSubstr(name + "not positive definite"));
    EXPECT_EQ(values_of(linalg::det(y))[36], 0);
  }
}

}  // namespace
}  // namespace sluice::test
