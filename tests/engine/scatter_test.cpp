// Scatters of rows of every length against plain loops, bit by bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

class Scatter : public testing::TestWithParam<DType> {};

// Small numbers; of floats also those of which sums and maxima are special.
Tensor numbers(const Shape& shape, DType dtype) {
  Tensor x = astype(randint(-20, 21, shape), dtype);
  if (!is_float(dtype)) return x;
  x = x / 7;
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor which = randint(0, 60, shape);
  x = where(which == 0, infinity, where(which == 1, -infinity, x));
  return where(which == 2, std::numeric_limits<double>::quiet_NaN(), where(which == 3, -0.0, x));
}

// Whether both are zeros, and a comes before b.
template <typename T>
bool is_first(T a, T b) {
  return a == 0 && b == 0 &&
         std::signbit(static_cast<double>(a)) > std::signbit(static_cast<double>(b));
}

// Sums of integers wrap, as the engine's; signed arithmetic of C++ must not.
template <typename T>
T wrapping_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

template <typename T, typename Combine>
void expect_rows(const Tensor& actual, const Tensor& x, const Tensor& rows, const Tensor& updates,
                 const char* what, Combine combine) {
  std::vector<T> wanted = x.to_vector<T>();
  const std::vector<int64_t> to = rows.to_vector<int64_t>();
  const std::vector<T> from = updates.to_vector<T>();
  const int64_t columns = x.shape(1);
  for (size_t i = 0; i < to.size(); ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      T& element = wanted[to[i] * columns + j];
      element = combine(element, from[i * columns + j]);
      if (element != element) element = std::numeric_limits<T>::quiet_NaN();
    }
  }
  const std::vector<T> found = actual.to_vector<T>();
  ASSERT_EQ(found.size(), wanted.size());
  EXPECT_TRUE(found.empty() ||
              std::memcmp(found.data(), wanted.data(), found.size() * sizeof(T)) == 0)
      << what << " of " << to.size() << " rows of " << columns;
}

TEST_P(Scatter, RowsOfEveryLength) {
  const DType dtype = GetParam();
  constexpr int64_t kRows = 40;
  for (const int64_t columns :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 21, 25, 31, 33, 300}) {
    for (const int64_t count : {1, 7, 1003}) {
      for (const bool in_order : {false, true}) {
        const Tensor x = numbers({kRows, columns}, dtype);
        Tensor rows = astype(randint(0, kRows, {count}), DType::kInt64);
        if (in_order) rows = sort(rows);
        const Tensor updates = numbers({count, columns}, dtype);
        const Tensor at = reshape(rows, {count, 1});
        visit_dtype(dtype, [&]<typename T>() {
          if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
            expect_rows<T>(scatter_add(x, at, updates, 0), x, rows, updates, "sums",
                           wrapping_sum<T>);
            expect_rows<T>(scatter_max(x, at, updates, 0), x, rows, updates, "maxima",
                           [](T a, T b) { return a < b || b != b || is_first(a, b) ? b : a; });
            expect_rows<T>(scatter_min(x, at, updates, 0), x, rows, updates, "minima",
                           [](T a, T b) { return b < a || b != b || is_first(b, a) ? b : a; });
            expect_rows<T>(scatter(x, at, updates, 0), x, rows, updates, "updates",
                           [](T, T b) { return b; });
            // Rows that are not consecutive.
            const Tensor copied = transpose(updates) * 1;
            copied.eval();
            const Tensor columnwise = transpose(copied);
            expect_rows<T>(scatter_add(x, at, columnwise, 0), x, rows, updates, "strided sums",
                           wrapping_sum<T>);
          }
        });
      }
    }
  }
}

// Blocks that ascend, and some that don't; rows that fill blocks; strided positions.
TEST_P(Scatter, ElementsInOrder) {
  const DType dtype = GetParam();
  constexpr int64_t kCount = 10'000;
  for (const int64_t rows_of_x : {1, 3, 50, 3000}) {
    for (const int64_t exchanged : {0, 2}) {
      const Tensor x = numbers({rows_of_x, 1}, dtype);
      Tensor rows = sort(astype(randint(0, rows_of_x, {kCount}), DType::kInt64));
      const Tensor place = arange(kCount);
      if (exchanged > 0) rows = where(place % 4999 == 17, rows_of_x - 1 - rows, rows);
      const Tensor updates = numbers({kCount, 1}, dtype);
      const Tensor twice = reshape(stack({rows, zeros_like(rows)}, 1), {2 * kCount, 1});
      visit_dtype(dtype, [&]<typename T>() {
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
          const auto add = wrapping_sum<T>;
          for (const Tensor& at : {reshape(rows, {kCount, 1}), slice(twice, 0, 0, 2 * kCount, 2)}) {
            expect_rows<T>(scatter_add(x, at, updates, 0), x, rows, updates, "sums", add);
            expect_rows<T>(scatter(x, at, updates, 0), x, rows, updates, "updates",
                           [](T, T b) { return b; });
          }
          const Tensor none = zeros({1, 1}, dtype), zero = zeros({rows_of_x, 1}, dtype);
          expect_rows<T>(scatter_add(broadcast_to(none, {rows_of_x, 1}), reshape(rows, {kCount, 1}),
                                     updates, 0),
                         zero, rows, updates, "sums from 0", add);
        }
      });
    }
  }
}

