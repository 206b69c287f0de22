// Compiled code loaded on a GPU.
#ifndef SLUICE_RUNTIME_CUDA_DRIVER_MODULE_H_
#define SLUICE_RUNTIME_CUDA_DRIVER_MODULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::runtime::cuda {

// A kernel of a module and the resources it uses.
struct Function {
  FunctionHandle handle = nullptr;
  int registers = 0;            // per thread
  int spilled_bytes = 0;        // local memory per thread
  int static_shared_bytes = 0;  // per block
  int max_threads = 0;          // per block, as limited by registers
};

// Immutable. Must outlive all launches of its functions.
class Module {
 public:
  // `image`: a cubin, a fatbin, or PTX terminated by a null byte. If the driver cannot compile the
  // PTX, the status carries its log.
  static absl::StatusOr<std::unique_ptr<Module>> load(Context* context, const void* image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // `max_shared_bytes`: the dynamic shared memory that launches may request, up to the device's
  // limit.
  absl::StatusOr<Function> function(const char* name, int max_shared_bytes = 0) const;

 private:
  Module(Context* context, ModuleHandle handle) : context_(context), handle_(handle) {}

  Context* const context_;
  const ModuleHandle handle_;
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DRIVER_MODULE_H_
