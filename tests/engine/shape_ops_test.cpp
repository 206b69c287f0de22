// Shape and indexing ops against the oracle, and that views launch nothing of their own.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

NdArray counted(const Shape& shape, DType dtype = DType::kFloat32) {
  NdArray x(dtype, shape);
  for (int64_t i = 0; i < x.numel(); ++i) x.values[i] = static_cast<Real>(i % 120);
  return x;
}

// Kernels that reading `x` launches.
int64_t kernels_to_read(const Tensor& x) {
  reset_stats();
  read_bytes(x);
  return stats().kernels_launched;
}

NdArray plus_one(const NdArray& x) {
  return oracle::binary("add", x, oracle::full({}, 1, x.dtype));
}

// Checks an op on a leaf, on a computed value, and as the operand of another op.
void check(const NdArray& x, const std::function<Tensor(const Tensor&)>& engine,
           const std::function<NdArray(const NdArray&)>& expected) {
  const Tensor t = to_tensor(x);
  EXPECT_TRUE(matches(engine(t), expected(x)));
  EXPECT_TRUE(matches(engine(t + 1), expected(plus_one(x))));
  EXPECT_TRUE(matches(engine(t) + 1, plus_one(expected(x))));
}

TEST(ShapeOps, Reshape) {
  const NdArray x = counted({4, 6});
  const Tensor t = to_tensor(x);
  EXPECT_TRUE(matches(reshape(t, {2, 2, 6}), oracle::reshape(x, {2, 2, 6})));
  EXPECT_TRUE(
      matches(Tensor(t.T()).reshape({3, 8}), oracle::reshape(oracle::transpose(x), {3, 8})));
  EXPECT_TRUE(matches(t.slice(1, 1, 6, 2).reshape({12}),
                      oracle::reshape(oracle::slice(x, 1, 1, 6, 2), {12})));
  EXPECT_TRUE(matches(full({}, 3.f).reshape({1, 1}), oracle::full({1, 1}, 3, DType::kFloat32)));
  EXPECT_EQ(zeros({2, 0, 3}).reshape({0, 5}).shape(), (Shape{0, 5}));
  EXPECT_EQ((zeros({2, 0, 3}).slice(2, 0, 2).reshape({0, 5, 7}) + 1).numel(), 0);
  EXPECT_EQ((zeros({0, 3}) + 1).reshape({3, 0}).to_vector<float>().size(), 0u);
}

TEST(ShapeOps, PermuteTransposeSwapaxes) {
  const NdArray x = counted({3, 4, 5});
  check(
      x, [](const Tensor& t) { return transpose(t); },
      [](const NdArray& a) { return oracle::transpose(a); });
  check(
      x,
      [](const Tensor& t) {
        return permute(t, {1, 2, 0});
      },
      [](const NdArray& a) {
        return oracle::permute(a, {1, 2, 0});
      });
  check(
      x,
      [](const Tensor& t) {
        return permute(t, {-1, 0, -2});
      },
      [](const NdArray& a) {
        return oracle::permute(a, {-1, 0, -2});
      });
  check(
      x, [](const Tensor& t) { return swapaxes(t, 0, -1); },
      [](const NdArray& a) { return oracle::swapaxes(a, 0, -1); });
  EXPECT_EQ(full({}, 1.f).T().shape(), Shape{});
}

TEST(ShapeOps, SliceLikePython) {
  const NdArray x = counted({3, 7});
  const int64_t ends[] = {-100, -8, -7, -3, -1, 0, 1, 3, 6, 7, 8, 100};
  for (int64_t start : ends) {
    for (int64_t stop : ends) {
      for (int64_t step : {1, 2, 3, -1, -2, -7}) {
        EXPECT_TRUE(matches(slice(to_tensor(x), 1, start, stop, step),
                            oracle::slice(x, 1, start, stop, step)))
            << start << ":" << stop << ":" << step;
      }
    }
  }
}

