// What fakes of NVIDIA's libraries are made of: handles, whose kernel the emulated device runs, and
// calls that a test may have fail.
#ifndef SLUICE_TESTS_EMULATED_CUDA_FAKE_LIBRARY_H_
#define SLUICE_TESTS_EMULATED_CUDA_FAKE_LIBRARY_H_

#include <cstddef>
#include <mutex>
#include <span>

#include "tests/emulated_cuda/emulated_cuda.h"

namespace sluice::emulated {

struct LibraryHandle {
  runtime::cuda::StreamHandle stream = nullptr;
  runtime::cuda::ModuleHandle module = nullptr;
  runtime::cuda::FunctionHandle kernel = nullptr;
};

// With a kernel that the emulator knows; null if the driver fails.
LibraryHandle* open_handle(EmulatedCuda* emulator, const char* kernel);
void close_handle(EmulatedCuda* emulator, LibraryHandle* handle);

// Launches the kernel on the handle's stream; false if the driver fails.
bool launch(EmulatedCuda* emulator, const LibraryHandle& handle,
            std::span<const std::byte> parameters);

// A call under way, which holds the lock. `Impl` has `mutex`, `calls`, and the number and the
// status of the call that `fails_at`.
template <typename Impl, typename Status>
struct FakeCall {
  explicit FakeCall(Impl* of) : impl(*of), lock(impl.mutex) {
    if (++impl.calls == impl.fails_at) status = impl.failure;
  }
  bool fails() const { return status != Status::kSuccess; }

  Impl& impl;
  std::lock_guard<std::mutex> lock;
  Status status = Status::kSuccess;
};

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_FAKE_LIBRARY_H_
