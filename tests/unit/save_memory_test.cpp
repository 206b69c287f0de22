// Plans made by hand, run by less memory: what is read again long after is computed again, steps
// change places, and every step still reads what it read before.
#include "fusion/plan/memory/save_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "fusion/plan/memory/memory_plan.h"

namespace sluice::fusion {
namespace {

constexpr int64_t kBlock = 1 << 20;

constexpr MemoryRef input(int32_t index) { return {MemoryRef::Kind::kInput, index}; }
constexpr MemoryRef result(int32_t index) { return {MemoryRef::Kind::kResult, index}; }

class Example {
 public:
  int32_t add_result(int64_t bytes, bool observed = false) {
    Result& result = plan.results.emplace_back();
    result.node = static_cast<NodeId>(plan.results.size());
    result.bytes = bytes;
    result.observed = observed;
    return static_cast<int32_t>(plan.results.size()) - 1;
  }
  // A step that computes a new result, which is returned.
  int32_t add(const std::vector<MemoryRef>& reads, int64_t bytes = kBlock, bool observed = false,
              double cost = 1000) {
    const int32_t written = add_result(bytes, observed);
    Step& step = plan.steps.emplace_back();
    step.cost = cost;
    KernelCall& call = step.kernels.emplace_back();
    call.program.schedule = Schedule::kRow;  // does not work in place
    call.buffers = reads;
    call.nodes = {plan.results[written].node};
    OutputDependence output;
    output.buffer = static_cast<int32_t>(reads.size());
    call.buffers.push_back(result(written));
    call.outputs.push_back(output);
    Store& store = call.program.stores.emplace_back();
    store.value = 0;
    return written;
  }