TEST(ShapeOps, FlipSqueezeExpandBroadcast) {
  const NdArray x = counted({2, 3, 4});
  for (const std::vector<int>& axes : {std::vector<int>{}, {0}, {-1}, {0, 2}}) {
    check(
        x, [&](const Tensor& t) { return flip(t, axes); },
        [&](const NdArray& a) { return oracle::flip(a, axes); });
  }
  for (int axis = -4; axis < 4; ++axis) {
    check(
        x, [&](const Tensor& t) { return expand_dims(t, axis); },
        [&](const NdArray& a) { return oracle::expand_dims(a, axis); });
  }
  const NdArray y = counted({1, 3, 1});
  check(
      y, [](const Tensor& t) { return squeeze(t); },
      [](const NdArray& a) { return oracle::squeeze(a, {}); });
  check(
      y, [](const Tensor& t) { return squeeze(t, {-1}); },
      [](const NdArray& a) { return oracle::squeeze(a, {-1}); });
  check(
      y,
      [](const Tensor& t) {
        return broadcast_to(t, {2, 5, 3, 4});
      },
      [](const NdArray& a) {
        return oracle::broadcast_to(a, {2, 5, 3, 4});
      });
  check(
      y,
      [](const Tensor& t) {
        return broadcast_to(t, {0, 3, 4});
      },
      [](const NdArray& a) {
        return oracle::broadcast_to(a, {0, 3, 4});
      });
}

TEST(ShapeOps, ConcatAndStack) {
  for (DType dtype : {DType::kFloat32, DType::kInt8, DType::kBool, DType::kFloat16}) {
    const NdArray a = oracle::cast(counted({2, 3}), dtype);
    const NdArray b = oracle::cast(counted({2, 1}), dtype);
    const NdArray empty(dtype, Shape{2, 0});
    const Tensor s = to_tensor(a), t = to_tensor(b), u = to_tensor(empty);
    EXPECT_TRUE(matches(concat({s, t, u, s}, 1), oracle::concat({a, b, empty, a}, 1)));
    EXPECT_TRUE(matches(concat({s, t}, -1), oracle::concat({a, b}, -1)));
    EXPECT_TRUE(matches(concat({s, s}), oracle::concat({a, a}, 0)));
    EXPECT_TRUE(matches(concat({s}, 0), a));
    for (int axis = -3; axis < 3; ++axis) {
      EXPECT_TRUE(matches(stack({s, s, s}, axis), oracle::stack({a, a, a}, axis)));
    }
  }
  const NdArray f = counted({3}), i = counted({2}, DType::kInt32);
  EXPECT_TRUE(matches(concat({to_tensor(f) * 2, to_tensor(i) + 1}),
                      oracle::concat({oracle::binary("add", f, f), plus_one(i)}, 0)));
}

// Of many parts each is a call of its own: one kernel for those of one kind, one launch.
TEST(ShapeOps, LongConcats) {
  const ConfigGuard guard;
  for (const CompileMode mode : {CompileMode::kBlocking, CompileMode::kOff}) {
    config().compile = mode;
    for (const DType dtype : {DType::kFloat32, DType::kInt8, DType::kFloat16}) {
      for (const int axis : {0, 1}) {
        std::vector<Tensor> parts;
        std::vector<NdArray> expected;
        for (int k = 0; k < 40; ++k) {
          const Shape shape = axis == 0 ? Shape{k % 4, 5} : Shape{7, k % 4};
          const NdArray part = oracle::cast(counted(shape), dtype);
          const Tensor given = to_tensor(part);
          parts.push_back(k % 3 == 0 ? given + 1 : given);
          expected.push_back(k % 3 == 0 ? plus_one(part) : part);
        }
        const NdArray joined = oracle::concat(expected, axis);
        EXPECT_TRUE(matches(concat(parts, axis), joined));
        EXPECT_TRUE(matches(concat(parts, axis) + 1, plus_one(joined)));
        EXPECT_TRUE(matches(concat({concat(parts, axis), parts[3]}, axis),
                            oracle::concat({joined, expected[3]}, axis)));
      }
    }
    const Tensor x = to_tensor(counted({400, 3}));
    x.eval();
    const Stats before = stats();
    concat(split(x, 100, 0), 1).eval();
    EXPECT_EQ(stats().kernels_launched - before.kernels_launched, 1);
    // On a GPU a launch of several calls is a kernel of its own.
    if (x.device() == Device::cpu()) {
      EXPECT_LE(stats().compiles - before.compiles, 1);
    }
  }
}

