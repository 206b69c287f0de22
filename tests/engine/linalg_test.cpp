// Linear algebra against loops in float64: factors put together again, what is to be orthogonal,
// orders, values; batches, views, broadcasting, dtypes; what fails, and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// ---- The same in plain loops: batches of matrices by rows.

struct Matrices {
  int64_t count = 0, rows = 0, columns = 0;
  std::vector<double> values;

  double& at(int64_t b, int64_t i, int64_t j) { return values[(b * rows + i) * columns + j]; }
  double at(int64_t b, int64_t i, int64_t j) const { return values[(b * rows + i) * columns + j]; }
};

Matrices zero(int64_t count, int64_t rows, int64_t columns) {
  return {count, rows, columns, std::vector<double>(count * rows * columns)};
}

// The last two axes are the matrices.
Matrices read(const Tensor& x) {
  const int64_t rows = x.shape(-2), columns = x.shape(-1);
  int64_t count = 1;
  for (int k = 0; k + 2 < x.ndim(); ++k) count *= x.shape(k);
  return {count, rows, columns, astype(x, DType::kFloat64).to_vector<double>()};
}

Matrices times(const Matrices& a, const Matrices& b) {
  Matrices c = zero(a.count, a.rows, b.columns);
  for (int64_t n = 0; n < a.count; ++n) {
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t k = 0; k < a.columns; ++k) {
        for (int64_t j = 0; j < b.columns; ++j) c.at(n, i, j) += a.at(n, i, k) * b.at(n, k, j);
      }
    }
  }
  return c;
}

Matrices transposed(const Matrices& a) {
  Matrices t = zero(a.count, a.columns, a.rows);
  for (int64_t n = 0; n < a.count; ++n) {
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t j = 0; j < a.columns; ++j) t.at(n, j, i) = a.at(n, i, j);
    }
  }
  return t;
}

Matrices identity(int64_t count, int64_t n) {
  Matrices x = zero(count, n, n);
  for (int64_t b = 0; b < count; ++b) {
    for (int64_t i = 0; i < n; ++i) x.at(b, i, i) = 1;
  }
  return x;
}

// By elimination with pivots.
double determinant(const Matrices& x, int64_t b) {
  Matrices a = x;
  double result = 1;
  for (int64_t k = 0; k < a.rows; ++k) {
    int64_t pivot = k;
    for (int64_t i = k; i < a.rows; ++i) {
      if (std::abs(a.at(b, i, k)) > std::abs(a.at(b, pivot, k))) pivot = i;
    }
    if (a.at(b, pivot, k) == 0) return 0;
    if (pivot != k) {
      result = -result;
      for (int64_t j = 0; j < a.rows; ++j) std::swap(a.at(b, k, j), a.at(b, pivot, j));
    }
    result *= a.at(b, k, k);
    for (int64_t i = k + 1; i < a.rows; ++i) {
      const double factor = a.at(b, i, k) / a.at(b, k, k);
      for (int64_t j = k; j < a.rows; ++j) a.at(b, i, j) -= factor * a.at(b, k, j);
    }
  }
  return result;
}

void expect_near(const Matrices& actual, const Matrices& wanted, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(actual.values.size(), wanted.values.size()) << what;
  double scale = 1;
  for (const double value : wanted.values) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < wanted.values.size(); ++i) {
    ASSERT_NEAR(actual.values[i], wanted.values[i], tolerance * scale) << what << " at " << i;
  }
}

void expect_orthonormal_columns(const Matrices& q, double tolerance, const std::string& what) {
  expect_near(times(transposed(q), q), identity(q.count, q.columns), tolerance, what);
}

// ---- Inputs.

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64};
constexpr int64_t kSizes[] = {0, 1, 2, 3, 7, 13, 64, 150};

double tolerance_of(DType dtype, int64_t n) {
  const double steps = 20.0 * static_cast<double>(n + 5);
  return dtype == DType::kFloat64 ? 2.3e-16 * steps : 1.2e-7 * steps;
}

Tensor random_matrices(DType dtype, const Shape& shape, uint64_t seed = 5) {
  return Generator(seed).randn(shape, dtype);
}

// Well away from a singular one.
Tensor regular(DType dtype, const Shape& shape, uint64_t seed = 6) {
  const int64_t n = shape.back();
  return random_matrices(dtype, shape, seed) + eye(n, n, dtype) * (2.0 * std::sqrt(n) + 1);
}

Tensor positive_definite(DType dtype, const Shape& shape) {
  const Tensor x = random_matrices(dtype, shape);
  return matmul(x, matrix_transpose(x)) + eye(shape.back(), shape.back(), dtype);
}

