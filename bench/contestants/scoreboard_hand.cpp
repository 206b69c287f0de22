// The hand-written loops' part in bench/scoreboard, with reused result buffers.
#include <string>
#include <vector>

#include "bench/contestants/contestant.h"
#include "bench/hand/fused_loops.h"
#include "bench/hand/hand_loops.h"
#include "bench/hand/step_loops.h"

namespace sluice::bench {
namespace {

using scoreboard::Array;
using scoreboard::Arrays;
using scoreboard::Floats;
using scoreboard::Work;

// Computes `out` from `in`; rows and columns are the first input's.
using Loop = void (*)(const Arrays& in, Arrays& out, int64_t count);

int64_t rows(const Array& array) { return array.shape[0]; }
int64_t columns(const Array& array) { return array.shape[1]; }
int64_t size(const Array& array) { return static_cast<int64_t>(array.values.size()); }
const float* data(const Array& array) { return array.values.data(); }
float* data(Array& array) { return array.values.data(); }

// Outputs from this size on do not fit into caches.
constexpr int64_t kStreamed = int64_t{1} << 23;

void chain(const Arrays& in, Arrays& out, int64_t ops) {
  hand_small_chain(data(in[0]), data(in[1]), data(out[0]), size(in[0]), ops);
}

void mixed_chain(const Arrays& in, Arrays& out, int64_t ops) {
  hand_small_chain(data(in[0]), 0.5f, data(out[0]), size(in[0]), ops);
}

void chain10(const Arrays& in, Arrays& out, int64_t) {
  const auto loop = size(in[0]) >= kStreamed ? hand_chain10_streaming : hand_chain10;
  loop(data(in[0]), data(in[1]), data(out[0]), size(in[0]));
}

void mish(const Arrays& in, Arrays& out, int64_t) {
  hand_mish_algebraic(data(in[0]), data(out[0]), size(in[0]));
}

void composed_mish(const Arrays& in, Arrays& out, int64_t) {
  hand_mish_composed(data(in[0]), data(out[0]), size(in[0]));
}

void softmax(const Arrays& in, Arrays& out, int64_t) {
  hand_softmax(data(in[0]), data(out[0]), rows(in[0]), columns(in[0]));
}

void layer_norm(const Arrays& in, Arrays& out, int64_t) {
  hand_layer_norm(data(in[0]), data(in[1]), data(in[2]), data(out[0]), rows(in[0]), columns(in[0]));
}

void black_scholes(const Arrays& in, Arrays& out, int64_t) {
  hand_black_scholes(data(in[0]), data(in[1]), data(in[2]), 0.02f, 0.3f, data(out[0]), data(out[1]),
                     size(in[0]));
}

void distances(const Arrays& in, Arrays& out, int64_t) {
  hand_distances(data(in[0]), data(in[1]), data(out[0]), rows(in[0]), rows(in[1]), columns(in[0]));
}

Work loop(Loop loop, Arrays in, std::vector<std::vector<int64_t>> shapes, int64_t count) {
  auto out = std::make_shared<Arrays>();
  for (std::vector<int64_t>& shape : shapes) {
    int64_t total = 1;
    for (const int64_t extent : shape) total *= extent;
    out->push_back({std::move(shape), Floats(total)});
  }
  return scoreboard::work_of(out, [=, in = std::move(in)] { loop(in, *out, count); });
}

Work jacobi(Arrays in, int64_t steps) {
  const auto out = std::make_shared<Arrays>(in);
  return scoreboard::work_of(out, [=, other = in[0].values]() mutable {
    const float* from = data(in[0]);
    for (int64_t i = steps; i-- > 0;) {  // the last one writes the result
      float* to = i % 2 == 0 ? data((*out)[0]) : other.data();
      hand_jacobi(from, to, rows(in[0]), columns(in[0]));
      from = to;
    }
  });
}

constexpr float kLearningRate = 1e-3f, kWeightDecay = 0.01f;

// Inputs: alternating weights and biases, then their gradients. Biases do not decay.
Work adam(Arrays in, int64_t) {
  const size_t count = in.size() / 2;
  auto parameters = std::make_shared<Arrays>(in.begin(), in.begin() + count);
  std::vector<Floats> moments;
  for (size_t i = 0; i < 2 * count; ++i) moments.emplace_back((*parameters)[i / 2].values.size());
  const auto step = [=, gradients = Arrays(in.begin() + count, in.end()), t = 0]() mutable {
    ++t;
    for (size_t i = 0; i < count; ++i) {
      hand_adam(adam_scale(t, kLearningRate, i % 2 == 0 ? kWeightDecay : 0), data(gradients[i]),
                data((*parameters)[i]), moments[2 * i].data(), moments[2 * i + 1].data(),
                size(gradients[i]));
    }
  };
  return scoreboard::work_of(parameters, std::move(step));
}

// Inputs: images, then alternating weights and biases.
Work training_step(Arrays in, int64_t) {
  const auto out = std::make_shared<Arrays>(std::move(in));
  const Array images = (*out)[0];
  (*out)[0] = {{1}, Floats(1)};  // the loss; the others are the parameters
  const int64_t batch = rows(images);
  std::vector<HandLayer> layers;
  for (size_t i = 1; i < out->size(); i += 2) {
    Array &weight = (*out)[i], &bias = (*out)[i + 1];
    const size_t n = weight.values.size(), m = bias.values.size();
    layers.push_back({rows(weight), columns(weight), data(weight), data(bias),
                      std::vector<float>(n), std::vector<float>(n), std::vector<float>(m),
                      std::vector<float>(m), std::vector<float>(batch * rows(weight)),
                      std::vector<float>(batch * columns(weight))});
  }
  return scoreboard::work_of(out, [=, t = 0]() mutable {
    (*out)[0].values[0] =
        hand_training_step(layers, data(images), batch, ++t, kLearningRate, kWeightDecay);
  });
}

scoreboard::Contestant contestant() {
  scoreboard::Contestant result;
  result.version = "g++ " __VERSION__ ", -O3 -march=native -ffast-math";
  // The results have the shapes of the first `outputs` inputs.
  const auto add = [&](const char* name, Loop body, int outputs = 1) {
    result.programs[name] = [=](Arrays in, int64_t count) {
      const std::vector<std::vector<int64_t>> shapes(outputs, in[0].shape);
      return loop(body, std::move(in), shapes, count);
    };
  };
  add("chain", chain);
  add("mixed_chain", mixed_chain);
  add("chain10", chain10);
  add("mish", mish);
  add("composed_mish", composed_mish);
  add("softmax", softmax);
  add("layer_norm", layer_norm);
  add("black_scholes", black_scholes, 2);
  result.programs["distances"] = [](Arrays in, int64_t count) {
    const std::vector<std::vector<int64_t>> shapes = {{rows(in[0]), rows(in[1])}};
    return loop(distances, std::move(in), shapes, count);
  };
  result.programs["jacobi"] = jacobi;
  result.programs["adam"] = adam;
  result.programs["training_step"] = training_step;
  return result;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return scoreboard::contestant_main(argc, argv, sluice::bench::contestant());
}
