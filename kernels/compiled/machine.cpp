#include "kernels/compiled/machine.h"

#include <elf.h>

#include <cstring>

namespace sluice::kernels {
namespace {

template <typename T>
bool put(const Relocation& relocation, T value) {
  if (relocation.room < sizeof(value)) return false;
  std::memcpy(relocation.field, &value, sizeof(value));
  return true;
}

int64_t distance(const Relocation& relocation) {
  return static_cast<int64_t>(relocation.target - reinterpret_cast<uint64_t>(relocation.field));
}

bool put_distance32(const Relocation& relocation) {
  const int64_t d = distance(relocation);
  return d == static_cast<int32_t>(d) && put(relocation, static_cast<int32_t>(d));
}

// jmp *(the address behind this instruction)
void write_stub_x86_64(char* stub, const void* target) {
  constexpr unsigned char kJump[] = {0xff, 0x25, 0, 0, 0, 0};
  std::memcpy(stub, kJump, sizeof(kJump));
  std::memcpy(stub + sizeof(kJump), static_cast<const void*>(&target), sizeof(target));
}

bool relocate_x86_64(const Relocation& relocation) {
  if (relocation.type == R_X86_64_PLT32) return put_distance32(relocation);
  if (relocation.is_stub) return false;
  switch (relocation.type) {
    case R_X86_64_PC32: return put_distance32(relocation);
    case R_X86_64_64: return put(relocation, relocation.target);
    default: return false;
  }
}

// ldr x16, the address behind the next instruction; br x16
void write_stub_aarch64(char* stub, const void* target) {
  constexpr uint32_t kJump[] = {0x58000050, 0xd61f0200};
  std::memcpy(stub, kJump, sizeof(kJump));
  std::memcpy(stub + sizeof(kJump), static_cast<const void*>(&target), sizeof(target));
}

// Puts `value` into the `bits` bits of an instruction from bit `shift` on, which are 0.
bool put_bits(const Relocation& relocation, uint64_t value, int bits, int shift) {
  uint32_t instruction;
  if (relocation.room < sizeof(instruction)) return false;
  std::memcpy(&instruction, relocation.field, sizeof(instruction));
  instruction |= static_cast<uint32_t>(value & ((uint64_t{1} << bits) - 1)) << shift;
  return put(relocation, instruction);
}

bool relocate_aarch64(const Relocation& relocation) {
  const int64_t d = distance(relocation);
  if (relocation.type == R_AARCH64_CALL26 || relocation.type == R_AARCH64_JUMP26) {
    constexpr int64_t kReach = int64_t{1} << 27;
    return d % 4 == 0 && d >= -kReach && d < kReach &&
           put_bits(relocation, static_cast<uint64_t>(d) >> 2, 26, 0);
  }
  if (relocation.is_stub) return false;
  // Of an address its page, relative to the instruction's, then what is left, in units of what is
  // loaded from there.
  constexpr uint64_t kPage = 4096;
  const auto put_low = [&](int scale) {
    const uint64_t low = relocation.target % kPage;
    return low >> scale << scale == low && put_bits(relocation, low >> scale, 12 - scale, 10);
  };
  switch (relocation.type) {
    case R_AARCH64_ADR_PREL_PG_HI21: {
      const auto field = reinterpret_cast<uint64_t>(relocation.field);
      const auto pages = static_cast<int64_t>(relocation.target / kPage - field / kPage);
      constexpr int64_t kReach = int64_t{1} << 20;
      return pages >= -kReach && pages < kReach &&
             put_bits(relocation, static_cast<uint64_t>(pages), 2, 29) &&
             put_bits(relocation, static_cast<uint64_t>(pages) >> 2, 19, 5);
    }
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: return put_low(0);
    case R_AARCH64_LDST16_ABS_LO12_NC: return put_low(1);
    case R_AARCH64_LDST32_ABS_LO12_NC: return put_low(2);
    case R_AARCH64_LDST64_ABS_LO12_NC: return put_low(3);
    case R_AARCH64_LDST128_ABS_LO12_NC: return put_low(4);
    case R_AARCH64_PREL32: return put_distance32(relocation);
    case R_AARCH64_PREL64: return put(relocation, d);
    case R_AARCH64_ABS64: return put(relocation, relocation.target);
    default: return false;
  }
}

}  // namespace

const Machine kX86_64{"x86-64", EM_X86_64, write_stub_x86_64, relocate_x86_64};
const Machine kAarch64{"aarch64", EM_AARCH64, write_stub_aarch64, relocate_aarch64};

const Machine& host_machine() {
#if defined(__x86_64__)
  return kX86_64;
#elif defined(__aarch64__)
  return kAarch64;
#else
#error "This processor's relocations are not known: configure with SLUICE_LLVM=OFF"
#endif
}

}  // namespace sluice::kernels
