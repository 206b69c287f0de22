// The algebra of views: which element of an operand a view reads, and where views lie in memory.
// It needs shapes and layouts only, no graph.
#ifndef SLUICE_FUSION_GRAPH_INDEX_MAP_H_
#define SLUICE_FUSION_GRAPH_INDEX_MAP_H_

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "fusion/ir/op.h"
#include "runtime/layout.h"

namespace sluice::fusion {

// Reshapes may split an axis, so a space can have more dims than a tensor has axes.
inline constexpr int kMaxDims = 16;
// Besides them, an index may count conditions: after a roll, whether it wraps around.
inline constexpr int kMaxConditions = kMaxRank;

// An affine function of the iteration indices: offset + sum of coefficient[d] * index[d]. Behind
// the dims come conditions, whose "index" is 1 where they hold.
struct Affine {
  int64_t offset = 0;
  std::array<int64_t, kMaxDims + kMaxConditions> coefficient{};

  bool operator==(const Affine&) const = default;
};

// For each axis of a node, the index along it.
struct IndexMap {
  int rank = 0;
  std::array<Affine, kMaxRank> axes{};

  bool operator==(const IndexMap&) const = default;
};

// A view op with its attributes (see fusion/ir/op.h) and the shape of its result. Refers to both.
struct View {
  Op op;
  absl::Span<const int64_t> attrs;
  const Shape& shape;
};

// The map is affine once iteration dim `dim` is split into (extent / inner, inner).
struct SplitDim {
  int dim;
  int64_t inner;
};

// No affine map exists, however the dims are split: the operand has to be in memory.
struct NotAffine {};

using MapResult = std::variant<IndexMap, SplitDim, NotAffine>;

// The map onto a view's operand, of shape `operand`, at the points that `map` takes to elements of
// the view. `extents` are those of the iteration space. NotAffine if `view.op` is no view.
MapResult map_through_view(const View& view, const Shape& operand, const IndexMap& map,
                           const std::vector<int64_t>& extents);

// The map onto an operand of shape `from` that NumPy broadcasts to `to`.
IndexMap map_through_broadcast(const Shape& from, const Shape& to, const IndexMap& map);

// `map` as one affine address in elements under `strides`.
Affine address_of(const IndexMap& map, const Strides& strides);

// The layout of a view of an operand with layout `operand`; nullopt if strides cannot express it.
std::optional<Layout> layout_through_view(const View& view, const Layout& operand);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_GRAPH_INDEX_MAP_H_
