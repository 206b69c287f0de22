// Our own kernels of matrix products, compiled for the host, on an emulated device.
//
// If SLUICE_NVRTC names a libnvrtc.so, they are also compiled by it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fusion/ir/epilogue_ops.h"
#include "kernels/cuda/library/products/matmul.h"
#include "kernels/gpu/emit/emit.h"
#include "kernels/gpu/run/call.h"
#include "tests/cuda/cuda_products.h"
#include "tests/cuda/fake_cublaslt.h"
#include "tests/support/program_builder.h"

namespace sluice::kernels::cuda {
namespace {

using test::FakeCublasLt;
using ::testing::HasSubstr;

constexpr uint64_t kSeeds = 20;

class CudaMatmulTest : public ::testing::Test {
 protected:
  Rig rig;
  TestCompiler compiler;
  MatmulRunner own{&rig.device().context(), &compiler, nullptr};
};

// The tile that the device takes, by its number.
size_t tile_of(const Product& product) {
  std::vector<Epilogue> epilogues;
  return choose_tile(product.shape(&epilogues), 132);
}

TEST_F(CudaMatmulTest, SumsInTheOrderOfK) {
  const std::vector<Product> products = {
      {1, 1, 1, 1},
      {1, 1, 1, 1000},                               // a dot product
      {1, 1, 100, 70},                               // a row and a matrix
      {1, 100, 1, 70},                               // a matrix and a column
      {1, 7, 9, 1},                                  // an outer product
      {1, 16, 16, 64},                               // whole tiles
      {1, 17, 15, 65},                               // and not
      {3, 33, 31, 129},                              // batches
      {2, 5, 4, 0},                                  // nothing to add up
      {133, 40, 36, 18},                             // the tile of 64 by 64
      {133, 34, 3, 70},                              // 64 by 16
      {67, 3, 70, 5},                                // 16 by 64
      {33, 129, 130, 19},                            // 128 by 128
      {1, 5, 6, 7, {0, -7, 1}, {0, 6, -1}},          // backwards
      {4, 5, 6, 7, {35, 1, 5}, {42, 1, 7}},          // transposed
      {4, 20, 18, 33, {0, 33, 1}, {594, 18, 1}},     // one a for all of a batch
      {4, 20, 18, 33, {660, 33, 1}, {0, 18, 1}},     // one b: rows of one batch
      {4, 1, 18, 33, {33, 5, 1}, {0, 18, 1}},        // likewise, and a row stride for nothing
      {4, 20, 18, 33, {700, 33, 1}, {0, 18, 1}},     // one b, but a has gaps
      {2, 9, 8, 40, {1000, 3, 27}, {2000, -27, 3}},  // gaps everywhere
      {2, 9, 8, 40, {1, 1, 1}, {1, 2, 1}},           // windows that overlap
      {2, 9, 8, 5, {0, 0, 0}, {0, 0, 0}},            // one element
      {2, 9, 8, 5, {-45, 5, 1}, {-40, 0, 1}},
      {33, 129, 129, 17, {17 * 129, 1, 129}, {17 * 129, 1, 17}},  // large tiles, transposed
  };
  std::set<size_t> tiles;
  for (const Product& product : products) {
    tiles.insert(tile_of(product));
    const std::vector<float> result = run(&rig, &own, product);
    expect_exact(result, product.in_order(), product.name());
    expect_near(result, product);
  }
  EXPECT_EQ(tiles.size(), kMatmulTiles.size());
  EXPECT_EQ(compiler.calls, static_cast<int>(kMatmulTiles.size()));
}

// Products for tensor cores: whole tiles and not, batches, all orders in memory, vectors that are
// aligned and not.
std::vector<Product> tensor_products() {
  return {
      {1, 1, 1, 1},
      {1, 7, 9, 0},                                         // nothing to add up
      {1, 16, 16, 64},                                      // a tile
      {1, 20, 24, 40},                                      // rows of vectors
      {1, 21, 19, 33},                                      // and not
      {3, 33, 31, 50},                                      // batches
      {1, 5, 100, 70},                                      // 16 by 128
      {1, 150, 3, 70},                                      // 128 by 16
      {33, 129, 136, 48},                                   // 128 by 128
      {33, 129, 130, 19},                                   // likewise
      {2, 72, 80, 64, {64 * 72, 1, 72}, {64 * 80, 1, 64}},  // transposed
      {2, 72, 80, 64, {64 * 72, 64, 1}, {64 * 80, 1, 64}},  // b
      {2, 72, 80, 64, {64 * 72, 1, 72}, {64 * 80, 80, 1}},  // a
      {1, 5, 6, 7, {0, -7, 1}, {0, 6, -1}},                 // backwards
      {2, 9, 8, 40, {1000, 3, 27}, {2000, -27, 3}},         // gaps everywhere
      {4, 20, 18, 33, {0, 33, 1}, {594, 18, 1}},            // one a for all of a batch
      {4, 20, 24, 32, {640, 32, 1}, {0, 24, 1}},            // one b
  };
}

TEST_F(CudaMatmulTest, MultipliesHalvesOnTensorCores) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (Product& product : tensor_products()) {
      product.as(dtype);
      const std::vector<float> result = run(&rig, &own, product);
      expect_exact(result, product.in_order(), product.name());
      expect_near(result, product);
    }
  }
  Product wide(1, 21, 19, 33, {{Op::kAdd, true}, {Op::kRelu}});
  expect_near(run(&rig, &own, wide.as(DType::kFloat16, DType::kFloat32)), wide);
}

