// Results that are laid out as their operands are: whoever reads them next gets what row-major ones
// give.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

struct Reader {
  std::string name;
  std::function<Tensor(const Tensor&)> read;
};

// Of (20, 30, 40).
const std::vector<Reader> kReaders = {
    {"values", [](const Tensor& x) { return x; }},
    {"sum of rows", [](const Tensor& x) { return sum(x, {2}); }},
    {"sum of all", [](const Tensor& x) { return sum(x); }},
    {"softmax", [](const Tensor& x) { return softmax(x, 1); }},
    {"cumsum", [](const Tensor& x) { return cumsum(x, 0); }},
    {"sort", [](const Tensor& x) { return sort(x, 1); }},
    {"reshape",
     [](const Tensor& x) {
       return reshape(x, {40, 600}) + 1;
     }},
    {"transpose", [](const Tensor& x) { return transpose(x) * 3; }},
    {"slice", [](const Tensor& x) { return x.slice(1, 3, 28, 2) - 1; }},
    {"pad",
     [](const Tensor& x) {
       return pad(x, {{1, 0}, {0, 2}, {1, 1}});
     }},
    {"concat",
     [](const Tensor& x) {
       return concat({x, x}, 1);
     }},
    {"product", [](const Tensor& x) { return matmul(x, swapaxes(x, 1, 2)); }},
    {"take",
     [](const Tensor& x) {
       return take(x, Tensor::from({3, 0, 7}), 2);
     }},
    {"more of the same", [](const Tensor& x) { return exp(x) * x; }},
    {"with a row-major one", [](const Tensor& x) { return x + rand(x.shape()) * 0; }},
};

TEST(KeptLayouts, AreReadAsRowMajorOnesAre) {
  const Tensor x = rand({40, 30, 20}), y = rand({30, 40, 20});
  const Tensor of_x = transpose(x), of_y = permute(y, {2, 0, 1});
  x.eval();
  y.eval();
  const std::vector<std::function<Tensor()>> results = {
      [&] { return exp(of_x) * 0.5 - of_x; },
      [&] { return of_x * x.slice(2, 0, 1).slice(1, 0, 1).slice(0, 0, 1) + of_x; },
      [&] { return astype(of_y * 8, DType::kInt32); },
      [&] { return where(of_y > 0.5, of_y, -of_y); },
      [&] { return roll(of_x, 3, 1); },
      [&] { return roll(roll(of_y * 2, -5, 2), 7, 0); },
      [&] {
        return pad(of_x.slice(1, 2, 29), {{0, 0}, {1, 2}, {0, 0}}, 7);
      },
      [&] {
        return concat({of_y.slice(0, 0, 12), of_y.slice(0, 12, 20) - 1}, 0);
      },
      [&] {
        return concat({of_x.slice(2, 0, 1), of_x.slice(2, 1, 30, 2), of_x.slice(2, 0, 24)}, 2);
      },
      [&] {
        return concat({of_y.slice(1, 0, 11), of_x.slice(1, 11, 30)}, 1);  // of two orders
      },
  };
  for (size_t k = 0; k < results.size(); ++k) {
    const Tensor kept = results[k]();
    kept.eval();
    // What is in memory in row-major order.
    const Tensor plain = sluice::reshape(sluice::reshape(results[k](), {-1}) + 0, {20, 30, 40});
    plain.eval();
    EXPECT_EQ(read_bytes(kept), read_bytes(plain));
    for (const Reader& reader : kReaders) {
      EXPECT_EQ(read_bytes(reader.read(kept)), read_bytes(reader.read(plain)))
          << reader.name << " of " << k;
    }
  }
}

TEST(KeptLayouts, LieInPlaceAsRowMajorOnes) {
  const Tensor x = rand({200, 300});
  const Tensor y = transpose(x) + 1;
  const std::span<const float> values = y.span<float>();
  const std::vector<float> before = x.to_vector<float>();
  ASSERT_EQ(values.size(), before.size());
  for (int i = 0; i < 300; i += 7) {
    for (int j = 0; j < 200; j += 11) EXPECT_EQ(values[i * 200 + j], before[j * 300 + i] + 1);
  }
}

TEST(KeptLayouts, HaveGradients) {
  const Tensor x = rand({200, 300});
  const auto of = [](const Tensor& x) {
    const Tensor y = transpose(x) * transpose(x);
    y.eval();
    return sum(exp(y) * y);
  };
  const auto plain = [](const Tensor& x) {
    const Tensor y = x * x;
    return sum(exp(y) * y);
  };
  EXPECT_EQ(read_bytes(grad(of)(x)), read_bytes(grad(plain)(x)));
}

// Rows are walked, as they are reduced: what is computed of both is written row by row.
TEST(KeptLayouts, AreNotOfNormalisedRows) {
  const Tensor x = rand({200, 300}), weight = rand({200});
  const Tensor rows = transpose(x);
  const Tensor y = (rows - mean(rows, {1}, true)) * weight;
  y.eval();
  EXPECT_EQ(y.node_ref()->layout.strides, contiguous_layout(y.shape()).strides);
  const Tensor scaled = rows / max(rows) * weight;
  scaled.eval();
  EXPECT_NE(scaled.node_ref()->layout.strides, contiguous_layout(y.shape()).strides);
}

TEST(KeptLayouts, AreChecked) {
  const ConfigGuard guard;
  config().validate = Validate::kAll;
  const Tensor x = rand({200, 300});
  const Tensor y = transpose(x) + transpose(x * 2);
  EXPECT_NO_THROW(y.eval());
}

}  // namespace
}  // namespace sluice::test
