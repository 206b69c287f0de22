// Sluice: a lazy, graph-fusing tensor engine. The one header for programs that use it.
#ifndef SLUICE_SLUICE_H_
#define SLUICE_SLUICE_H_

#include <sluice/autograd.h>
#include <sluice/config.h>
#include <sluice/control.h>
#include <sluice/creation.h>
#include <sluice/data.h>
#include <sluice/dtype_info.h>
#include <sluice/external.h>
#include <sluice/files.h>
#include <sluice/linalg.h>
#include <sluice/map.h>
#include <sluice/nn.h>
#include <sluice/ops.h>
#include <sluice/optim.h>
#include <sluice/print.h>
#include <sluice/random.h>
#include <sluice/registry.h>
#include <sluice/scope.h>
#include <sluice/stats.h>
#include <sluice/tensor.h>
#include <sluice/trace.h>

#endif  // SLUICE_SLUICE_H_
