#include "kernels/cuda/library/cudnn/descriptors.h"

namespace sluice::kernels::cuda {

DnnDescriptors::~DnnDescriptors() {
  for (size_t i = made_.size(); i-- > 0;) library_.destroy_descriptor(made_[i]);
}

DnnDescriptor DnnDescriptors::make(DnnDescriptorType type) {
  DnnDescriptor descriptor = nullptr;
  if (status_ != DnnStatus::kSuccess) return nullptr;
  status_ = library_.create_descriptor(type, &descriptor);
  if (status_ != DnnStatus::kSuccess) return nullptr;
  made_.push_back(descriptor);
  return descriptor;
}

void DnnDescriptors::finalize(DnnDescriptor descriptor) {
  if (status_ == DnnStatus::kSuccess) status_ = library_.finalize(descriptor);
}

void DnnDescriptors::take(DnnDescriptors* other) {
  made_.insert(made_.end(), other->made_.begin(), other->made_.end());
  other->made_.clear();
}

DnnDataType dnn_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return DnnDataType::kFloat16;
    case DType::kBFloat16: return DnnDataType::kBfloat16;
    default: return DnnDataType::kFloat32;
  }
}

std::vector<int64_t> dense_strides(absl::Span<const int64_t> extents) {
  std::vector<int64_t> strides(extents.size());
  int64_t stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= extents[i];
  }
  return strides;
}

DnnDescriptor make_tensor(DnnDescriptors* made, int64_t id, DnnDataType type,
                          absl::Span<const int64_t> extents, absl::Span<const int64_t> strides,
                          DnnTensorKind kind) {
  const DnnDescriptor tensor = made->make(DnnDescriptorType::kTensor);
  made->set(tensor, DnnAttribute::kTensorDataType, DnnType::kDataType, type);
  made->set(tensor, DnnAttribute::kTensorDimensions, DnnType::kInt64, extents);
  made->set(tensor, DnnAttribute::kTensorStrides, DnnType::kInt64, strides);
  made->set(tensor, DnnAttribute::kTensorUniqueId, DnnType::kInt64, id);
  made->set(tensor, DnnAttribute::kTensorAlignment, DnnType::kInt64, kDnnAlignment);
  if (kind == DnnTensorKind::kVirtual) {
    made->set(tensor, DnnAttribute::kTensorIsVirtual, DnnType::kBoolean, true);
  } else if (kind == DnnTensorKind::kValue) {
    made->set(tensor, DnnAttribute::kTensorIsByValue, DnnType::kBoolean, true);
  }
  made->finalize(tensor);
  return tensor;
}

}  // namespace sluice::kernels::cuda
