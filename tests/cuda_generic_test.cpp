// The generic CUDA kernel against the kernels that programs have of their own: bit for bit, both
// compiled for the host with the host's prelude.
//
// If SLUICE_NVRTC names a libnvrtc.so, the generic kernel is compiled by it too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sluice/kernels/cuda/compiler.h"
#include "sluice/kernels/cuda/generic.h"
#include "sluice/kernels/cuda/generic_code.h"
#include "sluice/kernels/cuda/generic_kernel.h"
#include "sluice/tests/cuda_cases.h"
#include "sluice/tests/cuda_random_program.h"
#include "sluice/tests/emulated_cuda/runtime_rig.h"

namespace sluice::kernels::cuda {
namespace {

using namespace testing;  // NOLINT

// ---- Pointwise.

TEST(CudaGenericTest, EveryOpOfEveryType) {
  constexpr int64_t kN = 299;
  Cases cases;
  for (const DType dtype : all_dtypes()) {
    Case& c = cases.add(absl::StrCat("all ops of ", name_of(dtype)), Schedule::kPointwise, {kN});
    ValueId operands[3];
    for (int k = 0; k < 3; ++k) {
      std::vector<float> values = k == 0 ? strange_floats(kN) : floats(kN, 5 + k);
      for (int64_t i = 0; i < kN; ++i) {
        if (k > 0 && i % 5 == 0) values[i] = 0;
        if (k > 0 && i % 7 == 0) values[i] = -1;
      }
      operands[k] = add_load(c, dtype, values, {1});
    }
    const ValueId mask = add_load(c, kBool, floats(kN), {1});
    for (int i = 0; i < fusion::kNumOps; ++i) {
      const Op op = static_cast<Op>(i);
      const fusion::OpInfo& info = fusion::op_info(op);
      if (!is_pointwise(op) || op == Op::kCast) continue;
      const bool is_fixed = info.rule == fusion::TypeRule::kFixed;
      if (is_fixed ? dtype != info.operand_dtype : !in_domain(info.domain, dtype)) continue;
      const ValueId v0 = info.rule == fusion::TypeRule::kSelect ? mask : operands[0];
      c.store(info.arity == 1   ? c->op(op, {v0})
              : info.arity == 2 ? c->op(op, {v0, operands[1]})
                                : c->op(op, {v0, operands[1], operands[2]}),
              {kN});
    }
  }
  cases.check_all();
}

TEST(CudaGenericTest, CastsBetweenAllTypes) {
  constexpr int64_t kN = 150;
  Cases cases;
  for (const DType from : all_dtypes()) {
    Case& c = cases.add(absl::StrCat("casts of ", name_of(from)), Schedule::kPointwise, {kN});
    std::vector<float> values = strange_floats(kN);
    for (int64_t i = 1; i < kN; i += 3) values[i] = std::ldexp(values[i], i % 90 - 20);
    const ValueId v = add_load(c, from, values, {1});
    for (const DType to : all_dtypes()) c.store(c->cast(v, to), {kN});
  }
  cases.check_all();
}

TEST(CudaGenericTest, ScalarsOfEveryType) {
  Cases cases;
  for (const DType dtype : all_dtypes()) {
    Case& c = cases.add(absl::StrCat("scalars of ", name_of(dtype)), Schedule::kPointwise, {40});
    visit_dtype(dtype, [&]<typename T>() {
      const ValueId x = add_load(c, dtype, floats(40), {1});
      c.store(c->op(Op::kMaximum, {x, c->scalar(element_of<T>(-3.25f, 1))}), {40});
      c.store(c->scalar(element_of<T>(sluice::testing::kNan, 1)), {40});
    });
  }
  cases.check_all();
}

TEST(CudaGenericTest, Views) {
  Cases cases;
  for (const std::vector<int64_t>& e : std::vector<std::vector<int64_t>>{
           {3, 5, 37}, {2, 7, 64}, {1, 7, 1003}, {33, 1, 4}, {0, 4, 4}, {4, 3, 1}}) {
    const int64_t n = e[0] * e[1] * e[2], row = e[2], plane = e[1] * e[2];
    Case& c = cases.add(absl::StrCat("views of ", n), Schedule::kPointwise, e);
    auto load = [&](size_t count, uint32_t seed, std::vector<int64_t> strides, int64_t offset = 0) {
      return add_load(c, kFloat32, floats(count + 1, seed), std::move(strides), offset);
    };
    const ValueId full = load(n, 1, {plane, row, 1});
    const ValueId line = load(row, 2, {0, 0, 1});
    const ValueId column = load(e[0] * e[1], 3, {e[1], 1, 0});
    const ValueId flipped =
        load(n, 4, {-plane, row, -1}, std::max<int64_t>(n - plane + row - 1, 0));
    const ValueId transposed = load(n, 5, {1, e[0], e[0] * e[1]});
    const ValueId hoisted = c->op(Op::kMul, {column, c->scalar(3.f)});
    const ValueId a = c->op(Op::kAdd, {c->op(Op::kMul, {full, line}), hoisted});
    const ValueId b = c->op(Op::kSub, {flipped, transposed});
    const ValueId at = c->coordinate({1000, -3, 1}, 7);
    const ValueId uniform = c->op(Op::kMul, {c->param(5), c->scalar(int64_t{11})});
    c.store(c->op(Op::kAdd, {a, b}), e);
    c.store(hoisted, e);
    c.store(c->op(Op::kAdd, {at, uniform}), e);
  }
  // As many dims as there can be.
  std::vector<int64_t> extents(generic::kMaxRank, 1), strides(extents.size());
  for (size_t d = 0; d < extents.size(); d += 2) extents[d] = d % 4 == 0 ? 3 : 2;
  for (size_t d = 0; d < extents.size(); ++d) strides[d] = static_cast<int64_t>(d) - 5;
  Case& c = cases.add("many dims", Schedule::kPointwise, extents);
  c.store(c->op(Op::kMul, {c->coordinate(strides), c->coordinate(extents, 3)}), extents);
  cases.check_all();
}

TEST(CudaGenericTest, WideIndices) {
  // Two elements that are further apart than 32 bits can say, as far as the program knows.
  constexpr int64_t kN = 500;
  Cases cases;
  Case& c = cases.add("wide", Schedule::kPointwise, {3, kN});
  const ValueId x = add_load(c, kFloat32, floats(3 * kN), {kN, 1});
  const ValueId is_first = c->op(Op::kLess, {c->coordinate({kN, 1}), c->scalar(int64_t{1})});
  const ValueId far =
      c->load(c->access(c.input(kFloat32, {1.f}), kFloat32, {int64_t{1} << 40, 1}), {is_first});
  c.store(c->op(Op::kAdd, {x, far}), {3, kN});
  EXPECT_TRUE(needs_wide_indices(c.program(), c.args()));
  cases.check_all();
}

TEST(CudaGenericTest, PredicatesGuardMemory) {
  constexpr int64_t kN = 77;
  Cases cases;
  for (const int64_t stride : {1, -1}) {
    Case& c = cases.add("padded", Schedule::kPointwise, {kN});
    const ValueId i = c->coordinate({1});
    const ValueId inside = c->op(
        Op::kLogicalAnd,
        {c->op(Op::kLessEqual, {c->scalar(int64_t{10}), i}), c->op(Op::kLess, {i, c->param(50)})});
    const auto part =
        c->access(c.input(kFloat32, floats(40)), kFloat32, {stride}, stride == 1 ? -10 : 49);
    c.store(c->load(part, {inside}), {kN});
    // A predicate that nowhere holds, over an address that is nowhere valid.
    const ValueId never = c->op(Op::kLess, {i, c->scalar(int64_t{0})});
    const auto nowhere = c->access(c.input(kFloat32, {0.f}), kFloat32, {0}, int64_t{1} << 44);
    c.store(c->load(nowhere, {never}), {kN});
  }
  cases.check_all();
}

TEST(CudaGenericTest, GathersAndRaises) {
  constexpr int64_t kN = 41, kTable = 9;
  Cases cases;
  for (const int64_t bad : {-1, 0, 17, 40}) {
    Case& c = cases.add(absl::StrCat("bad index at ", bad), Schedule::kPointwise, {kN});
    std::vector<float> index(kN);
    for (int64_t i = 0; i < kN; ++i) index[i] = static_cast<float>(i % 18 - 9);
    if (bad >= 0) index[bad] = bad % 2 == 0 ? 9 : -10;
    const ValueId i = add_load(c, kInt64, index, {1});
    const uint16_t table = c->access(c.input(kFloat16, floats(kTable)), kFloat16, {0});
    c.store(c->gather(table, {c->check_index({i, c->param(kTable)})}), {kN});
    // Under a predicate nothing is raised or touched where it does not hold.
    const ValueId small = c->op(Op::kLess, {c->op(Op::kAbs, {i}), c->scalar(int64_t{3})});
    c.store(c->gather(table, {c->check_index({i, c->param(3), small}), small}), {kN});
    // It raises even if nobody wants the index.
    c->check_index({i, c->param(9)});
    (void)c.run_on([&](const KernelArgs& args) { return run_generic(c.program(), args, 0); });
    for (const int slot : {0, 2}) {
      const ErrorSlot& error = c->error(slot);
      EXPECT_EQ(error.raised, bad >= 0);
      EXPECT_EQ(error.index, bad < 0 ? 0 : static_cast<int64_t>(index[bad]));
      EXPECT_EQ(error.extent, bad < 0 ? 0 : kTable);
    }
    EXPECT_EQ(c->error(1).raised, 0u);
  }
  cases.check_all();
}

TEST(CudaGenericTest, StoresComeAfterLoadsOfTheSameMemory) {
  Cases cases;
  Case& c = cases.add("in place", Schedule::kPointwise, {600});
  void* const memory = c.in_place(kFloat32, floats(600));
  const uint16_t access = c->access(memory, kFloat32, {1});
  const ValueId first = c->op(Op::kExp, {c->load(access)});
  c->store(first, access);
  c.store(c->op(Op::kAdd, {c->load(access), first}), {600});
  cases.check_all();
}

// ---- Reductions.

// A row-major matrix whose rows, or columns, are reduced.
struct Matrix {
  Schedule schedule;
  int64_t rows, length;

