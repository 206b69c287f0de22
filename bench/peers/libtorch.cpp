// libtorch's part in bench/scoreboard: eager ops in inference mode, fused where available.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/version.h>

#include <cstring>
#include <numbers>
#include <string>

#include "bench/contestants/contestant.h"

namespace {

using at::Tensor;
using scoreboard::Array;
using scoreboard::Arrays;
using scoreboard::Work;
using Tensors = std::vector<Tensor>;

struct Framework {
  static void wait(const Tensors&) {}  // nothing is lazy
  static scoreboard::Floats read(const Tensor& tensor) {
    const Tensor dense = tensor.contiguous();
    const float* data = dense.data_ptr<float>();
    return {data, data + dense.numel()};
  }
};

Tensors upload(const Arrays& arrays) {
  Tensors tensors;
  for (const Array& array : arrays) {
    Tensor tensor = at::empty(array.shape, at::kFloat);
    std::memcpy(tensor.data_ptr<float>(), array.values.data(), array.values.size() * sizeof(float));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

using Program = Tensors (*)(const Tensors& in, int64_t count);

Tensors chain(const Tensors& in, int64_t ops) {
  Tensor t = in[0];
  for (int64_t i = 0; i < ops; i += 2) t = t * in[1] + in[0];
  return {t};
}

Tensors mixed_chain(const Tensors& in, int64_t ops) {
  Tensor t = in[0];
  for (int64_t i = 0; i < ops; i += 2) t = t * 0.5f + in[0];
  return {t};
}

Tensors mish(const Tensors& in, int64_t) { return {at::mish(in[0])}; }

Tensors composed_mish(const Tensors& in, int64_t) {
  return {in[0] * at::tanh(at::log1p(at::exp(in[0])))};
}

Tensors softmax(const Tensors& in, int64_t) { return {at::softmax(in[0], 1)}; }

Tensors layer_norm(const Tensors& in, int64_t) {
  return {at::layer_norm(in[0], {in[0].size(1)}, in[1], in[2], 1e-5)};
}

Tensors matmul(const Tensors& in, int64_t) { return {at::matmul(in[0], in[1])}; }

Tensors linear_gelu(const Tensors& in, int64_t) {
  return {at::gelu(at::addmm(in[2], in[0], in[1]))};
}

Tensors black_scholes(const Tensors& in, int64_t) {
  constexpr float kRate = 0.02f, kVolatility = 0.3f;
  const Tensor &spot = in[0], &strike = in[1], &years = in[2];
  const auto normal_cdf = [](const Tensor& d) {
    return 0.5f + 0.5f * at::erf(d * (1 / std::numbers::sqrt2_v<float>));
  };
  const Tensor spread = kVolatility * at::sqrt(years);
  const Tensor drift = (kRate + 0.5f * kVolatility * kVolatility) * years;
  const Tensor d = (at::log(spot / strike) + drift) / spread;
  const Tensor exercised = normal_cdf(d - spread);
  const Tensor delta = normal_cdf(d);
  const Tensor discounted = strike * at::exp(-kRate * years);
  return {spot * delta - discounted * exercised,
          discounted * (1.0f - exercised) - spot * (1.0f - delta)};
}

// In place, alternating between two grids.
Tensors jacobi(const Tensors& in, int64_t steps) {
  Tensor from = in[0].clone(), to = in[0].clone();
  const int64_t rows = in[0].size(0) - 2, columns = in[0].size(1) - 2;
  for (int64_t i = 0; i < steps; ++i) {
    const auto part = [&](const Tensor& x, int64_t r, int64_t c) {
      return x.narrow(0, r, rows).narrow(1, c, columns);
    };
    Tensor inside = part(to, 1, 1);
    at::add_out(inside, part(from, 0, 1), part(from, 2, 1));
    inside.add_(part(from, 1, 0)).add_(part(from, 1, 2)).mul_(0.25f);
    std::swap(from, to);
  }
  return {from};
}

Tensors distances(const Tensors& in, int64_t) {
  // 2: without matrix products, which would change the result
  return {at::square(at::cdist(in[0], in[1], 2.0, 2))};
}

// AdamW over all parameters in one call. Alternating weights and biases; biases do not decay.
class Adam {
 public:
  explicit Adam(const Tensors& parameters) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      Group& group = groups_[i % 2];
      group.parameters.push_back(parameters[i]);
      group.means.push_back(at::zeros_like(parameters[i]));
      group.squares.push_back(at::zeros_like(parameters[i]));
      group.steps.push_back(at::zeros({}, at::kFloat));
    }
  }

  void step(const Tensors& gradients) {
    Tensors sorted[2];
    for (size_t i = 0; i < gradients.size(); ++i) sorted[i % 2].push_back(gradients[i]);
    for (int i = 0; i < 2; ++i) {
      Group& group = groups_[i];
      for (Tensor& count : group.steps) count.add_(1);
      at::_fused_adamw_(group.parameters, sorted[i], group.means, group.squares, {}, group.steps,
                        1e-3, 0.9, 0.999, i == 0 ? 0.01 : 0.0, 1e-8, false, false);
    }
  }

 private:
  struct Group {
    Tensors parameters, means, squares, steps;
  };
  Group groups_[2];
};

// Inputs: alternating weights and biases, then their gradients.
Work adam(const Arrays& arrays, int64_t) {
  const Tensors in = upload(arrays);
  const auto middle = in.begin() + static_cast<std::ptrdiff_t>(in.size() / 2);
  const Tensors parameters(in.begin(), middle), gradients(middle, in.end());
  return scoreboard::work_of<Framework>([=, adam = Adam(parameters)]() mutable {
    adam.step(gradients);
    return parameters;
  });
}

// Inputs: images, then alternating weights and biases. Image i shows digit i % 10.
Work training_step(const Arrays& arrays, int64_t) {
  const Tensors in = upload(arrays);
  const Tensors parameters(in.begin() + 1, in.end());
  const Tensor images = in[0],
               targets = at::one_hot(at::arange(images.size(0)) % 10, 10).to(at::kFloat);
  return scoreboard::work_of<Framework>([=, adam = Adam(parameters)]() mutable {
    const size_t depth = parameters.size() / 2;
    Tensors activations = {images};
    Tensor x;
    for (size_t i = 0; i < depth; ++i) {
      x = at::addmm(parameters[2 * i + 1], activations[i], parameters[2 * i]);
      if (i + 1 < depth) activations.push_back(at::relu(x));
    }
    const Tensor log_probabilities = at::log_softmax(x, 1);
    const float scale = 1.0f / static_cast<float>(images.size(0));
    Tensors results = {at::sum(targets * log_probabilities) * -scale};
    Tensors gradients(parameters.size());
    Tensor delta = (at::exp(log_probabilities) - targets) * scale;
    for (size_t i = depth; i-- > 0;) {
      gradients[2 * i] = at::mm(activations[i].t(), delta);
      gradients[2 * i + 1] = at::sum(delta, 0);
      if (i > 0) {
        delta = at::threshold_backward(at::mm(delta, parameters[2 * i].t()), activations[i], 0);
      }
    }
    adam.step(gradients);
    results.insert(results.end(), parameters.begin(), parameters.end());
    return results;
  });
}

scoreboard::Contestant contestant() {
  scoreboard::Contestant result;
  result.version =
      "libtorch " TORCH_VERSION ", " + std::to_string(at::get_num_threads()) + " threads";
  for (const auto& [name, program] :
       std::initializer_list<std::pair<const char*, Program>>{{"chain", chain},
                                                              {"chain10", chain},
                                                              {"mixed_chain", mixed_chain},
                                                              {"mish", mish},
                                                              {"composed_mish", composed_mish},
                                                              {"softmax", softmax},
                                                              {"layer_norm", layer_norm},
                                                              {"matmul", matmul},
                                                              {"linear_gelu", linear_gelu},
                                                              {"black_scholes", black_scholes},
                                                              {"jacobi", jacobi},
                                                              {"distances", distances}}) {
    result.programs[name] = [program = program](const Arrays& arrays, int64_t count) {
      return scoreboard::work_of<Framework>(
          [=, in = upload(arrays)] { return program(in, count); });
    };
  }
  result.programs["adam"] = adam;
  result.programs["training_step"] = training_step;
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const c10::InferenceMode guard;
  return scoreboard::contestant_main(argc, argv, contestant());
}
