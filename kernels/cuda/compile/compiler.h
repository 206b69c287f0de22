// Compiles emitted kernels to code that a device can load.
#ifndef SLUICE_KERNELS_CUDA_COMPILE_COMPILER_H_
#define SLUICE_KERNELS_CUDA_COMPILE_COMPILER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sluice::kernels::cuda {

// The resources of a multiprocessor that a kernel uses.
struct KernelResources {
  std::string name;
  int registers = 0;     // of a thread
  int stack_bytes = 0;   // likewise
  int spill_bytes = 0;   // stored for lack of registers
  int shared_bytes = 0;  // of a block
};

struct CompiledCode {
  std::string image;    // for runtime::cuda::Module::load()
  bool is_ptx = false;  // to be translated by the driver
  std::string log;
  std::vector<KernelResources> kernels;  // as far as the compiler reports them
  bool from_disk = false;                // compiled by another process
};

// For one architecture. Thread-safe; calls on several threads run side by side.
class Compiler {
 public:
  virtual ~Compiler() = default;

  // `text` is from emit(). `contracts`: products and sums may contract. The status has the
  // compiler's messages.
  virtual absl::StatusOr<CompiledCode> compile(const std::string& text, bool contracts) = 0;

  // What the code depends on besides the text and this build: "NVRTC 12.9 sm_90".
  virtual std::string identity() const = 0;

  // All that the code depends on, for other processes and other builds too: equal keys, equal code.
  // Empty if the code must not outlive the process, or cannot be compiled.
  virtual std::string disk_key(const std::string& text, bool contracts) const {
    (void)text, (void)contracts;
    return {};
  }
};

// NVRTC, for devices of a compute capability (90: 9.0) under a driver that supports a CUDA version
// (12010: 12.1). The library is loaded in the first call that needs it, which is slow.
std::unique_ptr<Compiler> make_nvrtc_compiler(int compute_capability, int driver_version);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_COMPILE_COMPILER_H_
