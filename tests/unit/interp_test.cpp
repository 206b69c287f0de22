// The interpreter against an evaluator that takes every row element by element, in the order of
// kernels/reduction.h and with the semantics of fusion/ir/program.h: bit for bit.
#include "kernels/interp/interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/launch.h"
#include "kernels/interp/bytecode.h"
#include "kernels/math/functions.h"
#include "kernels/reduction.h"
#include "runtime/integers.h"
#include "tests/support/program_builder.h"
#include "tests/support/reduction_tree.h"

namespace sluice::kernels {
namespace {

namespace m = math;
using fusion::Instr;
using fusion::Level;
using fusion::Op;
using fusion::Program;
using fusion::Schedule;
using fusion::ValueId;
using testing::ProgramBuilder;

// Before the first use: the tests must see several threads on any machine.
[[maybe_unused]] const int kThreadsSet = setenv("SLUICE_THREADS", "3", 1);

// ---- The evaluator. A value is the bits of its compute type.

using Bits = uint64_t;

template <typename V>
Bits to_bits(V value) {
  Bits bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}
template <typename V>
V from_bits(Bits bits) {
  V value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Calls f.operator()<V>() with the C++ compute type of `dtype`.
template <typename F>
auto visit_compute(DType dtype, F&& f) {
  return visit_dtype(compute_type(dtype), [&]<typename T>() {
    if constexpr (std::is_arithmetic_v<T>)
      return f.template operator()<T>();
    else
      return f.template operator()<float>();
  });
}

Bits load_bits(DType dtype, const void* at) {
  Bits bits = 0;
  std::memcpy(&bits, at, size_of(dtype));
  if (dtype == DType::kFloat16) return to_bits(float(float16::from_bits(uint16_t(bits))));
  if (dtype == DType::kBFloat16) return to_bits(float(bfloat16::from_bits(uint16_t(bits))));
  return bits;
}

void store_bits(DType dtype, Bits bits, void* at) {
  const float f = from_bits<float>(bits);
  const double d = from_bits<double>(bits);
  if (dtype == DType::kFloat16) bits = float16(f).bits;
  if (dtype == DType::kBFloat16) bits = bfloat16(f).bits;
  if (dtype == DType::kFloat32 && f != f) bits = 0x7fc00000;
  if (dtype == DType::kFloat64 && d != d) bits = 0x7ff8000000000000;
  std::memcpy(at, &bits, size_of(dtype));
}

Bits round_bits(DType dtype, Bits bits) {
  if (dtype == DType::kFloat16) return to_bits(float(float16(from_bits<float>(bits))));
  if (dtype == DType::kBFloat16) return to_bits(float(bfloat16(from_bits<float>(bits))));
  return bits;
}

// `type` is the compute type that the expression is instantiated for.
template <typename V>
Bits apply_as(Op op, const Bits* in) {
  constexpr DType kType = dtype_of<V>();
  [[maybe_unused]] const V b = from_bits<V>(in[1]), c = from_bits<V>(in[2]);
  switch (op) {
#define SLUICE_POINTWISE(id, name, arity, rule, domain, ...)          \
  case Op::k##id:                                                     \
    if constexpr (fusion::in_domain(fusion::domain, kType)) {         \
      using A = std::conditional_t<Op::k##id == Op::kWhere, bool, V>; \
      [[maybe_unused]] const A a = from_bits<A>(in[0]);               \
      return to_bits(__VA_ARGS__);                                    \
    }                                                                 \
    break;
#define SLUICE_INTERNAL(id, name, arity, in_type, out_type, ...) \
  case Op::k##id:                                                \
    if constexpr (kType == DType::in_type) {                     \
      const V a = from_bits<V>(in[0]);                           \
      return to_bits(__VA_ARGS__);                               \
    }                                                            \
    break;
#include "fusion/ir/ops.def"
    default: break;
  }
  ADD_FAILURE() << "no such op: " << fusion::name_of(op);
  return 0;
}

// One step of a reduction, and its identity.
template <typename V>
V combine(Op op, V a, V b) {
  switch (op) {
#define SLUICE_REDUCTION(id, name, domain, identity, ...)                               \
  case Op::k##id:                                                                       \
    if constexpr (fusion::in_domain(fusion::domain, dtype_of<V>())) return __VA_ARGS__; \
    break;
#include "fusion/ir/ops.def"
    default: break;
  }
  ADD_FAILURE() << "no such reduction: " << fusion::name_of(op);
  return a;
}
template <typename V>
V identity_of(Op op) {
  switch (op) {
#define SLUICE_REDUCTION(id, name, domain, identity, ...)                            \
  case Op::k##id:                                                                    \
    if constexpr (fusion::in_domain(fusion::domain, dtype_of<V>())) return identity; \
    break;
#include "fusion/ir/ops.def"
    default: break;
  }
  return V{};
}

template <typename V>
V reduce_leaf(Op op, Schedule schedule, const Bits* row, int64_t count) {
  if (schedule == Schedule::kColumn) {
    V acc = identity_of<V>(op);
    for (int64_t r = 0; r < count; ++r) acc = combine(op, acc, from_bits<V>(row[r]));
    return acc;
  }
  V lane[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) lane[l] = identity_of<V>(op);
  for (int64_t r = 0; r < count; ++r) {
    lane[r % kLanes] = combine(op, lane[r % kLanes], from_bits<V>(row[r]));
  }
  for (int64_t h = kLanes / 2; h >= 1; h /= 2) {
    for (int64_t l = 0; l < h; ++l) lane[l] = combine(op, lane[l], V(lane[l + h]));
  }
  return lane[0];
}

template <typename V>
Bits reduce_row(Op op, Schedule schedule, const std::vector<Bits>& row) {
  const int64_t size = static_cast<int64_t>(row.size());
  if (fusion::is_arg_reduction(op)) {
    int64_t best = 0;
    for (int64_t r = 1; r < size; ++r) {
      const V b = from_bits<V>(row[r]), a = from_bits<V>(row[best]);
      if ((op == Op::kArgMax ? b > a : b < a) || (b != b && a == a)) best = r;
    }
    return to_bits(best);
  }
  if (size == 0 && op == Op::kSum) return 0;
  const int64_t leaf = fusion::leaf_size(schedule);
  return to_bits(test::reduce_tree(
      0, std::max<int64_t>(1, ceil_div(size, leaf)),
      [&](int64_t i) {
        return reduce_leaf<V>(op, schedule, row.data() + i * leaf, std::min(leaf, size - i * leaf));
      },
      [&](V a, V b) { return combine(op, a, b); }));
}

class Evaluator {
 public:
  Evaluator(const Program& program, const KernelArgs& args) : program_(program), args_(args) {}

  void run() {
    int64_t rows = 1, reduced = 1;
    for (int d = 0; d < program_.rank(); ++d) {
      (d < program_.outer_rank ? rows : reduced) *= args_.extents[d];
    }
    for (int64_t row = 0; row < rows; ++row) run_row(row, reduced);
  }

 private:
  int64_t address(int access, int64_t row, int64_t element) const {
    const int rank = program_.rank();
    const int64_t* strides = args_.accesses + access * (rank + 1);
    int64_t at = strides[rank];
    for (int d = rank - 1; d >= 0; --d) {
      if (args_.extents[d] == 0) continue;  // then there is no element to ask for
      int64_t& position = d < program_.outer_rank ? row : element;
      at += position % args_.extents[d] * strides[d];
      position /= args_.extents[d];
    }
    return at;
  }
  char* place(int access, int64_t index) const {
    const fusion::Access& form = program_.accesses[access];
    return static_cast<char*>(args_.buffers[form.buffer]) + index * size_of(form.dtype);
  }

  Bits eval(const Instr& instr, const Bits* in, int64_t row, int64_t element) {
    auto as_int = [&](int k) { return from_bits<int64_t>(in[k]); };
    switch (instr.op) {
      case Op::kLoad:
        if (instr.num_operands == 1 && !in[0]) return 0;
        return load_bits(instr.dtype, place(instr.aux, address(instr.aux, row, element)));
      case Op::kGather:
        if (instr.num_operands == 2 && !in[1]) return 0;
        return load_bits(instr.dtype,
                         place(instr.aux, address(instr.aux, row, element) + as_int(0)));
      case Op::kCoordinate: return to_bits(address(instr.aux, row, element));
      case Op::kScalar: return load_bits(instr.dtype, &args_.scalars[instr.aux]);
      case Op::kParam: return to_bits(args_.params[instr.aux]);
      case Op::kExpand: return in[0];
      case Op::kCheckIndex: {
        const int64_t at = as_int(0) + (as_int(0) < 0 ? as_int(1) : 0);
        if ((at >= 0 && at < as_int(1)) || (instr.num_operands == 3 && !in[2])) return to_bits(at);
        raise_error(args_.errors, instr.aux, as_int(0), as_int(1));
        return 0;
      }
      case Op::kCast:
        return visit_compute(fusion::operand_dtype(program_, instr, 0), [&]<typename From>() {
          return visit_compute(instr.dtype, [&]<typename To>() {
            return round_bits(instr.dtype, to_bits(m::cast<To>(from_bits<From>(in[0]))));
          });
        });
      default: {
        const DType type = fusion::operand_dtype(program_, instr, instr.op == Op::kWhere ? 1 : 0);
        return round_bits(instr.dtype, visit_compute(type, [&]<typename V>() {
                            return apply_as<V>(instr.op, in);
                          }));
      }
    }
  }

  void run_row(int64_t row, int64_t reduced) {
    std::vector<std::vector<Bits>> values(program_.body.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const Instr& instr = program_.body[i];
      if (fusion::is_reduction(instr.op)) {
        const DType type = fusion::operand_dtype(program_, instr, 0);
        values[i] = {round_bits(instr.dtype, visit_compute(type, [&]<typename V>() {
                                  return reduce_row<V>(instr.op, program_.schedule,
                                                       values[instr.operands[0]]);
                                }))};
        continue;
      }
      const int64_t count = instr.level == Level::kElement ? reduced : 1;
      for (int64_t r = 0; r < count; ++r) {
        Bits in[3] = {0, 0, 0};
        for (int k = 0; k < instr.num_operands; ++k) {
          const std::vector<Bits>& operand = values[instr.operands[k]];
          in[k] =
              program_.body[instr.operands[k]].level == Level::kElement ? operand[r] : operand[0];
        }
        values[i].push_back(eval(instr, in, row, r));
      }
    }
    for (const fusion::Store& store : program_.stores) {
      const bool element = program_.accesses[store.access].varies_along_reduced;
      const bool varies = program_.body[store.value].level == Level::kElement;
      for (int64_t r = 0; r < (element ? reduced : 1); ++r) {
        store_bits(program_.accesses[store.access].dtype, values[store.value][varies ? r : 0],
                   place(store.access, address(store.access, row, r)));
      }
    }
  }

  const Program& program_;
  const KernelArgs& args_;
};

// ---- Running a program every way.

struct Region {
  void* data;
  size_t bytes;
};

using Snapshot = std::vector<std::vector<char>>;

Snapshot save(const std::vector<Region>& regions) {
  Snapshot result;
  for (const Region& region : regions) {
    const char* data = static_cast<const char*>(region.data);
    result.emplace_back(data, data + region.bytes);
  }
  return result;
}
void restore(const std::vector<Region>& regions, const Snapshot& snapshot) {
  for (size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].bytes > 0) std::memcpy(regions[i].data, snapshot[i].data(), regions[i].bytes);
  }
}

template <typename T>
Region region(std::vector<T>& data) {
  return {data.data(), data.size() * sizeof(T)};
}

// Expects that whole rows, rows in uneven pieces, blocks, and launch() all write what the evaluator
// writes. Leaves the evaluator's result in place.
void expect_exact(ProgramBuilder& b, const std::vector<Region>& outputs) {
  const Program& program = b.program();
  ASSERT_TRUE(fusion::verify(program).ok()) << fusion::verify(program).ToString() << "\n"
                                            << fusion::to_text(program);
  const KernelArgs args = b.args();
  const Snapshot before = save(outputs);
  Evaluator(program, args).run();
  const Snapshot expected = save(outputs);

  int64_t rows = 1, reduced = 1;
  for (int d = 0; d < program.rank(); ++d) {
    (d < program.outer_rank ? rows : reduced) *= args.extents[d];
  }
  const auto executable = make_interpreter(program);
  const EntryPoints& entry = executable->entry();
  auto check = [&](const char* way) {
    const Snapshot got = save(outputs);
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i] == expected[i]) continue;
      size_t at = 0;
      while (got[i][at] == expected[i][at]) ++at;
      ADD_FAILURE() << way << ": output " << i << " differs at byte " << at << " of "
                    << got[i].size() << "\n"
                    << fusion::to_text(program);
    }
  };
  restore(outputs, before);
  entry.rows(executable->context(), &args, 0, rows);
  check("rows");

  restore(outputs, before);
  for (int64_t begin = 0, size = 1; begin < rows; begin += size, size = size * 3 + 1) {
    entry.rows(executable->context(), &args, begin, std::min(rows, begin + size));
  }
  check("rows in pieces");

  const int64_t blocks = num_blocks(program.schedule, reduced);
  if (entry.block != nullptr && rows > 0) {
    restore(outputs, before);
    const int64_t middle = rows / 2;
    for (const auto& [begin, end] : {std::pair{int64_t{0}, middle}, std::pair{middle, rows}}) {
      if (begin == end) continue;
      const int64_t stride = 64 * 16 * (end - begin);
      std::vector<uint64_t> partials(blocks * stride / 8);
      for (int64_t k = blocks; k-- > 0;) {
        const int64_t first = k * block_size(program.schedule);
        entry.block(executable->context(), &args, begin, end, first,
                    std::min(reduced, first + block_size(program.schedule)),
                    &partials[k * stride / 8]);
      }
      entry.finish(executable->context(), &args, begin, end, blocks, partials.data(), stride);
    }
    check("block and finish");
  }

  restore(outputs, before);
  launch(program, *executable, args);
  check("launch");
}

