// On a CPU attention is composed of products and a softmax
// (docs/decisions/0016-attention-in-blocks.md): there is no call for it.
#include "kernels/library/library.h"

namespace sluice::kernels {

absl::Status run_attention(const fusion::LibraryCall&, absl::Span<void* const>) {
  return absl::UnimplementedError("attention is a library call on GPUs alone");
}

}  // namespace sluice::kernels
