// Attention, and the noise that training adds.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <sluice/autograd.h>
#include <sluice/creation.h>
#include <sluice/ops.h>
#include "frontend/composed/compose.h"
#include "frontend/dims.h"
#include "frontend/layers/fused_attention.h"
#include "frontend/random/random.h"

namespace sluice {
namespace {

using frontend::describe;
using frontend::Dims;
using frontend::dims_of;
using frontend::Draw;
using frontend::fail;
using frontend::span_of;
using frontend::with_call;

// Each element 0 with probability p, else x / (1 - p).
Tensor dropped(const char* name, const Tensor& x, double p, Draw draw) {
  const Tensor share = frontend::uniform(draw, name, x.shape(), DType::kFloat32, x.device());
  return where(share >= Scalar(p), x * Scalar(1 / (1 - p)), Scalar(0));
}

void check_probability(const char* name, const char* parameter, double p) {
  if (!(p >= 0 && p <= 1)) fail(name, parameter, " is ", p, ", not within [0, 1]");
}

constexpr const char* kAttention = "scaled_dot_product_attention";
constexpr Scalar kNever = -std::numeric_limits<double>::infinity();  // a score

// More bytes of scores than that are made a part at a time, of so many.
constexpr int64_t kManyScoreBytes = int64_t{64} << 20, kBlockBytes = int64_t{32} << 20;
// Of causal attention blocks of queries leave out the keys after them: so many save most of those.
constexpr int64_t kCausalBlocks = 16;
// Queries of a block are a multiple of this: products of fewer take longer.
constexpr int64_t kLeastQueries = 64;

struct Attention {
  DType result;
  double scale = 1, dropout = 0;
  bool is_causal = false;
  int64_t share = 1;  // heads of queries to one of keys
  Tensor mask;
  int64_t first = 0;  // query's position
  Draw draw;          // of what is dropped

  // Of queries (.., heads * share, length, depth) by keys and values (.., heads, length, depth).
  Tensor operator()(const Tensor& queries, const Tensor& keys, const Tensor& values) const {
    const DType dtype = compute_type(result);
    Tensor scores =
        astype(matmul(by_shared(queries), swapaxes(keys, -1, -2)), dtype) * Scalar(scale);
    scores = apart(std::move(scores), queries);
    if (mask.defined()) {
      scores = mask.dtype() == DType::kBool ? where(mask, std::move(scores), kNever)
                                            : std::move(scores) + astype(mask, dtype);
    }
    if (is_causal) scores = causal_only(std::move(scores));
    Tensor shares = softmax(std::move(scores));
    if (dropout > 0) shares = dropped(kAttention, shares, dropout, draw);
    return apart(matmul(by_shared(astype(std::move(shares), result)), values), queries);
  }

