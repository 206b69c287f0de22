// Simplified programs against themselves as they were: the same bits, fewer instructions.
#include "fusion/rewrite/simplify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/launch.h"
#include "kernels/interp/interpreter.h"
#include "tests/support/program_builder.h"

namespace sluice::fusion {
namespace {

using sluice::testing::ProgramBuilder;

// ---- Values.

// Numbers at which identities break, of each sign.
constexpr double kAwkward[] = {0,
                               0.25,
                               0.5,
                               1,
                               1.5,
                               2,
                               2.5,
                               3,
                               127,
                               128,
                               200,
                               255,
                               256,
                               1000,
                               2049,
                               32768,
                               65504,
                               65520,
                               65536,
                               1e-8,
                               3e-5,
                               2147483648,
                               3.7e9,
                               1e19,
                               1e30,
                               16777217,
                               1e300,
                               1e-40,
                               5e-45,
                               1e-310,
                               9007199254740993.0};

// Elements as they lie in memory.
struct Data {
  DType dtype = DType::kFloat32;
  int64_t count = 0;
  std::vector<char> bytes;
};

template <typename T>
void append(Data* data, T value) {
  const char* bytes = reinterpret_cast<const char*>(&value);
  data->bytes.insert(data->bytes.end(), bytes, bytes + sizeof(T));
  ++data->count;
}

Data awkward(DType dtype) {
  Data data;
  data.dtype = dtype;
  visit_dtype(dtype, [&]<typename T>() {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_same_v<T, bool>) {
      append(&data, uint8_t{0});
      append(&data, uint8_t{1});
    } else if constexpr (std::is_integral_v<T>) {
      for (T value : {Limits::min(), T(Limits::min() + 1), Limits::max(), T(Limits::max() - 1),
                      T(Limits::max() / 2 + 1)}) {
        append(&data, value);
      }
      for (int value : {0, 1, 2, 3, 7, 31, 100, 127}) {
        append(&data, static_cast<T>(value));
        append(&data, static_cast<T>(-value));
      }
      for (int64_t value : {int64_t{255}, int64_t{65535}, int64_t{4294967297}})
        append(&data, static_cast<T>(value));
    } else {
      const double inf = std::numeric_limits<double>::infinity();
      std::vector<double> values(std::begin(kAwkward), std::end(kAwkward));
      values.push_back(inf);
      values.push_back(std::nan(""));
      if constexpr (std::is_floating_point_v<T>) {
        values.push_back(Limits::max());
        values.push_back(Limits::min());
      }
      std::set<std::string> seen;
      for (double value : values) {
        for (double sign : {1.0, -1.0}) {
          Data one;
          if constexpr (std::is_same_v<T, double>)
            append(&one, sign * value);
          else
            append(&one, T(static_cast<float>(sign * value)));
          if (!seen.insert(std::string(one.bytes.begin(), one.bytes.end())).second) continue;
          data.bytes.insert(data.bytes.end(), one.bytes.begin(), one.bytes.end());
          ++data.count;
        }
      }
    }
  });
  return data;
}

// ---- Programs as text: "add(x, neg(y))".

// Leaves: x, y, z vary independently over the awkward values of a dtype, u is one of them, c and d
// are masks. A dtype's name is a cast.
class Formula {
 public:
  explicit Formula(DType dtype) : data_(awkward(dtype)) {}

  ProgramBuilder build(const std::string& text) {
    std::vector<int64_t> extents;
    for (char name : kDims) {
      extents.push_back(!uses(text, name) ? 1 : extents.size() < 2 ? 2 : data_.count);
    }
    ProgramBuilder b(Schedule::kPointwise, extents);
    leaves_.clear();
    const char* at = text.c_str();
    const ValueId value = parse(b, &at);
    std::vector<int64_t> strides(5, 1);
    for (int d = 4; d > 0; --d) strides[d - 1] = strides[d] * extents[d];
    output_.assign(strides[0] * extents[0] * size_of(b.dtype_of_value(value)), 0);
    b.store(value, b.access(output_.data(), b.dtype_of_value(value), strides));
    return b;
  }

  std::vector<char> run(const Program& program, const kernels::KernelArgs& args) {
    std::fill(output_.begin(), output_.end(), 0);
    kernels::launch(program, *kernels::make_interpreter(program), args);
    return output_;
  }

  // What a program built here, or made from one, computes.
  std::string text_of(const Program& program) const {
    return text_of(program, program.stores[0].value);
  }

 private:
  inline static const std::string kDims = "cdzyx";

  struct Leaf {
    std::string name;
    uint16_t access;
    ValueId value;
  };

  // True if `name` stands there as a word.
  static bool uses(const std::string& text, char name) {
    for (size_t i = 0; i < text.size(); ++i) {
      const char before = i > 0 ? text[i - 1] : '(',
                 after = i + 1 < text.size() ? text[i + 1] : ')';
      if (text[i] == name && !isalnum(before) && !isalnum(after)) return true;
    }
    return false;
  }

