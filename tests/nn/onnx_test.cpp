// The node tests that the onnx package ships: golden/onnx.txt, which golden/make_onnx.py writes.
#include <gtest/gtest.h>

#include "tests/support/golden_calls.h"
#include "tests/support/golden_file.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

int64_t integer(const Attributes& given, const std::string& name, int64_t otherwise) {
  const auto found = given.find(name);
  return found == given.end() ? otherwise : std::get<int64_t>(found->second);
}

template <typename Options>
Options loss_options(std::span<const Tensor> x, const Attributes& given) {
  Options options{.reduction = static_cast<nn::Reduction>(integer(given, "reduction", 0))};
  if (given.contains("ignore_index")) options.ignore_index = integer(given, "ignore_index", 0);
  if (x.size() > 2) options.weight = x[2];
  return options;
}
std::vector<Tensor> nll_loss(std::span<const Tensor> x, const Attributes& given) {
  return {nn::nll_loss(x[0], x[1], loss_options<nn::NllOptions>(x, given))};
}
std::vector<Tensor> cross_entropy(std::span<const Tensor> x, const Attributes& given) {
  return {nn::cross_entropy(x[0], x[1], loss_options<nn::CrossEntropyOptions>(x, given))};
}

// The last state, of x and the weights.
template <typename Layer>
std::vector<Tensor> last_state(std::span<const Tensor> x, const Attributes& given) {
  Layer layer(x[0].shape(-1), integer(given, "hidden", 0));
  layer.load_state_dict(
      {{"weight_ih_l0", x[1]}, {"weight_hh_l0", x[2]}, {"bias_ih_l0", x[3]}, {"bias_hh_l0", x[4]}});
  return {layer(x[0]).hidden};
}

TEST(Onnx, NodesGiveWhatItsTestsSay) {
  const ConfigGuard guard;
  config().compile = CompileMode::kOff;
  const GoldenForms forms = {{"nll_loss", nll_loss},
                             {"cross_entropy", cross_entropy},
                             {"lstm", last_state<nn::LSTM>},
                             {"gru", last_state<nn::GRU>},
                             {"rnn", last_state<nn::RNN>}};
  EXPECT_GT(expect_golden_calls(golden_file("onnx.txt"), forms), 200);
}

}  // namespace
}  // namespace sluice::test
