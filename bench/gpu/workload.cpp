// What workloads are made of.
#include <exception>

#include "bench/gpu/measure.h"

namespace sluice::bench {

std::string size_text(const Shape& shape) {
  std::string text;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += 'x';
    const bool whole = shape.rank() == 1 && shape[i] % (1 << 20) == 0 && shape[i] > 0;
    text += whole ? std::to_string(shape[i] >> 20) + "M" : std::to_string(shape[i]);
  }
  return text;
}

int64_t bytes_of(const Tensor& x) { return x.numel() * static_cast<int64_t>(size_of(x.dtype())); }

Tensor uniform(const Shape& shape, DType dtype) {
  Tensor x = rand(shape, dtype);
  x.eval();
  sync();
  return x;
}

void Bench::attempt(const std::string& workload, const std::function<void()>& run) const {
  try {
    run();
  } catch (const std::exception& error) {
    report->add_failure(workload, error.what());
  }
}

}  // namespace sluice::bench
