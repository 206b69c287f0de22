#include "fusion/lower/loops/split_planes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "fusion/ir/packed_rows.h"
#include "fusion/lower/loops/pack_rows.h"

namespace sluice::fusion {
namespace {

constexpr int64_t kMaxSplitPlanes = 4;
constexpr size_t kMaxSplitInstrs = 16;
// Longer runs are packed as they are.
constexpr int64_t kShortRunOfPlane = 16;
// Planes that lie nearer are picked from the same vectors (is_picked_in_row()).
constexpr int64_t kNear = std::numeric_limits<int8_t>::max();

// By access: whether it is of planes far apart, if each access that varies along the lanes is that,
// or consecutive there.
std::vector<bool> find_split(const LoopNest& nest, const Program& program) {
  const size_t lane = nest.dims.size() - 1;
  std::vector<bool> split(nest.addresses.size(), false);
  for (const Instr& instr : program.body) {
    if (instr.op == Op::kGather || instr.op == Op::kCheckIndex) return {};
    if (!has_access(instr.op)) continue;
    const auto& stride = nest.addresses[instr.aux].coefficient;
    if (std::abs(stride[lane]) <= 1) continue;
    const bool is_split = instr.op == Op::kLoad && instr.num_operands == 0 &&
                          std::abs(stride[lane]) > kNear && stride[lane - 1] == 1;
    if (!is_split) return {};
    split[instr.aux] = true;
  }
  const bool stores_runs =
      std::all_of(program.stores.begin(), program.stores.end(), [&](const Store& store) {
        const auto& stride = nest.addresses[store.access].coefficient;
        return !split[store.access] && stride[lane] == 1 &&
               stride[lane - 1] == nest.dims[lane].extent;
      });
  return stores_runs ? split : std::vector<bool>{};
}

bool has_short_runs(const LoopNest& nest) {
  if (nest.dims.size() < 3) return false;
  const size_t lane = nest.dims.size() - 1;
  const int64_t planes = nest.dims[lane].extent, run = nest.dims[lane - 1].extent;
  return planes <= kMaxSplitPlanes && run < kShortRunOfPlane && planes * run <= kMaxPackedPoints;
}

// The longest dim along which what is read lies near enough for rows to share vectors, or the lanes
// if there is none.
size_t find_rows(const LoopNest& nest, const std::vector<bool>& split) {
  const size_t lane = nest.dims.size() - 1;
  size_t rows = lane;
  int64_t rows_in_all = 1;
  for (size_t d = 0; d + 1 < lane; ++d) rows_in_all *= nest.dims[d].extent;
  if (rows_in_all < kMinMovedRows) return lane;
  for (size_t d = 0; d + 1 < lane; ++d) {
    bool is_near = nest.dims[d].extent >= kFillsVector;
    for (size_t a = 0; a < split.size(); ++a) {
      const int64_t stride = nest.addresses[a].coefficient[d];
      is_near = is_near && (!split[a] || (stride > 0 && stride <= kMaxPackedStride));
    }
    if (is_near && (rows == lane || nest.dims[d].extent > nest.dims[rows].extent)) rows = d;
  }
  return rows;
}

}  // namespace

void split_planes(LoopNest* nest, KernelCall* call) {
  Program& program = call->program;
  if (program.schedule != Schedule::kPointwise || program.body.size() > kMaxSplitInstrs) return;
  if (!has_short_runs(*nest)) return;
  const size_t lane = nest->dims.size() - 1;
  const std::vector<bool> split = find_split(*nest, program);
  if (std::find(split.begin(), split.end(), true) == split.end()) return;
  const size_t rows = find_rows(*nest, split);
  if (rows == lane) return;

  // The place along the lanes.
  Affine place;
  place.coefficient[lane] = 1;
  const auto place_access = static_cast<uint16_t>(program.accesses.size());
  program.accesses.push_back({.buffer = kNoBuffer, .dtype = DType::kInt64});
  program.accesses.back().varies_along_reduced = false;
  nest->addresses.push_back(place);

  std::vector<Instr> body;
  const auto emit = [&](Instr instr) {
    body.push_back(instr);
    return static_cast<ValueId>(body.size() - 1);
  };
  const auto row = [](Op op, DType dtype) {
    Instr instr;
    instr.op = op;
    instr.dtype = dtype;
    instr.level = Level::kRow;
    return instr;
  };
  Instr coordinate = row(Op::kCoordinate, DType::kInt64);
  coordinate.aux = place_access;
  const ValueId index = emit(coordinate);
  std::vector<ValueId> is_of_plane = {kNoValue};
  for (int64_t plane = 1; plane < nest->dims[lane].extent; ++plane) {
    Instr number = row(Op::kParam, DType::kInt64);
    number.level = Level::kUniform;
    number.aux = static_cast<uint16_t>(call->params.size());
    call->params.push_back(plane);
    Instr is_equal = row(Op::kEqual, DType::kBool);
    is_equal.num_operands = 2;
    is_equal.operands[0] = index;
    is_equal.operands[1] = emit(number);
    is_of_plane.push_back(emit(is_equal));
  }

  // No two loads share an access: equal ones are one.
  std::vector<ValueId> value_of;
  for (Instr instr : std::exchange(program.body, {})) {
    for (int k = 0; k < instr.num_operands; ++k) instr.operands[k] = value_of[instr.operands[k]];
    if (!has_access(instr.op) || !split[instr.aux]) {
      value_of.push_back(emit(instr));
      continue;
    }
    const Access access = program.accesses[instr.aux];
    Affine address = nest->addresses[instr.aux];
    const int64_t distance = address.coefficient[lane];
    address.coefficient[lane] = 0;
    nest->addresses[instr.aux] = address;
    ValueId value = emit(instr);
    for (size_t plane = 1; plane < is_of_plane.size(); ++plane) {
      address.offset += distance;
      instr.aux = static_cast<uint16_t>(program.accesses.size());
      program.accesses.push_back(access);
      nest->addresses.push_back(address);
      Instr select = row(Op::kWhere, instr.dtype);
      select.num_operands = 3;
      select.operands[0] = is_of_plane[plane];
      select.operands[1] = emit(instr);
      select.operands[2] = value;
      value = emit(select);
    }
    value_of.push_back(value);
  }
  program.body = std::move(body);
  for (Store& store : program.stores) store.value = value_of[store.value];
  move_dim(nest, rows, lane - 2);
}

}  // namespace sluice::fusion
