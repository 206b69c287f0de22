// Division and rounding of sizes and counts: of integers >= 0, whose sum does not overflow.
#ifndef SLUICE_RUNTIME_INTEGERS_H_
#define SLUICE_RUNTIME_INTEGERS_H_

#include <type_traits>

namespace sluice {

// The least integer that is not less than a / b.
template <typename T>
constexpr T ceil_div(T a, std::type_identity_t<T> b) {
  return (a + b - 1) / b;
}

// The least multiple of `unit` that is not less than `a`.
template <typename T>
constexpr T round_up(T a, std::type_identity_t<T> unit) {
  return ceil_div(a, unit) * unit;
}

}  // namespace sluice

#endif  // SLUICE_RUNTIME_INTEGERS_H_
