// Binary searches on the CPU.
#include "fusion/library/search.h"

#include <algorithm>
#include <cstdint>

#include "kernels/library/library.h"
#include "kernels/library/sort/keys.h"
#include "runtime/cpu/parallel.h"

namespace sluice::kernels {
namespace {

// Values that are searched for side by side: their cache misses overlap.
constexpr int64_t kTogether = 16;
constexpr int64_t kSearchGrain = 1 << 10;  // values

template <typename Order>
void search(const fusion::SearchAttributes& a, absl::Span<void* const> buffers) {
  using Bits = typename Order::Bits;
  const auto* const line = static_cast<const Bits*>(buffers[0]) + a.offset;
  const auto* const values = static_cast<const Bits*>(buffers[1]) + a.values_offset;
  auto* const y = static_cast<int64_t*>(buffers[2]);
  auto key = [](Bits bits) { return Order::joined_key(bits, 0); };
  parallel_for(a.count, kSearchGrain, [&](int64_t begin, int64_t end) {
    for (; begin < end; begin += kTogether) {
      const int64_t count = std::min(kTogether, end - begin);
      Bits wanted[kTogether];
      int64_t first[kTogether] = {};  // that are known to come before
      for (int64_t j = 0; j < kTogether; ++j) {
        wanted[j] = key(values[(begin + std::min(j, count - 1)) * a.values_stride]);
      }
      // The answer is in [first, first + rest].
      for (int64_t rest = a.length; rest > 0;) {
        const int64_t half = rest - rest / 2;
        for (int64_t j = 0; j < kTogether; ++j) {
          const Bits middle = key(line[(first[j] + half - 1) * a.stride]);
          const bool is_before = a.right ? middle <= wanted[j] : middle < wanted[j];
          first[j] += is_before ? half : 0;
        }
        rest -= half;
      }
      std::copy_n(first, count, y + begin);
    }
  });
}

}  // namespace

absl::Status run_search(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  const fusion::SearchAttributes& attributes = fusion::search_of(call);
  visit_order(attributes.dtype, [&]<typename Order>() { search<Order>(attributes, buffers); });
  return absl::OkStatus();
}

}  // namespace sluice::kernels
