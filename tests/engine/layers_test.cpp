// Normalisation, attention, pooling and convolutions against loops in double.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// Values on the host, indexed as the tensor is.
struct Values {
  explicit Values(const Tensor& x)
      : shape(x.shape()), data(x.astype(DType::kFloat64).to_vector<double>()) {}
  explicit Values(const Shape& dims) : shape(dims), data(dims.numel()) {}

  template <typename... I>
  double& operator()(I... index) {
    int64_t offset = 0;
    int axis = 0;
    ((offset = offset * shape[axis++] + index), ...);
    return data[offset];
  }

  Shape shape;
  std::vector<double> data;
};

void expect_close(const Tensor& actual, const Values& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape)) << what;
  const std::vector<double> values = actual.astype(DType::kFloat64).to_vector<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expected.data[i]) && std::isnan(values[i])) continue;
    ASSERT_NEAR(values[i], expected.data[i], tolerance * (1 + std::abs(expected.data[i])))
        << what << ", element " << i;
  }
}

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return 1e-12;
    case DType::kFloat32: return 2e-5;
    case DType::kFloat16: return 4e-3;
    default: return 3e-2;
  }
}

TEST(Layers, NormalisationsOfTheLastAxis) {
  manual_seed(1);
  for (DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (const Shape& shape : {Shape{5}, Shape{3, 7}, Shape{2, 3, 64}, Shape{0, 4}, Shape{4, 1}}) {
      const std::string what = std::string(name_of(dtype)) + to_string(shape);
      const int64_t length = shape.back();
      const Tensor x = (randn(shape) * 2 + 3).astype(dtype);
      const Tensor w = randn({length}).astype(dtype), b = randn({length}).astype(dtype);
      Values in(x), weight(w), bias(b), layer(shape), plain(shape), rms(shape);
      for (int64_t row = 0; row < shape.numel() / length; ++row) {
        double mean = 0, variance = 0, squares = 0;
        const double* values = in.data.data() + row * length;
        for (int64_t i = 0; i < length; ++i) {
          mean += values[i] / length;
          squares += values[i] * values[i] / length;
        }
        for (int64_t i = 0; i < length; ++i) {
          variance += (values[i] - mean) * (values[i] - mean) / length;
        }
        for (int64_t i = 0; i < length; ++i) {
          const int64_t at = row * length + i;
          plain.data[at] = (values[i] - mean) / std::sqrt(variance + 1e-5);
          layer.data[at] = plain.data[at] * weight.data[i] + bias.data[i];
          rms.data[at] = values[i] / std::sqrt(squares + 1e-6) * weight.data[i];
        }
      }
      const Tensor actual = layer_norm(x, w, b);
      EXPECT_EQ(actual.dtype(), dtype);
      expect_close(actual, layer, tolerance_of(dtype), "layer_norm " + what);
      expect_close(layer_norm(x, Tensor(), Tensor()), plain, tolerance_of(dtype),
                   "layer_norm " + what);
      expect_close(rms_norm(x, w), rms, tolerance_of(dtype), "rms_norm " + what);
    }
  }
}

TEST(Layers, BatchNormScalesChannels) {
  manual_seed(2);
  for (const Shape& shape : {Shape{4, 3}, Shape{2, 3, 5}, Shape{2, 3, 4, 5}, Shape{0, 3, 2}}) {
    const Tensor x = randn(shape), m = randn({3}), v = rand({3}) + 0.5f;
    const Tensor w = randn({3}), b = randn({3});
    Values in(x), mean(m), var(v), weight(w), bias(b), expected(shape), plain(shape);
    const int64_t inner = shape.numel() == 0 ? 1 : shape.numel() / (shape[0] * 3);
    for (int64_t i = 0; i < shape.numel(); ++i) {
      const int64_t c = i / inner % 3;
      plain.data[i] = (in.data[i] - mean.data[c]) / std::sqrt(var.data[c] + 1e-5);
      expected.data[i] = plain.data[i] * weight.data[c] + bias.data[c];
    }
    expect_close(batch_norm(x, m, v, w, b), expected, 2e-5, to_string(shape));
    expect_close(batch_norm(x, m, v, Tensor(), Tensor()), plain, 2e-5, to_string(shape));
  }
}

