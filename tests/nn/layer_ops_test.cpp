// The functions that layers are made of, beside PyTorch's: golden/layers.txt, which
// golden/make_layers.py writes. What they cost, and how they fail.
#include <functional>

#include <gtest/gtest.h>

#include "tests/support/golden_calls.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

TEST(LayerOps, GiveWhatPyTorchGives) {
  const ConfigGuard guard;
  config().compile = CompileMode::kOff;
  EXPECT_GT(expect_golden_calls(SLUICE_TEST_GOLDEN "/layers.txt", {}), 300);
}

int64_t kernels_of(const std::function<Tensor()>& f) {
  sluice::sync();
  reset_stats();
  static_cast<void>(f().eval());
  sluice::sync();
  return stats().kernels_launched;
}

TEST(LayerOps, FuseWithWhatIsAroundThem) {
  const Tensor x = randn({8, 64}), image = randn({2, 4, 8, 8}), c = rand({4});
  EXPECT_EQ(kernels_of([&] { return selu(x * 2) + 1; }), 1);
  EXPECT_EQ(kernels_of([&] { return gelu_tanh(hardswish(x)) * glu(concat({x, x}, 1)); }), 1);
  EXPECT_EQ(kernels_of([&] { return group_norm(image + 1, 2, c, c); }), 1);
  EXPECT_EQ(kernels_of([&] { return interpolate(image, {16, 16}) + 1; }), 1);
  EXPECT_EQ(kernels_of([&] { return pixel_shuffle(image, 2) + 1; }), 1);
}

// And not part of a plan.
TEST(LayerOps, TablesOfResamplingAreInputs) {
  const Tensor image = randn({1, 2, 5, 5});
  const auto step = [&] { return (interpolate(image, {7, 7}, "linear") * 2).eval(); };
  for (int i = 0; i < 2; ++i) {  // the first one draws the image too
    static_cast<void>(step());
    sluice::sync();
  }
  reset_stats();
  static_cast<void>(step());
  sluice::sync();
  EXPECT_EQ(stats().plan_misses, 0);
}

TEST(LayerOps, ErrorsNameTheFunctionThatWasCalled) {
  const Tensor x = zeros({2, 3}), image = zeros({1, 3, 4, 4}), none;
  const auto bad = [](auto f, const std::vector<std::string>& parts,
                      ErrorCode code = ErrorCode::kInvalidArgument) {
    EXPECT_TRUE(fails_with([&] { static_cast<void>(f()); }, code, parts));
  };
  bad([&] { return glu(x); }, {"glu: ", "axis 1", "float32(2, 3)"});
  bad([&] { return prelu(x, zeros({2})); }, {"prelu: ", "float32(2,)", "float32(2, 3)"});
  bad([&] { return celu(x, 0); }, {"celu: ", "0"});
  bad([&] { return group_norm(x, 2, none, none); }, {"group_norm: 2 groups", "float32(2, 3)"});
  bad([&] { return instance_norm(zeros({3}), none, none); }, {"instance_norm: ", "axis 1"});
  bad([&] { return conv1d(x, x); }, {"conv1d: ", "float32(2, 3)"});
  bad([&] { return conv1d(zeros({1, 3, 4}), zeros({1, 2, 3})); }, {"conv1d: ", "channels"});
  bad([&] { return conv_transpose2d(image, image); }, {"conv_transpose2d: ", "channels"});
  bad(
      [&] {
        return conv_transpose2d(image, zeros({3, 1, 2, 2}), {.output_padding = 1});
      },
      {"conv_transpose2d: ", "output padding (1, 1)"});
  bad([&] { return max_pool1d(x, 4); }, {"max_pool1d: ", "4"});
  bad([&] { return adaptive_avg_pool2d(image, {0, 1}); }, {"adaptive_avg_pool2d: ", "(0, 1)"});
  bad([&] { return pixel_shuffle(image, 2); }, {"pixel_shuffle: ", "float32(1, 3, 4, 4)"});
  bad([&] { return interpolate(image, {8, 8}, "cubic"); }, {"interpolate: ", "\"cubic\""});
  bad([&] { return interpolate(x, {1, 2, 3}); }, {"interpolate: ", "float32(2, 3)", "(1, 2, 3)"});
  bad([&] { return embedding(zeros({2}, kInt64), zeros({3})); }, {"embedding: ", "float32(3,)"});
  bad([&] { return elu(none); }, {"elu: ", "empty"}, ErrorCode::kFailedPrecondition);
}

}  // namespace
}  // namespace sluice::test
