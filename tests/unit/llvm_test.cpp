// Compiled kernels against plain loops that follow kernels/reduction.h and fusion/ir/program.h: bit
// for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "kernels/compiled/compiler.h"
#include "kernels/math/functions.h"
#include "kernels/reduction.h"
#include "tests/support/program_builder.h"
#include "tests/support/reduction_tree.h"
#include "tests/support/strange_floats.h"

namespace sluice::kernels {
namespace {

namespace m = math;
using fusion::Op;
using fusion::Program;
using fusion::Schedule;
using testing::floats;
using testing::kInf;
using testing::kNan;
using testing::ProgramBuilder;
using testing::strange_floats;

class LlvmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!llvm_available()) GTEST_SKIP() << "built without LLVM";
  }
};

std::shared_ptr<const Executable> compile(const Program& program) {
  const absl::Status status = fusion::verify(program);
  EXPECT_TRUE(status.ok()) << status << "\n" << fusion::to_text(program);
  auto made = compile_llvm(program);
  EXPECT_TRUE(made.ok()) << made.status() << "\n" << fusion::to_text(program);
  return made.ok() ? *made : nullptr;
}

int64_t product(const int64_t* begin, const int64_t* end) {
  int64_t result = 1;
  for (; begin != end; ++begin) result *= *begin;
  return result;
}

// All rows, in one call or in pieces that begin and end anywhere.
void run_rows(ProgramBuilder& b, int64_t piece = 0) {
  const auto kernel = compile(b.program());
  ASSERT_NE(kernel, nullptr);
  const KernelArgs args = b.args();
  const int64_t rows = product(args.extents, args.extents + b.program().outer_rank);
  if (piece == 0) piece = rows;
  for (int64_t begin = 0; begin < rows; begin += piece) {
    kernel->entry().rows(kernel->context(), &args, begin, std::min(rows, begin + piece));
  }
}

// The same by blocks, the last ones first.
void run_blocks(ProgramBuilder& b, int64_t piece) {
  const auto kernel = compile(b.program());
  ASSERT_NE(kernel, nullptr);
  ASSERT_NE(kernel->entry().block, nullptr);
  const KernelArgs args = b.args();
  const Program& program = b.program();
  const int64_t rows = product(args.extents, args.extents + program.outer_rank);
  const int64_t reduced = product(args.extents + program.outer_rank, args.extents + program.rank());
  const int64_t blocks = num_blocks(program.schedule, reduced);
  int64_t reductions = 0;
  for (const fusion::Instr& instr : program.body) reductions += is_reduction(instr.op);
  for (int64_t begin = 0; begin < rows; begin += piece) {
    const int64_t end = std::min(rows, begin + piece);
    const int64_t words = 2 * reductions * (end - begin) + 3;
    std::vector<int64_t> partials(blocks * words, -1);
    for (int64_t i = blocks; i-- > 0;) {
      const int64_t first = i * block_size(program.schedule);
      kernel->entry().block(kernel->context(), &args, begin, end, first,
                            std::min(reduced, first + block_size(program.schedule)),
                            &partials[i * words]);
    }
    kernel->entry().finish(kernel->context(), &args, begin, end, blocks, partials.data(),
                           8 * words);
  }
}

template <typename T>
std::vector<uint64_t> bits_of(const std::vector<T>& values) {
  std::vector<uint64_t> bits(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    T value = values[i];
    if constexpr (std::is_floating_point_v<T>) value = m::canonical_nan(value);
    std::memcpy(&bits[i], &value, sizeof(T));
  }
  return bits;
}
// `actual` may have no NaN but the canonical one.
template <typename T>
void expect_bits(const std::vector<T>& actual, const std::vector<T>& expected,
                 const std::string& what = "") {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  const auto want = bits_of(expected);
  for (size_t i = 0; i < actual.size(); ++i) {
    uint64_t got = 0;
    std::memcpy(&got, &actual[i], sizeof(T));
    ASSERT_EQ(got, want[i]) << what << " at " << i << ": " << +actual[i] << " not " << +expected[i];
  }
}

// A vector's element type for values of type T.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// ---- Pointwise.

TEST_F(LlvmTest, TailsTouchNothingElse) {
  for (int64_t n = 0; n <= 70; ++n) {
    const std::vector<float> x = strange_floats(n + 1);
    std::vector<float> y(n + 64, -7.f), expected(n + 64, -7.f);
    for (int64_t i = 0; i < n; ++i) expected[i] = x[i] * 2.5f + x[i];
    for (const int64_t piece : {0, 1, 7, 33}) {
      ProgramBuilder b(Schedule::kPointwise, {n});
      const auto v = b.load(b.access(const_cast<float*>(x.data()), {1}));
      b.store(b.op(Op::kAdd, {b.op(Op::kMul, {v, b.scalar(2.5f)}), v}), b.access(y.data(), {1}));
      run_rows(b, piece);
      expect_bits(y, expected, "n = " + std::to_string(n));
    }
  }
}

