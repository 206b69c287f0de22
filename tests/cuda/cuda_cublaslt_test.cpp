// Matrix products by a cuBLASLt that is not there, on an emulated device.
//
// If there is a real one, its descriptors are made too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/library/products/cublaslt.h"
#include "kernels/cuda/library/products/matmul.h"
#include "kernels/cuda/library_paths.h"
#include "tests/cuda/cuda_products.h"
#include "tests/cuda/fake_cublaslt.h"

namespace sluice::kernels::cuda {
namespace {

using test::FakeCublasLt;
using ::testing::HasSubstr;

class CudaLibraryTest : public ::testing::Test {
 protected:
  // The one product that the library was called for.
  FakeCublasLt::Call only_product() const {
    EXPECT_EQ(fake.products.size(), 1u);
    return fake.products.empty() ? FakeCublasLt::Call{} : fake.products[0];
  }
  FakeCublasLt::Call run_and_check(const Product& product) {
    fake.products.clear();
    expect_near(run(&rig, &runner, product), product);
    return only_product();
  }

  Rig rig;
  TestCompiler compiler;
  FakeCublasLt fake{&rig};
  MatmulRunner runner{&rig.device().context(), &compiler, FakeCublasLt::table()};
};

struct Layout {
  int64_t rows, columns, leading_dimension;
  int32_t batch = 1;
  int64_t batch_stride = 0;
};

void expect_layout(const FakeCublasLt::Layout& layout, const Layout& expected) {
  EXPECT_EQ(layout.rows, expected.rows);
  EXPECT_EQ(layout.columns, expected.columns);
  EXPECT_EQ(layout.leading_dimension, expected.leading_dimension);
  EXPECT_EQ(layout.batch, expected.batch);
  EXPECT_EQ(layout.batch_stride, expected.batch_stride);
}

TEST_F(CudaLibraryTest, SwapsOperandsAndTransposesThem) {
  const auto check = [&](const Product& product, const Layout& a, LtTranspose transpose_a,
                         const Layout& b, LtTranspose transpose_b, const Layout& c) {
    const FakeCublasLt::Call call = run_and_check(product);
    expect_layout(call.a, a);
    expect_layout(call.b, b);
    expect_layout(call.c, c);
    EXPECT_EQ(call.operation.transpose_a, transpose_a);
    EXPECT_EQ(call.operation.transpose_b, transpose_b);
    EXPECT_EQ(call.operation.compute, LtCompute::kFloat32);
    EXPECT_EQ(call.operation.epilogue, LtEpilogue::kNone);
  };
  constexpr LtTranspose kNo = LtTranspose::kNo, kYes = LtTranspose::kYes;
  // The library's A is b. Rows without gaps.
  check({1, 5, 6, 7}, {6, 7, 6}, kNo, {7, 5, 7}, kNo, {6, 5, 6});
  // With gaps.
  check({1, 5, 6, 7, {0, 9, 1}, {0, 8, 1}}, {6, 7, 8}, kNo, {7, 5, 9}, kNo, {6, 5, 6});
  // a, then b, then both transposed.
  check({1, 5, 6, 7, {0, 1, 5}, {0, 6, 1}}, {6, 7, 6}, kNo, {5, 7, 5}, kYes, {6, 5, 6});
  check({1, 5, 6, 7, {0, 7, 1}, {0, 1, 7}}, {7, 6, 7}, kYes, {7, 5, 7}, kNo, {6, 5, 6});
  check({1, 5, 6, 7, {0, 1, 8}, {0, 1, 9}}, {7, 6, 9}, kYes, {5, 7, 8}, kYes, {6, 5, 6});
  // Batches; one b for two of them; one a.
  check({2, 5, 6, 7}, {6, 7, 6, 2, 42}, kNo, {7, 5, 7, 2, 35}, kNo, {6, 5, 6, 2, 30});
  check({2, 5, 6, 7, {40, 7, 1}, {0, 6, 1}}, {6, 7, 6, 2, 0}, kNo, {7, 5, 7, 2, 40}, kNo,
        {6, 5, 6, 2, 30});
  check({2, 5, 6, 7, {0, 7, 1}, {50, 6, 1}}, {6, 7, 6, 2, 50}, kNo, {7, 5, 7, 2, 0}, kNo,
        {6, 5, 6, 2, 30});
  // Rows of one batch.
  check({2, 5, 6, 7, {35, 7, 1}, {0, 6, 1}}, {6, 7, 6}, kNo, {7, 10, 7}, kNo, {6, 10, 6});
  // Strides of extents of 1 mean nothing.
  check({1, 1, 6, 7, {3, 0, 1}, {-5, 6, 1}}, {6, 7, 6}, kNo, {7, 1, 7}, kNo, {6, 1, 6});
  check({1, 5, 1, 7, {0, 7, 1}, {0, 1, -4}}, {1, 7, 1}, kNo, {7, 5, 7}, kNo, {1, 5, 1});
  check({1, 5, 6, 1, {0, 1, 0}, {0, 0, 1}}, {6, 1, 6}, kNo, {1, 5, 1}, kNo, {6, 5, 6});
  check({1, 1, 6, 7, {0, 1, 4}, {0, 6, 1}}, {6, 7, 6}, kNo, {1, 7, 4}, kYes, {6, 1, 6});
  EXPECT_EQ(compiler.calls, 0);
  EXPECT_EQ(runner.library_name(), "cuBLASLt 13.1");
}

TEST_F(CudaLibraryTest, LeavesStrangeStridesToOurKernels) {
  const std::vector<Product> products = {
      {2, 5, 4, 0},
      {1, 5, 6, 7, {0, -7, 1}, {0, 6, 1}},
      {1, 5, 6, 7, {0, 7, 1}, {0, 12, 2}},
      {1, 5, 6, 7, {0, 0, 1}, {0, 6, 1}},
      {1, 5, 6, 7, {0, 3, 1}, {0, 6, 1}},
      {3, 5, 6, 7, {-35, 7, 1}, {42, 6, 1}},
  };
  for (const Product& product : products) {
    expect_exact(run(&rig, &runner, product), product.in_order(), product.name());
  }
  EXPECT_TRUE(fake.products.empty());
  EXPECT_TRUE(fake.questions.empty());
}

TEST_F(CudaLibraryTest, FoldsABiasAndARelu) {
  for (const std::vector<Link>& links : kChains) {
    const FakeCublasLt::Call call = run_and_check(Product(1, 21, 19, 10, links));
    const bool bias = links[0].op == Op::kAdd && links[0].one_row;
    const bool relu = links.size() > bias && links[bias].op == Op::kRelu;
    EXPECT_EQ(call.operation.epilogue, bias && relu ? LtEpilogue::kReluBias
                                       : bias       ? LtEpilogue::kBias
                                       : relu       ? LtEpilogue::kRelu
                                                    : LtEpilogue::kNone);
    EXPECT_EQ(call.operation.bias != nullptr, bias);
  }
  // The rest was one kernel for all of them.
  EXPECT_EQ(compiler.calls, 1);
  // Places in rows of all lengths, over many blocks.
  for (const int64_t n : {1, 2, 700, 1024, 1025, 5000}) {
    run_and_check(Product(2, 3, n, 2, {{Op::kAdd, false}, {Op::kAdd, true}}));
  }
}

TEST_F(CudaLibraryTest, AsksOnceForAnAlgorithm) {
  const Product product(1, 5, 8, 4, {{Op::kAdd, true}});
  std::vector<Epilogue> epilogues;
  EXPECT_TRUE(runner.is_ready(product.shape(&epilogues)));
  for (int i = 0; i < 3; ++i) run_and_check(product);
  ASSERT_EQ(fake.questions.size(), 1u);
  const FakeCublasLt::Call& question = fake.questions[0];
  for (const uint32_t alignment : question.preference.alignments) EXPECT_EQ(alignment, 16u);
  EXPECT_EQ(question.preference.max_workspace_bytes, 32u << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(question.operation.bias) % 32, 16u);
  // Another epilogue, another stride.
  run_and_check(Product(1, 5, 8, 4));
  run_and_check(Product(1, 5, 8, 4, {0, 5, 1}, {0, 8, 1}, {{Op::kAdd, true}}));
  EXPECT_EQ(fake.questions.size(), 3u);
}

TEST_F(CudaLibraryTest, SaysHowOperandsAreAligned) {
  const Product product(1, 5, 8, 4, {{Op::kAdd, true}});
  const auto stream = rig.stream();
  Placed placed(&rig, stream.get(), product);
  Matmul x = placed.matmul();
  std::vector<Epilogue> epilogues(x.epilogues.begin(), x.epilogues.end());
  x.epilogues = epilogues;
  const auto ask = [&] {
    EXPECT_TRUE(runner.prepare(x).ok());
    const FakeCublasLt::Call& question = fake.questions.back();
    const uint32_t(&found)[4] = question.preference.alignments;
    return std::vector<uint32_t>{
        found[0], found[1], found[2], found[3],
        static_cast<uint32_t>(reinterpret_cast<uintptr_t>(question.operation.bias) % 16)};
  };
  EXPECT_EQ(ask(), (std::vector<uint32_t>{16, 16, 16, 16, 0}));
  x.a = static_cast<const float*>(x.a) + 1;  // the library's b
  EXPECT_EQ(ask(), (std::vector<uint32_t>{16, 4, 16, 16, 0}));
  x.b = static_cast<const float*>(x.b) + 4;
  x.a = static_cast<const float*>(x.a) + 1;
  EXPECT_EQ(ask(), (std::vector<uint32_t>{16, 4, 16, 16, 0}));
  epilogues[0].offset += 2;
  EXPECT_EQ(ask(), (std::vector<uint32_t>{16, 4, 16, 16, 4}));
  EXPECT_EQ(fake.questions.size(), 3u);
}

TEST_F(CudaLibraryTest, ReadsHalvesAndWritesThem) {
  for (const auto& [dtype, type] : {std::pair{DType::kFloat16, LtDataType::kFloat16},
                                    std::pair{DType::kBFloat16, LtDataType::kBFloat16}}) {
    Product product(2, 21, 19, 10);
    const FakeCublasLt::Call call = run_and_check(product.as(dtype));
    EXPECT_EQ(call.a.type, type);
    EXPECT_EQ(call.b.type, type);
    EXPECT_EQ(call.c.type, type);
    EXPECT_EQ(call.operation.compute, LtCompute::kFloat32);
    EXPECT_EQ(fake.questions.back().preference.reductions, LtReduction::kAsComputed);
  }
  Product wide(1, 21, 19, 10, {{Op::kAdd, true}, {Op::kTanh}});
  EXPECT_EQ(run_and_check(wide.as(DType::kFloat16, DType::kFloat32)).c.type, LtDataType::kFloat32);
}

TEST_F(CudaLibraryTest, RoundsToTf32WhereThatIsAllowed) {
  Product product(1, 21, 19, 10, {{Op::kAdd, true}});
  EXPECT_EQ(run_and_check(product).operation.compute, LtCompute::kFloat32);
  EXPECT_EQ(run_and_check(product.as_tf32()).operation.compute, LtCompute::kTf32);
  // That is not of half types.
  EXPECT_EQ(run_and_check(product.as(DType::kFloat16, DType::kFloat32)).operation.compute,
            LtCompute::kFloat32);
}

TEST_F(CudaLibraryTest, TakesMemoryToWorkIn) {
  fake.workspace_bytes = 1000;
  const Product product(1, 5, 8, 4);
  for (int i = 0; i < 3; ++i) run_and_check(product);
  EXPECT_EQ(rig.device().allocator().stats().live, 0);
  // Where there is none, that is the answer: another kernel would have other bits.
  fake.workspace_bytes = 1 << 20;
  const Product other(1, 8, 5, 4);
  const auto stream = rig.stream();
  Placed placed(&rig, stream.get(), other);
  rig.device().allocator().set_limit(1 << 19);
  auto outcome = std::make_shared<Outcome>();
  stream->wait(placed.submit(stream.get(), &runner, outcome).ticket);
  EXPECT_EQ(outcome->run.code(), absl::StatusCode::kResourceExhausted) << outcome->run;
}

TEST_F(CudaLibraryTest, WhatItRefusesIsLeftToOurKernelsForGood) {
  // By the heuristic.
  fake.has_algorithm = [](const FakeCublasLt::Call& call) { return call.c.rows != 8; };
  const Product product(1, 5, 8, 4, {{Op::kAdd, true}});
  std::vector<Epilogue> epilogues;
  const Matmul x = product.shape(&epilogues);
  EXPECT_FALSE(runner.is_ready(x));
  EXPECT_TRUE(runner.prepare(x).ok());
  EXPECT_TRUE(runner.is_ready(x));
  EXPECT_EQ(compiler.calls, 1);
  for (int i = 0; i < 2; ++i) expect_near(run(&rig, &runner, product), product);
  EXPECT_EQ(fake.questions.size(), 1u);
  // By the call itself.
  const Product other(1, 8, 5, 4);
  fake.matmul_status = LtStatus::kNotSupported;
  expect_exact(run(&rig, &runner, other), other.in_order(), "refused");
  fake.matmul_status = LtStatus::kSuccess;
  expect_exact(run(&rig, &runner, other), other.in_order(), "and again");
  EXPECT_TRUE(fake.products.empty());
  EXPECT_EQ(fake.questions.size(), 2u);
  run_and_check(Product(1, 8, 6, 4));
}

TEST_F(CudaLibraryTest, ThreadsHaveTheirOwnBiases) {
  fake.workspace_bytes = 300;
  ASSERT_TRUE(rig.device().copies().upload_stream() != nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        Product product(1, 4, 5, 6, {{Op::kAdd, true}});
        for (float& x : product.operands[0]) x = static_cast<float>(10 * t + i);
        expect_near(run(&rig, &runner, product), product);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fake.questions.size(), 1u);
  EXPECT_EQ(fake.products.size(), 40u);
}

TEST_F(CudaLibraryTest, DoesWithoutALibraryThatDoesNotStart) {
  fake.create_status = LtStatus::kNotSupported;
  const Product product(1, 5, 8, 4);
  expect_exact(run(&rig, &runner, product), product.in_order(), "no library");
  EXPECT_TRUE(fake.questions.empty());
  EXPECT_EQ(runner.library_name(), "Sluice's kernels");
}

// ---- The real library.

TEST(CudaLibraryPaths, ListsNamesThenFiles) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / absl::StrCat("sluice_paths_", getpid());
  const fs::path folder = root / "nvidia" / "cublas" / "lib";
  fs::create_directories(folder);
  std::ofstream(folder / "libno-such.so.12") << "x";
  setenv("PYTHONPATH", root.c_str(), 1);
  const std::vector<std::string> names = {"libno-such.so.13", "libno-such.so.12"};
  EXPECT_EQ(library_candidates(names, "{cu13,cublas}/lib"),
            (std::vector<std::string>{names[0], names[1], folder / "libno-such.so.12"}));
  unsetenv("PYTHONPATH");
  // Toolkits that are not where they usually are.
  fs::create_directories(root / "lib64");
  fs::create_directories(root / "lib");
  for (const char* const path : {"lib64/libno-such.so.12", "lib/libno-such.so.13"}) {
    std::ofstream(root / path) << "x";
  }
  for (const auto& [name, path] : {std::pair("CUDA_HOME", "lib64/libno-such.so.12"),
                                   std::pair("CUDA_PATH", "lib64/libno-such.so.12"),
                                   std::pair("CONDA_PREFIX", "lib/libno-such.so.13")}) {
    setenv(name, root.c_str(), 1);
    EXPECT_EQ(library_candidates(names, "{cu13,cublas}/lib"),
              (std::vector<std::string>{names[0], names[1], root / path}))
        << name;
    unsetenv(name);
  }
  fs::remove_all(root);
}

TEST(CudaRealLibrary, SaysThatThereIsNone) {
  EXPECT_THAT(message_of(load_cublaslt("libno-such-library.so.1").status()),
              HasSubstr("libno-such-library.so.1"));
  EXPECT_EQ(message_of(load_cublaslt("libm.so.6").status()), "libm.so.6 has no cublasLtGetVersion");
  // No library is for a driver as old as this, unless one is named.
  const absl::Status none = find_cublaslt(9000).status();
  if (environment_variable("SLUICE_CUBLASLT").empty()) {
    EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(message_of(none), HasSubstr("libcublasLt.so was not found"));
  }
}

// Without a device there is neither a handle nor an algorithm, but descriptors there are.
TEST(CudaRealLibrary, HasTheFunctionsAndTheAttributes) {
  const absl::StatusOr<const CublasLt*> found = find_cublaslt(13000);
  if (!found.ok()) GTEST_SKIP() << found.status();
  const CublasLt& library = **found;
  EXPECT_GE(library.get_version(), 120000u);
  constexpr LtStatus kSuccess = LtStatus::kSuccess;

  LtLayout layout = nullptr;
  ASSERT_EQ(library.layout_create(&layout, LtDataType::kFloat32, 3, 4, 5), kSuccess);
  const int32_t batch = 7;
  const int64_t batch_stride = 20;
  EXPECT_EQ(library.layout_set(layout, LtLayoutAttribute::kBatchCount, &batch, sizeof(batch)),
            kSuccess);
  EXPECT_EQ(library.layout_set(layout, LtLayoutAttribute::kBatchStride, &batch_stride,
                               sizeof(batch_stride)),
            kSuccess);
  EXPECT_EQ(library.layout_destroy(layout), kSuccess);

  LtOperation operation = nullptr;
  ASSERT_EQ(library.operation_create(&operation, LtCompute::kFloat32, LtDataType::kFloat32),
            kSuccess);
  const auto set = [&](LtOperationAttribute attribute, const auto& value) {
    EXPECT_EQ(library.operation_set(operation, attribute, static_cast<const void*>(&value),
                                    sizeof(value)),
              kSuccess);
  };
  set(LtOperationAttribute::kTransposeA, LtTranspose::kYes);
  set(LtOperationAttribute::kTransposeB, LtTranspose::kNo);
  set(LtOperationAttribute::kEpilogue, LtEpilogue::kReluBias);
  set(LtOperationAttribute::kBiasPointer, static_cast<const void*>(&batch));
  EXPECT_EQ(library.operation_destroy(operation), kSuccess);

  LtPreference preference = nullptr;
  ASSERT_EQ(library.preference_create(&preference), kSuccess);
  const uint64_t bytes = 1 << 20;
  EXPECT_EQ(library.preference_set(preference, LtPreferenceAttribute::kMaxWorkspaceBytes, &bytes,
                                   sizeof(bytes)),
            kSuccess);
  const uint32_t alignment = 16;
  for (const auto attribute :
       {LtPreferenceAttribute::kMinAlignmentA, LtPreferenceAttribute::kMinAlignmentB,
        LtPreferenceAttribute::kMinAlignmentC, LtPreferenceAttribute::kMinAlignmentD}) {
    EXPECT_EQ(library.preference_set(preference, attribute, &alignment, sizeof(alignment)),
              kSuccess);
  }
  EXPECT_EQ(library.preference_destroy(preference), kSuccess);
}

}  // namespace
}  // namespace sluice::kernels::cuda
