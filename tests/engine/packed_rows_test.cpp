// Pointwise programs over many rows of a few points, which compiled code packs into vectors: the
// same bits as interpreted, for every way in which an operand can vary along such rows.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/guarded_bytes.h"
#include "tests/support/interpreted_bits.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// Operands over rows of `points`.
struct Inputs {
  Inputs(int64_t rows, int64_t points)
      : x(randn({rows, points})),
        row(randn({points})),
        column(randn({rows, 1})),
        wide(randn({rows, points + 3})),
        turned(randn({points, rows})),
        batch(randn({3, rows, points})),
        pairs(randn({rows, 2, points})),
        half(astype(randn({rows, points}), DType::kFloat16)),
        bytes(randint(-50, 50, {rows, points}, DType::kInt8)),
        doubles(randn({rows, points}, DType::kFloat64)),
        mask(randn({rows, 1}) > 0.f),
        indices(randint(-rows, rows, {rows})),
        points(points) {
    for (const Tensor* tensor : {&x, &row, &column, &wide, &turned, &batch, &pairs, &half, &bytes,
                                 &doubles, &mask, &indices}) {
      tensor->eval();
    }
  }

  Tensor x, row, column, wide, turned, batch, pairs, half, bytes, doubles, mask, indices;
  int64_t points;
};

struct Case {
  std::string name;
  Tensor (*f)(const Inputs& in);
};

