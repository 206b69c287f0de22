// Emitted CUDA kernels: their text, how they are called, what they cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "kernels/gpu/emit/emit.h"
#include "kernels/gpu/emit/plan.h"
#include "kernels/gpu/run/call.h"
#include "tests/cuda/cuda_cases.h"
#include "tests/cuda/cuda_emit_checks.h"
#include "tests/cuda/cuda_programs.h"

namespace sluice::kernels::cuda {
namespace {

using namespace testing;  // NOLINT

// ---- Text.

TEST(CudaEmitTest, TextIsReadableAndStable) {
  Case c("chain", ProgramBuilder(Schedule::kPointwise, {4, 100}));
  const ValueId x = add_load(c, kFloat32, floats(400), {100, 1});
  const ValueId y = add_load(c, kFloat32, floats(4), {1, 0});
  const ValueId z = c->op(Op::kAdd, {c->op(Op::kMul, {x, y}), c->scalar(2.f)});
  c.store(c->op(Op::kExp, {z}), {4, 100});
  const Kernel kernel{"chain", {&c.program()}};
  const std::string text = emit({&kernel, 1});
  EXPECT_EQ(text, emit({&kernel, 1}));
  EXPECT_THAT(text, ::testing::HasSubstr("// program pointwise outer=2"));
  EXPECT_THAT(text, ::testing::HasSubstr("const float v2 = v0[l] * v1;"));
  EXPECT_THAT(text, ::testing::HasSubstr("const float v5 = sl_exp(v4);"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("asm")));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("#include")));
}

TEST(CudaEmitTest, LanesFillVectors) {
  auto lanes = [](DType dtype, int ops, Op op = Op::kMul) {
    Case c("lanes", ProgramBuilder(Schedule::kPointwise, {100}));
    ValueId v = add_load(c, dtype, floats(100), {1});
    for (int i = 0; i < ops; ++i) v = op == Op::kMul ? c->op(op, {v, v}) : c->op(op, {v});
    c.store(v, {100});
    return lanes_of(c.program());
  };
  EXPECT_EQ(lanes(kUInt8, 1), 16);
  EXPECT_EQ(lanes(kFloat16, 1), 8);
  EXPECT_EQ(lanes(kFloat32, 10), 4);
  EXPECT_EQ(lanes(kFloat64, 1), 2);
  EXPECT_EQ(lanes(kFloat32, 100), 4);
  EXPECT_EQ(lanes(kFloat32, 100, Op::kSin), 1);
}

// What a chain of ten ops costs, for those who look at the output.
TEST(CudaEmitTest, TenOpsNeedFewRegisters) {
  if (!has_nvrtc()) GTEST_SKIP() << "SLUICE_NVRTC is not set";
  Case c("ten", ProgramBuilder(Schedule::kPointwise, {1000}));
  const ValueId x = add_load(c, kFloat32, floats(1000), {1});
  const ValueId y = add_load(c, kFloat32, floats(1000), {1});
  ValueId v = c->op(Op::kMul, {x, y});
  for (const Op op : {Op::kAdd, Op::kRelu, Op::kMul, Op::kSub, Op::kMaximum, Op::kMul, Op::kAdd,
                      Op::kAbs, Op::kMul}) {
    v = fusion::op_info(op).arity == 1 ? c->op(op, {v}) : c->op(op, {v, x});
  }
  c.store(v, {1000});
  const Kernel kernel{"ten", {&c.program()}};
  for (const int architecture : kArchitectures) {
    for (const KernelResources& ten : nvrtc_resources(emit({&kernel, 1}), architecture)) {
      std::printf("sm_%d: %d registers\n", architecture, ten.registers);
      EXPECT_LE(ten.registers, 32);
    }
  }
}

// ---- Calls.

// The words of stage 0 as far as the members of sl_call and the extents and divisors go.
std::vector<uint64_t> words_of(Case& c) {
  const KernelArgs args = c.args();
  std::vector<uint64_t> words(num_words(c.program()));
  pack_call(c.program(), geometry_of(c.program(), args.extents, 132), args, 0, nullptr,
            words.data());
  return words;
}

TEST(CudaEmitTest, VectorsAreUsedWhereAllAreAligned) {
  constexpr int kAligned = 1;
  auto aligned = [](int64_t n, int64_t offset) {
    Case c("aligned", ProgramBuilder(Schedule::kPointwise, {3, n}));
    void* const memory = c.output(kFloat32, 4 * n);
    const ValueId v = c->load(c->access(memory, kFloat32, {n + 4, 1}, offset));
    c.store(v, {3, n});
    return words_of(c)[kAligned] == 1;
  };
  EXPECT_TRUE(aligned(64, 0));
  EXPECT_TRUE(aligned(64, 8));
  EXPECT_FALSE(aligned(64, 1));
  EXPECT_FALSE(aligned(65, 0));
}

