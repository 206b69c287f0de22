// Cases that several tests of CUDA kernels run.
#ifndef SLUICE_TESTS_CUDA_CUDA_PROGRAMS_H_
#define SLUICE_TESTS_CUDA_CUDA_PROGRAMS_H_

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/gpu/emit/expression.h"
#include "tests/cuda/cuda_cases.h"
#include "tests/support/strange_floats.h"

namespace sluice::kernels::cuda::testing {

using fusion::Op;
using sluice::testing::floats;
using sluice::testing::kInf;
using sluice::testing::kNan;
using sluice::testing::strange_floats;

// ---- Pointwise.

// Library functions are the C library's in one place and an expression in the other; all else has
// the CPU's bits.
inline Tolerance tolerance_of(Op op, DType dtype) {
  const bool calls_one = op == Op::kSinc;  // within its expression
  const bool is_library =
      is_float(dtype) && (calls_one || library_function(op, compute_type(dtype)) != nullptr);
  return {is_library ? is_half(dtype) ? 1 : 8 : 0};
}

inline void add_every_op(Cases& cases) {
  constexpr int64_t kN = 299;
  for (const DType dtype : all_dtypes()) {
    Case& c = cases.add(absl::StrCat("all ops of ", name_of(dtype)), Schedule::kPointwise, {kN});
    ValueId operands[3];
    for (int k = 0; k < 3; ++k) {
      std::vector<float> values = k == 0 ? strange_floats(kN) : floats(kN, 5 + k);
      for (int64_t i = 0; i < kN; ++i) {
        if (k > 0 && i % 5 == 0) values[i] = 0;
        if (k > 0 && i % 7 == 0) values[i] = -1;
      }
      operands[k] = add_load(c, dtype, values, {1});
    }
    const ValueId mask = add_load(c, kBool, floats(kN), {1});
    for (int i = 0; i < fusion::kNumOps; ++i) {
      const Op op = static_cast<Op>(i);
      const fusion::OpInfo& info = fusion::op_info(op);
      if (!is_pointwise(op) || op == Op::kCast) continue;
      const bool is_fixed = info.rule == fusion::TypeRule::kFixed;
      if (is_fixed ? dtype != info.operand_dtype : !in_domain(info.domain, dtype)) continue;
      const ValueId v0 = info.rule == fusion::TypeRule::kSelect ? mask : operands[0];
      const ValueId v = info.arity == 1   ? c->op(op, {v0})
                        : info.arity == 2 ? c->op(op, {v0, operands[1]})
                                          : c->op(op, {v0, operands[1], operands[2]});
      c.store(v, {kN}, tolerance_of(op, dtype));
    }
  }
}

inline void add_casts(Cases& cases) {
  constexpr int64_t kN = 150;
  for (const DType from : all_dtypes()) {
    Case& c = cases.add(absl::StrCat("casts of ", name_of(from)), Schedule::kPointwise, {kN});
    std::vector<float> values = strange_floats(kN);
    for (int64_t i = 1; i < kN; i += 3) values[i] = std::ldexp(values[i], i % 90 - 20);
    const ValueId v = add_load(c, from, values, {1});
    for (const DType to : all_dtypes()) c.store(c->cast(v, to), {kN});
  }
}

// Broadcast, flipped and transposed ones.
inline void add_views(Cases& cases) {
  for (const std::vector<int64_t>& e : std::vector<std::vector<int64_t>>{
           {3, 5, 37}, {2, 7, 64}, {1, 7, 1003}, {33, 1, 4}, {0, 4, 4}, {4, 3, 1}}) {
    const int64_t n = e[0] * e[1] * e[2], row = e[2], plane = e[1] * e[2];
    Case& c = cases.add(absl::StrCat("views of ", absl::StrJoin(e, "x")), Schedule::kPointwise, e);
    auto load = [&](size_t count, uint32_t seed, std::vector<int64_t> strides, int64_t offset = 0) {
      const bool general = strides[2] != 0;
      return add_load(c, kFloat32, floats(count + 1, seed), std::move(strides), offset, general);
    };
    const ValueId full = load(n, 1, {plane, row, 1});
    const ValueId line = load(row, 2, {0, 0, 1});
    const ValueId column = load(e[0] * e[1], 3, {e[1], 1, 0});
    const ValueId flipped =
        load(n, 4, {-plane, row, -1}, std::max<int64_t>(n - plane + row - 1, 0));
    const ValueId transposed = load(n, 5, {1, e[0], e[0] * e[1]});
    const ValueId hoisted = c->op(Op::kMul, {column, c->scalar(3.f)});
    const ValueId a = c->op(Op::kAdd, {c->op(Op::kMul, {full, line}), hoisted});
    const ValueId b = c->op(Op::kSub, {flipped, transposed});
    const ValueId at = c->coordinate({1000, -3, 1}, 7);
    const ValueId uniform = c->op(Op::kMul, {c->param(5), c->scalar(int64_t{11})});
    c.store(c->op(Op::kAdd, {a, b}), e);
    c.store(hoisted, e);
    c.store(c->op(Op::kAdd, {at, uniform}), e);
  }
}

// Loads whose predicates keep them inside of their memory.
inline void add_padded(Cases& cases) {
  constexpr int64_t kN = 77;
  for (const int64_t stride : {1, -1}) {
    Case& c = cases.add("padded", Schedule::kPointwise, {kN});
    const ValueId i = c->coordinate({1});
    const ValueId inside = c->op(
        Op::kLogicalAnd,
        {c->op(Op::kLessEqual, {c->scalar(int64_t{10}), i}), c->op(Op::kLess, {i, c->param(50)})});
    const auto part =
        c->access(c.input(kFloat32, floats(40)), kFloat32, {stride}, stride == 1 ? -10 : 49);
    c.store(c->load(part, {inside}), {kN});
    // A predicate that nowhere holds, over an address that is nowhere valid.
    const ValueId never = c->op(Op::kLess, {i, c->scalar(int64_t{0})});
    const auto nowhere = c->access(c.input(kFloat32, {0.f}), kFloat32, {0}, int64_t{1} << 44);
    c.store(c->load(nowhere, {never}), {kN});
  }
}

inline constexpr int64_t kGatherTable = 9;

// An index that a table of kGatherTable elements does not have, and which element of the case it
// is; value 0: all are fine.
struct BadIndex {
  int64_t value, at;
};
inline constexpr BadIndex kBadIndices[] = {{0, 0}, {9, 0}, {-10, 17}, {9, 40}};

// Raises errors 0 and 2, not 1.
inline Case& add_gather(Cases& cases, const BadIndex& bad) {
  constexpr int64_t kN = 41;
  Case& c =
      cases.add(absl::StrCat("index ", bad.value, " at ", bad.at), Schedule::kPointwise, {kN});
  std::vector<float> index(kN);
  for (int64_t i = 0; i < kN; ++i) index[i] = static_cast<float>(i % 18 - 9);
  if (bad.value != 0) index[bad.at] = static_cast<float>(bad.value);
  const ValueId i = add_load(c, kInt64, index, {1});
  const uint16_t table = c->access(c.input(kFloat16, floats(kGatherTable)), kFloat16, {0});
  c.store(c->gather(table, {c->check_index({i, c->param(kGatherTable)})}), {kN});
  // Under a predicate nothing is raised or touched where it does not hold.
  const ValueId small = c->op(Op::kLess, {c->op(Op::kAbs, {i}), c->scalar(int64_t{3})});
  c.store(c->gather(table, {c->check_index({i, c->param(3), small}), small}), {kN});
  // It raises even if nobody wants the index.
  c->check_index({i, c->param(kGatherTable)});
  return c;
}

// Two elements that are further apart than 32 bits can say, as far as the program knows.
inline Case& add_wide(Cases& cases) {
  constexpr int64_t kN = 500;
  Case& c = cases.add("wide", Schedule::kPointwise, {3, kN});
  const ValueId x = add_load(c, kFloat32, floats(3 * kN), {kN, 1});
  const ValueId is_first = c->op(Op::kLess, {c->coordinate({kN, 1}), c->scalar(int64_t{1})});
  const ValueId far =
      c->load(c->access(c.input(kFloat32, {1.f}), kFloat32, {int64_t{1} << 40, 1}), {is_first});
  c.store(c->op(Op::kAdd, {x, far}), {3, kN});
  return c;
}

inline void add_scaled(Cases& cases, int64_t n) {
  Case& c = cases.add("scaled", Schedule::kPointwise, {n});
  const ValueId x = add_load(c, kFloat32, floats(n + 1), {1});
  c.store(c->op(Op::kMul, {x, c->scalar(1.5f)}), {n});
}

// ---- Rows.

inline constexpr Tolerance kSumTolerance = {8, 1e-5};

// A row-major matrix whose rows, or columns, are reduced.
struct Matrix {
  Schedule schedule;
  int64_t rows, length;

