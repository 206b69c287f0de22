// What the parts of the GPU bench share: settings, results, and how one is timed.
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
  bool quick = false;  // tiny sizes, hardly any repetitions: to see that it runs

  // `full`, or what stands in for it.
  int64_t size(int64_t full, int64_t small) const { return quick ? small : full; }
};

// Of one workload. scripts/gpu_table.py knows the names and has the goals.
struct Result {
  std::string workload;  // "chain of 10"
  std::string dtype;     // "float32"
  std::string size;      // "16M", "4096x4096"
  double seconds = 0;    // the median
  double best = 0;
  int64_t bytes = 0;    // that it has to move
  double flops = 0;     // that it has to do
  int64_t ops = 0;      // that it records
  int64_t kernels = 0;  // own kernels and library calls that it takes
};

// One line for people on stdout; one of JSON in a file, at once: a crash loses nothing.
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

  // Fills in the times and the kernels of `result`, and reports it. `step` submits work and waits
  // for nothing; many are submitted before they are waited for together. So the device is timed
  // where it is slower than the host, and the host where that is slower.
  void time(Result result, const std::function<void()>& step) const;
  // For what `sample` times by itself, in seconds.
  void time_samples(Result result, int count, const std::function<double()>& sample) const;
  // Reports what it throws and goes on.
  void attempt(const std::string& workload, const std::function<void()>& run) const;
};

double now();  // in seconds

// "16M", "4096x1024".
std::string size_text(const Shape& shape);

int64_t bytes_of(const Tensor& x);

// In memory.
Tensor uniform(const Shape& shape, DType dtype = DType::kFloat32);

// The groups, by which --only chooses.
void bench_copies(const Bench& bench);
void bench_pointwise(const Bench& bench);
void bench_rows(const Bench& bench);
void bench_matmul(const Bench& bench);
void bench_step(const Bench& bench);
void bench_host(const Bench& bench);
void bench_compiler(const Bench& bench);

// What a check looks at first, as one line of JSON; throws Error if the device does not compute.
void probe(const Settings& settings);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_GPU_MEASURE_H_
