// Keys: unsigned integers that are in the order of elements. Of the set that loops are compiled
// for.
#ifndef SLUICE_KERNELS_LIBRARY_LOOPS_KEYS_H_
#define SLUICE_KERNELS_LIBRARY_LOOPS_KEYS_H_

#include <cstdint>
#include <type_traits>

#include <sluice/dtype.h>

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// The order of elements whose bits are those of a Bits, of which `flip` is flip_of(): NaN is last
// in ascending and in descending order. key() tells -0 from 0, and element() gives its element
// back; joined_key() does not, so that they are equal.
template <typename BitsType>
struct IntegerOrder {
  using Bits = BitsType;
  static constexpr bool kHasZeros = false;  // that differ
  static Bits key(Bits bits, Bits flip) { return static_cast<Bits>(bits ^ flip); }
  static Bits joined_key(Bits bits, Bits flip) { return key(bits, flip); }
  static Bits element(Bits key, Bits flip) { return static_cast<Bits>(key ^ flip); }
};

// IEEE floats, of which kInfinity and kNaN are the bits of these two.
template <typename BitsType, BitsType kInfinity, BitsType kNaN>
struct FloatOrder {
  using Bits = BitsType;
  static constexpr bool kHasZeros = true;
  static constexpr int kSignBit = 8 * sizeof(Bits) - 1;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << kSignBit);
  static constexpr Bits kLast = static_cast<Bits>(~Bits{0});
  static Bits key(Bits bits, Bits flip) {
    const auto all_if_negative = static_cast<Bits>(Bits{0} - static_cast<Bits>(bits >> kSignBit));
    const auto ordered = static_cast<Bits>(bits ^ static_cast<Bits>(all_if_negative | kSign));
    const bool is_nan = static_cast<Bits>(bits & static_cast<Bits>(~kSign)) > kInfinity;
    return is_nan ? kLast : static_cast<Bits>(ordered ^ flip);
  }
  static Bits joined_key(Bits bits, Bits flip) { return key(bits == kSign ? Bits{0} : bits, flip); }
  static Bits element(Bits key, Bits flip) {
    const auto ordered = static_cast<Bits>(key ^ flip);
    const auto all_if_positive =
        static_cast<Bits>(static_cast<Bits>(ordered >> kSignBit) - Bits{1});
    const auto bits = static_cast<Bits>(ordered ^ static_cast<Bits>(all_if_positive | kSign));
    return key == kLast ? kNaN : bits;
  }
};

template <typename Bits>
Bits flip_of(DType dtype, bool descending) {
  const bool is_signed = dtype == DType::kInt8 || dtype == DType::kInt16 ||
                         dtype == DType::kInt32 || dtype == DType::kInt64;
  const Bits sign = is_signed ? Bits{1} << (8 * sizeof(Bits) - 1) : 0;
  return static_cast<Bits>(descending ? ~sign : sign);
}

// f.operator()<Order>() for the order of `dtype`.
template <typename F>
auto visit_order(DType dtype, F f) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8:
    case DType::kInt8: return f.template operator()<IntegerOrder<uint8_t>>();
    case DType::kInt16:
    case DType::kUInt16: return f.template operator()<IntegerOrder<uint16_t>>();
    case DType::kInt32:
    case DType::kUInt32: return f.template operator()<IntegerOrder<uint32_t>>();
    case DType::kInt64:
    case DType::kUInt64: return f.template operator()<IntegerOrder<uint64_t>>();
    case DType::kFloat16: return f.template operator()<FloatOrder<uint16_t, 0x7c00, 0x7e00>>();
    case DType::kBFloat16: return f.template operator()<FloatOrder<uint16_t, 0x7f80, 0x7fc0>>();
    case DType::kFloat32:
      return f.template operator()<FloatOrder<uint32_t, 0x7f800000, 0x7fc00000>>();
    default:
      return f.template operator()<FloatOrder<uint64_t, 0x7ff0000000000000, 0x7ff8000000000000>>();
  }
}

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_KEYS_H_
