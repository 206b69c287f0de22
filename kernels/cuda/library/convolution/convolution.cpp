// Library calls of kind kConvolution on a GPU.
#include <memory>

#include "kernels/cuda/library/convolution/cudnn_convolution.h"
#include "kernels/cuda/library/convolution/own_convolution.h"
#include "kernels/cuda/library/cudnn/cudnn_or_own.h"
#include "kernels/cuda/library/library.h"

namespace sluice::kernels::cuda {

std::unique_ptr<LibraryRunner> make_convolution_runner(const LibraryDevice& device) {
  return std::make_unique<CudnnOrOwn<CudnnConvolution, OwnConvolution>>(device);
}

}  // namespace sluice::kernels::cuda
