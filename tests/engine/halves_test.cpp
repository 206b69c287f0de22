// Ops of float16 against those of float32, rounded: processors that compute in float16 give the
// same bits, in both tiers, alone and fused.
#include <gtest/gtest.h>

#include <functional>
#include <iterator>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

constexpr int64_t kAll = 1 << 16;

float16 of_bits(uint32_t bits) {
  float16 value;
  value.bits = static_cast<uint16_t>(bits);
  return value;
}

// Every half: the i-th one is of the bits a i + b, for an odd a.
Tensor every_half(uint32_t a, uint32_t b) {
  std::vector<float16> values;
  for (uint32_t i = 0; i < kAll; ++i) values.push_back(of_bits(a * i + b));
  return Tensor::from(std::span<const float16>(values), {kAll});
}

// `count` of the halves where ops differ, over and over.
Tensor special_halves(int64_t count, int64_t each) {
  constexpr uint32_t kBits[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x83ff, 0x8400,
                                0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
                                0x7e00, 0xfe01, 0x7d01, 0x1400, 0x3800, 0xb801, 0x6400, 0x6801};
  std::vector<float16> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(of_bits(kBits[i / each % std::size(kBits)]));
  }
  return Tensor::from(std::span<const float16>(values), {count});
}

struct HalfOp {
  std::string name;
  std::function<Tensor(const Tensor& x, const Tensor& y)> f;
};

const HalfOp kUnary[] = {
    {"neg", [](const Tensor& x, const Tensor&) { return -x; }},
    {"abs", [](const Tensor& x, const Tensor&) { return abs(x); }},
    {"sign", [](const Tensor& x, const Tensor&) { return sign(x); }},
    {"square", [](const Tensor& x, const Tensor&) { return square(x); }},
    {"sqrt", [](const Tensor& x, const Tensor&) { return sqrt(x); }},
    {"reciprocal", [](const Tensor& x, const Tensor&) { return reciprocal(x); }},
    {"floor", [](const Tensor& x, const Tensor&) { return floor(x); }},
    {"ceil", [](const Tensor& x, const Tensor&) { return ceil(x); }},
    {"round", [](const Tensor& x, const Tensor&) { return round(x); }},
    {"trunc", [](const Tensor& x, const Tensor&) { return trunc(x); }},
    {"isnan", [](const Tensor& x, const Tensor&) { return isnan(x); }},
    {"isinf", [](const Tensor& x, const Tensor&) { return isinf(x); }},
    {"isfinite", [](const Tensor& x, const Tensor&) { return isfinite(x); }},
    {"relu", [](const Tensor& x, const Tensor&) { return relu(x); }},
    {"clip", [](const Tensor& x, const Tensor&) { return clip(x, -2, 3); }},
};

const HalfOp kBinary[] = {
    {"add", [](const Tensor& x, const Tensor& y) { return x + y; }},
    {"sub", [](const Tensor& x, const Tensor& y) { return x - y; }},
    {"mul", [](const Tensor& x, const Tensor& y) { return x * y; }},
    {"div", [](const Tensor& x, const Tensor& y) { return x / y; }},
    {"maximum", [](const Tensor& x, const Tensor& y) { return maximum(x, y); }},
    {"minimum", [](const Tensor& x, const Tensor& y) { return minimum(x, y); }},
    {"less", [](const Tensor& x, const Tensor& y) { return x < y; }},
    {"less_equal", [](const Tensor& x, const Tensor& y) { return x <= y; }},
    {"equal", [](const Tensor& x, const Tensor& y) { return x == y; }},
    {"not_equal", [](const Tensor& x, const Tensor& y) { return x != y; }},
    {"where", [](const Tensor& x, const Tensor& y) { return where(x < y, x + y, y); }},
};

// `op` of float32, rounded.
Tensor of_floats(const HalfOp& op, const Tensor& x, const Tensor& y) {
  Tensor result = op.f(x.astype(DType::kFloat32), y.astype(DType::kFloat32)).eval();
  return result.dtype() == DType::kBool ? result : result.astype(DType::kFloat16).eval();
}

void expect_rounded(const HalfOp& op, const Tensor& x, const Tensor& y) {
  config().compile = CompileMode::kOff;
  const std::vector<uint8_t> expected = read_bytes(of_floats(op, x, y));
  for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
    config().compile = mode;
    EXPECT_EQ(read_bytes(op.f(x, y)), expected) << op.name << " " << static_cast<int>(mode);
  }
}

TEST(Halves, EveryHalfOfUnaryOps) {
  const ConfigGuard guard;
  const Tensor x = every_half(1, 0);
  for (const HalfOp& op : kUnary) expect_rounded(op, x, x);
}

