// Bad input: each is an Error that names the op and what it was given, and changes nothing.
#include <gtest/gtest.h>

#include <source_location>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using Code = absl::StatusCode;

// Around each test stands a pending computation that an error must leave alone.
class Errors : public testing::Test {
 protected:
  Errors() : x_(Tensor::from({1.f, 2.f, 3.f})), pending_(exp(x_) * 0.f + x_ * 2.f) {}
  ~Errors() override {
    EXPECT_EQ(pending_.to_vector<float>(), (std::vector<float>{2, 4, 6}));
    EXPECT_EQ(sum(x_ + 1.f).item<float>(), 9.f);
    EXPECT_NO_THROW(sync());
  }

  template <typename F>
  void bad(F&& f, const std::vector<std::string>& parts, Code code = Code::kInvalidArgument,
           std::source_location where = std::source_location::current()) {
    EXPECT_TRUE(fails_with(std::forward<F>(f), code, parts)) << "at line " << where.line();
  }

  Tensor x_;
  Tensor pending_;
  const Tensor m_ = zeros({2, 3});
};

TEST_F(Errors, ShapesThatDoNotBroadcast) {
  const Tensor a = zeros({2, 3}), b = zeros({4});
  bad([&] { a + b; }, {"add", "(2, 3)", "(4,)"});
  bad([&] { static_cast<void>(a == b); }, {"equal", "(2, 3)", "(4,)"});
  bad([&] { atan2(b, a); }, {"atan2", "(2, 3)", "(4,)"});
  bad([&] { where(a, a, b); }, {"where", "(2, 3)", "(4,)"});
  bad([&] { clip(a, 0.f, b); }, {"clip", "(2, 3)", "(4,)"});
  bad([&] { lerp(a, b, 1.f); }, {"lerp", "(2, 3)", "(4,)"});
  bad([&] { broadcast_to(a, {3, 3}); }, {"broadcast_to", "(2, 3)", "(3, 3)"});
  bad([&] { broadcast_to(a, {3}); }, {"broadcast_to", "(2, 3)", "(3,)"});
  Tensor c = a;
  bad([&] { c += b; }, {"add", "(2, 3)", "(4,)"});
  EXPECT_TRUE(c.defined());
  EXPECT_EQ(c.shape(), (Shape{2, 3}));
}

TEST_F(Errors, MovedOperandsSurviveAFailure) {
  Tensor a = zeros({2, 3}), b = zeros({4});
  bad([&] { add(std::move(a), std::move(b)); }, {"add"});
  EXPECT_TRUE(a.defined());
  EXPECT_TRUE(b.defined());
}

TEST_F(Errors, AxesOutOfRange) {
  bad([&] { sum(m_, {2}); }, {"sum", "2", "(2, 3)"});
  bad([&] { max(m_, -3); }, {"max", "-3", "(2, 3)"});
  bad([&] { argmax(m_, 5); }, {"argmax", "5", "(2, 3)"});
  bad([&] { sum(m_, {0, 0}); }, {"sum", "(2, 3)"});
  bad([&] { sum(m_, {0, -2}); }, {"sum", "(2, 3)"});
  bad([&] { permute(m_, {0}); }, {"permute", "(2, 3)"});
  bad([&] { permute(m_, {0, 0}); }, {"permute", "(2, 3)"});
  bad([&] { permute(m_, {0, 2}); }, {"permute", "(2, 3)"});
  bad([&] { swapaxes(m_, 0, 2); }, {"swapaxes", "(2, 3)"});
  bad([&] { slice(m_, 2, 0, 1); }, {"slice", "(2, 3)"});
  bad([&] { flip(m_, {2}); }, {"flip", "(2, 3)"});
  bad([&] { expand_dims(m_, 3); }, {"expand_dims", "(2, 3)"});
  bad([&] { squeeze(m_, {0}); }, {"squeeze", "(2, 3)"});
  bad([&] { roll(m_, 1, 2); }, {"roll", "(2, 3)"});
  bad([&] { repeat(m_, 2, 2); }, {"repeat", "(2, 3)"});
  bad([&] { softmax(m_, 2); }, {"softmax", "(2, 3)"});
  bad([&] { log_softmax(m_, 2); }, {"log_softmax", "(2, 3)"});
  bad([&] { var(m_, {7}); }, {"var", "(2, 3)"});
  bad([&] { m_.shape(2); }, {"shape", "2"});
}

