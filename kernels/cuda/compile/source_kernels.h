// Kernels written as source text, by name.
#ifndef SLUICE_KERNELS_CUDA_COMPILE_SOURCE_KERNELS_H_
#define SLUICE_KERNELS_CUDA_COMPILE_SOURCE_KERNELS_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "kernels/cuda/compile/source_kernel.h"

namespace sluice::kernels::cuda {

// Of one GPU; each is made when it is first asked for. Thread-safe.
class SourceKernels {
 public:
  SourceKernels(runtime::cuda::Context* context, Compiler* compiler)
      : context_(context), compiler_(compiler) {}

  // The kernel `name`, whose source is `text()`, the same for every call with this name: only the
  // first one asks for it.
  SourceKernel& get(const std::string& name, absl::FunctionRef<std::string()> text) {
    std::lock_guard lock(mutex_);
    std::unique_ptr<SourceKernel>& kernel = kernels_[name];
    if (kernel == nullptr) {
      kernel = std::make_unique<SourceKernel>(context_, compiler_, name,
                                              [made = text()] { return made; });
    }
    return *kernel;
  }

 private:
  runtime::cuda::Context* const context_;
  Compiler* const compiler_;
  std::mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<SourceKernel>> kernels_;  // guarded by mutex_
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_COMPILE_SOURCE_KERNELS_H_