  bool by_row() const { return schedule == Schedule::kRow; }
  std::vector<int64_t> strides() const {
    return by_row() ? std::vector<int64_t>{length, 1} : std::vector<int64_t>{1, rows};
  }
  Case& add(Cases& cases, const char* name) const {
    return cases.add(
        absl::StrCat(name, " of ", rows, by_row() ? " rows" : " columns", " of ", length), schedule,
        {rows}, {length});
  }
  ValueId load(Case& c, DType dtype, uint32_t seed = 1, bool strange = false) const {
    const size_t count = static_cast<size_t>(rows * length + 1);
    return add_load(c, dtype, strange ? strange_floats(count, seed) : floats(count, seed),
                    strides());
  }
  // To an output of the matrix's own layout.
  void store(Case& c, ValueId value) const {
    const DType dtype = c->dtype_of_value(value);
    c->store(value, c->access(c.output(dtype, rows * length), dtype, strides(), 0, true));
  }
};

std::vector<Matrix> matrices() {
  std::vector<Matrix> result;
  for (const int64_t length : {1, 5, 31, 128, 129, 1000, 1025, 4099, 8193, 20000}) {
    result.push_back({Schedule::kRow, length > 5000 ? 3 : 13, length});
  }
  for (const int64_t length : {1, 7, 8, 100, 512, 513, 2000}) {
    result.push_back({Schedule::kColumn, length > 600 ? 3 : 83, length});
  }
  return result;
}

TEST(CudaGenericTest, EveryReductionOfEveryType) {
  Cases cases;
  for (const Matrix& m : {Matrix{Schedule::kRow, 5, 300}, Matrix{Schedule::kColumn, 40, 700},
                          Matrix{Schedule::kRow, 2, 9000}}) {
    for (const DType dtype : all_dtypes()) {
      for (const bool strange : {false, true}) {
        Case& c = m.add(cases, name_of(dtype));
        const ValueId x = m.load(c, dtype, 1, strange);
        for (const Op op : {Op::kSum, Op::kProd, Op::kMax, Op::kMin, Op::kAny, Op::kAll,
                            Op::kArgMax, Op::kArgMin}) {
          if (!is_arg_reduction(op) && !in_domain(fusion::op_info(op).domain, dtype)) continue;
          c.store(c->op(op, {x}), {m.rows, 0});
        }
      }
    }
  }
  cases.check_all();
}

TEST(CudaGenericTest, RowsOfEveryLength) {
  Cases cases;
  for (const Matrix& m : matrices()) {
    Case& c = m.add(cases, "sums");
    const ValueId x = m.load(c, kFloat32, 1, true);
    c.store(c->op(Op::kSum, {c->op(Op::kAbs, {m.load(c, kFloat32, 7)})}), {m.rows, 0});
    c.store(c->op(Op::kArgMax, {x}), {m.rows, 0});
    c.store(c->op(Op::kMin, {x}), {m.rows, 0});
  }
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    const Matrix m{schedule, 5, 0};
    Case& c = m.add(cases, "nothing");
    for (const DType dtype : {kFloat32, kFloat16, kInt8}) {
      const ValueId x = m.load(c, dtype);
      for (const Op op : {Op::kSum, Op::kProd}) c.store(c->op(op, {x}), {m.rows, 0});
    }
    c.store(c->op(Op::kMax, {m.load(c, kFloat64)}), {m.rows, 0});
    c.store(c->op(Op::kAll, {m.load(c, kBool)}), {m.rows, 0});
  }
  cases.check_all();
}

TEST(CudaGenericTest, SeveralReducedDimsAreOneRow) {
  Cases cases;
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    for (const int64_t inner : {7, 8}) {
      constexpr int64_t kRows = 6, kOuter = 33, kMiddle = 5;
      Case& c =
          cases.add(absl::StrCat("inner ", inner), schedule, {2, 3}, {kOuter, kMiddle, inner});
      // Laid out (outer, row, inner, middle).
      const int64_t plane = inner * kMiddle;
      const ValueId v = add_load(c, kFloat32, floats(kRows * kOuter * plane),
                                 {3 * plane, plane, kRows * plane, 1, kMiddle});
      const ValueId w = add_load(c, kFloat32, floats(kMiddle, 9), {0, 0, 0, 1, 0});
      const ValueId bias = add_load(c, kFloat32, floats(3, 3), {0, 1, 0, 0, 0});
      const ValueId y = c->op(Op::kAdd, {c->op(Op::kMul, {v, w}), bias});
      c.store(c->op(Op::kSum, {y}), {2, 3, 0, 0, 0});
      c.store(c->op(Op::kArgMax, {y}), {2, 3, 0, 0, 0});
      c.store(y, {2, 3, kOuter, kMiddle, inner});
    }
  }
  cases.check_all();
}

