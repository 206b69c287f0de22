// Copies of operands, for a library whose bits may depend on how they lie in memory.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_DENSE_COPIES_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_DENSE_COPIES_H_

#include <cstdint>
#include <vector>

#include <sluice/dtype.h>
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::kernels::cuda {

// Where an operand of up to five axes is: `offset` and `strides` in elements.
struct PlacedOperand {
  DType dtype = DType::kFloat32;
  absl::Span<const int64_t> extents, strides;
  int64_t offset = 0;

  bool is_dense() const;
};

bool is_aligned(const void* address);  // to kDnnAlignment

// For one GPU. Thread-safe. Outlives the work it is given.
class DenseCopies {
 public:
  // Both outlive it.
  DenseCopies(runtime::cuda::Context* context, Compiler* compiler) : kernels_(context, compiler) {}

  // Compiles what place() needs if the operand is not dense.
  absl::Status prepare(const PlacedOperand& operand);

  // The copies of one call, which end when it has been enqueued: later work on the stream may reuse
  // their memory.
  class OfCall {
   public:
    // All outlive it.
    OfCall(DenseCopies* copies, runtime::cuda::CudaStream* stream, absl::string_view label)
        : copies_(*copies), stream_(*stream), label_(label) {}
    ~OfCall();
    OfCall(const OfCall&) = delete;
    OfCall& operator=(const OfCall&) = delete;

    // The operand if it is dense and aligned, else a copy which is.
    absl::StatusOr<void*> place(const PlacedOperand& operand, void* buffer);

   private:
    DenseCopies& copies_;
    runtime::cuda::CudaStream& stream_;
    const absl::string_view label_;
    std::vector<void*> made_;
  };

 private:
  SourceKernel& copying(DType dtype);

  SourceKernels kernels_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_DENSE_COPIES_H_
