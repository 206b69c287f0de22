// The rules for floats are those of numpy/_core/arrayprint.py, class FloatingFormat.
#include "frontend/print/element_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sluice::frontend {
namespace {

// |x| = 0.d1 d2 d3 ... * 10^point; "0" with point 1 is zero.
struct Decimal {
  std::string digits;
  int point = 1;
};

// Of the text that to_chars writes in scientific form.
Decimal decimal_of(absl::string_view text) {
  Decimal result;
  const size_t e = text.find('e');
  for (const char c : text.substr(0, e)) {
    if (c != '.') result.digits += c;
  }
  int exponent = 0;
  (void)absl::SimpleAtoi(text.substr(e + 1), &exponent);
  result.point = exponent + 1;
  while (result.digits.size() > 1 && result.digits.back() == '0') result.digits.pop_back();
  return result;
}

template <typename T, typename... Precision>
Decimal scientific(T magnitude, Precision... precision) {
  char text[400];
  const auto end =
      std::to_chars(text, std::end(text), magnitude, std::chars_format::scientific, precision...);
  return decimal_of({text, static_cast<size_t>(end.ptr - text)});
}

// The shortest digits that tell `magnitude` from its neighbours of type T.
template <typename T>
Decimal shortest(T magnitude) {
  if constexpr (std::is_floating_point_v<T>) {
    return scientific(magnitude);
  } else {
    const auto value = static_cast<double>(static_cast<float>(magnitude));
    for (int precision = 0;; ++precision) {
      Decimal decimal = scientific(value, precision);
      const std::string text = absl::StrCat("0.", decimal.digits, "e", decimal.point);
      if (T(std::strtof(text.c_str(), nullptr)).bits == magnitude.bits) return decimal;
    }
  }
}

// The shortest digits if no more than `precision` follow the point (in scientific form: the first
// digit), else `magnitude` rounded to so many.
template <typename T>
Decimal rounded(T magnitude, int precision, bool is_scientific) {
  Decimal decimal = shortest(magnitude);
  const int kept = precision + (is_scientific ? 1 : decimal.point);
  if (static_cast<int>(decimal.digits.size()) <= kept) return decimal;
  const auto value = static_cast<double>(magnitude);
  if (is_scientific) return scientific(value, precision);
  // Fixed notation rounds at the right place, also where that carries or leaves nothing.
  char text[400];
  const auto end = std::to_chars(text, std::end(text), value, std::chars_format::fixed, precision);
  double parsed = 0;
  std::from_chars(text, end.ptr, parsed);
  if (parsed == 0) return {"0", 1};
  const absl::string_view fixed(text, static_cast<size_t>(end.ptr - text));
  std::string digits;
  for (const char c : fixed) {
    if (c != '.') digits += c;
  }
  decimal.point = static_cast<int>(std::min(fixed.find('.'), fixed.size()));
  const size_t zeros = std::min(digits.find_first_not_of('0'), digits.size() - 1);
  digits.erase(0, zeros);
  decimal.point -= static_cast<int>(zeros);
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  decimal.digits = digits;
  return decimal;
}

// "12", "5" of 12.5; "0", "05" of 0.05; "7", "" of 7.
struct Fixed {
  std::string whole, fraction;
};
Fixed fixed_of(const Decimal& decimal) {
  const std::string& digits = decimal.digits;
  const int count = static_cast<int>(digits.size());
  if (digits == "0") return {"0", ""};
  if (decimal.point <= 0) return {"0", std::string(-decimal.point, '0') + digits};
  if (decimal.point >= count) return {digits + std::string(decimal.point - count, '0'), ""};
  return {digits.substr(0, decimal.point), digits.substr(decimal.point)};
}

int exponent_of(const Decimal& decimal) { return decimal.digits == "0" ? 0 : decimal.point - 1; }

// "+05", of at least `digits` digits.
std::string exponent_text(int exponent, size_t digits) {
  std::string text = absl::StrCat(std::abs(exponent));
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return (exponent < 0 ? "-" : "+") + text;
}

template <typename T>
bool is_negative(T value) {
  return std::signbit(static_cast<float>(value));  // keeps the sign of what it rounds
}

template <typename T>
T magnitude_of(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::abs(value);
  } else {
    return T::from_bits(value.bits & 0x7fff);
  }
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

// From where on numbers are written with exponents: ten to the digits that T always holds, at most
// eight of them in arrays and sixteen in scalars.
template <typename T>
constexpr double largest_fixed(double of_doubles) {
  if (std::is_same_v<T, double>) return of_doubles;
  return std::is_same_v<T, float> ? 1e6 : 1e3;
}

template <typename T>
bool needs_exponents(const std::vector<T>& values) {
  using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;
  Compute least = 0, greatest = 0;
  for (const T value : values) {
    const auto magnitude = static_cast<Compute>(magnitude_of(value));
    if (magnitude == 0 || !std::isfinite(magnitude)) continue;
    least = least == 0 ? magnitude : std::min(least, magnitude);
    greatest = std::max(greatest, magnitude);
  }
  if (greatest == 0) return false;
  auto ratio = static_cast<double>(greatest / least);
  if constexpr (!std::is_floating_point_v<T>) ratio = static_cast<float>(T(greatest / least));
  return greatest >= largest_fixed<T>(1e8) || least < 0.0001 || ratio > 1000;
}

template <typename T>
std::vector<std::string> float_words(const std::vector<T>& values, int precision) {
  const bool exponents = needs_exponents(values);
  struct Parts {
    std::string whole, fraction;
    int exponent = 0;
  };
  std::vector<Parts> parts(values.size());
  size_t before = 0, after = 0, exponent_digits = 2;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(static_cast<double>(values[i]))) continue;
    Decimal decimal = rounded(magnitude_of(values[i]), precision, exponents);
    if (exponents) {
      parts[i].exponent = exponent_of(decimal);
      decimal.point = 1;
      exponent_digits = std::max(exponent_digits, exponent_text(parts[i].exponent, 2).size() - 1);
    }
    Fixed fixed = fixed_of(decimal);
    parts[i].whole = (is_negative(values[i]) ? "-" : "") + fixed.whole;
    parts[i].fraction = std::move(fixed.fraction);
    before = std::max(before, parts[i].whole.size());
    after = std::max(after, parts[i].fraction.size());
  }
  const size_t tail = exponents ? after + 2 + exponent_digits : after;
  std::vector<std::string> words(values.size());
  auto is_special = [](T value) { return !std::isfinite(static_cast<double>(value)); };
  for (const T value : values) {
    if (!is_special(value)) continue;
    const size_t length = std::isinf(static_cast<double>(value)) && is_negative(value) ? 4 : 3;
    before = std::max(before, length - std::min(length, tail + 1));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    if (is_special(values[i])) {
      const char* const name = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
      words[i] = padded(name, before + tail + 1);
      continue;
    }
    std::string fraction = parts[i].fraction;
    if (exponents && fraction.size() < after) {
      // The digits that follow the shortest ones are those of the exact value.
      const Decimal exact = scientific(std::abs(value), static_cast<int>(after));
      fraction = fixed_of({exact.digits, 1}).fraction;
    }
    fraction.resize(after, exponents ? '0' : ' ');
    words[i] = absl::StrCat(padded(parts[i].whole, before), ".", fraction);
    if (exponents) {
      absl::StrAppend(&words[i], "e", exponent_text(parts[i].exponent, exponent_digits));
    }
  }
  return words;
}

