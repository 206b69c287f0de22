// Library functions, by which both tiers compute what an inline form is not worth having for.
#ifndef SLUICE_KERNELS_MATH_EXTERNAL_H_
#define SLUICE_KERNELS_MATH_EXTERNAL_H_

#include <cstdint>

#include <sluice/dtype.h>
#include "fusion/ir/op.h"
#include "kernels/math/primitives.h"

namespace sluice::kernels::math {

enum class External : uint8_t {
#define SLUICE_EXTERNAL(id, name, arity, function) k##id##F32, k##id##F64,
#include "kernels/math/externals.def"
  kCount
};

// 1 or 2.
int arity_of(External f);

// out[i] = f(a[i], b[i]) for i in [0, n), in the type that f's name ends with; `b` is null for a
// unary f. `out` may be `a` or `b`.
void external_array(External f, const void* a, const void* b, void* out, int64_t n);

// The same, compiled for an instruction set.
struct ExternalLoops {
  void (*f[static_cast<int>(External::kCount)])(const void* a, const void* b, void* out, int64_t n);
};

// One element. The LLVM-IR-building type has overloads of its own.
float call_external(External f, float a);
double call_external(External f, double a);
float call_external(External f, float a, float b);
double call_external(External f, double a, double b);

// `usual`, or where `rare` f of the operands.
template <Native V>
inline V unless(bool rare, External f, V a, V usual) {
  return rare ? call_external(f, a) : usual;
}
template <Native V>
inline V unless(bool rare, External f, V a, V b, V usual) {
  return rare ? call_external(f, a, b) : usual;
}

}  // namespace sluice::kernels::math

namespace sluice::kernels::math::inline SLUICE_ISA_NAMESPACE {
// A function with an inline form that rare operands need the library for, in three members: the two
// Externals kF32 and kF64, is_rare(a, ...), and usual(a, ...), which may give anything where the
// operands are rare. The interpreter's loops take them apart, as a loop with a call in it is not
// vectorised.
template <fusion::Op kOp>
struct Guarded;

namespace internal {

template <fusion::Op kOp, typename V, typename... Rest>
SLUICE_MATH_INLINE V guarded(V a, Rest... rest) {
  using F = Guarded<kOp>;
  return unless(F::is_rare(a, rest...), kIsF32<V> ? F::kF32 : F::kF64, a, rest...,
                F::usual(a, rest...));
}

}  // namespace internal
}  // namespace sluice::kernels::math

#endif  // SLUICE_KERNELS_MATH_EXTERNAL_H_
