// An emulated CUDA driver for tests without a GPU. Execution is deferred: enqueued work runs when
// the host waits or queries, one step at a time, interleaved between streams by a seeded random
// order, so that a missing dependency fails under some seed. The limits of real devices are
// enforced. Device addresses are inaccessible to the host: dereferencing one crashes.
#ifndef SLUICE_TESTS_EMULATED_CUDA_EMULATED_CUDA_H_
#define SLUICE_TESTS_EMULATED_CUDA_EMULATED_CUDA_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/driver/driver.h"

namespace sluice::emulated {

class Machine;

struct Geometry {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;   // dynamic
  size_t param_bytes = 0;  // 0: unknown
};

// Runs all blocks of a launch; returns null or an error message. `params` are the launch's, with
// device pointers (at multiples of 8 bytes) translated to the emulator's storage. If the only
// parameter is a pointer, it addresses a read-only table whose pointers are translated too.
// Addresses close to an allocation but outside it are translated as well, since an index may bring
// them back.
using KernelFunction = std::function<const char*(const Geometry& geometry, const void* params)>;

struct KernelTraits {
  int registers = 32;  // per thread
  int static_shared_bytes = 0;
  int local_bytes = 0;
};

struct Options {
  uint64_t seed = 1;
  int devices = 1;
  size_t memory_bytes = size_t{256} << 20;  // of each device
  int driver_version = 13000;
  bool are_peers = true;  // the devices can access each other's memory
  int multiprocessors = 132;
  // Kernels are loaded and launched, but nothing is computed and memory has no contents: shows what
  // is launched at sizes that would take hours to run.
  bool is_dry = false;
};

// A kernel that ran, as far as a dry device runs any.
struct Launch {
  std::string kernel;
  unsigned blocks = 0;
  unsigned threads = 0;
  std::vector<std::byte> parameters;
};

// Replaces the driver of runtime/cuda during its lifetime. At most one exists.
class EmulatedCuda {
 public:
  explicit EmulatedCuda(const Options& options = {});
  ~EmulatedCuda();
  EmulatedCuda(const EmulatedCuda&) = delete;
  EmulatedCuda& operator=(const EmulatedCuda&) = delete;

  const runtime::cuda::Driver& driver() const;

  // A module image is one of those of kernels.h, or registered_image(), which has the kernels of
  // add_kernel(). Paths and PTX end with a null byte.
  void add_kernel(const std::string& name, KernelFunction function,
                  const KernelTraits& traits = {});
  static const void* registered_image();

  // Driver calls so far, except those that only format messages.
  int64_t calls() const;
  // Injects a fault: the n-th call from now (1: the next) returns `result` without taking effect,
  // except that calls which release an object still do. A sticky result invalidates the context.
  void fail_call(int64_t n, runtime::cuda::Result result);
  // The n-th kernel that starts from now on fails with `result`, which must be sticky.
  void fail_kernel(int64_t n, runtime::cuda::Result result);

  int64_t kernels_run() const;
  // Of a dry device: the kernels since the last call of this.
  std::vector<Launch> take_launches();
  // Calls so far by the driver's names for them, among those that calls() counts.
  std::map<std::string, int64_t> calls_by_name() const;
  // Copies between devices of which neither may access the other's memory, as a driver makes them
  // by way of the host.
  int64_t staged_copies() const;
  // Bytes of device memory allocated and not yet freed by their stream.
  size_t memory_in_use(int device = 0) const;
  // Every misuse of the driver so far, one sentence each. The call also returns a real device's
  // error.
  std::vector<std::string> violations() const;
  // Objects created and not released, one line each.
  std::vector<std::string> leaks() const;

 private:
  std::unique_ptr<Machine> machine_;
};

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_EMULATED_CUDA_H_