std::string text_of(DType dtype, const Shape& shape) {
  return std::string(name_of(dtype)) + to_string(shape);
}

// Square matrices of all sizes and batches: check(dtype, shape).
void for_each_square(const std::function<void(DType, const Shape&)>& check) {
  for (const DType dtype : kDTypes) {
    for (const int64_t n : kSizes) check(dtype, {n, n});
    for (const int64_t count : {0, 1, 100}) check(dtype, {count, 5, 5});
    check(dtype, {2, 3, 4, 4});
    check(dtype, {9, 20, 20});
    check(dtype, {2, 65, 65});
    check(dtype, {3, 0, 0});
  }
}

void for_each_rectangle(const std::function<void(DType, const Shape&)>& check) {
  for_each_square(check);
  for (const DType dtype : kDTypes) {
    for (const Shape& shape : {Shape{3, 5}, Shape{5, 3}, Shape{1, 8}, Shape{8, 1}, Shape{0, 4},
                               Shape{4, 0}, Shape{2, 3, 6, 2}, Shape{7, 40, 70}, Shape{150, 180},
                               Shape{180, 150}, Shape{0, 4, 2}, Shape{2, 0, 3}, Shape{2, 3, 0}}) {
      check(dtype, shape);
    }
  }
}

// ---- Factors.

TEST(Linalg, CholeskyFactors) {
  for_each_square([](DType dtype, const Shape& shape) {
    const std::string what = text_of(dtype, shape);
    const Tensor x = positive_definite(dtype, shape);
    const Tensor l = linalg::cholesky(x);
    ASSERT_EQ(l.shape(), shape);
    ASSERT_EQ(l.dtype(), dtype);
    const Matrices lower = read(l);
    expect_near(times(lower, transposed(lower)), read(x), tolerance_of(dtype, shape.back()), what);
    const Matrices upper = read(linalg::cholesky(x, true));
    expect_near(times(transposed(upper), upper), read(x), tolerance_of(dtype, shape.back()), what);
    EXPECT_EQ(read(triu(l, 1)).values, zero(lower.count, lower.rows, lower.rows).values);
    for (int64_t b = 0; b < upper.count; ++b) {
      for (int64_t i = 0; i < upper.rows; ++i) {
        ASSERT_GT(upper.at(b, i, i), 0) << what;
        for (int64_t j = 0; j < i; ++j) ASSERT_EQ(upper.at(b, i, j), 0) << what;
      }
    }
  });
}

// Only the triangle that is asked for is read.
TEST(Linalg, CholeskyReadsOneTriangle) {
  for (const int64_t n : {6, 21, 140}) {
    const Tensor x = positive_definite(DType::kFloat64, {n, n});
    EXPECT_EQ(read(linalg::cholesky(tril(x))).values, read(linalg::cholesky(x)).values);
    EXPECT_EQ(read(linalg::cholesky(triu(x), true)).values, read(linalg::cholesky(x, true)).values);
  }
}

TEST(Linalg, QrFactors) {
  for_each_rectangle([](DType dtype, const Shape& shape) {
    const Tensor x = random_matrices(dtype, shape);
    for (const char* mode : {"reduced", "complete"}) {
      const std::string what = text_of(dtype, shape) + mode;
      const auto [q, r] = linalg::qr(x, mode);
      const int64_t m = x.shape(-2), n = x.shape(-1);
      const int64_t middle = mode[0] == 'c' ? m : std::min(m, n);
      ASSERT_EQ(q.shape(-1), middle) << what;
      ASSERT_EQ(r.shape(-2), middle) << what;
      const double tolerance = tolerance_of(dtype, m + n);
      expect_orthonormal_columns(read(q), tolerance, what);
      expect_near(times(read(q), read(r)), read(x), tolerance, what);
      EXPECT_EQ(read(tril(r, -1)).values, std::vector<double>(r.numel())) << what;
    }
  });
}

