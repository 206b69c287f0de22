// Causal attention of one head, from matmul and softmax.
#include <cmath>
#include <cstdio>

#include <sluice/sluice.h>

namespace sl = sluice;

namespace {

// q, k, v: (length, depth).
sl::Tensor attention(const sl::Tensor& q, const sl::Tensor& k, const sl::Tensor& v) {
  const int64_t length = q.shape(0);
  const sl::Tensor scores = sl::matmul(q, k.T()) / std::sqrt(static_cast<float>(q.shape(1)));
  const sl::Tensor row = sl::arange(length).expand_dims(1), column = sl::arange(length);
  // The mask is never in memory: it is computed where it is read.
  return sl::matmul(sl::softmax(sl::where(column <= row, scores, -INFINITY)), v);
}

}  // namespace

int main() {
  sl::manual_seed(5);
  const sl::Tensor q = sl::randn({128, 32}), k = sl::randn({128, 32}), v = sl::randn({128, 32});
  const sl::Tensor out = attention(q, k, v);
  // The first token sees nothing but itself.
  const float apart = sl::max(sl::abs(out[0] - v[0])).item<float>();
  std::printf("the first row is off by %g\n", apart);
  return apart < 1e-5f ? 0 : 1;
}
