// A kernel that is written as source text.
#ifndef SLUICE_KERNELS_CUDA_COMPILE_SOURCE_KERNEL_H_
#define SLUICE_KERNELS_CUDA_COMPILE_SOURCE_KERNEL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/cuda/compile/compiler.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/driver/module.h"

namespace sluice::kernels::cuda {

// Of one GPU, compiled when it is first needed. Thread-safe. Outlives its launches.
class SourceKernel {
 public:
  // `text` gives the source of a kernel `name`, which takes one struct as its parameter.
  SourceKernel(runtime::cuda::Context* context, Compiler* compiler, std::string name,
               std::function<std::string()> text)
      : context_(*context), compiler_(*compiler), name_(std::move(name)), text_(std::move(text)) {}
  SourceKernel(const SourceKernel&) = delete;
  SourceKernel& operator=(const SourceKernel&) = delete;

  bool is_ready() const { return ready_.load(std::memory_order_acquire) != nullptr; }

  // Once it is ok the kernel is ready. The status names the kernel. What the compiler refused is
  // not tried again; what the driver did not load is.
  absl::Status compile();

  // Within the run() of a batch of `stream`: launches `blocks` blocks of kThreads, after compiling
  // the kernel if need be. A launch has a limited number of blocks: each of several says in
  // arguments->first_block, which is 0 before the call, where it begins.
  template <typename Arguments>
  absl::Status launch(runtime::cuda::CudaStream* stream, Arguments* arguments, int64_t blocks,
                      absl::string_view label) {
    absl::Status status = compile();
    while (status.ok() && arguments->first_block < blocks) {
      const int64_t launched = std::min(kMaxGrid, blocks - arguments->first_block);
      status = launch_grid(stream, arguments, sizeof(*arguments), launched, label);
      arguments->first_block += launched;
    }
    return status;
  }

 private:
  static constexpr int64_t kMaxGrid = 0x7fffffff;

  absl::Status launch_grid(runtime::cuda::CudaStream* stream, const void* arguments, size_t bytes,
                           int64_t blocks, absl::string_view label);

  runtime::cuda::Context& context_;
  Compiler& compiler_;
  const std::string name_;
  const std::function<std::string()> text_;
  std::mutex mutex_;      // guards all below but `ready_`
  absl::Status refusal_;  // by the compiler
  std::unique_ptr<runtime::cuda::Module> module_;
  runtime::cuda::Function function_;
  std::atomic<const runtime::cuda::Function*> ready_{nullptr};
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_COMPILE_SOURCE_KERNEL_H_
