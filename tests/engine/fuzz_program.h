// Random programs over the public surface: what a step does to the engine and to the oracle, and
// how one is made up.
#ifndef SLUICE_TESTS_ENGINE_FUZZ_PROGRAM_H_
#define SLUICE_TESTS_ENGINE_FUZZ_PROGRAM_H_

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/test_util.h"

namespace sluice::test {

// One statement. `op` is a row of op_table(), or one of "leaf", "drop", "read", "eval", "flush".
struct Step {
  std::string op;
  int id = -1;            // of the value it makes
  std::vector<int> args;  // ids of operands
  std::vector<int64_t> ints;
  std::vector<int> axes;
  Shape shape;
  DType dtype = DType::kFloat32;
  bool flag = false;
  bool consume = false;  // gives its first operand up
  NdArray leaf;
};
using Program = std::vector<Step>;

using Tensors = std::vector<Tensor>;
using Arrays = std::vector<NdArray>;

inline constexpr int64_t kMostElements = 20000;

class Generator;

struct OpRow {
  std::string name;
  // Fills operands and attributes; false if the values at hand don't suit.
  bool (*make)(Generator&, Step&);
  Tensor (*engine)(const Step&, Tensors&&);
  NdArray (*oracle)(const Step&, const Arrays&);
};
const std::vector<OpRow>& op_table();
inline const OpRow& row_of(const std::string& op) {
  static const auto* rows = [] {
    auto* map = new std::map<std::string, const OpRow*>;
    for (const OpRow& row : op_table()) (*map)[row.name] = &row;
    return map;
  }();
  return *rows->at(op);
}

// Makes up a program while the oracle computes it.
class Generator {
 public:
  explicit Generator(uint64_t seed) : rng(seed) {}

