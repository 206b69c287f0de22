// Keys: unsigned integers that are in the order of elements.
#ifndef SLUICE_KERNELS_LIBRARY_SORT_KEYS_H_
#define SLUICE_KERNELS_LIBRARY_SORT_KEYS_H_

#include <cstdint>
#include <type_traits>

#include <sluice/dtype.h>

namespace sluice::kernels {

// The order of elements whose bits are those of a Bits. `reverse` is 0, or ~0 for descending order:
// NaN is last in both. key() tells -0 from 0, and element() gives its element back; joined_key()
// does not, so that they are equal.
template <typename BitsType>
struct UnsignedOrder {
  using Bits = BitsType;
  static constexpr bool kHasZeros = false;  // that differ
  static Bits key(Bits bits, Bits reverse) { return static_cast<Bits>(bits ^ reverse); }
  static Bits joined_key(Bits bits, Bits reverse) { return key(bits, reverse); }
  static Bits element(Bits key, Bits reverse) { return static_cast<Bits>(key ^ reverse); }
};

template <typename BitsType>
struct SignedOrder {
  using Bits = BitsType;
  static constexpr bool kHasZeros = false;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  static Bits key(Bits bits, Bits reverse) { return static_cast<Bits>(bits ^ kSign ^ reverse); }
  static Bits joined_key(Bits bits, Bits reverse) { return key(bits, reverse); }
  static Bits element(Bits key, Bits reverse) { return static_cast<Bits>(key ^ kSign ^ reverse); }
};

// IEEE floats, of which kInfinity and kNaN are the bits of these two.
template <typename BitsType, BitsType kInfinity, BitsType kNaN>
struct FloatOrder {
  using Bits = BitsType;
  static constexpr bool kHasZeros = true;
  static constexpr int kSignBit = 8 * sizeof(Bits) - 1;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << kSignBit);
  static constexpr Bits kLast = static_cast<Bits>(~Bits{0});
  static Bits key(Bits bits, Bits reverse) {
    const auto all_if_negative = static_cast<Bits>(Bits{0} - static_cast<Bits>(bits >> kSignBit));
    const auto ordered = static_cast<Bits>(bits ^ static_cast<Bits>(all_if_negative | kSign));
    const bool is_nan = static_cast<Bits>(bits & static_cast<Bits>(~kSign)) > kInfinity;
    return is_nan ? kLast : static_cast<Bits>(ordered ^ reverse);
  }
  static Bits joined_key(Bits bits, Bits reverse) {
    return key(bits == kSign ? Bits{0} : bits, reverse);
  }
  static Bits element(Bits key, Bits reverse) {
    const auto ordered = static_cast<Bits>(key ^ reverse);
    const auto all_if_positive =
        static_cast<Bits>(static_cast<Bits>(ordered >> kSignBit) - Bits{1});
    const auto bits = static_cast<Bits>(ordered ^ static_cast<Bits>(all_if_positive | kSign));
    return key == kLast ? kNaN : bits;
  }
};

// f.operator()<Order>() for the order of `dtype`.
template <typename F>
auto visit_order(DType dtype, F f) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8: return f.template operator()<UnsignedOrder<uint8_t>>();
    case DType::kInt8: return f.template operator()<SignedOrder<uint8_t>>();
    case DType::kInt16: return f.template operator()<SignedOrder<uint16_t>>();
    case DType::kInt32: return f.template operator()<SignedOrder<uint32_t>>();
    case DType::kInt64: return f.template operator()<SignedOrder<uint64_t>>();
    case DType::kUInt16: return f.template operator()<UnsignedOrder<uint16_t>>();
    case DType::kUInt32: return f.template operator()<UnsignedOrder<uint32_t>>();
    case DType::kUInt64: return f.template operator()<UnsignedOrder<uint64_t>>();
    case DType::kFloat16: return f.template operator()<FloatOrder<uint16_t, 0x7c00, 0x7e00>>();
    case DType::kBFloat16: return f.template operator()<FloatOrder<uint16_t, 0x7f80, 0x7fc0>>();
    case DType::kFloat32:
      return f.template operator()<FloatOrder<uint32_t, 0x7f800000, 0x7fc00000>>();
    default:
      return f.template operator()<FloatOrder<uint64_t, 0x7ff0000000000000, 0x7ff8000000000000>>();
  }
}

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_SORT_KEYS_H_
