// Bools that a program only moves.
#ifndef SLUICE_FUSION_LOWER_MOVED_BOOLS_H_
#define SLUICE_FUSION_LOWER_MOVED_BOOLS_H_

#include "fusion/ir/program.h"

namespace sluice::fusion {

// If all bools that `program` loads or stores are only loaded, selected and stored, makes them
// bytes: a bool is a bit of a mask in registers, and there would be nothing but conversions. The
// program is then also that of other moved bytes.
void move_bools_as_bytes(Program* program);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_MOVED_BOOLS_H_
