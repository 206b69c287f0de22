#include "frontend/random/random.h"

#include <atomic>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include <sluice/random.h>
#include "engine/observe/call_site.h"
#include "frontend/checks.h"
#include "frontend/record.h"

namespace sluice {
namespace {

using engine::CallSite;
using engine::NodeOperand;
using frontend::Draw;
using frontend::fail;
using frontend::take_calls;
using fusion::Op;

std::atomic<uint64_t> seed{0};
std::atomic<uint64_t> next_call{0};

// The random bits of one call: for each element the pair of 64-bit words that Philox gives.
class Bits {
 public:
  Bits(Draw draw, const char* name, const Shape& shape, std::optional<Device> device)
      : name_(name), device_(device.value_or(default_device())), draw_(draw) {
    check_device(device_);
    index_ = astype(frontend::coordinate(name, Shape{shape.numel()}, 0, device_), DType::kUInt64);
  }

  Tensor word(Op op) const {
    const NodeOperand operands[] = {
        {index_.node_ref().get()}, {nullptr, draw_.seed}, {nullptr, draw_.call}};
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
  Draw draw_;
};

void check_float(const char* name, DType dtype) {
  if (!is_float(dtype)) fail(name, "is not defined for ", name_of(dtype));
}

}  // namespace

namespace frontend {

Draw take_calls(uint64_t count) { return {seed.load(), next_call.fetch_add(count)}; }

Tensor uniform(Draw draw, const char* name, const Shape& shape, DType dtype,
               std::optional<Device> device) {
  check_float(name, dtype);
  check_bytes(name, dtype, shape);
  const Bits bits(draw, name, shape, device);
  const Op op = dtype == DType::kFloat64 ? Op::kUniformF64 : Op::kUniformF32;
  Tensor values = bits.apply(op, bits.word(Op::kPhilox));
  if (is_half(dtype)) {
    // Rounding to a half type could give 1: the bits that it can hold are kept instead.
    const double steps = dtype == DType::kFloat16 ? 0x1p11 : 0x1p8;
    values = floor(std::move(values) * steps) / steps;
  }
  return reshape(astype(std::move(values), dtype), shape);
}

Tensor standard_normal(Draw draw, const char* name, const Shape& shape, DType dtype,
                       std::optional<Device> device) {
  check_float(name, dtype);
  check_bytes(name, dtype, shape);
  const Bits bits(draw, name, shape, device);
  Tensor values = dtype == DType::kFloat64 ? bits.apply(Op::kNormalF64, bits.word(Op::kPhilox),
                                                        bits.word(Op::kPhiloxHigh))
                                           : bits.apply(Op::kNormalF32, bits.word(Op::kPhilox));
  return reshape(astype(std::move(values), dtype), shape);
}

Tensor integers(Draw draw, int64_t low, int64_t high, const Shape& shape, DType dtype,
                std::optional<Device> device) {
  if (!is_integer(dtype)) fail("randint", "is not defined for ", name_of(dtype));
  if (low >= high) fail("randint", "[", low, ", ", high, ") is empty");
  check_bytes("randint", dtype, shape);
  const Bits bits(draw, "randint", shape, device);
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const Tensor offset = astype(remainder(bits.word(Op::kPhilox), range), DType::kInt64);
  return reshape(astype(offset + low, dtype), shape);
}

}  // namespace frontend

RandomState random_state() { return {seed.load(), next_call.load()}; }

void set_random_state(const RandomState& state) {
  seed.store(state.seed);
  next_call.store(state.next_call);
}

void manual_seed(uint64_t value) {
  seed = value;
  next_call = 0;
}

// Each function by the process's generator, and by one of the program's own.
#define SLUICE_RANDOM(name, calls, parameters, call) \
  Tensor name parameters {                           \
    const CallSite site(where, #name);               \
    const Draw draw = take_calls(calls);             \
    return frontend::call;                           \
  }                                                  \
  Tensor Generator::name parameters {                \
    const CallSite site(where, #name);               \
    const Draw draw{seed_, next_call_};              \
    next_call_ += (calls);                           \
    return frontend::call;                           \
  }
#define SLUICE_SHAPED const Shape &shape, DType dtype, std::optional<Device> device, Location where

SLUICE_RANDOM(rand, 1, (SLUICE_SHAPED), uniform(draw, "rand", shape, dtype, device))
SLUICE_RANDOM(randn, 1, (SLUICE_SHAPED), standard_normal(draw, "randn", shape, dtype, device))
SLUICE_RANDOM(randint, 1, (int64_t low, int64_t high, SLUICE_SHAPED),
              integers(draw, low, high, shape, dtype, device))
SLUICE_RANDOM(normal, 1, (double mean, double std, SLUICE_SHAPED),
              normal(draw, mean, std, shape, dtype, device))
SLUICE_RANDOM(exponential, 1, (double scale, SLUICE_SHAPED),
              exponential(draw, scale, shape, dtype, device))
SLUICE_RANDOM(gamma, frontend::kGammaCalls, (double k, double scale, SLUICE_SHAPED),
              gamma(draw, k, scale, shape, dtype, device))
SLUICE_RANDOM(poisson, 1, (double mean, SLUICE_SHAPED), poisson(draw, mean, shape, dtype, device))
SLUICE_RANDOM(permutation, 1, (int64_t count, std::optional<Device> device, Location where),
              permutation(draw, count, device))
SLUICE_RANDOM(shuffle, 1, (const Tensor& x, int axis, Location where), shuffle(draw, x, axis))
SLUICE_RANDOM(choice, 1, (const Tensor& x, const Shape& shape, bool replacement, Location where),
              choice(draw, x, shape, replacement))
SLUICE_RANDOM(multinomial, 1,
              (const Tensor& weights, int64_t count, bool replacement, Location where),
              multinomial(draw, weights, count, replacement))

}  // namespace sluice
