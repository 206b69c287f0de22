// Shared by the parts of the GPU bench: settings, results, timing.
#ifndef SLUICE_BENCH_GPU_MEASURE_H_
#define SLUICE_BENCH_GPU_MEASURE_H_

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <sluice/sluice.h>

namespace sluice::bench {

struct Settings {
  bool on_gpu = true;
  bool quick = false;  // tiny sizes, few repetitions: a smoke test

  // `full`, or its replacement under `quick`.
  int64_t size(int64_t full, int64_t small) const { return quick ? small : full; }
};

// The result of one workload. scripts/gpu_table.py knows the names and has the goals.
struct Result {
  std::string workload;  // "chain of 10"
  std::string dtype;     // "float32"
  std::string size;      // "16M", "4096x4096"
  double seconds = 0;    // the median
  double best = 0;
  int64_t bytes = 0;    // lower bound moved
  double flops = 0;     // required
  int64_t ops = 0;      // recorded
  int64_t kernels = 0;  // own kernels and library calls
};

// Prints a line to stdout and writes a line of JSON at once, so that a crash loses nothing.
class Report {
 public:
  explicit Report(const char* path);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  void add(const Result& result);
  void add_failure(const std::string& workload, const std::string& message);
  bool failed() const { return failed_; }

 private:
  std::FILE* file_ = nullptr;
  bool failed_ = false;
};

struct Bench {
  Settings settings;
  Report* report;

  // Sets the times and the kernels of `result`, and reports it. `step` submits work without
  // waiting; many steps are waited for together, so that the slower of device and host is timed.
  void time(Result result, const std::function<void()>& step) const;
  // Likewise with `sample`, which returns its own time in seconds.
  void time_samples(Result result, int count, const std::function<double()>& sample) const;
  // Reports an exception and continues.
  void attempt(const std::string& workload, const std::function<void()>& run) const;
};

double now();  // in seconds

// "16M", "4096x1024".
std::string size_text(const Shape& shape);

int64_t bytes_of(const Tensor& x);

// Inputs in memory.
Tensor uniform(const Shape& shape, DType dtype = DType::kFloat32);

// The groups that --only selects.
void bench_copies(const Bench& bench);
void bench_pointwise(const Bench& bench);
void bench_rows(const Bench& bench);
void bench_matmul(const Bench& bench);
void bench_step(const Bench& bench);
void bench_host(const Bench& bench);
void bench_compiler(const Bench& bench);
void bench_layers(const Bench& bench);
void bench_arrays(const Bench& bench);

// The first check, as one line of JSON. Throws Error if the device does not compute.
void probe(const Settings& settings);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_GPU_MEASURE_H_
