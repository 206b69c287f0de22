// What bench/gpu reports, on the emulated device.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "bench/gpu/measure.h"
#include "kernels/gpu/generic/generic.h"
#include "tests/cuda/cuda_devices.h"

namespace sluice::test {
namespace {

using kernels::cuda::CompiledCode;
using kernels::cuda::Compiler;

// Compiles nothing but the generic kernel.
class GenericOnly : public Compiler {
 public:
  absl::StatusOr<CompiledCode> compile(const std::string& text, bool contracts) override {
    if (text != kernels::cuda::generic_source()) return absl::InternalError("refused");
    return compiler_->compile(text, contracts);
  }
  std::string identity() const override { return compiler_->identity(); }

 private:
  const std::unique_ptr<Compiler> compiler_ = emulated::make_test_compiler();
};

// Whether timing a sum of two tensors is reported as a failure.
bool fails_to_time_a_sum() {
  set_default_device(kFirst);
  config().compile = CompileMode::kBlocking;
  bench::Report report(nullptr);
  const bench::Bench bench{{.on_gpu = true, .quick = true}, &report};
  const Tensor x = ones({1000}), y = ones({1000});
  Tensor sum;
  bench.time({.workload = "sum", .dtype = "float32", .size = "1000"}, [&] {
    sum = x + y;
    sum.eval();
  });
  return report.failed();
}

TEST_F(CudaDevices, TimesOfOwnKernelsAreReported) {
  with({}, [](EmulatedCuda&) { EXPECT_FALSE(fails_to_time_a_sum()); });
}

TEST_F(CudaDevices, TimesOfTheGenericKernelAreFailures) {
  with({}, [](EmulatedCuda&) {
    kernels::cuda::set_compiler_for_testing([] { return std::make_unique<GenericOnly>(); });
    EXPECT_TRUE(fails_to_time_a_sum());
  });
}

}  // namespace
}  // namespace sluice::test
