#include "kernels/cuda/library/attention/cudnn_attention.h"

#include <array>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::AttentionAttributes;

constexpr size_t kOperands = 3;
constexpr DnnAttention::Id kIdsOfOperands[kOperands] = {DnnAttention::kQueries, DnnAttention::kKeys,
                                                        DnnAttention::kValues};

// Calls f(i, operand i) for queries, keys and values, as long as it succeeds.
template <typename F>
absl::Status for_each_operand(const AttentionAttributes& of, const F& f) {
  const DnnAttention attention(of);
  for (size_t i = 0; i < kOperands; ++i) {
    const DnnAttention::Extents extents = attention.extents_of(kIdsOfOperands[i]);
    const absl::Status status = f(i, PlacedOperand{.dtype = of.dtype,
                                                   .extents = extents,
                                                   .strides = of.operands[i].strides,
                                                   .offset = of.operands[i].offset});
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<CudnnAttention> CudnnAttention::open(const LibraryDevice& device) {
  std::unique_ptr<DnnOnDevice> cudnn = DnnOnDevice::open(device);
  if (cudnn == nullptr) return nullptr;
  return std::unique_ptr<CudnnAttention>(new CudnnAttention(device, std::move(cudnn)));
}

bool CudnnAttention::can_be(const AttentionAttributes& of) const {
  return DnnAttention::can_be(of, cudnn_->context()->info().compute_capability, cudnn_->version());
}

absl::StatusOr<CudnnAttention::Way> CudnnAttention::find(const AttentionAttributes& of,
                                                         void* const* buffers) {
  Way way;
  if (!can_be(of)) return way;
  DnnAttention attention(of);
  const auto dense = plans_.find(attention);
  if (!dense.ok()) return dense.status();
  if (!(*dense)->can_run) return way;
  way.dense = way.placed = *dense;
  DnnAttention placed = attention;
  for (size_t i = 0; i < kOperands; ++i) {
    const auto offset = static_cast<uintptr_t>(of.operands[i].offset) * size_of(of.dtype);
    const uintptr_t base = buffers == nullptr ? 0 : reinterpret_cast<uintptr_t>(buffers[i]);
    way.in_place[i] = (base + offset) % kDnnAlignment == 0 &&
                      placed.place(kIdsOfOperands[i], of.operands[i].strides);
  }
  if (placed == attention) return way;
  const auto found = plans_.find(placed, way.dense->plan.get());
  if (!found.ok()) return found.status();
  if ((*found)->can_run) {
    way.placed = *found;
  } else {
    way.in_place = {};
  }
  return way;
}

absl::StatusOr<bool> CudnnAttention::prepare(const fusion::LibraryCall& call) {
  const AttentionAttributes& of = fusion::attention_of(call);
  const absl::StatusOr<Way> way = find(of, nullptr);
  if (!way.ok()) return way.status();
  if (way->dense == nullptr) return false;
  absl::Status status = for_each_operand(of, [&](size_t i, const PlacedOperand& operand) {
    return way->in_place[i] ? absl::OkStatus() : copies_.prepare(operand);
  });
  if (!status.ok()) return status;
  return true;
}

absl::StatusOr<bool> CudnnAttention::enqueue(runtime::cuda::CudaStream* stream,
                                             const fusion::LibraryCall& call,
                                             absl::Span<void* const> buffers,
                                             absl::string_view label) {
  const AttentionAttributes& of = fusion::attention_of(call);
  const absl::StatusOr<Way> way = find(of, buffers.data());
  if (!way.ok()) return way.status();
  if (way->dense == nullptr) return false;
  if (!is_aligned(buffers.back())) {
    return absl::InternalError(absl::StrCat(std::string(label), ": its result is not aligned"));
  }
  auto scale = static_cast<float>(of.scale());
  float never = -std::numeric_limits<float>::infinity();
  std::array<int64_t, 6> ids{DnnAttention::kQueries, DnnAttention::kKeys,  DnnAttention::kValues,
                             DnnAttention::kResult,  DnnAttention::kScale, DnnAttention::kNever};
  std::array<void*, 6> tensors{nullptr, nullptr, nullptr, buffers.back(), &scale, &never};
  DenseCopies::OfCall copies(&copies_, stream, label);
  const absl::Status status =
      for_each_operand(of, [&](size_t i, const PlacedOperand& operand) -> absl::Status {
        if (way->in_place[i]) {
          tensors[i] = static_cast<char*>(buffers[i]) +
                       operand.offset * static_cast<int64_t>(size_of(of.dtype));
          return absl::OkStatus();
        }
        const absl::StatusOr<void*> placed = copies.place(operand, buffers[i]);
        if (placed.ok()) tensors[i] = *placed;
        return placed.status();
      });
  const size_t used = of.flags.causal != 0 ? 6 : 5;
  const absl::StatusOr<bool> done =
      status.ok()
          ? cudnn_->enqueue(stream, *way->placed->plan, absl::MakeConstSpan(ids).first(used),
                            absl::MakeConstSpan(tensors).first(used), label)
          : status;
  if (done.ok() && !*done) way->dense->can_run = false;
  return done;
}

}  // namespace sluice::kernels::cuda
