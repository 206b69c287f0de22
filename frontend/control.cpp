#include "sluice/frontend/control.h"

#include "sluice/engine/engine.h"

namespace sluice {

void flush() { engine::flush_all(); }
void sync() { engine::sync_all(); }

}  // namespace sluice
