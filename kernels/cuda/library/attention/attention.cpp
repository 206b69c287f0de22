// Library calls of kind kAttention on a GPU.
#include <memory>

#include "kernels/cuda/library/attention/cudnn_attention.h"
#include "kernels/cuda/library/attention/own_attention.h"
#include "kernels/cuda/library/cudnn/cudnn_or_own.h"
#include "kernels/cuda/library/library.h"

namespace sluice::kernels::cuda {

std::unique_ptr<LibraryRunner> make_attention_runner(const LibraryDevice& device) {
  return std::make_unique<CudnnOrOwn<CudnnAttention, OwnAttention>>(device);
}

}  // namespace sluice::kernels::cuda