  Program make() {
    const int leaves = pick(1, 4);
    for (int i = 0; i < leaves; ++i) add_leaf();
    const int steps = pick(3, 28);
    while (static_cast<int>(program.size()) < leaves + steps) add_step();
    return program;
  }

  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  // Recent values more often.
  int any_value() {
    const auto count = static_cast<int64_t>(live.size());
    return chance(60) ? live[std::max<int64_t>(0, count - pick(1, 3))] : live[pick(0, count - 1)];
  }
  template <typename F>
  std::optional<int> value_where(F accepts) {
    for (int attempt = 0; attempt < 6; ++attempt) {
      const int id = any_value();
      if (accepts(values.at(id))) return id;
    }
    return std::nullopt;
  }
  const NdArray& value(int id) const { return values.at(id); }
  int any_axis(const NdArray& x) { return static_cast<int>(pick(-x.rank(), x.rank() - 1)); }
  DType any_dtype() {
    if (chance(45)) return DType::kFloat32;
    return static_cast<DType>(pick(0, kNumDTypes - 1));
  }
  int64_t any_extent() {
    return chance(20) ? 1 : chance(4) ? 0 : chance(70) ? pick(2, 6) : pick(7, 40);
  }
  Shape any_shape() {
    if (chance(4)) return Shape{pick(1000, kMostElements)};
    if (chance(3)) return Shape{pick(20, 140), pick(20, 140)};
    if (chance(6)) return Shape{pick(60, 300), pick(2, 17)};
    if (chance(3)) return Shape{pick(3, 40), pick(16, 40), pick(2, 4)};
    while (true) {
      std::vector<int64_t> dims(chance(10) ? 0 : chance(80) ? pick(1, 3) : pick(4, 5));
      for (int64_t& dim : dims) dim = any_extent();
      const Shape shape{std::span<const int64_t>(dims)};
      if (shape.numel() <= 4000) return shape;
    }
  }
  // A shape that broadcasts with `shape`: some extents 1, some leading axes gone.
  Shape partner_shape(const Shape& shape) {
    std::vector<int64_t> dims(shape.begin(), shape.end());
    if (!dims.empty() && chance(25)) dims.erase(dims.begin(), dims.begin() + pick(1, dims.size()));
    for (int64_t& dim : dims) {
      if (chance(20)) dim = 1;
    }
    return Shape(std::span<const int64_t>(dims));
  }
  int add_leaf(std::optional<Shape> shape = std::nullopt,
               std::optional<DType> dtype = std::nullopt) {
    Step step;
    step.op = "leaf";
    const Shape extents = shape ? *shape : any_shape();
    step.leaf = random_array(rng, dtype ? *dtype : any_dtype(), extents,
                             chance(30)   ? 0.3
                             : chance(50) ? 0.02
                                          : 0);
    return finish(std::move(step), std::nullopt);
  }
  // An array of valid indices into `extent`, some of them negative.
  int add_indices(const Shape& shape, int64_t extent) {
    Step step;
    step.op = "leaf";
    step.leaf = NdArray(chance(50) ? DType::kInt64 : DType::kInt32, shape);
    for (Real& i : step.leaf.values) i = static_cast<Real>(pick(-extent, extent - 1));
    return finish(std::move(step), std::nullopt);
  }
  // A second operand for `id`: a value at hand, or a new leaf that broadcasts.
  std::optional<int> partner(int id) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      const int other = any_value();
      if (fits(values.at(id).shape, values.at(other).shape)) return other;
    }
    return add_leaf(partner_shape(values.at(id).shape),
                    chance(60) ? std::optional(values.at(id).dtype) : std::nullopt);
  }
  static bool fits(const Shape& a, const Shape& b) {
    try {
      return oracle::broadcast_shapes(a, b).numel() <= kMostElements;
    } catch (const std::exception&) {
      return false;
    }
  }
  std::vector<int> some_axes(const NdArray& x) {
    std::vector<int> axes;
    if (chance(30)) return axes;
    for (int i = 0; i < x.rank(); ++i) {
      if (chance(50)) axes.push_back(chance(30) ? i - x.rank() : i);
    }
    return axes;
  }

  std::mt19937_64 rng;
  Program program;
  std::map<int, NdArray> values;
  std::vector<int> live;

 private:
  int finish(Step step, std::optional<NdArray> result) {
    step.id = next_id_++;
    values[step.id] = result ? std::move(*result) : step.leaf;
    live.push_back(step.id);
    program.push_back(std::move(step));
    return program.back().id;
  }

  void drop(int id) { live.erase(std::find(live.begin(), live.end(), id)); }

  void add_step() {
    if (chance(6)) return add_leaf(), void();
    const bool many = live.size() > 3;
    Step step;
    if (many && chance(25)) {
      step.op = "drop";
      step.args = {live[pick(0, live.size() - 2)]};
      drop(step.args[0]);
      program.push_back(step);
      return;
    }
    if (chance(5)) {
      step.op = chance(60) ? "read" : chance(50) ? "eval" : "flush";
      step.args = {any_value()};
      program.push_back(step);
      return;
    }
    const auto& table = op_table();
    const OpRow& row = table[pick(0, table.size() - 1)];
    step.op = row.name;
    if (!row.make(*this, step)) return;
    Arrays operands;
    for (int arg : step.args) operands.push_back(values.at(arg));
    NdArray result = row.oracle(step, operands);
    step.consume = many && !step.args.empty() && chance(30);
    const int first = step.args.empty() ? -1 : step.args[0];
    const bool consume = step.consume;
    finish(std::move(step), std::move(result));
    if (consume) drop(first);
  }

  int next_id_ = 0;
};

// What ops are made up of and computed by.
namespace fuzz {

using G = Generator;

// Picks operand 0 among the values that `accepts`.
template <typename F>
bool operand(G& g, Step& step, F accepts) {
  const std::optional<int> id = g.value_where(accepts);
  if (!id) return false;
  step.args = {*id};
  return true;
}

// A result of which nothing is known but that it is the same in every mode.
inline NdArray unknown(DType dtype, const Shape& shape) {
  NdArray x = oracle::full(shape, 0, dtype);
  std::fill(x.errors.begin(), x.errors.end(), oracle::kUnknown);
  return x;
}

}  // namespace fuzz

}  // namespace sluice::test

#endif  // SLUICE_TESTS_ENGINE_FUZZ_PROGRAM_H_
