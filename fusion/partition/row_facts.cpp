#include "fusion/partition/row_facts.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "fusion/ir/cost.h"
#include "fusion/ir/scan.h"
#include "fusion/partition/short_rows.h"

namespace sluice::fusion {
namespace {

// The last of the rows whose numbers are in `set` that f(const Rows&) accepts, or nullptr.
template <typename F>
const Rows* find_last(absl::Span<const uint64_t> set, const std::vector<Rows>& rows, F f) {
  for (size_t word = set.size(); word-- > 0;) {
    for (uint64_t bits = set[word]; bits != 0;) {
      const int bit = std::bit_width(bits) - 1;
      const Rows& candidate = rows[word * 64 + bit];
      if (f(candidate)) return &candidate;
      bits ^= uint64_t{1} << bit;
    }
  }
  return nullptr;
}

// Reduced rows that are side by side in memory, if it is in order: fewer than a vector has lanes.
bool are_few_columns(const Shape& space, const std::vector<int>& axes) {
  int64_t columns = 1;
  for (int k = axes.back() + 1; k < space.rank(); ++k) columns *= space[k];
  return 1 < columns && columns <= kFewColumns;
}

}  // namespace

Rows rows_of(const Graph& graph, NodeId reduction) {
  const GraphNode& node = graph.nodes[reduction];
  return {graph.nodes[node.operands[0].node].shape, {node.attrs.begin(), node.attrs.end()}};
}

int64_t row_length(const Shape& space, const std::vector<int>& axes) {
  int64_t length = 1;
  for (int axis : axes) length *= space[axis];
  return length;
}

bool rows_fit(const Shape& space, const std::vector<int>& axes) {
  const int64_t length = row_length(space, axes);
  if (length > kMostOfFewColumns && are_few_columns(space, axes)) return false;
  return length <= kShortRow || space.numel() / length >= kManyRows;
}

bool scans_long_rows(const Graph& graph, const Group& group) {
  return !group.axes.empty() && !rows_fit(group.space, group.axes) &&
         std::any_of(group.members.begin(), group.members.end(),
                     [&](NodeId member) { return is_scan(graph.nodes[member].op); });
}

bool is_shared(Op op) { return is_costly(op) && op != Op::kDiv; }

std::vector<int> RowFacts::number_rows(const Graph& graph, const Uses& uses) {
  std::vector<int> number(graph.nodes.size(), -1);
  absl::flat_hash_map<std::vector<int64_t>, int> numbers;
  for (NodeId n = 0; n < static_cast<NodeId>(number.size()); ++n) {
    if (!is_reduction(graph.nodes[n].op) || !uses.computes(n)) continue;
    Rows rows = rows_of(graph, n);
    if (!rows_fit(rows.space, rows.axes)) continue;
    std::vector<int64_t> key(rows.space.begin(), rows.space.end());
    key.push_back(-1);  // no extent
    key.insert(key.end(), rows.axes.begin(), rows.axes.end());
    const auto [it, inserted] = numbers.try_emplace(key, static_cast<int>(rows_.size()));
    if (inserted) rows_.push_back(std::move(rows));
    number[n] = it->second;
  }
  return number;
}

RowFacts::RowFacts(const Graph& graph, const Uses& uses) : unrolls_rows_(uses.unrolls_rows()) {
  const std::vector<int> number = number_rows(graph, uses);
  if (rows_.empty()) return;
  const auto size = static_cast<NodeId>(graph.nodes.size());
  made_from_.resize(size, rows_.size());
  fused_from_.resize(size, rows_.size());
  for (NodeId n = 0; n < size; ++n) {
    if (!uses.computes(n)) continue;
    for (const GraphOperand& operand : graph.nodes[n].operands) {
      if (operand.is_scalar()) continue;
      const NodeId value = uses.viewed(operand.node);
      if (number[value] >= 0) {
        made_from_.insert(n, number[value]);
        fused_from_.insert(n, number[value]);
      } else if (is_pointwise(graph.nodes[value].op)) {
        made_from_.unite(n, value);
        if (!uses.observed(value)) fused_from_.unite(n, value);
      }
    }
  }
}

const Rows* RowFacts::rows_computing(NodeId n, const Shape& space, Projection outer) const {
  return find_last(made_from_.of(n), rows_, [&](const Rows& rows) {
    return rows.space == space && outer_dims(space, rows.axes) == outer;
  });
}

bool RowFacts::made_from_other_rows(NodeId n, const Shape& space,
                                    const std::vector<int>& axes) const {
  return find_last(fused_from_.of(n), rows_, [&](const Rows& rows) {
           return rows.space == space && rows.axes != axes &&
                  !(unrolls_rows_ && can_unroll(rows, axes));
         }) != nullptr;
}

}  // namespace sluice::fusion
