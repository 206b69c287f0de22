// Matrix products in builds without oneDNN: plain loops.
#include <cstring>

#include "kernels/library/epilogue_loops.h"
#include "kernels/library/matmul.h"
#include "runtime/cpu/parallel.h"

namespace sluice::kernels {

absl::Status matmul(const Matmul& x) {
  parallel_for(x.batch * x.m, 1 + 16384 / (x.n * x.k + 1), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t batch = row / x.m;
      const int64_t i = row % x.m;
      float* c = x.c + row * x.n;
      std::memset(c, 0, sizeof(float) * static_cast<size_t>(x.n));
      for (int64_t p = 0; p < x.k; ++p) {
        const float a = x.a[batch * x.a_strides[0] + i * x.a_strides[1] + p * x.a_strides[2]];
        const float* b = x.b + batch * x.b_strides[0] + p * x.b_strides[1];
        for (int64_t j = 0; j < x.n; ++j) c[j] += a * b[j * x.b_strides[2]];
      }
    }
    apply_epilogues(x, begin, end);
  });
  return absl::OkStatus();
}

std::string matmul_library() { return "plain loops"; }

}  // namespace sluice::kernels
