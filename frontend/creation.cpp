#include <sluice/creation.h>

#include <algorithm>
#include <cmath>

#include <sluice/ops.h>
#include "engine/observe/call_site.h"
#include "frontend/checks.h"
#include "frontend/record.h"

namespace sluice {
namespace {

using engine::CallSite;
using frontend::coordinate;
using frontend::fail;
using fusion::Op;

Device on(std::optional<Device> device) {
  if (!device) return default_device();
  check_device(*device);
  return *device;
}

Tensor filled(const char* name, const Shape& shape, Scalar value, DType dtype, Device device) {
  const engine::NodeOperand operand{nullptr, frontend::scalar_bits(value, dtype)};
  return frontend::record({.caller = {.name = name},
                           .op = Op::kFull,
                           .dtype = dtype,
                           .operand_dtype = dtype,
                           .device = device,
                           .shape = shape,
                           .operands = {&operand, 1}});
}

// What a C++ number makes if no dtype is given.
DType default_dtype(const char* op, Scalar value) {
  switch (value.kind()) {
    case DTypeKind::kBool: return DType::kBool;
    case DTypeKind::kFloat: return is_half(value.dtype()) ? value.dtype() : DType::kFloat32;
    case DTypeKind::kSigned: break;
    case DTypeKind::kUnsigned:
      if (value.as<int64_t>() < 0) {
        fail(op, value.as<uint64_t>(), " does not fit in int64: name the dtype");
      }
  }
  return DType::kInt64;
}

// Of integers: doubles have not all of them.
double steps_between(Scalar start, Scalar stop, Scalar step) {
  const auto by = static_cast<__int128>(step.as<int64_t>());
  const auto distance = static_cast<__int128>(stop.as<int64_t>()) - start.as<int64_t>();
  const __int128 whole = distance / by;
  return static_cast<double>(whole + (whole * by != distance && (distance < 0) == (by < 0)));
}

bool is_float(Scalar value) { return value.kind() == DTypeKind::kFloat; }

}  // namespace

Tensor zeros(const Shape& shape, DType dtype, std::optional<Device> device, Location where) {
  const CallSite site(where, "zeros");
  return filled("zeros", shape, 0, dtype, on(device));
}

Tensor ones(const Shape& shape, DType dtype, std::optional<Device> device, Location where) {
  const CallSite site(where, "ones");
  return filled("ones", shape, 1, dtype, on(device));
}

Tensor full(const Shape& shape, Scalar value, std::optional<DType> dtype,
            std::optional<Device> device, Location where) {
  const CallSite site(where, "full");
  return filled("full", shape, value, dtype ? *dtype : default_dtype("full", value), on(device));
}

Tensor empty(const Shape& shape, DType dtype, std::optional<Device> device, Location where) {
  const CallSite site(where, "empty");
  return filled("empty", shape, 0, dtype, on(device));
}

static Tensor filled_like(const char* name, const Tensor& x, Scalar value,
                          std::optional<DType> dtype) {
  frontend::node_of(name, x);
  return filled(name, x.shape(), value, dtype.value_or(x.dtype()), x.device());
}

Tensor zeros_like(const Tensor& x, std::optional<DType> dtype, Location where) {
  const CallSite site(where, "zeros_like");
  return filled_like("zeros_like", x, 0, dtype);
}
Tensor ones_like(const Tensor& x, std::optional<DType> dtype, Location where) {
  const CallSite site(where, "ones_like");
  return filled_like("ones_like", x, 1, dtype);
}
Tensor full_like(const Tensor& x, Scalar value, std::optional<DType> dtype, Location where) {
  const CallSite site(where, "full_like");
  return filled_like("full_like", x, value, dtype);
}

Tensor empty_like(const Tensor& x, std::optional<DType> dtype, Location where) {
  const CallSite site(where, "empty_like");
  return filled_like("empty_like", x, 0, dtype);
}

Tensor asarray(const Tensor& x, std::optional<DType> dtype, Location where) {
  frontend::node_of("asarray", x);
  return dtype ? astype({x, where}, *dtype) : x;
}
Tensor asarray(Scalar value, std::optional<DType> dtype, std::optional<Device> device,
               Location where) {
  const CallSite site(where, "asarray");
  return filled("asarray", {}, value, dtype ? *dtype : default_dtype("asarray", value), on(device));
}

Tensor arange(Scalar stop, Location where) {
  const CallSite site(where, "arange");
  return arange(0, stop);
}

Tensor arange(Scalar start, Scalar stop, Scalar step, std::optional<DType> dtype,
              std::optional<Device> device, Location where) {
  const CallSite site(where, "arange");
  const bool floating = is_float(start) || is_float(stop) || is_float(step);
  const DType result = dtype.value_or(floating ? DType::kFloat32 : DType::kInt64);
  if (step.as<double>() == 0) fail("arange", "step is 0, and would never reach the stop");
  const double count = floating
                           ? std::ceil((stop.as<double>() - start.as<double>()) / step.as<double>())
                           : steps_between(start, stop, step);
  if (!(count < 0x1p62)) fail("arange", "too many elements");
  const Shape shape{count > 0 ? static_cast<int64_t>(count) : 0};
  Tensor index = coordinate("arange", shape, 0, on(device));
  if (floating) {
    return astype(
        astype(std::move(index), DType::kFloat64) * step.as<double>() + start.as<double>(), result);
  }
  // Mostly one by one: then an element is an index, whatever the start.
  if (step.as<int64_t>() != 1) index = std::move(index) * step.as<int64_t>();
  return astype(std::move(index) + start.as<int64_t>(), result);
}

Tensor linspace(Scalar start, Scalar stop, int64_t num, DType dtype, std::optional<Device> device,
                Location where) {
  return linspace(start, stop, num, true, dtype, device, where);
}

Tensor linspace(Scalar start, Scalar stop, int64_t num, bool endpoint, DType dtype,
                std::optional<Device> device, Location where) {
  const CallSite site(where, "linspace");
  if (num < 0) fail("linspace", "num is ", num, ", and has to be at least 0");
  const double first = start.as<double>();
  const double last = stop.as<double>();
  const int64_t steps = endpoint ? num - 1 : num;
  const double step = steps > 0 ? (last - first) / static_cast<double>(steps) : 0;
  const Tensor index = coordinate("linspace", Shape{num}, 0, on(device));
  const Tensor values = astype(index, DType::kFloat64) * step + first;
  return astype(endpoint && num > 1 ? sluice::where(index < steps, values, last) : values, dtype);
}

Tensor eye(int64_t n, std::optional<int64_t> m, DType dtype, std::optional<Device> device,
           Location where) {
  return eye(n, m, 0, dtype, device, where);
}

Tensor eye(int64_t n, std::optional<int64_t> m, int64_t k, DType dtype,
           std::optional<Device> device, Location where) {
  const CallSite site(where, "eye");
  const int64_t dims[] = {n, m.value_or(n)};
  const Shape shape = frontend::make_shape("eye", dims);
  const Device target = on(device);
  // A diagonal past the corners is as good as one just past them, and sums with it are exact.
  k = std::clamp(k, -dims[0], dims[1]);
  Tensor row = coordinate("eye", shape, 0, target);
  if (k != 0) row = std::move(row) + k;
  return astype(std::move(row) == coordinate("eye", shape, 1, target), dtype);
}

}  // namespace sluice