// Numbers that hit the special cases now and then.
template <typename T>
std::vector<T> numbers(int64_t count, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<T> result(count);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t pick = random() % 64;
    if constexpr (std::is_integral_v<T>) {
      const int64_t wide = static_cast<int64_t>((uint64_t{random()} << 32) | random());
      result[i] = static_cast<T>(pick < 4 ? wide : static_cast<int64_t>(random() % 21) - 10);
    } else {
      const float plain = (static_cast<int32_t>(random() % 20001) - 10000) / 1024.f;
      const float special[] = {0.f, -0.f, INFINITY, -INFINITY, 1e-42f, 65520.f};
      result[i] = static_cast<T>(pick < 6 ? special[pick] : plain);
    }
  }
  return result;
}
// std::vector<bool> has no data().
std::vector<uint8_t> masks(int64_t count, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<uint8_t> result(count);
  // Runs, so that whole tiles are true or false, too.
  for (int64_t i = 0; i < count;) {
    const uint8_t value = random() % 2;
    for (int64_t run = random() % 9 == 0 ? 3000 : random() % 20; run >= 0 && i < count; --run) {
      result[i++] = value;
    }
  }
  return result;
}

// ---- Pointwise programs.

TEST(Interpreter, AddsOneByHand) {
  std::vector<float> x = {1, 2, 3, NAN, -0.f}, y(5);
  ProgramBuilder b(Schedule::kPointwise, {5});
  const ValueId v = b.load(b.access(x.data(), {1}));
  b.store(b.op(Op::kAdd, {v, b.scalar(1.f)}), b.access(y.data(), {1}));
  launch(b.program(), *make_interpreter(b.program()), b.args());
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[2], 4);
  EXPECT_EQ(to_bits(y[3]), 0x7fc00000u);
  EXPECT_EQ(y[4], 1);
}