TEST(Linalg, SingularValues) {
  for_each_rectangle([](DType dtype, const Shape& shape) {
    const Tensor x = random_matrices(dtype, shape);
    const int64_t m = x.shape(-2), n = x.shape(-1), k = std::min(m, n);
    const double tolerance = tolerance_of(dtype, m + n);
    for (const bool full : {false, true}) {
      const std::string what = text_of(dtype, shape) + (full ? " full" : " thin");
      const auto [u, s, vh] = linalg::svd(x, full);
      ASSERT_EQ(u.shape(-1), full ? m : k) << what;
      ASSERT_EQ(vh.shape(-2), full ? n : k) << what;
      ASSERT_EQ(s.shape(-1), k) << what;
      expect_orthonormal_columns(read(u), tolerance, what);
      expect_orthonormal_columns(transposed(read(vh)), tolerance, what);
      const Tensor scaled = slice(u, -1, 0, k) * expand_dims(s, -2);
      expect_near(times(read(scaled), read(slice(vh, -2, 0, k))), read(x), tolerance, what);
      const Matrices values = read(expand_dims(s, -2));
      for (int64_t b = 0; b < values.count; ++b) {
        for (int64_t i = 0; i < k; ++i) {
          ASSERT_GE(values.at(b, 0, i), 0) << what;
          ASSERT_LE(values.at(b, 0, i), values.at(b, 0, std::max<int64_t>(i - 1, 0))) << what;
        }
      }
      expect_near(read(expand_dims(linalg::svdvals(x), -2)), values, tolerance, what);
    }
  });
}

TEST(Linalg, Eigenvalues) {
  for_each_square([](DType dtype, const Shape& shape) {
    const std::string what = text_of(dtype, shape);
    const Tensor half = random_matrices(dtype, shape);
    const Tensor x = half + matrix_transpose(half);
    const auto [w, v] = linalg::eigh(x);
    const double tolerance = tolerance_of(dtype, shape.back());
    expect_orthonormal_columns(read(v), tolerance, what);
    const Matrices scaled = read(v * expand_dims(w, -2));
    expect_near(times(scaled, transposed(read(v))), read(x), tolerance, what);
    const Matrices values = read(expand_dims(w, -2));
    for (int64_t b = 0; b < values.count; ++b) {
      for (int64_t i = 1; i < values.columns; ++i) {
        ASSERT_GE(values.at(b, 0, i), values.at(b, 0, i - 1)) << what;
      }
    }
    expect_near(read(expand_dims(linalg::eigvalsh(x), -2)), values, tolerance, what);
    EXPECT_EQ(read_bytes(linalg::eigvalsh(tril(x))), read_bytes(linalg::eigvalsh(x))) << what;
  });
}

// ---- Systems.

TEST(Linalg, SolutionsAndInverses) {
  for_each_square([](DType dtype, const Shape& shape) {
    const std::string what = text_of(dtype, shape);
    const Tensor a = regular(dtype, shape);
    const int64_t n = shape.back();
    const double tolerance = tolerance_of(dtype, n);
    std::vector<int64_t> dims(shape.begin(), shape.end());
    for (const int64_t sides : {0, 1, 3}) {
      dims.back() = sides;
      const Tensor b = random_matrices(dtype, Shape(dims), 9);
      const Tensor x = linalg::solve(a, b);
      ASSERT_EQ(x.shape(), b.shape()) << what;
      expect_near(times(read(a), read(x)), read(b), tolerance, what);
    }
    expect_near(times(read(a), read(linalg::inv(a))), identity(read(a).count, n), tolerance, what);
    expect_near(times(read(a), read(linalg::pinv(a))), identity(read(a).count, n), 5 * tolerance,
                what);
  });
}

// A GPU has these in memory that its blocks do not share.
TEST(Linalg, BatchesOfLargerMatrices) {
  const Shape shape{8, 108, 108};
  const Tensor a = regular(DType::kFloat32, shape), square = positive_definite(a.dtype(), shape);
  const double tolerance = tolerance_of(a.dtype(), 108);
  const Matrices factor = read(linalg::cholesky(square));
  expect_near(times(factor, transposed(factor)), read(square), tolerance, "cholesky");
  const Tensor sides = random_matrices(a.dtype(), {8, 108, 2});
  expect_near(times(read(a), read(linalg::solve(a, sides))), read(sides), tolerance, "solve");
  expect_near(times(read(a), read(linalg::inv(a))), identity(8, 108), tolerance, "inv");
  const auto logarithms = linalg::slogdet(a).logabsdet.to_vector<float>();
  for (int64_t b = 0; b < 8; ++b) {
    EXPECT_NEAR(logarithms[b], std::log(std::abs(determinant(read(a), b))), 1e-3);
  }
}

TEST(Linalg, SolveBroadcasts) {
  const Tensor a = regular(DType::kFloat64, {4, 4}), many = regular(DType::kFloat64, {3, 1, 4, 4});
  const Tensor b = random_matrices(DType::kFloat64, {3, 2, 4, 5});
  const Tensor vector = random_matrices(DType::kFloat64, {4});
  auto product_is = [](const Tensor& x, const Tensor& y, const Tensor& wanted) {
    EXPECT_TRUE(allclose(matmul(x, y), wanted, 1e-12, 1e-12).item<bool>());
  };
  product_is(a, linalg::solve(a, b), b);
  EXPECT_EQ(linalg::solve(a, b).shape(), b.shape());
  product_is(many, linalg::solve(many, b), b);
  EXPECT_EQ(linalg::solve(many, b).shape(), (Shape{3, 2, 4, 5}));
  product_is(a, linalg::solve(a, vector), vector);
  EXPECT_EQ(linalg::solve(many, vector).shape(), (Shape{3, 1, 4}));
  product_is(many, expand_dims(linalg::solve(many, vector), -1),
             broadcast_to(reshape(vector, {4, 1}), {3, 1, 4, 1}));
}

