// What a matrix that cannot be taken apart is called.
#ifndef SLUICE_KERNELS_LIBRARY_FACTOR_FAILURE_H_
#define SLUICE_KERNELS_LIBRARY_FACTOR_FAILURE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "fusion/library/factor.h"

namespace sluice::kernels {

absl::Status failure_of_matrix(const fusion::FactorAttributes& attributes, int64_t matrix);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_FACTOR_FAILURE_H_