TEST(Interpreter, StoresNanCanonically) {
  const float odd_nan = from_bits<float>(0xffc12345u);
  std::vector<float> x(100, odd_nan), y(100);
  std::vector<double> d(100, from_bits<double>(0xfff8000000000001u)), e(100);
  ProgramBuilder b(Schedule::kPointwise, {100});
  b.store(b.load(b.access(x.data(), {1})), b.access(y.data(), {1}));
  b.store(b.load(b.access(d.data(), {1})), b.access(e.data(), {1}));
  launch(b.program(), *make_interpreter(b.program()), b.args());
  for (float value : y) EXPECT_EQ(to_bits(value), 0x7fc00000u);
  for (double value : e) EXPECT_EQ(to_bits(value), 0x7ff8000000000000u);
}

TEST(Interpreter, TailsAndStrideClasses) {
  for (int64_t n : {1, 2, 31, 32, 33, 1023, 1025, 2047, 2048, 2049, 5000}) {
    for (int64_t stride : {0, 1, 2, -1, -3}) {
      std::vector<float> x = numbers<float>(3 * n + 1), z = numbers<float>(n, 2), y(2 * n);
      ProgramBuilder b(Schedule::kPointwise, {n});
      const ValueId v = b.load(b.access(x.data(), {stride}, stride < 0 ? -stride * (n - 1) : 0));
      const ValueId w = b.load(b.access(z.data(), {1}));
      const ValueId product = b.op(Op::kMul, {v, w});
      b.store(b.op(Op::kSub, {b.op(Op::kMaximum, {product, v}), w}), b.access(y.data(), {1}));
      b.store(product, b.access(y.data(), DType::kFloat32, {-1}, 2 * n - 1));
      expect_exact(b, {region(y)});
    }
  }
}

TEST(Interpreter, Rank3WithBroadcasts) {
  const int64_t n0 = 5, n1 = 37, n2 = 61;
  for (int form = 0; form < 8; ++form) {
    std::vector<float> x = numbers<float>(n0 * n1 * n2), z = numbers<float>(n0 * n1 * n2, 3);
    std::vector<float> y(n0 * n1 * n2);
    ProgramBuilder b(Schedule::kPointwise, {n0, n1, n2});
    const std::vector<int64_t> strides = {form & 1 ? 0 : 1, form & 2 ? 0 : n0,
                                          form & 4 ? 0 : n0 * n1};
    const ValueId v = b.load(b.access(x.data(), {n1 * n2, n2, 1}));
    const ValueId w = b.load(b.access(z.data(), strides));
    const ValueId row = b.load(b.access(z.data(), {n1, 1, 0}));
    const ValueId at = b.cast(b.coordinate({100, -10, 1}, 7), DType::kFloat32);
    b.store(b.op(Op::kAdd, {b.op(Op::kSub, {v, w}), b.op(Op::kDiv, {row, at})}),
            b.access(y.data(), {-n1 * n2, n2, 1}, (n0 - 1) * n1 * n2));
    expect_exact(b, {region(y)});
  }
}

