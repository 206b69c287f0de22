// Compares how long a kernel takes interpreted and compiled, until it is clear which is better.
#ifndef SLUICE_KERNELS_TIER_TRIAL_H_
#define SLUICE_KERNELS_TIER_TRIAL_H_

#include <atomic>
#include <limits>
#include <mutex>

namespace sluice::kernels {

// Nearly always the first compiled runs are faster than the interpreted ones before them, and it is
// over. Otherwise the tiers take turns, so that both are measured under the same conditions, and
// the compiled form is given up if it is slower even so. Thread-safe.
class TierTrial {
 public:
  // Runs that by estimate take less, in nanoseconds, say more about the clock.
  static constexpr double kWorthTiming = 20e3;

  bool is_over() const { return state_.load(std::memory_order_relaxed) >= State::kCompiled; }
  // What to run next, given that there is compiled code.
  bool wants_interpreted() const {
    const State state = state_.load(std::memory_order_relaxed);
    return state == State::kInterpretedsTurn || state == State::kInterpreted;
  }
  // A run took so many nanoseconds per unit of work, of any one unit. Returns true if that ended
  // the trial against the compiled form.
  bool add(bool compiled, double ns_per_unit);

 private:
  enum class State : int { kOpen, kCompiledsTurn, kInterpretedsTurn, kCompiled, kInterpreted };
  struct Times {
    int runs = 0;
    double least = std::numeric_limits<double>::infinity();  // per point
  };

  std::atomic<State> state_{State::kOpen};
  std::mutex mutex_;
  Times interpreted_, compiled_;
  int turns_ = 0;
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_TIER_TRIAL_H_