  ValueId leaf(ProgramBuilder& b, const std::string& name) {
    for (const Leaf& leaf : leaves_) {
      if (leaf.name == name) return leaf.value;
    }
    const size_t dim = kDims.find(name);
    std::vector<int64_t> strides(5, 0);
    if (dim < 5) strides[dim] = 1;
    const bool is_mask = dim < 2;
    const uint16_t access =
        is_mask ? b.access(masks_, DType::kBool, strides)
                : b.access(data_.bytes.data(), data_.dtype, strides, name == "u" ? 3 : 0);
    const ValueId value = b.load(access);
    leaves_.push_back({name, access, value});
    return value;
  }

  ValueId parse(ProgramBuilder& b, const char** at) {
    const char* begin = *at;
    while (isalnum(**at) || **at == '_') ++*at;
    const std::string name(begin, *at);
    if (**at != '(') return leaf(b, name);
    std::vector<ValueId> operands;
    do {
      *at += **at == ',' ? 2 : 1;  // "(" or ", "
      operands.push_back(parse(b, at));
    } while (**at == ',');
    ++*at;
    for (int t = 0; t < kNumDTypes; ++t) {
      const DType dtype = static_cast<DType>(t);
      if (name == sluice::name_of(dtype)) return b.cast(operands[0], dtype);
    }
    for (int i = 0; i < kNumOps; ++i) {
      const Op op = static_cast<Op>(i);
      if (name != name_of(op)) continue;
      if (operands.size() == 1) return b.op(op, {operands[0]});
      if (operands.size() == 2) return b.op(op, {operands[0], operands[1]});
      return b.op(op, {operands[0], operands[1], operands[2]});
    }
    ADD_FAILURE() << "no op " << name;
    return 0;
  }

  std::string text_of(const Program& program, ValueId value) const {
    const Instr& instr = program.body[value];
    if (instr.op == Op::kLoad) {
      for (const Leaf& leaf : leaves_) {
        if (leaf.access == instr.aux) return leaf.name;
      }
    }
    std::string text = instr.op == Op::kCast ? sluice::name_of(instr.dtype) : name_of(instr.op);
    for (int k = 0; k < instr.num_operands; ++k) {
      text += (k == 0 ? "(" : ", ") + text_of(program, instr.operands[k]);
    }
    return text + ")";
  }

