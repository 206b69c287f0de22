// What the trace keeps of a window; trace.h is how programs see it.
#ifndef SLUICE_ENGINE_RECORDER_H_
#define SLUICE_ENGINE_RECORDER_H_

#include "sluice/engine/plan_cache.h"
#include "sluice/engine/queue.h"
#include "sluice/engine/window.h"

namespace sluice::engine {

// True between trace::start() and trace::stop().
bool is_recording();

void record_window(FlushCause cause, const Window& window, const ReadyPlan& plan, bool plan_hit);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORDER_H_
