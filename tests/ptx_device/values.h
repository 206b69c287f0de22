// Values in registers, which are 64 bits wide whatever their type, and arithmetic in any rounding.
#ifndef SLUICE_TESTS_PTX_DEVICE_VALUES_H_
#define SLUICE_TESTS_PTX_DEVICE_VALUES_H_

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tests/ptx_device/program.h"

namespace sluice::ptx {

template <typename T>
inline T get(uint64_t v) {
  T t;
  std::memcpy(&t, &v, sizeof(T));
  return t;
}

// Signed integers are extended by their sign, everything else by zeros.
template <typename T>
inline uint64_t put(T v) {
  if constexpr (std::is_floating_point_v<T>) {
    uint64_t bits = 0;
    std::memcpy(&bits, &v, sizeof(T));
    return bits;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(v));
  } else {
    return static_cast<uint64_t>(v);
  }
}

// float32 arithmetic gives the canonical NaN. That of float64 keeps the host's payload.
inline float canonical(float v) { return v == v ? v : get<float>(0x7fffffff); }
inline double canonical(double v) { return v; }

// .ftz, which float64 does not have.
inline float flushed(float v) {
  return std::fabs(v) < std::numeric_limits<float>::min() ? std::copysign(0.f, v) : v;
}
inline double flushed(double v) { return v; }

// .sat
template <typename T>
inline T saturated(T v) {
  return v != v || v < 0 ? T(0) : v > 1 ? T(1) : v;
}

// Sets the host's rounding while it lives.
class Rounding {
 public:
  explicit Rounding(Round round) : before_(std::fegetround()) {
    const int mode = round == kRZ   ? FE_TOWARDZERO
                     : round == kRM ? FE_DOWNWARD
                     : round == kRP ? FE_UPWARD
                                    : FE_TONEAREST;
    is_other_ = mode != before_;
    if (is_other_) std::fesetround(mode);
  }
  ~Rounding() {
    if (is_other_) std::fesetround(before_);
  }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  const int before_;
  bool is_other_;
};

// Opaque to the compiler, which takes all arithmetic to round to nearest.
template <typename T>
[[gnu::noinline]] T opaque_add(T x, T y) {
  volatile T a = x, b = y;
  volatile T r = a + b;
  return r;
}
template <typename T>
[[gnu::noinline]] T opaque_mul(T x, T y) {
  volatile T a = x, b = y;
  volatile T r = a * b;
  return r;
}
template <typename T>
[[gnu::noinline]] T opaque_div(T x, T y) {
  volatile T a = x, b = y;
  volatile T r = a / b;
  return r;
}
template <typename T>
[[gnu::noinline]] T opaque_fma(T x, T y, T z) {
  volatile T a = x, b = y, c = z;
  volatile T r = std::fma(a, b, c);
  return r;
}
template <typename To, typename From>
[[gnu::noinline]] To opaque_convert(From x) {
  volatile From v = x;
  volatile To r = static_cast<To>(v);
  return r;
}

template <typename T>
T rounded_to_integer(T v, Round round) {
  switch (round) {
    case kRZI:
    case kRZ: return std::trunc(v);
    case kRMI:
    case kRM: return std::floor(v);
    case kRPI:
    case kRP: return std::ceil(v);
    default: return std::nearbyint(v);
  }
}

// Out of range is the nearest value. NaN is 0 from float32 to up to 32 bits, else the highest bit.
template <typename To>
uint64_t to_integer(double v, Round round, bool from_double) {
  if (v != v) {
    if (!from_double && sizeof(To) < 8) return 0;
    return put(static_cast<To>(std::make_unsigned_t<To>(1) << (8 * sizeof(To) - 1)));
  }
  const double r = rounded_to_integer(v, round);
  if (r < static_cast<double>(std::numeric_limits<To>::min())) {
    return put(std::numeric_limits<To>::min());
  }
  if (r >= std::ldexp(1.0, std::numeric_limits<To>::digits)) {
    return put(std::numeric_limits<To>::max());
  }
  return put(static_cast<To>(r));
}

inline float half_to_float(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  float v = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                          : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  if (exponent == 31) {
    v = fraction == 0 ? std::numeric_limits<float>::infinity()
                      : std::numeric_limits<float>::quiet_NaN();
  }
  return (h & 0x8000) != 0 ? -v : v;
}
inline uint16_t float_to_half(float v, Round round) {
  if (v != v) return 0x7fff;
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  const double size = std::fabs(static_cast<double>(v));
  if (std::isinf(v)) return static_cast<uint16_t>(sign | 0x7c00);
  int exponent = size == 0 ? -14 : std::max(std::ilogb(size), -14);
  if (exponent > 15) exponent = 15;
  // In units of the last place; what is subnormal has no hidden bit, and carries go where they
  // should.
  const double units = rounded_to_integer(std::ldexp(size, 10 - exponent), round);
  const double bits = units + 1024.0 * (exponent + 14);
  const double most = round == kRZ ? 0x7bff : 0x7c00;
  return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::min(bits, most)));
}
inline uint16_t float_to_bfloat(float v, Round round) {
  if (v != v) return 0x7fff;
  const auto bits = get<uint32_t>(put(v));
  const uint32_t up = round == kRZ ? 0 : 0x7fffu + (bits >> 16 & 1);
  return static_cast<uint16_t>((bits + up) >> 16);
}

// ---- Over the lanes of a mask, and by type.

template <typename F>
inline void for_lanes(uint32_t mask, F f) {
  if (mask == 0xffffffffu) {
    for (int l = 0; l < kWarp; ++l) f(l);
  } else {
    for (uint32_t m = mask; m != 0; m &= m - 1) f(__builtin_ctz(m));
  }
}

// Calls f<T>() with the type of the host. False if there is none of the kind.
template <typename F>
inline bool by_integer(Type type, F f) {
  switch (type) {
    case kU8:
    case kB8: f.template operator()<uint8_t>(); return true;
    case kS8: f.template operator()<int8_t>(); return true;
    case kU16:
    case kB16: f.template operator()<uint16_t>(); return true;
    case kS16: f.template operator()<int16_t>(); return true;
    case kU32:
    case kB32: f.template operator()<uint32_t>(); return true;
    case kS32: f.template operator()<int32_t>(); return true;
    case kU64:
    case kB64: f.template operator()<uint64_t>(); return true;
    case kS64: f.template operator()<int64_t>(); return true;
    default: return false;
  }
}
template <typename F>
inline bool by_float(Type type, F f) {
  if (type == kF32) {
    f.template operator()<float>();
  } else if (type == kF64) {
    f.template operator()<double>();
  } else {
    return false;
  }
  return true;
}
template <typename F>
inline bool by_number(Type type, F f) {
  return by_integer(type, f) || by_float(type, f);
}

}  // namespace sluice::ptx

#endif  // SLUICE_TESTS_PTX_DEVICE_VALUES_H_
