#include "kernels/llvm/packed_plan.h"

#include <algorithm>

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

bool reads(const Instr& instr) {
  return instr.op == Op::kLoad || instr.op == Op::kGather || instr.op == Op::kCoordinate;
}

bool fits_windows(const PackedPlan& plan, int row_stride) {
  for (int v = 0; v < plan.points; ++v) {
    if (window_of(plan, v, row_stride).vectors > kMaxWindowVectors) return false;
  }
  return true;
}

}  // namespace

Window window_of(const PackedPlan& plan, int v, int row_stride) {
  Window window;
  for (int lane = 0; lane < plan.lanes; ++lane) {
    window.elements.push_back(plan.row_of(v, lane) * row_stride + plan.column_of(v, lane));
  }
  const auto [least, greatest] =
      std::minmax_element(window.elements.begin(), window.elements.end());
  window.first = *least;
  window.vectors = static_cast<int>(ceil_div(int64_t{*greatest - *least + 1}, plan.lanes));
  return window;
}

PackedPlan::PackedPlan(const Program& program, const std::vector<ValueId>& instrs, int lanes)
    : lanes(lanes),
      points(program.packed_points()),
      windows(program.body.size(), false),
      interleaved(program.body.size(), false) {
  std::vector<bool> along_rows(program.body.size(), false);
  std::vector<bool> in_row(program.body.size(), false);
  for (const ValueId id : instrs) {
    const Instr& instr = program.body[id];
    for (int k = 0; k < instr.num_operands; ++k) {
      along_rows[id] = along_rows[id] || along_rows[instr.operands[k]];
      in_row[id] = in_row[id] || in_row[instr.operands[k]];
    }
    if (reads(instr)) {
      const Access& access = program.accesses[instr.aux];
      along_rows[id] = along_rows[id] || access.rows != StrideClass::kZero;
      in_row[id] = in_row[id] || access.varies_in_row;
    }
    (along_rows[id] ? in_row[id] ? both : rows : in_row[id] ? columns : run).push_back(id);
  }
  for (const ValueId id : both) {
    const Instr& instr = program.body[id];
    if (instr.op != Op::kLoad) continue;
    const Access& access = program.accesses[instr.aux];
    if (access.rows == StrideClass::kZero || !access.varies_in_row) continue;
    // A predicate that is the same in all rows holds for some column of every row, or for none: the
    // rows between the first and the last are then memory that may be read.
    const bool same_in_rows = instr.num_operands == 0 || !along_rows[instr.operands[0]];
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
