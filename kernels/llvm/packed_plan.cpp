#include "kernels/llvm/packed_plan.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "fusion/ir/packed_rows.h"
#include "kernels/llvm/host.h"
#include "kernels/llvm/rows/row_plan.h"
#include "runtime/integers.h"

namespace sluice::kernels {
namespace {

using fusion::Access;
using fusion::Instr;
using fusion::Op;
using fusion::Program;
using fusion::StrideClass;
using fusion::ValueId;

// More loads and shuffles than this cost as much as reading lane by lane.
constexpr int kMaxWindowVectors = 4;
constexpr int kMaxInterleaved = 8;

Window window_around(std::vector<int> elements, int lanes) {
  Window window;
  window.elements = std::move(elements);
  const auto [least, greatest] =
      std::minmax_element(window.elements.begin(), window.elements.end());
  window.first = *least;
  window.last = *greatest;
  window.vectors = static_cast<int>(ceil_div(int64_t{*greatest - *least + 1}, lanes));
  return window;
}

// Of a block of as many rows as a vector has lanes.
Window window_of_block(int v, int lanes, const Program& program, const Access& access) {
  const int points = program.packed_points();
  std::vector<int> elements;
  for (int lane = 0; lane < lanes; ++lane) {
    const int point = v * lanes + lane;
    elements.push_back(point / points * access.row_stride +
                       fusion::element_in_row(program, access, point % points));
  }
  return window_around(std::move(elements), lanes);
}

bool fits_windows(int lanes, const Program& program, const Access& access) {
  for (int v = 0; v < program.packed_points(); ++v) {
    if (window_of_block(v, lanes, program, access).vectors > kMaxWindowVectors) return false;
  }
  return true;
}

// A gather whose lanes each take one of two distances, which one the same in all rows.
bool is_rolled(const Program& program, const std::vector<fusion::Variation>& variation,
               const Instr& gather) {
  const ValueId index = gather.operands[0];
  return gather.operands[1] == fusion::kNoValue && variation[index].in_row &&
         !variation[index].along_rows && fusion::chooser_of(program, variation, index);
}

// A gather of rows of consecutive elements, of which a vector has several, from where an index
// says.
bool takes_whole_rows(const Program& program, const std::vector<fusion::Variation>& variation,
                      const Instr& instr) {
  const int most_bytes = host().vector_bytes / 2;
  const int points = program.packed_points();
  if (instr.op != Op::kGather || instr.operands[1] != fusion::kNoValue) return false;
  const auto [along_rows, in_row] = variation[instr.operands[0]];
  const int bytes = points * static_cast<int>(size_of(instr.dtype));
  return along_rows && !in_row && std::has_single_bit(static_cast<unsigned>(points)) &&
         bytes <= most_bytes && fusion::is_consecutive_in_row(program, program.accesses[instr.aux]);
}

// From the first element of a row to its last, whichever comes first.
int span_of_row(const PackedPlan& plan, const Program& program, const Access& access) {
  int least = 0, greatest = 0;
  for (int point = 0; point < plan.points; ++point) {
    const int element = fusion::element_in_row(program, access, point);
    least = std::min(least, element);
    greatest = std::max(greatest, element);
  }
  return greatest - least + 1;
}

int widest_moved(const Program& program) {
  int widest = 1;
  const bool moves = moves_halves(program);
  for (const Access& access : program.accesses) {
    if (access.buffer == fusion::kNoBuffer || !access.varies_in_row) continue;
    const DType dtype = moves ? access.dtype : compute_type(access.dtype);
    widest = std::max(widest, static_cast<int>(size_of(dtype)));
  }
  return widest;
}

// Whether a condition has a part of the points, and one of the rows, which holds in all of them
// between two in which it holds: worth knowing of long runs, and where masks are free.
bool has_interval(const Program& program, const std::vector<fusion::Variation>& variation,
                  ValueId condition) {
  const std::optional<fusion::ConditionParts> parts =
      fusion::parts_of_condition(program, variation, condition);
  return host().masked_vectors && !program.short_runs && parts &&
         parts->of_row != fusion::kNoValue && parts->of_points != fusion::kNoValue &&
         !fusion::parts_of_interval(program, variation, parts->of_row).empty();
}

bool reads_near_rows(int lanes, const Program& program, const Access& access) {
  return access.row_stride != 0 && fits_windows(lanes, program, access);
}

// Whether lanes of several rows would be gathered, though elements are consecutive in a row: of one
// row that a run has for all of its own, which is short, often, or of rows that lie far apart.
// Short rows that are stored one by one would not bypass the caches.
bool gathers_lanes(const Program& program) {
  const int lanes = lanes_of_moved(program);
  const int few_points = program.nontemporal ? lanes : 7;
  constexpr int kRegisters = 28;  // of 32, some are for other things
  if (program.packed_points() <= few_points) return false;
  bool gathers = false;
  for (const Instr& instr : program.body) {
    // What is under bounds or picked is for moves_rows() to decide.
    if (instr.op == Op::kGather || (instr.op == Op::kLoad && instr.num_operands > 0)) return false;
    if (instr.op != Op::kLoad) continue;
    const Access& access = program.accesses[instr.aux];
    // Of what is the same in all rows vectors are made once, if the registers hold so many.
    const bool varies = access.rows != StrideClass::kZero || program.packed_row_dim() > 0 ||
                        (host().masked_vectors && program.packed_points() > kRegisters &&
                         size_of(access.dtype) >= 4);
    gathers |= varies && access.varies_in_row && fusion::is_consecutive_in_row(program, access) &&
               !reads_near_rows(lanes, program, access);
  }
  return gathers;
}

}  // namespace

bool reads_windows(const Program& program) {
  const int lanes = lanes_of_moved(program);
  const std::vector<fusion::Variation> variation = fusion::find_variation(program);
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    if (!variation[i].along_rows || !variation[i].in_row) continue;
    if (instr.op == Op::kCoordinate) return false;
    if (instr.op != Op::kLoad && instr.op != Op::kGather) continue;
    if (!reads_near_rows(lanes, program, program.accesses[instr.aux])) return false;
    if (instr.op == Op::kGather && !is_rolled(program, variation, instr)) return false;
    const bool is_guarded = instr.op == Op::kLoad && instr.num_operands > 0;
    if (is_guarded && variation[instr.operands[0]].along_rows &&
        !has_interval(program, variation, instr.operands[0])) {
      return false;
    }
  }
  return std::all_of(program.stores.begin(), program.stores.end(), [&](const fusion::Store& store) {
    const Access& access = program.accesses[store.access];
    return access.row_stride == program.packed_points() &&
           fusion::is_consecutive_in_row(program, access);
  });
}