TEST_F(LlvmTest, EveryStrideClassOfEveryType) {
  auto check = [&]<typename T>() {
    constexpr int64_t kN = 45;
    for (const int64_t stride : {0, 1, -1, 3, -2}) {
      for (const bool general : {false, true}) {
        for (const int64_t out_stride : {1, 2, -1}) {
          std::vector<T> x(4 * kN), y(4 * kN, T(0)), expected(4 * kN, T(0));
          for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i % 251 * (i % 3));
          const int64_t offset = stride < 0 ? -stride * kN : 2;
          const int64_t out_offset = out_stride < 0 ? kN : 1;
          ProgramBuilder b(Schedule::kPointwise, {kN});
          b.store(b.load(b.access(x.data(), dtype_of<T>(), {stride}, offset, general)),
                  b.access(y.data(), {out_stride}, out_offset));
          run_rows(b);
          for (int64_t i = 0; i < kN; ++i) {
            expected[out_offset + i * out_stride] = x[offset + i * stride];
          }
          ASSERT_EQ(0, std::memcmp(y.data(), expected.data(), y.size() * sizeof(T)))
              << name_of(dtype_of<T>()) << " " << stride << " " << out_stride;
        }
      }
    }
  };
  for (const DType dtype : {DType::kInt8, DType::kUInt16, DType::kInt32, DType::kInt64,
                            DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    visit_dtype(dtype, [&]<typename T>() {
      if constexpr (!std::is_same_v<T, bool>) check.template operator()<T>();
    });
  }
}

TEST_F(LlvmTest, BroadcastsInThreeDims) {
  const int64_t extents[] = {3, 5, 37};
  std::vector<float> full = floats(3 * 5 * 37), row = floats(37, 2), column = floats(15, 3);
  std::vector<float> flipped = floats(3 * 5 * 37, 4);
  for (const int64_t piece : {0, 1, 40, 100}) {
    std::vector<float> y(full.size()), expected(full.size());
    ProgramBuilder b(Schedule::kPointwise, {3, 5, 37});
    const auto a0 = b.load(b.access(full.data(), {185, 37, 1}));
    const auto a1 = b.load(b.access(row.data(), {0, 0, 1}));
    const auto a2 = b.load(b.access(column.data(), {5, 1, 0}));
    const auto a3 = b.load(b.access(flipped.data(), {-185, 37, -1}, 2 * 185 + 36));
    const auto hoisted = b.op(Op::kMul, {a2, b.scalar(3.f)});
    b.store(b.op(Op::kAdd, {b.op(Op::kAdd, {b.op(Op::kMul, {a0, a1}), hoisted}), a3}),
            b.access(y.data(), {185, 37, 1}));
    run_rows(b, piece);
    for (int64_t i = 0; i < extents[0]; ++i) {
      for (int64_t j = 0; j < extents[1]; ++j) {
        for (int64_t k = 0; k < extents[2]; ++k) {
          const float sum = full[i * 185 + j * 37 + k] * row[k] + column[i * 5 + j] * 3.f;
          expected[i * 185 + j * 37 + k] = sum + flipped[(2 - i) * 185 + j * 37 + 36 - k];
        }
      }
    }
    expect_bits(y, expected, "piece " + std::to_string(piece));
  }
}

TEST_F(LlvmTest, PredicatesGuardMemory) {
  constexpr int64_t kN = 77;
  // A padded copy: y[i] = 10 <= i < 50 ? x[i - 10] : 0. What lies outside is not mapped.
  float nowhere = 0;
  std::vector<float> x = floats(40), y(kN, 1.f), z(kN, 1.f), expected(kN, 0.f);
  for (const int64_t stride : {1, -1}) {
    ProgramBuilder b(Schedule::kPointwise, {kN});
    const auto i = b.coordinate({1});
    const auto inside = b.op(Op::kLogicalAnd, {b.op(Op::kLessEqual, {b.scalar(int64_t{10}), i}),
                                               b.op(Op::kLess, {i, b.param(50)})});
    const int64_t offset = stride == 1 ? -10 : 49;
    b.store(b.load(b.access(x.data(), {stride}, offset), {inside}), b.access(y.data(), {1}));
    // A predicate that nowhere holds, over an address that is nowhere valid.
    const auto never = b.op(Op::kLess, {i, b.scalar(int64_t{0})});
    b.store(b.load(b.access(&nowhere, {0}, int64_t{1} << 44), {never}), b.access(z.data(), {1}));
    run_rows(b);
    for (int64_t k = 10; k < 50; ++k) expected[k] = x[offset + k * stride];
    expect_bits(y, expected);
    expect_bits(z, std::vector<float>(kN, 0.f));
  }
}

