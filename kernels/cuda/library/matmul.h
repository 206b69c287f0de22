// Matrix products on a GPU: by cuBLASLt where it is there and can, else by kernels of our own.
#ifndef SLUICE_KERNELS_CUDA_PRODUCTS_MATMUL_H_
#define SLUICE_KERNELS_CUDA_PRODUCTS_MATMUL_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/cuda/compile/compiler.h"
#include "kernels/cuda/compile/source_kernel.h"
#include "kernels/cuda/library/cublaslt.h"
#include "kernels/cuda/library/cublaslt_matmul.h"
#include "kernels/library/matmul.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::kernels::cuda {

// Our kernels cut c into tiles, of which a block computes one.
struct MatmulTile {
  int rows, columns;
  int depth;  // of the part of k that is in shared memory at a time
};
inline constexpr std::array<MatmulTile, 5> kMatmulTiles = {
    {{128, 128, 16}, {64, 64, 16}, {64, 16, 64}, {16, 64, 64}, {16, 16, 64}}};

// The tile that keeps most of the device busy. No bit depends on it.
size_t choose_tile(const Matmul& matmul, int multiprocessors);

// Sources for Compiler::compile(). Of the kernel for a tile, "matmul_64x16"; with activations
// among its epilogues, which take a while to compile, "matmul_64x16_activations".
std::string matmul_text(const MatmulTile& tile, bool has_activations);
// Of "matmul_epilogues", which applies epilogues to a product in memory.
std::string matmul_epilogues_text();

// The products of one GPU, float32 as kernels::Matmul says but for its bounds on activations, which
// are those of the ops. Of our own kernels each element is exactly 0 and then, for k from 0 on,
// fma(a, b, sum), then the epilogues as the ops' own kernels compute them. cuBLASLt's bits depend
// on the device and the library's version too, and on whether operands are aligned to 16 bytes.
// Thread-safe. Outlives the work it is given.
class MatmulRunner {
 public:
  static constexpr size_t kMaxEpilogues = 4;

  // All are the caller's and outlive this; `library` may be null.
  MatmulRunner(runtime::cuda::Context* context, Compiler* compiler, const CublasLt* library);
  ~MatmulRunner();
  MatmulRunner(const MatmulRunner&) = delete;
  MatmulRunner& operator=(const MatmulRunner&) = delete;

  // Sees to it that enqueue() of such a product waits for no compiler. Pointers are looked at only
  // for their alignment, and may be null. Of a failure the status says which kernel it was; what
  // the compiler refused is not tried again.
  absl::Status prepare(const Matmul& matmul);
  // Whether that is so.
  bool is_ready(const Matmul& matmul);

  // Within the run() of a batch of `stream`. Addresses in `matmul` are the device's. Compiles what
  // prepare() has not been asked for.
  absl::Status enqueue(runtime::cuda::CudaStream* stream, const Matmul& matmul,
                       absl::string_view label);

  // "cuBLASLt 13.1", or what stands in for it.
  std::string library_name();

 private:
  struct Arguments;

  // Null if there is none.
  CublasLtMatmul* library();
  SourceKernel& tile_kernel(const Matmul& matmul);
  // The kernel that a product needs besides the library; null if it needs none.
  SourceKernel* kernel_for(const Matmul& matmul);
  absl::Status enqueue_own(runtime::cuda::CudaStream* stream, const Matmul& matmul,
                           absl::string_view label);
  absl::Status enqueue_epilogues(runtime::cuda::CudaStream* stream, const Matmul& matmul,
                                 absl::string_view label);

  runtime::cuda::Context* const context_;
  const CublasLt* const table_;
  std::once_flag opened_;
  std::unique_ptr<CublasLtMatmul> library_;  // made under opened_
  std::deque<SourceKernel> tiles_[2];        // without and with activations
  SourceKernel epilogues_;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_PRODUCTS_MATMUL_H_
