// Emitted kernels that reduce rows or columns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/gpu/emit/plan.h"
#include "kernels/gpu/run/call.h"
#include "tests/cuda/cuda_cases.h"
#include "tests/cuda/cuda_emit_checks.h"
#include "tests/cuda/cuda_programs.h"

namespace sluice::kernels::cuda {
namespace {

using namespace testing;  // NOLINT

const int64_t kLengths[] = {0, 1, 5, 31, 128, 129, 1000, 1024, 1025, 4099, 8192, 8193, 20000};

TEST(CudaEmitTest, RowReductions) {
  Cases cases;
  for (const int64_t length : kLengths) {
    add_reductions(cases, {Schedule::kRow, length > 5000 ? 2 : 13, length}, false);
    add_reductions(cases, {Schedule::kRow, 3, length}, true);
  }
  check(cases);
}

TEST(CudaEmitTest, ColumnReductions) {
  Cases cases;
  for (const int64_t length : {0, 1, 7, 8, 100, 512, 513, 2000}) {
    add_reductions(cases, {Schedule::kColumn, length > 600 ? 3 : 83, length}, false);
    add_reductions(cases, {Schedule::kColumn, 19, length}, true);
  }
  check(cases);
}

TEST(CudaEmitTest, ArgReductionsOfEqualsTakeTheFirst) {
  Cases cases;
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    for (const float value : {-kInf, kInf, kNan, 0.f}) {
      const Matrix m{schedule, 3, 2000};
      Case& c = m.add(cases, absl::StrCat(value));
      const ValueId v = m.load(c, kFloat32, std::vector<float>(m.count(), value));
      c.store(c->op(Op::kArgMax, {v}), {m.rows, 0});
      c.store(c->op(Op::kArgMin, {v}), {m.rows, 0});
    }
  }
  check(cases);
}

TEST(CudaEmitTest, FullReductionOfAMillion) {
  Cases cases;
  const Matrix m{Schedule::kRow, 1, 1'000'003};
  add_reductions(cases, m, false);
  check(cases);
  const Geometry geometry = geometry_of(cases[0].program(), cases[0].args().extents, 132);
  EXPECT_EQ(geometry.num_stages, 2);
  EXPECT_EQ(geometry.num_blocks(0), 123);
  EXPECT_EQ(geometry.num_blocks(1), 1);
}

TEST(CudaEmitTest, SeveralReducedDimsAreOneRow) {
  Cases cases;
  add_several_reduced_dims(cases);
  check(cases);
}

TEST(CudaEmitTest, RowsOfSeveralPasses) {
  Cases cases;
  for (const int64_t length : {1, 31, 32, 45, 1024, 4096, 8200, 20000}) {
    for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
      if (schedule == Schedule::kColumn && length > 5000) continue;
      add_softmax(cases, {schedule, length > 2000 ? 2 : 11, length}, kFloat32);
      add_layer_norm(cases, {schedule, length > 2000 ? 3 : 9, length});
      add_update(cases, {schedule, 5, length});
    }
  }
  check(cases);
}

// Rows short enough to be kept by their threads, and those that are just not: too long, of no whole
// number of groups, not aligned.
TEST(CudaEmitTest, KeptRowsHaveTheBitsOfOthers) {
  Cases cases;
  for (const int64_t length : {4, 12, 128, 500, 512, 516, 1028, 4096, 4100}) {
    for (const int64_t offset : {0, 1}) {
      const Matrix m{Schedule::kRow, 5, length};
      std::vector<float> values = floats(m.count() + 1, 3);
      Case& c = m.add(cases, absl::StrCat("offset ", offset));
      const auto strides = std::vector<int64_t>{length, 1};
      const ValueId x = add_load(c, kFloat32, values, strides, offset);
      const ValueId half = add_load(c, kFloat16, values, strides);
      const ValueId weight = add_load(c, kFloat32, floats(length, 4), {0, 1});
      const ValueId d = c->op(Op::kSub, {x, c->op(Op::kMax, {x})});
      const ValueId square = c->op(Op::kMul, {d, d});
      const ValueId sum = c->op(Op::kSum, {square});
      const ValueId scaled = c->op(Op::kMul, {c->op(Op::kDiv, {d, sum}), weight});
      c->store(scaled, c->access(c.output(kFloat32, m.count(), kSumTolerance), kFloat32, strides));
      const ValueId halves = c->op(Op::kSub, {half, c->op(Op::kMin, {half})});
      c->store(halves, c->access(c.output(kFloat16, m.count()), kFloat16, strides));
      c.store(sum, {m.rows, 0}, kSumTolerance);
      c.store(c->op(Op::kArgMax, {square}), {m.rows, 0});
    }
  }
  check(cases);
}