TEST_F(LlvmTest, RunsAreCutAtBounds) {
  // y[i] = i < first ? x[i] : i < second ? z[i - first] : 3, past the caches or not, where a vector
  // may begin or not.
  constexpr int64_t kN = 96;
  const std::vector<float> x = floats(kN), z = floats(2 * kN);
  alignas(64) float memory[kN + 1];
  struct Way {
    bool nontemporal, runs_cut_lines;
  };
  for (const Way way : {Way{false, false}, Way{true, false}, Way{true, true}}) {
    float* const y = memory + way.runs_cut_lines;
    for (const int64_t first : {-3, 1, 16, 40, 96}) {
      for (const int64_t gap : {0, 2, 16, 33, 90}) {
        const int64_t second = first + gap;
        ProgramBuilder b(Schedule::kPointwise, {kN});
        const auto i = b.coordinate({1});
        const auto in_first = b.op(Op::kLess, {i, b.param(first)});
        const auto in_second = b.op(Op::kLogicalAnd, {b.op(Op::kLessEqual, {b.param(first), i}),
                                                      b.op(Op::kLess, {i, b.param(second)})});
        const auto from_x = b.load(b.access(const_cast<float*>(x.data()), {1}), {in_first});
        const auto from_z =
            b.load(b.access(const_cast<float*>(z.data()), {1}, -first), {in_second});
        const auto rest = b.op(Op::kWhere, {in_second, from_z, b.scalar(3.f)});
        b.store(b.op(Op::kWhere, {in_first, from_x, rest}), b.access(y, {1}));
        b.program().nontemporal = way.nontemporal;
        b.program().runs_cut_lines = way.runs_cut_lines;
        for (const int64_t piece : {kN, int64_t{32}}) {
          std::fill_n(y, kN, -7.f);
          run_rows(b, piece);
          std::vector<float> expected(kN, 3.f);
          for (int64_t k = 0; k < kN; ++k) {
            if (k < first)
              expected[k] = x[k];
            else if (k < second)
              expected[k] = z[k - first];
          }
          expect_bits(std::vector<float>(y, y + kN), expected,
                      std::to_string(first) + " " + std::to_string(second));
        }
      }
    }
  }
}

TEST_F(LlvmTest, GathersAndRaises) {
  constexpr int64_t kN = 41;
  const std::vector<float> table = floats(9);
  for (const int64_t bad : {-1, 0, 17, 40}) {
    std::vector<int64_t> index(kN + 30, 1000);  // beyond the end all would be out of range
    for (int64_t i = 0; i < kN; ++i) index[i] = i % 18 - 9;
    if (bad >= 0) index[bad] = bad % 2 == 0 ? 9 : -10;
    std::vector<float> y(kN);
    ProgramBuilder b(Schedule::kPointwise, {kN});
    const auto checked = b.check_index({b.load(b.access(index.data(), {1})), b.param(9)});
    const auto from = b.access(const_cast<float*>(table.data()), {0});
    b.store(b.gather(from, {checked}), b.access(y.data(), {1}));
    const auto kernel = compile(b.program());
    ASSERT_NE(kernel, nullptr);
    const KernelArgs args = b.args();
    kernel->entry().rows(kernel->context(), &args, 0, kN);
    EXPECT_EQ(b.error(0).raised, bad >= 0 ? 1u : 0u);
    if (bad >= 0) {
      EXPECT_EQ(b.error(0).index, index[bad]);
      EXPECT_EQ(b.error(0).extent, 9);
    }
    for (int64_t i = 0; i < kN; ++i) {
      const int64_t at = i == bad ? 0 : index[i] < 0 ? index[i] + 9 : index[i];
      EXPECT_EQ(y[i], table[at]);
    }
  }
}

TEST_F(LlvmTest, PredicateOfCheckKeepsItQuiet) {
  constexpr int64_t kN = 20;
  std::vector<int64_t> index(kN, 99);
  std::vector<int16_t> table = {5, 6, 7}, y(kN, -1);
  ProgramBuilder b(Schedule::kPointwise, {kN});
  const auto i = b.load(b.access(index.data(), {1}));
  const auto wanted = b.op(Op::kLess, {i, b.scalar(int64_t{3})});
  const auto checked = b.check_index({i, b.param(3), wanted});
  b.store(b.gather(b.access(table.data(), {0}), {checked, wanted}), b.access(y.data(), {1}));
  index[3] = 2;
  run_rows(b);
  EXPECT_EQ(b.error(0).raised, 0u);
  for (int64_t k = 0; k < kN; ++k) EXPECT_EQ(y[k], k == 3 ? 7 : 0);
}

template <typename Half>
void check_half() {
  std::vector<float> x = strange_floats(301);
  std::vector<Half> h(x.size()), y(x.size()), z(x.size());
  for (size_t i = 0; i < x.size(); ++i) h[i] = Half(x[i] * (i % 7 == 0 ? 1e-6f : 1.f));
  h[1].bits |= 0x7fff;  // a NaN with a payload
  const int64_t n = x.size();
  const Half factor(1.7f);
  ProgramBuilder b(Schedule::kPointwise, {n});
  const auto v = b.load(b.access(h.data(), {1}));
  const auto product = b.op(Op::kMul, {v, b.scalar(factor)});
  b.store(b.op(Op::kAdd, {product, v}), b.access(y.data(), {1}));
  b.store(b.cast(b.load(b.access(x.data(), {1})), dtype_of<Half>()), b.access(z.data(), {1}));
  run_rows(b);
  for (int64_t i = 0; i < n; ++i) {
    const Half rounded(float(h[i]) * float(factor));
    EXPECT_EQ(y[i].bits, Half(float(rounded) + float(h[i])).bits) << i << " " << float(h[i]);
    EXPECT_EQ(z[i].bits, Half(x[i]).bits) << i << " " << x[i];
  }
}
TEST_F(LlvmTest, Float16RoundsAfterEveryInstruction) { check_half<float16>(); }
TEST_F(LlvmTest, BFloat16RoundsAfterEveryInstruction) { check_half<bfloat16>(); }

