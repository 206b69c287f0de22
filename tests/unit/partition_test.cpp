// Partitions of graphs made by hand: which reductions a value is made from, however far away they
// are, and what placement does with that.
#include "fusion/partition/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <utility>
#include <vector>

#include "fusion/graph/uses.h"
#include "fusion/partition/row_facts.h"

namespace sluice::fusion {
namespace {

using testing::ElementsAre;

constexpr int64_t kRowCount = 64;
constexpr int64_t kRowLength = 128;
const Shape kMatrix{kRowCount, kRowLength};
const Shape kColumn{kRowCount, 1};

class PartitionTest : public testing::Test {
 protected:
  NodeId input(const Shape& shape) {
    GraphNode node;
    node.shape = shape;
    node.strides = contiguous_layout(shape).strides;
    return add(std::move(node));
  }
  NodeId op(Op op, const Shape& shape, const std::vector<NodeId>& operands) {
    GraphNode node;
    node.op = op;
    node.shape = shape;
    for (NodeId operand : operands) node.operands.push_back({.node = operand});
    return add(std::move(node));
  }
  // The sum over `axes`, which keep extent 1.
  NodeId sum(NodeId x, const std::vector<int>& axes) {
    std::vector<int64_t> extents(graph_.nodes[x].shape.begin(), graph_.nodes[x].shape.end());
    for (int axis : axes) extents[axis] = 1;
    const NodeId n = op(Op::kSum, Shape(std::span<const int64_t>(extents)), {x});
    graph_.nodes[n].attrs.assign(axes.begin(), axes.end());
    return n;
  }
  NodeId held(NodeId n) {
    graph_.nodes[n].live = true;
    return n;
  }

  Constraints no_constraints() const {
    const std::vector<bool> none(graph_.nodes.size(), false);
    return {.copied_view = none,
            .in_memory = none,
            .over_budget = none,
            .breaks_runs = none,
            .is_factor = none};
  }
  Partition parts() const { return partition(graph_, no_constraints(), /*fuse=*/true); }

  // The axes of the only group that `n` is a member of.
  std::vector<int> axes_of_group(const Partition& parts, NodeId n) const {
    std::vector<std::vector<int>> found;
    for (const Group& group : parts.groups) {
      for (NodeId member : group.members) {
        if (member == n) found.push_back(group.axes);
      }
    }
    EXPECT_EQ(found.size(), 1u) << "t" << n;
    return found.empty() ? std::vector<int>() : found[0];
  }

  Graph graph_;

 private:
  NodeId add(GraphNode node) {
    graph_.nodes.push_back(std::move(node));
    return static_cast<NodeId>(graph_.nodes.size()) - 1;
  }
};

TEST_F(PartitionTest, RowFactsFollowAllPointwiseOperands) {
  const NodeId x = input(kMatrix);
  const NodeId by_column = sum(x, {1});
  const NodeId total = sum(x, {0, 1});
  const NodeId ratio = op(Op::kDiv, kColumn, {total, by_column});
  const NodeId y = held(op(Op::kMul, kMatrix, {x, ratio}));
  const NodeId z = held(op(Op::kNeg, kMatrix, {y}));
  const Constraints constraints = no_constraints();
  const Uses uses(graph_, constraints);
  const RowFacts facts(graph_, uses);

  const Rows* rows = facts.rows_computing(ratio, kMatrix, outer_dims(kMatrix, {1}));
  ASSERT_NE(rows, nullptr);
  EXPECT_THAT(rows->axes, ElementsAre(1));
  EXPECT_EQ(facts.rows_computing(ratio, kMatrix, outer_dims(kMatrix, {0})), nullptr);
  EXPECT_EQ(facts.rows_computing(ratio, kColumn, all_dims(kColumn)), nullptr);
  EXPECT_EQ(facts.rows_computing(by_column, kMatrix, outer_dims(kMatrix, {1})), nullptr);

  EXPECT_TRUE(facts.made_from_other_rows(y, kMatrix, {0}));
  EXPECT_TRUE(facts.made_from_other_rows(y, kMatrix, {1}));  // the total's
  EXPECT_FALSE(facts.made_from_other_rows(y, kColumn, {0}));
  // What reads an observed value finds it in memory.
  EXPECT_FALSE(facts.made_from_other_rows(z, kMatrix, {0}));
}

// A kernel does no more than reduce rows that are long and few.
TEST_F(PartitionTest, RowsThatDoNotFitAreNoFacts) {
  const Shape wide{2, 1 << 20};
  const NodeId x = input(wide);
  const NodeId n = held(op(Op::kSub, wide, {x, sum(x, {1})}));
  const Constraints constraints = no_constraints();
  const Uses uses(graph_, constraints);
  const RowFacts facts(graph_, uses);
  EXPECT_FALSE(facts.made_from_other_rows(n, wide, {0}));
  EXPECT_EQ(facts.rows_computing(n, wide, outer_dims(wide, {1})), nullptr);
}

// Rows are told apart beyond the first 64.
TEST_F(PartitionTest, RowFactsHoldManyRows) {
  constexpr int kKinds = 150;
  std::vector<NodeId> results;
  for (int i = 0; i < kKinds; ++i) {
    const Shape shape{8, 2 + i};
    const NodeId x = input(shape);
    results.push_back(held(op(Op::kSub, shape, {x, sum(x, {1})})));
  }
  const Constraints constraints = no_constraints();
  const Uses uses(graph_, constraints);
  const RowFacts facts(graph_, uses);
  for (int i = 0; i < kKinds; ++i) {
    for (int k = 0; k < kKinds; ++k) {
      EXPECT_EQ(facts.made_from_other_rows(results[i], Shape{8, 2 + k}, {0}), i == k);
    }
  }
}

// The root is computed once a row, though the operand that is no row of this space comes first.
TEST_F(PartitionTest, CostlyRowValueWaitsForItsReduction) {
  const NodeId x = input(kMatrix);
  const NodeId total = sum(x, {0, 1});
  const NodeId root = op(Op::kSqrt, kColumn, {op(Op::kDiv, kColumn, {total, sum(x, {1})})});
  const NodeId y = held(op(Op::kMul, kMatrix, {x, root}));
  const Partition result = parts();
  EXPECT_EQ(result.groups.size(), 2u);  // the total, and all else
  EXPECT_FALSE(result.stored[root]);
  EXPECT_THAT(axes_of_group(result, y), ElementsAre(1));
}

// A value that belongs to the kernel of the rows it is made from does so at any distance.
TEST_F(PartitionTest, HeldValueBelongsToItsRowsHoweverFarAway) {
  for (const int distance : {1, 10, 100}) {
    graph_ = {};
    const NodeId x = input(kMatrix);
    NodeId y = op(Op::kSub, kMatrix, {x, sum(x, {1})});
    for (int i = 0; i < distance; ++i) y = op(Op::kNeg, kMatrix, {y});
    held(y);
    held(sum(y, {0}));
    const Partition result = parts();
    EXPECT_EQ(result.groups.size(), 2u) << distance;
    EXPECT_THAT(axes_of_group(result, y), ElementsAre(1)) << distance;
  }
}

}  // namespace
}  // namespace sluice::fusion
