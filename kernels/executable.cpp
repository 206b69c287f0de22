#include "kernels/executable.h"

#include <vector>

namespace sluice::kernels {

void raise_error(ErrorSlot* slots, int64_t slot, int64_t index, int64_t extent) {
  ErrorSlot& error = slots[slot];
  uint32_t expected = 0;
  if (!error.raised.compare_exchange_strong(expected, 1, std::memory_order_relaxed)) return;
  // Only the winner writes. Readers wait for the launch to end.
  error.index = index;
  error.extent = extent;
}

void* thread_buffer(int64_t bytes) {
  constexpr int64_t kAlignment = 64;
  thread_local std::vector<char> memory;
  if (static_cast<int64_t>(memory.size()) < bytes + kAlignment) memory.resize(bytes + kAlignment);
  const auto start = reinterpret_cast<uintptr_t>(memory.data());
  return memory.data() + (kAlignment - start % kAlignment) % kAlignment;
}

}  // namespace sluice::kernels
