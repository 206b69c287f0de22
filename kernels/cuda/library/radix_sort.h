// Sorts of long lines on a GPU, by their bits.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_RADIX_SORT_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_RADIX_SORT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "fusion/library/sort.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/library.h"
#include "runtime/cuda/cuda_stream.h"

namespace sluice::kernels::cuda {

// Least significant digit first, eight bits at a time. A pass is three kernels: each block sorts a
// piece of a line by its digits and counts them, the counts are summed, and each block moves its
// runs of equal digits to where these sums say. Everything is stable, and the same at each run:
// there are no atomics.
//
// What is sorted is the elements themselves, -0 and 0 as equals; positions go with them.
class RadixSort {
 public:
  explicit RadixSort(const LibraryDevice& device) : kernels_(device.context, device.compiler) {}

  // Whether it is worth its launches and its memory, twice that of the elements.
  static bool is_for(const fusion::SortAttributes& attributes);

  // As LibraryRunner's. `bits`: of the elements, which are then unsigned and have no others; 0:
  // all.
  absl::Status prepare(const fusion::SortAttributes& attributes);
  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::SortAttributes& attributes,
                       absl::Span<void* const> buffers, absl::string_view label, int bits = 0);

 private:
  enum class Step { kPieces, kSums, kMove };
  SourceKernel& kernel(const fusion::SortAttributes& attributes, Step step);

  SourceKernels kernels_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_RADIX_SORT_H_
