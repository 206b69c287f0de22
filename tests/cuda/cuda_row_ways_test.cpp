// Which kernels rows of each length are launched with, and when these are compiled.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/cuda/gpu.h"
#include "tests/cuda/cuda_devices.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using emulated::Launch;

// Keeps sources, and compiles them unless it is for a dry device.
class Keeper : public kernels::cuda::Compiler {
 public:
  Keeper(std::vector<std::string>* texts, bool is_dry) : texts_(*texts), is_dry_(is_dry) {}

  absl::StatusOr<kernels::cuda::CompiledCode> compile(const std::string& text,
                                                      bool contracts) override {
    if (!text.empty()) texts_.push_back(text);
    if (!is_dry_) return emulated::make_test_compiler()->compile(text, contracts);
    kernels::cuda::CompiledCode code;
    code.image = "dry";
    return code;
  }
  std::string identity() const override { return "none"; }

 private:
  std::vector<std::string>& texts_;
  const bool is_dry_;
};

// What `done` does with each value: nothing, or it is computed by itself.
using Done = std::function<Tensor(const Tensor&)>;
const Done kFused = [](const Tensor& x) { return x; };
const Done kOpByOp = [](const Tensor& x) { return x.eval(); };

Tensor softmax_by(const Done& done, const Tensor& x) {
  const Tensor greatest = done(max(x, 1, true));
  const Tensor e = done(exp(done(x - greatest)));
  const Tensor total = done(sum(e, 1, true));
  return done(e / total);
}
Tensor softmax_of(const Tensor& x) { return softmax_by(kFused, x); }

// Of which there are as many columns as rows have elements.
Tensor layer_norm_by(const Done& done, const Tensor& x, const Tensor& weight) {
  const Tensor mean_of_row = done(mean(x, 1, true));
  const Tensor d = done(x - mean_of_row);
  const Tensor variance = done(mean(done(square(d)), 1, true));
  const Tensor deviation = done(sqrt(done(variance + 1e-5f)));
  return done(done(done(d / deviation) * weight) + weight);
}

class CudaRowWays : public CudaDevices {
 protected:
  // What a function of a matrix launches, and whether that was compiled for it.
  struct Ran {
    std::vector<Launch> launches;
    std::vector<std::string> compiled;
  };
  static Ran run(EmulatedCuda& gpu, std::vector<std::string>* texts, const Shape& shape,
                 DType dtype, const std::function<Tensor(const Tensor&)>& f) {
    const Tensor x = zeros(shape, dtype).eval();
    sync();
    gpu.take_launches();
    texts->clear();
    f(x).eval();
    sync();
    return {gpu.take_launches(), *texts};
  }
  using Body = std::function<void(EmulatedCuda&, std::vector<std::string>*)>;
  static void with_texts(const emulated::Options& options, const Body& body) {
    with(options, [&](EmulatedCuda& gpu) {
      std::vector<std::string> texts;
      kernels::cuda::set_compiler_for_testing(
          [&] { return std::make_unique<Keeper>(&texts, options.is_dry); });
      config().compile = CompileMode::kBlocking;
      body(gpu, &texts);
    });
  }
};

const emulated::Options kDry = {.memory_bytes = size_t{8} << 30, .is_dry = true};

constexpr char kKept[] = "sl_kept_team<Index, 1, ", kKeptByWarp[] = "sl_kept_team<Index, 8, ",
               kRead[] = "sl_row_team<Index> ";