const Case kCases[] = {
    {"row", [](const Inputs& in) { return in.x * in.row; }},
    {"column", [](const Inputs& in) { return in.x - in.column; }},
    {"row and column", [](const Inputs& in) { return in.row * in.column; }},
    {"slice", [](const Inputs& in) { return in.wide.slice(1, 1, 1 + in.points) + 1.f; }},
    {"transposed", [](const Inputs& in) { return in.turned.transpose() + in.x; }},
    {"rows taken", [](const Inputs& in) { return take(in.x, in.indices, 0) + 1.f; }},
    {"concat",
     [](const Inputs& in) {
       return concat({in.x, in.column}, 1) * 2.f;
     }},
    {"concat of slices",
     [](const Inputs& in) {
       return concat({in.x, in.x.slice(1, 0, 1), in.wide}, 1) + 1.f;
     }},
    {"pad",
     [](const Inputs& in) {
       return pad(in.x, {{0, 0}, {1, 2}}) + 0.5f;
     }},
    {"pad of rows and points",
     [](const Inputs& in) {
       return pad(in.x, {{2, 1}, {0, 1}}) + 0.5f;
     }},
    {"roll", [](const Inputs& in) { return roll(in.x, 1, 1) + in.column; }},
    {"roll of rows", [](const Inputs& in) { return roll(in.x, -1, 0) * in.row; }},
    {"flip", [](const Inputs& in) { return flip(in.x, 1) * in.row; }},
    {"flip alone", [](const Inputs& in) { return in.x.flip({1}).reshape({-1}); }},
    {"bytes flipped",
     [](const Inputs& in) {
       return in.bytes.flip({0, 1}).reshape({-1});
     }},
    {"halves of a flipped slice",
     [](const Inputs& in) { return in.half.slice(1, 1, in.points).flip({1}).reshape({-1}); }},
    {"bytes rolled", [](const Inputs& in) { return roll(in.bytes, 1, 1); }},
    {"bytes rolled both ways", [](const Inputs& in) { return roll(roll(in.bytes, -2, 1), 5, 0); }},
    {"halves of rolls", [](const Inputs& in) { return roll(in.half, 2, 1) + roll(in.half, 7, 0); }},
    {"doubles of rolled rows", [](const Inputs& in) { return roll(in.doubles, -1, 1) - in.row; }},
    {"halves rolled", [](const Inputs& in) { return roll(in.half, -1, 1); }},
    {"doubles rolled", [](const Inputs& in) { return roll(in.doubles, 1, 1); }},
    {"bytes tiled",
     [](const Inputs& in) {
       return tile(in.bytes, {1, 2});
     }},
    {"images padded",
     [](const Inputs& in) {
       return pad(in.bytes.slice(0, 0, 9).reshape({3, 3, -1}), {{0, 0}, {1, 2}, {2, 1}});
     }},
    {"roll of a row", [](const Inputs& in) { return roll(in.row, 1, 0) * in.x; }},
    {"pad of a roll",
     [](const Inputs& in) {
       return pad(roll(in.x, 1, 1), {{0, 0}, {1, 0}});
     }},
    {"rows repeated", [](const Inputs& in) { return repeat(in.bytes, 3, 0); }},
    {"points repeated", [](const Inputs& in) { return repeat(in.x, 2, 1); }},
    {"all repeated", [](const Inputs& in) { return repeat(repeat(in.half, 2, 0), 3, 1); }},
    {"slice alone",
     [](const Inputs& in) { return in.wide.slice(1, 1, 1 + in.points).reshape({-1}); }},
    {"every second", [](const Inputs& in) { return in.wide.slice(1, 0, in.points, 2) * 2.f; }},
    {"pairs exchanged",
     [](const Inputs& in) {
       return in.pairs.permute({0, 2, 1}).reshape({-1});
     }},
    {"batch exchanged",
     [](const Inputs& in) {
       return in.batch.permute({1, 0, 2}).reshape({-1});
     }},
    {"batch and column", [](const Inputs& in) { return in.batch * in.x + in.column; }},
    {"batch and row", [](const Inputs& in) { return in.batch * in.row; }},
    {"half", [](const Inputs& in) { return in.half * astype(in.row, DType::kFloat16); }},
    {"bytes", [](const Inputs& in) { return in.bytes + in.bytes.slice(0, 0, 1); }},
    {"bytes and floats",
     [](const Inputs& in) { return astype(in.bytes, DType::kFloat32) * in.row; }},
    {"bytes joined",
     [](const Inputs& in) {
       return concat({in.bytes, in.bytes}, 1);
     }},
    {"bytes taken", [](const Inputs& in) { return take(in.bytes, in.indices, 0); }},
    {"bytes padded",
     [](const Inputs& in) {
       return pad(in.bytes, {{2, 1}, {1, 1}});
     }},
    {"bools joined",
     [](const Inputs& in) {
       return concat({in.bytes > 0, in.mask, in.bytes < 0}, 1);
     }},
    {"halves taken", [](const Inputs& in) { return take(in.half, in.indices, 0); }},
    {"halves joined under bounds",
     [](const Inputs& in) {
       return pad(concat({in.half, in.half.slice(1, 0, 1)}, 1), {{0, 3}, {2, 0}});
     }},
    {"not numbers",
     [](const Inputs& in) {
       return pad(sqrt(in.x), {{0, 0}, {1, 0}});
     }},
    {"batch padded",
     [](const Inputs& in) {
       return pad(in.batch, {{0, 0}, {1, 1}, {1, 1}});
     }},
    {"doubles padded",
     [](const Inputs& in) {
       return pad(in.doubles, {{0, 0}, {1, 1}});
     }},
    {"columns stacked",
     [](const Inputs& in) {
       const Tensor column = in.column.reshape({-1});
       return stack({column, in.x(ellipsis, 0), column, in.turned[0]}, 1);
     }},
    {"rows taken twice",
     [](const Inputs& in) {
       return concat({take(in.doubles, in.indices, 0), take(in.doubles, in.indices, 0)}, 1);
     }},
    {"shifted onto itself",
     [](const Inputs& in) {
       Tensor sum = (in.x * 2.f).eval();
       sum += pad(in.x.slice(1, 1, in.points), {{0, 0}, {1, 0}});
       return sum;
     }},
    {"doubles", [](const Inputs& in) { return in.doubles * astype(in.row, DType::kFloat64); }},
    {"where", [](const Inputs& in) { return where(in.mask, in.x, in.row * in.column); }},
    {"to integers",
     [](const Inputs& in) {
       return astype(in.x + in.wide.slice(1, 2, 2 + in.points), DType::kInt32);
     }},
    {"three dims",
     [](const Inputs& in) {
       return in.x.reshape({-1, in.points, 1}) * in.row.slice(0, 0, 2) + in.row.reshape({-1, 1});
     }},
};

