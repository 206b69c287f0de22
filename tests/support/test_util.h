// Between the engine under test and the oracle: conversion, comparison, tables of ops, settings.
#ifndef SLUICE_TESTS_SUPPORT_TEST_UTIL_H_
#define SLUICE_TESTS_SUPPORT_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <sluice/sluice.h>
#include "tests/oracle/ops.h"

namespace sluice::test {

using oracle::NdArray;
using oracle::Real;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Puts the settings back at the end of a scope.
class ConfigGuard {
 public:
  ConfigGuard() : saved_(config()) {}
  ~ConfigGuard() { config() = saved_; }
  ConfigGuard(const ConfigGuard&) = delete;
  ConfigGuard& operator=(const ConfigGuard&) = delete;

 private:
  Config saved_;
};

inline std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (int i = 0; i < kNumDTypes; ++i) dtypes.push_back(static_cast<DType>(i));
  return dtypes;
}

inline Tensor to_tensor(const NdArray& x) {
  return visit_dtype(x.dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<bool> values(x.numel());
      for (int64_t i = 0; i < x.numel(); ++i) values[i] = x.values[i] != 0;
      return Tensor::from(values, x.shape);
    } else {
      std::vector<T> values(x.numel());
      for (int64_t i = 0; i < x.numel(); ++i) {
        if constexpr (std::is_integral_v<T> || std::is_floating_point_v<T>) {
          values[i] = static_cast<T>(x.values[i]);
        } else {
          values[i] = T(static_cast<float>(x.values[i]));
        }
      }
      return Tensor::from(std::span<const T>(values), x.shape);
    }
  });
}

// The elements as they lie in memory.
inline std::vector<uint8_t> read_bytes(const Tensor& x) {
  return visit_dtype(x.dtype(), [&]<typename T>() {
    std::vector<uint8_t> bytes(x.numel() * sizeof(T));
    const auto values = x.to_vector<T>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      const T value = values[i];
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return bytes;
  });
}

inline Real element(const std::vector<uint8_t>& bytes, DType dtype, int64_t i) {
  return visit_dtype(dtype, [&]<typename T>() -> Real {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    if constexpr (is_half(dtype_of<T>()))
      return static_cast<float>(value);
    else
      return value;
  });
}

inline bool close_enough(Real actual, Real expected, Real error) {
  if (error == oracle::kUnknown) return true;
  if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) && std::isnan(expected);
  if (actual == expected) return true;
  return std::fabs(actual - expected) <= error;
}

inline testing::AssertionResult bytes_match(const std::vector<uint8_t>& bytes,
                                            const NdArray& expected) {
  for (int64_t i = 0; i < expected.numel(); ++i) {
    const Real actual = element(bytes, expected.dtype, i);
    if (close_enough(actual, expected.values[i], expected.errors[i])) continue;
    return testing::AssertionFailure()
           << "element " << i << " of " << name_of(expected.dtype) << " "
           << to_string(expected.shape) << " is " << oracle::to_string(actual, expected.dtype)
           << ", expected " << oracle::to_string(expected.values[i], expected.dtype) << " +- "
           << static_cast<double>(expected.errors[i]);
  }
  return testing::AssertionSuccess();
}

// Dtype, shape, and every element within the error that `expected` states.
inline testing::AssertionResult matches(const Tensor& actual, const NdArray& expected) {
  if (actual.dtype() != expected.dtype) {
    return testing::AssertionFailure()
           << "dtype is " << name_of(actual.dtype()) << ", expected " << name_of(expected.dtype);
  }
  if (actual.shape() != expected.shape) {
    return testing::AssertionFailure() << "shape is " << to_string(actual.shape()) << ", expected "
                                       << to_string(expected.shape);
  }
  return bytes_match(read_bytes(actual), expected);
}

// Numbers at which arithmetic goes wrong, and some at which it should not.
inline std::vector<Real> nasty_values(DType dtype) {
  if (dtype == DType::kBool) return {0, 1};
  return visit_dtype(dtype, [&]<typename T>() -> std::vector<Real> {
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      std::vector<Real> values = {0,
                                  1,
                                  2,
                                  3,
                                  5,
                                  7,
                                  8,
                                  31,
                                  63,
                                  64,
                                  100,
                                  127,
                                  Limits::max(),
                                  Limits::max() - 1,
                                  Limits::max() / 2};
      if (std::is_signed_v<T>) {
        for (Real v : {-1.0L, -2.0L, -3.0L, -7.0L, -64.0L, Real(Limits::min()),
                       Real(Limits::min()) + 1, Real(Limits::min() / 2)}) {
          values.push_back(v);
        }
      }
      return values;
    } else {
      const oracle::FloatFormat format = oracle::format_of(dtype);
      const Real least = std::ldexp(Real(1), format.min_exponent);
      const Real inf = std::numeric_limits<Real>::infinity();
      std::vector<Real> values = {0,
                                  0.5L,
                                  1,
                                  1 + oracle::ulp(1, dtype),
                                  1.5L,
                                  2,
                                  2.5L,
                                  3,
                                  3.1416L,
                                  0.1L,
                                  0.9L,
                                  1e-3L,
                                  7,
                                  10,
                                  17.3L,
                                  42,
                                  88,
                                  100,
                                  300,
                                  1000,
                                  40000,
                                  format.max,
                                  least,
                                  least * 0.75L,
                                  oracle::smallest(dtype),
                                  inf};
      const size_t count = values.size();
      for (size_t i = 0; i < count; ++i) values.push_back(-values[i]);
      values.push_back(std::numeric_limits<Real>::quiet_NaN());
      for (Real& value : values) value = oracle::round_float(value, dtype);
      return values;
    }
  });
}