TEST(Interpreter, EveryOpForEveryType) {
  const int64_t n = 200;
  for (int op = 0; op < fusion::kNumOps; ++op) {
    const fusion::OpInfo& info = fusion::op_info(static_cast<Op>(op));
    if (info.op_class != fusion::OpClass::kPointwise || static_cast<Op>(op) == Op::kCast) continue;
    for (int t = 0; t < kNumDTypes; ++t) {
      const DType dtype = static_cast<DType>(t);
      if (info.rule == fusion::TypeRule::kFixed ? dtype != info.operand_dtype
                                                : !fusion::in_domain(info.domain, dtype)) {
        continue;
      }
      if (HasFailure()) return;
      visit_dtype(dtype, [&]<typename T>() {
        using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
        auto input = [&](uint32_t seed) {
          if constexpr (std::is_same_v<T, bool>)
            return masks(n, seed);
          else
            return numbers<T>(n, seed);
        };
        std::vector<Stored> x[3] = {input(1), input(2), input(3)};
        std::vector<uint8_t> mask = masks(n + 5, 4);
        // Each operand is a tile or uniform.
        for (int form = 0; form < 1 << info.arity; ++form) {
          std::vector<uint64_t> y(n);
          ProgramBuilder b(Schedule::kPointwise, {n});
          ValueId v[3] = {0, 0, 0};
          for (int k = 0; k < info.arity; ++k) {
            const int64_t stride = form >> k & 1 ? 0 : 1;
            const bool is_mask = k == 0 && info.rule == fusion::TypeRule::kSelect;
            v[k] = is_mask ? b.load(b.access(mask.data(), DType::kBool, {stride}, 5))
                           : b.load(b.access(x[k].data(), dtype, {stride}, stride == 0 ? 6 : 0));
          }
          const ValueId result = info.arity == 1   ? b.op(Op(op), {v[0]})
                                 : info.arity == 2 ? b.op(Op(op), {v[0], v[1]})
                                                   : b.op(Op(op), {v[0], v[1], v[2]});
          b.store(result, b.access(y.data(), b.dtype_of_value(result), {1}));
          expect_exact(b, {region(y)});
          if (::testing::Test::HasFailure()) {
            GTEST_FAIL() << info.name << " of " << name_of(dtype) << " form " << form;
          }
        }
      });
    }
  }
}

TEST(Interpreter, EveryCast) {
  const int64_t n = 1500;
  for (int from = 0; from < kNumDTypes; ++from) {
    for (int to = 0; to < kNumDTypes; ++to) {
      std::vector<double> wide = numbers<double>(n);
      for (int64_t i = 0; i < n; i += 7) wide[i] *= 1e9;
      std::vector<uint8_t> mask = masks(n);
      std::vector<uint64_t> y(n);
      ProgramBuilder b(Schedule::kPointwise, {n});
      ValueId v = from == 0 ? b.load(b.access(mask.data(), DType::kBool, {1}))
                            : b.cast(b.load(b.access(wide.data(), {1})), static_cast<DType>(from));
      b.store(b.cast(v, static_cast<DType>(to)), b.access(y.data(), static_cast<DType>(to), {1}));
      expect_exact(b, {region(y)});
    }
  }
}

TEST(Interpreter, HalfTypesRoundAfterEveryInstruction) {
  const int64_t n = 70000;
  std::vector<uint16_t> x(n), y(n), z(n);
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<uint16_t>(i);
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    ProgramBuilder b(Schedule::kPointwise, {n});
    const ValueId v = b.load(b.access(x.data(), dtype, {1}));
    const ValueId reversed = b.load(b.access(x.data(), dtype, {-1}, n - 1));
    const ValueId third =
        dtype == DType::kFloat16 ? b.scalar(float16(1.f / 3)) : b.scalar(bfloat16(1.f / 3));
    b.store(v, b.access(z.data(), dtype, {1}));
    b.store(b.op(Op::kAdd, {b.op(Op::kMul, {v, third}), reversed}), b.access(y.data(), dtype, {1}));
    expect_exact(b, {region(y), region(z)});
  }
}

TEST(Interpreter, PredicatedLoads) {
  const int64_t n = 9000;
  std::vector<uint8_t> mask = masks(n);
  std::vector<float> x = numbers<float>(n), y(n), z(n);
  std::vector<uint16_t> source(n, 0x3c01), h(n);
  std::vector<int8_t> small = numbers<int8_t>(n), w(n);
  ProgramBuilder b(Schedule::kPointwise, {n});
  const ValueId p = b.load(b.access(mask.data(), DType::kBool, {1}));
  const ValueId never = b.scalar(false);
  const ValueId always = b.scalar(true);
  b.store(b.load(b.access(x.data(), {1}), {p}), b.access(y.data(), {1}));
  // Memory behind a false predicate is not touched.
  b.store(b.load(b.access(x.data(), {1}, int64_t{1} << 50), {never}), b.access(z.data(), {1}));
  b.store(b.load(b.access(small.data(), {1}), {p}), b.access(w.data(), {1}));
  b.store(b.load(b.access(source.data(), DType::kFloat16, {0}, 3), {always}),
          b.access(h.data(), DType::kFloat16, {1}));
  std::vector<uint8_t> single(n);
  const ValueId q = b.op(Op::kEqual, {b.coordinate({1}), b.scalar(int64_t{4})});
  b.store(
      b.load(b.access(mask.data(), DType::kBool, {int64_t{1} << 40}, -4 * (int64_t{1} << 40)), {q}),
      b.access(single.data(), DType::kBool, {1}));
  expect_exact(b, {region(y), region(z), region(w), region(h), region(single)});
}

TEST(Interpreter, InPlace) {
  const int64_t n = 5000;
  std::vector<float> x = numbers<float>(n), y = numbers<float>(n, 2);
  ProgramBuilder b(Schedule::kPointwise, {n});
  const ValueId v = b.load(b.access(x.data(), {1}));
  const ValueId w = b.load(b.access(y.data(), {1}));
  b.store(b.op(Op::kAdd, {v, w}), b.access(x.data(), {1}));
  b.store(v, b.access(y.data(), {1}));
  expect_exact(b, {region(x), region(y)});
}