void add_softmax(Cases& cases, const Matrix& m) {
  Case& c = m.add(cases, "softmax");
  const ValueId x = m.load(c, kFloat16);
  const ValueId e = c->op(Op::kExp, {c->op(Op::kSub, {x, c->op(Op::kMax, {x})})});
  const ValueId sum = c->op(Op::kSum, {e});
  m.store(c, c->op(Op::kDiv, {e, sum}));
  c.store(sum, {m.rows, 0});
}

// What is stored once a row is also read: no thread may write before all have read.
void add_layer_norm(Cases& cases, const Matrix& m) {
  Case& c = m.add(cases, "layer norm");
  const ValueId x = c->cast(m.load(c, kBFloat16), kFloat32);
  const ValueId weight = add_load(c, kFloat32, floats(m.length, 3), {0, 1});
  void* const memory = c.in_place(kFloat32, floats(m.rows, 4));
  const uint16_t mean_access = c->access(memory, kFloat32, {1, 0});
  const ValueId shift = c->load(mean_access);
  const ValueId n = c->scalar(1.f / static_cast<float>(m.length));
  const ValueId mean = c->op(Op::kMul, {c->op(Op::kSum, {c->op(Op::kAbs, {x})}), n});
  const ValueId d = c->op(Op::kSub, {x, mean});
  const ValueId variance = c->op(Op::kMul, {c->op(Op::kSum, {c->op(Op::kMul, {d, d})}), n});
  const ValueId scale = c->op(Op::kRsqrt, {c->op(Op::kAdd, {variance, c->scalar(1e-5f)})});
  const ValueId y = c->op(Op::kMul, {c->op(Op::kMul, {d, scale}), weight});
  m.store(c, c->cast(c->op(Op::kAdd, {y, shift}), kBFloat16));
  m.store(c, d);
  c->store(c->op(Op::kAdd, {mean, shift}), mean_access);
}

