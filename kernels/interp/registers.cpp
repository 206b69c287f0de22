#include "kernels/interp/registers.h"

#include <numeric>

#include "kernels/reduction.h"
#include "runtime/integers.h"

namespace sluice::kernels::interp {
namespace {

constexpr int64_t kMaxTile = 2048;
constexpr int64_t kMinTile = 64;
constexpr int64_t kLevel1Bytes = 24 << 10;   // tiles are halved from kMaxTile until they fit here,
constexpr int64_t kGoodTile = 1024;          // but not below this size,
constexpr int64_t kLevel2Bytes = 256 << 10;  // unless they don't even fit here

}  // namespace

Register RegisterFile::allocate(DType type) {
  const uint8_t size = static_cast<uint8_t>(size_of(compute_type(type)));
  std::vector<Register>& pool = free_[size];
  if (pool.empty()) {
    sizes_.push_back(size);
    return static_cast<Register>(sizes_.size() - 1) | kTileBit;
  }
  const Register result = pool.back();
  pool.pop_back();
  return result | kTileBit;
}

void RegisterFile::release(Register reg) {
  if ((reg & kTileBit) == 0) return;
  reg &= ~kTileBit;
  free_[sizes_[reg]].push_back(reg);
}

int64_t RegisterFile::tile_size() const {
  const int64_t bytes = std::accumulate(sizes_.begin(), sizes_.end(), int64_t{0});
  int64_t tile = kMaxTile;
  while (tile > kGoodTile && tile * bytes > kLevel1Bytes) tile /= 2;
  while (tile > kMinTile && tile * bytes > kLevel2Bytes) tile /= 2;
  return tile;
}

void RegisterFile::lay_out(Bytecode* code) const {
  code->tile = tile_size();
  code->num_uniform = num_uniform_;
  int64_t offset = 0;
  auto take = [&offset](int64_t size) {
    const int64_t start = offset;
    offset += round_up(size, kRegisterAlignment);
    return start;
  };
  const int64_t uniform = take(8 * num_uniform_);
  for (Register i = 0; i < num_uniform_; ++i) {
    code->registers.push_back(static_cast<uint32_t>(uniform + 8 * i));
  }
  for (uint8_t size : sizes_) {
    code->registers.push_back(static_cast<uint32_t>(take(code->tile * size)));
  }
  for (Reduction& reduction : code->reductions) {
    reduction.lanes = static_cast<uint32_t>(take(kLanes * 8));
  }
  code->temporaries = take(kNumTemporaries * code->tile * 8);
  code->scratch_bytes = offset;
  renumber(code);
}

void RegisterFile::renumber(Bytecode* code) const {
  auto renumber_register = [this](Register* reg) {
    if (*reg & kTileBit) *reg = (*reg & ~kTileBit) + num_uniform_;
  };
  auto renumber_code = [&](std::vector<Instruction>* list) {
    for (Instruction& instr : *list) {
      renumber_register(&instr.out);
      for (Register& reg : instr.in) renumber_register(&reg);
    }
  };
  for (Pass& pass : code->passes) {
    renumber_code(&pass.row_code);
    renumber_code(&pass.expansions);
    renumber_code(&pass.element_code);
  }
  renumber_code(&code->row_stores);
  for (Reduction& reduction : code->reductions) {
    renumber_register(&reduction.result);
    renumber_register(&reduction.values);
    renumber_register(&reduction.leaf);
  }
}

}  // namespace sluice::kernels::interp