int64_t kernels_of(const std::function<Tensor()>& f) {
  sluice::sync();
  reset_stats();
  static_cast<void>(f().eval());
  sluice::sync();
  return stats().kernels_launched;
}

TEST(Layers, FuseWithWhatIsAroundThem) {
  const Tensor x = randn({64, 256}), w = randn({256}), b = randn({256});
  const Tensor image = randn({2, 3, 8, 8}), c = rand({3}), filters = rand({3, 1, 3, 3});
  EXPECT_EQ(kernels_of([&] { return relu(layer_norm(x * 2, w, b)); }), 1);
  EXPECT_EQ(kernels_of([&] { return rms_norm(x + 1, w) * 3; }), 1);
  // One for the factor of each channel.
  EXPECT_EQ(kernels_of([&] { return relu(batch_norm(image, c, c, c, c)); }), 2);
  // On a GPU the kernel ends with the reduction, as its rows are interleaved.
  const int64_t kernels_of_pooling = default_device() == Device::cpu() ? 1 : 2;
  EXPECT_EQ(kernels_of([&] { return max_pool2d(relu(image), 2) + 1; }), kernels_of_pooling);
  EXPECT_EQ(kernels_of([&] { return relu(conv2d(image, filters, {.groups = 3})); }), 1);
}

TEST(Layers, DropoutKeepsTheMean) {
  manual_seed(3);
  const Tensor x = ones({100'000});
  const Tensor y = dropout(x, 0.25);
  const float kept = 1.f / 0.75f;
  EXPECT_TRUE(all((y == 0.f) | (abs(y - kept) < 1e-6f)).item<bool>());
  EXPECT_NEAR(mean(y).item<float>(), 1, 0.01);
  EXPECT_TRUE(all(dropout(x, 0) == x).item<bool>());
  EXPECT_TRUE(all(dropout(x, 1) == 0.f).item<bool>());
  EXPECT_THROW(static_cast<void>(dropout(x, 1.5)), Error);
}

Values attention_of(Values q, Values k, Values v, Values* mask, bool causal) {
  const int64_t batch = q.shape[0], heads = q.shape[1], length = q.shape[2], keys = k.shape[2];
  const int64_t depth = q.shape[3], width = v.shape[3];
  Values result(Shape{batch, heads, length, width});
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < length; ++i) {
        std::vector<double> scores(keys);
        double greatest = -std::numeric_limits<double>::infinity(), total = 0;
        for (int64_t j = 0; j < keys; ++j) {
          for (int64_t d = 0; d < depth; ++d) scores[j] += q(n, h, i, d) * k(n, h, j, d);
          scores[j] /= std::sqrt(depth);
          if (mask != nullptr) scores[j] += (*mask)(i, j);
          if (causal && j > i) scores[j] = -std::numeric_limits<double>::infinity();
          greatest = std::max(greatest, scores[j]);
        }
        for (double& score : scores) total += score = std::exp(score - greatest);
        for (int64_t j = 0; j < keys; ++j) {
          for (int64_t d = 0; d < width; ++d) {
            result(n, h, i, d) += scores[j] / total * v(n, h, j, d);
          }
        }
      }
    }
  }
  return result;
}

TEST(Layers, Attention) {
  manual_seed(4);
  // The last are several blocks of queries, if causal.
  for (const auto& [length, keys] : {std::pair(5, 5), std::pair(3, 7), std::pair(1, 4),
                                     std::pair(150, 150), std::pair(70, 200), std::pair(200, 70)}) {
    const Tensor q = randn({2, 3, length, 8}), k = randn({2, 3, keys, 8});
    const Tensor v = randn({2, 3, keys, 6}), mask = randn({length, keys});
    const std::string what = std::to_string(length) + " by " + std::to_string(keys);
    Values added(mask);
    expect_close(scaled_dot_product_attention(q, k, v),
                 attention_of(Values(q), Values(k), Values(v), nullptr, false), 1e-5, what);
    expect_close(scaled_dot_product_attention(q, k, v, mask),
                 attention_of(Values(q), Values(k), Values(v), &added, false), 1e-5, what);
    expect_close(scaled_dot_product_attention(q, k, v, {}, true),
                 attention_of(Values(q), Values(k), Values(v), nullptr, true), 1e-5, what);
    // The first key is allowed to all.
    const Tensor allowed = (mask > 0.f) | (arange(keys) == 0);
    Values barred(where(allowed, 0.f, -std::numeric_limits<float>::infinity()));
    expect_close(scaled_dot_product_attention(q, k, v, allowed),
                 attention_of(Values(q), Values(k), Values(v), &barred, false), 1e-5, what);
    expect_close(scaled_dot_product_attention(q, k, v, allowed, true),
                 attention_of(Values(q), Values(k), Values(v), &barred, true), 1e-5, what);
  }
}