// A softmax, or what a layer norm needs of a row, with an epilogue.
Case& add_normalized(Cases& cases, const Matrix& m, DType dtype, int64_t offset) {
  Case& c = m.add(cases, absl::StrCat(name_of(dtype), " at ", offset));
  std::vector<float> values = floats(m.count() + static_cast<size_t>(offset), 8);
  const ValueId x = add_load(c, dtype, values, {m.length, 1}, offset);
  const ValueId weight = add_load(c, dtype, floats(m.length, 9), {0, 1});
  const ValueId d = c->op(Op::kSub, {x, c->op(Op::kMax, {x})});
  const ValueId e = c->op(Op::kDiv, {d, c->op(Op::kSum, {d})});
  c->store(c->op(Op::kMul, {e, weight}),
           c->access(c.output(dtype, m.count() + offset), dtype, {m.length, 1}, offset));
  return c;
}

// However a row is gone over, whether its accesses are aligned or not: the order of sums is that of
// its length. 1000 halves are more than a warp keeps, 1002 no whole groups.
TEST(CudaEmitTest, EachWayOfARowLeavesTheSameBits) {
  struct Row {
    int64_t length;
    RowWay way, of_many_halves;
  };
  const RowWay read{}, kept{RowWay::kKept, 4};
  const RowWay by_warp{RowWay::kKeptByWarp, kGroupsByWarp};
  const Row rows[] = {{3, read, read},       {8, kept, kept},      {100, kept, kept},
                      {512, kept, kept},     {516, read, read},    {1000, read, read},
                      {1002, read, read},    {1024, read, read},   {1028, kept, by_warp},
                      {2048, kept, by_warp}, {2052, kept, kept},   {3100, kept, kept},
                      {4092, kept, kept},    {4096, kept, kept},   {4100, read, read},
                      {8192, read, read},    {16'384, read, read}, {100'000, read, read}};
  for (const DType dtype : {kFloat32, kFloat16, kBFloat16, kFloat64}) {
    Cases cases;
    for (const Row& row : rows) {
      for (const int64_t offset : {0, 1}) {
        const Matrix m{Schedule::kRow, row.length > 5000 ? 2 : 9, row.length};
        Case& c = add_normalized(cases, m, dtype, offset);
        const KernelArgs args = c.args();
        EXPECT_TRUE(geometry_of(c.program(), args.extents, 132).way == row.way) << c.name();
        EXPECT_TRUE(geometry_of(c.program(), args.extents, 0).way ==
                    (is_half(dtype) ? row.of_many_halves : row.way))
            << c.name();
      }
    }
    const OwnKernels own(cases.all(), /*with_plain=*/true);
    check_with_nvrtc(own.text());
    EXPECT_EQ(own.num_kernels(), is_half(dtype) ? 3 : 2);  // one for each way
    for (Case* const c : cases.all()) {
      const std::vector<std::string> expected = own.run(*c, plain_geometry(*c));
      for (const int multiprocessors : kMultiprocessors) {
        EXPECT_EQ(own.run(*c, multiprocessors), expected) << c->name() << " " << multiprocessors;
      }
    }
  }
}

