// Cuts the windows of a loop that never reads at the loop's own period, so that each has the same
// plan as the one before.
#ifndef SLUICE_ENGINE_RECORD_LOOP_ALIGNER_H_
#define SLUICE_ENGINE_RECORD_LOOP_ALIGNER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/record/window.h"

namespace sluice::engine {

class LoopAligner {
 public:
  // Where to cut a window that is too large to go on: only the ops before are to run now. Looks for
  // a loop at the end of the window; if there is one, the cut is where the fewest bytes cross it,
  // and the windows after it are expected to hold whole turns of the loop. Otherwise the cut is the
  // window's end.
  size_t cut(const Window& window);

  // The window that follows a cut has had its turns.
  bool is_due() const { return since_cut_ >= length_; }

  // To be asked after each op: true if it is not the one that the loop would have had here. The
  // loop is over then, and the ops before this one are to run: an outer loop, if there is one, then
  // has windows that begin at the same place in each of its turns.
  bool ends_loop(const Window& window) {
    if (length_ == kNone) [[likely]]
      return false;
    return !goes_on(window);
  }

  // The window is run for another reason than its length.
  void forget() { length_ = kNone; }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  bool goes_on(const Window& window);

  size_t length_ = kNone;          // of the windows to come, in ops recorded
  size_t since_cut_ = 0;           // ops recorded for the present one
  std::vector<uint32_t> pattern_;  // the kinds of a turn's ops, from a window's begin
  size_t phase_ = 0;               // where in the pattern the next op is
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_LOOP_ALIGNER_H_
