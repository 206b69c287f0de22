// Emitted pointwise kernels.
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cuda/cuda_cases.h"
#include "tests/cuda/cuda_emit_checks.h"
#include "tests/cuda/cuda_programs.h"

namespace sluice::kernels::cuda {
namespace {

using namespace testing;  // NOLINT

TEST(CudaEmitTest, EveryOpOfEveryType) {
  Cases cases;
  add_every_op(cases);
  check(cases);
}

TEST(CudaEmitTest, CastsBetweenAllTypes) {
  Cases cases;
  add_casts(cases);
  check(cases);
}

TEST(CudaEmitTest, VectorsOfEveryStrideAndAlignment) {
  Cases cases;
  for (const DType dtype :
       {kBool, kUInt8, kInt16, kFloat16, kBFloat16, kFloat32, kInt64, kFloat64}) {
    for (const int64_t n : {1, 5, 31, 64, 1027}) {
      for (const int64_t offset : {0, 1}) {
        for (const int64_t stride : {1, 0, -1, 3}) {
          Case& c = cases.add(
              absl::StrCat(name_of(dtype), " n=", n, " offset=", offset, " stride=", stride),
              Schedule::kPointwise, {n});
          const std::vector<float> values = floats(3 * n + 2);
          const int64_t start = stride < 0 ? n - 1 : 0;
          const ValueId v =
              add_load(c, dtype, values, {stride}, start + offset, /*general=*/stride != 0);
          const ValueId w = add_load(c, dtype, values, {1});
          c.store(c->op(Op::kMaximum, {v, w}), {n});
          void* const out = c.output(dtype, 2 * n + 1);
          c->store(v, c->access(out, dtype, {stride == 3 ? 2 : 1}, offset));
        }
      }
    }
  }
  check(cases);
}

TEST(CudaEmitTest, BroadcastAndFlippedViews) {
  Cases cases;
  add_views(cases);
  check(cases);
}

TEST(CudaEmitTest, PredicatesGuardMemory) {
  Cases cases;
  add_padded(cases);
  check(cases);
}

TEST(CudaEmitTest, GathersAndRaises) {
  Cases cases;
  for (const BadIndex& bad : kBadIndices) add_gather(cases, bad);
  check(cases);
}

TEST(CudaEmitTest, RandomBits) {
  constexpr int64_t kN = 70;
  Cases cases;
  Case& c = cases.add("random", Schedule::kPointwise, {kN});
  const ValueId index = c->cast(c->coordinate({1}), kUInt64);
  const ValueId seed = c->scalar(uint64_t{0x123456789abcdef}), stream = c->scalar(uint64_t{7});
  const ValueId low = c->op(Op::kPhilox, {index, seed, stream});
  const ValueId high = c->op(Op::kPhiloxHigh, {index, seed, stream});
  for (const ValueId v : {low, high, c->op(Op::kUniformF32, {low}), c->op(Op::kUniformF64, {high}),
                          c->op(Op::kNormalF32, {low}), c->op(Op::kNormalF64, {low, high})}) {
    c.store(v, {kN});
  }
  check(cases);
}

TEST(CudaEmitTest, WideIndices) {
  Cases cases;
  Case& c = add_wide(cases);
  EXPECT_TRUE(c.is_wide());
  const OwnKernels own(cases.all());
  check_with_nvrtc(own.text());
  const std::vector<std::string> expected = interpret(c);
  (void)own.run(c, 0);
  c.expect_near(expected);
}

}  // namespace
}  // namespace sluice::kernels::cuda