namespace {

// Whether rows are read from one place, and in another order only where a vector has several.
bool reads_one_window(const Program& program) {
  const std::vector<fusion::Variation> variation = fusion::find_variation(program);
  int reads = 0;
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    if (!variation[i].along_rows || !variation[i].in_row) continue;
    if (instr.op != Op::kLoad && instr.op != Op::kGather) continue;
    ++reads;
    if (program.packed_points() > lanes_of_moved(program) &&
        !fusion::is_consecutive_in_row(program, program.accesses[instr.aux])) {
      return false;
    }
  }
  return reads == 1;
}

bool packs_several(const Program& program) {
  const int bytes = program.packed_points() * widest_moved(program);
  // Where masks are free, other rows are better taken one by one.
  return bytes < 2 * host().vector_bytes && fusion::fits_lanes(program) && reads_windows(program) &&
         (!host().masked_vectors || reads_one_window(program) ||
          program.packed_points() < lanes_of_moved(program));
}

// Whether rows, unless they are very short, lie apart or on one another: not all is read as whole
// vectors then.
bool has_gaps(const Program& program) {
  constexpr int kFewPoints = 8;
  const int points = program.packed_points();
  return points >= kFewPoints &&
         std::any_of(program.accesses.begin(), program.accesses.end(), [&](const Access& access) {
           return access.buffer != fusion::kNoBuffer && access.varies_in_row &&
                  access.rows != StrideClass::kZero && access.row_stride != points;
         });
}

}  // namespace

