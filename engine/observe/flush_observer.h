// What the queue and the scheduler tell whoever watches a flush. They hold a null pointer while
// nobody does, so a flush that is not watched pays a test for each stage.
#ifndef SLUICE_ENGINE_OBSERVE_FLUSH_OBSERVER_H_
#define SLUICE_ENGINE_OBSERVE_FLUSH_OBSERVER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/record/flush_cause.h"
#include "engine/record/window.h"
#include "engine/run/plan_cache.h"
#include "kernels/executor.h"
#include "runtime/stream.h"

namespace sluice::engine {

enum class FlushStage : uint8_t {
  kOther,
  kPlan,     // a plan is looked up or made
  kCompile,  // the flush waits for the kernels of a new plan
  kBind,     // the plan's results get memory
  kSubmit,   // the batch goes to the stream, which may run it at once
};
inline constexpr int kNumFlushStages = static_cast<int>(FlushStage::kSubmit) + 1;

// Watches one flush. All but finished() is called on the thread that flushes, in this order.
class FlushObserver {
 public:
  virtual ~FlushObserver() = default;

  // The flush moves to `stage`. Returns the stage that it leaves.
  virtual FlushStage enter(FlushStage stage) = 0;

  // The plan of `window`, which is submitted next, was in the cache (`is_hit`) or has been made.
  virtual void planned(const Window& window, std::shared_ptr<const ReadyPlan> plan,
                       bool is_hit) = 0;

  // The flush is over. `has_work`: a batch went to the stream, and finished() follows or has come.
  virtual void submitted(bool has_work) = 0;

  // The batch is done. `times`: of the plan's steps; empty if they are not known. Any thread.
  virtual void finished(std::vector<kernels::StepTime> times) = 0;
};

// A flush is in `stage` for as long as this lives.
class StageScope {
 public:
  StageScope(FlushObserver* observer, FlushStage stage) : observer_(observer) {
    if (observer_ != nullptr) [[unlikely]]
      before_ = observer_->enter(stage);
  }
  ~StageScope() {
    if (observer_ != nullptr) [[unlikely]]
      observer_->enter(before_);
  }
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  FlushObserver* const observer_;
  FlushStage before_ = FlushStage::kOther;
};

// The recorder's observer of a flush that begins now on `stream`, for use while is_recording().
// `target`: the node that is asked for, or null.
std::shared_ptr<FlushObserver> observe_flush(FlushCause cause, const Node* target,
                                             runtime::Stream* stream);

// While is_recording(): the calling thread has recorded the first op of the next window of
// `stream`'s queue.
void note_first_op(const runtime::Stream* stream);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_FLUSH_OBSERVER_H_
