// Attention in all of its forms, which a GPU computes in one kernel, against float64 on the CPU,
// where it is composed of products and a softmax.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum Mask { kNoMask, kBool, kBoolOfKeys, kFloat, kFloatOfHeads };
enum Order { kRows, kHeadsInside, kCut, kColumns };

struct Case {
  int64_t batch, heads, key_heads, length, keys, depth, value_depth;
  Mask mask = kNoMask;
  bool causal = false;
  Order order = kRows;
  double scale = 0;
};

// (batch, heads, rows, columns), as it lies in memory after a typical model's views.
Tensor operand(DType dtype, int64_t batch, int64_t heads, int64_t rows, int64_t columns,
               Order order) {
  switch (order) {
    case kHeadsInside: return swapaxes(randn({batch, rows, heads, columns}).astype(dtype), 1, 2);
    case kCut:
      return slice(randn({batch, heads, rows, columns + 3}).astype(dtype), -1, 1, columns + 1);
    case kColumns: return swapaxes(randn({batch, heads, columns, rows}).astype(dtype), 2, 3);
    default: return randn({batch, heads, rows, columns}).astype(dtype);
  }
}

Tensor mask_of(const Case& c) {
  const auto allowed = [](const Shape& shape) {
    Tensor mask = rand(shape) > 0.3f;
    // The first rows see nothing, or if all rows are alike all of them see the last key.
    return shape[0] > 1 ? mask & (arange(shape[0]) > 0).expand_dims(1)
                        : mask | (arange(shape[1]) == shape[1] - 1);
  };
  switch (c.mask) {
    case kBool: return allowed({c.length, c.keys});
    case kBoolOfKeys: return reshape(allowed({1, c.keys}), {1, 1, 1, c.keys});
    case kFloat: return randn({c.batch, 1, c.length, c.keys});
    case kFloatOfHeads: return randn({c.heads, 1, c.keys});
    default: return {};
  }
}

double tolerance_of(DType dtype) {
  return dtype == DType::kFloat32 ? 1e-5 : dtype == DType::kFloat16 ? 4e-3 : 3e-2;
}

Tensor exact(const Tensor& x) { return x.to(Device::cpu()).astype(DType::kFloat64); }

void expect_near(const Tensor& actual, const Tensor& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape())) << what;
  const std::vector<double> a = exact(actual).to_vector<double>(),
                            b = exact(expected).to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::isnan(a[i]), std::isnan(b[i])) << what << ", element " << i;
    if (!std::isnan(b[i])) {
      ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << what << ", element " << i;
    }
  }
}

bool has_kernel() { return randn({1}).device().type() == DeviceType::kCuda; }

struct Operands {
  Tensor q, k, v, mask;

  Operands(const Case& c, DType dtype)
      : q(operand(dtype, c.batch, c.heads, c.length, c.depth, c.order)),
        k(operand(dtype, c.batch, c.key_heads, c.keys, c.depth, c.order)),
        v(operand(dtype, c.batch, c.key_heads, c.keys, c.value_depth, c.order)),
        mask(mask_of(c)) {}

  Tensor exactly(const Case& c) const {
    const Tensor host_mask = mask.defined() ? mask.to(Device::cpu()) : mask;
    return scaled_dot_product_attention(exact(q), exact(k), exact(v), host_mask, c.causal, c.scale);
  }
};

std::string text_of(const Case& c, DType dtype) {
  return absl::StrCat(name_of(dtype), " ", c.batch, "x", c.heads, "x", c.length, "x", c.depth,
                      " by ", c.key_heads, "x", c.keys, "x", c.value_depth, ", mask ", int{c.mask},
                      c.causal ? ", causal" : "", ", order ", int{c.order});
}

const Case kCases[] = {
    {1, 1, 1, 1, 1, 8, 8},
    {2, 3, 3, 7, 65, 8, 24, kBool},
    {1, 2, 1, 65, 64, 64, 64, kNoMask, true},
    {2, 4, 2, 64, 130, 64, 64, kFloat, false, kHeadsInside},
    {1, 2, 2, 130, 130, 64, 64, kBool, true, kRows, 0.3},
    {1, 2, 2, 130, 65, 64, 40, kFloatOfHeads, true, kCut},
    {1, 1, 1, 65, 7, 24, 8, kBoolOfKeys, false, kColumns},
    {2, 2, 2, 65, 70, 80, 80, kNoMask, true, kHeadsInside},
    {1, 2, 1, 64, 130, 128, 128, kBoolOfKeys},
    {1, 1, 1, 40, 70, 200, 256, kNoMask, true},
    // Few queries, whose keys are divided.
    {2, 8, 2, 1, 700, 64, 64, kNoMask, false, kHeadsInside},
    {1, 8, 2, 5, 1030, 128, 128, kBool, true},
    {1, 3, 3, 7, 520, 20, 9, kFloat, true},
    // Few blocks of queries.
    {1, 2, 2, 70, 600, 64, 64, kBool, true},
};

