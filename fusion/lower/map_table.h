// The index maps of a group: at which elements its points read and write nodes.
#ifndef SLUICE_FUSION_LOWER_MAP_TABLE_H_
#define SLUICE_FUSION_LOWER_MAP_TABLE_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "fusion/graph/index_map.h"
#include "fusion/ir/numbering.h"
#include "fusion/lower/program_builder.h"
#include "fusion/partition/partition.h"

namespace sluice::fusion {

using MapId = int32_t;

class MapTable {
 public:
  // The map onto the group's space itself, at index 0 of unrolled axes.
  static constexpr MapId kIdentity = 0;

  // `dims`: what the axes of the group's space are split into. The group must outlive this.
  MapTable(const Group& group, const std::vector<Dim>& dims);

  // Conditions of a map are bools of the program. Coefficient extents().size() + k of its axes
  // counts where condition k holds.
  using Conditions = absl::InlinedVector<ValueId, 2>;

  // The number of `map`. Maps that differ only along dims of extent 1 are one: the first of them.
  MapId intern(const IndexMap& map, Conditions conditions);
  // Of a map that has the conditions of `from`.
  MapId intern(const IndexMap& map, MapId from = kIdentity) {
    return intern(map, conditions(from));
  }
  const IndexMap& operator[](MapId map) const { return maps_[map]; }
  const Conditions& conditions(MapId map) const { return conditions_[map]; }

  // The map onto the group's space at these indices along its unrolled axes.
  IndexMap space_at(absl::Span<const int64_t> place) const;

  // Of the dims.
  const std::vector<int64_t>& extents() const { return extents_; }

  // The index of an output of shape `shape` that the group computes at a point, and its address,
  // row-major without gaps. `without`: the axes of the space that it does not vary along. `place`:
  // its indices along the unrolled axes, where it varies along those.
  IndexMap output_map(const Shape& shape, absl::Span<const int> without,
                      absl::Span<const int64_t> place = {}) const;
  Affine output_address(absl::Span<const int> without, absl::Span<const int64_t> place = {}) const;

 private:
  const Group& group_;
  std::vector<int64_t> extents_;
  absl::InlinedVector<IndexMap, 1> maps_;
  absl::InlinedVector<Conditions, 1> conditions_;  // by map
  Numbering ids_;
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_MAP_TABLE_H_