TEST_F(LlvmTest, MixedTypesAndBoolOutputs) {
  constexpr int64_t kN = 53;
  const std::vector<float> x = strange_floats(kN);
  std::vector<int8_t> small(kN), flags(kN), less(kN);
  for (int64_t i = 0; i < kN; ++i) {
    small[i] = static_cast<int8_t>(7 * i);
    flags[i] = static_cast<int8_t>(i % 4);  // any nonzero byte is true
  }
  std::vector<double> wide(kN), wide_expected(kN);
  std::vector<int64_t> whole(kN), whole_expected(kN);
  ProgramBuilder b(Schedule::kPointwise, {kN});
  const auto v = b.load(b.access(const_cast<float*>(x.data()), {1}));
  const auto i8 = b.load(b.access(small.data(), {1}));
  const auto flag = b.load(b.access(flags.data(), DType::kBool, {1}));
  const auto d = b.cast(v, DType::kFloat64);
  b.store(b.op(Op::kAdd, {d, b.cast(i8, DType::kFloat64)}), b.access(wide.data(), {1}));
  b.store(b.op(Op::kWhere, {flag, b.cast(v, DType::kInt64), b.cast(i8, DType::kInt64)}),
          b.access(whole.data(), {1}));
  b.store(b.op(Op::kLess, {v, b.scalar(1.f)}), b.access(less.data(), DType::kBool, {1}));
  run_rows(b);
  for (int64_t i = 0; i < kN; ++i) {
    wide_expected[i] = double{x[i]} + small[i];
    whole_expected[i] = flags[i] != 0 ? m::cast<int64_t>(x[i]) : small[i];
    EXPECT_EQ(less[i], x[i] < 1.f ? 1 : 0);
  }
  expect_bits(wide, wide_expected);
  expect_bits(whole, whole_expected);
}

TEST_F(LlvmTest, CoordinatesAndUniformValues) {
  std::vector<int64_t> y(6 * 19);
  ProgramBuilder b(Schedule::kPointwise, {6, 19});
  const auto at = b.coordinate({100, -3}, 7);
  const auto uniform = b.op(Op::kMul, {b.param(5), b.scalar(int64_t{11})});
  const auto row = b.coordinate({1000, 0});
  b.store(b.op(Op::kAdd, {b.op(Op::kAdd, {at, uniform}), row}), b.access(y.data(), {19, 1}));
  run_rows(b, 25);
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t j = 0; j < 19; ++j) EXPECT_EQ(y[i * 19 + j], 1100 * i - 3 * j + 7 + 55);
  }
}

TEST_F(LlvmTest, LibraryFunctionsInVectorsAndScalars) {
  constexpr int64_t kN = 37;
  const std::vector<float> x = floats(kN);
  float phase = 0.75f;
  std::vector<float> y(kN), expected(kN);
  ProgramBuilder b(Schedule::kPointwise, {kN});
  const auto v = b.load(b.access(const_cast<float*>(x.data()), {1}));
  const auto angle = b.op(Op::kSin, {b.load(b.access(&phase, {0}))});
  b.store(b.op(Op::kAtan2, {b.op(Op::kCos, {v}), angle}), b.access(y.data(), {1}));
  run_rows(b);
  for (int64_t i = 0; i < kN; ++i) expected[i] = m::atan2(m::cos(x[i]), m::sin(phase));
  expect_bits(y, expected);
}

// Vectors of small angles, of great ones, and of both have code of their own.
TEST_F(LlvmTest, AnglesOfEverySize) {
  constexpr int64_t kN = 32 * 5 + 3;
  std::vector<float> x = floats(kN);
  for (int64_t i = 0; i < kN; ++i) {
    const int64_t vector = i / 32;
    if (vector == 1 || (vector == 2 && i % 5 == 0)) x[i] *= 0x1.234p17f;
    if (vector == 3 && i % 3 == 0) x[i] *= 0x1.234p40f;
  }
  std::vector<float> sines(kN), cosines(kN), tangents(kN);
  std::vector<float> expected[3];
  ProgramBuilder b(Schedule::kPointwise, {kN});
  const auto v = b.load(b.access(x.data(), {1}));
  b.store(b.op(Op::kSin, {v}), b.access(sines.data(), {1}));
  b.store(b.op(Op::kCos, {v}), b.access(cosines.data(), {1}));
  b.store(b.op(Op::kTan, {v}), b.access(tangents.data(), {1}));
  run_rows(b);
  for (const float angle : x) {
    expected[0].push_back(m::sin(angle));
    expected[1].push_back(m::cos(angle));
    expected[2].push_back(m::tan(angle));
  }
  expect_bits(sines, expected[0]);
  expect_bits(cosines, expected[1]);
  expect_bits(tangents, expected[2]);
}

