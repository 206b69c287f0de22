// How cuDNN is to compute a convolution: the graph of one operation, and an engine chosen for it.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_PLAN_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "fusion/library/convolution.h"
#include "kernels/cuda/library/convolution/cudnn.h"

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
    status_ = library_.set_attribute(descriptor, attribute, type,
                                     static_cast<int64_t>(elements.size()), elements.data());
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
    status_ =
        library_.get_attribute(descriptor, attribute, type, static_cast<int64_t>(elements.size()),
                               &count, elements.empty() ? nullptr : elements.data());
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

// A convolution of dense tensors, each aligned to kDnnAlignment bytes: its bits depend on nothing
// else, whatever the operands look like where they come from.
inline constexpr int64_t kDnnAlignment = 16;
struct DnnConvolution {
  DType dtype = DType::kFloat32;
  fusion::ConvolutionRole result = fusion::kPlacesRole;
  int64_t batch = 0, groups = 1, inputs = 0, outputs = 0;
  int rank = 0;  // 2 or 3: the library has no fewer
  std::array<fusion::WindowAxis, fusion::kMaxWindowAxes> axes;
  bool allow_tf32 = false;  // float32 only

  explicit DnnConvolution(const fusion::ConvolutionAttributes& of, bool allow_tf32 = false);

  std::vector<int64_t> extents_of(fusion::ConvolutionRole role) const;
  // Of all three tensors.
  int64_t bytes() const;

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

// Whether an engine with these notes may compute it: not if its bits differ from run to run, nor if
// it rounds operands or sums to less than float32, nor by transforms (Winograd's, Fourier's), which
// lose digits and let an infinity spread to places that do not see it.
bool suits(const DnnConvolution& convolution, absl::Span<const DnnNote> notes);

// What plans are made for: the device of a handle; or, without a device, its properties.
struct DnnTarget {
  DnnHandle handle = nullptr;
  DnnDescriptor properties = nullptr;
};

class DnnPlan {
 public:
  // The first suitable engine of those that the library recommends, of which a plan can be made
  // that does not need far more memory to work in than the tensors have. Null if there is none.
  // kResourceExhausted if there was no memory to find out.
  static absl::StatusOr<std::unique_ptr<DnnPlan>> make(const Cudnn& library,
                                                       const DnnTarget& target,
                                                       const DnnConvolution& convolution);

  size_t workspace_bytes() const { return static_cast<size_t>(workspace_bytes_); }

  // On the handle's stream. `tensors`: by role, on the device.
  DnnStatus run(DnnHandle handle, const std::array<void*, fusion::kNumRoles>& tensors,
                void* workspace) const;

 private:
  explicit DnnPlan(const Cudnn& library) : library_(library), descriptors_(library) {}

  const Cudnn& library_;
  DnnDescriptors descriptors_;
  DnnDescriptor plan_ = nullptr;
  int64_t workspace_bytes_ = 0;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_PLAN_H_