 private:
  // Of queries or scores, those of heads that share keys one below the other.
  Tensor by_shared(const Tensor& x) const {
    if (share == 1) return x;
    Dims dims = dims_of(x);
    const size_t rank = dims.size();
    dims[rank - 3] /= share;
    dims[rank - 2] *= share;
    return reshape(x, Shape(span_of(dims)));
  }
  // The reverse.
  Tensor apart(Tensor rows, const Tensor& queries) const {
    if (share == 1) return rows;
    Dims dims = dims_of(rows);
    const size_t rank = dims.size();
    dims[rank - 3] *= share;
    dims[rank - 2] = queries.shape(-2);
    return reshape(std::move(rows), Shape(span_of(dims)));
  }
  // The scores, but for pairs of a query and a key after it.
  Tensor causal_only(Tensor scores) const {
    const auto positions = [&](int axis, int64_t begin) {
      return arange(begin, begin + scores.shape(axis), 1, DType::kInt64, scores.device());
    };
    const Tensor queries = positions(-2, first), keys = positions(-1, 0);
    return where(expand_dims(queries, 1) >= keys, std::move(scores), kNever);
  }
};

// How many heads of q there are to one of k and v; axis -3, if both have it.
int64_t heads_that_share(const Tensor& queries, const Tensor& keys) {
  if (queries.ndim() < 3 || keys.ndim() < 3) return 1;
  const int64_t ours = queries.shape(-3), theirs = keys.shape(-3);
  return theirs > 1 && ours > theirs && ours % theirs == 0 ? ours / theirs : 1;
}

void check_mask(const Tensor& mask, const Tensor& queries, const Tensor& keys) {
  const auto fits = [&](int axis, int64_t extent) {
    return mask.ndim() < -axis || mask.shape(axis) == 1 || mask.shape(axis) == extent;
  };
  if (fits(-2, queries.shape(-2)) && fits(-1, keys.shape(-2))) return;
  fail(kAttention, "mask ", describe(mask), " is not for queries ", describe(queries), " and keys ",
       describe(keys));
}

// What of the mask is for queries [begin, end) and the first `keys` keys.
Tensor cut_mask(Tensor mask, int64_t begin, int64_t end, int64_t keys) {
  if (!mask.defined()) return mask;
  if (mask.ndim() >= 2 && mask.shape(-2) > 1) mask = slice(mask, -2, begin, end);
  if (mask.ndim() >= 1 && mask.shape(-1) > 1) mask = slice(mask, -1, 0, keys);
  return mask;
}

// How many queries a block has.
int64_t queries_of_block(const Tensor& queries, const Tensor& keys, bool is_causal) {
  const int64_t length = queries.shape(-2), depth = queries.shape(-1);
  if (length == 0 || depth == 0) return length;
  const int64_t bytes_of_query = queries.numel() / depth / length * keys.shape(-2) * 4;
  int64_t rows = length;
  if (bytes_of_query * length > kManyScoreBytes) rows = kBlockBytes / bytes_of_query;
  if (is_causal) rows = std::min(rows, (length + kCausalBlocks - 1) / kCausalBlocks);
  if (rows == length) return length;
  return std::max<int64_t>((rows + kLeastQueries - 1) / kLeastQueries, 1) * kLeastQueries;
}

// `step` queries at a time.
Tensor in_blocks(const Attention& attention, int64_t step, const Tensor& queries,
                 const Tensor& keys, const Tensor& values) {
  const int64_t length = queries.shape(-2);
  // From the last on, as what a block has in memory another that is no larger can take over.
  std::vector<Tensor> blocks;
  for (int64_t begin = (length - 1) / step * step; begin >= 0; begin -= step) {
    const int64_t end = std::min(begin + step, length);
    const int64_t seen = attention.is_causal ? std::min(end, keys.shape(-2)) : keys.shape(-2);
    Attention block = attention;
    block.mask = cut_mask(attention.mask, begin, end, seen);
    block.first = begin;
    block.draw = attention.draw.next(static_cast<uint64_t>(std::ssize(blocks)));
    // What the backward pass needs of the scores is made again.
    blocks.push_back(checkpoint(std::move(block), slice(queries, -2, begin, end),
                                slice(keys, -2, 0, seen), slice(values, -2, 0, seen)));
  }
  std::reverse(blocks.begin(), blocks.end());
  return concat(blocks, -2);
}

}  // namespace

Tensor dropout(Arg x, double p) {
  return with_call(x, "dropout", [&](const Tensor& tensor) {
    check_probability("dropout", "p", p);
    return dropped("dropout", astype(tensor, float_type(tensor.dtype())), p,
                   frontend::take_calls());
  });
}

Tensor scaled_dot_product_attention(Arg q, Arg k, Arg v, const Tensor& mask, bool causal,
                                    double scale, double dropout) {
  Tensor result = frontend::composed(q, k, kAttention, [&](const Tensor& all, const Tensor& given) {
    frontend::node_of(kAttention, v.tensor());
    const Tensor& last = v.tensor();
    for (const Tensor* x : {&all, &given, &last}) {
      if (x->ndim() < 2) fail(kAttention, describe(*x), " has not the axes (.., length, depth)");
    }
    if (all.shape(-1) != given.shape(-1) || given.shape(-2) != last.shape(-2)) {
      fail(kAttention, "queries ", describe(all), ", keys ", describe(given), " and values ",
           describe(last), " do not agree in depth or length");
    }
    check_probability(kAttention, "dropout", dropout);
    if (mask.defined()) check_mask(mask, all, given);
    const DType dtype = float_type(promote(promote(all.dtype(), given.dtype()), last.dtype()));
    const Tensor queries = astype(all, dtype), keys = astype(given, dtype);
    const Tensor values = astype(last, dtype);
    const double scaling = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(all.shape(-1)));
    const int64_t length = queries.shape(-2), step = queries_of_block(queries, keys, causal);
    const int64_t count = length <= step ? 1 : (length + step - 1) / step;
    const Attention attention{
        .result = dtype,
        .scale = scaling,
        .dropout = dropout,
        .is_causal = causal,
        .share = heads_that_share(queries, keys),
        .mask = mask,
        .draw = dropout > 0 ? frontend::take_calls(static_cast<uint64_t>(count)) : Draw{}};
    const auto composed = [=](const Tensor& q, const Tensor& k, const Tensor& v) {
      return count == 1 ? attention(q, k, v) : in_blocks(attention, step, q, k, v);
    };
    if (dropout == 0) {
      const std::optional<Tensor> fused = frontend::fused_attention(
          kAttention, {queries, keys, values, mask, attention.share, causal, scaling}, composed);
      if (fused) return *fused;
    }
    return composed(queries, keys, values);
  });
  v.release();
  return result;
}

}  // namespace sluice
