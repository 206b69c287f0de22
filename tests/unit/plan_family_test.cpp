// Plans of known structure in new sizes are those that planning gives, number by number.
#include "fusion/plan/plan_family.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fusion/plan/plan_numbers.h"
#include "fusion/plan/plan_text.h"
#include "fusion/plan/size_line.h"

namespace sluice::fusion {
namespace {

GraphOperand at(NodeId node) { return {.node = node}; }

// A graph of one size under construction. All values are float32.
class Builder {
 public:
  NodeId input(const Shape& shape, DType dtype = DType::kFloat32) {
    GraphNode node;
    node.dtype = node.operand_dtype = dtype;
    node.shape = shape;
    node.strides = contiguous_layout(shape).strides;
    graph_.nodes.push_back(node);
    return last();
  }
  NodeId op(Op op, const Shape& shape, const std::vector<NodeId>& operands,
            const std::vector<int64_t>& attrs = {}) {
    GraphNode node;
    node.op = op;
    node.shape = shape;
    for (const NodeId operand : operands) node.operands.push_back(at(operand));
    node.attrs.assign(attrs.begin(), attrs.end());
    graph_.nodes.push_back(node);
    return last();
  }
  NodeId padded(NodeId x, const Shape& shape, const std::vector<int64_t>& before) {
    op(Op::kPad, shape, {x}, before);
    graph_.nodes.back().operands.push_back({.scalar = graph_.num_scalars++});
    return last();
  }
  Builder& keep(NodeId node) {
    graph_.nodes[node].live = true;
    return *this;
  }
  const Shape& shape(NodeId node) const { return graph_.nodes[node].shape; }
  Graph done() && { return std::move(graph_); }