TEST_F(CudaRowWays, EachIsCompiledOnceALaunchNeedsIt) {
  with_texts(kDry, [](EmulatedCuda& gpu, std::vector<std::string>* texts) {
    struct Row {
      Shape shape;
      unsigned blocks;
      const char* compiled;  // null: nothing
    };
    const Row rows[] = {
        {{4096, 512}, 512, kKept},         // a warp for each
        {{4096, 8}, 32, nullptr},          // two threads for each
        {{4096, 100}, 512, nullptr},       //
        {{100, 2048}, 100, nullptr},       // a block for each of a few
        {{4096, 2048}, 512, kKeptByWarp},  // a warp for each of many
        {{4095, 1500}, 512, nullptr},      //
        {{4096, 2052}, 4096, nullptr},     // of more than a warp keeps, a block for each
        {{4096, 4096}, 4096, nullptr},     //
        {{4096, 1000}, 512, kRead},        // longer than a warp of the order keeps
        {{4096, 3}, 16, nullptr},          // not a whole group
        {{4096, 4097}, 4096, nullptr},     //
        {{4096, 16'384}, 4096, nullptr},   // longer than anyone keeps
        {{4096, 2048}, 512, nullptr},      // by warps again
    };
    for (const Row& row : rows) {
      const Ran ran = run(gpu, texts, row.shape, DType::kFloat16, softmax_of);
      const std::string name = absl::StrCat(row.shape[0], " of ", row.shape[1]);
      ASSERT_EQ(ran.launches.size(), 1u) << name;
      EXPECT_EQ(ran.launches[0].blocks, row.blocks) << name;
      ASSERT_EQ(ran.compiled.size(), row.compiled != nullptr) << name;
      if (row.compiled == nullptr) continue;
      for (const char* const way : {kKept, kKeptByWarp, kRead}) {
        EXPECT_EQ(absl::StrContains(ran.compiled[0], way), row.compiled == way) << name;
      }
    }
  });
}

// Of float32 no warp has registers for a block's rows; sums have one pass, so nothing is kept.
TEST_F(CudaRowWays, FollowFromTheProgram) {
  with_texts(kDry, [](EmulatedCuda& gpu, std::vector<std::string>* texts) {
    const Shape shape = {4096, 4096};
    const Ran softmax = run(gpu, texts, shape, DType::kFloat32, softmax_of);
    ASSERT_EQ(softmax.compiled.size(), 1u);
    EXPECT_TRUE(absl::StrContains(softmax.compiled[0], kKept));
    const Ran sums =
        run(gpu, texts, shape, DType::kFloat16, [](const Tensor& x) { return sum(x, 1); });
    ASSERT_EQ(sums.compiled.size(), 1u);
    EXPECT_TRUE(absl::StrContains(sums.compiled[0], kRead));
    EXPECT_TRUE(run(gpu, texts, {4096, 100'000}, DType::kFloat16, [](const Tensor& x) {
                  return sum(x, 1);
                }).compiled.empty());
  });
}

// By a device with so few multiprocessors that warps keep a block's rows.
TEST_F(CudaRowWays, LeaveTheBitsOfOpsByThemselves) {
  with_texts({.multiprocessors = 1}, [](EmulatedCuda&, std::vector<std::string>* texts) {
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
      texts->clear();
      for (const int64_t length : {100, 1028, 1500, 4096, 4100}) {
        const std::string name = absl::StrCat(name_of(dtype), " of ", length);
        const Tensor x =
            astype(sin(reshape(arange(0, 17 * length), {17, length}) * 0.37f) * 5.f, dtype).eval();
        const Tensor weight = astype(cos(arange(0, length) * 0.11f), dtype).eval();
        const auto both = [&](const Done& done) {
          std::vector<uint8_t> bytes = read_bytes(softmax_by(done, x));
          const std::vector<uint8_t> norm = read_bytes(layer_norm_by(done, x, weight));
          bytes.insert(bytes.end(), norm.begin(), norm.end());
          return bytes;
        };
        const std::vector<uint8_t> expected = both(kOpByOp);
        EXPECT_TRUE(both(kFused) == expected) << name;
        config().compile = CompileMode::kOff;
        const int64_t before = stats().generic_tier_launches;
        EXPECT_TRUE(both(kFused) == expected) << name << ", interpreted";
        EXPECT_GE(stats().generic_tier_launches, before + 2);
        config().compile = CompileMode::kBlocking;
      }
      const std::string all = absl::StrJoin(*texts, "");
      EXPECT_TRUE(absl::StrContains(all, kKept));
      EXPECT_EQ(absl::StrContains(all, kKeptByWarp), dtype != DType::kFloat32) << name_of(dtype);
    }
  });
}

}  // namespace
}  // namespace sluice::test
