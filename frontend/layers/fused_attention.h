// Attention that a GPU computes in one kernel, which has no scores in memory; the frontend's own.
#ifndef SLUICE_FRONTEND_LAYERS_FUSED_ATTENTION_H_
#define SLUICE_FRONTEND_LAYERS_FUSED_ATTENTION_H_

#include <cstdint>
#include <functional>
#include <optional>

#include <sluice/tensor.h>

namespace sluice::frontend {

struct Attention {
  Tensor queries, keys, values;  // (.., length, depth), which agree, of one float type
  Tensor mask;                   // of scores; undefined if there is none
  int64_t share = 1;             // heads of queries to one of keys
  bool is_causal = false;
  double scale = 1;
};

// By Op::kAttention; its gradient is that of `composed`, which computes the same of queries, keys
// and values. Nothing where there is no kernel for it.
std::optional<Tensor> fused_attention(
    const char* name, const Attention& of,
    std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)> composed);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_LAYERS_FUSED_ATTENTION_H_
