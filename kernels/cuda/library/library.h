// How a GPU runs library calls.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_LIBRARY_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_LIBRARY_H_

#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "fusion/lower/step.h"
#include "kernels/cuda/compile/compiler.h"
#include "kernels/cuda/library/cudnn/cudnn.h"
#include "kernels/cuda/library/factor/cusolver.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::kernels::cuda {

// What runners are made of. Outlives them.
struct LibraryDevice {
  runtime::cuda::Context* context = nullptr;
  Compiler* compiler = nullptr;  // for kernels of our own
  int driver_version = 0;        // 12010: 12.1; 0: use no vendor's library
  // To use whatever the version is; null: none in particular.
  const Cudnn* cudnn = nullptr;
  const Cusolver* cusolver = nullptr;
};

// Runs the calls of one kind on one GPU. Thread-safe. Outlives the work it is given.
class LibraryRunner {
 public:
  virtual ~LibraryRunner() = default;

  // Compiles what enqueue() of such a call needs, as far as that can be told without addresses.
  virtual absl::Status prepare(const fusion::LibraryCall& call) = 0;

  // Within the run() of a batch of `stream`. `buffers`: the addresses of the call's, on the device.
  // `label`: what messages call it. Compiles what has not been prepared.
  virtual absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                               absl::Span<void* const> buffers, absl::string_view label) = 0;
};

#define SLUICE_LIBRARY_KIND(id, name) \
  std::unique_ptr<LibraryRunner> make_##name##_runner(const LibraryDevice& device);
#include "fusion/ir/library.def"

// The runners of one GPU, each made on first use: to load a vendor's library takes a while.
// Thread-safe.
class LibraryRunners {
 public:
  explicit LibraryRunners(const LibraryDevice& device) : device_(device) {}
  LibraryRunner& of(fusion::LibraryKind kind);

 private:
  struct Slot {
    std::once_flag once;
    std::unique_ptr<LibraryRunner> runner;  // made under `once`
  };
  const LibraryDevice device_;
  Slot slots_[fusion::kNumLibraryKinds];
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_LIBRARY_H_
