// Matrices taken apart by a cuSOLVER that is not there, on an emulated device; and where there are
// the real one's headers, what of them is declared once more.
#include <glob.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fusion/library/factor.h"
#include "kernels/cuda/library/factor/cusolver_factor.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/library_paths.h"
#include "kernels/library/library.h"
#include "tests/cuda/cuda_products.h"
#include "tests/emulated_cuda/fake_cusolver.h"
#include "tests/emulated_cuda/runtime_rig.h"

namespace sluice::kernels::cuda {
namespace {

using emulated::FakeCusolver;
using fusion::FactorAttributes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A call for symmetric matrices, whose diagonals prevail, and right-hand sides.
struct FactorCase {
  fusion::LibraryCall call;
  std::vector<float> x, y;

  FactorCase(Op op, int64_t mode, int64_t rows, int64_t count = 1, int64_t sides = 0) {
    auto of = std::make_shared<FactorAttributes>();
    of->op = op;
    of->mode = mode;
    of->count = count;
    of->rows = of->columns = rows;
    of->sides = sides;
    of->x = {0, rows * rows, rows, 1};
    of->y = {0, rows * sides, sides, 1};
    call.kind = fusion::LibraryKind::kFactor;
    call.attributes = of;
    std::mt19937 random(static_cast<unsigned>(rows));
    std::uniform_real_distribution<float> distribution(-1, 1);
    x.resize(static_cast<size_t>(count * rows * rows));
    for (int64_t b = 0; b < count; ++b) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j <= i; ++j) at(b, i, j) = at(b, j, i) = distribution(random);
        at(b, i, i) += static_cast<float>(rows);
      }
    }
    y.resize(static_cast<size_t>(count * rows * sides));
    for (float& value : y) value = distribution(random);
  }
  const FactorAttributes& of() const { return fusion::factor_of(call); }
  float& at(int64_t b, int64_t i, int64_t j) {
    return x[static_cast<size_t>((b * of().rows + i) * of().rows + j)];
  }
  // By the host.
  std::vector<float> expected() const {
    std::vector<float> result(static_cast<size_t>(of().result_numel()));
    std::vector<void*> buffers = {const_cast<float*>(x.data())};
    if (of().op == Op::kSolve) buffers.push_back(const_cast<float*>(y.data()));
    buffers.push_back(result.data());
    EXPECT_TRUE(run_factor(call, buffers).ok());
    return result;
  }
};

class CudaCusolverTest : public ::testing::Test {
 protected:
  ~CudaCusolverTest() override {
    runner.reset();
    EXPECT_EQ(fake.objects(), 0) << "handles that were not given back";
    EXPECT_THAT(fake.misuse(), IsEmpty());
  }
  LibraryDevice device() {
    return {&rig.device().context(), &compiler, 0, nullptr, FakeCusolver::table()};
  }
  void restart() { runner = make_factor_runner(device()); }

  std::vector<float> run(const FactorCase& c, absl::Status* status = nullptr) {
    const auto stream = rig.stream();
    std::vector<void*> buffers;
    std::vector<Event> written;
    for (const std::vector<float>* values : {&c.x, &c.y}) {
      if (values->empty()) continue;
      float* const memory =
          rig.allocate(rig.device().copies().upload_stream(), static_cast<int64_t>(values->size()));
      buffers.push_back(memory);
      written.push_back(rig.upload(memory, *values));
    }
    float* const out = rig.allocate(stream.get(), c.of().result_numel());
    buffers.push_back(out);
    auto outcome = std::make_shared<Outcome>();
    const Event done = test::submit(
        stream.get(), [&] { return runner->enqueue(stream.get(), c.call, buffers, "factor"); },
        outcome, written);
    std::vector<float> values;
    if (outcome->run.ok()) values = rig.download(out, c.of().result_numel(), done);
    rig.device().wait_for_all();
    for (void* const memory : buffers) rig.device().allocator().free(memory);
    if (status == nullptr) {
      EXPECT_TRUE(outcome->run.ok()) << outcome->run;
    } else {
      *status = outcome->run;
    }
    return values;
  }
  // Up to the vectors' signs.
  void expect_right(const FactorCase& c, const std::vector<float>& values) {
    const std::vector<float> expected = c.expected();
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(std::abs(values[i]), std::abs(expected[i]), 1e-3 * (1 + std::abs(expected[i])))
          << fusion::name_of(c.of().op) << " at " << i;
    }
  }

  Rig rig;
  TestCompiler compiler;
  FakeCusolver fake{&rig.emulator};
  std::unique_ptr<LibraryRunner> runner = make_factor_runner(device());
};