// Few parts, each of which is better copied by itself: whole blocks of the result, or transposed.
TEST(ShapeOps, LargeConcatsByParts) {
  const ConfigGuard guard;
  for (const CompileMode mode : {CompileMode::kBlocking, CompileMode::kOff}) {
    config().compile = mode;
    for (const DType dtype : {DType::kFloat32, DType::kInt8, DType::kFloat16, DType::kInt64}) {
      const NdArray x = oracle::cast(counted({130, 150}), dtype);
      const NdArray y = oracle::cast(counted({70, 130}), dtype);
      const NdArray turned = oracle::transpose(x);
      const Tensor s = to_tensor(x), t = to_tensor(y);
      s.eval();
      t.eval();
      const Stats before = stats();
      EXPECT_TRUE(matches(concat({s.T(), t}, 0), oracle::concat({turned, y}, 0)));
      EXPECT_EQ(stats().kernels_launched - before.kernels_launched, 1);
      EXPECT_TRUE(matches(concat({s.T(), s.T().slice(1, 0, 0), s.T()}, 1),
                          oracle::concat({turned, turned}, 1)));
      EXPECT_TRUE(matches(concat({t, s.T(), t}, 0), oracle::concat({y, turned, y}, 0)));
      EXPECT_TRUE(matches(concat({s, s}, 0).slice(0, 100, 200),
                          oracle::slice(oracle::concat({x, x}, 0), 0, 100, 200, 1)));
      const Tensor sum = s + s;
      EXPECT_TRUE(matches(concat({sum, s}, 0).T(),
                          oracle::transpose(oracle::concat({oracle::binary("add", x, x), x}, 0))));
    }
  }
}

// Tiles that end at, before and after the ends of lines and columns, small ones and, of what no
// cache holds, large ones; operands of several widths.
TEST(ShapeOps, TransposedOperandsByTiles) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  const std::vector<Shape> shapes = {{64, 128},  {32, 129},  {65, 127},    {33, 300},   {257, 100},
                                     {16, 1000}, {1025, 17}, {3, 40, 150}, {1500, 1401}};
  for (const DType dtype : {DType::kFloat32, DType::kInt8, DType::kFloat16, DType::kInt64}) {
    for (const Shape& shape : shapes) {
      const NdArray x = oracle::cast(counted(shape), dtype);
      const NdArray other = oracle::cast(oracle::transpose(counted(shape)), DType::kFloat32);
      const NdArray turned = oracle::transpose(x);
      const Tensor t = to_tensor(x), u = to_tensor(other);
      t.eval();
      u.eval();
      EXPECT_TRUE(matches(t.T() + t.T(), oracle::binary("add", turned, turned)));
      EXPECT_TRUE(matches(maximum(astype(t.T(), DType::kFloat32), u),
                          oracle::binary("maximum", oracle::cast(turned, DType::kFloat32), other)));
    }
  }
}

// Parts of so many points that they are written in turns, the last one a short one; threads divide
// the turns.
TEST(ShapeOps, LongConcatsInTurns) {
  const ConfigGuard guard;
  for (const CompileMode mode : {CompileMode::kBlocking, CompileMode::kOff}) {
    config().compile = mode;
    for (const int width : {1, 3}) {
      for (const int64_t rows : {2049, 5000}) {
        std::vector<Tensor> parts;
        std::vector<NdArray> expected;
        for (int k = 0; k < 20; ++k) {
          const NdArray part = plus_one(counted({rows, width}));
          parts.push_back(k % 3 == 0 ? to_tensor(part) + 1 : to_tensor(part));
          expected.push_back(k % 3 == 0 ? plus_one(part) : part);
        }
        EXPECT_TRUE(matches(concat(parts, 1), oracle::concat(expected, 1)));
        // Rows of 20 parts of one width and a part of another: no turns.
        parts.push_back(to_tensor(counted({rows, width + 1})));
        expected.push_back(counted({rows, width + 1}));
        EXPECT_TRUE(matches(concat(parts, 1), oracle::concat(expected, 1)));
      }
    }
  }
}