TEST_F(CudaMatmulTest, RoundsToTf32WhereThatIsAllowed) {
  for (Product& product : tensor_products()) {
    product.as_tf32();
    const std::vector<float> result = run(&rig, &own, product);
    expect_exact(result, product.in_order(), product.name());
    expect_near(result, product);
  }
  Product product(1, 20, 20, 20, {{Op::kAdd, true}, {Op::kGelu}});
  expect_near(run(&rig, &own, product.as_tf32()), product);
}

TEST_F(CudaMatmulTest, ALongDepthIsSplitAsTheShapeSays) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (const auto& [m, n, k] : {std::tuple{3, 5, 1100}, {2, 40, 2500}}) {
      Product product(1, m, n, k);
      product.as(dtype);
      std::vector<Epilogue> epilogues;
      EXPECT_LT(split_depth(product.shape(&epilogues)), k);
      expect_exact(run(&rig, &own, product), product.in_order(), product.name());
    }
  }
  Product product(1, 3, 5, 1100, {{Op::kAdd, true}, {Op::kTanh}});
  expect_near(run(&rig, &own, product), product);
  expect_near(run(&rig, &own, product.as_tf32()), product);
  // Of what makes a device busy, or is short, nothing.
  for (const auto& [m, n, k] : {std::tuple{4096, 4096, 4096}, {64, 64, 1000}, {0, 3, 5000}}) {
    Matmul x;
    x.m = m;
    x.n = n;
    x.k = k;
    EXPECT_TRUE(m == 0 || split_depth(x) == k) << m;
  }
}

TEST_F(CudaMatmulTest, HasStrangeFloats) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float strange[] = {0.f,    -0.f,    1e-30f,   -1e-30f,   1e38f,         -1e38f,
                           1e-45f, -1e-45f, infinity, -infinity, std::nanf(""), -2.f};
  for (const int64_t k : {3, 70}) {
    Product product(1, 20, 20, k);
    size_t next = 0;
    for (Elements* elements : {&product.a, &product.b}) {
      for (float& x : elements->memory) x = strange[next++ * 7 % 12];
    }
    // A sum of -0: what lies past the end of k must not make 0 of it.
    for (int64_t j = 0; j < k; ++j) {
      product.a.memory[j] = -1e-30f;
      product.b.memory[j * product.n] = 1e-30f;
    }
    const std::vector<float> expected = product.in_order();
    EXPECT_TRUE(expected[0] == 0 && std::signbit(expected[0]));
    expect_exact(run(&rig, &own, product), expected, product.name());
  }
}

TEST_F(CudaMatmulTest, IsNothingWithoutElements) {
  for (const Product& product : {Product(0, 3, 4, 5), Product(2, 0, 4, 5), Product(2, 3, 0, 5)}) {
    std::vector<Epilogue> epilogues;
    const Matmul x = product.shape(&epilogues);
    const auto stream = rig.stream();
    auto outcome = std::make_shared<Outcome>();
    test::submit(
        stream.get(), [&] { return own.enqueue(stream.get(), x, "nothing"); }, outcome);
    EXPECT_TRUE(outcome->run.ok()) << outcome->run;
    EXPECT_TRUE(own.is_ready(x));
    EXPECT_TRUE(own.prepare(x).ok());
  }
  EXPECT_EQ(compiler.calls, 0);
  EXPECT_EQ(rig.emulator.kernels_run(), 0);
}

