// Sorts, searches and compactions against the standard library's, and what they cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// As sort() orders them.
template <typename T>
bool before(T a, T b, bool descending) {
  if constexpr (!std::is_integral_v<T>) {
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x);
    return descending ? y < x : x < y;
  } else {
    return descending ? b < a : a < b;
  }
}
template <typename T>
bool comes_before(T a, T b, bool descending) {
  return before(a, b, descending) && !(before(b, a, descending));
}

template <typename T>
using Bits =
    std::conditional_t<sizeof(T) == 1, uint8_t,
                       std::conditional_t<sizeof(T) == 2, uint16_t,
                                          std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
template <typename T>
Bits<T> bits_of(T value) {
  return std::bit_cast<Bits<T>>(value);
}

// The positions of a line's elements in order.
template <typename T>
std::vector<int64_t> order_of(const std::vector<T>& values, bool descending) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return comes_before<T>(values[a], values[b], descending);
  });
  return order;
}

// Each line along `axis` of row-major values, with f(line): what takes its place.
template <typename T, typename F>
auto by_lines(const std::vector<T>& values, const Shape& shape, int axis, F f) {
  int64_t inner = 1;
  for (int k = axis + 1; k < shape.rank(); ++k) inner *= shape[k];
  const int64_t length = shape[axis];
  std::vector<typename decltype(f(values))::value_type> result;
  if (values.empty()) return result;
  const auto lines = static_cast<int64_t>(values.size()) / length;
  for (int64_t line = 0; line < lines; ++line) {
    std::vector<T> own(length);
    const int64_t outer = line / inner;
    for (int64_t i = 0; i < length; ++i) {
      own[i] = values[(outer * length + i) * inner + line % inner];
    }
    const auto made = f(own);
    const auto count = static_cast<int64_t>(made.size());
    if (result.empty()) result.resize(lines * count);
    for (int64_t i = 0; i < count; ++i) {
      result[(outer * count + i) * inner + line % inner] = made[i];
    }
  }
  return result;
}

template <typename T>
void expect_bits(const std::vector<T>& actual, const std::vector<T>& wanted,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), wanted.size()) << what;
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(bits_of(static_cast<T>(actual[i])), bits_of(static_cast<T>(wanted[i])))
        << what << " at " << i;
  }
}

// Many that are equal, the extremes, both zeros, infinities and NaN.
Tensor sample(const Shape& shape, DType dtype) {
  if (!is_float(dtype)) return astype(randint(-30, 100, shape), dtype);
  const Tensor numbers = astype(randint(-20, 21, shape), dtype) / 4;
  const Tensor which = randint(0, 40, shape);
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor x = where(which == 0, std::numeric_limits<double>::quiet_NaN(), numbers);
  x = where(which == 1, infinity, where(which == 2, -infinity, x));
  return where(which == 3, -0.0, where(which == 4, 0.0, x));
}

void check_topk(const Tensor& x, int axis, int64_t k) {
  const int along = axis < 0 ? axis + x.ndim() : axis;
  const std::string what = std::string(name_of(x.dtype())) + to_string(x.shape()) + " along " +
                           std::to_string(axis) + ", " + std::to_string(k);
  visit_dtype(x.dtype(), [&]<typename T>() {
    const auto first = [&](const std::vector<T>& line) {
      std::vector<int64_t> order = order_of(line, true);
      order.resize(k);
      return order;
    };
    const auto [best, indices] = topk(x, k, axis);
    expect_bits(indices.to_vector<int64_t>(), by_lines(x.to_vector<T>(), x.shape(), along, first),
                "topk of " + what);
    EXPECT_EQ(best.dtype(), x.dtype());
    EXPECT_EQ(best.shape(), indices.shape());
    expect_bits(best.to_vector<T>(), take_along_axis(x, indices, axis).to_vector<T>(), what);
  });
}

void check(const Tensor& x, int axis, int64_t k) {
  const int along = axis < 0 ? axis + x.ndim() : axis;
  const std::string what =
      std::string(name_of(x.dtype())) + to_string(x.shape()) + " along " + std::to_string(axis);
  visit_dtype(x.dtype(), [&]<typename T>() {
    const std::vector<T> values = x.to_vector<T>();
    for (const bool descending : {false, true}) {
      const auto order = [&](const std::vector<T>& line) { return order_of(line, descending); };
      const auto sorted = [&](const std::vector<T>& line) {
        std::vector<T> result;
        for (const int64_t at : order(line)) result.push_back(line[at]);
        return result;
      };
      expect_bits(sort(x, axis, descending).to_vector<T>(),
                  by_lines(values, x.shape(), along, sorted), "sort of " + what);
      expect_bits(argsort(x, axis, descending).to_vector<int64_t>(),
                  by_lines(values, x.shape(), along, order), "argsort of " + what);
    }
  });
  check_topk(x, axis, k);
}

class Sort : public testing::TestWithParam<DType> {};

