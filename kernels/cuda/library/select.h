// The first few elements of long lines on a GPU.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_SELECT_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_SELECT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "fusion/library/sort.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/library.h"
#include "runtime/cuda/cuda_stream.h"

namespace sluice::kernels::cuda {

// Elements are compared by their keys and then by their positions, eleven bits at a time, the most
// significant first. A pass counts the digits of those elements whose earlier digits are those of
// the last one that is wanted, and so finds its next digit. Once few elements are up to there,
// which two passes achieve as a rule, later ones do nothing. Those few are compared with one
// another. Counts are the same in any order, and no two elements are equal: so is the result.
class Selection {
 public:
  explicit Selection(const LibraryDevice& device) : kernels_(device.context, device.compiler) {}

  // As LibraryRunner's, of attributes with fusion::is_selected().
  absl::Status prepare(const fusion::SortAttributes& attributes);
  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::SortAttributes& attributes,
                       absl::Span<void* const> buffers, absl::string_view label);

 private:
  enum class Step { kClear, kCounts, kCandidates, kRanks };
  SourceKernel& kernel(DType dtype, Step step);

  SourceKernels kernels_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_SELECT_H_