void expect_bits_of_interpreted_rows(int64_t rows, int64_t points) {
  const Inputs in(rows, points);
  for (const Case& test : kCases) {
    const std::string what =
        std::string(test.name) + ", " + std::to_string(rows) + " rows of " + std::to_string(points);
    expect_bits_of_interpreted(what, [&] { return test.f(in); });
  }
}

TEST(PackedRows, HaveTheBitsOfInterpretedOnes) {
  const ConfigGuard guard;
  // Whole blocks of rows, and not.
  for (const int64_t rows : {128, 131, 1031, 3001}) {
    for (const int64_t points : {2, 3, 4, 5, 7, 8, 9, 15, 17}) {
      expect_bits_of_interpreted_rows(rows, points);
    }
  }
}

// Vectors of which each has points of one row only, whole ones and a part.
TEST(PackedRows, OfMovedPointsHaveTheBitsOfInterpretedOnes) {
  const ConfigGuard guard;
  for (const int64_t points : {28, 31, 32, 33, 41, 62, 63, 64, 65, 100, 126, 128, 129}) {
    expect_bits_of_interpreted_rows(1031, points);
  }
}

// Rows of which there are many in all, but few along the last dims before them: of images, windows.
TEST(PackedRows, AlongDimsOfFewRows) {
  const ConfigGuard guard;
  for (const Shape& shape :
       {Shape{450, 19, 2}, Shape{400, 9, 2, 13, 3}, Shape{2300, 2, 5, 2}, Shape{500, 17, 2, 8, 2},
        Shape{70, 130, 16}, Shape{150, 7, 2, 28, 2}, Shape{1100, 2, 3, 5}}) {
    std::vector<int64_t> every_second(shape.begin(), shape.end());
    for (int axis = shape.rank() - 1; axis > 0; axis -= 2) every_second[axis] = 1;
    const Tensor x = randn(shape), y = randn(Shape(every_second)), z = randn(shape) > 0.f;
    const Tensor last = randn({shape.back()});
    for (const Tensor* tensor : {&x, &y, &z, &last}) tensor->eval();
    const auto f = [&] { return where(z, x * y, last) + astype(z, DType::kFloat32); };
    expect_bits_of_interpreted(to_string(shape), f);
  }
}

// Blocks of short rows, all of which are within bounds, none, or some.
TEST(PackedRows, OfRowsUnderBounds) {
  const ConfigGuard guard;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt8, DType::kFloat64}) {
    for (const int64_t points : {2, 3, 8, 17}) {
      for (const int64_t rows : {130, 2100}) {
        const Tensor x = astype(randint(-9, 9, {rows, points}), dtype).eval();
        const Tensor y = astype(randint(-9, 9, {rows + 40, points + 1}), dtype).eval();
        const std::string name = to_string(x.shape()) + " " + std::string(name_of(dtype));
        expect_bits_of_interpreted(name, [&] { return pad(x, {{20, 20}, {1, 0}}); });
        expect_bits_of_interpreted(name, [&] { return pad(x, {{0, 40}, {1, 0}}, 1) * y; });
        expect_bits_of_interpreted(name, [&] {
          const Tensor shifted = pad(x.slice(0, 3, rows), {{23, 20}, {0, 1}});
          return pad(x, {{39, 1}, {1, 0}}) + shifted;
        });
        expect_bits_of_interpreted(name, [&] { return pad(x.flip(0), {{7, 33}, {1, 0}}) - y; });
        const Tensor inside = x.slice(1, 0, points - 1);
        expect_bits_of_interpreted(name, [&] { return pad(inside, {{3, 2}, {0, 0}}, 1); });
        expect_bits_of_interpreted(name, [&] { return pad(inside.flip(1), {{3, 2}, {0, 0}}); });
        expect_bits_of_interpreted(name, [&] {
          return concat({pad(x, {{40, 0}, {1, 0}}), y.flip(1)}, 1);
        });
      }
    }
  }
}

