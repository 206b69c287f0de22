// Ops that a program registers: called, planned, failing and going away.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using Code = ErrorCode;
using Specs = std::span<const TensorSpec>;

TensorSpec like_first(Specs inputs, const Attributes&) { return inputs[0]; }

constexpr const char* kTripleSource = R"(
__device__ void compute(const sluice_call& call, long long i) {
  ((float*)call.output)[i] = sluice_at<float>(call, 0, i) * 3.0f;
}
)";

// x * 3 of float32.
ExternalDefinition triple(std::string name = "triple") {
  return {.name = std::move(name),
          .result = like_first,
          .run =
              [](const ExternalCall& call) {
                const auto x = call.inputs[0].span<float>();
                const auto y = call.output.span<float>();
                for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * 3;
              },
          .cuda_source = kTripleSource};
}

// x * k + offset of int64, on the host alone.
ExternalDefinition affine() {
  return {.name = "affine",
          .inputs = {"x"},
          .attributes = {{"k", AttributeType::kInt, std::nullopt},
                         {"offset", AttributeType::kFloat, Attribute(0.0)}},
          .doc = "x * k + offset.",
          .result = like_first,
          .run = [](const ExternalCall& call) {
            const int64_t k = std::get<int64_t>(call.attributes.at("k"));
            const double offset = std::get<double>(call.attributes.at("offset"));
            const auto x = call.inputs[0].span<int64_t>();
            const auto y = call.output.span<int64_t>();
            for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * k + static_cast<int64_t>(offset);
          }};
}

std::vector<float> counted(size_t count, float factor = 1) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = factor * static_cast<float>(i);
  return values;
}

TEST(External, IsCalledLikeAnyOp) {
  const ExternalOp op3(triple());
  const Tensor x = Tensor::from(counted(10));
  reset_stats();
  const Tensor y = op3({x + 1.f}) - 3.f;
  EXPECT_EQ(stats().ops_executed, 0);
  EXPECT_EQ(y.to_vector<float>(), counted(10, 3));
  EXPECT_EQ(stats().library_calls, 1);
  EXPECT_EQ(call("triple", {x})[0].to_vector<float>(), counted(10, 3));
  const OpInfo& info = op("triple");
  EXPECT_EQ(info.name, "triple");
  EXPECT_EQ(info.kind, OpKind::kLibrary);
  EXPECT_EQ(info.signature, "Tensor triple(Arg x)");
  EXPECT_EQ(&info, &op3.info());
}

TEST(External, HasTheGradientOfItsDefinition) {
  const Tensor x = Tensor::from(counted(4)).requires_grad();
  {
    const ExternalOp op3(triple());
    EXPECT_TRUE(fails_with([&] { static_cast<void>(gradients(sum(op3({x})), {x})); },
                           Code::kUnimplemented, {"triple", "gradient"}));
    EXPECT_EQ(op3.info().gradient, Gradient::kNotDifferentiable);
  }
  ExternalDefinition definition = triple();
  definition.gradient = [](const Tensor& g, std::span<const Tensor>, const Attributes&) {
    return std::vector<Tensor>{g * 3.f};
  };
  const ExternalOp op3(std::move(definition));
  EXPECT_EQ(op3.info().gradient, Gradient::kDifferentiable);
  EXPECT_EQ(gradients(sum(op3({x * x})), {x})[0].to_vector<float>(), counted(4, 6));
  EXPECT_FALSE(op3({stop_gradient(x)}).needs_grad());
}

TEST(External, TakesViewsOfAnyLayout) {
  const ExternalOp op3(triple());
  const Tensor x = Tensor::from(counted(12), {3, 4});
  x.eval();
  for (const Tensor& view : {x.T(), flip(x), x.slice(1, 1, 4, 2), broadcast_to(x(0), {5, 4}),
                             permute(reshape(x, {2, 3, 2}), {2, 0, 1}), (x + 1.f).T()}) {
    EXPECT_EQ(op3({view}).to_vector<float>(), (view * 3.f).to_vector<float>());
  }
  EXPECT_EQ(op3({sum(x)}).item<float>(), 198.f);
  EXPECT_EQ(op3({zeros({0, 3})}).shape(), (Shape{0, 3}));
}

