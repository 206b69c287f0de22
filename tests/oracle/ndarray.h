// The reference the engine is tested against: arrays computed one element at a time, in wide
// arithmetic, by code that shares nothing with the engine but the names of dtypes and shapes.
#ifndef SLUICE_TESTS_ORACLE_NDARRAY_H_
#define SLUICE_TESTS_ORACLE_NDARRAY_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <sluice/dtype.h>
#include <sluice/shape.h>

namespace sluice::oracle {

// Holds every int64, uint64 and float64 exactly (64 bits of mantissa or more).
using Real = long double;
static_assert(std::numeric_limits<Real>::digits >= 64);

using Index = std::vector<int64_t>;

// The error of an element about which nothing can be said, as a comparison of rounded numbers.
inline constexpr Real kUnknown = std::numeric_limits<Real>::infinity();

// Row-major elements, each with the greatest distance at which a correct engine's may lie. Elements
// of integers and bools have error 0 or kUnknown.
struct NdArray {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::vector<Real> values;
  std::vector<Real> errors;

  NdArray() = default;
  // All elements 0, exactly.
  NdArray(DType dtype, const Shape& shape)
      : dtype(dtype), shape(shape), values(shape.numel()), errors(shape.numel()) {}
  NdArray(DType dtype, const Shape& shape, std::vector<Real> values)
      : dtype(dtype), shape(shape), values(std::move(values)), errors(this->values.size()) {}

  int rank() const { return shape.rank(); }
  int64_t numel() const { return shape.numel(); }
};

// What distinguishes the float dtypes.
struct FloatFormat {
  int digits;        // of the mantissa, the hidden one included
  int min_exponent;  // the least normal number is 2^min_exponent
  Real max;
};
FloatFormat format_of(DType dtype);

// The distance between neighbours of `dtype` at `value`.
Real ulp(Real value, DType dtype);
// The least positive number of `dtype`.
Real smallest(DType dtype);

// A float to a float dtype, ties to even. Half types round through float32, in which they compute.
Real round_float(Real value, DType dtype);
// The low bits of an integer, as `dtype` reads them.
Real wrap_integer(__int128 value, DType dtype);
// astype of one element of dtype `from`.
Real convert(Real value, DType from, DType to);

NdArray cast(const NdArray& x, DType dtype);
NdArray full(const Shape& shape, Real value, DType dtype);

// Calls f(index) for each index of `shape` in row-major order.
void for_each_index(const Shape& shape, const std::function<void(const Index&)>& f);
int64_t offset_of(const Index& index, const Shape& shape);
// `axis` counted from the front.
int normalize_axis(int axis, int rank);
Shape broadcast_shapes(const Shape& a, const Shape& b);
// The offset in an array of `shape` of the element that `index` of the broadcast result reads.
int64_t broadcast_offset(const Index& index, const Shape& shape);

std::string to_string(Real value, DType dtype);

}  // namespace sluice::oracle

#endif  // SLUICE_TESTS_ORACLE_NDARRAY_H_
