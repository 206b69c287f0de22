// What all plans of one GPU share: its kernels, compilers and libraries.
#ifndef SLUICE_KERNELS_CUDA_GPU_H_
#define SLUICE_KERNELS_CUDA_GPU_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "kernels/cuda/compile/compiler.h"
#include "kernels/cuda/compile/generic_kernel.h"
#include "kernels/cuda/kernel_cache.h"
#include "kernels/cuda/library/library.h"
#include "runtime/cuda/cuda_device.h"

namespace sluice::kernels::cuda {

// Thread-safe. `device` outlives it; it outlives all work.
class Gpu {
 public:
  explicit Gpu(runtime::cuda::CudaDevice* device);

  runtime::cuda::CudaDevice& device() { return device_; }
  KernelCache& kernels() { return kernels_; }
  const KernelCache& kernels() const { return kernels_; }

  LibraryRunner& library(fusion::LibraryKind kind) { return library_.of(kind); }
  // The kernel of the generic tier. Null until it can be launched; the first call has it compiled
  // on another thread.
  const runtime::cuda::Function* generic();
  // Likewise, but waits for the compiler. Null if that failed.
  const runtime::cuda::Function* wait_for_generic();

  // Returns once no compilation is running or queued, but for those of library calls.
  void wait_for_compilers();

  // Instantiated graphs take device memory, so their number is limited. False: no more for now.
  bool take_graph();
  // Whether a plan may have more than one.
  bool has_many_graphs_left() const { return num_graphs_ < kMaxGraphs / 2; }
  void give_back_graph() { --num_graphs_; }

 private:
  static constexpr int kMaxGraphs = 512;

  runtime::cuda::CudaDevice& device_;
  KernelCache kernels_;
  const std::unique_ptr<Compiler> library_compiler_;
  LibraryRunners library_;
  std::once_flag generic_once_;
  GenericKernel generic_;
  std::atomic<int> num_graphs_{0};
};

// From now on GPUs use these compilers instead of NVRTC, and no vendor libraries.
void set_compiler_for_testing(std::function<std::unique_ptr<Compiler>()> make);
// But these, which outlive them; null: none.
void set_cudnn_for_testing(const Cudnn* table);
void set_cusolver_for_testing(const Cusolver* table);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_GPU_H_