  Data data_;
  uint8_t masks_[2] = {0, 1};
  std::vector<Leaf> leaves_;
  std::vector<char> output_;
};

// Simplifies, and checks what holds for all programs.
Program simplified(const Program& program, bool fast_math = false) {
  Program result = program;
  std::set<std::string> names;
  for (const auto& passes : {exact_passes(), fast_math_passes()}) {
    for (const ProgramPass& pass : passes) names.insert(pass.name);
  }
  Program last = program;
  const bool changed = simplify(
      &result, fast_math, [&](const char* pass, const Program& before, const Program& after) {
        EXPECT_TRUE(names.contains(pass)) << pass;
        EXPECT_EQ(before, last);
        EXPECT_NE(before, after) << pass;
        const absl::Status status = verify(after);
        EXPECT_TRUE(status.ok()) << pass << ": " << status << "\n" << to_text(after);
        last = after;
      });
  EXPECT_EQ(changed, result != program);
  EXPECT_EQ(last, result);

  Program unseen = program;
  simplify(&unseen, fast_math);
  EXPECT_EQ(unseen, result);
  EXPECT_FALSE(simplify(&unseen, fast_math)) << to_text(result) << "becomes\n" << to_text(unseen);

  EXPECT_EQ(result.accesses, program.accesses);
  EXPECT_EQ(result.num_scalars, program.num_scalars);
  EXPECT_EQ(result.num_params, program.num_params);
  EXPECT_EQ(result.num_error_slots, program.num_error_slots);
  EXPECT_EQ(result.stores.size(), program.stores.size());
  return result;
}

struct Case {
  const char* text;
  const char* expected;
};

// Expects each formula to become the other, with the same bits.
void expect_exact(const std::vector<DType>& dtypes, const std::vector<Case>& cases) {
  for (DType dtype : dtypes) {
    Formula formula(dtype);
    for (const Case& c : cases) {
      SCOPED_TRACE(absl::StrCat(sluice::name_of(dtype), ": ", c.text));
      ProgramBuilder b = formula.build(c.text);
      const Program after = simplified(b.program());
      EXPECT_EQ(formula.text_of(after), c.expected);
      EXPECT_LE(after.body.size(), b.program().body.size());
      EXPECT_TRUE(formula.run(b.program(), b.args()) == formula.run(after, b.args()));
    }
  }
}

const std::vector<DType> kFloats = {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                                    DType::kBFloat16};
const std::vector<DType> kSigned = {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64};
const std::vector<DType> kUnsigned = {DType::kUInt8, DType::kUInt16, DType::kUInt32,
                                      DType::kUInt64};

std::vector<DType> operator+(std::vector<DType> a, const std::vector<DType>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// ---- Exact passes.

TEST(Simplify, SignsOfNumbers) {
  expect_exact(kFloats + kSigned + kUnsigned, {{"neg(neg(x))", "x"},
                                               {"neg(neg(neg(x)))", "neg(x)"},
                                               {"add(x, neg(y))", "sub(x, y)"},
                                               {"add(neg(x), y)", "sub(y, x)"},
                                               {"add(neg(x), neg(y))", "sub(neg(x), y)"},
                                               {"sub(x, neg(y))", "add(x, y)"},
                                               {"sub(neg(x), neg(y))", "sub(y, x)"},
                                               {"sub(neg(x), y)", "sub(neg(x), y)"},
                                               {"mul(neg(x), neg(y))", "mul(x, y)"},
                                               {"mul(neg(x), y)", "mul(neg(x), y)"},
                                               {"neg(mul(x, neg(y)))", "mul(x, y)"},
                                               {"add(mul(neg(x), y), z)", "sub(z, mul(x, y))"},
                                               {"sub(z, mul(neg(x), y))", "add(z, mul(x, y))"},
                                               {"square(neg(x))", "square(x)"},
                                               {"mul(neg(x), neg(x))", "square(x)"},
                                               {"neg(sub(x, y))", "neg(sub(x, y))"},
                                               {"sub(x, x)", "sub(x, x)"},
                                               {"isnan(neg(x))", "isnan(x)"}});
}

TEST(Simplify, SignsOfFloats) {
  expect_exact(kFloats, {{"div(neg(x), neg(y))", "div(x, y)"},
                         {"neg(div(neg(x), y))", "div(x, y)"},
                         {"abs(neg(x))", "abs(x)"},
                         {"abs(abs(x))", "abs(x)"},
                         {"abs(square(x))", "square(x)"},
                         {"abs(exp(x))", "exp(x)"},
                         {"abs(sigmoid(x))", "sigmoid(x)"},
                         {"relu(exp2(x))", "exp2(x)"},
                         {"abs(sqrt(x))", "abs(sqrt(x))"},
                         {"abs(relu(x))", "abs(relu(x))"},
                         {"square(abs(x))", "square(x)"},
                         {"isinf(abs(x))", "isinf(x)"},
                         {"isfinite(neg(x))", "isfinite(x)"},
                         {"copysign(neg(x), y)", "copysign(x, y)"},
                         {"copysign(abs(x), y)", "copysign(x, y)"},
                         {"copysign(x, neg(y))", "copysign(x, neg(y))"},
                         {"copysign(x, x)", "x"}});
}

TEST(Simplify, SignsOfIntegers) {
  expect_exact(kSigned, {{"abs(neg(x))", "abs(x)"},
                         {"abs(abs(x))", "abs(x)"},
                         {"abs(square(x))", "abs(square(x))"},
                         {"relu(abs(x))", "relu(abs(x))"}});
  expect_exact(kUnsigned, {{"abs(neg(x))", "neg(x)"}, {"abs(x)", "x"}, {"relu(x)", "x"}});
}

TEST(Simplify, Repetitions) {
  expect_exact(kFloats + kSigned + kUnsigned, {{"maximum(x, x)", "x"},
                                               {"minimum(x, x)", "x"},
                                               {"maximum(maximum(x, y), x)", "maximum(x, y)"},
                                               {"sign(sign(x))", "sign(x)"},
                                               {"bool(bool(x))", "bool(x)"}});
  expect_exact(kFloats + kSigned, {{"relu(relu(x))", "relu(x)"}});
  expect_exact(kFloats, {{"floor(floor(x))", "floor(x)"},
                         {"ceil(floor(x))", "floor(x)"},
                         {"trunc(round(x))", "round(x)"},
                         {"round(trunc(x))", "trunc(x)"},
                         {"floor(ceil(x))", "ceil(x)"},
                         {"floor(sign(x))", "sign(x)"},
                         {"floor(neg(x))", "floor(neg(x))"},
                         {"round(float16(int32(x)))", "float16(int32(x))"}});
  expect_exact(kSigned + kUnsigned, {{"floor(x)", "x"},
                                     {"trunc(ceil(x))", "x"},
                                     {"bitwise_and(x, bitwise_and(x, y))", "bitwise_and(x, y)"},
                                     {"bitwise_or(x, x)", "x"}});
}

TEST(Simplify, Compounds) {
  expect_exact(kFloats + kSigned + kUnsigned, {{"mul(x, x)", "square(x)"},
                                               {"minimum(maximum(x, y), z)", "clip(x, y, z)"},
                                               {"minimum(z, maximum(x, y))", "clip(x, y, z)"},
                                               {"mul(x, y)", "mul(x, y)"}});
  expect_exact({DType::kFloat32, DType::kFloat64}, {{"reciprocal(sqrt(x))", "rsqrt(x)"}});
  expect_exact({DType::kFloat16, DType::kBFloat16},
               {{"reciprocal(sqrt(x))", "reciprocal(sqrt(x))"}});
  expect_exact(kFloats, {{"maximum(x, neg(x))", "maximum(x, neg(x))"}});
}

TEST(Simplify, Logic) {
  expect_exact({DType::kBool}, {{"logical_not(logical_not(c))", "c"},
                                {"bitwise_not(logical_not(c))", "c"},
                                {"logical_and(c, c)", "c"},
                                {"logical_or(c, logical_or(d, c))", "logical_or(c, d)"},
                                {"add(c, d)", "logical_or(c, d)"},
                                {"mul(c, d)", "logical_and(c, d)"},
                                {"mul(c, c)", "c"},
                                {"maximum(c, d)", "logical_or(c, d)"},
                                {"minimum(c, d)", "logical_and(c, d)"},
                                {"bitwise_xor(c, d)", "logical_xor(c, d)"},
                                {"not_equal(c, d)", "logical_xor(c, d)"},
                                {"logical_not(equal(c, d))", "logical_xor(c, d)"},
                                {"logical_not(less(c, d))", "less_equal(d, c)"},
                                {"where(c, c, d)", "logical_or(c, d)"},
                                {"where(c, d, c)", "logical_and(c, d)"},
                                {"where(c, logical_not(c), d)", "logical_and(logical_not(c), d)"},
                                {"where(c, d, logical_not(c))", "logical_or(d, logical_not(c))"}});
  expect_exact(kSigned + kUnsigned,
               {{"bitwise_not(bitwise_not(x))", "x"}, {"bitwise_not(x)", "bitwise_not(x)"}});
}

TEST(Simplify, Comparisons) {
  expect_exact(kFloats + kSigned + kUnsigned, {{"greater(x, y)", "less(y, x)"},
                                               {"greater_equal(x, y)", "less_equal(y, x)"},
                                               {"logical_not(equal(x, y))", "not_equal(x, y)"},
                                               {"logical_not(not_equal(x, y))", "equal(x, y)"},
                                               {"not_equal(x, x)", "isnan(x)"},
                                               {"equal(x, x)", "equal(x, x)"}});
  expect_exact(kSigned + kUnsigned, {{"logical_not(less(x, y))", "less_equal(y, x)"},
                                     {"logical_not(greater(x, y))", "less_equal(x, y)"},
                                     {"logical_not(less_equal(x, y))", "less(y, x)"}});
  expect_exact(kFloats, {{"logical_not(less(x, y))", "logical_not(less(x, y))"},
                         {"logical_not(greater_equal(x, y))", "logical_not(less_equal(y, x))"}});
}

TEST(Simplify, Selects) {
  expect_exact(kFloats + kSigned + kUnsigned,
               {{"where(logical_not(c), x, y)", "where(c, y, x)"},
                {"where(c, x, x)", "x"},
                {"where(c, where(c, x, y), z)", "where(c, x, z)"},
                {"where(c, x, where(c, y, z))", "where(c, x, z)"},
                {"where(c, x, where(d, y, z))", "where(c, x, where(d, y, z))"},
                {"where(bool(float32(c)), x, y)", "where(c, x, y)"}});
  expect_exact(kFloats, {{"where(logical_not(less_equal(x, neg(neg(y)))), x, where(c, y, y))",
                          "where(less_equal(x, y), y, x)"}});
}

TEST(Simplify, SymmetricOpsAreEqualEitherWayRound) {
  const std::vector<DType> all = kFloats + kSigned + kUnsigned;
  expect_exact(all, {{"sub(add(x, y), add(y, x))", "sub(add(x, y), add(x, y))"},
                     {"equal(mul(y, x), mul(x, y))", "equal(mul(y, x), mul(y, x))"},
                     {"logical_and(equal(x, y), equal(y, x))", "equal(x, y)"},
                     {"maximum(maximum(x, y), maximum(y, x))", "maximum(x, y)"}});
  expect_exact(kFloats, {{"sub(logaddexp(x, y), logaddexp(y, x))",
                          "sub(logaddexp(x, y), logaddexp(x, y))"}});
  // One of each pair is left.
  Formula formula(DType::kFloat32);
  EXPECT_EQ(simplified(formula.build("sub(add(x, y), add(y, x))").program()).body.size(), 4u);
  EXPECT_EQ(simplified(formula.build("add(exp(neg(neg(x))), exp(x))").program()).body.size(), 3u);
}

TEST(Simplify, CastPairs) {
  expect_exact({DType::kFloat16}, {{"float16(float32(x))", "x"},
                                   {"float16(float64(x))", "x"},
                                   {"float64(float32(x))", "float64(x)"},
                                   {"float16(bfloat16(x))", "float16(bfloat16(x))"},
                                   {"int32(float64(x))", "int32(x)"}});
  expect_exact({DType::kFloat32}, {{"float32(float16(x))", "float32(float16(x))"},
                                   {"float16(float32(float16(x)))", "float16(x)"},
                                   {"float32(int32(x))", "float32(int32(x))"},
                                   {"float32(float64(x))", "x"},
                                   {"bool(float16(x))", "bool(float16(x))"}});
  expect_exact({DType::kFloat64}, {{"float16(float32(x))", "float16(x)"},
                                   {"float64(float32(x))", "float64(float32(x))"}});
  expect_exact({DType::kInt32}, {{"int32(float32(x))", "int32(float32(x))"},
                                 {"int32(float64(x))", "x"},
                                 {"int32(uint32(x))", "x"},
                                 {"int32(int64(x))", "x"},
                                 {"int8(int16(x))", "int8(x)"},
                                 {"int32(int16(x))", "int32(int16(x))"},
                                 {"uint32(float64(x))", "uint32(float64(x))"},
                                 {"bool(float16(x))", "bool(x)"},
                                 {"bool(int8(x))", "bool(int8(x))"}});
  expect_exact({DType::kBool}, {{"bool(int64(c))", "c"},
                                {"float32(int8(c))", "float32(c)"},
                                {"bool(bfloat16(int32(c)))", "c"}});
}

// Whatever the cast passes make of two casts after each other.
TEST(Simplify, EveryPairOfCasts) {
  int merged = 0;
  for (int from = 0; from < kNumDTypes; ++from) {
    Data in = awkward(static_cast<DType>(from));
    for (int through = 0; through < kNumDTypes; ++through) {
      for (int to = 0; to < kNumDTypes; ++to) {
        std::vector<char> out(in.count * size_of(DType(to)));
        ProgramBuilder b(Schedule::kPointwise, {in.count});
        const ValueId x = b.load(b.access(in.bytes.data(), in.dtype, {1}));
        b.store(b.cast(b.cast(x, DType(through)), DType(to)), b.access(out.data(), DType(to), {1}));
        const Program after = simplified(b.program());
        kernels::launch(b.program(), *kernels::make_interpreter(b.program()), b.args());
        const std::vector<char> expected = out;
        out.assign(out.size(), 0);
        kernels::launch(after, *kernels::make_interpreter(after), b.args());
        EXPECT_TRUE(out == expected) << to_text(b.program()) << "became\n" << to_text(after);
        merged += after.body.size() < b.program().body.size();
      }
    }
  }
  EXPECT_GT(merged, 1000);
}

// ---- Levels, effects, arguments.

struct Rows {
  static constexpr int64_t kRows = 3, kLength = 40;
  std::vector<float> x = std::vector<float>(kRows * kLength), row = std::vector<float>(kRows);
  std::vector<float> y = std::vector<float>(kRows * kLength), sums = std::vector<float>(kRows);
  ProgramBuilder b{Schedule::kRow, {kRows}, {kLength}};

  Rows() {
    for (size_t i = 0; i < x.size(); ++i) x[i] = 0.25f * static_cast<float>(i % 17) - 2;
    for (size_t i = 0; i < row.size(); ++i) row[i] = 1.5f + static_cast<float>(i);
  }
  ValueId element() { return b.load(b.access(x.data(), {kLength, 1})); }
  ValueId row_value() { return b.load(b.access(row.data(), {1, 0})); }
  void store_element(ValueId value) { b.store(value, b.access(y.data(), {kLength, 1})); }
  void store_row(ValueId value) { b.store(value, b.access(sums.data(), {1, 0})); }

  Program expect_same_bits() {
    const Program after = simplified(b.program());
    kernels::launch(b.program(), *kernels::make_interpreter(b.program()), b.args());
    const auto expected = std::pair(y, sums);
    y.assign(y.size(), 0);
    sums.assign(sums.size(), 0);
    kernels::launch(after, *kernels::make_interpreter(after), b.args());
    EXPECT_EQ(y, expected.first);
    EXPECT_EQ(sums, expected.second);
    return after;
  }
};

// A row's value, made to vary along it, is what a reduction of a broadcast reduces.
TEST(Simplify, AValueMadeToVaryAlongTheRowKeepsDoingSo) {
  Rows rows;
  const ValueId mask = rows.b.cast(rows.b.coordinate({1, 1}), DType::kBool);
  const ValueId value = rows.row_value();
  const ValueId along = rows.b.op(Op::kWhere, {mask, value, value});
  rows.store_row(rows.b.op(Op::kSum, {rows.b.op(Op::kNeg, {rows.b.op(Op::kNeg, {along})})}));
  const Program after = rows.expect_same_bits();
  EXPECT_EQ(after.body.size(), 5u) << to_text(after);
}

TEST(Simplify, AChoiceThatIsNoneGoesIfItsLevelStays) {
  Rows rows;
  const ValueId x = rows.element(), value = rows.row_value();
  const ValueId mask = rows.b.op(Op::kLess, {x, value});
  const ValueId none = rows.b.op(Op::kWhere, {mask, x, x});
  rows.store_row(rows.b.op(Op::kSum, {none}));
  const Program after = rows.expect_same_bits();
  EXPECT_EQ(after.body.size(), 2u) << to_text(after);
}

TEST(Simplify, WhatIsComputedOnceARowStaysSo) {
  Rows rows;
  const ValueId x = rows.element(), value = rows.row_value();
  const ValueId low = rows.b.op(Op::kMaximum, {value, rows.b.scalar(0.5f)});
  rows.store_element(rows.b.op(Op::kMinimum, {x, low}));
  rows.store_row(rows.b.op(Op::kSum, {x}));
  const Program after = rows.expect_same_bits();
  EXPECT_EQ(after, rows.b.program()) << to_text(after);
}

TEST(Simplify, EqualReductionsAreOne) {
  Rows rows;
  const ValueId x = rows.element();
  const ValueId first = rows.b.op(Op::kSum, {rows.b.op(Op::kMul, {x, x})});
  const ValueId second = rows.b.op(Op::kSum, {rows.b.op(Op::kSquare, {x})});
  rows.store_row(rows.b.op(Op::kSub, {first, rows.b.op(Op::kNeg, {second})}));
  const Program after = rows.expect_same_bits();
  EXPECT_EQ(after.body.size(), 4u) << to_text(after);
}

TEST(Simplify, ChecksOfIndicesStay) {
  for (const bool in_rows : {false, true}) {
    std::vector<int64_t> index = {0, 1, 7, 2};
    std::vector<uint8_t> table = {0, 1, 0};
    std::vector<float> x = {1, 2, 3, 4}, y(4), sums(1);
    ProgramBuilder b = in_rows ? ProgramBuilder(Schedule::kRow, {1}, {4})
                               : ProgramBuilder(Schedule::kPointwise, {1, 4});
    const ValueId v = b.load(b.access(x.data(), {0, 1}));
    const ValueId checked = b.check_index({b.load(b.access(index.data(), {0, 1})), b.param(3)});
    ValueId mask = b.gather(b.access(table.data(), DType::kBool, {0, 0}), {checked});
    if (in_rows) {
      // The check belongs to the second pass over the row, and the choice alone needs that.
      const ValueId sum = b.op(Op::kSum, {v});
      b.store(sum, b.access(sums.data(), {0, 0}));
      const ValueId later = b.cast(b.op(Op::kMul, {sum, v}), DType::kInt64);
      const ValueId again = b.check_index({later, b.param(3)});
      mask = b.op(Op::kLogicalAnd, {mask, b.cast(again, DType::kBool)});
    }
    b.store(b.op(Op::kWhere, {mask, v, v}), b.access(y.data(), {0, 1}));
    const Program after = simplified(b.program());
    EXPECT_LE(after.body.size(), b.program().body.size() - !in_rows) << to_text(after);
    const kernels::KernelArgs args = b.args();
    kernels::launch(after, *kernels::make_interpreter(after), args);
    EXPECT_EQ(y, x);
    EXPECT_EQ(b.error(0).raised, 1u);
    EXPECT_EQ(b.error(0).index, 7);
    if (in_rows) {
      EXPECT_EQ(b.error(1).raised, 1u);
    }
  }
}

// Bodies of any length are accepted, and those of kernels that are made simplified.
TEST(Simplify, LongBodies) {
  for (const int length : {8000, 60000}) {
    std::vector<float> x = {1.5f}, y(1);
    ProgramBuilder b(Schedule::kPointwise, {1});
    ValueId value = b.load(b.access(x.data(), {1}));
    for (int i = 0; i < length; ++i) value = b.op(Op::kNeg, {value});
    b.store(value, b.access(y.data(), {1}));
    const Program after = simplified(b.program());
    if (length == 8000) {
      EXPECT_EQ(after.body.size(), 1u);
    }
  }
}

// ---- Random programs.

class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed)
      : random_(seed),
        schedule_(static_cast<Schedule>(seed % 3)),
        b_(schedule_ == Schedule::kPointwise ? ProgramBuilder(schedule_, {kRows, kLength})
                                             : ProgramBuilder(schedule_, {kRows}, {kLength})) {
    for (int i = 0; i < 3; ++i) dtypes_.push_back(static_cast<DType>(pick(kNumDTypes)));
    dtypes_.push_back(DType::kBool);
    for (DType dtype : dtypes_) {
      inputs_.push_back(awkward(dtype));
      Data& values = inputs_.back();
      // The whole space from few values: cut off in the middle, so that rows differ.
      std::vector<char> all;
      const size_t size = size_of(dtype);
      for (int64_t i = 0; i < 2 * kRows * kLength; ++i) {
        const size_t at = pick(values.count) * size;
        all.insert(all.end(), values.bytes.begin() + at, values.bytes.begin() + at + size);
      }
      values.bytes = all;
      add(b_.load(b_.access(values.bytes.data(), dtype, {kLength, 1})));
      add(b_.load(b_.access(values.bytes.data(), dtype, {kLength, 1}, kRows * kLength)));
      add(b_.load(b_.access(values.bytes.data(), dtype, {1, 0})));
      add(b_.load(b_.access(values.bytes.data(), dtype, {0, 0}, 5)));
    }
    mask_ = b_.cast(b_.coordinate({1, 1}), DType::kBool);
    for (int i = 0; i < 30; ++i) grow();
    outputs_.resize(4);
    for (std::vector<char>& output : outputs_) store(&output);
  }

