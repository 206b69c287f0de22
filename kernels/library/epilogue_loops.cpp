#include "kernels/library/epilogue_loops.h"

#include <cmath>

namespace sluice::kernels {
namespace {

using fusion::Op;

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

template <typename F>
void for_each(float* c, int64_t count, F f) {
  for (int64_t i = 0; i < count; ++i) c[i] = f(c[i]);
}

void apply(const fusion::Epilogue& epilogue, const Matmul& matmul, int64_t row) {
  const int64_t n = matmul.n;
  float* c = matmul.c + row * n;
  switch (epilogue.op) {
#define SLUICE_ACTIVATION(id, onednn, alpha, ...) \
  case Op::k##id:                                 \
    return for_each(c, n, [](float x) { return __VA_ARGS__; });
#include "fusion/ir/activations.def"
    default: break;
  }
  const float* operand = matmul.operand(epilogue) + (epilogue.one_row ? 0 : row * n);
  for (int64_t j = 0; j < n; ++j) c[j] += operand[j];
}

}  // namespace

void apply_epilogues(const Matmul& matmul, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    for (const fusion::Epilogue& epilogue : matmul.epilogues) apply(epilogue, matmul, row);
  }
}

}  // namespace sluice::kernels