// Every pointwise op for every compute type, against the same expression over plain numbers.
TEST_F(LlvmTest, EveryOpEveryType) {
  constexpr int64_t kN = 99;
  auto check = [&]<typename T>(Op op, int arity, auto expression, bool select) {
    std::vector<Stored<T>> in[3];
    for (int k = 0; k < 3; ++k) {
      in[k].resize(kN);
      const std::vector<float> source = k == 0 ? strange_floats(kN) : floats(kN, 5 + k);
      for (int64_t i = 0; i < kN; ++i) {
        in[k][i] = m::cast<T>(k > 0 && i % 5 == 0 ? 0.f : k > 0 && i % 7 == 0 ? -1.f : source[i]);
      }
    }
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      in[0][1] = std::numeric_limits<T>::min(), in[1][1] = static_cast<T>(-1);
    }
    std::vector<int8_t> masks(kN);
    for (int64_t i = 0; i < kN; ++i) masks[i] = i % 3 == 0;
    using R = decltype(expression(std::declval<T>(), T(), T(), bool()));
    std::vector<Stored<R>> y(kN), expected(kN);
    ProgramBuilder b(Schedule::kPointwise, {kN});
    auto operand = [&](int k) {
      if (k == 0 && select) return b.load(b.access(masks.data(), DType::kBool, {1}));
      return b.load(b.access(in[k].data(), dtype_of<T>(), {1}));
    };
    const auto v0 = operand(0);
    const auto v1 = arity > 1 ? operand(1) : v0;
    const auto v2 = arity > 2 ? operand(2) : v0;
    const auto v = arity == 1   ? b.op(op, {v0})
                   : arity == 2 ? b.op(op, {v0, v1})
                                : b.op(op, {v0, v1, v2});
    ASSERT_EQ(b.dtype_of_value(v), dtype_of<R>());
    b.store(v, b.access(y.data(), dtype_of<R>(), {1}));
    run_rows(b);
    for (int64_t i = 0; i < kN; ++i) {
      expected[i] = expression(in[0][i], in[1][i], in[2][i], masks[i] != 0);
    }
    expect_bits(y, expected, std::string(name_of(op)) + " " + std::string(name_of(dtype_of<T>())));
  };
  auto each_type = [&](fusion::Domain domain, auto call) {
    for (int t = 0; t < kNumDTypes; ++t) {
      visit_dtype(static_cast<DType>(t), [&]<typename T>() {
        if constexpr (std::is_arithmetic_v<T>) {
          if (fusion::in_domain(domain, dtype_of<T>())) call.template operator()<T>();
        }
      });
    }
  };
  (void)check, (void)each_type;
#define SLUICE_POINTWISE(id, name, arity, rule, domain, ...)                        \
  each_type(fusion::domain, [&]<typename T>() {                                     \
    if constexpr (fusion::in_domain(fusion::domain, dtype_of<T>())) {               \
      constexpr bool kSelect = fusion::TypeRule::rule == fusion::TypeRule::kSelect; \
      using A = std::conditional_t<kSelect, bool, T>;                               \
      using V [[maybe_unused]] = T;                                                 \
      check.template operator()<T>(                                                 \
          Op::k##id, arity,                                                         \
          []([[maybe_unused]] T first, [[maybe_unused]] T b, [[maybe_unused]] T c,  \
             [[maybe_unused]] bool mask) {                                          \
            A a;                                                                    \
            if constexpr (kSelect)                                                  \
              a = mask;                                                             \
            else                                                                    \
              a = first;                                                            \
            return (__VA_ARGS__);                                                   \
          },                                                                        \
          kSelect);                                                                 \
    }                                                                               \
  });
#include "fusion/ir/ops.def"
}

TEST_F(LlvmTest, RandomBits) {
  constexpr int64_t kN = 40;
  std::vector<uint64_t> bits(kN), bits_expected(kN);
  std::vector<float> normal(kN), normal_expected(kN);
  ProgramBuilder b(Schedule::kPointwise, {kN});
  const auto index = b.cast(b.coordinate({1}), DType::kUInt64);
  const auto philox = b.op(Op::kPhilox, {index, b.scalar(uint64_t{42}), b.scalar(uint64_t{7})});
  b.store(philox, b.access(bits.data(), {1}));
  b.store(b.op(Op::kNormalF32, {philox}), b.access(normal.data(), {1}));
  run_rows(b);
  for (int64_t i = 0; i < kN; ++i) {
    bits_expected[i] = m::philox_low<uint64_t>(i, 42, 7);
    normal_expected[i] = m::normal_f32(bits_expected[i]);
  }
  expect_bits(bits, bits_expected);
  expect_bits(normal, normal_expected);
}

// ---- Reductions.

template <typename T>
struct SumOf {
  static T identity() { return m::sum_identity<T>(); }
  static T combine(T a, T b) { return m::add(a, b); }
};
template <typename T>
struct MaxOf {
  static T identity() { return m::lowest<T>(); }
  static T combine(T a, T b) { return m::maximum(a, b); }
};
template <typename T>
struct ProdOf {
  static T identity() { return T(1); }
  static T combine(T a, T b) { return m::mul(a, b); }
};

