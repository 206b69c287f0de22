// Validation: programs without a fault pass and give what they gave; a fault is found and named.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <source_location>
#include <thread>

#include <sluice/trace.h>
#include "absl/strings/str_cat.h"
#include "kernels/cache/cache.h"
#include "kernels/compiled/compiler.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using Code = ErrorCode;
using fusion::Op;
using Tensors = std::vector<Tensor>;
using Program = std::function<Tensors()>;

// "validate_test.cpp:12", called on line 11.
std::string next_line(std::source_location where = std::source_location::current()) {
  return absl::StrCat("validate_test.cpp:", where.line() + 1);
}

Tensor ramp(const Shape& shape, DType dtype = DType::kFloat32) {
  return astype(reshape(arange(0, shape.numel(), 1, DType::kFloat32), shape) * 0.01f - 0.7f, dtype);
}

class ValidateTest : public testing::Test {
 protected:
  void SetUp() override {
    sync();
    config().compile = CompileMode::kBlocking;
    config().validate = Validate::kAll;
  }
  void TearDown() override {
    config().validate = Validate::kOff;
    EXPECT_NO_THROW(sync());
  }

  static std::vector<std::vector<uint8_t>> run(const Program& program, Validate validate) {
    config().validate = validate;
    manual_seed(3);
    std::vector<std::vector<uint8_t>> values;
    for (const Tensor& tensor : program()) values.push_back(read_bytes(tensor));
    return values;
  }

  // No error, and the same bits as without validation, whatever compiles and fuses.
  static void passes(const Program& program, Validate validate = Validate::kAll) {
    const ConfigGuard guard;
    for (const bool fuse : {true, false}) {
      for (const CompileMode mode :
           {CompileMode::kBlocking, CompileMode::kAsync, CompileMode::kOff}) {
        config().fuse = fuse;
        config().compile = mode;
        const auto expected = run(program, Validate::kOff);
        EXPECT_EQ(run(program, validate), expected);
      }
    }
  }

  ConfigGuard guard_;
};

TEST_F(ValidateTest, EveryElementwiseOpPasses) {
  std::mt19937_64 rng(1);
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt32, DType::kBool}) {
    const Tensor a = to_tensor(random_array(rng, dtype, {7, 9}, 0.3));
    const Tensor b = to_tensor(random_array(rng, dtype, {9}, 0.3));
    Tensors results;
    for (const UnaryOp& op : unary_ops()) {
      if (!is_operator(op.name) && oracle::types_of(op.name, {dtype})) results.push_back(op.f(a));
    }
    for (const BinaryOp& op : binary_ops()) {
      if (!is_operator(op.name) && oracle::types_of(op.name, {dtype, dtype}))
        results.push_back(op.f(a, b));
    }
    EXPECT_GT(results.size(), 10u);
    config().validate = Validate::kBits;
    EXPECT_NO_THROW(sync()) << name_of(dtype);
  }
}