TEST(External, AttributesTellCallsApart) {
  const ExternalOp op1(affine());
  const Tensor x = arange(4);
  const Tensor a = op1({x}, {{"k", 2}}), b = op1({x}, {{"k", 3}}),
               c = op1({x}, {{"k", 2}, {"offset", 1}}), d = op1({x}, {{"k", 2}});
  reset_stats();
  sync();
  EXPECT_EQ(a.to_vector<int64_t>(), (std::vector<int64_t>{0, 2, 4, 6}));
  EXPECT_EQ(b.to_vector<int64_t>(), (std::vector<int64_t>{0, 3, 6, 9}));
  EXPECT_EQ(c.to_vector<int64_t>(), (std::vector<int64_t>{1, 3, 5, 7}));
  EXPECT_EQ(d.to_vector<int64_t>(), a.to_vector<int64_t>());
  EXPECT_TRUE(fails_with([&] { return op1({x}); }, Code::kInvalidArgument,
                         {"affine: attribute \"k\" (int) is missing"}));
  EXPECT_TRUE(fails_with(
      [&] {
        return op1({x}, {{"k", 1}, {"l", 1}});
      },
      Code::kInvalidArgument, {"affine: has no attribute \"l\""}));
}

// A plan that is known is of one op, even if another has its name by then.
TEST(External, PlansAreOfOneOp) {
  const Tensor x = arange(8) + 1;
  const auto with_factor = [](int64_t factor) {
    ExternalDefinition definition = affine();
    definition.attributes = {};
    definition.run = [factor](const ExternalCall& call) {
      for (size_t i = 0; i < 8; ++i) {
        call.output.span<int64_t>()[i] = call.inputs[0].span<int64_t>()[i] * factor;
      }
    };
    return definition;
  };
  for (const int64_t factor : {2, 5, 7}) {
    const ExternalOp op1(with_factor(factor));
    ExternalDefinition other = with_factor(-factor);
    other.name = "other";
    const ExternalOp op2(std::move(other));
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ((op1({x}) + 0).to_vector<int64_t>(), (x * factor).to_vector<int64_t>());
      EXPECT_EQ((op2({x}) + 0).to_vector<int64_t>(), (x * -factor).to_vector<int64_t>());
    }
  }
}

TEST(External, SeveralInputsOfSeveralTypesAndAWorkspace) {
  std::atomic<size_t> asked{0};
  const ExternalOp masked_sums(
      {.name = "masked_sums",
       .inputs = {"values", "mask"},
       .result =
           [](Specs inputs, const Attributes&) {
             if (inputs[1].dtype != DType::kBool) {
               throw Error(Code::kInvalidArgument, "the mask must be bool");
             }
             return TensorSpec{{inputs[0].shape[0]}, DType::kFloat64};
           },
       .workspace =
           [&](Specs inputs, const Attributes&) {
             return asked = static_cast<size_t>(inputs[0].shape[1]) * sizeof(double);
           },
       .run =
           [&](const ExternalCall& call) {
             ASSERT_EQ(call.workspace.size(), asked);
             ASSERT_EQ(reinterpret_cast<uintptr_t>(call.workspace.data()) % 64, 0u);
             const auto x = call.inputs[0].span<float>();
             const auto mask = call.inputs[1].span<bool>();
             const size_t columns = call.workspace.size() / sizeof(double);
             auto* const row = reinterpret_cast<double*>(call.workspace.data());
             for (size_t i = 0; i < call.output.span<double>().size(); ++i) {
               double total = 0;
               for (size_t j = 0; j < columns; ++j)
                 row[j] = mask[i * columns + j] ? x[i * columns + j] : 0;
               for (size_t j = 0; j < columns; ++j) total += row[j];
               call.output.span<double>()[i] = total;
             }
           }});
  const Tensor x = Tensor::from(counted(6), {2, 3});
  EXPECT_EQ(masked_sums({x, x > 1.f}).to_vector<double>(), (std::vector<double>{2, 12}));
  EXPECT_EQ(asked, 3 * sizeof(double));
  EXPECT_TRUE(fails_with(
      [&] {
        return masked_sums({x, x});
      },
      Code::kInvalidArgument, {"masked_sums: the mask must be bool"}));
  EXPECT_TRUE(fails_with([&] { return masked_sums({x}); }, Code::kInvalidArgument,
                         {"masked_sums: takes 2 inputs (values, mask), was given 1"}));
  EXPECT_TRUE(fails_with(
      [&] {
        return masked_sums({x, Tensor()});
      },
      Code::kFailedPrecondition, {"masked_sums: the tensor is empty"}));
}