// Bounds at every place of a vector, of indices that step by 1, by -1 and by more, several of them
// near each other or none; selections along the rows and across them.
TEST(ShapeOps, PartsThatEndAnywhereInAVector) {
  const ConfigGuard guard;
  for (const CompileMode mode : {CompileMode::kBlocking, CompileMode::kOff}) {
    config().compile = mode;
    for (const DType dtype : {DType::kFloat32, DType::kInt8, DType::kFloat16}) {
      for (const int64_t width : {1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 257}) {
        const NdArray x = oracle::cast(counted({5, width}), dtype);
        const NdArray y = plus_one(x);
        const Tensor s = to_tensor(x);
        const Tensor t = s + 1;
        const int64_t part = (width + 1) / 2;
        SCOPED_TRACE(testing::Message() << name_of(dtype) << " " << width);
        const NdArray joined =
            oracle::concat({oracle::slice(x, 1, 0, 1, 1), y, oracle::slice(x, 1, 0, part, 1)}, 1);
        auto join = [&] { return concat({s.slice(1, 0, 1), t, s.slice(1, 0, part)}, 1) + 0; };
        EXPECT_TRUE(matches(join(), joined));
        const int64_t all = joined.shape[1];
        EXPECT_TRUE(matches(flip(join(), 1), oracle::flip(joined, {1})));
        for (const int64_t step : {2, 3, -2}) {
          const int64_t first = step > 0 ? 0 : all - 1, last = step > 0 ? all : -all - 1;
          EXPECT_TRUE(matches(concat({s, join().slice(1, first, last, step)}, 1) + 0,
                              oracle::concat({x, oracle::slice(joined, 1, first, last, step)}, 1)));
        }
        EXPECT_TRUE(
            matches(pad(join(), {{1, 2}, {3, 0}}, 9), oracle::pad(joined, {{1, 2}, {3, 0}}, 9)));
        EXPECT_TRUE(matches(roll(t, 1, 1) + roll(t, -2, 0),
                            oracle::binary("add", oracle::roll(y, 1, 1), oracle::roll(y, -2, 0))));
        EXPECT_TRUE(matches(
            concat({s, concat({t, s}, 1).slice(1, part, part + width)}, 0) + 0,
            oracle::concat({x, oracle::slice(oracle::concat({y, x}, 1), 1, part, part + width, 1)},
                           0)));
      }
    }
  }
}

// Rolls of rolls are one read at a wrapped index, which other views and bounds may follow.
TEST(ShapeOps, RollsOfWhatWasMovedBefore) {
  const ConfigGuard guard;
  for (const CompileMode mode : {CompileMode::kBlocking, CompileMode::kOff}) {
    config().compile = mode;
    for (const DType dtype : {DType::kFloat32, DType::kUInt8, DType::kFloat16, DType::kInt64}) {
      for (const int64_t width : {1, 2, 3, 7, 16, 33, 64, 257}) {
        SCOPED_TRACE(testing::Message() << name_of(dtype) << " " << width);
        const NdArray x = oracle::cast(counted({5, width}), dtype);
        const Tensor t = to_tensor(x);
        const Tensor s = t + 1;
        const NdArray y = plus_one(x);
        auto rolled = [](const Tensor& a) { return roll(roll(a, 2, 0), -3, 1); };
        const NdArray expected = oracle::roll(oracle::roll(y, 2, 0), -3, 1);
        EXPECT_TRUE(matches(rolled(s), expected));
        EXPECT_TRUE(matches(roll(roll(rolled(s), 3, 1), 3, 0), y));
        EXPECT_TRUE(matches(rolled(s).T() + 0, oracle::permute(expected, {1, 0})));
        EXPECT_TRUE(
            matches(rolled(t).reshape({5, 1, width}) + 0,
                    oracle::reshape(oracle::roll(oracle::roll(x, 2, 0), -3, 1), {5, 1, width})));
        EXPECT_TRUE(
            matches(rolled(s).reshape({5 * width}) + 0, oracle::reshape(expected, {5 * width})));
        EXPECT_TRUE(matches(slice(rolled(s), 0, 1, 4) + 0, oracle::slice(expected, 0, 1, 4, 1)));
        EXPECT_TRUE(matches(flip(rolled(s), 1) + 0, oracle::flip(expected, {1})));
        EXPECT_TRUE(matches(roll(slice(roll(s, 1, 0), 0, 0, 3), 1, 0) + 0,
                            oracle::roll(oracle::slice(oracle::roll(y, 1, 0), 0, 0, 3, 1), 1, 0)));
        const std::vector<std::pair<int64_t, int64_t>> widths = {{1, 2}, {3, 0}};
        EXPECT_TRUE(matches(rolled(pad(s, widths, 9)),
                            oracle::roll(oracle::roll(oracle::pad(y, widths, 9), 2, 0), -3, 1)));
        EXPECT_TRUE(matches(pad(rolled(s), widths, 9), oracle::pad(expected, widths, 9)));
        EXPECT_TRUE(
            matches(pad(pad(pad(s, widths, 9), widths, 8), widths, 7),
                    oracle::pad(oracle::pad(oracle::pad(y, widths, 9), widths, 8), widths, 7)));
        EXPECT_TRUE(matches(rolled(concat({s, t, s}, 1)),
                            oracle::roll(oracle::roll(oracle::concat({y, x, y}, 1), 2, 0), -3, 1)));
        EXPECT_TRUE(matches(concat({rolled(s), t}, 1), oracle::concat({expected, x}, 1)));
        for (const int axis : {0, 1}) {
          EXPECT_TRUE(
              matches(max(rolled(s), axis), oracle::reduce("max", expected, {axis}, false)));
        }
        EXPECT_TRUE(
            matches(take(rolled(s), to_tensor(NdArray(DType::kInt64, Shape{2}, {4, -5})), 0),
                    oracle::take(expected, NdArray(DType::kInt64, Shape{2}, {4, -5}), 0)));
      }
    }
  }
}