  const Program& program() const { return b_.program(); }

  // All that `program` writes and raises.
  std::vector<std::vector<char>> run(const Program& program) {
    for (std::vector<char>& output : outputs_) output.assign(output.size(), 0);
    const kernels::KernelArgs args = b_.args();
    kernels::launch(program, *kernels::make_interpreter(program), args);
    std::vector<std::vector<char>> result = outputs_;
    result.emplace_back();
    for (int slot = 0; slot < program.num_error_slots; ++slot) {
      result.back().push_back(b_.error(slot).raised != 0);
    }
    return result;
  }

 private:
  static constexpr int64_t kRows = 5, kLength = 70;

  size_t pick(size_t count) { return random_() % count; }
  void add(ValueId value) { values_.push_back(value); }

  // A value of that dtype, a late one more often; cast from another if there is none.
  ValueId value_of(DType dtype) {
    std::vector<ValueId> found;
    for (ValueId value : values_) {
      if (b_.dtype_of_value(value) == dtype) found.push_back(value);
    }
    if (found.empty() || pick(12) == 0) return b_.cast(values_[pick(values_.size())], dtype);
    return found[std::max(pick(found.size()), pick(found.size()))];
  }

  void grow() {
    static constexpr Op kFavourites[] = {
        Op::kNeg,        Op::kAbs,        Op::kAdd,        Op::kSub,          Op::kMul,
        Op::kDiv,        Op::kWhere,      Op::kLogicalNot, Op::kLogicalAnd,   Op::kLogicalOr,
        Op::kMaximum,    Op::kMinimum,    Op::kLess,       Op::kGreaterEqual, Op::kEqual,
        Op::kNotEqual,   Op::kFloor,      Op::kTrunc,      Op::kSquare,       Op::kRelu,
        Op::kBitwiseNot, Op::kBitwiseAnd, Op::kSign,       Op::kCopySign,     Op::kIsNan,
        Op::kSqrt,       Op::kReciprocal};
    const DType dtype = dtypes_[pick(dtypes_.size())];
    const size_t kind = pick(20);
    if (kind < 4) return add(b_.cast(value_of(dtypes_[pick(dtypes_.size())]), dtype));
    if (kind == 4) return gather();
    if (kind == 5) {
      const ValueId value = value_of(dtype);
      return add(b_.op(Op::kWhere, {mask_, value, value}));
    }
    if (kind == 6 && schedule_ != Schedule::kPointwise) return reduce(dtype);
    const Op op =
        kind < 15 ? kFavourites[pick(std::size(kFavourites))] : static_cast<Op>(pick(kNumOps));
    const OpInfo& info = op_info(op);
    if (info.op_class != OpClass::kPointwise || op == Op::kCast) return;
    const DType typed = info.rule == TypeRule::kFixed ? info.operand_dtype : dtype;
    if (info.rule != TypeRule::kFixed && !in_domain(info.domain, typed)) return;
    ValueId operands[3];
    for (int k = 0; k < info.arity; ++k) {
      const bool is_mask = k == 0 && info.rule == TypeRule::kSelect;
      operands[k] = value_of(is_mask ? DType::kBool : typed);
      if (k > 0 && b_.dtype_of_value(operands[0]) == typed && pick(4) == 0)
        operands[k] = operands[0];
    }
    add(info.arity == 1   ? b_.op(op, {operands[0]})
        : info.arity == 2 ? b_.op(op, {operands[0], operands[1]})
                          : b_.op(op, {operands[0], operands[1], operands[2]}));
  }