// The result may lie in the register of a converted element that stands for all.
TEST(Interpreter, FunctionsOfAnElementThatStandsForAll) {
  const int64_t n = 900;
  for (const Op op : {Op::kRemainder, Op::kFloorDivide, Op::kAtan2, Op::kPow, Op::kHypot}) {
    for (const bool is_first : {false, true}) {
      std::vector<double> x = numbers<double>(n), y(n);
      int16_t five = 5;
      ProgramBuilder b(Schedule::kPointwise, {n});
      const ValueId all = b.cast(b.load(b.access(&five, DType::kInt16, {0})), DType::kFloat64);
      const ValueId v = b.load(b.access(x.data(), {1}));
      b.store(is_first ? b.op(op, {all, v}) : b.op(op, {v, all}), b.access(y.data(), {1}));
      expect_exact(b, {region(y)});
    }
  }
}

TEST(Interpreter, GathersAndChecksIndices) {
  const int64_t n = 3000, m = 50;
  std::vector<int64_t> index(n);
  for (int64_t i = 0; i < n; ++i) index[i] = i * 7 % (2 * m) - m;
  std::vector<float> table = numbers<float>(3 * m), y(3 * n);
  std::vector<uint16_t> half(m, 0x3c01), z(n);
  std::vector<uint8_t> mask = masks(n);
  auto build = [&](ProgramBuilder& b) {
    const ValueId extent = b.param(m);
    const ValueId p = b.load(b.access(mask.data(), DType::kBool, {0, 1}));
    const ValueId i = b.load(b.access(index.data(), {0, 1}));
    const ValueId checked = b.check_index({i, extent});
    const ValueId guarded = b.check_index({i, extent, p});
    b.store(b.op(Op::kAdd, {b.gather(b.access(table.data(), {m, 0}), {checked}),
                            b.gather(b.access(table.data(), {m, 0}), {guarded, p})}),
            b.access(y.data(), {n, 1}));
    b.store(b.gather(b.access(half.data(), DType::kFloat16, {0, 0}), {guarded, p}),
            b.access(z.data(), DType::kFloat16, {0, 1}));
  };
  {
    ProgramBuilder b(Schedule::kPointwise, {3, n});
    build(b);
    expect_exact(b, {region(y), region(z)});
    EXPECT_EQ(b.error(0).raised, 0u);
  }
  mask.assign(n, 1);
  mask[1234] = 0;
  index[1234] = m;  // behind a false predicate
  index[77] = -m - 1;
  ProgramBuilder b(Schedule::kPointwise, {3, n});
  build(b);
  const KernelArgs args = b.args();
  const auto executable = make_interpreter(b.program());
  executable->entry().rows(executable->context(), &args, 0, 50);
  EXPECT_EQ(b.error(0).raised, 0u);
  launch(b.program(), *executable, args);
  EXPECT_EQ(b.error(0).raised, 1u);
  EXPECT_TRUE(b.error(0).index == -m - 1 || b.error(0).index == m);
  EXPECT_EQ(b.error(0).extent, m);
  EXPECT_EQ(b.error(1).raised, 1u);
  EXPECT_EQ(b.error(1).index, -m - 1);
}

TEST(Interpreter, UniformProgramFillsEverything) {
  std::vector<double> y(4000);
  ProgramBuilder b(Schedule::kPointwise, {40, 100});
  const ValueId v = b.op(Op::kMul, {b.scalar(3.0), b.cast(b.param(7), DType::kFloat64)});
  b.store(v, b.access(y.data(), {1, 40}));
  expect_exact(b, {region(y)});
  EXPECT_EQ(y[3999], 21.0);
}

TEST(Interpreter, LongProgramsStaySmall) {
  const int64_t n = 3000;
  std::vector<float> x = numbers<float>(n), y(n);
  ProgramBuilder b(Schedule::kPointwise, {n});
  ValueId v = b.load(b.access(x.data(), {1}));
  const ValueId first = v;
  for (int i = 0; i < 4000; ++i) v = b.op(i % 3 ? Op::kAdd : Op::kSub, {v, first});
  b.store(v, b.access(y.data(), {1}));
  expect_exact(b, {region(y)});
  EXPECT_LE(interp::translate(b.program()).registers.size(), 3u);
}

// The maps among the steps of a pointwise program.
int64_t num_maps(const Program& program) {
  const interp::Bytecode code = interp::translate(program);
  const std::vector<interp::Instruction>& instrs = code.passes[0].row_code;
  return std::count_if(instrs.begin(), instrs.end(), [](const interp::Instruction& instr) {
    return instr.opcode == interp::Opcode::kMap;
  });
}

// (a . b) . c and c . (a . b), where bit k of `scalars` makes operand k a scalar.
template <typename T>
void check_pair(Op first, Op second, bool reversed, unsigned scalars) {
  const int64_t n = 2100;
  std::array<std::vector<T>, 3> x = {numbers<T>(n, 1), numbers<T>(n, 2), numbers<T>(n, 3)};
  std::vector<T> y(n);
  ProgramBuilder b(Schedule::kPointwise, {n});
  std::array<ValueId, 3> v;
  for (int k = 0; k < 3; ++k) {
    v[k] = scalars >> k & 1 ? b.scalar(x[k][7]) : b.load(b.access(x[k].data(), {1}));
  }
  const ValueId inner = b.op(first, {v[0], v[1]});
  b.store(reversed ? b.op(second, {v[2], inner}) : b.op(second, {inner, v[2]}),
          b.access(y.data(), {1}));
  expect_exact(b, {region(y)});
  // Two scalars are one before the rows begin.
  EXPECT_EQ(num_maps(b.program()), 1);
}

TEST(Interpreter, ArithmeticRunsInPairs) {
  for (const Op first : {Op::kAdd, Op::kSub, Op::kMul}) {
    for (const Op second : {Op::kAdd, Op::kSub, Op::kMul}) {
      for (const bool reversed : {false, true}) {
        for (unsigned scalars = 0; scalars < 7; ++scalars) {
          check_pair<float>(first, second, reversed, scalars);
          check_pair<double>(first, second, reversed, scalars);
        }
      }
    }
  }
}

TEST(Interpreter, WhatIsReadTwiceIsInNoPair) {
  const int64_t n = 100;
  std::vector<float> x = numbers<float>(n), y = numbers<float>(n, 2), z(n), w(n);
  ProgramBuilder b(Schedule::kPointwise, {n});
  const ValueId v = b.load(b.access(x.data(), {1}));
  const ValueId sum = b.op(Op::kAdd, {v, b.load(b.access(y.data(), {1}))});
  const ValueId square = b.op(Op::kMul, {sum, sum});
  const ValueId difference = b.op(Op::kSub, {square, v});
  b.store(difference, b.access(z.data(), {1}));
  b.store(b.op(Op::kMul, {difference, square}), b.access(w.data(), {1}));
  expect_exact(b, {region(z), region(w)});
  EXPECT_EQ(num_maps(b.program()), 4);
}

