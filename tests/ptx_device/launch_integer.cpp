// Arithmetic of integers.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "tests/ptx_device/launch.h"
#include "tests/ptx_device/values.h"

namespace sluice::ptx {

using Wide = unsigned __int128;

bool Launch::compute_integer(const Instruction& insn, const Group& group) {
  if (insn.sat) return false;
  if (insn.op == kMul || insn.op == kMad) return multiply(insn, group);
  if (insn.op == kDiv || insn.op == kRem) return divide_integer(insn, group);
  if (insn.carry_in || insn.carry_out) return add_with_carry(insn, group);
  uint64_t* const d = destination(insn, group);
  const uint64_t* const a = source(insn, group, 0);
  const uint64_t* const b = source(insn, group, 1);
  bool is_known = true;
  const bool is_integer = by_integer(insn.type, [&]<typename T>() {
    const auto each = [&](auto f) {
      for_lanes(group.active, [&](int l) { d[l] = put(static_cast<T>(f(l))); });
    };
    switch (insn.op) {
      case kAdd: each([&](int l) { return a[l] + b[l]; }); break;
      case kSub: each([&](int l) { return a[l] - b[l]; }); break;
      case kNeg: each([&](int l) { return 0 - a[l]; }); break;
      case kAbs: each([&](int l) { return get<T>(a[l]) < T(0) ? 0 - a[l] : a[l]; }); break;
      case kMin: each([&](int l) { return std::min(get<T>(a[l]), get<T>(b[l])); }); break;
      case kMax: each([&](int l) { return std::max(get<T>(a[l]), get<T>(b[l])); }); break;
      default: is_known = false;
    }
  });
  return is_integer && is_known;
}

bool Launch::divide_integer(const Instruction& insn, const Group& group) {
  uint64_t* const d = destination(insn, group);
  const uint64_t* const a = source(insn, group, 0);
  const uint64_t* const b = source(insn, group, 1);
  return by_integer(insn.type, [&]<typename T>() {
    for_lanes(group.active, [&](int l) {
      const T x = get<T>(a[l]), y = get<T>(b[l]);
      if (y == 0) error(insn, l, "an integer is divided by 0");
      if (std::is_signed_v<T> && y == static_cast<T>(-1) && x == std::numeric_limits<T>::min()) {
        error(insn, l, "the least integer is divided by -1");
      }
      d[l] = put(static_cast<T>(insn.op == kDiv ? x / y : x % y));
    });
  });
}

bool Launch::add_with_carry(const Instruction& insn, const Group& group) {
  if (insn.op != kAdd && insn.op != kSub) return false;
  uint64_t* const d = destination(insn, group);
  const uint64_t* const a = source(insn, group, 0);
  const uint64_t* const b = source(insn, group, 1);
  const int bits = 8 * bytes_of(insn.type);
  const Wide limit = Wide{1} << bits;
  for_lanes(group.active, [&](int l) {
    const Wide x = a[l] & (limit - 1), y = b[l] & (limit - 1);
    uint8_t& carry = group.warp.carry[l];
    const unsigned in = insn.carry_in ? carry : 0;
    const Wide sum = insn.op == kAdd ? x + y + in : x - y - in;
    d[l] = static_cast<uint64_t>(sum & (limit - 1));
    // For subtraction it is the borrow.
    if (insn.carry_out) carry = insn.op == kAdd ? sum >= limit : x < y + in;
  });
  return true;
}

// mul and mad: the low or high half of the product, or all of it.
bool Launch::multiply(const Instruction& insn, const Group& group) {
  uint64_t* const d = destination(insn, group);
  const uint64_t* const a = source(insn, group, 0);
  const uint64_t* const b = source(insn, group, 1);
  const uint64_t* const c = source(insn, group, 2);  // null: none
  return by_integer(insn.type, [&]<typename T>() {
    constexpr int kBits = 8 * sizeof(T);
    using Exact = std::conditional_t<std::is_signed_v<T>, __int128, Wide>;
    for_lanes(group.active, [&](int l) {
      const auto product =
          static_cast<Wide>(static_cast<Exact>(get<T>(a[l])) * static_cast<Exact>(get<T>(b[l])));
      if (insn.part == kWide) {
        const uint64_t sum = static_cast<uint64_t>(product) + (c == nullptr ? 0 : c[l]);
        d[l] = kBits == 16 ? sum & 0xffffffffu : sum;
        return;
      }
      const Wide limit = (Wide{1} << kBits) - 1;
      Wide sum = (insn.part == kHi ? product >> kBits : product) & limit;
      if (c != nullptr) sum += c[l] & limit;
      uint8_t& carry = group.warp.carry[l];
      if (insn.carry_in) sum += carry;
      if (insn.carry_out) carry = sum > limit;
      d[l] = put(static_cast<T>(static_cast<uint64_t>(sum)));
    });
  });
}

}  // namespace sluice::ptx
