// The functions that layers are made of, beside PyTorch's: golden/layers.txt, which
// golden/make_layers.py writes. What they cost, and how they fail.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "tests/support/golden_calls.h"
#include "tests/support/golden_file.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

TEST(LayerOps, GiveWhatPyTorchGives) {
  const ConfigGuard guard;
  config().compile = CompileMode::kOff;
  EXPECT_GT(expect_golden_calls(golden_file("layers.txt"), {}), 300);
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
  EXPECT_EQ(kernels_of([&] { return channel_shuffle(image, 2) + 1; }), 1);
  EXPECT_EQ(kernels_of([&] { return grid_sample(image * 2, rand({2, 3, 3, 2})) + 1; }), 2);
  EXPECT_EQ(kernels_of([&] {
              return interpolate(image, {3, 3}, "cubic") + 1;
            }),
            2);                                               // an axis each
  EXPECT_EQ(kernels_of([&] { return rope(x * 2) + 1; }), 2);  // one of the angles' sines
  EXPECT_EQ(kernels_of([&] { return unfold(image, 3) + 1; }), 1);
}

TEST(LayerOps, PaddingsByName) {
  const Tensor x = randn({2, 4, 7, 6});
  for (const Pair window : {Pair(3, 3), Pair(2, 4)}) {
    const Tensor w = randn({8, 4, window.height, window.width});
    const auto same = [&](Pair stride) {
      return conv2d(x, w, {.stride = stride, .padding = "same"});
    };
    EXPECT_EQ(same(1).shape(), (Shape{2, 8, 7, 6}));
    EXPECT_EQ(same({2, 4}).shape(), (Shape{2, 8, 4, 2}));
    // The odd one is at the end.
    const int64_t rows = window.height - 1, columns = window.width - 1;
    const Tensor wide =
        pad(x, {{0, 0}, {0, 0}, {rows / 2, rows - rows / 2}, {columns / 2, columns - columns / 2}});
    EXPECT_TRUE(allclose(same(1), conv2d(wide, w), 1e-4, 1e-4).item<bool>());
    EXPECT_TRUE(array_equal(conv2d(x, w, {.padding = "valid"}), conv2d(x, w)).item<bool>());
  }
  EXPECT_EQ(conv1d(x[0], zeros({2, 7, 5}), {.padding = "same"}).shape(), (Shape{4, 2, 6}));
  const nn::Conv2d layer(4, 8, 3, {.padding = "same"});
  EXPECT_EQ(layer(x).shape(), (Shape{2, 8, 7, 6}));
  EXPECT_TRUE(fails_with([] { static_cast<void>(Conv2dOptions{.padding = "full"}); },
                         ErrorCode::kInvalidArgument, {"\"full\"", "\"same\""}));
}

// Columns by a product are the convolution, and fold() is the gradient of unfold().
TEST(LayerOps, UnfoldIsWhatConvolutionsMultiply) {
  const Tensor x = randn({2, 3, 7, 6}), w = randn({4, 3, 3, 2});
  const Conv2dOptions options{.stride = {2, 1}, .padding = 1, .dilation = {1, 2}};
  const Tensor columns = unfold(x, {3, 2}, options), y = conv2d(x, w, options);
  const Tensor product = reshape(matmul(reshape(w, {4, 18}), columns), y.shape());
  EXPECT_TRUE(allclose(product, y, 1e-4, 1e-4).item<bool>());
  const Tensor seed = randn(columns.shape()), leaf = x.requires_grad();
  const Tensor slope = gradients(unfold(leaf, {3, 2}, options), {leaf}, {.seed = seed})[0];
  EXPECT_TRUE(allclose(slope, fold(seed, {7, 6}, {3, 2}, options), 1e-4, 1e-4).item<bool>());
}

TEST(LayerOps, HalvesAndIntegersAreResampledInFloat32) {
  const Tensor x = arange(0, 24, 1, kInt32).reshape({1, 1, 4, 6});
  EXPECT_EQ(interpolate(x, {2, 2}, "cubic").dtype(), kFloat32);
  EXPECT_EQ(interpolate(x, {2, 2}, "nearest-exact").dtype(), kInt32);
  EXPECT_EQ(grid_sample(astype(x, kBFloat16), zeros({1, 2, 2, 2}, kBFloat16)).dtype(), kBFloat16);
  EXPECT_EQ(rope(x).dtype(), kFloat32);
  // What is not a number is read nowhere outside.
  const Tensor nowhere = full({1, 1, 1, 2}, std::nan(""));
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    EXPECT_EQ(grid_sample(x, nowhere, mode).shape(), (Shape{1, 1, 1, 1})) << mode;
    static_cast<void>(grid_sample(x, nowhere, mode).to_vector<float>());
  }
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
  bad([&] { return pixel_unshuffle(image, 3); }, {"pixel_unshuffle: ", "float32(1, 3, 4, 4)"});
  bad([&] { return channel_shuffle(image, 2); }, {"channel_shuffle: ", "float32(1, 3, 4, 4)"});
  bad([&] { return interpolate(image, {8, 8}, "lanczos"); }, {"interpolate: ", "\"lanczos\""});
  bad(
      [&] {
        return interpolate(image, {8, 8}, "nearest", false, true);
      },
      {"interpolate: ", "antialias"});
  bad([&] { return unfold(image, 5); }, {"unfold: ", "5", "float32(1, 3, 4, 4)"});
  bad([&] { return unfold(image, 2, {.groups = 3}); }, {"unfold: ", "groups", "3"});
  bad([&] { return fold(x, 2, 2); }, {"fold: ", "float32(2, 3)"});
  bad([&] { return fold(zeros({1, 4, 5}), 3, 2); }, {"fold: ", "2 x 2 places", "(3, 3)"});
  bad(
      [&] {
        return grid_sample(image, zeros({1, 2, 2, 3}));
      },
      {"grid_sample: grid float32(1, 2, 2, 3)", "float32(1, 3, 4, 4)"});
  bad(
      [&] {
        return grid_sample(image, zeros({1, 2, 2, 2}), "linear", "wrap");
      },
      {"grid_sample: ", "\"wrap\""});
  bad([&] { return affine_grid(x, {2, 3}); }, {"affine_grid: ", "(2, 3)"});
  bad([&] { return affine_grid(x, {2, 1, 4, 4}); }, {"affine_grid: theta float32(2, 3)"});
  bad([&] { return rope(x); }, {"rope: ", "float32(2, 3)", "even"});
  bad(
      [&] {
        return scaled_dot_product_attention(x, x, x, zeros({2, 3}));
      },
      {"scaled_dot_product_attention: mask float32(2, 3)", "float32(2, 3)"});
  bad([&] { return scaled_dot_product_attention(x, x, x, {}, false, 0, 2); },
      {"scaled_dot_product_attention: dropout is 2"});
  bad([&] { return interpolate(x, {1, 2, 3}); }, {"interpolate: ", "float32(2, 3)", "(1, 2, 3)"});
  bad([&] { return embedding(zeros({2}, kInt64), zeros({3})); }, {"embedding: ", "float32(3,)"});
  bad([&] { return elu(none); }, {"elu: ", "empty"}, ErrorCode::kFailedPrecondition);
}

}  // namespace
}  // namespace sluice::test