// Rows that are picked under bounds, up to the longest that are packed, and longer ones; and images
// whose lines lie far apart.
TEST(PackedRows, OfWhatIsPickedUnderBounds) {
  const ConfigGuard guard;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt8, DType::kFloat64}) {
    for (const int64_t points : {100, 253, 256, 300, 520, 601}) {
      const Tensor x = astype(randint(-9, 9, {2100, points}), dtype).eval();
      const std::string name = to_string(x.shape()) + " " + std::string(name_of(dtype));
      expect_bits_of_interpreted(name, [&] { return pad(x.flip(1), {{0, 0}, {1, 1}}); });
      expect_bits_of_interpreted(name, [&] { return pad(x.flip(1), {{1, 2}, {3, 0}}, 1); });
    }
    const Tensor wide = astype(randint(-9, 9, {2100, 12, 60}), dtype).eval();
    for (const int64_t columns : {3, 8, 20}) {
      const std::string name = std::to_string(columns) + " " + std::string(name_of(dtype));
      const Tensor images = wide.slice(2, 5, 5 + columns);
      expect_bits_of_interpreted(name, [&] { return pad(images, {{0, 0}, {1, 1}, {1, 1}}); });
      expect_bits_of_interpreted(name, [&] { return pad(images, {{2, 1}, {1, 1}, {1, 1}}); });
      expect_bits_of_interpreted(name, [&] {
        return pad(images.swapaxes(1, 2), {{1, 0}, {2, 0}, {0, 1}});
      });
    }
  }
}

TEST(PackedRows, OfSmallImagesThatArePadded) {
  const ConfigGuard guard;
  const auto permute_last = [](const Tensor& x) { return swapaxes(x, -1, -2); };
  for (const Shape& shape : {Shape{300, 4, 4, 4}, Shape{300, 4, 5, 5}, Shape{700, 3, 6},
                             Shape{500, 2, 5, 11}, Shape{90, 62, 3}, Shape{40, 150, 7},
                             Shape{300, 9, 12}, Shape{250, 10, 21, 10}, Shape{2500, 3, 3}}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt8, DType::kFloat64}) {
      const Tensor x = astype(randint(-9, 9, shape), dtype).eval();
      const Tensor y = astype(randint(-9, 9, shape), dtype).eval();
      std::vector<std::pair<int64_t, int64_t>> widths(shape.rank());
      widths[shape.rank() - 1] = {1, 1};
      widths[shape.rank() - 2] = {2, 1};
      const std::string name = to_string(shape) + " " + std::string(name_of(dtype));
      expect_bits_of_interpreted(name, [&] { return pad(x, widths); });
      expect_bits_of_interpreted(name, [&] { return pad(x + y, widths); });
      expect_bits_of_interpreted(name, [&] { return pad(x.flip({-1, -2}), widths, 3); });
      widths[0] = {1, 2};
      expect_bits_of_interpreted(name, [&] { return pad(x, widths); });
      expect_bits_of_interpreted(name, [&] { return pad(permute_last(x), widths); });
      expect_bits_of_interpreted(name, [&] { return pad(x, widths) - pad(y.flip(-2), widths); });
    }
  }
}

// Short runs of rows with gaps between them: moved one by one, or walked like long ones.
TEST(PackedRows, OfTheInsideOfSmallImages) {
  const ConfigGuard guard;
  for (const Shape& shape : {Shape{900, 7, 10}, Shape{300, 14, 16}, Shape{120, 30, 30},
                             Shape{60, 60, 11}, Shape{12, 300, 22}}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt8, DType::kFloat64}) {
      const Tensor x = astype(randint(-9, 9, shape), dtype).eval();
      const auto inside = [&] { return x.slice(1, 1, shape[1] - 1).slice(2, 1, shape[2] - 1); };
      const Tensor y = astype(randint(-9, 9, inside().shape()), dtype).eval();
      const std::string name = to_string(shape) + " " + std::string(name_of(dtype));
      expect_bits_of_interpreted(name, [&] { return inside().reshape({-1}); });
      expect_bits_of_interpreted(name, [&] { return inside() * y; });
    }
  }
}