bool moves_whole_rows(const Program& program) {
  const std::vector<fusion::Variation> variation = fusion::find_variation(program);
  bool takes = false;
  for (size_t i = 0; i < program.body.size(); ++i) {
    if (!variation[i].along_rows || !variation[i].in_row) continue;
    if (!takes_whole_rows(program, variation, program.body[i])) return false;
    takes = true;
  }
  return takes && fusion::fits_lanes(program);
}

int lanes_of_whole_rows(const Program& program) {
  return host().vector_bytes / widest_moved(program);
}

int lanes_of_moved(const Program& program) {
  // Shuffles of bytes stay within 16 of them.
  constexpr int kMostLanes = 16;
  return std::min(kMostLanes, host().vector_bytes / widest_moved(program));
}

Packing packing_of(const Program& program) {
  if (program.packed_rank == 0) return Packing::kNone;
  const bool is_moved = fusion::moves_rows(program) || fusion::gathers_short_rows(program);
  // Without masks lanes are gathered at the ends of a run, which take most of the time of a few
  // rows.
  const bool has_ends = program.short_runs && !host().masked_vectors;
  if (has_ends && !is_moved && has_gaps(program)) return Packing::kNone;
  if (gathers_lanes(program)) return Packing::kRow;
  const bool shares = program.nontemporal || !is_moved || moves_whole_rows(program) ||
                      (packs_several(program) && !has_ends);
  return shares ? Packing::kLanes : Packing::kRow;
}

Window window_of(const PackedPlan& plan, int v, const Program& program, const Access& access) {
  return window_of_block(v, plan.lanes, program, access);
}

Window window_in_row(const PackedPlan& plan, int v, const Program& program, const Access& access) {
  std::vector<int> elements;
  for (int lane = 0; lane < plan.lanes; ++lane) {
    elements.push_back(fusion::element_in_row(program, access, plan.column_of(v, lane)));
  }
  return window_around(std::move(elements), plan.lanes);
}

PackedPlan::Reach PackedPlan::reach_of(const Program& program, const Access& access) const {
  Reach reach{0, first_of(vectors - 1) + lanes};
  if (fusion::is_consecutive_in_row(program, access)) return reach;
  int end = 0;
  for (int v = 0; v < vectors; ++v) {
    const Window window = window_in_row(*this, v, program, access);
    reach.first = std::min(reach.first, window.first);
    end = std::max(end, window.first + window.vectors * lanes);
  }
  reach.count = end - reach.first;
  return reach;
}

PackedPlan::PackedPlan(const Program& program, const std::vector<ValueId>& instrs, int lanes)
    : by_row(packing_of(program) == Packing::kRow),
      overlaps(by_row && !host().masked_vectors && program.packed_points() % lanes != 0),
      lanes(lanes),
      points(program.packed_points()),
      vectors(by_row ? static_cast<int>(ceil_div(int64_t{points}, lanes)) : points),
      windows(program.body.size(), false),
      conditions(program.body.size(), fusion::kNoValue),
      chosen(program.body.size(), false),
      whole_rows(program.body.size(), false),
      interleaved(program.body.size(), false) {
  const std::vector<fusion::Variation> variation = fusion::find_variation(program);
  for (const ValueId id : instrs) {
    const auto [along_rows, in_row] = variation[id];
    (along_rows ? in_row ? both : rows : in_row ? columns : run).push_back(id);
  }
  find_chosen(program);
  const std::vector<ValueId> in_row_part = find_row_condition(program, variation);
  if (by_row) {
    find_whole_reads(program, variation, in_row_part);
    return;
  }
  for (const ValueId id : both) {
    const Instr& instr = program.body[id];
    whole_rows[id] = points < lanes && takes_whole_rows(program, variation, instr);
    const bool rolls = instr.op == Op::kGather && is_rolled(program, variation, instr);
    if (instr.op != Op::kLoad && !rolls) continue;
    const Access& access = program.accesses[instr.aux];
    if (access.rows == StrideClass::kZero) continue;
    const bool is_plain = instr.op == Op::kLoad && instr.num_operands == 0;
    const bool is_consecutive = fusion::is_consecutive_in_row(program, access);
    interleaved[id] = access.rows == StrideClass::kUnit && !is_consecutive && is_plain &&
                      points <= kMaxInterleaved;
    if (interleaved[id]) continue;
    // A predicate that is the same in all rows holds for some column of every row, or for none: the
    // rows between the first and the last are then memory that may be read.
    ValueId condition = is_plain || rolls ? fusion::kNoValue : instr.operands[0];
    if (condition != fusion::kNoValue && in_row_part[condition] != fusion::kNoValue) {
      condition = in_row_part[condition];
    }
    const bool same_in_rows = condition == fusion::kNoValue || !variation[condition].along_rows;
    const int stride = access.row_stride;
    const bool is_whole = is_consecutive && stride == points && !rolls;
    if (stride == 0 || is_whole || !same_in_rows) continue;
    if (!fits_windows(lanes, program, access)) continue;
    windows[id] = true;
    if (rolls) {
      conditions[id] = *fusion::chooser_of(program, variation, instr.operands[0]);
    } else if (!is_plain) {
      conditions[id] = condition;
    }
    const int span = span_of_row(*this, program, access);
    // Whole vectors go on behind the last element.
    const int64_t apart = std::abs(stride);
    int near = static_cast<int>(ceil_div(int64_t{span}, apart)),
        far = static_cast<int>(ceil_div(int64_t{span + lanes}, apart));
    if (stride < 0) std::swap(near, far);
    rows_before = std::max(rows_before, near);
    rows_after = std::max(rows_after, lanes + far);
  }
}

