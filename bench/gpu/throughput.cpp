// Memory-bound and arithmetic-bound workloads.
#include <cstdlib>
#include <string>
#include <string_view>

#include "bench/gpu/measure.h"
#include "workloads/hand_adam.h"
#include "workloads/hand_network.h"

namespace sluice::bench {
namespace {

// Repeated x * a + b. peers.py has the same.
Tensor chain(Tensor x, int ops) {
  for (int i = 0; i < ops; ++i) {
    const float c = 0.001f * static_cast<float>(i + 1);
    x = i % 2 == 0 ? std::move(x) * (1.f + c) : std::move(x) + c;
  }
  return x;
}

Tensor softmax_of(const Tensor& x) {
  Tensor e = exp(x - max(x, 1, true));
  return e / sum(e, 1, true);
}

Tensor layer_norm_of(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor d = x - mean(x, 1, true);
  return d / sqrt(mean(square(d), 1, true) + 1e-5f) * weight + bias;
}

// Times f(), which returns a tensor, and counts `inputs` bytes plus those of the result.
template <typename F>
void time_result(const Bench& bench, const std::string& workload, const Tensor& x, int64_t inputs,
                 F f) {
  bench.attempt(workload + " " + name_of(x.dtype()) + " " + size_text(x.shape()), [&] {
    Result result{.workload = workload, .dtype = name_of(x.dtype()), .size = size_text(x.shape())};
    result.bytes = inputs + bytes_of(f());
    bench.time(result, [&] { f().eval(); });
  });
}

void bench_matrix(const Bench& bench, int64_t n, DType dtype) {
  const Tensor x = uniform({n, n}, dtype);
  const Tensor weight = uniform({n}, dtype), bias = uniform({n}, dtype);
  time_result(bench, "softmax", x, bytes_of(x), [&] { return softmax_of(x); });
  time_result(bench, "layer norm", x, bytes_of(x), [&] { return layer_norm_of(x, weight, bias); });
}

}  // namespace

void bench_pointwise(const Bench& bench) {
  const auto run = [&](DType dtype, int64_t elements) {
    bench.attempt("chains " + size_text({elements}), [&] {
      const Tensor x = uniform({elements}, dtype);
      for (const int ops : {1, 3, 10}) {
        time_result(bench, "chain of " + std::to_string(ops), x, bytes_of(x),
                    [&] { return chain(x, ops); });
      }
    });
  };
  const auto mebi = [&](int64_t n) { return bench.settings.size(n << 20, n << 10); };
  for (const int64_t n : {1, 16, 64, 256}) run(DType::kFloat32, mebi(n));
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const int64_t n : {64, 256}) run(dtype, mebi(n));
  }
}

void bench_rows(const Bench& bench) {
  const int64_t n = bench.settings.size(4096, 128);
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    bench.attempt(std::string("matrices of ") + name_of(dtype),
                  [&] { bench_matrix(bench, n, dtype); });
  }
  bench.attempt("sums", [&] {
    const Tensor x = uniform({2 * n, 2 * n}), y = uniform({2 * n, 2 * n});
    time_result(bench, "sum of rows", x, bytes_of(x), [&] { return sum(x, 1); });
    time_result(bench, "sum of columns", x, bytes_of(x), [&] { return sum(x, 0); });
    time_result(bench, "sum of all", x, bytes_of(x), [&] { return sum(x); });
    time_result(bench, "transposed add", x, 2 * bytes_of(x), [&] { return transpose(x) + y; });
  });
}

void bench_matmul(const Bench& bench) {
  const char* library = std::getenv("SLUICE_CUBLASLT");
  const bool own = library != nullptr && std::string_view(library) == "off";
  const auto time = [&](int64_t full, DType dtype, const std::string& name) {
    bench.attempt(name, [&] {
      const int64_t n = bench.settings.size(full, full / 32);
      const Tensor a = uniform({n, n}, dtype), b = uniform({n, n}, dtype);
      Result result{.workload = own ? name + ", own kernel" : name,
                    .dtype = name_of(dtype),
                    .size = size_text(a.shape())};
      result.flops = 2.0 * static_cast<double>(n * n * n);
      bench.time(result, [&] { matmul(a, b).eval(); });
    });
  };
  for (const int64_t n : {1024, 4096}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      time(n, dtype, "matmul");
    }
    const MatmulPrecision before = config().matmul_precision;
    config().matmul_precision = MatmulPrecision::kTf32;
    time(n, DType::kFloat32, "matmul, TF32");
    config().matmul_precision = before;
  }
}

void bench_step(const Bench& bench) {
  bench.attempt("training step", [&] {
    const int64_t rows = bench.settings.size(512, 32), width = bench.settings.size(1024, 32);
    manual_seed(1);
    workloads::Network network({784, width, width, 10});
    workloads::Adam adam(network.layers());
    const Tensor inputs = uniform({rows, 784});
    Tensor targets = one_hot(randint(0, 10, {rows}), 10);
    sync();
    Result result{.workload = "training step",
                  .dtype = "float32",
                  .size = std::to_string(rows) + "x784-" + std::to_string(width) + "-" +
                          std::to_string(width) + "-10"};
    bench.time(result, [&] {
      workloads::Gradients gradients = network.gradients(inputs, targets);
      adam.step(1e-4, gradients.layers, network.layers());
      gradients.layers.clear();
      flush();
    });
  });
}

}  // namespace sluice::bench
