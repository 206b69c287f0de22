#include "kernels/cuda/library/convolution/dnn_convolution.h"

#include <algorithm>

namespace sluice::kernels::cuda {
namespace {

using fusion::ConvolutionRole;
using fusion::kMaxWindowAxes;
using fusion::kNumRoles;
using fusion::WindowAxis;
using enum fusion::ConvolutionRole;

DnnDescriptor make_windows(DnnDescriptors* made, const DnnConvolution& of) {
  const DnnDescriptor windows = made->make(DnnDescriptorType::kConvolution);
  const auto set = [&](DnnAttribute attribute, int64_t WindowAxis::*number) {
    std::array<int64_t, kMaxWindowAxes> numbers{};
    for (int i = 0; i < of.rank; ++i) numbers[i] = of.axes[i].*number;
    made->set(windows, attribute, DnnType::kInt64,
              absl::MakeConstSpan(numbers).first(static_cast<size_t>(of.rank)));
  };
  made->set(windows, DnnAttribute::kConvolutionCompType, DnnType::kDataType, DnnDataType::kFloat32);
  made->set(windows, DnnAttribute::kConvolutionMode, DnnType::kConvolutionMode,
            DnnConvolutionMode::kCrossCorrelation);
  made->set(windows, DnnAttribute::kConvolutionSpatialDims, DnnType::kInt64, int64_t{of.rank});
  set(DnnAttribute::kConvolutionDilations, &WindowAxis::dilation);
  set(DnnAttribute::kConvolutionFilterStrides, &WindowAxis::stride);
  set(DnnAttribute::kConvolutionPrePaddings, &WindowAxis::before);
  set(DnnAttribute::kConvolutionPostPaddings, &WindowAxis::after);
  made->finalize(windows);
  return windows;
}

// An operation and its attributes.
struct Operation {
  DnnDescriptorType type;
  DnnAttribute alpha, beta, windows, tensors[kNumRoles];  // by role
};
const Operation& operation_of(ConvolutionRole result) {
  using A = DnnAttribute;
  using Type = DnnDescriptorType;
  static constexpr Operation kOperations[kNumRoles] = {
      {Type::kOperationConvolutionBackwardData,
       A::kBackwardDataAlpha,
       A::kBackwardDataBeta,
       A::kBackwardDataConvolution,
       {A::kBackwardDataDx, A::kBackwardDataW, A::kBackwardDataDy}},
      {Type::kOperationConvolutionBackwardFilter,
       A::kBackwardFilterAlpha,
       A::kBackwardFilterBeta,
       A::kBackwardFilterConvolution,
       {A::kBackwardFilterX, A::kBackwardFilterDw, A::kBackwardFilterDy}},
      {Type::kOperationConvolutionForward,
       A::kForwardAlpha,
       A::kForwardBeta,
       A::kForwardConvolution,
       {A::kForwardX, A::kForwardW, A::kForwardY}}};
  return kOperations[result];
}

DnnDescriptor make_convolution(DnnDescriptors* made, const DnnConvolution& of) {
  const Operation& kind = operation_of(of.result);
  const DnnDescriptor windows = make_windows(made, of);
  std::array<DnnDescriptor, kNumRoles> tensors{};
  for (const ConvolutionRole role : {kImagesRole, kFiltersRole, kPlacesRole}) {
    const std::vector<int64_t> extents = of.extents_of(role);
    tensors[role] = make_tensor(made, kDnnConvolutionIds[role], dnn_type(of.dtype), extents,
                                dense_strides(extents));
  }
  const DnnDescriptor operation = made->make(kind.type);
  made->set(operation, kind.windows, DnnType::kDescriptor, windows);
  for (int role = 0; role < kNumRoles; ++role) {
    made->set(operation, kind.tensors[role], DnnType::kDescriptor, tensors[role]);
  }
  made->set(operation, kind.alpha, DnnType::kFloat, 1.0f);
  made->set(operation, kind.beta, DnnType::kFloat, 0.0f);
  made->finalize(operation);
  return operation;
}

}  // namespace

DnnConvolution::DnnConvolution(const fusion::ConvolutionAttributes& of, bool allow_tf32)
    : dtype(of.dtype),
      result(of.result),
      batch(of.batch),
      groups(of.groups),
      inputs(of.inputs),
      outputs(of.outputs),
      rank(std::max(of.rank, 2)),
      allow_tf32(allow_tf32 && of.dtype == DType::kFloat32) {
  // Those that there are, last.
  std::copy_n(of.axes.begin(), of.rank, axes.begin() + (rank - of.rank));
}

std::vector<int64_t> DnnConvolution::extents_of(ConvolutionRole role) const {
  std::vector<int64_t> extents = {role == kFiltersRole ? outputs : batch,
                                  role == kFiltersRole  ? inputs / groups
                                  : role == kImagesRole ? inputs
                                                        : outputs};
  for (int i = 0; i < rank; ++i) {
    extents.push_back(role == kFiltersRole  ? axes[i].window
                      : role == kImagesRole ? axes[i].extent
                                            : axes[i].places);
  }
  return extents;
}

DnnWork DnnConvolution::work() const {
  int64_t elements = 0;
  for (const ConvolutionRole role : {kImagesRole, kFiltersRole, kPlacesRole}) {
    int64_t count = 1;
    for (const int64_t extent : extents_of(role)) count *= extent;
    elements += count;
  }
  return {.make_operations =
              [*this](DnnDescriptors* made) {
                return std::vector<DnnDescriptor>{make_convolution(made, *this)};
              },
          .may_round = dtype != DType::kFloat32 || allow_tf32,
          .bytes = elements * static_cast<int64_t>(size_of(dtype))};
}

}  // namespace sluice::kernels::cuda
