// Tensor cores, ldmatrix and cp.async.
#include <cmath>
#include <cstring>

#include "tests/ptx_device/launch.h"
#include "tests/ptx_device/values.h"

namespace sluice::ptx {
namespace {

// What is accessed for an instruction that is no plain load or store.
Instruction access_of(const Instruction& insn, Op op, Space space, Type type, int vector) {
  Instruction access;
  access.op = op;
  access.space = space;
  access.type = type;
  access.vector = static_cast<uint8_t>(vector);
  access.line = insn.line;
  access.text = insn.text;
  return access;
}

float element(Type type, uint64_t word, int half) {
  const auto bits = static_cast<uint16_t>(word >> 16 * half);
  if (type == kF16) return half_to_float(bits);
  if (type == kBF16) return get<float>(uint64_t{bits} << 16);
  return get<float>(word & 0xffffffffu);  // TF32: converted by then, or its low bits are ignored
}

}  // namespace

// d = a b + c, each product added by fma in the order of the depth. A GPU adds several at a time.
void Launch::multiply_matrices(const Instruction& insn, const Group& group) {
  const bool is_half = insn.type != kF32;
  const int depth = is_half ? 16 : 8, quarter = is_half ? 8 : 4, packed = is_half ? 2 : 1;
  float results[4][kWarp];
  for_lanes(group.active, [&](int l) {
    for (int e = 0; e < 4; ++e) {
      const int row = l / 4 + e / 2 * 8, column = l % 4 * 2 + e % 2;
      auto sum = get<float>(source(insn, group, 6 + e)[l]);
      for (int k = 0; k < depth; ++k) {
        const int lane = k % quarter / packed, half = k % packed;
        const uint64_t x = source(insn, group, row / 8 + k / quarter * 2)[row % 8 * 4 + lane];
        const uint64_t y = source(insn, group, 4 + k / quarter)[column * 4 + lane];
        float a = element(insn.type, x, half), b = element(insn.type, y, half);
        if (!is_half) {
          a = get<float>(put(a) & 0xffffe000u);
          b = get<float>(put(b) & 0xffffe000u);
        }
        sum = std::fma(a, b, sum);
      }
      results[e][l] = canonical(sum);
    }
  });
  for (int e = 0; e < 4; ++e) {
    uint64_t* const d = destination(insn, group, e);
    for_lanes(group.active, [&](int l) { d[l] = put(results[e][l]); });
  }
}

void Launch::load_matrices(const Instruction& insn, const Group& group) {
  const Instruction row = access_of(insn, kLd, kShared, kB32, 4);
  const uint64_t* const base = values(insn.base, group.regs);
  uint16_t elements[kWarp][8];
  for_lanes(group.active, [&](int l) {
    const Place where = place(row, base[l] + insn.offset, l, group.depth);
    for (int i = 0; i < 4; ++i) watch(row, where, 4 * i, 0, group.warp, l);
    std::memcpy(elements[l], where.memory, sizeof(elements[l]));
  });
  for (int i = 0; i < 4; ++i) {
    uint64_t* const d = destination(insn, group, i);
    for_lanes(group.active, [&](int l) {
      uint32_t pair[2];
      for (int e = 0; e < 2; ++e) {
        const int r = l / 4, c = l % 4 * 2 + e;
        pair[e] = insn.transposed ? elements[8 * i + c][r] : elements[8 * i + r][c];
      }
      d[l] = pair[0] | pair[1] << 16;
    });
  }
}

// Until it is waited for, nobody may touch the target, whose old contents are gone. The source is
// read as late as it may be.
void Launch::start_copy(const Instruction& insn, const Group& group) {
  const uint64_t* const base = values(insn.base, group.regs);
  for_lanes(group.active, [&](int l) {
    const auto size = static_cast<int>(source(insn, group, 1)[l]);
    const auto bytes = static_cast<int>(source(insn, group, 2)[l] & 0xffffffffu);
    const uint64_t from = source(insn, group, 0)[l];
    if ((size != 16 && size != 4) || bytes < 0 || bytes > size) {
      error(insn, l, "a copy of " + std::to_string(bytes) + " bytes");
    }
    if (from % size != 0) error(insn, l, "a misaligned source of a copy");
    const Instruction target = access_of(insn, kSt, kShared, kB32, size / 4);
    const Place where = place(target, base[l] + insn.offset, l, group.depth);
    if (bytes > 0) check_global(access_of(insn, kLd, kGlobal, kB8, 1), from, bytes, l);
    for (int i = 0; i < size; i += 4) watch(target, where, i, ~uint64_t{0}, group.warp, l);
    std::memset(where.memory, 0xff, size);
    races_.set_pending(where.address, size, true);
    copies_[warp_ * kWarp + l].push_back({where, from, size, bytes, insn.line});
  });
}

void Launch::wait_for_copies(const Instruction& insn, const Group& group) {
  for_lanes(group.active, [&](int l) {
    std::vector<AsyncCopy>& own = copies_[warp_ * kWarp + l];
    for (const AsyncCopy& copy : own) {
      const Instruction target = access_of(insn, kSt, kShared, kB32, copy.size / 4);
      races_.set_pending(copy.to.address, copy.size, false);
      std::memset(copy.to.memory, 0, copy.size);
      std::memcpy(copy.to.memory, reinterpret_cast<const void*>(copy.from), copy.bytes);
      const Instruction read = access_of(insn, kLd, kGlobal, kB32, 1);
      for (int i = 0; i + 4 <= copy.bytes; i += 4) {
        watch(read, {nullptr, kGlobal, copy.from}, i, 0, group.warp, l);
      }
      for (int i = 0; i < copy.size; i += 4) {
        uint32_t value = 0;
        std::memcpy(&value, copy.to.memory + i, sizeof(value));
        watch(target, copy.to, i, value, group.warp, l);
      }
    }
    own.clear();
  });
}

void Launch::convert_to_tf32(const Instruction& insn, const Group& group) {
  uint64_t* const d = destination(insn, group);
  const uint64_t* const a = source(insn, group, 0);
  for_lanes(group.active, [&](int l) {
    const auto bits = static_cast<uint32_t>(a[l]);
    d[l] = (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : (bits + 0x1000u) & ~0x1fffu;
  });
}

}  // namespace sluice::ptx