  Plan plan;
};

int64_t needed(Plan plan, const std::vector<InputMemory>& inputs = {}) {
  find_lifetimes(&plan);
  return bytes_needed(place_results(plan, inputs, {}));
}

double cost(const Plan& plan) {
  double sum = 0;
  for (const Step& step : plan.steps) sum += step.cost;
  return sum;
}

// What every observed result is made of: each step as a term of the terms of what it reads.
std::map<int32_t, std::string> terms(const Plan& plan) {
  std::vector<std::string> term(plan.results.size());
  std::map<int32_t, std::string> observed;
  for (const Step& step : plan.steps) {
    const KernelCall& call = step.kernels[0];
    std::string text = "n" + std::to_string(call.nodes[0]) + "(";
    for (size_t b = 0; b + 1 < call.buffers.size(); ++b) {
      const MemoryRef& memory = call.buffers[b];
      const bool is_input = memory.kind == MemoryRef::Kind::kInput;
      text += is_input ? "i" + std::to_string(memory.index) : term[memory.index];
      text += ",";
    }
    // Of deep graphs terms would grow exponentially.
    text =
        "n" + std::to_string(call.nodes[0]) + ":" + std::to_string(std::hash<std::string>()(text));
    const int32_t written = call.buffers.back().index;
    EXPECT_TRUE(term[written].empty());
    term[written] = text;
    if (plan.results[written].observed) observed[written] = text;
  }
  return observed;
}

Plan saved(const Plan& plan, int64_t bytes, const std::vector<InputMemory>& inputs = {}) {
  Plan less = plan;
  save_memory(&less, {.bytes = bytes, .inputs = inputs}, {});
  EXPECT_EQ(terms(less), terms(plan));
  EXPECT_LE(cost(less), 2 * cost(plan));
  return less;
}

// Forward and backward of a chain: each backward step reads what the forward step has read.
Example chain(int length) {
  Example example;
  std::vector<int32_t> forward;
  MemoryRef last = input(0);
  for (int i = 0; i < length; ++i) {
    forward.push_back(example.add({last}));
    last = result(forward.back());
  }
  for (int i = length - 1; i-- > 0;) {
    last = result(example.add({last, result(forward[i])}, kBlock, i == 0));
  }
  return example;
}

TEST(SaveMemoryTest, WhatFitsStaysAsItIs) {
  const Plan plan = chain(6).plan;
  const Plan same = saved(plan, needed(plan));
  EXPECT_EQ(same.steps.size(), plan.steps.size());
  EXPECT_EQ(same.results.size(), plan.results.size());
  EXPECT_EQ(same.values_recomputed, 0);
}

TEST(SaveMemoryTest, AValueThatWaitsIsComputedAgain) {
  // x waits, from its reader at the begin to the one at the end, for two large values.
  Example example;
  const int32_t x = example.add({input(0)});
  const int32_t small = example.add({result(x)}, 1024);
  const int32_t large = example.add({result(small)}, 2 * kBlock);
  const int32_t sum = example.add({result(large)}, 1024);
  example.add({result(x), result(sum)}, 1024, true);
  ASSERT_GT(needed(example.plan), 3 * kBlock);
  const Plan plan = saved(example.plan, 2 * kBlock + 65536);
  EXPECT_LE(needed(plan), 2 * kBlock + 65536);
  EXPECT_EQ(plan.values_recomputed, 1);
  EXPECT_EQ(plan.steps.size(), 6u);
  EXPECT_EQ(plan.results.back().node, plan.results[x].node);
}

TEST(SaveMemoryTest, TheLeastWorkComesFirst) {
  // Either of two values may be given up: one took ten times as long.
  Example example;
  const int32_t dear = example.add({input(0)}, kBlock, false, 10000);
  const int32_t cheap = example.add({input(0)}, kBlock, false, 1000);
  const int32_t small = example.add({result(dear), result(cheap)}, 1024);
  const int32_t large = example.add({result(small)}, 2 * kBlock);
  const int32_t sum = example.add({result(large)}, 1024);
  example.add({result(dear), result(cheap), result(sum)}, 1024, true);
  const Plan plan = saved(example.plan, 3 * kBlock + 65536);
  EXPECT_LE(needed(plan), 3 * kBlock + 65536);
  EXPECT_EQ(cost(plan), cost(example.plan) + 1000);
}

TEST(SaveMemoryTest, AnOrderThatNeedsLessCostsNothing) {
  // Three large values, each summed at the end; each sum may come at once.
  Example example;
  std::vector<int32_t> large, sums;
  for (int i = 0; i < 3; ++i) large.push_back(example.add({input(i)}));
  std::vector<MemoryRef> all;
  for (int i = 0; i < 3; ++i) all.push_back(result(example.add({result(large[i])}, 1024)));
  example.add(all, 1024, true);
  const Plan plan = saved(example.plan, kBlock + 65536);
  EXPECT_LE(needed(plan), kBlock + 65536);
  EXPECT_EQ(plan.values_recomputed, 0);
  EXPECT_EQ(cost(plan), cost(example.plan));
}

TEST(SaveMemoryTest, ALongChainTakesAFourthOfItsMemory) {
  const Plan plan = chain(32).plan;
  ASSERT_GE(needed(plan), 32 * kBlock);
  EXPECT_LE(needed(saved(plan, 10 * kBlock)), 10 * kBlock);
}

TEST(SaveMemoryTest, AStepOfSeveralResultsRunsAgainForOneOfThem) {
  // Pairs of a chain's values come from one step each; the backward steps read one, or both.
  Example example;
  MemoryRef last = input(0);
  std::vector<std::pair<int32_t, int32_t>> forward;
  for (int i = 0; i < 24; ++i) {
    const int32_t first = example.add({last});
    const int32_t second = example.add_result(kBlock);
    KernelCall& call = example.plan.steps.back().kernels[0];
    OutputDependence output;
    output.buffer = static_cast<int32_t>(call.buffers.size());
    call.buffers.push_back(result(second));
    call.outputs.push_back(output);
    call.program.stores.push_back(call.program.stores[0]);
    forward.push_back({first, second});
    last = result(i % 2 == 0 ? first : second);
  }
  for (int i = 24; i-- > 0;) {
    std::vector<MemoryRef> reads = {last, result(forward[i].first)};
    if (i % 3 == 0) reads.push_back(result(forward[i].second));
    last = result(example.add(reads, kBlock, i == 0));
  }
  Plan less = example.plan;
  save_memory(&less, {.bytes = 12 * kBlock, .inputs = {}}, {});
  EXPECT_LE(needed(less), 12 * kBlock);
  EXPECT_GT(less.values_recomputed, 0);
}

TEST(SaveMemoryTest, AnInputThatHasBeenWrittenOverIsNotReadAgain) {
  // The last step but one writes over input 0, from which x is made.
  Example example;
  const int32_t x = example.add({input(0)});
  example.add({result(x)}, 1024, true);
  const int32_t updated = example.add({input(0)}, kBlock, true);
  KernelCall& update = example.plan.steps.back().kernels[0];
  update.program.schedule = Schedule::kPointwise;
  const int32_t large = example.add({input(1)}, 2 * kBlock);
  example.add({result(large), result(x)}, 1024, true);
  const std::vector<InputMemory> inputs = {{.bytes = kBlock, .same_as = 0}, {}};
  Plan plan = saved(example.plan, 2 * kBlock + 65536, inputs);
  find_lifetimes(&plan);
  find_donors(&plan, {});
  const Blocks blocks = place_results(plan, inputs, {});
  int32_t last_read = -1;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    for_each_memory(plan.steps[s], [&](const MemoryRef& memory) {
      if (memory == input(0)) last_read = static_cast<int32_t>(s);
    });
  }
  if (blocks.blocks[blocks.places[updated].block].input == 0) {
    EXPECT_LE(last_read, plan.results[updated].first_use);
  }
}

TEST(SaveMemoryTest, RandomPlansComputeTheSame) {
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    Example example;
    std::vector<int32_t> made;
    const int steps = 5 + static_cast<int>(random() % 40);
    for (int s = 0; s < steps; ++s) {
      std::vector<MemoryRef> reads = {input(static_cast<int32_t>(random() % 3))};
      for (size_t k = random() % 3; k-- > 0 && !made.empty();) {
        reads.push_back(result(made[random() % made.size()]));
      }
      const int64_t bytes = int64_t{1024} << random() % 10;
      made.push_back(example.add(reads, bytes, s + 1 == steps || random() % 8 == 0,
                                 100 + static_cast<double>(random() % 1000)));
    }
    const int64_t all = needed(example.plan);
    for (const int64_t part : {2, 4, 100}) {
      EXPECT_LE(needed(saved(example.plan, all / part)), all);
    }
  }
}

}  // namespace
}  // namespace sluice::fusion
