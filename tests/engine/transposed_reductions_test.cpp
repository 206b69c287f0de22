// Reductions of permuted operands, or along short runs, of which compiled code reads blocks: the
// same bits as of copies in row-major order, which it reads otherwise, and as interpreted.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

struct Case {
  std::string name;
  Tensor (*f)(const Tensor& x, const std::vector<int>& axes);
  bool of_all_dtypes = false;  // else of float32 alone: kernels take long to compile
};

const Case kCases[] = {
    {"sum", [](const Tensor& x, const std::vector<int>& axes) { return sum(x, axes); }, true},
    {"max", [](const Tensor& x, const std::vector<int>& axes) { return max(x, axes); }, true},
    // Zeros of either sign, and infinities and NaN.
    {"max of zeros",
     [](const Tensor& x, const std::vector<int>& axes) { return max(x * 0, axes); }},
    {"min of zeros",
     [](const Tensor& x, const std::vector<int>& axes) { return min(x * 0, axes); }},
    {"min of quotients",
     [](const Tensor& x, const std::vector<int>& axes) { return min((x - x) / trunc(x), axes); }},
    {"count",
     [](const Tensor& x, const std::vector<int>& axes) { return count_nonzero(x > 0.5f, axes); }},
    {"sum of int8",
     [](const Tensor& x, const std::vector<int>& axes) {
       return sum(astype(x * 100, DType::kInt8), axes);
     }},
    {"sum of uint16",
     [](const Tensor& x, const std::vector<int>& axes) {
       return sum(astype(x * 60000, DType::kUInt16), axes);
     }},
    {"any", [](const Tensor& x, const std::vector<int>& axes) { return any(x > 2, axes); }},
    {"var", [](const Tensor& x, const std::vector<int>& axes) { return var(x, axes); }, true},
    {"argmin", [](const Tensor& x, const std::vector<int>& axes) { return argmin(x, axes[0]); },
     true},
    {"standardised",
     [](const Tensor& x, const std::vector<int>& axes) {
       return (x - mean(x, axes, true)) / (std(x, axes, true) + 1);
     }},
    // Of one pass. All maxima are below zero.
    {"sum and extremes",
     [](const Tensor& x, const std::vector<int>& axes) {
       const Tensor below = x - 10;
       return stack({sum(below, axes), max(below, axes), min(below, axes)});
     },
     true},
    {"of two layouts",
     [](const Tensor& x, const std::vector<int>& axes) {
       return sum(x * randn(x.shape(), DType::kFloat32), axes);
     }},
};

struct Layout {
  Shape stored;
  std::vector<int> order;  // of the axes of the view
  std::vector<int> axes;   // reduced
};

