// Finds accesses that walk consecutive elements together, as the components of an array of
// structures do.
#include <algorithm>
#include <map>

#include "fusion/lower/loops/loop_nest.h"

namespace sluice::fusion {
namespace {

// As many as rows have that are unrolled. To put more than kMaxStored together takes as many
// shuffles as single elements take stores.
constexpr int64_t kMaxLoaded = 32, kMaxStored = 16;

// With elements between that nobody needs: where the vectors have this share of what is needed.
constexpr int64_t kMaxApart = 4;

}  // namespace

std::vector<AccessRole> roles_of(const Program& program) {
  using Role = AccessRole;
  std::vector<Role> roles(program.accesses.size(), Role::kNone);
  auto give = [&](uint16_t access, Role role) {
    roles[access] = roles[access] == Role::kNone || roles[access] == role ? role : Role::kOther;
  };
  for (const Instr& instr : program.body) {
    if (instr.op == Op::kLoad) {
      give(instr.aux, instr.num_operands == 0 ? Role::kLoaded : Role::kOther);
    } else if (instr.op == Op::kGather || instr.op == Op::kCoordinate) {
      give(instr.aux, Role::kOther);
    }
  }
  for (const Store& store : program.stores) give(store.access, Role::kStored);
  return roles;
}

std::vector<std::vector<uint16_t>> find_interleaved(const Program& program, const LoopNest& nest) {
  using Role = AccessRole;
  const std::vector<Role> roles = roles_of(program);
  const int lane = program.lane_dim();
  // By what must be equal, the accesses by offset.
  using Kind = std::tuple<Role, uint16_t, DType, decltype(Affine::coefficient)>;
  std::map<Kind, std::map<int64_t, uint16_t>> candidates;
  for (size_t a = 0; a < nest.addresses.size(); ++a) {
    const Access& access = program.accesses[a];
    const Affine& address = nest.addresses[a];
    const int64_t stride = address.coefficient[lane];
    if (roles[a] != Role::kLoaded && roles[a] != Role::kStored) continue;
    const int64_t most = roles[a] == Role::kLoaded ? kMaxLoaded : kMaxStored;
    if (access.lanes != StrideClass::kAny || stride < 2 || stride > most) continue;
    // Stores of elements may belong to different passes.
    if (roles[a] == Role::kStored && access.varies_along_reduced && program.reduced_rank > 0) {
      continue;
    }
    candidates[{roles[a], access.buffer, access.dtype, address.coefficient}].emplace(
        address.offset, static_cast<uint16_t>(a));
  }
  std::vector<std::vector<uint16_t>> interleaved;
  for (const auto& [kind, by_offset] : candidates) {
    const int64_t stride = std::get<3>(kind)[lane];
    std::vector<uint16_t> run;
    int64_t last = 0;
    auto finish = [&] {
      const bool whole = static_cast<int64_t>(run.size()) == stride;
      const bool in_part = std::get<0>(kind) == Role::kLoaded && stride <= kMaxApart;
      if (whole || (in_part && !run.empty())) {
        run.resize(stride, kNoAccess);
        interleaved.push_back(run);
      }
      run.clear();
    };
    for (const auto& [offset, access] : by_offset) {
      if (!run.empty() && offset != last + 1) finish();
      run.push_back(access);
      last = offset;
      if (static_cast<int64_t>(run.size()) == stride) finish();
    }
    finish();
  }
  return interleaved;
}

}  // namespace sluice::fusion
