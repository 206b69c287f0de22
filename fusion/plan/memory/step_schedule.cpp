#include "fusion/plan/memory/step_schedule.h"

#include <algorithm>

#include "fusion/plan/memory/memory_plan.h"
#include "fusion/plan/memory/step_schedule_facts.h"

namespace sluice::fusion {
namespace {

// Of steps that are computed again for the sake of one value.
constexpr int kMaxDepth = 12;

}  // namespace

StepSchedule::StepSchedule(const Plan& plan, absl::Span<const InputMemory> inputs, InPlace in_place)
    : plan_(&plan), inputs_(inputs.begin(), inputs.end()) {
  num_inputs_ = static_cast<int32_t>(inputs.size());
  for (const Step& step : plan.steps) {
    for_each_memory(step, [&](const MemoryRef& memory) {
      if (memory.kind == MemoryRef::Kind::kInput) {
        num_inputs_ = std::max(num_inputs_, memory.index + 1);
      }
    });
  }
  inputs_.resize(num_inputs_);
  values_.resize(num_inputs_);
  for (int32_t i = 0; i < num_inputs_; ++i) values_[i].origin = i;
  for (const Result& result : plan.results) {
    const auto number = static_cast<int32_t>(values_.size());
    values_.push_back({result.bytes, number, result.observed});
  }
  for (const Value& value : values_) latest_copy_.push_back(value.origin);
  auto facts = std::make_shared<std::vector<Facts>>(plan.steps.size());
  std::vector<int> writers(plan.results.size(), 0);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    Facts& fact = (*facts)[s];
    ScheduledStep& scheduled = order_.emplace_back();
    scheduled.step = static_cast<int32_t>(s);
    fact.cost = step.cost;
    fact.is_repeatable = !step.library || step.library->kind != LibraryKind::kExternal;
    for (size_t k = 0; k < step.num_calls(); ++k) {
      const Call& call = step.call(k);
      const size_t first = scheduled.memory.size();
      for (const MemoryRef& memory : call.buffers) {
        const bool is_input = memory.kind == MemoryRef::Kind::kInput;
        scheduled.memory.push_back(is_input ? memory.index : num_inputs_ + memory.index);
      }
      fact.is_output.resize(scheduled.memory.size(), false);
      for (const OutputDependence& output : call.outputs) {
        fact.is_output[first + output.buffer] = true;
      }
      fact.is_repeatable = fact.is_repeatable && call.error_slots.empty();
    }
    for_each_output(step, [&](const MemoryRef& memory) { ++writers[memory.index]; });
    if (step.library) {
      const LibraryCall& call = *step.library;
      for (size_t b = 0; b < call.buffers.size(); ++b) {
        if (!may_write_over(call, b, in_place)) continue;
        fact.pairs.push_back({static_cast<int32_t>(b), call.outputs[0].buffer});
      }
    }
    if (step.kernels.size() != 1) continue;
    const KernelCall& call = step.kernels[0];
    for (size_t o = 0; o < call.outputs.size(); ++o) {
      for (size_t b = 0; b < call.buffers.size(); ++b) {
        if (!fact.is_output[b] && may_write_over(call, b, o, in_place)) {
          fact.pairs.push_back({static_cast<int32_t>(b), call.outputs[o].buffer});
        }
      }
    }
  }
  // What several steps write in parts is not to be had from one of them.
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    int own = 0, all = 0;
    for_each_output(plan.steps[s], [&](const MemoryRef& memory) {
      ++own;
      all = std::max(all, writers[memory.index]);
    });
    if (all > own) (*facts)[s].is_repeatable = false;
  }
  facts_ = std::move(facts);
}

double StepSchedule::cost(size_t position) const { return (*facts_)[order_[position].step].cost; }

double StepSchedule::total_cost() const {
  double total = 0;
  for (size_t p = 0; p < size(); ++p) total += cost(p);
  return total;
}