// Adds a row-level value to each element and replaces it: no reduction keeps threads in step.
void add_update(Cases& cases, const Matrix& m) {
  Case& c = m.add(cases, "update");
  const uint16_t row = c->access(c.in_place(kInt32, floats(m.rows, 4)), kInt32, {1, 0});
  const ValueId old = c->load(row);
  m.store(c, c->op(Op::kAdd, {m.load(c, kInt32), old}));
  c->store(c->op(Op::kAdd, {old, c->scalar(1)}), row);
}

TEST(CudaGenericTest, RowsOfSeveralPasses) {
  Cases cases;
  for (const Matrix& m : matrices()) {
    add_softmax(cases, m);
    add_layer_norm(cases, m);
    add_update(cases, m);
  }
  cases.check_all();
}

// ---- Random programs.

TEST(CudaGenericTest, RandomPrograms) {
  constexpr int kBatches = 4, kPrograms = 60;
  int checked = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    Cases cases;
    for (int i = 0; i < kPrograms; ++i) RandomProgram(1000 * batch + i, &cases);
    checked += cases.check();
  }
  EXPECT_GT(checked, kBatches * kPrograms * 9 / 10);
}

// ---- Several calls in one launch.

TEST(CudaGenericTest, SeveralProgramsInOneLaunch) {
  Cases cases;
  add_softmax(cases, {Schedule::kRow, 70, 45});
  add_softmax(cases, {Schedule::kColumn, 40, 700});
  add_layer_norm(cases, {Schedule::kRow, 3, 20000});
  for (const int64_t n : {1000, 0, 3001}) {
    Case& c = cases.add("pointwise", Schedule::kPointwise, {n});
    const ValueId x = add_load(c, kFloat32, floats(n + 1), {1});
    c.store(c->op(Op::kMul, {x, c->scalar(1.5f)}), {n});
  }
  std::vector<std::vector<std::string>> expected;
  std::vector<KernelArgs> args;
  std::vector<Geometry> geometry;
  std::vector<Partials> partials;
  int stages = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    Case& c = cases[i];
    expected.push_back(
        c.run_on([&](const KernelArgs& each) { return run_generic(c.program(), each, 132); }));
    (void)c.run_on([](const KernelArgs&) { return ""; });  // as it was
    args.push_back(c.args());
    geometry.push_back(generic_geometry_of(c.program(), args[i].extents, 132));
    partials.emplace_back(geometry[i]);
    stages = std::max(stages, geometry[i].num_stages);
  }
  EXPECT_GT(stages, 1);
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<std::vector<uint64_t>> words(cases.size());
    std::vector<TableCall> calls;
    for (size_t i = 0; i < cases.size(); ++i) {
      if (stage >= geometry[i].num_stages) continue;
      const Program& program = cases[i].program();
      words[i] = pack_generic(program, *encode_generic(program), geometry[i], args[i], stage,
                              partials[i].get());
      calls.push_back({0, geometry[i].num_blocks(stage), words[i]});
    }
    EXPECT_EQ(launch_generic(calls), "");
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_TRUE(cases[i].outputs() == expected[i]) << cases[i].name();
  }
}

