// Four ops, one kernel, and no memory for what only feeds other ops.
#include <cstdio>

#include <sluice/sluice.h>

namespace sl = sluice;

int main() {
  const sl::Tensor x = sl::Tensor::from(std::vector<float>(1 << 20, 0.5f));
  sl::reset_stats();

  // Nothing runs here: three nodes are noted down, and two of them have no name.
  sl::Tensor y = sl::tanh(sl::log1p(sl::exp(x)));
  std::printf("recorded %lld ops, ran %lld kernels\n",
              static_cast<long long>(sl::stats().ops_recorded),
              static_cast<long long>(sl::stats().kernels_launched));

  // A read runs what it needs. `y` is handed over, so nobody can ask for it afterwards, and it is
  // never written to memory.
  const float total = sl::sum(x * std::move(y)).item<float>();
  const sl::Stats stats = sl::stats();
  std::printf("sum %.1f: %lld kernel, %lld temporaries of %lld MiB never in memory\n", total,
              static_cast<long long>(stats.kernels_launched),
              static_cast<long long>(stats.temporaries_elided),
              static_cast<long long>(stats.bytes_elided >> 20));
  return stats.kernels_launched == 1 ? 0 : 1;
}
