// The newest windows that the trace has recorded.
#ifndef SLUICE_ENGINE_OBSERVE_WINDOW_RING_H_
#define SLUICE_ENGINE_OBSERVE_WINDOW_RING_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "engine/observe/flush_record.h"

namespace sluice::engine {

// Bounded: 16,384 windows, and fewer if their graphs have more than 500,000 ops or they have more
// than a million steps. The oldest go first. Not thread-safe.
class WindowRing {
 public:
  // Gives the record its number.
  void add(std::shared_ptr<FlushRecord> record);
  void clear();

  std::vector<std::shared_ptr<FlushRecord>> all() const {
    return {windows_.begin(), windows_.end()};
  }
  int64_t recorded() const { return recorded_; }  // those that are gone included

 private:
  void drop_oldest();

  std::deque<std::shared_ptr<FlushRecord>> windows_;
  int64_t recorded_ = 0;
  int64_t ops_ = 0;    // of the graphs of windows_, each graph once
  int64_t steps_ = 0;  // of windows_
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_WINDOW_RING_H_