TEST(ShapeOps, ManyParts) {
  const NdArray x = counted({3, 2});
  for (const int axis : {0, 1}) {
    for (const int64_t count : {32, 33, 100}) {
      std::vector<Tensor> parts;
      std::vector<NdArray> expected;
      for (int64_t k = 0; k < count; ++k) {
        NdArray part = oracle::slice(x, axis, k % 2, 2, 1);
        if (k % 3 == 0) part = oracle::cast(part, DType::kInt64);
        parts.push_back(to_tensor(part));
        expected.push_back(part);
      }
      EXPECT_TRUE(matches(concat(parts, axis), oracle::concat(expected, axis)));
    }
  }
}

TEST(ShapeOps, Split) {
  const NdArray x = counted({4, 6});
  const std::vector<Tensor> parts = split(to_tensor(x), 3, -1);
  ASSERT_EQ(parts.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(matches(parts[i], oracle::slice(x, 1, 2 * i, 2 * i + 2, 1)));
  }
}

// Each pad of another axis: a read that only the innermost guarded would be far outside.
TEST(ShapeOps, PadsOfPadsReadOnlyWhatIsThere) {
  const Tensor x = arange(9).reshape(Shape{3, 1, 1, 3});
  const int64_t far = 1 << 12;
  const auto padded = [&](int64_t before) {
    Tensor y = pad(x, {{0, 0}, {before, 0}, {0, 0}, {0, 0}});
    y = flip(pad(std::move(y), {{0, 0}, {0, 0}, {3, 0}, {0, 0}}, 7), 3);
    return pad(std::move(y), {{0, 0}, {0, 0}, {0, 0}, {2, 1}});
  };
  EXPECT_EQ(padded(far).slice(1, far - 1, far + 1).to_vector<int64_t>(),
            padded(1).to_vector<int64_t>());
}

// What pads and concats ask for before the first element is no element of the line before.
TEST(ShapeOps, ReshapesUnderPadsAndConcats) {
  const Tensor t = Tensor::from({5, 6});
  const auto spread = [&] { return pad(expand_dims(t, 1), {{0, 0}, {0, 1}}).reshape(Shape{4}); };
  EXPECT_EQ(pad(spread().slice(0, 0, 3), {{1, 0}}).to_vector<int>(),
            (std::vector<int>{0, 5, 0, 6}));
  EXPECT_EQ(pad(spread(), {{2, 2}}).to_vector<int>(), (std::vector<int>{0, 0, 5, 0, 6, 0, 0, 0}));
  EXPECT_EQ(pad(spread(), {{3, 1}}).to_vector<int>(), (std::vector<int>{0, 0, 0, 5, 0, 6, 0, 0}));
  EXPECT_EQ(concat({t, t.slice(0, 0, 1), repeat(t, 2, 0), spread()}).to_vector<int>(),
            (std::vector<int>{5, 6, 5, 5, 5, 6, 6, 5, 0, 6, 0}));
  EXPECT_EQ(pad(repeat(t, 3, 0), {{1, 2}}).to_vector<int>(),
            (std::vector<int>{0, 5, 5, 5, 6, 6, 6, 0, 0}));
  EXPECT_EQ(pad(flip(spread(), 0), {{1, 0}}).to_vector<int>(), (std::vector<int>{0, 0, 6, 0, 5}));
}

