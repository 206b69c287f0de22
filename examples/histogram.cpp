// A histogram by add_at: counts where each value falls.
#include <cstdio>
#include <string>

#include <sluice/sluice.h>

namespace sl = sluice;

int main() {
  constexpr int64_t kValues = 100'000, kBins = 15;
  sl::manual_seed(11);
  const sl::Tensor values = sl::randn({kValues});
  const sl::Tensor bin = sl::clip(sl::floor((values + 3.75f) * 2.f), 0.f, kBins - 1.f);
  const sl::Tensor counts = sl::zeros({kBins}, sl::kInt64).add_at({bin.astype(sl::kInt64)}, 1);

  int64_t all = 0;
  for (const int64_t count : counts.to_vector<int64_t>()) {
    std::printf("%6lld %s\n", static_cast<long long>(count),
                std::string(static_cast<size_t>(count / 400), '#').c_str());
    all += count;
  }
  return all == kValues ? 0 : 1;
}
