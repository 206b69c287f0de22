#include "kernels/library/epilogue_loops.h"

#include "kernels/interp/loops/loops.h"

namespace sluice::kernels {
namespace {

void apply(interp::MapFn loop, float* row, const void* first, const void* second, int64_t n) {
  const void* const operands[] = {first, second};
  loop(row, operands, n);
}

}  // namespace

void apply_epilogues(const Matmul& matmul, int64_t begin, int64_t end, float* sums) {
  constexpr int kFloat = static_cast<int>(DType::kFloat32);
  const interp::LoopTable& loops = interp::loops();
  const int64_t n = matmul.n;
  for (int64_t row = begin; row < end; ++row) {
    float* const values = sums + (row - begin) * n;
    for (const fusion::Epilogue& epilogue : matmul.epilogues) {
      const float* operand = matmul.operand(epilogue);
      if (operand != nullptr && !epilogue.one_row) operand += row * n;
      const interp::MapFn loop = loops.map[static_cast<int>(epilogue.op)][kFloat].form[0];
      if (epilogue.op == fusion::Op::kReluGradient) {
        apply(loop, values, operand, values, n);
      } else {
        apply(loop, values, values, operand, n);
      }
    }
    apply(loops.store[kFloat], static_cast<float*>(matmul.c) + row * n, values, nullptr, n);
  }
}

}  // namespace sluice::kernels