// Mostly ordinary numbers; now and then a nasty one.
inline NdArray random_array(std::mt19937_64& rng, DType dtype, const Shape& shape,
                            double nastiness = 0.1) {
  const std::vector<Real> nasty = nasty_values(dtype);
  NdArray x(dtype, shape);
  std::uniform_real_distribution<double> unit(0, 1);
  std::normal_distribution<double> normal(0, 2);
  for (Real& value : x.values) {
    if (unit(rng) < nastiness)
      value = nasty[rng() % nasty.size()];
    else if (is_float(dtype))
      value = oracle::round_float(normal(rng), dtype);
    else if (dtype == DType::kBool)
      value = rng() % 2;
    else
      value = static_cast<int>(rng() % 24) - (kind_of(dtype) == DTypeKind::kSigned ? 12 : 0);
  }
  return x;
}

struct UnaryOp {
  std::string name;
  Tensor (*f)(const Tensor&);
};
struct BinaryOp {
  std::string name;
  Tensor (*f)(const Tensor&, const Tensor&);
};
struct TernaryOp {
  std::string name;
  Tensor (*f)(const Operand&, const Operand&, const Operand&);
};

// The pointwise ops of fusion/ir/ops.def of one and two operands, and the operators, which are
// named "operator+" and so on.
inline const std::vector<UnaryOp>& unary_ops() {
  static const std::vector<UnaryOp> ops = [] {
    std::vector<UnaryOp> rows;
#define SLUICE_ROW_1(name) rows.push_back({#name, &::sluice::name});
#define SLUICE_ROW_2(name)
#define SLUICE_ROW_3(name)
#define SLUICE_POINTWISE_OP(id, name, arity, ...) SLUICE_ROW_##arity(name)
#include "fusion/ir/ops.def"
#undef SLUICE_ROW_1
#undef SLUICE_ROW_2
#define SLUICE_UNARY_OPERATOR(symbol, id, name) \
  rows.push_back({"operator" #symbol, [](const Tensor& x) { return symbol x; }});
#include "frontend/functions.def"
    return rows;
  }();
  return ops;
}
inline const std::vector<BinaryOp>& binary_ops() {
  static const std::vector<BinaryOp> ops = [] {
    std::vector<BinaryOp> rows;
#define SLUICE_ROW_1(name)
#define SLUICE_ROW_2(name) rows.push_back({#name, &::sluice::name});
#define SLUICE_POINTWISE_OP(id, name, arity, ...) SLUICE_ROW_##arity(name)
#include "fusion/ir/ops.def"
#undef SLUICE_ROW_1
#undef SLUICE_ROW_2
#define SLUICE_BINARY_OPERATOR(symbol, id, name) \
  rows.push_back({"operator" #symbol, [](const Tensor& a, const Tensor& b) { return a symbol b; }});
#include "frontend/functions.def"
    return rows;
  }();
  return ops;
}
inline const std::vector<TernaryOp>& ternary_ops() {
  static const std::vector<TernaryOp> ops = {
#undef SLUICE_ROW_3
#define SLUICE_ROW_1(name)
#define SLUICE_ROW_2(name)
#define SLUICE_ROW_3(name) {#name, &::sluice::name},
#define SLUICE_POINTWISE_OP(id, name, arity, ...) SLUICE_ROW_##arity(name)
#include "fusion/ir/ops.def"
#undef SLUICE_ROW_1
#undef SLUICE_ROW_2
#undef SLUICE_ROW_3
  };
  return ops;
}
inline bool is_operator(const std::string& name) { return name.starts_with("operator"); }

// Runs `f`, which must throw an Error of this code whose message holds every one of `parts`.
template <typename F>
testing::AssertionResult fails_with(F&& f, ErrorCode code, const std::vector<std::string>& parts) {
  try {
    static_cast<void>(f());
  } catch (const Error& error) {
    const std::string message = error.what();
    if (error.code() != code) {
      return testing::AssertionFailure()
             << "code " << static_cast<int>(error.code()) << ", expected " << static_cast<int>(code)
             << ": " << message;
    }
    for (const std::string& part : parts) {
      if (message.find(part) == std::string::npos) {
        return testing::AssertionFailure()
               << "\"" << message << "\" does not say \"" << part << "\"";
      }
    }
    return testing::AssertionSuccess();
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << "another exception than Error: " << error.what();
  }
  return testing::AssertionFailure() << "no error";
}

}  // namespace sluice::test

#endif  // SLUICE_TESTS_SUPPORT_TEST_UTIL_H_
