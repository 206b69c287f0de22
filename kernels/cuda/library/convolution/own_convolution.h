// Convolutions on a GPU by kernels of our own, which take any shape.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_OWN_CONVOLUTION_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_OWN_CONVOLUTION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "fusion/library/convolution.h"
#include "fusion/lower/step.h"
#include "kernels/cuda/compile/source_kernels.h"

namespace sluice::kernels::cuda {

// A block computes so many rows and columns of the product that a convolution is.
struct ConvolutionTile {
  int rows, columns;
  int depth;  // of the strips in shared memory
};
inline constexpr std::array<ConvolutionTile, 3> kConvolutionTiles = {
    {{128, 128, 16}, {64, 64, 16}, {16, 128, 16}}};

// The tile that occupies the device best; kConvolutionTiles.size(): none, but a thread for each
// sum. No bit depends on it.
size_t choose_convolution_tile(const fusion::ConvolutionAttributes& of, int multiprocessors);

// How many terms a part of a sum has; all of them where it is not cut.
int64_t convolution_part(const fusion::ConvolutionAttributes& of);

// Each element of the result is sum = 0, then sum = fma(a, b, sum) in float32 over all that it is
// summed over, padding included, in this order: for places channels and windows, for images
// channels of places and windows, for filters images and places. The last is cut into parts, by
// shape alone, whose sums are added in order. Rounded once. float32, float16, bfloat16.
// Thread-safe. Outlives the work it is given.
class OwnConvolution {
 public:
  OwnConvolution(runtime::cuda::Context* context, Compiler* compiler)
      : context_(*context), kernels_(context, compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call);

  // Within the run() of a batch of `stream`. `buffers`: of the library call, on the device.
  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label);

 private:
  SourceKernel& kernel(const fusion::ConvolutionAttributes& of);
  SourceKernel& adding(DType dtype);

  runtime::cuda::Context& context_;
  SourceKernels kernels_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_OWN_CONVOLUTION_H_
