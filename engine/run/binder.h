// Gives the results of a window their memory.
#ifndef SLUICE_ENGINE_RUN_BINDER_H_
#define SLUICE_ENGINE_RUN_BINDER_H_

#include "engine/record/window.h"
#include "engine/run/batch.h"
#include "engine/run/plan_cache.h"
#include "runtime/backend.h"
#include "runtime/stream.h"

namespace sluice::engine {

// Fills in `batch`, which will be the next one on `stream`: inputs, scalars, and the memory of the
// results, where fusion/plan/memory/blocks.h puts them. Calls whose memory could not be allocated
// are skipped, and their outputs and the batch get the failure. Kernels are to run on `tier`.
void bind(const Window& window, const ReadyPlan& plan, kernels::Tier tier, Batch* batch,
          runtime::Backend* backend, runtime::Stream* stream);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RUN_BINDER_H_
