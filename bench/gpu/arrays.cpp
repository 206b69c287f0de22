// Ops that are neither pointwise nor sums: scans, sorts, reads and writes by index.
#include <functional>
#include <string>

#include "bench/gpu/measure.h"

namespace sluice::bench {
namespace {

void time_op(const Bench& bench, const std::string& workload, const Tensor& x, int64_t bytes,
             const std::function<Tensor()>& f) {
  bench.attempt(workload, [&] {
    bench.time({.workload = workload,
                .dtype = name_of(x.dtype()),
                .size = size_text(x.shape()),
                .bytes = bytes},
               [&] { f().eval(); });
  });
}

}  // namespace

void bench_arrays(const Bench& bench) {
  const int64_t n = bench.settings.size(int64_t{16} << 20, int64_t{16} << 10);
  const int64_t rows = bench.settings.size(4096, 64);
  const Tensor x = uniform({n}), matrix = uniform({rows, rows});
  const int64_t twice = 2 * bytes_of(x);
  time_op(bench, "sort", x, twice, [&] { return sort(x); });
  time_op(bench, "sort of rows", matrix, twice, [&] { return sort(matrix, 1); });
  time_op(bench, "cumsum", x, twice, [&] { return cumsum(x, 0); });
  time_op(bench, "cumsum of rows", matrix, twice, [&] { return cumsum(matrix, 1); });

  const int64_t words = bench.settings.size(65536, 128), width = bench.settings.size(512, 16);
  const Tensor table = uniform({words, width});
  Tensor indices = randint(0, words, {words});  // of rows
  indices.eval();
  sync();
  time_op(bench, "take rows", table, 2 * bytes_of(table), [&] { return take(table, indices, 0); });
  time_op(bench, "scatter add rows", table, 3 * bytes_of(table), [&] {
    return scatter_add(table, reshape(indices, {words, 1}), table, 0);
  });
}

}  // namespace sluice::bench
