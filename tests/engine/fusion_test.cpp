// What is fused, what never has memory, what never runs: by the engine's own counters.
#include <gtest/gtest.h>

#include "kernels/compiled/compiler.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

constexpr int64_t kCount = 1000;
constexpr int64_t kBytes = kCount * sizeof(float);

Tensor leaf(int64_t count = kCount, float first = 0.25f) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = first + 0.001f * static_cast<float>(i);
  return Tensor::from(values);
}

class Fusion : public testing::Test {
 protected:
  void SetUp() override {
    config().compile = CompileMode::kOff;
    sync();
    reset_stats();
  }
  ConfigGuard guard_;
};

TEST_F(Fusion, ComposedMishIsOneKernelWithoutTemporaries) {
  const Tensor x = leaf();
  reset_stats();
  const int64_t before = stats().bytes_live;
  const Tensor y = x * tanh(log1p(exp(x)));
  static_cast<void>(y.to_vector<float>());
  const Stats s = stats();
  EXPECT_EQ(s.ops_recorded, 4);
  EXPECT_EQ(s.ops_executed, 4);
  EXPECT_EQ(s.kernels_launched, 1);
  EXPECT_EQ(s.temporaries_elided, 3);
  EXPECT_EQ(s.bytes_elided, 3 * kBytes);
  EXPECT_EQ(s.bytes_read, kBytes);
  EXPECT_EQ(s.bytes_written, kBytes);
  // The output and nothing else, but for the allocator's rounding.
  EXPECT_GE(s.bytes_allocated_peak - before, kBytes);
  EXPECT_LT(s.bytes_allocated_peak - before, 2 * kBytes);
}

TEST_F(Fusion, TwoProductsAndTheirSumAreOneKernel) {
  const Tensor w = leaf(), x = leaf(), y = leaf(), z = leaf();
  reset_stats();
  static_cast<void>(add(mul(w, x), mul(y, z)).to_vector<float>());
  EXPECT_EQ(stats().kernels_launched, 1);
  EXPECT_EQ(stats().temporaries_elided, 2);
}

TEST_F(Fusion, AProductOfOneTermIsMadeWhereItIsRead) {
  const Tensor column = Tensor::from({1.f, -2.f, 3.f}).reshape({3, 1});
  const Tensor row = Tensor::from({5.f, 7.f}).reshape({1, 2});
  sync();
  reset_stats();
  const Tensor y = 1.f - matmul(column, row);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{-4, -6, 11, 15, -14, -20}));
  EXPECT_EQ(stats().library_calls, 0);
  EXPECT_EQ(stats().kernels_launched, 1);
}

TEST_F(Fusion, ATemporaryReadFiveTimesIsComputedOnce) {
  const Tensor x = leaf();
  Tensor y;
  {
    const Tensor t = exp(x);
    y = (t + 1.f) * (t - 2.f) + t * t + sqrt(t);
  }
  reset_stats();
  static_cast<void>(y.to_vector<float>());
  EXPECT_EQ(stats().kernels_launched, 1);
  EXPECT_EQ(stats().bytes_written, kBytes);
}

TEST_F(Fusion, TwoHeldResultsOfOneTemporary) {
  const Tensor a = leaf(), v = leaf();
  Tensor p, q;
  {
    const Tensor t = a + v;
    p = exp(t);
    q = t * 2;
  }
  reset_stats();
  sync();
  EXPECT_EQ(stats().kernels_launched, 1);
  EXPECT_EQ(stats().bytes_written, 2 * kBytes);
  EXPECT_EQ(stats().temporaries_elided, 1);
  EXPECT_EQ(p.to_vector<float>().size(), size_t{kCount});
  EXPECT_EQ(stats().kernels_launched, 1);
}

