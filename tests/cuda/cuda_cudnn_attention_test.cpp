// Attention by cuDNN: its graph, what it is left to, and what becomes of failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fusion/library/attention.h"
#include "kernels/cuda/library/attention/dnn_attention.h"
#include "kernels/cuda/library/library.h"
#include "tests/cuda/cuda_convolutions.h"
#include "tests/emulated_cuda/fake_cudnn.h"

namespace sluice::kernels::cuda {
namespace {

using emulated::FakeCudnn;
using fusion::AttentionAttributes;
using fusion::AttentionMask;
using ::testing::IsEmpty;

// Operands of dense memory, or with gaps.
struct AttentionCase {
  AttentionAttributes of;
  std::vector<char> memory[3];

  AttentionCase(DType dtype, int64_t batch, int64_t heads, int64_t key_heads, int64_t length,
                int64_t key_length, int64_t depth, int64_t value_depth, bool is_causal = false) {
    of.dtype = dtype;
    of.flags.causal = is_causal;
    of.flags.scale = std::bit_cast<int64_t>(0.25);
    of.batch = batch, of.heads = heads, of.key_heads = key_heads;
    of.length = length, of.key_length = key_length;
    of.depth = depth, of.value_depth = value_depth;
    place(0, heads, length, depth, 0);
    place(1, key_heads, key_length, depth, 0);
    place(2, key_heads, key_length, value_depth, 0);
  }
  void place(int i, int64_t heads, int64_t rows, int64_t columns, int64_t gap) {
    const int64_t pitch = columns + gap;
    of.operands[i].strides = {heads * rows * pitch, rows * pitch, pitch, 1};
    of.operands[i].offset = gap;
    memory[i].resize(static_cast<size_t>(2 * (of.batch * heads * rows * pitch + gap)));
    std::mt19937 random(static_cast<unsigned>(3 + i));
    std::uniform_real_distribution<float> distribution(-1, 1);
    for (size_t at = 0; at < memory[i].size(); at += 2) {
      set_element(of.dtype, distribution(random), memory[i].data() + at);
    }
  }
  double at(int i, int64_t batch, int64_t head, int64_t row, int64_t column) const {
    const fusion::AttentionOperand& operand = of.operands[i];
    const int64_t place = operand.offset + batch * operand.strides[0] + head * operand.strides[1] +
                          row * operand.strides[2] + column * operand.strides[3];
    return double{element(of.dtype, memory[i].data() + 2 * place)};
  }
  int64_t count() const { return of.batch * of.heads * of.length * of.value_depth; }

  std::vector<double> exact() const {
    std::vector<double> result;
    for (int64_t line = 0; line < of.batch * of.heads; ++line) {
      const int64_t batch = line / of.heads, head = line % of.heads;
      const int64_t shared = head / (of.heads / of.key_heads);
      for (int64_t row = 0; row < of.length; ++row) {
        const int64_t end = of.flags.causal ? std::min(row + 1, of.key_length) : of.key_length;
        std::vector<double> shares;
        double total = 0;
        for (int64_t key = 0; key < end; ++key) {
          double score = 0;
          for (int64_t k = 0; k < of.depth; ++k) {
            score += at(0, batch, head, row, k) * at(1, batch, shared, key, k);
          }
          shares.push_back(std::exp(score * of.scale()));
          total += shares.back();
        }
        for (int64_t column = 0; column < of.value_depth; ++column) {
          double sum = 0;
          for (int64_t key = 0; key < end; ++key) {
            sum += shares[static_cast<size_t>(key)] / total * at(2, batch, shared, key, column);
          }
          result.push_back(sum);
        }
      }
    }
    return result;
  }
};

class CudaCudnnAttentionTest : public ::testing::Test {
 protected:
  ~CudaCudnnAttentionTest() override {
    runner.reset();
    EXPECT_EQ(fake.objects(), 0) << "handles and descriptors that were not given back";
    EXPECT_THAT(fake.misuse(), IsEmpty());
    EXPECT_EQ(rig.device().allocator().stats().live, 0);
  }
  void restart() { runner = make_attention_runner(device()); }
  LibraryDevice device() { return {&rig.device().context(), &compiler, 0, FakeCudnn::table()}; }
  static fusion::LibraryCall call_of(const AttentionCase& c) {
    fusion::LibraryCall call;
    call.kind = fusion::LibraryKind::kAttention;
    call.attributes = std::make_shared<AttentionAttributes>(c.of);
    return call;
  }