TEST(ShapeOps, PadTileRepeatRoll) {
  const NdArray x = counted({2, 3});
  check(
      x,
      [](const Tensor& t) {
        return pad(t, {{1, 2}, {0, 3}}, 9);
      },
      [](const NdArray& a) {
        return oracle::pad(a, {{1, 2}, {0, 3}}, 9);
      });
  check(
      x,
      [](const Tensor& t) {
        return pad(t, {{0, 0}, {0, 0}});
      },
      [](const NdArray& a) { return a; });
  EXPECT_TRUE(matches(pad(to_tensor(NdArray(DType::kFloat32, Shape{0, 2})), {{1, 1}, {1, 1}}, 1.f),
                      oracle::full({2, 4}, 1, DType::kFloat32)));
  for (const std::vector<int64_t>& reps :
       {std::vector<int64_t>{2}, {2, 3}, {4, 1, 2}, {1, 1}, {0, 2}}) {
    check(
        x, [&](const Tensor& t) { return tile(t, reps); },
        [&](const NdArray& a) { return oracle::tile(a, reps); });
  }
  for (int axis : {0, 1, -1}) {
    for (int64_t n : {0, 1, 3}) {
      check(
          x, [&](const Tensor& t) { return repeat(t, n, axis); },
          [&](const NdArray& a) { return oracle::repeat(a, n, axis); });
    }
    for (int64_t n : {0, 1, -1, 2, 50, -50}) {
      check(
          x, [&](const Tensor& t) { return roll(t, n, axis); },
          [&](const NdArray& a) { return oracle::roll(a, n, axis); });
    }
  }
}

TEST(ShapeOps, Triangles) {
  for (const Shape& shape : {Shape{4, 4}, Shape{3, 5}, Shape{5, 2}, Shape{2, 3, 3}}) {
    for (int64_t k = -6; k <= 6; ++k) {
      check(
          counted(shape), [&](const Tensor& t) { return tril(t, k); },
          [&](const NdArray& a) { return oracle::tril(a, k); });
      check(
          counted(shape), [&](const Tensor& t) { return triu(t, k); },
          [&](const NdArray& a) { return oracle::triu(a, k); });
    }
  }
  // Of rows that are reduced, with bounds at the ends of int64.
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min(), kLast = -(kFirst + 1);
  for (int64_t k : {kFirst, kFirst + 1, int64_t{-40}, int64_t{-1}, int64_t{31}, kLast - 1, kLast}) {
    check(
        counted(Shape{3, 70, 70}), [&](const Tensor& t) { return sum(tril(t, k), {-1}); },
        [&](const NdArray& a) { return oracle::reduce("sum", oracle::tril(a, k), {-1}, false); });
    check(
        counted(Shape{3, 70, 70}), [&](const Tensor& t) { return sum(triu(t, k), {-1}); },
        [&](const NdArray& a) { return oracle::reduce("sum", oracle::triu(a, k), {-1}, false); });
  }
  // What is masked away leaves no trace.
  const Tensor nan = full({2, 2}, NAN);
  EXPECT_EQ(tril(nan, -5).to_vector<float>(), (std::vector<float>{0, 0, 0, 0}));
}

TEST(ShapeOps, IndicesAreComparedWithAnyBound) {
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> bounds = {kFirst, kFirst + 1, -1, 0, 31, 32, 69, 70, kLast - 1, kLast};
  const int64_t rows = std::ssize(bounds);
  const Tensor bound = Tensor::from(bounds, {rows, 1});
  for (const int64_t start : {0, -33}) {
    const Tensor index = arange(start, start + 70);
    auto counts = [&](const Tensor& holds) {
      return sum(astype(holds, kFloat32) * full({rows, 70}, 1.f), {1}).to_vector<float>();
    };
    auto wanted = [&](auto holds) {
      std::vector<float> result;
      for (const int64_t b : bounds) {
        float count = 0;
        for (int64_t i = start; i < start + 70; ++i) count += holds(i, b) ? 1.f : 0.f;
        result.push_back(count);
      }
      return result;
    };
    EXPECT_EQ(counts(index < bound), wanted(std::less<int64_t>()));
    EXPECT_EQ(counts(index <= bound), wanted(std::less_equal<int64_t>()));
    EXPECT_EQ(counts(index > bound), wanted(std::greater<int64_t>()));
    EXPECT_EQ(counts(index >= bound), wanted(std::greater_equal<int64_t>()));
    EXPECT_EQ(counts(index == bound), wanted(std::equal_to<int64_t>()));
    EXPECT_EQ(counts(index != bound), wanted(std::not_equal_to<int64_t>()));
  }
}