template <typename R, typename T>
T reduce(Schedule schedule, const std::vector<T>& row) {
  const int64_t n = row.size();
  const int64_t size = fusion::leaf_size(schedule);
  auto leaf = [&](int64_t i) {
    T lanes[kLanes];
    std::fill(lanes, lanes + kLanes, R::identity());
    for (int64_t r = i * size; r < std::min(n, (i + 1) * size); ++r) {
      T& lane = lanes[schedule == Schedule::kRow ? r % kLanes : 0];
      lane = R::combine(lane, row[r]);
    }
    if (schedule == Schedule::kRow) {
      for (int64_t half = kLanes / 2; half >= 1; half /= 2) {
        for (int64_t l = 0; l < half; ++l) lanes[l] = R::combine(lanes[l], lanes[l + half]);
      }
    }
    return lanes[0];
  };
  return test::reduce_tree(0, std::max<int64_t>(1, (n + size - 1) / size), leaf, R::combine);
}

int64_t argmax(const std::vector<float>& row) {
  int64_t best = 0;
  for (size_t r = 1; r < row.size(); ++r) {
    if (row[r] > row[best] || (row[r] != row[r] && row[best] == row[best])) best = r;
  }
  return best;
}

const int64_t kExtents[] = {0,   1,   15,   16,   17,   31,   32,   33,   47,   511,
                            512, 513, 1025, 1537, 4097, 8191, 8192, 8193, 20000};

// Sum, product, max, argmax and argmin of the same rows at once.
void check_reductions(Schedule schedule, int64_t rows, int64_t reduced, bool strange) {
  const std::vector<float> x =
      strange ? strange_floats(rows * reduced + 1) : floats(rows * reduced + 1);
  std::vector<int64_t> whole(rows * reduced + 1);
  for (size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<int64_t>(i % 13) - 5;
  std::vector<float> sum, top;
  std::vector<int64_t> product, first;
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<float> row(reduced);
    std::vector<int64_t> whole_row(reduced);
    for (int64_t r = 0; r < reduced; ++r) {
      const int64_t at = schedule == Schedule::kRow ? i * reduced + r : r * rows + i;
      row[r] = x[at];
      whole_row[r] = whole[at];
    }
    sum.push_back(reduced == 0 ? 0.f : reduce<SumOf<float>>(schedule, row));
    top.push_back(reduce<MaxOf<float>>(schedule, row));
    product.push_back(reduce<ProdOf<int64_t>>(schedule, whole_row));
    first.push_back(argmax(row));
  }
  const int64_t along = schedule == Schedule::kRow ? reduced : 1;
  const int64_t across = schedule == Schedule::kRow ? 1 : rows;
  for (const int64_t piece : {int64_t{0}, int64_t{3}, -rows, int64_t{-2}}) {
    std::vector<float> sums(rows), tops(rows);
    std::vector<int64_t> products(rows), firsts(rows);
    ProgramBuilder b(schedule, {rows}, {reduced});
    const auto v = b.load(b.access(const_cast<float*>(x.data()), {along, across}));
    const auto w = b.load(b.access(whole.data(), {along, across}));
    b.store(b.op(Op::kSum, {v}), b.access(sums.data(), {1, 0}));
    b.store(b.op(Op::kArgMax, {v}), b.access(firsts.data(), {1, 0}));
    b.store(b.op(Op::kProd, {w}), b.access(products.data(), {1, 0}));
    b.store(b.op(Op::kMax, {v}), b.access(tops.data(), {1, 0}));
    if (piece < 0)
      run_blocks(b, -piece);
    else
      run_rows(b, piece);
    const std::string what = "reduced " + std::to_string(reduced) + " rows " +
                             std::to_string(rows) + " piece " + std::to_string(piece);
    expect_bits(sums, sum, what);
    expect_bits(tops, top, what);
    expect_bits(products, product, what);
    if (reduced > 0) expect_bits(firsts, first, what);
  }
}

TEST_F(LlvmTest, RowReductions) {
  for (const int64_t reduced : kExtents) {
    check_reductions(Schedule::kRow, reduced > 5000 ? 3 : 7, reduced, false);
    check_reductions(Schedule::kRow, 4, reduced, true);
  }
}

TEST_F(LlvmTest, ColumnReductions) {
  for (const int64_t reduced : kExtents) {
    check_reductions(Schedule::kColumn, reduced > 5000 ? 5 : 83, reduced, false);
    check_reductions(Schedule::kColumn, 19, reduced, true);
  }
}

TEST_F(LlvmTest, ArgReductionsOfEqualsTakeTheFirst) {
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    for (const float value : {-kInf, kInf, kNan, 0.f}) {
      std::vector<float> x(3 * 100, value);
      std::vector<int64_t> most(3, -1), least(3, -1);
      const bool by_row = schedule == Schedule::kRow;
      ProgramBuilder b(schedule, {3}, {100});
      const auto v = b.load(b.access(x.data(), {by_row ? 100 : 1, by_row ? 1 : 3}));
      b.store(b.op(Op::kArgMax, {v}), b.access(most.data(), {1, 0}));
      b.store(b.op(Op::kArgMin, {v}), b.access(least.data(), {1, 0}));
      run_rows(b);
      EXPECT_THAT(most, ::testing::Each(0)) << value;
      EXPECT_THAT(least, ::testing::Each(0)) << value;
    }
  }
}

