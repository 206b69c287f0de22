#include "fusion/graph/projection.h"

#include <algorithm>

namespace sluice::fusion {

Projection all_dims(const Shape& space) { return outer_dims(space, {}); }

Projection outer_dims(const Shape& space, const std::vector<int>& axes) {
  Projection dims = 0;
  for (int d = 0; d < space.rank(); ++d) {
    if (space[d] != 1 && std::find(axes.begin(), axes.end(), d) == axes.end()) dims |= 1 << d;
  }
  return dims;
}

IndexMap map_of(Projection dims, const Shape& space, const Shape& shape) {
  IndexMap map;
  map.rank = shape.rank();
  int d = 0;
  for (int k = 0; k < shape.rank(); ++k) {
    if (shape[k] == 1) continue;
    while (d < space.rank() && (dims >> d & 1) == 0) ++d;
    if (d < space.rank()) map.axes[k].coefficient[d++] = 1;
  }
  return map;
}

Projection projection_of_operand(Projection dims, const Shape& from, const Shape& to) {
  if (from == to) return dims;
  Projection varying = 0;
  const int lead = to.rank() - from.rank();
  for (int k = 0; k < to.rank(); ++k) {
    if (to[k] == 1) continue;
    const auto rest = static_cast<Projection>(dims & (dims - 1));
    if (k >= lead && from[k - lead] != 1) varying |= dims ^ rest;
    dims = rest;
  }
  return varying;
}

std::optional<Projection> projection_of(const IndexMap& map, const Shape& space,
                                        const Shape& shape) {
  Projection dims = 0;
  int d = 0;
  for (int k = 0; k < shape.rank(); ++k) {
    if (shape[k] == 1) {
      if (map.axes[k].offset != 0) return std::nullopt;
      continue;
    }
    while (d < space.rank() && (space[d] == 1 || map.axes[k].coefficient[d] == 0)) ++d;
    if (d == space.rank() || space[d] != shape[k]) return std::nullopt;
    dims |= 1 << d++;
  }
  // Any other term of the map differs from the expected one. Dims of extent 1 are ignored.
  IndexMap expected = map_of(dims, space, shape);
  for (int k = 0; k < shape.rank(); ++k) {
    if (shape[k] == 1) continue;
    if (map.axes[k].offset != 0) return std::nullopt;
    for (int i = 0; i < space.rank(); ++i) {
      if (space[i] != 1 && map.axes[k].coefficient[i] != expected.axes[k].coefficient[i]) {
        return std::nullopt;
      }
    }
  }
  return dims;
}

}  // namespace sluice::fusion