template <typename T>
void check_nontemporal(Op op, DType from) {
  for (const int64_t n : {1, 3, 64, 255, 2048, 5003}) {
    for (const int64_t offset : {0, 1, 16}) {
      std::vector<float> x = numbers<float>(n);
      std::vector<T> y(n + offset + 64 / sizeof(T));
      T* aligned = y.data();
      while (reinterpret_cast<uintptr_t>(aligned) % 64 != 0) ++aligned;
      ProgramBuilder b(Schedule::kPointwise, {n});
      b.program().nontemporal = true;
      const ValueId v = b.cast(b.load(b.access(x.data(), {1})), from);
      b.store(b.cast(b.op(op, {v, v}), dtype_of<T>()), b.access(aligned, {1}, offset));
      expect_exact(b, {region(y)});
    }
  }
}

// Non-temporal stores need whole vectors at aligned places.
TEST(Interpreter, NontemporalStoresGiveTheSameBits) {
  check_nontemporal<float>(Op::kSub, DType::kFloat32);
  check_nontemporal<float>(Op::kDiv, DType::kFloat32);
  check_nontemporal<double>(Op::kDiv, DType::kFloat64);
  check_nontemporal<float16>(Op::kMul, DType::kFloat32);
  check_nontemporal<int32_t>(Op::kAdd, DType::kInt32);
  check_nontemporal<uint64_t>(Op::kMul, DType::kUInt64);
  check_nontemporal<int8_t>(Op::kAdd, DType::kInt8);
}

TEST(Interpreter, NoRows) {
  std::vector<float> x(1);
  ProgramBuilder b(Schedule::kPointwise, {0, 3});
  b.store(b.load(b.access(x.data(), {3, 1})), b.access(x.data(), {3, 1}));
  expect_exact(b, {region(x)});
}

// ---- Reductions.

class Reduction : public ::testing::TestWithParam<int64_t> {};

// Every reduction of every type, at a length, over 1 and 5 rows.
TEST_P(Reduction, MatchesTheOrder) {
  const int64_t length = GetParam();
  for (Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    for (int64_t rows : {1, 5, 70}) {
      if (rows == 70 && length > 100) continue;
      for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                          DType::kInt64, DType::kUInt8, DType::kBool}) {
        visit_dtype(dtype, [&]<typename T>() {
          using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
          std::vector<Stored> x;
          if constexpr (std::is_same_v<T, bool>)
            x = masks(rows * length);
          else
            x = numbers<T>(rows * length);
          // So that not every sum is infinite.
          if constexpr (!std::is_integral_v<T>) {
            for (T& value : x) value = std::isfinite(float(value)) ? value : T(1.f);
          }
          x.resize(rows * length + 1);
          const bool is_row = schedule == Schedule::kRow;
          std::vector<uint64_t> out[8];
          ProgramBuilder b(schedule, {rows}, {length});
          const ValueId v = b.load(
              b.access(x.data(), dtype,
                       is_row ? std::vector<int64_t>{length, 1} : std::vector<int64_t>{1, rows}));
          std::vector<Region> regions;
          int next = 0;
          for (Op op : {Op::kSum, Op::kProd, Op::kMax, Op::kMin, Op::kAny, Op::kAll, Op::kArgMax,
                        Op::kArgMin}) {
            const bool arg = fusion::is_arg_reduction(op);
            if (!arg && !fusion::in_domain(fusion::op_info(op).domain, dtype)) continue;
            const ValueId result = b.op(op, {v});
            out[next].resize(rows);
            b.store(result, b.access(out[next].data(), b.dtype_of_value(result), {1, 0}));
            regions.push_back(region(out[next]));
            ++next;
          }
          expect_exact(b, regions);
        });
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Lengths, Reduction,
                         ::testing::Values(0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 100, 511, 512, 513,
                                           1025, 1537, 2049, 8191, 8192, 8193, 20000));

TEST(Interpreter, EmptyFloatSumIsPositiveZero) {
  std::vector<float> y = {1, 1};
  for (Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    ProgramBuilder b(schedule, {2}, {0});
    b.store(b.op(Op::kSum, {b.load(b.access(y.data(), {1, 1}))}), b.access(y.data(), {1, 0}));
    launch(b.program(), *make_interpreter(b.program()), b.args());
    EXPECT_EQ(to_bits(y[0]), 0u);
    EXPECT_EQ(to_bits(y[1]), 0u);
  }
}

// Sums of values that do not vary along the row: a row's, a uniform one, and a reduction's result,
// which is also stored by element.
TEST(Interpreter, ExpandsAlongRows) {
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    for (const int64_t n : {1, 5, 700, 9000}) {
      constexpr int64_t kRows = 3;
      const std::vector<float> x = numbers<float>(kRows), y = numbers<float>(kRows * n);
      std::vector<float> sums(3 * kRows), z(kRows * n);
      std::vector<int64_t> first(kRows);
      ProgramBuilder b(schedule, {kRows}, {n});
      const ValueId row = b.load(b.access(const_cast<float*>(x.data()), {1, 0}));
      const ValueId maximum =
          b.op(Op::kMax, {b.load(b.access(const_cast<float*>(y.data()), {n, 1}))});
      const ValueId expanded = b.op(Op::kExpand, {maximum});
      int64_t offset = 0;
      for (const ValueId v : {b.op(Op::kExpand, {row}), b.op(Op::kExpand, {b.scalar(0.1f)}),
                              b.op(Op::kAdd, {expanded, row})}) {
        b.store(b.op(Op::kSum, {v}), b.access(sums.data(), {1, 0}, offset));
        offset += kRows;
      }
      b.store(b.op(Op::kArgMax, {expanded}), b.access(first.data(), {1, 0}));
      b.store(expanded, b.access(z.data(), {n, 1}));
      expect_exact(b, {region(sums), region(first), region(z)});
    }
  }
}

