// What of a matmul's readers goes into the library call, always or under fast math, and what must
// not.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using Body = std::function<Tensor()>;

struct Work {
  std::vector<float> values;
  int64_t kernels, library_calls, bytes_read, bytes_written, temporaries_elided;

  bool operator==(const Work&) const = default;
};

class Epilogues : public testing::Test {
 protected:
  void SetUp() override { config().compile = CompileMode::kBlocking; }

  static Tensor leaf(const Shape& shape) {
    Tensor x = randn(shape);
    x.eval();
    return x;
  }

  static Work work(const Body& body, bool fast_math) {
    config().fast_math = fast_math;
    sync();
    const Stats before = stats();
    Work result;
    result.values = body().to_vector<float>();
    const Stats after = stats();
    result.kernels = after.kernels_launched - before.kernels_launched;
    result.library_calls = after.library_calls - before.library_calls;
    result.bytes_read = after.bytes_read - before.bytes_read;
    result.bytes_written = after.bytes_written - before.bytes_written;
    result.temporaries_elided = after.temporaries_elided - before.temporaries_elided;
    config().fast_math = false;
    return result;
  }

  // Kernels without fast math, and with it; values are close, and fast math leaves nothing behind.
  static void expect(const Body& body, int64_t exact_kernels, int64_t fast_kernels,
                     int64_t library_calls = 1) {
    const Work exact = work(body, false);
    const Work fast = work(body, true);
    EXPECT_EQ(exact.kernels, exact_kernels);
    EXPECT_EQ(fast.kernels, fast_kernels);
    EXPECT_EQ(exact.library_calls, library_calls);
    EXPECT_EQ(fast.library_calls, library_calls);
    ASSERT_EQ(fast.values.size(), exact.values.size());
    for (size_t i = 0; i < exact.values.size(); ++i) {
      ASSERT_NEAR(fast.values[i], exact.values[i], 1e-5f * std::max(1.f, std::abs(exact.values[i])))
          << i;
    }
    EXPECT_EQ(work(body, false), exact);
  }
  // Sums, relu and its gradient have the ops' bits on the CPU.
  static bool folds_exactly() { return default_device().type() == DeviceType::kCpu; }
  static void expect_folded(const Body& body) { expect(body, folds_exactly() ? 0 : 1, 0); }
  static void expect_folded_by_fast_math(const Body& body) { expect(body, 1, 0); }
  static void expect_not_folded(const Body& body) { expect(body, 1, 1); }

  ConfigGuard guard_;
  const Tensor a_ = leaf({37, 19}), b_ = leaf({19, 45});
  const Tensor bias_ = leaf({45}), residual_ = leaf({37, 45});
};

TEST_F(Epilogues, BiasAndActivation) {
  expect_folded([&] { return matmul(a_, b_) + bias_; });
  expect_folded([&] { return relu(matmul(a_, b_) + bias_); });
  expect_folded([&] { return relu(bias_ + matmul(a_, b_)); });
  expect_folded_by_fast_math([&] { return gelu(matmul(a_, b_) + bias_); });
  expect_folded_by_fast_math([&] { return gelu(matmul(a_, b_) + bias_.reshape({1, 45})); });
  // Written out.
  expect_folded_by_fast_math([&] {
    Tensor y = matmul(a_, b_) + bias_;
    return y * sigmoid(y);
  });
}

TEST_F(Epilogues, EveryActivation) {
  expect_folded([&] { return relu(matmul(a_, b_)); });
  expect_folded_by_fast_math([&] { return gelu(matmul(a_, b_)); });
  expect_folded_by_fast_math([&] { return tanh(matmul(a_, b_)); });
  expect_folded_by_fast_math([&] { return sigmoid(matmul(a_, b_)); });
  expect_folded_by_fast_math([&] { return silu(matmul(a_, b_)); });
  expect_not_folded([&] { return exp(matmul(a_, b_) * 0.01f); });
}

