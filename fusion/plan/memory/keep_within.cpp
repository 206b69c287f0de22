// Values are given up as the steps go by, as little work for the bytes and the time until they are
// read again as possible, and computed again when they are read.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "fusion/plan/memory/step_schedule.h"
#include "fusion/plan/memory/step_schedule_facts.h"

namespace sluice::fusion {
namespace {

constexpr int32_t kNever = std::numeric_limits<int32_t>::max();
constexpr double kImpossible = std::numeric_limits<double>::infinity();

// Of steps that are looked at to know what computing one value again takes.
constexpr int kMostLooks = 64;

}  // namespace

class StepSchedule::Keeper {
 public:
  Keeper(const StepSchedule& before, int64_t most)
      : before_(before),
        after_(before),
        most_(most),
        overwritten_at_(before.find_lines().overwritten_at) {
    after_.order_.clear();
    const size_t count = before.values_.size();
    reads_.resize(count);
    writer_.assign(count, -1);
    present_.assign(count, -1);
    was_written_.resize(count);
    for (size_t p = 0; p < before.size(); ++p) {
      const ScheduledStep& step = before.order_[p];
      for (size_t k = 0; k < step.memory.size(); ++k) {
        const int32_t value = step.memory[k];
        if (!before.is_output(step, k)) {
          reads_[value].push_back(static_cast<int32_t>(p));
        } else if (writer_[value] < 0) {
          writer_[value] = static_cast<int32_t>(p);
          // What outlives the plan has its memory from the begin on.
          if (before.values_[value].is_observed) used_ += before.values_[value].bytes;
        }
      }
    }
  }

  // Nullopt if a value is needed that cannot be computed again.
  std::optional<StepSchedule> run() && {
    for (now_ = 0; now_ < static_cast<int32_t>(before_.size()); ++now_) {
      if (!run_step(before_.order_[now_], now_, 0)) return std::nullopt;
    }
    return std::move(after_);
  }

 private:
  const Value& value(int32_t v) const { return before_.values_[v]; }
  bool is_kept(int32_t v) const { return before_.is_input(v) || value(v).is_observed; }

  // The next step that reads the value, from now on; kNever: none.
  int32_t next_read(int32_t v) const {
    const auto next = std::lower_bound(reads_[v].begin(), reads_[v].end(), now_);
    return next == reads_[v].end() ? kNever : *next;
  }

  // Of computing the value at step `at`, when it will not be there.
  double work_of(int32_t v, int32_t at, int* looks) const {
    if (--*looks < 0 || writer_[v] < 0) return kImpossible;
    const ScheduledStep& step = before_.order_[writer_[v]];
    if (!before_.is_repeatable(step)) return kImpossible;
    double work = before_.cost(writer_[v]);
    for (size_t k = 0; k < step.memory.size(); ++k) {
      const int32_t read = step.memory[k];
      if (before_.is_output(step, k)) continue;
      if (before_.is_input(read)) {
        if (overwritten_at_[read] < at) return kImpossible;
      } else if (!value(read).is_observed) {
        const bool will_be_there =
            present_[read] >= 0 && !reads_[read].empty() && reads_[read].back() >= at;
        if (!will_be_there) work += work_of(read, at, looks);
      }
    }
    return work;
  }

  // Gives up what is worth least until `bytes` more fit, or nothing is left to give up.
  void make_room(int64_t bytes) {
    while (used_ + bytes > most_) {
      int32_t least = -1;
      double least_worth = kImpossible;
      for (const int32_t v : there_) {
        if (std::find(pinned_.begin(), pinned_.end(), v) != pinned_.end()) continue;
        const int32_t next = next_read(v);
        double worth = 0;
        if (next != kNever) {
          int looks = kMostLooks;
          worth =
              work_of(v, next, &looks) / (static_cast<double>(value(v).bytes) * (next - now_ + 1));
        }
        if (worth < least_worth) {
          least_worth = worth;
          least = v;
        }
      }
      if (least < 0) return;
      drop(least);
    }
  }

  void drop(int32_t v) {
    present_[v] = -1;
    used_ -= value(v).bytes;
    there_.erase(std::find(there_.begin(), there_.end(), v));
  }