TEST(Linalg, ViewsAreReadAsTheyLie) {
  std::vector<Tensor> views;
  for (const int64_t n : {8, 44}) {
    const Tensor x = regular(DType::kFloat64, {3, n, n});
    for (const Tensor& view :
         {matrix_transpose(x), flip(x, {-1}), slice(slice(x, -1, 0, n, 2), -2, 2, 2 + n / 2),
          permute(x, {1, 0, 2}), slice(x, 0, 1, 2)}) {
      views.push_back(view);
    }
  }
  for (const Tensor& view : views) {
    const Tensor copy = Tensor::from(view.to_vector<double>(), view.shape());
    EXPECT_EQ(read_bytes(linalg::svdvals(view)), read_bytes(linalg::svdvals(copy)));
    EXPECT_EQ(read_bytes(linalg::qr(view).q), read_bytes(linalg::qr(copy).q));
    if (view.shape(-1) != view.shape(-2)) continue;
    EXPECT_EQ(read_bytes(linalg::inv(view)), read_bytes(linalg::inv(copy)));
    EXPECT_EQ(read_bytes(linalg::det(view)), read_bytes(linalg::det(copy)));
    EXPECT_EQ(read_bytes(linalg::solve(view, view)), read_bytes(linalg::solve(copy, copy)));
    const Tensor square = matmul(copy, matrix_transpose(copy));
    EXPECT_EQ(read_bytes(linalg::cholesky(matrix_transpose(square))),
              read_bytes(linalg::cholesky(square)));
  }
}

TEST(Linalg, Determinants) {
  for_each_square([](DType dtype, const Shape& shape) {
    const std::string what = text_of(dtype, shape);
    const Tensor x = random_matrices(dtype, shape) / std::sqrt(shape.back() + 1.0);
    const Matrices values = read(x);
    const auto [sign, logarithm] = linalg::slogdet(x);
    const auto det = astype(linalg::det(x), DType::kFloat64).to_vector<double>();
    const auto signs = astype(sign, DType::kFloat64).to_vector<double>();
    const auto logarithms = astype(logarithm, DType::kFloat64).to_vector<double>();
    ASSERT_EQ(static_cast<int64_t>(det.size()), values.count) << what;
    for (int64_t b = 0; b < values.count; ++b) {
      const double wanted = determinant(values, b);
      const double tolerance = 20 * tolerance_of(dtype, shape.back());
      EXPECT_NEAR(det[b], wanted, tolerance * std::abs(wanted)) << what;
      EXPECT_EQ(signs[b], wanted > 0 ? 1 : -1) << what;
      EXPECT_NEAR(logarithms[b], std::log(std::abs(wanted)), tolerance) << what;
    }
  });
}

TEST(Linalg, DeterminantsOfSingularAndLargeMatrices) {
  const Tensor singular = Tensor::from({{1.0, 2.0}, {2.0, 4.0}});
  EXPECT_EQ(linalg::det(singular).item<double>(), 0);
  const auto [sign, logarithm] = linalg::slogdet(singular);
  EXPECT_EQ(sign.item<double>(), 0);
  EXPECT_EQ(logarithm.item<double>(), -std::numeric_limits<double>::infinity());
  // The product of the first ten pivots overflows.
  const Tensor scales =
      concat({full({10}, 1e60, DType::kFloat64), full({10}, 1e-60, DType::kFloat64)}, 0);
  EXPECT_NEAR(linalg::det(eye(20, 20, DType::kFloat64) * scales).item<double>(), 1, 1e-12);
  EXPECT_TRUE(std::isnan(linalg::det(full({2, 2}, std::nan(""))).item<double>()));
}