TEST_F(CudaMatmulTest, AppliesEpiloguesInOrder) {
  for (const std::vector<Link>& links : kChains) {
    expect_near(run(&rig, &own, Product(2, 21, 19, 10, links)), Product(2, 21, 19, 10, links));
    // Of no product.
    expect_near(run(&rig, &own, Product(1, 3, 5, 0, links)), Product(1, 3, 5, 0, links));
  }
  // By the large tile, and of batches that are one.
  const Product large(33, 129, 129, 3, {{Op::kAdd, true}, {Op::kGelu}, {Op::kAdd, false}});
  expect_near(run(&rig, &own, large), large);
  const Product one_b(4, 20, 18, 5, {100, 5, 1}, {0, 18, 1}, {{Op::kAdd, true}, {Op::kAdd, false}});
  expect_near(run(&rig, &own, one_b), one_b);
}

// y = op(x), by a kernel of the op's own.
std::vector<float> apply(Rig* rig, Compiler* compiler, Op op, std::vector<float> x) {
  const auto n = static_cast<int64_t>(x.size());
  const auto stream = rig->stream();
  float* const there = rig->allocate(rig->device().copies().upload_stream(), n);
  const Event written = rig->upload(there, x);
  testing::ProgramBuilder b(fusion::Schedule::kPointwise, {n});
  const fusion::ValueId loaded = b.load(b.access(there, {1}));
  b.store(b.op(op, {loaded}), b.access(there, {1}));
  const Kernel kernel{"pointwise", {&b.program()}};
  const auto code = compiler->compile(emit({&kernel, 1}), /*contracts=*/false);
  EXPECT_TRUE(code.ok()) << code.status();
  const auto module = *runtime::cuda::Module::load(&rig->device().context(), code->image.c_str());
  const runtime::cuda::Function function = *module->function("pointwise");
  const KernelArgs args = b.args();
  const Geometry geometry = geometry_of(b.program(), args.extents, 132);
  std::vector<uint64_t> words(num_words(b.program()));
  pack_call(b.program(), geometry, args, 0, nullptr, words.data());
  runtime::cuda::KernelLaunch launch;
  launch.function = function.handle;
  launch.grid[0] = static_cast<uint32_t>(geometry.num_blocks(0));
  launch.block[0] = kThreads;
  launch.params = {reinterpret_cast<const std::byte*>(words.data()), 8 * words.size()};
  const Event made = test::submit(stream.get(), [&] { return stream->launch(launch, "pointwise"); },
                                  nullptr, {written});
  std::vector<float> y = rig->download(there, n, made);
  rig->device().wait_for_all();
  rig->device().allocator().free(there);
  return y;
}

TEST_F(CudaMatmulTest, AnEpilogueHasTheBitsOfTheOp) {
  for (const Op op : {Op::kRelu, Op::kGelu, Op::kTanh, Op::kSigmoid, Op::kSilu}) {
    const auto make = [](std::vector<Link> links) {
      Product product(1, 40, 50, 3, std::move(links));
      product.a.memory[0] = std::nanf("");
      product.a.memory[3] = std::numeric_limits<float>::infinity();
      return product;
    };
    const std::vector<float> expected = apply(&rig, &compiler, op, run(&rig, &own, make({})));
    expect_exact(run(&rig, &own, make({{op}})), expected, fusion::name_of(op));
  }
}

TEST(CudaMatmulTiles, KeepTheDeviceBusy) {
  const auto choose = [](int64_t batch, int64_t m, int64_t n, int multiprocessors = 132) {
    Matmul x;
    x.batch = batch;
    x.m = m;
    x.n = n;
    const MatmulTile& tile = kMatmulTiles[choose_tile(x, multiprocessors)];
    return std::make_pair(tile.rows, tile.columns);
  };
  EXPECT_EQ(choose(1, 4096, 4096), std::make_pair(128, 128));
  EXPECT_EQ(choose(1, 1024, 1024), std::make_pair(64, 64));
  EXPECT_EQ(choose(1, 1024, 1024, 40), std::make_pair(128, 128));
  EXPECT_EQ(choose(1, 1024, 256), std::make_pair(64, 16));
  EXPECT_EQ(choose(1, 8, 65536), std::make_pair(16, 64));
  EXPECT_EQ(choose(1, 8, 1024), std::make_pair(16, 16));
  EXPECT_EQ(choose(1, 1, 1), std::make_pair(16, 16));
  EXPECT_EQ(choose(1000, 128, 128), std::make_pair(128, 128));
}