TEST_F(Errors, WrongDTypes) {
  const Tensor b = zeros({2}, DType::kBool), i = zeros({2}, DType::kInt32);
  bad([&] { -b; }, {"neg", "bool"});
  bad([&] { b - b; }, {"sub", "bool"});
  bad([&] { bitwise_and(x_, x_); }, {"bitwise_and", "float32"});
  bad([&] { ~x_; }, {"bitwise_not", "float32"});
  bad([&] { bitwise_left_shift(b, b); }, {"bitwise_left_shift", "bool"});
  bad([&] { take(x_, x_, 0); }, {"take", "float32"});
  bad([&] { take_along_axis(x_, x_, 0); }, {"take_along_axis", "float32"});
  bad([&] { one_hot(x_, 3); }, {"one_hot", "float32"});
  bad([&] { rand({2}, DType::kInt32); }, {"rand", "int32"});
  bad([&] { randn({2}, DType::kBool); }, {"randn", "bool"});
}

TEST_F(Errors, CountsThatDoNotFit) {
  bad([] { Tensor::from({1.f, 2.f, 3.f}, {2, 2}); }, {"from", "3", "(2, 2)"});
  bad([] { Tensor::from(std::vector<int>{}, {1}); }, {"from", "0", "(1,)"});
  bad([&] { x_.item<float>(); }, {"item", "(3,)"});
  bad([&] { zeros({0}).item<float>(); }, {"item", "(0,)"});
  std::vector<float> out(2);
  bad([&] { x_.copy_to(std::span<float>(out)); }, {"copy_to", "2", "(3,)"});
  bad([&] { reshape(m_, {4}); }, {"reshape", "(2, 3)", "(4,)"});
}

TEST_F(Errors, ReadsAsAnotherType) {
  bad([&] { x_.to_vector<double>(); }, {"to_vector", "float32", "float64"});
  bad([&] { sum(x_).item<int32_t>(); }, {"item", "float32", "int32"});
}

