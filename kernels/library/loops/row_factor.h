// Matrices of some tens of rows taken apart, one after another.
#ifndef SLUICE_KERNELS_LIBRARY_LOOPS_ROW_FACTOR_H_
#define SLUICE_KERNELS_LIBRARY_LOOPS_ROW_FACTOR_H_

#include <cstdint>

#include "fusion/library/factor.h"

namespace sluice::kernels {

// Most rows and sides of a matrix for row_factor().
inline constexpr int kMaxRowFactor = 128;

}  // namespace sluice::kernels

#if defined(SLUICE_ISA_NAMESPACE)
namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// As LibraryLoops::small_factor.
int64_t row_factor(const fusion::FactorAttributes& attributes, void* const* buffers, int64_t begin,
                   int64_t end);

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE
#endif

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_ROW_FACTOR_H_
