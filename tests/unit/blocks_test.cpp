// Where the results of plans made by hand lie: what is in use at the same time lies apart, and
// little memory is taken beside that.
#include "fusion/plan/memory/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fusion/plan/memory/memory_plan.h"

namespace sluice::fusion {
namespace {

constexpr int64_t kShared = -1;  // with who has use for it later

constexpr MemoryRef input(int32_t index) { return {MemoryRef::Kind::kInput, index}; }
constexpr MemoryRef result(int32_t index) { return {MemoryRef::Kind::kResult, index}; }

class Example {
 public:
  // Its number.
  int32_t add_result(int64_t bytes, bool observed = false) {
    Result& result = plan_.results.emplace_back();
    result.bytes = bytes;
    result.observed = observed;
    return static_cast<int32_t>(plan_.results.size()) - 1;
  }
  void add_step(const std::vector<MemoryRef>& buffers) {
    KernelCall call;
    call.buffers = buffers;
    plan_.steps.emplace_back().kernels.push_back(call);
  }
  // `inputs`: the bytes of each, or kShared.
  Blocks place(const std::vector<int64_t>& inputs = {}, const std::vector<bool>& left_out = {}) {
    std::vector<InputMemory> memory;
    for (const int64_t bytes : inputs) {
      memory.push_back({.bytes = bytes, .same_as = static_cast<int32_t>(memory.size())});
    }
    return place_beside(memory, left_out);
  }
  Blocks place_beside(const std::vector<InputMemory>& memory,
                      const std::vector<bool>& left_out = {}) {
    for (Result& each : plan_.results) each.first_use = each.last_use = -1;
    find_lifetimes(&plan_);
    return place_results(plan_, memory, left_out);
  }
  Plan& plan() { return plan_; }

