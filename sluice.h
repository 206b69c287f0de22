// Sluice: a lazy, graph-fusing tensor engine. The one header for programs that use it.
#ifndef SLUICE_SLUICE_H_
#define SLUICE_SLUICE_H_

#include "sluice/engine/call_site.h"
#include "sluice/engine/config.h"
#include "sluice/engine/stats.h"
#include "sluice/engine/trace.h"
#include "sluice/frontend/control.h"
#include "sluice/frontend/creation.h"
#include "sluice/frontend/ops.h"
#include "sluice/frontend/tensor.h"

#endif  // SLUICE_SLUICE_H_
