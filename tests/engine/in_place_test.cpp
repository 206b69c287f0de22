// Kernels that write over what they read: inputs that nobody asks for again, also where a reduction
// goes with it, and never what somebody can still see.
#include <gtest/gtest.h>

#include "kernels/executor.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

bool on_cpu() { return default_device().type() == DeviceType::kCpu; }

struct Example {
  DType dtype;
  Shape shape;
  std::vector<int> axes;
  bool is_one_pass = false;  // of one kernel
};

// An elementwise value and a sum of it, of x: if `keeps`, x is held beyond.
std::vector<std::vector<uint8_t>> computed(const Example& example, bool keeps) {
  Generator generator(11);
  Tensor x = generator.normal(0, 20, example.shape).astype(example.dtype).eval();
  sync();
  const Tensor held = keeps ? x : Tensor();
  const Tensor bias = arange(example.shape[1]).astype(example.dtype).eval();
  sync();
  const int64_t before = stats().bytes_live;
  reset_stats();
  const Tensor y = (std::move(x) + bias) * bias + Scalar(3);
  const Tensor total = sum(y, example.axes);
  sync();
  if (on_cpu() && example.is_one_pass) {
    const int64_t of_y = keeps ? y.numel() * static_cast<int64_t>(size_of(example.dtype)) : 0;
    const int64_t of_total = total.numel() * static_cast<int64_t>(size_of(total.dtype()));
    EXPECT_EQ(stats().bytes_allocated_peak, before + of_y + of_total);
    EXPECT_EQ(stats().kernels_launched, 1);
  }
  return {read_bytes(y), read_bytes(total)};
}

TEST(InPlace, ARowsElementsAndTheirSum) {
  const ConfigGuard guard;
  for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
    config().compile = mode;
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kInt32, kInt8}) {
      for (const Shape& shape : {Shape{64, 5}, Shape{33, 17}, Shape{700, 40}, Shape{40, 1030},
                                 Shape{257, 255}, Shape{3, 9000}, Shape{9000, 3}}) {
        for (const std::vector<int>& axes : {std::vector<int>{0}, {1}, {0, 1}}) {
          const bool is_one_pass = shape == Shape{700, 40} && axes.size() == 1;
          const Example example{dtype, shape, axes, is_one_pass};
          EXPECT_EQ(computed(example, false), computed(example, true))
              << name_of(dtype) << to_string(shape) << " over " << axes[0] << ", " << axes.size();
        }
      }
    }
  }
}

// In the last of several passes, which the others have read for.
TEST(InPlace, RowsAndColumnsThatAreNormalised) {
  const ConfigGuard guard;
  for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
    config().compile = mode;
    for (const Shape& shape : {Shape{64, 5}, Shape{33, 17}, Shape{700, 40}, Shape{40, 1030},
                               Shape{257, 255}, Shape{3, 9000}, Shape{9000, 3}}) {
      for (const int axis : {0, 1}) {
        std::vector<std::vector<uint8_t>> results;
        for (const bool keeps : {true, false}) {
          Generator generator(12);
          Tensor x = generator.normal(0, 20, shape).eval();
          Tensor g = generator.normal(0, 1, shape).eval();
          sync();
          const std::vector<Tensor> held = keeps ? std::vector{x, g} : std::vector<Tensor>();
          const int64_t before = stats().bytes_live;
          reset_stats();
          Tensor y =
              g * rsqrt(mean(square(x - mean(x, axis, true)), axis, true)) - sum(g * x, axis, true);
          x = g = Tensor();
          y.eval();
          sync();
          if (on_cpu() && !keeps && shape == Shape{700, 40}) {
            EXPECT_EQ(stats().bytes_allocated_peak, before);
          }
          results.push_back(read_bytes(y));
        }
        EXPECT_EQ(results[0], results[1]) << to_string(shape) << " along " << axis;
      }
    }
  }
}

TEST(InPlace, OfSeveralViewsOfOneValue) {
  const Tensor a = rand({30, 40}).eval();
  for (const bool holds_view : {false, true}) {
    Tensor w = (a * Scalar(2)).eval();
    const Tensor view = holds_view ? w.T() : Tensor();
    sync();
    const auto old = read_bytes(w);
    const int64_t before = stats().bytes_live;
    reset_stats();
    const Tensor product = matmul(a, w.T());
    w = w - Scalar(0.5F) * sum(product);
    sync();
    if (on_cpu()) {
      const int64_t own = holds_view ? 30 * 40 * 4 : 0;
      EXPECT_EQ(stats().bytes_live - before, own + 30 * 30 * 4);
    }
    if (holds_view) {
      EXPECT_EQ(read_bytes(view.T()), old);
    }
    EXPECT_NE(read_bytes(w), old);
  }
}

}  // namespace
}  // namespace sluice::test
