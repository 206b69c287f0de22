// Descriptors of cuDNN's graph API: what is set and asked of them.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_DESCRIPTORS_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_DESCRIPTORS_H_

#include <cstdint>
#include <vector>

#include <sluice/dtype.h>
#include "absl/types/span.h"
#include "kernels/cuda/library/cudnn/cudnn.h"

namespace sluice::kernels::cuda {

// Descriptors of the library, given back in the end. Makes calls until the first that fails.
class DnnDescriptors {
 public:
  explicit DnnDescriptors(const Cudnn& library) : library_(library) {}
  ~DnnDescriptors();
  DnnDescriptors(const DnnDescriptors&) = delete;
  DnnDescriptors& operator=(const DnnDescriptors&) = delete;

  DnnStatus status() const { return status_; }

  // Null if a call has failed.
  DnnDescriptor make(DnnDescriptorType type);
  template <typename T>
  void set(DnnDescriptor descriptor, DnnAttribute attribute, DnnType type,
           absl::Span<const T> elements) {
    if (status_ != DnnStatus::kSuccess) return;
    status_ =
        library_.set_attribute(descriptor, attribute, type, static_cast<int64_t>(elements.size()),
                               static_cast<const void*>(elements.data()));
  }
  template <typename T>
  void set(DnnDescriptor descriptor, DnnAttribute attribute, DnnType type, const T& element) {
    set(descriptor, attribute, type, absl::Span<const T>(&element, 1));
  }
  // Returns how many there are.
  template <typename T>
  int64_t get(DnnDescriptor descriptor, DnnAttribute attribute, DnnType type,
              absl::Span<T> elements) {
    int64_t count = 0;
    if (status_ != DnnStatus::kSuccess) return 0;
    status_ = library_.get_attribute(
        descriptor, attribute, type, static_cast<int64_t>(elements.size()), &count,
        static_cast<void*>(elements.empty() ? nullptr : elements.data()));
    return status_ == DnnStatus::kSuccess ? count : 0;
  }
  void finalize(DnnDescriptor descriptor);
  // Keeps those of another, too.
  void take(DnnDescriptors* other);

 private:
  const Cudnn& library_;
  DnnStatus status_ = DnnStatus::kSuccess;
  std::vector<DnnDescriptor> made_;
};

// What all tensors on the device are aligned to, in bytes.
inline constexpr int64_t kDnnAlignment = 16;

// float16, bfloat16 or float32.
DnnDataType dnn_type(DType dtype);

// Strides of a tensor without gaps.
std::vector<int64_t> dense_strides(absl::Span<const int64_t> extents);

enum class DnnTensorKind {
  kMemory,   // on the device, aligned
  kVirtual,  // between two operations of a graph
  kValue,    // a number of the host's
};
DnnDescriptor make_tensor(DnnDescriptors* made, int64_t id, DnnDataType type,
                          absl::Span<const int64_t> extents, absl::Span<const int64_t> strides,
                          DnnTensorKind kind = DnnTensorKind::kMemory);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_DESCRIPTORS_H_
