#include "kernels/llvm/packed_plan.h"

#include <algorithm>
#include <utility>

#include "fusion/ir/packed_rows.h"
#include "kernels/llvm/host.h"
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

bool fits_windows(const PackedPlan& plan, const Program& program, const Access& access) {
  for (int v = 0; v < plan.points; ++v) {
    if (window_of(plan, v, program, access).vectors > kMaxWindowVectors) return false;
  }
  return true;
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

}  // namespace

Packing packing_of(const Program& program) {
  if (program.packed_rank == 0) return Packing::kNone;
  const bool is_moved = fusion::moves_rows(program) ||
                        (!host().masked_vectors && fusion::gathers_short_rows(program));
  return program.nontemporal || !is_moved ? Packing::kLanes : Packing::kRow;
}

namespace {

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

}  // namespace

Window window_of(const PackedPlan& plan, int v, const Program& program, const Access& access) {
  std::vector<int> elements;
  for (int lane = 0; lane < plan.lanes; ++lane) {
    elements.push_back(plan.row_of(v, lane) * access.row_stride +
                       fusion::element_in_row(program, access, plan.column_of(v, lane)));
  }
  return window_around(std::move(elements), plan.lanes);
}

Window window_in_row(const PackedPlan& plan, int v, const Program& program, const Access& access) {
  std::vector<int> elements;
  for (int lane = 0; lane < plan.lanes; ++lane) {
    elements.push_back(fusion::element_in_row(program, access, plan.column_of(v, lane)));
  }
  return window_around(std::move(elements), plan.lanes);
}

PackedPlan::PackedPlan(const Program& program, const std::vector<ValueId>& instrs, int lanes)
    : by_row(packing_of(program) == Packing::kRow),
      overlaps(by_row && !host().masked_vectors && program.packed_points() % lanes != 0),
      lanes(lanes),
      points(program.packed_points()),
      vectors(by_row ? static_cast<int>(ceil_div(int64_t{points}, lanes)) : points),
      windows(program.body.size(), false),
      interleaved(program.body.size(), false) {
  const std::vector<fusion::Variation> variation = fusion::find_variation(program);
  for (const ValueId id : instrs) {
    const auto [along_rows, in_row] = variation[id];
    (along_rows ? in_row ? both : rows : in_row ? columns : run).push_back(id);
  }
  if (by_row) {
    if (!host().masked_vectors) find_whole_reads(program, variation);
    return;
  }
  for (const ValueId id : both) {
    const Instr& instr = program.body[id];
    if (instr.op != Op::kLoad) continue;
    const Access& access = program.accesses[instr.aux];
    if (access.rows == StrideClass::kZero) continue;
    const bool is_plain = instr.num_operands == 0;
    const bool is_consecutive = fusion::is_consecutive_in_row(program, access);
    interleaved[id] = access.rows == StrideClass::kUnit && !is_consecutive && is_plain &&
                      points <= kMaxInterleaved;
    if (interleaved[id]) continue;
    // A predicate that is the same in all rows holds for some column of every row, or for none: the
    // rows between the first and the last are then memory that may be read.
    const bool same_in_rows = is_plain || !variation[instr.operands[0]].along_rows;
    const int stride = access.row_stride;
    const bool is_whole = is_consecutive && stride == points;
    const bool is_gathered = !is_consecutive && host().masked_vectors;
    if (stride == 0 || is_whole || is_gathered || !same_in_rows) continue;
    if (!fits_windows(*this, program, access)) continue;
    windows[id] = true;
    const int span = span_of_row(*this, program, access);
    rows_before = std::max(rows_before, static_cast<int>(ceil_div(int64_t{span}, stride)));
    rows_after =
        std::max(rows_after, lanes + static_cast<int>(ceil_div(int64_t{span + lanes}, stride)));
  }
}

void PackedPlan::find_whole_reads(const Program& program,
                                  const std::vector<fusion::Variation>& variation) {
  for (const ValueId id : both) {
    const Instr& instr = program.body[id];
    const bool is_load = instr.op == Op::kLoad && instr.num_operands > 0;
    if (!is_load && instr.op != Op::kGather) continue;
    // The predicate of a load, or the distance that a roll chooses.
    const auto [along_rows, in_row] = variation[instr.operands[0]];
    const Access& access = program.accesses[instr.aux];
    if (along_rows || !in_row || access.row_stride == 0) continue;
    if (!fusion::is_consecutive_in_row(program, access)) continue;
    windows[id] = true;
    // A vector has a lane that is wanted, in this row.
    const auto rows = static_cast<int>(ceil_div(int64_t{lanes}, access.row_stride));
    rows_before = std::max(rows_before, rows);
    rows_after = std::max(rows_after, rows + 1);
  }
}

}  // namespace sluice::kernels
