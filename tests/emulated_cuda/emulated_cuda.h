// A CUDA driver without a GPU, for tests. Streams are deferred: what is enqueued runs, one step at
// a time and in an order between streams that the seed decides, when somebody waits or asks, so
// that work that relies on an order it did not ask for meets another one in some seed. Limits of
// real devices hold. Device addresses mean nothing to the host: code that follows one crashes.
#ifndef SLUICE_TESTS_EMULATED_CUDA_EMULATED_CUDA_H_
#define SLUICE_TESTS_EMULATED_CUDA_EMULATED_CUDA_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/driver/driver.h"

namespace sluice::emulated {

class Machine;

struct Geometry {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;  // dynamic
};

// Runs all blocks of a launch; gives null, or what went wrong. `params` are the kernel's, as they
// were launched, but that the pointers among them (at multiples of 8 bytes) are to where the
// emulator keeps the device's memory. If one pointer is all there is, so are those in what it
// points to, which the kernel must not write. Addresses near an allocation, but outside, are taken
// for such that an index brings back.
using KernelFunction = std::function<const char*(const Geometry& geometry, const void* params)>;

struct KernelTraits {
  int registers = 32;  // of a thread
  int static_shared_bytes = 0;
  int local_bytes = 0;
};

struct Options {
  uint64_t seed = 1;
  int devices = 1;
  size_t memory_bytes = size_t{256} << 20;  // of each device
  int driver_version = 13000;
};

// While it lives, it is the driver of runtime/cuda. One at a time.
class EmulatedCuda {
 public:
  explicit EmulatedCuda(const Options& options = {});
  ~EmulatedCuda();
  EmulatedCuda(const EmulatedCuda&) = delete;
  EmulatedCuda& operator=(const EmulatedCuda&) = delete;

  const runtime::cuda::Driver& driver() const;

  // A module image is a shared object (kernels.h says what it exports): its bytes, or its absolute
  // path with a null byte at the end. Or it is registered_image(), which has the kernels that were
  // given to add_kernel().
  void add_kernel(const std::string& name, KernelFunction function,
                  const KernelTraits& traits = {});
  static const void* registered_image();

  // Calls of the driver so far, but for those that only make messages.
  int64_t calls() const;
  // The n-th call from now on (1: the next) gives `result`, once, and does nothing; calls that give
  // something back do so all the same. A sticky result makes the current context unusable.
  void fail_call(int64_t n, runtime::cuda::Result result);
  // The n-th kernel that starts to run from now on ends in `result`, a sticky one.
  void fail_kernel(int64_t n, runtime::cuda::Result result);

  int64_t kernels_run() const;
  // Bytes of device memory that are allocated or not yet freed by their stream.
  size_t memory_in_use(int device = 0) const;
  // Every misuse so far, one sentence each. A misuse also gives the error that a real device gives.
  std::vector<std::string> violations() const;
  // What has been made and not been given back, one line each.
  std::vector<std::string> leaks() const;

 private:
  std::unique_ptr<Machine> machine_;
};

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_EMULATED_CUDA_H_
