// Says what the workloads of bench/gpu launch, without a GPU: each runs on the emulated device,
// dry, so that sizes are those of the bench. model.py makes figures of it (docs/gpu.md).
//
//   gpu_launches <folder> [multiprocessors]
//
// The folder gets every source that was compiled, as NVRTC would have got it (<n>.cu), and
// launches.jsonl: a line for each source with its kernels' names, and one for each workload with
// what a recurring window of it launches and asks of the driver. Windows are pipelined: eight are
// submitted, then waited for.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/gpu/measure.h"
#include "kernels/cuda/gpu.h"
#include "kernels/gpu/prelude/prelude.h"
#include "tests/emulated_cuda/emulated_cuda.h"

namespace sluice::bench {
namespace {

constexpr int kWarmUp = 12;  // more than make a plan recurring
constexpr int kWindows = 8;  // counted
constexpr size_t kMemory = size_t{80} << 30;

std::string folder;
emulated::EmulatedCuda* driver = nullptr;

void write_line(const std::string& line) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  std::ofstream(folder + "/launches.jsonl", std::ios::app) << line << "\n";
}

// Keeps sources instead of compiling them.
class Keeper : public kernels::cuda::Compiler {
 public:
  absl::StatusOr<kernels::cuda::CompiledCode> compile(const std::string& text,
                                                      bool contracts) override {
    static std::atomic<int> count{0};
    const std::string name = absl::StrCat(count++, ".cu");
    std::ofstream(folder + "/" + name) << kernels::cuda::device_source(text);
    std::string kernels;
    // SL_KERNEL(name, ... and SL_KERNEL_OF(name, ...
    const std::string begin = "SL_KERNEL";
    for (size_t at = text.find(begin); at != text.npos; at = text.find(begin, at)) {
      at = text.find('(', at) + 1;
      absl::StrAppend(&kernels, kernels.empty() ? "" : ", ", "\"",
                      text.substr(at, text.find(',', at) - at), "\"");
    }
    write_line(absl::StrCat("{\"source\": \"", name, "\", \"contracts\": ",
                            contracts ? "true" : "false", ", \"kernels\": [", kernels, "]}"));
    kernels::cuda::CompiledCode code;
    code.image = "dry";
    return code;
  }
  std::string identity() const override { return "none"; }
};

// A launch with the first words of its call (sl_call), if it has just one.
std::string text_of(const emulated::Launch& launch) {
  std::string text =
      absl::StrCat("{\"kernel\": \"", launch.kernel, "\", \"blocks\": ", launch.blocks,
                   ", \"threads\": ", launch.threads);
  constexpr const char* kNames[] = {"stage",  "aligned", "grouped", "rows",
                                    "length", "chunks",  "splits",  "team"};
  if (launch.parameters.size() > sizeof(int64_t) * std::size(kNames)) {
    absl::StrAppend(&text, ", \"call\": {");
    for (size_t i = 0; i < std::size(kNames); ++i) {
      int64_t word;
      std::memcpy(&word, launch.parameters.data() + 8 * i, 8);
      absl::StrAppend(&text, i == 0 ? "" : ", ", "\"", kNames[i], "\": ", word);
    }
    text += "}";
  }
  return text + "}";
}

}  // namespace

// What measure.cpp has for the bench, without its clock.
double now() { return 0; }

Report::Report(const char*) {}
Report::~Report() {}  // there is no file to close
void Report::add(const Result&) {}
void Report::add_failure(const std::string& workload, const std::string& message) {
  failed_ = true;
  std::fprintf(stderr, "%s: %s\n", workload.c_str(), message.c_str());
}

void Bench::time(Result result, const std::function<void()>& step) const {
  const auto windows = [&](int count) {
    for (int i = 0; i < count; ++i) step();
    sync();
  };
  windows(kWarmUp);
  driver->take_launches();
  const std::map<std::string, int64_t> before = driver->calls_by_name();
  windows(kWindows);
  std::string launches, calls;
  const std::vector<emulated::Launch> all = driver->take_launches();
  for (size_t i = all.size() / kWindows * (kWindows - 1); i < all.size(); ++i) {
    absl::StrAppend(&launches, launches.empty() ? "" : ", ", text_of(all[i]));
  }
  for (const auto& [name, count] : driver->calls_by_name()) {
    const auto found = before.find(name);
    const int64_t more = count - (found == before.end() ? 0 : found->second);
    if (more == 0) continue;
    absl::StrAppend(&calls, calls.empty() ? "" : ", ", "\"", name,
                    "\": ", static_cast<double>(more) / kWindows);
  }
  write_line(absl::StrCat("{\"workload\": \"", result.workload, "\", \"dtype\": \"", result.dtype,
                          "\", \"size\": \"", result.size, "\", \"bytes\": ", result.bytes,
                          ", \"ops\": ", result.ops, ", \"launches\": [", launches,
                          "], \"calls\": {", calls, "}}"));
}

void Bench::time_samples(Result, int, const std::function<double()>&) const {}

}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  if (argc < 2 || argc > 3) {
    std::fputs("usage: gpu_launches <folder> [multiprocessors]\n", stderr);
    return 2;
  }
  folder = argv[1];
  // Never destroyed: streams and memory are released after main.
  driver =
      new sluice::emulated::EmulatedCuda({.memory_bytes = kMemory,
                                          .multiprocessors = argc > 2 ? std::atoi(argv[2]) : 132,
                                          .is_dry = true});
  sluice::kernels::cuda::set_compiler_for_testing([] { return std::make_unique<Keeper>(); });
  sluice::set_default_device(sluice::Device::cuda(0));
  sluice::config().compile = sluice::CompileMode::kBlocking;
  Report report(nullptr);
  const Bench bench{{}, &report};
  bench_pointwise(bench);
  bench_rows(bench);
  bench_host(bench);
  return report.failed() ? 1 : 0;
}
