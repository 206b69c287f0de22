// Sequences that grow and batches of any length: many plans are made from those of other sizes, few
// kernels are compiled, and every value is that of the ops one by one (Config::validate).
#include <gtest/gtest.h>

#include <random>

#include "fusion/plan/plan_family.h"
#include "kernels/compiled/compiler.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

struct Checked {
  Checked() {
    sync();
    config().validate = Validate::kBits;
    config().compile = CompileMode::kBlocking;
  }
  const ConfigGuard guard;
};

int64_t instantiated() { return fusion::PlanFamilies::get().instantiated(); }

void grow_cache(int steps) {
  const Tensor start = rand({8, 1, 64});
  Tensor keys = start * 1.f, values = start * 1.f, query = start * 1.f;
  for (int step = 0; step < steps; ++step) {
    keys = concat({keys, query * 0.5f}, 1);
    values = concat({values, query + 0.25f}, 1);
    const Tensor weights = softmax(matmul(query, permute(keys, {0, 2, 1})) * 0.125f, -1);
    query = tanh(matmul(weights, values) + query);
    EXPECT_LE(max(abs(query)).item<float>(), 1.f);
  }
}

TEST(Growing, CacheOfKeysAndValues) {
  const Checked checked;
  const int64_t before = instantiated();
  grow_cache(100);
  EXPECT_GE(instantiated() - before, 50);
}

// What is appended lies in a larger block, and the cache in one of its own: bytes are counted by
// them.
TEST(Growing, CacheOfRowsOfATensor) {
  const Checked checked;
  const int64_t before = instantiated();
  const Tensor rows = rand({100, 64}).eval();
  Tensor cache = rows.slice(0, 0, 1);
  for (int step = 1; step < 100; ++step) {
    cache = concat({cache, rows.slice(0, step, step + 1)}, 0);
    const Tensor weights = softmax(matmul(rows.slice(0, step, step + 1), cache.T()), -1);
    EXPECT_LE(max(abs(matmul(weights, cache))).item<float>(), 1.f);
  }
  EXPECT_GE(instantiated() - before, 50);
}

TEST(Growing, FewKernelsServeAllLengths) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  const int64_t compiled = stats().compiles;
  const int64_t generic = stats().generic_tier_launches;
  grow_cache(300);
  EXPECT_LE(stats().compiles - compiled, 12);
  // Without a compiler there is the interpreter.
  if (kernels::llvm_available() || default_device() != Device::cpu()) {
    EXPECT_EQ(stats().generic_tier_launches, generic);
  }
}

TEST(Growing, BatchesOfAnyLength) {
  const Checked checked;
  const int64_t before = instantiated();
  std::mt19937_64 rng(3);
  const Tensor weight = rand({12, 6});
  for (int batch = 0; batch < 150; ++batch) {
    const auto n = static_cast<int64_t>(2 + rng() % 70);
    const Tensor x = rand({n, 12});
    const Tensor h = tanh(matmul(x, weight) + 0.5f);
    const Tensor normal = (h - mean(h, {0}, true)) / sqrt(var(h, {0}, true) + 1e-5f);
    const Tensor first = slice(normal, 0, 0, n - 1);
    EXPECT_EQ(first.shape(), Shape({n - 1, 6}));
    EXPECT_GE(max(pad(first, {{1, n}, {0, 0}}) * 2.f).item<float>(), 0.f);
    EXPECT_EQ(softmax(h, 0).to_vector<float>().size(), static_cast<size_t>(6 * n));
  }
  EXPECT_GE(instantiated() - before, 30);
}

// The last elements, backwards, and heads that are regrouped.
TEST(Growing, Views) {
  const Checked checked;
  const int64_t before = instantiated();
  for (int64_t n = 4; n < 120; ++n) {
    const Tensor x = rand({n, 12});
    const Tensor heads = permute(reshape(x * 2.f, {n, 3, 4}), {1, 0, 2});
    const Tensor last = slice(x + 1.f, 0, n - 1, n);
    EXPECT_EQ(sum(heads + flip(heads, {1}), {2}).to_vector<float>().size(),
              static_cast<size_t>(3 * n));
    EXPECT_EQ((last * 3.f).to_vector<float>().size(), 12u);
  }
  EXPECT_GE(instantiated() - before, 90);
}

}  // namespace
}  // namespace sluice::test
