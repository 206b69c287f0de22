// Element types, their sizes and kinds, and how two of them combine.
#ifndef SLUICE_DTYPE_H_
#define SLUICE_DTYPE_H_

#include <cstddef>
#include <cstdint>

#include <sluice/half.h>

#pragma GCC visibility push(default)
namespace sluice {

enum class DType : uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
};

// sluice::kFloat32 is DType::kFloat32.
using enum DType;

inline constexpr int kNumDTypes = 13;

// The kinds of the array API standard, in the order in which they widen.
enum class DTypeKind : uint8_t { kBool, kUnsigned, kSigned, kFloat };

inline constexpr uint8_t kDTypeSizes[kNumDTypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};

// The size of an element in bytes.
[[nodiscard]] constexpr size_t size_of(DType dtype) { return kDTypeSizes[static_cast<int>(dtype)]; }

[[nodiscard]] constexpr DTypeKind kind_of(DType dtype) {
  if (dtype == DType::kBool) return DTypeKind::kBool;
  if (dtype <= DType::kInt64) return DTypeKind::kSigned;
  if (dtype <= DType::kUInt64) return DTypeKind::kUnsigned;
  return DTypeKind::kFloat;
}

[[nodiscard]] constexpr bool is_float(DType dtype) { return kind_of(dtype) == DTypeKind::kFloat; }
[[nodiscard]] constexpr bool is_half(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}
[[nodiscard]] constexpr bool is_integer(DType dtype) {
  return kind_of(dtype) == DTypeKind::kSigned || kind_of(dtype) == DTypeKind::kUnsigned;
}

// The type in which arithmetic on `dtype` is carried out: half types compute in float32 and are
// rounded after every op; every other type computes in itself.
[[nodiscard]] constexpr DType compute_type(DType dtype) {
  return is_half(dtype) ? DType::kFloat32 : dtype;
}

// "float32", "bool", ...
[[nodiscard]] const char* name_of(DType dtype);

// The dtype of an op on `a` and `b`, by the Python array API standard's table; where that leaves
// mixed kinds open, bool acts as the other operand and an integer takes the float operand's dtype.
// uint64 with a signed integer gives float32, the default float, as no integer type holds both.
[[nodiscard]] DType promote(DType a, DType b);

// The dtype a float function gives for `dtype`: itself if it is a float, else float32.
[[nodiscard]] constexpr DType float_type(DType dtype) {
  return is_float(dtype) ? dtype : DType::kFloat32;
}

// Maps a C++ element type to its DType: dtype_of<float>() == DType::kFloat32.
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::kInt8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::kInt16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kInt64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kUInt8;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType value = DType::kUInt16;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::kUInt32;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType value = DType::kUInt64;
};
template <>
struct DTypeOf<float16> {
  static constexpr DType value = DType::kFloat16;
};
template <>
struct DTypeOf<bfloat16> {
  static constexpr DType value = DType::kBFloat16;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kFloat64;
};

// The integer types that are not spelled intN_t on this platform (long long on LP64).
template <>
struct DTypeOf<long long> {
  static constexpr DType value = DType::kInt64;
};
template <>
struct DTypeOf<unsigned long long> {
  static constexpr DType value = DType::kUInt64;
};

template <typename T>
concept Element = requires {
  DTypeOf<T>::value;
};

template <Element T>
[[nodiscard]] constexpr DType dtype_of() {
  return DTypeOf<T>::value;
}

// Calls `f.template operator()<T>()` with the C++ type whose dtype is `dtype`.
template <typename F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool: return f.template operator()<bool>();
    case DType::kInt8: return f.template operator()<int8_t>();
    case DType::kInt16: return f.template operator()<int16_t>();
    case DType::kInt32: return f.template operator()<int32_t>();
    case DType::kInt64: return f.template operator()<int64_t>();
    case DType::kUInt8: return f.template operator()<uint8_t>();
    case DType::kUInt16: return f.template operator()<uint16_t>();
    case DType::kUInt32: return f.template operator()<uint32_t>();
    case DType::kUInt64: return f.template operator()<uint64_t>();
    case DType::kFloat16: return f.template operator()<float16>();
    case DType::kBFloat16: return f.template operator()<bfloat16>();
    case DType::kFloat32: return f.template operator()<float>();
    case DType::kFloat64: break;
  }
  return f.template operator()<double>();
}

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_DTYPE_H_