TEST_P(Sort, EveryAxis) {
  for (const Shape& shape : {Shape{1}, Shape{2}, Shape{7}, Shape{3000}, Shape{3, 70, 5},
                             Shape{300, 2}, Shape{2, 1500, 3}, Shape{40, 8}, Shape{5, 1}}) {
    for (int axis = -1; axis < shape.rank(); ++axis) {
      check(sample(shape, GetParam()), axis, (shape[axis] + 5) / 6);
    }
  }
}

TEST_P(Sort, ViewsAreReadInPlace) {
  const Tensor x = sample({6, 40, 9}, GetParam());
  x.eval();
  for (int axis = 0; axis < 3; ++axis) {
    check(permute(x, {2, 0, 1}), axis, 3);
    check(flip(x, {axis}), axis, 1);
    check(broadcast_to(reshape(sample({5}, GetParam()), {5, 1, 1}), {5, 3, 2}), axis, 2);
  }
}

TEST_P(Sort, OfNothing) {
  const Tensor x = zeros({0, 3}, GetParam());
  for (int axis = 0; axis < 2; ++axis) {
    EXPECT_EQ(sort(x, axis).shape(), x.shape());
    EXPECT_EQ(argsort(x, axis).shape(), x.shape());
    sort(x, axis).eval();
  }
  EXPECT_EQ(topk(x, 0, 0).first.shape(), (Shape{0, 3}));
  EXPECT_EQ(topk(ones({4}, GetParam()), 0).second.shape(), (Shape{0}));
  EXPECT_EQ(nonzero(x).shape(), (Shape{0, 2}));
  EXPECT_EQ(unique_values(x).shape(), Shape{0});
  sync();
}

// Long enough that several threads sort a line, and each selects of a part of it.
TEST_P(Sort, LongLines) {
  if (default_device() != Device::cpu()) GTEST_SKIP() << "the emulated GPU would take minutes";
  check(sample({300001}, GetParam()), 0, 100);
}

