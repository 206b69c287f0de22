// std::format of tensors, shapes, dtypes and devices, where the standard library has <format>. That
// takes a while to compile: <sluice/sluice.h> does not include this header.
#ifndef SLUICE_FORMAT_H_
#define SLUICE_FORMAT_H_

#include <version>

#ifdef __cpp_lib_format
#include <concepts>
#include <format>
#include <string_view>

#include <sluice/print.h>

#pragma GCC visibility push(default)
namespace sluice {

template <typename T>
concept Printable = std::same_as<T, Tensor> || std::same_as<T, Shape> || std::same_as<T, DType> ||
    std::same_as<T, Device>;

}  // namespace sluice
#pragma GCC visibility pop

// As to_string() gives it, in the width and with the alignment and fill of a string: "{:>12}".
template <sluice::Printable T>
struct std::formatter<T> : std::formatter<std::string_view> {
  template <typename Context>
  auto format(const T& x, Context& context) const {
    return std::formatter<std::string_view>::format(to_string(x), context);
  }
};
#endif

#endif  // SLUICE_FORMAT_H_
