// Which tier a kernel stays in, given times.
#include "kernels/tier_trial.h"

#include <gtest/gtest.h>

namespace sluice::kernels {
namespace {

TEST(TierTrial, EndsWithTheFirstFasterRun) {
  TierTrial trial;
  EXPECT_FALSE(trial.add(/*compiled=*/false, 10));
  EXPECT_FALSE(trial.is_over());
  EXPECT_FALSE(trial.add(/*compiled=*/true, 9));
  EXPECT_TRUE(trial.is_over());
  EXPECT_FALSE(trial.wants_interpreted());
}

TEST(TierTrial, NothingToCompareWith) {
  TierTrial trial;
  EXPECT_FALSE(trial.add(/*compiled=*/true, 9));
  EXPECT_TRUE(trial.is_over());
  EXPECT_FALSE(trial.wants_interpreted());
}

// Runs by turns until it is over; returns what the last run returned.
bool take_turns(TierTrial& trial, double interpreted, double compiled) {
  bool given_up = false;
  for (int i = 0; i < 100 && !trial.is_over(); ++i) {
    const bool interprets = trial.wants_interpreted();
    given_up = trial.add(!interprets, interprets ? interpreted : compiled);
  }
  return given_up;
}

TEST(TierTrial, ASlowerFormIsGivenUp) {
  TierTrial trial;
  trial.add(/*compiled=*/false, 10);
  EXPECT_TRUE(take_turns(trial, 10, 13));
  EXPECT_TRUE(trial.is_over());
  EXPECT_TRUE(trial.wants_interpreted());
  EXPECT_FALSE(trial.add(/*compiled=*/false, 10));  // told once
}

// The machine was busy when the compiled form first ran, or the difference is small.
TEST(TierTrial, DoubtsMayPass) {
  for (const double compiled : {1.0, 11.0}) {
    TierTrial trial;
    trial.add(/*compiled=*/false, 10);
    for (int i = 0; i < 3; ++i) trial.add(/*compiled=*/true, 100);
    EXPECT_TRUE(trial.wants_interpreted());
    EXPECT_FALSE(take_turns(trial, 10, compiled));
    EXPECT_TRUE(trial.is_over());
    EXPECT_FALSE(trial.wants_interpreted());
  }
}

}  // namespace
}  // namespace sluice::kernels
