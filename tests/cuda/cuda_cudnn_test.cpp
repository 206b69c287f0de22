// Convolutions by a cuDNN that is not there, on an emulated device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cuda/library/convolution/dnn_convolution.h"
#include "tests/cuda/cuda_convolutions.h"
#include "tests/cuda/cudnn_misuse.h"
#include "tests/emulated_cuda/fake_cudnn.h"

namespace sluice::kernels::cuda {
namespace {

using emulated::FakeCudnn;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CudaCudnnTest : public ::testing::Test {
 protected:
  ~CudaCudnnTest() override {
    runner.reset();
    EXPECT_EQ(fake.objects(), 0) << "handles and descriptors that were not given back";
    if (!expects_misuse) {
      EXPECT_THAT(fake.misuse(), IsEmpty());
    }
  }
  void restart() { runner = make_convolution_runner(device()); }
  LibraryDevice device() { return {&rig.device().context(), &compiler, 0, FakeCudnn::table()}; }
  bool is_own(const ConvolutionCase& c, const std::vector<float>& values) {
    const std::vector<float> expected = c.in_order();
    return std::equal(
        values.begin(), values.end(), expected.begin(), expected.end(),
        [](float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); });
  }

  Rig rig;
  TestCompiler compiler;
  FakeCudnn fake{&rig.emulator};
  std::unique_ptr<LibraryRunner> runner = make_convolution_runner(device());
  bool expects_misuse = false;
};

ConvolutionCase small(DType dtype = DType::kFloat32, ConvolutionRole result = kPlacesRole) {
  return {"small", result, dtype, 2, 8, 10, 1, {{5, 3, 1, 1, 1, 1}, {6, 2, 1, 1, 0, 1}}};
}

TEST_F(CudaCudnnTest, ComputesAllThreeOps) {
  size_t runs = 0;
  for (const ConvolutionRole result : {kPlacesRole, kImagesRole, kFiltersRole}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      for (const ConvolutionCase& c : convolution_cases(result, dtype)) {
        expect_near(run(&rig, runner.get(), c), c);
        ASSERT_EQ(fake.runs().size(), ++runs) << c.name;
        EXPECT_EQ(fake.runs().back().result, result);
      }
    }
  }
  EXPECT_EQ(rig.device().allocator().stats().live, 0);
}

TEST_F(CudaCudnnTest, DescribesConvolutions) {
  const ConvolutionCase c("one axis", kPlacesRole, DType::kBFloat16, 2, 6, 9, 3,
                          {{13, 3, 2, 2, 1, 2}});
  expect_near(run(&rig, runner.get(), c), c);
  const FakeCudnn::Convolution ran = fake.runs().at(0);
  // The library has no convolutions along one axis.
  EXPECT_THAT(ran.tensors[kImagesRole].extents, ElementsAre(2, 6, 1, 13));
  EXPECT_THAT(ran.tensors[kImagesRole].strides, ElementsAre(78, 13, 13, 1));
  EXPECT_THAT(ran.tensors[kFiltersRole].extents, ElementsAre(9, 2, 1, 3));
  EXPECT_THAT(ran.tensors[kPlacesRole].extents, ElementsAre(2, 9, 1, 6));
  EXPECT_EQ(ran.tensors[kPlacesRole].dtype, DnnDataType::kBfloat16);
  EXPECT_THAT(ran.stride, ElementsAre(1, 2));
  EXPECT_THAT(ran.dilation, ElementsAre(1, 2));
  EXPECT_THAT(ran.before, ElementsAre(0, 1));
  EXPECT_THAT(ran.after, ElementsAre(0, 2));
}

// Plans are made once, and do not depend on how operands lie in memory.
TEST_F(CudaCudnnTest, MakesAPlanForAShape) {
  ConvolutionCase c = small();
  run(&rig, runner.get(), c);
  EXPECT_EQ(fake.questions(), 1);
  c.place_channels_last(0);
  run(&rig, runner.get(), c);
  c.place_reversed(1);
  run(&rig, runner.get(), c);
  // Not aligned.
  const auto strides = c.of.dense_strides(kImagesRole);
  c.place(0, strides, 1, c.count(kImagesRole) + 1);
  c.fill(3);
  expect_near(run(&rig, runner.get(), c), c);
  EXPECT_EQ(fake.questions(), 1);
  run(&rig, runner.get(), small(DType::kFloat16));
  run(&rig, runner.get(), small(DType::kFloat32, kFiltersRole));
  EXPECT_EQ(fake.questions(), 3);
  EXPECT_EQ(rig.device().allocator().stats().live, 0);
}

TEST_F(CudaCudnnTest, ForgetsPlansInTheEnd) {
  fusion::LibraryCall call;
  call.kind = fusion::LibraryKind::kConvolution;
  for (int64_t extent = 3; extent < 2500; ++extent) {
    const ConvolutionCase c("many", kPlacesRole, DType::kFloat32, 1, 1, 1, 1,
                            {{extent, 3, 1, 1, 0, 0}});
    call.attributes = std::make_shared<ConvolutionAttributes>(c.of);
    ASSERT_TRUE(runner->prepare(call).ok());
  }
  EXPECT_LT(fake.objects(), 2100 * 10);
  expect_near(run(&rig, runner.get(), small()), small());
}