// Forms for float16 (kernels/math/float16.h) have other bits than those for float32.
TEST(Halves, FunctionsAreAlikeInBothTiers) {
  const ConfigGuard guard;
  const HalfOp functions[] = {
#define SLUICE_FLOAT16_FORM(id, function) \
  {#function, [](const Tensor& x, const Tensor&) { return function(x); }},
#include "kernels/math/float16_forms.def"
  };
  const Tensor x = every_half(1, 0);
  for (const HalfOp& op : functions) {
    config().compile = CompileMode::kOff;
    const std::vector<uint8_t> expected = read_bytes(op.f(x, x));
    config().compile = CompileMode::kBlocking;
    EXPECT_EQ(read_bytes(op.f(x, x)), expected) << op.name;
  }
}

TEST(Halves, PairsOfBinaryOps) {
  const ConfigGuard guard;
  const Tensor x = every_half(1, 0);
  std::vector<Tensor> others;
  for (uint32_t k = 0; k < 24; ++k)
    others.push_back(every_half(2654435761u * (2 * k + 1), 977 * k));
  const Tensor y = concat(others, 0).eval();
  const Tensor xs = concat(std::vector<Tensor>(others.size(), x), 0).eval();
  for (const HalfOp& op : kBinary) expect_rounded(op, xs, y);
}

TEST(Halves, SpecialPairsOfBinaryOps) {
  const ConfigGuard guard;
  const Tensor x = special_halves(24 * 24 + 5, 1), y = special_halves(24 * 24 + 5, 24);
  for (const HalfOp& op : kBinary) {
    expect_rounded(op, x, y);
    // Broadcast, and in another order of lanes.
    expect_rounded(op, x.slice(0, 0, 576).reshape({24, 24}),
                   y.slice(0, 0, 576).reshape({24, 24}).T());
    expect_rounded(op, x.slice(0, 0, 24).reshape({24, 1}), y.slice(0, 0, 576).reshape({24, 24}));
  }
}

// Of a program of several ops: fused and not, in both tiers.
void expect_alike(const HalfOp& program, const Tensor& x, const Tensor& y) {
  config().compile = CompileMode::kOff;
  config().fuse = false;
  const std::vector<uint8_t> expected = read_bytes(program.f(x, y));
  for (const bool fuse : {false, true}) {
    for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
      config().fuse = fuse;
      config().compile = mode;
      EXPECT_EQ(read_bytes(program.f(x, y)), expected)
          << program.name << fuse << static_cast<int>(mode);
    }
  }
}

// Each op rounds, and what is computed in float32 among them gets what was rounded.
TEST(Halves, FusedProgramsRoundAfterEveryOp) {
  const ConfigGuard guard;
  expect_alike({"chain",
                [](const Tensor& a, const Tensor& b) {
                  const Tensor product = a * b + a;
                  const Tensor e = exp(minimum(abs(product), 3)) - b;
                  return where(e < product, e * 0.3f, sqrt(abs(e)) / (product - 0.1f));
                }},
               every_half(1, 0), every_half(40503, 12345));
}

// Where registers are few, what conditions read is in memory.
TEST(Halves, ConditionsOfConditions) {
  const ConfigGuard guard;
  const Tensor x = every_half(1, 0), y = every_half(40503, 12345);
  expect_alike({"greater",
                [](const Tensor& a, const Tensor& b) {
                  const Tensor size = log(where(a > 0, a, 1)) - b;
                  return where((a > 0) & (b > -7), size, -5) + 1;
                }},
               x, y);
  expect_alike({"less or equal",
                [](const Tensor& a, const Tensor& b) {
                  const Tensor size = log(where(a >= 0, a, 1)) - b;
                  return where((a <= 3) & (b <= 7) & (b >= a), size, where(b < 1, a, b));
                }},
               x, y);
}

// The extremes of float32 are those of float16.
TEST(Halves, ExtremesOfRowsAndColumns) {
  const ConfigGuard guard;
  const HalfOp extremes[] = {
      {"max", [](const Tensor& x, const Tensor& axis) { return max(x, axis.item<int>()); }},
      {"min", [](const Tensor& x, const Tensor& axis) { return min(x, axis.item<int>()); }},
      {"argmax", [](const Tensor& x, const Tensor& axis) { return argmax(x, axis.item<int>()); }},
      {"argmin", [](const Tensor& x, const Tensor& axis) { return argmin(x, axis.item<int>()); }},
  };
  for (const int64_t length : {1, 2, 5, 17, 28, 31, 32, 33, 63, 64, 100, 513, 1500, 9001}) {
    const int64_t count = length * 37;
    std::vector<float16> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(of_bits(2654435761u * (i + 1) >> 8));
    // NaN in some rows only, and zeros of both signs.
    for (int64_t i = 0; i < count; ++i) {
      if (i / length % 3 != 0 && std::isnan(float(values[i]))) values[i] = of_bits(i % 2 << 15);
    }
    const Tensor rows = Tensor::from(std::span<const float16>(values), {37, length});
    const Tensor zeros = where(rows < 0.f, rows, rows * 0.f).eval();
    for (const Tensor& x : {rows, (rows + 0).eval().T(), zeros}) {
      for (const HalfOp& op : extremes) {
        for (const int axis : {0, 1}) {
          const Tensor along = Tensor::from({axis});
          config().compile = CompileMode::kOff;
          const Tensor wide = op.f(x.astype(DType::kFloat32).eval(), along).eval();
          const std::vector<uint8_t> expected =
              read_bytes(wide.dtype() == DType::kFloat32 ? wide.astype(DType::kFloat16) : wide);
          for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
            config().compile = mode;
            EXPECT_EQ(read_bytes(op.f(x, along)), expected)
                << op.name << " " << to_string(x.shape()) << " " << axis << " "
                << static_cast<int>(mode);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice::test
