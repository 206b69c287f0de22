#include "bench/gpu/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace sluice::bench {
namespace {

// Escapes names and error messages for JSON.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + '"';
}

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Report::Report(const char* path) {
  if (path != nullptr) file_ = std::fopen(path, "a");
}

Report::~Report() {
  if (file_ != nullptr) std::fclose(file_);
}

void Report::add(const Result& r) {
  const std::string name = r.workload + " " + r.dtype + " " + r.size;
  std::printf("%-44s %12.2f us", name.c_str(), r.seconds * 1e6);
  if (r.bytes > 0) std::printf(" %9.1f GB/s", static_cast<double>(r.bytes) / r.seconds * 1e-9);
  if (r.flops > 0) std::printf(" %9.2f TFLOP/s", r.flops / r.seconds * 1e-12);
  if (r.ops > 0) std::printf(" %9.1f ns/op", r.seconds / static_cast<double>(r.ops) * 1e9);
  if (r.kernels > 0) std::printf("  %lld kernels", static_cast<long long>(r.kernels));
  std::printf("\n");
  std::fflush(stdout);
  if (file_ == nullptr) return;
  std::fprintf(file_,
               "{\"workload\": %s, \"dtype\": %s, \"size\": %s, \"who\": \"sluice\", "
               "\"seconds\": %.9g, \"best\": %.9g, \"bytes\": %lld, \"flops\": %.9g, "
               "\"ops\": %lld, \"kernels\": %lld}\n",
               quoted(r.workload).c_str(), quoted(r.dtype).c_str(), quoted(r.size).c_str(),
               r.seconds, r.best, static_cast<long long>(r.bytes), r.flops,
               static_cast<long long>(r.ops), static_cast<long long>(r.kernels));
  std::fflush(file_);
}

void Report::add_failure(const std::string& workload, const std::string& message) {
  failed_ = true;
  std::printf("%-44s failed: %s\n", workload.c_str(), message.c_str());
  std::fflush(stdout);
  if (file_ == nullptr) return;
  std::fprintf(file_, "{\"workload\": %s, \"who\": \"sluice\", \"error\": %s}\n",
               quoted(workload).c_str(), quoted(message).c_str());
  std::fflush(file_);
}

void Bench::time(Result result, const std::function<void()>& step) const {
  sync();
  reset_stats();
  step();  // compiles
  sync();
  const Stats once = stats();
  result.kernels = once.kernels_launched + once.library_calls;
  const auto seconds_of = [&](int64_t steps) {
    const double start = now();
    for (int64_t i = 0; i < steps; ++i) step();
    sync();
    return (now() - start) / static_cast<double>(steps);
  };
  seconds_of(settings.quick ? 1 : 3);  // warms the allocators' caches
  const double wanted = settings.quick ? 1e-3 : 30e-3;
  const int64_t steps =
      std::clamp<int64_t>(std::llround(wanted / seconds_of(settings.quick ? 1 : 5)), 1, 2000);
  time_samples(std::move(result), settings.quick ? 3 : 9, [&] { return seconds_of(steps); });
}

void Bench::time_samples(Result result, int count, const std::function<double()>& sample) const {
  std::vector<double> seconds;
  const int64_t interpreted = stats().generic_tier_launches;
  for (int i = 0; i < count; ++i) seconds.push_back(sample());
  // Without a compiler of CUDA kernels, the time would be the interpreting kernel's.
  if (const int64_t launches = stats().generic_tier_launches - interpreted;
      settings.on_gpu && config().compile == CompileMode::kBlocking && launches > 0) {
    report->add_failure(result.workload, std::to_string(launches) +
                                             " launches ran on the generic kernel: its own could "
                                             "not be compiled");
    return;
  }
  std::sort(seconds.begin(), seconds.end());
  result.seconds = seconds[seconds.size() / 2];
  result.best = seconds[0];
  report->add(result);
}

}  // namespace sluice::bench