class AttentionOf : public ::testing::TestWithParam<DType> {};

TEST_P(AttentionOf, AllFormsIsThatOfFloat64) {
  manual_seed(11);
  for (const Case& c : kCases) {
    const Operands x(c, GetParam());
    const Tensor y = scaled_dot_product_attention(x.q, x.k, x.v, x.mask, c.causal, c.scale);
    EXPECT_EQ(y.dtype(), GetParam());
    expect_near(y, x.exactly(c), tolerance_of(GetParam()), text_of(c, GetParam()));
    ASSERT_FALSE(HasFatalFailure());
  }
}

// The order of sums follows from the shape: neither how operands lie in memory nor when they are
// computed changes a bit.
TEST_P(AttentionOf, AnyLayoutHasTheSameBits) {
  manual_seed(12);
  for (const Case& c : {Case{2, 2, 1, 70, 90, 64, 64}, Case{1, 4, 2, 3, 300, 24, 16}}) {
    const Operands x(c, GetParam());
    const Tensor dense = scaled_dot_product_attention(x.q, x.k, x.v, {}, true);
    // The same elements in memory of their own.
    const auto again = [](const Tensor& of, Order order) {
      if (order == kCut)
        return slice(concat({slice(of, -1, 0, 1), of}, -1).eval(), -1, 1, of.shape(3) + 1);
      const Tensor turned = swapaxes(of, 1, 2);
      return swapaxes(slice(concat({turned, turned}, 0).eval(), 0, 0, of.shape(0)), 1, 2);
    };
    for (const Order order : {kCut, kHeadsInside}) {
      const Tensor other = scaled_dot_product_attention(again(x.q, order), again(x.k, order),
                                                        again(x.v, order), {}, true);
      EXPECT_TRUE(all(other == dense).item<bool>()) << text_of(c, GetParam());
    }
  }
}