TEST_F(CudaCudnnTest, WantsEnginesWhoseBitsStay) {
  using Note = DnnNote;
  const auto takes = [&](std::vector<Note> notes, DType dtype, bool allow_tf32 = false) {
    fake.engines = [&](const auto&, DnnHeuristic mode) -> std::vector<FakeCudnn::Engine> {
      if (mode == DnnHeuristic::kFallback) return {};
      return {{.notes = notes}};
    };
    restart();
    const size_t before = fake.runs().size();
    ConvolutionCase c = small(dtype);
    c.allow_tf32 = allow_tf32;
    expect_near(run(&rig, runner.get(), c), c);
    return fake.runs().size() > before;
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    const bool is_half = dtype != DType::kFloat32;
    EXPECT_TRUE(takes({}, dtype));
    EXPECT_EQ(takes({Note::kTensorCore}, dtype), is_half);
    EXPECT_EQ(takes({Note::kDownConvertInputs}, dtype), is_half);
    EXPECT_TRUE(takes({Note::kTensorCore, Note::kDownConvertInputs}, dtype, /*allow_tf32=*/true));
    EXPECT_FALSE(takes({Note::kTensorCore, Note::kWinograd}, dtype, /*allow_tf32=*/true));
    for (const Note note : {Note::kReducedPrecisionReduction, Note::kFft, Note::kNondeterministic,
                            Note::kWinograd, Note::kWinogradTile13x13}) {
      EXPECT_FALSE(takes({note}, dtype)) << static_cast<int>(note);
    }
  }
}

TEST_F(CudaCudnnTest, TakesTheFirstThatWorks) {
  std::vector<DnnHeuristic> modes;
  fake.engines = [&](const auto&, DnnHeuristic mode) -> std::vector<FakeCudnn::Engine> {
    if (modes.empty() || modes.back() != mode) modes.push_back(mode);
    if (mode == DnnHeuristic::kA) {
      return {{.notes = {}, .plan_status = DnnStatus::kNotSupported},
              {.notes = {}, .workspace_bytes = int64_t{1} << 40}};
    }
    return {{.notes = {}, .workspace_bytes = 777}, {.notes = {}}};
  };
  expect_near(run(&rig, runner.get(), small()), small());
  EXPECT_EQ(fake.runs().size(), 1u);
  EXPECT_THAT(modes, ElementsAre(DnnHeuristic::kA, DnnHeuristic::kFallback));
}

TEST_F(CudaCudnnTest, WhatItRefusesIsLeftToOurKernelsForGood) {
  // By the heuristics.
  fake.engines = [](const auto&, DnnHeuristic) { return std::vector<FakeCudnn::Engine>(); };
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(is_own(small(), run(&rig, runner.get(), small())));
  // By the call itself.
  restart();
  fake.engines = [](const auto&, DnnHeuristic) -> std::vector<FakeCudnn::Engine> {
    return {{.notes = {}, .workspace_bytes = 100, .run_status = DnnStatus::kExecutionFailed}};
  };
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(is_own(small(), run(&rig, runner.get(), small())));
  EXPECT_EQ(fake.runs().size(), 0u);
  EXPECT_EQ(rig.device().allocator().stats().live, 0);
}

TEST_F(CudaCudnnTest, TakesMemoryToWorkIn) {
  fake.engines = [](const auto&, DnnHeuristic) -> std::vector<FakeCudnn::Engine> {
    return {{.notes = {}, .workspace_bytes = 1 << 20}};
  };
  for (int i = 0; i < 3; ++i) expect_near(run(&rig, runner.get(), small()), small());
  EXPECT_EQ(rig.device().allocator().stats().live, 0);
  // Where there is none, that is the answer: another kernel would have other bits.
  rig.device().allocator().trim();
  rig.device().allocator().set_limit(1 << 19);
  absl::Status status;
  run(&rig, runner.get(), small(), &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  rig.device().allocator().set_limit(0);
  expect_near(run(&rig, runner.get(), small()), small());
}

// Each of its calls fails in turn: then our kernels compute the same, or the call says what failed.
TEST_F(CudaCudnnTest, MayFailAnywhere) {
  ConvolutionCase c = small();
  c.place_channels_last(0);
  for (const DnnStatus failure : {DnnStatus::kInternalError, DnnStatus::kDeviceAllocationFailed}) {
    int64_t n = 1;
    for (bool failed = true; failed; ++n) {
      runner.reset();
      const int64_t before = fake.calls();
      fake.fail_call(n, failure);
      restart();
      absl::Status status;
      const std::vector<float> values = run(&rig, runner.get(), c, &status);
      failed = fake.calls() - before >= n;
      fake.fail_call(0, failure);
      if (status.ok()) {
        expect_near(values, c);
      } else {
        EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
        EXPECT_EQ(failure, DnnStatus::kDeviceAllocationFailed);
        // It may succeed another time.
        expect_near(run(&rig, runner.get(), c), c);
      }
      EXPECT_EQ(rig.device().allocator().stats().live, 0) << n;
    }
    EXPECT_GT(n, 60);
  }
}

TEST_F(CudaCudnnTest, IsSharedByThreads) {
  std::vector<std::thread> threads;
  ASSERT_TRUE(rig.device().copies().upload_stream() != nullptr);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const ConvolutionCase c = small(t % 2 == 0 ? DType::kFloat32 : DType::kFloat16);
        expect_near(run(&rig, runner.get(), c), c);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fake.questions(), 2);
  EXPECT_EQ(fake.runs().size(), 20u);
}

TEST_F(CudaCudnnTest, DoesWithoutALibraryThatDoesNotStart) {
  runner.reset();
  fake.fail_call(1, DnnStatus::kNotInitialized);
  restart();
  EXPECT_TRUE(is_own(small(), run(&rig, runner.get(), small())));
}

TEST_F(CudaCudnnTest, RefusesMisuse) {
  expects_misuse = true;
  const auto results = misuse_of(*FakeCudnn::table());
  for (const auto& [name, status] : results) EXPECT_NE(status, DnnStatus::kSuccess) << name;
  EXPECT_EQ(fake.misuse().size(), results.size());
}

}  // namespace
}  // namespace sluice::kernels::cuda