// The greatest and the least of halves, among zeros of both signs, infinities and NaNs.
TEST(CudaEmitTest, ExtremesOfHalvesAreExact) {
  Cases cases;
  for (const DType dtype : {kFloat16, kBFloat16}) {
    for (const int64_t length : {8, 100, 1000, 1028, 2048, 4096}) {
      const Matrix m{Schedule::kRow, 6, length};
      std::vector<float> values = strange_floats(m.count(), 3);
      const float fill[] = {-0.f, 0.f, -kInf, kInf, kNan};
      for (int row = 0; row < 5; ++row) {
        std::fill_n(values.begin() + row * length, length, fill[row]);
        const float other = row == 4 ? 1.f : -fill[row];
        values[row * length + length - 2 - row % 2] = other;
      }
      Case& c = m.add(cases, name_of(dtype));
      const ValueId x = add_load(c, dtype, values, {length, 1});
      const ValueId greatest = c->op(Op::kMax, {x}), least = c->op(Op::kMin, {x});
      c.store(c->op(Op::kAdd, {c->op(Op::kMul, {x, greatest}), least}), {m.rows, length});
      c.store(greatest, {m.rows, 0});
      c.store(least, {m.rows, 0});
    }
  }
  const OwnKernels own(cases.all());
  EXPECT_THAT(own.text(), ::testing::HasSubstr("sl_kept_extreme"));
  for (Case* const c : cases.all()) {
    const std::vector<std::string> expected = interpret(*c);
    for (const int multiprocessors : kMultiprocessors) {
      EXPECT_EQ(own.run(*c, multiprocessors), expected) << c->name() << " " << multiprocessors;
    }
  }
}

// By warps there is a block for eight rows, where there are rows for all.
TEST(CudaEmitTest, WarpsKeepRowsWhereThereAreMany) {
  for (const int64_t rows : {1, 2111, 2112, 4096}) {
    Cases cases;
    const KernelArgs args = add_normalized(cases, {Schedule::kRow, rows, 2048}, kFloat16, 0).args();
    const Geometry geometry = geometry_of(cases[0].program(), args.extents, 132);
    EXPECT_EQ(geometry.way.kind, rows < 2112 ? RowWay::kKept : RowWay::kKeptByWarp);
    EXPECT_EQ(geometry.num_blocks(0), rows < 2112 ? rows : rows / 8);
  }
}

// A division by what is the same in all of a row takes fewer steps, and leaves the same bits.
TEST(CudaEmitTest, QuotientsByAValueOfTheRow) {
  Cases cases;
  for (const DType dtype : {kFloat32, kFloat16, kBFloat16, kFloat64}) {
    for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
      const Matrix m{schedule, 64, 256};
      Case& c = m.add(cases, name_of(dtype));
      std::vector<float> divisors = strange_floats(m.rows, 7);
      for (size_t i = 0; i < divisors.size(); i += 2) {
        divisors[i] = std::ldexp(1.f + static_cast<float>(i) / 77, static_cast<int>(i) * 5 - 160);
      }
      std::vector<float> values = strange_floats(m.count() + 1, 5);
      for (size_t i = 0; i < values.size(); i += 2) {
        values[i] = std::ldexp(values[i], static_cast<int>(i % 150) - 75);
      }
      const ValueId by = add_load(c, dtype, divisors, {1, 0});
      m.store(c, c->op(Op::kDiv, {m.load(c, dtype, values), by}));
    }
  }
  check(cases);
}

// All numbers of a half type by some: of each exponent, of each mantissa or many, and the ends of
// what there is.
template <typename T>
void check_quotients_of_halves(int mantissa_bits, const char* divisor) {
  constexpr int kNumbers = 1 << 16;
  const int mantissas = 1 << mantissa_bits, exponents = (kNumbers >> 1) / mantissas;
  const auto number = [](int bits) { return float{T::from_bits(static_cast<uint16_t>(bits))}; };
  std::vector<float> numerators, divisors;
  for (int bits = 0; bits < kNumbers; ++bits) numerators.push_back(number(bits));
  const int infinite = (exponents - 1) * mantissas, quiet = mantissas / 2;
  for (const int bits : {0, 1, 2, 3, mantissas - 2, mantissas - 1, mantissas, mantissas + 1,
                         infinite - 1, infinite, infinite + quiet}) {
    divisors.push_back(number(bits));
    divisors.push_back(-number(bits));
  }
  // Interpreted PTX is slow.
  const int step = emulated::kernel_code() == emulated::KernelCode::kHost ? 1 : 7;
  for (int k = 0; k < std::max(mantissas, exponents - 1); k += step) {
    divisors.push_back(number(k % (exponents - 1) * mantissas + k * 37 % mantissas));
  }
  Cases cases;
  const Matrix m{Schedule::kRow, static_cast<int64_t>(divisors.size()), kNumbers};
  Case& c = m.add(cases, divisor);
  const ValueId a = add_load(c, dtype_of<T>(), numerators, {0, 1});
  const ValueId b = add_load(c, dtype_of<T>(), divisors, {1, 0});
  c->store(c->op(Op::kDiv, {a, b}),
           c->access(c.output(dtype_of<T>(), m.count()), dtype_of<T>(), {kNumbers, 1}));
  EXPECT_THAT(OwnKernels(cases.all()).text(), ::testing::HasSubstr(divisor));
  check(cases);
}