std::vector<StepSchedule::Span> StepSchedule::spans() const {
  std::vector<Span> spans(values_.size());
  for (size_t p = 0; p < size(); ++p) {
    for (const int32_t value : order_[p].memory) {
      Span& span = spans[value];
      if (span.first < 0) span.first = static_cast<int32_t>(p);
      span.last = static_cast<int32_t>(p);
    }
  }
  return spans;
}

// As find_donors() and place_results() do it, but for what lies in inputs that have been read or in
// blocks of what outlives the plan.
StepSchedule::Lines StepSchedule::find_lines() const {
  Lines lines;
  lines.overwritten_at.assign(num_inputs_, kForEver);
  const std::vector<Span> span = spans();
  std::vector<int32_t> last_of_block(num_inputs_, -1);
  for (int32_t i = 0; i < num_inputs_; ++i) {
    if (inputs_[i].bytes < 0) continue;
    int32_t& last = last_of_block[inputs_[i].same_as];
    last = std::max(last, span[i].last);
  }
  for (const Output& output : plan_->outputs) {
    const int32_t i = output.memory.index;
    if (output.memory.kind != MemoryRef::Kind::kInput || i >= num_inputs_) continue;
    if (inputs_[i].bytes >= 0) last_of_block[inputs_[i].same_as] = kForEver;
  }
  // Values that are written in place of one another share a line, which has the number of the
  // first.
  struct Line {
    int32_t first = 0, last = 0;
    bool is_observed = false, is_in_input = false;
  };
  std::vector<Line> line(values_.size());
  std::vector<int32_t> line_of(values_.size(), -1);
  std::vector<bool> gave(values_.size(), false);  // its memory to another
  const auto find_donor = [&](const ScheduledStep& step, int32_t position, int32_t value,
                              bool is_from_input) {
    for (const auto& [read, written] : (*facts_)[step.step].pairs) {
      const int32_t donor = step.memory[read];
      if (step.memory[written] != value || is_input(donor) != is_from_input) continue;
      if (is_from_input) {
        const InputMemory& memory = inputs_[donor];
        if (memory.bytes == values_[value].bytes && memory.is_at_begin &&
            last_of_block[memory.same_as] == position && !gave[memory.same_as]) {
          gave[memory.same_as] = true;
          return donor;
        }
      } else if (!values_[donor].is_observed && span[donor].last == position && !gave[donor] &&
                 values_[donor].bytes == values_[value].bytes) {
        gave[donor] = true;
        return donor;
      }
    }
    return -1;
  };
  const auto add = [&](const ScheduledStep& step, int32_t position, int32_t value) {
    int32_t donor = find_donor(step, position, value, true);
    int32_t own = value;
    if (donor < 0) {
      donor = find_donor(step, position, value, false);
      if (donor >= 0) own = line_of[donor];
      if (own == value) line[own].first = position;
    } else {
      line[own].is_in_input = true;
    }
    line_of[value] = own;
    line[own].last = span[value].last;
    line[own].is_observed = values_[value].is_observed;
  };
  for (size_t p = 0; p < size(); ++p) {
    const ScheduledStep& step = order_[p];
    const Facts& facts = (*facts_)[step.step];
    for (const bool is_observed : {true, false}) {
      for (size_t k = 0; k < step.memory.size(); ++k) {
        const int32_t value = step.memory[k];
        if (facts.is_output[k] && line_of[value] < 0 && values_[value].is_observed == is_observed) {
          add(step, static_cast<int32_t>(p), value);
        }
      }
    }
  }
  for (int32_t i = 0; i < num_inputs_; ++i) {
    const bool is_taken = inputs_[i].bytes >= 0 && gave[inputs_[i].same_as];
    if (is_taken) lines.overwritten_at[i] = last_of_block[inputs_[i].same_as];
  }
  std::vector<int64_t> change(size() + 1, 0);
  for (size_t v = num_inputs_; v < values_.size(); ++v) {
    if (line_of[v] != static_cast<int32_t>(v) || line[v].is_in_input) continue;
    // What outlives the plan has its block from the begin on.
    change[line[v].is_observed ? 0 : line[v].first] += values_[v].bytes;
    change[line[v].is_observed ? size() : line[v].last + 1] -= values_[v].bytes;
  }
  int64_t bytes = 0;
  for (size_t p = 0; p < size(); ++p) lines.bytes.push_back(bytes += change[p]);
  return lines;
}

