// Convolutions that a library computes; the frontend's own.
#ifndef SLUICE_FRONTEND_LAYERS_LIBRARY_CONVOLUTION_H_
#define SLUICE_FRONTEND_LAYERS_LIBRARY_CONVOLUTION_H_

#include <cstdint>
#include <vector>

#include <sluice/tensor.h>
#include "fusion/ir/op.h"

namespace sluice::frontend {

// Along one spatial axis: fusion::WindowAxis, of which the extents are the tensors'.
struct WindowSteps {
  int64_t stride = 1, dilation = 1, before = 0, after = 0;
};

// Whether there is a library for tensors of this dtype and device, or on a GPU kernels in its
// place, and they are not empty.
bool can_convolve(const Tensor& x, const Tensor& y);

// Op::kConvolution of images and filters, or another of its kind (fusion/ir/library.def), of shape
// `result`, which is not empty; in the dtype of x and y, which can_convolve().
Tensor convolution(const char* name, fusion::Op op, const Tensor& x, const Tensor& y,
                   const Shape& result, const std::vector<WindowSteps>& steps, int64_t groups);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_LAYERS_LIBRARY_CONVOLUTION_H_
