// What is asked of dtypes: limits, kinds, what becomes what.
#ifndef SLUICE_DTYPE_INFO_H_
#define SLUICE_DTYPE_INFO_H_

#include <initializer_list>
#include <optional>
#include <string_view>

#include <sluice/dtype.h>
#include <sluice/scalar.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {

// Of a float dtype. eps is the distance from 1 to the next greater number.
struct FInfo {
  DType dtype;
  int bits;
  double eps, max, min, smallest_normal;
};
// Of an integer dtype.
struct IInfo {
  DType dtype;
  int bits;
  int64_t min;
  uint64_t max;
};

// Throw Error (kInvalidArgument) for a dtype of another kind.
[[nodiscard]] FInfo finfo(DType dtype);
[[nodiscard]] IInfo iinfo(DType dtype);

// Whether the dtype is of this kind: "bool", "signed integer", "unsigned integer", "integral"
// (both), "real floating", "complex floating", "numeric" (all but bool). Of several kinds: of any
// of them. Throws Error (kInvalidArgument) for another word.
[[nodiscard]] bool isdtype(DType dtype, std::string_view kind);
[[nodiscard]] bool isdtype(DType dtype, std::initializer_list<std::string_view> kinds);
[[nodiscard]] inline bool isdtype(DType dtype, DType kind) { return dtype == kind; }

// Whether promotion may turn `from` into `to`: promote(from, to) == to.
[[nodiscard]] bool can_cast(DType from, DType to);
[[nodiscard]] inline bool can_cast(const Tensor& from, DType to) {
  return can_cast(from.dtype(), to);
}

// What result_type() takes: a tensor, a dtype or a number.
class Typed {
 public:
  Typed(const Tensor& tensor) : dtype_(tensor.dtype()) {}
  Typed(DType dtype) : dtype_(dtype) {}
  Typed(Scalar scalar) : scalar_(scalar) {}
  template <Element T>
  Typed(T value) : scalar_(value) {}

  std::optional<DType> dtype() const { return dtype_; }
  std::optional<Scalar> scalar() const { return scalar_; }

 private:
  std::optional<DType> dtype_;
  std::optional<Scalar> scalar_;
};

// The dtype of an element-wise op on all of these: result_type({x, kFloat64, 1}). A number counts
// only where its kind is wider; of numbers alone, as where() has them. Throws Error
// (kInvalidArgument) for none.
[[nodiscard]] DType result_type(std::initializer_list<Typed> operands);

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_DTYPE_INFO_H_
