// Losses, layers and optimisers beside PyTorch's: golden/nn.txt, which golden/make_nn.py writes.
#include <gtest/gtest.h>

#include "tests/support/golden_calls.h"
#include "tests/support/golden_file.h"

namespace sluice::test {
namespace {

using Inputs = std::span<const Tensor>;
using Results = std::vector<Tensor>;

template <typename T>
T given_or(const Attributes& given, const char* name, T otherwise) {
  const auto found = given.find(name);
  return found == given.end() ? otherwise : std::get<T>(found->second);
}
int64_t int_of(const Attributes& given, const char* name) {
  return std::get<int64_t>(given.find(name)->second);
}
bool flag_of(const Attributes& given, const char* name) { return given_or(given, name, false); }
nn::Reduction reduction_of(const Attributes& given) {
  return static_cast<nn::Reduction>(int_of(given, "reduction"));
}
Tensor input_or_none(Inputs x, size_t i) { return i < x.size() ? x[i] : Tensor(); }

std::optional<int64_t> ignored(const Attributes& given) {
  if (!given.contains("ignore_index")) return std::nullopt;
  return int_of(given, "ignore_index");
}

GoldenForms losses() {
  using A = const Attributes&;
  return {
      {"cross_entropy",
       [](Inputs x, A a) -> Results {
         return {nn::cross_entropy(x[0], x[1],
                                   {.reduction = reduction_of(a),
                                    .label_smoothing = given_or(a, "label_smoothing", 0.0),
                                    .ignore_index = ignored(a),
                                    .weight = input_or_none(x, 2)})};
       }},
      {"nll_loss",
       [](Inputs x, A a) -> Results {
         return {nn::nll_loss(x[0], x[1],
                              {.reduction = reduction_of(a),
                               .ignore_index = ignored(a),
                               .weight = input_or_none(x, 2)})};
       }},
      {"mse_loss",
       [](Inputs x, A a) -> Results { return {nn::mse_loss(x[0], x[1], reduction_of(a))}; }},
      {"l1_loss",
       [](Inputs x, A a) -> Results { return {nn::l1_loss(x[0], x[1], reduction_of(a))}; }},
      {"huber_loss",
       [](Inputs x, A a) -> Results {
         return {nn::huber_loss(
             x[0], x[1], {.reduction = reduction_of(a), .delta = given_or(a, "delta", 1.0)})};
       }},
      {"smooth_l1_loss",
       [](Inputs x, A a) -> Results {
         return {nn::smooth_l1_loss(
             x[0], x[1], {.reduction = reduction_of(a), .beta = given_or(a, "beta", 1.0)})};
       }},
      {"bce_loss",
       [](Inputs x, A a) -> Results {
         return {nn::bce_loss(x[0], x[1],
                              {.reduction = reduction_of(a), .weight = input_or_none(x, 2)})};
       }},
      {"bce_with_logits_loss",
       [](Inputs x, A a) -> Results {
         return {nn::bce_with_logits_loss(x[0], x[1],
                                          {.reduction = reduction_of(a),
                                           .weight = input_or_none(x, 2),
                                           .pos_weight = input_or_none(x, 3)})};
       }},
      {"kl_div_loss",
       [](Inputs x, A a) -> Results {
         return {nn::kl_div_loss(
             x[0], x[1], {.reduction = reduction_of(a), .log_target = flag_of(a, "log_target")})};
       }},
      {"hinge_loss",
       [](Inputs x, A a) -> Results { return {nn::hinge_loss(x[0], x[1], reduction_of(a))}; }},
      {"cosine_embedding_loss",
       [](Inputs x, A a) -> Results {
         return {nn::cosine_embedding_loss(
             x[0], x[1], x[2],
             {.reduction = reduction_of(a), .margin = given_or(a, "margin", 0.0)})};
       }},
      {"poisson_nll_loss",
       [](Inputs x, A a) -> Results {
         return {nn::poisson_nll_loss(
             x[0], x[1], {.reduction = reduction_of(a), .log_input = flag_of(a, "log_input")})};
       }},
      {"ctc_loss",
       [](Inputs x, A a) -> Results {
         return {nn::ctc_loss(x[0], x[1], x[2], x[3],
                              {.reduction = reduction_of(a), .blank = int_of(a, "blank")})};
       }},
  };
}

// Sets the parameters to these, in their order.
void set_parameters(nn::Module& module, Inputs values) {
  const nn::Parameters parameters = module.parameters();
  ASSERT_EQ(parameters.size(), values.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    ASSERT_EQ(parameters[i]->shape(), values[i].shape()) << module.parameters().names()[i];
    *parameters[i] = values[i];
  }
}

template <typename Layer>
Results recurrent(Inputs x, const Attributes& a) {
  Layer layer(x[0].shape(2), int_of(a, "hidden"),
              {.layers = int_of(a, "layers"),
               .bias = flag_of(a, "bias"),
               .bidirectional = flag_of(a, "bidirectional")});
  set_parameters(layer, x.subspan(1));
  const nn::RecurrentResult result = layer(x[0]);
  if (!result.cell.defined()) return {result.output, result.hidden};
  return {result.output, result.hidden, result.cell};
}

nn::TransformerOptions transformer_options(const Attributes& a) {
  return {.feedforward = 6,
          .dropout = 0,
          .gelu = flag_of(a, "gelu"),
          .norm_first = flag_of(a, "norm_first")};
}

GoldenForms layers() {
  using A = const Attributes&;
  return {
      {"RNN", recurrent<nn::RNN>},
      {"GRU", recurrent<nn::GRU>},
      {"LSTM", recurrent<nn::LSTM>},
      {"MultiHeadAttention",
       [](Inputs x, A a) -> Results {
         nn::MultiHeadAttention layer(4, int_of(a, "heads"));
         set_parameters(layer, x.subspan(1));
         return {layer(x[0], Tensor(), flag_of(a, "causal"))};
       }},
      {"TransformerEncoderLayer",
       [](Inputs x, A a) -> Results {
         nn::TransformerEncoderLayer layer(4, 2, transformer_options(a));
         set_parameters(layer, x.subspan(1));
         return {layer(x[0])};
       }},
      {"TransformerDecoderLayer",
       [](Inputs x, A a) -> Results {
         nn::TransformerDecoderLayer layer(4, 2, transformer_options(a));
         set_parameters(layer, x.subspan(2));
         return {layer(x[0], x[1])};
       }},
  };
}

// The parameter after a step for each gradient. It is read at the end only.
template <typename O, typename Options>
Results stepped(Inputs x, const Options& options) {
  Tensor parameter = x[0];
  O optimizer({&parameter}, options);
  for (const Tensor& gradient : x.subspan(1)) optimizer.step({gradient});
  return {parameter};
}

GoldenForms optimizers() {
  using A = const Attributes&;
  return {
      {"SGD",
       [](Inputs x, A a) -> Results {
         return stepped<optim::SGD>(
             x, optim::SGDOptions{.lr = given_or(a, "lr", 0.0),
                                  .momentum = given_or(a, "momentum", 0.0),
                                  .weight_decay = given_or(a, "weight_decay", 0.0),
                                  .nesterov = flag_of(a, "nesterov")});
       }},
      {"Adam",
       [](Inputs x, A a) -> Results {
         return stepped<optim::Adam>(
             x, optim::AdamOptions{.lr = given_or(a, "lr", 0.0),
                                   .weight_decay = given_or(a, "weight_decay", 0.0)});
       }},
      {"AdamW",
       [](Inputs x, A a) -> Results {
         return stepped<optim::AdamW>(x, optim::AdamWOptions{.lr = given_or(a, "lr", 0.0)});
       }},
      {"RMSProp",
       [](Inputs x, A a) -> Results {
         return stepped<optim::RMSProp>(
             x, optim::RMSPropOptions{.lr = given_or(a, "lr", 0.0),
                                      .weight_decay = given_or(a, "weight_decay", 0.0),
                                      .momentum = given_or(a, "momentum", 0.0),
                                      .centered = flag_of(a, "centered")});
       }},
      {"Adagrad",
       [](Inputs x, A a) -> Results {
         return stepped<optim::Adagrad>(
             x, optim::AdagradOptions{.lr = given_or(a, "lr", 0.0),
                                      .lr_decay = given_or(a, "lr_decay", 0.0),
                                      .weight_decay = given_or(a, "weight_decay", 0.0),
                                      .initial_sum = given_or(a, "initial_sum", 0.0)});
       }},
      {"Adafactor",
       [](Inputs x, A a) -> Results {
         return stepped<optim::Adafactor>(x, optim::AdafactorOptions{.lr = given_or(a, "lr", 0.0)});
       }},
  };
}

TEST(NnGolden, LossesLayersAndOptimisersGiveWhatPyTorchGives) {
  const ConfigGuard guard;
  config().compile = CompileMode::kOff;
  GoldenForms forms = losses();
  forms.merge(layers());
  forms.merge(optimizers());
  EXPECT_GT(expect_golden_calls(golden_file("nn.txt"), forms), 200);
}

}  // namespace
}  // namespace sluice::test
