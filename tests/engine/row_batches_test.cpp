// Short rows that several passes take, a batch at a time: the same bits as interpreted, for any
// number of rows and whatever lies between the passes.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include <sluice/nn.h>
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

struct Case {
  std::string name;
  // Of rows, and a number for each of them.
  std::vector<Tensor> (*f)(const Tensor& x, const Tensor& of_row);
};

const Case kCases[] = {
    {"softmax", [](const Tensor& x, const Tensor&) { return std::vector{softmax(x, -1)}; }},
    {"log_softmax", [](const Tensor& x, const Tensor&) { return std::vector{log_softmax(x, -1)}; }},
    {"logsumexp",
     [](const Tensor& x, const Tensor& of_row) {
       return std::vector{logsumexp(x, -1, true) * of_row};
     }},
    {"what is held between passes",
     [](const Tensor& x, const Tensor& of_row) {
       const Tensor centre = mean(x, -1, true), spread = sqrt(mean(square(x - centre), -1, true));
       return std::vector{centre, spread, (x - centre) / (spread + 1) * of_row};
     }},
    {"a logarithm between passes",
     [](const Tensor& x, const Tensor& of_row) {
       const Tensor scale = log(sum(abs(x), -1, true) + 1) * of_row;
       const Tensor total = sum(x * scale, -1, true);
       return std::vector{scale, exp(total - max(x * total, -1, true))};
     }},
    {"positions",
     [](const Tensor& x, const Tensor& of_row) {
       const Tensor place = argmax(x, -1, true);
       const Tensor rest = where(arange(x.shape().back()) == place, of_row, x);
       return std::vector{place, max(rest, -1), sum(rest, -1)};
     }},
    {"conditions on what is costly",
     [](const Tensor& x, const Tensor& of_row) {
       return std::vector{any(exp(x) > exp(of_row) * 5, -1), all(exp(x) > of_row, -1)};
     }},
    {"conditions",
     [](const Tensor& x, const Tensor& of_row) {
       const Tensor all_above = all(x > of_row, -1, true);
       return std::vector{all_above, sum(where(all_above, x, x * of_row), -1),
                          any(x < sum(x, -1, true), -1)};
     }},
};

void expect_bits_of_interpreted(const Case& c, const Tensor& x, const Tensor& of_row) {
  const auto results = [&] {
    const std::vector<Tensor> tensors = c.f(x, of_row);
    std::vector<std::vector<uint8_t>> bytes;
    for (const Tensor& tensor : tensors) bytes.push_back(read_bytes(tensor));
    return bytes;
  };
  config().compile = CompileMode::kOff;
  const auto interpreted = results();
  config().compile = CompileMode::kBlocking;
  EXPECT_EQ(results(), interpreted)
      << c.name << " of " << name_of(x.dtype()) << " " << to_string(x.shape());
}

TEST(RowBatches, HaveTheBitsOfInterpretedRows) {
  const ConfigGuard guard;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64}) {
    for (const int64_t rows : {1, 2, 15, 16, 17, 100}) {
      for (const int64_t length : {17, 32, 33, 100, 256}) {
        const Tensor x = astype(randn({rows, length}), dtype).eval();
        const Tensor of_row = astype(randn({rows, 1}), dtype).eval();
        for (const Case& c : kCases) expect_bits_of_interpreted(c, x, of_row);
      }
    }
  }
}

TEST(RowBatches, InEveryLayout) {
  const ConfigGuard guard;
  const Tensor wide = randn({5, 40, 51}).eval();
  const Tensor of_row = randn({5, 40, 1}).eval();
  const Tensor numbers =
      where(randn({5, 40, 51}) > 1.5f, std::numeric_limits<float>::infinity(), wide).eval();
  for (const Case& c : kCases) {
    expect_bits_of_interpreted(c, wide.slice(2, 1, 41), of_row);
    expect_bits_of_interpreted(c, wide.slice(1, 0, 23).flip(-1), of_row.slice(1, 0, 23));
    expect_bits_of_interpreted(c, numbers, of_row);
    expect_bits_of_interpreted(c, numbers.flip(0).slice(2, 0, 48), of_row);
  }
}

TEST(RowBatches, OfLabelledRows) {
  const ConfigGuard guard;
  for (const int64_t classes : {17, 30, 100, 250}) {
    const Tensor logits = randn({77, classes}).eval();
    const Tensor labels = randint(0, classes, {77}).eval();
    config().compile = CompileMode::kOff;
    const auto interpreted = read_bytes(nn::cross_entropy(logits, labels));
    config().compile = CompileMode::kBlocking;
    EXPECT_EQ(read_bytes(nn::cross_entropy(logits, labels)), interpreted) << classes;
  }
}

}  // namespace
}  // namespace sluice::test