// Heads that share keys: as if each had its own.
TEST(Layers, AttentionOfSharedHeads) {
  manual_seed(5);
  for (const int64_t length : {1, 5, 130}) {
    const Tensor q = randn({2, 6, length, 8}), k = randn({2, 3, length, 8});
    const Tensor v = randn({2, 3, length, 4}), mask = randn({2, 6, length, length});
    // A mask has more batches than what it is for.
    const Tensor first = scaled_dot_product_attention(q[0], k[0], v[0], mask);
    const Tensor alone = scaled_dot_product_attention(q[0], k[0], v[0], mask[1]);
    EXPECT_TRUE(allclose(first[1], alone, 1e-4, 1e-5).item<bool>()) << length;
    const Tensor own_keys = repeat(k, 2, 1), own_values = repeat(v, 2, 1);
    for (const bool causal : {false, true}) {
      const Tensor shared = scaled_dot_product_attention(q, k, v, mask, causal);
      const Tensor own = scaled_dot_product_attention(q, own_keys, own_values, mask, causal);
      EXPECT_TRUE(allclose(shared, own, 1e-4, 1e-5).item<bool>()) << length;
    }
  }
}

// All scores and their softmax would take twice `kScores`, and in the backward pass five times. It
// draws what was dropped once more.
TEST(Layers, AttentionInBlocksKeepsNoScores) {
  constexpr int64_t kLength = 2048, kScores = 4 * kLength * kLength * 4;
  manual_seed(6);
  const Tensor q = randn({1, 4, kLength, 8}).eval(), k = randn({1, 4, kLength, 8}).eval();
  const Tensor v = randn({1, 4, kLength, 8}).eval();
  const auto peak_of = [](auto f) {
    sluice::sync();
    reset_stats();
    const int64_t before = stats().bytes_live;
    f();
    sluice::sync();
    return stats().bytes_allocated_peak - before;
  };
  EXPECT_LT(
      peak_of([&] { static_cast<void>(scaled_dot_product_attention(q, k, v, {}, true).eval()); }),
      kScores);
  const Tensor x = q.requires_grad(), y = v.requires_grad();
  const auto attend = [&] { return scaled_dot_product_attention(x, k, y, {}, true, 0, 0.1); };
  std::vector<Tensor> slopes;
  EXPECT_LT(peak_of([&] {
              manual_seed(7);
              slopes = gradients(sum(attend()), {x, y});
              for (const Tensor& slope : slopes) static_cast<void>(slope.eval());
            }),
            3 * kScores);
  // Linear in the values, so what they get back is the result.
  manual_seed(7);
  const Tensor total = sum(attend());
  EXPECT_NEAR(sum(slopes[1] * v).item<float>(), total.item<float>(), 0.05);
}

struct Place {
  int64_t n, c, i, j;
};

// f(place of a result, value of an element under the window, is it padding) for each.
template <typename F>
void for_each_window(const Shape& in, const Shape& out, Pair window, Pair stride, Pair padding,
                     Pair dilation, F f) {
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t c = 0; c < out[1]; ++c) {
      for (int64_t i = 0; i < out[2]; ++i) {
        for (int64_t j = 0; j < out[3]; ++j) {
          for (int64_t p = 0; p < window.height; ++p) {
            for (int64_t q = 0; q < window.width; ++q) {
              const int64_t row = i * stride.height - padding.height + p * dilation.height;
              const int64_t column = j * stride.width - padding.width + q * dilation.width;
              const bool inside = row >= 0 && row < in[2] && column >= 0 && column < in[3];
              f(Place{n, c, i, j}, p, q, row, column, inside);
            }
          }
        }
      }
    }
  }
}

