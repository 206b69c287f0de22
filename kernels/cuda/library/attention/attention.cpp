// Library calls of kind kAttention on a GPU: by cuDNN where it is present and has an engine for
// them, else by kernels of our own.
#include "fusion/library/attention.h"

#include <memory>

#include "kernels/cuda/library/attention/cudnn_attention.h"
#include "kernels/cuda/library/attention/own_attention.h"
#include "kernels/cuda/library/library.h"

namespace sluice::kernels::cuda {
namespace {

class AttentionCalls : public LibraryRunner {
 public:
  explicit AttentionCalls(const LibraryDevice& device)
      : library_(CudnnAttention::open(device)), own_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    const fusion::AttentionAttributes& of = fusion::attention_of(call);
    if (library_ != nullptr) {
      const absl::StatusOr<bool> is_ready = library_->prepare(of);
      if (!is_ready.ok()) return is_ready.status();
      if (*is_ready) return absl::OkStatus();
    }
    return own_.prepare(of);
  }
  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    const fusion::AttentionAttributes& of = fusion::attention_of(call);
    if (library_ != nullptr) {
      const absl::StatusOr<bool> done = library_->enqueue(stream, of, buffers, label);
      if (!done.ok()) return done.status();
      if (*done) return absl::OkStatus();
    }
    return own_.enqueue(stream, of, buffers, label);
  }

 private:
  const std::unique_ptr<CudnnAttention> library_;  // null if there is none
  OwnAttention own_;
};

}  // namespace

std::unique_ptr<LibraryRunner> make_attention_runner(const LibraryDevice& device) {
  return std::make_unique<AttentionCalls>(device);
}

}  // namespace sluice::kernels::cuda
