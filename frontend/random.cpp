#include <atomic>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "engine/observe/call_site.h"
#include "frontend/checks.h"
#include "frontend/record.h"

namespace sluice {
namespace {

using engine::CallSite;
using engine::NodeOperand;
using frontend::fail;
using fusion::Op;

std::atomic<uint64_t> seed{0};
std::atomic<uint64_t> next_call{0};

// The random bits of one call: for each element the pair of 64-bit words that Philox gives.
class Bits {
 public:
  Bits(const char* name, const Shape& shape, std::optional<Device> device)
      : name_(name), device_(device.value_or(default_device())) {
    check_device(device_);
    index_ = astype(frontend::coordinate(name, Shape{shape.numel()}, 0, device_), DType::kUInt64);
    seed_ = seed.load();
    call_ = next_call.fetch_add(1);
  }

  Tensor word(Op op) const {
    const NodeOperand operands[] = {{index_.node_ref().get()}, {nullptr, seed_}, {nullptr, call_}};
    return fixed(op, operands);
  }

  Tensor apply(Op op, const Tensor& a, const Tensor& b = {}) const {
    const NodeOperand operands[] = {{a.node_ref().get()}, {b.node_ref().get()}};
    return fixed(op, {operands, b.defined() ? 2u : 1u});
  }

 private:
  Tensor fixed(Op op, absl::Span<const NodeOperand> operands) const {
    const fusion::OpInfo& info = fusion::op_info(op);
    return frontend::record({.caller = {.name = name_},
                             .op = op,
                             .dtype = info.result_dtype,
                             .operand_dtype = info.operand_dtype,
                             .device = device_,
                             .shape = index_.shape(),
                             .operands = operands});
  }

  const char* name_;
  Device device_;
  Tensor index_;
  uint64_t seed_;
  uint64_t call_;
};

void check_float(const char* name, DType dtype) {
  if (!is_float(dtype)) fail(name, "is not defined for ", name_of(dtype));
}

}  // namespace

void manual_seed(uint64_t value) {
  seed = value;
  next_call = 0;
}

Tensor rand(const Shape& shape, DType dtype, std::optional<Device> device, Location where) {
  const CallSite site(where, "rand");
  check_float("rand", dtype);
  frontend::check_bytes("rand", dtype, shape);
  const Bits bits("rand", shape, device);
  const Op op = dtype == DType::kFloat64 ? Op::kUniformF64 : Op::kUniformF32;
  Tensor values = bits.apply(op, bits.word(Op::kPhilox));
  if (is_half(dtype)) {
    // Rounding to a half type could give 1: the bits that it can hold are kept instead.
    const double steps = dtype == DType::kFloat16 ? 0x1p11 : 0x1p8;
    values = floor(std::move(values) * steps) / steps;
  }
  return reshape(astype(std::move(values), dtype), shape);
}

Tensor randn(const Shape& shape, DType dtype, std::optional<Device> device, Location where) {
  const CallSite site(where, "randn");
  check_float("randn", dtype);
  frontend::check_bytes("randn", dtype, shape);
  const Bits bits("randn", shape, device);
  Tensor values = dtype == DType::kFloat64 ? bits.apply(Op::kNormalF64, bits.word(Op::kPhilox),
                                                        bits.word(Op::kPhiloxHigh))
                                           : bits.apply(Op::kNormalF32, bits.word(Op::kPhilox));
  return reshape(astype(std::move(values), dtype), shape);
}

Tensor randint(int64_t low, int64_t high, const Shape& shape, DType dtype,
               std::optional<Device> device, Location where) {
  const CallSite site(where, "randint");
  if (!is_integer(dtype)) fail("randint", "is not defined for ", name_of(dtype));
  if (low >= high) fail("randint", "[", low, ", ", high, ") is empty");
  frontend::check_bytes("randint", dtype, shape);
  const Bits bits("randint", shape, device);
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const Tensor offset = astype(remainder(bits.word(Op::kPhilox), range), DType::kInt64);
  return reshape(astype(offset + low, dtype), shape);
}

}  // namespace sluice
