#include <sluice/dtype_info.h>

#include <cmath>
#include <limits>

#include "frontend/checks.h"

namespace sluice {

using frontend::fail;

FInfo finfo(DType dtype) {
  // Digits, and the greatest and least exponents of normal numbers.
  struct Format {
    int digits, max_exponent, min_exponent;
  };
  auto info = [&](Format format) {
    const double max =
        (2 - std::ldexp(1.0, 1 - format.digits)) * std::ldexp(1.0, format.max_exponent);
    return FInfo{
        dtype, static_cast<int>(8 * size_of(dtype)), std::ldexp(1.0, 1 - format.digits), max,
        -max,  std::ldexp(1.0, format.min_exponent)};
  };
  switch (dtype) {
    case DType::kFloat16: return info({11, 15, -14});
    case DType::kBFloat16: return info({8, 127, -126});
    case DType::kFloat32: return info({24, 127, -126});
    case DType::kFloat64: return info({53, 1023, -1022});
    default: fail("finfo", name_of(dtype), " is not a float dtype");
  }
}

IInfo iinfo(DType dtype) {
  if (!is_integer(dtype)) fail("iinfo", name_of(dtype), " is not an integer dtype");
  return visit_dtype(dtype, [&]<typename T>() {
    IInfo info{dtype, static_cast<int>(8 * size_of(dtype)), 0, 0};
    if constexpr (std::is_integral_v<T>) {
      info.min = static_cast<int64_t>(std::numeric_limits<T>::min());
      info.max = static_cast<uint64_t>(std::numeric_limits<T>::max());
    }
    return info;
  });
}

bool isdtype(DType dtype, std::string_view kind) {
  const DTypeKind own = kind_of(dtype);
  if (kind == "bool") return own == DTypeKind::kBool;
  if (kind == "signed integer") return own == DTypeKind::kSigned;
  if (kind == "unsigned integer") return own == DTypeKind::kUnsigned;
  if (kind == "integral") return is_integer(dtype);
  if (kind == "real floating") return is_float(dtype);
  if (kind == "complex floating") return false;
  if (kind == "numeric") return own != DTypeKind::kBool;
  fail("isdtype", "\"", std::string(kind), "\" is no kind of dtype");
}

bool isdtype(DType dtype, std::initializer_list<std::string_view> kinds) {
  bool is_any = false;
  for (const std::string_view kind : kinds) is_any = isdtype(dtype, kind) || is_any;
  return is_any;
}

bool can_cast(DType from, DType to) { return promote(from, to) == to; }

DType result_type(std::initializer_list<Typed> operands) {
  if (operands.size() == 0) fail("result_type", "nothing is given");
  std::optional<DType> dtype;
  for (const Typed& operand : operands) {
    if (operand.dtype()) dtype = dtype ? promote(*dtype, *operand.dtype()) : operand.dtype();
  }
  for (const Typed& operand : operands) {
    if (operand.scalar()) dtype = frontend::join_scalar(dtype, *operand.scalar());
  }
  return *dtype;
}

}  // namespace sluice