TEST(Linalg, MatricesOfSomeTensOfRows) {
  auto numbers = [](const Tensor& x) { return read(reshape(x, {1, -1})).values; };
  for (const DType dtype : kDTypes) {
    for (const int64_t n : {9, 16, 31, 128}) {
      const std::string what = text_of(dtype, {n, n});
      // All pivots but one are a row further down.
      const Tensor turned = roll(eye(n, n, dtype), 1, 0) * astype(arange(n) + 1, dtype);
      expect_near(times(read(turned), read(linalg::inv(turned))), identity(1, n),
                  tolerance_of(dtype, n), what);
      EXPECT_EQ(numbers(linalg::slogdet(turned).sign)[0], n % 2 == 0 ? -1 : 1) << what;
      // A row of zeros, and NaN.
      const Tensor x = random_matrices(dtype, {2, n, n});
      const Tensor singular = x * astype(expand_dims(arange(n) != n / 2, -1), dtype);
      EXPECT_EQ(numbers(linalg::det(singular)), (std::vector<double>{0, 0})) << what;
      const auto [sign, logarithm] = linalg::slogdet(singular);
      EXPECT_EQ(numbers(sign), (std::vector<double>{0, 0})) << what;
      EXPECT_EQ(numbers(logarithm)[1], -std::numeric_limits<double>::infinity()) << what;
      EXPECT_THROW(read(linalg::inv(singular)), Error) << what;
      const Tensor nan = x * std::nan("");
      EXPECT_TRUE(std::isnan(numbers(linalg::det(nan))[0])) << what;
      // A GPU's library may pass NaN on instead.
      if (default_device() == Device::cpu()) {
        EXPECT_THROW(read(linalg::cholesky(nan)), Error) << what;
      }
      EXPECT_THROW(read(linalg::cholesky(-eye(n, n, dtype))), Error) << what;
    }
  }
}

TEST(Linalg, LeastSquares) {
  const Tensor a = random_matrices(DType::kFloat64, {2, 9, 4});
  const Tensor b = random_matrices(DType::kFloat64, {9, 3}, 8);
  const auto [x, residuals, rank, s] = linalg::lstsq(a, b);
  EXPECT_EQ(x.shape(), (Shape{2, 4, 3}));
  // The error is at right angles to the columns.
  const Tensor error = b - matmul(a, x);
  EXPECT_LT(max(abs(matmul(matrix_transpose(a), error))).item<double>(), 1e-12);
  EXPECT_TRUE(allclose(residuals, sum(square(error), {-2})).item<bool>());
  EXPECT_EQ(rank.to_vector<int64_t>(), (std::vector<int64_t>{4, 4}));
  EXPECT_TRUE(allclose(s, linalg::svdvals(a), 1e-12).item<bool>());
  // Of fewer equations than unknowns, the shortest solution.
  const Tensor wide = random_matrices(DType::kFloat64, {3, 5});
  const Tensor vector = random_matrices(DType::kFloat64, {3});
  const Tensor shortest = linalg::lstsq(wide, vector).solution;
  EXPECT_TRUE(allclose(matmul(wide, shortest), vector, 1e-12).item<bool>());
  EXPECT_TRUE(allclose(shortest, matmul(linalg::pinv(wide), vector), 1e-12).item<bool>());
}