  void gather() {
    const size_t input = pick(inputs_.size());
    const ValueId index = b_.check_index({value_of(DType::kInt64), b_.param(1 + pick(40))});
    add(b_.gather(b_.access(inputs_[input].bytes.data(), inputs_[input].dtype, {0, 0}), {index}));
  }

  void reduce(DType dtype) {
    const Op op = static_cast<Op>(static_cast<int>(Op::kSum) + pick(8));
    ValueId value = value_of(dtype);
    if (b_.level_of_value(value) != Level::kElement) add(value = b_.op(Op::kExpand, {value}));
    if (!is_arg_reduction(op) && !in_domain(op_info(op).domain, dtype)) return;
    add(b_.op(op, {value}));
  }

  void store(std::vector<char>* output) {
    const ValueId value = values_[values_.size() - 1 - pick(12)];
    const DType dtype = b_.dtype_of_value(value);
    output->resize(kRows * kLength * size_of(dtype));
    const bool along = schedule_ == Schedule::kPointwise ||
                       b_.level_of_value(value) == Level::kElement || pick(4) == 0;
    b_.store(value,
             b_.access(output->data(), dtype,
                       along ? std::vector<int64_t>{kLength, 1} : std::vector<int64_t>{1, 0}));
  }

  std::mt19937 random_;
  const Schedule schedule_;
  ProgramBuilder b_;
  std::vector<DType> dtypes_;
  std::vector<Data> inputs_;
  std::vector<ValueId> values_;
  ValueId mask_ = kNoValue;
  std::vector<std::vector<char>> outputs_;
};

