#include "kernels/cuda/library/convolution/cudnn_convolution.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "fusion/library/convolution.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::ConvolutionAttributes;
using fusion::ConvolutionExtents;

// An operand and its extents.
struct PlacedTensor {
  ConvolutionExtents extents;
  PlacedOperand operand;

  PlacedTensor(const ConvolutionAttributes& of, int i)
      : extents(of.extents_of(fusion::kRolesOfConvolution[of.result][i])) {
    const size_t rank = 2 + static_cast<size_t>(of.rank);
    operand = {.dtype = of.dtype,
               .extents = absl::MakeConstSpan(extents).first(rank),
               .strides = absl::MakeConstSpan(of.operands[i].strides).first(rank),
               .offset = of.operands[i].offset};
  }
  PlacedTensor(const PlacedTensor&) = delete;
  PlacedTensor& operator=(const PlacedTensor&) = delete;
};

// Of float32 filters that take steps, the engines whose sums are float32's and in a fixed order
// take longer than our own kernels: on an H200 232 us and ours 86 for 8x3x112x112 by 64 of 7x7, 221
// and 78 for 8x64x56x56 by 128 of 3x3, 967 and 709 for 32x3x224x224 by 64 of 7x7. Without steps
// they mostly are as fast or faster. Where few places are summed nothing was measured.
bool is_faster_without(const ConvolutionAttributes& of, bool allow_tf32) {
  constexpr int64_t kManyPlaces = 4096, kEnoughLines = 32;
  return of.result == fusion::kFiltersRole && of.dtype == DType::kFloat32 && !allow_tf32 &&
         of.groups == 1 && of.batch * of.places() >= kManyPlaces &&
         std::min(of.outputs, of.inputs * of.window()) >= kEnoughLines &&
         std::any_of(of.axes.begin(), of.axes.begin() + of.rank,
                     [](const fusion::WindowAxis& axis) { return axis.stride > 1; });
}

}  // namespace

std::unique_ptr<CudnnConvolution> CudnnConvolution::open(const LibraryDevice& device) {
  std::unique_ptr<DnnOnDevice> cudnn = DnnOnDevice::open(device);
  if (cudnn == nullptr) return nullptr;
  return std::unique_ptr<CudnnConvolution>(new CudnnConvolution(device, std::move(cudnn)));
}

absl::StatusOr<bool> CudnnConvolution::prepare(const fusion::LibraryCall& call) {
  const ConvolutionAttributes& of = fusion::convolution_of(call);
  if (is_faster_without(of, call.allow_tf32)) return false;
  const auto planned = plans_.find(DnnConvolution(of, call.allow_tf32));
  if (!planned.ok()) return planned.status();
  if (!(*planned)->can_run) return false;
  for (int i = 0; i < 2; ++i) {
    absl::Status status = copies_.prepare(PlacedTensor(of, i).operand);
    if (!status.ok()) return status;
  }
  return true;
}

absl::StatusOr<bool> CudnnConvolution::enqueue(runtime::cuda::CudaStream* stream,
                                               const fusion::LibraryCall& call,
                                               absl::Span<void* const> buffers,
                                               absl::string_view label) {
  const ConvolutionAttributes& of = fusion::convolution_of(call);
  if (is_faster_without(of, call.allow_tf32)) return false;
  const auto found = plans_.find(DnnConvolution(of, call.allow_tf32));
  if (!found.ok()) return found.status();
  auto& planned = **found;
  if (!planned.can_run) return false;
  if (!is_aligned(buffers[2])) {
    return absl::InternalError(absl::StrCat(std::string(label), ": its result is not aligned"));
  }
  const auto& roles = fusion::kRolesOfConvolution[of.result];
  std::array<void*, fusion::kNumRoles> tensors{};
  tensors[of.result] = buffers[2];
  DenseCopies::OfCall copies(&copies_, stream, label);
  absl::Status status = absl::OkStatus();
  for (int i = 0; i < 2 && status.ok(); ++i) {
    const absl::StatusOr<void*> placed = copies.place(PlacedTensor(of, i).operand, buffers[i]);
    if (placed.ok()) tensors[roles[i]] = *placed;
    status = placed.status();
  }
  const absl::StatusOr<bool> done =
      status.ok() ? cudnn_->enqueue(stream, *planned.plan, kDnnConvolutionIds, tensors, label)
                  : status;
  if (done.ok() && !*done) planned.can_run = false;
  return done;
}

}  // namespace sluice::kernels::cuda
