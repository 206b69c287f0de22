// Pads, joins and rolls along an axis whose elements are runs along those behind it, as the width
// of images of (height, width, 3): walked as one row, with the bits of the ops one by one.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

struct MovingOp {
  std::string name;
  Tensor (*f)(const Tensor& x);
};

const MovingOp kOps[] = {
    {"pad width",
     [](const Tensor& x) {
       return pad(x, {{0, 0}, {2, 1}, {0, 0}}, 3);
     }},
    {"pad height and width",
     [](const Tensor& x) {
       return pad(x, {{1, 2}, {0, 3}, {0, 0}}, 1);
     }},
    {"pad all",
     [](const Tensor& x) {
       return pad(x, {{1, 1}, {1, 1}, {1, 1}});
     }},
    {"pad of flipped",
     [](const Tensor& x) {
       return pad(x.flip({1}), {{0, 0}, {1, 2}, {0, 0}});
     }},
    {"flip of padded",
     [](const Tensor& x) {
       return pad(x, {{0, 0}, {1, 2}, {0, 0}}).flip({1}) + 0;
     }},
    {"join",
     [](const Tensor& x) {
       return concat({x, x + 1, x.slice(1, 0, 1)}, 1);
     }},
    {"roll", [](const Tensor& x) { return roll(x, 2, 1); }},
    {"pad and add",
     [](const Tensor& x) {
       return pad(x, {{0, 0}, {1, 1}, {0, 0}}) + pad(x, {{0, 0}, {0, 2}, {0, 0}});
     }},
    {"pad and place",
     [](const Tensor& x) {
       const Tensor y = pad(x, {{0, 0}, {1, 0}, {0, 0}});
       return y + astype(reshape(arange(y.shape(1)), {-1, 1}), y.dtype());
     }},
};

TEST(WideBounds, HaveTheBitsOfOpsOneByOne) {
  const ConfigGuard guard;
  for (const DType dtype : {DType::kInt8, DType::kFloat16, DType::kFloat32, DType::kInt64}) {
    for (const Shape& shape : {Shape{40, 30, 3}, Shape{7, 65, 8}, Shape{3, 5, 1}, Shape{2, 3, 100},
                               Shape{1, 1, 3}, Shape{300, 2, 4}}) {
      manual_seed(5);
      const Tensor x = astype(randn(shape) * 20, dtype).eval();
      for (const MovingOp& op : kOps) {
        const std::string what = op.name + " of " + std::string(name_of(dtype)) + to_string(shape);
        auto run = [&](bool fuse, CompileMode mode) {
          config().fuse = fuse;
          config().compile = mode;
          return read_bytes(op.f(x));
        };
        const auto expected = run(false, CompileMode::kOff);
        EXPECT_EQ(run(true, CompileMode::kOff), expected) << what;
        EXPECT_EQ(run(true, CompileMode::kBlocking), expected) << what;
      }
    }
  }
}

// A plan for sizes that it has not seen scales the bounds as well.
TEST(WideBounds, OfNewSizes) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  for (int64_t width = 20; width < 32; ++width) {
    const Tensor x = (arange(10 * width * 3).astype(DType::kFloat32)).reshape({10, width, 3});
    const auto padded = pad(x, {{0, 0}, {1, 2}, {0, 0}}).to_vector<float>();
    for (int64_t i = 0; i < 10; ++i) {
      for (int64_t j = 0; j < width + 3; ++j) {
        for (int64_t k = 0; k < 3; ++k) {
          const bool inside = j >= 1 && j <= width;
          const float expected = inside ? static_cast<float>((i * width + j - 1) * 3 + k) : 0.f;
          ASSERT_EQ(padded[(i * (width + 3) + j) * 3 + k], expected)
              << width << ' ' << i << ' ' << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice::test
