// Pi from random points: ten million of them, of which none is ever in memory.
#include <cmath>
#include <cstdio>

#include <sluice/sluice.h>

namespace sl = sluice;

int main() {
  constexpr int64_t kPoints = 10'000'000;
  sl::manual_seed(3);
  const float inside =
      [] {
        const sl::Tensor x = sl::rand({kPoints}), y = sl::rand({kPoints});
        return sl::mean((x * x + y * y < 1.f).astype(sl::kFloat32));
      }()  // x and y are gone: only their mean is asked for
          .item<float>();
  std::printf("pi is about %.3f, with %lld bytes of memory at most\n", 4 * inside,
              static_cast<long long>(sl::stats().bytes_allocated_peak));
  return std::abs(4 * inside - 3.1416f) < 0.01f ? 0 : 1;
}
