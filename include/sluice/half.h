// The C++ element types of the half-precision dtypes. They store; arithmetic goes through float.
#ifndef SLUICE_HALF_H_
#define SLUICE_HALF_H_

#include <bit>
#include <cstdint>

#pragma GCC visibility push(default)
namespace sluice {
namespace half_internal {

// float -> IEEE 754 binary16, round to nearest, ties to even. Every NaN becomes 0x7e00.
constexpr uint16_t to_float16_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7e00u;
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds past 65504
  if (magnitude < 0x38800000u) {
    // Subnormal result: adding 0.5 aligns the mantissa so that the addition itself rounds.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3f000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

constexpr float from_float16_bits(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

// float -> bfloat16, round to nearest, ties to even. Every NaN becomes 0x7fc0.
constexpr uint16_t to_bfloat16_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float from_bfloat16_bits(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace half_internal

// IEEE 754 binary16: 1 sign, 5 exponent, 10 mantissa bits.
struct float16 {
  uint16_t bits = 0;

  constexpr float16() = default;
  constexpr explicit float16(float value) : bits(half_internal::to_float16_bits(value)) {}
  constexpr operator float() const { return half_internal::from_float16_bits(bits); }
  [[nodiscard]] static constexpr float16 from_bits(uint16_t bits) {
    float16 result;
    result.bits = bits;
    return result;
  }
};

// The upper half of a float32: 1 sign, 8 exponent, 7 mantissa bits.
struct bfloat16 {
  uint16_t bits = 0;

  constexpr bfloat16() = default;
  constexpr explicit bfloat16(float value) : bits(half_internal::to_bfloat16_bits(value)) {}
  constexpr operator float() const { return half_internal::from_bfloat16_bits(bits); }
  [[nodiscard]] static constexpr bfloat16 from_bits(uint16_t bits) {
    bfloat16 result;
    result.bits = bits;
    return result;
  }
};

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_HALF_H_