TEST_P(AttentionOf, InfinitiesAndNaNs) {
  manual_seed(13);
  const Tensor k = randn({1, 2, 70, 64}).astype(GetParam()),
               v = randn({1, 2, 70, 64}).astype(GetParam());
  const Tensor rows = arange(70).expand_dims(1);
  const auto q_with = [&](float special) {
    return where((rows == 3) & (arange(64) == 5), special, randn({1, 2, 70, 64}))
        .astype(GetParam());
  };
  for (const float special : {std::nanf(""), kInfinity, -kInfinity}) {
    const Tensor q = q_with(special);
    const Tensor y = scaled_dot_product_attention(q, k, v);
    const Tensor nan = all(isnan(y), -1);
    EXPECT_EQ(sum(nan).item<int64_t>(), 2) << special;
    EXPECT_TRUE(all(nan[0][0][3]).item<bool>()) << special;
    EXPECT_EQ(sum(isnan(y)).item<int64_t>(), 2 * 64) << special;
  }
  // A mask of infinities, which some rows see nothing but, and others first.
  const Tensor mask = where((rows < 2) | ((rows == 4) & (arange(70) < 66)), -kInfinity, 0.f);
  const Tensor q = q_with(1);
  const Tensor y = scaled_dot_product_attention(q, k, v, mask);
  expect_near(y, scaled_dot_product_attention(exact(q), exact(k), exact(v), exact(mask)),
              tolerance_of(GetParam()), "a mask of infinities");
  EXPECT_EQ(sum(isnan(y)).item<int64_t>(), 2 * 2 * 64);
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionOf,
                         ::testing::Values(DType::kFloat32, DType::kFloat16, DType::kBFloat16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Attention, TakesFewerAxesAndBroadcasts) {
  manual_seed(14);
  const Tensor q = randn({70, 16}), k = randn({2, 80, 16}), v = randn({3, 1, 80, 8});
  expect_near(scaled_dot_product_attention(q, k, v),
              scaled_dot_product_attention(exact(q), exact(k), exact(v)), 1e-5, "broadcast");
  expect_near(scaled_dot_product_attention(q, k[0], v[0][0], randn({80}) * 0.f),
              scaled_dot_product_attention(exact(q), exact(k[0]), exact(v[0][0])), 1e-5,
              "matrices");
}

TEST(Attention, IsOneCallOnAGpu) {
  if (!has_kernel()) GTEST_SKIP() << "composed on a CPU";
  const auto count = [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                        bool causal) {
    sluice::sync();
    reset_stats();
    const int64_t before = stats().bytes_live;
    static_cast<void>(scaled_dot_product_attention(q, k, v, mask, causal).eval());
    sluice::sync();
    EXPECT_EQ(stats().library_calls, 1);
    EXPECT_EQ(stats().kernels_launched, 0);
    EXPECT_LE(
        stats().bytes_allocated_peak - before,
        q.numel() / q.shape(-1) * v.shape(-1) * static_cast<int64_t>(size_of(q.dtype())) + 4096);
  };
  const Tensor x = randn({2, 300, 4, 32}).astype(DType::kFloat16).eval();
  const Tensor heads = swapaxes(x, 1, 2), mask = (randn({300, 300}) > 0.f).eval();
  count(heads, heads, heads, {}, false);
  count(heads, heads, heads, {}, true);
  count(heads, slice(heads, 1, 0, 2), slice(heads, 1, 0, 2), mask, false);
  const Tensor wide = randn({1, 4, 200, 16}).eval();
  count(wide, wide, wide, {}, true);
}

// What has no kernel is composed, and gives what it always gave.
TEST(Attention, IsComposedOtherwise) {
  manual_seed(15);
  const auto check = [](const Tensor& q, const Tensor& k, const Tensor& v, double scale) {
    expect_near(scaled_dot_product_attention(q, k, v, {}, false, scale),
                scaled_dot_product_attention(exact(q), exact(k), exact(v), {}, false, scale), 1e-5,
                absl::StrCat("scale ", scale));
  };
  const Tensor x = randn({1, 2, 20, 16});
  check(x, x, x, -0.5);
  const Tensor deep = randn({1, 1, 20, 300}), ranks = randn({2, 1, 1, 20, 16});
  check(deep, deep, deep, 0);
  check(ranks, ranks, ranks, 0);
  const Tensor nothing = zeros({2, 0, 16});
  EXPECT_EQ(to_string(scaled_dot_product_attention(nothing, x[0], x[0]).shape()),
            to_string(Shape{2, 0, 16}));
  EXPECT_EQ(sum(scaled_dot_product_attention(x[0], nothing, nothing)).item<float>(), 0);
}

TEST(Attention, HasTheGradientsOfTheComposedForm) {
  manual_seed(16);
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    for (const bool causal : {false, true}) {
      const Case c{1, 4, 2, 70, 90, 16, 24, causal ? kBool : kNoMask, causal};
      Operands x(c, dtype);
      // Without the row that sees nothing.
      if (x.mask.defined()) x.mask = x.mask | (arange(90) == 0);
      const auto gradients_of = [&](Tensor q, Tensor k, Tensor v, const Tensor& mask) {
        q = q.requires_grad(), k = k.requires_grad(), v = v.requires_grad();
        const Tensor y = scaled_dot_product_attention(q, k, v, mask, causal);
        return gradients(sum(y * y), {q, k, v});
      };
      const auto actual = gradients_of(x.q, x.k, x.v, x.mask);
      const auto expected = gradients_of(exact(x.q), exact(x.k), exact(x.v),
                                         x.mask.defined() ? x.mask.to(Device::cpu()) : x.mask);
      for (size_t i = 0; i < 3; ++i) {
        expect_near(actual[i], expected[i], dtype == DType::kFloat32 ? 1e-4 : 2e-2,
                    absl::StrCat(text_of(c, dtype), ", gradient ", i));
      }
    }
  }
}

// Of the gradient, and by one operand that is all three.
TEST(Attention, HasGradientsOfGradients) {
  manual_seed(17);
  const Tensor start = randn({1, 1, 66, 8});
  const auto second = [](Tensor x) {
    x = x.requires_grad();
    const Tensor y = scaled_dot_product_attention(x, x, x, {}, true);
    const Tensor slope = gradients(sum(y * y), {x}, {.create_graph = true})[0];
    return gradients(sum(slope * slope), {x})[0];
  };
  expect_near(second(start), second(exact(start)), 1e-3, "second");
}

}  // namespace
}  // namespace sluice::test
