// Which matrices of a call could not be taken apart.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_MATRIX_FAILURES_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_MATRIX_FAILURES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "fusion/library/factor.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda/pinned_pool.h"

namespace sluice::kernels::cuda {

// In memory of the device, for kernels to write. Within the run() of a batch of `stream`.
class MatrixFailures {
 public:
  MatrixFailures(runtime::cuda::CudaStream* stream, const fusion::FactorAttributes* of,
                 absl::string_view label)
      : stream_(*stream), of_(*of), label_(label) {}
  ~MatrixFailures();
  MatrixFailures(const MatrixFailures&) = delete;
  MatrixFailures& operator=(const MatrixFailures&) = delete;

  absl::Status allocate();

  // [0] is 0 before the first kernel and afterwards not, if one of the others is not; [1 + i] is
  // the i-th matrix's, which kernels write if it is 0 as well.
  int32_t* flags() const { return flags_; }
  int32_t* flag_of(int64_t matrix) const { return flags_ + 1 + matrix; }

  // Waits for the kernels; the error of the first matrix that failed.
  absl::Status wait() const;

 private:
  absl::StatusOr<runtime::cuda::PinnedBlock> read(const int32_t* from, int64_t count) const;

  runtime::cuda::CudaStream& stream_;
  const fusion::FactorAttributes& of_;
  const absl::string_view label_;
  int32_t* flags_ = nullptr;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_MATRIX_FAILURES_H_