template <typename T>
std::vector<std::string> words_of(const std::vector<T>& values, int precision) {
  if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T>) {
    std::vector<std::string> words;
    size_t width = 0;
    for (const T value : values) {
      if constexpr (std::is_same_v<T, bool>) {
        words.push_back(value ? " True" : "False");
      } else {
        words.push_back(absl::StrCat(
            static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value)));
      }
      width = std::max(width, words.back().size());
    }
    for (std::string& word : words) word = padded(std::move(word), width);
    return words;
  } else {
    return float_words(values, precision);
  }
}

template <typename T>
std::string float_scalar(T value) {
  const auto wide = static_cast<double>(value);
  if (std::isnan(wide)) return "nan";
  const std::string sign = is_negative(value) ? "-" : "";
  if (std::isinf(wide)) return sign + "inf";
  const Decimal decimal = shortest(magnitude_of(value));
  const double magnitude = std::abs(wide);
  if (magnitude != 0 && (magnitude >= largest_fixed<T>(1e16) || magnitude < 1e-4)) {
    const Fixed fixed = fixed_of({decimal.digits, 1});
    return absl::StrCat(sign, fixed.whole, fixed.fraction.empty() ? "" : ".", fixed.fraction, "e",
                        exponent_text(exponent_of(decimal), 2));
  }
  const Fixed fixed = fixed_of(decimal);
  return absl::StrCat(sign, fixed.whole, ".", fixed.fraction.empty() ? "0" : fixed.fraction);
}

}  // namespace

std::vector<std::string> element_words(const Tensor& x, int precision) {
  return visit_dtype(
      x.dtype(), [&]<typename T>() { return words_of(x.to_vector<T>(), std::max(precision, 0)); });
}

std::string scalar_word(const Tensor& x) {
  return visit_dtype(x.dtype(), [&]<typename T>() -> std::string {
    const T value = x.item<T>();
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "True" : "False";
    } else if constexpr (std::is_integral_v<T>) {
      return words_of(std::vector<T>{value}, 0)[0];
    } else {
      return float_scalar(value);
    }
  });
}

}  // namespace sluice::frontend