 private:
  NodeId last() const { return static_cast<NodeId>(graph_.nodes.size()) - 1; }
  Graph graph_;
};

// Asks for plans of make(size), one after another, and compares each. Returns how many were made
// without planning. `others`: counts plans of another structure, where extents that happen to be
// equal at one size make another plan faster; null: there are none.
int64_t check(const std::function<Graph(int64_t)>& make, const std::vector<int64_t>& sizes,
              const std::string& what, int64_t* others = nullptr) {
  PlanFamilies families;
  for (const int64_t size : sizes) {
    const Graph graph = make(size);
    const auto plan = families.make(graph, {});
    const auto planned = make_plan(graph, {});
    EXPECT_TRUE(plan.ok()) << plan.status();
    EXPECT_TRUE(planned.ok()) << planned.status();
    if (!plan.ok() || !planned.ok()) return 0;
    if (others != nullptr && !same_structure(*plan, *planned)) {
      ++*others;
      continue;
    }
    const bool is_same =
        same_structure(*plan, *planned) && numbers_of(*plan) == numbers_of(*planned);
    EXPECT_TRUE(is_same) << what << " at " << size << "\n"
                         << to_text(graph) << to_text(graph, *plan) << "planned:\n"
                         << to_text(graph, *planned);
    if (!is_same) return 0;
    for (size_t s = 0; s < plan->steps.size(); ++s) {
      EXPECT_NEAR(plan->steps[s].cost, planned->steps[s].cost, 1e-6 * planned->steps[s].cost);
    }
    for (size_t o = 0; o < plan->outputs.size(); ++o) {
      EXPECT_EQ(plan->outputs[o].layout, planned->outputs[o].layout);
    }
  }
  return families.instantiated();
}

std::vector<int64_t> growing(int64_t first, int64_t last) {
  std::vector<int64_t> sizes;
  for (int64_t size = first; size <= last; ++size) sizes.push_back(size);
  return sizes;
}

std::vector<int64_t> ragged(int count, int64_t low, int64_t high, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<int64_t> sizes;
  for (int i = 0; i < count; ++i) sizes.push_back(low + static_cast<int64_t>(rng() % (high - low)));
  return sizes;
}

TEST(SizeLineTest, PositionsAreThoseOfTheLeastStep) {
  const SizeLine line({10, 64, 7}, {14, 64, 15});
  EXPECT_EQ(line.position_of({10, 64, 7}), 0);
  EXPECT_EQ(line.position_of({11, 64, 9}), 1);
  EXPECT_EQ(line.position_of({8, 64, 3}), -2);
  EXPECT_EQ(line.position_of({11, 64, 10}), std::nullopt);
  EXPECT_EQ(line.position_of({11, 65, 9}), std::nullopt);
  EXPECT_EQ(line.at(3), (std::vector<int64_t>{13, 64, 13}));
}

// softmax(concat(x, y)) of a product, as of a cache that grows.
Graph attention(int64_t length) {
  Builder b;
  const NodeId cache = b.input({4, length, 16});
  const NodeId next = b.input({4, 1, 16});
  const NodeId query = b.input({4, 1, 16});
  const NodeId keys = b.op(Op::kConcat, {4, length + 1, 16}, {cache, next}, {1});
  const NodeId turned = b.op(Op::kPermute, {4, 16, length + 1}, {keys}, {0, 2, 1});
  const NodeId scores = b.op(Op::kMatmul, {4, 1, length + 1}, {query, turned});
  const NodeId most = b.op(Op::kMax, {4, 1, 1}, {scores}, {2});
  const NodeId rest = b.op(Op::kSub, {4, 1, length + 1}, {scores, most});
  const NodeId powers = b.op(Op::kExp, {4, 1, length + 1}, {rest});
  const NodeId total = b.op(Op::kSum, {4, 1, 1}, {powers}, {2});
  const NodeId weights = b.op(Op::kDiv, {4, 1, length + 1}, {powers, total});
  const NodeId mixed = b.op(Op::kMatmul, {4, 1, 16}, {weights, keys});
  b.keep(keys).keep(b.op(Op::kTanh, {4, 1, 16}, {mixed}));
  return std::move(b).done();
}

TEST(PlanFamilyTest, AGrowingSequenceIsPlannedAFewTimes) {
  EXPECT_GE(check(attention, growing(1, 1000), "attention"), 800);
}

TEST(PlanFamilyTest, RaggedBatches) {
  EXPECT_GE(check(attention, ragged(300, 1, 400, 1), "attention"), 250);
}

TEST(PlanFamilyTest, FromLongToShort) {
  std::vector<int64_t> sizes = growing(40, 400);
  std::reverse(sizes.begin(), sizes.end());
  EXPECT_GE(check(attention, sizes, "attention"), 300);
}

// Each extent is constant + slope * size.
TEST(PlanFamilyTest, TwoExtentsOfOneShape) {
  const auto make = [](int64_t n) {
    Builder b;
    const NodeId x = b.input({n, 2 * n + 3});
    const NodeId sums = b.op(Op::kSum, {n}, {x}, {1});
    b.keep(b.op(Op::kExp, {n}, {sums})).keep(b.op(Op::kNeg, {n, 2 * n + 3}, {x}));
    return std::move(b).done();
  };
  EXPECT_GE(check(make, growing(10, 200), "two extents"), 120);
}

TEST(PlanFamilyTest, HeadsAreRegrouped) {
  const auto make = [](int64_t n) {
    Builder b;
    const NodeId x = b.input({n, 64});
    const NodeId heads = b.op(Op::kReshape, {n, 4, 16}, {x});
    const NodeId turned = b.op(Op::kPermute, {4, n, 16}, {heads}, {1, 0, 2});
    b.keep(b.op(Op::kSum, {4, n}, {b.op(Op::kExp, {4, n, 16}, {turned})}, {2}));
    return std::move(b).done();
  };
  EXPECT_GE(check(make, growing(20, 200), "heads"), 120);
}

// Where a dim has to be split depends on whether one extent divides another.
TEST(PlanFamilyTest, ReshapesOfWhatVariesArePlanned) {
  const auto make = [](int64_t n) {
    Builder b;
    const NodeId x = b.input({n, 6});
    const NodeId flat = b.op(Op::kReshape, {6 * n}, {x});
    const NodeId other = b.op(Op::kReshape, {3, 2 * n}, {flat});
    b.keep(b.op(Op::kExp, {3, 2 * n}, {b.op(Op::kAdd, {3, 2 * n}, {other, b.input({2 * n})})}));
    return std::move(b).done();
  };
  EXPECT_EQ(check(make, growing(4, 120), "reshape"), 0);
}

TEST(PlanFamilyTest, RollsArePlanned) {
  const auto make = [](int64_t n) {
    Builder b;
    const NodeId x = b.input({n, 6});
    b.keep(b.op(Op::kExp, {n, 6}, {b.op(Op::kRoll, {n, 6}, {x}, {0, 1})}));
    return std::move(b).done();
  };
  EXPECT_EQ(check(make, growing(4, 120), "roll"), 0);
}

TEST(PlanFamilyTest, StructuresDoNotMix) {
  PlanFamilies families;
  for (int64_t n = 10; n < 60; ++n) {
    for (const Op op : {Op::kExp, Op::kTanh}) {
      Builder b;
      b.keep(b.op(op, {n, 8}, {b.input({n, 8})}));
      const Graph graph = std::move(b).done();
      const auto plan = families.make(graph, {});
      ASSERT_TRUE(plan.ok());
      EXPECT_EQ(plan->steps[0].kernels[0].program.body[1].op, op);
    }
  }
  EXPECT_GT(families.instantiated(), 50);
}

// ---- Random graphs whose extents are linear functions of a size.

struct Linear {
  int64_t constant = 1, slope = 0;
  bool operator==(const Linear&) const = default;
};
using Extents = std::vector<Linear>;

// Makes the same graph, but for its numbers, of the same seed and any size.
class RandomGraph {
 public:
  RandomGraph(uint64_t seed, int64_t size) : rng_(seed), size_(size) {}