TEST(Simplify, RandomProgramsKeepTheirBits) {
  size_t before = 0, after = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    RandomProgram random(seed);
    ASSERT_TRUE(verify(random.program()).ok()) << verify(random.program());
    const Program simple = simplified(random.program());
    ASSERT_TRUE(random.run(random.program()) == random.run(simple))
        << "seed " << seed << "\n"
        << to_text(random.program()) << "became\n"
        << to_text(simple);
    simplified(random.program(), /*fast_math=*/true);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    before += random.program().body.size();
    after += simple.body.size();
  }
  EXPECT_LT(after, before);
}

// ---- Fast math.

// Expects each formula to become the other, with about the same values for moderate x, y and z.
void expect_close(DType dtype, double tolerance, const std::vector<Case>& cases) {
  Formula formula(dtype);
  for (const Case& c : cases) {
    SCOPED_TRACE(absl::StrCat(sluice::name_of(dtype), ": ", c.text));
    ProgramBuilder b = formula.build(c.text);
    const Program exact = simplified(b.program());
    const Program fast = simplified(b.program(), /*fast_math=*/true);
    EXPECT_EQ(formula.text_of(fast), c.expected);
    const std::vector<char> expected = formula.run(exact, b.args());
    const std::vector<char> actual = formula.run(fast, b.args());
    visit_dtype(dtype, [&]<typename T>() {
      for (size_t i = 0; i < actual.size(); i += sizeof(T)) {
        T want, got;
        std::copy_n(expected.begin() + i, sizeof(T), reinterpret_cast<char*>(&want));
        std::copy_n(actual.begin() + i, sizeof(T), reinterpret_cast<char*>(&got));
        const double a = static_cast<double>(want), e = static_cast<double>(got);
        // Where the exact form neither overflows nor vanishes in between.
        if (!(std::abs(a) > 1e-3 && std::abs(a) < 1e3)) continue;
        ASSERT_NEAR(e, a, tolerance * std::abs(a));
      }
    });
  }
}

