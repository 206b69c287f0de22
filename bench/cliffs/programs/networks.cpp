// Layers of networks as they are used: forwards, and with the gradients by all inputs.
#include <memory>

#include "bench/cliffs/cliffs.h"

namespace sluice::bench {
namespace {

using Layer = Tensor (*)(const Given& in, const Tensors& x);

// Arguments: heads. Inputs: (n, length, width), four weights, and weight and bias of two norms.
Tensor transformer_block(const Given& in, const Tensors& x) {
  const int64_t n = x[0].shape(0), length = x[0].shape(1), width = x[0].shape(2);
  const int64_t heads = in.argument(0);
  const Tensor qkv = matmul(layer_norm(x[0], x[5], x[6]), x[1])
                         .reshape({n, length, 3, heads, width / heads})
                         .permute({2, 0, 3, 1, 4});
  const Tensor attended = scaled_dot_product_attention(qkv[0], qkv[1], qkv[2])
                              .permute({0, 2, 1, 3})
                              .reshape({n, length, width});
  const Tensor y = x[0] + matmul(attended, x[2]);
  return y + matmul(gelu(matmul(layer_norm(y, x[7], x[8]), x[3])), x[4]);
}

Tensor batch_norm_of_batch(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return batch_norm(x, mean(x, {0, 2, 3}), var(x, {0, 2, 3}), weight, bias);
}

// Inputs: images, filters of 3x3 twice, and weight and bias of two norms.
Tensor residual_block(const Given&, const Tensors& x) {
  const Tensor y = relu(batch_norm_of_batch(conv2d(x[0], x[1], {.padding = 1}), x[3], x[4]));
  return relu(batch_norm_of_batch(conv2d(y, x[2], {.padding = 1}), x[5], x[6]) + x[0]);
}

// Inputs: (n, length, inputs), weights by inputs and by state, both biases.
template <typename Recurrence>
std::shared_ptr<Recurrence> recurrence_of(const Given& in) {
  auto layer = std::make_shared<Recurrence>(in[1].shape(1), in[2].shape(1));
  layer->load_state_dict({{"weight_ih_l0", in[1]},
                          {"weight_hh_l0", in[2]},
                          {"bias_ih_l0", in[3]},
                          {"bias_hh_l0", in[4]}});
  return layer;
}

// Inputs: rows, and weights and biases in turn.
Tensor perceptron(const Given&, const Tensors& x) {
  Tensor y = x[0];
  for (size_t i = 1; i + 1 < x.size(); i += 2) {
    y = matmul(y, x[i]) + x[i + 1];
    if (i + 3 < x.size()) y = relu(y);
  }
  return y;
}

// The gradient of the mean square by the first of x, and the sum of those by the others, so that
// all are computed.
Tensor slopes_of(const Tensor& y, const Tensors& x) {
  const Tensors slopes = gradients(mean(square(y)), x);
  Tensor result = slopes[0];
  for (size_t i = 1; i < slopes.size(); ++i) result += sum(slopes[i]);
  return result;
}

void add_layer(const std::string& name, Layer layer) {
  add_program(name, [layer](const Given& in) {
    Tensors x;
    for (size_t i = 0; i < in.size(); ++i) x.push_back(in[i]);
    return layer(in, x);
  });
  add_program(name + "_gradients", [layer](const Given& in) {
    Tensors x;
    for (size_t i = 0; i < in.size(); ++i) x.push_back(in[i].requires_grad());
    return slopes_of(layer(in, x), x);
  });
}

template <typename Recurrence>
void add_recurrence(const std::string& name) {
  programs().emplace(name, [](const Given& in) -> Step {
    return [in, layer = recurrence_of<Recurrence>(in)]() -> Tensors {
      const NoGrad no_gradients;
      return {(*layer)(in[0]).output};
    };
  });
  programs().emplace(name + "_gradients", [](const Given& in) -> Step {
    return [in, layer = recurrence_of<Recurrence>(in)]() -> Tensors {
      Tensors x = {in[0].requires_grad()};
      for (auto& [name, parameter] : layer->named_parameters()) x.push_back(*parameter);
      return {slopes_of((*layer)(x[0]).output, x)};
    };
  });
}

}  // namespace

void add_network_programs() {
  add_layer("transformer_block", transformer_block);
  add_layer("residual_block", residual_block);
  add_recurrence<nn::LSTM>("lstm");
  add_recurrence<nn::GRU>("gru");
  add_layer("perceptron", perceptron);
  add_layer("layer_norm_affine",
            [](const Given&, const Tensors& x) { return layer_norm(x[0], x[1], x[2]); });
  add_layer("group_norm", [](const Given& in, const Tensors& x) {
    return group_norm(x[0], in.argument(0), x[1], x[2]);
  });
  add_layer("batch_norm_affine",
            [](const Given&, const Tensors& x) { return batch_norm_of_batch(x[0], x[1], x[2]); });
  add_layer("softmax_last", [](const Given&, const Tensors& x) { return softmax(x[0]); });
  add_layer("gelu_only", [](const Given&, const Tensors& x) { return gelu(x[0]); });
  add_layer("sdpa", [](const Given&, const Tensors& x) {
    return scaled_dot_product_attention(x[0], x[1], x[2]);
  });
  add_layer("pooled", [](const Given&, const Tensors& x) { return max_pool2d(x[0], 2); });
  add_layer("conv1d", [](const Given&, const Tensors& x) {
    return conv1d(x[0], x[1], {.padding = x[1].shape(2) / 2});
  });
  add_layer("conv_transpose2d", [](const Given&, const Tensors& x) {
    return conv_transpose2d(x[0], x[1], {.stride = 2});
  });
  // Inputs: table, indices.
  add_program("embedding", [](const Given& in) { return embedding(in[1], in[0]); });
  add_program("embedding_gradients", [](const Given& in) {
    const Tensor table = in[0].requires_grad();
    return gradients(mean(square(embedding(in[1], table))), {table})[0];
  });
  // Inputs: logits, labels.
  add_program("cross_entropy", [](const Given& in) { return nn::cross_entropy(in[0], in[1]); });
  add_program("cross_entropy_gradients", [](const Given& in) {
    const Tensor logits = in[0].requires_grad();
    return gradients(nn::cross_entropy(logits, in[1]), {logits})[0];
  });
}

}  // namespace sluice::bench