TEST_F(LlvmTest, SeveralReducedDimsAreOneRow) {
  constexpr int64_t kInner = 7, kMiddle = 5, kOuter = 33, kRows = 3;
  constexpr int64_t kReduced = kInner * kMiddle * kOuter;
  const std::vector<float> x = floats(kRows * kReduced);
  std::vector<float> weights = floats(kMiddle, 9);
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    std::vector<float> expected, sums(kRows);
    for (int64_t i = 0; i < kRows; ++i) {
      std::vector<float> row;
      for (int64_t j = 0; j < kOuter; ++j) {
        for (int64_t k = 0; k < kMiddle; ++k) {
          for (int64_t l = 0; l < kInner; ++l) {
            // Laid out (outer, row, inner, middle).
            const float at = x[((j * kRows + i) * kInner + l) * kMiddle + k];
            row.push_back(at * weights[k]);
          }
        }
      }
      expected.push_back(reduce<SumOf<float>>(schedule, row));
    }
    ProgramBuilder b(schedule, {kRows}, {kOuter, kMiddle, kInner});
    const auto v = b.load(b.access(const_cast<float*>(x.data()),
                                   {kInner * kMiddle, kRows * kInner * kMiddle, 1, kMiddle}));
    const auto w = b.load(b.access(weights.data(), {0, 0, 1, 0}));
    b.store(b.op(Op::kSum, {b.op(Op::kMul, {v, w})}), b.access(sums.data(), {1, 0, 0, 0}));
    run_rows(b);
    expect_bits(sums, expected);
    run_blocks(b, 2);
    expect_bits(sums, expected);
  }
}

TEST_F(LlvmTest, SoftmaxIsThreePasses) {
  for (const int64_t n : {1, 31, 32, 45, 8192, 9000}) {
    constexpr int64_t kRows = 3;
    const std::vector<float> x = floats(kRows * n);
    std::vector<float> y(kRows * n), expected(kRows * n), sums(kRows);
    ProgramBuilder b(Schedule::kRow, {kRows}, {n});
    const auto v = b.load(b.access(const_cast<float*>(x.data()), {n, 1}));
    const auto top = b.op(Op::kMax, {v});
    const auto e = b.op(Op::kExp, {b.op(Op::kSub, {v, top})});
    const auto sum = b.op(Op::kSum, {e});
    b.store(b.op(Op::kDiv, {e, sum}), b.access(y.data(), {n, 1}));
    b.store(sum, b.access(sums.data(), {1, 0}));
    const auto kernel = compile(b.program());
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->entry().block, nullptr);
    run_rows(b);
    for (int64_t i = 0; i < kRows; ++i) {
      std::vector<float> row(x.begin() + i * n, x.begin() + (i + 1) * n);
      const float greatest = reduce<MaxOf<float>>(Schedule::kRow, row);
      for (float& value : row) value = m::exp(value - greatest);
      const float total = reduce<SumOf<float>>(Schedule::kRow, row);
      EXPECT_EQ(sums[i], total);
      for (int64_t r = 0; r < n; ++r) expected[i * n + r] = row[r] / total;
    }
    expect_bits(y, expected, "n = " + std::to_string(n));
  }
}

TEST_F(LlvmTest, ElementStoresHappenInTheirPass) {
  // y = x * 2 and z = y - mean(y), kept and reduced, in both schedules; by rows and by blocks.
  constexpr int64_t kRows = 21, kN = 2050;
  const std::vector<float> x = floats(kRows * kN);
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    const bool by_row = schedule == Schedule::kRow;
    const int64_t along = by_row ? kN : 1, across = by_row ? 1 : kRows;
    std::vector<float> y(x.size()), z(x.size()), y_expected(x.size()), z_expected(x.size());
    ProgramBuilder b(schedule, {kRows}, {kN});
    const auto v = b.op(
        Op::kMul, {b.load(b.access(const_cast<float*>(x.data()), {along, across})), b.scalar(2.f)});
    const auto mean = b.op(Op::kMul, {b.op(Op::kSum, {v}), b.scalar(1.f / kN)});
    b.store(v, b.access(y.data(), {along, across}));
    b.store(b.op(Op::kSub, {v, mean}), b.access(z.data(), {along, across}));
    for (int64_t i = 0; i < kRows; ++i) {
      std::vector<float> row(kN);
      for (int64_t r = 0; r < kN; ++r) row[r] = x[i * along + r * across] * 2.f;
      const float middle = reduce<SumOf<float>>(schedule, row) * (1.f / kN);
      for (int64_t r = 0; r < kN; ++r) {
        y_expected[i * along + r * across] = row[r];
        z_expected[i * along + r * across] = row[r] - middle;
      }
    }
    for (const bool blocks : {false, true}) {
      std::fill(y.begin(), y.end(), 0.f);
      std::fill(z.begin(), z.end(), 0.f);
      if (blocks)
        run_blocks(b, 9);
      else
        run_rows(b, 13);
      expect_bits(y, y_expected);
      expect_bits(z, z_expected);
    }
  }
}

