// Where a node's elements are in a group's iteration space, in the one case that lets values stay
// in registers: each of the node's axes is a dim of the space, in order.
#ifndef SLUICE_FUSION_GRAPH_PROJECTION_H_
#define SLUICE_FUSION_GRAPH_PROJECTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/graph/index_map.h"

namespace sluice::fusion {

// The dims of a space along which a value varies, as bits; dims of extent 1 don't count. A value of
// all dims has one element for each point; one of the dims that a group keeps, one for each row.
using Projection = uint8_t;

// All dims of `space`.
Projection all_dims(const Shape& space);

// Those of `space` that are not in `axes`.
Projection outer_dims(const Shape& space, const std::vector<int>& axes);

// The index of a node of shape `shape` that varies along `dims` of `space`, one axis of extent
// other than 1 for each; axis k of the space is iteration dim k.
IndexMap map_of(Projection dims, const Shape& space, const Shape& shape);

// The inverse, if `map` is of that form.
std::optional<Projection> projection_of(const IndexMap& map, const Shape& space,
                                        const Shape& shape);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_GRAPH_PROJECTION_H_
