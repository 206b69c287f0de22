#include "fusion/graph/kept_layouts.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "fusion/graph/index_map.h"

namespace sluice::fusion {
namespace {

// What the first-level cache holds is transposed as fast as it is copied, by pointwise ops.
constexpr int64_t kLeastBytes = 64 << 10, kLeastMovedBytes = 4 << 10;
// An operand that is broadcast, of so many times fewer elements, is read in any order.
constexpr int64_t kFewer = 8;

// Dims of more than one element, outermost first.
using Order = absl::InlinedVector<int, kMaxRank>;

// Whether elements of operands are elements of the result, elsewhere along the same dims.
bool moves_elements(Op op) { return op == Op::kPad || op == Op::kConcat || op == Op::kRoll; }

bool keeps_order(Op op) { return is_pointwise(op) || moves_elements(op); }

int num_long_dims(const Shape& shape) {
  return static_cast<int>(
      std::count_if(shape.begin(), shape.end(), [](int64_t extent) { return extent > 1; }));
}

class LayoutFinder {
 public:
  explicit LayoutFinder(const Graph& graph)
      : graph_(graph), users_(graph.nodes.size(), 0), is_of_rows_(graph.nodes.size(), false) {
    const std::vector<bool> needed = needed_nodes(graph);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (!needed[n]) continue;
      const GraphNode& node = graph.nodes[n];
      is_of_rows_[n] = is_reduction(node.op) && node.shape.numel() > 1;
      for (const GraphOperand& operand : node.operands) {
        if (operand.is_scalar()) continue;
        ++users_[operand.node];
        const bool passes = is_pointwise(node.op) || is_view(node.op);
        if (passes && is_of_rows_[operand.node]) is_of_rows_[n] = true;
      }
    }
  }

  absl::flat_hash_map<NodeId, Strides> find() {
    absl::flat_hash_map<NodeId, Strides> result;
    for (size_t k = 0; k < graph_.nodes.size(); ++k) {
      const auto n = static_cast<NodeId>(k);
      const GraphNode& node = graph_.nodes[n];
      const int64_t bytes = node.shape.numel() * static_cast<int64_t>(size_of(node.dtype));
      const int64_t least = moves_elements(node.op) ? kLeastMovedBytes : kLeastBytes;
      if (!node.live || users_[n] > 0 || !keeps_order(node.op) || bytes < least) continue;
      shape_ = &node.shape;
      order_.reset();
      if (!agree(n) || !order_ || std::is_sorted(order_->begin(), order_->end())) continue;
      if (static_cast<int>(order_->size()) != num_long_dims(node.shape)) continue;
      result[n] = strides_in_order();
    }
    return result;
  }

 private:
  // Whether all that `result` is computed of lies in one order, order_, as far as it has one.
  bool agree(NodeId result) {
    std::vector<NodeId> pending = {result};
    while (!pending.empty()) {
      const NodeId n = pending.back();
      pending.pop_back();
      const GraphNode& user = graph_.nodes[n];
      for (const GraphOperand& operand : user.operands) {
        if (operand.is_scalar()) continue;
        const GraphNode& node = graph_.nodes[operand.node];
        if (class_of(node.op) == OpClass::kSource) continue;
        if (node.shape.numel() * kFewer <= shape_->numel()) {
          if (is_of_rows_[operand.node]) return false;
          continue;
        }
        if (node.shape != user.shape && !moves_elements(user.op)) return false;
        if (keeps_order(node.op)) {
          if (node.live || users_[operand.node] > 1) return false;
          pending.push_back(operand.node);
        } else if (!lies_in_order(operand.node)) {
          return false;
        }
      }
    }
    return true;
  }

  bool lies_in_order(NodeId n) {
    const std::optional<Layout> layout = layout_of(n);
    if (!layout) return false;
    const std::optional<Order> order = order_of(*layout);
    if (!order) return false;
    if (!order_) order_ = order;
    return *order == *order_;
  }

  // Where a value is read from.
  std::optional<Layout> layout_of(NodeId n) const {
    const GraphNode& node = graph_.nodes[n];
    if (is_view(node.op)) {
      const std::optional<Layout> viewed = layout_of(node.operands[0].node);
      return viewed ? layout_through_view(view_of(node), *viewed) : std::nullopt;
    }
    Layout layout = contiguous_layout(node.shape);
    if (node.op == Op::kInput) layout.strides = node.strides;
    return layout;
  }

  static std::optional<Order> order_of(const Layout& layout) {
    Order order;
    for (int d = 0; d < layout.shape.rank(); ++d) {
      if (layout.shape[d] == 1) continue;
      if (layout.strides[d] == 0) return std::nullopt;
      order.push_back(d);
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return std::abs(layout.strides[a]) > std::abs(layout.strides[b]);
    });
    return order;
  }

  Strides strides_in_order() const {
    Strides strides{};
    int64_t stride = 1;
    for (auto d = order_->rbegin(); d != order_->rend(); ++d) {
      strides[*d] = stride;
      stride *= (*shape_)[*d];
    }
    return strides;
  }

  const Graph& graph_;
  std::vector<int> users_;
  // Whether a value is computed of what rows or columns were reduced to. These are walked, as they
  // are reduced, for what is computed of both.
  std::vector<bool> is_of_rows_;
  // Of the result at hand.
  const Shape* shape_ = nullptr;
  std::optional<Order> order_;
};

}  // namespace

absl::flat_hash_map<NodeId, Strides> find_kept_layouts(const Graph& graph) {
  const bool any = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode& node) {
    return node.op == Op::kPermute ||
           (node.op == Op::kInput && node.strides != contiguous_layout(node.shape).strides);
  });
  if (!any) return {};
  return LayoutFinder(graph).find();
}

}  // namespace sluice::fusion