TEST(CudaMatmulOrder, StreamsWaitForOneAnother) {
  TestCompiler compiler;
  // (x w + row) w, each product on a stream of its own; by our kernels, then by the library, which
  // leaves the gelu and asks for memory.
  for (uint64_t seed = 1; seed <= 2 * kSeeds; ++seed) {
    Rig rig(seed);
    FakeCublasLt fake(&rig);
    fake.workspace_bytes = 5000;
    MatmulRunner runner(&rig.device().context(), &compiler,
                        seed > kSeeds ? FakeCublasLt::table() : nullptr);
    const Product first(1, 24, 24, 24, {{Op::kAdd, true}, {Op::kGelu}});
    Product second(1, 24, 24, 24);
    std::copy_n(first.exact().begin(), 24 * 24, second.a.memory.begin());
    const auto p = rig.stream(), q = rig.stream();
    auto outcomes = std::vector{std::make_shared<Outcome>(), std::make_shared<Outcome>()};
    {
      Placed x(&rig, p.get(), first), y(&rig, q.get(), second);
      Matmul chained = y.matmul();
      chained.a = x.matmul().c;
      const Event made = x.submit(p.get(), &runner, outcomes[0]);
      std::vector<Event> after = y.written();
      after.push_back(made);
      const Event done = test::submit(
          q.get(), [&] { return runner.enqueue(q.get(), chained, "second"); }, outcomes[1], after);
      expect_near(y.result(done), second);
    }
    for (const auto& outcome : outcomes) EXPECT_TRUE(outcome->run.ok()) << outcome->run;
  }
}

// ---- Failures.

TEST_F(CudaMatmulTest, ARefusedLaunchNamesTheProduct) {
  const Product product(1, 20, 20, 20);
  std::vector<Epilogue> epilogues;
  ASSERT_TRUE(own.prepare(product.shape(&epilogues)).ok());
  EXPECT_TRUE(own.is_ready(product.shape(&epilogues)));
  const auto stream = rig.stream();
  Placed placed(&rig, stream.get(), product);
  auto outcome = std::make_shared<Outcome>();
  const Event made = test::submit(
      stream.get(),
      [&] {
        rig.emulator.fail_call(1, runtime::cuda::Result::kLaunchOutOfResources);
        return own.enqueue(stream.get(), placed.matmul(), product.name());
      },
      outcome, placed.written());
  stream->wait(made.ticket);
  EXPECT_EQ(message_of(outcome->run),
            "matmul float32[1, 20, 20, 20]: cuLaunchKernelEx: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES "
            "(as the emulator has it)");
  expect_exact(placed.result(placed.submit(stream.get(), &own, outcome)), product.in_order(),
               "after it");
}

TEST_F(CudaMatmulTest, AFailureOnTheDeviceNamesTheProduct) {
  const Product product(1, 20, 20, 20);
  const auto stream = rig.stream();
  Placed placed(&rig, stream.get(), product);
  rig.emulator.fail_kernel(1, runtime::cuda::Result::kIllegalAddress);
  auto outcome = std::make_shared<Outcome>();
  stream->wait(placed.submit(stream.get(), &own, outcome).ticket);
  EXPECT_EQ(outcome->failed, 1);
  ASSERT_NE(outcome->failure, nullptr);
  EXPECT_THAT(message_of(outcome->failure->status), HasSubstr(product.name()));
}

TEST(CudaMatmulFaults, EveryCallOfTheDriverMayFail) {
  TestCompiler compiler;
  const Product product(1, 20, 20, 20, {{Op::kAdd, true}, {Op::kTanh}});
  for (const bool by_library : {false, true}) {
    for (int64_t n = 1;; ++n) {
      Rig rig;
      rig.expects_misuse = true;
      FakeCublasLt fake(&rig);
      fake.workspace_bytes = 100;
      const auto stream = rig.stream();
      MatmulRunner runner(&rig.device().context(), &compiler,
                          by_library ? FakeCublasLt::table() : nullptr);
      Placed placed(&rig, stream.get(), product);
      auto outcome = std::make_shared<Outcome>();
      int64_t calls = 0;
      const Event made = test::submit(
          stream.get(),
          [&] {
            const int64_t before = rig.emulator.calls();
            rig.emulator.fail_call(n, runtime::cuda::Result::kNotPermitted);
            const absl::Status status =
                runner.enqueue(stream.get(), placed.matmul(), product.name());
            calls = rig.emulator.calls() - before;
            return status;
          },
          outcome, placed.written());
      stream->wait(made.ticket);
      if (outcome->run.ok() && !rig.device().context().poisoned()) {
        expect_near(placed.result(made), product);
      }
      if (n > calls) break;
    }
  }
}

