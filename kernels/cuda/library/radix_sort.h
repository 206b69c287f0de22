// Sorts of long lines on a GPU, by their bits.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_RADIX_SORT_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_RADIX_SORT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "fusion/library/sort.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/library.h"
#include "runtime/cuda/cuda_stream.h"

namespace sluice::kernels::cuda {

// A kernel that uses what the texts of radix sorts define, and they: a source.
std::string with_radix_texts(const std::string& kernel);

// Least significant digit first, eight bits at a time. What a block sorts by a digit it has in
// registers: the lanes of a warp that have the same digit find one another, each warp counts its
// digits, and elements go to their places in shared memory.
//
// A line that fits in a block is sorted by all digits there. Of longer ones the digits of all
// passes are counted first. Then a pass is one kernel: each block sorts a piece of a line and moves
// its runs of equal digits to where they belong in the line. That follows from the counts of
// earlier pieces' blocks, which these publish while they run (decoupled look-back). Sums of counts
// are the same in any order, and everything is stable: so is the result at each run.
//
// What is sorted is the elements themselves, -0 and 0 as equals; positions go with them.
class RadixSort {
 public:
  explicit RadixSort(const LibraryDevice& device) : kernels_(device.context, device.compiler) {}

  // Whether lines are long enough. Those of several blocks take memory: twice that of the elements.
  static bool is_for(const fusion::SortAttributes& attributes);

  // As LibraryRunner's. `bits`: of the elements, which are then unsigned and have no others; 0:
  // all.
  absl::Status prepare(const fusion::SortAttributes& attributes);
  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::SortAttributes& attributes,
                       absl::Span<void* const> buffers, absl::string_view label, int bits = 0);

 private:
  enum class Step { kLine, kClear, kCounts, kPass };
  SourceKernel& kernel(const fusion::SortAttributes& attributes, Step step);

  SourceKernels kernels_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_RADIX_SORT_H_
