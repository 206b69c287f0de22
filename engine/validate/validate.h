// $SLUICE_VALIDATE: runs every window in other ways first; a difference stops the program.
#ifndef SLUICE_ENGINE_VALIDATE_VALIDATE_H_
#define SLUICE_ENGINE_VALIDATE_VALIDATE_H_

#include <memory>

#include <sluice/config.h>
#include "engine/record/window.h"
#include "engine/run/plan_cache.h"
#include "runtime/backend.h"
#include "runtime/stream.h"

namespace sluice::engine {

// Runs `window`, whose plan is `plan`, in memory of its own before it is submitted:
//
//   1. op by op, in order, without fast math: interpreted, and compiled if Config::compile allows
//      that, each of the same operands;
//   2. by its own plan, on each tier that Config::compile may choose. Not under Config::fast_math,
//      which lets bits differ.
//
// Throws Error for the first op in 1, or the first result of a kernel in 2, with an element whose
// bits differ from those interpreted op by op (kDataLoss). With Validate::kAll also for the first
// op that makes a NaN from operands without one (kInvalidArgument): for an element-wise op the
// operands' elements at that place count, for any other all of their elements. The message names
// the op, its call site if the trace records, the element, and the operands' values there.
//
// Neither the window nor its inputs nor its queue change, whether this throws or not. Other
// failures (an index out of range, a step that fails, an input with a failure) are left to the run
// itself to report. Takes twice the memory of the values that are still needed, and throws Error if
// there is not enough.
void validate(const Window& window, const std::shared_ptr<const ReadyPlan>& plan,
              runtime::Backend* backend, runtime::Stream* stream, Validate mode);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_VALIDATE_VALIDATE_H_