std::vector<int64_t> StepSchedule::bytes_in_use() const { return find_lines().bytes; }

std::vector<StepSchedule::Wait> StepSchedule::waits() const {
  std::vector<Wait> waits;
  std::vector<int32_t> last(values_.size(), -1);
  for (int32_t p = 0; p < static_cast<int32_t>(size()); ++p) {
    for (const int32_t value : order_[p].memory) {
      if (is_input(value) || values_[value].is_observed) continue;
      if (last[value] >= 0 && last[value] + 1 < p) waits.push_back({value, last[value], p});
      last[value] = p;
    }
  }
  return waits;
}

int32_t StepSchedule::add_copy_of(int32_t value) {
  const auto copy = static_cast<int32_t>(values_.size());
  const int32_t origin = values_[value].origin;
  values_.push_back({values_[value].bytes, origin, false, latest_copy_[origin]});
  latest_copy_[origin] = copy;
  return copy;
}

// Of the steps that one recompute() inserts.
struct StepSchedule::Copying {
  std::vector<Span> spans;              // before it
  std::vector<int32_t> overwritten_at;  // likewise
  const int64_t most_kept;
  const int32_t begin;                 // the position of the first that is inserted
  std::vector<ScheduledStep> steps;    // in order
  std::vector<int32_t> written_again;  // by them
};

// The value that equals `origin` and is in memory where the copies are, or that was there last; -1:
// none.
int32_t StepSchedule::find_alive(const Copying& copying, int32_t origin) const {
  int32_t best = -1;
  for (int32_t v = latest_copy_[origin]; v >= 0; v = values_[v].earlier) {
    if (v >= static_cast<int32_t>(copying.spans.size())) return v;  // has just been computed
    const Span& span = copying.spans[v];
    if (span.first < 0 || span.first >= copying.begin) continue;
    if (values_[v].is_observed) return v;
    if (best < 0 || span.last > copying.spans[best].last) best = v;
  }
  return best;
}

// Adds a copy of the step that writes `value`, after copies of those that write what it needs.
bool StepSchedule::copy_writer(int32_t value, int depth, Copying* copying) {
  if (depth > kMaxDepth) return false;
  ScheduledStep copy = order_[copying->spans[value].first];
  const Facts& facts = (*facts_)[copy.step];
  if (!facts.is_repeatable) return false;
  for (size_t k = 0; k < copy.memory.size(); ++k) {
    int32_t& read = copy.memory[k];
    if (facts.is_output[k]) continue;
    if (is_input(read)) {
      if (copying->overwritten_at[read] < copying->begin) return false;
      continue;
    }
    const int32_t origin = values_[read].origin;
    read = find_alive(*copying, origin);
    if (read < 0) return false;
    const bool is_new = read >= static_cast<int32_t>(copying->spans.size());
    if (is_new || values_[read].is_observed || copying->spans[read].last >= copying->begin ||
        values_[read].bytes <= copying->most_kept) {
      continue;
    }
    if (!copy_writer(read, depth + 1, copying)) return false;
    read = latest_copy_[origin];
  }
  for (size_t k = 0; k < copy.memory.size(); ++k) {
    const int32_t before = copy.memory[k];
    if (!facts.is_output[k] || before >= static_cast<int32_t>(copying->spans.size())) continue;
    const int32_t again = add_copy_of(before);
    // Several calls of the step may write parts of it.
    std::replace(copy.memory.begin(), copy.memory.end(), before, again);
    copying->written_again.push_back(again);
  }
  copying->steps.push_back(std::move(copy));
  return true;
}

