#include "fusion/lower/loop_nest.h"

#include <algorithm>
#include <cstdlib>

namespace sluice::fusion {
namespace {

// Dims of smaller extents are not worth vectors or tiles.
constexpr int64_t kMinTileSide = 8;

// True if every access walks dim d + 1 and then dim d as one dim.
bool mergeable(const LoopNest& nest, size_t d) {
  if (nest.dims[d].reduced != nest.dims[d + 1].reduced) return false;
  return std::all_of(nest.addresses.begin(), nest.addresses.end(), [&](const Affine& address) {
    return address.coefficient[d] == address.coefficient[d + 1] * nest.dims[d + 1].extent;
  });
}

void remove_dim(LoopNest* nest, size_t d) {
  for (Affine& address : nest->addresses) {
    std::copy(address.coefficient.begin() + d + 1, address.coefficient.end(),
              address.coefficient.begin() + d);
    address.coefficient[kMaxDims - 1] = 0;
  }
  nest->dims.erase(nest->dims.begin() + d);
}

// Adds an outer dim of extent 1.
void add_outer_dim(LoopNest* nest) {
  nest->dims.insert(nest->dims.begin(), Dim{});
  for (Affine& address : nest->addresses) {
    std::copy_backward(address.coefficient.begin(), address.coefficient.end() - 1,
                       address.coefficient.end());
    address.coefficient[0] = 0;
  }
}

// Makes dim `from` dim `to`, which is not before it; those between move up.
void move_dim(LoopNest* nest, size_t from, size_t to) {
  auto rotate = [&](auto first) { std::rotate(first + from, first + from + 1, first + to + 1); };
  rotate(nest->dims.begin());
  for (Affine& address : nest->addresses) rotate(address.coefficient.begin());
}

// The first of the outer dims [0, end) for which count(d) is greatest and more than `least`, or
// `end`.
template <typename Count>
size_t find_best_dim(const LoopNest& nest, size_t end, int64_t least, const Count& count) {
  size_t best = end;
  for (size_t d = 0; d < end && !nest.dims[d].reduced; ++d) {
    if (nest.dims[d].extent < kMinTileSide || count(d) <= least) continue;
    least = count(d);
    best = d;
  }
  return best;
}

}  // namespace

void simplify_dims(LoopNest* nest) {
  std::vector<Dim>& dims = nest->dims;
  auto count = [&](bool reduced) {
    return std::count_if(dims.begin(), dims.end(),
                         [&](const Dim& dim) { return dim.reduced == reduced; });
  };
  for (size_t d = 0; d < dims.size();) {
    if (dims[d].extent == 1 && count(dims[d].reduced) > 1) {
      remove_dim(nest, d);
    } else {
      ++d;
    }
  }
  for (size_t d = 0; d + 1 < dims.size();) {
    if (mergeable(*nest, d)) {
      dims[d + 1].extent *= dims[d].extent;
      remove_dim(nest, d);
    } else {
      ++d;
    }
  }
  if (count(false) == 0) add_outer_dim(nest);
}

bool arrange_lanes(const Program& program, LoopNest* nest) {
  if (program.schedule == Schedule::kPointwise) return false;
  auto count_elements = [&](const auto& is_counted) {
    int64_t count = 0;
    for (size_t i = 0; i < nest->addresses.size(); ++i) {
      const Access& access = program.accesses[i];
      if (access.buffer == kNoBuffer || !access.varies_along_reduced) continue;
      count += is_counted(nest->addresses[i].coefficient) ? 1 : 0;
    }
    return count;
  };
  const auto first_reduced = std::find_if(nest->dims.begin(), nest->dims.end(),
                                          [](const Dim& dim) { return dim.reduced; });
  const size_t last_outer = first_reduced - nest->dims.begin() - 1;
  const size_t lane = program.schedule == Schedule::kRow ? nest->dims.size() - 1 : last_outer;
  const int64_t along_lanes =
      count_elements([&](const auto& stride) { return std::abs(stride[lane]) <= 1; });
  const size_t none = nest->dims.size();
  const size_t best = find_best_dim(*nest, none, along_lanes, [&](size_t d) {
    return count_elements([&](const auto& stride) { return stride[d] == 1; });
  });
  if (best == none) return false;
  move_dim(nest, best, last_outer);
  return program.schedule == Schedule::kRow;
}

std::vector<bool> arrange_tiles(const Program& program, LoopNest* nest) {
  const std::vector<Affine>& addresses = nest->addresses;
  std::vector<bool> in_tiles(addresses.size(), false);
  const size_t lane = nest->dims.size() - 1;
  if (program.schedule != Schedule::kPointwise || lane == 0) return in_tiles;
  if (nest->dims[lane].extent < kMinTileSide) return in_tiles;
  std::vector<bool> loaded(addresses.size(), false);
  std::vector<bool> otherwise(addresses.size(), false);
  for (const Instr& instr : program.body) {
    if (instr.op == Op::kLoad && instr.num_operands == 0) {
      loaded[instr.aux] = true;
    } else if (instr.op == Op::kLoad || instr.op == Op::kGather || instr.op == Op::kCoordinate) {
      otherwise[instr.aux] = true;
    }
  }
  for (const Store& store : program.stores) otherwise[store.access] = true;

  auto suits = [&](size_t access, size_t dim) {
    const auto& stride = addresses[access].coefficient;
    return loaded[access] && !otherwise[access] && stride[dim] == 1 && std::abs(stride[lane]) > 1;
  };
  const size_t best = find_best_dim(*nest, lane, 0, [&](size_t d) {
    int64_t count = 0;
    for (size_t i = 0; i < addresses.size(); ++i) count += suits(i, d);
    return count;
  });
  if (best == lane) return in_tiles;
  for (size_t i = 0; i < addresses.size(); ++i) in_tiles[i] = suits(i, best);
  move_dim(nest, best, lane - 1);
  return in_tiles;
}

}  // namespace sluice::fusion
