// Slices with steps, flips and rows that end anywhere in a vector: compiled code reads them by
// whole vectors, and computes what those leave of a row in narrower ones. The same bits as
// interpreted.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/interpreted_bits.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

constexpr DType kDTypes[] = {DType::kBool,    DType::kInt8,     DType::kInt32,   DType::kInt64,
                             DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};

struct Case {
  std::string name;
  Tensor (*f)(const Tensor& x, const Tensor& y);
};

// `x` and `y` have equal shapes of rank 2.
const Case kCases[] = {
    {"move",
     [](const Tensor& x, const Tensor&) {
       return concat({x, x}, 0);
     }},
    {"select", [](const Tensor& x, const Tensor& y) { return where(x == y, x, y); }},
    {"first of a row", [](const Tensor& x, const Tensor& y) { return x == y.slice(1, 0, 1); }},
    {"bounds",
     [](const Tensor& x, const Tensor& y) {
       return concat({pad(x, {{1, 0}, {2, 1}}), pad(y, {{0, 1}, {0, 3}})}, 0);
     }},
    {"roll", [](const Tensor& x, const Tensor&) { return roll(x, 1, 1); }},
    {"to floats",
     [](const Tensor& x, const Tensor& y) {
       return astype(x, DType::kFloat32) * astype(y, DType::kFloat32);
     }},
    {"long",
     [](const Tensor& x, const Tensor& y) {
       return exp(sin(astype(x, DType::kFloat32))) + log1p(abs(astype(y, DType::kFloat32)));
     }},
    {"rows", [](const Tensor& x, const Tensor&) { return sum(x, {1}); }},
    {"columns", [](const Tensor& x, const Tensor& y) { return sum(x == y, {0}); }},
    {"position", [](const Tensor& x, const Tensor&) { return argmax(x, {1}); }},
};

TEST(StridedReads, HaveTheBitsOfInterpretedOnes) {
  const ConfigGuard guard;
  for (const DType dtype : kDTypes) {
    for (const int64_t width : {1, 3, 5, 16, 29, 67, 131}) {
      for (const int64_t step : {1, 2, 3, 4, 5, -1, -2, -3}) {
        const int64_t whole = (width - 1) * std::abs(step) + 1;
        // The last element that is read is the operand's last, or first.
        const Tensor base = astype(randint(-9, 9, {6, whole}), dtype);
        base.eval();
        const Tensor x =
            step > 0 ? base.slice(1, 0, whole, step) : base.slice(1, whole - 1, -whole - 1, step);
        const Tensor y = flip(x, 0);
        for (const Case& test : kCases) {
          const std::string what = test.name + ", " + name_of(dtype) + " " + std::to_string(width) +
                                   " by steps of " + std::to_string(step);
          expect_bits_of_interpreted(what, [&] { return test.f(x, y); });
        }
      }
    }
  }
}

// Tiles with more or fewer lines and columns than whole ones.
TEST(StridedReads, PlanesTransposed) {
  const ConfigGuard guard;
  for (const DType dtype : kDTypes) {
    for (const int64_t lines : {8, 9, 13, 15, 16, 23, 31, 40}) {
      for (const int64_t columns : {8, 11, 16, 19, 33, 1024}) {
        const Tensor x = astype(randint(-9, 9, {5, lines, columns}), dtype).eval();
        const Tensor y = astype(randint(-9, 9, {5, columns, lines}), dtype).eval();
        const std::string what = std::string(name_of(dtype)) + " " + to_string(x.shape());
        expect_bits_of_interpreted(what, [&] { return x.permute({0, 2, 1}).reshape({-1}); });
        expect_bits_of_interpreted(what, [&] { return x.permute({0, 2, 1}) == y; });
        // What is the same along a line, or down a column.
        expect_bits_of_interpreted(what, [&] {
          return where(y == y.slice(2, 0, 1), x.permute({0, 2, 1}), y.slice(1, 0, 1));
        });
      }
    }
  }
}

// Components of an array of structures, some of which nobody needs.
TEST(StridedReads, OfSomeComponents) {
  const ConfigGuard guard;
  for (const DType dtype : kDTypes) {
    for (const int64_t count : {2, 3, 4}) {
      for (const int64_t rows : {5, 64, 301}) {
        const Tensor x = astype(randint(-9, 9, {rows, count}), dtype);
        x.eval();
        for (int64_t k = 0; k < count; ++k) {
          expect_bits_of_interpreted("component", [&] {
            return where(x(Slice{}, k) == x(0, k), x(Slice{}, k), x(Slice{}, 0));
          });
        }
      }
    }
  }
}

