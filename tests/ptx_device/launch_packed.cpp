// Arithmetic of two halves in a register.
#include <cmath>

#include "tests/ptx_device/launch.h"
#include "tests/ptx_device/values.h"

namespace sluice::ptx {
namespace {

bool is_packed(Type type) { return type == kF16x2 || type == kBF16x2; }

double half_at(Type type, uint64_t bits, int half) {
  const auto h = static_cast<uint16_t>(bits >> 16 * half);
  return type == kF16x2 ? half_to_float(h) : get<float>(uint64_t{h} << 16);
}

// Through float32, as float64 holds what the kernels of the engine compute so closely that rounding
// twice makes no difference: sums and products of halves. (Of fma, with a factor 1 or an addend 0.)
uint64_t rounded_half(Type type, double v) {
  const auto nearest = static_cast<float>(v);
  return type == kF16x2 ? float_to_half(nearest, kRN) : float_to_bfloat(nearest, kRN);
}

}  // namespace

bool Launch::compute_packed(const Instruction& insn, const Group& group) {
  uint64_t* const d = destination(insn, group);
  const uint64_t* const a = source(insn, group, 0);
  const uint64_t* const b = source(insn, group, 1);
  const uint64_t* const c = source(insn, group, 2);
  const auto each = [&](auto f) {
    for_lanes(group.active, [&](int l) { d[l] = f(l, 0) | f(l, 1) << 16; });
    return true;
  };
  const Type type = insn.op == kSet ? insn.source_type : insn.type;
  if (!is_packed(type) || insn.ftz || insn.sat) return false;
  const auto x = [&](int l, int half) { return half_at(type, a[l], half); };
  const auto y = [&](int l, int half) { return half_at(type, b[l], half); };
  if (insn.op == kSet) {
    if (insn.type != kU32 || insn.compare != kNan) return false;
    return each([&](int l, int half) -> uint64_t {
      return std::isnan(x(l, half)) || std::isnan(y(l, half)) ? 0xffff : 0;
    });
  }
  if (insn.op == kCvt) {  // the first source is the upper half
    if (insn.source_type != kF32 || insn.round != kRN) return false;
    return each([&](int l, int half) { return rounded_half(type, get<float>((half ? a : b)[l])); });
  }
  if (insn.op == kMin || insn.op == kMax) {
    // The greater of two zeros is the positive one; NaNs become the canonical one.
    if (!insn.nan) return false;
    const uint64_t nan = 0x7fff;
    return each([&](int l, int half) {
      const double v = x(l, half), w = y(l, half);
      if (std::isnan(v) || std::isnan(w)) return nan;
      const bool is_less = v < w || (v == w && std::signbit(v) && !std::signbit(w));
      return (is_less == (insn.op == kMin) ? a : b)[l] >> 16 * half & 0xffff;
    });
  }
  if (insn.round != kRN) return false;
  switch (insn.op) {
    case kAdd: return each([&](int l, int h) { return rounded_half(type, x(l, h) + y(l, h)); });
    case kSub: return each([&](int l, int h) { return rounded_half(type, x(l, h) - y(l, h)); });
    case kMul: return each([&](int l, int h) { return rounded_half(type, x(l, h) * y(l, h)); });
    case kFma:
      return each([&](int l, int h) {
        return rounded_half(type, x(l, h) * y(l, h) + half_at(type, c[l], h));
      });
    default: return false;
  }
}

}  // namespace sluice::ptx
