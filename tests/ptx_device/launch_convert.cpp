// cvt.
#include <type_traits>

#include "tests/ptx_device/launch.h"
#include "tests/ptx_device/values.h"

namespace sluice::ptx {
namespace {

bool is_float(Type type) { return type == kF32 || type == kF64 || type == kF16 || type == kBF16; }

double value_of(Type type, uint64_t bits, bool ftz) {
  switch (type) {
    case kF64: return get<double>(bits);
    case kF16: return half_to_float(static_cast<uint16_t>(bits));
    case kBF16: return get<float>((bits & 0xffff) << 16);
    default: {
      const auto v = get<float>(bits);
      return ftz ? flushed(v) : v;
    }
  }
}

// Under the rounding that is set.
uint64_t from_float(const Instruction& insn, uint64_t bits) {
  double x = value_of(insn.source_type, bits, insn.ftz);
  if (insn.round >= kRNI) x = rounded_to_integer(x, insn.round);
  switch (insn.type) {
    case kF64:
      if (insn.source_type == kF64 && x != x) return bits;
      return put(insn.sat ? saturated(x) : x);
    case kF32: {
      auto r = opaque_convert<float>(x);
      if (insn.ftz) r = flushed(r);
      return put(canonical(insn.sat ? saturated(r) : r));
    }
    case kF16: return float_to_half(static_cast<float>(x), insn.round);
    default: return float_to_bfloat(static_cast<float>(x), insn.round);
  }
}

}  // namespace

bool Launch::convert(const Instruction& insn, const Group& group) {
  uint64_t* const d = destination(insn, group);
  const uint64_t* const a = source(insn, group, 0);
  const Type to = insn.type, from = insn.source_type;
  if (is_float(from) && is_float(to)) {
    if (insn.round >= kRNI && (to != from || bytes_of(to) < 4)) return false;
    if (bytes_of(to) == 2 && (from != kF32 || (insn.round != kRN && insn.round != kRZ))) {
      return false;
    }
    const Rounding rounding(insn.round);
    for_lanes(group.active, [&](int l) { d[l] = from_float(insn, a[l]); });
    return true;
  }
  if (is_float(from)) {
    if (insn.round < kRNI) return false;
    return by_integer(to, [&]<typename T>() {
      for_lanes(group.active, [&](int l) {
        d[l] = to_integer<T>(value_of(from, a[l], insn.ftz), insn.round, from == kF64);
      });
    });
  }
  if (is_float(to)) {
    if (to != kF32 && to != kF64) return false;
    const Rounding rounding(insn.round);
    return by_integer(from, [&]<typename S>() {
      for_lanes(group.active, [&](int l) {
        const S x = get<S>(a[l]);
        d[l] = to == kF32 ? put(opaque_convert<float>(x)) : put(opaque_convert<double>(x));
      });
    });
  }
  if (insn.sat) return false;
  return by_integer(from, [&]<typename S>() {
    by_integer(to, [&]<typename T>() {
      for_lanes(group.active, [&](int l) { d[l] = put(static_cast<T>(get<S>(a[l]))); });
    });
  });
}

}  // namespace sluice::ptx
