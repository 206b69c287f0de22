#include "tests/emulated_cuda/fake_cudnn_descriptors.h"

#include <set>
#include <utility>

#include "tests/emulated_cuda/fake_cudnn_graph.h"
#include "tests/emulated_cuda/fake_cudnn_kernel.h"

namespace sluice::emulated {
namespace {

using fusion::ConvolutionRole;
using fusion::kNumRoles;
using kernels::cuda::DnnDataType;
using kernels::cuda::DnnDescriptorType;
using kernels::cuda::DnnType;
using Attribute = kernels::cuda::DnnAttribute;
using Convolution = FakeCudnn::Convolution;
using Of = DnnDescriptorType;
using Tensor = FakeCudnn::Tensor;
using enum fusion::ConvolutionRole;

constexpr AttributeRule kRules[] = {
    {Of::kTensor, Attribute::kTensorDataType, DnnType::kDataType, 1, 1},
    {Of::kTensor, Attribute::kTensorDimensions, DnnType::kInt64, 4, kMostExtents},
    {Of::kTensor, Attribute::kTensorStrides, DnnType::kInt64, 4, kMostExtents},
    {Of::kTensor, Attribute::kTensorUniqueId, DnnType::kInt64, 1, 1},
    {Of::kTensor, Attribute::kTensorAlignment, DnnType::kInt64, 1, 1},
    {Of::kTensor, Attribute::kTensorIsVirtual, DnnType::kBoolean, 1, 1, /*is_needed=*/false},
    {Of::kTensor, Attribute::kTensorIsByValue, DnnType::kBoolean, 1, 1, /*is_needed=*/false},
    {Of::kPointwise, Attribute::kPointwiseMode, DnnType::kPointwiseMode, 1, 1},
    {Of::kPointwise, Attribute::kPointwiseCompType, DnnType::kDataType, 1, 1},
    {Of::kPointwise, Attribute::kPointwiseAxis, DnnType::kInt64, 1, 1, /*is_needed=*/false},
    {Of::kOperationPointwise, Attribute::kOperationPointwise, DnnType::kDescriptor, 1, 1},
    {Of::kOperationPointwise, Attribute::kOperationPointwiseX, DnnType::kDescriptor, 1, 1},
    {Of::kOperationPointwise, Attribute::kOperationPointwiseB, DnnType::kDescriptor, 1, 1, false},
    {Of::kOperationPointwise, Attribute::kOperationPointwiseT, DnnType::kDescriptor, 1, 1, false},
    {Of::kOperationPointwise, Attribute::kOperationPointwiseY, DnnType::kDescriptor, 1, 1},
    {Of::kMatmul, Attribute::kMatmulCompType, DnnType::kDataType, 1, 1},
    {Of::kOperationMatmul, Attribute::kOperationMatmul, DnnType::kDescriptor, 1, 1},
    {Of::kOperationMatmul, Attribute::kOperationMatmulA, DnnType::kDescriptor, 1, 1},
    {Of::kOperationMatmul, Attribute::kOperationMatmulB, DnnType::kDescriptor, 1, 1},
    {Of::kOperationMatmul, Attribute::kOperationMatmulC, DnnType::kDescriptor, 1, 1},
    {Of::kReduction, Attribute::kReductionOperator, DnnType::kReductionOperator, 1, 1},
    {Of::kReduction, Attribute::kReductionCompType, DnnType::kDataType, 1, 1},
    {Of::kOperationReduction, Attribute::kOperationReduction, DnnType::kDescriptor, 1, 1},
    {Of::kOperationReduction, Attribute::kOperationReductionX, DnnType::kDescriptor, 1, 1},
    {Of::kOperationReduction, Attribute::kOperationReductionY, DnnType::kDescriptor, 1, 1},
    {Of::kConvolution, Attribute::kConvolutionCompType, DnnType::kDataType, 1, 1},
    {Of::kConvolution, Attribute::kConvolutionMode, DnnType::kConvolutionMode, 1, 1},
    {Of::kConvolution, Attribute::kConvolutionSpatialDims, DnnType::kInt64, 1, 1},
    {Of::kConvolution, Attribute::kConvolutionDilations, DnnType::kInt64, 2, kMostAxes},
    {Of::kConvolution, Attribute::kConvolutionFilterStrides, DnnType::kInt64, 2, kMostAxes},
    {Of::kConvolution, Attribute::kConvolutionPrePaddings, DnnType::kInt64, 2, kMostAxes},
    {Of::kConvolution, Attribute::kConvolutionPostPaddings, DnnType::kInt64, 2, kMostAxes},
    {Of::kOperationConvolutionForward, Attribute::kForwardAlpha, DnnType::kFloat, 1, 1},
    {Of::kOperationConvolutionForward, Attribute::kForwardBeta, DnnType::kFloat, 1, 1},
    {Of::kOperationConvolutionForward, Attribute::kForwardConvolution, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionForward, Attribute::kForwardX, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionForward, Attribute::kForwardW, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionForward, Attribute::kForwardY, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionBackwardData, Attribute::kBackwardDataAlpha, DnnType::kFloat, 1, 1},
    {Of::kOperationConvolutionBackwardData, Attribute::kBackwardDataBeta, DnnType::kFloat, 1, 1},
    {Of::kOperationConvolutionBackwardData, Attribute::kBackwardDataConvolution,
     DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionBackwardData, Attribute::kBackwardDataDx, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionBackwardData, Attribute::kBackwardDataW, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionBackwardData, Attribute::kBackwardDataDy, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionBackwardFilter, Attribute::kBackwardFilterAlpha, DnnType::kFloat, 1,
     1},
    {Of::kOperationConvolutionBackwardFilter, Attribute::kBackwardFilterBeta, DnnType::kFloat, 1,
     1},
    {Of::kOperationConvolutionBackwardFilter, Attribute::kBackwardFilterConvolution,
     DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionBackwardFilter, Attribute::kBackwardFilterX, DnnType::kDescriptor, 1,
     1},
    {Of::kOperationConvolutionBackwardFilter, Attribute::kBackwardFilterDw, DnnType::kDescriptor, 1,
     1},
    {Of::kOperationConvolutionBackwardFilter, Attribute::kBackwardFilterDy, DnnType::kDescriptor, 1,
     1},
    {Of::kOperationGraph, Attribute::kGraphOperations, DnnType::kDescriptor, 1, 32},
    {Of::kOperationGraph, Attribute::kGraphHandle, DnnType::kHandle, 1, 1},
    {Of::kEngineHeuristic, Attribute::kHeuristicOperationGraph, DnnType::kDescriptor, 1, 1},
    {Of::kEngineHeuristic, Attribute::kHeuristicMode, DnnType::kHeuristic, 1, 1},
    {Of::kExecutionPlan, Attribute::kPlanEngineConfig, DnnType::kDescriptor, 1, 1},
    {Of::kExecutionPlan, Attribute::kPlanHandle, DnnType::kHandle, 1, 1},
    {Of::kVariantPack, Attribute::kVariantPackUniqueIds, DnnType::kInt64, 1, 8},
    {Of::kVariantPack, Attribute::kVariantPackPointers, DnnType::kVoidPtr, 1, 8},
    {Of::kVariantPack, Attribute::kVariantPackWorkspace, DnnType::kVoidPtr, 1, 1},
};

std::string check_tensor(const Descriptor& of) {
  const auto extents = of.get<int64_t>(Attribute::kTensorDimensions);
  const auto strides = of.get<int64_t>(Attribute::kTensorStrides);
  if (extents.size() != strides.size()) return "has other strides than extents";
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] < 1 || strides[i] < 1) return "has no elements, or none of their own";
  }
  const auto alignment = of.one<int64_t>(Attribute::kTensorAlignment);
  return alignment > 0 && alignment % 4 == 0 ? "" : "is not aligned";
}

