// What is to be done before a signal ends the process.
#ifndef SLUICE_ENGINE_OBSERVE_AT_SIGNAL_H_
#define SLUICE_ENGINE_OBSERVE_AT_SIGNAL_H_

namespace sluice::engine {

// From now on SIGABRT (abort(), and with it assertions and uncaught exceptions), SIGINT and SIGTERM
// first have `action` called, and then do what they did before: what a handler that is there now
// does, or end the process. One that is ignored stays so, and a handler that the program installs
// later takes the place of this.
//
// `action` runs on a thread of its own, while the one that got the signal waits, for five seconds
// at most: it may hold a lock that the action needs. A second signal does not wait. To be called
// once.
void call_at_signals(void (*action)());

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_AT_SIGNAL_H_
