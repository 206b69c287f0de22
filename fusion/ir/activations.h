// The ops that libraries apply as epilogues.
#ifndef SLUICE_FUSION_IR_ACTIVATIONS_H_
#define SLUICE_FUSION_IR_ACTIVATIONS_H_

#include <algorithm>
#include <iterator>

#include "fusion/ir/op.h"

namespace sluice::fusion {

inline constexpr Op kActivations[] = {
#define SLUICE_ACTIVATION(id) Op::k##id,
#include "fusion/ir/activations.def"
};

inline bool is_activation(Op op) {
  return std::find(std::begin(kActivations), std::end(kActivations), op) != std::end(kActivations);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_IR_ACTIVATIONS_H_
