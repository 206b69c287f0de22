// A cart learns to balance a pole, by trial and error alone: REINFORCE (Williams, 1992) on the
// problem of Barto, Sutton and Anderson (1983), with the constants that OpenAI Gym made usual.
// Sixteen carts try at once; what is computed is tiny, so that what the host does for an op is what
// counts.
//
//   cart_pole [updates]
//
// Exits with 1 if they learnt nothing.
#include <sluice/sluice.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace sl = sluice;
namespace nn = sluice::nn;

namespace {

constexpr int64_t kCarts = 16, kLongest = 200;

struct Cart {
  std::array<float, 4> state;  // place, speed, angle, angular speed
  bool has_fallen = false;

  void push(bool right) {
    auto& [place, speed, angle, turning] = state;
    const float force = right ? 10.f : -10.f, sine = std::sin(angle), cosine = std::cos(angle);
    const float part = (force + 0.05f * turning * turning * sine) / 1.1f;
    const float turn =
        (9.8f * sine - cosine * part) / (0.5f * (4.f / 3 - 0.1f * cosine * cosine / 1.1f));
    const float acceleration = part - 0.05f * turn * cosine / 1.1f;
    place += 0.02f * speed;
    speed += 0.02f * acceleration;
    angle += 0.02f * turning;
    turning += 0.02f * turn;
    has_fallen = std::abs(place) > 2.4f || std::abs(angle) > 0.2095f;
  }
};

// What all carts did until the last fell.
struct Episodes {
  std::vector<float> states, actions, returns, weights;  // step by step; weight 0: had fallen
  int64_t lived = 0;                                     // steps of all carts
};

Episodes play(nn::Sequential& policy, std::vector<Cart>* carts) {
  const sl::NoGrad guard;
  const std::vector<float> beginnings = ((sl::rand({kCarts, 4}) - 0.5f) * 0.1f).to_vector<float>();
  for (int64_t i = 0; i < kCarts; ++i) {
    std::copy_n(beginnings.begin() + 4 * i, 4, (*carts)[i].state.begin());
    (*carts)[i].has_fallen = false;
  }
  Episodes all;
  for (int64_t step = 0; step < kLongest; ++step) {
    std::vector<float> states;
    for (const Cart& cart : *carts) {
      states.insert(states.end(), cart.state.begin(), cart.state.end());
    }
    const sl::Tensor right = sl::sigmoid(policy(sl::Tensor::from(states, {kCarts, 4})));
    const std::vector<float> actions =
        (sl::rand({kCarts, 1}) < right).astype(sl::kFloat32).to_vector<float>();
    for (int64_t i = 0; i < kCarts; ++i) {
      Cart& cart = (*carts)[i];
      all.weights.push_back(cart.has_fallen ? 0.f : 1.f);
      all.lived += cart.has_fallen ? 0 : 1;
      if (!cart.has_fallen) cart.push(actions[i] > 0);
    }
    all.states.insert(all.states.end(), states.begin(), states.end());
    all.actions.insert(all.actions.end(), actions.begin(), actions.end());
  }
  // What was still to come, a step's worth less for each step that it was away.
  all.returns.resize(all.weights.size());
  for (int64_t at = kLongest * kCarts - 1; at >= 0; --at) {
    const float later = at + kCarts < kLongest * kCarts ? all.returns[at + kCarts] : 0;
    all.returns[at] = all.weights[at] * (1 + 0.98f * later);
  }
  return all;
}

sl::Tensor loss_of(nn::Sequential& policy, const Episodes& all) {
  const auto column = [](const std::vector<float>& v) {
    return sl::Tensor::from(v).reshape({-1, 1});
  };
  const sl::Tensor weights = column(all.weights), returns = column(all.returns);
  const auto lived = static_cast<float>(all.lived);
  const sl::Tensor mean = sl::sum(returns) / lived;
  const sl::Tensor spread = sl::sqrt(sl::sum(sl::square(returns - mean) * weights) / lived);
  const sl::Tensor advantage = (returns - mean) / (spread + 1e-6f) * weights;
  const sl::Tensor logits = policy(sl::Tensor::from(all.states, {kLongest * kCarts, 4}));
  const sl::Tensor surprise =
      nn::bce_with_logits_loss(logits, column(all.actions), nn::Reduction::kNone);
  return sl::sum(surprise * advantage) / lived;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t updates = argc > 1 ? std::atoi(argv[1]) : 60;
  sl::manual_seed(5);
  nn::Sequential policy{nn::Linear{4, 32}, nn::Tanh{}, nn::Linear{32, 1}};
  sl::optim::Adam optimizer(policy.parameters(), {.lr = 1e-2});
  std::vector<Cart> carts(kCarts);
  std::vector<double> lengths;
  sl::data::Progress progress(updates, {.title = "cart and pole"});
  for (int64_t update = 0; update < updates; ++update) {
    const Episodes all = play(policy, &carts);
    const auto loss = [&](nn::Sequential& p) { return loss_of(p, all); };
    auto [value, gradients] = sl::value_and_grad(loss)(policy);
    optimizer.step(gradients);
    progress.step(value);
    lengths.push_back(static_cast<double>(all.lived) / kCarts);
  }
  progress.finish();

  std::printf("\nhow long the pole stood, of %lld steps\n", static_cast<long long>(kLongest));
  const int64_t every = std::max<int64_t>(1, updates / 15);
  for (int64_t i = 0; i < updates; i += every) {
    std::printf("  %3lld %s %.0f\n", static_cast<long long>(i),
                std::string(static_cast<size_t>(lengths[i] / 4), '#').c_str(), lengths[i]);
  }
  std::printf("  %3lld %s %.0f\n", static_cast<long long>(updates),
              std::string(static_cast<size_t>(lengths.back() / 4), '#').c_str(), lengths.back());
  return lengths.back() > (updates >= 60 ? 150 : lengths.front()) ? 0 : 1;
}
