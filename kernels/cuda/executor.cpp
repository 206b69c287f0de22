#include "kernels/cuda/executor.h"

#include <utility>

#include "kernels/cuda/compile/generic_image.h"
#include "kernels/cuda/gpu.h"
#include "kernels/cuda/run/run.h"
#include "runtime/cuda/cuda_device.h"

namespace sluice::kernels::cuda {
namespace {

using runtime::cuda::CudaDevice;
using runtime::cuda::CudaStream;

class CudaPlanCode : public PlanCode {
 public:
  CudaPlanCode(fusion::Plan plan, std::vector<std::string> labels, Gpu* gpu)
      : PlanCode(std::move(plan)), code_(gpu, &steps(), std::move(labels)) {}

  absl::StatusOr<std::unique_ptr<Run>> make_run(runtime::Stream* stream, Tier tier) override {
    auto run = std::make_unique<CudaRun>(&code_, static_cast<CudaStream*>(stream));
    const absl::Status status = run->prepare(tier);
    if (!status.ok()) return status;
    return run;
  }

  std::vector<KernelDescription> describe(size_t step, bool with_code) const override {
    const StepCode* launch = code_.launches[step].get();
    if (launch == nullptr) return {};
    return {launch->kernel->describe(with_code)};
  }

 private:
  CudaCode code_;
};

class CudaExecutor : public Executor {
 public:
  explicit CudaExecutor(CudaDevice* device) : gpu_(device) {}

  std::unique_ptr<PlanCode> prepare(fusion::Plan plan, StepLabel label, Tier) override {
    std::vector<std::string> labels;
    for (const fusion::Step& step : plan.steps) labels.push_back(label(step));
    return std::make_unique<CudaPlanCode>(std::move(plan), std::move(labels), &gpu_);
  }

  CacheStats cache_stats() const override {
    const KernelCacheStats stats = gpu_.kernels().stats();
    return {stats.compiles, stats.compile_failures, stats.hits, stats.disk_hits};
  }

  void wait_for_compiler() override { gpu_.wait_for_compilers(); }

 private:
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
