// Emitted pointwise kernels.
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/gpu/emit/plan.h"
#include "kernels/gpu/run/call.h"
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

// Blocks take tiles of several lines where some lanes are not consecutive.
TEST(CudaEmitTest, TransposedOperandsByTiles) {
  Cases cases;
  for (const DType dtype : {kFloat32, kFloat16, kUInt8, kFloat64}) {
    for (const std::vector<int64_t>& e : std::vector<std::vector<int64_t>>{
             {32, 128}, {33, 200}, {3, 40, 131}, {2, 3, 64, 65}, {31, 300}}) {
      const size_t rank = e.size();
      const int64_t rows = e[rank - 2], columns = e[rank - 1];
      int64_t count = rows * columns;
      std::vector<int64_t> plain(rank), transposed(rank);
      plain[rank - 1] = transposed[rank - 2] = 1;
      plain[rank - 2] = columns;
      transposed[rank - 1] = rows;
      for (size_t d = rank - 2; d-- > 0; count *= e[d]) plain[d] = transposed[d] = count;
      Case& c = cases.add(absl::StrCat(name_of(dtype), " of rank ", rank, ", ", rows, "x", columns),
                          Schedule::kPointwise, e);
      const ValueId x = add_load(c, dtype, floats(count), transposed);
      c.store(c->op(Op::kMaximum, {x, add_load(c, dtype, floats(count, 2), plain)}), e);
      const Geometry geometry = geometry_of(c.program(), c.args().extents, 132);
      EXPECT_EQ(geometry.splits[0] > 1, rows >= 32 && columns >= 8 * lanes_of(c.program()));
    }
  }
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