TEST_F(CudaCusolverTest, HasEachOpItsRoutines) {
  const auto routines = [&](const FactorCase& c) {
    const size_t before = fake.runs().size();
    expect_right(c, run(c));
    const std::vector<std::string> runs = fake.runs();
    return std::vector<std::string>(runs.begin() + static_cast<int64_t>(before), runs.end());
  };
  EXPECT_THAT(routines({Op::kCholesky, 0, 130}), ElementsAre("potrf"));
  EXPECT_THAT(routines({Op::kCholesky, 1, 130, 2}), ElementsAre("potrf", "potrf"));
  EXPECT_THAT(routines({Op::kSolve, 0, 130, 1, 3}), ElementsAre("getrf", "getrs"));
  EXPECT_THAT(routines({Op::kInv, 0, 130}), ElementsAre("getrf", "getrs"));
  EXPECT_THAT(routines({Op::kDet, 1, 130}), ElementsAre("getrf"));
  EXPECT_THAT(routines({Op::kQr, 0, 130}), ElementsAre("geqrf", "orgqr"));
  EXPECT_THAT(routines({Op::kEigh, 1, 130}), ElementsAre("syevd"));
  EXPECT_THAT(routines({Op::kSvd, 1, 130}), ElementsAre("gesvdp"));
  // By our kernels, or the host.
  EXPECT_THAT(routines({Op::kCholesky, 0, 40}), IsEmpty());
  EXPECT_THAT(routines({Op::kDet, 1, 130, 9}), IsEmpty());
  EXPECT_THAT(routines({Op::kEigh, 1, 20}), IsEmpty());
  EXPECT_THAT(routines({Op::kQr, 0, 130, 9}), IsEmpty());
  EXPECT_EQ(rig.device().allocator().stats().live, 0);
}

TEST_F(CudaCusolverTest, SaysWhichMatrixFails) {
  FactorCase c(Op::kCholesky, 0, 130, 3);
  c.at(1, 129, 129) = -1;
  absl::Status status;
  run(c, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message_of(status), HasSubstr("matrix 1 of the batch of 3 is not positive definite"));
  FactorCase singular(Op::kInv, 0, 130);
  for (int64_t i = 0; i < 130; ++i) singular.at(0, i, 7) = 0;
  run(singular, &status);
  EXPECT_THAT(message_of(status), HasSubstr("the matrix is singular"));
  FactorCase without(Op::kInv, 1, 130);
  without.x = singular.x;
  for (const float value : run(without)) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(rig.device().allocator().stats().live, 0);
}

TEST_F(CudaCusolverTest, LeavesShiftedSingularValuesToTheHost) {
  const FactorCase c(Op::kSvd, 0, 130);
  fake.set_perturbation(0.01);
  EXPECT_EQ(run(c), c.expected());
  fake.set_perturbation(0);
}

// Each of its calls fails in turn: then the host computes the same, or the call says what failed.
TEST_F(CudaCusolverTest, MayFailAnywhere) {
  const FactorCase cases[] = {{Op::kCholesky, 0, 130}, {Op::kSolve, 0, 130, 1, 2},
                              {Op::kQr, 1, 130},       {Op::kEigh, 1, 130},
                              {Op::kSvd, 1, 130},      {Op::kDet, 1, 130}};
  for (const FactorCase& c : cases) {
    for (const SolverStatus failure : {SolverStatus::kInternalError, SolverStatus::kAllocFailed}) {
      int64_t n = 1;
      for (bool failed = true; failed; ++n) {
        runner.reset();
        const int64_t before = fake.calls();
        fake.fail_call(n, failure);
        restart();
        absl::Status status;
        const std::vector<float> values = run(c, &status);
        failed = fake.calls() - before >= n;
        fake.fail_call(0, failure);
        if (status.ok()) {
          expect_right(c, values);
        } else {
          EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
          EXPECT_EQ(failure, SolverStatus::kAllocFailed);
          expect_right(c, run(c));  // it may succeed another time
        }
        EXPECT_EQ(rig.device().allocator().stats().live, 0) << n;
      }
      EXPECT_GT(n, 5);
    }
  }
}

TEST_F(CudaCusolverTest, IsSharedByThreads) {
  std::vector<std::thread> threads;
  ASSERT_TRUE(rig.device().copies().upload_stream() != nullptr);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const FactorCase c(t % 2 == 0 ? Op::kCholesky : Op::kInv, 0, 130);
      for (int i = 0; i < 3; ++i) expect_right(c, run(c));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fake.runs().size(), 18u);
}

// ---- The real library.

