// Sources of kernels go through NVRTC, for each kind of device: registers must suffice. Sources are
// the generic kernel, random programs, and all that the emulated device has compiled on this
// machine.
//
//   SLUICE_NVRTC        names a libnvrtc.so; without one the test is skipped
//   SLUICE_NVRTC_EVERY  takes one in so many of what the emulated device has compiled
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "kernels/cuda/compile/nvrtc.h"
#include "kernels/gpu/emit/emit.h"
#include "kernels/gpu/emit/plan.h"
#include "kernels/gpu/generic/generic.h"
#include "kernels/gpu/prelude/prelude.h"
#include "tests/cuda/cuda_random_program.h"
#include "tests/emulated_cuda/host_compiler.h"

namespace sluice::kernels::cuda {
namespace {

namespace fs = std::filesystem;

// The generic kernel asks for more blocks a multiprocessor than its longest functions have
// registers for, on purpose.
bool may_spill(const std::string& text) { return absl::StrContains(text, kGenericKernel); }

constexpr uint64_t kRandomPrograms = 100;

std::vector<std::string> own_sources() {
  std::vector<std::string> texts = {generic_source()};
  testing::Cases cases;
  const auto add = [&](testing::Case& c, RowWay way) {
    const Kernel kernel{"kernel", {{&c.program(), way}}, false, c.is_wide()};
    texts.push_back(emit({&kernel, 1}));
  };
  for (uint64_t seed = 1; seed <= kRandomPrograms; ++seed) testing::RandomProgram(seed, &cases);
  for (testing::Case* const c : cases.all()) {
    if (!c->is_valid()) continue;
    add(*c, {});
    const Plan plan(c->program());
    if (plan.kept.may_keep()) add(*c, {RowWay::kKept, kKeptGroups});
    if (plan.kept.by_warp) add(*c, {RowWay::kKeptByWarp, kGroupsByWarp});
  }
  return texts;
}

std::vector<std::string> compiled_on_emulated_device() {
  std::vector<std::string> texts;
  const absl::StatusOr<std::string> folder = emulated::HostCompiler::folder();
  if (!folder.ok()) return texts;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(*folder)) {
    if (entry.path().extension() == ".cu") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  const char* const every = std::getenv("SLUICE_NVRTC_EVERY");
  const size_t step = every == nullptr ? 1 : std::max(1, std::atoi(every));
  for (size_t i = 0; i < paths.size(); i += step) {
    std::ifstream file(paths[i], std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

TEST(CudaSources, CompileForEachDeviceWithoutSpills) {
  const char* const library = std::getenv("SLUICE_NVRTC");
  if (library == nullptr || *library == '\0') GTEST_SKIP() << "SLUICE_NVRTC is not set";
  const absl::StatusOr<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::load(library);
  ASSERT_TRUE(nvrtc.ok()) << nvrtc.status();
  std::vector<std::string> texts = own_sources();
  EXPECT_GT(texts.size(), kRandomPrograms * 9 / 10);
  for (std::string& text : compiled_on_emulated_device()) texts.push_back(std::move(text));
  std::atomic<size_t> next{0};
  std::atomic<int64_t> kernels{0};
  std::atomic<int> most_registers{0};
  std::mutex mutex;
  std::vector<std::string> failures;
  const auto work = [&] {
    for (size_t i = next++; i < texts.size(); i = next++) {
      for (const int capability : {80, 90, 100}) {
        const Nvrtc::Target target{capability, true};
        const auto code = (*nvrtc)->compile(device_source(texts[i]), target, device_options(false));
        std::string wrong;
        if (!code.ok()) {
          wrong = std::string(code.status().message());
        } else {
          for (const KernelResources& kernel : code->kernels) {
            ++kernels;
            most_registers = std::max(most_registers.load(), kernel.registers);
            if (kernel.spill_bytes > 0 && !may_spill(texts[i])) wrong = kernel.name + " spills";
          }
        }
        if (wrong.empty()) continue;
        std::lock_guard lock(mutex);
        failures.push_back(target.name() + ": " + wrong + "\n" + texts[i].substr(0, 4000));
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::printf("%zu sources, %lld kernels, at most %d registers\n", texts.size(),
              static_cast<long long>(kernels), most_registers.load());
  for (const std::string& failure : failures) ADD_FAILURE() << failure;
}

}  // namespace
}  // namespace sluice::kernels::cuda
