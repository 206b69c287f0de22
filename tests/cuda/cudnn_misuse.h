// Calls of cuDNN that must fail; neither the library that is not there nor a real one needs a
// device for them.
#ifndef SLUICE_TESTS_CUDA_CUDNN_MISUSE_H_
#define SLUICE_TESTS_CUDA_CUDNN_MISUSE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/library/cudnn/descriptors.h"

namespace sluice::kernels::cuda {

// What they are called, and what the library says.
inline std::vector<std::pair<std::string, DnnStatus>> misuse_of(const Cudnn& library) {
  std::vector<std::pair<std::string, DnnStatus>> results;
  using Set = std::function<void(DnnDescriptors*, DnnDescriptor)>;
  const auto misuse = [&](const std::string& name, DnnDescriptorType type, const Set& set) {
    DnnDescriptors made(library);
    set(&made, made.make(type));
    results.emplace_back(name, made.status());
  };
  const std::vector<int64_t> extents = {2, 3, 4, 5}, strides = {60, 20, 5, 1}, three = {20, 5, 1};
  const auto set_tensor = [&](DnnDescriptors* made, DnnDescriptor tensor,
                              const std::vector<int64_t>& along, int64_t alignment) {
    made->set(tensor, DnnAttribute::kTensorDataType, DnnType::kDataType, DnnDataType::kFloat32);
    made->set(tensor, DnnAttribute::kTensorDimensions, DnnType::kInt64,
              absl::MakeConstSpan(extents));
    if (!along.empty()) {
      made->set(tensor, DnnAttribute::kTensorStrides, DnnType::kInt64, absl::MakeConstSpan(along));
    }
    made->set(tensor, DnnAttribute::kTensorUniqueId, DnnType::kInt64, int64_t{1});
    if (alignment > 0) {
      made->set(tensor, DnnAttribute::kTensorAlignment, DnnType::kInt64, alignment);
    }
  };
  using Type = DnnDescriptorType;
  misuse("no strides", Type::kTensor, [&](DnnDescriptors* made, DnnDescriptor tensor) {
    set_tensor(made, tensor, {}, 16), made->finalize(tensor);
  });
  misuse("no alignment", Type::kTensor, [&](DnnDescriptors* made, DnnDescriptor tensor) {
    set_tensor(made, tensor, strides, 0), made->finalize(tensor);
  });
  misuse("other strides", Type::kTensor, [&](DnnDescriptors* made, DnnDescriptor tensor) {
    set_tensor(made, tensor, three, 16), made->finalize(tensor);
  });
  misuse("set too late", Type::kTensor, [&](DnnDescriptors* made, DnnDescriptor tensor) {
    set_tensor(made, tensor, strides, 16), made->finalize(tensor);
    made->set(tensor, DnnAttribute::kTensorAlignment, DnnType::kInt64, int64_t{32});
  });
  misuse("twice", Type::kTensor, [&](DnnDescriptors* made, DnnDescriptor tensor) {
    set_tensor(made, tensor, strides, 16), made->finalize(tensor), made->finalize(tensor);
  });
  misuse("another type", Type::kTensor, [&](DnnDescriptors* made, DnnDescriptor tensor) {
    made->set(tensor, DnnAttribute::kTensorDimensions, DnnType::kDataType,
              absl::MakeConstSpan(extents));
  });
  misuse("another number", Type::kTensor, [&](DnnDescriptors* made, DnnDescriptor tensor) {
    made->set(tensor, DnnAttribute::kTensorUniqueId, DnnType::kInt64, absl::MakeConstSpan(extents));
  });
  misuse("another's attribute", Type::kTensor, [&](DnnDescriptors* made, DnnDescriptor tensor) {
    made->set(tensor, DnnAttribute::kForwardAlpha, DnnType::kFloat, 1.0f);
  });
  misuse("of nothing", Type::kTensor, [&](DnnDescriptors* made, DnnDescriptor) {
    made->set(nullptr, DnnAttribute::kTensorUniqueId, DnnType::kInt64, int64_t{1});
  });
  misuse("no windows", Type::kConvolution, [&](DnnDescriptors* made, DnnDescriptor windows) {
    made->set(windows, DnnAttribute::kConvolutionSpatialDims, DnnType::kInt64, int64_t{2});
    made->finalize(windows);
  });
  misuse("no operands", Type::kOperationConvolutionForward,
         [&](DnnDescriptors* made, DnnDescriptor operation) {
           made->set(operation, DnnAttribute::kForwardAlpha, DnnType::kFloat, 1.0f);
           made->finalize(operation);
         });
  misuse("no operation", Type::kOperationGraph,
         [&](DnnDescriptors* made, DnnDescriptor graph) { made->finalize(graph); });
  misuse("no graph", Type::kEngineHeuristic, [&](DnnDescriptors* made, DnnDescriptor heuristic) {
    made->set(heuristic, DnnAttribute::kHeuristicMode, DnnType::kHeuristic, DnnHeuristic::kA);
    made->finalize(heuristic);
  });
  misuse("no configuration", Type::kExecutionPlan,
         [&](DnnDescriptors* made, DnnDescriptor plan) { made->finalize(plan); });
  misuse("not final", Type::kExecutionPlan, [&](DnnDescriptors* made, DnnDescriptor plan) {
    int64_t bytes = 0;
    made->get(plan, DnnAttribute::kPlanWorkspaceSize, DnnType::kInt64, absl::MakeSpan(&bytes, 1));
  });
  misuse("names without pointers", Type::kVariantPack,
         [&](DnnDescriptors* made, DnnDescriptor pack) {
           void* const nothing = nullptr;
           made->set(pack, DnnAttribute::kVariantPackUniqueIds, DnnType::kInt64,
                     absl::MakeConstSpan(extents));
           made->set(pack, DnnAttribute::kVariantPackPointers, DnnType::kVoidPtr, nothing);
           made->set(pack, DnnAttribute::kVariantPackWorkspace, DnnType::kVoidPtr, nothing);
           made->finalize(pack);
         });
  return results;
}

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_TESTS_CUDA_CUDNN_MISUSE_H_
