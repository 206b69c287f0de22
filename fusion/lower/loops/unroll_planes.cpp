#include "fusion/lower/loops/unroll_planes.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "fusion/ir/cost.h"

namespace sluice::fusion {
namespace {

// More planes are read by tiles.
constexpr int64_t kMaxPlanes = 8;
// Of all planes together: their vectors are in registers at once.
constexpr size_t kMaxInstrs = 64;
// Shorter planes have no vectors that are worth shuffling.
constexpr int64_t kMinPoints = 64;
// What is the same for all planes is worth computing once where it is so many times the rest.
constexpr int kTimesTheRest = 2, kMinPlaneWeight = 8;

// By value: whether it varies along `dim`.
std::vector<bool> find_varying(const LoopNest& nest, const Program& program, size_t dim) {
  std::vector<bool> varying(program.body.size(), false);
  for (size_t i = 0; i < varying.size(); ++i) {
    const Instr& instr = program.body[i];
    varying[i] = has_access(instr.op) && nest.addresses[instr.aux].coefficient[dim] != 0;
    for (int k = 0; k < instr.num_operands; ++k) {
      varying[i] = varying[i] || varying[instr.operands[k]];
    }
  }
  return varying;
}

bool reads_anywhere(const Program& program) {
  return std::any_of(program.body.begin(), program.body.end(), [](const Instr& instr) {
    return instr.op == Op::kGather || instr.op == Op::kCheckIndex ||
           (instr.op == Op::kLoad && instr.num_operands > 0);
  });
}

// Whether `dim` is that of the planes: what varies along it is either read from pixels, the same
// for a whole plane, or stored. So nothing is read where a result could be put in its place.
bool is_of_planes(const LoopNest& nest, const Program& program, size_t dim) {
  if (reads_anywhere(program)) return false;
  const size_t lane = nest.dims.size() - 1;
  const int64_t planes = nest.dims[dim].extent;
  std::vector<bool> is_stored(program.accesses.size(), false);
  for (const Store& store : program.stores) is_stored[store.access] = true;
  bool reads_pixels = false;
  for (size_t a = 0; a < program.accesses.size(); ++a) {
    const auto& stride = nest.addresses[a].coefficient;
    if (is_stored[a] && (stride[lane] != 1 || stride[dim] == 0)) return false;
    if (is_stored[a] || stride[dim] == 0 || stride[lane] == 0) continue;
    if (stride[dim] != 1 || stride[lane] != planes) return false;
    reads_pixels = true;
  }
  return reads_pixels;
}

// Whether most of the program is the same for all of `dim`, as the places are that grid_sample()
// takes all channels of an image from.
bool shares_work(const LoopNest& nest, const Program& program, size_t dim) {
  const std::vector<bool> varying = find_varying(nest, program, dim);
  const std::vector<bool> along_lanes = find_varying(nest, program, nest.dims.size() - 1);
  int shared = 0, rest = 0;
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Instr& instr = program.body[i];
    if (varying[i] && instr.op == Op::kCheckIndex) return false;
    const int weight = weight_of(instr.op, instr.dtype);
    (varying[i] ? rest : shared) += along_lanes[i] || varying[i] ? weight : 0;
  }
  return shared >= kTimesTheRest * std::max(rest, kMinPlaneWeight) &&
         std::all_of(program.stores.begin(), program.stores.end(), [&](const Store& store) {
           return nest.addresses[store.access].coefficient[dim] != 0;
         });
}

// The dim of the planes, or that of the lanes if there is none.
size_t find_planes(const LoopNest& nest, const Program& program) {
  const size_t lane = nest.dims.size() - 1;
  if (nest.dims[lane].extent < kMinPoints) return lane;
  for (size_t d = 0; d < lane; ++d) {
    const int64_t extent = nest.dims[d].extent;
    if (extent < 2 || extent > kMaxPlanes) continue;
    if (is_of_planes(nest, program, d) || shares_work(nest, program, d)) return d;
  }
  return lane;
}

}  // namespace

void unroll_planes(LoopNest* nest, KernelCall* call) {
  Program& program = call->program;
  if (program.schedule != Schedule::kPointwise) return;
  const size_t dim = find_planes(*nest, program);
  if (dim + 1 == nest->dims.size()) return;
  auto varies = [&](uint16_t access) { return nest->addresses[access].coefficient[dim] != 0; };
  const size_t length = program.body.size();
  const std::vector<bool> varying = find_varying(*nest, program, dim);
  const int64_t planes = nest->dims[dim].extent;
  const size_t in_each = std::count(varying.begin(), varying.end(), true);
  if (in_each * planes > kMaxInstrs) return;

  const size_t num_accesses = program.accesses.size(), num_stores = program.stores.size();
  for (int64_t plane = 1; plane < planes; ++plane) {
    std::vector<uint16_t> access_of(num_accesses);
    for (size_t a = 0; a < num_accesses; ++a) {
      access_of[a] = static_cast<uint16_t>(varies(a) ? program.accesses.size() : a);
      if (!varies(a)) continue;
      const Access access = program.accesses[a];
      Affine address = nest->addresses[a];
      address.offset += plane * address.coefficient[dim];
      program.accesses.push_back(access);
      nest->addresses.push_back(address);
    }
    std::vector<ValueId> value_of(length);
    for (size_t i = 0; i < length; ++i) {
      value_of[i] = static_cast<ValueId>(varying[i] ? program.body.size() : i);
      if (!varying[i]) continue;
      Instr instr = program.body[i];
      if (has_access(instr.op)) instr.aux = access_of[instr.aux];
      for (int k = 0; k < instr.num_operands; ++k) instr.operands[k] = value_of[instr.operands[k]];
      program.body.push_back(instr);
    }
    for (size_t s = 0; s < num_stores; ++s) {
      const Store store = program.stores[s];
      program.stores.push_back({value_of[store.value], access_of[store.access]});
      call->outputs.push_back({call->outputs[s].buffer, {}, {}});
    }
  }
  nest->dims[dim].extent = 1;
}

}  // namespace sluice::fusion