void PackedPlan::find_chosen(const Program& program) {
  std::vector<bool> otherwise(program.body.size(), false);
  for (const fusion::Store& store : program.stores) otherwise[store.value] = true;
  for (const Instr& instr : program.body) {
    for (int k = 0; k < instr.num_operands; ++k) {
      const ValueId id = instr.operands[k];
      const Instr& read = program.body[id];
      const bool is_guarded = read.op == Op::kLoad && read.num_operands > 0;
      if (!is_guarded) continue;
      const bool chooses =
          instr.op == Op::kWhere && k == 1 && instr.operands[0] == read.operands[0];
      (chooses ? chosen : otherwise)[id] = true;
    }
  }
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = chosen[i] && !otherwise[i];
}

std::vector<ValueId> PackedPlan::find_row_condition(
    const Program& program, const std::vector<fusion::Variation>& variation) {
  std::vector<ValueId> in_row_part(program.body.size(), fusion::kNoValue);
  for (const ValueId id : both) {
    if (program.body[id].op != Op::kLogicalAnd) continue;
    if (!by_row && (program.nontemporal || !has_interval(program, variation, id))) continue;
    const std::optional<fusion::ConditionParts> parts =
        fusion::parts_of_condition(program, variation, id);
    if (!parts || (row_condition && *row_condition != parts->of_row)) continue;
    row_condition = parts->of_row;
    in_row_part[id] = parts->of_points;
  }
  if (row_condition) row_bounds = fusion::parts_of_interval(program, variation, *row_condition);
  return in_row_part;
}

void PackedPlan::find_whole_reads(const Program& program,
                                  const std::vector<fusion::Variation>& variation,
                                  const std::vector<ValueId>& in_row_part) {
  for (const ValueId id : both) {
    const Instr& instr = program.body[id];
    const bool is_load = instr.op == Op::kLoad && instr.num_operands > 0;
    if (!is_load && instr.op != Op::kGather) continue;
    const Access& access = program.accesses[instr.aux];
    const bool is_picked = is_load && fusion::is_picked_in_row(program, access);
    if (!is_picked && !fusion::is_consecutive_in_row(program, access)) continue;
    ValueId condition = instr.operands[0];
    if (!is_load) {
      if (!is_rolled(program, variation, instr)) continue;
      condition = *fusion::chooser_of(program, variation, condition);
    }
    if (in_row_part[condition] != fusion::kNoValue) condition = in_row_part[condition];
    if (variation[condition].along_rows || !variation[condition].in_row) continue;
    windows[id] = true;
    conditions[id] = condition;
  }
}

}  // namespace sluice::kernels
