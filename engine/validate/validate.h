// $SLUICE_VALIDATE: every window is first run another way, and what differs stops the program.
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
// Throws Error for the first op in 1, or the first result of a kernel in 2, with an element of
// other bits than interpreted op by op (kDataLoss); with Validate::kAll also for the first op that
// makes a NaN of operands without one (kInvalidArgument): of an element-wise op the elements that
// go into that NaN, of any other all elements of its operands. The message names the op, where it
// was called if the trace records, the element, and what the operands are there.
//
// The window, its inputs and its queue are what they were, whether this throws or not. What cannot
// be had anyway (an index out of range, a step that fails, an input with a failure) is left to the
// run itself to report. Takes memory for the values that are still needed, twice over, and throws
// Error if there is not enough.
void validate(const Window& window, const std::shared_ptr<const ReadyPlan>& plan,
              runtime::Backend* backend, runtime::Stream* stream, Validate mode);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_VALIDATE_VALIDATE_H_
