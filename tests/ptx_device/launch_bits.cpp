// Logic, shifts and bit fields.
#include <algorithm>
#include <type_traits>

#include "tests/ptx_device/launch.h"
#include "tests/ptx_device/values.h"

namespace sluice::ptx {
namespace {

uint64_t reversed(uint64_t v, int bits) {
  uint64_t r = 0;
  for (int i = 0; i < bits; ++i) r |= (v >> i & 1) << (bits - 1 - i);
  return r;
}

uint64_t inserted(uint64_t field, uint64_t into, uint64_t position, uint64_t length, int bits) {
  const int begin = static_cast<int>(position & 0xff), count = static_cast<int>(length & 0xff);
  for (int i = 0; i < count && begin + i < bits; ++i) {
    const uint64_t bit = uint64_t{1} << (begin + i);
    into = (field >> i & 1) != 0 ? into | bit : into & ~bit;
  }
  return bits == 64 ? into : into & 0xffffffffu;
}

template <typename T>
uint64_t extracted(uint64_t from, uint64_t position, uint64_t length) {
  constexpr int kBits = 8 * sizeof(T);
  const int begin = static_cast<int>(position & 0xff), count = static_cast<int>(length & 0xff);
  const uint64_t sign =
      std::is_signed_v<T> && count > 0 ? from >> std::min(begin + count - 1, kBits - 1) & 1 : 0;
  uint64_t r = 0;
  for (int i = 0; i < kBits; ++i) {
    r |= (i < count && begin + i < kBits ? from >> (begin + i) & 1 : sign) << i;
  }
  return put(static_cast<T>(r));
}

// The bytes of b:a that the selector's digits name; with their highest bit, a byte's sign.
uint32_t permuted(uint64_t a, uint64_t b, uint64_t selector) {
  const uint64_t both = (a & 0xffffffffu) | b << 32;
  uint32_t r = 0;
  for (int i = 0; i < 4; ++i) {
    const uint64_t pick = selector >> (4 * i) & 15;
    auto byte = static_cast<uint32_t>(both >> (8 * (pick & 7)) & 0xff);
    if ((pick & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    r |= byte << (8 * i);
  }
  return r;
}

uint64_t funnel_shifted(uint64_t a, uint64_t b, uint64_t c, bool left, bool wraps) {
  const uint64_t both = (a & 0xffffffffu) | b << 32;
  const auto n = static_cast<uint32_t>(c);
  const uint32_t by = wraps ? n & 31 : std::min(n, 32u);
  return left ? both << by >> 32 : both >> by & 0xffffffffu;
}

// Any function of three bits, by its table.
uint32_t lookup3(uint64_t a, uint64_t b, uint64_t c, uint64_t table) {
  const auto x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b),
             z = static_cast<uint32_t>(c);
  uint32_t r = 0;
  for (int k = 0; k < 8; ++k) {
    if ((table >> k & 1) == 0) continue;
    r |= ((k & 4) != 0 ? x : ~x) & ((k & 2) != 0 ? y : ~y) & ((k & 1) != 0 ? z : ~z);
  }
  return r;
}

}  // namespace

bool Launch::compute_bits(const Instruction& insn, const Group& group) {
  uint64_t* const d = destination(insn, group);
  const uint64_t* const a = source(insn, group, 0);
  const uint64_t* const b = source(insn, group, 1);
  const uint64_t* const c = source(insn, group, 2);
  const uint64_t* const e = source(insn, group, 3);
  const uint32_t active = group.active;
  const int bits = 8 * bytes_of(insn.type);
  // Predicates may be negated.
  const uint64_t not_a = insn.s[0].negated ? 1 : 0, not_b = insn.s[1].negated ? 1 : 0;
  const auto each = [&](auto f) {
    for_lanes(active, [&](int l) { d[l] = f(l); });
    return true;
  };
  switch (insn.op) {
    case kAnd: return each([&](int l) { return (a[l] ^ not_a) & (b[l] ^ not_b); });
    case kOr: return each([&](int l) { return (a[l] ^ not_a) | (b[l] ^ not_b); });
    case kXor: return each([&](int l) { return (a[l] ^ not_a) ^ (b[l] ^ not_b); });
    case kNot:
      if (insn.type == kPred) return each([&](int l) { return (a[l] & 1) ^ 1; });
      return each([&](int l) { return ~a[l]; });
    case kCnot:
      return by_integer(insn.type, [&]<typename T>() {
        each([&](int l) { return uint64_t{get<T>(a[l]) == 0}; });
      });
    case kShl:
      return by_integer(insn.type, [&]<typename T>() {
        each([&](int l) {
          const auto by = static_cast<uint32_t>(b[l]);
          return by >= 8 * sizeof(T)
                     ? 0
                     : put(static_cast<T>(static_cast<uint64_t>(get<T>(a[l])) << by));
        });
      });
    case kShr:
      return by_integer(insn.type, [&]<typename T>() {
        each([&](int l) {
          const auto by = static_cast<uint32_t>(b[l]);
          const T x = get<T>(a[l]);
          if (by < 8 * sizeof(T)) return put(static_cast<T>(x >> by));
          return x < T(0) ? put(static_cast<T>(-1)) : 0;
        });
      });
    case kBfi: return each([&](int l) { return inserted(a[l], b[l], c[l], e[l], bits); });
    case kBfe:
      return by_integer(insn.type, [&]<typename T>() {
        each([&](int l) {
          return extracted<T>(put(static_cast<std::make_unsigned_t<T>>(a[l])), b[l], c[l]);
        });
      });
    case kBrev: return each([&](int l) { return reversed(a[l], bits); });
    case kClz:
      return each([&](int l) -> uint64_t {
        const uint64_t x = bits == 64 ? a[l] : a[l] & 0xffffffffu;
        return x == 0 ? bits : __builtin_clzll(x) - (64 - bits);
      });
    case kPopc:
      return each([&](int l) -> uint64_t {
        return __builtin_popcountll(bits == 64 ? a[l] : a[l] & 0xffffffffu);
      });
    case kPrmt: return each([&](int l) -> uint64_t { return permuted(a[l], b[l], c[l]); });
    case kShf:
      return each([&](int l) { return funnel_shifted(a[l], b[l], c[l], insn.left, insn.wraps); });
    case kLop3: return each([&](int l) -> uint64_t { return lookup3(a[l], b[l], c[l], e[l]); });
    default: return false;
  }
}

}  // namespace sluice::ptx
