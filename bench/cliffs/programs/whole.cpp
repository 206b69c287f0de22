// Products, and programs of many ops.
#include <cmath>
#include <memory>
#include <utility>

#include "bench/cliffs/cliffs.h"
#include "bench/programs.h"

namespace sluice::bench {
namespace {

Tensor chain(const Given& in) {
  Tensor t = in[0];
  for (int i = 0; i < 5; ++i) t = std::move(t) * in[1] + in[0];
  return t;
}

// Distances squared of all pairs of rows.
Tensor distances(const Given& in) {
  return sum(square(expand_dims(in[0], 1) - expand_dims(in[1], 0)), {2});
}

Tensor jacobi(const Given& in) {
  Tensor x = in[0];
  for (int64_t i = 0; i < in.argument(0); ++i) x = jacobi_step(x);
  return x;
}

// The mean of the four neighbours, around the ends.
Tensor jacobi_rolled(const Given& in) {
  const Tensor x = in[0];
  return 0.25f * (roll(x, 1, 0) + roll(x, -1, 0) + roll(x, 1, 1) + roll(x, -1, 1));
}

// A generation of the Game of Life on a torus.
Tensor generation(const Tensor& cells, Tensor neighbours) {
  return astype(neighbours == 3 || (cells == 1 && neighbours == 2), cells.dtype());
}

Tensor life_rolled(const Given& in) {
  const Tensor x = in[0];
  Tensor neighbours;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      if (dy == 0 && dx == 0) continue;
      const Tensor moved = roll(roll(x, dy, 0), dx, 1);
      neighbours = neighbours.defined() ? std::move(neighbours) + moved : moved;
    }
  }
  return generation(x, std::move(neighbours));
}

Tensor life_joined(const Given& in) {
  const Tensor x = in[0];
  const int64_t rows = x.shape(0), columns = x.shape(1);
  const Tensor tall = concat({x.slice(0, rows - 1, rows), x, x.slice(0, 0, 1)}, 0);
  const Tensor wide =
      concat({tall.slice(1, columns - 1, columns), tall, tall.slice(1, 0, 1)}, 1).eval();
  Tensor neighbours;
  for (int dy = 0; dy <= 2; ++dy) {
    for (int dx = 0; dx <= 2; ++dx) {
      if (dy == 1 && dx == 1) continue;
      const Tensor moved = wide.slice(0, dy, dy + rows).slice(1, dx, dx + columns);
      neighbours = neighbours.defined() ? std::move(neighbours) + moved : moved;
    }
  }
  return generation(x, std::move(neighbours));
}

// The accelerations of bodies at `x`, (n, 3).
constexpr float kSoftening = 1e-3f;

Tensor bodies(const Given& in) {
  const Tensor x = in[0], mass = in[1];
  const Tensor d = expand_dims(x, 0) - expand_dims(x, 1);
  const Tensor r = sum(d * d, {2}, true) + kSoftening;
  return sum(d * (expand_dims(expand_dims(mass, 0), 2) * rsqrt(r * r * r)), {1});
}

Tensor bodies_by_component(const Given& in) {
  const Tensor x = in[0], mass = in[1];
  Tensors d;
  for (int c = 0; c < 3; ++c) {
    const Tensor component = x.slice(1, c, c + 1);
    d.push_back(component.T() - component);
  }
  const Tensor r = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + kSoftening;
  const Tensor force = expand_dims(mass, 0) * rsqrt(r * r * r);
  Tensors sums;
  for (const Tensor& component : d) sums.push_back(sum(component * force, {1}));
  return stack(sums, 1);
}

// The index of the nearest centre of each point.
Tensor nearest(const Given& in) { return argmin(distances(in), {1}); }

Tensor gamma_of_image(const Given& in) { return sum(pow(in[0], 0.45f) * in[1], {-1}); }

