// Algebraic simplification of a Program: named passes, run in a fixed order until none of them
// changes anything.
//
// The exact passes change no bit of any result. They hold for NaN, signed zeros, infinities,
// subnormals, integers that wrap and halves that are rounded after every instruction. (They may
// change which NaN results; stores write the canonical one.) The fast-math passes change results
// by a few units in the last place, and more where an intermediate value overflows or underflows.
//
// Scalars are arguments of the kernel: x * 1, x + 0 or powers of 2 are not visible here.
#ifndef SLUICE_FUSION_REWRITE_SIMPLIFY_H_
#define SLUICE_FUSION_REWRITE_SIMPLIFY_H_

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "fusion/ir/program.h"

namespace sluice::fusion {

struct ProgramPass {
  const char* name;
  bool (*run)(Program* program);  // returns true if it changed something
};

// In the order in which they run; with fast math, those passes run before the exact ones.
absl::Span<const ProgramPass> exact_passes();
absl::Span<const ProgramPass> fast_math_passes();

// Called for each pass that changed something.
using PassObserver =
    absl::FunctionRef<void(const char* pass, const Program& before, const Program& after)>;

// Simplifies a program that verifies; returns true if it changed something. Only the body and the
// values that stores name change. Accesses, scalars, params, error slots and the order of the
// stores stay, since the arguments are laid out by them. Values keep their levels, reductions their
// order and every kCheckIndex its effect. No dead instruction remains.
bool simplify(Program* program, bool fast_math, PassObserver observer);
bool simplify(Program* program, bool fast_math);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_REWRITE_SIMPLIFY_H_