// Rows of whole vectors, of x from an element on that may not be aligned.
TEST_P(Scatter, ManyPositionsOfRows) {
  const DType dtype = GetParam();
  constexpr int64_t kCount = 5000, kRows = 70;
  const Tensor rows = astype(randint(0, kRows, {kCount}), DType::kInt64);
  for (const int64_t columns : {8, 16, 17}) {
    const Tensor updates = numbers({kCount, columns}, dtype);
    const Tensor padded = numbers({kRows * columns + 1}, dtype);
    for (const int64_t first : {0, 1}) {
      const Tensor x = reshape(slice(padded, 0, first, first + kRows * columns), {kRows, columns});
      visit_dtype(dtype, [&]<typename T>() {
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
          expect_rows<T>(scatter_add(x, reshape(rows, {kCount, 1}), updates, 0), x, rows, updates,
                         "sums", wrapping_sum<T>);
          expect_rows<T>(scatter(x, reshape(rows, {kCount, 1}), updates, 0), x, rows, updates,
                         "updates", [](T, T b) { return b; });
        }
      });
    }
  }
}

// Rows that a GPU's blocks do not have among them; most positions are of a few rows.
TEST_P(Scatter, ManyRowsAndPositions) {
  const DType dtype = GetParam();
  struct Case {
    int64_t rows, columns, count;
  };
  for (const auto& [of_x, columns, count] :
       {Case{5000, 1, 20'000}, Case{300'000, 1, 20'000}, Case{300'000, 4, 20'000},
        Case{300'000, 1, 900}, Case{20'000, 8, 4000}, Case{70'000, 3, 7}, Case{2, 40'000, 5}}) {
    const Tensor anywhere = astype(randint(0, of_x, {count}), DType::kInt64);
    const Tensor rows = where(arange(count) % 3 == 0, anywhere, of_x - 1 - anywhere % 5 % of_x);
    const Tensor x = numbers({of_x, columns}, dtype), updates = numbers({count, columns}, dtype);
    const Tensor at = reshape(rows, {count, 1});
    visit_dtype(dtype, [&]<typename T>() {
      if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
        expect_rows<T>(scatter_add(x, at, updates, 0), x, rows, updates, "sums", wrapping_sum<T>);
        expect_rows<T>(scatter(x, at, updates, 0), x, rows, updates, "updates",
                       [](T, T b) { return b; });
      }
    });
  }
}

// Few elements, of many blocks; carries of eight bytes, from half to half.
TEST_P(Scatter, SumsOfLargeNumbers) {
  const DType dtype = GetParam();
  constexpr int64_t kCount = 20'000, kRows = 100;
  const Tensor rows = astype(randint(0, kRows, {kCount}), DType::kInt64);
  const Tensor x = numbers({kRows, 1}, dtype);
  const Tensor updates = numbers({kCount, 1}, dtype) * astype(full({1}, 1e9), dtype);
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      expect_rows<T>(scatter_add(x, reshape(rows, {kCount, 1}), updates, 0), x, rows, updates,
                     "large sums", wrapping_sum<T>);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(DTypes, Scatter,
                         testing::Values(DType::kInt8, DType::kInt32, DType::kInt64, DType::kUInt16,
                                         DType::kFloat32, DType::kFloat64),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

// Positions are the indices, checked: the places in x that they are counted from have no memory.
TEST(ScatterCosts, AFewUpdatesTakeNoPlaces) {
  const Tensor x = ones({100000, 2}, kFloat32).eval();
  const Tensor at = Tensor::from<int64_t>({7, -1, 7}).eval(), updates = ones({3, 2}).eval();
  sync();
  reset_stats();
  const std::vector<float> sums = x.add_at({at}, updates).to_vector<float>();
  EXPECT_EQ(sums[14], 3);
  EXPECT_EQ(sums[199999], 2);
  EXPECT_EQ(stats().kernels_launched, 1);  // the positions
  EXPECT_LT(stats().bytes_written, 2 * 100000 * sizeof(float) + 100);
  EXPECT_THROW(static_cast<void>(x.add_at({at * 100000}, updates).to_vector<float>()), Error);
}

TEST(Bincount, CountsAndWeighs) {
  const Tensor x = Tensor::from({3, 0, 3, 1, 3});
  EXPECT_EQ(bincount(x).to_vector<int64_t>(), (std::vector<int64_t>{1, 1, 0, 3}));
  EXPECT_EQ(bincount(x, {}, 6).to_vector<int64_t>(), (std::vector<int64_t>{1, 1, 0, 3, 0, 0}));
  EXPECT_EQ(bincount(x, Tensor::from({1.f, 2.f, 4.f, 8.f, 16.f})).to_vector<float>(),
            (std::vector<float>{2, 8, 0, 21}));
  EXPECT_EQ(bincount(zeros({0}, DType::kInt32), {}, 2).to_vector<int64_t>(),
            (std::vector<int64_t>{0, 0}));
}

}  // namespace
}  // namespace sluice::test
