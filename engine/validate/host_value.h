// A value on the host, to compare and print.
#ifndef SLUICE_ENGINE_VALIDATE_HOST_VALUE_H_
#define SLUICE_ENGINE_VALIDATE_HOST_VALUE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/record/node.h"

namespace sluice::engine {

class HostValue {
 public:
  // A copy of the value of a submitted node, which this waits for. Throws Error.
  explicit HostValue(Node* node);
  // Of one element.
  HostValue(DType dtype, uint64_t bits);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }

  // Elements are numbered in row-major order.
  bool is_nan(int64_t i) const;
  std::optional<int64_t> first_nan() const;
  // The first element whose bits differ from those in a value of the same dtype and shape.
  std::optional<int64_t> first_difference(const HostValue& other) const;

  // "1.5 (0x3fc00000)": enough digits to identify it, and its bits.
  std::string element(int64_t i) const;
  // "float32(64, 10) from -1.5 to inf, with NaN"
  std::string summary() const;

 private:
  template <typename T>
  T at(int64_t i) const;

  DType dtype_;
  Shape shape_;
  std::vector<char> bytes_;
};

// Element `i` of a value of this shape: "element 3", "element (0, 3)".
std::string element_name(const Shape& shape, int64_t i);

// The element of an operand that broadcasts to element `i` of the result.
int64_t broadcast_element(const Shape& operand, const Shape& result, int64_t i);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_VALIDATE_HOST_VALUE_H_
