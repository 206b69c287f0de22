#include "fusion/plan/memory/save_memory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fusion/plan/memory/memory_plan.h"
#include "fusion/plan/memory/step_schedule.h"

namespace sluice::fusion {
namespace {

// The work of a plan may become so many times as much, by single changes and in all.
constexpr double kMostWorkOfChanges = 2;
constexpr double kMostWork = 4;
// How many of the most promising changes are tried at a time.
constexpr size_t kTried = 24;
// Steps that may be looked at in all: bounds the time of planning long windows.
constexpr int64_t kMostSteps = int64_t{1} << 23;
// Blocks have gaps between values, which a schedule does not know of: it aims lower, by this part
// of the budget or more, so many times.
constexpr int64_t kStepOfAims = 32;
constexpr int kMostAims = 8;

class MemorySaver {
 public:
  MemorySaver(const Plan& plan, const MemoryBudget& budget, InPlace in_place)
      : plan_(plan),
        budget_(budget),
        in_place_(in_place),
        schedule_(plan, budget.inputs, in_place),
        own_cost_(schedule_.total_cost()) {}

  Plan run() && {
    best_ = plan_;
    least_ = needed_by(best_);
    const StepSchedule own = schedule_;
    try_aims([&](int64_t aim) { return fit(aim); });
    if (least_ <= budget_.bytes) return std::move(best_);
    // By far too little memory for one change at a time.
    try_aims([&](int64_t aim) {
      StepSchedule within = own;
      if (!within.keep_within(aim) || within.total_cost() > kMostWork * own_cost_) return false;
      schedule_ = std::move(within);
      return true;
    });
    return std::move(best_);
  }

 private:
  template <typename F>
  void try_aims(F change) {
    int64_t aim = budget_.bytes;
    for (int i = 0; i < kMostAims && least_ > budget_.bytes; ++i) {
      const bool is_changed = change(aim);
      aim -= budget_.bytes / kStepOfAims + 1;
      if (!is_changed) continue;
      Plan plan = schedule_.make_plan();
      plan.values_recomputed = std::max<int64_t>(schedule_.num_repeated(), 0);
      const int64_t needed = needed_by(plan);
      if (needed >= least_) continue;
      best_ = std::move(plan);
      least_ = needed;
    }
  }

  int64_t needed_by(Plan plan) const {
    find_lifetimes(&plan);
    find_donors(&plan, in_place_);
    return bytes_needed(place_results(plan, budget_.inputs, {}));
  }

  // How much memory is missing, in bytes times steps.
  static double excess(const StepSchedule& schedule, int64_t aim) {
    double sum = 0;
    for (const int64_t bytes : schedule.bytes_in_use()) {
      sum += static_cast<double>(std::max<int64_t>(bytes - aim, 0));
    }
    return sum;
  }

  // False if nothing has changed.
  bool fit(int64_t aim) {
    bool is_changed = false;
    excess_ = excess(schedule_, aim);
    while (excess_ > 0 && steps_left_ > 0) {
      bool is_better = reorder(aim);
      while (excess_ > 0 && steps_left_ > 0 && recompute(aim)) is_better = true;
      if (!is_better) break;
      is_changed = true;
    }
    return is_changed;
  }

  bool reorder(int64_t aim) {
    bool is_better = false;
    const auto is_done = [&] { return excess_ == 0 || steps_left_ <= 0; };
    const auto try_move = [&](size_t from, size_t to) {
      if (from == to) return;
      steps_left_ -= static_cast<int64_t>(schedule_.size());
      schedule_.move(from, to);
      const double excess = MemorySaver::excess(schedule_, aim);
      if (excess < excess_) {
        excess_ = excess;
        is_better = true;
      } else {
        schedule_.move(to, from);
      }
    };
    for (size_t p = schedule_.size(); p-- > 0 && !is_done();) try_move(p, schedule_.latest(p));
    for (size_t p = 0; p < schedule_.size() && !is_done(); ++p) try_move(p, schedule_.earliest(p));
    return is_better;
  }

  // Of the waits through which most is missing, has the value computed again that is worth most.
  bool recompute(int64_t aim) {
    const std::vector<int64_t> bytes = schedule_.bytes_in_use();
    std::vector<double> missing(bytes.size() + 1, 0);  // before a position
    for (size_t p = 0; p < bytes.size(); ++p) {
      missing[p + 1] = missing[p] + static_cast<double>(std::max<int64_t>(bytes[p] - aim, 0));
    }
    struct Choice {
      StepSchedule::Wait wait;
      double gain;
    };
    std::vector<Choice> choices;
    for (const StepSchedule::Wait& wait : schedule_.waits()) {
      const double most =
          static_cast<double>(schedule_.bytes_of(wait.value)) * (wait.to - wait.from - 1);
      const double gain = std::min(most, missing[wait.to] - missing[wait.from + 1]);
      if (gain > 0) choices.push_back({wait, gain});
    }
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice& a, const Choice& b) { return a.gain > b.gain; });
    const double cost_before = schedule_.total_cost();
    std::optional<StepSchedule> best;
    double best_worth = 0, best_excess = 0;
    for (size_t c = 0; c < choices.size() && steps_left_ > 0; ++c) {
      if (c % kTried == 0 && best) break;
      const int64_t own = schedule_.bytes_of(choices[c].wait.value);
      for (const int64_t most_kept : {own / 2, own / 16}) {
        StepSchedule changed = schedule_;
        steps_left_ -= static_cast<int64_t>(changed.size());
        if (!changed.recompute(choices[c].wait, most_kept)) continue;
        const double cost = changed.total_cost();
        if (cost > kMostWorkOfChanges * own_cost_) continue;
        const double excess = MemorySaver::excess(changed, aim);
        const double worth = (excess_ - excess) / std::max(cost - cost_before, 1.0);
        if (excess >= excess_ || worth <= best_worth) continue;
        best_worth = worth;
        best_excess = excess;
        best = std::move(changed);
      }
    }
    if (!best) return false;
    schedule_ = *std::move(best);
    excess_ = best_excess;
    return true;
  }

  const Plan& plan_;
  const MemoryBudget& budget_;
  const InPlace in_place_;
  StepSchedule schedule_;
  const double own_cost_;
  double excess_ = 0;
  Plan best_;
  int64_t least_ = 0;  // the bytes that it needs
  int64_t steps_left_ = kMostSteps;
};

}  // namespace

int64_t bytes_needed(const Blocks& blocks) {
  int64_t bytes = 0;
  for (const Block& block : blocks.blocks) bytes += block.input < 0 ? block.bytes : 0;
  return bytes;
}

void save_memory(Plan* plan, const MemoryBudget& budget, InPlace in_place) {
  if (plan->steps.empty()) return;
  *plan = MemorySaver(*plan, budget, in_place).run();
}

}  // namespace sluice::fusion
