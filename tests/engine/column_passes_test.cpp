// Columns of any number, walked down once or several times: the bits of the interpreter.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/guarded_bytes.h"
#include "tests/support/interpreted_bits.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

struct ColumnOp {
  std::string name;
  Tensor (*f)(const Tensor& x, int axis);
};

const ColumnOp kOps[] = {
    {"sum", [](const Tensor& x, int axis) { return sum(x, axis); }},
    {"max", [](const Tensor& x, int axis) { return max(x, axis); }},
    {"argmax", [](const Tensor& x, int axis) { return argmax(x, axis); }},
    {"var", [](const Tensor& x, int axis) { return var(x, axis); }},
    // Their passes cache the exponentials, or compute them again in columns that are too long.
    {"softmax", [](const Tensor& x, int axis) { return softmax(x, axis); }},
    {"log_softmax", [](const Tensor& x, int axis) { return log_softmax(x, axis); }},
    {"logsumexp", [](const Tensor& x, int axis) { return logsumexp(x, axis); }},
    {"standardised", [](const Tensor& x,
                        int axis) { return (x - mean(x, axis, true)) / (std(x, axis, true) + 1); }},
    {"share of two",
     [](const Tensor& x, int axis) {
       const Tensor e = exp(x), t = tanh(x);
       return e * t / (sum(e, axis, true) + sum(t * t, axis, true));
     }},
};

TEST(ColumnPasses, HaveTheBitsOfTheInterpreter) {
  const ConfigGuard guard;
  const int64_t widths[] = {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 100, 300};
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16}) {
    for (const int64_t height : {1, 15, 40, 700}) {
      for (const int64_t width : widths) {
        manual_seed(3);
        const Tensor x = (randn({2, height, width}, dtype) * 4).eval();
        for (const ColumnOp& op : kOps) {
          const std::string what = op.name + " of " + std::string(name_of(dtype)) + " 2x" +
                                   std::to_string(height) + "x" + std::to_string(width);
          expect_bits_of_interpreted(what, [&] { return op.f(x, 1); });
        }
      }
    }
  }
}

TEST(ColumnPasses, OfColumnsThatNoCacheHolds) {
  const ConfigGuard guard;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const int64_t width : {5, 24, 70}) {
      manual_seed(4);
      const Tensor x = (randn({4500, width}, dtype) * 4).eval();
      for (const ColumnOp& op : kOps) {
        expect_bits_of_interpreted(op.name + std::to_string(width), [&] { return op.f(x, 0); });
      }
    }
  }
}

// Far columns are read row by row, and few of them one leaf after another: rows of a whole panel,
// of two that the last vector cuts, backwards, every second, and shorter.
TEST(ColumnPasses, OfFarColumns) {
  const ConfigGuard guard;
  struct Case {
    DType dtype;
    int64_t height, width;
  };
  const Case cases[] = {{DType::kFloat32, 17000, 150}, {DType::kFloat32, 2303, 1030},
                        {DType::kFloat64, 5001, 333},  {DType::kFloat16, 4099, 1999},
                        {DType::kInt8, 9001, 1001},    {DType::kFloat32, 700003, 7},
                        {DType::kFloat64, 300001, 10}, {DType::kFloat32, 32 * 1024 + 5, 64}};
  for (const auto& [dtype, height, width] : cases) {
    manual_seed(6);
    const Tensor x = astype(randn({height, width}) * 9, dtype).eval();
    const Tensor weights = astype(randn({width}) * 9, dtype).eval();
    const std::string what = std::string(name_of(dtype)) + to_string(x.shape());
    for (const ColumnOp& op : kOps) {
      if (op.name == "share of two") continue;
      expect_bits_of_interpreted(op.name + what, [&] { return op.f(x, 0); });
    }
    expect_bits_of_interpreted("backwards, " + what, [&] { return sum(x.flip(0) * weights, {0}); });
    expect_bits_of_interpreted("every second, " + what, [&] {
      return argmin(x.slice(0, 0, height, 2).slice(1, 0, width, 2), 0);
    });
    expect_bits_of_interpreted("of two, " + what, [&] { return max(x * x.flip(1), {0}); });
  }
}

// Vectors of few columns reach into the rows behind them, but not beyond the last.
TEST(ColumnPasses, NothingBesideFewColumnsIsRead) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  for (const DType dtype : {DType::kInt8, DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
    for (const int64_t width : {2, 3, 5, 7, 12, 15}) {
      for (const int64_t height : {64, 128, 129, 700, 40000}) {
        const Tensor x = astype(randint(-9, 9, {height, width}), dtype).eval();
        const Tensor weights = astype(randint(1, 9, {height, 1}), dtype).eval();
        for (const bool at_end : {false, true}) {
          const GuardedBytes memory(read_bytes(x), at_end);
          const Tensor y = Tensor::adopt(memory.data(), x.shape(), dtype);
          const std::string what = std::string(name_of(dtype)) + to_string(x.shape());
          EXPECT_EQ(read_bytes(sum(y, {0})), read_bytes(sum(x, {0}))) << what;
          EXPECT_EQ(read_bytes(max(y * weights, {0})), read_bytes(max(x * weights, {0}))) << what;
          EXPECT_EQ(read_bytes(min(y.flip(0), {0})), read_bytes(min(x.flip(0), {0}))) << what;
          sync();
        }
      }
    }
  }
}

// What is the same for a whole row of columns: an index, a weight, a condition.
TEST(ColumnPasses, OfValuesThatAllColumnsShare) {
  const ConfigGuard guard;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt8}) {
    for (const int64_t width : {3, 8, 17, 64, 100}) {
      manual_seed(5);
      const int64_t height = 700;
      const Tensor x = astype(randn({2, height, width}) * 4, dtype).eval();
      const Tensor rows = randint(-height, height, {300}).eval();
      const Tensor weights = astype(randn({height, 1}), dtype).eval();
      const std::string what = std::string(name_of(dtype)) + " of width " + std::to_string(width);
      expect_bits_of_interpreted("taken, " + what, [&] { return sum(take(x, rows, 1), 1); });
      expect_bits_of_interpreted("taken twice, " + what, [&] {
        return max(take(x, take(rows, abs(rows) % 300, 0), 1) + take(x, rows, 1), 1);
      });
      expect_bits_of_interpreted(
          "weighted, " + what, [&] { return sum(x * (exp(astype(weights, kFloat32)) / 3.f), 1); });
      expect_bits_of_interpreted("selected, " + what,
                                 [&] { return sum(where(weights > 0, x, weights), 1); });
      expect_bits_of_interpreted("standardised, " + what, [&] {
        const Tensor taken = astype(take(x, rows, 1), kFloat32) * 0.25f;
        return softmax(taken, 1) + argmax(taken, 1, true);
      });
      expect_bits_of_interpreted("scanned, " + what, [&] { return cumsum(take(x, rows, 1), 1); });
    }
  }
  config().compile = CompileMode::kBlocking;
  const Tensor wrong = sum(take(zeros({10, 20}), Tensor::from<int64_t>({3, -11, 10}), 0), 0);
  EXPECT_THROW(static_cast<void>(wrong.to_vector<float>()), Error);
}

}  // namespace
}  // namespace sluice::test
