#include "kernels/math/external.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#if defined(SLUICE_HAVE_SLEEF) && SLUICE_HAVE_SLEEF && defined(__x86_64__)
#define SLUICE_USE_SLEEF 1
#include <immintrin.h>
#else
#define SLUICE_USE_SLEEF 0
#endif

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

template <typename T>
void loop(T (*f)(T), const void* a, void* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = f(static_cast<const T*>(a)[i]);
}
template <typename T>
void loop(T (*f)(T, T), const void* a, const void* b, void* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    static_cast<T*>(out)[i] = f(static_cast<const T*>(a)[i], static_cast<const T*>(b)[i]);
  }
}

using Array = void (*)(const void* a, const void* b, void* out, int64_t n);

#define SLUICE_ARITY_1(T, f) \
  [](const void* a, const void*, void* out, int64_t n) { loop<T>(f, a, out, n); }
#define SLUICE_ARITY_2(T, f) \
  [](const void* a, const void* b, void* out, int64_t n) { loop<T>(f, a, b, out, n); }
#define SLUICE_DIVISION                                                                    \
  SLUICE_ARITY_2(float, python_floor_divide), SLUICE_ARITY_2(double, python_floor_divide), \
      SLUICE_ARITY_2(float, python_remainder), SLUICE_ARITY_2(double, python_remainder)

constexpr Array kStandard[] = {
#define SLUICE_EXTERNAL(id, name, ulp, arity, float32_is_inline) \
  SLUICE_ARITY_##arity(float, std::name), SLUICE_ARITY_##arity(double, std::name),
#include "kernels/math/externals.def"
    SLUICE_DIVISION};

#if SLUICE_USE_SLEEF

// sleef.h declares these only where the whole file is compiled for the instruction set.
#define SLUICE_PARAMS_1(T) (T)
#define SLUICE_PARAMS_2(T) (T, T)
extern "C" {
#define SLUICE_EXTERNAL(id, name, ulp, arity, float32_is_inline)               \
  __m512 Sleef_finz_##name##f16_##ulp##avx512f SLUICE_PARAMS_##arity(__m512);  \
  __m512d Sleef_finz_##name##d8_##ulp##avx512f SLUICE_PARAMS_##arity(__m512d); \
  __m256 Sleef_finz_##name##f8_##ulp##avx2 SLUICE_PARAMS_##arity(__m256);      \
  __m256d Sleef_finz_##name##d4_##ulp##avx2 SLUICE_PARAMS_##arity(__m256d);
#include "kernels/math/externals.def"
}

// Runs `f` over whole vectors; the last, partial one is padded with ones, which are in the domain
// of every function. Code for a vector type must be compiled for its instruction set, hence the
// macro: a template's instantiations don't take its callers' target.
#define SLUICE_DEFINE_LOOPS(suffix, isa, Vector, T)                                          \
  __attribute__((target(isa))) void vector_loop_##suffix(Vector (*f)(Vector), const void* a, \
                                                         void* out, int64_t n) {             \
    constexpr int64_t kCount = sizeof(Vector) / sizeof(T);                                   \
    for (int64_t i = 0; i < n; i += kCount) {                                                \
      const size_t bytes = sizeof(T) * std::min(kCount, n - i);                              \
      Vector x = Vector{} + T(1);                                                            \
      std::memcpy(&x, static_cast<const T*>(a) + i, bytes);                                  \
      const Vector y = f(x);                                                                 \
      std::memcpy(static_cast<T*>(out) + i, &y, bytes);                                      \
    }                                                                                        \
  }                                                                                          \
  __attribute__((target(isa))) void vector_loop_##suffix(                                    \
      Vector (*f)(Vector, Vector), const void* a, const void* b, void* out, int64_t n) {     \
    constexpr int64_t kCount = sizeof(Vector) / sizeof(T);                                   \
    for (int64_t i = 0; i < n; i += kCount) {                                                \
      const size_t bytes = sizeof(T) * std::min(kCount, n - i);                              \
      Vector x = Vector{} + T(1), y = x;                                                     \
      std::memcpy(&x, static_cast<const T*>(a) + i, bytes);                                  \
      std::memcpy(&y, static_cast<const T*>(b) + i, bytes);                                  \
      const Vector z = f(x, y);                                                              \
      std::memcpy(static_cast<T*>(out) + i, &z, bytes);                                      \
    }                                                                                        \
  }
