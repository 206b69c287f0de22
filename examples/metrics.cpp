// Prints the engine's counters and the kernel table in Prometheus' text format, as a server would
// answer a scrape.
#include <cstdio>
#include <string>

#include <sluice/sluice.h>

namespace {

namespace sl = sluice;

void print_counter(const char* name, const char* help, long long value) {
  std::printf("# HELP sluice_%s %s\n# TYPE sluice_%s counter\nsluice_%s %lld\n", name, help, name,
              name, value);
}

// Prints value(row) for each row of the kernel table.
template <typename F>
void print_by_kernel(const char* name, const char* help, F value) {
  std::printf("# HELP sluice_kernel_%s %s\n# TYPE sluice_kernel_%s counter\n", name, help, name);
  for (const sl::KernelStats& kernel : sl::kernel_stats()) {
    std::printf("sluice_kernel_%s{kernel=\"%s\",device=\"%s\"} %.9g\n", name, kernel.name.c_str(),
                kernel.device.c_str(), static_cast<double>(value(kernel)));
  }
}

void print_metrics() {
  const sl::Stats stats = sl::stats();
  print_counter("ops_recorded_total", "Ops appended to a queue.", stats.ops_recorded);
  print_counter("windows_total", "Flushes that had something to run.", stats.windows);
  print_counter("plan_misses_total", "Windows that had to be planned.", stats.plan_misses);
  print_counter("compiles_total", "Kernels that were compiled.", stats.compiles);
  print_counter("bytes_elided_total", "Bytes of temporaries that never were in memory.",
                stats.bytes_elided);
  print_by_kernel("runs_total", "Runs of a kernel.",
                  [](const sl::KernelStats& kernel) { return kernel.count; });
  print_by_kernel("seconds_total", "Time that a kernel took.",
                  [](const sl::KernelStats& kernel) { return 1e-9 * kernel.nanoseconds; });
  print_by_kernel("bytes_total", "Bytes that a kernel read and wrote.",
                  [](const sl::KernelStats& kernel) { return kernel.bytes; });
}

}  // namespace

int main() {
  sl::trace::start();  // kernels are timed while a trace is recorded
  sl::Tensor x = sl::randn({256, 256});
  for (int step = 0; step < 100; ++step) {
    x = sl::tanh(sl::matmul(x, x) * 0.01f) + 1e-3f;
    if (step % 10 == 0) sl::sum(x).eval();
  }
  sl::sync();
  sl::trace::stop();
  print_metrics();
}
