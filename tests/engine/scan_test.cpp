// Cumulative sums and products against loops over the same elements.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/reduction_tree.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

enum class Kind { kSum, kProduct };

Tensor scan(Kind kind, const Tensor& x, int axis) {
  return kind == Kind::kSum ? cumsum(x, axis) : cumprod(x, axis);
}

DType result_dtype(DType dtype) {
  switch (kind_of(dtype)) {
    case DTypeKind::kFloat: return dtype;
    case DTypeKind::kUnsigned: return DType::kUInt64;
    default: return DType::kInt64;
  }
}

// Along an axis whose neighbours are `inner` elements apart, in the order of
// kernels/library/scan.cpp.
template <typename T>
std::vector<T> expected(Kind kind, std::vector<T> values, int64_t length, int64_t inner) {
  using Total = std::conditional_t<sizeof(T) == 2, float, T>;
  using Word = std::conditional_t<std::is_integral_v<T>, uint64_t, Total>;  // wraps
  constexpr int64_t kLeaf = 16;
  auto combine = [&](Word a, Word b) -> Word { return kind == Kind::kSum ? a + b : a * b; };
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); i += length * inner) {
    for (int64_t j = i; j < i + inner; ++j) {
      std::vector<Word> leaves;
      for (int64_t k = 0; k < length; ++k) {
        T& value = values[j + k * inner];
        const auto word = static_cast<Word>(+static_cast<Total>(value));
        if (k % kLeaf == 0)
          leaves.push_back(word);
        else
          leaves.back() = combine(leaves.back(), word);
        std::optional<Word> before;
        for (int64_t rest = k / kLeaf, first = 0; rest > 0;) {
          const auto count = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(rest)));
          const Word subtree = reduce_tree(
              first, count, [&](int64_t leaf) { return leaves[leaf]; }, combine);
          before = before ? combine(*before, subtree) : subtree;
          first += count;
          rest -= count;
        }
        value = T(static_cast<Total>(before ? combine(*before, leaves.back()) : leaves.back()));
      }
    }
  }
  return values;
}

template <typename T>
void expect_same(const std::vector<T>& actual, const std::vector<T>& wanted,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), wanted.size()) << what;
  // A GPU combines the elements of long lines in another order.
  const double tolerance = std::is_integral_v<T> || default_device() == Device::cpu() ? 0
                           : sizeof(T) == 2                                           ? 1e-2
                           : sizeof(T) == 4                                           ? 1e-5
                                                                                      : 1e-12;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      ASSERT_EQ(actual[i], wanted[i]) << what << " at " << i;
    } else {
      const auto a = static_cast<double>(actual[i]);
      const auto w = static_cast<double>(wanted[i]);
      if (std::isnan(w)) {
        ASSERT_TRUE(std::isnan(a)) << what << " at " << i << ": " << a;
      } else if (std::isinf(w) || tolerance == 0) {
        ASSERT_EQ(a, w) << what << " at " << i;
        ASSERT_EQ(std::signbit(a), std::signbit(w)) << what << " at " << i;
      } else {
        ASSERT_LE(std::abs(a - w), tolerance * (1 + std::abs(w))) << what << " at " << i;
      }
    }
  }
}

void check(Kind kind, const Tensor& x, int axis) {
  const int from_front = axis < 0 ? axis + x.ndim() : axis;
  int64_t inner = 1;
  for (int k = from_front + 1; k < x.ndim(); ++k) inner *= x.shape(k);
  const Tensor y = scan(kind, x, axis);
  ASSERT_EQ(y.dtype(), result_dtype(x.dtype()));
  ASSERT_EQ(y.shape(), x.shape());
  visit_dtype(y.dtype(), [&]<typename T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      const std::vector<T> values = astype(x, y.dtype()).to_vector<T>();
      expect_same(y.to_vector<T>(), expected(kind, values, x.shape(axis), inner),
                  std::string(kind == Kind::kSum ? "cumsum of " : "cumprod of ") +
                      name_of(x.dtype()) + to_string(x.shape()) + " along " + std::to_string(axis));
    }
  });
}

// About 1, so that products stay finite; integers wrap.
Tensor sample(const Shape& shape, DType dtype) {
  if (kind_of(dtype) == DTypeKind::kFloat) return astype(rand(shape) * 0.4 + 0.8, dtype);
  return astype(randint(0, 1 << 20, shape) * 7 + 3, dtype);
}

class Scan : public testing::TestWithParam<DType> {};

TEST_P(Scan, EveryAxis) {
  for (const Shape& shape :
       {Shape{1}, Shape{7}, Shape{3000}, Shape{3, 70, 5}, Shape{300, 2}, Shape{2, 1500, 3}}) {
    for (const Kind kind : {Kind::kSum, Kind::kProduct}) {
      for (int axis = -1; axis < shape.rank(); ++axis) {
        check(kind, sample(shape, GetParam()), axis);
      }
    }
  }
}

TEST_P(Scan, ViewsAreReadInPlace) {
  const Tensor x = sample({6, 40, 9}, GetParam());
  x.eval();
  for (const Kind kind : {Kind::kSum, Kind::kProduct}) {
    for (int axis = 0; axis < 3; ++axis) {
      check(kind, permute(x, {2, 0, 1}), axis);
      check(kind, flip(x, {axis}), axis);
      check(kind, broadcast_to(reshape(sample({5}, GetParam()), {5, 1, 1}), {5, 3, 2}), axis);
    }
  }
}

TEST_P(Scan, OfNothing) {
  for (int axis = 0; axis < 2; ++axis) {
    const Tensor y = cumsum(zeros({0, 3}, GetParam()), axis);
    EXPECT_EQ(y.shape(), (Shape{0, 3}));
    EXPECT_EQ(y.dtype(), result_dtype(GetParam()));
    y.eval();
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, Scan, testing::ValuesIn(all_dtypes()),
                         [](const auto& info) { return name_of(info.param); });

TEST(ScanFloats, KeepNansInfinitiesAndSignsOfZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Kind kind : {Kind::kSum, Kind::kProduct}) {
    check(kind, Tensor::from({-0.f, -0.f, 0.f, 1.f, nan, 2.f}), 0);
    check(kind, Tensor::from({1.f, infinity, 2.f, -infinity, 3.f}), 0);
    check(kind, concat({full({1500}, 1.f), Tensor::from({nan}), full({700}, 1.f)}, 0), 0);
  }
}

TEST(ScanCalls, AreLibraryCallsBetweenKernels) {
  const Tensor x = rand({40, 30});
  x.eval();
  sync();
  const Stats before = stats();
  const std::vector<float> y = exp(cumsum(x * 2.f, 1)).to_vector<float>();
  const Stats after = stats();
  EXPECT_EQ(after.library_calls - before.library_calls, 1);
  EXPECT_EQ(after.kernels_launched - before.kernels_launched, 2);
  EXPECT_EQ(y, exp(cumsum(x + x, -1)).to_vector<float>());
}

TEST(ScanErrors, NameTheOpAndTheAxis) {
  EXPECT_THROW(static_cast<void>(cumsum(zeros({2, 3}), 2)), Error);
  EXPECT_THROW(static_cast<void>(cumprod(zeros({2, 3}), -3)), Error);
  EXPECT_THROW(static_cast<void>(cumsum(full({}, 1.f), 0)), Error);
  EXPECT_THROW(static_cast<void>(cumsum(Tensor(), 0)), Error);
}

}  // namespace
}  // namespace sluice::test