TEST_F(Epilogues, ResidualAtEitherEnd) {
  expect_folded([&] { return matmul(a_, b_) + residual_; });
  expect_folded([&] { return relu(matmul(a_, b_) + bias_) + residual_; });
  expect_folded([&] { return relu(residual_ + matmul(a_, b_) + bias_); });
  expect_folded_by_fast_math([&] { return tanh(gelu(matmul(a_, b_) + bias_) + residual_); });
}

TEST_F(Epilogues, NoMoreThanFour) {
  expect_folded_by_fast_math([&] { return tanh(relu(tanh(matmul(a_, b_) + bias_))); });
  expect_not_folded([&] { return tanh(gelu(tanh(matmul(a_, b_) + bias_)) + residual_); });
}

TEST_F(Epilogues, BatchesOfMatrices) {
  const Tensor a = leaf({3, 14, 10}), b = leaf({3, 10, 21});
  const Tensor bias = leaf({21}), residual = leaf({3, 14, 21}), turned = leaf({3, 10, 14});
  expect_folded([&] { return relu(matmul(a, b) + bias) + residual; });
  expect_folded_by_fast_math([&] { return gelu(matmul(a, b.slice(0, 1, 2)) + bias); });
  expect_folded_by_fast_math(
      [&] { return silu(matmul(a, b_.slice(1, 0, 21).slice(0, 0, 10)) + bias); });
  expect_folded([&] { return relu(matmul(swapaxes(turned, 1, 2), b) + residual); });
}

TEST_F(Epilogues, OddShapes) {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 45, 19},
                                                                   {37, 1, 19},
                                                                   {37, 45, 2},
                                                                   {1, 1, 5},
                                                                   {2, 3, 0},
                                                                   {1, 300, 64},
                                                                   {257, 2, 3}}) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
    const Tensor a = leaf({m, k}), b = leaf({k, n}), bias = leaf({n}), residual = leaf({m, n});
    expect_folded([&] { return relu(matmul(a, b) + bias) + residual; });
    expect_folded_by_fast_math([&] { return gelu(matmul(a, b) + residual); });
  }
}

TEST_F(Epilogues, TheGradientOfRelu) {
  expect_folded([&] { return relu_gradient(residual_, matmul(a_, b_)); });
  expect_folded([&] { return relu_gradient(bias_, matmul(a_, b_) + residual_) + bias_; });
  expect_not_folded([&] { return relu_gradient(matmul(a_, b_), residual_); });
  // 0 also where y is NaN, and whatever the gradient is.
  const Tensor y = Tensor::from({NAN, -0.f, 0.f, -1.f, 1.f, HUGE_VALF}), one = full({1, 1}, 1.f);
  const Tensor row = Tensor::from({1.f, HUGE_VALF, NAN, HUGE_VALF, -2.f, -0.f}).reshape({1, 6});
  const auto passed = relu_gradient(y, matmul(one, row)).to_vector<float>();
  EXPECT_EQ(passed, (std::vector<float>{0, 0, 0, 0, -2, 0}));
}

// A layer's gradients: what goes on to the layer before is stored by the product that makes it, and
// the sum of it reads that.
TEST_F(Epilogues, AResultWithOtherReadersIsStoredByTheProduct) {
  const Tensor hidden = leaf({37, 45}), inputs = leaf({37, 8});
  const Body body = [&] {
    const Tensor passed = relu_gradient(hidden, matmul(a_, b_));
    return concat({sum(passed, 0), reshape(matmul(inputs.T(), passed), {8 * 45})}, 0);
  };
  const Work fast = work(body, true);
  EXPECT_EQ(fast.library_calls, 2);
  const Work exact = work(body, false);
  EXPECT_LE(exact.kernels, 3);
  if (folds_exactly()) {
    EXPECT_EQ(exact.bytes_read, fast.bytes_read);
  }
  config().fuse = false;
  EXPECT_EQ(work(body, false).values, exact.values);
}

