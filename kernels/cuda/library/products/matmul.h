// Matrix products on a GPU: by cuBLASLt where it is present and supports them, else by our kernels.
#ifndef SLUICE_KERNELS_CUDA_PRODUCTS_MATMUL_H_
#define SLUICE_KERNELS_CUDA_PRODUCTS_MATMUL_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/cuda/compile/compiler.h"
#include "kernels/cuda/compile/source_kernel.h"
#include "kernels/cuda/library/products/cublaslt.h"
#include "kernels/cuda/library/products/cublaslt_matmul.h"
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
// Whether a block has the shared memory of a tile's strips, two of each operand.
constexpr bool has_strips(const MatmulTile& tile, DType operands) {
  constexpr int kMostDoubles = 2048;  // of a strip of both
  return operands != DType::kFloat64 || (tile.rows + tile.columns) * tile.depth <= kMostDoubles;
}

// Those of the kernels that use tensor cores; `warp_rows` of the 8 warps are below one another.
struct TensorTile {
  int rows, columns;
  int warp_rows;
};
inline constexpr std::array<TensorTile, 4> kTensorTiles = {
    {{128, 128, 2}, {64, 64, 2}, {16, 128, 1}, {128, 16, 8}}};

// The tile that occupies the device best. No bit depends on it.
size_t choose_tile(const Matmul& matmul, int multiprocessors);
size_t choose_tensor_tile(const Matmul& matmul, int multiprocessors);

// Products with few elements and a long k are computed in parts of it, which are then summed: the
// length of a part. It follows from the shape alone, and so do the bits.
int64_t split_depth(const Matmul& matmul);

// The sources of kernels for Compiler::compile(), by what multiplies operands of `dtype`, which is
// a floating-point type:
//   "matmul_64x16", "matmul_float16_64x16": fma, in float32; "matmul_float64_64x16": in float64
//   "matmul_64x16_activations": likewise, with activations, which take longer to compile
//   "matmul_tensor_float16_64x64_nt": tensor cores, with float32 as TF32. n: lines of that operand
//     (rows of a, columns of b) are walked along k in memory; t: across.
std::string matmul_text(DType dtype, const MatmulTile& tile, bool has_activations);
std::string matmul_tensor_text(DType dtype, const TensorTile& tile, bool a_along_depth,
                               bool b_along_depth);
// "matmul_finish", "matmul_finish_float16": sums the parts of a product, or takes one that is in
// memory, and applies epilogues.
std::string matmul_finish_text(DType dtype);

// The products of one GPU, of floating-point types, as kernels::Matmul specifies, except that
// activations are as accurate as the ops. Sums of float64 are float64, all others float32.
//
// Our kernels compute each element of float32 and float64 as sum = 0, then sum = fma(a, b, sum) for
// k in ascending order, of each part of split_depth() by itself, then the sum of the parts in
// order, then the epilogues with the bits of the ops' own kernels. Half types, and float32 where
// TF32 is allowed, are multiplied by tensor cores in steps of 16 (8) along k in ascending order;
// how a step is summed is the device's. cuBLASLt's bits also depend on the device, on the library's
// version and on whether operands are aligned to 16 bytes. Thread-safe. Outlives the work it is
// given.
class MatmulRunner {
 public:
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
  using Kernels = absl::InlinedVector<SourceKernel*, 2>;
  struct Arguments;

  // Null if there is none.
  CublasLtMatmul* library();
  bool uses_tensors(const Matmul& matmul) const;
  SourceKernel& finish(const Matmul& matmul) { return *finish_.at(matmul.dtype); }
  // The kernels that a product needs besides the library.
  Kernels kernels_for(const Matmul& matmul);
  Kernels own_kernels_for(const Matmul& matmul);
  absl::Status enqueue_own(runtime::cuda::CudaStream* stream, const Matmul& matmul,
                           absl::string_view label);
  absl::Status enqueue_finish(runtime::cuda::CudaStream* stream, const Matmul& matmul,
                              void* partials, absl::string_view label);

  runtime::cuda::Context* const context_;
  const CublasLt* const table_;
  std::once_flag opened_;
  std::unique_ptr<CublasLtMatmul> library_;  // made under opened_
  // By dtype of the operands; all are made with this, and compiled when they are needed.
  struct OfType {
    std::deque<SourceKernel> tiles[2];    // without and with activations
    std::deque<SourceKernel> tensors[4];  // by a along k + 2 * b along k
  };
  absl::flat_hash_map<DType, std::unique_ptr<OfType>> kernels_;
  absl::flat_hash_map<DType, std::unique_ptr<SourceKernel>> finish_;  // by dtype of the result
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_PRODUCTS_MATMUL_H_