TEST_F(LlvmTest, ExpandsAlongRows) {
  // The sum of a row's value and of a uniform one, n times each.
  constexpr int64_t kRows = 21, kN = 2050;
  const std::vector<float> x = floats(kRows);
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    std::vector<float> y(kRows), z(kRows), y_expected(kRows), z_expected(kRows);
    ProgramBuilder b(schedule, {kRows}, {kN});
    const auto v = b.load(b.access(const_cast<float*>(x.data()), {1, 0}));
    b.store(b.op(Op::kSum, {b.op(Op::kExpand, {v})}), b.access(y.data(), {1, 0}));
    b.store(b.op(Op::kSum, {b.op(Op::kExpand, {b.scalar(0.1f)})}), b.access(z.data(), {1, 0}));
    for (int64_t i = 0; i < kRows; ++i) {
      y_expected[i] = reduce<SumOf<float>>(schedule, std::vector<float>(kN, x[i]));
      z_expected[i] = reduce<SumOf<float>>(schedule, std::vector<float>(kN, 0.1f));
    }
    for (const bool blocks : {false, true}) {
      if (blocks)
        run_blocks(b, 9);
      else
        run_rows(b, 13);
      expect_bits(y, y_expected);
      expect_bits(z, z_expected);
    }
  }
}

TEST_F(LlvmTest, HalfAndBoolReductions) {
  constexpr int64_t kRows = 2, kN = 9000;
  std::vector<float16> x(kRows * kN), sums(kRows);
  std::vector<int8_t> flags(kRows * kN, 0), any(kRows, -1), all(kRows, -1);
  const std::vector<float> source = floats(kRows * kN);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float16(source[i] / 64);
  flags[kN + 8500] = 1;
  ProgramBuilder b(Schedule::kRow, {kRows}, {kN});
  const auto v = b.load(b.access(x.data(), {kN, 1}));
  const auto flag = b.load(b.access(flags.data(), DType::kBool, {kN, 1}));
  b.store(b.op(Op::kSum, {v}), b.access(sums.data(), {1, 0}));
  b.store(b.op(Op::kAny, {flag}), b.access(any.data(), DType::kBool, {1, 0}));
  b.store(b.op(Op::kAll, {b.op(Op::kLogicalNot, {flag})}),
          b.access(all.data(), DType::kBool, {1, 0}));
  for (const bool blocks : {false, true}) {
    if (blocks)
      run_blocks(b, 1);
    else
      run_rows(b);
    for (int64_t i = 0; i < kRows; ++i) {
      std::vector<float> row(x.begin() + i * kN, x.begin() + (i + 1) * kN);
      EXPECT_EQ(sums[i].bits, float16(reduce<SumOf<float>>(Schedule::kRow, row)).bits);
      EXPECT_EQ(any[i], i);
      EXPECT_EQ(all[i], 1 - i);
    }
  }
}

TEST_F(LlvmTest, RowsOfSeveralOuterDims) {
  constexpr int64_t kN = 50;
  const std::vector<float> x = floats(4 * 6 * kN);
  std::vector<float> sums(24), expected(24), bias = floats(6, 3);
  for (const int64_t piece : {0, 1, 5}) {
    ProgramBuilder b(Schedule::kRow, {4, 6}, {kN});
    const auto v = b.load(b.access(const_cast<float*>(x.data()), {6 * kN, kN, 1}));
    const auto shift = b.load(b.access(bias.data(), {0, 1, 0}));
    b.store(b.op(Op::kSum, {b.op(Op::kAdd, {v, shift})}), b.access(sums.data(), {1, 4, 0}));
    run_rows(b, piece);
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t j = 0; j < 6; ++j) {
        std::vector<float> row;
        for (int64_t r = 0; r < kN; ++r) row.push_back(x[(i * 6 + j) * kN + r] + bias[j]);
        expected[i + 4 * j] = reduce<SumOf<float>>(Schedule::kRow, row);
      }
    }
    expect_bits(sums, expected);
  }
}

// ---- The compiler.

TEST_F(LlvmTest, CompilesOnSeveralThreadsAndFreesCode) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int round = 0; round < 5; ++round) {
        std::vector<float> x = floats(100, t), y(100), expected(100);
        ProgramBuilder b(Schedule::kPointwise, {100});
        auto v = b.load(b.access(x.data(), {1}));
        for (int i = 0; i <= t; ++i) v = b.op(Op::kMul, {v, v});
        b.store(v, b.access(y.data(), {1}));
        run_rows(b);
        for (size_t i = 0; i < x.size(); ++i) {
          expected[i] = x[i];
          for (int k = 0; k <= t; ++k) expected[i] *= expected[i];
        }
        expect_bits(y, expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(LlvmTest, NamesItself) {
  EXPECT_THAT(llvm_version(), ::testing::StartsWith("LLVM "));
  EXPECT_FALSE(llvm_target().empty());
  float y = 0;
  ProgramBuilder b(Schedule::kPointwise, {1});
  b.store(b.scalar(1.f), b.access(&y, {1}));
  const auto text = llvm_ir_text(b.program());
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, ::testing::HasSubstr("@rows"));
  run_rows(b);
  EXPECT_EQ(y, 1.f);
}

}  // namespace
}  // namespace sluice::kernels
