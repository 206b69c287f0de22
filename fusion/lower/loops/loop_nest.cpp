#include "fusion/lower/loops/loop_nest.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <type_traits>

namespace sluice::fusion {
namespace {

// Dims of smaller extents are not worth vectors or tiles.
constexpr int64_t kMinTileSide = 8;
// Along rows tiles are whole blocks, which are transposed in registers.
constexpr int64_t kMinReducedTileSide = 16;
// Runs of fewer elements are put together in rows of more than a few of these.
constexpr int64_t kShortTileRun = 16, kFewElements = 64;

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

void move_dim(LoopNest* nest, size_t from, size_t to) {
  auto rotate = [&](auto first) { std::rotate(first + from, first + from + 1, first + to + 1); };
  rotate(nest->dims.begin());
  for (Affine& address : nest->addresses) rotate(address.coefficient.begin());
}

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

namespace {

// The accesses of elements whose strides are counted.
template <typename IsCounted>
int64_t count_accesses(const Program& program, const LoopNest& nest, const IsCounted& is_counted) {
  int64_t count = 0;
  for (size_t i = 0; i < nest.addresses.size(); ++i) {
    const Access& access = program.accesses[i];
    if (access.buffer == kNoBuffer || !access.varies_along_reduced) continue;
    count += is_counted(nest.addresses[i].coefficient) ? 1 : 0;
  }
  return count;
}

size_t num_outer(const LoopNest& nest) {
  return std::count_if(nest.dims.begin(), nest.dims.end(),
                       [](const Dim& dim) { return !dim.reduced; });
}

// The points along the dims that an access varies along.
int64_t points_of(const Affine& address, const LoopNest& nest) {
  int64_t points = 1;
  for (size_t d = 0; d < nest.dims.size(); ++d) {
    if (address.coefficient[d] != 0) points *= nest.dims[d].extent;
  }
  return points;
}

// Dim d becomes what dim order[d] was.
void reorder_dims(LoopNest* nest, const std::vector<size_t>& order) {
  const auto reorder = [&](auto values) {
    const std::vector<std::decay_t<decltype(*values)>> before(values, values + order.size());
    for (size_t d = 0; d < order.size(); ++d) values[d] = before[order[d]];
  };
  reorder(nest->dims.begin());
  for (Affine& address : nest->addresses) reorder(address.coefficient.begin());
}

}  // namespace

void sort_dims_as_stored(const Program& program, LoopNest* nest) {
  if (program.schedule != Schedule::kPointwise || program.stores.empty()) return;
  const Affine& stored = nest->addresses[program.stores[0].access];
  std::vector<size_t> order(nest->dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(
      order.begin(), order.end(),
      [&, strides = stored.coefficient](size_t a, size_t b) { return strides[a] > strides[b]; });
  reorder_dims(nest, order);
}

void sort_reduced_dims(const Program& program, LoopNest* nest) {
  // As the access of the most elements has them.
  const Affine* leading = nullptr;
  int64_t most = 0;
  for (size_t i = 0; i < nest->addresses.size(); ++i) {
    const Access& access = program.accesses[i];
    if (access.buffer == kNoBuffer || !access.varies_along_reduced) continue;
    const int64_t points = points_of(nest->addresses[i], *nest);
    if (points <= most) continue;
    most = points;
    leading = &nest->addresses[i];
  }
  if (leading == nullptr) return;
  const auto first = static_cast<std::ptrdiff_t>(num_outer(*nest));
  std::vector<size_t> order(nest->dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // What is the same along a dim is read again for each of its points.
  const auto distance = [&, strides = leading->coefficient](size_t d) {
    return strides[d] == 0 ? std::numeric_limits<int64_t>::max() : std::abs(strides[d]);
  };
  std::stable_sort(order.begin() + first, order.end(),
                   [&](size_t a, size_t b) { return distance(a) > distance(b); });
  reorder_dims(nest, order);
  for (size_t d = first; d < nest->dims.size(); ++d) {
    const auto& addresses = nest->addresses;
    const bool is_backward = std::all_of(addresses.begin(), addresses.end(),
                                         [&](const Affine& a) { return a.coefficient[d] <= 0; });
    if (!is_backward) continue;
    for (Affine& address : nest->addresses) {
      address.offset += address.coefficient[d] * (nest->dims[d].extent - 1);
      address.coefficient[d] = -address.coefficient[d];
    }
  }
}

Schedule free_schedule(const Program& program, const LoopNest& nest) {
  // Shorter rows, or fewer columns, would leave most lanes empty.
  constexpr int64_t kMinElements = 64;
  const size_t outer = num_outer(nest);
  const auto consecutive = [&](size_t d) {
    return count_accesses(program, nest, [&](const auto& stride) { return stride[d] == 1; });
  };
  const size_t row = nest.dims.size() - 1;
  const int64_t along_row = consecutive(row);
  int64_t elements = 1;
  for (size_t d = outer; d <= row; ++d) elements *= nest.dims[d].extent;
  if (program.schedule == Schedule::kColumn) {
    const bool wins = elements >= kMinElements && along_row > consecutive(outer - 1);
    return wins ? Schedule::kRow : Schedule::kColumn;
  }
  for (size_t d = 0; d < outer; ++d) {
    if (nest.dims[d].extent >= kMinElements && consecutive(d) > along_row) return Schedule::kColumn;
  }
  return Schedule::kRow;
}

bool arrange_lanes(const Program& program, LoopNest* nest) {
  if (program.schedule == Schedule::kPointwise) return false;
  const size_t last_outer = num_outer(*nest) - 1;
  const size_t lane = program.schedule == Schedule::kRow ? nest->dims.size() - 1 : last_outer;
  const int64_t along_lanes = count_accesses(
      program, *nest, [&](const auto& stride) { return std::abs(stride[lane]) <= 1; });
  const size_t none = nest->dims.size();
  const size_t best = find_best_dim(*nest, none, along_lanes, [&](size_t d) {
    return count_accesses(program, *nest, [&](const auto& stride) { return stride[d] == 1; });
  });
  if (best == none) return false;
  move_dim(nest, best, last_outer);
  return program.schedule == Schedule::kRow;
}

namespace {

// Fewer columns than a vector has lanes are read by tiles as well: lane by lane takes ten times as
// long.
constexpr int64_t kMinTileColumns = 2;

// By access: all that happens to it is loads without predicates.
std::vector<bool> find_loaded(const Program& program) {
  std::vector<bool> loaded(program.accesses.size(), false);
  std::vector<bool> otherwise(program.accesses.size(), false);
  for (const Instr& instr : program.body) {
    if (instr.op == Op::kLoad && instr.num_operands == 0) {
      loaded[instr.aux] = true;
    } else if (has_access(instr.op)) {
      otherwise[instr.aux] = true;
    }
  }
  for (const Store& store : program.stores) otherwise[store.access] = true;
  for (size_t i = 0; i < loaded.size(); ++i) loaded[i] = loaded[i] && !otherwise[i];
  return loaded;
}

// The dim that tiles of a reduction have beside the lane dim, or the lane dim if there are none.
size_t tile_dim_of_reduction(const Program& program, const LoopNest& nest, size_t lane) {
  const std::vector<Dim>& dims = nest.dims;
  if (program.lanes_across_rows) return lane;
  if (program.schedule == Schedule::kColumn) {
    // A tile is a leaf, which the end of a run must not cut.
    const size_t last = dims.size() - 1;
    const bool is_cut = last > lane + 1 && dims[last].extent % leaf_size(program.schedule) != 0;
    const bool fits = dims[lane].extent >= kMinTileColumns && dims[last].extent >= kMinTileSide;
    return fits && !is_cut ? last : lane;
  }
  if (lane == 0 || !dims[lane - 1].reduced) return lane;
  if (dims[lane].extent < 2 || dims[lane - 1].extent < kMinReducedTileSide) return lane;
  int64_t elements = 1;
  for (const Dim& dim : dims) elements *= dim.reduced ? dim.extent : 1;
  // Short runs are slow otherwise.
  const int64_t few =
      dims[lane].extent < kShortTileRun ? kFewElements : leaf_size(program.schedule);
  return elements > few ? lane - 1 : lane;
}

// Of shorter elements than that, rows of kMinTileSide are better interleaved, as shorter ones are.
int64_t min_tile_row(const Program& program) {
  constexpr size_t kLongElement = 8;
  const bool has_long =
      std::any_of(program.accesses.begin(), program.accesses.end(), [](const Access& access) {
        return access.buffer != kNoBuffer && size_of(access.dtype) >= kLongElement;
      });
  return has_long ? kMinTileSide : kMinTileSide + 1;
}

}  // namespace

std::vector<bool> arrange_tiles(const Program& program, LoopNest* nest) {
  const std::vector<Affine>& addresses = nest->addresses;
  std::vector<bool> in_tiles(addresses.size(), false);
  const std::vector<bool> loaded = find_loaded(program);
  const size_t outer = num_outer(*nest);
  const bool in_row = program.schedule == Schedule::kRow && !program.lanes_across_rows;
  const size_t lane = in_row ? nest->dims.size() - 1 : outer - 1;
  auto suits = [&](size_t access, size_t dim) {
    const auto& stride = addresses[access].coefficient;
    return loaded[access] && stride[dim] == 1 && std::abs(stride[lane]) > 1;
  };
  size_t best = lane;
  if (program.schedule != Schedule::kPointwise) {
    best = tile_dim_of_reduction(program, *nest, lane);
  } else if (lane > 0 && nest->dims[lane].extent >= min_tile_row(program)) {
    best = find_best_dim(*nest, lane, 0, [&](size_t d) {
      int64_t count = 0;
      for (size_t i = 0; i < addresses.size(); ++i) count += suits(i, d);
      return count;
    });
  }
  if (best == lane) return in_tiles;
  for (size_t i = 0; i < addresses.size(); ++i) in_tiles[i] = suits(i, best);
  if (program.schedule == Schedule::kPointwise) move_dim(nest, best, lane - 1);
  return in_tiles;
}

}  // namespace sluice::fusion
