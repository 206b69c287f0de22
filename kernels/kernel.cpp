#include "sluice/kernels/kernel.h"

namespace sluice::kernels {

void raise_error(ErrorSlot* slots, int64_t slot, int64_t index, int64_t extent) {
  ErrorSlot& error = slots[slot];
  uint32_t expected = 0;
  if (!error.raised.compare_exchange_strong(expected, 1, std::memory_order_relaxed)) return;
  // Only the winner writes; who waits for the launch reads.
  error.index = index;
  error.extent = extent;
}

}  // namespace sluice::kernels
