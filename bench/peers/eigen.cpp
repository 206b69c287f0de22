// Eigen's part in bench/scoreboard: expressions over parts of arrays, one per thread.
#include <omp.h>
#include <Eigen/Dense>
#include <unsupported/Eigen/SpecialFunctions>

#include <algorithm>
#include <numbers>
#include <string>

#include "bench/contestants/contestant.h"

namespace {

using scoreboard::Array;
using scoreboard::Arrays;
using scoreboard::Floats;
using scoreboard::Work;

using Matrix = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using In = Eigen::Map<const Eigen::ArrayXf>;
using Out = Eigen::Map<Eigen::ArrayXf>;
using InMatrix = Eigen::Map<const Matrix>;
using OutMatrix = Eigen::Map<Matrix>;

InMatrix matrix(const Array& array) {
  return {array.values.data(), array.shape[0], array.shape[1]};
}
OutMatrix matrix(Array& array) { return {array.values.data(), array.shape[0], array.shape[1]}; }
In vector(const Array& array) {
  return {array.values.data(), static_cast<Eigen::Index>(array.values.size())};
}

// Calls f(begin, length) for a part of [0, n) per thread, if that pays.
template <typename F>
void in_pieces(int64_t n, int64_t elements, F f) {
  const int64_t pieces = elements < 32768 ? 1 : omp_get_max_threads();
#pragma omp parallel for if (pieces > 1) schedule(static)
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t begin = n * i / pieces;
    f(begin, n * (i + 1) / pieces - begin);
  }
}

// Calls f(inputs, output) for one part of each at a time.
template <typename F>
void pointwise(const Arrays& in, Array& out, F f) {
  const int64_t n = static_cast<int64_t>(out.values.size());
  in_pieces(n, n, [&](int64_t begin, int64_t length) {
    const auto piece = [&](size_t i) { return In(in[i].values.data() + begin, length); };
    f(piece, Out(out.values.data() + begin, length));
  });
}

void chain10(const Arrays& in, Arrays& out) {
  pointwise(in, out[0], [](auto piece, Out result) {
    const In x = piece(0), y = piece(1);
    result = ((((x * y + x) * y + x) * y + x) * y + x) * y + x;
  });
}

void mish(const Arrays& in, Arrays& out) {
  pointwise(in, out[0], [](auto piece, Out result) {
    const In x = piece(0);
    result = x * x.exp().log1p().tanh();
  });
}

void softmax(const Arrays& in, Arrays& out) {
  const InMatrix x = matrix(in[0]);
  OutMatrix result = matrix(out[0]);
  in_pieces(x.rows(), x.size(), [&](int64_t begin, int64_t length) {
    for (int64_t r = begin; r < begin + length; ++r) {
      result.row(r) = (x.row(r) - x.row(r).maxCoeff()).exp();
      result.row(r) *= 1 / result.row(r).sum();
    }
  });
}

void layer_norm(const Arrays& in, Arrays& out) {
  const InMatrix x = matrix(in[0]);
  OutMatrix result = matrix(out[0]);
  const auto weight = vector(in[1]).transpose(), bias = vector(in[2]).transpose();
  in_pieces(x.rows(), x.size(), [&](int64_t begin, int64_t length) {
    for (int64_t r = begin; r < begin + length; ++r) {
      const float mean = x.row(r).mean();
      const float factor = 1 / std::sqrt((x.row(r) - mean).square().mean() + 1e-5f);
      result.row(r) = (x.row(r) - mean) * factor * weight + bias;
    }
  });
}

void matmul(const Arrays& in, Arrays& out) {
  matrix(out[0]).matrix().noalias() = matrix(in[0]).matrix() * matrix(in[1]).matrix();
}

void linear_gelu(const Arrays& in, Arrays& out) {
  matmul(in, out);
  OutMatrix result = matrix(out[0]);
  const auto bias = vector(in[2]).transpose();
  in_pieces(result.rows(), result.size(), [&](int64_t begin, int64_t length) {
    for (int64_t r = begin; r < begin + length; ++r) {
      auto row = result.row(r);
      row += bias;
      row = 0.5f * row * (1 + (row / std::numbers::sqrt2_v<float>).erf());
    }
  });
}

void black_scholes(const Arrays& in, Arrays& out) {
  constexpr float kRate = 0.02f, kVolatility = 0.3f, kRootHalf = 1 / std::numbers::sqrt2_v<float>;
  constexpr int64_t kBlock = 2048;  // so that temporaries stay in the cache
  const int64_t n = static_cast<int64_t>(in[0].values.size());
  in_pieces(n, n, [&](int64_t begin, int64_t length) {
    Eigen::ArrayXf spread, d, exercised, delta, discounted;
    for (int64_t i = begin; i < begin + length; i += kBlock) {
      const int64_t count = std::min(kBlock, begin + length - i);
      const auto piece = [&](size_t k) { return In(in[k].values.data() + i, count); };
      const In spot = piece(0), strike = piece(1), years = piece(2);
      spread = kVolatility * years.sqrt();
      d = ((spot / strike).log() + (kRate + 0.5f * kVolatility * kVolatility) * years) / spread;
      exercised = 0.5f + 0.5f * ((d - spread) * kRootHalf).erf();
      delta = 0.5f + 0.5f * (d * kRootHalf).erf();
      discounted = strike * (-kRate * years).exp();
      Out(out[0].values.data() + i, count) = spot * delta - discounted * exercised;
      Out(out[1].values.data() + i, count) = discounted * (1 - exercised) - spot * (1 - delta);
    }
  });
}

