#include "engine/validate/host_value.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/engine.h"

namespace sluice::engine {
namespace {

// Converted to a type that compares and prints like a number.
template <typename T>
auto number(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return static_cast<float>(value);
  }
}

template <typename T>
bool is_nan_number(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

template <typename T>
std::string to_text(T value) {
  if (is_nan_number(value)) return "NaN";
  char text[32];
  const std::to_chars_result result = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, result.ptr);
}

}  // namespace

HostValue::HostValue(Node* node)
    : dtype_(node->dtype), shape_(node->layout.shape), bytes_(static_cast<size_t>(node->bytes())) {
  read(node, bytes_.data());
}

HostValue::HostValue(DType dtype, uint64_t bits) : dtype_(dtype), bytes_(size_of(dtype)) {
  std::memcpy(bytes_.data(), &bits, bytes_.size());
}

template <typename T>
T HostValue::at(int64_t i) const {
  T value;
  std::memcpy(&value, bytes_.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

bool HostValue::is_nan(int64_t i) const {
  return is_float(dtype_) &&
         visit_dtype(dtype_, [&]<typename T>() { return is_nan_number(number(at<T>(i))); });
}

std::optional<int64_t> HostValue::first_nan() const {
  if (!is_float(dtype_)) return std::nullopt;
  return visit_dtype(dtype_, [&]<typename T>() -> std::optional<int64_t> {
    for (int64_t i = 0; i < shape_.numel(); ++i) {
      if (is_nan_number(number(at<T>(i)))) return i;
    }
    return std::nullopt;
  });
}

std::optional<int64_t> HostValue::first_difference(const HostValue& other) const {
  if (bytes_ == other.bytes_) return std::nullopt;
  const size_t size = size_of(dtype_);
  size_t at = 0;
  while (std::memcmp(bytes_.data() + at, other.bytes_.data() + at, size) == 0) at += size;
  return static_cast<int64_t>(at / size);
}

std::string HostValue::element(int64_t i) const {
  return visit_dtype(dtype_, [&]<typename T>() {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes_.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return absl::StrFormat("%s (0x%0*x)", to_text(number(at<T>(i))), 2 * sizeof(T), bits);
  });
}

std::string HostValue::summary() const {
  const std::string type = absl::StrCat(name_of(dtype_), to_string(shape_));
  return visit_dtype(dtype_, [&]<typename T>() {
    std::optional<T> least, greatest;
    for (int64_t i = 0; i < shape_.numel(); ++i) {
      const T value = at<T>(i);
      if (is_nan_number(number(value))) continue;
      if (!least || number(value) < number(*least)) least = value;
      if (!greatest || number(value) > number(*greatest)) greatest = value;
    }
    return absl::StrCat(
        type,
        least ? absl::StrCat(" from ", to_text(number(*least)), " to ", to_text(number(*greatest)))
              : "",
        first_nan() ? ", with NaN" : "");
  });
}

std::string element_name(const Shape& shape, int64_t i) {
  if (shape.rank() <= 1) return absl::StrCat("element ", i);
  std::string text;
  for (int k = shape.rank(); k-- > 0;) {
    text = absl::StrCat(i % shape[k], text.empty() ? "" : ", ", text);
    i /= shape[k];
  }
  return absl::StrCat("element (", text, ")");
}

int64_t broadcast_element(const Shape& operand, const Shape& result, int64_t i) {
  int64_t element = 0, stride = 1;
  const int lead = result.rank() - operand.rank();
  for (int k = result.rank(); k-- > lead;) {
    const int64_t extent = operand[k - lead];
    if (extent != 1) element += i % result[k] * stride;
    stride *= extent;
    i /= result[k];
  }
  return element;
}

}  // namespace sluice::engine
