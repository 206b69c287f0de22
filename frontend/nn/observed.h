// What layers tell summary() of the tensors that they make.
#ifndef SLUICE_FRONTEND_NN_OBSERVED_H_
#define SLUICE_FRONTEND_NN_OBSERVED_H_

#include <map>
#include <utility>

#include <sluice/nn/module.h>

namespace sluice::frontend {

using ObservedShapes = std::map<const nn::Module*, Shape>;

// Where this thread's shapes go; null: nowhere.
inline thread_local ObservedShapes* observed_shapes = nullptr;

inline Tensor observed(const nn::Module& layer, Tensor result) {
  if (observed_shapes != nullptr) (*observed_shapes)[&layer] = result.shape();
  return result;
}

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_NN_OBSERVED_H_