  Graph make() && {
    const int inputs = static_cast<int>(pick(1, 3));
    for (int i = 0; i < inputs; ++i) add_input(any_extents());
    const int ops = static_cast<int>(pick(2, 14));
    for (int i = 0; i < ops; ++i) add_op();
    for (size_t n = inputs; n < extents_.size(); ++n) {
      if (chance(20) || n + 1 == extents_.size()) builder_.keep(static_cast<NodeId>(n));
    }
    return std::move(builder_).done();
  }

 private:
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  int64_t value(const Linear& e) const { return e.constant + e.slope * size_; }
  Shape shape(const Extents& extents) const {
    std::vector<int64_t> dims;
    for (const Linear& extent : extents) dims.push_back(value(extent));
    return Shape(std::span<const int64_t>(dims));
  }
  Linear any_extent() {
    if (chance(40)) return {pick(0, 3), pick(1, 2)};
    return {chance(20) ? 1 : chance(60) ? pick(2, 20) : pick(20, 70), 0};
  }
  Extents any_extents() {
    Extents extents(pick(1, 3));
    for (Linear& extent : extents) extent = any_extent();
    return extents;
  }
  NodeId any() {
    const auto count = static_cast<int64_t>(values_.size());
    return values_[count - pick(1, std::min<int64_t>(count, 4))];
  }

  NodeId note(NodeId node, Extents extents) {
    extents_.push_back(std::move(extents));
    values_.push_back(node);
    return node;
  }
  NodeId add_input(const Extents& extents) { return note(builder_.input(shape(extents)), extents); }
  NodeId add(Op op, const Extents& extents, const std::vector<NodeId>& operands,
             const std::vector<int64_t>& attrs = {}) {
    return note(builder_.op(op, shape(extents), operands, attrs), extents);
  }