TEST(CudaRealCusolver, SaysThatThereIsNone) {
  EXPECT_THAT(message_of(load_cusolver("libno-such-library.so.1").status()),
              HasSubstr("libno-such-library.so.1"));
  EXPECT_EQ(message_of(load_cusolver("libm.so.6").status()), "libm.so.6 has no cusolverDnCreate");
  const absl::Status none = find_cusolver(9000).status();
  if (environment_variable("SLUICE_CUSOLVER").empty()) {
    EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(message_of(none), HasSubstr("libcusolver.so was not found"));
  }
}

// The text of a header of this name: SLUICE_CUDA_INCLUDE names a folder of them.
std::string text_of_header(const std::string& name) {
  std::vector<std::string> folders = {environment_variable("SLUICE_CUDA_INCLUDE")};
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string root = environment_variable(variable); !root.empty()) {
      folders.push_back(root + "/include");
    }
  }
  folders.insert(folders.end(),
                 {"/usr/local/cuda*/include",
                  "/usr/local/lib/python3*/{dist,site}-packages/nvidia/{cusolver,cu13}/include"});
  std::string text;
  for (const std::string& folder : folders) {
    glob_t matches{};
    if (text.empty() &&
        glob(absl::StrCat(folder, "/", name).c_str(), GLOB_BRACE, nullptr, &matches) == 0) {
      std::ifstream file(matches.gl_pathv[0]);
      text.assign(std::istreambuf_iterator<char>(file), {});
    }
    globfree(&matches);
  }
  return text;
}

TEST(CudaRealCusolver, HasTheseEnumerators) {
  const std::string header = text_of_header("cusolver_common.h") + text_of_header("cublas_api.h") +
                             text_of_header("library_types.h");
  if (header.empty()) GTEST_SKIP() << "there are no headers of cuSOLVER";
  const auto expect_value = [&](const char* name, auto value) {
    std::smatch match;
    // Headers of other libraries need not be there.
    if (std::regex_search(header, match, std::regex(absl::StrCat("\\b", name, " *= *([0-9]+)")))) {
      EXPECT_EQ(std::stoi(match[1]), static_cast<int>(value)) << name;
    } else {
      EXPECT_FALSE(std::string(name).starts_with("CUSOLVER")) << name;
    }
  };
  expect_value("CUSOLVER_STATUS_SUCCESS", SolverStatus::kSuccess);
  expect_value("CUSOLVER_STATUS_NOT_INITIALIZED", SolverStatus::kNotInitialized);
  expect_value("CUSOLVER_STATUS_ALLOC_FAILED", SolverStatus::kAllocFailed);
  expect_value("CUSOLVER_STATUS_INVALID_VALUE", SolverStatus::kInvalidValue);
  expect_value("CUSOLVER_STATUS_EXECUTION_FAILED", SolverStatus::kExecutionFailed);
  expect_value("CUSOLVER_STATUS_INTERNAL_ERROR", SolverStatus::kInternalError);
  expect_value("CUSOLVER_EIG_MODE_NOVECTOR", SolverVectors::kNo);
  expect_value("CUSOLVER_EIG_MODE_VECTOR", SolverVectors::kYes);
  expect_value("CUBLAS_FILL_MODE_LOWER", SolverFill::kLower);
  expect_value("CUBLAS_FILL_MODE_UPPER", SolverFill::kUpper);
  expect_value("CUBLAS_OP_N", SolverTranspose::kNo);
  expect_value("CUBLAS_OP_T", SolverTranspose::kYes);
  expect_value("CUDA_R_32F", SolverType::kFloat32);
  expect_value("CUDA_R_64F", SolverType::kFloat64);
}

// As many parameters as are declared here.
TEST(CudaRealCusolver, HasTheseFunctions) {
  const std::string header = text_of_header("cusolverDn.h");
  if (header.empty()) GTEST_SKIP() << "there are no headers of cuSOLVER";
  const auto expect_parameters = [&](const std::string& name, size_t count) {
    const size_t begin = header.find(name + "(");
    ASSERT_NE(begin, std::string::npos) << name;
    const std::string list = header.substr(begin, header.find(';', begin) - begin);
    EXPECT_EQ(1 + static_cast<size_t>(std::count(list.begin(), list.end(), ',')), count) << name;
  };
  const auto count = []<typename Result, typename... Parameters>(Result (*)(Parameters...)) {
    return sizeof...(Parameters);
  };
#define SLUICE_CUSOLVER_CALL(result, name, symbol, ...) \
  expect_parameters(#symbol, count(Cusolver().name));
#define SLUICE_CUSOLVER_ROUTINE(name, ...)                            \
  expect_parameters("cusolverDnS" #name, count(Cusolver().f32.name)); \
  expect_parameters("cusolverDnD" #name, count(Cusolver().f64.name));
#include "kernels/cuda/library/factor/cusolver.def"
}

}  // namespace
}  // namespace sluice::kernels::cuda
