#include "fusion/partition/partition.h"

#include <algorithm>
#include <utility>

#include "fusion/graph/uses.h"
#include "fusion/partition/placement.h"
#include "fusion/partition/row_facts.h"
#include "fusion/partition/short_rows.h"
#include "fusion/partition/siblings.h"

namespace sluice::fusion {

namespace {

// Worth a transposition by tiles, which loads under predicates do not get.
bool is_transposed(const GraphNode& node) {
  constexpr int64_t kMinSide = 8;
  if (node.op != Op::kInput || node.shape.rank() == 0) return false;
  const int last = node.shape.rank() - 1;
  const auto along_lanes = node.strides[last];
  if (node.shape[last] < kMinSide || (along_lanes >= -1 && along_lanes <= 1)) return false;
  for (int k = 0; k < last; ++k) {
    if (node.shape[k] >= kMinSide && node.strides[k] == 1) return true;
  }
  return false;
}

// Along the first axis there is, so that parts follow one another in memory.
bool is_along_first_axis(const GraphNode& concat) {
  const auto axis = concat.attrs[0];
  for (int k = 0; k < axis; ++k) {
    if (concat.shape[k] != 1) return false;
  }
  return true;
}

// Whether what parts have in a row of the concat are a few vectors each, on average. A kernel that
// tells them apart cuts long rows at each part, and reads short ones once for each part; of longer
// runs that is little beside the rest.
bool has_runs_of_vectors(const GraphNode& concat) {
  constexpr int64_t kMinBytes = 32, kMaxBytes = 512, kLongRow = 128;
  constexpr int64_t kFewParts = 3;
  int64_t row = 1;
  for (int k = static_cast<int>(concat.attrs[0]); k < concat.shape.rank(); ++k) {
    row *= concat.shape[k];
  }
  const auto parts = static_cast<int64_t>(concat.operands.size());
  const auto bytes = static_cast<int64_t>(size_of(concat.dtype)) * row / parts;
  return (row > kLongRow || parts > kFewParts) && kMinBytes <= bytes && bytes < kMaxBytes;
}

}  // namespace

bool is_by_parts(const Graph& graph, const GraphNode& node, bool is_read) {
  // To keep it from memory makes up for telling some more parts apart.
  constexpr size_t kMaxParts = 8, kMaxPartsIfRead = 16;
  // Less is not worth a call more.
  constexpr int64_t kMinElements = 16'384;
  if (class_of(node.op) != OpClass::kConcat) return false;
  if (is_read) return node.operands.size() > kMaxPartsIfRead;
  if (node.operands.size() > kMaxParts) return true;
  if (node.operands.size() < 2 || node.shape.numel() < kMinElements) return false;
  return is_along_first_axis(node) || has_runs_of_vectors(node) ||
         std::any_of(node.operands.begin(), node.operands.end(), [&](const GraphOperand& operand) {
           return is_transposed(graph.nodes[operand.node]);
         });
}

Partition partition(const Graph& graph, const Constraints& constraints, bool fuse) {
  const Uses uses(graph, constraints);
  const RowFacts row_facts(graph, uses);
  Placement placement = place_nodes(graph, constraints, uses, row_facts, fuse);
  if (fuse) merge_siblings(graph, uses, placement.stored, &placement.groups);
  std::vector<Group> groups = std::move(placement.groups).in_order();
  if (constraints.unrolls_rows) {
    for (Group& group : groups) unroll_short_rows(graph, constraints, &group);
  }
  return {.groups = std::move(groups),
          .stored = std::move(placement.stored),
          .cuts = std::move(placement.cuts)};
}

}  // namespace sluice::fusion
