#include "kernels/cuda/executor.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "kernels/cache/compile_threads.h"
#include "kernels/cuda/compile/generic_image.h"
#include "kernels/cuda/gpu.h"
#include "kernels/cuda/run/run.h"
#include "runtime/cuda/cuda_device.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::KernelStep;
using fusion::MatmulStep;
using fusion::Step;
using runtime::cuda::CudaDevice;
using runtime::cuda::CudaStream;

class CudaPlanCode : public PlanCode {
 public:
  explicit CudaPlanCode(Gpu* gpu) : code_(gpu) {}

  absl::StatusOr<std::unique_ptr<Run>> make_run(runtime::Stream* stream, Tier tier) override {
    auto run = std::make_unique<CudaRun>(&code_, static_cast<CudaStream*>(stream));
    const absl::Status status = run->prepare(tier);
    if (!status.ok()) return status;
    return run;
  }

  std::vector<KernelDescription> describe(size_t step, bool with_code) const override {
    const auto* own = std::get_if<StepCode>(&code_.steps[step]);
    if (own == nullptr) return {};
    return {own->kernel->describe(with_code)};
  }

  CudaCode& code() { return code_; }

 private:
  CudaCode code_;
};

class CudaExecutor : public Executor {
 public:
  explicit CudaExecutor(CudaDevice* device) : gpu_(device) {}

  std::unique_ptr<PlanCode> prepare(std::vector<Step>* steps, std::vector<std::string> labels,
                                    Tier) override {
    auto made = std::make_unique<CudaPlanCode>(&gpu_);
    CudaCode& code = made->code();
    if (!labels.empty()) {
      code.label =
          absl::StrCat(labels.size(), " steps from ", labels.front(), " to ", labels.back());
    }
    const int multiprocessors = gpu_.device().context().info().multiprocessors;
    std::vector<LaunchCode> launches;
    for (size_t s = 0; s < steps->size(); ++s) {
      if (const auto* matmul = std::get_if<MatmulStep>(&(*steps)[s].work)) {
        code.has_library_calls = true;
        code.steps.emplace_back(LibraryCode{matmul, std::move(labels[s])});
        make_ready(*matmul);
        continue;
      }
      auto& step = std::get<StepCode>(code.steps.emplace_back(
          std::in_place_type<StepCode>, &std::get<KernelStep>((*steps)[s].work), multiprocessors,
          std::move(labels[s])));
      launches.push_back(step.launch_code());
      for (const CallCode& call : step.calls) code.num_error_slots += call.call->error_slots.size();
    }
    code.kernels = gpu_.kernels().find(launches);
    size_t next = 0;
    for (auto& step : code.steps) {
      if (auto* own = std::get_if<StepCode>(&step)) own->kernel = code.kernels[next++];
    }
    return made;
  }

  CacheStats cache_stats() const override {
    const KernelCacheStats stats = gpu_.kernels().stats();
    return {stats.compiles, stats.compile_failures, stats.hits, stats.disk_hits};
  }

  void wait_for_compiler() override { gpu_.wait_for_compilers(); }

 private:
  // Ahead of the first run. The executor lives as long as the process.
  void make_ready(const MatmulStep& matmul) {
    CompileThreads::get().add([gpu = &gpu_, matmul] {
      gpu->matmul().prepare(BoundMatmul(matmul, nullptr).get()).IgnoreError();
    });
  }

  Gpu gpu_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executor>> make_executor(int index) {
  const absl::StatusOr<CudaDevice*> device = runtime::cuda::cuda_device(index);
  if (!device.ok()) return device.status();
  return std::make_unique<CudaExecutor>(*device);
}

std::string description() {
  return generic_image() == nullptr ? "by NVRTC" : "by NVRTC, generic kernel ahead of time";
}

}  // namespace sluice::kernels::cuda
