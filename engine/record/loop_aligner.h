// Cuts the windows of a loop without reads at the loop's period, so that all of them have the same
// plan.
#ifndef SLUICE_ENGINE_RECORD_LOOP_ALIGNER_H_
#define SLUICE_ENGINE_RECORD_LOOP_ALIGNER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/record/window.h"

namespace sluice::engine {

class LoopAligner {
 public:
  // Where to cut a full window: the ops before the cut run now. If the window ends in a loop, the
  // cut is where the fewest bytes cross it, and the next windows are expected to hold whole
  // iterations. Otherwise the cut is the window's end.
  size_t cut(const Window& window);

  // The window that follows a cut holds all its iterations.
  bool is_due() const { return since_cut_ >= length_; }

  // Call after each op. True if the op is not the one that the loop has at this point: the loop is
  // over, and the ops before this one should run. Windows of an outer loop then begin at the same
  // place in each of its iterations.
  bool ends_loop(const Window& window) {
    if (length_ == kNone) [[likely]]
      return false;
    return !goes_on(window);
  }

  // The window is flushed for another reason than its length.
  void forget() { length_ = kNone; }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  bool goes_on(const Window& window);

  size_t length_ = kNone;          // of the next windows, in ops
  size_t since_cut_ = 0;           // ops recorded into the current window
  std::vector<uint32_t> pattern_;  // the kinds of an iteration's ops, from a window's begin
  size_t phase_ = 0;               // the next op's place in the pattern
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_LOOP_ALIGNER_H_
