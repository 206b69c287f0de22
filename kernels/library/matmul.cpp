#include "kernels/library/matmul.h"

#include "kernels/library/library.h"

namespace sluice::kernels {

Matmul bind_matmul(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  const fusion::MatmulAttributes& attributes = fusion::matmul_of(call);
  Matmul result{attributes.shape, nullptr, nullptr, nullptr, call.epilogues, buffers};
  if (buffers.empty()) return result;
  result.a = static_cast<const float*>(buffers[0]) + attributes.a_offset;
  result.b = static_cast<const float*>(buffers[1]) + attributes.b_offset;
  result.c = static_cast<float*>(buffers[2]);
  return result;
}

absl::Status run_matmul(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  return matmul(bind_matmul(call, buffers));
}

}  // namespace sluice::kernels
