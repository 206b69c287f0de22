// Every function that the expressions of fusion/ops.def name.
#ifndef SLUICE_KERNELS_MATH_FUNCTIONS_H_
#define SLUICE_KERNELS_MATH_FUNCTIONS_H_

#include "sluice/kernels/math/basic.h"
#include "sluice/kernels/math/cast.h"
#include "sluice/kernels/math/exp_log.h"
#include "sluice/kernels/math/pow.h"
#include "sluice/kernels/math/random.h"
#include "sluice/kernels/math/special.h"
#include "sluice/kernels/math/trig.h"

#endif  // SLUICE_KERNELS_MATH_FUNCTIONS_H_
