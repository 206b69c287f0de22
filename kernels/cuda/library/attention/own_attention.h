// Attention on a GPU by kernels of our own, for all that is a library call.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_OWN_ATTENTION_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_OWN_ATTENTION_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "fusion/library/attention.h"
#include "fusion/lower/step.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::kernels::cuda {

// For one GPU. Thread-safe. Outlives the work it is given.
class OwnAttention {
 public:
  // Both outlive it.
  OwnAttention(runtime::cuda::Context* context, Compiler* compiler)
      : context_(*context), kernels_(context, compiler) {}

  // As those of a LibraryRunner.
  absl::Status prepare(const fusion::LibraryCall& call);
  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label);

 private:
  struct Way;
  struct Arguments;

  SourceKernel& kernel(const fusion::AttentionAttributes& of, const Way& way, bool has_vectors);
  SourceKernel& adding(const fusion::AttentionAttributes& of, const Way& way);

  runtime::cuda::Context& context_;
  SourceKernels kernels_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_OWN_ATTENTION_H_
