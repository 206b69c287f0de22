// Runs of elements of all lengths, which kernels take in whole vectors and what these leave: they
// have the bits of interpreted ones.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "tests/support/interpreted_bits.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// The ends of rows are stored under masks.
TEST(Runs, OfLongBodies) {
  const ConfigGuard guard;
  std::mt19937_64 rng(33);
  for (const DType dtype : all_dtypes()) {
    for (int64_t length = 1; length <= 70; length += length < 20 ? 1 : 7) {
      const Tensor x = to_tensor(random_array(rng, dtype, {5, length}, 0.1));
      const Tensor row = to_tensor(random_array(rng, dtype, {length}, 0.1));
      const Tensor of_row = to_tensor(random_array(rng, dtype, {5, 1}, 0.1));
      const auto f = [&] {
        Tensor value = x;
        for (int i = 0; i < 9; ++i) value = where(value == of_row, row, value * x + row);
        return value;
      };
      config().compile = CompileMode::kOff;
      const auto interpreted = read_bytes(f()),
                 of_rows = read_bytes(x / (sum(x, 1, true) + of_row));
      config().compile = CompileMode::kBlocking;
      EXPECT_EQ(read_bytes(f()), interpreted) << name_of(dtype) << " " << length;
      EXPECT_EQ(read_bytes(x / (sum(x, 1, true) + of_row)), of_rows)
          << name_of(dtype) << " " << length;
    }
  }
}

// A long chain, which takes more vectors side by side.
TEST(Runs, OfChains) {
  const ConfigGuard guard;
  std::mt19937_64 rng(34);
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const int64_t length : {1, 15, 16, 33, 70, 1001}) {
      const Tensor x = to_tensor(random_array(rng, dtype, {3, length}, 0.1));
      const Tensor y = to_tensor(random_array(rng, dtype, {3, 1}, 0.1));
      const auto f = [&] {
        Tensor value = x;
        for (int i = 0; i < 12; ++i) value = clip(value * x + y, -4, 4);
        return value;
      };
      const std::string what = std::string(name_of(dtype)) + " " + std::to_string(length);
      expect_bits_of_interpreted(what, f);
    }
  }
}

// Rows whose runs lie between each other's: long ones are taken in turn, and leaves go on from one
// to the next. Of many rows and of few, which are cut into blocks that begin within runs.
TEST(Runs, OfInterleavedRows) {
  const ConfigGuard guard;
  std::mt19937_64 rng(35);
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt8}) {
    for (const auto& [batch, rows, run] : {std::array<int64_t, 3>{3, 5, 511},
                                           {4, 40, 512},
                                           {3, 33, 513},
                                           {5, 3, 700},
                                           {2, 2, 1537},
                                           {40, 3, 2049},
                                           {3, 1, 5000},
                                           {1, 4, 600}}) {
      const Tensor x = to_tensor(random_array(rng, dtype, {batch, rows, run + 3}, 0.1));
      const std::string what = std::string(name_of(dtype)) + " " + to_string(x.shape());
      for (const Tensor& view : {x, x.slice(2, 1, -2), flip(x, 2), x.slice(1, 0, rows, 2)}) {
        const std::vector<int> axes = {0, 2};
        expect_bits_of_interpreted("sum of " + what, [&] { return sum(view, axes); });
        expect_bits_of_interpreted("prod of " + what, [&] { return prod(view, axes); });
        expect_bits_of_interpreted("var of " + what, [&] { return var(view, axes); });
        expect_bits_of_interpreted("sums of " + what, [&] {
          return sum(view * 2, axes) + sum(exp(view.astype(DType::kFloat32)), axes);
        });
      }
    }
  }
}

}  // namespace
}  // namespace sluice::test
