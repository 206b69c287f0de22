// Arithmetic of float32 and float64.
#include <cmath>
#include <limits>

#include "tests/ptx_device/launch.h"
#include "tests/ptx_device/values.h"

namespace sluice::ptx {
namespace {

// A float64 approximation of the device has 20 bits of the fraction.
double coarse(double v) { return get<double>(put(v) & 0xffffffff00000000ull); }

template <typename T>
T minimum(T x, T y, bool keeps_nan, bool is_max) {
  if (x != x || y != y) {
    if (keeps_nan || (x != x && y != y)) {
      return sizeof(T) == 8 ? get<T>(0x7fffffffffffffffull) : std::numeric_limits<T>::quiet_NaN();
    }
    return x != x ? y : x;
  }
  if (x == y) return std::signbit(x) != is_max ? x : y;  // -0 is less than 0
  return (x < y) != is_max ? x : y;
}

}  // namespace

bool Launch::compute_float(const Instruction& insn, const Group& group) {
  uint64_t* const d = destination(insn, group);
  const uint64_t* const a = source(insn, group, 0);
  const uint64_t* const b = source(insn, group, 1);
  const uint64_t* const c = source(insn, group, 2);
  // `fast` is for the usual case, rounded to nearest; `any` for every rounding.
  const bool is_plain = (insn.round == kRN || insn.round == kNoRound) && !insn.ftz && !insn.sat;
  bool is_known = true;
  by_float(insn.type, [&]<typename T>() {
    const auto finish = [&](T r) {
      if (insn.ftz) r = flushed(r);
      if (insn.sat) r = saturated(r);
      return put(canonical(r));
    };
    const auto in = [&](const uint64_t* from, int l) {
      const T x = get<T>(from[l]);
      return insn.ftz ? flushed(x) : x;
    };
    const auto each = [&](auto fast, auto any) {
      if (is_plain) {
        for_lanes(group.active, [&](int l) { d[l] = put(canonical(static_cast<T>(fast(l)))); });
        return;
      }
      const Rounding rounding(insn.round);
      for_lanes(group.active, [&](int l) { d[l] = finish(any(l)); });
    };
    const auto fma = [&] {
      each([&](int l) { return std::fma(get<T>(a[l]), get<T>(b[l]), get<T>(c[l])); },
           [&](int l) { return opaque_fma(in(a, l), in(b, l), in(c, l)); });
    };
    const auto approximate = [&](auto f) {
      if (!std::is_same_v<T, float>) {
        is_known = false;
        return;
      }
      for_lanes(group.active,
                [&](int l) { d[l] = finish(static_cast<T>(f(static_cast<double>(in(a, l))))); });
    };
    switch (insn.op) {
      case kAdd:
        each([&](int l) { return get<T>(a[l]) + get<T>(b[l]); },
             [&](int l) { return opaque_add(in(a, l), in(b, l)); });
        break;
      case kSub:
        each([&](int l) { return get<T>(a[l]) - get<T>(b[l]); },
             [&](int l) { return opaque_add(in(a, l), -in(b, l)); });
        break;
      case kMul:
        each([&](int l) { return get<T>(a[l]) * get<T>(b[l]); },
             [&](int l) { return opaque_mul(in(a, l), in(b, l)); });
        break;
      case kDiv:
        each([&](int l) { return get<T>(a[l]) / get<T>(b[l]); },
             [&](int l) { return opaque_div(in(a, l), in(b, l)); });
        break;
      case kFma:
      case kMad: fma(); break;
      case kRcp:
        if (insn.approx && sizeof(T) == 8) {
          each([&](int l) { return coarse(1 / coarse(get<T>(a[l]))); },
               [&](int l) { return coarse(1 / coarse(get<T>(a[l]))); });
        } else {
          each([&](int l) { return 1 / get<T>(a[l]); },
               [&](int l) { return opaque_div(T(1), in(a, l)); });
        }
        break;
      case kSqrt:
        is_known = insn.round == kRN || insn.approx;
        each([&](int l) { return std::sqrt(get<T>(a[l])); },
             [&](int l) { return std::sqrt(in(a, l)); });
        break;
      case kRsqrt:
        if (sizeof(T) == 8) {
          for_lanes(group.active,
                    [&](int l) { d[l] = put(coarse(1 / std::sqrt(coarse(get<T>(a[l]))))); });
        } else {
          approximate([](double x) { return 1 / std::sqrt(x); });
        }
        break;
      case kEx2: approximate([](double x) { return std::exp2(x); }); break;
      case kLg2: approximate([](double x) { return std::log2(x); }); break;
      case kSin: approximate([](double x) { return std::sin(x); }); break;
      case kCos: approximate([](double x) { return std::cos(x); }); break;
      case kTanh: approximate([](double x) { return std::tanh(x); }); break;
      case kMin:
      case kMax:
        for_lanes(group.active, [&](int l) {
          d[l] = put(canonical(minimum(in(a, l), in(b, l), insn.nan, insn.op == kMax)));
        });
        break;
      // Signs are bits, of NaNs too.
      case kNeg:
      case kAbs:
      case kCopysign: {
        const uint64_t sign = uint64_t{1} << (8 * sizeof(T) - 1);
        for_lanes(group.active, [&](int l) {
          uint64_t r = 0;
          if (insn.op == kNeg) r = a[l] ^ sign;
          if (insn.op == kAbs) r = a[l] & ~sign;
          if (insn.op == kCopysign) r = (a[l] & sign) | (b[l] & ~sign);  // the first's sign
          d[l] = insn.ftz ? put(flushed(get<T>(r))) : r;
        });
        break;
      }
      default: is_known = false;
    }
  });
  return is_known;
}

}  // namespace sluice::ptx