SLUICE_DEFINE_LOOPS(f16, "avx512f", __m512, float)
SLUICE_DEFINE_LOOPS(d8, "avx512f", __m512d, double)
SLUICE_DEFINE_LOOPS(f8, "avx2,fma", __m256, float)
SLUICE_DEFINE_LOOPS(d4, "avx2,fma", __m256d, double)

#define SLUICE_VECTOR_1(suffix, f) \
  [](const void* a, const void*, void* out, int64_t n) { vector_loop_##suffix(f, a, out, n); }
#define SLUICE_VECTOR_2(suffix, f) \
  [](const void* a, const void* b, void* out, int64_t n) { vector_loop_##suffix(f, a, b, out, n); }

constexpr Array kAvx512[] = {
#define SLUICE_EXTERNAL(id, name, ulp, arity, float32_is_inline)     \
  SLUICE_VECTOR_##arity(f16, Sleef_finz_##name##f16_##ulp##avx512f), \
      SLUICE_VECTOR_##arity(d8, Sleef_finz_##name##d8_##ulp##avx512f),
#include "kernels/math/externals.def"
    SLUICE_DIVISION};

constexpr Array kAvx2[] = {
#define SLUICE_EXTERNAL(id, name, ulp, arity, float32_is_inline) \
  SLUICE_VECTOR_##arity(f8, Sleef_finz_##name##f8_##ulp##avx2),  \
      SLUICE_VECTOR_##arity(d4, Sleef_finz_##name##d4_##ulp##avx2),
#include "kernels/math/externals.def"
    SLUICE_DIVISION};

const Array* choose_routines() {
  if (__builtin_cpu_supports("avx512f")) return kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kAvx2;
  return kStandard;
}

#else

const Array* choose_routines() { return kStandard; }

#endif  // SLUICE_USE_SLEEF

template <typename T>
T call_one(External f, T a, const T* b) {
  T result;
  external_array(f, &a, b, &result, 1);
  return result;
}

}  // namespace

int arity_of(External f) {
  static constexpr uint8_t kArity[] = {
#define SLUICE_EXTERNAL(id, name, ulp, arity, float32_is_inline) arity, arity,
#include "kernels/math/externals.def"
      2, 2, 2, 2};
  return kArity[static_cast<int>(f)];
}

void external_array(External f, const void* a, const void* b, void* out, int64_t n) {
  static const Array* const routines = choose_routines();
  routines[static_cast<int>(f)](a, b, out, n);
}

const char* external_library() { return SLUICE_USE_SLEEF ? "SLEEF" : "libm"; }

float call_external(External f, float a) { return call_one<float>(f, a, nullptr); }
double call_external(External f, double a) { return call_one<double>(f, a, nullptr); }
float call_external(External f, float a, float b) { return call_one<float>(f, a, &b); }
double call_external(External f, double a, double b) { return call_one<double>(f, a, &b); }

std::optional<External> external_of(fusion::Op op, DType dtype) {
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return std::nullopt;
  const bool is_f32 = dtype == DType::kFloat32;
  switch (op) {
#define SLUICE_EXTERNAL(id, name, ulp, arity, float32_is_inline) \
  case fusion::Op::k##id:                                        \
    if (is_f32 && float32_is_inline) return std::nullopt;        \
    return is_f32 ? External::k##id##F32 : External::k##id##F64;
#include "kernels/math/externals.def"
    case fusion::Op::kFloorDivide:
      return is_f32 ? External::kFloorDivideF32 : External::kFloorDivideF64;
    case fusion::Op::kRemainder: return is_f32 ? External::kRemainderF32 : External::kRemainderF64;
    default: return std::nullopt;
  }
}

}  // namespace sluice::kernels::math
