// That faults of kernels are noticed when their PTX runs (tests/ptx_device): NVRTC compiles emitted
// programs, its PTX is spoiled, and each kind of damage must be found. Skipped without NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tests/cuda/cuda_cases.h"
#include "tests/cuda/cuda_programs.h"
#include "tests/ptx_device/module.h"

namespace sluice::kernels::cuda {
namespace {

using namespace testing;  // NOLINT
using ::testing::HasSubstr;

using Mutation = std::function<std::string(const std::string& ptx)>;

std::string replaced(const std::string& text, const std::string& pattern, const std::string& by) {
  return std::regex_replace(text, std::regex(pattern), by);
}

struct Result {
  std::string error;  // of the first launch that failed
  std::vector<std::string> outputs;
};

class CudaPtxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Status status = emulated::compile_to_ptx("", false).status();
    if (!status.ok()) GTEST_SKIP() << status;
  }

  // What the case's kernel leaves after `mutation` of its PTX.
  Result run(Case& c, const Mutation& mutation) {
    const absl::StatusOr<std::string> ptx = emulated::compile_to_ptx(text_of(c), false);
    EXPECT_TRUE(ptx.ok()) << ptx.status();
    CompiledCode code;
    code.image = mutation(*ptx);
    const HostModule module(code);
    Result result;
    result.outputs = c.run_on([&](const KernelArgs& args) {
      result.error = run_own(module, "kernel0", c.program(), args, plain_geometry(c));
      return std::string();
    });
    return result;
  }
  // As it is: nothing is found, and the bits are the interpreter's.
  void expect_right(Case& c) {
    const Result result = run(c, [](const std::string& ptx) { return ptx; });
    EXPECT_EQ(result.error, "") << c.name();
    EXPECT_TRUE(result.outputs == interpreted(c)) << c.name();
  }
  // `pattern`: of PTX's text. It must occur.
  void expect_found(Case& c, const std::string& pattern, const std::string& by,
                    const std::string& error) {
    expect_right(c);
    const Result result = run(c, [&](const std::string& ptx) {
      const std::string mutant = replaced(ptx, pattern, by);
      EXPECT_NE(mutant, ptx) << pattern;
      return mutant;
    });
    EXPECT_THAT(result.error, ::testing::ContainsRegex(error))
        << c.name() << ", " << pattern << " => " << by;
  }
  static std::vector<std::string> interpreted(Case& c) {
    return c.run_on([&](const KernelArgs& args) { return run_interpreter(c.program(), args); });
  }

  static std::string text_of(Case& c) {
    EXPECT_TRUE(c.is_valid());
    const Kernel kernel{"kernel0", {&c.program()}, false, c.is_wide()};
    return emit({&kernel, 1});
  }
};

std::vector<float> small_integers(int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 7 - 3);
  return values;
}

// Rows that are summed. Sums of integers do not depend on the order.
void add_row_sums(Cases* cases, int64_t rows, int64_t length) {
  Case& c = cases->add(absl::StrCat("sums of ", length), Schedule::kRow, {rows}, {length});
  const ValueId x = add_load(c, kFloat32, small_integers(rows * length), {length, 1});
  c.store(c->op(Op::kSum, {x}), {rows, 0});
}

TEST_F(CudaPtxTest, ABarrierThatIsMissing) {
  Cases cases;
  add_row_sums(&cases, 3, 3000);
  expect_found(cases[0], "bar\\.sync\\s+0;", "", "race|nobody has written");
  expect_found(cases[0], "barrier\\.sync\\s+0;|bar\\.sync\\s+0;", "",
               "shared memory|nobody has written");
}

TEST_F(CudaPtxTest, ABarrierOfAWarpThatIsMissing) {
  Cases cases;
  Case& c = cases.add("a sum over an element of its row", Schedule::kRow, {6}, {100});
  void* const data = c.in_place(kFloat32, small_integers(600));
  const ValueId x = c->load(c->access(data, kFloat32, {100, 1}));
  c->store(c->op(Op::kSum, {x}), c->access(data, kFloat32, {100, 0}, 5));
  expect_found(c, "bar\\.warp\\.sync\\s+[^;]*;", "", "race");
}

TEST_F(CudaPtxTest, ABoundThatIsOffByOne) {
  Cases cases;
  Case& c = cases.add("a sum", Schedule::kPointwise, {1000});
  const ValueId x = add_load(c, kFloat32, small_integers(1000), {1});
  const ValueId y = add_load(c, kFloat32, small_integers(1000), {1});
  c.store(c->op(Op::kAdd, {x, y}), {1000});
  expect_right(c);
  bool is_found = false;
  for (const auto& [from, to] :
       {std::pair("setp.ge.", "setp.gt."), {"setp.lt.", "setp.le."}, {"setp.gt.", "setp.ge."}}) {
    const Result result = run(c, [&](const std::string& ptx) {
      return replaced(ptx, absl::StrCat("setp\\.", std::string(from).substr(5, 2), "\\."), to);
    });
    is_found |= absl::StrContains(result.error, "outside of memory");
  }
  EXPECT_TRUE(is_found);
}