int64_t windows_along(int64_t extent, int64_t window, int64_t stride, int64_t padding,
                      int64_t dilation) {
  return (extent + 2 * padding - dilation * (window - 1) - 1) / stride + 1;
}

TEST(Layers, PoolingWithAllOptions) {
  manual_seed(5);
  for (const Shape& shape : {Shape{2, 3, 8, 9}, Shape{1, 1, 5, 4}, Shape{0, 2, 6, 6}}) {
    for (const Pair& window : {Pair(1), Pair(2), Pair(3, 2)}) {
      for (const Pair& stride : {Pair(0), Pair(1), Pair(2, 1), Pair(3)}) {
        for (const Pair& padding : {Pair(0), Pair(window.height / 2, window.width / 2)}) {
          const Tensor x = randn(shape);
          const Pair step(stride.height == 0 ? window.height : stride.height,
                          stride.width == 0 ? window.width : stride.width);
          const Shape out{shape[0], shape[1],
                          windows_along(shape[2], window.height, step.height, padding.height, 1),
                          windows_along(shape[3], window.width, step.width, padding.width, 1)};
          Values in(x), greatest(out), sum(out), count(out);
          for (double& value : greatest.data) value = -std::numeric_limits<double>::infinity();
          for_each_window(shape, out, window, step, padding, 1,
                          [&](Place o, int64_t, int64_t, int64_t row, int64_t column, bool inside) {
                            if (!inside) return;
                            const double value = in(o.n, o.c, row, column);
                            double& most = greatest(o.n, o.c, o.i, o.j);
                            most = std::max(most, value);
                            sum(o.n, o.c, o.i, o.j) += value;
                            ++count(o.n, o.c, o.i, o.j);
                          });
          Values whole(out), inside(out);
          for (size_t i = 0; i < sum.data.size(); ++i) {
            whole.data[i] = sum.data[i] / static_cast<double>(window.height * window.width);
            inside.data[i] = sum.data[i] / count.data[i];
          }
          const Pool2dOptions options{.stride = stride, .padding = padding};
          Pool2dOptions valid = options;
          valid.count_include_pad = false;
          const std::string what = to_string(shape) + " window " + std::to_string(window.height) +
                                   " stride " + std::to_string(stride.height) + " padding " +
                                   std::to_string(padding.height);
          expect_close(max_pool2d(x, window, options), greatest, 0, what);
          expect_close(avg_pool2d(x, window, options), whole, 1e-5, what);
          expect_close(avg_pool2d(x, window, valid), inside, 1e-5, what);
        }
      }
    }
  }
}

TEST(Layers, PoolingOfIntegersAndNan) {
  const Tensor x = Tensor::from({-5, -7, -3, -9}, {1, 1, 2, 2});
  EXPECT_EQ(max_pool2d(x, 2).item<int>(), -3);
  EXPECT_EQ(max_pool2d(x, 2, {.stride = 1, .padding = 1}).to_vector<int>(),
            (std::vector<int>{-5, -5, -7, -3, -3, -7, -3, -3, -9}));
  EXPECT_EQ(avg_pool2d(x, 2).item<float>(), -6.f);
  const Tensor y = Tensor::from({1.f, NAN, 2.f, 3.f}, {1, 1, 2, 2});
  EXPECT_TRUE(std::isnan(max_pool2d(y, 2).item<float>()));
}

