#include "fusion/ir/packed_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "fusion/ir/cost.h"

namespace sluice::fusion {

std::vector<Variation> find_variation(const Program& program) {
  std::vector<Variation> found(program.body.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const Instr& instr = program.body[i];
    Variation& own = found[i];
    for (int k = 0; k < instr.num_operands; ++k) {
      own.along_rows |= found[instr.operands[k]].along_rows;
      own.in_row |= found[instr.operands[k]].in_row;
    }
    if (!has_access(instr.op)) continue;
    const Access& access = program.accesses[instr.aux];
    own.along_rows |= access.rows != StrideClass::kZero;
    own.in_row |= access.varies_in_row;
  }
  return found;
}

int element_in_row(const Program& program, const Access& access, int point) {
  int element = 0;
  for (int d = program.packed_rank - 1; d >= 0; --d) {
    element += point % program.packed[d] * access.in_row[d];
    point /= program.packed[d];
  }
  return element;
}

bool is_consecutive_in_row(const Program& program, const Access& access) {
  if (!access.knows_row) return false;
  int inner = 1;
  for (int d = program.packed_rank - 1; d >= 0; --d) {
    if (access.in_row[d] != inner) return false;
    inner *= program.packed[d];
  }
  return true;
}

bool is_picked_in_row(const Program& program, const Access& access) {
  // As many elements as are read at a time, and how far apart these may lie.
  constexpr int kVectorBytes = 64, kMaxSpanBytes = 4 * kVectorBytes;
  if (!access.knows_row || is_consecutive_in_row(program, access)) return false;
  const int size = static_cast<int>(size_of(access.dtype));
  const int points = program.packed_points();
  for (int first = 0; first < points; first += kVectorBytes / size) {
    int least = element_in_row(program, access, first), greatest = least;
    for (int k = first; k < std::min(first + kVectorBytes / size, points); ++k) {
      least = std::min(least, element_in_row(program, access, k));
      greatest = std::max(greatest, element_in_row(program, access, k));
    }
    if ((greatest - least + 1) * size > kMaxSpanBytes) return false;
  }
  return true;
}

std::optional<ConditionParts> parts_of_condition(const Program& program,
                                                 const std::vector<Variation>& variation,
                                                 ValueId condition) {
  if (!variation[condition].along_rows) return ConditionParts{kNoValue, condition};
  if (!variation[condition].in_row) return ConditionParts{condition, kNoValue};
  const Instr& instr = program.body[condition];
  if (instr.op != Op::kLogicalAnd) return std::nullopt;
  const bool is_row_first = !variation[instr.operands[0]].in_row;
  const ValueId of_row = instr.operands[is_row_first ? 0 : 1];
  const ValueId of_points = instr.operands[is_row_first ? 1 : 0];
  if (variation[of_row].in_row || variation[of_points].along_rows) return std::nullopt;
  return ConditionParts{of_row, of_points};
}

std::optional<ValueId> chooser_of(const Program& program, const std::vector<Variation>& variation,
                                  ValueId index) {
  const Instr& instr = program.body[index];
  const auto varies = [&](int operand) { return variation[instr.operands[operand]].in_row; };
  if (instr.op == Op::kWhere) {
    const bool chooses = !varies(1) && !varies(2) && !variation[instr.operands[0]].along_rows;
    return chooses ? std::optional(instr.operands[0]) : std::nullopt;
  }
  if (instr.op != Op::kAdd || varies(0) == varies(1)) return std::nullopt;
  return chooser_of(program, variation, instr.operands[varies(0) ? 0 : 1]);
}

std::vector<ValueId> parts_of_interval(const Program& program,
                                       const std::vector<Variation>& variation, ValueId condition) {
  std::vector<bool> is_part(program.body.size(), false);
  is_part[condition] = true;
  std::vector<ValueId> parts;
  for (size_t count = condition + 1; count > 0; --count) {
    const ValueId id = static_cast<ValueId>(count - 1);
    if (!is_part[id] || !variation[id].along_rows) continue;
    const Instr& instr = program.body[id];
    const bool is_condition =
        instr.op == Op::kLogicalAnd || instr.op == Op::kLess || instr.op == Op::kLessEqual;
    const int varying = static_cast<int>(
        std::count_if(instr.operands, instr.operands + instr.num_operands,
                      [&](ValueId operand) { return variation[operand].along_rows; }));
    const bool is_linear = instr.op == Op::kCoordinate || instr.op == Op::kAdd;
    if (!is_condition && !is_linear) return {};
    if (instr.op != Op::kLogicalAnd && varying > 1) return {};
    for (int k = 0; k < instr.num_operands; ++k) is_part[instr.operands[k]] = true;
    parts.push_back(id);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

namespace {

enum class Reading : uint8_t { kNone, kLoaded, kOther };

// By access: whether all that happens to it is loads, if under predicates then of
// parts_of_condition() that vary in the row.
std::vector<Reading> find_readings(const Program& program,
                                   const std::vector<Variation>& variation) {
  std::vector<Reading> readings(program.accesses.size(), Reading::kNone);
  for (const Instr& instr : program.body) {
    if (!has_access(instr.op)) continue;
    bool is_plain = instr.op == Op::kLoad;
    if (is_plain && instr.num_operands > 0) {
      const auto parts = parts_of_condition(program, variation, instr.operands[0]);
      is_plain = parts && parts->of_points != kNoValue;
    }
    Reading& own = readings[instr.aux];
    own = is_plain && own != Reading::kOther ? Reading::kLoaded : Reading::kOther;
  }
  for (const Store& store : program.stores) readings[store.access] = Reading::kOther;
  return readings;
}

// What is done to rows that are moved.
struct Movement {
  bool chooses = false;          // which, or some of them
  bool computes = false;         // anything but loads
  bool computes_points = false;  // likewise, at each point
  bool gathers = false;          // lanes, if rows share vectors
  bool gathers_rows = false;     // likewise, since an index says which rows or they are far apart
  bool gathers_narrow = false;   // short elements
};

std::optional<Movement> find_movement(const Program& program) {
  constexpr size_t kMaxInstrs = 64;
  constexpr int kNearRows = 4;  // as far apart as so many of their points
  const int points = program.packed_points();
  if (program.body.size() > kMaxInstrs) return std::nullopt;
  const std::vector<Variation> variation = find_variation(program);
  Movement found;
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    if (is_costly(instr.op)) return std::nullopt;
    const bool varies_at_points = variation[i].along_rows && variation[i].in_row;
    found.computes |= instr.op != Op::kLoad;
    found.computes_points |= varies_at_points && instr.op != Op::kLoad && instr.op != Op::kGather;
    if (instr.op == Op::kLoad && instr.num_operands > 0) found.chooses = true;
    if (instr.op != Op::kGather) continue;
    if (variation[instr.operands[0]].in_row) {
      const bool has_predicate = instr.operands[1] != kNoValue;
      if (has_predicate || !chooser_of(program, variation, instr.operands[0])) return std::nullopt;
      found.gathers = true;
    } else {
      found.gathers_rows = true;
    }
    found.chooses = true;
    found.gathers_narrow |= size_of(instr.dtype) < 4;
  }
  const std::vector<Reading> readings = find_readings(program, variation);
  for (size_t a = 0; a < readings.size(); ++a) {
    const Access& access = program.accesses[a];
    if (access.buffer == kNoBuffer || !access.varies_in_row) continue;
    found.gathers |= access.rows != StrideClass::kZero && access.row_stride == 0;
    const bool is_near =
        access.row_stride != 0 && std::abs(access.row_stride) <= kNearRows * points;
    found.gathers_rows |= access.rows != StrideClass::kZero && !is_near;
    if (is_consecutive_in_row(program, access)) continue;
    if (readings[a] != Reading::kLoaded || !is_picked_in_row(program, access)) return std::nullopt;
    found.gathers = true;
  }
  return found;
}

}  // namespace

bool moves_rows(const Program& program) {
  const int points = program.packed_points();
  const std::optional<Movement> found = find_movement(program);
  if (!found) return false;
  if (points >= (found->gathers_rows || found->gathers ? kMinMovedPoints : kMinPickedPoints) &&
      (found->chooses || found->gathers)) {
    return true;
  }
  if (found->chooses) return found->gathers_narrow;
  return !found->computes && points >= (found->gathers ? kMinPickedPoints : kMinMovedPoints);
}

bool gathers_short_rows(const Program& program) {
  const std::optional<Movement> found = find_movement(program);
  return found && program.packed_points() < kMinMovedPoints && !found->computes_points &&
         found->gathers_rows;
}

bool picks_in_row(const Program& program) {
  return moves_rows(program) &&
         std::any_of(program.accesses.begin(), program.accesses.end(), [&](const Access& access) {
           return access.buffer != kNoBuffer && access.varies_in_row &&
                  !is_consecutive_in_row(program, access);
         });
}

bool picks_under_condition(const Program& program) {
  const int points = program.packed_points();
  return points <= kMaxPickedPoints && moves_rows(program) &&
         std::any_of(program.body.begin(), program.body.end(), [&](const Instr& instr) {
           if (instr.op != Op::kLoad || instr.num_operands == 0) return false;
           const Access& access = program.accesses[instr.aux];
           return is_picked_in_row(program, access) &&
                  points * static_cast<int64_t>(size_of(access.dtype)) <= kMaxPickedBytes;
         });
}

bool fits_lanes(const Program& program) {
  // Instructions; lanes of a gather that are read one by one are as many as these.
  constexpr size_t kMaxCode = 512, kGather = 9;
  const int points = program.packed_points();
  const std::vector<Variation> variation = find_variation(program);
  size_t code = program.body.size() + program.stores.size();
  for (const Instr& instr : program.body) {
    if (instr.op == Op::kGather && variation[instr.operands[0]].in_row) code += kGather;
  }
  int long_code = 0;
  for (const Instr& instr : program.body) long_code += long_code_of(instr.op, instr.dtype);
  return points <= kMaxPackedPoints && points * code <= kMaxCode &&
         points * long_code <= kMaxWeight;
}

}  // namespace sluice::fusion