TEST_F(Errors, SlicesAreClampedButStepZeroIsNot) {
  EXPECT_EQ(slice(x_, 0, -100, 100).to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(slice(x_, 0, 5, 9).numel(), 0);
  EXPECT_EQ(slice(x_, 0, 2, 1).numel(), 0);
  bad([&] { slice(x_, 0, 0, 3, 0); }, {"slice", "step"});
}

TEST_F(Errors, JoinsAndSplits) {
  bad([&] { concat({m_, zeros({2, 3, 1})}, 0); }, {"concat", "(2, 3)", "(2, 3, 1)"});
  bad([&] { concat({m_, zeros({3, 3})}, 1); }, {"concat", "(2, 3)", "(3, 3)"});
  bad([&] { concat({m_, m_}, 2); }, {"concat", "(2, 3)"});
  bad([&] { concat(std::vector<Tensor>{}, 0); }, {"concat"});
  bad([&] { concat({full({}, 1.f), full({}, 1.f)}, 0); }, {"concat", "()"});
  bad([&] { stack({m_, zeros({2, 4})}, 0); }, {"stack", "(2, 3)", "(2, 4)"});
  bad([&] { split(m_, 2, 1); }, {"split", "2", "(2, 3)"});
  bad([&] { split(m_, 0, 1); }, {"split", "(2, 3)"});
  bad([&] { pad(m_, {{1, 1}}); }, {"pad", "(2, 3)"});
  bad([&] { pad(m_, {{1, 1}, {-1, 0}}); }, {"pad", "(2, 3)"});
  bad([&] { tile(m_, {-1}); }, {"tile", "(2, 3)"});
  bad([&] { repeat(m_, -1, 0); }, {"repeat", "(2, 3)"});
  bad([&] { tril(x_); }, {"tril", "(3,)"});
  bad([&] { triu(full({}, 1.f)); }, {"triu", "()"});
}

TEST_F(Errors, Matmul) {
  bad([&] { matmul(zeros({2, 3}), zeros({4, 5})); }, {"matmul", "(2, 3)", "(4, 5)"});
  bad([&] { matmul(zeros({3}), zeros({4})); }, {"matmul", "(3,)", "(4,)"});
  bad([&] { matmul(full({}, 1.f), m_); }, {"matmul", "()", "(2, 3)"});
  bad([&] { matmul(zeros({2, 4, 3}), zeros({5, 3, 2})); }, {"matmul", "(2, 4, 3)", "(5, 3, 2)"});
}

TEST_F(Errors, ReductionsOfNothing) {
  bad([] { max(zeros({0, 3}), 0); }, {"max", "(0, 3)"});
  bad([] { min(zeros({0})); }, {"min", "(0,)"});
  bad([] { argmax(zeros({3, 0}), 1); }, {"argmax", "(3, 0)"});
}

TEST_F(Errors, ShapesThatOverflow) {
  bad([] { zeros({int64_t{1} << 40, int64_t{1} << 40}); }, {"1099511627776"});
  // The count fits in int64; the bytes don't.
  bad([] { (zeros({int64_t{1} << 61}, DType::kFloat64) + 1.0).eval(); }, {"2305843009213693952"});
  bad([] { broadcast_to(zeros({1}), {int64_t{1} << 62}); },
      {"broadcast_to", "4611686018427387904"});
  bad([&] { tile(m_, {int64_t{1} << 62, 1}); }, {"tile", "(2, 3)"});
}

TEST_F(Errors, MemoryThatCannotBeHad) {
  const ConfigGuard guard;
  config().memory_limit = 64 << 20;
  {
    const Tensor x = Tensor::from(std::vector<float>(10 << 20, 1.f));  // 40 MiB
    const Tensor y = exp(x);
    bad([&] { y.to_vector<float>(); }, {"exp", "(10485760,)"}, Code::kResourceExhausted);
    EXPECT_EQ(sum(x).item<float>(), 10485760.f);
  }
  {
    const Tensor big = exp(arange(0, int64_t{1} << 28, 1, DType::kFloat32));
    bad([&] { big.to_vector<float>(); }, {"(268435456,)"}, Code::kResourceExhausted);
  }
  // What a read reported, sync() does not.
  EXPECT_NO_THROW(sync());
  EXPECT_EQ(sum(ones({1000})).item<float>(), 1000.f);
}

TEST_F(Errors, AnIndexOutOfRangeFailsTheReadAndNamesIt) {
  const Tensor i = Tensor::from<int64_t>({0, 7});
  const Tensor y = take(x_, i, 0);
  const Tensor z = y + 1.f;
  bad([&] { y.to_vector<float>(); }, {"take", "7"}, Code::kOutOfRange);
  bad([&] { z.to_vector<float>(); }, {"take", "7"}, Code::kOutOfRange);
  const Tensor n = Tensor::from<int64_t>({-4});
  bad([&] { (take(x_, n, 0) * 2.f).item<float>(); }, {"take", "-4"}, Code::kOutOfRange);
  bad([&] { take_along_axis(x_, i, 0).to_vector<float>(); }, {"take_along_axis", "7"},
      Code::kOutOfRange);
}

TEST_F(Errors, AnIndexOutOfRangeFailsTheNextSyncOnce) {
  {
    const Tensor y = take(x_, Tensor::from<int64_t>({5}), 0);
    bad([] { sync(); }, {"take", "5"}, Code::kOutOfRange);
    EXPECT_NO_THROW(sync());
  }
  EXPECT_NO_THROW(sync());
}

TEST_F(Errors, WhatDoesNotDependOnAFailureIsReadable) {
  const Tensor good = x_ * 3.f;
  const Tensor wrong = take(x_, Tensor::from<int64_t>({9}), 0);
  const Tensor after = good + 1.f;
  bad([&] { wrong.item<float>(); }, {"take", "9"}, Code::kOutOfRange);
  EXPECT_EQ(good.to_vector<float>(), (std::vector<float>{3, 6, 9}));
  EXPECT_EQ(after.to_vector<float>(), (std::vector<float>{4, 7, 10}));
}

TEST_F(Errors, EmptyHandles) {
  const Tensor none;
  EXPECT_FALSE(none.defined());
  bad([&] { none.shape(); }, {"shape", "empty"}, Code::kFailedPrecondition);
  bad([&] { none.dtype(); }, {"dtype", "empty"}, Code::kFailedPrecondition);
  bad([&] { none.item<float>(); }, {"item", "empty"}, Code::kFailedPrecondition);
  bad([&] { none.eval(); }, {"eval", "empty"}, Code::kFailedPrecondition);
  bad([&] { none + x_; }, {"add", "empty"}, Code::kFailedPrecondition);
  bad([&] { x_* none; }, {"mul", "empty"}, Code::kFailedPrecondition);
  bad([&] { exp(none); }, {"exp", "empty"}, Code::kFailedPrecondition);
  bad([&] { sum(none); }, {"sum", "empty"}, Code::kFailedPrecondition);
  bad([&] { none.reshape({1}); }, {"reshape", "empty"}, Code::kFailedPrecondition);
  bad([&] { concat({x_, none}); }, {"concat", "empty"}, Code::kFailedPrecondition);
  bad([&] { matmul(x_, none); }, {"matmul", "empty"}, Code::kFailedPrecondition);
  bad([&] { where(none, x_, x_); }, {"where", "empty"}, Code::kFailedPrecondition);
  bad([&] { take(x_, none, 0); }, {"take", "empty"}, Code::kFailedPrecondition);
  bad([&] { zeros_like(none); }, {"zeros_like", "empty"}, Code::kFailedPrecondition);
}

TEST_F(Errors, Creation) {
  bad([] { zeros({-1}); }, {"-1"});
  bad([] { arange(0, 10, 0); }, {"arange"});
  bad([] { linspace(0, 1, -1); }, {"linspace", "-1"});
  bad([] { randint(5, 5, {2}); }, {"randint", "5"});
  bad([] { eye(-1); }, {"eye", "-1"});
  bad([] { one_hot(zeros({2}, DType::kInt64), -1); }, {"one_hot", "-1"});
  bad([] { zeros({1, 1, 1, 1, 1, 1, 1, 1}).expand_dims(0); }, {"expand_dims"});
}

TEST_F(Errors, OpsThatAreNotThereYetSayTheirName) {
  const auto missing = [&](auto f, const char* name) { bad(f, {name}, Code::kUnimplemented); };
  const Tensor i = zeros({3}, DType::kInt64);
  missing([&] { nonzero(x_); }, "nonzero");
  missing([&] { sort(x_); }, "sort");
  missing([&] { argsort(x_); }, "argsort");
  missing([&] { topk(x_, 2); }, "topk");
  missing([&] { conv2d(zeros({1, 1, 3, 3}), zeros({1, 1, 2, 2})); }, "conv2d");
  missing([&] { max_pool2d(zeros({1, 1, 3, 3}), 2); }, "max_pool2d");
  missing([&] { avg_pool2d(zeros({1, 1, 3, 3}), 2); }, "avg_pool2d");
  missing([&] { layer_norm(x_, x_, x_); }, "layer_norm");
  missing([&] { rms_norm(x_, x_); }, "rms_norm");
  missing([&] { batch_norm(m_, x_, x_, x_, x_); }, "batch_norm");
  missing([&] { dropout(x_, 0.5); }, "dropout");
  const Tensor q = zeros({1, 1, 2, 2});
  missing([&] { scaled_dot_product_attention(q, q, q); }, "scaled_dot_product_attention");
}

}  // namespace
}  // namespace sluice::test
