// Compiled code on a GPU.
#ifndef SLUICE_RUNTIME_CUDA_DRIVER_MODULE_H_
#define SLUICE_RUNTIME_CUDA_DRIVER_MODULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::runtime::cuda {

// A kernel of a module, with what the compiler made of it.
struct Function {
  FunctionHandle handle = nullptr;
  int registers = 0;            // of a thread
  int spilled_bytes = 0;        // local memory of a thread
  int static_shared_bytes = 0;  // of a block
  int max_threads = 0;          // of a block, by what the registers allow
};

// Immutable once loaded; unloaded when nothing that uses it is under way any more.
class Module {
 public:
  // `image`: a cubin, a fatbin, or PTX that ends with a null byte. A PTX image that the driver
  // cannot compile fails with what the driver says about it.
  static absl::StatusOr<std::unique_ptr<Module>> load(Context* context, const void* image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // `max_shared_bytes`: of dynamic shared memory that launches will ask for, up to the device's
  // limit.
  absl::StatusOr<Function> function(const char* name, int max_shared_bytes = 0) const;

 private:
  Module(Context* context, ModuleHandle handle) : context_(context), handle_(handle) {}

  Context* const context_;
  const ModuleHandle handle_;
};

}  // namespace sluice::runtime::cuda

#endif  // SLUICE_RUNTIME_CUDA_DRIVER_MODULE_H_