TEST(ShapeOps, TakeOverEveryDType) {
  const NdArray rows(DType::kInt64, Shape{5}, {2, -1, 0, -200, 199});
  for (DType dtype : all_dtypes()) {
    std::mt19937_64 rng(1);
    const NdArray x = random_array(rng, dtype, {200, 3});
    for (DType index : {DType::kInt64, DType::kInt32, DType::kInt16}) {
      const NdArray i = oracle::cast(rows, index);
      EXPECT_TRUE(matches(take(to_tensor(x), to_tensor(i), 0), oracle::take(x, i, 0)))
          << name_of(dtype) << " by " << name_of(index);
    }
  }
}

TEST(ShapeOps, TakeShapes) {
  const NdArray x = counted({4, 5, 6});
  const NdArray i(DType::kInt64, Shape{2, 3}, {0, -1, 3, -4, 2, 1});
  for (int axis = -3; axis < 3; ++axis) {
    EXPECT_TRUE(matches(take(to_tensor(x), to_tensor(i), axis), oracle::take(x, i, axis)));
    EXPECT_TRUE(matches(take(to_tensor(x) + 1, to_tensor(i), axis) * 2,
                        oracle::binary("mul", oracle::take(plus_one(x), i, axis),
                                       oracle::full({}, 2, DType::kFloat32))));
  }
  const NdArray one(DType::kInt64, Shape{}, {-2});
  EXPECT_TRUE(matches(take(to_tensor(x), to_tensor(one), 1), oracle::take(x, one, 1)));
}

TEST(ShapeOps, TakeAlongAxis) {
  const NdArray x = counted({3, 4});
  const NdArray i(DType::kInt64, Shape{3, 2}, {0, -1, 3, -4, 2, 1});
  EXPECT_TRUE(
      matches(take_along_axis(to_tensor(x), to_tensor(i), 1), oracle::take_along_axis(x, i, 1)));
  EXPECT_TRUE(matches(gather(to_tensor(x), to_tensor(i), -1), oracle::take_along_axis(x, i, 1)));
  const NdArray j(DType::kInt32, Shape{2, 4}, {0, 1, 2, -1, 2, -2, 0, 0});
  EXPECT_TRUE(
      matches(take_along_axis(to_tensor(x), to_tensor(j), 0), oracle::take_along_axis(x, j, 0)));
}

TEST(ShapeOps, OneHot) {
  const NdArray i(DType::kInt32, Shape{2, 3}, {0, 1, 2, 4, 3, 1});
  EXPECT_TRUE(matches(one_hot(to_tensor(i), 5), oracle::one_hot(i, 5, DType::kFloat32)));
  EXPECT_TRUE(
      matches(one_hot(to_tensor(i), 7, DType::kInt64), oracle::one_hot(i, 7, DType::kInt64)));
}

