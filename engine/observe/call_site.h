// Where in the program ops are called, for the trace: looked at only while it records.
#ifndef SLUICE_ENGINE_OBSERVE_CALL_SITE_H_
#define SLUICE_ENGINE_OBSERVE_CALL_SITE_H_

#include <atomic>
#include <cstdint>
#include <source_location>

#include <sluice/scope.h>
#include "runtime/fast_tls.h"

namespace sluice {

namespace engine {

// Asked for every op.
extern __attribute__((visibility("hidden"))) std::atomic<bool> trace_is_recording;
inline bool is_recording() { return trace_is_recording.load(std::memory_order_relaxed); }

// Where an op was called. No line: not known.
struct Origin {
  std::source_location where;
  uint16_t scope = 0;  // its number among Names::of_scopes(); 0: none
};

// What the calling thread is in the middle of.
struct CallContext {
  std::source_location where;
  bool is_in_call = false;
  uint16_t scope = 0;
};
extern __attribute__((visibility("hidden"))) SLUICE_FAST_TLS CallContext call_context;

// While the first of a thread lives, all that it records has been called at `where`: an op that is
// composed of others is one to its user.
class CallSite {
 public:
  explicit CallSite(const std::source_location& where) {
    if (is_recording()) [[unlikely]]
      enter(where);
  }
  ~CallSite() {
    if (is_outermost_) [[unlikely]]
      call_context.is_in_call = false;
  }
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

 private:
  void enter(const std::source_location& where) {
    if (call_context.is_in_call) return;
    call_context.where = where;
    call_context.is_in_call = is_outermost_ = true;
  }

  bool is_outermost_ = false;
};

// Of the call that is under way, if any.
inline Origin current_origin() {
  return {call_context.is_in_call ? call_context.where : std::source_location(),
          call_context.scope};
}

}  // namespace engine
}  // namespace sluice

#endif  // SLUICE_ENGINE_OBSERVE_CALL_SITE_H_
