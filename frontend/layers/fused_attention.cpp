#include "frontend/layers/fused_attention.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include <sluice/ops.h>
#include "frontend/autograd/tape.h"
#include "frontend/dims.h"
#include "frontend/record.h"
#include "fusion/library/attention.h"

namespace sluice::frontend {
namespace {

using fusion::AttentionFlags;
using fusion::AttentionMask;

constexpr int64_t kMaxDepth = 256;                // of which the sums fit in registers
constexpr int64_t kMaxLength = int64_t{1} << 30;  // 32-bit indices
// Fewer queries of float32 are composed: most of a block would be for nothing.
constexpr int64_t kLeastFused = 64;

// The axes of the op: batch, heads, length, depth.
constexpr int kAxes = 4;

int64_t extent(const Tensor& x, int axis) { return axis + x.ndim() < 0 ? 1 : x.shape(axis); }

// `x` with as many axes as the op has, of these extents before the last two.
Tensor with_axes(Tensor x, int64_t batch, int64_t heads) {
  while (x.ndim() < kAxes) x = expand_dims(std::move(x), 0);
  if (x.shape(0) == batch && x.shape(1) == heads) return x;
  const Shape shape{batch, heads, x.shape(2), x.shape(3)};
  return broadcast_to(std::move(x), shape);
}

// What the operands have in common, or broadcast to.
struct JointExtents {
  int64_t batch = 1, heads = 1, key_heads = 1;
  bool fit = true;  // all operands

  explicit JointExtents(const Attention& of) {
    for (const Tensor* x : {&of.queries, &of.keys, &of.values}) {
      join(&batch, extent(*x, -4));
      if (x != &of.queries || of.share == 1) join(&key_heads, extent(*x, -3));
    }
    heads = of.share > 1 ? extent(of.queries, -3) : key_heads;
    if (!of.mask.defined()) return;
    const auto masks = [&](int axis, int64_t of_scores) {
      const int64_t own = extent(of.mask, axis);
      return own == 1 || own == of_scores;
    };
    fit = fit && masks(-4, batch) && masks(-3, heads);
  }

 private:
  void join(int64_t* all, int64_t own) {
    if (*all == 1) *all = own;
    fit = fit && (own == 1 || own == *all);
  }
};

bool has_kernel(const Attention& of) {
  if (of.queries.device().type() == DeviceType::kCpu || of.queries.dtype() == DType::kFloat64 ||
      !(of.scale > 0 && std::isfinite(static_cast<float>(of.scale)))) {
    return false;
  }
  if (of.queries.dtype() == DType::kFloat32 && of.queries.shape(-2) < kLeastFused) return false;
  for (const Tensor* x : {&of.queries, &of.keys, &of.values}) {
    if (x->ndim() > kAxes || x->numel() == 0 || x->shape(-1) > kMaxDepth ||
        x->shape(-2) > kMaxLength) {
      return false;
    }
  }
  return !of.mask.defined() || (of.mask.ndim() <= kAxes && !of.mask.needs_grad());
}

Tensor attention(const char* name, const Attention& of, const JointExtents& extents) {
  std::vector<Tensor> operands = {with_axes(of.queries, extents.batch, extents.heads),
                                  with_axes(of.keys, extents.batch, extents.key_heads),
                                  with_axes(of.values, extents.batch, extents.key_heads)};
  const int64_t length = of.queries.shape(-2), depth = of.values.shape(-1);
  AttentionFlags flags{.causal = of.is_causal ? 1 : 0, .scale = std::bit_cast<int64_t>(of.scale)};
  if (of.mask.defined()) {
    const bool is_bool = of.mask.dtype() == DType::kBool;
    flags.mask = static_cast<int64_t>(is_bool ? AttentionMask::kBool : AttentionMask::kFloat);
    Tensor mask = is_bool ? of.mask : astype(of.mask, DType::kFloat32);
    while (mask.ndim() < 2) mask = expand_dims(std::move(mask), 0);
    operands.push_back(broadcast_to(with_axes(std::move(mask), extents.batch, extents.heads),
                                    {extents.batch, extents.heads, length, of.keys.shape(-2)}));
  }
  std::vector<engine::NodeOperand> nodes;
  for (const Tensor& x : operands) nodes.push_back({x.node_ref().get()});
  std::vector<int64_t> attrs;
  AttentionFlags::for_each_number(flags, [&](int64_t flag) { attrs.push_back(flag); });
  Tensor result = record({.caller = {.name = name},
                          .op = fusion::Op::kAttention,
                          .dtype = of.queries.dtype(),
                          .operand_dtype = of.queries.dtype(),
                          .device = of.queries.device(),
                          .shape = {extents.batch, extents.heads, length, depth},
                          .operands = nodes,
                          .attrs = attrs});
  const int rank = std::max({of.queries.ndim(), of.keys.ndim(), of.values.ndim()});
  const Dims dims = dims_of(result);
  return reshape(std::move(result), Shape(span_of(dims).last(static_cast<size_t>(rank))));
}

}  // namespace

std::optional<Tensor> fused_attention(
    const char* name, const Attention& of,
    std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)> composed) {
  if (!has_kernel(of)) return std::nullopt;
  const JointExtents extents(of);
  if (!extents.fit) return std::nullopt;
  const std::array<Tensor, 3> xs = {of.queries, of.keys, of.values};
  if (!grad_mode.is_on ||
      std::none_of(xs.begin(), xs.end(), [](const Tensor& x) { return x.needs_grad(); })) {
    return attention(name, of, extents);
  }
  Tensor result;
  std::vector<TapeRef> sources;
  {
    const GradModeScope constants(false);
    result = attention(name, of, extents);
    for (const Tensor& x : xs) sources.emplace_back(tape_of(x));
  }
  return with_gradient(
      result, sources,
      [name, xs, composed = std::move(composed)](const Tensor& g, const Tensor&) {
        // Under names of their own: what depends on these, and nothing else.
        std::array<Tensor, 3> again = xs;
        std::vector<Tape*> targets;
        const bool create_graph = grad_mode.is_on;
        const GradModeScope gradients_too(true);
        for (Tensor& x : again) {
          if (x.needs_grad()) x = renamed(name, x);
          targets.push_back(tape_of(x));
        }
        const Tensor y = composed(again[0], again[1], again[2]);
        const GradModeScope mode(create_graph);
        return differentiate(tape_of(y), g, targets);
      },
      false);
}

}  // namespace sluice::frontend
