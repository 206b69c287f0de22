// Reductions of rows of a few elements. Many such rows are unrolled, a few are not: results must be
// the same bits, in every layout, interpreted and compiled, and a kernel that reduces other axes
// too takes what it needs of them along.
#include <gtest/gtest.h>

#include "tests/support/interpreted_bits.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

constexpr int64_t kMany = 150;
constexpr int64_t kFew = 25;  // a divisor of kMany

struct RowOp {
  std::string name;
  Tensor (*f)(const Tensor& x, int axis);
};

Tensor normalised(const Tensor& x, int axis) {
  const Tensor centred = x - mean(x, axis, true);
  return centred / sqrt(mean(square(centred), axis, true) + 1e-3f);
}

const RowOp kRowOps[] = {
    {"sum", [](const Tensor& x, int axis) { return sum(x, axis); }},
    {"prod", [](const Tensor& x, int axis) { return prod(x, axis); }},
    {"max", [](const Tensor& x, int axis) { return max(x, axis); }},
    {"min", [](const Tensor& x, int axis) { return min(x, axis); }},
    {"any", [](const Tensor& x, int axis) { return any(x, axis); }},
    {"all", [](const Tensor& x, int axis) { return all(x, axis); }},
    {"argmax", [](const Tensor& x, int axis) { return argmax(x, axis); }},
    {"argmin", [](const Tensor& x, int axis) { return argmin(x, axis); }},
    {"softmax", [](const Tensor& x, int axis) { return softmax(x, axis); }},
    {"normalised", normalised},
    {"root", [](const Tensor& x, int axis) { return sqrt(sum(x * x, axis)) + 1; }},
};

// `op` of rows of `x` along `axis`, in one go and a few rows at a time.
void expect_same_bits(const RowOp& op, const Tensor& x, int axis) {
  const int rows = 1 - axis;
  const Tensor whole = op.f(x, axis);
  std::vector<Tensor> parts;
  for (int64_t row = 0; row < kMany; row += kFew) {
    parts.push_back(op.f(x.slice(rows, row, row + kFew), axis).eval());
  }
  const int along = whole.shape().rank() == 1 ? 0 : rows;
  EXPECT_EQ(read_bytes(whole), read_bytes(concat(parts, along)))
      << op.name << " of " << name_of(x.dtype()) << " " << to_string(x.shape()) << " along "
      << axis;
}

class ShortRows : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (default_device() != Device::cpu()) GTEST_SKIP() << "GPUs unroll no rows";
  }
};

TEST_P(ShortRows, HaveTheBitsOfFewRows) {
  const ConfigGuard guard;
  std::mt19937_64 rng(21);
  // Kernels of short integers take long to compile; those of unsigned ones differ little.
  const bool is_sampled = kind_of(GetParam()) == DTypeKind::kUnsigned;
  const std::vector<int64_t> lengths =
      is_sampled ? std::vector<int64_t>{7, 16} : std::vector<int64_t>{3, 7, 16, 19};
  for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
    config().compile = mode;
    for (const int64_t length : lengths) {
      const NdArray wide = random_array(rng, GetParam(), {kMany, length + 2}, 0.1);
      const Tensor sliced = to_tensor(wide).slice(1, 1, length + 1);
      const Tensor layouts[] = {sliced, (sliced + 0).eval(), sliced.T(),
                                (sliced.T() + 0).eval().T()};
      for (const RowOp& op : kRowOps) {
        for (const Tensor& x : layouts) expect_same_bits(op, x, x.shape()[0] == kMany ? 1 : 0);
      }
    }
  }
}

TEST_P(ShortRows, MatchTheOracle) {
  std::mt19937_64 rng(22);
  for (const int64_t length : {2, 3, 5, 8, 15, 27}) {
    const NdArray x = random_array(rng, GetParam(), {kMany, length}, 0.1);
    const NdArray y = random_array(rng, GetParam(), {kMany / 10, length, 10}, 0.1);
    for (const RowOp& op : kRowOps) {
      if (op.name == "softmax" || op.name == "normalised" || op.name == "root") continue;
      EXPECT_TRUE(matches(op.f(to_tensor(x), 1), oracle::reduce(op.name, x, {1}, false)))
          << op.name << length;
      EXPECT_TRUE(matches(op.f(to_tensor(y), 1), oracle::reduce(op.name, y, {1}, false)))
          << op.name << length;
    }
    EXPECT_TRUE(matches(softmax(to_tensor(x), 1), oracle::softmax(x, 1)));
  }
}

