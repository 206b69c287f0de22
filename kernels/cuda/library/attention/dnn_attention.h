// Attention as cuDNN is told of it.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_DNN_ATTENTION_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_DNN_ATTENTION_H_

#include <array>
#include <cstdint>
#include <utility>

#include "fusion/library/attention.h"
#include "kernels/cuda/library/cudnn/plan.h"

namespace sluice::kernels::cuda {

// Attention of tensors that are each aligned to kDnnAlignment bytes, without a mask but the causal
// one. Its bits depend on the engine, the shape and the scale, not on strides.
struct DnnAttention {
  using Extents = std::array<int64_t, 4>;  // batch, head, row, column
  // What a plan calls its tensors: the operands and the result, then values.
  enum Id : int64_t { kQueries = 1, kKeys, kValues, kResult, kScale, kNever, kFirstVirtual };

  DType dtype = DType::kFloat16;
  int64_t batch = 0, heads = 0, key_heads = 0;
  int64_t length = 0, key_length = 0, depth = 0, value_depth = 0;
  bool is_causal = false;
  // Of queries, keys and values: without gaps until place() says otherwise. Of axes that have a
  // single element those of no gaps.
  std::array<Extents, 3> strides{};

  explicit DnnAttention(const fusion::AttentionAttributes& of);

  // Whether the library, of this version, may have engines for it.
  static bool can_be(const fusion::AttentionAttributes& of, int capability, int64_t version);

  Extents extents_of(Id id) const;
  // Takes an operand's strides if the library reads such tensors where they are.
  bool place(Id id, const Extents& of);
  DnnWork work() const;

  bool operator==(const DnnAttention&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const DnnAttention& x) {
    return H::combine(std::move(h), x.dtype, x.batch, x.heads, x.key_heads, x.length, x.key_length,
                      x.depth, x.value_depth, x.is_causal, x.strides);
  }
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_DNN_ATTENTION_H_