TEST_F(Epilogues, ResultsThatLeaveTheCacheStayInAKernel) {
  const Tensor a = leaf({600, 5}), b = leaf({5, 600}), bias = leaf({600});
  expect_folded_by_fast_math([&] { return relu(matmul(a, b) + bias); });
}

TEST_F(Epilogues, LargeProducts) {
  const Tensor a = leaf({300, 200}), b = leaf({200, 500}), bias = leaf({500});
  const Tensor residual = leaf({300, 500});
  // Of sums of 200 products the library may keep another order.
  expect_folded_by_fast_math([&] { return gelu(matmul(a, b) + bias) + residual; });
}

TEST_F(Epilogues, OperandsWithOffsets) {
  const Tensor long_bias = leaf({100}), many = leaf({80, 45});
  expect_folded([&] { return relu(matmul(a_, b_) + long_bias.slice(0, 7, 52)); });
  expect_folded([&] { return relu(matmul(a_, b_) + many.slice(0, 11, 48)); });
  expect_folded([&] { return relu(matmul(a_, b_) + many.slice(0, 11, 12)); });
}

TEST_F(Epilogues, TheLastOperandMayBeMadeAfterTheProduct) {
  expect([&] { return matmul(a_, b_) + matmul(a_ * 2, b_); }, folds_exactly() ? 1 : 2, 1, 2);
}

TEST_F(Epilogues, OtherBroadcastsStayInAKernel) {
  const Tensor column = leaf({37, 1}), scalar = leaf({}), strided = leaf({90});
  expect_not_folded([&] { return relu(matmul(a_, b_) + column); });
  expect_not_folded([&] { return relu(matmul(a_, b_) + scalar); });
  expect_not_folded([&] { return relu(matmul(a_, b_) + 1.f); });
  expect_not_folded([&] { return relu(matmul(a_, b_) + strided.slice(0, 0, 90, 2)); });
  expect_not_folded([&] { return relu(matmul(a_, b_) + flip(bias_, {0})); });
  const Tensor fifteen = leaf({15}), ninety = leaf({90});
  expect_not_folded([&] { return matmul(a_, b_).reshape({37 * 3, 15}) + fifteen; });
  const Tensor even = leaf({38, 19});
  expect_not_folded([&] { return matmul(even, b_).reshape({19, 90}) + ninety; });

  const Tensor square = leaf({19, 37}), turned = leaf({37, 37}), row = leaf({37});
  expect_not_folded([&] { return relu(matmul(a_, square) + turned.T()); });
  expect_not_folded([&] { return matmul(a_, square).T() + row; });

  const Tensor a = leaf({3, 14, 10}), b = leaf({3, 10, 21});
  for (const Shape& shape : {Shape{3, 1, 21}, Shape{14, 21}, Shape{14, 1}, Shape{3, 14, 1}}) {
    const Tensor x = leaf(shape);
    expect_not_folded([&] { return relu(matmul(a, b) + x); });
  }
}

TEST_F(Epilogues, OtherTypesStayInAKernel) {
  const Tensor wide = to_tensor(NdArray(DType::kFloat64, {45}));
  const Tensor half = to_tensor(NdArray(DType::kFloat16, {45}));
  expect_not_folded([&] { return (matmul(a_, b_) + half).astype(DType::kFloat32); });
  expect_not_folded([&] { return relu(matmul(a_, b_) + wide).astype(DType::kFloat32); });
}

TEST_F(Epilogues, AHeldIntermediateStays) {
  Tensor held;
  expect_not_folded([&] {
    held = matmul(a_, b_);
    return relu(held + bias_);
  });
  expect_not_folded([&] {
    held = matmul(a_, b_) + bias_;
    return relu(held);
  });
  held = Tensor();
}

TEST_F(Epilogues, AnIntermediateUsedTwiceStays) {
  expect_not_folded([&] {
    const Tensor y = matmul(a_, b_);
    return relu(y) + y;
  });
  expect_not_folded([&] {
    const Tensor y = matmul(a_, b_) + bias_;
    return y + tanh(y);
  });
  const Tensor square = leaf({37, 19});
  expect_not_folded([&] {
    const Tensor y = matmul(a_, square.T());
    return y + y.T();
  });
}

