#include "kernels/library/determinant.h"

#include <algorithm>
#include <cmath>

namespace sluice::kernels {
namespace {

// By fraction and exponent.
double scaled_product(const double* pivots, int64_t count) {
  constexpr int64_t kMost = 4000;  // beyond any exponent
  double fraction = 1;
  int64_t exponent = 0;
  for (int64_t k = 0; k < count; ++k) {
    int shift = 0;
    fraction = std::frexp(fraction * pivots[k], &shift);
    exponent += shift;
  }
  return std::ldexp(fraction, static_cast<int>(std::clamp(exponent, -kMost, kMost)));
}

}  // namespace

double product_of_pivots(const double* pivots, int64_t count) {
  double product = 1;
  for (int64_t k = 0; k < count; ++k) {
    product *= pivots[k];
    const double magnitude = std::abs(product);
    if (!(magnitude > kLeastExactProduct && magnitude < kMostExactProduct))
      return scaled_product(pivots, count);
  }
  return product;
}

}  // namespace sluice::kernels
