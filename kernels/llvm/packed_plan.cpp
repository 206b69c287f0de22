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

bool fits_windows(const PackedPlan& plan, int row_stride) {
  for (int v = 0; v < plan.points; ++v) {
    if (window_of(plan, v, row_stride).vectors > kMaxWindowVectors) return false;
  }
  return true;
}

}  // namespace

Packing packing_of(const Program& program) {
  if (program.packed_rank == 0) return Packing::kNone;
  if (program.nontemporal || !fusion::moves_rows(program)) return Packing::kLanes;
  if (host().masked_vectors) return Packing::kRow;
  // Lanes of short elements are gathered one by one.
  const bool is_narrow =
      std::any_of(program.accesses.begin(), program.accesses.end(), [](const Access& access) {
        return access.buffer != fusion::kNoBuffer && size_of(access.dtype) < 4;
      });
  const bool needs_lanes =
      program.packed_rank > 1 || program.packed_points() < fusion::kMinMovedPoints;
  const bool suits_lanes =
      needs_lanes || (!is_narrow && program.packed_points() < fusion::kLongMovedRow);
  return fusion::fits_lanes(program) && suits_lanes ? Packing::kLanes : Packing::kNone;
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

Window window_of(const PackedPlan& plan, int v, int row_stride) {
  std::vector<int> elements;
  for (int lane = 0; lane < plan.lanes; ++lane) {
    elements.push_back(plan.row_of(v, lane) * row_stride + plan.column_of(v, lane));
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
  if (by_row) return;
  for (const ValueId id : both) {
    const Instr& instr = program.body[id];
    if (instr.op != Op::kLoad) continue;
    const Access& access = program.accesses[instr.aux];
    if (access.rows == StrideClass::kZero || !access.varies_in_row) continue;
    // A predicate that is the same in all rows holds for some column of every row, or for none: the
    // rows between the first and the last are then memory that may be read.
    const bool same_in_rows = instr.num_operands == 0 || !variation[instr.operands[0]].along_rows;
    const int stride = access.row_stride;
    if (stride != 0 && stride != points && same_in_rows && fits_windows(*this, stride)) {
      windows[id] = true;
      rows_before = std::max(rows_before, static_cast<int>(ceil_div(int64_t{points}, stride)));
      rows_after =
          std::max(rows_after, lanes + static_cast<int>(ceil_div(int64_t{points + lanes}, stride)));
    }
    interleaved[id] = access.rows == StrideClass::kUnit && stride == 0 && instr.num_operands == 0 &&
                      points <= kMaxInterleaved;
  }
}

}  // namespace sluice::kernels