TEST(ShapeOps, CreationMatchesTheOracle) {
  EXPECT_TRUE(matches(arange(7), oracle::arange(0, 7, 1, DType::kInt64)));
  EXPECT_TRUE(matches(arange(1, 10, 3), oracle::arange(1, 10, 3, DType::kInt64)));
  EXPECT_TRUE(matches(arange(10, 1, -4), oracle::arange(10, 1, -4, DType::kInt64)));
  EXPECT_TRUE(matches(arange(5, 1), oracle::arange(5, 1, 1, DType::kInt64)));
  EXPECT_TRUE(matches(arange(0.f, 1.f, 0.1f), oracle::arange(0, 1, 0.1f, DType::kFloat32)));
  EXPECT_TRUE(matches(arange(0, 5, 1, DType::kFloat64), oracle::arange(0, 5, 1, DType::kFloat64)));
  for (int64_t n : {0, 1, 2, 7, 1000}) {
    EXPECT_TRUE(matches(linspace(-1.5, 3, n), oracle::linspace(-1.5, 3, n, DType::kFloat32)));
  }
  EXPECT_EQ(linspace(0, 0.1, 7, DType::kFloat64).to_vector<double>().back(), 0.1);
  EXPECT_TRUE(matches(eye(3), oracle::eye(3, 3, DType::kFloat32)));
  EXPECT_TRUE(matches(eye(2, 4, DType::kInt32), oracle::eye(2, 4, DType::kInt32)));
  for (DType dtype : all_dtypes()) {
    EXPECT_TRUE(matches(zeros({2, 3}, dtype), oracle::full({2, 3}, 0, dtype)));
    EXPECT_TRUE(matches(ones({4}, dtype), oracle::full({4}, 1, dtype)));
    EXPECT_TRUE(matches(full({}, 1, dtype), oracle::full({}, 1, dtype)));
    EXPECT_TRUE(matches(ones_like(zeros({2}, dtype)), oracle::full({2}, 1, dtype)));
  }
  EXPECT_EQ(full({2}, 1.f).dtype(), DType::kFloat32);
  EXPECT_EQ(full({2}, 1).dtype(), DType::kInt64);
  EXPECT_EQ(empty({2, 5}).shape(), (Shape{2, 5}));
}

TEST(ShapeOps, ViewsOfViews) {
  const NdArray x = counted({6, 8});
  const Tensor t = to_tensor(x);
  const Tensor y = t.slice(0, 4, -100, -2)
                       .T()
                       .flip({0})
                       .slice(0, 1, 7, 3)
                       .expand_dims(1)
                       .broadcast_to({2, 5, 3})
                       .reshape({10, 3})
                       .slice(1, 2, -100, -1);
  const NdArray z = oracle::slice(
      oracle::reshape(
          oracle::broadcast_to(
              oracle::expand_dims(
                  oracle::slice(
                      oracle::flip(oracle::transpose(oracle::slice(x, 0, 4, -100, -2)), {0}), 0, 1,
                      7, 3),
                  1),
              Shape{2, 5, 3}),
          Shape{10, 3}),
      1, 2, -100, -1);
  EXPECT_TRUE(matches(y, z));
  EXPECT_TRUE(matches(y + y.flip(), oracle::binary("add", z, oracle::flip(z, {}))));
}

TEST(ShapeOps, ViewsOfLeavesCostOneKernelWhereTheyAreRead) {
  const NdArray x = counted({8, 8});
  const Tensor a = to_tensor(x), b = to_tensor(counted({8, 8}));
  EXPECT_EQ(kernels_to_read(a.T() + b), 1);
  EXPECT_EQ(kernels_to_read(a.slice(0, 0, 7) + a.slice(0, 1, 8)), 1);
  EXPECT_EQ(kernels_to_read(a.slice(1, 7, -100, -1) * b), 1);
  EXPECT_EQ(kernels_to_read(a.flip() - b.flip({0})), 1);
  EXPECT_EQ(kernels_to_read(a.reshape({64}) + b.reshape({64})), 1);
  EXPECT_EQ(kernels_to_read(a.permute({1, 0}).reshape({64}) + 1), 1);
  EXPECT_EQ(kernels_to_read(a + b.slice(0, 2, 3)), 1);
  EXPECT_EQ(kernels_to_read(a.expand_dims(0) + b.expand_dims(1)), 1);
  EXPECT_EQ(kernels_to_read(a.broadcast_to({3, 8, 8}) + 1), 1);
}

TEST(ShapeOps, ViewsOfComputedValuesJoinTheirKernel) {
  const Tensor a = to_tensor(counted({8, 8})), b = to_tensor(counted({8, 8}));
  EXPECT_EQ(kernels_to_read((a + b).reshape({64}) * 2), 1);
  EXPECT_EQ(kernels_to_read((a + b).T() * a), 1);
  EXPECT_EQ(kernels_to_read(exp((a * 2).slice(0, 1, 8)) + (b * 3).slice(0, 0, 7)), 1);
  EXPECT_LE(kernels_to_read((a.sum({0}) * 2).expand_dims(0).reshape({8}) + 1), 2);
}

}  // namespace
}  // namespace sluice::test
