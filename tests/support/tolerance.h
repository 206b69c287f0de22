// How far apart the elements of two results may be.
#ifndef SLUICE_TESTS_SUPPORT_TOLERANCE_H_
#define SLUICE_TESTS_SUPPORT_TOLERANCE_H_

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <sluice/dtype.h>

namespace sluice::testing {

struct Tolerance {
  int64_t ulps = 0;     // of floats; other types have to be equal
  double relative = 0;  // or of the expected value
};

inline double number_at(const char* at, DType dtype) {
  return visit_dtype(dtype, [&]<typename T>() -> double {
    if constexpr (std::is_same_v<T, bool>) {
      return *at;
    } else {
      T value;
      std::memcpy(&value, at, sizeof(T));
      if constexpr (std::is_arithmetic_v<T>) {
        return static_cast<double>(value);
      } else {
        return static_cast<float>(value);
      }
    }
  });
}

// Representable numbers between zero and a float.
inline int64_t ordinal_at(const char* at, DType dtype) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, size_of(dtype));
  const uint64_t sign = uint64_t{1} << (8 * size_of(dtype) - 1);
  return bits & sign ? -static_cast<int64_t>(bits & (sign - 1)) : static_cast<int64_t>(bits);
}

inline bool agree(const char* actual, const char* expected, DType dtype,
                  const Tolerance& tolerance) {
  if (std::memcmp(actual, expected, size_of(dtype)) == 0) return true;
  if (!is_float(dtype)) return false;
  const double want = number_at(expected, dtype), got = number_at(actual, dtype);
  if (std::isnan(want) || std::isnan(got)) return false;
  return std::abs(ordinal_at(actual, dtype) - ordinal_at(expected, dtype)) <= tolerance.ulps ||
         std::abs(got - want) <= tolerance.relative * std::abs(want);
}

}  // namespace sluice::testing

#endif  // SLUICE_TESTS_SUPPORT_TOLERANCE_H_
