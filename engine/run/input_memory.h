// Which inputs of a window its results may be written over.
#ifndef SLUICE_ENGINE_RUN_INPUT_MEMORY_H_
#define SLUICE_ENGINE_RUN_INPUT_MEMORY_H_

#include "absl/container/inlined_vector.h"
#include "engine/record/window.h"
#include "fusion/plan/memory/blocks.h"

namespace sluice::engine {

using InputMemories = absl::InlinedVector<fusion::InputMemory, 16>;

// By input of the window: memory that only this window sees. No handle, alias or other pending work
// does, but for inputs that are views of one another. `pins`: how many there are of such an input.
// `memory`: empty before.
void find_overwritable(const Window& window, uint64_t pins, InputMemories* memory);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RUN_INPUT_MEMORY_H_
