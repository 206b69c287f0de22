// The generic CUDA kernel against the kernels that programs have of their own: bit for bit, both
// compiled for the host with the host's prelude.
//
// If SLUICE_NVRTC names a libnvrtc.so, the generic kernel is compiled by it too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/compile/compiler.h"
#include "kernels/cuda/compile/generic_image.h"
#include "kernels/cuda/compile/generic_kernel.h"
#include "kernels/gpu/generic/generic.h"
#include "kernels/gpu/generic/generic_code.h"
#include "tests/cuda/cuda_cases.h"
#include "tests/cuda/cuda_programs.h"
#include "tests/cuda/cuda_random_program.h"
#include "tests/emulated_cuda/runtime_rig.h"

namespace sluice::kernels::cuda {
namespace {

using namespace testing;  // NOLINT

// The cases that the generic kernel can do give the bits that their own kernels give, with rows
// whole and split. Returns how many they are.
int check(const Cases& cases) {
  std::vector<Case*> checked;
  for (Case* const c : cases.all()) {
    if (c->is_valid() && encode_generic(c->program())) checked.push_back(c);
  }
  const OwnKernels own(checked);
  for (Case* const c : checked) {
    for (const int multiprocessors : kMultiprocessors) {
      const auto expected = own.run(*c, multiprocessors);
      const auto actual = c->run_on(
          [&](const KernelArgs& args) { return run_generic(c->program(), args, multiprocessors); });
      for (size_t o = 0; o < expected.size(); ++o) {
        EXPECT_TRUE(actual[o] == expected[o]) << c->name() << ": output " << o << " of\n"
                                              << fusion::to_text(c->program());
      }
    }
  }
  return static_cast<int>(checked.size());
}
void check_all(const Cases& cases) { EXPECT_EQ(check(cases), static_cast<int>(cases.size())); }

// ---- Pointwise.

TEST(CudaGenericTest, EveryOpOfEveryType) {
  Cases cases;
  add_every_op(cases);
  check_all(cases);
}

TEST(CudaGenericTest, CastsBetweenAllTypes) {
  Cases cases;
  add_casts(cases);
  check_all(cases);
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
  check_all(cases);
}

TEST(CudaGenericTest, Views) {
  Cases cases;
  add_views(cases);
  // As many dims as there can be.
  std::vector<int64_t> extents(generic::kMaxRank, 1), strides(extents.size());
  for (size_t d = 0; d < extents.size(); d += 2) extents[d] = d % 4 == 0 ? 3 : 2;
  for (size_t d = 0; d < extents.size(); ++d) strides[d] = static_cast<int64_t>(d) - 5;
  Case& c = cases.add("many dims", Schedule::kPointwise, extents);
  c.store(c->op(Op::kMul, {c->coordinate(strides), c->coordinate(extents, 3)}), extents);
  check_all(cases);
}

TEST(CudaGenericTest, WideIndices) {
  Cases cases;
  EXPECT_TRUE(add_wide(cases).is_wide());
  check_all(cases);
}

TEST(CudaGenericTest, PredicatesGuardMemory) {
  Cases cases;
  add_padded(cases);
  check_all(cases);
}

TEST(CudaGenericTest, GathersAndRaises) {
  Cases cases;
  for (const BadIndex& bad : kBadIndices) {
    Case& c = add_gather(cases, bad);
    (void)c.run_on([&](const KernelArgs& args) { return run_generic(c.program(), args, 0); });
    for (const int slot : {0, 2}) {
      const ErrorSlot& error = c->error(slot);
      EXPECT_EQ(error.raised, bad.value != 0);
      EXPECT_EQ(error.index, bad.value);
      EXPECT_EQ(error.extent, bad.value == 0 ? 0 : kGatherTable);
    }
    EXPECT_EQ(c->error(1).raised, 0u);
  }
  check_all(cases);
}

TEST(CudaGenericTest, StoresComeAfterLoadsOfTheSameMemory) {
  Cases cases;
  Case& c = cases.add("in place", Schedule::kPointwise, {600});
  void* const memory = c.in_place(kFloat32, floats(600));
  const uint16_t access = c->access(memory, kFloat32, {1});
  const ValueId first = c->op(Op::kExp, {c->load(access)});
  c->store(first, access);
  c.store(c->op(Op::kAdd, {c->load(access), first}), {600});
  check_all(cases);
}

// ---- Reductions.

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
  check_all(cases);
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
  check_all(cases);
}

TEST(CudaGenericTest, SeveralReducedDimsAreOneRow) {
  Cases cases;
  add_several_reduced_dims(cases);
  check_all(cases);
}

TEST(CudaGenericTest, RowsOfSeveralPasses) {
  Cases cases;
  for (const Matrix& m : matrices()) {
    add_softmax(cases, m, kFloat16);
    add_layer_norm(cases, m);
    add_update(cases, m);
  }
  check_all(cases);
}

// ---- Random programs.

TEST(CudaGenericTest, RandomPrograms) {
  constexpr int kBatches = 4, kPrograms = 60;
  int checked = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    Cases cases;
    for (int i = 0; i < kPrograms; ++i) RandomProgram(1000 * batch + i, &cases);
    checked += check(cases);
  }
  EXPECT_GT(checked, kBatches * kPrograms * 9 / 10);
}

