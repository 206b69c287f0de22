// Matrix products on a GPU by cuBLASLt.
#ifndef SLUICE_KERNELS_CUDA_PRODUCTS_CUBLASLT_MATMUL_H_
#define SLUICE_KERNELS_CUDA_PRODUCTS_CUBLASLT_MATMUL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/cuda/library/products/cublaslt.h"
#include "kernels/library/matmul.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda/driver/context.h"

namespace sluice::kernels::cuda {

// A product as the library sees it. Its matrices are column-major: it computes the transpose of c,
// its A is our b, and its B is our a. There are no pointers in it, so that equal calls run the same
// algorithm.
struct LtCall {
  struct Operand {
    int64_t rows = 0, columns = 0;  // in memory, before transposition
    int64_t leading_dimension = 0, batch_stride = 0;
    LtTranspose transpose = LtTranspose::kNo;
    uint32_t alignment = 0;  // in bytes: 16, or that of an element

    bool operator==(const Operand&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Operand& x) {
      return H::combine(std::move(h), x.rows, x.columns, x.leading_dimension, x.batch_stride,
                        x.transpose, x.alignment);
    }
  };
  Operand a, b, c;
  int32_t batch = 1;
  LtEpilogue epilogue = LtEpilogue::kNone;
  uint32_t bias_alignment = 0;  // 0: no bias
  LtDataType operand_type = LtDataType::kFloat32, type = LtDataType::kFloat32;
  LtCompute compute = LtCompute::kFloat32;

  // False if the library has no layout for the operands, or there is nothing to multiply.
  static bool make(const Matmul& matmul, LtCall* call);

  bool operator==(const LtCall&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const LtCall& x) {
    return H::combine(std::move(h), x.a, x.b, x.c, x.batch, x.epilogue, x.bias_alignment,
                      x.operand_type, x.type, x.compute);
  }
};

// For one GPU. Thread-safe. Outlives the work it is given.
class CublasLtMatmul {
 public:
  // `context` and `library` outlive it.
  static absl::StatusOr<std::unique_ptr<CublasLtMatmul>> make(runtime::cuda::Context* context,
                                                              const CublasLt* library);
  ~CublasLtMatmul();
  CublasLtMatmul(const CublasLtMatmul&) = delete;
  CublasLtMatmul& operator=(const CublasLtMatmul&) = delete;

  std::string name() const;  // "cuBLASLt 13.1"

  // The number of leading epilogues that become part of the library's call: a bias, a relu, or a
  // bias and then a relu. Not gelu: the library approximates it by another function.
  static size_t num_folded(absl::Span<const fusion::Epilogue> epilogues);

  // Whether enqueue() will succeed, as far as that can be told. Only the alignment of pointers is
  // used.
  bool supports(const Matmul& matmul);

  // Within the run() of a batch of `stream`. True: c has the product with num_folded() epilogues
  // applied. False: nothing was done, nor ever will be for an equal call. c is not empty.
  absl::StatusOr<bool> enqueue(runtime::cuda::CudaStream* stream, const Matmul& matmul,
                               absl::string_view label);

 private:
  struct Plan;

  CublasLtMatmul(runtime::cuda::Context* context, const CublasLt* library)
      : context_(context), library_(*library) {}
  // Never null, but not every plan can run.
  std::shared_ptr<Plan> find_plan(const LtCall& call);

  runtime::cuda::Context* const context_;
  const CublasLt& library_;
  LtHandle handle_ = nullptr;
  std::mutex mutex_;
  absl::flat_hash_map<LtCall, std::shared_ptr<Plan>> plans_;  // guarded by mutex_
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_PRODUCTS_CUBLASLT_MATMUL_H_
