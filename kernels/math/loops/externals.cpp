#include <cmath>
#include <limits>

#include "kernels/math/external.h"
#include "kernels/math/huge_angles.h"

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
namespace {

// The exact remainder of truncated division, as std::fmod, which is slow: it takes one step per bit
// of the quotient.
template <typename T>
T truncated_remainder(T a, T b) {
  const T quotient = std::trunc(a / b);
  // Below 2^22 (2^51) the quotient is at most one too great, and the fma is exact.
  constexpr T kLimit = sizeof(T) == 4 ? T(0x1p22) : T(0x1p51);
  if (!(std::abs(quotient) < kLimit) || std::isinf(b)) return std::fmod(a, b);
  const T remainder = std::fma(-quotient, b, a);
  const bool overshot = remainder != 0 && std::signbit(remainder) != std::signbit(a);
  return std::copysign(overshot ? std::abs(b) - std::abs(remainder) : remainder, a);
}

template <typename T>
T python_remainder(T a, T b) {
  const T remainder = truncated_remainder(a, b);
  if (remainder == 0) return std::copysign(remainder, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

template <typename T>
T python_floor_divide(T a, T b) {
  if (b == 0 || std::isinf(a)) return b == 0 ? a / b : std::numeric_limits<T>::quiet_NaN();
  const T remainder = truncated_remainder(a, b);
  T quotient = (a - remainder) / b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T(0), a / b);
  // The quotient is an integer but for the rounding of the subtraction and the division.
  return std::rint(quotient);
}

template <typename T>
void loop(T (*f)(T), const void* a, const void*, void* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = f(static_cast<const T*>(a)[i]);
}
template <typename T>
void loop(T (*f)(T, T), const void* a, const void* b, void* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    static_cast<T*>(out)[i] = f(static_cast<const T*>(a)[i], static_cast<const T*>(b)[i]);
  }
}

template <typename T>
using Function1 = T (*)(T);
template <typename T>
using Function2 = T (*)(T, T);

}  // namespace

void fill_externals(ExternalLoops& table) {
  int next = 0;
#define SLUICE_EXTERNAL(id, name, arity, function)                           \
  table.f[next++] = [](const void* a, const void* b, void* out, int64_t n) { \
    loop(static_cast<Function##arity<float>>(function), a, b, out, n);       \
  };                                                                         \
  table.f[next++] = [](const void* a, const void* b, void* out, int64_t n) { \
    loop(static_cast<Function##arity<double>>(function), a, b, out, n);      \
  };
#include "kernels/math/externals.def"
}

}  // namespace sluice::kernels::math