std::string check_windows(const Descriptor& of) {
  const auto rank = static_cast<size_t>(of.one<int64_t>(Attribute::kConvolutionSpatialDims));
  for (const Attribute attribute :
       {Attribute::kConvolutionDilations, Attribute::kConvolutionFilterStrides,
        Attribute::kConvolutionPrePaddings, Attribute::kConvolutionPostPaddings}) {
    const auto numbers = of.get<int64_t>(attribute);
    const bool is_padding = attribute == Attribute::kConvolutionPrePaddings ||
                            attribute == Attribute::kConvolutionPostPaddings;
    if (numbers.size() != rank) return "has another number of axes";
    for (const int64_t number : numbers) {
      if (number < (is_padding ? 0 : 1)) return "has windows that are none";
    }
  }
  if (of.one<DnnDataType>(Attribute::kConvolutionCompType) != DnnDataType::kFloat32) {
    return "does not sum in float32";
  }
  return of.one<int>(Attribute::kConvolutionMode) == 1 ? "" : "turns its filters round";
}

std::string check_shapes(const Convolution& of) {
  const auto &x = of.tensors[kImagesRole].extents, &w = of.tensors[kFiltersRole].extents;
  const auto& y = of.tensors[kPlacesRole].extents;
  const size_t rank = of.stride.size();
  if (x.size() != 2 + rank || w.size() != 2 + rank || y.size() != 2 + rank) {
    return "has tensors of other ranks";
  }
  for (const Tensor& tensor : of.tensors) {
    if (tensor.dtype != of.tensors[0].dtype) return "has several types";
  }
  if (x[0] != y[0] || w[0] != y[1] || x[1] % w[1] != 0 || y[1] % (x[1] / w[1]) != 0) {
    return "has channels that do not agree";
  }
  for (size_t i = 0; i < rank; ++i) {
    const int64_t rest =
        x[2 + i] + of.before[i] + of.after[i] - of.dilation[i] * (w[2 + i] - 1) - 1;
    if (rest < 0 || y[2 + i] != rest / of.stride[i] + 1) return "has other places than windows";
  }
  return "";
}