TEST(Interpreter, ExpandsOnlyWhatDoesNotVary) {
  std::vector<float> x(8);
  ProgramBuilder varies(Schedule::kRow, {2}, {4});
  varies.op(Op::kExpand, {varies.load(varies.access(x.data(), {4, 1}))});
  varies.store(varies.scalar(1.f), varies.access(x.data(), {1, 0}));
  EXPECT_FALSE(fusion::verify(varies.program()).ok());
  ProgramBuilder pointwise(Schedule::kPointwise, {8});
  pointwise.op(Op::kExpand, {pointwise.load(pointwise.access(x.data(), {1}))});
  pointwise.store(pointwise.scalar(1.f), pointwise.access(x.data(), {1}));
  EXPECT_FALSE(fusion::verify(pointwise.program()).ok());
}

TEST(Interpreter, ArgMaxOfSpecials) {
  const float inf = INFINITY;
  std::vector<float> x = {-inf, -inf, -inf, -inf, 1, NAN, 5, NAN, 0.f, -0.f, 0.f, -1};
  std::vector<int64_t> y(3), z(3);
  ProgramBuilder b(Schedule::kRow, {3}, {4});
  const ValueId v = b.load(b.access(x.data(), {4, 1}));
  b.store(b.op(Op::kArgMax, {v}), b.access(y.data(), {1, 0}));
  b.store(b.op(Op::kArgMin, {v}), b.access(z.data(), {1, 0}));
  expect_exact(b, {region(y), region(z)});
  EXPECT_EQ(y, (std::vector<int64_t>{0, 1, 0}));
  EXPECT_EQ(z, (std::vector<int64_t>{0, 1, 3}));
}

TEST(Interpreter, ManyReducedDims) {
  const std::vector<int64_t> kept = {3, 11}, reduced = {5, 1, 13};
  const int64_t size = 3 * 11 * 5 * 13;
  for (Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    std::vector<double> x = numbers<double>(size), bias = numbers<double>(100), y(33), z(size);
    ProgramBuilder b(schedule, kept, reduced);
    const ValueId v = b.load(b.access(x.data(), {1, 3 * 65, 3, 0, 15}));
    const ValueId row = b.load(b.access(bias.data(), {0, 1, 0, 0, 0}));
    const ValueId along = b.load(b.access(bias.data(), {0, 0, 13, 0, -1}, 12));
    const ValueId shifted = b.op(Op::kMul, {b.op(Op::kAdd, {v, row}), along});
    b.store(b.op(Op::kMul, {b.op(Op::kSum, {shifted}), row}), b.access(y.data(), {11, 1, 0, 0, 0}));
    b.store(shifted, b.access(z.data(), {11 * 65, 65, 13, 1, 1}));
    expect_exact(b, {region(y), region(z)});
  }
}

// exp(x - max) / sum, with what the passes share written out, too.
void softmax(Schedule schedule, int64_t rows, int64_t length, DType dtype) {
  std::vector<double> x(rows * length), y(rows * length), sums(rows), copies(rows * length);
  std::vector<double> source = numbers<double>(rows * length);
  for (size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(source[i])) source[i] = 0.5;
    store_bits(dtype,
               is_half(dtype) || dtype == DType::kFloat32
                   ? round_bits(dtype, to_bits(static_cast<float>(source[i])))
                   : to_bits(source[i]),
               reinterpret_cast<char*>(x.data()) + i * size_of(dtype));
  }
  const std::vector<int64_t> whole =
      schedule == Schedule::kRow ? std::vector<int64_t>{length, 1} : std::vector<int64_t>{1, rows};
  ProgramBuilder b(schedule, {rows}, {length});
  const ValueId v = b.load(b.access(x.data(), dtype, whole));
  const ValueId most = b.op(Op::kMax, {v});
  const ValueId shifted = b.op(Op::kExp, {b.op(Op::kSub, {v, most})});
  const ValueId sum = b.op(Op::kSum, {shifted});
  b.store(b.op(Op::kDiv, {shifted, sum}), b.access(y.data(), dtype, whole));
  b.store(sum, b.access(sums.data(), dtype, {1, 0}));
  b.store(most, b.access(copies.data(), dtype, whole));
  expect_exact(b, {region(y), region(sums), region(copies)});
}

TEST(Interpreter, Softmax) {
  for (Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
      for (int64_t length : {1, 7, 64, 1000, 1500, 9000}) softmax(schedule, 6, length, dtype);
      softmax(schedule, 600, 10, dtype);
      softmax(schedule, 2500, 3, dtype);
    }
  }
}

// Large enough for launch() to use threads: by rows, by columns, by blocks.
TEST(Interpreter, ThreadsChangeNothing) {
  using Extents = std::vector<int64_t>;
  for (const auto& [kept, reduced] :
       {std::pair{Extents{600}, Extents{700}}, std::pair{Extents{2}, Extents{3, 70001}},
        std::pair{Extents{1}, Extents{300000}}, std::pair{Extents{2, 1300}, Extents{300}}}) {
    for (Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
      int64_t rows = 1, length = 1;
      for (int64_t extent : kept) rows *= extent;
      for (int64_t extent : reduced) length *= extent;
      std::vector<float> x = numbers<float>(rows * length), y(rows), z(rows * length);
      std::vector<int64_t> at(rows);
      ProgramBuilder b(schedule, kept, reduced);
      Extents strides, outer(kept.size() + reduced.size(), 0);
      int64_t stride = rows * length;
      for (int64_t extent : kept) strides.push_back(stride /= extent);
      for (int64_t extent : reduced) strides.push_back(stride /= extent);
      stride = rows;
      for (size_t d = 0; d < kept.size(); ++d) outer[d] = stride /= kept[d];
      const ValueId v = b.op(Op::kTanh, {b.load(b.access(x.data(), strides))});
      b.store(b.op(Op::kSum, {v}), b.access(y.data(), outer));
      b.store(b.op(Op::kArgMax, {v}), b.access(at.data(), outer));
      b.store(v, b.access(z.data(), strides));
      expect_exact(b, {region(y), region(z), region(at)});
    }
  }
  const int64_t n = 300001;
  std::vector<float> x = numbers<float>(n), y(n);
  ProgramBuilder b(Schedule::kPointwise, {n});
  b.store(b.op(Op::kExp, {b.load(b.access(x.data(), {1}))}), b.access(y.data(), {-1}, n - 1));
  expect_exact(b, {region(y)});
}

// ---- Random programs.

