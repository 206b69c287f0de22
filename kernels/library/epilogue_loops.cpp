#include "kernels/library/epilogue_loops.h"

#include <algorithm>

#include "kernels/interp/loops/loops.h"
#include "kernels/library/scratch.h"

namespace sluice::kernels {
namespace {

// In elements: what stays in the first-level cache from one epilogue to the next.
constexpr int64_t kBlock = 4096;
// Shorter rows that an operand is broadcast along are taken several at a time, with as many copies
// of it, since a loop takes as long to begin as for some vectors.
constexpr int64_t kLongRow = 256, kCopied = 512, kWorthCopies = 16;

void apply(interp::MapFn loop, float* row, const void* first, const void* second, int64_t n) {
  const void* const operands[] = {first, second};
  loop(row, operands, n);
}

void apply(const fusion::Epilogue& epilogue, float* values, const float* operand, int64_t n) {
  constexpr int kFloat = static_cast<int>(DType::kFloat32);
  const interp::MapFn loop = interp::loops().map[static_cast<int>(epilogue.op)][kFloat].form[0];
  if (epilogue.op == fusion::Op::kReluGradient) {
    apply(loop, values, operand, values, n);
  } else {
    apply(loop, values, values, operand, n);
  }
}

// The rows that epilogues broadcast, each `count` times.
class RowCopies {
 public:
  RowCopies(const Matmul& matmul, int64_t rows)
      : n_(matmul.n),
        count_(n_ < kLongRow && rows >= kWorthCopies ? std::min(rows / 4, kCopied / n_) : 1),
        memory_(count_ > 1 ? matmul.epilogues.size() * size() * sizeof(float) : 0) {
    if (count_ == 1) return;
    for (size_t i = 0; i < matmul.epilogues.size(); ++i) {
      if (!matmul.epilogues[i].one_row) continue;
      for (int64_t k = 0; k < count_; ++k) {
        std::copy_n(matmul.operand(matmul.epilogues[i]), n_, copies(i) + k * n_);
      }
    }
  }
  int64_t count() const { return count_; }
  // Of the row of the i-th epilogue.
  const float* of(const Matmul& matmul, size_t i) const {
    return count_ == 1 ? matmul.operand(matmul.epilogues[i]) : copies(i);
  }

 private:
  size_t size() const { return static_cast<size_t>(count_ * n_); }
  float* copies(size_t i) const { return reinterpret_cast<float*>(memory_.data()) + i * size(); }

  const int64_t n_, count_;
  const Scratch memory_;
};

}  // namespace

void apply_epilogues(const Matmul& matmul, int64_t begin, int64_t end, float* sums) {
  const int64_t n = matmul.n, block = std::max<int64_t>(1, kBlock / n);
  const interp::MapFn store = interp::loops().store[static_cast<int>(DType::kFloat32)];
  const RowCopies copies(matmul, end - begin);
  for (int64_t row = begin; row < end; row += block) {
    const int64_t rows = std::min(block, end - row);
    float* const values = sums + (row - begin) * n;
    for (size_t i = 0; i < matmul.epilogues.size(); ++i) {
      const fusion::Epilogue& epilogue = matmul.epilogues[i];
      const float* const operand = matmul.operand(epilogue);
      if (operand == nullptr || !epilogue.one_row) {
        apply(epilogue, values, operand == nullptr ? nullptr : operand + row * n, rows * n);
        continue;
      }
      for (int64_t first = 0; first < rows; first += copies.count()) {
        const int64_t count = std::min(copies.count(), rows - first);
        apply(epilogue, values + first * n, copies.of(matmul, i), count * n);
      }
    }
    apply(store, static_cast<float*>(matmul.c) + row * n, values, nullptr, rows * n);
  }
}

}  // namespace sluice::kernels
