// Predicates.
#include <cmath>
#include <type_traits>

#include "tests/ptx_device/launch.h"
#include "tests/ptx_device/values.h"

namespace sluice::ptx {
namespace {

template <typename T>
bool holds(Compare compare, T x, T y) {
  const bool is_nan = x != x || y != y;
  switch (compare) {
    case kEq: return x == y;
    case kNe: return x != y && !is_nan;
    case kLt: return x < y;
    case kLe: return x <= y;
    case kGt: return x > y;
    case kGe: return x >= y;
    case kEqu: return x == y || is_nan;
    case kNeu: return x != y || is_nan;
    case kLtu: return x < y || is_nan;
    case kLeu: return x <= y || is_nan;
    case kGtu: return x > y || is_nan;
    case kGeu: return x >= y || is_nan;
    case kNum: return !is_nan;
    case kNan: return is_nan;
    default: return false;
  }
}

template <typename T>
bool is_of_kind(Mode mode, T x) {
  switch (mode) {
    case kFinite: return std::isfinite(x);
    case kInfinite: return std::isinf(x);
    case kNumber: return x == x;
    case kNotANumber: return x != x;
    case kNormal: return std::isnormal(x);
    default: return std::fpclassify(x) == FP_SUBNORMAL;
  }
}

}  // namespace

// setp p|q: the comparison and its opposite, each combined with a third operand.
bool Launch::compare(const Instruction& insn, const Group& group) {
  const uint64_t* const a = source(insn, group, 0);
  const uint64_t* const b = source(insn, group, 1);
  const uint64_t* const c = source(insn, group, 2);
  uint64_t* const p = destination(insn, group);
  if (insn.op == kTestp) {
    return by_float(insn.type, [&]<typename T>() {
      for_lanes(group.active, [&](int l) { p[l] = is_of_kind(insn.mode, get<T>(a[l])) ? 1 : 0; });
    });
  }
  if (insn.compare == kNoCompare) return false;
  uint64_t* const q = insn.nd > 1 ? destination(insn, group, 1) : unwanted_;
  const auto combine = [&](bool r, int l) {
    const bool other = c != nullptr && ((c[l] & 1) != 0) != insn.s[2].negated;
    switch (insn.combine) {
      case kCombineAnd: return r && other;
      case kCombineOr: return r || other;
      case kCombineXor: return r != other;
      default: return r;
    }
  };
  return by_number(insn.type, [&]<typename T>() {
    for_lanes(group.active, [&](int l) {
      T x = get<T>(a[l]), y = get<T>(b[l]);
      if constexpr (std::is_floating_point_v<T>) {
        if (insn.ftz) x = flushed(x), y = flushed(y);
      }
      const bool r = holds(insn.compare, x, y);
      const bool first = combine(r, l), second = combine(!r, l);
      p[l] = first ? 1 : 0;
      q[l] = second ? 1 : 0;
    });
  });
}

}  // namespace sluice::ptx
