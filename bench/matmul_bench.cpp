// matmul against the same oneDNN primitive called directly: the engine's overhead.
#include <string>

#include "bench/support.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace sluice::bench {
namespace {

void run_sluice(benchmark::State& state, int64_t n) {
  const Tensor a = Tensor::from(random_floats(n * n, 1), {n, n});
  const Tensor b = Tensor::from(random_floats(n * n, 2), {n, n});
  time_result(state, Tier::kCompiled, [&] { return matmul(a, b); });
}

void run_library(benchmark::State& state, int64_t n) {
  const Floats a = random_floats(n * n, 1);
  const Floats b = random_floats(n * n, 2);
  Floats c(n * n);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const dnnl::memory::desc square({n, n}, dnnl::memory::data_type::f32, dnnl::memory::dims{n, 1});
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc descriptor(engine, square, square, square);
#else
  const dnnl::matmul::primitive_desc descriptor(dnnl::matmul::desc(square, square, square), engine);
#endif
  const dnnl::matmul product(descriptor);
  const dnnl::memory a_memory(square, engine, const_cast<float*>(a.data()));
  const dnnl::memory b_memory(square, engine, const_cast<float*>(b.data()));
  const dnnl::memory c_memory(square, engine, c.data());
  auto run = [&] {
    product.execute(
        stream, {{DNNL_ARG_SRC, a_memory}, {DNNL_ARG_WEIGHTS, b_memory}, {DNNL_ARG_DST, c_memory}});
    stream.wait();
  };
  run();
  for (auto _ : state) run();
}

[[maybe_unused]] const bool registered = [] {
  for (const int64_t n : {int64_t{64}, int64_t{1024}}) {
    const std::string size = std::to_string(n);
    benchmark::RegisterBenchmark(("matmul/sluice/" + size).c_str(), run_sluice, n)->UseRealTime();
    benchmark::RegisterBenchmark(("matmul/oneDNN/" + size).c_str(), run_library, n)->UseRealTime();
  }
  return true;
}();

}  // namespace
}  // namespace sluice::bench
