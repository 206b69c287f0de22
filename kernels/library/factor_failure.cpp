#include "kernels/library/factor_failure.h"

#include "absl/strings/str_cat.h"

namespace sluice::kernels {
namespace {

const char* what_failed(fusion::Op op) {
  switch (op) {
    case fusion::Op::kCholesky: return "is not positive definite";
    case fusion::Op::kSvd:
    case fusion::Op::kEigh: return "has no decomposition that the iteration converges to";
    default: return "is singular";
  }
}

}  // namespace

absl::Status failure_of_matrix(const fusion::FactorAttributes& attributes, int64_t matrix) {
  return absl::FailedPreconditionError(
      absl::StrCat(attributes.count == 1
                       ? "the matrix"
                       : absl::StrCat("matrix ", matrix, " of the batch of ", attributes.count),
                   " ", what_failed(attributes.op)));
}

}  // namespace sluice::kernels
