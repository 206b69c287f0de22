// The inputs of a program: the same numbers as in peers/peers.py.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cliffs/cliffs.h"

namespace sluice::bench {
namespace {

DType dtype_named(const std::string& name) {
  static const std::map<std::string, DType> kNames = {
      {"f16", kFloat16}, {"bf16", kBFloat16}, {"f32", kFloat32}, {"f64", kFloat64},
      {"i8", kInt8},     {"i16", kInt16},     {"i32", kInt32},   {"i64", kInt64},
      {"u8", kUInt8},    {"bool", kBool}};
  return kNames.at(name);
}

// Number i of the input-th input, in [0, 1).
double number(int64_t i, uint32_t input) {
  uint32_t h = static_cast<uint32_t>(i) * 0x9E3779B1u + (input + 1) * 0x85EBCA77u;
  h = (h ^ (h >> 15)) * 0x2C1B3C6Du;
  h = (h ^ (h >> 12)) * 0x297A2D39u;
  h ^= h >> 15;
  return static_cast<double>(h >> 8) * 0x1p-24;
}

template <typename T>
T element(double value) {
  if constexpr (std::is_same_v<T, double>) {
    return value;
  } else if constexpr (is_float(dtype_of<T>())) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(std::floor(value));
  }
}

template <typename T>
Tensor make_input(const Shape& shape, uint32_t input, double low, double high, bool sorted) {
  const auto values = std::make_unique<T[]>(shape.numel());
  for (int64_t i = 0; i < shape.numel(); ++i) {
    values[i] = element<T>(low + (high - low) * number(i, input));
  }
  const std::span<const T> span(values.get(), shape.numel());
  if (sorted) std::sort(values.get(), values.get() + shape.numel());
  return Tensor::from(span, shape);
}

std::vector<std::string> split_text(const std::string& text, char mark) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, mark);) parts.push_back(part);
  return parts;
}

}  // namespace

void Given::add_input(const std::string& text) {
  std::vector<std::string> parts = split_text(text, ':');
  if (parts.size() == 4) parts.emplace_back();
  if (parts.size() != 5) throw std::invalid_argument("no input: " + text);
  std::vector<int64_t> extents;
  for (const std::string& extent : split_text(parts[1], 'x')) extents.push_back(std::stoll(extent));
  const bool sorted = parts[4] == "sorted";
  Tensor data = visit_dtype(dtype_named(parts[0]), [&]<typename T>() {
    return make_input<T>(Shape(extents), static_cast<uint32_t>(inputs_.size()), std::stod(parts[2]),
                         std::stod(parts[3]), sorted);
  });
  inputs_.push_back({std::move(data), sorted ? "" : parts[4]});
}

Tensor Given::operator[](size_t i) const {
  const auto& [x, view] = inputs_.at(i);
  if (view.empty()) return x;
  if (view == "T") return x.swapaxes(-1, -2);
  if (view == "step2") return x.slice(-1, 0, x.shape(-1), 2);
  if (view == "rows2") return x.slice(0, 0, x.shape(0), 2);
  if (view == "flip") return x.flip({-1});
  if (view == "inside") return x.slice(-1, 1, x.shape(-1) - 1).slice(-2, 1, x.shape(-2) - 1);
  if (view == "nhwc") return x.permute({0, 2, 3, 1});
  if (view == "nchw") return x.permute({0, 3, 1, 2});
  if (view.starts_with("times")) {
    std::vector<int64_t> extents = {std::stoll(view.substr(5))};
    extents.insert(extents.end(), x.shape().begin(), x.shape().end());
    return x.broadcast_to(Shape(extents));
  }
  throw std::invalid_argument("no view: " + view);
}

Axes Given::axes() const { return std::vector<int>(arguments_.begin(), arguments_.end()); }

}  // namespace sluice::bench
