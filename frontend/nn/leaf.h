// A module's values as what gradients are taken of, and as values alone.
#ifndef SLUICE_FRONTEND_NN_LEAF_H_
#define SLUICE_FRONTEND_NN_LEAF_H_

#include <sluice/autograd.h>
#include <sluice/tensor.h>

namespace sluice::frontend {

// What has no gradient costs nothing here.
inline Tensor detached(const Tensor& x) { return x.needs_grad() ? stop_gradient(x) : x; }

// A leaf even of what is recorded under a NoGrad.
inline Tensor leaf(const Tensor& x) { return detached(x).requires_grad(); }

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_NN_LEAF_H_