TEST(CudaEmitTest, QuotientsOfHalvesAreRoundedOnce) {
  check_quotients_of_halves<float16>(10, "sl_half_divisor");
  check_quotients_of_halves<bfloat16>(7, "sl_bfloat_divisor");
}

// However threads are laid out: rows or columns whose elements lie side by side the other way,
// columns of a few elements. `turned`: the program says so.
Case& add_turned(Cases& cases, const Matrix& m, DType dtype, bool turned) {
  Case& c = m.add(cases, absl::StrCat(name_of(dtype), turned ? " turned" : ""));
  c->program().lanes_across_rows = turned && m.by_row();
  const auto strides =
      m.by_row() ? std::vector<int64_t>{1, m.rows} : std::vector{m.length, int64_t{1}};
  const ValueId x = add_load(c, dtype, floats(m.count(), 3), strides);
  if (turned && !m.by_row() && m.length <= 16) {
    c->program().one_leaf = true;
  } else if (turned && !m.by_row()) {
    c->program().tiled = true;
    c->program().accesses.back().lanes = fusion::StrideClass::kTile;
  }
  const ValueId d = c->op(Op::kSub, {x, c->op(Op::kMax, {x})});
  const ValueId sum = c->op(Op::kSum, {c->op(Op::kMul, {d, d})});
  c->store(c->op(Op::kDiv, {d, sum}), c->access(c.output(dtype, m.count()), dtype, strides));
  c.store(sum, {m.rows, 0});
  c.store(c->op(Op::kArgMax, {x}), {m.rows, 0});
  c.store(c->op(Op::kSum, {x}), {m.rows, 0});
  return c;
}

TEST(CudaEmitTest, ThreadsAcrossRowsAndDownColumnsKeepTheOrder) {
  const int64_t lengths[] = {1,   3,   4,    5,    8,    9,    17,   63,   64,   127,
                             500, 512, 1000, 1024, 1025, 3136, 4096, 8192, 8200, 20'001};
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    Cases cases;
    for (const int64_t length : lengths) {
      if (schedule == Schedule::kColumn && length > 5000) continue;
      for (const DType dtype : {kFloat32, kFloat16, kFloat64}) {
        if (dtype != kFloat32 && length % 2 == 0) continue;
        const Matrix m{schedule, length > 3000 ? 9 : length > 100 ? 37 : 300, length};
        add_turned(cases, m, dtype, false);
        add_turned(cases, m, dtype, true);
      }
    }
    const OwnKernels own(cases.all());
    check_with_nvrtc(own.text());
    for (size_t i = 0; i < cases.size(); i += 2) {
      const std::vector<std::string> expected = own.run(cases[i], 132);
      for (const int multiprocessors : {0, 1, 132}) {
        for (Case* const c : {&cases[i], &cases[i + 1]}) {
          EXPECT_EQ(own.run(*c, multiprocessors), expected) << c->name() << " " << multiprocessors;
        }
      }
    }
  }
}

