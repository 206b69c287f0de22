// On a GPU a recurrence is recorded step by step: there is no call for it.
#include <memory>

#include "kernels/cuda/library/library.h"

namespace sluice::kernels::cuda {
namespace {

class RecurrenceRunner : public LibraryRunner {
 public:
  absl::Status prepare(const fusion::LibraryCall&) override { return absl::OkStatus(); }
  absl::Status enqueue(runtime::cuda::CudaStream*, const fusion::LibraryCall&,
                       absl::Span<void* const>, absl::string_view) override {
    return absl::UnimplementedError("recurrences are library calls on the CPU alone");
  }
};

}  // namespace

std::unique_ptr<LibraryRunner> make_recurrence_runner(const LibraryDevice&) {
  return std::make_unique<RecurrenceRunner>();
}

}  // namespace sluice::kernels::cuda