TEST(Linalg, Ranks) {
  const Tensor column = random_matrices(DType::kFloat64, {6, 2});
  const Tensor row = random_matrices(DType::kFloat64, {2, 5});
  EXPECT_EQ(linalg::matrix_rank(matmul(column, row)).item<int64_t>(), 2);
  EXPECT_EQ(linalg::matrix_rank(zeros({4, 3})).item<int64_t>(), 0);
  EXPECT_EQ(linalg::matrix_rank(eye(3)).dtype(), DType::kInt64);
  EXPECT_EQ(linalg::matrix_rank(zeros({2, 0, 3})).to_vector<int64_t>(),
            (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(linalg::matrix_rank(Tensor::from({{1.0, 0.0}, {0.0, 1e-3}}), 1e-2).item<int64_t>(), 1);
  const Tensor x = matmul(column, row), inverse = linalg::pinv(x);
  EXPECT_TRUE(allclose(matmul(matmul(x, inverse), x), x, 1e-10, 1e-10).item<bool>());
}

// ---- Norms.

TEST(Linalg, Norms) {
  const Tensor x = Tensor::from({{1.0, -2.0, 3.0}, {-4.0, 5.0, 0.0}});
  const double inf = std::numeric_limits<double>::infinity();
  auto of_matrix = [&](linalg::Norm ord) { return linalg::matrix_norm(x, ord).item<double>(); };
  EXPECT_DOUBLE_EQ(of_matrix("fro"), std::sqrt(55));
  EXPECT_DOUBLE_EQ(of_matrix(1), 7);
  EXPECT_DOUBLE_EQ(of_matrix(-1), 3);
  EXPECT_DOUBLE_EQ(of_matrix(inf), 9);
  EXPECT_DOUBLE_EQ(of_matrix(-inf), 6);
  const auto s = linalg::svdvals(x).to_vector<double>();
  EXPECT_DOUBLE_EQ(of_matrix(2), s[0]);
  EXPECT_DOUBLE_EQ(of_matrix(-2), s[1]);
  EXPECT_DOUBLE_EQ(of_matrix("nuc"), s[0] + s[1]);
  EXPECT_EQ(linalg::matrix_norm(x, true).shape(), (Shape{1, 1}));
  EXPECT_EQ(linalg::matrix_norm(zeros({4, 2, 3}), 1, true).shape(), (Shape{4, 1, 1}));

  auto of_vector = [&](double ord) {
    return linalg::vector_norm(x, {}, false, ord).item<double>();
  };
  EXPECT_DOUBLE_EQ(linalg::vector_norm(x).item<double>(), std::sqrt(55));
  EXPECT_DOUBLE_EQ(of_vector(1), 15);
  EXPECT_DOUBLE_EQ(of_vector(0), 5);
  EXPECT_DOUBLE_EQ(of_vector(inf), 5);
  EXPECT_DOUBLE_EQ(of_vector(-inf), 0);
  EXPECT_NEAR(of_vector(3), std::cbrt(1 + 8 + 27 + 64 + 125), 1e-12);
  EXPECT_EQ(linalg::vector_norm(x, {0}, true).shape(), (Shape{1, 3}));

  const Tensor square_matrix = Tensor::from({{2.0, 0.0}, {0.0, 0.5}});
  EXPECT_DOUBLE_EQ(linalg::cond(square_matrix).item<double>(), 4);
  EXPECT_DOUBLE_EQ(linalg::cond(square_matrix, -2).item<double>(), 0.25);
  EXPECT_DOUBLE_EQ(linalg::cond(square_matrix, 1).item<double>(), 4);
  EXPECT_NEAR(linalg::cond(square_matrix, "fro").item<double>(), 4.25, 1e-12);
}

TEST(Linalg, SingularMatricesHaveInfiniteConditionNumbers) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const int64_t n : {2, 8, 9, 30, 150}) {  // loops of ours, and LAPACK
    const Tensor regular_matrix = eye(n, n, DType::kFloat64);
    const Tensor singular = regular_matrix * (arange(n) > 0);
    const Tensor batch = stack({regular_matrix, singular, zeros({n, n}, DType::kFloat64),
                                full({n, n}, std::nan(""), DType::kFloat64)});
    for (const linalg::Norm order : {linalg::Norm(1), linalg::Norm(-inf), linalg::Norm("fro")}) {
      const auto numbers = linalg::cond(batch, order).to_vector<double>();
      EXPECT_GE(numbers[0], 1);
      EXPECT_EQ(numbers[1], inf);
      EXPECT_EQ(numbers[2], inf);
      EXPECT_TRUE(std::isnan(numbers[3]));
    }
    EXPECT_EQ(linalg::cond(slice(batch, 0, 1, 3)).to_vector<double>(),
              (std::vector<double>{inf, inf}));
    EXPECT_EQ(linalg::cond(singular, "nuc").item<double>(), inf);
  }
}

TEST(Linalg, NormsOfNothing) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const linalg::Norm order : {linalg::Norm("fro"), linalg::Norm("nuc"), linalg::Norm(1),
                                   linalg::Norm(2), linalg::Norm(inf)}) {
    EXPECT_EQ(linalg::matrix_norm(zeros({0, 0}), order).item<float>(), 0);
    EXPECT_EQ(linalg::matrix_norm(zeros({3, 0}), order).item<float>(), 0);
    EXPECT_EQ(linalg::matrix_norm(zeros({2, 0, 3}), order).to_vector<float>(),
              (std::vector<float>{0, 0}));
  }
  EXPECT_EQ(linalg::vector_norm(zeros({2, 0}), {-1}, true, inf).shape(), (Shape{2, 1}));
  EXPECT_EQ(linalg::vector_norm(zeros({0}), {}, false, inf).item<float>(), 0);
  EXPECT_THROW(static_cast<void>(linalg::vector_norm(zeros({0}), {}, false, -inf)), Error);
}

// ---- Powers and products.

TEST(Linalg, Powers) {
  const Tensor x = regular(DType::kFloat64, {2, 4, 4}) / 4.0;
  const Tensor fifth = matmul(matmul(matmul(matmul(x, x), x), x), x);
  EXPECT_TRUE(allclose(linalg::matrix_power(x, 5), fifth, 1e-12).item<bool>());
  EXPECT_TRUE(
      allclose(matmul(linalg::matrix_power(x, -5), fifth), eye(4, 4, DType::kFloat64), 1e-9, 1e-9)
          .item<bool>());
  EXPECT_EQ(read(linalg::matrix_power(x, 0)).values, identity(2, 4).values);
  const Tensor fibonacci = Tensor::from({{int64_t{1}, int64_t{1}}, {int64_t{1}, int64_t{0}}});
  EXPECT_EQ(linalg::matrix_power(fibonacci, 50).to_vector<int64_t>()[1], 12586269025);
}