 private:
  Plan plan_;
};

int64_t allocated(const Blocks& blocks) {
  int64_t bytes = 0;
  for (const Block& block : blocks.blocks) bytes += block.input < 0 ? block.bytes : 0;
  return bytes;
}

TEST(BlocksTest, ValuesOfOtherSizesTakeTheMemoryOfThoseThatAreDone) {
  Example example;
  const int32_t large = example.add_result(4096), small = example.add_result(1024),
                other = example.add_result(2048), last = example.add_result(4, true);
  example.add_step({input(0), result(large)});
  example.add_step({result(large), result(last)});
  example.add_step({input(0), result(small)});
  example.add_step({result(small), result(other)});
  example.add_step({result(small), result(other), result(last)});
  const Blocks blocks = example.place();
  EXPECT_EQ(allocated(blocks), 4096 + 4);
  EXPECT_EQ(blocks.places[small].block, blocks.places[large].block);
  EXPECT_EQ(blocks.places[other].block, blocks.places[large].block);
}

TEST(BlocksTest, WhatOutlivesThePlanServesOthersBeforeItIsWritten) {
  Example example;
  const int32_t first = example.add_result(1000), second = example.add_result(3000),
                kept = example.add_result(4096, true);
  example.add_step({input(0), result(first)});
  example.add_step({result(first), result(second)});
  example.add_step({input(0), result(kept)});
  const Blocks blocks = example.place();
  EXPECT_EQ(allocated(blocks), 4096);
  EXPECT_EQ(blocks.places[kept].offset, 0);
  EXPECT_EQ(blocks.blocks[0].bytes, 4096);
}

TEST(BlocksTest, InputsServeOthersOnceTheyHaveBeenRead) {
  Example example;
  const int32_t early = example.add_result(4096), late = example.add_result(4096);
  example.add_step({input(0), input(1), result(early)});
  example.add_step({input(1), result(late)});
  EXPECT_EQ(allocated(example.place({4096, kShared})), 4096);
  EXPECT_EQ(allocated(example.place({kShared, 4096})), 4096);
  const Blocks blocks = example.place({4096, 4096});
  EXPECT_EQ(blocks.blocks[blocks.places[late].block].input, 0);
  // A view of it is asked for later.
  example.plan().outputs.emplace_back().memory = input(0);
  EXPECT_EQ(allocated(example.place({4096, kShared})), 4096);
}

TEST(BlocksTest, WhatOutlivesThePlanIsWrittenInPlaceOfAnInput) {
  Example example;
  const int32_t gradient = example.add_result(4096), next = example.add_result(4096, true);
  example.add_step({input(0), result(gradient)});
  example.add_step({input(0), result(gradient), result(next)});
  example.plan().results[next].donors = {result(gradient), input(0)};
  const Blocks in_place = example.place({4096});
  EXPECT_EQ(in_place.blocks[in_place.places[next].block].input, 0);
  EXPECT_EQ(allocated(in_place), 4096);
  // Where that is not allowed, in place of the other donor.
  const Blocks apart = example.place({kShared});
  EXPECT_EQ(apart.places[next].block, apart.places[gradient].block);
  EXPECT_EQ(apart.places[next].offset, 0);
  EXPECT_EQ(allocated(apart), 4096);
  // It would not fit.
  EXPECT_EQ(allocated(example.place({4100})), 4096);
  EXPECT_EQ(allocated(example.place({4100}, {false, true})), 4096);
}

TEST(BlocksTest, EachDonorIsTakenOnce) {
  Example example;
  const int32_t a = example.add_result(512, true), b = example.add_result(512, true);
  example.add_step({input(0), result(a), result(b)});
  example.plan().results[a].donors = example.plan().results[b].donors = {input(0)};
  const Blocks blocks = example.place({512});
  EXPECT_NE(blocks.places[a].block, blocks.places[b].block);
  EXPECT_EQ(allocated(blocks), 512);
}

TEST(BlocksTest, AnInputIsADonorOnceItsViewsHaveBeenRead) {
  Example example;
  const int32_t product = example.add_result(512), next = example.add_result(512, true);
  example.add_step({input(0), result(product)});
  example.add_step({result(product), input(1), result(next)});
  example.plan().results[next].donors = {input(1)};
  const InputMemory view{.bytes = 512, .same_as = 0, .is_at_begin = false};
  const std::vector<InputMemory> inputs = {view, {.bytes = 512, .same_as = 0}};
  const Blocks blocks = example.place_beside(inputs);
  EXPECT_EQ(blocks.blocks[blocks.places[next].block].input, 0);
  EXPECT_EQ(allocated(blocks), 512);
  // The step that writes it reads the view as well.
  example.add_step({});
  example.plan().steps[1].kernels[0].buffers.push_back(input(0));
  EXPECT_EQ(allocated(example.place_beside(inputs)), 512 + 512);
  // It is no value that begins where the block does.
  example.plan().steps[1].kernels[0].buffers.pop_back();
  EXPECT_EQ(allocated(example.place_beside({view, view})), 512 + 512);
}

TEST(BlocksTest, WhatIsLeftOutTakesNoMemory) {
  Example example;
  const int32_t large = example.add_result(1 << 20), small = example.add_result(64),
                kept = example.add_result(64, true);
  example.add_step({input(0), result(large), result(small)});
  example.add_step({result(small), result(large), result(kept)});
  const Blocks all = example.place();
  EXPECT_EQ(all.blocks[all.places[large].block].result, large);
  const Blocks rest = example.place({}, {true, false, false});
  EXPECT_EQ(rest.places[large].block, -1);
  EXPECT_EQ(allocated(rest), 128);
}

TEST(BlocksTest, WhatIsInUseAtTheSameTimeLiesApart) {
  std::mt19937 random(5);
  const auto below = [&](int n) { return static_cast<int32_t>(random() % static_cast<size_t>(n)); };
  for (int run = 0; run < 200; ++run) {
    Example example;
    const int steps = 1 + below(30), inputs = 1 + below(4);
    std::vector<int64_t> overwritable;
    for (int i = 0; i < inputs; ++i) {
      overwritable.push_back(below(2) == 0 ? kShared : 256 * (1 + below(20)));
    }
    for (int s = 0; s < steps; ++s) {
      std::vector<MemoryRef> buffers;
      const auto known = static_cast<int>(example.plan().results.size());
      for (int k = below(4); k > 0 && known > 0; --k) buffers.push_back(result(below(known)));
      if (below(2) == 0) buffers.push_back(input(below(inputs)));
      for (int k = 1 + below(2); k > 0; --k) {
        buffers.push_back(result(example.add_result(1 + below(6000), below(4) == 0)));
      }
      example.add_step(buffers);
    }
    const Blocks blocks = example.place(overwritable);
    const auto& results = example.plan().results;
    const auto end_of = [](const Result& r) { return r.observed ? 1 << 20 : r.last_use; };
    std::vector<int64_t> live(static_cast<size_t>(steps), 0);
    int64_t kept = 0;
    for (size_t a = 0; a < results.size(); ++a) {
      const Place& place = blocks.places[a];
      const Block& block = blocks.blocks[place.block];
      EXPECT_LE(place.offset + results[a].bytes, block.bytes);
      EXPECT_EQ(place.offset % 256, 0);
      if (results[a].observed) {
        EXPECT_EQ(place.offset, 0);
        EXPECT_EQ(block.bytes, results[a].bytes);
        kept += results[a].bytes;
      }
      if (block.input >= 0) {
        int32_t last = -1;
        for (int s = 0; s < steps; ++s) {
          for_each_memory(example.plan().steps[s], [&](const MemoryRef& memory) {
            if (memory == input(block.input)) last = s;
          });
        }
        EXPECT_GT(results[a].first_use, last);
      }
      for (int s = results[a].first_use; !results[a].observed && s <= results[a].last_use; ++s) {
        live[static_cast<size_t>(s)] += results[a].bytes;
      }
      for (size_t b = 0; b < a; ++b) {
        if (blocks.places[b].block != place.block) continue;
        const bool in_space = place.offset < blocks.places[b].offset + results[b].bytes &&
                              blocks.places[b].offset < place.offset + results[a].bytes;
        const bool in_time = results[a].first_use <= end_of(results[b]) &&
                             results[b].first_use <= end_of(results[a]);
        EXPECT_FALSE(in_space && in_time) << a << " and " << b;
      }
    }
    // Gaps are small, on the whole.
    const int64_t least = *std::max_element(live.begin(), live.end()) + kept;
    EXPECT_LE(allocated(blocks), least + least / 2 + 4096);
  }
}

}  // namespace
}  // namespace sluice::fusion
