// The order of elements, for kernels' sources: what kernels/library/sort/keys.h is on the CPU.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_ORDER_TEXT_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_ORDER_TEXT_H_

#include <string>

#include <sluice/dtype.h>

namespace sluice::kernels::cuda {

inline constexpr const char* kOrderText = R"sluice(
template <typename U>
struct sl_unsigned_order {
  typedef U Bits;
  SL_INLINE static U key(U bits, U reverse) { return U(bits ^ reverse); }
  SL_INLINE static U joined_key(U bits, U reverse) { return key(bits, reverse); }
  SL_INLINE static U element(U key, U reverse) { return U(key ^ reverse); }
  SL_INLINE static U canonical(U bits) { return bits; }
};
template <typename U>
struct sl_signed_order {
  typedef U Bits;
  static constexpr U kSign = U(U(1) << (8 * sizeof(U) - 1));
  SL_INLINE static U key(U bits, U reverse) { return U(bits ^ kSign ^ reverse); }
  SL_INLINE static U joined_key(U bits, U reverse) { return key(bits, reverse); }
  SL_INLINE static U element(U key, U reverse) { return U(key ^ kSign ^ reverse); }
  SL_INLINE static U canonical(U bits) { return bits; }
};
template <typename U, U kInfinity, U kNaN>
struct sl_float_order {
  typedef U Bits;
  static constexpr U kSign = U(U(1) << (8 * sizeof(U) - 1));
  SL_INLINE static U canonical(U bits) { return U(bits & U(~kSign)) > kInfinity ? kNaN : bits; }
  SL_INLINE static U key(U bits, U reverse) {
    if (U(bits & U(~kSign)) > kInfinity) return U(~U(0));
    return U(bits ^ (bits & kSign ? U(~U(0)) : kSign) ^ reverse);
  }
  SL_INLINE static U joined_key(U bits, U reverse) {
    return key(bits == kSign ? U(0) : bits, reverse);
  }
  SL_INLINE static U element(U key, U reverse) {
    const U ordered = U(key ^ reverse);
    return key == U(~U(0)) ? kNaN : U(ordered ^ (ordered & kSign ? kSign : U(~U(0))));
  }
};

// The sum of earlier threads' values, and of all.
struct sl_sums { sl_u32 of[SL_THREADS / 32]; };
SL_INLINE sl_u32 sl_sum_before(sl_sums& sums, sl_u32 x, sl_u32* all) {
  const int lane = sl_thread() % 32, warp = sl_thread() / 32;
  sl_u32 upto = x;
  SL_UNROLL
  for (int distance = 1; distance < 32; distance *= 2) {
    const sl_u32 other = sl_shuffle(upto, lane - distance);
    if (lane >= distance) upto += other;
  }
  if (lane == 31) sums.of[warp] = upto;
  sl_sync();
  sl_u32 total = 0, before = 0;
  SL_UNROLL
  for (int k = 0; k < SL_THREADS / 32; ++k) {
    if (k == warp) before = total;
    total += sums.of[k];
  }
  sl_sync();  // the sums are read
  *all = total;
  return before + upto - x;
}

// How many threads of the block before this one have the flag set; how many of all.
SL_INLINE int sl_rank(sl_sums& sums, bool flag, int* all) {
  sl_u32 total;
  const sl_u32 rank = sl_sum_before(sums, flag, &total);
  *all = int(total);
  return int(rank);
}
)sluice";

// The type there that is the order of a dtype's elements.
inline std::string order_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8: return "sl_unsigned_order<sl_u8>";
    case DType::kUInt16: return "sl_unsigned_order<sl_u16>";
    case DType::kUInt32: return "sl_unsigned_order<sl_u32>";
    case DType::kUInt64: return "sl_unsigned_order<sl_u64>";
    case DType::kInt8: return "sl_signed_order<sl_u8>";
    case DType::kInt16: return "sl_signed_order<sl_u16>";
    case DType::kInt32: return "sl_signed_order<sl_u32>";
    case DType::kInt64: return "sl_signed_order<sl_u64>";
    case DType::kFloat16: return "sl_float_order<sl_u16, 0x7c00, 0x7e00>";
    case DType::kBFloat16: return "sl_float_order<sl_u16, 0x7f80, 0x7fc0>";
    case DType::kFloat32: return "sl_float_order<sl_u32, 0x7f800000u, 0x7fc00000u>";
    default: return "sl_float_order<sl_u64, 0x7ff0000000000000ull, 0x7ff8000000000000ull>";
  }
}

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_ORDER_TEXT_H_