// Planes of pixels, which one walk of the pixels takes apart.
TEST(StridedReads, PlanesOfPixels) {
  const ConfigGuard guard;
  for (const DType dtype : kDTypes) {
    for (const int64_t planes : {2, 3, 4, 5, 7, 8}) {
      for (const int64_t width : {13, 16, 29}) {
        const Tensor x = astype(randint(-3, 4, {2, 5, width, planes}, DType::kInt32), dtype);
        const Tensor scale = randn({planes, 1, 1}), mask = randn({5, width}) > 0.f;
        const Tensor others = astype(randint(-3, 4, {2, planes, 5, width}, DType::kInt32), dtype);
        for (const Tensor* tensor : {&x, &scale, &mask, &others}) tensor->eval();
        const auto turned = [&] { return x.permute({0, 3, 1, 2}); };
        const std::string what =
            to_string(dtype) + std::to_string(planes) + " planes, width " + std::to_string(width);
        expect_bits_of_interpreted(what, [&] { return reshape(turned(), {-1}); });
        expect_bits_of_interpreted(
            what + " scaled", [&] { return astype(turned(), DType::kFloat32) * scale + 0.5f; });
        expect_bits_of_interpreted(what + " masked", [&] {
          return where(mask, astype(turned(), DType::kFloat32), scale);
        });
        expect_bits_of_interpreted(what + " compared", [&] { return turned() == others; });
        expect_bits_of_interpreted(what + ", two results", [&] {
          const Tensor a = astype(turned(), DType::kFloat64),
                       b = a * astype(scale, DType::kFloat64);
          return stack({a.eval(), b.eval()}, 0);
        });
      }
    }
  }
}

// Planes for which most of the work is the same, and some that are too many.
TEST(StridedReads, PlanesThatShareWork) {
  const ConfigGuard guard;
  for (const int64_t planes : {2, 3, 5, 7, 8}) {
    for (const int64_t width : {3, 13, 29}) {
      const Tensor x = randn({2, planes, 5, width}), z = randn({5, width});
      const Tensor grid = randn({2, 5, width, 2});
      for (const Tensor* tensor : {&x, &z, &grid}) tensor->eval();
      const std::string what = std::to_string(planes) + " planes, width " + std::to_string(width);
      expect_bits_of_interpreted(what, [&] { return x * exp(sin(z)); });
      expect_bits_of_interpreted(what + " in place",
                                 [&] { return (x + 1.f).eval() - log(abs(z)); });
      expect_bits_of_interpreted(what + " under bounds", [&] {
        return pad(x, {{0, 0}, {1, 0}, {0, 0}, {1, 1}}) + exp(sin(pad(z, {{0, 0}, {1, 1}})));
      });
      expect_bits_of_interpreted(what + " sampled", [&] { return grid_sample(x, grid); });
    }
  }
}

TEST(StridedReads, RowsTaken) {
  const ConfigGuard guard;
  for (const DType dtype : kDTypes) {
    for (const int64_t width : {1, 2, 3, 4, 8, 16, 24, 32, 64, 70}) {
      for (const int64_t rows : {9, 1500}) {
        const Tensor x = astype(randint(-9, 9, {40, width}), dtype);
        const Tensor indices = randint(-40, 40, {rows});
        x.eval();
        indices.eval();
        expect_bits_of_interpreted("rows of " + std::to_string(width),
                                   [&] { return take(x, indices, 0); });
        expect_bits_of_interpreted("flipped rows of " + std::to_string(width),
                                   [&] { return take(flip(x, 1), indices, 0); });
        expect_bits_of_interpreted("scaled rows of " + std::to_string(width), [&] {
          return where(indices.reshape({-1, 1}) > 3, take(x, indices, 0), x.slice(0, 0, 1));
        });
      }
    }
  }
}

