// Matrix products on a GPU: by cuBLASLt where it is present and supports them, else by our kernels.
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

// Our kernels cut c into tiles; a block computes one.
struct MatmulTile {
  int rows, columns;
  int depth;  // along k, of the strips in shared memory
};
inline constexpr std::array<MatmulTile, 5> kMatmulTiles = {
    {{128, 128, 16}, {64, 64, 16}, {64, 16, 64}, {16, 64, 64}, {16, 16, 64}}};

// The tile that occupies the device best. No bit depends on it.
size_t choose_tile(const Matmul& matmul, int multiprocessors);

// The source of a kernel for Compiler::compile(): "matmul_64x16", or "matmul_64x16_activations"
// with activations among its epilogues, which take longer to compile.
std::string matmul_text(const MatmulTile& tile, bool has_activations);
// The source of "matmul_epilogues", which applies epilogues to a product in memory.
std::string matmul_epilogues_text();

// The products of one GPU, float32, as kernels::Matmul specifies, except that activations are as
// accurate as the ops. Our kernels compute each element as sum = 0, then sum = fma(a, b, sum) for k
// in ascending order, then the epilogues with the bits of the ops' own kernels. cuBLASLt's bits
// also depend on the device, on the library's version and on whether operands are aligned to 16
// bytes. Thread-safe. Outlives the work it is given.
class MatmulRunner {
 public:
  static constexpr size_t kMaxEpilogues = 4;

  // All outlive this; `library` may be null.
  MatmulRunner(runtime::cuda::Context* context, Compiler* compiler, const CublasLt* library);
  ~MatmulRunner();
  MatmulRunner(const MatmulRunner&) = delete;
  MatmulRunner& operator=(const MatmulRunner&) = delete;

  // Compiles what enqueue() of such a product needs. Only the alignment of pointers is used; they
  // may be null. The status names the kernel that failed; what the compiler refused is not tried
  // again.
  absl::Status prepare(const Matmul& matmul);
  // Whether nothing is left to compile.
  bool is_ready(const Matmul& matmul);

  // Within the run() of a batch of `stream`. Addresses are the device's. Compiles what has not
  // been prepared.
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
