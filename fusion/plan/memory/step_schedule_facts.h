// What a StepSchedule knows of the plan's steps.
#ifndef SLUICE_FUSION_PLAN_STEP_SCHEDULE_FACTS_H_
#define SLUICE_FUSION_PLAN_STEP_SCHEDULE_FACTS_H_

#include <utility>
#include <vector>

#include "fusion/plan/memory/step_schedule.h"

namespace sluice::fusion {

struct StepSchedule::Facts {
  std::vector<bool> is_output;                     // by what it touches
  std::vector<std::pair<int32_t, int32_t>> pairs;  // what it reads, and what may be written over it
  double cost = 0;
  bool is_repeatable = false;  // computes the same each time, and nobody notices
};

// Values that are written in place of one another.
struct StepSchedule::Lines {
  std::vector<int64_t> bytes;           // by position: as bytes_in_use()
  std::vector<int32_t> overwritten_at;  // by input: the position; none: beyond all
};

inline bool StepSchedule::is_output(const ScheduledStep& step, size_t k) const {
  return (*facts_)[step.step].is_output[k];
}
inline bool StepSchedule::is_repeatable(const ScheduledStep& step) const {
  return (*facts_)[step.step].is_repeatable;
}
inline const std::vector<std::pair<int32_t, int32_t>>& StepSchedule::in_place_pairs(
    const ScheduledStep& step) const {
  return (*facts_)[step.step].pairs;
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_STEP_SCHEDULE_FACTS_H_
