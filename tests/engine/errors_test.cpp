// Bad input: each is an Error that names the op and what it was given, and changes nothing.
#include <gtest/gtest.h>

#include <source_location>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using Code = ErrorCode;

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
  bad([&] { return a + b; }, {"add", "(2, 3)", "(4,)"});
  bad([&] { static_cast<void>(a == b); }, {"equal", "(2, 3)", "(4,)"});
  bad([&] { return atan2(b, a); }, {"atan2", "(2, 3)", "(4,)"});
  bad([&] { return where(a, a, b); }, {"where", "(2, 3)", "(4,)"});
  bad([&] { return clip(a, 0.f, b); }, {"clip", "(2, 3)", "(4,)"});
  bad([&] { return lerp(a, b, 1.f); }, {"lerp", "(2, 3)", "(4,)"});
  bad([&] { return broadcast_to(a, {3, 3}); }, {"broadcast_to", "(2, 3)", "(3, 3)"});
  bad([&] { return broadcast_to(a, {3}); }, {"broadcast_to", "(2, 3)", "(3,)"});
  Tensor c = a;
  bad([&] { c += b; }, {"add", "(2, 3)", "(4,)"});
  EXPECT_TRUE(c.defined());
  EXPECT_EQ(c.shape(), (Shape{2, 3}));
}

TEST_F(Errors, MovedOperandsSurviveAFailure) {
  Tensor a = zeros({2, 3}), b = zeros({4});
  bad([&] { return add(std::move(a), std::move(b)); }, {"add"});
  EXPECT_TRUE(a.defined());
  EXPECT_TRUE(b.defined());
}

TEST_F(Errors, AxesOutOfRange) {
  bad([&] { return sum(m_, {2}); }, {"sum", "2", "(2, 3)"});
  bad([&] { return max(m_, -3); }, {"max", "-3", "(2, 3)"});
  bad([&] { return argmax(m_, 5); }, {"argmax", "5", "(2, 3)"});
  bad([&] { return sum(m_, {0, 0}); }, {"sum", "(2, 3)"});
  bad([&] { return sum(m_, {0, -2}); }, {"sum", "(2, 3)"});
  bad([&] { return permute(m_, {0}); }, {"permute", "(2, 3)"});
  bad([&] { return permute(m_, {0, 0}); }, {"permute", "(2, 3)"});
  bad([&] { return permute(m_, {0, 2}); }, {"permute", "(2, 3)"});
  bad([&] { return swapaxes(m_, 0, 2); }, {"swapaxes", "(2, 3)"});
  bad([&] { return slice(m_, 2, 0, 1); }, {"slice", "(2, 3)"});
  bad([&] { return flip(m_, {2}); }, {"flip", "(2, 3)"});
  bad([&] { return expand_dims(m_, 3); }, {"expand_dims", "(2, 3)"});
  bad([&] { return squeeze(m_, {0}); }, {"squeeze", "(2, 3)"});
  bad([&] { return roll(m_, 1, 2); }, {"roll", "(2, 3)"});
  bad([&] { return repeat(m_, 2, 2); }, {"repeat", "(2, 3)"});
  bad([&] { return softmax(m_, 2); }, {"softmax", "(2, 3)"});
  bad([&] { return log_softmax(m_, 2); }, {"log_softmax", "(2, 3)"});
  bad([&] { return var(m_, {7}); }, {"var", "(2, 3)"});
  bad([&] { return m_.shape(2); }, {"shape", "2"});
}

TEST_F(Errors, WrongDTypes) {
  const Tensor b = zeros({2}, DType::kBool), i = zeros({2}, DType::kInt32);
  bad([&] { return -b; }, {"neg", "bool"});
  bad([&] { return b - b; }, {"sub", "bool"});
  bad([&] { return bitwise_and(x_, x_); }, {"bitwise_and", "float32"});
  bad([&] { return ~x_; }, {"bitwise_not", "float32"});
  bad([&] { return bitwise_left_shift(b, b); }, {"bitwise_left_shift", "bool"});
  bad([&] { return take(x_, x_, 0); }, {"take", "float32"});
  bad([&] { return take_along_axis(x_, x_, 0); }, {"take_along_axis", "float32"});
  bad([&] { return one_hot(x_, 3); }, {"one_hot", "float32"});
  bad([&] { return rand({2}, DType::kInt32); }, {"rand", "int32"});
  bad([&] { return randn({2}, DType::kBool); }, {"randn", "bool"});
}

TEST_F(Errors, CountsThatDoNotFit) {
  bad([] { return Tensor::from({1.f, 2.f, 3.f}, {2, 2}); }, {"from", "3", "(2, 2)"});
  bad([] { return Tensor::from(std::vector<int>{}, {1}); }, {"from", "0", "(1,)"});
  bad([&] { return x_.item<float>(); }, {"item", "(3,)"});
  bad([&] { return zeros({0}).item<float>(); }, {"item", "(0,)"});
  std::vector<float> out(2);
  bad([&] { x_.copy_to(std::span<float>(out)); }, {"copy_to", "2", "(3,)"});
  bad([&] { return reshape(m_, {4}); }, {"reshape", "(2, 3)", "(4,)"});
}