std::string check_operation(Descriptor* of, ConvolutionRole result, Attribute alpha, Attribute beta,
                            Attribute windows, const std::array<Attribute, kNumRoles>& tensors) {
  auto convolution = std::make_shared<Convolution>();
  const auto* const parameters = of->one<Descriptor*>(windows);
  if (parameters->type != Of::kConvolution) return "has no windows";
  if (of->one<float>(alpha) != 1 || of->one<float>(beta) != 0) return "scales its result";
  convolution->result = result;
  convolution->stride = parameters->get<int64_t>(Attribute::kConvolutionFilterStrides);
  convolution->dilation = parameters->get<int64_t>(Attribute::kConvolutionDilations);
  convolution->before = parameters->get<int64_t>(Attribute::kConvolutionPrePaddings);
  convolution->after = parameters->get<int64_t>(Attribute::kConvolutionPostPaddings);
  for (int role = 0; role < kNumRoles; ++role) {
    const auto* const tensor = of->one<Descriptor*>(tensors[static_cast<size_t>(role)]);
    if (tensor->type != Of::kTensor) return "has no tensor";
    convolution->tensors[role] = {tensor->one<DnnDataType>(Attribute::kTensorDataType),
                                  tensor->get<int64_t>(Attribute::kTensorDimensions),
                                  tensor->get<int64_t>(Attribute::kTensorStrides)};
    of->ids[static_cast<size_t>(role)] = tensor->one<int64_t>(Attribute::kTensorUniqueId);
  }
  if (std::set<int64_t>(of->ids.begin(), of->ids.end()).size() != kNumRoles) {
    return "has tensors of one name";
  }
  std::string fault = check_shapes(*convolution);
  if (fault.empty()) {
    auto graph = std::make_shared<FakeCudnn::Graph>();
    graph->convolution = std::move(convolution);
    of->graph = std::move(graph);
  }
  return fault;
}

}  // namespace

std::span<const AttributeRule> attribute_rules() { return kRules; }

size_t bytes_of(DnnType type) {
  switch (type) {
    case DnnType::kInt64:
    case DnnType::kHandle:
    case DnnType::kVoidPtr:
    case DnnType::kDescriptor: return 8;
    case DnnType::kBoolean: return 1;
    default: return 4;
  }
}

std::string check_descriptor(Descriptor* of) {
  switch (of->type) {
    case Of::kTensor: return check_tensor(*of);
    case Of::kConvolution: return check_windows(*of);
    case Of::kOperationConvolutionForward:
      return check_operation(of, kPlacesRole, Attribute::kForwardAlpha, Attribute::kForwardBeta,
                             Attribute::kForwardConvolution,
                             {Attribute::kForwardX, Attribute::kForwardW, Attribute::kForwardY});
    case Of::kOperationConvolutionBackwardData:
      return check_operation(
          of, kImagesRole, Attribute::kBackwardDataAlpha, Attribute::kBackwardDataBeta,
          Attribute::kBackwardDataConvolution,
          {Attribute::kBackwardDataDx, Attribute::kBackwardDataW, Attribute::kBackwardDataDy});
    case Of::kOperationConvolutionBackwardFilter:
      return check_operation(of, kFiltersRole, Attribute::kBackwardFilterAlpha,
                             Attribute::kBackwardFilterBeta, Attribute::kBackwardFilterConvolution,
                             {Attribute::kBackwardFilterX, Attribute::kBackwardFilterDw,
                              Attribute::kBackwardFilterDy});
    case Of::kOperationGraph: {
      const auto operations = of->get<Descriptor*>(Attribute::kGraphOperations);
      if (operations[0]->graph == nullptr) return "has no operation";
      if (operations[0]->graph->convolution == nullptr) return join_operations(of, operations);
      if (operations.size() > 1) return "has more than a convolution";
      of->graph = operations[0]->graph;
      of->ids = operations[0]->ids;
      return "";
    }
    case Of::kOperationPointwise:
    case Of::kOperationMatmul:
    case Of::kOperationReduction: return check_graph_operation(of);
    case Of::kVariantPack:
      return of->get<int64_t>(Attribute::kVariantPackUniqueIds).size() ==
                     of->get<void*>(Attribute::kVariantPackPointers).size()
                 ? ""
                 : "has other names than pointers";
    default: return "";
  }
}

}  // namespace sluice::emulated
