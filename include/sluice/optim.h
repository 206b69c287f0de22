// Optimisers, schedules of learning rates, clipping of gradients, averages of parameters.
#ifndef SLUICE_OPTIM_H_
#define SLUICE_OPTIM_H_

#include <sluice/optim/gradients.h>
#include <sluice/optim/optimizer.h>
#include <sluice/optim/optimizers.h>
#include <sluice/optim/schedules.h>

#endif  // SLUICE_OPTIM_H_