TEST_F(Errors, ReadsAsAnotherType) {
  bad([&] { return x_.to_vector<double>(); }, {"to_vector", "float32", "float64"});
  std::vector<int32_t> out(3);
  bad([&] { x_.copy_to(std::span<int32_t>(out)); }, {"copy_to", "float32", "int32"});
}

TEST_F(Errors, SlicesAreClampedButStepZeroIsNot) {
  EXPECT_EQ(slice(x_, 0, -100, 100).to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(slice(x_, 0, 5, 9).numel(), 0);
  EXPECT_EQ(slice(x_, 0, 2, 1).numel(), 0);
  bad([&] { return slice(x_, 0, 0, 3, 0); }, {"slice", "step"});
}

TEST_F(Errors, JoinsAndSplits) {
  bad([&] { return concat({m_, zeros({2, 3, 1})}, 0); }, {"concat", "(2, 3)", "(2, 3, 1)"});
  bad([&] { return concat({m_, zeros({3, 3})}, 1); }, {"concat", "(2, 3)", "(3, 3)"});
  bad([&] { return concat({m_, m_}, 2); }, {"concat", "(2, 3)"});
  bad([&] { return concat(std::vector<Tensor>{}, 0); }, {"concat"});
  bad([&] { return concat({full({}, 1.f), full({}, 1.f)}, 0); }, {"concat", "()"});
  bad([&] { return stack({m_, zeros({2, 4})}, 0); }, {"stack", "(2, 3)", "(2, 4)"});
  bad([&] { return split(m_, 2, 1); }, {"split", "2", "(2, 3)"});
  bad([&] { return split(m_, 0, 1); }, {"split", "(2, 3)"});
  bad([&] { return pad(m_, {{1, 1}}); }, {"pad", "(2, 3)"});
  bad([&] { return pad(m_, {{1, 1}, {-1, 0}}); }, {"pad", "(2, 3)"});
  bad([&] { return tile(m_, {-1}); }, {"tile", "(2, 3)"});
  bad([&] { return repeat(m_, -1, 0); }, {"repeat", "(2, 3)"});
  bad([&] { return tril(x_); }, {"tril", "(3,)"});
  bad([&] { return triu(full({}, 1.f)); }, {"triu", "()"});
}

TEST_F(Errors, Matmul) {
  bad([&] { return matmul(zeros({2, 3}), zeros({4, 5})); }, {"matmul", "(2, 3)", "(4, 5)"});
  bad([&] { return matmul(zeros({3}), zeros({4})); }, {"matmul", "(3,)", "(4,)"});
  bad([&] { return matmul(full({}, 1.f), m_); }, {"matmul", "()", "(2, 3)"});
  bad(
      [&] {
        return matmul(zeros({2, 4, 3}), zeros({5, 3, 2}));
      },
      {"matmul", "(2, 4, 3)", "(5, 3, 2)"});
}

TEST_F(Errors, ReductionsOfNothing) {
  bad([] { return max(zeros({0, 3}), 0); }, {"max", "(0, 3)"});
  bad([] { return min(zeros({0})); }, {"min", "(0,)"});
  bad([] { return argmax(zeros({3, 0}), 1); }, {"argmax", "(3, 0)"});
}

TEST_F(Errors, ShapesThatOverflow) {
  bad([] { return zeros({int64_t{1} << 40, int64_t{1} << 40}); }, {"1099511627776"});
  // The count fits in int64; the bytes don't.
  bad([] { (zeros({int64_t{1} << 61}, DType::kFloat64) + 1.0).eval(); }, {"2305843009213693952"});
  bad([] { return broadcast_to(zeros({1}), {int64_t{1} << 62}); },
      {"broadcast_to", "4611686018427387904"});
  bad([&] { return tile(m_, {int64_t{1} << 62, 1}); }, {"tile", "(2, 3)"});
}

TEST_F(Errors, MemoryThatCannotBeHad) {
  const ConfigGuard guard;
  config().memory_limit = 64 << 20;
  {
    const Tensor x = Tensor::from(std::vector<float>(10 << 20, 1.f));  // 40 MiB
    const Tensor y = exp(x);
    bad([&] { return y.to_vector<float>(); }, {"exp", "(10485760,)"}, Code::kResourceExhausted);
    EXPECT_EQ(sum(x).item<float>(), 10485760.f);
  }
  {
    const Tensor big = exp(arange(0, int64_t{1} << 28, 1, DType::kFloat32));
    bad([&] { return big.to_vector<float>(); }, {"(268435456,)"}, Code::kResourceExhausted);
  }
  // What a read reported, sync() does not.
  EXPECT_NO_THROW(sync());
  EXPECT_EQ(sum(ones({1000})).item<float>(), 1000.f);
}

TEST_F(Errors, AnIndexOutOfRangeFailsTheReadAndNamesIt) {
  const Tensor i = Tensor::from<int64_t>({0, 7});
  const Tensor y = take(x_, i, 0);
  const Tensor z = y + 1.f;
  bad([&] { return y.to_vector<float>(); }, {"take", "7"}, Code::kOutOfRange);
  bad([&] { return z.to_vector<float>(); }, {"take", "7"}, Code::kOutOfRange);
  const Tensor n = Tensor::from<int64_t>({-4});
  bad([&] { return (take(x_, n, 0) * 2.f).item<float>(); }, {"take", "-4"}, Code::kOutOfRange);
  bad([&] { return take_along_axis(x_, i, 0).to_vector<float>(); }, {"take_along_axis", "7"},
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

TEST_F(Errors, AFailureOfSeveralResultsIsReportedOnce) {
  const Tensor y = take(x_, Tensor::from<int64_t>({5}), 0);
  const Tensor z = y * 2.f;
  bad([&] { return z.to_vector<float>(); }, {"take", "5"}, Code::kOutOfRange);
  EXPECT_NO_THROW(sync());
}

TEST_F(Errors, WhatDoesNotDependOnAFailureIsReadable) {
  const Tensor good = x_ * 3.f;
  const Tensor wrong = take(x_, Tensor::from<int64_t>({9}), 0);
  const Tensor after = good + 1.f;
  bad([&] { return wrong.item<float>(); }, {"take", "9"}, Code::kOutOfRange);
  EXPECT_EQ(good.to_vector<float>(), (std::vector<float>{3, 6, 9}));
  EXPECT_EQ(after.to_vector<float>(), (std::vector<float>{4, 7, 10}));
}

TEST_F(Errors, EmptyHandles) {
  const Tensor none;
  EXPECT_FALSE(none.defined());
  bad([&] { return none.shape(); }, {"shape", "empty"}, Code::kFailedPrecondition);
  bad([&] { return none.dtype(); }, {"dtype", "empty"}, Code::kFailedPrecondition);
  bad([&] { return none.item<float>(); }, {"item", "empty"}, Code::kFailedPrecondition);
  bad([&] { none.eval(); }, {"eval", "empty"}, Code::kFailedPrecondition);
  bad([&] { return none + x_; }, {"add", "empty"}, Code::kFailedPrecondition);
  bad([&] { return x_ * none; }, {"mul", "empty"}, Code::kFailedPrecondition);
  bad([&] { return exp(none); }, {"exp", "empty"}, Code::kFailedPrecondition);
  bad([&] { return sum(none); }, {"sum", "empty"}, Code::kFailedPrecondition);
  bad([&] { return none.reshape({1}); }, {"reshape", "empty"}, Code::kFailedPrecondition);
  bad([&] { return concat({x_, none}); }, {"concat", "empty"}, Code::kFailedPrecondition);
  bad([&] { return matmul(x_, none); }, {"matmul", "empty"}, Code::kFailedPrecondition);
  bad([&] { return where(none, x_, x_); }, {"where", "empty"}, Code::kFailedPrecondition);
  bad([&] { return take(x_, none, 0); }, {"take", "empty"}, Code::kFailedPrecondition);
  bad([&] { return zeros_like(none); }, {"zeros_like", "empty"}, Code::kFailedPrecondition);
}

TEST_F(Errors, Creation) {
  bad([] { return zeros({-1}); }, {"-1"});
  bad([] { return arange(0, 10, 0); }, {"arange"});
  bad([] { return linspace(0, 1, -1); }, {"linspace", "-1"});
  bad([] { return randint(5, 5, {2}); }, {"randint", "5"});
  bad([] { return eye(-1); }, {"eye", "-1"});
  bad([] { return one_hot(zeros({2}, DType::kInt64), -1); }, {"one_hot", "-1"});
  bad([] { return zeros({1, 1, 1, 1, 1, 1, 1, 1}).expand_dims(0); }, {"expand_dims"});
}

TEST_F(Errors, SortingAndSearching) {
  bad([&] { return sort(x_, 2); }, {"sort", "2"});
  bad([] { return argsort(zeros({})); }, {"argsort", "float32()"});
  bad([] { return topk(zeros({3, 4}), 5); }, {"topk", "5", "4", "float32(3, 4)"});
  bad([] { return topk(zeros({3}), -1); }, {"topk", "-1"});
  bad([] { return nonzero(zeros({})); }, {"nonzero", "float32()"});
  bad([] { return searchsorted(zeros({2, 2}), zeros({2})); }, {"searchsorted", "float32(2, 2)"});
  bad([] { return searchsorted(zeros({2}), zeros({2}), false, zeros({3}, DType::kInt64)); },
      {"searchsorted", "sorter", "int64(3,)"});
  bad([] { return quantile(zeros({2}), 1.5); }, {"quantile", "1.5", "float32(2,)"});
  bad([] { return percentile(zeros({2}), -1); }, {"percentile"});
  bad([] { return cummax(zeros({2}), 1); }, {"cummax", "1"});
}

}  // namespace
}  // namespace sluice::test
