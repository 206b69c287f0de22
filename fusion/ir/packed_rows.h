// Which packed programs (Program::packed) a kernel may take in which way.
#ifndef SLUICE_FUSION_IR_PACKED_ROWS_H_
#define SLUICE_FUSION_IR_PACKED_ROWS_H_

#include <optional>
#include <vector>

#include "fusion/ir/program.h"

namespace sluice::fusion {

// Rows of more points waste few lanes of their last vector, unless rows are only moved.
inline constexpr int64_t kMaxPackedPoints = 40, kMaxMovedPoints = 128;
// Small images under bounds, of which each line would waste lanes. More vectors of one row are too
// long to compile.
inline constexpr int64_t kMaxPickedPoints = 600, kMaxPickedBytes = 4 * kMaxPickedPoints;
// Rows of so many points need not be many along one dim.
inline constexpr int64_t kLongMovedRow = 32;
// Of fewer points several rows in a vector are as few instructions as each for itself, unless lanes
// are gathered one by one.
inline constexpr int kMinMovedPoints = 8, kMinPickedPoints = 4;

// By value of a packed program: where it varies.
struct Variation {
  bool along_rows = false, in_row = false;
};
std::vector<Variation> find_variation(const Program& program);

// Of an access of a packed program that varies in the row.
bool is_consecutive_in_row(const Program& program, const Access& access);

// Likewise: whether what the row reads lies so close together that it is best picked from whole
// vectors, as of a flipped row, one of repeated elements, or one with short dims exchanged.
bool is_picked_in_row(const Program& program, const Access& access);

// Whether some access is picked, of a program whose rows are moved; and whether under a condition.
bool picks_in_row(const Program& program);
bool picks_under_condition(const Program& program);

// The element of the row at a point of it, of an access whose strides in the row are known.
int element_in_row(const Program& program, const Access& access, int point);

// Of a condition: what of it varies along the rows only, and what in the row only. kNoValue:
// nothing.
struct ConditionParts {
  ValueId of_row = kNoValue, of_points = kNoValue;
};
// Nothing of a condition that is not made of two such parts at most.
std::optional<ConditionParts> parts_of_condition(const Program& program,
                                                 const std::vector<Variation>& variation,
                                                 ValueId condition);

// Of an index: the condition that says which of two distances, each the same for the whole row, is
// in it at a point, as a roll's does.
std::optional<ValueId> chooser_of(const Program& program, const std::vector<Variation>& variation,
                                  ValueId index);

// Of a condition that varies along the rows and, where it holds in two of them, holds in all
// between (an index compared with bounds): what it is made of that varies, in body order. Else
// nothing.
std::vector<ValueId> parts_of_interval(const Program& program,
                                       const std::vector<Variation>& variation, ValueId condition);

// Whether the rows of a packed program are moved, as they are or some of them under bounds, from
// where an index says that is the same for the whole row, or rolled: a kernel may take each by
// itself.
bool moves_rows(const Program& program);

// Whether rows are of fewer points than moves_rows() is for, yet each would be best taken by itself
// if lanes had to be gathered one by one.
bool gathers_short_rows(const Program& program);

// Whether a kernel may take several rows in a vector. It emits the body twice for each point.
bool fits_lanes(const Program& program);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_IR_PACKED_ROWS_H_
