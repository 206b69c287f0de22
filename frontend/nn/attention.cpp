#include <sluice/nn/attention.h>

#include <utility>

#include <sluice/creation.h>
#include <sluice/nn/init.h>
#include "frontend/checks.h"
#include "frontend/nn/leaf.h"
#include "frontend/nn/observed.h"

namespace sluice::nn {
namespace {

using frontend::describe;
using frontend::fail;
using frontend::observed;

// x + part(x), normalised before or after.
template <typename Part>
Tensor added(const Tensor& x, const LayerNorm& norm, bool norm_first, Part part) {
  return norm_first ? x + part(norm(x)) : norm(x + part(x));
}

Tensor fed_forward(const Tensor& x, const Linear& first, const Linear& second,
                   const Dropout& dropout, bool has_gelu) {
  const Tensor hidden = first(x);
  return dropout(second(dropout(has_gelu ? gelu(hidden) : relu(hidden))));
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t width, int64_t heads,
                                       const MultiHeadAttentionOptions& options)
    : query(width, width, {.bias = options.bias}),
      key(width, width, {.bias = options.bias}),
      value(width, width, {.bias = options.bias}),
      output(width, width, {.bias = options.bias}),
      heads_(heads) {
  if (heads < 1 || width % heads != 0) {
    fail("MultiHeadAttention", heads, " heads do not divide the width ", width);
  }
  for (Linear* layer : {&query, &key, &value, &output}) {
    layer->weight = frontend::leaf(init::xavier_uniform({width, width}));
    if (options.bias) layer->bias = frontend::leaf(zeros({width}));
  }
  register_module("query", query);
  register_module("key", key);
  register_module("value", value);
  register_module("output", output);
}

Tensor MultiHeadAttention::operator()(const Tensor& queries, const Tensor& keys,
                                      const Tensor& values, const Tensor& mask, bool causal) const {
  const int64_t width = query.weight.shape(0);
  for (const Tensor* x : {&queries, &keys, &values}) {
    if (x->ndim() != 3 || x->shape(2) != width) {
      fail("MultiHeadAttention", describe(*x), " is not (n, length, ", width, ")");
    }
  }
  // (n, length, width) as (n, heads, length, depth).
  const auto split_heads = [&](const Tensor& x) {
    return swapaxes(reshape(x, Shape{x.shape(0), x.shape(1), heads_, width / heads_}), 1, 2);
  };
  const Tensor attended =
      scaled_dot_product_attention(split_heads(query(queries)), split_heads(key(keys)),
                                   split_heads(value(values)), mask, causal);
  return observed(*this, output(reshape(swapaxes(attended, 1, 2), queries.shape())));
}

TransformerEncoderLayer::TransformerEncoderLayer(int64_t width, int64_t heads,
                                                 const TransformerOptions& options)
    : attention(width, heads),
      linear1(width, options.feedforward),
      linear2(options.feedforward, width),
      norm1(width, {.eps = options.eps}),
      norm2(width, {.eps = options.eps}),
      options_(options),
      dropout_(options.dropout) {
  register_module("attention", attention);
  register_module("linear1", linear1);
  register_module("linear2", linear2);
  register_module("norm1", norm1);
  register_module("norm2", norm2);
  register_module("dropout", dropout_);
}

Tensor TransformerEncoderLayer::operator()(const Tensor& x, const Tensor& mask, bool causal) const {
  const Tensor seen = added(x, norm1, options_.norm_first,
                            [&](const Tensor& y) { return dropout_(attention(y, mask, causal)); });
  return observed(*this, added(seen, norm2, options_.norm_first, [&](const Tensor& y) {
    return fed_forward(y, linear1, linear2, dropout_, options_.gelu);
  }));
}

TransformerDecoderLayer::TransformerDecoderLayer(int64_t width, int64_t heads,
                                                 const TransformerOptions& options)
    : attention(width, heads),
      cross_attention(width, heads),
      linear1(width, options.feedforward),
      linear2(options.feedforward, width),
      norm1(width, {.eps = options.eps}),
      norm2(width, {.eps = options.eps}),
      norm3(width, {.eps = options.eps}),
      options_(options),
      dropout_(options.dropout) {
  register_module("attention", attention);
  register_module("cross_attention", cross_attention);
  register_module("linear1", linear1);
  register_module("linear2", linear2);
  register_module("norm1", norm1);
  register_module("norm2", norm2);
  register_module("norm3", norm3);
  register_module("dropout", dropout_);
}

Tensor TransformerDecoderLayer::operator()(const Tensor& x, const Tensor& memory,
                                           const Tensor& mask, const Tensor& memory_mask,
                                           bool causal) const {
  const bool norm_first = options_.norm_first;
  Tensor seen = added(x, norm1, norm_first,
                      [&](const Tensor& y) { return dropout_(attention(y, mask, causal)); });
  seen = added(seen, norm2, norm_first, [&](const Tensor& y) {
    return dropout_(cross_attention(y, memory, memory, memory_mask));
  });
  return observed(*this, added(seen, norm3, norm_first, [&](const Tensor& y) {
    return fed_forward(y, linear1, linear2, dropout_, options_.gelu);
  }));
}

}  // namespace sluice::nn
