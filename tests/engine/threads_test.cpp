// Several threads with tensors of their own, shared leaves, and handles that die elsewhere.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

constexpr int kThreads = 4;

template <typename F>
void in_threads(F f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(f, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, EachWithItsOwnTensors) {
  std::atomic<int> wrong = 0;
  in_threads([&](int id) {
    Tensor x = full({100}, static_cast<float>(id));
    for (int i = 0; i < 300; ++i) {
      x = x + 1.f;
      if (i % 50 == 0) wrong += x.to_vector<float>()[99] != static_cast<float>(id + i + 1);
    }
    wrong += sum(x).item<float>() != 100.f * static_cast<float>(id + 300);
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, SharingALeaf) {
  std::vector<float> values(1000, 2.f);
  const Tensor leaf = Tensor::from(values);
  std::atomic<int> wrong = 0;
  in_threads([&](int id) {
    for (int i = 0; i < 100; ++i) {
      const Tensor y = leaf * static_cast<float>(id) + leaf;
      wrong += y.to_vector<float>()[500] != 2.f * static_cast<float>(id) + 2.f;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(leaf.to_vector<float>(), values);
}

TEST(Threads, SharingAPendingResult) {
  for (int round = 0; round < 20; ++round) {
    const Tensor pending = exp(zeros({64})) + static_cast<float>(round);
    std::atomic<int> wrong = 0;
    in_threads([&](int id) {
      const Tensor y = pending * static_cast<float>(id + 1);
      wrong += y.to_vector<float>()[3] != static_cast<float>((round + 1) * (id + 1));
      wrong += pending.to_vector<float>()[0] != static_cast<float>(round + 1);
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Threads, HandlesDroppedOnAnotherThread) {
  for (int round = 0; round < 20; ++round) {
    std::vector<Tensor> handles;
    for (int i = 0; i < 200; ++i) handles.push_back(full({32}, static_cast<float>(i)) * 2.f);
    const Tensor kept = handles[100] + 1.f;
    std::thread([moved = std::move(handles)]() mutable {
      for (size_t i = 0; i < moved.size(); i += 3) moved[i] = Tensor();
      moved.clear();
    }).join();
    EXPECT_EQ(kept.to_vector<float>()[31], 201.f);
  }
}

TEST(Threads, ResultsOutliveTheirThread) {
  std::vector<Tensor> results(kThreads);
  in_threads([&](int id) { results[id] = full({10}, static_cast<float>(id)) + 0.5f; });
  for (int id = 0; id < kThreads; ++id) {
    EXPECT_EQ(results[id].to_vector<float>()[9], static_cast<float>(id) + 0.5f);
  }
  const Tensor total = results[0] + results[1] + results[2] + results[3];
  EXPECT_EQ(total.to_vector<float>()[0], 8.f);
}

TEST(Threads, SyncAndFlushBesideOtherWork) {
  std::atomic<int> wrong = 0;
  in_threads([&](int id) {
    for (int i = 0; i < 50; ++i) {
      Tensor x = full({16}, static_cast<float>(i));
      x = x * 2.f + static_cast<float>(id);
      if (id == 0) sync();
      if (id == 1) flush();
      wrong += x.to_vector<float>()[0] != static_cast<float>(2 * i + id);
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, ManyKernelsCompiledAtOnce) {
  const ConfigGuard guard;
  config().compile = CompileMode::kAsync;
  std::atomic<int> wrong = 0;
  in_threads([&](int id) {
    for (int i = 0; i < 12; ++i) {
      Tensor x = full({40}, 1.f);
      // A structure of its own for each (thread, i), and again for a second run.
      for (int repeat = 0; repeat < 2; ++repeat) {
        Tensor y = x;
        for (int k = 0; k <= i; ++k) y = (k + id) % 2 == 0 ? y + 1.f : y * 1.f;
        float expected = 1.f;
        for (int k = 0; k <= i; ++k) expected += (k + id) % 2 == 0 ? 1.f : 0.f;
        wrong += y.to_vector<float>()[7] != expected;
      }
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, OnePlanForAllThreads) {
  constexpr int kShapes = 300;
  reset_stats();
  std::atomic<int> wrong = 0;
  in_threads([&](int) {
    for (int n = 1; n <= kShapes; ++n) {
      const Tensor x = full({n, 3}, 0.5f);
      wrong += sum(x * 2.f + 1.f).item<float>() != 6.f * static_cast<float>(n);
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(stats().plan_misses, kShapes);
  EXPECT_EQ(stats().plan_hits + stats().plan_misses, stats().windows);
  EXPECT_EQ(stats().windows, kThreads * kShapes);
}

// Each thread's batches are of one plan, which a GPU replays as a graph.
TEST(Threads, OnePlanWithManyStepsAtOnce) {
  std::atomic<int> wrong = 0;
  in_threads([&](int id) {
    for (int i = 0; i < 40; ++i) {
      Tensor x = full({64, 8}, 1.f + static_cast<float>(id));
      for (int k = 0; k < 4; ++k) x = x - sum(x, {0}, true) * 0.5f + static_cast<float>(i);
      double expected = 1 + id;
      for (int k = 0; k < 4; ++k) expected = expected - 32 * expected + i;
      wrong += x.to_vector<float>()[100] != static_cast<float>(expected);
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, RandomCallsFromSeveralThreadsAreDistinct) {
  std::vector<std::vector<float>> draws(kThreads);
  in_threads([&](int id) { draws[id] = rand({100}).to_vector<float>(); });
  for (int i = 1; i < kThreads; ++i) EXPECT_NE(draws[0], draws[i]);
}

}  // namespace
}  // namespace sluice::test
