#include "engine/run/fit_to_memory.h"

#include <utility>

#include <sluice/config.h>
#include "engine/observe/counters.h"
#include "engine/run/input_memory.h"
#include "engine/run/reclaim.h"
#include "engine/run/scheduler.h"
#include "fusion/plan/memory/save_memory.h"
#include "runtime/memory/size_class.h"

namespace sluice::engine {
namespace {

// Budgets are multiples of this part of the limit: a little more or less of it needs no other plan.
constexpr int64_t kPartOfLimit = 128;

class Fitting {
 public:
  Fitting(const Window& window, uint64_t pins, runtime::Backend* backend)
      : window_(window), pins_(pins), device_(window.node(0)->device), backend_(*backend) {
    find_overwritable(window, pins, &inputs_);
    limit_ = config().memory_limit;
    backend_.set_memory_limit(limit_);
  }

  int64_t needed(const ReadyPlan& plan) const {
    fusion::Blocks own;
    int64_t bytes = 0;
    for (const fusion::Block& block : plan.blocks.of(plan.plan(), inputs_, &own).blocks) {
      if (block.input < 0) {
        bytes += static_cast<int64_t>(runtime::least_capacity(static_cast<size_t>(block.bytes)));
      }
    }
    return bytes;
  }

  int64_t available() const { return limit_ - backend_.memory_stats().in_use; }
  bool fits(int64_t bytes) const { return bytes <= available(); }

  // Work in flight will free memory. Until it is done it keeps what is given up, and inputs that
  // could be overwritten.
  void wait_for_work_in_flight(runtime::Stream* stream) {
    stream->wait(stream->next_ticket() - 1);
    inputs_.clear();
    find_overwritable(window_, pins_, &inputs_);
  }

  // True if there is room then.
  bool make_room(int64_t bytes) const {
    while (!fits(bytes)) {
      if (!reclaim(device_, bytes - available())) return false;
    }
    return true;
  }

  fusion::MemoryBudget budget() const {
    const int64_t part = limit_ / kPartOfLimit + 1;
    return {.bytes = available() / part * part, .inputs = {inputs_.begin(), inputs_.end()}};
  }

 private:
  const Window& window_;
  const uint64_t pins_;
  const Device device_;
  runtime::Backend& backend_;
  InputMemories inputs_;
  int64_t limit_ = 0;
};

}  // namespace

FittingPlan fit_to_memory(const Window& window, uint64_t pins,
                          std::shared_ptr<const ReadyPlan> plan, PlanMode mode,
                          runtime::Backend* backend, runtime::Stream* stream,
                          FlushObserver* observer) {
  const StageScope stage(observer, FlushStage::kPlan);
  Fitting fitting(window, pins, backend);
  if (fitting.fits(fitting.needed(*plan))) return {std::move(plan)};
  fitting.wait_for_work_in_flight(stream);
  const int64_t needed = fitting.needed(*plan);
  if (fitting.make_room(needed)) return {std::move(plan)};
  const fusion::MemoryBudget budget = fitting.budget();
  std::shared_ptr<const ReadyPlan> thrifty = plan->thrifty.find_or_make(
      budget.bytes, [&](const ReadyPlan& known) { return fitting.needed(known); },
      [&] {
        count(counters().plan_misses);
        return prepare(window.to_graph(), mode, window.node(0)->device, observer, &budget);
      });
  const int64_t least = fitting.needed(*thrifty);
  if (least >= needed) return {std::move(plan), false};
  return {std::move(thrifty), fitting.fits(least)};
}

}  // namespace sluice::engine