  std::vector<float> run(const AttentionCase& c, absl::Status* status = nullptr) {
    const auto stream = rig.stream();
    std::vector<Event> written;
    std::vector<void*> buffers;
    for (const std::vector<char>& elements : c.memory) {
      std::vector<float> words(elements.size() / sizeof(float) + 1);
      std::memcpy(words.data(), elements.data(), elements.size());
      buffers.push_back(
          rig.allocate(rig.device().copies().upload_stream(), static_cast<int64_t>(words.size())));
      written.push_back(rig.upload(static_cast<float*>(buffers.back()), words));
    }
    const int64_t words = c.count() / 2 + 1;
    buffers.push_back(rig.allocate(stream.get(), words));
    const fusion::LibraryCall call = call_of(c);
    auto outcome = std::make_shared<Outcome>();
    const Event made = test::submit(
        stream.get(), [&] { return runner->enqueue(stream.get(), call, buffers, "attention"); },
        outcome, written);
    std::vector<float> downloaded;
    if (outcome->run.ok()) {
      downloaded = rig.download(static_cast<float*>(buffers.back()), words, made);
    }
    rig.device().wait_for_all();
    for (void* const data : buffers) rig.device().allocator().free(data);
    if (status != nullptr) {
      *status = outcome->run;
    } else {
      EXPECT_TRUE(outcome->run.ok()) << outcome->run;
    }
    std::vector<float> result;
    for (int64_t i = 0; i < c.count() && !downloaded.empty(); ++i) {
      result.push_back(
          element(c.of.dtype, reinterpret_cast<const char*>(downloaded.data()) + 2 * i));
    }
    return result;
  }
  static void expect_near(const std::vector<float>& actual, const AttentionCase& c) {
    const std::vector<double> expected = c.exact();
    ASSERT_EQ(actual.size(), expected.size());
    const double tolerance = c.of.dtype == DType::kFloat16 ? 2e-3 : 2e-2;
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_NEAR(double{actual[i]}, expected[i], tolerance) << i;
    }
  }

  Rig rig;
  TestCompiler compiler;
  FakeCudnn fake{&rig.emulator};
  std::unique_ptr<LibraryRunner> runner = make_attention_runner(device());
};

AttentionCase small(DType dtype = DType::kFloat16) {
  return {dtype, 1, 2, 1, 35, 37, 16, 8, /*is_causal=*/true};
}

TEST_F(CudaCudnnAttentionTest, ComputesHalves) {
  size_t runs = 0;
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const bool is_causal : {false, true}) {
      for (const AttentionCase& c : {AttentionCase(dtype, 1, 1, 1, 1, 1, 8, 8, is_causal),
                                     AttentionCase(dtype, 2, 4, 2, 43, 21, 64, 40, is_causal),
                                     AttentionCase(dtype, 1, 6, 1, 50, 9, 128, 256, is_causal),
                                     AttentionCase(dtype, 3, 2, 2, 1, 70, 24, 16, is_causal)}) {
        expect_near(run(c), c);
        ASSERT_EQ(fake.graphs().size(), ++runs);
      }
    }
  }
}

// Plans are made once, and do not depend on how operands lie in memory.
TEST_F(CudaCudnnAttentionTest, MakesAPlanForAShape) {
  AttentionCase c = small();
  run(c);
  EXPECT_EQ(fake.questions(), 1);
  // Not aligned, and with gaps.
  c.place(1, c.of.key_heads, c.of.key_length, c.of.depth, 3);
  expect_near(run(c), c);
  // The keys of all heads.
  c.of.operands[2].strides[2] = 0;
  expect_near(run(c), c);
  // Another scale.
  c.of.flags.scale = std::bit_cast<int64_t>(0.5);
  expect_near(run(c), c);
  EXPECT_EQ(fake.questions(), 1);
  EXPECT_EQ(fake.graphs().size(), 4u);
  run(small(DType::kBFloat16));
  EXPECT_EQ(fake.questions(), 2);
}

// Rows of whole vectors are read where they are, by the same engine.
TEST_F(CudaCudnnAttentionTest, ReadsOperandsWhereTheyAre) {
  AttentionCase c = small();
  c.place(1, c.of.key_heads, c.of.key_length, c.of.depth, 8);
  const auto is_dense = [](const FakeCudnn::Graph& graph) {
    return graph.tensors.at(DnnAttention::kKeys).strides[3] == 16;
  };
  std::vector<FakeCudnn::Engine> for_strides = {{.notes = {}, .index = 1, .knob = 2},
                                                {.notes = {}, .index = 2, .knob = 1},
                                                {.notes = {}, .index = 2, .knob = 2}};
  fake.engines = [&](const FakeCudnn::Graph& graph,
                     DnnHeuristic mode) -> std::vector<FakeCudnn::Engine> {
    if (mode == DnnHeuristic::kFallback) return {};
    if (is_dense(graph)) return {{.notes = {}, .index = 2, .knob = 2}};
    return for_strides;
  };
  expect_near(run(c), c);
  ASSERT_EQ(fake.graphs().size(), 1u);
  EXPECT_FALSE(is_dense(*fake.graphs()[0]));
  EXPECT_EQ(fake.engines_run().back().index, 2);
  EXPECT_EQ(fake.engines_run().back().knob, 2);
  // Not by another engine: then they are copied.
  restart();
  for_strides.pop_back();
  expect_near(run(c), c);
  ASSERT_EQ(fake.graphs().size(), 2u);
  EXPECT_TRUE(is_dense(*fake.graphs()[1]));
}