  void add_op() {
    const NodeId x = any();
    const Extents e = extents_[x];
    const auto rank = static_cast<int64_t>(e.size());
    const int64_t axis = rank > 0 ? pick(0, rank - 1) : 0;
    switch (pick(0, 14)) {
      case 0: add(chance(50) ? Op::kExp : Op::kNeg, e, {x}); break;
      case 1:
      case 2: {
        Extents other = e;
        for (Linear& extent : other) {
          if (chance(30)) extent = {};
        }
        if (!other.empty() && chance(30)) other.erase(other.begin());
        NodeId y = add_input(other);
        for (const NodeId n : values_) {
          if (extents_[n] == e && chance(30)) y = n;
        }
        add(chance(50) ? Op::kAdd : Op::kMul, e, {x, y});
        break;
      }
      case 3:
      case 4: {
        std::vector<int64_t> axes;
        Extents reduced;
        const bool keeps = chance(50);
        for (int64_t k = 0; k < rank; ++k) {
          const bool goes = chance(50);
          if (goes) axes.push_back(k);
          if (!goes || keeps) reduced.push_back(goes ? Linear{} : e[k]);
        }
        if (!axes.empty()) add(chance(50) ? Op::kSum : Op::kMax, reduced, {x}, axes);
        break;
      }
      case 5: {
        std::vector<int64_t> axes;
        for (int64_t k = 0; k < rank; ++k) axes.push_back(k);
        std::shuffle(axes.begin(), axes.end(), rng_);
        Extents turned;
        for (const int64_t k : axes) turned.push_back(e[k]);
        add(Op::kPermute, turned, {x}, axes);
        break;
      }
      case 6: {
        if (rank == 4) break;
        Extents wider = e;
        for (Linear& extent : wider) {
          if (extent == Linear{} && chance(50)) extent = any_extent();
        }
        if (chance(40)) wider.insert(wider.begin(), any_extent());
        add(Op::kBroadcast, wider, {x});
        break;
      }
      case 7:
      case 8: {
        if (rank == 0) break;
        std::vector<int64_t> attrs;
        Extents kept = e;
        for (int64_t k = 0; k < rank; ++k) {
          int64_t start = 0, step = 1;
          const bool has_many = e[k].slope > 0 || e[k].constant > 3;
          switch (has_many ? pick(0, 5) : 0) {
            case 1: start = 1, kept[k].constant -= 1; break;
            case 2: start = value(e[k]) - 1, step = -1; break;
            case 3: start = value(e[k]) - 1, kept[k] = {}; break;
            case 4: kept[k] = {2, 0}; break;
            case 5:
              // As much of a constant extent as fits.
              if (e[k].slope == 0 && e[k].constant > 60) kept[k] = {-2, 1};
              break;
            default: break;
          }
          attrs.insert(attrs.end(), {start, step});
        }
        for (const Linear& extent : kept) {
          if (value(extent) < 1) return;
        }
        add(Op::kSlice, kept, {x}, attrs);
        break;
      }
      case 9: {
        if (rank == 0) break;
        Extents other = e;
        other[axis] = chance(50) ? Linear{} : any_extent();
        const NodeId y = add_input(other);
        Extents both = e;
        both[axis].constant += other[axis].constant;
        both[axis].slope += other[axis].slope;
        add(Op::kConcat, both, {x, y}, {axis});
        break;
      }
      case 10: {
        if (rank == 0) break;
        std::vector<int64_t> before(rank, 0);
        Extents padded = e;
        const Linear front = chance(50) ? Linear{pick(0, 3), 0} : any_extent();
        before[axis] = value(front);
        padded[axis].constant += front.constant + pick(0, 3);
        padded[axis].slope += front.slope;
        note(builder_.padded(x, shape(padded), before), padded);
        break;
      }
      case 11:
      case 12: add_reshape(x, e); break;
      case 13: {
        if (rank == 0) break;
        Extents picked = e;
        picked[axis] = any_extent();
        const NodeId index = note(builder_.input(shape(picked), DType::kInt64), picked);
        values_.pop_back();
        add(Op::kTakeAlongAxis, picked, {x, index}, {axis});
        break;
      }
      case 14: {
        if (rank != 2) break;
        const Extents other = {e[1], any_extent()};
        add(Op::kMatmul, {e[0], other[1]}, {x, add_input(other)});
        break;
      }
    }
  }

  void add_reshape(NodeId x, const Extents& e) {
    Extents changed = e;
    const auto rank = static_cast<int64_t>(e.size());
    const int64_t k = rank > 0 ? pick(0, rank - 1) : 0;
    if (chance(40)) {
      changed.insert(changed.begin() + pick(0, rank), Linear{});
    } else if (k + 1 < rank && (e[k].slope == 0 || e[k + 1].slope == 0)) {
      const Linear& a = e[k].slope == 0 ? e[k + 1] : e[k];
      const int64_t factor = e[k].slope == 0 ? e[k].constant : e[k + 1].constant;
      changed[k] = {a.constant * factor, a.slope * factor};
      changed.erase(changed.begin() + k + 1);
    } else if (rank > 0 && e[k].constant % 2 == 0 && e[k].slope % 2 == 0) {
      changed[k] = {e[k].constant / 2, e[k].slope / 2};
      changed.insert(changed.begin() + k + pick(0, 1), Linear{2, 0});
    }
    if (changed.size() <= 5) add(Op::kReshape, changed, {x});
  }

  std::mt19937_64 rng_;
  const int64_t size_;
  Builder builder_;
  std::vector<Extents> extents_;  // by node
  std::vector<NodeId> values_;    // of float32
};

TEST(PlanFamilyTest, RandomGraphs) {
  int64_t instantiated = 0, plans = 0, others = 0;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    const auto make = [&](int64_t size) { return RandomGraph(seed, size).make(); };
    const auto sizes =
        seed % 2 == 0 ? growing(4 + static_cast<int64_t>(seed % 40), 90) : ragged(60, 4, 60, seed);
    instantiated += check(make, sizes, "seed " + std::to_string(seed), &others);
    plans += static_cast<int64_t>(sizes.size());
    if (HasFailure()) break;
  }
  EXPECT_GT(instantiated, plans / 5);
  EXPECT_LT(others, instantiated / 50);
}

}  // namespace
}  // namespace sluice::fusion
