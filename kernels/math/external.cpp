#include "kernels/math/external.h"

#include <cmath>
#include <limits>

namespace sluice::kernels::math {
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

// float32 as well in float64, where the library is accurate.
template <typename T>
T wide_sin(T a) {
  return static_cast<T>(std::sin(double{a}));
}
template <typename T>
T wide_cos(T a) {
  return static_cast<T>(std::cos(double{a}));
}
template <typename T>
T wide_tan(T a) {
  return static_cast<T>(std::tan(double{a}));
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

using Array = void (*)(const void* a, const void* b, void* out, int64_t n);

template <typename T>
using Function1 = T (*)(T);
template <typename T>
using Function2 = T (*)(T, T);

constexpr Array kRoutines[] = {
#define SLUICE_EXTERNAL(id, name, arity, function)                          \
  [](const void* a, const void* b, void* out, int64_t n) {                  \
    loop(static_cast<Function##arity<float>>(function), a, b, out, n);      \
  },                                                                        \
      [](const void* a, const void* b, void* out, int64_t n) {              \
        loop(static_cast<Function##arity<double>>(function), a, b, out, n); \
      },
#include "kernels/math/externals.def"
};

template <typename T>
T call_one(External f, T a, const T* b) {
  T result;
  external_array(f, &a, b, &result, 1);
  return result;
}

}  // namespace

int arity_of(External f) {
  static constexpr uint8_t kArity[] = {
#define SLUICE_EXTERNAL(id, name, arity, function) arity, arity,
#include "kernels/math/externals.def"
  };
  return kArity[static_cast<int>(f)];
}

void external_array(External f, const void* a, const void* b, void* out, int64_t n) {
  kRoutines[static_cast<int>(f)](a, b, out, n);
}

float call_external(External f, float a) { return call_one<float>(f, a, nullptr); }
double call_external(External f, double a) { return call_one<double>(f, a, nullptr); }
float call_external(External f, float a, float b) { return call_one<float>(f, a, &b); }
double call_external(External f, double a, double b) { return call_one<double>(f, a, &b); }

}  // namespace sluice::kernels::math