TEST(External, WhatItsFunctionThrowsIsTheResults) {
  ExternalDefinition definition = affine();
  definition.name = "picky";
  definition.attributes = {};
  definition.run = [](const ExternalCall& call) {
    const int64_t first = call.inputs[0].span<int64_t>()[0];
    if (first == 1) throw std::logic_error("ones are not taken");
    if (first == 2) throw Error(Code::kOutOfRange, "two is too much");
    if (first == 3) throw 3;
    if (first == 4) static_cast<void>(call.output.span<float>());
    call.output.span<int64_t>()[0] = first;
  };
  const ExternalOp picky(std::move(definition));
  const auto result = [&](int64_t x) { return picky({full({1}, x)}); };
  const int line = __LINE__ - 1;
  const Tensor zero = result(0);
  // On a GPU, where this waits for its input, the call throws already.
  const auto read = [&](int64_t x) {
    return [&, x] { return (result(x) + 1).to_vector<int64_t>(); };
  };
  const std::string place = "external_test.cpp:" + std::to_string(line);
  EXPECT_TRUE(fails_with(
      read(1), Code::kUnknown,
      {"picky", "int64(1,)", "its function threw: ones are not taken", "called at", place}));
  EXPECT_TRUE(fails_with(read(2), Code::kOutOfRange, {"picky", "two is too much", place}));
  EXPECT_TRUE(fails_with(read(3), Code::kUnknown, {"picky", "no std::exception"}));
  EXPECT_TRUE(fails_with(read(4), Code::kInvalidArgument, {"picky", "float32", "int64(1,)"}));
  EXPECT_EQ(zero.item<int64_t>(), 0);
  EXPECT_NO_THROW(sync());
}

TEST(External, Registration) {
  auto first = std::make_unique<ExternalOp>(triple());
  const auto make = [](ExternalDefinition definition) {
    return [definition] {
      const ExternalOp made(definition);
      return 0;
    };
  };
  EXPECT_TRUE(fails_with(make(triple()), Code::kAlreadyExists, {"triple"}));
  EXPECT_TRUE(fails_with(make(triple("exp")), Code::kAlreadyExists, {"exp"}));
  EXPECT_TRUE(fails_with(make({}), Code::kInvalidArgument, {"ExternalOp", "name"}));
  EXPECT_TRUE(fails_with(make({.name = "f"}), Code::kInvalidArgument, {"f", "`result`"}));
  EXPECT_TRUE(fails_with(make({.name = "f", .result = like_first}), Code::kInvalidArgument,
                         {"f", "`run`"}));
  EXPECT_TRUE(fails_with([] { return op("tripl"); }, Code::kNotFound, {"triple"}));
  const ExternalOp moved = std::move(*first);
  first.reset();
  EXPECT_EQ(op("triple").name, "triple");
}

TEST(External, MayGoWhileCallsArePending) {
  const Tensor x = Tensor::from(counted(5));
  Tensor y;
  {
    const ExternalOp op3(triple());
    y = op3({x}) + 0.f;
  }
  EXPECT_EQ(y.to_vector<float>(), counted(5, 3));
  EXPECT_TRUE(fails_with([&] { return call("triple", {x}); }, Code::kNotFound, {"triple"}));
}

TEST(External, Threads) {
  const ExternalOp op3(triple()), op1(affine());
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t n = 0; n < wrong.size(); ++n) {
    threads.emplace_back([&, n] {
      for (int k = 0; k < 30; ++k) {
        const Tensor x = Tensor::from(counted(100 + n));
        wrong[n] += op3({x}).to_vector<float>() != counted(100 + n, 3);
        const auto factor = static_cast<int64_t>(n) + k % 3;
        wrong[n] += op1({arange(9)}, {{"k", factor}}).to_vector<int64_t>() !=
                    (arange(9) * factor).to_vector<int64_t>();
        const std::string name = "op_" + std::to_string(n);
        const ExternalOp own(triple(name));
        wrong[n] += call(name, {x})[0].to_vector<float>() != counted(100 + n, 3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

TEST(External, OpByOpAndFusedAlike) {
  const ExternalOp op3(triple());
  const Tensor x = Tensor::from(counted(64), {8, 8});
  const auto program = [&] { return sum(op3({exp(x * 0.1f)}) * x.T(), 1).to_vector<float>(); };
  const auto fused = program();
  ConfigGuard guard;
  config().fuse = false;
  EXPECT_EQ(program(), fused);
}

}  // namespace
}  // namespace sluice::test