void distances(const Arrays& in, Arrays& out) {
  const InMatrix x = matrix(in[0]), y = matrix(in[1]);
  const Eigen::ArrayXXf columns = y;  // walked along the points, not their coordinates
  OutMatrix result = matrix(out[0]);
  in_pieces(x.rows(), result.size(), [&](int64_t begin, int64_t length) {
    for (int64_t r = begin; r < begin + length; ++r) {
      auto row = result.row(r);
      row.setZero();
      for (int64_t k = 0; k < x.cols(); ++k) row += (columns.col(k).transpose() - x(r, k)).square();
    }
  });
}

void jacobi_step(const Matrix& x, Matrix& out) {
  const int64_t rows = x.rows() - 2, columns = x.cols() - 2;
  in_pieces(rows, x.size(), [&](int64_t begin, int64_t length) {
    const auto part = [&](int64_t r, int64_t c) { return x.block(begin + r, c, length, columns); };
    out.block(begin + 1, 1, length, columns) =
        0.25f * (part(0, 1) + part(2, 1) + part(1, 0) + part(1, 2));
  });
}

Work jacobi(const Arrays& in, int64_t steps) {
  const auto out = std::make_shared<Arrays>(in);
  const Matrix start = matrix(in[0]);
  return scoreboard::work_of(out, [=, from = start, to = start]() mutable {
    from = start;
    for (int64_t i = 0; i < steps; ++i) {
      jacobi_step(from, to);
      from.swap(to);
    }
    matrix((*out)[0]) = from;
  });
}

// Inputs: alternating weights and biases, then their gradients. Biases do not decay.
Work adam(const Arrays& in, int64_t) {
  const size_t count = in.size() / 2;
  const auto parameters = std::make_shared<Arrays>(in.begin(), in.begin() + count);
  std::vector<Eigen::ArrayXf> means, squares;
  for (const Array& array : *parameters) {
    means.emplace_back(Eigen::ArrayXf::Zero(array.values.size()));
    squares.push_back(means.back());
  }
  const auto step = [=, gradients = Arrays(in.begin() + count, in.end()), t = 0]() mutable {
    ++t;
    const float rate = 1e-3f, mean_scale = static_cast<float>(1 / (1 - std::pow(0.9, t))),
                square_scale = static_cast<float>(1 / (1 - std::pow(0.999, t)));
    for (size_t i = 0; i < count; ++i) {
      const float decay = i % 2 == 0 ? 0.01f : 0;
      const int64_t n = means[i].size();
      in_pieces(n, n, [&](int64_t begin, int64_t length) {
        Out p((*parameters)[i].values.data() + begin, length);
        const In g(gradients[i].values.data() + begin, length);
        auto m = means[i].segment(begin, length);
        auto v = squares[i].segment(begin, length);
        m = 0.9f * m + 0.1f * g;
        v = 0.999f * v + 0.001f * g.square();
        p -= rate * (m * mean_scale / ((v * square_scale).sqrt() + 1e-8f) + decay * p);
      });
    }
  };
  return scoreboard::work_of(parameters, step);
}

scoreboard::Contestant contestant() {
  scoreboard::Contestant result;
  result.version = "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
                   std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION) +
                   ", g++ " __VERSION__ ", -O3 -march=native";
  using Shape = std::vector<int64_t>;
  const auto add = [&](const char* name, void (*body)(const Arrays& in, Arrays& out), auto shape,
                       int outputs = 1) {
    result.programs[name] = [=](Arrays in, int64_t) {
      const Shape extents = shape(in);
      int64_t total = 1;
      for (const int64_t extent : extents) total *= extent;
      const auto out = std::make_shared<Arrays>(outputs, Array{extents, Floats(total)});
      return scoreboard::work_of(out, [=, in = std::move(in)] { body(in, *out); });
    };
  };
  const auto as_first = [](const Arrays& in) { return in[0].shape; };
  const auto product = [](const Arrays& in) { return Shape{in[0].shape[0], in[1].shape[1]}; };
  const auto pairs = [](const Arrays& in) { return Shape{in[0].shape[0], in[1].shape[0]}; };
  add("mish", mish, as_first);
  add("composed_mish", mish, as_first);
  add("softmax", softmax, as_first);
  add("layer_norm", layer_norm, as_first);
  add("matmul", matmul, product);
  add("linear_gelu", linear_gelu, product);
  add("black_scholes", black_scholes, as_first, 2);
  add("distances", distances, pairs);
  add("chain10", chain10, as_first);
  result.programs["jacobi"] = jacobi;
  result.programs["adam"] = adam;
  return result;
}

}  // namespace

int main(int argc, char** argv) { return scoreboard::contestant_main(argc, argv, contestant()); }
