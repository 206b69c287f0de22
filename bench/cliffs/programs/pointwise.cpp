// Element-wise programs and casts.
#include <string>
#include <utility>

#include "bench/cliffs/cliffs.h"

namespace sluice::bench {
namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

constexpr std::pair<const char*, Unary> kUnary[] = {
    {"neg", neg},
    {"abs", abs},
    {"sign", sign},
    {"exp", exp},
    {"exp2", exp2},
    {"expm1", expm1},
    {"log", log},
    {"log2", log2},
    {"log10", log10},
    {"log1p", log1p},
    {"sqrt", sqrt},
    {"rsqrt", rsqrt},
    {"square", square},
    {"sin", sin},
    {"cos", cos},
    {"tan", tan},
    {"sinc", sinc},
    {"asin", asin},
    {"acos", acos},
    {"atan", atan},
    {"sinh", sinh},
    {"cosh", cosh},
    {"tanh", tanh},
    {"asinh", asinh},
    {"acosh", acosh},
    {"atanh", atanh},
    {"erf", erf},
    {"erfc", erfc},
    {"floor", floor},
    {"round", round},
    {"isnan", isnan},
    {"sigmoid", sigmoid},
    {"gelu", gelu},
    {"silu", silu},
    {"mish", mish},
    {"softplus", softplus},
    {"reciprocal", reciprocal},
    {"logical_not", logical_not},
};

constexpr std::pair<const char*, Binary> kBinary[] = {
    {"add", add},
    {"mul", mul},
    {"div", div},
    {"pow", pow},
    {"atan2", atan2},
    {"hypot", hypot},
    {"logaddexp", logaddexp},
    {"maximum", maximum},
    {"floor_divide", floor_divide},
    {"remainder", remainder},
    {"less", less},
    {"equal", equal},
    {"logical_and", logical_and},
    {"bitwise_xor", bitwise_xor},
    {"shift_left", bitwise_left_shift},
};

}  // namespace

void add_pointwise_programs() {
  for (const auto& [name, op] : kUnary) {
    add_program(name, [op = op](const Given& in) { return op(in[0]); });
  }
  for (const auto& [name, op] : kBinary) {
    add_program(name, [op = op](const Given& in) { return op(in[0], in[1]); });
  }
  // Results are in row-major order as it is; the peers' programs see to that of theirs.
  add_program("add_in_order", [](const Given& in) { return in[0] + in[1]; });
  add_program("exp_in_order", [](const Given& in) { return exp(in[0]); });
  add_program("to_f16_in_order", [](const Given& in) { return astype(in[0], kFloat16); });
  add_program("where", [](const Given& in) { return where(in[0], in[1], in[2]); });
  add_program("clip", [](const Given& in) { return clip(in[0], -0.5f, 0.5f); });
  add_program("floor_divide_by",
              [](const Given& in) { return floor_divide(in[0], in.argument(0)); });
  add_program("remainder_by", [](const Given& in) { return remainder(in[0], in.argument(0)); });
  add_program("pow_const", [](const Given& in) { return pow(in[0], 0.45f); });
  add_program("cube", [](const Given& in) { return pow(in[0], 3); });
  add_program("scale", [](const Given& in) { return in[0] * 3; });
  constexpr std::pair<const char*, DType> kCasts[] = {
      {"to_f16", kFloat16}, {"to_bf16", kBFloat16}, {"to_f32", kFloat32}, {"to_f64", kFloat64},
      {"to_i8", kInt8},     {"to_i32", kInt32},     {"to_i64", kInt64},   {"to_bool", kBool}};
  for (const auto& [name, dtype] : kCasts) {
    add_program(name, [dtype = dtype](const Given& in) { return astype(in[0], dtype); });
  }
}

}  // namespace sluice::bench
