// The order of a plan's steps as something to try changes on: what is in memory at each step,
// copies of steps, other orders.
#ifndef SLUICE_FUSION_PLAN_STEP_SCHEDULE_H_
#define SLUICE_FUSION_PLAN_STEP_SCHEDULE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "fusion/plan/memory/blocks.h"
#include "fusion/plan/memory/memory_plan.h"
#include "fusion/plan/plan.h"

namespace sluice::fusion {

// A run of one of the plan's steps, as it is or as a copy that computes the same again. Memory is
// named by numbers of values: the plan's inputs, its results, and what copies write.
struct ScheduledStep {
  int32_t step = 0;  // of the plan
  // What the step touches, in the order of for_each_memory().
  absl::InlinedVector<int32_t, 8> memory;
};

// Cheap to copy, so that a change can be tried on a copy.
class StepSchedule {
 public:
  // The plan's own. Refers to it. `inputs`: as for place_results().
  StepSchedule(const Plan& plan, absl::Span<const InputMemory> inputs, InPlace in_place);

  size_t size() const { return order_.size(); }
  const ScheduledStep& operator[](size_t position) const { return order_[position]; }
  // Rough nanoseconds of one step, and of all.
  double cost(size_t position) const;
  double total_cost() const;
  // Steps that run more often than in the plan.
  int64_t num_repeated() const {
    return static_cast<int64_t>(size()) - static_cast<int64_t>(plan_->steps.size());
  }

  // By position: the bytes that results take, not counting what lies in inputs' memory.
  std::vector<int64_t> bytes_in_use() const;

  // Between two steps that touch it, a result only waits.
  struct Wait {
    int32_t value = -1;
    int32_t from = 0, to = 0;  // positions
  };
  std::vector<Wait> waits() const;
  int64_t bytes_of(int32_t value) const { return values_[value].bytes; }

  // Has the value computed again just before the position where its wait ends. What that needs and
  // is there no more lives on until then if it has at most `most_kept` bytes, and else is computed
  // again as well. False if that is not possible; the schedule is of no use then.
  bool recompute(const Wait& wait, int64_t most_kept);

  // Has values given up wherever more than so many bytes would be in use, and computed again when
  // they are read. That may take much work, and what one step reads and writes is there in any
  // case. False if it is not possible.
  bool keep_within(int64_t bytes);

  // As late, or as early, as a step may run for what it reads and writes: a position.
  size_t latest(size_t position) const;
  size_t earliest(size_t position) const;
  void move(size_t from, size_t to);

  // The plan in this order, its lifetimes not known.
  Plan make_plan() const;

 private:
  struct Facts;  // of a plan's step
  struct Value {
    int64_t bytes = 0;
    int32_t origin = -1;  // the value of the plan that it equals
    bool is_observed = false;
    int32_t earlier = -1;  // the copy made before it
  };
  // Positions of the steps that touch a value; none: -1.
  struct Span {
    int32_t first = -1, last = -1;
  };

  class Keeper;
  bool is_output(const ScheduledStep& step, size_t k) const;
  bool is_repeatable(const ScheduledStep& step) const;
  const std::vector<std::pair<int32_t, int32_t>>& in_place_pairs(const ScheduledStep& step) const;
  int32_t add_copy_of(int32_t value);
  bool is_input(int32_t value) const { return value < num_inputs_; }
  bool reads(const ScheduledStep& step, int32_t value) const;
  std::vector<Span> spans() const;
  struct Lines;
  Lines find_lines() const;
  struct Copying;
  int32_t find_alive(const Copying& copying, int32_t origin) const;
  bool copy_writer(int32_t value, int depth, Copying* copying);
  void remove_unread();

  const Plan* plan_;
  std::shared_ptr<const std::vector<Facts>> facts_;  // by step of the plan
  std::vector<InputMemory> inputs_;
  int32_t num_inputs_ = 0;
  std::vector<Value> values_;
  std::vector<int32_t> latest_copy_;  // by value of the plan
  std::vector<ScheduledStep> order_;
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_STEP_SCHEDULE_H_
