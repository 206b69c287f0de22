// Inputs of the fused programs.
#ifndef SLUICE_WORKLOADS_INPUTS_H_
#define SLUICE_WORKLOADS_INPUTS_H_

#include <functional>
#include <utility>
#include <vector>

#include "workloads/fused_programs.h"

namespace sluice::workloads {

// The shape of an input at either size.
struct Extents {
  Shape small, large;
  const Shape& at(Size size) const { return size == Size::kSmall ? small : large; }
};

using MakeInputs = std::function<Tensors(Size)>;

// Wraps `make`: seeds the random numbers and computes the inputs.
inline MakeInputs seeded(MakeInputs make) {
  return [make = std::move(make)](Size size) {
    manual_seed(7);
    Tensors inputs = make(size);
    sync();
    return inputs;
  };
}

// Inputs of a standard normal distribution.
inline MakeInputs normal(std::vector<Extents> extents) {
  return seeded([extents = std::move(extents)](Size size) {
    Tensors inputs;
    for (const Extents& e : extents) inputs.push_back(randn(e.at(size)));
    return inputs;
  });
}

inline Tensor uniform(float low, float high, const Shape& shape) {
  return rand(shape) * (high - low) + low;
}

}  // namespace sluice::workloads

#endif  // SLUICE_WORKLOADS_INPUTS_H_
