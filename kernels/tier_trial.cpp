#include "kernels/tier_trial.h"

#include <algorithm>

namespace sluice::kernels {
namespace {

constexpr int kFirstRuns = 3;  // compiled, before doubts arise
constexpr int kTurns = 8;      // of both tiers together
constexpr double kSlower = 1.2;

}  // namespace

bool TierTrial::add(bool compiled, double ns_per_unit) {
  const std::lock_guard lock(mutex_);
  if (is_over()) return false;
  Times& times = compiled ? compiled_ : interpreted_;
  ++times.runs;
  times.least = std::min(times.least, ns_per_unit);
  const State state = state_.load(std::memory_order_relaxed);
  State next = state;
  if (state == State::kOpen) {
    if (!compiled) return false;
    if (interpreted_.runs == 0 || compiled_.least <= interpreted_.least) {
      next = State::kCompiled;
    } else if (compiled_.runs >= kFirstRuns) {
      interpreted_ = compiled_ = Times();
      next = State::kInterpretedsTurn;
    }
  } else if (++turns_ < kTurns) {
    next = compiled ? State::kInterpretedsTurn : State::kCompiledsTurn;
  } else {
    const bool is_slower = compiled_.runs > 0 && compiled_.least > kSlower * interpreted_.least;
    next = is_slower ? State::kInterpreted : State::kCompiled;
  }
  state_.store(next, std::memory_order_relaxed);
  return next == State::kInterpreted;
}

}  // namespace sluice::kernels