// ---- Indices.

TEST(CudaGenericTest, DividesNumbersOfEverySize) {
  const HostModule module(absl::StrCat(generic_source(), R"(
      struct Numbers { sl_i64 n, extent; sl_u64 divisor; sl_i64* out; };
      SL_KERNEL(divide, Numbers) {
        const auto d = sl_generic::divide(p.n, p.extent, p.divisor);
        p.out[0] = d.quotient;
        p.out[1] = d.remainder;
      })"));
  constexpr int kDivisor = 12;  // after sl_call and the extent
  for (const int64_t extent : {int64_t{1}, int64_t{7}, int64_t{1} << 20, int64_t{1} << 33}) {
    Case c("divided", ProgramBuilder(Schedule::kPointwise, {extent}));
    c.store(c->scalar(1.f), {0});
    std::vector<uint64_t> words(num_words(c.program()));
    pack_call(c.program(), Geometry(), c.args(), 0, nullptr, words.data());
    for (const int64_t n : {int64_t{0}, int64_t{6}, int64_t{7}, (int64_t{1} << 31) - 1,
                            int64_t{1} << 31, (int64_t{1} << 40) + 12345}) {
      int64_t out[2];
      const struct {
        int64_t n, extent;
        uint64_t divisor;
        int64_t* out;
      } numbers = {n, extent, words[kDivisor], out};
      ASSERT_EQ(module.launch("divide", 1, &numbers), "");
      EXPECT_EQ(out[0], n / extent) << n;
      EXPECT_EQ(out[1], n % extent) << n;
    }
  }
}

// ---- On a device.

// Rows that many blocks share, by a kernel that was compiled on another thread.
TEST(CudaGenericTest, RunsOnADevice) {
  test::Rig rig;
  GenericKernel kernel(&rig.device().context());
  EXPECT_EQ(kernel.function(), nullptr);
  kernel.compile(std::make_unique<emulated::HostCompiler>());
  while (kernel.function() == nullptr && kernel.failure().ok()) std::this_thread::yield();
  ASSERT_NE(kernel.function(), nullptr) << kernel.failure();

  constexpr int64_t kRows = 3, kLength = 20000;
  const std::vector<float> values = floats(kRows * kLength);
  Case c("sums", ProgramBuilder(Schedule::kRow, {kRows}, {kLength}));
  const ValueId x = add_load(c, kFloat32, values, {kLength, 1});
  c.store(c->op(Op::kSum, {c->op(Op::kExp, {x})}), {kRows, 0});
  const int multiprocessors = rig.device().context().info().multiprocessors;
  const std::string expected = c.run_on(
      [&](const KernelArgs& args) { return run_generic(c.program(), args, multiprocessors); })[0];

  KernelArgs args = c.args();
  const Geometry geometry = generic_geometry_of(c.program(), args.extents, multiprocessors);
  EXPECT_EQ(geometry.num_stages, 2);
  const auto stream = rig.stream();
  auto& copies = rig.device().copies();
  auto& allocator = rig.device().allocator();
  float* const in = rig.allocate(copies.upload_stream(), kRows * kLength);
  float* const out = rig.allocate(stream.get(), kRows);
  void* const partials = *allocator.allocate(geometry.partial_bytes, stream.get());
  std::vector<runtime::Event> written = {rig.upload(in, values)};
  void* buffers[] = {in, out};
  args.buffers = static_cast<void* const*>(buffers);
  args.errors = nullptr;
  const std::vector<uint64_t> code = *encode_generic(c.program());
  std::vector<void*> tables;
  for (int stage = 0; stage < geometry.num_stages; ++stage) {
    const std::vector<uint64_t> words =
        pack_generic(c.program(), code, geometry, args, stage, partials);
    const std::vector<uint64_t> table = pack_table({{0, geometry.num_blocks(stage), words}});
    tables.push_back(*allocator.allocate(8 * table.size(), copies.upload_stream()));
    written.push_back(*copies.upload(tables.back(), table.data(), 8 * table.size()));
  }
  const auto launch_all = [&] {
    absl::Status status;
    for (int stage = 0; stage < geometry.num_stages; ++stage) {
      runtime::cuda::KernelLaunch launch;
      launch.function = kernel.function()->handle;
      launch.grid[0] = static_cast<uint32_t>(geometry.num_blocks(stage));
      launch.block[0] = kThreads;
      launch.params = {reinterpret_cast<const std::byte*>(&tables[stage]), sizeof(void*)};
      status.Update(stream->launch(launch, "sums"));
    }
    return status;
  };
  const std::vector<float> sums =
      rig.download(out, kRows, test::submit(stream.get(), launch_all, nullptr, written));
  EXPECT_EQ(std::memcmp(sums.data(), expected.data(), expected.size()), 0);
  for (void* memory :
       {static_cast<void*>(in), static_cast<void*>(out), partials, tables[0], tables[1]}) {
    allocator.free(memory);
  }
}

// Refuses.
class NoCompiler : public Compiler {
 public:
  absl::StatusOr<CompiledCode> compile(const std::string&, bool) override {
    return absl::InternalError("not today");
  }
  std::string identity() const override { return "none"; }
};

TEST(CudaGenericTest, SaysWhyItIsNotThere) {
  test::Rig rig;
  GenericKernel kernel(&rig.device().context());
  kernel.compile(std::make_unique<NoCompiler>());
  while (kernel.failure().ok()) std::this_thread::yield();
  EXPECT_EQ(kernel.failure(), absl::InternalError("not today"));
  EXPECT_FALSE(kernel.load("no image").ok());
  EXPECT_EQ(kernel.function(), nullptr);
  // Ahead of time.
  const auto code = emulated::HostCompiler().compile(generic_source(), /*contracts=*/false);
  EXPECT_TRUE(kernel.load(code->image.c_str()).ok());
  EXPECT_NE(kernel.function(), nullptr);
}

// ---- What it does not do.

// A program that has `count` values at once.
std::optional<std::vector<uint64_t>> encode_wide(int count) {
  Case c("wide", ProgramBuilder(Schedule::kPointwise, {10}));
  std::vector<ValueId> values;
  for (int i = 0; i < count; ++i) values.push_back(add_load(c, kFloat32, floats(10), {1}));
  ValueId sum = values[0];
  for (int i = 1; i < count; ++i) sum = c->op(Op::kAdd, {sum, values[i]});
  c.store(sum, {10});
  return encode_generic(c.program());
}

TEST(CudaGenericTest, RefusesWhatItHasNoRoomFor) {
  EXPECT_TRUE(encode_wide(generic::kSlots));
  EXPECT_FALSE(encode_wide(generic::kSlots + 1));
  const auto encode_sums = [](int count) {
    const Matrix m{Schedule::kRow, 3, 4};
    Cases cases;
    Case& c = m.add(cases, "sums");
    for (int i = 0; i < count; ++i) {
      c.store(c->op(Op::kSum, {m.load(c, kFloat32)}), {m.rows, 0});
    }
    return encode_generic(c.program());
  };
  EXPECT_TRUE(encode_sums(generic::kMaxReductions));
  EXPECT_FALSE(encode_sums(generic::kMaxReductions + 1));
  const auto encode_dims = [](int rank) {
    const std::vector<int64_t> ones(rank, 1);
    Case c("dims", ProgramBuilder(Schedule::kPointwise, ones));
    c.store(c->coordinate(ones), ones);
    return encode_generic(c.program());
  };
  EXPECT_TRUE(encode_dims(generic::kMaxRank));
  EXPECT_FALSE(encode_dims(generic::kMaxRank + 1));
}

TEST(CudaGenericTest, ReusesSlots) {
  // Long chains, and more outputs than there are slots.
  Case c("chain", ProgramBuilder(Schedule::kPointwise, {10}));
  ValueId v = add_load(c, kFloat32, floats(10), {1});
  for (int i = 0; i < 200; ++i) {
    v = c->op(Op::kAdd, {v, c->scalar(1.f)});
    if (i % 4 == 0) c.store(v, {10});
  }
  EXPECT_TRUE(encode_generic(c.program()));
}

// ---- NVRTC.

TEST(CudaGenericTest, NeedsNoMoreThanADeviceHasReady) {
  const char* const named = std::getenv("SLUICE_NVRTC");
  if (named == nullptr || *named == '\0') GTEST_SKIP() << "SLUICE_NVRTC is not set";
  const auto code = make_nvrtc_compiler(90, 13000)->compile(generic_source(), false);
  ASSERT_TRUE(code.ok()) << code.status();
  ASSERT_EQ(code->kernels.size(), 1u);
  const KernelResources& kernel = code->kernels[0];
  EXPECT_EQ(kernel.name, kGenericKernel);
  EXPECT_LE(kernel.registers, 64);
  // With what it calls.
  std::smatch stack;
  ASSERT_TRUE(
      std::regex_search(code->log, stack, std::regex("([0-9]+) bytes cumulative stack size")));
  EXPECT_LE(std::stoi(stack[1]), 1024);
}

}  // namespace
}  // namespace sluice::kernels::cuda
