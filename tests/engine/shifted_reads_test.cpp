// Operands that begin a few elements after one another, as the taps of a filter do: compiled code
// reads whole vectors of the first and shifts the others out of them.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/guarded_bytes.h"
#include "tests/support/interpreted_bits.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// The sum of `taps` slices along the last axis, `step` elements apart, each with a weight.
Tensor filtered(const Tensor& x, int64_t taps, int64_t step) {
  const int64_t length = x.shape(-1) - (taps - 1) * step;
  Tensor sum;
  for (int64_t k = 0; k < taps; ++k) {
    const Tensor term = (k + 1) * x.slice(-1, k * step, k * step + length);
    sum = k == 0 ? term : sum + term;
  }
  return sum;
}

Tensor blurred(const Tensor& x) {
  return filtered(filtered(x, 3, 1).swapaxes(0, 1), 3, 1).swapaxes(0, 1);
}

// All nine neighbours in one kernel.
Tensor sum_around(const Tensor& x) {
  Tensor sum;
  for (int64_t i = 0; i < 3; ++i) {
    const Tensor rows = x.slice(0, i, x.shape(0) - 2 + i);
    const Tensor term = filtered(rows, 3, 1);
    sum = i == 0 ? term : sum + term;
  }
  return sum;
}

TEST(ShiftedReads, HaveTheBitsOfInterpretedOnes) {
  const ConfigGuard guard;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt16, DType::kInt8,
                            DType::kInt64, DType::kFloat16}) {
    for (const int64_t length : {70, 128, 131, 200, 1000}) {
      const Tensor x = astype(randn({37, length}) * 9.f, dtype).eval();
      const std::string what = std::string(name_of(dtype)) + ", " + std::to_string(length);
      for (const int64_t taps : {2, 3, 4, 9, 17}) {
        for (const int64_t step : {1, 2, 5}) {
          if (taps * step >= length) continue;
          expect_bits_of_interpreted(what, [&] { return filtered(x, taps, step); });
        }
      }
      expect_bits_of_interpreted(what, [&] { return sum_around(x); });
      expect_bits_of_interpreted(what, [&] { return blurred(x); });
      // Of lines of all rows.
      expect_bits_of_interpreted(what, [&] { return filtered(x.reshape({-1}), 5, 1); });
    }
  }
}

// The plan of operands that are parts of one array serves those of others as well.
TEST(ShiftedReads, WhereOperandsAreElsewhere) {
  const ConfigGuard guard;
  constexpr int64_t kLength = 1000;
  const Tensor x = randn({3, kLength + 40}).eval(), y = randn({3, kLength + 40}).eval();
  const auto sum = [&](const Tensor& a, int64_t i, const Tensor& b, int64_t j, const Tensor& c,
                       int64_t k) {
    return a.slice(1, i, i + kLength) + 2 * b.slice(1, j, j + kLength) - c.slice(1, k, k + kLength);
  };
  const struct {
    const Tensor& a;
    int64_t i;
    const Tensor& b;
    int64_t j;
    const Tensor& c;
    int64_t k;
  } cases[] = {{x, 0, x, 1, x, 2}, {x, 0, x, 2, x, 1}, {x, 0, x, 1, y, 2},   {y, 0, x, 1, x, 2},
               {x, 3, x, 3, x, 5}, {x, 9, x, 4, x, 4}, {x, 0, x, 20, x, 40}, {x, 2, x, 1, x, 0}};
  for (const auto& [a, i, b, j, c, k] : cases) {
    expect_bits_of_interpreted(
        std::to_string(i) + " " + std::to_string(j) + " " + std::to_string(k),
        [&] { return sum(a, i, b, j, c, k); });
  }
  // Rows of other lengths, so that what followed in the row no longer does.
  const Tensor wide = randn({3, kLength + 3}).eval();
  expect_bits_of_interpreted("rows", [&] { return sum_around(wide); });
  expect_bits_of_interpreted("rows", [&] { return sum_around(wide.slice(1, 0, kLength)); });
}

TEST(ShiftedReads, NothingBesideTheOperandsIsRead) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  for (const DType dtype : {DType::kInt8, DType::kInt16, DType::kFloat32, DType::kFloat64}) {
    for (const int64_t length : {70, 127, 128, 129, 150, 300}) {
      const Tensor x = astype(randint(-9, 9, {5, length}), dtype).eval();
      for (const bool at_end : {false, true}) {
        const GuardedBytes memory(read_bytes(x), at_end);
        const Tensor y = Tensor::adopt(memory.data(), x.shape(), dtype);
        for (const int64_t taps : {3, 5, 9}) {
          EXPECT_EQ(read_bytes(filtered(y, taps, 1)), read_bytes(filtered(x, taps, 1)));
          EXPECT_EQ(read_bytes(filtered(y.reshape({-1}), taps, 1)),
                    read_bytes(filtered(x.reshape({-1}), taps, 1)));
        }
        EXPECT_EQ(read_bytes(sum_around(y)), read_bytes(sum_around(x)));
        sync();
      }
    }
  }
}

}  // namespace
}  // namespace sluice::test