Tensor attention(const Given& in) {
  const Tensor scores = matmul(in[0], in[1].swapaxes(-1, -2)) *
                        static_cast<float>(1 / std::sqrt(static_cast<double>(in[0].shape(-1))));
  return matmul(softmax(scores), in[2]);
}

// Adam: inputs are parameters, then gradients. Means and squares start at 0.
constexpr float kRate1 = 0.9f, kRate2 = 0.999f, kLearning = 1e-3f, kEpsilon = 1e-8f;

Step adam(Given in) {
  struct State {
    Tensors parameters, gradients, means, squares;
    double step = 0;
  };
  const auto state = std::make_shared<State>();
  for (size_t i = 0; i < in.size() / 2; ++i) {
    state->parameters.push_back(in[i]);
    state->gradients.push_back(in[in.size() / 2 + i]);
    state->means.push_back(zeros_like(in[i]));
    state->squares.push_back(zeros_like(in[i]));
  }
  return [state] {
    auto& [parameters, gradients, means, squares, step] = *state;
    step += 1;
    const auto scale1 = static_cast<float>(1 / (1 - std::pow(kRate1, step)));
    const auto scale2 = static_cast<float>(1 / (1 - std::pow(kRate2, step)));
    for (size_t i = 0; i < parameters.size(); ++i) {
      means[i] = means[i] * kRate1 + gradients[i] * (1 - kRate1);
      squares[i] = squares[i] * kRate2 + gradients[i] * gradients[i] * (1 - kRate2);
      parameters[i] -= kLearning * (means[i] * scale1) / (sqrt(squares[i] * scale2) + kEpsilon);
    }
    return parameters;
  };
}

// Attention over keys and values that grow by a row at each of argument(0) steps: inputs are the
// rows of queries, keys and values, (steps, width).
Tensors growing_cache(const Given& in) {
  const int64_t steps = in.argument(0);
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(in[0].shape(1))));
  Tensor keys = in[1].slice(0, 0, 1), values = in[2].slice(0, 0, 1), result;
  for (int64_t i = 1; i < steps; ++i) {
    keys = concat({std::move(keys), in[1].slice(0, i, i + 1)}, 0);
    values = concat({std::move(values), in[2].slice(0, i, i + 1)}, 0);
    const Tensor scores = matmul(in[0].slice(0, i, i + 1), keys.T()) * scale;
    result = matmul(softmax(scores), values);
    sync();
  }
  return {result};
}

// A chain of ten ops that no step had before: the digits of a number say which.
Step new_chain(Given in) {
  return [in = std::move(in), number = int64_t{0}]() mutable -> Tensors {
    number += 7919;
    int64_t digits = number;
    Tensor t = in[0];
    for (int i = 0; i < 10; ++i, digits /= 4) {
      switch (digits % 4) {
        case 0: t = std::move(t) + in[1]; break;
        case 1: t = std::move(t) * in[1]; break;
        case 2: t = std::move(t) - in[0]; break;
        default: t = maximum(std::move(t), in[1]); break;
      }
    }
    return {t};
  };
}

}  // namespace

void add_whole_programs() {
  add_program("matmul", [](const Given& in) { return matmul(in[0], in[1]); });
  add_program("linear_gelu", [](const Given& in) { return gelu(matmul(in[0], in[1]) + in[2]); });
  add_program("attention", attention);
  add_program("chain", chain);
  add_program("distances", distances);
  add_program("nearest", nearest);
  add_program("jacobi", jacobi);
  add_program("jacobi_rolled", jacobi_rolled);
  add_program("life_rolled", life_rolled);
  add_program("life_joined", life_joined);
  add_program("bodies", bodies);
  add_program("bodies_by_component", bodies_by_component);
  add_program("gamma_of_image", gamma_of_image);
  add_program("black_scholes", [](const Given& in) { return black_scholes(in[0], in[1], in[2]); });
  add_program("growing_cache", growing_cache);
  programs().emplace("adam", adam);
  programs().emplace("new_chain", new_chain);
}

}  // namespace sluice::bench