TEST(Simplify, FastMath) {
  const std::vector<Case> cases = {{"mul(x, tanh(log1p(exp(x))))", "mish(x)"},
                                   {"mul(tanh(softplus(x)), x)", "mish(x)"},
                                   {"mul(y, tanh(softplus(x)))", "mul(y, tanh(softplus(x)))"},
                                   {"log1p(exp(x))", "softplus(x)"},
                                   {"mul(sigmoid(x), x)", "silu(x)"},
                                   {"mul(sigmoid(x), y)", "mul(sigmoid(x), y)"},
                                   {"mul(exp(x), exp(y))", "exp(add(x, y))"},
                                   {"reciprocal(sqrt(x))", "rsqrt(x)"},
                                   {"div(x, y)", "div(x, y)"},
                                   {"div(x, sqrt(y))", "div(x, sqrt(y))"}};
  expect_close(DType::kFloat32, 1e-5, cases);
  expect_close(DType::kFloat64, 1e-13, cases);
  expect_close(DType::kBFloat16, 0.05, cases);
  const std::vector<Case> hoisted = {{"div(x, u)", "mul(x, reciprocal(u))"},
                                     {"div(x, sqrt(u))", "mul(x, rsqrt(u))"},
                                     {"div(u, u)", "div(u, u)"},
                                     {"div(u, x)", "div(u, x)"}};
  expect_close(DType::kFloat32, 1e-6, hoisted);
  expect_close(DType::kFloat16, 0.01, {{"div(x, u)", "div(x, u)"}});
}

