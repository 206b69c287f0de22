#include <sluice/control.h>

#include "engine/engine.h"

namespace sluice {

void flush() { engine::flush_all(); }
void sync() { engine::sync_all(); }

}  // namespace sluice
