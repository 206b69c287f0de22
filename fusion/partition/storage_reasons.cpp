#include "fusion/partition/storage_reasons.h"

#include <algorithm>

#include "fusion/ir/cost.h"

namespace sluice::fusion {
namespace {

// An operand of so many times fewer elements than a value stays in cache.
constexpr int64_t kSmallOperand = 16;

// So many simple ops take no longer than writing a value and reading it.
constexpr int kMaxCheapOps = 4;

// Likewise where memory is short.
constexpr int64_t kSmallOperandOfMuch = 4;
constexpr int kMaxOpsForMemory = 16;

// Why groups that all read one value are not one group, given that none computes it for itself.
CutReason why_apart(const GroupGraph& groups, absl::Span<const int> readers) {
  const Group& a = groups.at(readers[0]);
  for (int reader : readers.subspan(1)) {
    const Group& b = groups.at(reader);
    if (a.space != b.space) return CutReason::kShape;
    if (a.axes == b.axes) continue;
    if (!a.axes.empty() && !b.axes.empty()) return CutReason::kShape;
    const std::vector<int>& axes = a.axes.empty() ? b.axes : a.axes;
    return rows_fit(a.space, axes) ? CutReason::kShape : CutReason::kRow;
  }
  return CutReason::kOrder;
}

}  // namespace

StorageReasons::StorageReasons(const Graph& graph, const Constraints& constraints, const Uses& uses,
                               const RowFacts& row_facts, const GroupGraph& groups,
                               const Positions& positions)
    : graph_(graph),
      constraints_(constraints),
      uses_(uses),
      row_facts_(row_facts),
      groups_(groups),
      positions_(positions),
      recomputations_(graph.nodes.size(), 1) {}

std::optional<CutReason> StorageReasons::required(NodeId n) const {
  if (constraints_.over_budget[n]) return CutReason::kBudget;
  if (constraints_.breaks_runs[n]) return CutReason::kRuns;
  if (constraints_.is_factor[n]) return CutReason::kLibrary;
  if (constraints_.in_memory[n]) return CutReason::kView;
  std::optional<CutReason> reason;
  if (uses_.observed(n)) reason = CutReason::kObserved;
  for (const Use& use : uses_.of(n)) {
    if (!uses_.needs_memory(use)) continue;
    const bool by_library = is_library_call(constraints_, node(use.consumer).op);
    reason = by_library ? CutReason::kLibrary : CutReason::kGather;
  }
  return reason;
}

std::optional<CutReason> StorageReasons::preferred(NodeId n, absl::Span<const int> readers) {
  count_recomputations(n);
  if (class_of(node(n).op) == OpClass::kSource) return std::nullopt;
  for (int g : readers) {
    if (!groups_.has_room(g, n)) return CutReason::kBudget;
    if (is_shared(node(n).op) && scans_long_rows(graph_, groups_.at(g))) return CutReason::kRow;
  }
  if (is_computed_often(n, readers) && !is_cheap(n)) return CutReason::kCost;
  if (readers.size() == 1) {
    return is_repeated(n, readers[0]) ? std::optional(CutReason::kCost) : std::nullopt;
  }
  if (is_cheap(n)) return std::nullopt;
  return why_apart(groups_, readers);
}

// One computation serves all reads in step; each of the others needs its own.
void StorageReasons::count_recomputations(NodeId n) {
  int in_step = 0;
  int others = 0;
  for (const Use& use : uses_.of(n)) {
    const int times = recomputations_[use.consumer];
    const bool direct = node(use.consumer).operands[use.operand].node == n;
    if (direct && is_pointwise(node(use.consumer).op)) {
      in_step = std::max(in_step, times);
    } else if (is_reduction(node(use.consumer).op) || is_scan(node(use.consumer).op)) {
      in_step = std::max(in_step, 1);
    } else {
      others += times;
    }
  }
  recomputations_[n] = in_step + others;
}

// True if `readers` would compute each element of `n` several times, or many elements at each
// point.
bool StorageReasons::is_computed_often(NodeId n, absl::Span<const int> readers) const {
  const int64_t maps = recomputations_[n];
  if (maps <= kMaxRecomputations) return false;
  if (maps > kMaxIndexMaps) return true;
  int64_t points = 0;
  for (const int g : readers) points = std::max(points, groups_.at(g).space.numel());
  return maps * points > kMaxRecomputations * node(n).shape.numel();
}

// True if computing `n` again, from one large value in memory, costs less than writing and reading
// it.
bool StorageReasons::is_cheap(NodeId n) const {
  if (class_of(node(n).op) == OpClass::kRoll) return true;  // what it rolls is asked as well
  absl::InlinedVector<NodeId, 2> reads;
  int ops = constraints_.saves_memory ? kMaxOpsForMemory : kMaxCheapOps;
  return add_reads(n, node(n).shape.numel(), &ops, &reads) && reads.size() <= 1;
}

// Adds what computing `n` again reads of memory, but for what is small beside `elements`. False if
// it is more than a few simple ops, or would have something stored that is not otherwise.
bool StorageReasons::add_reads(NodeId n, int64_t elements, int* ops,
                               absl::InlinedVector<NodeId, 2>* reads) const {
  if (!is_pointwise(node(n).op) || is_costly(node(n).op) || --*ops < 0) return false;
  for (const GraphOperand& operand : node(n).operands) {
    if (operand.is_scalar()) continue;
    const NodeId value = uses_.viewed(operand.node);
    if (class_of(node(value).op) == OpClass::kSource) continue;
    const bool is_stored = node(value).op == Op::kInput || uses_.observed(value) ||
                           class_of(node(value).op) == OpClass::kLibrary;
    const int64_t small = constraints_.saves_memory ? kSmallOperandOfMuch : kSmallOperand;
    if (node(value).shape.numel() <= elements / small) continue;
    absl::InlinedVector<NodeId, 2> own;
    if (is_stored || !add_reads(value, elements, ops, &own) || own.size() > 1) {
      // By several groups it will be stored. For `n` alone that would be another value for it.
      const bool is_smaller = size_of(node(value).dtype) <= size_of(node(n).dtype);
      if (!is_stored && (uses_.of(value).size() == 1 || !is_smaller)) return false;
      own = {value};
    }
    for (const NodeId read : own) {
      if (std::find(reads->begin(), reads->end(), read) == reads->end()) reads->push_back(read);
    }
  }
  return true;
}

// True if `g` would compute each element of `n`, a costly op, many times. What varies along the
// outer dims of rows is computed once a row, also if the reduction of these rows is yet to be
// placed.
bool StorageReasons::is_repeated(NodeId n, int g) const {
  const int64_t elements = node(n).shape.numel();
  const Group& group = groups_.at(g);
  if (elements <= 1 || !is_costly(node(n).op)) return false;
  if (group.space.numel() / elements < kMaxBroadcastOfCostly) return false;
  if (!group.axes.empty()) return !positions_.once_a_row(n, g);
  const std::optional<Projection> position = positions_.of_reads(n, g);
  return !position || row_facts_.rows_computing(n, group.space, *position) == nullptr;
}

}  // namespace sluice::fusion
