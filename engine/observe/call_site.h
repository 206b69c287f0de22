// Which call of the program records an op: for messages, and for traces.
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

// A call by the program. No line: where is not known. No name: that of the op.
struct Caller {
  std::source_location where = {};
  const char* name = nullptr;
};

// Where an op was called. No line: not known.
struct Origin {
  std::source_location where;
  uint16_t scope = 0;  // its number among Names::of_scopes(); 0: none
};

// What the calling thread is in the middle of.
struct CallContext {
  Caller caller;
  bool is_in_call = false;
  uint16_t scope = 0;
};
extern __attribute__((visibility("hidden"))) SLUICE_FAST_TLS CallContext call_context;

// While the first of a thread lives, all that it records has been called at `where` as `name`: an
// op that is composed of others is one to its user.
class CallSite {
 public:
  CallSite(const std::source_location& where, const char* name)
      : is_outermost_(!call_context.is_in_call) {
    if (!is_outermost_) return;
    call_context.caller = {where, name};
    call_context.is_in_call = true;
  }
  ~CallSite() {
    if (is_outermost_) call_context.is_in_call = false;
  }
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

 private:
  const bool is_outermost_;
};

// The call that is under way; `call`, if none is.
inline Caller outermost(const Caller& call) {
  return call_context.is_in_call ? call_context.caller : call;
}

// Of the call that is under way, if any.
inline Origin current_origin() { return {outermost({}).where, call_context.scope}; }

}  // namespace engine
}  // namespace sluice

#endif  // SLUICE_ENGINE_OBSERVE_CALL_SITE_H_
