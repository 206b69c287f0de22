// Programs written by hand from primitives whose reductions fuse with what reads them: how many
// kernels each takes, and that neither fusing nor compiling changes a bit of it.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "sluice/sluice.h"
#include "sluice/tests/test_util.h"

namespace sluice::test {
namespace {

using Tensors = std::vector<Tensor>;

struct Case {
  std::string name;
  int64_t kernels;  // at most
  // Drops its own handles on everything but what it returns.
  std::function<Tensors(const Tensors& inputs)> run;
};

// x, g, x as images; made alike whenever asked for.
Tensors make_inputs() {
  manual_seed(7);
  const Tensors inputs = {randn({48, 300}), randn({48, 300}), randn({6, 5, 8, 9}), randn({300})};
  sync();
  return inputs;
}

Tensor softmax_by_hand(const Tensor& x, int axis) {
  Tensor e = exp(x - max(x, axis, true));
  Tensor total = sum(e, axis, true);
  return std::move(e) / std::move(total);
}

Tensor layer_norm_by_hand(const Tensor& x, int axis) {
  Tensor d = x - mean(x, axis, true);
  Tensor scale = sqrt(mean(square(d), axis, true) + 1e-5f);
  return std::move(d) / std::move(scale);
}

Tensor logsumexp_by_hand(const Tensor& x, int axis) {
  Tensor m = max(x, axis, true);
  return log(sum(exp(x - m), axis, true)) + m;
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const int axis : {0, 1}) {
    const std::string along = " over axis " + std::to_string(axis);
    result.push_back({"softmax" + along, 1,
                      [axis](const Tensors& in) { return Tensors{softmax_by_hand(in[0], axis)}; }});
    result.push_back({"layer norm" + along, 1, [axis](const Tensors& in) {
                        return Tensors{layer_norm_by_hand(in[0], axis)};
                      }});
    result.push_back({"RMS norm" + along, 1, [axis](const Tensors& in) {
                        return Tensors{in[0] * rsqrt(mean(square(in[0]), axis, true) + 1e-6f)};
                      }});
    result.push_back({"log-sum-exp" + along, 1, [axis](const Tensors& in) {
                        return Tensors{logsumexp_by_hand(in[0], axis)};
                      }});
  }
  result.push_back({"softmax over a middle axis", 1,
                    [](const Tensors& in) { return Tensors{softmax_by_hand(in[2], 2)}; }});
  result.push_back(
      {"mean, var, max and argmax of the same rows", 1, [](const Tensors& in) {
         return Tensors{mean(in[0], 1), var(in[0], 1), max(in[0], 1), argmax(in[0], 1)};
       }});
  result.push_back({"batch norm, training", 2, [](const Tensors& in) {
                      Tensor m = mean(in[2], {0, 2, 3}, true);
                      Tensor v = var(in[2], {0, 2, 3}, true);
                      Tensor y = (in[2] - m) * rsqrt(v + 1e-5f);
                      return Tensors{y, m, v};
                    }});
  result.push_back({"layer norm backward", 2, [](const Tensors& in) {
                      Tensor d = in[0] - mean(in[0], 1, true);
                      Tensor r = rsqrt(mean(square(d), 1, true) + 1e-5f);
                      Tensor h = std::move(d) * r;
                      Tensor gw = in[1] * in[3];
                      Tensor dx = (gw - mean(gw, 1, true) - h * mean(gw * h, 1, true)) * r;
                      return Tensors{dx, sum(in[1] * h, 0), sum(in[1], 0)};
                    }});
  result.push_back({"pairwise squared distances", 1, [](const Tensors& in) {
                      Tensor d = expand_dims(in[0], 1) - expand_dims(in[1], 0);
                      return Tensors{sum(square(std::move(d)), 2)};
                    }});
  result.push_back({"log-softmax and NLL", 2, [](const Tensors& in) {
                      Tensor labels = argmax(in[1], 1, true);
                      labels.eval();
                      sync();
                      return Tensors{-mean(take_along_axis(log_softmax(in[0]), labels, 1))};
                    }});
  return result;
}

class Rows : public testing::TestWithParam<Case> {};

std::vector<std::vector<uint8_t>> bytes_of(const Tensors& outputs) {
  std::vector<std::vector<uint8_t>> result;
  for (const Tensor& x : outputs) result.push_back(read_bytes(x));
  return result;
}

TEST_P(Rows, FuseInFewKernelsAndChangeNoBits) {
  const ConfigGuard guard;
  const Tensors inputs = make_inputs();
  config().compile = CompileMode::kBlocking;

  config().fuse = false;
  const auto op_by_op = bytes_of(GetParam().run(inputs));
  config().fuse = true;
  config().jit = false;
  EXPECT_EQ(bytes_of(GetParam().run(inputs)), op_by_op) << "interpreted";
  config().jit = true;
  const Tensors outputs = GetParam().run(inputs);
  const int64_t before = stats().kernels_launched;
  sync();
  EXPECT_LE(stats().kernels_launched - before, GetParam().kernels);
  EXPECT_EQ(bytes_of(outputs), op_by_op) << "compiled";
}

INSTANTIATE_TEST_SUITE_P(ByHand, Rows, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                           std::string name = info.param.name;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace sluice::test
