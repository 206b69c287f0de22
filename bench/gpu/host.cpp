// The host's costs of recording, submitting and compiling.
#include <string>
#include <vector>

#include "bench/gpu/measure.h"

namespace sluice::bench {
namespace {

void bench_small_chain(const Bench& bench) {
  const Tensor x = uniform({1024}), p = uniform({1024}), q = uniform({1024});
  const Result result{.workload = "small tensors", .dtype = "float32", .size = "1024", .ops = 1000};
  bench.time(result, [&] {
    Tensor y = x;
    for (int i = 0; i < 500; ++i) y = std::move(y) * p + q;
    y.eval();
  });
}

// A recurring window, each submitted once the previous one is done: the medians of its phases.
void bench_window(const Bench& bench, const std::string& name, const std::function<Tensor()>& f) {
  const auto part = [&](const char* what, const std::function<double()>& sample) {
    for (int i = 0; i < 20; ++i) sample();
    const Result result{
        .workload = name + ", " + what, .dtype = "float32", .size = "16384", .ops = 100};
    bench.time_samples(result, bench.settings.quick ? 5 : 300, sample);
  };
  Tensor y;
  part("recorded", [&] {
    const double start = now();
    y = f();
    const double end = now();
    sync();
    return end - start;
  });
  part("submitted", [&] {
    y = f();
    const double start = now();
    flush();
    const double end = now();
    sync();
    return end - start;
  });
  part("done", [&] {
    y = f();
    const double start = now();
    flush();
    sync();
    return now() - start;
  });
}

Tensor chain_of_100(Tensor x) {
  for (int i = 0; i < 50; ++i) x = std::move(x) * 1.01f + 0.01f;
  return x;
}

// Five times 20 ops, each ending in a reduction that the next one reads.
Tensor rows_of_100(Tensor x) {
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 9; ++k) x = std::move(x) * 1.01f + 0.01f;
    x = x - mean(x, 1, true);
  }
  return x;
}

// Sums over either axis in turn, between which nothing can be fused: ten kernels.
Tensor kernels_of_100(Tensor x) {
  for (int i = 0; i < 10; ++i) {
    for (int k = 0; k < 8; ++k) x = std::move(x) * 1.01f + 0.01f;
    x = x - sum(x, i % 2, true) * 0.001f;
  }
  return x;
}

// Windows that follow one another, with the results of three alive: the time of each.
void bench_pipeline(const Bench& bench, const std::function<Tensor()>& f) {
  std::vector<Tensor> alive(3);
  size_t next = 0;
  const auto step = [&] {
    Tensor y = f();
    y.eval();
    alive[next++ % alive.size()] = std::move(y);
  };
  // Until its graphs have been made.
  for (int i = 0; i < 60; ++i) step();
  const Result result{.workload = "window of 100 in 10 kernels, pipelined",
                      .dtype = "float32",
                      .size = "16384",
                      .ops = 100};
  bench.time(result, step);
}

// Ten ops in an order new to this process.
Tensor unseen(const Tensor& x) {
  static int next = 0;
  unsigned choices = ++next * 2654435761u >> 12;
  Tensor y = x;
  for (int i = 0; i < 10; ++i, choices /= 4) {
    switch (choices % 4) {
      case 0: y = y * 1.5f; break;
      case 1: y = y + 0.5f; break;
      case 2: y = maximum(y, x); break;
      default: y = abs(y); break;
    }
  }
  return exp(y);
}

void bench_cold(const Bench& bench, const char* workload, CompileMode mode,
                const std::function<Tensor()>& f) {
  bench.attempt(workload, [&] {
    const CompileMode before = config().compile;
    config().compile = mode;
    const Result result{.workload = workload, .dtype = "float32", .size = "64K"};
    bench.time_samples(result, bench.settings.quick ? 2 : 7, [&] {
      const double start = now();
      const Tensor y = f();
      sync();
      return now() - start;
    });
    config().compile = before;
  });
}

}  // namespace

void bench_host(const Bench& bench) {
  bench.attempt("small tensors", [&] { bench_small_chain(bench); });
  bench.attempt("window of 100", [&] {
    const Tensor x = uniform({16384});
    bench_window(bench, "window of 100", [&] { return chain_of_100(x); });
  });
  bench.attempt("window of 100 with sums", [&] {
    const Tensor x = uniform({128, 128});
    bench_window(bench, "window of 100 with sums", [&] { return rows_of_100(x); });
  });
  bench.attempt("window of 100 in 10 kernels", [&] {
    const Tensor x = uniform({128, 128});
    bench_window(bench, "window of 100 in 10 kernels", [&] { return kernels_of_100(x); });
    bench_pipeline(bench, [&] { return kernels_of_100(x); });
  });
}

void bench_compiler(const Bench& bench) {
  bench.attempt("first results", [&] {
    const Tensor x = uniform({256, 256});
    bench_cold(bench, "first result, compiled", CompileMode::kBlocking, [&] { return unseen(x); });
    bench_cold(bench, "first result", CompileMode::kAsync, [&] { return unseen(x); });
    bench_cold(bench, "first sum of rows, compiled", CompileMode::kBlocking,
               [&] { return sum(unseen(x), 1); });
  });
}

}  // namespace sluice::bench