// Elements narrower than a word are cut out of the words that they lie in: those at each place of a
// word, at either end of the memory, by vectors that are whole and not.
TEST(GatheredElements, HaveTheBitsOfInterpretedOnes) {
  const ConfigGuard guard;
  for (const DType dtype : kDTypes) {
    for (const int64_t extent : {1, 2, 3, 5, 64, 1001}) {
      const Tensor base = astype(randint(-99, 99, {extent + 3}), dtype);
      base.eval();
      for (int64_t offset = 0; offset < 4; ++offset) {
        const Tensor x = base.slice(0, offset, offset + extent);
        for (const int64_t count : {1, 7, 16, 33, 1000}) {
          const Tensor inside = randint(-extent, extent, {count});
          const Tensor at = where(arange(count) % 5 == 0, extent - 1, inside);
          at.eval();
          const std::string what = std::string(name_of(dtype)) + ", " + std::to_string(count) +
                                   " of " + std::to_string(extent) + " from " +
                                   std::to_string(offset);
          expect_bits_of_interpreted(what, [&] { return take(x, at, 0); });
          expect_bits_of_interpreted(what + ", some", [&] {
            return concat({pad(take(x, at, 0), {{2, 1}}), take(flip(x, 0), at, 0)}, 0);
          });
          expect_bits_of_interpreted(what + ", as floats",
                                     [&] { return astype(take(x, at, 0), DType::kFloat32) * 3.f; });
        }
      }
    }
  }
}

// Indices that are counted from the front lie in memory as they are used: each is read from there.
TEST(GatheredElements, ByIndicesFromTheFront) {
  const ConfigGuard guard;
  for (const DType dtype : kDTypes) {
    for (const DType of_index : {DType::kInt64, DType::kInt32}) {
      for (const int64_t width : {1, 16, 37, 200}) {
        const Tensor x = astype(randint(-99, 99, {30, width}), dtype).eval();
        const Tensor lines = astype(randint(0, 30, {30, width}), of_index).eval();
        const Tensor places = astype(randint(0, width, {30, width}), of_index).eval();
        const Tensor at = places.reshape({-1});
        // One vector has an index from the back.
        const Tensor mixed = where(arange(30 * width) == 5, -1, at).eval();
        const std::string what = std::string(name_of(dtype)) + ", rows of " + std::to_string(width);
        const auto expect_same = [&](const auto& f) { expect_bits_of_interpreted(what, f); };
        expect_same([&] { return take(x, at, 1); });
        expect_same([&] { return take(x.swapaxes(0, 1), at, 0); });
        expect_same([&] { return take(x, at.slice(0, 1, 30 * width), 1); });
        expect_same([&] { return take(x.flip(1), at, 1) + take(x, at, 1); });
        expect_same([&] { return take(x, mixed, 1); });
        expect_same([&] { return take_along_axis(x, lines, 0); });
        expect_same([&] { return take_along_axis(x, places, 1); });
        expect_same([&] { return sum(take_along_axis(x, places, 1), {1}); });
        expect_same([&] { return sum(take_along_axis(x, lines, 0), {0}); });
      }
    }
  }
}

// Of many short rows, several in a vector.
TEST(GatheredElements, AlongShortRows) {
  const ConfigGuard guard;
  for (const DType dtype : kDTypes) {
    for (const int64_t width : {2, 3, 8, 24, 31, 40}) {
      const Tensor x = astype(randint(-99, 99, {4200, width}), dtype).eval();
      const Tensor places = randint(0, width, {2100, width}).eval();
      const Tensor mixed = randint(-width, width, {2100, width}).eval();
      const std::string what = std::string(name_of(dtype)) + ", rows of " + std::to_string(width);
      const auto expect_same = [&](const auto& f) { expect_bits_of_interpreted(what, f); };
      const Tensor half = x.slice(0, 0, 2100), every_second = x.slice(0, 0, 4200, 2);
      expect_same([&] { return take_along_axis(half, places, 1); });
      expect_same([&] { return take_along_axis(every_second, places, 1); });
      expect_same([&] { return take_along_axis(half.flip(0), mixed, 1); });
      expect_same([&] { return take_along_axis(half.flip(1), places, 1); });
      expect_same([&] { return take(x.slice(0, 7, 8), places.reshape({-1}), 1); });
      expect_same([&] {
        const Tensor of_rows = half.reshape({210, 10, width});
        return take_along_axis(of_rows, places.reshape({210, 10, width}), 2);
      });
    }
  }
}

TEST(GatheredElements, NothingOutOfRangeIsRead) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  const Tensor x = randn({1000}).eval();
  for (const int64_t wrong : {int64_t{1000}, int64_t{1} << 40, -(int64_t{1} << 40)}) {
    const Tensor at = where(arange(5000) == 2500, wrong, arange(5000) % 1000).eval();
    EXPECT_THROW(static_cast<void>(take(x, at, 0).to_vector<float>()), Error);
    sync();
  }
  EXPECT_EQ(take(x, arange(16), 0).to_vector<float>(), x.slice(0, 0, 16).to_vector<float>());
}

}  // namespace
}  // namespace sluice::test