// Results that no cache holds are stored past them, if by whole vectors.
TEST(PackedRows, OfTheInsideOfManyImages) {
  const ConfigGuard guard;
  const Tensor x = astype(randint(-9, 9, {24'000, 30, 30}), DType::kFloat32).eval();
  const auto inside = [&] { return x.slice(1, 1, 29).slice(2, 1, 29); };
  const Tensor y = inside().reshape({-1}).eval();
  const auto shape = inside().shape();
  expect_bits_of_interpreted("added", [&] { return inside() + y.reshape(shape); });
  expect_bits_of_interpreted("copied", [&] { return inside().reshape({-1}); });
}

// Too few to be packed: bounds cut a vector once, or several do, and its lanes decide.
// Rows that a run has for all of its own, or that lie far apart: they are taken one by one, and
// where the result bypasses the caches, those of whole vectors begin anywhere.
TEST(PackedRows, OfOneRowOfARunOrFarOnes) {
  const ConfigGuard guard;
  constexpr int64_t kRuns = 67, kRowsOfRun = 30;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt8}) {
    for (const int64_t points : {6, 8, 12, 17, 28, 31, 36}) {
      const Tensor column = astype(randn({kRuns, kRowsOfRun, 1}) * 9.f, dtype).eval();
      const Tensor row = astype(randn({kRuns, 1, points}) * 9.f, dtype).eval();
      const Tensor wide = astype(randn({kRuns, kRowsOfRun, 2 * points}) * 9.f, dtype).eval();
      const std::string what = std::string(name_of(dtype)) + ", rows of " + std::to_string(points);
      expect_bits_of_interpreted(what, [&] { return column * row; });
      expect_bits_of_interpreted(what, [&] { return kron(column(0), row(0)); });
      expect_bits_of_interpreted(what, [&] { return wide.slice(2, 1, points + 1) + row; });
      // Of all runs, beside what is picked in a row, and what is under bounds.
      expect_bits_of_interpreted(what, [&] { return wide.slice(2, 0, points) + row(0); });
      const Tensor places = randint(0, 2 * points, {points}).eval();
      expect_bits_of_interpreted(what, [&] { return take(wide, places, 2) + row; });
      expect_bits_of_interpreted(what, [&] {
        return pad(column, {{0, 0}, {0, 0}, {0, points - 1}}) + row;
      });
    }
  }
  // 34 MB in runs of whole cache lines.
  constexpr int64_t kPoints = 28, kManyRuns = 2600;
  const Tensor column = randn({kManyRuns, 2 * kRowsOfRun, 1}, DType::kFloat64).eval();
  const Tensor row = randn({kManyRuns, 1, kPoints}, DType::kFloat64).eval();
  expect_bits_of_interpreted("many", [&] { return column * row; });
}

// Patches of images as rows of pixels: their planes lie far apart, and of each only short runs
// follow one another.
TEST(PackedRows, OfPixelsOfPatches) {
  const ConfigGuard guard;
  struct Images {
    int64_t count, planes, side, patch;
  };
  const Images images[] = {{8, 3, 32, 4}, {8, 3, 32, 2},  {8, 2, 64, 4},
                           {3, 4, 64, 8}, {4, 3, 96, 12}, {5, 3, 75, 5},
                           {8, 3, 32, 8}, {8, 4, 20, 5},  {300, 3, 12, 3}};
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt8}) {
    for (const auto& [count, planes, side, patch] : images) {
      const Tensor x = astype(randn({count, planes, side, side}) * 50.f, dtype).eval();
      const int64_t patches = side / patch;
      const Tensor cut =
          permute(reshape(x, {count, planes, patches, patch, patches, patch}), {0, 2, 4, 3, 5, 1});
      const std::string what =
          std::string(name_of(dtype)) + to_string(x.shape()) + " by " + std::to_string(patch);
      config().compile = CompileMode::kOff;
      // One plane is moved as it is.
      const std::vector<uint8_t> of_last = read_bytes(cut.slice(5, planes - 1, planes) + 0);
      const Tensor rows = (cut + 0).eval();
      EXPECT_EQ(read_bytes(rows.slice(5, planes - 1, planes) + 0), of_last) << what;
      expect_bits_of_interpreted(what, [&] { return reshape(cut, {count, -1}); });
      const Tensor scale = astype(randn({planes}) * 5.f, dtype).eval();
      expect_bits_of_interpreted(what + ", computed", [&] { return abs(cut) + scale; });
    }
  }
}

