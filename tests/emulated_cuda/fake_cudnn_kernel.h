// The kernel of the cuDNN that is not there.
#ifndef SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_KERNEL_H_
#define SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_KERNEL_H_

#include <cstdint>

#include "fusion/library/convolution.h"
#include "tests/emulated_cuda/emulated_cuda.h"

namespace sluice::emulated {

inline constexpr int64_t kMostExtents = 5, kMostAxes = 3;

struct ConvolutionParams {
  struct Tensor {
    const void* data;
    int64_t extents[kMostExtents], strides[kMostExtents];
  };
  Tensor tensors[fusion::kNumRoles];  // by role
  char* workspace;                    // filled with what is nothing's result
  int64_t workspace_bytes;
  int64_t dtype, result, rank, groups;  // a kernels::cuda::DnnDataType, a fusion::ConvolutionRole
  int64_t stride[kMostAxes], dilation[kMostAxes], before[kMostAxes];
};

// Elements of a kernels::cuda::DnnDataType.
float load(int64_t dtype, const void* data, int64_t at);
void store(int64_t dtype, void* data, int64_t at, double value);

// Adds each product where it belongs, in double.
const char* run_convolution(const Geometry& geometry, const void* params);

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_KERNEL_H_
