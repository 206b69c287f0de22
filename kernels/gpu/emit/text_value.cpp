#include "kernels/gpu/emit/text_value.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "kernels/gpu/emit/types.h"

namespace sluice::kernels::cuda {
namespace {

thread_local Statements* current = nullptr;

// Enough digits to read the same number back, with a point that makes it a float's literal.
template <typename T>
std::string finite_literal(T value, const char* suffix) {
  std::string text = absl::StrFormat("%.*g", std::numeric_limits<T>::max_digits10, value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + suffix;
}

template <typename T>
std::string float_literal(T value, const char* suffix, const char* infinity, const char* nan) {
  if (std::isnan(value)) return nan;
  if (std::isinf(value)) return absl::StrCat(value < 0 ? "-" : "", infinity);
  return finite_literal(value, suffix);
}

// The unsigned type in which integers of `dtype` wrap.
DType wrapping_type(DType dtype) { return size_of(dtype) == 8 ? DType::kUInt64 : DType::kUInt32; }

raw::Name own(std::string name) { return current->names.emplace_back(std::move(name)).c_str(); }

bool is_promoted(DType dtype) { return !is_float(dtype) && size_of(dtype) < 4; }

}  // namespace

Statements::Statements() { current = this; }
Statements::~Statements() { current = nullptr; }

namespace raw {

Name literal(bool value) { return value ? "true" : "false"; }
Name literal(float value) {
  return own(float_literal(value, "f", "sl_as_f32(0x7f800000u)", "sl_as_f32(0x7fc00000u)"));
}
Name literal(double value) {
  return own(float_literal(value, "", "sl_as_f64(0x7ff0000000000000ull)",
                           "sl_as_f64(0x7ff8000000000000ull)"));
}
Name literal(DType dtype, int64_t value) {
  const char* suffix = dtype == DType::kInt64 ? "ll" : "";
  const int64_t least = dtype == DType::kInt64 ? std::numeric_limits<int64_t>::min()
                                               : std::numeric_limits<int32_t>::min();
  // C++ has no literal for it.
  if (value == least) return own(absl::StrCat("(", value + 1, suffix, " - 1)"));
  return own(absl::StrCat(value, suffix));
}
Name literal(DType dtype, uint64_t value) {
  const char* suffix = dtype == DType::kUInt64 ? "ull" : dtype == DType::kUInt32 ? "u" : "";
  return own(absl::StrCat(value, suffix));
}

Name statement(DType dtype, std::string expression) {
  current->list.push_back({dtype, std::move(expression)});
  return own(absl::StrCat("t", current->list.size() - 1));
}

Name arithmetic(DType dtype, const char* op, Name a, Name b) {
  if (dtype == DType::kBool) return compare(*op == '+' ? "||" : "&&", a, b);
  const DType wrapping = wrapping_type(dtype);
  if (is_float(dtype) || dtype == wrapping) return binary(dtype, op, a, b);
  const char* wide = register_type(wrapping);
  return statement(dtype, absl::StrCat(register_type(dtype), "(", wide, "(", a, ") ", op, " ", wide,
                                       "(", b, "))"));
}

Name binary(DType dtype, const char* op, Name a, Name b) {
  const std::string result = absl::StrCat(a, " ", op, " ", b);
  if (!is_promoted(dtype)) return statement(dtype, result);
  return statement(dtype, absl::StrCat(register_type(dtype), "(", result, ")"));
}

Name compare(const char* op, Name a, Name b) {
  return statement(DType::kBool, absl::StrCat(a, " ", op, " ", b));
}

Name call(DType dtype, const char* function, Name a) {
  return statement(dtype, absl::StrCat(function, "(", a, ")"));
}

Name call(DType dtype, const char* function, Name a, Name b) {
  return statement(dtype, absl::StrCat(function, "(", a, ", ", b, ")"));
}

Name fma(DType dtype, Name a, Name b, Name c) {
  return statement(dtype, absl::StrCat("sl_fma(", a, ", ", b, ", ", c, ")"));
}

Name select(DType dtype, Name mask, Name a, Name b) {
  return statement(dtype, absl::StrCat(mask, " ? ", a, " : ", b));
}

Name bits_as(DType from, DType to, Name a) {
  if (is_float(from) == is_float(to)) return convert(to, a);
  // sl_i32 -> sl_as_i32, float -> sl_as_f32
  const std::string function = is_float(to)
                                   ? absl::StrCat("sl_as_f", 8 * size_of(to))
                                   : absl::StrReplaceAll(register_type(to), {{"sl_", "sl_as_"}});
  return call(to, function.c_str(), a);
}

Name lookup(const double* table, int count, Name index) {
  if (count == 1) return literal(*table);
  const int half = count / 2;
  const Name low = lookup(table, half, index), high = lookup(table + half, half, index);
  const Name bit = binary(DType::kInt64, "&", index, literal(DType::kInt64, int64_t{half}));
  return select(DType::kFloat64, compare("!=", bit, literal(DType::kInt64, int64_t{0})), high, low);
}

Name convert(DType to, Name a) { return call(to, register_type(to), a); }

const char* external_name(math::External f) {
  static constexpr const char* kNames[] = {
#define SLUICE_EXTERNAL(id, name, arity, function) "sl_" #name, "sl_" #name,
#include "kernels/math/externals.def"
  };
  return kNames[static_cast<int>(f)];
}

}  // namespace raw
}  // namespace sluice::kernels::cuda
