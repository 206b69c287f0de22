// Convolutions and their gradients, in every layout of their operands and however they are cut into
// blocks, beside sums in float64. With SLUICE_ONEDNN=off they are composed, and give the same.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "kernels/library/convolution/block_convolution.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

struct Case {
  int64_t batch, inputs, outputs, groups;
  std::vector<int64_t> extents, window;
  std::vector<int64_t> stride, padding, dilation;

  int64_t places(size_t axis) const {
    return (extents[axis] + 2 * padding[axis] - dilation[axis] * (window[axis] - 1) - 1) /
               stride[axis] +
           1;
  }
  static Shape shape(int64_t a, int64_t b, const std::vector<int64_t>& rest) {
    std::vector<int64_t> dims{a, b};
    dims.insert(dims.end(), rest.begin(), rest.end());
    return Shape(dims);
  }
  Shape images() const { return shape(batch, inputs, extents); }
  Shape filters() const { return shape(outputs, inputs / groups, window); }
  Shape results() const {
    std::vector<int64_t> counts;
    for (size_t i = 0; i < extents.size(); ++i) counts.push_back(places(i));
    return shape(batch, outputs, counts);
  }

  Tensor of(const Tensor& x, const Tensor& w) const {
    const auto pair = [](const std::vector<int64_t>& list) { return Pair(list[0], list[1]); };
    const auto triple = [](const std::vector<int64_t>& list) {
      return Triple(list[0], list[1], list[2]);
    };
    switch (extents.size()) {
      case 1: return conv1d(x, w, {stride[0], padding[0], dilation[0], groups});
      case 2: return conv2d(x, w, {pair(stride), pair(padding), pair(dilation), groups});
      default: return conv3d(x, w, {triple(stride), triple(padding), triple(dilation), groups});
    }
  }
};

// Calls f(image, filter, place) for each product in the sums: the numbers of its elements.
void for_each_product(const Case& c, const std::function<void(int64_t, int64_t, int64_t)>& f) {
  const auto axes = c.extents.size();
  const int64_t inputs = c.inputs / c.groups, outputs = c.outputs / c.groups;
  const std::function<void(size_t, int64_t, int64_t, int64_t)> along =
      [&](size_t axis, int64_t image, int64_t filter, int64_t place) {
        if (axis == axes) return f(image, filter, place);
        for (int64_t p = 0; p < c.places(axis); ++p) {
          for (int64_t i = 0; i < c.window[axis]; ++i) {
            const int64_t at = p * c.stride[axis] + i * c.dilation[axis] - c.padding[axis];
            if (at < 0 || at >= c.extents[axis]) continue;
            along(axis + 1, image * c.extents[axis] + at, filter * c.window[axis] + i,
                  place * c.places(axis) + p);
          }
        }
      };
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t o = 0; o < c.outputs; ++o) {
      for (int64_t k = 0; k < inputs; ++k) {
        along(0, n * c.inputs + o / outputs * inputs + k, o * inputs + k, n * c.outputs + o);
      }
    }
  }
}

using Doubles = std::vector<double>;
Doubles doubles_of(const Tensor& x) { return x.astype(DType::kFloat64).to_vector<double>(); }

void expect_close(const Tensor& actual, const Doubles& expected, const std::string& what) {
  const Doubles values = doubles_of(actual);
  ASSERT_EQ(values.size(), expected.size()) << what;
  double most = 1, error = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    most = std::max(most, std::abs(expected[i]));
    error = std::max(error, std::abs(values[i] - expected[i]));
  }
  EXPECT_LE(error, 2e-5 * most) << what;
}

Tensor drawn(const Shape& shape) { return randn(shape); }

// y = x * w, and the gradients of <y, dy> by x and w.
void expect_right(const Case& c, const Tensor& x, const Tensor& w, const std::string& what) {
  const Tensor dy = drawn(c.results());
  const Doubles a = doubles_of(x), b = doubles_of(w), g = doubles_of(dy);
  Doubles y(g.size()), dx(a.size()), dw(b.size());
  for_each_product(c, [&](int64_t i, int64_t j, int64_t k) {
    y[k] += a[i] * b[j];
    dx[i] += g[k] * b[j];
    dw[j] += g[k] * a[i];
  });
  const Tensor images = x.requires_grad(), filters = w.requires_grad();
  const Tensor result = c.of(images, filters);
  ASSERT_EQ(result.shape(), c.results()) << what;
  expect_close(result, y, what);
  const std::vector<Tensor> slopes = gradients(result, {images, filters}, {.seed = dy});
  expect_close(slopes[0], dx, what + ", by images");
  expect_close(slopes[1], dw, what + ", by filters");
}

void expect_right(const Case& c, const std::string& what) {
  manual_seed(3);
  expect_right(c, drawn(c.images()), drawn(c.filters()), what);
}

TEST(Convolution, OverOneToThreeAxes) {
  expect_right({2, 3, 4, 1, {11}, {3}, {2}, {1}, {2}}, "1");
  expect_right({2, 4, 6, 2, {6, 7}, {3, 2}, {1, 2}, {1, 0}, {2, 1}}, "2");
  expect_right({2, 4, 4, 2, {4, 5, 6}, {2, 3, 2}, {1, 2, 1}, {1, 1, 0}, {1, 1, 2}}, "3");
  // Rows that no window covers have no gradient.
  expect_right({1, 2, 3, 1, {8, 9}, {2, 2}, {3, 4}, {0, 0}, {1, 1}}, "with steps");
  // Windows in the padding alone.
  expect_right({1, 2, 8, 1, {3, 3}, {2, 2}, {1, 1}, {3, 3}, {1, 1}}, "padded");
}

