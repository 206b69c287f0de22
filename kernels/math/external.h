// Functions that are not worth an inline form: both tiers call the same library routine.
//
// With SLEEF (SLUICE_HAVE_SLEEF) and a CPU that has FMA these are SLEEF's bit-deterministic
// routines, whose result for an element depends on neither the vector width nor its position; else
// they are those of <cmath>.
#ifndef SLUICE_KERNELS_MATH_EXTERNAL_H_
#define SLUICE_KERNELS_MATH_EXTERNAL_H_

#include <cstdint>
#include <optional>

#include <sluice/dtype.h>
#include "fusion/ir/op.h"
#include "kernels/math/primitives.h"

namespace sluice::kernels::math {

enum class External : uint8_t {
#define SLUICE_EXTERNAL(id, name, ulp, arity, float32_is_inline) k##id##F32, k##id##F64,
#include "kernels/math/externals.def"
  kFloorDivideF32,
  kFloorDivideF64,
  kRemainderF32,
  kRemainderF64,
  kCount
};

// 1 or 2.
int arity_of(External f);

// Where the functions come from: "SLEEF" or "libm".
const char* external_library();

// out[i] = f(a[i], b[i]) for i in [0, n), in the type that f's name ends with; `b` is null for a
// unary f. `out` may be `a` or `b`.
void external_array(External f, const void* a, const void* b, void* out, int64_t n);

// One element. The LLVM-IR-building type has overloads of its own.
float call_external(External f, float a);
double call_external(External f, double a);
float call_external(External f, float a, float b);
double call_external(External f, double a, double b);

// The function that is the whole expression of `op` for the compute type `dtype`, if there is one:
// a tile can then be computed by one external_array().
std::optional<External> external_of(fusion::Op op, DType dtype);

}  // namespace sluice::kernels::math

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
namespace internal {

// Picks between a function's two versions by V.
template <typename V>
SLUICE_MATH_INLINE V call_external_as(External f32, External f64, V a) {
  return call_external(kIsF32<V> ? f32 : f64, a);
}
template <typename V>
SLUICE_MATH_INLINE V call_external_as(External f32, External f64, V a, V b) {
  return call_external(kIsF32<V> ? f32 : f64, a, b);
}

}  // namespace internal
}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_EXTERNAL_H_
