#include "kernels/interp/loops/loops_impl.h"

namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE {
namespace {

// A unary loop over a function that is not an op.
template <typename To, typename From, To (*kFunction)(From)>
void convert_loop(void* out, const void* const* in, int64_t n) {
  To* o = static_cast<To*>(out);
  const From* a = static_cast<const From*>(in[0]);
  SLUICE_TILE_LOOP { o[i] = kFunction(element<To>(a, i)); }
}

// Values in registers to and from their bits in memory. A half's value is exact in float32, so
// storing it only moves bits.
float load_float16(uint16_t bits) {
  const uint32_t magnitude = bits & 0x7fffu;
  const uint32_t sign = (bits & 0x8000u) << 16;
  // Moving the exponent into place leaves it too small by 112; a multiplication puts that right for
  // subnormals, too.
  const float scaled = m::bits_as<float>(magnitude << 13) * 0x1p112f;
  const uint32_t special = (magnitude << 13) | 0x7f800000u;
  const uint32_t result = magnitude >= 0x7c00u ? special : m::bits_as<uint32_t>(scaled);
  return m::bits_as<float>(result | sign);
}
uint16_t store_float16(float value) {
  const uint32_t bits = m::bits_as<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude - 0x38000000u) >> 13;
  // 2^-24 is the unit of subnormals.
  const uint32_t subnormal =
      m::bits_as<uint32_t>(m::bits_as<float>(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude == 0x7f800000u ? 0x7c00u : result;
  result |= sign;
  return static_cast<uint16_t>(magnitude > 0x7f800000u ? 0x7e00u : result);
}
float load_bfloat16(uint16_t bits) { return m::bits_as<float>(static_cast<uint32_t>(bits) << 16); }
uint16_t store_bfloat16(float value) {
  const uint32_t bits = m::bits_as<uint32_t>(value);
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : bits >> 16);
}

template <typename To, typename From>
void set_cast(LoopTable& table) {
  constexpr int kFrom = static_cast<int>(dtype_of<From>());
  constexpr int kTo = static_cast<int>(dtype_of<To>());
  table.cast[kFrom][kTo].form[0] = convert_loop<To, From, m::cast<To, From>>;
}

template <typename From>
void set_casts_from(LoopTable& table) {
  set_cast<bool, From>(table);
  set_cast<int8_t, From>(table);
  set_cast<int16_t, From>(table);
  set_cast<int32_t, From>(table);
  set_cast<int64_t, From>(table);
  set_cast<uint8_t, From>(table);
  set_cast<uint16_t, From>(table);
  set_cast<uint32_t, From>(table);
  set_cast<uint64_t, From>(table);
  set_cast<float, From>(table);
  set_cast<double, From>(table);
}

}  // namespace

void fill_conversions(LoopTable& table) {
  constexpr int kFloat16 = static_cast<int>(DType::kFloat16);
  constexpr int kBFloat16 = static_cast<int>(DType::kBFloat16);
  constexpr int kFloat32 = static_cast<int>(DType::kFloat32);
  constexpr int kFloat64 = static_cast<int>(DType::kFloat64);
  set_casts_from<bool>(table);
  set_casts_from<int8_t>(table);
  set_casts_from<int16_t>(table);
  set_casts_from<int32_t>(table);
  set_casts_from<int64_t>(table);
  set_casts_from<uint8_t>(table);
  set_casts_from<uint16_t>(table);
  set_casts_from<uint32_t>(table);
  set_casts_from<uint64_t>(table);
  set_casts_from<float>(table);
  set_casts_from<double>(table);
  table.load[kFloat16] = convert_loop<float, uint16_t, load_float16>;
  table.load[kBFloat16] = convert_loop<float, uint16_t, load_bfloat16>;
  table.store[kFloat16] = convert_loop<uint16_t, float, store_float16>;
  table.store[kBFloat16] = convert_loop<uint16_t, float, store_bfloat16>;
  table.store[kFloat32] = convert_loop<float, float, m::canonical_nan<float>>;
  table.store[kFloat64] = convert_loop<double, double, m::canonical_nan<double>>;
  table.round[kFloat16] = convert_loop<float, float, m::round_to_float16<float>>;
  table.round[kBFloat16] = convert_loop<float, float, m::round_to_bfloat16<float>>;
}

}  // namespace sluice::kernels::interp::SLUICE_ISA_NAMESPACE