TEST_F(Fusion, ThreeHeldResults) {
  const Tensor a = leaf(), v = leaf();
  const Tensor t = a + v;
  const Tensor p = exp(t);
  const Tensor q = t * 2;
  reset_stats();
  sync();
  EXPECT_EQ(stats().kernels_launched, 1);
  EXPECT_EQ(stats().bytes_written, 3 * kBytes);
  EXPECT_EQ(stats().temporaries_elided, 0);
  EXPECT_EQ(q.to_vector<float>()[3], t.to_vector<float>()[3] * 2);
}

TEST_F(Fusion, AResultNobodyReadsNeverRuns) {
  const Tensor x = leaf();
  reset_stats();
  static_cast<void>(exp(x) + 3);
  { const Tensor dropped = sum(sqrt(x)); }
  sync();
  EXPECT_EQ(stats().ops_recorded, 4);
  EXPECT_EQ(stats().ops_executed, 0);
  EXPECT_EQ(stats().kernels_launched, 0);
}

// Few such ops among many stay in the window, and its plan leaves them out.
TEST_F(Fusion, FewResultsNobodyReadsAreLeftOutOfThePlan) {
  const Tensor x = leaf();
  const auto record_step = [&] {
    Tensor y = x;
    for (int i = 0; i < 50; ++i) y = y * x - 1;
    { const Tensor dropped = sum(sqrt(y + 1)); }
    return sum(y);
  };
  {
    const Tensor z = record_step();
    sync();
  }
  reset_stats();
  const Tensor z = record_step();
  sync();
  EXPECT_EQ(stats().ops_recorded, 104);
  EXPECT_EQ(stats().ops_executed, 101);
  EXPECT_EQ(stats().kernels_launched, 1);
  EXPECT_EQ(stats().plan_hits, 1);
  EXPECT_EQ(stats().temporaries_elided, 100);
  EXPECT_TRUE(z.is_materialized());
}

TEST_F(Fusion, AReadRunsWhatItNeedsAlone) {
  const Tensor x = leaf();
  const Tensor a = exp(x);
  const Tensor b = sin(x.slice(0, 0, 10));
  reset_stats();
  static_cast<void>(b.to_vector<float>());
  EXPECT_TRUE(b.is_materialized());
  EXPECT_FALSE(a.is_materialized());
  EXPECT_LE(stats().kernels_launched, 2);
  const int64_t launched = stats().kernels_launched;
  static_cast<void>(b.to_vector<float>());
  EXPECT_EQ(stats().kernels_launched, launched);
}

TEST_F(Fusion, CastsAreFused) {
  const Tensor x = leaf();
  reset_stats();
  static_cast<void>(
      (astype(x, DType::kFloat64) * 2.0 + 1.0).astype(DType::kFloat16).to_vector<float16>());
  EXPECT_EQ(stats().kernels_launched, 1);
  EXPECT_EQ(stats().bytes_written, kCount * 2);
}

TEST_F(Fusion, RandomNumbersAreMadeWhereTheyAreRead) {
  const Tensor x = leaf();
  reset_stats();
  static_cast<void>((rand({kCount}) * 2 + x).to_vector<float>());
  EXPECT_EQ(stats().kernels_launched, 1);
  EXPECT_EQ(stats().bytes_written, kBytes);
}

TEST_F(Fusion, FilledTensorsTakeNoMemory) {
  const Tensor x = leaf();
  reset_stats();
  static_cast<void>((x + ones({kCount}) + arange(kCount) + zeros_like(x)).to_vector<float>());
  EXPECT_EQ(stats().kernels_launched, 1);
  EXPECT_EQ(stats().bytes_read, kBytes);
}

TEST_F(Fusion, AReductionTakesItsPrologueIn) {
  const Tensor x = leaf(100000);
  reset_stats();
  static_cast<void>(sum(x * x).item<float>());
  EXPECT_LE(stats().kernels_launched, 2);
  EXPECT_EQ(stats().temporaries_elided, 1);
  EXPECT_EQ(stats().bytes_elided, 400000);
  reset_stats();
  const Tensor rows = x.reshape({100, 1000});
  static_cast<void>(sum(exp(rows - max(rows, 1, true)), 1).to_vector<float>());
  EXPECT_LE(stats().kernels_launched, 2);
}

