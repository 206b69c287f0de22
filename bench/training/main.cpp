// Sluice's part in bench/training. Answers each line of stdin, "PROGRAM SECONDS", with a line: the
// seconds that a training step took, of a run of SECONDS. The first run of a program warms up
// first.
//
// With arguments, "memory PROGRAM STEPS": prints the most bytes that tensors had in these steps,
// and what the bits of all losses make.
#include <bit>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sluice/sluice.h>

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Step = std::function<Tensor()>;  // takes a training step, and returns its loss

constexpr int kReadEvery = 8;  // of the losses

// Of a network and batches of inputs and labels that are all the same.
template <typename Net, typename Loss>
Step training(std::shared_ptr<Net> net, Loss loss_of) {
  auto optimizer = std::make_shared<optim::AdamW>(net->parameters(), optim::AdamWOptions{});
  return [=] {
    auto [loss, gradients] = value_and_grad(loss_of)(*net);
    optimizer->step(gradients);
    flush();
    return loss;
  };
}

Step classifier(nn::Sequential layers, const Shape& images) {
  const Tensor x = rand(images), labels = randint(0, 10, {images[0]});
  return training(std::make_shared<nn::Sequential>(std::move(layers)),
                  [=](nn::Sequential& net) { return nn::cross_entropy(net(x), labels); });
}

Step mlp() {
  return classifier(nn::Sequential{nn::Linear{64, 512}, nn::ReLU{}, nn::Linear{512, 256},
                                   nn::ReLU{}, nn::Linear{256, 10}},
                    {32, 64});
}

Step cnn() {
  return classifier(
      nn::Sequential{nn::Conv2d{1, 16, {3, 3}, {.padding = 1}}, nn::BatchNorm2d{16}, nn::ReLU{},
                     nn::Conv2d{16, 32, {3, 3}, {.padding = 1}}, nn::BatchNorm2d{32}, nn::ReLU{},
                     nn::MaxPool2d{2}, nn::Flatten{}, nn::Linear{32 * 4 * 4, 10}},
      {32, 1, 8, 8});
}

Step transformer() {
  const Tensor x = randn({16, 64, 128});
  const nn::TransformerOptions options{
      .feedforward = 512, .dropout = 0, .gelu = true, .norm_first = true};
  using Block = nn::TransformerEncoderLayer;
  return training(std::make_shared<Block>(128, 4, options),
                  [=](Block& block) { return mean(square(block(x, Tensor(), /*causal=*/true))); });
}

// Twenty actions of sixteen carts, each read by the host, then a step of REINFORCE on 320 states.
Step cart_pole() {
  using Net = nn::Sequential;
  auto policy = std::make_shared<Net>(nn::Linear{4, 32}, nn::Tanh{}, nn::Linear{32, 1});
  const std::vector<float> state(64, 0.1f), states(20 * 64, 0.1f), weights(20 * 16, 0.5f);
  const Step update = training(policy, [=](Net& net) {
    const Tensor logits = net(Tensor::from(states, {20 * 16, 4}));
    const Tensor column = Tensor::from(weights, {20 * 16, 1});
    return mean(nn::bce_with_logits_loss(logits, column, nn::Reduction::kNone) * column);
  });
  return [=] {
    for (int i = 0; i < 20; ++i) {
      const NoGrad guard;
      const Tensor right = sigmoid((*policy)(Tensor::from(state, {16, 4})));
      static_cast<void>((rand({16, 1}) < right).astype(kFloat32).to_vector<float>());
    }
    return update();
  };
}

// Seconds a step.
double timed(const Step& step, double seconds) {
  const Clock::time_point begin = Clock::now();
  for (int64_t steps = 1;; ++steps) {
    const Tensor loss = step();
    if (steps % kReadEvery != 0) continue;
    static_cast<void>(loss.item<float>());
    const double passed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (passed >= seconds) return passed / static_cast<double>(steps);
  }
}

Step make(const std::string& program) {
  const std::map<std::string, Step (*)()> makers = {
      {"mlp", mlp}, {"cnn", cnn}, {"transformer", transformer}, {"cart_pole", cart_pole}};
  manual_seed(1);
  return makers.at(program)();
}

void answer_all() {
  std::map<std::string, Step> steps;
  std::string name;
  for (double seconds = 0; std::cin >> name >> seconds;) {
    Step& step = steps[name];
    if (!step) {
      step = make(name);
      timed(step, 1);
    }
    std::cout << timed(step, seconds) << std::endl;
  }
}

void measure_memory(const std::string& program, int64_t steps) {
  const Step step = make(program);
  uint64_t bits = 0;
  for (int64_t i = 0; i < steps; ++i) {
    bits = bits * 31 + std::bit_cast<uint32_t>(step().item<float>());
  }
  std::cout << stats().bytes_allocated_peak << ' ' << bits << '\n';
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 3 && arguments[0] == "memory") {
    sluice::bench::measure_memory(arguments[1], std::stoll(arguments[2]));
  } else {
    sluice::bench::answer_all();
  }
}
