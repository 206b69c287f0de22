// Convolutions, pooling, resampling and causal attention.
#include "bench/cliffs/cliffs.h"

namespace sluice::bench {
namespace {

// Arguments: stride, padding, groups.
Conv2dOptions convolution_of(const Given& in) {
  return {.stride = in.argument(0), .padding = in.argument(1), .groups = in.argument(2)};
}

// The gradient by images, and the sum of that by filters, so that both are computed.
Tensor conv2d_gradients(const Given& in) {
  const Tensor x = in[0].requires_grad(), w = in[1].requires_grad();
  const std::vector<Tensor> slopes =
      gradients(conv2d(x, w, convolution_of(in)), {x, w}, {.seed = in[2]});
  return slopes[0] + sum(slopes[1]);
}

}  // namespace

void add_layer_programs() {
  add_program("conv2d", [](const Given& in) { return conv2d(in[0], in[1], convolution_of(in)); });
  add_program("conv2d_gradients", conv2d_gradients);
  // Arguments: window, stride.
  add_program("max_pool2d", [](const Given& in) {
    return max_pool2d(in[0], in.argument(0), {.stride = in.argument(1)});
  });
  add_program("avg_pool2d", [](const Given& in) {
    return avg_pool2d(in[0], in.argument(0), {.stride = in.argument(1)});
  });
  // Arguments: window.
  add_program("unfold", [](const Given& in) { return unfold(in[0], in.argument(0)); });
  // Arguments: extent, window.
  add_program("fold", [](const Given& in) { return fold(in[0], in.argument(0), in.argument(1)); });
  // Arguments: extent, whether filters are as wide as what becomes one element.
  for (const char* mode : {"linear", "cubic"}) {
    add_program(std::string("interpolate_") + mode, [=](const Given& in) {
      return interpolate(in[0], {in.argument(0), in.argument(0)}, mode, false, in.argument(1) != 0);
    });
  }
  // Some of the places are outside.
  add_program("grid_sample", [](const Given& in) { return grid_sample(in[0], in[1] * 1.1f); });
  add_program("causal_attention", [](const Given& in) {
    return scaled_dot_product_attention(in[0], in[1], in[2], {}, true);
  });
}

}  // namespace sluice::bench
