// In what precision products are computed, on an emulated device.
#include <gtest/gtest.h>

#include <vector>

#include "tests/emulated_cuda/start.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// For the process.
void use_gpu() {
  static const bool kStarted = [] {
    emulated::start();
    set_default_device(Device::cuda(0));
    config().compile = CompileMode::kBlocking;
    return true;
  }();
  ASSERT_TRUE(kStarted);
}

TEST(CudaPrecision, IsTf32OnlyWhereThatIsAskedFor) {
  use_gpu();
  ConfigGuard guard;
  const float fine = 1 + 1.f / 4096;  // 1 in TF32
  const Tensor a = full({32, 32}, fine), b = eye(32);
  const auto product = [&] { return matmul(a, b).to_vector<float>()[77]; };
  EXPECT_EQ(config().matmul_precision, MatmulPrecision::kFloat32);
  EXPECT_EQ(product(), fine);
  config().matmul_precision = MatmulPrecision::kTf32;
  EXPECT_EQ(product(), 1.f);
  config().matmul_precision = MatmulPrecision::kFloat32;
  EXPECT_EQ(product(), fine);
}

TEST(CudaPrecision, ProductsOfHalvesReadAndWriteThem) {
  use_gpu();
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const Tensor a = full({24, 40}, 0.5f, dtype), b = full({40, 16}, 2.f, dtype);
    sync();
    reset_stats();
    const Tensor c = matmul(a, b);
    EXPECT_EQ(c.dtype(), dtype);
    c.eval();
    EXPECT_EQ(stats().library_calls, 1);
    EXPECT_EQ(stats().kernels_launched, 0);
    EXPECT_EQ(astype(c, DType::kFloat32).to_vector<float>()[7], 40.f);
  }
}

// Whatever else is in the window, and whatever follows.
TEST(CudaPrecision, BitsOfAProductDependOnNothingElse) {
  use_gpu();
  ConfigGuard guard;
  manual_seed(3);
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    const Tensor a = randn({20, 700}, dtype), b = randn({700, 12}, dtype);
    config().matmul_precision = MatmulPrecision::kTf32;
    config().fuse = false;
    const Tensor alone = matmul(a, b);
    alone.eval();
    config().fuse = true;
    const Tensor among = matmul(a, b), next = exp(among * 0.01f) + matmul(a * 2.f, b);
    next.eval();
    EXPECT_EQ(read_bytes(among), read_bytes(alone));
  }
}

}  // namespace
}  // namespace sluice::test