TEST(Layers, ConvolutionsWithAllOptions) {
  manual_seed(6);
  struct Channels {
    int64_t in, out, groups;
  };
  for (const Channels& channels :
       {Channels{3, 4, 1}, Channels{4, 6, 2}, Channels{4, 4, 4}, Channels{2, 6, 2}}) {
    for (const Pair& window : {Pair(1), Pair(3), Pair(2, 3)}) {
      for (const Pair& stride : {Pair(1), Pair(2, 3)}) {
        for (const Pair& padding : {Pair(0), Pair(2, 1)}) {
          for (const Pair& dilation : {Pair(1), Pair(2)}) {
            const Shape shape{2, channels.in, 7, 8};
            const int64_t inputs = channels.in / channels.groups;
            const Tensor x = randn(shape);
            const Tensor w = randn({channels.out, inputs, window.height, window.width});
            const Shape out{
                2, channels.out,
                windows_along(7, window.height, stride.height, padding.height, dilation.height),
                windows_along(8, window.width, stride.width, padding.width, dilation.width)};
            Values in(x), weight(w), expected(out);
            for_each_window(
                shape, out, window, stride, padding, dilation,
                [&](Place o, int64_t p, int64_t q, int64_t row, int64_t column, bool inside) {
                  if (!inside) return;
                  const int64_t first = o.c / (channels.out / channels.groups) * inputs;
                  for (int64_t c = 0; c < inputs; ++c) {
                    expected(o.n, o.c, o.i, o.j) +=
                        in(o.n, first + c, row, column) * weight(o.c, c, p, q);
                  }
                });
            expect_close(conv2d(x, w,
                                {.stride = stride,
                                 .padding = padding,
                                 .dilation = dilation,
                                 .groups = channels.groups}),
                         expected, 2e-5,
                         std::to_string(channels.groups) + " groups, window " +
                             std::to_string(window.height) + ", padding " +
                             std::to_string(padding.height));
          }
        }
      }
    }
  }
}

TEST(Layers, ConvolutionsOfNothing) {
  EXPECT_EQ(to_string(conv2d(zeros({0, 3, 5, 5}), zeros({4, 3, 3, 3})).shape()), "(0, 4, 3, 3)");
  EXPECT_EQ(sum(conv2d(ones({2, 0, 5, 5}), ones({4, 0, 3, 3}))).item<float>(), 0.f);
}

std::string message_of(const std::function<Tensor()>& call) {
  try {
    static_cast<void>(call());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "";
}

TEST(Layers, MessagesNameTheOpAndItsOperands) {
  const Tensor x = zeros({2, 3, 8, 8});
  EXPECT_EQ(message_of([&] { return layer_norm(x, ones({3}), Tensor()); }),
            "layer_norm: weight float32(3,) has not one element for each of axis 3 of "
            "float32(2, 3, 8, 8)");
  EXPECT_EQ(message_of([&] { return batch_norm(x, ones({8}), ones({3}), Tensor(), Tensor()); }),
            "batch_norm: mean float32(8,) has not one element for each of axis 1 of "
            "float32(2, 3, 8, 8)");
  EXPECT_EQ(message_of([&] {
              return conv2d(x, zeros({4, 2, 3, 3}));
            }),
            "conv2d: float32(2, 3, 8, 8) and weight float32(4, 2, 3, 3) do not agree in channels "
            "for 1 groups");
  EXPECT_EQ(message_of([&] {
              return conv2d(x, zeros({4, 3, 9, 3}));
            }),
            "conv2d: a window that spans 9 does not fit into axis 2 of float32(2, 3, 8, 8), padded "
            "to 8");
  EXPECT_EQ(message_of([&] { return max_pool2d(x, 2, {.padding = 2}); }),
            "max_pool2d: padding (2, 2) is more than half of the window (2, 2)");
  EXPECT_EQ(message_of([&] {
              return scaled_dot_product_attention(x, x, zeros({2, 3, 9, 8}));
            }),
            "scaled_dot_product_attention: queries float32(2, 3, 8, 8), keys float32(2, 3, 8, 8) "
            "and values float32(2, 3, 9, 8) do not agree in depth or length");
}

TEST(Layers, ByName) {
  const Tensor x = randn({1, 2, 6, 6}), w = randn({3, 2, 3, 3});
  using Ints = std::vector<int64_t>;
  const Tensor y = call("conv2d", {x, w}, {{"options", Ints{2, 2, 1, 1, 1, 1, 1}}})[0];
  EXPECT_TRUE(all(y == conv2d(x, w, {.stride = 2, .padding = 1})).item<bool>());
  const Tensor z = call("max_pool2d", {x}, {{"window", Ints{2}}})[0];
  EXPECT_TRUE(all(z == max_pool2d(x, 2)).item<bool>());
  EXPECT_THROW(static_cast<void>(call("max_pool2d", {x}, {{"window", Ints{}}})), Error);
}

}  // namespace
}  // namespace sluice::test
