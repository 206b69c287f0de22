// Where a node's elements are in an iteration space, in the one case that lets values stay in
// registers: each of the node's axes is a dim of the space, in order.
#ifndef SLUICE_FUSION_GRAPH_PROJECTION_H_
#define SLUICE_FUSION_GRAPH_PROJECTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/graph/index_map.h"

namespace sluice::fusion {

// The dims of a space along which a value varies, one bit each. Dims of extent 1 have no bit. A
// value that varies along all dims has one element a point; one that varies along the outer dims
// of a reduction has one a row.
using Projection = uint8_t;

// All dims of `space`.
Projection all_dims(const Shape& space);

// The dims of `space` that are not among `axes`, the reduced ones.
Projection outer_dims(const Shape& space, const std::vector<int>& axes);

// The index of a node of shape `shape` that varies along `dims` of `space`: each axis of extent
// other than 1 is one of the dims. Iteration dim k is axis k of the space.
IndexMap map_of(Projection dims, const Shape& space, const Shape& shape);

// Where a node of shape `to` varies along `dims`: the dims along which an operand of shape `from`,
// which NumPy broadcasts to it, does.
Projection projection_of_operand(Projection dims, const Shape& from, const Shape& to);

// The inverse of map_of(); nullopt if `map` is not of that form.
std::optional<Projection> projection_of(const IndexMap& map, const Shape& space,
                                        const Shape& shape);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_GRAPH_PROJECTION_H_