  bool by_row() const { return schedule == Schedule::kRow; }
  size_t count() const { return static_cast<size_t>(rows * length); }
  std::vector<int64_t> strides() const {
    return by_row() ? std::vector<int64_t>{length, 1} : std::vector<int64_t>{1, rows};
  }
  std::string name() const {
    return absl::StrCat(rows, by_row() ? " rows" : " columns", " of ", length);
  }
  Case& add(Cases& cases, const std::string& what) const {
    return cases.add(absl::StrCat(what, " of ", name()), schedule, {rows}, {length});
  }
  ValueId load(Case& c, DType dtype, const std::vector<float>& values) const {
    return add_load(c, dtype, values, strides(), 0, /*general=*/true);
  }
  ValueId load(Case& c, DType dtype, uint32_t seed = 1, bool strange = false) const {
    return load(c, dtype, strange ? strange_floats(count() + 1, seed) : floats(count() + 1, seed));
  }
  // To an output of the matrix's own layout.
  void store(Case& c, ValueId value, Tolerance tolerance = {}) const {
    const DType dtype = c->dtype_of_value(value);
    void* const out = c.output(dtype, rows * length, tolerance);
    c->store(value, c->access(out, dtype, strides(), 0, true));
  }
};

inline void add_reductions(Cases& cases, const Matrix& m, bool strange) {
  Case& c = m.add(cases, "reductions");
  const size_t count = m.count() + 1;
  std::vector<float> values = strange ? strange_floats(count) : floats(count);
  std::vector<float> whole(count);
  for (size_t i = 0; i < count; ++i) whole[i] = static_cast<float>(static_cast<int>(i % 13) - 5);
  for (float& value : values) value = std::abs(value);  // so that sums don't cancel
  const ValueId x = m.load(c, kFloat32, values);
  const ValueId i = m.load(c, kInt32, whole);
  const ValueId flags = c->op(Op::kLess, {x, c->scalar(0.01f)});
  c.store(c->op(Op::kSum, {x}), {m.rows, 0}, kSumTolerance);
  c.store(c->op(Op::kMax, {x}), {m.rows, 0});
  c.store(c->op(Op::kProd, {i}), {m.rows, 0});
  c.store(c->op(Op::kMin, {i}), {m.rows, 0});
  c.store(c->op(Op::kAny, {flags}), {m.rows, 0});
  c.store(c->op(Op::kAll, {c->op(Op::kLogicalNot, {flags})}), {m.rows, 0});
  if (m.length == 0) return;
  c.store(c->op(Op::kArgMax, {x}), {m.rows, 0});
  c.store(c->op(Op::kArgMin, {i}), {m.rows, 0});
}

// Softmax, its sums stored too.
inline void add_softmax(Cases& cases, const Matrix& m, DType dtype) {
  Case& c = m.add(cases, "softmax");
  const ValueId x = m.load(c, dtype);
  const ValueId e = c->op(Op::kExp, {c->op(Op::kSub, {x, c->op(Op::kMax, {x})})});
  const ValueId sum = c->op(Op::kSum, {e});
  m.store(c, c->op(Op::kDiv, {e, sum}), {64, 1e-5});
  c.store(sum, {m.rows, 0}, kSumTolerance);
}

// Layer norm in half precision with weights. What is stored once a row is also read: no thread may
// write before all have read.
inline void add_layer_norm(Cases& cases, const Matrix& m) {
  Case& c = m.add(cases, "layer norm");
  const ValueId x = c->cast(m.load(c, kBFloat16), kFloat32);
  const ValueId weight = add_load(c, kFloat32, floats(m.length, 3), {0, 1}, 0, /*general=*/true);
  void* const memory = c.in_place(kFloat32, floats(m.rows, 4), kSumTolerance);
  const uint16_t mean_access = c->access(memory, kFloat32, {1, 0});
  const ValueId shift = c->load(mean_access);
  const ValueId n = c->scalar(1.f / static_cast<float>(m.length));
  const ValueId mean = c->op(Op::kMul, {c->op(Op::kSum, {c->op(Op::kAbs, {x})}), n});
  const ValueId d = c->op(Op::kSub, {x, mean});
  const ValueId variance = c->op(Op::kMul, {c->op(Op::kSum, {c->op(Op::kMul, {d, d})}), n});
  const ValueId scale = c->op(Op::kRsqrt, {c->op(Op::kAdd, {variance, c->scalar(1e-5f)})});
  const ValueId y = c->op(Op::kMul, {c->op(Op::kMul, {d, scale}), weight});
  m.store(c, c->cast(c->op(Op::kAdd, {y, shift}), kBFloat16), {2, 0.01});
  m.store(c, d, {64, 1e-3});
  c->store(c->op(Op::kAdd, {mean, shift}), mean_access);
}

// Adds a row-level value to each element and replaces it: no reduction keeps threads in step.
inline void add_update(Cases& cases, const Matrix& m) {
  Case& c = m.add(cases, "update");
  const uint16_t row = c->access(c.in_place(kInt32, floats(m.rows, 4)), kInt32, {1, 0});
  const ValueId old = c->load(row);
  m.store(c, c->op(Op::kAdd, {m.load(c, kInt32), old}));
  c->store(c->op(Op::kAdd, {old, c->scalar(1)}), row);
}

inline void add_several_reduced_dims(Cases& cases) {
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    for (const int64_t inner : {7, 8}) {
      constexpr int64_t kRows = 6, kOuter = 33, kMiddle = 5;
      Case& c =
          cases.add(absl::StrCat("inner ", inner), schedule, {2, 3}, {kOuter, kMiddle, inner});
      // Laid out (outer, row, inner, middle).
      const int64_t plane = inner * kMiddle;
      const ValueId v = add_load(c, kFloat32, floats(kRows * kOuter * plane),
                                 {3 * plane, plane, kRows * plane, 1, kMiddle});
      // Values that vary along some of the dims only.
      const ValueId w = add_load(c, kFloat32, floats(kMiddle, 9), {0, 0, 0, 1, 0});
      const ValueId bias = add_load(c, kFloat32, floats(3, 3), {0, 1, 0, 0, 0});
      const ValueId y = c->op(Op::kAdd, {c->op(Op::kMul, {v, w}), bias});
      c.store(c->op(Op::kSum, {c->op(Op::kAbs, {y})}), {2, 3, 0, 0, 0}, kSumTolerance);
      c.store(c->op(Op::kArgMax, {y}), {2, 3, 0, 0, 0});
      c.store(y, {2, 3, kOuter, kMiddle, inner});
    }
  }
}

}  // namespace sluice::kernels::cuda::testing

#endif  // SLUICE_TESTS_CUDA_CUDA_PROGRAMS_H_
