// Sluice's part in bench/scoreboard. --interpreted disables compilation.
#include <chrono>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/sluice.h>
#include "bench/contestants/contestant.h"
#include "bench/programs.h"
#include "workloads/hand_adam.h"
#include "workloads/hand_network.h"

namespace sluice::bench {
namespace {

using scoreboard::Array;
using scoreboard::Arrays;
using scoreboard::Work;
using Tensors = std::vector<Tensor>;

struct Framework {
  static void wait(const Tensors& tensors) {
    for (const Tensor& tensor : tensors) {
      if (tensor.numel() > 1024) return sync();
    }
    static scoreboard::Floats values(1024);
    for (const Tensor& tensor : tensors) {
      tensor.copy_to(std::span<float>(values.data(), static_cast<size_t>(tensor.numel())));
    }
  }
  static scoreboard::Floats read(const Tensor& tensor) {
    scoreboard::Floats values(tensor.numel());
    tensor.copy_to(std::span<float>(values));
    return values;
  }
};

Tensors upload(const Arrays& arrays) {
  Tensors tensors;
  for (const Array& array : arrays) {
    tensors.push_back(Tensor::from(array.values, Shape(array.shape)));
  }
  return tensors;
}

// A program that repeats the same step.
using Program = Tensors (*)(const Tensors& in, int64_t count);

Work pure(Program program, const Arrays& arrays, int64_t count) {
  return scoreboard::work_of<Framework>([=, in = upload(arrays)] { return program(in, count); });
}

Tensors chain(const Tensors& in, int64_t ops) {
  Tensor t = in[0];
  for (int64_t i = 0; i < ops; i += 2) t = std::move(t) * in[1] + in[0];
  return {std::move(t)};
}

Tensors mixed_chain(const Tensors& in, int64_t ops) {
  Tensor t = in[0];
  for (int64_t i = 0; i < ops; i += 2) t = std::move(t) * 0.5f + in[0];
  return {std::move(t)};
}

Tensors mish_op(const Tensors& in, int64_t) { return {mish(in[0])}; }

Tensors composed_mish(const Tensors& in, int64_t) { return {in[0] * tanh(log1p(exp(in[0])))}; }

Tensors softmax_of_rows(const Tensors& in, int64_t) {
  Tensor e = exp(in[0] - max(in[0], 1, true));
  Tensor total = sum(e, 1, true);
  return {std::move(e) / std::move(total)};
}

Tensors normalised_rows(const Tensors& in, int64_t) {
  const Tensor& x = in[0];
  Tensor scale = rsqrt(var(x, 1, true) + 1e-5f);
  return {(x - mean(x, 1, true)) * std::move(scale) * in[1] + in[2]};
}

Tensors product(const Tensors& in, int64_t) { return {matmul(in[0], in[1])}; }

Tensors linear_gelu(const Tensors& in, int64_t) { return {gelu(matmul(in[0], in[1]) + in[2])}; }

Tensors prices(const Tensors& in, int64_t) { return black_scholes(in[0], in[1], in[2]); }

Tensors jacobi(const Tensors& in, int64_t steps) {
  Tensor x = in[0];
  for (int64_t i = 0; i < steps; ++i) x = jacobi_step(x);
  return {std::move(x)};
}

Tensors distances(const Tensors& in, int64_t) {
  return {sum(square(expand_dims(in[0], 1) - expand_dims(in[1], 0)), 2)};
}

constexpr double kLearningRate = 1e-3;

std::vector<workloads::Layer> layers_of(const Tensors& in, size_t begin, size_t end) {
  std::vector<workloads::Layer> layers;
  for (size_t i = begin; i < end; i += 2) layers.push_back({in[i], in[i + 1]});
  return layers;
}

void add_layers(const std::vector<workloads::Layer>& layers, Tensors& out) {
  for (const workloads::Layer& layer : layers) out.insert(out.end(), {layer.weight, layer.bias});
}

// Inputs: alternating weights and biases, then their gradients.
Work adam(const Arrays& arrays, int64_t) {
  const Tensors in = upload(arrays);
  auto parameters = layers_of(in, 0, in.size() / 2);
  return scoreboard::work_of<Framework>([gradients = layers_of(in, in.size() / 2, in.size()),
                                         adam = workloads::Adam(parameters), parameters]() mutable {
    adam.step(kLearningRate, gradients, parameters);
    Tensors out;
    add_layers(parameters, out);
    return out;
  });
}

// Inputs: images, then alternating weights and biases. Image i shows digit i % 10.
Work training_step(const Arrays& arrays, int64_t) {
  const Tensors in = upload(arrays);
  workloads::Network network(std::vector<int64_t>(in.size() / 2 + 1, 1));
  network.layers() = layers_of(in, 1, in.size());
  const Tensor targets = one_hot(arange(in[0].shape(0)) % 10, 10);
  sync();
  return scoreboard::work_of<Framework>(
      [images = in[0], targets, network, adam = workloads::Adam(network.layers())]() mutable {
        workloads::Gradients gradients = network.gradients(images, targets);
        adam.step(kLearningRate, gradients.layers, network.layers());
        Tensors out = {std::move(gradients.loss)};
        add_layers(network.layers(), out);
        return out;
      });
}

// Reports when the program first ran compiled, with the caches as they are.
std::string until_compiled(const Work& work, scoreboard::Clock::time_point start) {
  const auto given_up = start + std::chrono::seconds(10);
  for (int64_t interpreted = -1; interpreted != stats().generic_tier_launches;) {
    if (scoreboard::Clock::now() > given_up) return "";
    interpreted = stats().generic_tier_launches;
    work.step();
  }
  const double compiled = scoreboard::seconds_since(start);
  return "compiled=" + std::to_string(compiled) + " compiles=" + std::to_string(stats().compiles) +
         " found_on_disk=" + std::to_string(stats().disk_cache_hits);
}

scoreboard::Contestant contestant() {
  scoreboard::Contestant result;
  std::istringstream info(build_info());
  for (std::string line; std::getline(info, line);) {
    result.version += (result.version.empty() ? "" : ", ") + line;
  }
  for (const auto& [name, program] :
       std::initializer_list<std::pair<const char*, Program>>{{"chain", chain},
                                                              {"chain10", chain},
                                                              {"mixed_chain", mixed_chain},
                                                              {"mish", mish_op},
                                                              {"composed_mish", composed_mish},
                                                              {"softmax", softmax_of_rows},
                                                              {"layer_norm", normalised_rows},
                                                              {"matmul", product},
                                                              {"linear_gelu", linear_gelu},
                                                              {"black_scholes", prices},
                                                              {"jacobi", jacobi},
                                                              {"distances", distances}}) {
    result.programs[name] = [program = program](const Arrays& arrays, int64_t count) {
      return pure(program, arrays, count);
    };
  }
  result.programs["adam"] = adam;
  result.programs["training_step"] = training_step;
  result.after_once = until_compiled;
  return result;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  const std::string_view argument = argc > 1 ? argv[1] : "";
  if (argument == "--interpreted") {
    sluice::config().compile = sluice::CompileMode::kOff;
  } else if (argument != "once") {
    sluice::config().compile = sluice::CompileMode::kBlocking;
  }
  return scoreboard::contestant_main(argc, argv, sluice::bench::contestant());
}
