#include "kernels/library/epilogue_loops.h"

#include <cmath>

namespace sluice::kernels {
namespace {

using fusion::Op;

// 1 / (1 + e^-x)
float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

template <typename F>
void for_each(float* c, int64_t count, F f) {
  for (int64_t i = 0; i < count; ++i) c[i] = f(c[i]);
}

void apply(const Epilogue& epilogue, const Matmul& matmul, int64_t row) {
  const int64_t n = matmul.n;
  float* c = matmul.c + row * n;
  switch (epilogue.op) {
    case Op::kRelu: return for_each(c, n, [](float x) { return x < 0 ? 0 : x; });
    case Op::kGelu:
      return for_each(c, n, [](float x) { return 0.5f * x * std::erfc(-0.707106781f * x); });
    case Op::kTanh: return for_each(c, n, [](float x) { return std::tanh(x); });
    case Op::kSigmoid: return for_each(c, n, sigmoid);
    case Op::kSilu: return for_each(c, n, [](float x) { return x * sigmoid(x); });
    default: break;
  }
  const float* operand = epilogue.operand + (epilogue.one_row ? 0 : row * n);
  for (int64_t j = 0; j < n; ++j) c[j] += operand[j];
}

}  // namespace

void apply_epilogues(const Matmul& matmul, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    for (const Epilogue& epilogue : matmul.epilogues) apply(epilogue, matmul, row);
  }
}

}  // namespace sluice::kernels
