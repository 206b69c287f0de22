// How cuDNN is to compute a graph of operations: an engine chosen for it.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_PLAN_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cuda/library/cudnn/cudnn.h"
#include "kernels/cuda/library/cudnn/descriptors.h"

namespace sluice::kernels::cuda {

// What plans are made for: the device of a handle; or, without a device, its properties.
struct DnnTarget {
  DnnHandle handle = nullptr;
  DnnDescriptor properties = nullptr;
};

// An engine and what its knobs are set to: the same computes alike. Empty: it is not known.
using DnnEngine = std::vector<int64_t>;

// What a plan is to compute. Its bits depend on nothing else.
struct DnnWork {
  std::function<std::vector<DnnDescriptor>(DnnDescriptors* made)> make_operations;
  // An engine may round operands to less than float32, as tensor cores do.
  bool may_round = false;
  int64_t bytes = 0;                               // of all tensors on the device
  std::optional<DnnEngine> engine = std::nullopt;  // no other may
};

// Whether an engine with these notes may compute: not if its bits differ from run to run, nor if it
// rounds sums to less than float32, nor by transforms (Winograd's, Fourier's), which lose digits
// and let an infinity spread to places that do not see it.
bool suits(absl::Span<const DnnNote> notes, bool may_round);

class DnnPlan {
 public:
  // The first suitable engine of those that the library recommends, of which a plan can be made
  // that does not need far more memory to work in than the tensors have. Null if there is none.
  // kResourceExhausted if there was no memory to find out.
  static absl::StatusOr<std::unique_ptr<DnnPlan>> make(const Cudnn& library,
                                                       const DnnTarget& target,
                                                       const DnnWork& work);

  DnnEngine engine() const;
  size_t workspace_bytes() const { return static_cast<size_t>(workspace_bytes_); }

  // On the handle's stream. `tensors`: those of `ids`; on the device, but for values.
  DnnStatus run(DnnHandle handle, absl::Span<const int64_t> ids, absl::Span<void* const> tensors,
                void* workspace) const;

 private:
  explicit DnnPlan(const Cudnn& library) : library_(library), descriptors_(library) {}

  const Cudnn& library_;
  DnnDescriptors descriptors_;
  DnnDescriptor config_ = nullptr, plan_ = nullptr;
  int64_t workspace_bytes_ = 0;
};

// The suitable engines that the library recommends, without a plan of any: what there is to know
// where a plan needs the device itself.
std::vector<DnnEngine> engines_for(const Cudnn& library, const DnnTarget& target,
                                   const DnnWork& work);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_PLAN_H_