TEST_F(CudaMatmulTest, WhatTheCompilerRefusesIsNotTriedAgain) {
  const Product product(1, 20, 20, 20);
  std::vector<Epilogue> epilogues;
  const Matmul x = product.shape(&epilogues);
  compiler.refuses = "SL_KERNEL(matmul_16x16,";
  const absl::Status status = own.prepare(x);
  EXPECT_EQ(message_of(status), "kernel matmul_16x16: the text is not to its taste");
  EXPECT_EQ(own.prepare(x), status);
  EXPECT_FALSE(own.is_ready(x));
  EXPECT_EQ(compiler.calls, 1);
  // Another kernel is none of its business.
  const Product other(1, 20, 20, 20, {{Op::kRelu}});
  expect_near(run(&rig, &own, other), other);
}

TEST_F(CudaMatmulTest, WhatTheDriverDoesNotLoadIsTriedAgain) {
  const Product product(1, 20, 20, 20);
  std::vector<Epilogue> epilogues;
  rig.emulator.fail_call(2, runtime::cuda::Result::kInvalidImage);
  const absl::Status status = own.prepare(product.shape(&epilogues));
  EXPECT_THAT(message_of(status), HasSubstr("kernel matmul_16x16: cuModuleLoadDataEx"));
  EXPECT_TRUE(own.prepare(product.shape(&epilogues)).ok());
}

TEST_F(CudaMatmulTest, ManyThreadsCompileOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Product product(1, 20, 20, 20);
      expect_exact(run(&rig, &own, product), product.in_order(), product.name());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiler.calls, 1);
}

TEST_F(CudaMatmulTest, TakesNoMoreEpiloguesThanThereIsRoomFor) {
  const Product product(1, 2, 2, 2, std::vector<Link>(fusion::kMaxEpilogues + 1, {Op::kRelu}));
  const auto stream = rig.stream();
  Placed placed(&rig, stream.get(), product);
  auto outcome = std::make_shared<Outcome>();
  stream->wait(placed.submit(stream.get(), &own, outcome).ticket);
  EXPECT_EQ(message_of(outcome->run), absl::StrCat(product.name(), ": a product with 5 epilogues"));
}

// ---- The real compiler.

TEST(CudaMatmulRealNvrtc, NoRegisterIsSpilled) {
  const char* named = std::getenv("SLUICE_NVRTC");
  if (named == nullptr || *named == '\0') GTEST_SKIP() << "SLUICE_NVRTC is not set";
  constexpr DType kFloat = DType::kFloat32;
  std::vector<std::string> texts;
  for (const DType dtype : {kFloat, DType::kFloat16, DType::kBFloat16}) {
    texts.push_back(matmul_finish_text(dtype));
    for (const MatmulTile& tile : kMatmulTiles) texts.push_back(matmul_text(dtype, tile, false));
    for (const TensorTile& tile : kTensorTiles) {
      for (const bool a : {false, true}) {
        for (const bool b : {false, true}) {
          texts.push_back(matmul_tensor_text(dtype, tile, a, b));
        }
      }
    }
  }
  for (const MatmulTile& tile : kMatmulTiles) texts.push_back(matmul_text(kFloat, tile, true));
  texts.push_back(matmul_finish_text(DType::kFloat64));
  for (const MatmulTile& tile : kMatmulTiles) {
    if (!has_strips(tile, DType::kFloat64)) continue;
    texts.push_back(matmul_text(DType::kFloat64, tile, false));
  }
  for (const int architecture : {80, 90, 100}) {
    const auto compiler = make_nvrtc_compiler(architecture, 13000);
    for (const std::string& text : texts) {
      const absl::StatusOr<CompiledCode> code = compiler->compile(text, /*contracts=*/false);
      ASSERT_TRUE(code.ok()) << code.status();
      ASSERT_EQ(code->kernels.size(), 1u);
      EXPECT_GT(code->kernels[0].registers, 0);
      EXPECT_EQ(code->kernels[0].spill_bytes, 0) << code->log;
      EXPECT_EQ(code->kernels[0].stack_bytes, 0) << code->log;
      EXPECT_LE(code->kernels[0].shared_bytes, 48 << 10);
    }
  }
}

}  // namespace
}  // namespace sluice::kernels::cuda
