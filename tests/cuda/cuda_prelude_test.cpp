// The host's prelude, which emitted kernels are tested with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/gpu/emit/emit.h"
#include "kernels/gpu/prelude/prelude.h"
#include "kernels/gpu/run/call.h"
#include "tests/cuda/cuda_cases.h"
#include "tests/cuda/cuda_programs.h"
#include "tests/emulated_cuda/host_compiler.h"

namespace sluice::kernels::cuda {
namespace {

using namespace testing;  // NOLINT

// Runs `body` in two blocks of the host, with `int* out` at hand.
std::string run_body(const std::string& body, std::vector<int>* out) {
  // The comment asks for the part of the prelude with teams.
  const HostModule module(absl::StrCat(
      "// sl_row_team\nstruct Args { int* out; };\nSL_KERNEL(k, Args) {", body, "}\n"));
  int* const data = out->data();
  return module.launch("k", 2, static_cast<const void*>(&data));
}

TEST(CudaEmitTest, HostRunsBarriersAndShuffles) {
  std::vector<int> out(2 * kThreads);
  EXPECT_EQ(run_body(R"(
      const int t = sl_thread();
      sl_slot_of<int>(t) = t;
      sl_sync();
      const int other = sl_slot_of<int>(255 - t);
      p.out[sl_block() * 256 + t] = sl_shuffle(other, 3) * 1000 + sl_shuffle_down(t, 2);)",
                     &out),
            "");
  for (int t = 0; t < 2 * kThreads; ++t) {
    const int warp = t % kThreads / 32 * 32, lane = t % 32;
    EXPECT_EQ(out[t], (255 - warp - 3) * 1000 + warp + std::min(lane + 2, lane < 30 ? 31 : lane));
  }
}

TEST(CudaEmitTest, HostFindsMistakes) {
  std::vector<int> out(8);
  EXPECT_THAT(run_body("if (sl_thread() < 100) sl_sync();", &out),
              ::testing::HasSubstr("not all threads"));
  EXPECT_THAT(run_body("if (sl_thread() % 2) sl_sync();\nelse sl_sync();", &out),
              ::testing::HasSubstr("different barriers"));
  EXPECT_THAT(run_body("if (sl_thread() % 2) sl_sync(); else sl_shuffle(1, 0);", &out),
              ::testing::HasSubstr("some of a warp"));
  EXPECT_THAT(run_body("int v[4]; sl_load_vector(v, p.out + 1 + (sl_u64(p.out) / 4 & 3));", &out),
              ::testing::HasSubstr("misaligned"));
}

// Deleting any barrier of the prelude gives wrong results, on the host too.
TEST(CudaEmitTest, EveryBarrierIsNeeded) {
  Cases cases;
  add_layer_norm(cases, {Schedule::kRow, 3, 20'000});
  add_layer_norm(cases, {Schedule::kColumn, 40, 2000});
  add_update(cases, {Schedule::kRow, 3, 2000});
  add_update(cases, {Schedule::kColumn, 40, 2000});
  // By threads of several rows.
  add_layer_norm(cases, {Schedule::kRow, 40, 20'000});
  add_update(cases, {Schedule::kRow, 40, 2000});
  for (const size_t i : {4, 5}) cases[i]->program().lanes_across_rows = true;
  std::vector<Kernel> kernels;
  for (size_t i = 0; i < cases.size(); ++i)
    kernels.push_back({absl::StrCat("k", i), {&cases[i].program()}});
  auto results = [&](const HostModule& module) {
    std::vector<std::string> all;
    for (size_t i = 0; i < kernels.size(); ++i) {
      for (const int multiprocessors : kMultiprocessors) {
        const auto outputs = cases[i].run_on([&](const KernelArgs& args) {
          const Program& program = cases[i].program();
          all.push_back(run_own(module, kernels[i].name, program, args,
                                geometry_of(program, args.extents, multiprocessors)));
          return "";  // mutants may fail
        });
        all.insert(all.end(), outputs.begin(), outputs.end());
      }
    }
    return all;
  };
  const std::string text = emit(kernels), source = host_source(text);
  const std::string teams = "struct sl_row_team";
  std::vector<size_t> barriers;
  for (size_t at = source.find(teams); (at = source.find("sl_sync();", at)) != std::string::npos;
       ++at) {
    barriers.push_back(at);
  }
  ASSERT_EQ(barriers.size(), 9u);
  const std::vector<std::string> expected = results(HostModule(text));
  for (const size_t at : barriers) {
    std::string mutant = source;
    mutant.replace(at, 10, "{}");
    const HostModule module(emulated::HostCompiler().compile_source(mutant));
    EXPECT_TRUE(results(module) != expected) << source.substr(at - 200, 250);
  }
}

}  // namespace
}  // namespace sluice::kernels::cuda
