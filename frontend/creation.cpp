#include <sluice/creation.h>

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

static Tensor filled_like(const char* name, const Tensor& x, Scalar value) {
  frontend::node_of(name, x);
  return filled(name, x.shape(), value, x.dtype(), x.device());
}

Tensor zeros_like(const Tensor& x, Location where) {
  const CallSite site(where, "zeros_like");
  return filled_like("zeros_like", x, 0);
}
Tensor ones_like(const Tensor& x, Location where) {
  const CallSite site(where, "ones_like");
  return filled_like("ones_like", x, 1);
}
Tensor full_like(const Tensor& x, Scalar value, Location where) {
  const CallSite site(where, "full_like");
  return filled_like("full_like", x, value);
}

Tensor empty_like(const Tensor& x, Location where) {
  const CallSite site(where, "empty_like");
  return filled_like("empty_like", x, 0);
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
  const double exact = std::ceil((stop.as<double>() - start.as<double>()) / step.as<double>());
  if (!(exact < 0x1p62)) fail("arange", "too many elements");
  const Shape shape{exact > 0 ? static_cast<int64_t>(exact) : 0};
  Tensor index = coordinate("arange", shape, 0, on(device));
  if (floating) {
    return astype(
        astype(std::move(index), DType::kFloat64) * step.as<double>() + start.as<double>(), result);
  }
  return astype(std::move(index) * step.as<int64_t>() + start.as<int64_t>(), result);
}

Tensor linspace(Scalar start, Scalar stop, int64_t num, DType dtype, std::optional<Device> device,
                Location where) {
  const CallSite site(where, "linspace");
  if (num < 0) fail("linspace", "num is ", num, ", and has to be at least 0");
  const double first = start.as<double>();
  const double last = stop.as<double>();
  const double step = num > 1 ? (last - first) / static_cast<double>(num - 1) : 0;
  const Tensor index = coordinate("linspace", Shape{num}, 0, on(device));
  const Tensor values = astype(index, DType::kFloat64) * step + first;
  return astype(num > 1 ? sluice::where(index < num - 1, values, last) : values, dtype);
}

Tensor eye(int64_t n, std::optional<int64_t> m, DType dtype, std::optional<Device> device,
           Location where) {
  const CallSite site(where, "eye");
  const int64_t dims[] = {n, m.value_or(n)};
  const Shape shape = frontend::make_shape("eye", dims);
  const Device target = on(device);
  return astype(coordinate("eye", shape, 0, target) == coordinate("eye", shape, 1, target), dtype);
}

}  // namespace sluice