// ---- Several calls in one launch.

TEST(CudaGenericTest, SeveralProgramsInOneLaunch) {
  Cases cases;
  add_softmax(cases, {Schedule::kRow, 70, 45}, kFloat16);
  add_softmax(cases, {Schedule::kColumn, 40, 700}, kFloat16);
  add_layer_norm(cases, {Schedule::kRow, 3, 20000});
  for (const int64_t n : {1000, 0, 3001}) add_scaled(cases, n);
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
  std::deque<ptx::Accessible> accessible;
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].give_access(&accessible);
    accessible.emplace_back(partials[i].get(), geometry[i].partial_bytes, true);
  }
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
      const ptx::Accessible accessible(out, sizeof(out), /*writable=*/true);
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
  kernel.compile(emulated::make_test_compiler());
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
  const auto code = emulated::make_test_compiler()->compile(generic_source(), /*contracts=*/false);
  EXPECT_TRUE(kernel.load(code->image.c_str()).ok());
  EXPECT_NE(kernel.function(), nullptr);
}

// Functions of other versions of CUDA's library have other bits, and drivers do not load the code
// of later major versions.
TEST(CudaGenericTest, IsTakenAheadOfTimeOnlyIfItFits) {
  EXPECT_EQ(generic_image() == nullptr, generic_image_version() == 0);
  EXPECT_TRUE(fits_generic_image(12090, 12090, 12090));
  EXPECT_TRUE(fits_generic_image(12090, 13000, 12090));
  EXPECT_TRUE(fits_generic_image(12090, 12010, 0)) << "without NVRTC";
  EXPECT_FALSE(fits_generic_image(13000, 13000, 12090)) << "NVRTC of another version";
  EXPECT_FALSE(fits_generic_image(12060, 13000, 12090));
  EXPECT_FALSE(fits_generic_image(13000, 12090, 0)) << "an older driver";
  EXPECT_FALSE(fits_generic_image(13000, 12090, 13000));
  EXPECT_FALSE(fits_generic_image(0, 13000, 0)) << "no image";
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
  for (const int architecture : {80, 90, 100}) {
    const auto code = make_nvrtc_compiler(architecture, 13000)->compile(generic_source(), false);
    ASSERT_TRUE(code.ok()) << code.status();
    ASSERT_EQ(code->kernels.size(), 1u);
    const KernelResources& kernel = code->kernels[0];
    EXPECT_EQ(kernel.name, kGenericKernel);
    EXPECT_LE(kernel.registers, 64) << architecture;
    // With what it calls.
    std::smatch stack;
    ASSERT_TRUE(
        std::regex_search(code->log, stack, std::regex("([0-9]+) bytes cumulative stack size")));
    EXPECT_LE(std::stoi(stack[1]), 1024) << architecture;
  }
}

}  // namespace
}  // namespace sluice::kernels::cuda
