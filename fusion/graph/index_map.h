// Which element of a node a point of the iteration space reads.
#ifndef SLUICE_FUSION_GRAPH_INDEX_MAP_H_
#define SLUICE_FUSION_GRAPH_INDEX_MAP_H_

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "fusion/graph/graph.h"

namespace sluice::fusion {

// Reshapes may split an axis, so a space can have more dims than a tensor has axes.
inline constexpr int kMaxDims = 16;

// An affine function of the iteration indices: offset + sum of coefficient[d] * index[d].
struct Affine {
  int64_t offset = 0;
  std::array<int64_t, kMaxDims> coefficient{};

  bool operator==(const Affine&) const = default;
};

// For each axis of a node, the index along it.
struct IndexMap {
  int rank = 0;
  std::array<Affine, kMaxRank> axes{};

  bool operator==(const IndexMap&) const = default;
};

// Asks for iteration dim `dim` to be cut into (extent / inner, inner): the map could then be
// written.
struct SplitDim {
  int dim;
  int64_t inner;
};

// There is no affine map, whatever is split: the operand has to be in memory.
struct NotAffine {};

using MapResult = std::variant<IndexMap, SplitDim, NotAffine>;

// A view, of a graph or not. What it refers to outlives it.
struct View {
  Op op;
  const Shape& shape;
  absl::Span<const int64_t> attrs;

  View(Op op, const Shape& shape, absl::Span<const int64_t> attrs)
      : op(op), shape(shape), attrs(attrs) {}
  View(const GraphNode& node) : View(node.op, node.shape, node.attrs) {}
};

// The map onto the operand of `view` (whose shape is `operand_shape`) for a point that `map`
// takes to an element of the view itself. `extents` are the iteration space's.
MapResult map_through_view(const View& view, const Shape& operand_shape, const IndexMap& map,
                           const std::vector<int64_t>& extents);

// The map onto an operand of shape `from` that NumPy broadcasts to `to`.
IndexMap map_through_broadcast(const Shape& from, const Shape& to, const IndexMap& map);

// `map` as one affine address in elements under `strides`.
Affine address_of(const IndexMap& map, const Strides& strides);

// Where the elements of a view lie in its operand's memory, if strides can say so.
std::optional<Layout> layout_through_view(const View& view, const Layout& operand);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_GRAPH_INDEX_MAP_H_