TEST_F(Fusion, LongRowsSideBySideThatFillNoVectorAreReducedByKernelsOfOnePass) {
  const auto kernels = [](const Shape& shape, int axis) {
    const Tensor x = rand(shape).eval();
    sync();
    reset_stats();
    static_cast<void>(softmax(x, axis).to_vector<float>());
    return stats().kernels_launched;
  };
  EXPECT_EQ(kernels({4000, 4}, 0), 3);  // the greatest, the sum, the quotients
  EXPECT_EQ(kernels({5, 4000, 2}, 1), 3);
  EXPECT_EQ(kernels({1000, 4}, 0), 1);
  EXPECT_EQ(kernels({4000, 16}, 0), 1);
  EXPECT_EQ(kernels({4, 4000}, 1), 1);
  EXPECT_EQ(kernels({4000, 1}, 0), 1);
}

TEST_F(Fusion, SumsOfLongRowsAndWhatFollowsThemAreOneKernel) {
  for (const Shape& shape : {Shape{4000, 4}, Shape{3, 70'000}}) {
    const int axis = shape[0] > shape[1] ? 0 : 1;
    const Tensor x = rand(shape).eval(), w = rand(shape).eval();
    sync();
    reset_stats();
    const Tensor mean = (sum(x * w, axis) / sum(w, axis)).eval();
    EXPECT_EQ(stats().kernels_launched, 1);
    // The second pass is another kernel.
    reset_stats();
    const Tensor centred = x - expand_dims(mean, axis);
    static_cast<void>((sum(x * w, axis) / sum(square(centred), axis)).to_vector<float>());
    EXPECT_EQ(stats().kernels_launched, 1);
    reset_stats();
    const Tensor again = x - sum(x * w, axis, true) / sum(w, axis, true);
    static_cast<void>(sum(square(again), axis).to_vector<float>());
    EXPECT_EQ(stats().kernels_launched, 2);
  }
}

TEST_F(Fusion, WithoutFusionEveryOpIsAKernel) {
  const Tensor x = leaf();
  config().fuse = false;
  reset_stats();
  const Tensor y = x * tanh(log1p(exp(x)));
  static_cast<void>(y.to_vector<float>());
  EXPECT_EQ(stats().ops_recorded, 4);
  EXPECT_EQ(stats().kernels_launched, 4);
  EXPECT_EQ(stats().temporaries_elided, 0);
}

TEST_F(Fusion, TheSecondTimeIsPlannedAndCompiledAlready) {
  config().compile = CompileMode::kBlocking;
  const auto work = [](float scalar) {
    const Tensor x = leaf();
    const Tensor y = (x * scalar + 1.f) / (x + scalar);
    return sum(y).item<float>();
  };
  work(1.5f);
  work(2.5f);
  reset_stats();
  for (int i = 0; i < 10; ++i) work(3.f + static_cast<float>(i));
  EXPECT_EQ(stats().plan_misses, 0);
  EXPECT_EQ(stats().compiles, 0);
  EXPECT_GE(stats().plan_hits, 10);
  // Without a compiler there is the interpreter.
  const bool compiles = kernels::llvm_available() || default_device() != Device::cpu();
  if (compiles) {
    EXPECT_EQ(stats().generic_tier_launches, 0);
  }
}

TEST_F(Fusion, CompiledKernelsAreShared) {
  config().compile = CompileMode::kBlocking;
  const Tensor x = leaf(1237), y = leaf(55);
  static_cast<void>(cosh(x * 3.25f - 7.f).to_vector<float>());
  reset_stats();
  // Another size and other scalars: a new plan, the same kernel.
  static_cast<void>(cosh(y * 9.f - 1.f).to_vector<float>());
  EXPECT_EQ(stats().compiles, 0);
}

TEST_F(Fusion, DistinctOperandsAreNotTakenForOneOperandTwice) {
  config().compile = CompileMode::kBlocking;
  const Tensor x = leaf(100, 2.f), y = leaf(100, 3.f);
  const std::vector<float> square = (x * x - 1).to_vector<float>();
  const std::vector<float> product = (x * y - 1).to_vector<float>();
  EXPECT_EQ(square[0], 3.f);
  EXPECT_EQ(product[0], 5.f);
}

TEST_F(Fusion, CommonSubexpressionsAreComputedOnce) {
  const Tensor x = leaf();
  const Tensor y = exp(x) + 1, z = exp(x) * 2;
  reset_stats();
  sync();
  EXPECT_EQ(stats().kernels_launched, 1);
  EXPECT_EQ(y.to_vector<float>()[0], (exp(x) + 1).to_vector<float>()[0]);
}

TEST_F(Fusion, ADyingOperandsMemoryIsNotTakenFromAViewOfIt) {
  // The view holds the memory though the handle it was made from is gone.
  Tensor x = leaf(100) + 1.f;
  x.eval();
  const Tensor view = x.reshape({10, 10});
  view.eval();
  const std::vector<float> before = x.to_vector<float>();
  x = Tensor();
  const Tensor y = sqrt(view) * 2;
  static_cast<void>(y.to_vector<float>());
  EXPECT_EQ(view.to_vector<float>(), before);
}

TEST_F(Fusion, ALongChainNeitherOverflowsTheStackNorGrowsWithIt) {
  Tensor x = full({16}, 1.f);
  for (int i = 0; i < 100000; ++i) x = x + 1.f;
  EXPECT_EQ(x.to_vector<float>()[5], 100001.f);
}

TEST_F(Fusion, TheTraceNamesOpsAndReasons) {
  const Tensor x = leaf(16).reshape({4, 4});
  trace::start();
  {
    const Tensor y = matmul(exp(x) * 2, x);
    static_cast<void>(sum(y / 3.f).item<float>());
  }
  trace::stop();
  const std::string text = trace::to_text();
  for (const char* word : {"exp", "mul", "matmul", "div", "sum", "kernel"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << " in\n" << text;
  }
  // The library reads its operand from memory, and that is why the product goes there.
  const size_t reason = text.find("not fused");
  ASSERT_NE(reason, std::string::npos) << text;
  const std::string line = text.substr(reason, text.find('\n', reason) - reason);
  EXPECT_NE(line.find("mul"), std::string::npos) << line;
  EXPECT_NE(line.find("library"), std::string::npos) << line;
  EXPECT_FALSE(trace::to_json().empty());
  EXPECT_NE(trace::to_dot().find("digraph"), std::string::npos);
}

TEST_F(Fusion, FusingChangesNoBits) {
  std::mt19937_64 rng(2);
  const Tensor x = to_tensor(random_array(rng, DType::kFloat16, {333}, 0.2));
  const auto work = [&] { return read_bytes((sigmoid(x * 3.f) - x) * x + sum(abs(x) * 0.001f)); };
  const auto fused = work();
  config().fuse = false;
  EXPECT_EQ(work(), fused);
  config().fuse = true;
  config().compile = CompileMode::kBlocking;
  EXPECT_EQ(work(), fused);
}

// Large enough for results to be stored past the caches, and of no round size.
TEST_F(Fusion, LargeResultsAreRight) {
  constexpr int64_t kCount = (9 << 20) + 37;
  const Tensor x = arange(kCount).astype(DType::kFloat32);
  sync();
  config().compile = CompileMode::kBlocking;
  const std::vector<float> y = (x * 2.f - 1.f).to_vector<float>();
  for (int64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(y[i], 2.f * static_cast<float>(i) - 1.f) << i;
  }
}

TEST_F(Fusion, TransposedOperandsOfAllSizesAreReadByTiles) {
  config().compile = CompileMode::kBlocking;
  std::mt19937_64 rng(4);
  for (const DType dtype : {DType::kBool, DType::kInt16, DType::kBFloat16, DType::kFloat64}) {
    const Tensor x = to_tensor(random_array(rng, dtype, {3, 141, 2, 307}, 0.1));
    // The axis of unit stride in turn before each of the others.
    for (const std::vector<int>& order :
         {std::vector<int>{0, 3, 2, 1}, {3, 0, 1, 2}, {1, 3, 0, 2}}) {
      const auto work = [&] { return read_bytes(where(permute(x, order) > 0, 1, 3) + 1); };
      config().fuse = true;
      const auto tiled = work();
      config().compile = CompileMode::kOff;
      EXPECT_EQ(work(), tiled) << name_of(dtype);
      config().compile = CompileMode::kBlocking;
    }
  }
}

// Every op is observed, so each is stored, and no kernel can have them all.
TEST_F(Fusion, AGroupThatIsTooLargeIsSplit) {
  constexpr int kOps = 5000, kInputs = 200;
  std::vector<Tensor> inputs;
  for (int i = 0; i < kInputs; ++i) inputs.push_back(leaf(64) * (0.01f * static_cast<float>(i)));
  sync();
  const auto work = [&] {
    std::vector<Tensor> kept;
    Tensor x = inputs[0];
    for (int i = 0; i < kOps; ++i) {
      const Tensor& y = inputs[i * 7 % kInputs];
      x = i % 4 == 0 ? x + y : i % 4 == 1 ? x * y : i % 4 == 2 ? maximum(x, y) : tanh(x) - y;
      kept.push_back(x);
    }
    sync();
    std::vector<std::vector<uint8_t>> bytes;
    for (size_t i = 0; i < kept.size(); i += 100) bytes.push_back(read_bytes(kept[i]));
    bytes.push_back(read_bytes(kept.back()));
    return bytes;
  };
  config().fuse = false;
  const auto expected = work();
  config().fuse = true;
  config().compile = CompileMode::kBlocking;
  const Stats before = stats();
  EXPECT_EQ(work(), expected);
  EXPECT_LE(stats().kernels_launched - before.kernels_launched, 2 * kOps / 64);
  EXPECT_LE(stats().compiles - before.compiles, kOps / 64);
}

// What a step reads several times is read several times by each step before it, too.
TEST_F(Fusion, AChainOfStencilsIsOneKernelAStep) {
  constexpr int kSteps = 60;
  const auto work = [&] {
    Tensor x = leaf(4096).reshape({64, 64});
    for (int i = 0; i < kSteps; ++i) {
      x = (roll(x, 1, 0) + roll(x, -1, 0) + roll(x, 1, 1) + roll(x, -1, 1)) * 0.25f;
    }
    return read_bytes(x);
  };
  config().fuse = false;
  const auto expected = work();
  config().fuse = true;
  reset_stats();
  EXPECT_EQ(work(), expected);
  EXPECT_LE(stats().kernels_launched, kSteps);
}

TEST_F(Fusion, FastMathIsOptInAndClose) {
  config().compile = CompileMode::kBlocking;
  const Tensor x = leaf(1000) * 0.01f - 5.f;
  const auto mish_by_hand = [&] { return (x * tanh(log1p(exp(x)))).to_vector<float>(); };
  const std::vector<float> exact = mish_by_hand();
  config().fast_math = true;
  const std::vector<float> fast = mish_by_hand();
  config().fast_math = false;
  EXPECT_EQ(mish_by_hand(), exact);
  EXPECT_NE(fast, exact);
  for (size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(fast[i], exact[i], 1e-5f) << i;
}

}  // namespace
}  // namespace sluice::test
