// Attention, and the layers of transformers (Vaswani et al., Attention Is All You Need, 2017).
#ifndef SLUICE_NN_ATTENTION_H_
#define SLUICE_NN_ATTENTION_H_

#include <cstdint>

#include <sluice/nn/layers.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace nn {

struct MultiHeadAttentionOptions {
  bool bias = true;
};
// scaled_dot_product_attention() of `heads` projections of the width: of queries (n, length,
// width), keys and values (n, keys, width), (n, length, width). The mask is broadcast to (n, heads,
// length, keys). Weights are Xavier's, biases 0.
class MultiHeadAttention : public Module {
 public:
  MultiHeadAttention(int64_t width, int64_t heads, const MultiHeadAttentionOptions& options = {});
  Tensor operator()(const Tensor& queries, const Tensor& keys, const Tensor& values,
                    const Tensor& mask = {}, bool causal = false) const;
  // Of itself.
  Tensor operator()(const Tensor& x, const Tensor& mask = {}, bool causal = false) const {
    return (*this)(x, x, x, mask, causal);
  }
  Tensor forward(const Tensor& x) const { return (*this)(x, x, x); }
  Tensor forward(const Tensor& queries, const Tensor& keys, const Tensor& values,
                 const Tensor& mask = {}, bool causal = false) const {
    return (*this)(queries, keys, values, mask, causal);
  }

  Linear query, key, value, output;

 private:
  int64_t heads_;
};

struct TransformerOptions {
  int64_t feedforward = 2048;  // width of the hidden layer
  double dropout = 0.1;        // after attention, and in and after the feed-forward layers
  bool gelu = false;           // in place of relu
  bool norm_first = false;     // normalises what a part reads, not what it adds to
  double eps = 1e-5;
};
// Attention to itself and two layers for each place, each added to what it reads: (n, length,
// width) to the same.
class TransformerEncoderLayer : public Module {
 public:
  TransformerEncoderLayer(int64_t width, int64_t heads, const TransformerOptions& options = {});
  Tensor operator()(const Tensor& x, const Tensor& mask = {}, bool causal = false) const;
  Tensor forward(const Tensor& x, const Tensor& mask = {}, bool causal = false) const {
    return (*this)(x, mask, causal);
  }

  MultiHeadAttention attention;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;

 private:
  TransformerOptions options_;
  Dropout dropout_;
};

// Likewise with attention to an encoder's result, `memory` (n, keys, width), after that to itself,
// which is causal.
class TransformerDecoderLayer : public Module {
 public:
  TransformerDecoderLayer(int64_t width, int64_t heads, const TransformerOptions& options = {});
  Tensor operator()(const Tensor& x, const Tensor& memory, const Tensor& mask = {},
                    const Tensor& memory_mask = {}, bool causal = true) const;
  Tensor forward(const Tensor& x, const Tensor& memory, const Tensor& mask = {},
                 const Tensor& memory_mask = {}, bool causal = true) const {
    return (*this)(x, memory, mask, memory_mask, causal);
  }

  MultiHeadAttention attention, cross_attention;
  Linear linear1, linear2;
  LayerNorm norm1, norm2, norm3;

 private:
  TransformerOptions options_;
  Dropout dropout_;
};

}  // namespace nn
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_NN_ATTENTION_H_
