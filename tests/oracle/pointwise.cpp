#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>

#include "tests/oracle/ops.h"

namespace sluice::oracle {
namespace {

enum class Rule { kSame, kFloat, kPredicate, kLogical };
enum Kinds { kBools = 1, kIntegers = 2, kFloats = 4, kNumbers = 6, kIntegral = 3, kEvery = 7 };

// kExact: the result is defined to the last bit (on exact operands).
// kSignedZero: so is the sign of a zero result.
// kPole: has a pole or a jump inside its domain, next to which an inexact operand says nothing.
enum Traits { kInexact = 0, kExact = 1, kSignedZero = 3, kPole = 4 };

// An op's value before rounding, on operands of dtype `type`.
using Function = Real (*)(const Real* x, DType type);

struct Entry {
  Rule rule;
  int kinds;
  int traits;
  Function f;
};

const Real kNaN = std::numeric_limits<Real>::quiet_NaN();
const Real kInf = std::numeric_limits<Real>::infinity();

// Integer operands: exact, wrapped later. Floats: float64 arithmetic rounds as float64 does.
template <typename F>
Real arithmetic(DType type, Real a, Real b, F f) {
  if (!is_float(type)) {
    using Wide = unsigned __int128;
    const auto wide =
        f(static_cast<Wide>(static_cast<__int128>(a)), static_cast<Wide>(static_cast<__int128>(b)));
    return wrap_integer(static_cast<__int128>(wide), type);
  }
  if (type == DType::kFloat64) return f(static_cast<double>(a), static_cast<double>(b));
  return f(a, b);
}

__int128 integer(Real a) { return static_cast<__int128>(a); }

Real floor_div(const Real* x, DType type) {
  const Real a = x[0], b = x[1];
  if (!is_float(type)) {
    const __int128 n = integer(a), d = integer(b);
    if (d == 0) return 0;
    return wrap_integer(n / d - ((n % d != 0) && ((n % d < 0) != (d < 0))), type);
  }
  if (b == 0) return a / b;
  if (std::isinf(a)) return kNaN;
  const Real r = std::fmod(a, b);
  const Real q = (a - r) / b - ((r != 0 && (r < 0) != (b < 0)) ? 1 : 0);
  return std::rint(q);
}

Real python_remainder(const Real* x, DType type) {
  const Real a = x[0], b = x[1];
  if (!is_float(type)) {
    const __int128 n = integer(a), d = integer(b);
    if (d == 0) return 0;
    const __int128 r = n % d;
    return static_cast<Real>((r != 0 && (r < 0) != (d < 0)) ? r + d : r);
  }
  const Real r = std::fmod(a, b);
  if (r == 0) return std::copysign(Real(0), b);
  return (r < 0) != (b < 0) ? r + b : r;
}

Real power(const Real* x, DType type) {
  if (is_float(type)) return std::pow(x[0], x[1]);
  if (x[1] < 0) return 0;
  unsigned __int128 base = static_cast<unsigned __int128>(integer(x[0])), result = 1;
  for (uint64_t n = static_cast<uint64_t>(x[1]); n != 0; n >>= 1) {
    if (n & 1) result *= base;
    base *= base;
  }
  return wrap_integer(static_cast<__int128>(result), type);
}

int width(DType type) { return 8 * static_cast<int>(size_of(type)); }

Real shift_left(const Real* x, DType type) {
  if (x[1] < 0 || x[1] >= width(type)) return 0;
  return wrap_integer(integer(x[0]) << static_cast<int>(x[1]), type);
}

Real shift_right(const Real* x, DType type) {
  const int n = (x[1] < 0 || x[1] >= width(type)) ? width(type) : static_cast<int>(x[1]);
  return static_cast<Real>(integer(x[0]) >> n);
}

Real logaddexp(const Real* x, DType) {
  if (std::isnan(x[0]) || std::isnan(x[1])) return kNaN;
  const Real m = std::max(x[0], x[1]);
  if (std::isinf(m)) return m;
  return m + std::log1p(std::exp(-std::fabs(x[0] - x[1])));
}

Real softplus(Real x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

Real sinc(Real x) {
  constexpr Real kPi = 3.14159265358979323846264338L;
  if (x == 0) return 1;
  const Real n = std::rint(x);
  const Real sine = std::sin(kPi * (x - n));
  return (std::fmod(n, 2) == 0 ? sine : -sine) / (kPi * x);
}

// f at -inf where the formula would give inf * 0.
Real with_limit(Real x, Real value) { return x == -kInf ? Real(-0.0L) : value; }

Real extreme(Real a, Real b, bool greatest) {
  if (std::isnan(a) || std::isnan(b)) return kNaN;
  if (a == b) return std::signbit(a) == greatest ? b : a;
  return greatest ? std::max(a, b) : std::min(a, b);
}

// Every step rounded, as written: a + t * (b - a).
Real lerp_steps(const Real* x, DType type) {
  const DType t = compute_type(type);
  const auto sub = [](auto a, auto b) { return a - b; };
  const auto mul = [](auto a, auto b) { return a * b; };
  const auto add = [](auto a, auto b) { return a + b; };
  const Real difference = round_float(arithmetic(t, x[1], x[0], sub), t);
  return arithmetic(t, x[0], round_float(arithmetic(t, x[2], difference, mul), t), add);
}

#define FN(expression) [](const Real* x, [[maybe_unused]] DType type) -> Real { return expression; }
#define ARITHMETIC(a, symbol, b) \
  FN(arithmetic(type, a, b, [](auto p, auto q) { return p symbol q; }))
#define INEXACT(expression) \
  { Rule::kFloat, kFloats, kInexact, FN(expression) }
#define ROUNDING(function) \
  { Rule::kSame, kNumbers, kExact, FN(is_float(type) ? function(x[0]) : x[0]) }
#define COMPARE(symbol) \
  { Rule::kPredicate, kEvery, kExact, FN(x[0] symbol x[1]) }
#define LOGICAL(expression) \
  { Rule::kLogical, kBools, kExact, FN(expression) }
#define BITS(symbol) \
  { Rule::kSame, kIntegral, kExact, FN(Real(integer(x[0]) symbol integer(x[1]))) }

const std::map<std::string, Entry>& table() {
  static const std::map<std::string, Entry> entries = {
      {"neg",
       {Rule::kSame, kNumbers, kSignedZero,
        FN(is_float(type) ? -x[0] : wrap_integer(-integer(x[0]), type))}},
      {"abs",
       {Rule::kSame, kNumbers, kSignedZero,
        FN(is_float(type) ? std::fabs(x[0])
                          : wrap_integer(x[0] < 0 ? -integer(x[0]) : integer(x[0]), type))}},
      {"sign",
       {Rule::kSame, kNumbers, kExact,
        FN(x[0] > 0   ? 1
           : x[0] < 0 ? -1
                      : x[0])}},
      {"exp", INEXACT(std::exp(x[0]))},
      {"exp2", INEXACT(std::exp2(x[0]))},
      {"expm1", INEXACT(std::expm1(x[0]))},
      {"log", INEXACT(std::log(x[0]))},
      {"log2", INEXACT(std::log2(x[0]))},
      {"log10", INEXACT(std::log10(x[0]))},
      {"log1p", INEXACT(std::log1p(x[0]))},
      {"sqrt",
       {Rule::kFloat, kFloats, kSignedZero,
        FN(type == DType::kFloat64 ? Real(std::sqrt(static_cast<double>(x[0])))
                                   : std::sqrt(x[0]))}},
      {"rsqrt", INEXACT(1 / std::sqrt(x[0]))},
      {"square", {Rule::kSame, kNumbers, kSignedZero, ARITHMETIC(x[0], *, x[0])}},
      {"reciprocal", {Rule::kFloat, kFloats, kSignedZero | kPole, ARITHMETIC(1, /, x[0])}},
      {"sin", INEXACT(std::sin(x[0]))},
      {"cos", INEXACT(std::cos(x[0]))},
      {"sinc", INEXACT(sinc(x[0]))},
      {"tan", {Rule::kFloat, kFloats, kPole, FN(std::tan(x[0]))}},
      {"asin", INEXACT(std::asin(x[0]))},
      {"acos", INEXACT(std::acos(x[0]))},
      {"atan", INEXACT(std::atan(x[0]))},
      {"sinh", INEXACT(std::sinh(x[0]))},
      {"cosh", INEXACT(std::cosh(x[0]))},
      {"tanh", INEXACT(std::tanh(x[0]))},
      {"asinh", INEXACT(std::asinh(x[0]))},
      {"acosh", INEXACT(std::acosh(x[0]))},
      {"atanh", INEXACT(std::atanh(x[0]))},
      {"erf", INEXACT(std::erf(x[0]))},
      {"erfc", INEXACT(std::erfc(x[0]))},
      {"floor", ROUNDING(std::floor)},
      {"ceil", ROUNDING(std::ceil)},
      {"round", ROUNDING(std::rint)},
      {"trunc", ROUNDING(std::trunc)},
      {"isnan", {Rule::kPredicate, kEvery, kExact, FN(std::isnan(x[0]))}},
      {"isinf", {Rule::kPredicate, kEvery, kExact, FN(std::isinf(x[0]))}},
      {"isfinite", {Rule::kPredicate, kEvery, kExact, FN(std::isfinite(x[0]))}},
      {"logical_not", LOGICAL(x[0] == 0)},
      {"bitwise_not",
       {Rule::kSame, kIntegral, kExact,
        FN(type == DType::kBool ? x[0] == 0 : wrap_integer(~integer(x[0]), type))}},
      {"sigmoid", INEXACT(1 / (1 + std::exp(-x[0])))},
      {"relu", {Rule::kSame, kNumbers, kExact, FN(x[0] < 0 ? 0 : x[0])}},
      {"gelu",
       INEXACT(with_limit(x[0], x[0] * std::erfc(-x[0] * 0.707106781186547524400844362L) / 2))},
      {"silu", INEXACT(with_limit(x[0], x[0] / (1 + std::exp(-x[0]))))},
      {"softplus", INEXACT(std::isnan(x[0]) ? x[0] : softplus(x[0]))},
      {"mish",
       INEXACT(with_limit(x[0], std::isnan(x[0]) ? x[0] : x[0] * std::tanh(softplus(x[0]))))},

      {"relu_gradient", {Rule::kSame, kNumbers, kExact, FN(x[0] > 0 ? x[1] : 0)}},
      {"add", {Rule::kSame, kEvery, kSignedZero, ARITHMETIC(x[0], +, x[1])}},
      {"sub", {Rule::kSame, kNumbers, kSignedZero, ARITHMETIC(x[0], -, x[1])}},
      {"mul", {Rule::kSame, kEvery, kSignedZero, ARITHMETIC(x[0], *, x[1])}},
      {"div",
       {Rule::kFloat, kFloats, kSignedZero | kPole,
        FN(type == DType::kFloat64 ? Real(static_cast<double>(x[0]) / static_cast<double>(x[1]))
                                   : x[0] / x[1])}},
      {"floor_divide", {Rule::kSame, kNumbers, kExact | kPole, floor_div}},
      {"remainder", {Rule::kSame, kNumbers, kExact | kPole, python_remainder}},
      {"pow", {Rule::kSame, kNumbers, kPole, power}},
      {"atan2", {Rule::kFloat, kFloats, kPole, FN(std::atan2(x[0], x[1]))}},
      {"maximum", {Rule::kSame, kEvery, kExact, FN(extreme(x[0], x[1], true))}},
      {"minimum", {Rule::kSame, kEvery, kExact, FN(extreme(x[0], x[1], false))}},
      {"hypot", INEXACT(std::hypot(x[0], x[1]))},
      {"copysign", {Rule::kFloat, kFloats, kSignedZero | kPole, FN(std::copysign(x[0], x[1]))}},
      {"logaddexp", {Rule::kFloat, kFloats, kInexact, logaddexp}},
      {"equal", COMPARE(==)},
      {"not_equal", COMPARE(!=)},
      {"less", COMPARE(<)},
      {"less_equal", COMPARE(<=)},
      {"greater", COMPARE(>)},
      {"greater_equal", COMPARE(>=)},
      {"logical_and", LOGICAL(x[0] != 0 && x[1] != 0)},
      {"logical_or", LOGICAL(x[0] != 0 || x[1] != 0)},
      {"logical_xor", LOGICAL((x[0] != 0) != (x[1] != 0))},
      {"bitwise_and", BITS(&)},
      {"bitwise_or", BITS(|)},
      {"bitwise_xor", BITS(^)},
      {"bitwise_left_shift", {Rule::kSame, kIntegers, kExact, shift_left}},
      {"bitwise_right_shift", {Rule::kSame, kIntegers, kExact, shift_right}},

      {"clip",
       {Rule::kSame, kNumbers, kExact, FN(extreme(extreme(x[0], x[1], true), x[2], false))}},
      {"lerp", {Rule::kFloat, kFloats, kExact, lerp_steps}},
  };
  return entries;
}

const Entry& entry_of(const std::string& op) {
  const auto found = table().find(op);
  if (found == table().end()) throw std::logic_error("the oracle has no op " + op);
  return found->second;
}

Real evaluate(const Entry& entry, const Real* x, const OpTypes& types) {
  const Real value = entry.f(x, types.operand);
  return is_float(types.result) ? round_float(value, types.result) : value;
}

bool same_class(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return true;
}

// Where the settled rules leave the result open, or no two implementations agree.
bool is_open(const std::string& op, const Real* x, DType type) {
  if (op == "copysign") return std::isnan(x[1]);
  if (op == "hypot")
    return std::isnan(x[0]) != std::isnan(x[1]) && (std::isinf(x[0]) || std::isinf(x[1]));
  if (op == "pow" && !is_float(type)) return x[1] < 0 && std::fabs(x[0]) == 1;
  if (op == "pow") return std::isnan(x[0]) || std::isnan(x[1]);
  if (op == "bitwise_left_shift" || op == "bitwise_right_shift") return x[1] < 0;
  return false;
}

// The number at whose scale the op's last place is taken.
Real scale_of(const std::string& op, const Real* x, Real value) {
  if (op == "logaddexp") return std::max({std::fabs(value), std::fabs(x[0]), Real(1)});
  // The steps round at the scale of what cancels.
  if (op == "lerp") {
    return std::max({std::fabs(value), std::fabs(x[0]), std::fabs(x[2] * (x[1] - x[0]))});
  }
  return value;
}

// The greatest distance of the results on all corners of the operands' errors.
Real spread(const Entry& entry, const Real* x, const Real* errors, int arity, Real value,
            const OpTypes& types) {
  Real greatest = 0;
  int corners = 1;
  for (int i = 0; i < arity; ++i) corners *= 3;
  for (int corner = 1; corner < corners; ++corner) {
    std::array<Real, 3> y;
    bool moved = false;
    for (int i = 0, rest = corner; i < arity; ++i, rest /= 3) {
      const Real step = rest % 3 == 0 ? 0 : rest % 3 == 1 ? errors[i] : -errors[i];
      y[i] = step == 0 ? x[i] : x[i] + step;
      moved |= step != 0;
    }
    if (!moved) continue;
    const Real other = evaluate(entry, y.data(), types);
    if (!same_class(other, value)) return kUnknown;
    if (other == value || std::isnan(value)) continue;
    greatest = std::max(greatest, std::fabs(other - value));
  }
  return greatest;
}

Real error_of(const std::string& op, const Entry& entry, const Real* x, const Real* errors,
              int arity, Real value, const OpTypes& types) {
  bool exact_operands = true;
  for (int i = 0; i < arity; ++i) {
    if (errors[i] == kUnknown) return kUnknown;
    if (errors[i] == 0) continue;
    exact_operands = false;
    if ((entry.traits & kPole) && errors[i] > std::fabs(x[i]) / 16) return kUnknown;
  }
  if (is_open(op, x, types.operand)) return kUnknown;
  Real error = 0;
  if (!exact_operands) {
    const bool periodic = op == "sin" || op == "cos" || op == "tan" || op == "sinc";
    if (periodic && errors[0] > 0.01L) return kUnknown;
    if (op == "remainder" &&
        !(errors[0] + std::fabs(x[0] / x[1]) * errors[1] < std::fabs(x[1]) / 4)) {
      return kUnknown;
    }
    // Whether the exponent is an integer decides between a number and NaN.
    if (op == "pow" && x[0] < 0 && errors[1] > 0) return kUnknown;
    // Numbers that may be equal, though no corner makes them so.
    if (arity == 2 && types.result == DType::kBool && is_float(types.operand) &&
        std::fabs(x[0] - x[1]) <= errors[0] + errors[1]) {
      return kUnknown;
    }
    error = spread(entry, x, errors, arity, value, types);
    if (op == "sin" || op == "cos") error = std::max(error, errors[0]);
    if (op == "sinc") error = std::max(error, 1.4L * errors[0]);  // its slope
    if ((entry.traits & kPole) && error > std::fabs(value) / 4) return kUnknown;
  }
  if (!is_float(types.result)) return error > 0 ? kUnknown : 0;
  if (std::isnan(value)) return error;
  const bool exact =
      (entry.traits & kExact) && !(op == "floor_divide" && std::fabs(value) > 0x1p11L);
  if (!exact || !exact_operands) {
    const Real place = ulp(scale_of(op, x, value), types.result);
    // The bound of gelu is 5.5 places (docs/math.md).
    const Real places = is_half(types.result) ? 1 : op == "gelu" ? 5.5L : 4;
    error = 1.25L * error + places * place;
    // Where it may overflow, or may not.
    const Real limit = format_of(types.result).max;
    const bool can_overflow = std::isinf(value)
                                  ? std::fabs(entry.f(x, types.operand)) < limit * 1.01L && !exact
                                  : std::fabs(value) + error > limit;
    if (can_overflow || (std::isinf(value) && !exact_operands)) return kUnknown;
    if (std::isinf(value)) return 0;
  }
  if (value == 0 && (entry.traits & kSignedZero) != kSignedZero) {
    error = std::max(error, smallest(types.result));
  }
  return error;
}

NdArray apply(const std::string& op, const std::vector<const NdArray*>& operands) {
  const Entry& entry = entry_of(op);
  std::vector<DType> dtypes;
  Shape shape = operands[0]->shape;
  for (const NdArray* operand : operands) {
    dtypes.push_back(operand->dtype);
    shape = broadcast_shapes(shape, operand->shape);
  }
  const std::optional<OpTypes> types = types_of(op, dtypes);
  if (!types) throw std::logic_error(op + " is not defined for these dtypes");
  std::vector<NdArray> x;
  for (const NdArray* operand : operands) x.push_back(cast(*operand, types->operand));

  NdArray result(types->result, shape);
  int64_t i = 0;
  const int arity = static_cast<int>(x.size());
  for_each_index(shape, [&](const Index& index) {
    std::array<Real, 3> values{}, errors{};
    for (int k = 0; k < arity; ++k) {
      const int64_t offset = broadcast_offset(index, x[k].shape);
      values[k] = x[k].values[offset];
      errors[k] = x[k].errors[offset];
    }
    const Real value = evaluate(entry, values.data(), *types);
    result.values[i] = value;
    result.errors[i] = error_of(op, entry, values.data(), errors.data(), arity, value, *types);
    ++i;
  });
  return result;
}

}  // namespace

std::optional<OpTypes> types_of(const std::string& op, const std::vector<DType>& operands) {
  if (op == "where") {
    const DType type = promote(operands[1], operands[2]);
    return OpTypes{type, type};
  }
  const Entry& entry = entry_of(op);
  DType type = operands[0];
  for (DType dtype : operands) type = promote(type, dtype);
  if (entry.rule == Rule::kFloat) type = float_type(type);
  if (entry.rule == Rule::kLogical) type = DType::kBool;
  const int kind = type == DType::kBool ? kBools : is_float(type) ? kFloats : kIntegers;
  if (!(entry.kinds & kind)) return std::nullopt;
  const bool to_bool = entry.rule == Rule::kPredicate || entry.rule == Rule::kLogical;
  return OpTypes{type, to_bool ? DType::kBool : type};
}

NdArray unary(const std::string& op, const NdArray& x) { return apply(op, {&x}); }
NdArray binary(const std::string& op, const NdArray& a, const NdArray& b) {
  return apply(op, {&a, &b});
}
static NdArray where(const NdArray& condition, const NdArray& a, const NdArray& b) {
  const NdArray mask = cast(condition, DType::kBool);
  const DType dtype = promote(a.dtype, b.dtype);
  const NdArray x = cast(a, dtype), y = cast(b, dtype);
  NdArray result(dtype, broadcast_shapes(broadcast_shapes(mask.shape, a.shape), b.shape));
  int64_t i = 0;
  for_each_index(result.shape, [&](const Index& index) {
    const int64_t m = broadcast_offset(index, mask.shape);
    const NdArray& chosen = mask.values[m] != 0 ? x : y;
    const int64_t from = broadcast_offset(index, chosen.shape);
    result.values[i] = chosen.values[from];
    result.errors[i++] = mask.errors[m] != 0 ? kUnknown : chosen.errors[from];
  });
  return result;
}

NdArray ternary(const std::string& op, const NdArray& a, const NdArray& b, const NdArray& c) {
  return op == "where" ? where(a, b, c) : apply(op, {&a, &b, &c});
}

}  // namespace sluice::oracle