TEST(Convolution, InBlocksOfImagesAndChannels) {
  const auto square = [](int64_t batch, int64_t inputs, int64_t outputs, int64_t groups,
                         int64_t extent) {
    return Case{batch, inputs, outputs, groups, {extent, extent}, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
  };
  expect_right(square(37, 3, 5, 1, 6), "many small images");
  expect_right(square(1, 5, 131, 1, 9), "one image, many outputs");
  expect_right(square(1, 131, 5, 1, 9), "one image, many inputs");
  expect_right(square(3, 34, 66, 1, 30), "large images");
  expect_right(square(2, 42, 42, 42, 40), "a filter for each channel");
  expect_right(square(1, 36, 72, 6, 41), "large groups");
  expect_right(square(19, 1, 9, 1, 60), "sums over many places");
}

TEST(Convolution, OfOperandsInAnyLayout) {
  const Case c{2, 4, 8, 1, {6, 7}, {3, 2}, {1, 2}, {1, 0}, {1, 1}};
  manual_seed(4);
  const Tensor w = drawn(c.filters());
  expect_right(c, permute_dims(drawn({2, 6, 7, 4}), {0, 3, 1, 2}), w, "channels last");
  expect_right(c, flip(drawn(c.images()), {2, 3}), w, "in reverse");
  expect_right(c, drawn({2, 4, 12, 21})(Slice(), Slice(), Slice(0, 12, 2), Slice(1, 21, 3)), w,
               "in steps");
  expect_right(c, broadcast_to(drawn({4, 1, 7}), c.images()), w, "repeated");
  expect_right(c, drawn(c.images()), flip(swapaxes(drawn({4, 8, 3, 2}), 0, 1), {2}), "filters");
}

// Each gradient is linear in what the others are, and so are theirs.
TEST(Convolution, GradientsOfGradients) {
  const Case c{2, 4, 8, 2, {5, 6}, {2, 3}, {2, 1}, {1, 1}, {1, 1}};
  manual_seed(5);
  const Tensor x = drawn(c.images()).requires_grad(), w = drawn(c.filters()).requires_grad();
  const Tensor dy = drawn(c.results()).requires_grad();
  const Tensor v = drawn(c.images()), u = drawn(c.filters());
  const Tensor y = c.of(x, w);
  const std::vector<Tensor> first = gradients(y, {x, w}, {.seed = dy, .create_graph = true});
  const std::vector<Tensor> by_images = gradients(sum(first[0] * v), {w, dy});
  const std::vector<Tensor> by_filters = gradients(sum(first[1] * u), {x, dy});
  const Doubles a = doubles_of(x), b = doubles_of(w), g = doubles_of(dy);
  const Doubles p = doubles_of(v), q = doubles_of(u);
  Doubles dw(b.size()), dg(g.size()), dx(a.size()), dh(g.size());
  for_each_product(c, [&](int64_t i, int64_t j, int64_t k) {
    dw[j] += g[k] * p[i];
    dg[k] += p[i] * b[j];
    dx[i] += g[k] * q[j];
    dh[k] += a[i] * q[j];
  });
  expect_close(by_images[0], dw, "by images, then filters");
  expect_close(by_images[1], dg, "by images, then the seed");
  expect_close(by_filters[0], dx, "by filters, then images");
  expect_close(by_filters[1], dh, "by filters, then the seed");
}

TEST(Convolution, IsOneCallOfTheLibrary) {
  if (default_device().type() == DeviceType::kCpu && kernels::find_convolutions() == nullptr) {
    GTEST_SKIP() << "convolutions are composed";
  }
  const Tensor x = randn({2, 4, 8, 8}).requires_grad(), w = randn({8, 4, 3, 3}).requires_grad();
  static_cast<void>(x.eval());
  static_cast<void>(w.eval());
  sluice::sync();
  reset_stats();
  const Tensor y = relu(conv2d(x, w, {.padding = 1}) + 1);
  static_cast<void>(y.eval());
  sluice::sync();
  EXPECT_EQ(stats().library_calls, 1);
  EXPECT_EQ(stats().kernels_launched, 1);
  for (const Tensor& slope : gradients(sum(y), {x, w})) static_cast<void>(slope.eval());
  sluice::sync();
  EXPECT_EQ(stats().library_calls, 3);
  reset_stats();
  static_cast<void>(conv_transpose2d(x, swapaxes(w, 0, 1), {.stride = 2}).eval());
  sluice::sync();
  EXPECT_EQ(stats().library_calls, 1);
  EXPECT_EQ(stats().kernels_launched, 0);
}

[[noreturn]] void exit_while_convolving() {
  const Tensor x = randn({8, 32, 48, 48}), w = randn({32, 32, 3, 3});
  Tensor y = x;
  for (int i = 0; i < 4; ++i) y = conv2d(y, w, {.padding = 1});
  static_cast<void>(y.eval());
  std::exit(0);
}

// Statics of the library are not torn down beneath a convolution.
TEST(ConvolutionDeathTest, MayBeUnderWayAtExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_while_convolving(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice::test