bool StepSchedule::recompute(const Wait& wait, int64_t most_kept) {
  Copying copying{spans(), find_lines().overwritten_at, most_kept, wait.to, {}, {}};
  if (!copy_writer(wait.value, 0, &copying)) return false;
  // Whoever reads it later reads the new value.
  for (auto step = order_.begin() + wait.to; step != order_.end(); ++step) {
    const Facts& facts = (*facts_)[step->step];
    for (size_t k = 0; k < step->memory.size(); ++k) {
      int32_t& value = step->memory[k];
      if (facts.is_output[k] || values_[value].is_observed) continue;
      for (const int32_t again : copying.written_again) {
        if (values_[value].origin == values_[again].origin) value = again;
      }
    }
  }
  order_.insert(order_.begin() + wait.to, copying.steps.begin(), copying.steps.end());
  remove_unread();
  return true;
}

// Steps that were copied, and whose own results nobody reads any more.
void StepSchedule::remove_unread() {
  std::vector<bool> is_read(values_.size(), false);
  std::vector<ScheduledStep> kept;
  for (size_t p = size(); p-- > 0;) {
    const Facts& facts = (*facts_)[order_[p].step];
    bool is_needed = !facts.is_repeatable;
    for (size_t k = 0; k < order_[p].memory.size(); ++k) {
      const int32_t value = order_[p].memory[k];
      if (facts.is_output[k]) is_needed |= is_read[value] || values_[value].is_observed;
    }
    if (!is_needed) continue;
    for (const int32_t value : order_[p].memory) is_read[value] = true;
    kept.push_back(std::move(order_[p]));
  }
  std::reverse(kept.begin(), kept.end());
  order_ = std::move(kept);
}

bool StepSchedule::reads(const ScheduledStep& step, int32_t value) const {
  return std::find(step.memory.begin(), step.memory.end(), value) != step.memory.end();
}

void StepSchedule::move(size_t from, size_t to) {
  const auto begin = order_.begin();
  if (from < to) {
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  } else {
    std::rotate(begin + to, begin + from, begin + from + 1);
  }
}

size_t StepSchedule::latest(size_t position) const {
  const ScheduledStep& step = order_[position];
  const Facts& facts = (*facts_)[step.step];
  size_t to = position;
  for (; to + 1 < size(); ++to) {
    for (size_t k = 0; k < step.memory.size(); ++k) {
      if (facts.is_output[k] && reads(order_[to + 1], step.memory[k])) return to;
    }
  }
  return to;
}

size_t StepSchedule::earliest(size_t position) const {
  const ScheduledStep& step = order_[position];
  const std::vector<int32_t> overwritten_at = find_lines().overwritten_at;
  size_t to = position;
  for (; to > 0; --to) {
    const ScheduledStep& before = order_[to - 1];
    const Facts& facts = (*facts_)[before.step];
    for (size_t k = 0; k < before.memory.size(); ++k) {
      const int32_t value = before.memory[k];
      // An input may be there for this step to write over.
      const bool is_in_the_way =
          facts.is_output[k]
              ? reads(step, value)
              : is_input(value) && overwritten_at[value] == static_cast<int32_t>(position);
      if (is_in_the_way) return to;
    }
  }
  return to;
}

Plan StepSchedule::make_plan() const {
  Plan plan;
  plan.outputs = plan_->outputs;
  plan.cuts = plan_->cuts;
  plan.temporaries_elided = plan_->temporaries_elided;
  plan.bytes_elided = plan_->bytes_elided;
  plan.results = plan_->results;
  for (size_t v = num_inputs_ + plan.results.size(); v < values_.size(); ++v) {
    Result& again = plan.results.emplace_back();
    again.node = plan_->results[values_[v].origin - num_inputs_].node;
    again.bytes = values_[v].bytes;
  }
  for (const ScheduledStep& scheduled : order_) {
    Step& step = plan.steps.emplace_back(plan_->steps[scheduled.step]);
    auto value = scheduled.memory.begin();
    const auto set = [&](Call* call) {
      for (MemoryRef& memory : call->buffers) {
        const int32_t number = *value++;
        if (!is_input(number)) memory = {MemoryRef::Kind::kResult, number - num_inputs_};
      }
    };
    if (step.library) {
      set(&*step.library);
    } else {
      for (KernelCall& call : step.kernels) set(&call);
    }
  }
  return plan;
}

}  // namespace sluice::fusion
