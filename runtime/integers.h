// Division and rounding of sizes and counts: non-negative integers whose sum does not overflow.
#ifndef SLUICE_RUNTIME_INTEGERS_H_
#define SLUICE_RUNTIME_INTEGERS_H_

#include <type_traits>

namespace sluice {

// a / b rounded up.
template <typename T>
constexpr T ceil_div(T a, std::type_identity_t<T> b) {
  return (a + b - 1) / b;
}

// The greatest integer not above a / b. b > 0.
template <typename T>
constexpr T floor_div(T a, std::type_identity_t<T> b) {
  return a / b - (a % b < 0);
}

// `a` rounded up to a multiple of `unit`.
template <typename T>
constexpr T round_up(T a, std::type_identity_t<T> unit) {
  return ceil_div(a, unit) * unit;
}

}  // namespace sluice

#endif  // SLUICE_RUNTIME_INTEGERS_H_