TEST(ShortRowsWithBounds, HaveTheBitsOfInterpretedOnes) {
  const ConfigGuard guard;
  for (const int64_t points : {3, 11, 16, 28, 31, 45, 70, 130}) {
    expect_bits_of_interpreted_rows(9, points);
  }
}

// Kernels that read a vector further than the rows reach would fault here.
TEST(PackedRows, NothingBesideTheRowsIsRead) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  constexpr int64_t kRows = 2100;
  for (const DType dtype : {DType::kInt8, DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
    for (const int64_t points : {2, 3, 4, 5, 17, 40}) {
      const Tensor x = astype(randint(-9, 9, {kRows, points}), dtype).eval();
      const Tensor indices = randint(0, kRows, {kRows}).eval();
      const std::vector<uint8_t> values = read_bytes(x);
      for (const bool at_end : {false, true}) {
        const GuardedBytes memory(values, at_end);
        const Tensor y = Tensor::adopt(memory.data(), {kRows, points}, dtype);
        const auto expect_same = [&](const auto& f) {
          EXPECT_EQ(read_bytes(f(y)), read_bytes(f(x))) << name_of(dtype) << ", rows of " << points;
        };
        expect_same([](const Tensor& in) { return pad(in, {{0, 0}, {1, 2}}); });
        expect_same([](const Tensor& in) { return pad(in, {{1, 1}, {0, 1}}); });
        expect_same([](const Tensor& in) { return pad(in, {{2, 1}, {3, 2}}); });
        expect_same([](const Tensor& in) { return pad(in, {{0, 1}, {3, 2}}); });
        expect_same([](const Tensor& in) { return pad(in, {{2, 0}, {3, 2}}); });
        expect_same([&](const Tensor& in) {
          return pad(in.reshape({420, 5, points}), {{0, 0}, {1, 1}, {1, 1}});
        });
        // Images that are rows of two dims.
        expect_same([&](const Tensor& in) {
          const Tensor images = in.reshape({420, 5, points});
          const Tensor planes = permute(in.reshape({420, points, 5}), {0, 2, 1});
          return concat({pad(images, {{1, 2}, {1, 1}, {1, 1}}),
                         pad(images.flip(-1), {{0, 3}, {1, 1}, {1, 1}}),
                         pad(planes.flip(0), {{3, 0}, {1, 1}, {1, 1}})},
                        0);
        });
        expect_same([&](const Tensor& in) {
          return pad(in.reshape({2100 / 15, 15, points}).flip({0, 1}), {{0, 0}, {20, 0}, {0, 1}});
        });
        expect_same([](const Tensor& in) { return in.flip({1}).reshape({-1}); });
        expect_same([](const Tensor& in) { return roll(in, 1, 1); });
        expect_same([](const Tensor& in) { return roll(in, -1, 1); });
        expect_same([](const Tensor& in) { return tile(in, {1, 2}); });
        expect_same([&](const Tensor& in) {
          return pad(in.reshape({70, 30, points}), {{0, 0}, {1, 2}, {1, 1}});
        });
        expect_same([](const Tensor& in) { return in + in.slice(0, 0, 1); });
        expect_same([](const Tensor& in) { return in.slice(0, 0, 2053) * in.slice(0, 47, 2100); });
        expect_same([](const Tensor& in) { return concat({in, in.slice(1, 0, 1)}, 1); });
        expect_same([](const Tensor& in) { return stack({in(ellipsis, 0), in(ellipsis, 1)}, 1); });
        expect_same([&](const Tensor& in) { return take(in, indices, 0); });
        // In blocks that the last row does not fill, each other way round.
        for (const int64_t by : {1, 3, -2}) {
          expect_same([&](const Tensor& in) { return roll(in, by, 0); });
          expect_same([&](const Tensor& in) { return roll(in.reshape({70, 30, points}), by, 1); });
        }
        // One row of each three.
        expect_same([&](const Tensor& in) {
          const Tensor which = (indices.slice(0, 0, 700) % 3).reshape({700, 1, 1});
          return take_along_axis(in.reshape({700, 3, points}), which.broadcast_to({700, 1, points}),
                                 1);
        });
        expect_same([](const Tensor& in) { return in.flip({0}).reshape({-1}); });
        expect_same([](const Tensor& in) { return stack({in, in.flip({0})}, 1); });
        if (points > 2) {
          expect_same([&](const Tensor& in) {
            const Tensor inside = in.reshape({70, 30, points}).slice(1, 1, 29).slice(2, 1, points);
            return stack({inside.reshape({-1}), (inside + inside).reshape({-1})});
          });
        }
        expect_same([&](const Tensor& in) {
          const Tensor planes = in.reshape({3, 35, 2, 2 * points, 5});
          return permute(planes, {1, 3, 2, 4, 0}).reshape({-1});
        });
        // Short runs of rows, one from each array.
        expect_same([&](const Tensor& in) {
          const Tensor runs = in.reshape({70, 30, points});
          return stack({runs.slice(1, 0, 15), runs.slice(1, 15, 30)}, 3);
        });
        sync();
      }
    }
  }
}