  // Runs a step, or a copy of it, after what it reads has been computed again.
  bool run_step(const ScheduledStep& step, int32_t position, int depth) {
    constexpr int kMostDepth = 256;
    if (depth > kMostDepth) return false;
    const size_t pinned_before = pinned_.size();
    for (size_t k = 0; k < step.memory.size(); ++k) {
      const int32_t read = step.memory[k];
      if (before_.is_output(step, k) || is_kept(read)) continue;
      pinned_.push_back(read);
    }
    for (size_t k = 0; k < step.memory.size(); ++k) {
      const int32_t read = step.memory[k];
      if (before_.is_input(read)) {
        if (position != now_ && overwritten_at_[read] < now_) return false;
        continue;
      }
      if (before_.is_output(step, k) || present_[read] >= 0) continue;
      const int32_t writer = writer_[read];
      if (writer < 0 || !before_.is_repeatable(before_.order_[writer])) return false;
      if (!run_step(before_.order_[writer], writer, depth + 1)) return false;
    }
    if (!write(step, position)) return false;
    pinned_.resize(pinned_before);
    // What nobody reads any more goes.
    for (size_t t = there_.size(); t-- > 0;) {
      const int32_t v = there_[t];
      const bool is_pinned = std::find(pinned_.begin(), pinned_.end(), v) != pinned_.end();
      const auto last = reads_[v].empty() ? -1 : reads_[v].back();
      if (!is_pinned && (position == now_ ? last <= now_ : last < now_)) drop(v);
    }
    return true;
  }

  // Adds the step, which reads the values that are there and writes new ones.
  bool write(const ScheduledStep& step, int32_t position) {
    std::vector<std::pair<int32_t, int32_t>> written;  // value, its copy
    int64_t bytes = 0;
    for (size_t k = 0; k < step.memory.size(); ++k) {
      const int32_t v = step.memory[k];
      if (!before_.is_output(step, k) || find_copy(written, v) >= 0) continue;
      const bool is_again = was_written_[v];
      was_written_[v] = true;
      written.push_back({v, is_again ? after_.add_copy_of(v) : v});
      if (is_again || !is_kept(v)) bytes += value(v).bytes;
    }
    make_room(bytes - (position == now_ ? bytes_in_place(step) : 0));
    ScheduledStep own = step;
    for (size_t k = 0; k < step.memory.size(); ++k) {
      int32_t& v = own.memory[k];
      if (before_.is_input(v)) continue;
      v = before_.is_output(step, k) ? find_copy(written, v) : present_[v];
      if (v < 0) return false;
    }
    after_.order_.push_back(std::move(own));
    for (const auto& [v, copy] : written) {
      if (present_[v] >= 0) continue;  // the copy goes at once
      present_[v] = copy;
      if (is_kept(v)) continue;
      there_.push_back(v);
      used_ += value(v).bytes;
    }
    return true;
  }

  static int32_t find_copy(const std::vector<std::pair<int32_t, int32_t>>& written, int32_t v) {
    const auto found = std::find_if(written.begin(), written.end(),
                                    [v](const auto& entry) { return entry.first == v; });
    return found == written.end() ? -1 : found->second;
  }

  // What the step writes over a value that it is the last to read.
  int64_t bytes_in_place(const ScheduledStep& step) const {
    for (const auto& [read, output] : before_.in_place_pairs(step)) {
      const int32_t donor = step.memory[read], v = step.memory[output];
      const bool is_last = !is_kept(donor) && reads_[donor].back() <= now_;
      if (!is_kept(v) && is_last && value(donor).bytes == value(v).bytes) return value(v).bytes;
    }
    return 0;
  }

  const StepSchedule& before_;
  StepSchedule after_;
  const int64_t most_;
  const std::vector<int32_t> overwritten_at_;  // by input
  std::vector<std::vector<int32_t>> reads_;    // by value: positions
  std::vector<int32_t> writer_;                // by value: a position
  std::vector<int32_t> present_;               // by value: its copy that is in memory; none: -1
  std::vector<bool> was_written_;              // by value
  std::vector<int32_t> there_;                 // values that are in memory and may be given up
  std::vector<int32_t> pinned_;                // of these: what steps under way read
  int64_t used_ = 0;
  int32_t now_ = 0;
};

bool StepSchedule::keep_within(int64_t bytes) {
  std::optional<StepSchedule> kept = Keeper(*this, bytes).run();
  if (!kept) return false;
  *this = *std::move(kept);
  remove_unread();
  return true;
}

}  // namespace sluice::fusion