// Rows of less than a step of lanes, and what whole steps leave of others, are taken in parts.
TEST_P(ShortRows, EndAnywhereInAStep) {
  const ConfigGuard guard;
  std::mt19937_64 rng(25);
  constexpr int64_t kRows = 5;
  const RowOp ops[] = {
      {"max of multiples",
       [](const Tensor& x, int axis) { return max(x * x.slice(1, 0, 1), axis); }},
      {"max", [](const Tensor& x, int axis) { return max(x, axis); }},
      {"all", [](const Tensor& x, int axis) { return all(x, axis); }},
      {"argmax", [](const Tensor& x, int axis) { return argmax(x, axis); }},
      {"argmin", [](const Tensor& x, int axis) { return argmin(x, axis); }},
      {"softmax", [](const Tensor& x, int axis) { return softmax(x, axis); }},
      {"logsumexp", [](const Tensor& x, int axis) { return logsumexp(x, axis); }},
      {"powers", [](const Tensor& x, int axis) { return sum(pow(abs(x), 1.5f) * exp(x), axis); }},
      {"scaled", [](const Tensor& x, int axis) { return tanh(x) / max(abs(x), axis, true); }},
  };
  for (int64_t length = 14; length <= 70; ++length) {
    // Of its own memory, from which nothing else may be read; and unaligned, beside other elements.
    const NdArray wide = random_array(rng, GetParam(), {kRows, length + 2}, 0.02);
    const Tensor sliced = to_tensor(wide).slice(1, 1, length + 1);
    const Tensor layouts[] = {sliced, (sliced + 0).eval()};
    for (const RowOp& op : ops) {
      if (GetParam() == DType::kBool && (op.name == "powers" || op.name == "scaled")) continue;
      for (const Tensor& x : layouts) {
        const std::string what = op.name + " of " + std::string(name_of(x.dtype())) + ", rows of " +
                                 std::to_string(length);
        expect_bits_of_interpreted(what, [&] { return op.f(x, 1); });
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Reductions, ShortRows, testing::ValuesIn(all_dtypes()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// Forces between points: the distances are reduced along the coordinates, the forces along the
// points.
Tensor forces(const Tensor& points, const Tensor& masses) {
  const int64_t n = points.shape()[0];
  const Tensor d = reshape(points, {1, n, 3}) - reshape(points, {n, 1, 3});
  const Tensor r2 = sum(d * d, 2) + 1e-3f;
  const Tensor pull = masses / (r2 * sqrt(r2));
  return sum(d * reshape(pull, {n, n, 1}), 1);
}

TEST(ShortRowsOfAnotherReduction, AreUnrolledInItsKernel) {
  const ConfigGuard guard;
  std::mt19937_64 rng(23);
  const int64_t n = 50;
  const Tensor points = to_tensor(random_array(rng, DType::kFloat32, {n, 3}, 0));
  const Tensor masses = to_tensor(random_array(rng, DType::kFloat32, {n}, 0));
  sync();
  const Stats before = stats();
  const Tensor fused = forces(points, masses).eval();
  sync();
  const Stats after = stats();
  if (default_device() == Device::cpu()) {
    EXPECT_EQ(after.kernels_launched - before.kernels_launched, 1);
    EXPECT_EQ(after.bytes_written - before.bytes_written, n * 3 * 4);
  }
  config().fuse = false;
  EXPECT_EQ(read_bytes(fused), read_bytes(forces(points, masses)));
}

// What repeats an operand within rows is stored: its kernel packs the runs, and the rows are whole.
TEST(ShortRuns, AreNotWalkedByReductions) {
  if (default_device() != Device::cpu()) GTEST_SKIP() << "GPUs take what comes";
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  const Tensor windows = randn({6, 5, 9, 2, 8, 2}) > 0.f, g = randn({6, 5, 9, 1, 8, 1});
  const Tensor x = randn({6, 5, 18, 16});
  for (const Tensor* tensor : {&windows, &g, &x}) tensor->eval();
  const auto slope = [&] { return reshape(where(windows, g, 0.f), x.shape()); };
  const Tensor stored = slope();
  stored.eval();
  const auto expected = read_bytes(sum(stored * x, {0, 2, 3}));
  sync();
  reset_stats();
  EXPECT_EQ(read_bytes(sum(slope() * x, {0, 2, 3})), expected);
  EXPECT_EQ(stats().kernels_launched, 2);
  // Rows that nothing repeats in are one kernel, and so are few.
  reset_stats();
  read_bytes(sum(exp(x) * x, {0, 2, 3}));
  read_bytes(sum(where(windows, g, 0.f).slice(0, 0, 1), {2, 3, 4, 5}));
  EXPECT_EQ(stats().kernels_launched, 2);
}

TEST(ShortRowsOfAnotherReduction, MayBeHeld) {
  const ConfigGuard guard;
  std::mt19937_64 rng(24);
  const Tensor x = to_tensor(random_array(rng, DType::kFloat32, {40, 50, 3}, 0));
  auto program = [&] {
    const Tensor norms = sum(x * x, 2, true);
    const Tensor unit = x / sqrt(norms);
    return std::vector<Tensor>{norms, unit, sum(unit, 0), max(unit * 2, 1)};
  };
  const std::vector<Tensor> fused = program();
  for (const Tensor& t : fused) t.eval();
  config().fuse = false;
  const std::vector<Tensor> apart = program();
  for (size_t i = 0; i < fused.size(); ++i) EXPECT_EQ(read_bytes(fused[i]), read_bytes(apart[i]));
}

}  // namespace
}  // namespace sluice::test