// Likewise of images that are longer than a page, of which no vector is read whole next to the
// ends.
TEST(PackedRows, NothingBesideLongImagesIsRead) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  const Tensor x = randn({140, 23, 70}).eval();
  for (const bool at_end : {false, true}) {
    const GuardedBytes memory(read_bytes(x), at_end);
    const Tensor y = Tensor::adopt(memory.data(), x.shape(), x.dtype());
    for (const int64_t first : {0, 48}) {
      const auto padded = [&](const Tensor& in) {
        return read_bytes(pad(in.slice(2, first, first + 22), {{1, 1}, {1, 1}, {1, 1}}));
      };
      EXPECT_EQ(padded(y), padded(x));
    }
    sync();
  }
}

// Likewise of short runs, around which others lie but at the ends.
TEST(PackedRows, NothingBesideTheRunsIsRead) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  struct Planes {
    int64_t count, height, points;
  };
  const Planes shapes[] = {{300, 14, 3}, {400, 9, 5}, {300, 17, 12}, {60, 46, 10}, {300, 14, 17}};
  for (const DType dtype : {DType::kInt8, DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
    for (const auto& [count, height, points] : shapes) {
      const Tensor x = astype(randint(-9, 9, {count, height, points}), dtype).eval();
      for (const bool at_end : {false, true}) {
        const GuardedBytes memory(read_bytes(x), at_end);
        const Tensor y = Tensor::adopt(memory.data(), x.shape(), dtype);
        // What is cut off before and after, of rows and of points.
        for (const auto& [before, after] : {std::pair{1, 0}, std::pair{0, 1}, std::pair{1, 1}}) {
          const auto doubled = [&, rows = height - after, columns = points - after,
                                from = before](const Tensor& in) {
            const Tensor inside = in.slice(1, from, rows).slice(2, from, columns);
            return read_bytes(inside + inside);
          };
          EXPECT_EQ(doubled(y), doubled(x)) << name_of(dtype) << to_string(x.shape());
        }
        sync();
      }
    }
  }
}

TEST(PackedRows, ReportTheIndexOutOfRange) {
  const ConfigGuard guard;
  config().compile = CompileMode::kBlocking;
  for (const int64_t points : {3, 17}) {
    const Tensor x = randn({2000, points});
    std::vector<int64_t> numbers(2000, 1);
    numbers[1999] = 2000;
    EXPECT_THROW(static_cast<void>(take(x.eval(), Tensor::from(numbers), 0).to_vector<float>()),
                 Error);
    sync();
  }
}

}  // namespace
}  // namespace sluice::test
