// The analysis of passes, on programs small enough to say what it must be.
#include "fusion/ir/pass_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/program_builder.h"

namespace sluice::fusion {
namespace {

using sluice::testing::ProgramBuilder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PassPlanTest : public ::testing::Test {
 protected:
  // exp(x - max(x)) / sum(...), with a scalar and a row's value thrown in.
  PassPlanTest() : b_(Schedule::kRow, {4}, {6}) {
    x_ = b_.load(b_.access(memory_, {6, 1}));
    maximum_ = b_.op(Op::kMax, {x_});
    difference_ = b_.op(Op::kSub, {x_, maximum_});
    exp_ = b_.op(Op::kExp, {difference_});
    sum_ = b_.op(Op::kSum, {exp_});
    scale_ = b_.scalar(2.f);
    row_ = b_.load(b_.access(memory_, {1, 0}));
    unused_ = b_.op(Op::kAdd, {row_, scale_});
    total_ = b_.op(Op::kMul, {sum_, scale_});
    quotient_ = b_.op(Op::kDiv, {exp_, total_});
    b_.store(quotient_, b_.access(memory_, {6, 1}));
    b_.store(row_, b_.access(memory_, {1, 0}));
    b_.store(total_, b_.access(memory_, {1, 0}));
  }

  float memory_[64] = {};
  ProgramBuilder b_;
  ValueId x_, maximum_, difference_, exp_, sum_, scale_, row_, unused_, total_, quotient_;
};

TEST_F(PassPlanTest, EachPassComputesWhatItNeeds) {
  const PassPlan plan(b_.program());
  ASSERT_EQ(plan.passes.size(), 3);
  EXPECT_THAT(plan.passes[0].values, ElementsAre(x_));
  EXPECT_THAT(plan.passes[0].reductions, ElementsAre(maximum_));
  EXPECT_THAT(plan.passes[1].values, ElementsAre(x_, difference_, exp_));
  EXPECT_THAT(plan.passes[1].reductions, ElementsAre(sum_));
  EXPECT_THAT(plan.passes[2].values, ElementsAre(x_, difference_, exp_, quotient_));
  EXPECT_THAT(plan.passes[2].reductions, IsEmpty());
  EXPECT_EQ(plan.passes[2].stores.size(), 1);
  EXPECT_EQ(plan.first_pass[exp_], 1);
  EXPECT_EQ(plan.first_pass[total_], -1);
}

TEST_F(PassPlanTest, RowsAreKnownBetweenPasses) {
  const PassPlan plan(b_.program());
  EXPECT_THAT(plan.uniform, ElementsAre(scale_));
  ASSERT_EQ(plan.rows.size(), 4);
  EXPECT_THAT(plan.rows[0], ElementsAre(row_));  // and not what nobody uses
  EXPECT_THAT(plan.rows[1], IsEmpty());
  EXPECT_THAT(plan.rows[2], ElementsAre(total_));
  EXPECT_THAT(plan.rows[3], IsEmpty());
  EXPECT_THAT(plan.reductions, ElementsAre(maximum_, sum_));
  EXPECT_EQ(plan.row_stores.size(), 2);
  EXPECT_EQ(plan.row_of(row_), 0);
  EXPECT_EQ(plan.row_of(total_), 2);
  EXPECT_FALSE(plan.splits_rows());
}

TEST_F(PassPlanTest, LaterPassesTakeCachedValues) {
  std::vector<bool> cacheable(b_.program().body.size(), false);
  cacheable[exp_] = true;
  const PassPlan plan(b_.program(), cacheable);
  EXPECT_THAT(plan.passes[1].values, ElementsAre(x_, difference_, exp_));
  EXPECT_THAT(plan.passes[1].cached, IsEmpty());
  EXPECT_THAT(plan.passes[2].values, ElementsAre(quotient_));
  EXPECT_THAT(plan.passes[2].cached, ElementsAre(exp_));
  EXPECT_EQ(plan.first_pass[exp_], 1);
}

TEST(PassPlan, PointsAreRows) {
  float memory[8] = {};
  ProgramBuilder b(Schedule::kPointwise, {8});
  const ValueId x = b.load(b.access(memory, {1}));
  const ValueId y = b.load(b.access(memory, {0}));
  const ValueId sum = b.op(Op::kAdd, {x, y});
  b.store(sum, b.access(memory, {1}));
  const PassPlan plan(b.program());
  EXPECT_THAT(plan.passes, IsEmpty());
  EXPECT_THAT(plan.uniform, ElementsAre(y));
  EXPECT_THAT(plan.rows, ElementsAre(std::vector<ValueId>{x, sum}));
  EXPECT_EQ(plan.row_stores.size(), 1);
  EXPECT_EQ(same_in_all_lanes(b.program()), (std::vector<bool>{false, true, false}));
}

TEST(PassPlan, ChecksAreNeededForTheirEffect) {
  int64_t memory[8] = {};
  ProgramBuilder b(Schedule::kRow, {2}, {4});
  const ValueId index = b.load(b.access(memory, {4, 1}));
  const ValueId extent = b.param(3);
  const ValueId check = b.check_index({index, extent});
  const ValueId sum = b.op(Op::kSum, {index});
  // Could be computed after the last pass only.
  b.check_index({b.op(Op::kAdd, {index, sum}), extent});
  b.store(sum, b.access(memory, {1, 0}));
  const PassPlan plan(b.program());
  ASSERT_EQ(plan.passes.size(), 1);
  EXPECT_THAT(plan.passes[0].values, ElementsAre(index, check));
  EXPECT_TRUE(plan.splits_rows());
}

}  // namespace
}  // namespace sluice::fusion
