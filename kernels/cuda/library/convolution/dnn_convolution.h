// A convolution as cuDNN is told of it.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_DNN_CONVOLUTION_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_DNN_CONVOLUTION_H_

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "fusion/library/convolution.h"
#include "kernels/cuda/library/cudnn/plan.h"

namespace sluice::kernels::cuda {

// A convolution of dense tensors, each aligned to kDnnAlignment bytes: its bits depend on nothing
// else, whatever the operands look like where they come from.
struct DnnConvolution {
  DType dtype = DType::kFloat32;
  fusion::ConvolutionRole result = fusion::kPlacesRole;
  int64_t batch = 0, groups = 1, inputs = 0, outputs = 0;
  int rank = 0;  // 2 or 3: the library has no fewer
  std::array<fusion::WindowAxis, fusion::kMaxWindowAxes> axes;
  bool allow_tf32 = false;  // float32 only

  explicit DnnConvolution(const fusion::ConvolutionAttributes& of, bool allow_tf32 = false);

  std::vector<int64_t> extents_of(fusion::ConvolutionRole role) const;
  // Its tensors are called by kDnnConvolutionIds.
  DnnWork work() const;

  bool operator==(const DnnConvolution&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const DnnConvolution& x) {
    for (const fusion::WindowAxis& axis : x.axes) {
      h = H::combine(std::move(h), axis.extent, axis.window, axis.places, axis.stride,
                     axis.dilation, axis.before, axis.after);
    }
    return H::combine(std::move(h), x.dtype, x.result, x.batch, x.groups, x.inputs, x.outputs,
                      x.rank, x.allow_tf32);
  }
};

// By role.
inline constexpr std::array<int64_t, fusion::kNumRoles> kDnnConvolutionIds = {1, 2, 3};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_DNN_CONVOLUTION_H_
