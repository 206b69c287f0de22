// The generic kernel (generic.h) on one GPU.
#ifndef SLUICE_KERNELS_CUDA_COMPILE_GENERIC_KERNEL_H_
#define SLUICE_KERNELS_CUDA_COMPILE_GENERIC_KERNEL_H_

#include <memory>

#include "absl/status/status.h"
#include "kernels/cuda/compile/compiler.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/driver/module.h"

namespace sluice::kernels::cuda {

// Thread-safe.
class GenericKernel {
 public:
  // `context` outlives it.
  explicit GenericKernel(runtime::cuda::Context* context);
  ~GenericKernel();  // waits for a running compilation
  GenericKernel(const GenericKernel&) = delete;
  GenericKernel& operator=(const GenericKernel&) = delete;

  // Null until it is loaded. This object outlives its launches.
  const runtime::cuda::Function* function() const;

  // Loads an image that was compiled ahead of time: see Module::load().
  absl::Status load(const void* image);
  // Compiles it on another thread, which takes seconds.
  void compile(std::unique_ptr<Compiler> compiler);

  // Returns once no compilation is running or queued.
  void wait();

  // Why the compilation failed; ok if it succeeded or has not ended.
  absl::Status failure() const;

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_COMPILE_GENERIC_KERNEL_H_