// A row over two dims, of which the other is consecutive: chunks of runs that divide them, of
// others, and one that is not whole.
TEST(CudaEmitTest, ChunksSideBySideKeepTheOrder) {
  Cases cases;
  for (const auto& [outer, run] : {std::pair<int64_t, int64_t>{70, 2048}, {17, 8192}, {45, 3136}}) {
    for (const bool turned : {false, true}) {
      Case& c = cases.add(absl::StrCat(outer, " by ", run), Schedule::kRow, {2}, {outer, run});
      const std::vector<int64_t> strides = {outer * run, 1, outer};
      const ValueId x = add_load(c, kFloat32, floats(2 * outer * run, 3), strides);
      if (turned) {
        c->program().tiled = true;
        c->program().accesses.back().lanes = fusion::StrideClass::kTile;
      }
      const ValueId d =
          c->op(Op::kSub, {x, c->op(Op::kDiv, {c->op(Op::kSum, {x}), c->scalar(9.f)})});
      c.store(c->op(Op::kSum, {c->op(Op::kMul, {d, d})}), {2, 0, 0});
      c.store(c->op(Op::kArgMax, {x}), {2, 0, 0});
      c->store(d, c->access(c.output(kFloat32, 2 * outer * run), kFloat32, strides));
    }
  }
  const OwnKernels own(cases.all());
  check_with_nvrtc(own.text());
  for (size_t i = 0; i < cases.size(); i += 2) {
    const std::vector<std::string> expected = own.run(cases[i], 0);
    for (const int multiprocessors : {0, 1, 2, 132}) {
      EXPECT_EQ(own.run(cases[i + 1], multiprocessors), expected) << multiprocessors;
    }
  }
}

TEST(CudaEmitTest, HalfAndDoubleReductions) {
  Cases cases;
  for (const DType dtype : {kFloat16, kBFloat16, kFloat64, kInt8, kUInt16, kInt64}) {
    for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
      const Matrix m{schedule, 2, 9000};
      Case& c = m.add(cases, name_of(dtype));
      std::vector<float> values = floats(m.count());
      for (float& value : values) value = std::abs(value / 8192);
      const ValueId x = m.load(c, dtype, values);
      const Tolerance tolerance = is_half(dtype) ? Tolerance{1} : kSumTolerance;
      c.store(c->op(Op::kSum, {x}), {m.rows, 0}, tolerance);
      c.store(c->op(Op::kMin, {x}), {m.rows, 0});
      c.store(c->op(Op::kArgMax, {x}), {m.rows, 0});
    }
  }
  check(cases);
}

// No bit of a reduction depends on how a call is cut, on what is fused with it or on where its
// operand lies.
TEST(CudaEmitTest, OrderOfAReductionFollowsFromItsLength) {
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    const Matrix m{schedule, 5, schedule == Schedule::kRow ? 20'001 : 3001};
    const std::vector<float> x = floats(m.count(), 1), y = floats(m.count(), 2);
    std::vector<float> product(x.size()), transposed(x.size());
    for (size_t i = 0; i < x.size(); ++i) product[i] = x[i] * y[i];
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t across = m.by_row() ? m.length : m.rows;
      transposed[i % across * (x.size() / across) + i / across] = product[i];
    }
    Cases cases;
    Case& fused = m.add(cases, "fused");
    const ValueId xy =
        fused->op(Op::kMul, {m.load(fused, kFloat32, x), m.load(fused, kFloat32, y)});
    fused.store(fused->op(Op::kSum, {xy}), {m.rows, 0});
    Case& alone = m.add(cases, "alone");
    alone.store(alone->op(Op::kSum, {m.load(alone, kFloat32, product)}), {m.rows, 0});
    Case& other = m.add(cases, "transposed");
    std::vector<int64_t> strides = {1, m.rows};
    if (!m.by_row()) strides = {m.length, 1};
    other.store(other->op(Op::kSum, {add_load(other, kFloat32, transposed, strides)}), {m.rows, 0});
    // Among other work, in other types.
    Case& busy = m.add(cases, "busy");
    const ValueId v = m.load(busy, kFloat32, product);
    busy.store(busy->op(Op::kSum, {v}), {m.rows, 0});
    const ValueId wide = busy->op(Op::kSum, {busy->cast(v, kFloat64)});
    m.store(busy, busy->op(Op::kDiv, {busy->cast(v, kFloat64), wide}));
    const OwnKernels own(cases.all());
    check_with_nvrtc(own.text());
    const std::string expected = own.run(fused, 0)[0];
    for (Case* const c : cases.all()) {
      for (const int multiprocessors : {0, 1, 8, 132}) {
        EXPECT_EQ(own.run(*c, multiprocessors)[0], expected) << c->name() << " " << multiprocessors;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::kernels::cuda