TEST(Linalg, Exponentials) {
  // Of a rotation's generator, and of a matrix that is halved many times.
  for (const double angle : {0.0, 0.3, 2.0, 50.0}) {
    const Tensor x = Tensor::from({{0.0, -angle}, {angle, 0.0}});
    const Matrices wanted = {
        1, 2, 2, {std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle)}};
    expect_near(read(linalg::expm(x)), wanted, 1e-13, "rotation");
    expect_near(read(linalg::expm(astype(x, DType::kFloat32))), wanted, 3e-5, "rotation");
  }
  // Each of a batch is halved as often as it needs.
  const Tensor sizes = Tensor::from({1e-3, 1.0, 30.0});
  const Tensor batch = eye(3, 3, DType::kFloat64) * reshape(sizes, {3, 1, 1});
  const Matrices powers = read(linalg::expm(batch));
  for (int64_t b = 0; b < 3; ++b) {
    const double wanted = std::exp(sizes.to_vector<double>()[b]);
    for (int64_t i = 0; i < 3; ++i) EXPECT_NEAR(powers.at(b, i, i), wanted, 1e-13 * wanted);
  }
  EXPECT_EQ(linalg::expm(zeros({2, 0, 0})).shape(), (Shape{2, 0, 0}));
}

TEST(Linalg, SmallFunctions) {
  const Tensor x = Tensor::from({1.0, 2.0, 3.0}), y = Tensor::from({-2.0, 0.5, 4.0});
  EXPECT_EQ(linalg::cross(x, y).to_vector<double>(), (std::vector<double>{6.5, -10, 4.5}));
  EXPECT_EQ(linalg::cross(reshape(x, {3, 1}), ones({3, 4}, DType::kFloat64), 0).shape(),
            (Shape{3, 4}));
  const Tensor matrix = reshape(arange(12), {3, 4});
  EXPECT_EQ(linalg::trace(matrix).item<int64_t>(), 15);
  EXPECT_EQ(linalg::trace(matrix, 1).item<int64_t>(), 18);
  EXPECT_EQ(linalg::trace(matrix, 0, DType::kFloat32).dtype(), DType::kFloat32);
  EXPECT_EQ(linalg::diagonal(matrix, -1).to_vector<int64_t>(), (std::vector<int64_t>{4, 9}));
  EXPECT_EQ(linalg::matmul(x, y).item<double>(), 11);
  EXPECT_EQ(linalg::vecdot(x, y).item<double>(), 11);
  EXPECT_EQ(linalg::outer(x, y).shape(), (Shape{3, 3}));
  EXPECT_EQ(linalg::tensordot(matrix, matrix).item<int64_t>(), 506);
  EXPECT_EQ(linalg::matrix_transpose(matrix).shape(), (Shape{4, 3}));
}

TEST(Linalg, OtherDTypes) {
  const Tensor x = Tensor::from({{2.f, 1.f}, {1.f, 3.f}});
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    EXPECT_EQ(linalg::det(astype(x, dtype)).dtype(), dtype);
    EXPECT_EQ(linalg::inv(astype(x, dtype)).dtype(), dtype);
    EXPECT_EQ(read_bytes(linalg::inv(astype(x, dtype))), read_bytes(astype(linalg::inv(x), dtype)));
    EXPECT_EQ(linalg::eigh(astype(x, dtype)).eigenvectors.dtype(), dtype);
  }
  EXPECT_EQ(linalg::det(astype(x, DType::kInt32)).dtype(), DType::kFloat32);
  EXPECT_NEAR(linalg::det(astype(x, DType::kInt32)).item<double>(), 5, 1e-5);
  EXPECT_EQ(linalg::solve(astype(x, DType::kInt64), astype(x, DType::kFloat64)).dtype(),
            DType::kFloat64);
}

// ---- How they are run.

TEST(Linalg, TakesItsTurnAmongOtherOps) {
  const Tensor x = regular(DType::kFloat64, {4, 4});
  sync();
  reset_stats();
  const Tensor y = linalg::inv(x * 2.0) + 1.0;
  EXPECT_EQ(stats().windows, 0);
  (void)y.to_vector<double>();
  EXPECT_EQ(stats().library_calls, 1);
  EXPECT_EQ(stats().windows, 1);
  // The same factors asked for twice are made once, and of an unused part nothing is copied.
  reset_stats();
  const Tensor s = linalg::svd(x).s + linalg::svd(x).s;
  (void)s.to_vector<double>();
  EXPECT_EQ(stats().library_calls, 1);
}

