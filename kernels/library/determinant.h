// The product that a determinant is.
#ifndef SLUICE_KERNELS_LIBRARY_DETERMINANT_H_
#define SLUICE_KERNELS_LIBRARY_DETERMINANT_H_

#include <cstdint>

namespace sluice::kernels {

// Between these, in magnitude, a product rounds as its fraction does.
inline constexpr double kLeastExactProduct = 0x1p-1000, kMostExactProduct = 0x1p1000;

// As if no part of it overflowed or lost digits.
double product_of_pivots(const double* pivots, int64_t count);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_DETERMINANT_H_