// What is not for cuDNN does not get as far as a question.
TEST_F(CudaCudnnAttentionTest, LeavesTheRestToOurKernel) {
  const auto asks = [&](AttentionCase c) {
    const int64_t before = fake.questions();
    EXPECT_TRUE(runner->prepare(call_of(c)).ok());
    return fake.questions() > before;
  };
  EXPECT_TRUE(asks(small()));
  AttentionCase c = small();
  c.of.dtype = DType::kFloat32;
  EXPECT_FALSE(asks(c));
  for (const AttentionMask mask : {AttentionMask::kBool, AttentionMask::kFloat}) {
    c = small();
    c.of.flags.mask = static_cast<int64_t>(mask);
    EXPECT_FALSE(asks(c));
  }
  EXPECT_FALSE(asks({DType::kFloat16, 1, 1, 1, 35, 7, 12, 8}));
  EXPECT_FALSE(asks({DType::kFloat16, 1, 1, 1, 35, 7, 8, 12}));
  EXPECT_FALSE(asks({DType::kFloat16, 1, 1, 1, 2, 7, 8, 8}));
}

TEST_F(CudaCudnnAttentionTest, WantsEnginesWhoseBitsStay) {
  fake.engines = [](const auto&, DnnHeuristic mode) -> std::vector<FakeCudnn::Engine> {
    if (mode == DnnHeuristic::kFallback) return {{.notes = {DnnNote::kTensorCore}}};
    return {{.notes = {DnnNote::kTensorCore, DnnNote::kNondeterministic}},
            {.notes = {DnnNote::kReducedPrecisionReduction}},
            {.notes = {}, .plan_status = DnnStatus::kNotSupported}};
  };
  expect_near(run(small()), small());
  EXPECT_EQ(fake.graphs().size(), 1u);
}

TEST_F(CudaCudnnAttentionTest, WhatItRefusesIsLeftToOurKernelForGood) {
  // By the heuristics.
  fake.engines = [](const auto&, DnnHeuristic) { return std::vector<FakeCudnn::Engine>(); };
  for (int i = 0; i < 2; ++i) expect_near(run(small()), small());
  // By the call itself.
  restart();
  fake.engines = [](const auto&, DnnHeuristic) -> std::vector<FakeCudnn::Engine> {
    return {{.notes = {}, .workspace_bytes = 100, .run_status = DnnStatus::kExecutionFailed}};
  };
  for (int i = 0; i < 2; ++i) expect_near(run(small()), small());
  EXPECT_EQ(fake.graphs().size(), 0u);
}

TEST_F(CudaCudnnAttentionTest, TakesMemoryToWorkIn) {
  fake.engines = [](const auto&, DnnHeuristic) -> std::vector<FakeCudnn::Engine> {
    return {{.notes = {}, .workspace_bytes = 1 << 20}};
  };
  expect_near(run(small()), small());
  EXPECT_EQ(rig.device().allocator().stats().live, 0);
  // Where there is none, that is the answer: another kernel would have other bits.
  rig.device().allocator().trim();
  rig.device().allocator().set_limit(1 << 19);
  absl::Status status;
  run(small(), &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  rig.device().allocator().set_limit(0);
  expect_near(run(small()), small());
}

// Each of its calls fails in turn: then our kernel computes the same, or the call says what failed.
TEST_F(CudaCudnnAttentionTest, MayFailAnywhere) {
  AttentionCase c = small();
  c.place(1, c.of.key_heads, c.of.key_length, c.of.depth, 3);
  for (const DnnStatus failure : {DnnStatus::kInternalError, DnnStatus::kDeviceAllocationFailed}) {
    int64_t n = 1;
    for (bool failed = true; failed; ++n) {
      runner.reset();
      const int64_t before = fake.calls();
      fake.fail_call(n, failure);
      restart();
      absl::Status status;
      const std::vector<float> values = run(c, &status);
      failed = fake.calls() - before >= n;
      fake.fail_call(0, failure);
      if (status.ok()) {
        expect_near(values, c);
      } else {
        EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
        EXPECT_EQ(failure, DnnStatus::kDeviceAllocationFailed);
        // It may succeed another time.
        expect_near(run(c), c);
      }
      EXPECT_EQ(rig.device().allocator().stats().live, 0) << n;
    }
    EXPECT_GT(n, 300);
  }
}

}  // namespace
}  // namespace sluice::kernels::cuda