// Runs and panels that end at, before and after ends of leaves; sides that are no multiples of a
// vector.
const Layout kLayouts[] = {
    {{512, 64}, {1, 0}, {0, 1}},
    {{700, 37}, {1, 0}, {0, 1}},
    {{16, 41}, {1, 0}, {0, 1}},
    {{17, 1200}, {1, 0}, {0, 1}},
    {{100, 131}, {1, 0}, {0}},
    {{33, 16}, {1, 0}, {0}},
    // Fewer columns than a vector has lanes: of a part of a leaf, of one and of several.
    {{2, 15}, {1, 0}, {0}},
    {{2, 1300}, {1, 0}, {0}},
    {{3, 2049}, {1, 0}, {0}},
    {{5, 70}, {1, 0}, {0}},
    {{7, 40'003}, {1, 0}, {0}},
    {{6, 3, 600}, {0, 2, 1}, {1}},
    {{3, 18, 5, 49}, {0, 2, 3, 1}, {0, 1, 2, 3}},
    {{4, 19, 30, 17}, {0, 2, 3, 1}, {1, 2, 3}},
    {{20, 6, 35}, {2, 1, 0}, {0, 1, 2}},
    {{3, 20, 32}, {0, 2, 1}, {0, 1}},
    {{3, 20, 33}, {0, 2, 1}, {0, 1}},
    {{2, 9, 40}, {0, 2, 1}, {1}},
    // Large enough for threads to take blocks, which begin within a run.
    {{37, 13000}, {1, 0}, {0, 1}},
    {{5, 31, 3001}, {0, 2, 1}, {0, 1, 2}},
    // Runs of whole leaves, side by side, and blocks of them.
    {{1024, 288}, {1, 0}, {0, 1}},
    {{3, 512, 32}, {0, 2, 1}, {0, 1, 2}},
    {{512, 1024}, {1, 0}, {0, 1}},
    {{1024, 576}, {1, 0}, {0, 1}},
    // Runs side by side in which leaves begin anywhere: of several panels, of rows and outer dims
    // that end in one, of blocks that begin within a run.
    {{513, 32}, {1, 0}, {0, 1}},
    {{1300, 333}, {1, 0}, {0, 1}},
    {{3, 530, 40}, {0, 2, 1}, {0, 1, 2}},
    {{3, 1024, 33}, {0, 2, 1}, {1, 2}},
    {{520, 1400}, {1, 0}, {0, 1}},
    {{2100, 17}, {1, 0}, {0, 1}},
    {{3, 2049, 20}, {0, 2, 1}, {0, 1, 2}},
    // Likewise of several leaves: panels that leave less than a vector, and of more than one.
    {{2100, 75}, {1, 0}, {0, 1}},
    {{2050, 128}, {1, 0}, {0, 1}},
    {{3, 2304, 97}, {0, 2, 1}, {0, 1, 2}},
    {{2, 2600, 35}, {0, 2, 1}, {1, 2}},
    {{1100, 700}, {1, 0}, {0, 1}},
    // Short runs, of a row that ends in a leaf or after several; two dims beside the runs.
    {{3, 7, 1}, {0, 1, 2}, {0, 2}},
    {{21, 5, 3}, {0, 1, 2}, {0, 2}},
    {{9, 4, 4}, {0, 1, 2}, {0, 2}},
    {{40, 3, 28}, {0, 1, 2}, {0, 2}},
    {{130, 2, 33}, {0, 1, 2}, {0, 2}},
    {{300, 2, 127}, {0, 1, 2}, {0, 2}},
    // Likewise of every second element to every fifth.
    {{8, 20, 2}, {0, 2, 1}, {0, 1, 2}},
    {{4, 22, 3}, {0, 2, 1}, {0, 1, 2}},
    {{3, 30, 4}, {0, 2, 1}, {0, 1, 2}},
    {{5, 16, 4}, {0, 2, 1}, {0, 1, 2}},
    {{9, 31, 4}, {0, 2, 1}, {0, 1, 2}},
    {{3, 29, 5}, {0, 2, 1}, {0, 1, 2}},
    // Many runs of one to several vectors, and blocks of them that begin within one.
    {{1500, 2, 29}, {0, 1, 2}, {0, 2}},
    {{130, 3, 200}, {0, 1, 2}, {0, 2}},
    {{70, 3, 32}, {0, 1, 2}, {0, 2}},
    // Runs of fewer elements than a vector has, which are put together; in rows of a part of a leaf
    // and of several, and blocks of these.
    {{2, 20'001}, {1, 0}, {0, 1}},
    {{3, 3000}, {1, 0}, {0, 1}},
    {{4, 1025}, {1, 0}, {0, 1}},
    {{5, 700}, {1, 0}, {0, 1}},
    {{7, 133}, {1, 0}, {0, 1}},
    {{15, 1000}, {1, 0}, {0, 1}},
    {{3, 40'003}, {1, 0}, {0, 1}},
    {{50, 2, 100}, {0, 2, 1}, {1, 2}},
    {{40, 5, 30}, {0, 2, 1}, {1, 2}},
    {{3, 20, 6, 17}, {0, 1, 3, 2}, {2, 3}},
    {{9, 3, 700}, {0, 2, 1}, {0, 1, 2}},
    // Short rows that are folded in groups, and what groups leave.
    {{75, 28}, {0, 1}, {1}},
    {{35, 131}, {0, 1}, {1}},
    {{67, 32}, {0, 1}, {1}},
    {{3, 40, 9}, {1, 0, 2}, {1, 2}},
    {{6, 2, 7, 3, 29}, {0, 1, 2, 3, 4}, {0, 2, 4}},
    {{60, 7, 2, 15}, {1, 0, 2, 3}, {1, 3}},
    // Rows that end in whole vectors of a step, in a part of one, or in both.
    {{9, 5}, {0, 1}, {1}},
    {{9, 16}, {0, 1}, {1}},
    {{9, 31}, {0, 1}, {1}},
    {{9, 90}, {0, 1}, {1}},
    {{9, 530}, {0, 1}, {1}},
};

TEST(TransposedReductions, HaveTheBitsOfThoseOfCopies) {
  const ConfigGuard guard;
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt64, DType::kInt8}) {
    for (const Layout& layout : kLayouts) {
      if (dtype == DType::kFloat64 && layout.order.size() > 2) continue;  // as float32, but slow
      manual_seed(7);
      const Tensor stored = astype(randn(layout.stored) * 9.f, dtype);
      stored.eval();
      const Tensor view = permute(stored, layout.order);
      const Tensor copy = view + 0;
      copy.eval();
      for (const Case& test : kCases) {
        if (test.name == "argmin" && layout.axes.size() > 1) continue;
        if (dtype != DType::kFloat32 && !test.of_all_dtypes) continue;
        auto work = [&](const Tensor& x, CompileMode mode) {
          config().compile = mode;
          manual_seed(8);
          return read_bytes(test.f(x, layout.axes));
        };
        const auto expected = work(copy, CompileMode::kOff);
        const std::string what =
            test.name + " of " + std::string(name_of(dtype)) + to_string(layout.stored);
        EXPECT_EQ(work(copy, CompileMode::kBlocking), expected) << what;
        EXPECT_EQ(work(view, CompileMode::kOff), expected) << what;
        EXPECT_EQ(work(view, CompileMode::kBlocking), expected) << what;
      }
    }
  }
}

TEST(TransposedReductions, OfFlippedShortRuns) {
  const ConfigGuard guard;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt8}) {
    for (const Shape& shape : {Shape{700, 3}, Shape{100, 8}, Shape{90, 2, 24}, Shape{20'001, 2}}) {
      const Tensor x = astype(randn(shape) * 9.f, dtype).eval();
      const Tensor view = flip(x, {-1}), copy = (view + 0).eval();
      for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
        config().compile = mode;
        EXPECT_EQ(read_bytes(sum(view)), read_bytes(sum(copy))) << name_of(dtype) << shape;
        EXPECT_EQ(read_bytes(var(view)), read_bytes(var(copy))) << name_of(dtype) << shape;
        EXPECT_EQ(read_bytes(max(view)), read_bytes(max(copy))) << name_of(dtype) << shape;
      }
    }
  }
}

TEST(TransposedReductions, OfFewColumnsInSeveralPasses) {
  const ConfigGuard guard;
  auto work = [](const Tensor& x, CompileMode mode) {
    config().compile = mode;
    return std::vector{read_bytes(var(x, 0)), read_bytes(softmax(astype(x, kFloat32), 0)),
                       read_bytes(x - mean(x, 0))};
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt8}) {
    for (const int64_t columns : {2, 5, 8, 24, 25, 31}) {
      for (const int64_t rows : {40, 9000}) {
        const Tensor x = astype(randn({rows, columns}) * 9.f, dtype).eval();
        const Tensor turned = (x.T() + 0).eval().T();
        const auto expected = work(x, CompileMode::kOff);
        EXPECT_EQ(work(x, CompileMode::kBlocking), expected) << name_of(dtype) << x.shape();
        EXPECT_EQ(work(turned, CompileMode::kBlocking), expected) << name_of(dtype) << x.shape();
      }
    }
  }
}

}  // namespace
}  // namespace sluice::test
