#include "fusion/lower/map_table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fusion/graph/projection.h"

namespace sluice::fusion {
namespace {

// Axis k of the space, from the dims it is split into.
IndexMap identity_map(const Shape& space, const std::vector<Dim>& dims) {
  IndexMap map;
  map.rank = space.rank();
  std::array<int64_t, kMaxRank> step;
  step.fill(1);
  for (int d = static_cast<int>(dims.size()) - 1; d >= 0; --d) {
    map.axes[dims[d].axis].coefficient[d] = step[dims[d].axis];
    step[dims[d].axis] *= dims[d].extent;
  }
  return map;
}

}  // namespace

MapTable::MapTable(const Group& group, const std::vector<Dim>& dims) : group_(group) {
  for (const Dim& dim : dims) extents_.push_back(dim.extent);
  intern(identity_map(group.space, dims), Conditions());
}

MapId MapTable::intern(const IndexMap& map, Conditions conditions) {
  auto is_used = [&](size_t k) {
    return std::any_of(map.axes.begin(), map.axes.begin() + map.rank, [&](const Affine& axis) {
      return axis.coefficient[extents_.size() + k] != 0;
    });
  };
  for (size_t k = 0; k < conditions.size(); ++k) {
    if (!is_used(k)) conditions[k] = kNoValue;
  }
  while (!conditions.empty() && conditions.back() == kNoValue) conditions.pop_back();
  const size_t coefficients = extents_.size() + conditions.size();
  const auto counts = [&](size_t d) { return d >= extents_.size() || extents_[d] != 1; };
  WordHash hash;
  hash.add(map.rank);
  for (const ValueId condition : conditions) hash.add(condition);
  for (int k = 0; k < map.rank; ++k) {
    hash.add(map.axes[k].offset);
    for (size_t d = 0; d < coefficients; ++d) {
      if (counts(d)) hash.add(map.axes[k].coefficient[d]);
    }
  }
  const auto is_map = [&](uint32_t known) {
    if (maps_[known].rank != map.rank || conditions_[known] != conditions) return false;
    for (int k = 0; k < map.rank; ++k) {
      const Affine& axis = maps_[known].axes[k];
      if (axis.offset != map.axes[k].offset) return false;
      for (size_t d = 0; d < coefficients; ++d) {
        if (counts(d) && axis.coefficient[d] != map.axes[k].coefficient[d]) return false;
      }
    }
    return true;
  };
  const auto [id, is_new] = ids_.find_or_add(hash.value(), is_map);
  if (is_new) {
    maps_.push_back(map);
    conditions_.push_back(std::move(conditions));
  }
  return static_cast<MapId>(id);
}

IndexMap MapTable::space_at(absl::Span<const int64_t> place) const {
  IndexMap map = maps_[kIdentity];
  for (size_t i = 0; i < place.size(); ++i) map.axes[group_.unrolled[i]].offset = place[i];
  return map;
}

IndexMap MapTable::output_map(const Shape& shape, absl::Span<const int> without,
                              absl::Span<const int64_t> place) const {
  const IndexMap by_axis =
      map_of(outer_dims(group_.space, {without.begin(), without.end()}), group_.space, shape);
  const IndexMap space = space_at(place);
  IndexMap map;
  map.rank = shape.rank();
  for (int k = 0; k < shape.rank(); ++k) {
    for (int axis = 0; axis < group_.space.rank(); ++axis) {
      if (by_axis.axes[k].coefficient[axis] != 0) map.axes[k] = space.axes[axis];
    }
  }
  return map;
}

Affine MapTable::output_address(absl::Span<const int> without,
                                absl::Span<const int64_t> place) const {
  Strides strides{};
  int64_t stride = 1;
  for (int k = group_.space.rank() - 1; k >= 0; --k) {
    if (std::find(without.begin(), without.end(), k) != without.end()) continue;
    strides[k] = stride;
    stride *= group_.space[k];
  }
  return place.empty() ? address_of(maps_[kIdentity], strides)
                       : address_of(space_at(place), strides);
}

}  // namespace sluice::fusion
