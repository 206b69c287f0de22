// What networks are made of beside products and rows.
#include <string>

#include "bench/gpu/measure.h"

namespace sluice::bench {
namespace {

// Times f(), which takes `flops`.
template <typename F>
void time_layer(const Bench& bench, const std::string& workload, const Tensor& x, double flops,
                F f) {
  bench.time({.workload = workload,
              .dtype = name_of(x.dtype()),
              .size = size_text(x.shape()),
              .flops = flops},
             [&] { f().eval(); });
}

// Of `queries` (heads, length, depth), which see all of so many keys or, if causal, those up to
// their own position.
void bench_attention(const Bench& bench, DType dtype, const char* workload, const Shape& queries,
                     int64_t keys, bool is_causal, bool has_heads_inside = false) {
  const Shape shape{queries[0], keys, queries[2]};
  // With the heads inside rows, as a model's projections leave them.
  const auto make = [&](const Shape& of) {
    return has_heads_inside ? swapaxes(uniform({of[1], of[0], of[2]}, dtype), 0, 1)
                            : uniform(of, dtype);
  };
  const Tensor q = make(queries), k = make(shape), v = make(shape);
  const double flops = 4.0 * static_cast<double>(q.numel() * keys) * (is_causal ? 0.5 : 1);
  time_layer(bench, workload, q, flops,
             [&] { return scaled_dot_product_attention(q, k, v, {}, is_causal); });
}

void bench_attention(const Bench& bench, DType dtype) {
  const auto size = [&](int64_t full, int64_t small) { return bench.settings.size(full, small); };
  bench_attention(bench, dtype, "attention", {size(64, 2), size(1024, 16), 64}, size(1024, 16),
                  false);
  if (dtype != DType::kFloat16) return;
  bench_attention(bench, dtype, "causal attention", {size(16, 2), size(4096, 32), 128},
                  size(4096, 32), true);
  bench_attention(bench, dtype, "attention, heads inside", {size(64, 2), size(1024, 16), 64},
                  size(1024, 16), false, true);
  bench_attention(bench, dtype, "attention of one query", {size(32, 2), 1, 128}, size(8192, 64),
                  false);
  // Where another way may begin to be faster.
  for (const int64_t length : {16, 64, 256}) {
    bench_attention(bench, dtype, "attention of few queries", {size(32, 2), length, 128},
                    size(8192, 64), false);
  }
}

void bench_convolution(const Bench& bench, DType dtype) {
  const int64_t n = bench.settings.size(32, 1), c = bench.settings.size(128, 4);
  const Tensor x = uniform({n, c, 28, 28}, dtype), weight = uniform({c, c, 3, 3}, dtype);
  const double flops = 2.0 * 9.0 * 28.0 * 28.0 * static_cast<double>(n * c * c);
  time_layer(bench, "convolution 3x3", x, flops, [&] { return conv2d(x, weight, {.padding = 1}); });
}

void bench_linear(const Bench& bench, DType dtype) {
  const int64_t n = bench.settings.size(4096, 32);
  const Tensor x = uniform({n, n}, dtype), weight = uniform({n, n}, dtype),
               bias = uniform({n}, dtype);
  time_layer(bench, "linear and gelu", x, 2.0 * static_cast<double>(n * n * n),
             [&] { return gelu(matmul(x, weight) + bias); });
}

}  // namespace

void bench_layers(const Bench& bench) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    const std::string of = std::string(" of ") + name_of(dtype);
    bench.attempt("attention" + of, [&] { bench_attention(bench, dtype); });
    bench.attempt("convolution 3x3" + of, [&] { bench_convolution(bench, dtype); });
    bench.attempt("linear and gelu" + of, [&] { bench_linear(bench, dtype); });
  }
}

}  // namespace sluice::bench
