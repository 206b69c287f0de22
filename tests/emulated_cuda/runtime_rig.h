// Fixtures of the tests of runtime/cuda: an emulated driver, a kernel, batches.
#ifndef SLUICE_TESTS_EMULATED_CUDA_RUNTIME_RIG_H_
#define SLUICE_TESTS_EMULATED_CUDA_RUNTIME_RIG_H_

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/driver/graph.h"
#include "runtime/cuda/driver/module.h"
#include "tests/emulated_cuda/emulated_cuda.h"

namespace sluice::test {

namespace cuda = runtime::cuda;

// The parameters of the kernel "affine": target[i] = source[i] * factor + addend.
struct Affine {
  float* target;
  const float* source;
  int64_t count;
  float factor;
  float addend;
};

inline const char* run_affine(const emulated::Geometry& geometry, const void* params) {
  const auto& p = *static_cast<const Affine*>(params);
  if (static_cast<int64_t>(geometry.grid[0]) * geometry.block[0] < p.count)
    return "too few threads";
  for (int64_t i = 0; i < p.count; ++i) p.target[i] = p.source[i] * p.factor + p.addend;
  return nullptr;
}

inline cuda::KernelLaunch affine_launch(const cuda::Function& function, const Affine& params) {
  cuda::KernelLaunch launch;
  launch.function = function.handle;
  launch.grid[0] = static_cast<uint32_t>(params.count / 256 + 1);
  launch.block[0] = 256;
  launch.params = {reinterpret_cast<const std::byte*>(&params), sizeof(params)};
  return launch;
}

// The recorded life of a batch.
struct Outcome {
  absl::Status run = absl::UnknownError("not run");
  int finished = 0;
  int failed = 0;
  runtime::FailureRef failure;
  bool destroyed = false;
};

// Runs the given function and records the outcome.
class TestBatch : public runtime::CommandBatch {
 public:
  TestBatch(std::function<absl::Status()> work, std::shared_ptr<Outcome> outcome)
      : work_(std::move(work)), outcome_(std::move(outcome)) {}
  ~TestBatch() override { outcome_->destroyed = true; }

  void run() override {
    outcome_->run = work_();
    if (outcome_->run.ok()) return;
    outcome_->failure = std::make_shared<runtime::Failure>(outcome_->run);
    failures_.push_back(outcome_->failure);
  }
  void finish() override { ++outcome_->finished; }
  void fail(const runtime::FailureRef& failure) override {
    ++outcome_->failed;
    outcome_->failure = failure;
  }
  std::string label() const override { return "test"; }
  double cost() const override { return 1; }
  void wait_for(const runtime::Event& event) { waits_for_.push_back(event); }

 private:
  const std::function<absl::Status()> work_;
  const std::shared_ptr<Outcome> outcome_;
};

// Submits `work`, which waits for `after`.
inline runtime::Event submit(cuda::CudaStream* stream, std::function<absl::Status()> work,
                             std::shared_ptr<Outcome> outcome = nullptr,
                             const std::vector<runtime::Event>& after = {}) {
  if (outcome == nullptr) outcome = std::make_shared<Outcome>();
  auto batch = std::make_unique<TestBatch>(std::move(work), std::move(outcome));
  for (const runtime::Event& event : after) batch->wait_for(event);
  return {stream, stream->submit(std::move(batch), runtime::SubmitMode::kDetached)};
}

// A driver with one or more devices. The destructor closes them and reports misuse and leaks.
class Rig {
 public:
  explicit Rig(const emulated::Options& options = {}) : emulator(options) {
    emulator.add_kernel("affine", run_affine);
  }
  explicit Rig(uint64_t seed) : Rig(emulated::Options{.seed = seed}) {}
  ~Rig() {
    modules_.clear();
    cuda::close_cuda_devices_for_testing();
    if (!expects_misuse) {
      for (const std::string& text : emulator.violations()) ADD_FAILURE() << text;
    }
    for (const std::string& text : emulator.leaks()) ADD_FAILURE() << "leaked: " << text;
  }

  cuda::CudaDevice& device(int index = 0) { return **cuda::cuda_device(index); }
  std::unique_ptr<cuda::CudaStream> stream(int index = 0) {
    return *cuda::CudaStream::make(&device(index));
  }
  cuda::Function affine(int index = 0) {
    modules_.push_back(
        *cuda::Module::load(&device(index).context(), emulated::EmulatedCuda::registered_image()));
    return *modules_.back()->function("affine");
  }
  float* allocate(cuda::CudaStream* stream, int64_t count) {
    return static_cast<float*>(
        *stream->device().allocator().allocate(count * sizeof(float), stream));
  }
  runtime::Event upload(float* target, const std::vector<float>& values, int index = 0) {
    return *device(index).copies().upload(target, values.data(), values.size() * sizeof(float));
  }
  std::vector<float> download(const float* source, int64_t count, const runtime::Event& written,
                              int index = 0) {
    std::vector<float> values(count);
    const absl::Status status =
        device(index).copies().download(values.data(), source, count * sizeof(float), written);
    EXPECT_TRUE(status.ok()) << status;
    return values;
  }

  emulated::EmulatedCuda emulator;
  bool expects_misuse = false;

 private:
  std::vector<std::unique_ptr<cuda::Module>> modules_;
};

}  // namespace sluice::test

#endif  // SLUICE_TESTS_EMULATED_CUDA_RUNTIME_RIG_H_
