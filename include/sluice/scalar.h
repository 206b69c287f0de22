// A C++ number where an op takes a tensor.
#ifndef SLUICE_SCALAR_H_
#define SLUICE_SCALAR_H_

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <sluice/dtype.h>

#pragma GCC visibility push(default)
namespace sluice {

// Converts implicitly from every C++ number and half type. In an op it takes the dtype of the
// tensor it meets unless its kind is wider (a float scalar with an integer tensor gives float32):
// it never widens a tensor's dtype within its kind.
class Scalar {
 public:
  template <typename T>
  requires Element<T>
  constexpr Scalar(T value) : dtype_(dtype_of<T>()) {
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      float_ = static_cast<float>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      float_ = value;
    } else if constexpr (std::is_unsigned_v<T>) {
      unsigned_ = value;
    } else {
      signed_ = value;  // NOLINT(bugprone-signed-char-misuse): a number, not a character
    }
  }

  // The dtype of the C++ type it was made from.
  [[nodiscard]] constexpr DType dtype() const { return dtype_; }
  [[nodiscard]] constexpr DTypeKind kind() const { return kind_of(dtype_); }

  // The value as T, converted like an element by astype: saturating from float, wrapping between
  // integers, NaN to integer 0.
  template <typename T>
  [[nodiscard]] constexpr T as() const {
    switch (kind()) {
      case DTypeKind::kFloat: return from_double<T>(float_);
      case DTypeKind::kSigned: return static_cast<T>(signed_);
      case DTypeKind::kUnsigned:
      case DTypeKind::kBool: break;
    }
    return static_cast<T>(unsigned_);
  }

 private:
  template <typename T>
  static constexpr T from_double(double value) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (value != value) return 0;
      // The bounds are powers of two (or zero), exact in double.
      constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
      constexpr double kPastHigh = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
      if (value < kLow) return std::numeric_limits<T>::min();
      if (value >= kPastHigh) return std::numeric_limits<T>::max();
      return static_cast<T>(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      return value != 0;
    } else {
      return static_cast<T>(value);
    }
  }

  DType dtype_;
  union {
    double float_;
    int64_t signed_;
    uint64_t unsigned_;
  };
};

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_SCALAR_H_