// On a GPU they are selected: what is all different, what has many equals, and what has but one
// value.
TEST_P(Sort, FirstOfLongLines) {
  constexpr int64_t kLength = 40'000;
  const DType dtype = GetParam();
  const Tensor different = astype(arange(kLength) * 7919 % kLength - 20'000, dtype);
  check_topk(different, 0, 100);
  check_topk(flip(different, {0}), 0, 1);
  check_topk(ones({kLength}, dtype), 0, 2048);
  check_topk(sample({kLength, 2}, dtype), 0, 1000);
  check_topk(sample({2, kLength}, dtype), 1, 2049);
  EXPECT_EQ(topk(different, 0).second.shape(), (Shape{0}));
}

// On a GPU by their bits: one line of many pieces, and several lines of few.
TEST(SortOnAGpu, LongLines) {
  check(sample({140001}, kUInt16), 0, 100);
  for (const DType dtype : {kFloat32, kInt64, kFloat16, kUInt8}) {
    check(sample({23000, 3}, dtype), 0, 100);
  }
  check(transpose(sample({23000, 3}, kFloat16)), 1, 100);
}

// A block each, and the first that take several.
TEST(SortOnAGpu, LinesOfABlock) {
  for (const int64_t length : {256, 257, 512, 513, 1024, 1025, 2048, 2049, 4096, 4097}) {
    for (const DType dtype : {kFloat32, kInt64, kUInt8}) {
      check(sample({2, length}, dtype), 1, 3);
      if (length % 2 == 1) check(sample({length, 3}, dtype), 0, 3);
    }
  }
}

// Numbers of 64 bits of which only the last bits differ, or the first and the last.
TEST(SortOf64Bits, CloseNumbers) {
  for (const int64_t length : {1, 2, 17, 40, 64, 65, 1000, 3000}) {
    for (const int64_t different : {3, 1000}) {
      const Tensor few = astype(randint(0, different, {3, length}), kInt64);
      const Tensor which = randint(0, 2, {3, length});
      const Tensor close = 1 + astype(few, kFloat64) * 0x1p-52;
      for (const Tensor& x : {few, where(which == 0, few, few - (int64_t{1} << 62)), close,
                              where(which == 0, close, -close)}) {
        check(x, 1, (length + 1) / 2);
        check(transpose(x), 0, (length + 1) / 2);
      }
    }
  }
}

TEST_P(Sort, SearchesAndCompactions) {
  const Tensor x = sample({3, 1700}, GetParam());
  const Tensor line = sort(x.reshape({-1}));
  const Tensor values = sample({2, 150}, GetParam());
  visit_dtype(GetParam(), [&]<typename T>() {
    const std::vector<T> in_order = line.to_vector<T>();
    const std::vector<T> wanted = values.to_vector<T>();
    for (const bool right : {false, true}) {
      const std::vector<int64_t> found =
          searchsorted(line, values, right).template to_vector<int64_t>();
      for (size_t i = 0; i < wanted.size(); ++i) {
        const int64_t count = std::count_if(in_order.begin(), in_order.end(), [&](T each) {
          return right ? !comes_before<T>(wanted[i], each, false)
                       : comes_before<T>(each, wanted[i], false);
        });
        ASSERT_EQ(found[i], count) << i;
      }
    }
    const std::vector<T> all = x.to_vector<T>();
    std::vector<int64_t> places;
    for (size_t i = 0; i < all.size(); ++i) {
      if (static_cast<double>(all[i]) == 0) continue;
      places.push_back(static_cast<int64_t>(i) / 1700);
      places.push_back(static_cast<int64_t>(i) % 1700);
    }
    EXPECT_EQ(nonzero(x).to_vector<int64_t>(), places);
    EXPECT_EQ(nonzero(flip(x, -1)).shape(0), static_cast<int64_t>(places.size() / 2));
  });
}

INSTANTIATE_TEST_SUITE_P(EveryDType, Sort,
                         testing::Values(DType::kBool, DType::kInt8, DType::kInt16, DType::kInt32,
                                         DType::kInt64, DType::kUInt8, DType::kUInt16,
                                         DType::kUInt32, DType::kUInt64, DType::kFloat16,
                                         DType::kBFloat16, DType::kFloat32, DType::kFloat64),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST(Nonzero, OfMasksOfEveryLengthAndDensity) {
  for (const int64_t length : {1, 7, 8, 31, 32, 33, 63, 65, 100, 4095, 4096, 4097, 9001}) {
    for (const double part : {0., 0.002, 0.05, 0.5, 0.95, 1.}) {
      manual_seed(length);
      const Tensor mask = (rand({length}) < part).eval();
      std::vector<int64_t> places;
      const std::vector<bool> is_true = mask.to_vector<bool>();
      for (int64_t i = 0; i < length; ++i) {
        if (is_true[i]) places.push_back(i);
      }
      const auto size = static_cast<int64_t>(places.size());
      EXPECT_EQ(nonzero(mask).shape(), (Shape{size, 1}));
      EXPECT_EQ(nonzero(mask).to_vector<int64_t>(), places) << length << ", " << part;
      for (int64_t& place : places) place = length - 1 - place;
      std::reverse(places.begin(), places.end());
      EXPECT_EQ(nonzero(flip(mask, 0)).to_vector<int64_t>(), places) << length << ", " << part;
    }
  }
}

class SortCosts : public testing::Test {
 protected:
  void SetUp() override { config().compile = CompileMode::kOff; }
  static void expect_work(int64_t kernels, int64_t library_calls) {
    EXPECT_EQ(stats().kernels_launched, kernels);
    EXPECT_EQ(stats().library_calls, library_calls);
  }
  ConfigGuard guard_;
};

TEST_F(SortCosts, WhatComesBeforeIsOneKernel) {
  const Tensor x = rand({64, 50}), w = rand({50});
  sync();
  reset_stats();
  const Tensor y = sort(exp(x * w) - 1, 1);
  sync();
  expect_work(1, 1);
  reset_stats();
  const Tensor z = argsort(x, 0) * 2;
  sync();
  expect_work(1, 1);
}

TEST_F(SortCosts, PermutedOperandsAreNotCopied) {
  const Tensor x = rand({64, 50});
  sync();
  reset_stats();
  const Tensor y = sort(transpose(x), 0);
  sync();
  expect_work(0, 1);
}

TEST_F(SortCosts, AMaskIsReadTwice) {
  const Tensor x = rand({10000});
  sync();
  reset_stats();
  const Tensor y = x(x > 0.5f);
  sync();
  // The mask, which is padded to whole blocks; their sums, which are scanned (a GPU: by a library's
  // call); what is taken.
  const bool is_cpu = default_device() == Device::cpu();
  EXPECT_LE(stats().kernels_launched, is_cpu ? 5 : 4);
  EXPECT_EQ(stats().library_calls, is_cpu ? 1 : 2);
}

// On the CPU what is true of it is counted where it lies.
TEST_F(SortCosts, ASmallMaskTakesTheKernelThatUsesIt) {
  const Tensor x = rand({1000});
  const Tensor mask = (x > 0.5f).eval();
  sync();
  reset_stats();
  const Tensor y = x(mask);
  sync();
  expect_work(default_device() == Device::cpu() ? 1 : 2, 1);
}

TEST(Unique, PartsBelongTogether) {
  for (const DType dtype : {DType::kInt32, DType::kFloat64, DType::kBool}) {
    const Tensor x = astype(randint(-9, 9, {30, 20}), dtype);
    const auto [values, indices, inverse, counts] = unique_all(x);
    EXPECT_TRUE(array_equal(take(values, inverse, 0), x).item<bool>());
    EXPECT_TRUE(array_equal(take(x.reshape({-1}), indices, 0), values).item<bool>());
    EXPECT_EQ(sum(counts).item<int64_t>(), x.numel());
    EXPECT_TRUE(array_equal(unique_values(x), values).item<bool>());
    EXPECT_TRUE(array_equal(unique_counts(x).second, counts).item<bool>());
    EXPECT_TRUE(array_equal(unique_inverse(x).second, inverse).item<bool>());
  }
}

}  // namespace
}  // namespace sluice::test