TEST_F(ValidateTest, ReductionsPass) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const Tensor x = ramp({5, 3, 40}, dtype);
    passes([&]() -> Tensors {
      return {sum(exp(x)),          max(x * x, 1),         softmax(x),
              logsumexp(x, {0, 2}), argmin(abs(x), 2),     std(x, 0),
              var(x, {1, 2}),       prod(x, {0, 1}, true), any(x > 1.f)};
    });
  }
  passes([] { return Tensors{sum(ramp({3, 100'000}), 1), mean(ramp({2000, 3}), 0)}; });
}

TEST_F(ValidateTest, ViewsAndIndexingPass) {
  const Tensor x = ramp({6, 8});
  const Tensor i = Tensor::from({5, -1, 0, 2}, {4});
  passes([&]() -> Tensors {
    const Tensor y = exp(x);
    return {transpose(y),
            reshape(transpose(y), {4, 12}),
            flip(y, 0) + 1.f,
            slice(y, 1, -1, -9, -2),
            broadcast_to(slice(y, 0, 0, 1), {3, 2, 8}),
            pad(y, {{1, 2}, {0, 3}}, 4.f),
            concat({y, roll(y, 3, 1)}, 1),
            take(y, i, 0),
            take_along_axis(y, argmax(y, 1, true), 1),
            tril(y),
            tile(x, {2, 1}),
            slice(x, 0, 2, 2),
            astype(x, DType::kInt8)};
  });
}

TEST_F(ValidateTest, ProductsPass) {
  const Tensor a = ramp({3, 16, 24}), b = ramp({24, 5});
  passes([&]() -> Tensors {
    return {matmul(a, b), relu(matmul(exp(a), b) + 1.f), matmul(transpose(b), ramp({24, 24}))};
  });
}

TEST_F(ValidateTest, RandomNumbersAndChoicesPass) {
  passes([]() -> Tensors {
    const Tensor r = randn({300});
    return {r, rand({10, 10}), randint(-5, 5, {70}), where(r > 0.f, r, exp(r)), clip(r, -1.f, 1.f)};
  });
}

TEST_F(ValidateTest, LoopsOfManyWindowsPass) {
  config().window_ops = 50;
  passes([] {
    Tensor x = ramp({64});
    for (int i = 0; i < 40; ++i) x = x * 0.9f + sin(x) * 0.1f;
    return Tensors{x};
  });
}

TEST_F(ValidateTest, ReadsInTheMiddlePass) {
  passes([] {
    const Tensor x = ramp({30});
    const Tensor later = exp(x) + 1.f;
    Tensor y = sqrt(abs(x) + 1.f);
    const float total = sum(y).item<float>();
    y += total;
    const Tensor z = y.eval() * later;
    return Tensors{y, z, later};
  });
}

TEST_F(ValidateTest, WhatAnotherThreadRecordedPasses) {
  passes([] {
    Tensor x;
    std::thread([&] { x = exp(ramp({20})); }).join();
    return Tensors{x * 2.f};
  });
}

TEST_F(ValidateTest, FastMathMayDifferWhereItFuses) {
  config().fast_math = true;
  passes([] {
    const Tensor x = ramp({100});
    return Tensors{x * tanh(log1p(exp(x))), x * 3.f + 1.f};
  });
}

TEST_F(ValidateTest, EmptyTensorsPass) {
  passes([] { return Tensors{exp(ramp({0, 3})), sum(ramp({0, 3}), 0), transpose(ramp({0, 3}))}; });
}

// ---- What the run itself reports.

TEST_F(ValidateTest, IndicesOutOfRangeAreReportedAsEver) {
  const Tensor x = ramp({4});
  const Tensor bad = take(exp(x), Tensor::from({1, 9}), 0);
  const Tensor reader = bad + 1.f, good = x * 2.f;
  EXPECT_TRUE(
      fails_with([&] { return reader.to_vector<float>(); }, Code::kOutOfRange, {"take", "9"}));
  EXPECT_EQ(good.to_vector<float>(), (x + x).to_vector<float>());
  // Its value is an input that cannot be had.
  EXPECT_TRUE(
      fails_with([&] { return exp(bad).to_vector<float>(); }, Code::kOutOfRange, {"take", "9"}));
  EXPECT_NO_THROW(sync());
}

// ---- NaN.

TEST_F(ValidateTest, TheOpThatMakesANanIsNamed) {
  Tensor x = zeros({3, 4}) + 2.f;
  x = x - pad(full({1, 1}, 3.f), {{1, 1}, {2, 1}});
  const auto program = [&](std::string* where) {
    const Tensor y = (x * 1.f + 0.f) * 1.f;
    *where = next_line();
    const Tensor z = log(y);
    return sqrt(exp(z)) + y;
  };
  std::string where;
  trace::start();
  Tensor result = program(&where);
  trace::stop();
  const auto read = [&] { return result.to_vector<float>(); };
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_TRUE(fails_with(
        read, Code::kInvalidArgument,
        {"validate: log (", "float32(3, 4)", where, "element (1, 2) is NaN of operands without one",
         "operand 0: -1 (0xbf800000)"}));
  }
  config().validate = Validate::kBits;
  EXPECT_NO_THROW(read());
}

TEST_F(ValidateTest, NansOfOperandsAreNoOrigins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::from({1.f, nan, 3.f, -2.f}, {2, 2});
  passes([&] {
    return Tensors{x * 2.f,
                   sum(x),
                   matmul(x, x),
                   x + nan,
                   exp(full({3}, nan)),
                   max(x, 0),
                   broadcast_to(x, {3, 2, 2}) - 1.f,
                   isnan(x)};
  });
  // The other elements of an element-wise op are held to it all the same.
  EXPECT_TRUE(fails_with([&] { return sqrt(x).to_vector<float>(); }, Code::kInvalidArgument,
                         {"sqrt", "element (1, 1)", "-2 (0xc0000000)"}));
}

TEST_F(ValidateTest, OpsOfManyElementsMakeNansToo) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from({1.f, 2.f, inf, -inf}, {2, 2});
  EXPECT_TRUE(fails_with([&] { return sum(x, 1).to_vector<float>(); }, Code::kInvalidArgument,
                         {"sum", "element 1 is NaN", "operand 0: float32(2, 2) from -inf to inf"}));
  EXPECT_TRUE(fails_with(
      [&] {
        return (Tensor::from({2.f, inf}) * 0.f).to_vector<float>();
      },
      Code::kInvalidArgument, {"mul", "element 1", "operand 0: inf", "operand 1: 0 (0x00000000)"}));
  passes([&] { return Tensors{exp(x), sum(x, 0)}; }, Validate::kBits);
}

// ---- Planted faults. A kernel is compiled once for the process, so each test has programs that no
// other has.

fusion::Program replace(fusion::Program program, Op op, Op by) {
  for (fusion::Instr& instr : program.body) {
    if (instr.op == op) instr.op = by;
  }
  return program;
}
fusion::Program sin_for_tanh(const fusion::Program& program) {
  return replace(program, Op::kTanh, Op::kSin);
}
fusion::Program sinh_for_asinh_in_company(const fusion::Program& program) {
  return program.body.size() < 5 ? program : replace(program, Op::kAsinh, Op::kSinh);
}
fusion::Program min_for_max(const fusion::Program& program) {
  return replace(program, Op::kMax, Op::kMin);
}

class PlantedTest : public ValidateTest {
 protected:
  void SetUp() override {
    ValidateTest::SetUp();
    if (!kernels::llvm_available() || Tensor::from({1.f}).device() != Device::cpu()) {
      GTEST_SKIP() << "plants faults in what LLVM compiles";
    }
    trace::start();
  }
  void TearDown() override {
    trace::stop();
    kernels::compile_instead = nullptr;
    ValidateTest::TearDown();
  }

  // All zeros, which odd functions keep, but for element 7.
  static Tensor one_at_7() { return pad(full({1}, 0.5, DType::kFloat64), {{7, 12}}).eval(); }
};

TEST_F(PlantedTest, AnOpAlone) {
  kernels::compile_instead = sin_for_tanh;
  const Tensor x = one_at_7().named("x");
  const std::string where = next_line();
  const Tensor y = tanh(x).named("hidden");
  EXPECT_TRUE(fails_with(
      [&] { return y.to_vector<double>(); }, Code::kDataLoss,
      {"validate: tanh (`hidden`, t1 float64(20,), " + where + "): element 7 is 0.479425538604203",
       "compiled and 0.4621171572600097", "interpreted; operand 0: 0.5 (0x3fe0"}));
  // The engine goes on, and runs what it was told to.
  config().validate = Validate::kOff;
  EXPECT_EQ(y.to_vector<double>()[7], std::sin(0.5));
}

TEST_F(PlantedTest, AnOpAmongTen) {
  kernels::compile_instead = sin_for_tanh;
  const Tensor x = one_at_7();
  Tensor y = x * 2.0 + 0.25;
  y = abs(y) - 0.25;
  y = y / 2.0;
  const std::string where = next_line();
  y = tanh(y);
  y = exp(y) * 3.0 + 1.0;
  y = -y;
  const Tensor total = sum(y);
  EXPECT_TRUE(fails_with([&] { return total.item<double>(); }, Code::kDataLoss,
                         {"validate: tanh (t", where, "element 7 is 0.479", "operand 0: 0.5 "}));
  config().compile = CompileMode::kOff;
  EXPECT_NO_THROW(static_cast<void>(total.item<double>()));
}

// Each op by itself is right: only the fused kernel is not.
TEST_F(PlantedTest, AKernelOfTen) {
  kernels::compile_instead = sinh_for_asinh_in_company;
  const Tensor x = one_at_7();
  const Tensor other = x + 1.0;
  Tensor y = asinh(x) * 2.0;
  y = exp(y) + x;
  y = sqrt(abs(y)) - 1.0;
  y = y * 3.0;
  const std::string where = next_line();
  y = y / 7.0;
  for (const CompileMode mode : {CompileMode::kBlocking, CompileMode::kAsync}) {
    config().compile = mode;
    EXPECT_TRUE(fails_with([&] { return y.to_vector<double>(); }, Code::kDataLoss,
                           {"validate: div (t", where, "element 7 is ",
                            " compiled in the kernel asinh+mul+exp+add+abs+sqrt+sub+mul+div and ",
                            " interpreted op by op"}));
  }
  EXPECT_EQ(other.to_vector<double>()[7], 1.5);  // still pending until now
}

// What goes from kernel to kernel is looked at too: the reader is not to blame.
TEST_F(PlantedTest, AKernelWhoseResultNobodyHolds) {
  kernels::compile_instead = sinh_for_asinh_in_company;
  const Tensor x = reshape(astype(one_at_7(), DType::kFloat32), {4, 5}).eval();
  const Tensor y = matmul((asinh(x) + 1.f) * 3.f - 0.5f, ramp({5, 2}));
  EXPECT_TRUE(fails_with(
      [&] { return y.to_vector<float>(); }, Code::kDataLoss,
      {"validate: sub (t", "element (1, 2) is ", "compiled in the kernel asinh+add+mul+sub and "}));
}

TEST_F(PlantedTest, AReduction) {
  kernels::compile_instead = min_for_max;
  const Tensor x = reshape(one_at_7(), {4, 5});
  const std::string where = next_line();
  const Tensor y = exp(max(x, 1));
  EXPECT_TRUE(fails_with([&] { return y.to_vector<double>(); }, Code::kDataLoss,
                         {"validate: max (t", where, "element 1 is 0 ", "0.5 (0x3fe",
                          "operand 0: float64(4, 5) from 0 to 0.5"}));
}

TEST_F(PlantedTest, WhatNeverRunsCompiledIsNotCompiled) {
  kernels::compile_instead = [](const fusion::Program& program) {
    return replace(program, Op::kErfc, Op::kErf);
  };
  config().compile = CompileMode::kOff;
  EXPECT_NO_THROW(static_cast<void>(erfc(one_at_7()).to_vector<double>()));
}

// ---- Off.

TEST_F(ValidateTest, OffRunsNothingMore) {
  const auto cost = [](Validate validate, int64_t count) {
    const Tensor x = ramp({count}, DType::kInt16);
    x.eval();
    config().validate = validate;
    sync();
    reset_stats();
    static_cast<void>(((x * 5 - 3) * x).to_vector<int16_t>());
    return stats();
  };
  const Stats off = cost(Validate::kOff, 40);
  EXPECT_EQ(off.kernels_launched, 1);
  if (kernels::llvm_available() && off.compiles > 0) {
    EXPECT_EQ(off.compiles, 1);
    EXPECT_EQ(cost(Validate::kBits, 40).compiles, 3);  // each op alone
  }
  // The counters are the program's: shadow runs are not counted.
  const Stats on = cost(Validate::kAll, 50);
  EXPECT_EQ(on.kernels_launched, 1);
  EXPECT_EQ(on.windows, 1);
  EXPECT_EQ(on.temporaries_elided, 2);
}

}  // namespace
}  // namespace sluice::test