TEST_F(Epilogues, TwoLayers) {
  const Tensor c = leaf({45, 11}), d = leaf({11});
  expect([&] { return matmul(relu(matmul(a_, b_) + bias_), c) * 0.1f + d; },
         folds_exactly() ? 1 : 2, 1, 2);
  expect([&] { return sigmoid(matmul(relu(matmul(a_, b_) + bias_) * 0.1f, c) + d); }, 2, 1, 2);
  expect([&] { return sigmoid(matmul(tanh(matmul(a_, b_) + bias_), c) + d); }, 2, 0, 2);
}

TEST_F(Epilogues, AnInputThatIsTheResidualToo) {
  const Tensor x = leaf({37, 19}), w = leaf({19, 19});
  expect_folded([&] { return relu(matmul(x, w)) + x; });
}

TEST_F(Epilogues, TheProductHasNoMemory) {
  const Body body = [&] { return gelu(matmul(a_, b_) + bias_); };
  const Work exact = work(body, false);
  const Work fast = work(body, true);
  constexpr int64_t kProduct = 37 * 45 * sizeof(float);
  EXPECT_EQ(fast.bytes_read, exact.bytes_read - kProduct);
  EXPECT_EQ(fast.bytes_written, exact.bytes_written - kProduct);
  EXPECT_EQ(fast.temporaries_elided, exact.temporaries_elided + 1);
}

TEST_F(Epilogues, WithoutFusionNothingIsFolded) {
  config().fuse = false;
  expect([&] { return relu(matmul(a_, b_) + bias_); }, 2, 2);
}

TEST_F(Epilogues, TheTraceNamesThem) {
  trace::start();
  work([&] { return relu(matmul(a_, b_) + bias_); }, true);
  trace::stop();
  const std::string text = trace::to_text();
  EXPECT_NE(text.find("matmul+add+relu"), std::string::npos) << text;
  EXPECT_EQ(text.find("not fused"), std::string::npos) << text;
}

// The library's relu may take NaN to 0, and its gelu and silu -infinity to NaN.
TEST_F(Epilogues, NansAndInfinitiesPass) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor nan = full({4}, NAN), inf = full({4}, kInf), a = leaf({5, 6}), b = leaf({6, 4});
  using Activation = Tensor (*)(Tensor &&);
  const Activation activations[] = {[](Tensor&& x) { return relu(std::move(x)); },
                                    [](Tensor&& x) { return gelu(std::move(x)); },
                                    [](Tensor&& x) { return tanh(std::move(x)); },
                                    [](Tensor&& x) { return sigmoid(std::move(x)); },
                                    [](Tensor&& x) { return silu(std::move(x)); }};
  nan.eval();
  inf.eval();
  for (const Activation f : activations) {
    const bool is_relu = f == activations[0];
    const Work infinite = work([&] { return f(matmul(a, b) + inf); }, true);
    const Work not_numbers = work([&] { return f(matmul(a, b) + nan); }, true);
    EXPECT_EQ(infinite.kernels + not_numbers.kernels, 0);
    EXPECT_EQ(infinite.values, work([&] { return f(matmul(a, b) + inf); }, false).values);
    for (float y : not_numbers.values) EXPECT_TRUE(std::isnan(y) || (is_relu && y == 0)) << y;
  }
}

TEST_F(Epilogues, AFailureOfAnOperandIsTheResults) {
  config().fast_math = true;
  const Tensor table = leaf({10, 45});
  const Tensor bad = take(table, Tensor::from(std::vector<int64_t>(37, 99)), 0) * 2.f;
  bad.eval();
  const Tensor y = relu(matmul(a_, b_) + bad);
  EXPECT_TRUE(fails_with([&] { return y.to_vector<float>(); }, ErrorCode::kOutOfRange, {"take"}));
}

}  // namespace
}  // namespace sluice::test
