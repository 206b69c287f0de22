// Matrix products on the CPU: every element of every kind of shape and layout, for all dtypes, and
// the same bits however they are divided between threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/library/matmul.h"
#include "kernels/library/products/products.h"
#include "runtime/cpu/parallel.h"

namespace sluice::kernels {
namespace {

// Products of halves are float32.
template <typename T>
using ResultOf = std::conditional_t<is_half(DTypeOf<T>::value), float, T>;
template <typename T>
constexpr bool kIsFloat = std::is_floating_point_v<ResultOf<T>>;

template <typename T>
struct Operand {
  std::vector<T> memory;
  int64_t origin = 0;
  int64_t strides[3] = {};

  // Of integers of at most `bound`: sums of their products are exact in every order.
  void fill(std::mt19937_64* random, int bound) {
    for (T& x : memory) {
      const int64_t value = static_cast<int64_t>((*random)() % (2 * bound + 1)) - bound;
      x = static_cast<T>(static_cast<ResultOf<T>>(value));
    }
  }
  const T* data() const { return memory.data() + origin; }
  T at(int64_t i, int64_t row, int64_t column) const {
    return data()[i * strides[0] + row * strides[1] + column * strides[2]];
  }
};

enum class Order { kRows, kColumns, kGaps, kReversed, kShared };
constexpr Order kOrders[] = {Order::kRows, Order::kColumns, Order::kGaps, Order::kReversed,
                             Order::kShared};

template <typename T>
Operand<T> make_operand(int64_t batch, int64_t rows, int64_t columns, Order order) {
  Operand<T> x;
  const int64_t step = order == Order::kGaps ? 3 : 1;
  const bool transposed = order == Order::kColumns;
  x.memory.resize(batch * rows * columns * step);
  x.strides[0] = order == Order::kShared ? 0 : rows * columns * step;
  x.strides[1] = step * (transposed ? 1 : columns);
  x.strides[2] = step * (transposed ? rows : 1);
  if (order == Order::kReversed && !x.memory.empty()) {
    x.origin = (rows - 1) * x.strides[1] + (columns - 1) * x.strides[2];
    x.strides[1] = -x.strides[1];
    x.strides[2] = -x.strides[2];
  }
  return x;
}

struct Shape {
  int64_t batch, m, n, k;
};

template <typename T>
struct Case {
  using Result = ResultOf<T>;
  Shape shape;
  Operand<T> a, b;
  std::vector<Result> c;

  Case(const Shape& shape, Order order_a, Order order_b, std::mt19937_64* random)
      : shape(shape),
        a(make_operand<T>(shape.batch, shape.m, shape.k, order_a)),
        b(make_operand<T>(shape.batch, shape.k, shape.n, order_b)),
        c(shape.batch * shape.m * shape.n, Result(77)) {
    a.fill(random, 9);
    b.fill(random, 9);
  }

  Matmul matmul() {
    Matmul x;
    x.operand_dtype = DTypeOf<T>::value;
    x.dtype = DTypeOf<Result>::value;
    x.batch = shape.batch;
    x.m = shape.m;
    x.n = shape.n;
    x.k = shape.k;
    std::copy_n(a.strides, 3, x.a_strides);
    std::copy_n(b.strides, 3, x.b_strides);
    x.a = a.data();
    x.b = b.data();
    x.c = c.data();
    return x;
  }

