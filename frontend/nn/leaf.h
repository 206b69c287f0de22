// A module's values as what gradients are taken of, and as values alone.
#ifndef SLUICE_FRONTEND_NN_LEAF_H_
#define SLUICE_FRONTEND_NN_LEAF_H_

#include <sluice/tensor.h>

namespace sluice::frontend {

inline Tensor leaf(const Tensor& x) { return x; }
inline Tensor detached(const Tensor& x) { return x; }

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_NN_LEAF_H_
