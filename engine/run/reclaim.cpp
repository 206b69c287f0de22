#include "engine/run/reclaim.h"

#include <atomic>

namespace sluice::engine {
namespace {

std::atomic<Reclaimer> the_reclaimer{nullptr};

}  // namespace

void set_reclaimer(Reclaimer reclaimer) {
  the_reclaimer.store(reclaimer, std::memory_order_release);
}

bool can_reclaim() { return the_reclaimer.load(std::memory_order_relaxed) != nullptr; }

bool reclaim(Device device, int64_t bytes) {
  const Reclaimer reclaimer = the_reclaimer.load(std::memory_order_acquire);
  return reclaimer != nullptr && reclaimer(device, bytes);
}

}  // namespace sluice::engine