class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed) : random_(seed) {}

  void check() {
    const int kinds = pick(3);
    const Schedule schedule = static_cast<Schedule>(kinds);
    std::vector<int64_t> kept(1 + pick(3)), reduced(kinds == 0 ? 0 : 1 + pick(2));
    int64_t size = 1;
    for (auto* dims : {&kept, &reduced}) {
      for (int64_t& extent : *dims) {
        const int64_t choices[] = {1, 2, 3, 7, 33, 70, 1100};
        extent = choices[pick(size > 500 ? 4 : 7)];
        size *= extent;
      }
    }
    if (size > 200000) return;
    ProgramBuilder b(schedule, kept, reduced);
    extents_ = kept;
    extents_.insert(extents_.end(), reduced.begin(), reduced.end());
    size_ = size;
    outer_rank_ = static_cast<int>(kept.size());
    const int inputs = 1 + pick(4);
    for (int i = 0; i < inputs; ++i) add_load(b);
    if (pick(2)) values_.push_back(b.cast(b.coordinate(random_strides(false)), random_type()));
    if (pick(2)) values_.push_back(b.cast(b.scalar(1.5f), random_type()));
    const int ops = 1 + pick(30);
    for (int i = 0; i < ops; ++i) add_op(b);
    std::vector<Region> regions;
    const int stores = 1 + pick(4);
    for (int i = 0; i < stores; ++i) {
      const ValueId v = i == 0 ? values_.back() : any();
      const bool element =
          !reduced.empty() && (b.level_of_value(v) == Level::kElement || pick(4) == 0);
      outputs_.emplace_back(size, 0x55);
      b.store(v, b.access(outputs_.back().data(), b.dtype_of_value(v), contiguous(element)));
      regions.push_back({outputs_.back().data(), outputs_.back().size() * 8});
    }
    expect_exact(b, regions);
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % count); }
  ValueId any() { return values_[pick(static_cast<int>(values_.size()))]; }
  DType random_type() {
    const DType types[] = {DType::kFloat32,  DType::kFloat32, DType::kFloat64, DType::kFloat16,
                           DType::kBFloat16, DType::kInt32,   DType::kInt8,    DType::kUInt16,
                           DType::kInt64,    DType::kBool};
    return types[pick(10)];
  }
  std::vector<int64_t> contiguous(bool element) {
    std::vector<int64_t> strides(extents_.size(), 0);
    int64_t stride = 1;
    for (int d = static_cast<int>(extents_.size()) - 1; d >= 0; --d) {
      if (!element && d >= outer_rank_) continue;
      strides[d] = stride;
      stride *= extents_[d];
    }
    return strides;
  }
  std::vector<int64_t> random_strides(bool broadcast) {
    std::vector<int64_t> strides = contiguous(true);
    if (pick(2)) {  // another memory order
      int64_t stride = 1;
      for (size_t d = 0; d < extents_.size(); ++d) {
        strides[d] = stride;
        stride *= extents_[d];
      }
    }
    for (int64_t& stride : strides) {
      if (broadcast && pick(4) == 0) stride = 0;
    }
    return strides;
  }
  void add_load(ProgramBuilder& b) {
    const DType dtype = random_type();
    std::vector<uint64_t>& data = inputs_.emplace_back(size_);
    visit_dtype(dtype, [&]<typename T>() {
      if constexpr (std::is_same_v<T, bool>) {
        const std::vector<uint8_t> values = masks(size_, random_());
        std::memcpy(data.data(), values.data(), values.size());
      } else {
        const std::vector<T> values = numbers<T>(size_, random_());
        std::memcpy(data.data(), values.data(), values.size() * sizeof(T));
      }
    });
    std::vector<int64_t> strides = random_strides(true);
    int64_t offset = 0;
    for (size_t d = 0; d < strides.size(); ++d) {
      if (pick(6) != 0) continue;
      offset += strides[d] * (extents_[d] - 1);
      strides[d] = -strides[d];
    }
    const uint16_t access = b.access(data.data(), dtype, strides, offset, pick(2));
    if (!values_.empty() && pick(3) == 0) {
      const ValueId predicate = b.cast(any(), DType::kBool);
      values_.push_back(b.load(access, {predicate}));
    } else {
      values_.push_back(b.load(access));
    }
  }
  void add_op(ProgramBuilder& b) {
    const ValueId x = any();
    const DType dtype = b.dtype_of_value(x);
    if (b.level_of_value(x) == Level::kElement && pick(6) == 0) {
      const Op reductions[] = {Op::kSum, Op::kMax, Op::kMin, Op::kArgMax, Op::kAny};
      const Op op = reductions[pick(5)];
      if (fusion::is_arg_reduction(op) || fusion::in_domain(fusion::op_info(op).domain, dtype)) {
        values_.push_back(b.op(op, {x}));
        return;
      }
    }
    if (b.level_of_value(x) != Level::kElement && b.program().reduced_rank > 0 && pick(6) == 0) {
      values_.push_back(b.op(Op::kExpand, {x}));
      return;
    }
    if (pick(8) == 0) {
      values_.push_back(b.cast(x, random_type()));
      return;
    }
    const ValueId y = b.cast(any(), dtype);
    const Op ops[] = {Op::kAdd,  Op::kMul, Op::kMaximum, Op::kLess, Op::kWhere,
                      Op::kSub,  Op::kNeg, Op::kClip,    Op::kDiv,  Op::kExp,
                      Op::kTanh, Op::kErf, Op::kEqual,   Op::kPow};
    const Op op = ops[pick(14)];
    const fusion::OpInfo& info = fusion::op_info(op);
    if (!fusion::in_domain(info.domain, dtype)) return;
    if (info.arity == 1)
      values_.push_back(b.op(op, {x}));
    else if (info.arity == 2)
      values_.push_back(b.op(op, {x, y}));
    else if (op == Op::kWhere)
      values_.push_back(b.op(op, {b.cast(any(), DType::kBool), x, y}));
    else
      values_.push_back(b.op(op, {x, y, b.cast(any(), dtype)}));
  }

  std::mt19937 random_;
  std::vector<int64_t> extents_;
  int64_t size_ = 1;
  int outer_rank_ = 1;
  std::vector<ValueId> values_;
  std::vector<std::vector<uint64_t>> inputs_, outputs_;
};

TEST(Interpreter, RandomPrograms) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    RandomProgram(seed).check();
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace sluice::kernels
