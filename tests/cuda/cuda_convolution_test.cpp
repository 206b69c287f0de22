// Our own kernels of convolutions, compiled for the host, on an emulated device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "runtime/integers.h"
#include "tests/cuda/cuda_convolutions.h"

namespace sluice::kernels::cuda {
namespace {

using ::testing::HasSubstr;

class CudaConvolutionTest : public ::testing::Test {
 protected:
  Rig rig;
  TestCompiler compiler;
  const std::unique_ptr<LibraryRunner> own =
      make_convolution_runner({&rig.device().context(), &compiler});
};

TEST_F(CudaConvolutionTest, SumsInOrder) {
  for (const ConvolutionRole result : {kPlacesRole, kImagesRole, kFiltersRole}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      for (const ConvolutionCase& c : convolution_cases(result, dtype)) {
        const std::vector<float> values = run(&rig, own.get(), c);
        expect_exact(values, c.in_order(), c.name);
        expect_near(values, c);
        ASSERT_FALSE(HasFailure()) << absl::StrJoin(rig.emulator.violations(), "\n");
      }
    }
  }
}

TEST_F(CudaConvolutionTest, TakesTheTileThatFits) {
  std::set<size_t> tiles;
  for (const auto& [inputs, outputs, extent] : std::vector<std::array<int64_t, 3>>{
           {1, 130, 93}, {2, 70, 67}, {3, 17, 19}, {3, 40, 9}, {3, 5, 9}}) {
    const ConvolutionCase c("tiles", kPlacesRole, DType::kFloat32, 1, inputs, outputs, 1,
                            {{extent, 2, 1, 1, 0, 0}, {extent, 2, 1, 1, 0, 0}});
    // The emulated device's multiprocessors.
    tiles.insert(choose_convolution_tile(c.of, rig.device().context().info().multiprocessors));
    expect_exact(run(&rig, own.get(), c), c.in_order(), c.name);
  }
  EXPECT_EQ(tiles.size(), kConvolutionTiles.size() + 1);
}

TEST_F(CudaConvolutionTest, CutsLongSumsIntoParts) {
  const auto check = [&](const ConvolutionCase& c, int64_t parts) {
    EXPECT_EQ(ceil_div(c.of.batch * c.of.places(), convolution_part(c.of)), parts) << c.name;
    expect_exact(run(&rig, own.get(), c), c.in_order(), c.name);
  };
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    check({"tiles", kFiltersRole, dtype, 3, 3, 9, 1, {{21, 3, 1, 1, 1, 1}, {43, 3, 1, 1, 1, 1}}},
          3);
    check({"each", kFiltersRole, dtype, 2, 6, 6, 6, {{33, 3, 1, 1, 1, 1}, {32, 2, 1, 1, 1, 0}}}, 3);
  }
  EXPECT_EQ(rig.device().allocator().stats().live, 0);
}

// Bits do not depend on how operands lie in memory.
TEST_F(CudaConvolutionTest, TakesOperandsAsTheyLie) {
  for (const ConvolutionRole result : {kPlacesRole, kImagesRole, kFiltersRole}) {
    ConvolutionCase dense("dense", result, DType::kFloat32, 2, 8, 9, 1,
                          {{6, 3, 2, 1, 1, 1}, {5, 2, 1, 1, 0, 0}});
    ConvolutionCase other = dense;
    for (int i = 0; i < 2; ++i) other.place_channels_last(i);
    for (int i = 0; i < 2; ++i) {
      const fusion::ConvolutionExtents extents = dense.of.extents_of(dense.role(i));
      const auto offset = [&](const ConvolutionCase& c, int64_t number) {
        int64_t at = c.of.operands[i].offset;
        for (int k = 2 + c.of.rank; k-- > 0; number /= extents[k]) {
          at += number % extents[k] * c.of.operands[i].strides[k];
        }
        return at * c.size();
      };
      for (int64_t e = 0; e < dense.count(dense.role(i)); ++e) {
        std::memcpy(other.memory[i].data() + offset(other, e),
                    dense.memory[i].data() + offset(dense, e), sizeof(float));
      }
    }
    expect_exact(run(&rig, own.get(), other), run(&rig, own.get(), dense), dense.name);
  }
}

// Every call of the driver fails in turn: then the call says so, and all memory is given back.
TEST_F(CudaConvolutionTest, SaysWhatFailed) {
  const ConvolutionCase c("parts", kFiltersRole, DType::kFloat32, 3, 3, 9, 1,
                          {{21, 3, 1, 1, 1, 1}, {43, 3, 1, 1, 1, 1}});
  compiler.refuses = "convolution_float32_add_parts";
  absl::Status status;
  run(&rig, own.get(), c, &status);
  EXPECT_THAT(message_of(status), HasSubstr("kernel convolution_float32_add_parts"));
  EXPECT_EQ(rig.device().allocator().stats().live, 0);
  // There is no memory for the partial sums.
  const ConvolutionCase large("parts", kFiltersRole, DType::kFloat32, 8, 30, 90, 1,
                              {{21, 3, 1, 1, 1, 1}, {43, 3, 1, 1, 1, 1}});
  compiler.refuses.clear();
  rig.device().allocator().set_limit(int64_t{4} << 20);
  run(&rig, own.get(), large, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(rig.device().allocator().stats().live, 0);
}

}  // namespace
}  // namespace sluice::kernels::cuda
