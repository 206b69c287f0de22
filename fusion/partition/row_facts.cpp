#include "fusion/partition/row_facts.h"

#include <bit>

#include "absl/container/flat_hash_map.h"
#include "fusion/ir/cost.h"

namespace sluice::fusion {
namespace {

// Calls f(const Rows&) for the rows in `set`, the last first, until it returns true; true if it
// did.
template <typename F>
bool any_rows(absl::Span<const uint64_t> set, const std::vector<Rows>& rows, F f) {
  for (size_t word = set.size(); word-- > 0;) {
    for (uint64_t bits = set[word]; bits != 0;) {
      const int bit = std::bit_width(bits) - 1;
      if (f(rows[word * 64 + bit])) return true;
      bits ^= uint64_t{1} << bit;
    }
  }
  return false;
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
  return length <= kShortRow || space.numel() / length >= kManyRows;
}

RowFacts::RowFacts(const Graph& graph, const Uses& uses) {
  number_rows(graph, uses);
  if (!rows_.empty()) propagate(graph, uses);
}

void RowFacts::number_rows(const Graph& graph, const Uses& uses) {
  const auto size = static_cast<NodeId>(graph.nodes.size());
  row_number_.resize(size, -1);
  absl::flat_hash_map<std::vector<int64_t>, int32_t> numbers;
  for (NodeId n = 0; n < size; ++n) {
    if (!is_reduction(graph.nodes[n].op) || !uses.computes(n)) continue;
    Rows rows = rows_of(graph, n);
    if (!rows_fit(rows.space, rows.axes)) continue;
    std::vector<int64_t> key(rows.space.begin(), rows.space.end());
    key.push_back(-1);
    key.insert(key.end(), rows.axes.begin(), rows.axes.end());
    const auto [it, inserted] = numbers.try_emplace(key, static_cast<int32_t>(rows_.size()));
    if (inserted) rows_.push_back(std::move(rows));
    row_number_[n] = it->second;
  }
}

void RowFacts::propagate(const Graph& graph, const Uses& uses) {
  const auto size = static_cast<NodeId>(graph.nodes.size());
  words_ = (rows_.size() + 63) / 64;
  made_from_.resize(size * words_, 0);
  fused_from_.resize(size * words_, 0);
  const auto unite = [&](Sets& sets, NodeId n, NodeId operand) {
    const absl::Span<uint64_t> into = set_of(sets, n);
    const absl::Span<uint64_t> from = set_of(sets, operand);
    for (size_t word = 0; word < words_; ++word) into[word] |= from[word];
  };
  for (NodeId n = 0; n < size; ++n) {
    if (!uses.computes(n)) continue;
    for (const GraphOperand& operand : graph.nodes[n].operands) {
      if (operand.is_scalar()) continue;
      const NodeId value = uses.viewed(operand.node);
      if (const int32_t number = row_number_[value]; number >= 0) {
        const uint64_t bit = uint64_t{1} << (number % 64);
        set_of(made_from_, n)[number / 64] |= bit;
        set_of(fused_from_, n)[number / 64] |= bit;
      } else if (is_pointwise(graph.nodes[value].op)) {
        unite(made_from_, n, value);
        if (!uses.observed(value)) unite(fused_from_, n, value);
      }
    }
  }
}

absl::Span<uint64_t> RowFacts::set_of(Sets& sets, NodeId n) const {
  return absl::MakeSpan(sets).subspan(n * words_, words_);
}

const Rows* RowFacts::rows_computing(NodeId n, const Shape& space, Projection outer) const {
  const Rows* found = nullptr;
  any_rows(absl::MakeSpan(made_from_).subspan(n * words_, words_), rows_, [&](const Rows& rows) {
    if (rows.space == space && outer_dims(space, rows.axes) == outer) found = &rows;
    return found != nullptr;
  });
  return found;
}

bool RowFacts::made_from_other_rows(NodeId n, const Shape& space,
                                    const std::vector<int>& axes) const {
  return any_rows(absl::MakeSpan(fused_from_).subspan(n * words_, words_), rows_,
                  [&](const Rows& rows) { return rows.space == space && rows.axes != axes; });
}

}  // namespace sluice::fusion