TEST_F(CudaPtxTest, AMaskThatIsWrong) {
  Cases cases;
  add_row_sums(&cases, 5, 100);
  Case& c = cases[0];
  expect_right(c);
  const Result result = run(c, [](const std::string& ptx) {
    return replaced(ptx, "(shfl\\.sync[^;]*), [^,;]*;", "$1, 65535;");
  });
  EXPECT_THAT(result.error, HasSubstr("not in its mask"));
}

TEST_F(CudaPtxTest, ALaneThatIsWrong) {
  Cases cases;
  add_row_sums(&cases, 5, 100);
  Case& c = cases[0];
  const Result result = run(c, [](const std::string& ptx) {
    return replaced(ptx, "shfl\\.sync\\.down", "shfl.sync.up");
  });
  EXPECT_FALSE(result.outputs == interpreted(c));
}

TEST_F(CudaPtxTest, ContractionOfAProductAndASum) {
  Cases cases;
  Case& c = cases.add("a product and a sum", Schedule::kPointwise, {999});
  std::vector<float> values(999);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1 + static_cast<float>(i) * 0.001f;
  const ValueId x = add_load(c, kFloat32, values, {1});
  const ValueId y = add_load(c, kFloat32, values, {-1}, 998);
  c.store(c->op(Op::kSub, {c->op(Op::kMul, {x, y}), y}), {999});
  expect_right(c);
  const absl::StatusOr<std::string> ptx = emulated::compile_to_ptx(text_of(c), false);
  const absl::StatusOr<std::string> spoiled = emulated::compile_to_ptx(text_of(c), true);
  ASSERT_TRUE(ptx.ok() && spoiled.ok());
  EXPECT_EQ(emulated::may_contract(*ptx), "");
  EXPECT_NE(emulated::may_contract(*spoiled), "");
  // What ptxas could make of it.
  const Result result = run(c, [](const std::string& text) {
    return replaced(text, "mul\\.rn\\.f32([^,]*),([^,]*),([^;]*);",
                    "fma.rn.f32$1,$2,$3,0f33800000;");
  });
  EXPECT_FALSE(result.outputs == interpreted(c));
}

TEST_F(CudaPtxTest, AVectorThatIsMisaligned) {
  Cases cases;
  Case& c = cases.add("a copy", Schedule::kPointwise, {1024});
  const ValueId x = add_load(c, kFloat32, small_integers(1025), {1}, 1);
  c.store(c->op(Op::kNeg, {x}), {1024});
  expect_right(c);
  // Whatever asks whether addresses are aligned is told that they are.
  std::string error;
  for (const char* const pattern : {"setp\\.ne\\.", "setp\\.eq\\."}) {
    const Result result = run(c, [&](const std::string& ptx) {
      return replaced(ptx, pattern,
                      std::string(pattern) == "setp\\.ne\\." ? "setp.eq." : "setp.ne.");
    });
    error += result.error;
  }
  EXPECT_THAT(error, HasSubstr("misaligned"));
}

// The order of threads that have parted changes no bit.
TEST_F(CudaPtxTest, AnyOrderOfThreads) {
  Cases cases;
  add_row_sums(&cases, 5, 100);
  add_row_sums(&cases, 3, 3000);
  for (Case* const c : cases.all()) {
    const absl::StatusOr<std::string> ptx = emulated::compile_to_ptx(text_of(*c), false);
    ASSERT_TRUE(ptx.ok()) << ptx.status();
    std::string error;
    const auto module = ptx::Module::parse(*ptx, &error);
    ASSERT_NE(module, nullptr) << error;
    const std::vector<std::string> expected = interpreted(*c);
    for (uint64_t schedule = 0; schedule < 5; ++schedule) {
      const std::vector<std::string> outputs = c->run_on([&](const KernelArgs& args) {
        const cuda::Geometry geometry = plain_geometry(*c);
        std::vector<uint64_t> words(num_words(c->program()));
        pack_call(c->program(), geometry, args, 0, nullptr, words.data());
        const ptx::Geometry line{static_cast<unsigned>(geometry.num_blocks(0)), kThreads, schedule};
        const char* const wrong = module->run("kernel0", line, words.data(), 8 * words.size());
        return std::string(wrong == nullptr ? "" : wrong);
      });
      EXPECT_TRUE(outputs == expected) << c->name() << ", schedule " << schedule;
    }
  }
}

}  // namespace
}  // namespace sluice::kernels::cuda
