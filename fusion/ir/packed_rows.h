// Which packed programs (Program::packed) a kernel may take in which way.
#ifndef SLUICE_FUSION_IR_PACKED_ROWS_H_
#define SLUICE_FUSION_IR_PACKED_ROWS_H_

#include <vector>

#include "fusion/ir/program.h"

namespace sluice::fusion {

// Rows of more points waste few lanes of their last vector, unless rows are only moved.
inline constexpr int kMaxPackedPoints = 40, kMaxMovedPoints = 128;
// Of fewer points several rows in a vector are as few instructions as each for itself, unless lanes
// are gathered one by one.
inline constexpr int kMinMovedPoints = 8;

// By value of a packed program: where it varies.
struct Variation {
  bool along_rows = false, in_row = false;
};
std::vector<Variation> find_variation(const Program& program);

// Of an access of a packed program that varies in the row.
bool is_consecutive_in_row(const Program& program, const Access& access);

// Whether the rows of a packed program are moved, some of them under bounds or from where
// an index says that is the same for the whole row: a kernel may take each by itself.
bool moves_rows(const Program& program);

// Whether a kernel may take several rows in a vector. It emits the body twice for each point.
bool fits_lanes(const Program& program);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_IR_PACKED_ROWS_H_
