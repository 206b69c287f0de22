// Every function that the expressions of fusion/ir/ops.def name, and their forms for float16.
#ifndef SLUICE_KERNELS_MATH_FUNCTIONS_H_
#define SLUICE_KERNELS_MATH_FUNCTIONS_H_

#include "kernels/math/basic.h"
#include "kernels/math/cast.h"
#include "kernels/math/division.h"
#include "kernels/math/exp_log.h"
#include "kernels/math/float16.h"
#include "kernels/math/hyperbolic.h"
#include "kernels/math/inverse_trig.h"
#include "kernels/math/pow.h"
#include "kernels/math/random.h"
#include "kernels/math/special.h"
#include "kernels/math/trig.h"

#endif  // SLUICE_KERNELS_MATH_FUNCTIONS_H_