// The numbers of a plan are those of its call: other sizes, modes and contents.
TEST(Linalg, PlansServeOtherSizes) {
  for (const int64_t n : {3, 5, 9, 4}) {
    const Tensor x = regular(DType::kFloat64, {n, n}, static_cast<uint64_t>(n));
    expect_near(times(read(x), read(linalg::inv(x))), identity(1, n), 1e-12, "inv");
    for (const char* mode : {"reduced", "complete"}) {
      const auto [q, r] = linalg::qr(slice(x, 1, 0, 2), mode);
      expect_near(times(read(q), read(r)), read(slice(x, 1, 0, 2)), 1e-12, mode);
    }
  }
}

std::string error_of(const std::function<void()>& f, ErrorCode code) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(Linalg, MatricesThatCannotBeTakenApartAreNamed) {
  const Tensor singular = Tensor::from({{1.0, 2.0}, {2.0, 4.0}});
  const Tensor regular_matrix = Tensor::from({{1.0, 2.0}, {2.0, 5.0}});
  const Tensor batch = stack({regular_matrix, regular_matrix, singular, singular});
  const ErrorCode code = ErrorCode::kFailedPrecondition;
  auto error = [&](const Tensor& result) {
    return error_of([&] { (void)result.to_vector<double>(); }, code);
  };
  EXPECT_THAT(
      error(linalg::inv(singular)),
      AllOf(HasSubstr("inv"), HasSubstr("the matrix is singular"), HasSubstr("linalg_test")));
  EXPECT_THAT(error(linalg::inv(batch)), HasSubstr("matrix 2 of the batch of 4 is singular"));
  EXPECT_THAT(error(linalg::solve(batch, batch)),
              AllOf(HasSubstr("solve"), HasSubstr("matrix 2 of the batch of 4 is singular")));
  EXPECT_THAT(error(linalg::matrix_power(batch, -3)), HasSubstr("matrix_power"));
  EXPECT_THAT(
      error(linalg::cholesky(-batch)),
      AllOf(HasSubstr("cholesky"), HasSubstr("matrix 0 of the batch of 4 is not positive")));
  // What is made of it fails alike, and what is not does not.
  const Tensor bad = linalg::inv(singular), good = linalg::inv(regular_matrix);
  EXPECT_THAT(error(bad + 1.0), HasSubstr("inv"));
  EXPECT_EQ(good.to_vector<double>()[0], 5);
  EXPECT_THAT(error_of(
                  [&] {
                    const Tensor dropped = linalg::inv(singular);
                    (void)dropped.eval();
                    sync();
                  },
                  code),
              HasSubstr("inv"));
}

TEST(Linalg, BadCallsFailAtOnce) {
  const ErrorCode code = ErrorCode::kInvalidArgument;
  const Tensor vector = ones(3), rectangle = ones({2, 3});
  EXPECT_THAT(error_of([&] { (void)linalg::cholesky(rectangle); }, code),
              AllOf(HasSubstr("cholesky"), HasSubstr("float32(2, 3)")));
  EXPECT_THAT(error_of([&] { (void)linalg::svd(vector); }, code), HasSubstr("svd"));
  EXPECT_THAT(error_of([&] { (void)linalg::qr(rectangle, "full"); }, code), HasSubstr("full"));
  EXPECT_THAT(error_of(
                  [&] {
                    (void)linalg::solve(eye(3), ones({2, 2}));
                  },
                  code),
              HasSubstr("float32(2, 2)"));
  EXPECT_THAT(error_of(
                  [&] {
                    (void)linalg::solve(ones({2, 3, 3}), ones({4, 3, 1}));
                  },
                  code),
              HasSubstr("broadcast"));
  EXPECT_THAT(error_of([&] { (void)linalg::matrix_norm(rectangle, "max"); }, code),
              HasSubstr("max"));
  EXPECT_THAT(error_of([&] { (void)linalg::matrix_norm(rectangle, 3); }, code), HasSubstr("3"));
  EXPECT_THAT(error_of(
                  [&] {
                    (void)linalg::cross(rectangle, ones({2, 2}));
                  },
                  code),
              HasSubstr("cross"));
  EXPECT_THAT(error_of([&] { (void)linalg::expm(rectangle); }, code), HasSubstr("expm"));
}

}  // namespace
}  // namespace sluice::test