  Result exact(int64_t i, int64_t row, int64_t column) const {
    // Wraps.
    using Sum = std::conditional_t<kIsFloat<T>, double, uint64_t>;
    Sum sum = 0;
    for (int64_t p = 0; p < shape.k; ++p) {
      sum += static_cast<Sum>(a.at(i, row, p)) * static_cast<Sum>(b.at(i, p, column));
    }
    return static_cast<Result>(sum);
  }
};

const Shape kShapes[] = {{1, 1, 1, 1},
                         {1, 1, 1, 0},
                         {2, 3, 4, 0},
                         {7, 2, 2, 2},
                         {7, 3, 3, 3},
                         {5, 4, 4, 9},
                         {3, 8, 8, 8},
                         {3, 8, 2, 40},
                         {2, 16, 16, 16},
                         {1, 5, 7, 11},
                         {1, 13, 33, 17},
                         {1, 15, 31, 63},
                         {2, 29, 64, 65},
                         {1, 57, 100, 385},
                         {1, 64, 64, 64},
                         {1, 113, 3, 800},
                         {1, 3, 600, 769},
                         {1, 130, 530, 20},
                         {1, 40, 4100, 2},
                         {1, 4101, 20, 3},
                         {1, 1, 1, 5000},
                         {1, 70, 1, 333},
                         {1, 1, 300, 333},
                         {3, 1, 9, 500},
                         {3, 9, 1, 500},
                         {1, 1, 5000, 7},
                         {1, 2, 3, 20000},
                         {2, 1, 1, 40000},
                         {1, 6, 40, 16384},
                         {1, 1, 300, 1100},
                         {1, 300, 1, 1100},
                         {3, 1, 520, 513},
                         {0, 3, 3, 3},
                         {300, 6, 5, 7},
                         {2, 0, 4, 3},
                         // What is read where it is: tall and wide, few lines, many products.
                         {1, 5000, 3, 3},
                         {1, 5000, 1, 3},
                         {1, 5000, 1, 16},
                         {1, 5000, 1, 1},
                         {1, 21, 1, 12},
                         {5, 35, 1, 20},
                         {3, 17, 1, 33},
                         {1, 99, 1, 71},
                         {300, 4, 4, 4},
                         {1, 3, 5000, 3},
                         {1, 70, 600, 1},
                         {40, 1, 4, 4},
                         {40, 4, 1, 4},
                         {40, 1, 1, 128},
                         {40, 2, 1, 40},
                         {20, 16, 1, 16},
                         {1, 33, 10, 784},
                         {1, 8, 600, 400},
                         {1, 50, 600, 40},
                         {1, 64, 8, 2000},
                         {1, 30, 16, 1024},
                         {1, 30, 4, 700},
                         {9, 33, 20, 5},
                         {40, 50, 3, 20},
                         {2, 4000, 2, 33},
                         {3, 130, 40, 9},
                         {1, 9000, 5, 70},
                         // Small matrices by vectors of their own.
                         {500, 3, 1, 3},
                         {37, 5, 1, 4},
                         {33, 1, 2, 2},
                         {20, 17, 1, 3},
                         {41, 2, 2, 2},
                         // By a vector, of lines of several vectors.
                         {1, 40, 1, 50},
                         {3, 21, 1, 135},
                         {1, 35, 1, 271},
                         // At the edges of tiles of 16 x 32 elements.
                         {1, 31, 33, 32},
                         {2, 33, 47, 31},
                         {1, 48, 49, 33},
                         {3, 17, 96, 385},
                         // Of one tile in width, and of one and a half.
                         {1, 96, 16, 40},
                         {1, 47, 16, 40},
                         // Short rows, whose number is that of a tile.
                         {1, 160, 33, 16},
                         {2, 64, 20, 30},
                         {1, 48, 40, 10},
                         {1, 40, 50, 64},
                         // Long rows, of one slab of AMX's and of several.
                         {1, 48, 70, 768},
                         {1, 64, 40, 1056},
                         // Wide ones, by rows of several panels.
                         {1, 20, 1100, 70},
                         {2, 55, 300, 130}};

template <typename T>
class ProductsTest : public testing::Test {};
using Types = testing::Types<float, double, float16, bfloat16, int8_t, int16_t, int32_t, int64_t,
                             uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(ProductsTest, Types);

TYPED_TEST(ProductsTest, EveryElement) {
  std::mt19937_64 random(1);
  for (const Shape& shape : kShapes) {
    for (const Order order_a : kOrders) {
      const Order order_b = kOrders[random() % std::size(kOrders)];
      Case<TypeParam> x(shape, order_a, order_b, &random);
      ASSERT_TRUE(matmul(x.matmul()).ok());
      int64_t place = 0;
      for (int64_t i = 0; i < shape.batch; ++i) {
        for (int64_t row = 0; row < shape.m; ++row) {
          for (int64_t column = 0; column < shape.n; ++column) {
            const ResultOf<TypeParam> got = x.c[place++];
            // All of few, some of many.
            if (shape.m * shape.n * shape.k > 20000 && random() % 64 != 0) continue;
            ASSERT_EQ(got, x.exact(i, row, column))
                << shape.batch << " x " << shape.m << ", " << shape.n << ", " << shape.k << " at "
                << i << ", " << row << ", " << column << "; orders " << static_cast<int>(order_a)
                << ", " << static_cast<int>(order_b);
          }
        }
      }
    }
  }
}

TYPED_TEST(ProductsTest, IntegersWrap) {
  if constexpr (std::is_integral_v<TypeParam>) {
    std::mt19937_64 random(2);
    for (const Shape& shape : kShapes) {
      Case<TypeParam> x(shape, Order::kRows, Order::kColumns, &random);
      for (TypeParam& v : x.a.memory) v = static_cast<TypeParam>(random());
      for (TypeParam& v : x.b.memory) v = static_cast<TypeParam>(random());
      ASSERT_TRUE(matmul(x.matmul()).ok());
      if (x.c.empty()) continue;
      EXPECT_EQ(x.c.front(), x.exact(0, 0, 0));
      EXPECT_EQ(x.c.back(), x.exact(shape.batch - 1, shape.m - 1, shape.n - 1));
    }
  }
}

// Sums that are rounded: a loop within a loop runs on one thread.
TYPED_TEST(ProductsTest, BitsAreThoseOfOneThread) {
  if constexpr (kIsFloat<TypeParam>) {
    using Result = ResultOf<TypeParam>;
    std::mt19937_64 random(3);
    std::normal_distribution<Result> normal;
    for (const Shape& shape : kShapes) {
      for (const Order order : kOrders) {
        Case<TypeParam> x(shape, order, order, &random);
        if (x.c.empty()) continue;  // std::memcmp() takes no null
        for (TypeParam& v : x.a.memory) v = static_cast<TypeParam>(normal(random));
        for (TypeParam& v : x.b.memory) v = static_cast<TypeParam>(normal(random));
        ASSERT_TRUE(matmul(x.matmul()).ok());
        const std::vector<Result> divided = x.c;
        parallel_for(2, 1, [&](int64_t begin, int64_t) {
          if (begin > 0) return;
          EXPECT_TRUE(matmul(x.matmul()).ok());
        });
        ASSERT_EQ(std::memcmp(divided.data(), x.c.data(), x.c.size() * sizeof(Result)), 0)
            << shape.batch << " x " << shape.m << ", " << shape.n << ", " << shape.k;
      }
    }
  }
}

// A matrix by its own transpose: half of that is computed, to the bits of a product with a copy.
TYPED_TEST(ProductsTest, AMatrixByItsTranspose) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  for (const Shape& shape :
       {Shape{1, 63, 63, 9}, Shape{1, 64, 64, 1}, Shape{2, 65, 65, 100}, Shape{1, 150, 150, 800},
        Shape{1, 1100, 1100, 7}, Shape{1, 4130, 4130, 3}, Shape{1, 70, 70, 20000}}) {
    for (const Order order : kOrders) {
      const bool is_large = shape.m > 1000 || shape.k > 1000;
      if (is_large && (order != Order::kRows || sizeof(TypeParam) != sizeof(float))) continue;
      Case<TypeParam> x(shape, order, order, &random);
      for (TypeParam& v : x.a.memory) {
        v = static_cast<TypeParam>(static_cast<ResultOf<TypeParam>>(100 * normal(random)));
      }
      x.b = x.a;
      std::swap(x.b.strides[1], x.b.strides[2]);
      Matmul product = x.matmul();
      ASSERT_TRUE(matmul(product).ok());
      const std::vector<ResultOf<TypeParam>> by_copy = x.c;
      std::fill(x.c.begin(), x.c.end(), ResultOf<TypeParam>(77));
      product.b = product.a;
      ASSERT_TRUE(matmul(product).ok());
      ASSERT_EQ(std::memcmp(by_copy.data(), x.c.data(), x.c.size() * sizeof(x.c[0])), 0)
          << shape.m << ", " << shape.k << ", order " << static_cast<int>(order);
    }
  }
}

TYPED_TEST(ProductsTest, NaNIsTheCanonicalOne) {
  if constexpr (kIsFloat<TypeParam>) {
    using Result = ResultOf<TypeParam>;
    using Bits = std::conditional_t<sizeof(Result) == 4, uint32_t, uint64_t>;
    constexpr Result kNaN = std::numeric_limits<Result>::quiet_NaN();
    std::mt19937_64 random(4);
    for (const Shape& shape : kShapes) {
      if (shape.k == 0) continue;
      Case<TypeParam> x(shape, Order::kRows, Order::kRows, &random);
      for (size_t i = 0; i < x.a.memory.size(); ++i) {
        x.a.memory[i] =
            static_cast<TypeParam>(i % 2 == 0 ? -kNaN : std::numeric_limits<Result>::infinity());
      }
      for (TypeParam& v : x.b.memory) v = TypeParam{};
      ASSERT_TRUE(matmul(x.matmul()).ok());
      for (const Result c : x.c) {
        ASSERT_EQ(std::bit_cast<Bits>(c), std::bit_cast<Bits>(kNaN))
            << shape.m << ", " << shape.n << ", " << shape.k;
      }
    }
  }
}

// Products whose results are halves too, on one thread and on several: of integers those of
// float32, rounded; of normal numbers the same bits; of NaN the canonical one.
TYPED_TEST(ProductsTest, HalvesAreRoundedOnce) {
  if constexpr (is_half(DTypeOf<TypeParam>::value)) {
    std::mt19937_64 random(6);
    std::normal_distribution<float> normal;
    std::vector<Shape> shapes(std::begin(kShapes), std::end(kShapes));
    // Of several slabs, whole tiles and parts of them; read where they are.
    shapes.insert(shapes.end(), {{1, 40, 70, 2500}, {2, 64, 64, 64}, {1, 48, 200, 1024}});
    for (const Shape& shape : shapes) {
      for (const Order order_a : kOrders) {
        const Order order_b = kOrders[random() % std::size(kOrders)];
        Case<TypeParam> x(shape, order_a, order_b, &random);
        std::vector<TypeParam> halves(x.c.size() + 1, static_cast<TypeParam>(77.0f));
        const auto multiply = [&] {
          Matmul product = x.matmul();
          product.dtype = product.operand_dtype;
          product.c = halves.data();
          EXPECT_TRUE(matmul(product).ok());
          EXPECT_EQ(static_cast<float>(halves.back()), 77.0f);
        };
        const auto bits_of = [&](size_t i) { return halves[i].bits; };
        const std::string text = ::testing::PrintToString(
            std::vector<int64_t>{shape.batch, shape.m, shape.n, shape.k,
                                 static_cast<int64_t>(order_a), static_cast<int64_t>(order_b)});
        ASSERT_TRUE(matmul(x.matmul()).ok());
        multiply();
        for (size_t i = 0; i < x.c.size(); ++i) {
          ASSERT_EQ(bits_of(i), static_cast<TypeParam>(x.c[i]).bits) << text << " at " << i;
        }

        for (TypeParam& v : x.a.memory) v = static_cast<TypeParam>(normal(random));
        for (TypeParam& v : x.b.memory) v = static_cast<TypeParam>(normal(random));
        multiply();
        const std::vector<TypeParam> divided = halves;
        parallel_for(2, 1, [&](int64_t begin, int64_t) {
          if (begin == 0) multiply();
        });
        for (size_t i = 0; i < x.c.size(); ++i) ASSERT_EQ(bits_of(i), divided[i].bits) << text;

        if (shape.k == 0) continue;
        for (TypeParam& v : x.a.memory) v = static_cast<TypeParam>(-std::nanf(""));
        multiply();
        const auto nan = static_cast<TypeParam>(std::numeric_limits<float>::quiet_NaN());
        for (size_t i = 0; i < x.c.size(); ++i) ASSERT_EQ(bits_of(i), nan.bits) << text;
      }
    }
  }
}

// A product with a vector of one 1 gives the elements of a column. Instructions that multiply
// matrices of bfloat16 take its subnormals for zero (docs/math.md).
TYPED_TEST(ProductsTest, EveryHalfIsReadExactly) {
  if constexpr (is_half(DTypeOf<TypeParam>::value)) {
    const bool by_matrices = product_loops(DTypeOf<TypeParam>::value).packed_depth > 1;
    std::mt19937_64 random(5);
    for (const Order order : kOrders) {
      for (const int64_t n : {1, 3, 40}) {
        Case<TypeParam> x({1, 512, n, 128}, order, Order::kRows, &random);
        for (size_t i = 0; i < x.a.memory.size(); ++i) {
          const TypeParam half = TypeParam::from_bits(static_cast<uint16_t>(i));
          const auto value = static_cast<float>(half);
          const bool vanishes = by_matrices && std::fpclassify(value) == FP_SUBNORMAL;
          x.a.memory[i] = std::isfinite(value) && !vanishes ? half : TypeParam{};
        }
        for (int64_t p = 0; p < 128; ++p) {
          for (TypeParam& v : x.b.memory) v = TypeParam{};
          for (int64_t column = 0; column < n; ++column) {
            x.b.memory[p * n + column] = static_cast<TypeParam>(1.0f);
          }
          ASSERT_TRUE(matmul(x.matmul()).ok());
          for (int64_t row = 0; row < 512; ++row) {
            ASSERT_EQ(x.c[row * n + row % n], static_cast<float>(x.a.at(0, row, p)))
                << row << ", " << p << "; order " << static_cast<int>(order) << ", n " << n;
          }
        }
      }
    }
  }
}

// The result may take the memory of what an epilogue reads, and has the same bits.
TEST(Products, WrittenOverAnOperand) {
  using enum fusion::Op;
  std::mt19937_64 random(12);
  std::normal_distribution<float> normal;
  const Shape shapes[] = {{1, 256, 64, 70},  {1, 1000, 65, 128},    {1, 2100, 130, 300},
                          {1, 300, 515, 17}, {1, 5, 7, 3},          {3, 40, 30, 20},
                          {1, 300, 70, 0},   {1, 128, 128, 20'000}, {1, 400, 1, 200}};
  for (const Shape& shape : shapes) {
    for (const Order order : {Order::kRows, Order::kColumns}) {
      for (const fusion::Op op : {kMul, kAdd, kReluGradient}) {
        Case<float> product(shape, order, order, &random);
        for (float& x : product.a.memory) x = normal(random);
        for (float& x : product.b.memory) x = normal(random);
        std::vector<float> operand(product.c.size());
        for (float& x : operand) x = normal(random);
        void* const buffers[] = {operand.data()};
        const fusion::Epilogue epilogues[] = {{.op = op, .operand = 0}};
        Matmul x = product.matmul();
        x.buffers = buffers;
        x.epilogues = epilogues;
        ASSERT_TRUE(matmul(x).ok());
        x.c = operand.data();
        ASSERT_TRUE(matmul(x).ok());
        EXPECT_EQ(std::memcmp(operand.data(), product.c.data(), operand.size() * sizeof(float)), 0)
            << shape.m << "x" << shape.n << "x" << shape.k << " " << fusion::name_of(op);
      }
    }
  }
}

}  // namespace
}  // namespace sluice::kernels
