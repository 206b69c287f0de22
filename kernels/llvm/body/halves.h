// Which ops of float16 are computed in float16 where the processor can (AVX512-FP16), with 32 lanes
// in a vector and nothing to widen or to round. Elsewhere they are computed in float32 and rounded,
// as all others are everywhere. The bits are the same: a sum or a product that is rounded to 24
// bits (at least twice 11 and two more) and then to 11 is the one that is rounded to 11 at once;
// all other ops here round nothing.
#ifndef SLUICE_KERNELS_LLVM_HALVES_H_
#define SLUICE_KERNELS_LLVM_HALVES_H_

#include "fusion/ir/program.h"

namespace sluice::kernels {

// A pointwise op, or a reduction that keeps one of its elements; not of a program that contracts.
bool is_native_half(const fusion::Program& program, const fusion::Instr& instr);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LLVM_HALVES_H_
