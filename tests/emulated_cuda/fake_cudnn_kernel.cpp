#include "tests/emulated_cuda/fake_cudnn_kernel.h"

#include <array>
#include <cstring>
#include <vector>

#include <sluice/half.h>
#include "kernels/cuda/library/cudnn/cudnn.h"

namespace sluice::emulated {
namespace {

using fusion::kNumRoles;
using kernels::cuda::DnnDataType;
using enum fusion::ConvolutionRole;

}  // namespace

float load(int64_t dtype, const void* data, int64_t at) {
  switch (static_cast<DnnDataType>(dtype)) {
    case DnnDataType::kFloat16: return static_cast<float>(static_cast<const float16*>(data)[at]);
    case DnnDataType::kBfloat16: return static_cast<float>(static_cast<const bfloat16*>(data)[at]);
    default: return static_cast<const float*>(data)[at];
  }
}
void store(int64_t dtype, void* data, int64_t at, double value) {
  const auto rounded = static_cast<float>(value);
  switch (static_cast<DnnDataType>(dtype)) {
    case DnnDataType::kFloat16: static_cast<float16*>(data)[at] = float16(rounded); break;
    case DnnDataType::kBfloat16: static_cast<bfloat16*>(data)[at] = bfloat16(rounded); break;
    default: static_cast<float*>(data)[at] = rounded;
  }
}

const char* run_convolution(const Geometry&, const void* params) {
  const ConvolutionParams& p = *static_cast<const ConvolutionParams*>(params);
  if (p.workspace != nullptr) {
    std::memset(p.workspace, 0x5a, static_cast<size_t>(p.workspace_bytes));
  }
  const ConvolutionParams::Tensor &x = p.tensors[kImagesRole], &w = p.tensors[kFiltersRole];
  const ConvolutionParams::Tensor& y = p.tensors[kPlacesRole];
  const ConvolutionParams::Tensor& result = p.tensors[p.result];
  const int64_t axes = p.rank;
  int64_t count = 1;
  for (int64_t i = 0; i < 2 + axes; ++i) count *= result.extents[i];
  std::vector<double> sums(static_cast<size_t>(count));
  std::array<int64_t, kMostAxes> place{}, tap{};
  const auto advance = [&](std::array<int64_t, kMostAxes>* at, const int64_t* extents) {
    for (int64_t i = axes; i-- > 0;) {
      if (++(*at)[static_cast<size_t>(i)] < extents[i]) return true;
      (*at)[static_cast<size_t>(i)] = 0;
    }
    return false;
  };
  const int64_t outputs = y.extents[1] / p.groups;
  for (int64_t n = 0; n < y.extents[0]; ++n) {
    for (int64_t o = 0; o < y.extents[1]; ++o) {
      for (int64_t c = 0; c < w.extents[1]; ++c) {
        const int64_t input = o / outputs * w.extents[1] + c;
        do {
          do {
            int64_t at[kNumRoles] = {n * x.strides[0] + input * x.strides[1],
                                     o * w.strides[0] + c * w.strides[1],
                                     n * y.strides[0] + o * y.strides[1]};
            bool inside = true;
            for (int64_t i = 0; i < axes; ++i) {
              const auto k = static_cast<size_t>(i);
              const int64_t image = place[k] * p.stride[i] + tap[k] * p.dilation[i] - p.before[i];
              inside = inside && image >= 0 && image < x.extents[2 + i];
              at[kImagesRole] += image * x.strides[2 + i];
              at[kFiltersRole] += tap[k] * w.strides[2 + i];
              at[kPlacesRole] += place[k] * y.strides[2 + i];
            }
            if (!inside) continue;
            double product = 1;
            for (int role = 0; role < kNumRoles; ++role) {
              if (role != p.result) {
                product *= double{load(p.dtype, p.tensors[role].data, at[role])};
              }
            }
            sums[static_cast<size_t>(at[p.result])] += product;
          } while (advance(&tap, w.extents + 2));
        } while (advance(&place, y.extents + 2));
      }
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    store(p.dtype, const_cast<void*>(result.data), i, sums[static_cast<size_t>(i)]);
  }
  return nullptr;
}

}  // namespace sluice::emulated