TEST(CudaEmitTest, DivisorsDivide) {
  constexpr int kDivisors = 11 + 3;
  const int64_t most = std::numeric_limits<int32_t>::max();
  for (const int64_t d : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, int64_t{641},
                          int64_t{4096}, int64_t{1'000'003}, most - 1, most}) {
    Case c("divided", ProgramBuilder(Schedule::kPointwise, {1, d, 1}));
    c->store(c->scalar(1.f), c->access(c.output(kFloat32, 1), kFloat32, {0, 0, 0}));
    const uint64_t divisor = words_of(c)[kDivisors + 1];
    for (int64_t n = 0; n <= most; n += n < 100'000 ? 1 : n / 1000) {
      for (const int64_t m : {n, n / d * d, n / d * d - 1}) {
        if (m < 0) continue;
        const uint64_t high = static_cast<uint64_t>(m) * (divisor & 0xffffffff) >> 32;
        ASSERT_EQ(static_cast<uint32_t>(high + m) >> (divisor >> 32), m / d) << m << " / " << d;
      }
    }
  }
}

TEST(CudaEmitTest, Geometry) {
  const Matrix few{Schedule::kRow, 8, 100'000}, many{Schedule::kRow, 4096, 4096};
  const Matrix narrow{Schedule::kColumn, 3, 1'000'000}, wide{Schedule::kColumn, 100'000, 1000};
  auto check = [](const Matrix& m, int stages, int64_t blocks, int64_t last_blocks) {
    Case c("geometry", ProgramBuilder(m.schedule, {m.rows}, {m.length}));
    c.store(c->op(Op::kSum, {c->load(c->access(nullptr, kFloat32, m.strides()))}), {1, 0});
    const Geometry geometry = geometry_of(c.program(), c.args().extents, 132);
    EXPECT_EQ(geometry.num_stages, stages) << m.name();
    EXPECT_EQ(geometry.num_blocks(0), blocks) << m.name();
    EXPECT_EQ(geometry.num_blocks(stages - 1), last_blocks) << m.name();
  };
  check(few, 2, 8 * 13, 8);
  check(many, 1, 4096, 4096);
  check(narrow, 2, 245, 1);  // four columns, eight chunks a block
  check(wide, 1, 3125, 3125);
  // More than two blocks a multiprocessor are wanted where there is much to do.
  check({Schedule::kRow, 300, 100'000}, 2, 300 * 13, 300);
  check({Schedule::kRow, 300, 20'000}, 1, 300, 300);
  check({Schedule::kRow, 1100, 100'000}, 1, 1100, 1100);
  check({Schedule::kColumn, 9000, 8192}, 2, 282 * 16, 282);
  check({Schedule::kColumn, 9000, 1024}, 1, 282, 282);
  check({Schedule::kRow, 0, 100'000}, 2, 0, 0);
  check({Schedule::kRow, 1000, 10}, 1, 16, 16);  // four threads a row
}

// `table_words`: 0 for a table by its address.
void check_several_calls(int64_t table_words) {
  Cases cases;
  add_softmax(cases, {Schedule::kRow, 70, 45}, kFloat32);
  add_reductions(cases, {Schedule::kRow, 1, 30'000}, false);
  add_reductions(cases, {Schedule::kColumn, 40, 700}, false);
  for (const int64_t n : {1000, 0, 3001}) add_scaled(cases, n);
  constexpr size_t kPrograms = 4;  // the last is that of all after it
  Kernel kernel{"together", {}, /*by_table=*/true, table_words};
  for (size_t i = 0; i < kPrograms; ++i) kernel.programs.push_back(&cases[i].program());
  const std::string text = emit({&kernel, 1});
  check_with_nvrtc(text);
  const HostModule module(text);

  std::vector<std::vector<std::string>> expected;
  std::vector<KernelArgs> args;
  std::vector<Geometry> geometry;
  std::vector<Partials> partials;
  int stages = 0;
  for (Case* const c : cases.all()) {
    expected.push_back(interpret(*c));
    (void)c->run_on([](const KernelArgs&) { return ""; });  // as it was
    args.push_back(c->args());
    geometry.push_back(geometry_of(c->program(), args.back().extents, 132));
    partials.emplace_back(geometry.back());
    stages = std::max(stages, geometry.back().num_stages);
  }
  std::deque<ptx::Accessible> accessible;
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].give_access(&accessible);
    accessible.emplace_back(partials[i].get(), geometry[i].partial_bytes, true);
  }
  EXPECT_EQ(stages, 2);
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<std::vector<uint64_t>> words(cases.size());
    std::vector<TableCall> calls;
    int64_t blocks = 0;
    for (size_t i = 0; i < cases.size(); ++i) {
      if (stage >= geometry[i].num_stages) continue;
      const Program& program = cases[i].program();
      words[i].resize(num_words(program));
      pack_call(program, geometry[i], args[i], stage, partials[i].get(), words[i].data());
      const size_t index = std::min(i, kPrograms - 1);
      calls.push_back({static_cast<int>(index), geometry[i].num_blocks(stage), words[i]});
      blocks += calls.back().blocks;
    }
    std::vector<uint64_t> table = pack_table(calls);
    if (table_words > 0) {
      ASSERT_LE(table.size(), static_cast<size_t>(table_words));
      table.resize(table_words);
      EXPECT_EQ(module.launch("together", blocks, table.data()), "");
      continue;
    }
    const uint64_t* const address = table.data();
    const ptx::Accessible of_table(table.data(), 8 * table.size(), /*writable=*/false);
    EXPECT_EQ(module.launch("together", blocks, &address), "");
  }
  for (size_t i = 0; i < cases.size(); ++i) cases[i].expect_near(expected[i]);
}

TEST(CudaEmitTest, SeveralCallsInOneLaunch) {
  check_several_calls(0);
  check_several_calls(512);
}

}  // namespace
}  // namespace sluice::kernels::cuda