TEST(Simplify, FastMathKeepsWhatElseIsNeeded) {
  std::vector<float> x = {0.5f, 1, -2}, y(3), z(3);
  const auto build =
      [&](const std::function<std::pair<ValueId, ValueId>(ProgramBuilder&, ValueId)>& make) {
        ProgramBuilder b(Schedule::kPointwise, {3});
        const auto [first, second] = make(b, b.load(b.access(x.data(), {1})));
        b.store(first, b.access(y.data(), {1}));
        b.store(second, b.access(z.data(), {1}));
        return b.program();
      };
  const Program stored_sigmoid = build([](ProgramBuilder& b, ValueId v) {
    const ValueId s = b.op(Op::kSigmoid, {v});
    return std::pair(s, b.op(Op::kMul, {v, s}));
  });
  EXPECT_EQ(simplified(stored_sigmoid, true), stored_sigmoid);
  const Program stored_exp = build([](ProgramBuilder& b, ValueId v) {
    const ValueId e = b.op(Op::kExp, {v});
    return std::pair(e, b.op(Op::kMul, {e, b.op(Op::kExp, {b.op(Op::kSin, {v})})}));
  });
  EXPECT_EQ(simplified(stored_exp, true), stored_exp);
  // The logarithm and the hyperbolic tangent go all the same.
  const Program mish_beside_exp = simplified(build([](ProgramBuilder& b, ValueId v) {
                                               const ValueId e = b.op(Op::kExp, {v});
                                               const ValueId t =
                                                   b.op(Op::kTanh, {b.op(Op::kLog1p, {e})});
                                               return std::pair(e, b.op(Op::kMul, {v, t}));
                                             }),
                                             true);
  EXPECT_EQ(mish_beside_exp.body.size(), 3u) << to_text(mish_beside_exp);
}

}  // namespace
}  // namespace sluice::fusion
