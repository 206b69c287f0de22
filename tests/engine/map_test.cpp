// map(): the ops of a function, recorded as they are on tensors; fused, broadcast and promoted
// alike.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using Code = ErrorCode;

Tensor leaf(const Shape& shape, float first = -1.5f) {
  std::vector<float> values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + 0.37f * static_cast<float>(i);
  return Tensor::from(values, shape);
}

bool is_same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && read_bytes(a) == read_bytes(b);
}

// Ten ops of two operands, written once for elements and for tensors.
constexpr auto kTenOps = [](auto x, auto y) {
  auto t = x * tanh(y) + 1;
  auto u = exp(-abs(t)) / (2.5 + square(y));
  return sqrt(u * u + t) - x;
};

class Map : public testing::Test {
 protected:
  void SetUp() override {
    sync();
    reset_stats();
  }
  ConfigGuard guard_;
};

TEST_F(Map, TenOpsAreOneKernelWithTheBitsOfTheOps) {
  for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
    config().compile = mode;
    const Tensor a = leaf({7, 13}), b = leaf({7, 13}, -3.f);
    sync();
    reset_stats();
    const Tensor y = map({a, b}, kTenOps);
    y.eval();
    sync();
    EXPECT_EQ(stats().kernels_launched, 1);
    EXPECT_EQ(stats().bytes_written, a.numel() * 4);
    const Tensor z = kTenOps(a, b);
    z.eval();
    sync();
    EXPECT_EQ(stats().kernels_launched, 2);
    EXPECT_EQ(y.to_vector<float>().size(), 91u);
    EXPECT_TRUE(is_same(y, z));
  }
}

TEST_F(Map, RecordsTheOpsAndNothingElse) {
  const Tensor a = leaf({8}), b = leaf({8});
  reset_stats();
  const Tensor z = kTenOps(a, b);
  const int64_t written_out = stats().ops_recorded;
  const Tensor y = map({a, b}, kTenOps);
  EXPECT_EQ(stats().ops_recorded, 2 * written_out);
  sync();
  reset_stats();
  // The second call of the same structure is planned no more, whatever the numbers.
  for (const float scale : {1.f, 2.f, 3.f}) {
    const Tensor scaled = map({a, b}, [&](auto x, auto t) { return x * scale + t; });
    EXPECT_EQ(scaled.to_vector<float>()[1], (a * scale + b).to_vector<float>()[1]);
  }
  EXPECT_EQ(stats().plan_misses, 1);
}

TEST_F(Map, FormsOfInputs) {
  const Tensor a = leaf({4}), b = leaf({4}), c = leaf({4});
  const auto sum = [](auto... x) { return (x + ...); };
  EXPECT_TRUE(is_same(map({a}, sum), a));
  EXPECT_TRUE(is_same(map(a, sum), a));
  EXPECT_TRUE(is_same(map(exp(a), sum), exp(a)));
  EXPECT_TRUE(is_same(map({a, b}, sum), a + b));
  EXPECT_TRUE(is_same(map({a, exp(b), c}, sum), a + (exp(b) + c)));
  EXPECT_TRUE(is_same(map(std::tie(a, b), sum), a + b));
  EXPECT_TRUE(is_same(map(std::tuple{exp(a), b}, sum), exp(a) + b));
  EXPECT_TRUE(is_same(map(std::tuple<const Tensor&, Tensor>(a, exp(b)), sum), a + exp(b)));
  Expr (*function)(Expr, Expr) = [](Expr x, Expr y) { return x - y; };
  EXPECT_TRUE(is_same(map({a, b}, function), a - b));
}

TEST_F(Map, SeveralOutputsShareAKernel) {
  config().compile = CompileMode::kOff;
  const Tensor x = leaf({100});
  reset_stats();
  auto [s, c, n] = map({x}, [](auto t) {
    auto u = t * 2 + 1;
    return std::tuple(sin(u), cos(u), u > 0);
  });
  sync();
  EXPECT_EQ(stats().kernels_launched, 1);
  EXPECT_TRUE(is_same(s, sin(x * 2 + 1)));
  EXPECT_TRUE(is_same(c, cos(x * 2 + 1)));
  EXPECT_TRUE(is_same(n, x * 2 + 1 > 0));
  auto [low, high] = map({x}, [](auto t) { return std::pair(minimum(t, 0.5f), maximum(0.5f, t)); });
  EXPECT_TRUE(is_same(low, minimum(x, 0.5f)));
  EXPECT_TRUE(is_same(high, maximum(x, 0.5f)));
}

TEST_F(Map, BroadcastsAndPromotesAsOpsDo) {
  const Tensor column = leaf({5, 1}), row = leaf({3});
  const auto f = [](auto x, auto y) { return x * y + x; };
  EXPECT_TRUE(is_same(map({column, row}, f), f(column, row)));
  constexpr DType kTypes[] = {DType::kBool,     DType::kInt8,    DType::kUInt8,
                              DType::kInt32,    DType::kInt64,   DType::kFloat16,
                              DType::kBFloat16, DType::kFloat32, DType::kFloat64};
  const auto g = [](auto x, auto y) { return exp(x + y) / 3 + x * 2.5 - (y + 1) * x; };
  for (const DType x_type : kTypes) {
    for (const DType y_type : kTypes) {
      const Tensor x = arange(6).astype(x_type), y = (arange(6) - 3).astype(y_type);
      const Tensor mapped = map({x, y}, g), written_out = g(x, y);
      EXPECT_TRUE(is_same(mapped, written_out)) << name_of(x_type) << " " << name_of(y_type);
    }
  }
}

TEST_F(Map, OperatorsAndNumbers) {
  const Tensor a = leaf({9}), b = leaf({9}, 2.f);
  const auto floats = [](auto x, auto y) {
    auto t = 1 + x - 2.f * y / (x + 7.0) % 3;
    t += x;
    t -= 0.5f;
    t *= y;
    t /= 4;
    t %= y;
    return t + pow(x, 2) + pow(x, 3) + pow(1.5f, y) + pow(y, x) + atan2(x, 1.f) +
           lerp(0.f, 1.f, x) + lerp(x, y, 0.5f) + clip(x, -0.5f, y) + clip(1.f, x, y) +
           where(true, x, y);
  };
  EXPECT_TRUE(is_same(map({a, b}, floats), floats(a, b)));
  const Tensor i = arange(9), j = arange(9) * 3 - 7;
  const auto integers = [](auto x, auto y) {
    auto t = ((x & 6) | (y ^ x)) + (~x % 5);
    t &= 1023;
    t |= y;
    t ^= 3;
    return t + floor_divide(y, 2) + bitwise_left_shift(x, 1);
  };
  EXPECT_TRUE(is_same(map({i, j}, integers), integers(i, j)));
  const auto bools = [](auto x, auto y) {
    return ((x < y) && (x != 3)) || !(y >= 2) || (x == y) || (2 <= x && 1 > y);
  };
  EXPECT_TRUE(is_same(map({i, j}, bools), bools(i, j)));
}

TEST_F(Map, SelectAndCast) {
  const Tensor x = leaf({10});
  const Tensor y = map(x, [](auto t) { return select(t > 0, t, exp(t) - 1); });
  EXPECT_TRUE(is_same(y, where(x > 0, x, exp(x) - 1)));
  const Tensor steps = map(x, [](auto t) { return select(t > 0, 1.f, 0.f); });
  EXPECT_TRUE(is_same(steps, where(x > 0, 1.f, 0.f)));
  const Tensor wide = map(x, [](auto t) { return cast(t, DType::kFloat64) * 3; });
  EXPECT_TRUE(is_same(wide, x.astype(DType::kFloat64) * 3));
  const Tensor own = map(x, [](auto t) { return cast(cast(t, DType::kInt32), t.dtype()); });
  EXPECT_EQ(own.dtype(), DType::kFloat32);
}

// Every op there is of one to three operands, through map() and by name.
TEST_F(Map, EveryOpOfTheTable) {
  const Tensor a = leaf({6}, 0.1f), i = arange(6) + 1;
  int count = 0;
  const auto check = [&](const char* name, auto f, const std::vector<Tensor>& inputs) {
    ++count;
    EXPECT_TRUE(is_same(f(inputs), call(name, inputs)[0])) << name;
  };
  const auto input_of = [&](bool is_integer) { return is_integer ? i : a; };
#define SLUICE_CALL_1(name)                                                               \
  check(#name, [](const auto& x) { return map({x[0]}, [](Expr e) { return name(e); }); }, \
        {input_of(is_integer)});
#define SLUICE_CALL_2(name)                                                    \
  check(#name,                                                                 \
        [](const auto& x) {                                                    \
          return map({x[0], x[1]}, [](Expr e, Expr f) { return name(e, f); }); \
        },                                                                     \
        {input_of(is_integer), input_of(is_integer) + 1});
#define SLUICE_CALL_3(name)                                                                     \
  check(#name,                                                                                  \
        [](const auto& x) {                                                                     \
          return map({x[0], x[1], x[2]}, [](Expr e, Expr f, Expr g) { return name(e, f, g); }); \
        },                                                                                      \
        {input_of(is_integer), input_of(is_integer) + 1, input_of(is_integer) * 2});
#define SLUICE_POINTWISE_OP(id, name, arity, operands, rule, domain, ...)    \
  {                                                                          \
    const bool is_integer = std::string_view(#domain).starts_with("kInteg"); \
    SLUICE_CALL_##arity(name)                                                \
  }
#include "fusion/ir/ops.def"
  EXPECT_GT(count, 60);
}

TEST_F(Map, ErrorsNameTheOpAndItsPlace) {
  const Tensor a = leaf({2}), b = leaf({3}), flags = a > 0;
  const int line = __LINE__ + 1;
  const auto add_up = [](auto x, auto y) { return exp(x) + y; };
  EXPECT_TRUE(fails_with(
      [&] {
        return map({a, b}, add_up);
      },
      Code::kInvalidArgument,
      {"map: add: shapes do not broadcast", "float32(2,)", "float32(3,)", "called at ",
       "map_test.cpp:" + std::to_string(line)}));
  EXPECT_TRUE(fails_with([&] { return map({flags}, [](auto x) { return -x; }); },
                         Code::kInvalidArgument, {"map: neg: ", "bool", "map_test.cpp:"}));
  EXPECT_TRUE(fails_with(
      [&] {
        return map({a, Tensor()}, add_up);
      },
      Code::kFailedPrecondition, {"map: input 1: the tensor is empty"}));
  // What a function throws is the caller's.
  EXPECT_THROW(static_cast<void>(map({a},
                                     [](auto x) -> Expr {
                                       if (x.dtype() == DType::kFloat32)
                                         throw std::logic_error("no");
                                       return x;
                                     })),
               std::logic_error);
  EXPECT_TRUE(is_same(map({a, a}, add_up), exp(a) + a));
}

TEST_F(Map, TracesShowTheOpsAndTheirPlaces) {
  trace::start();
  const int line = __LINE__ + 1;
  const Tensor y = map({leaf({4})}, [](auto x) { return tanh(x) * 2; });
  static_cast<void>(y.to_vector<float>());
  trace::stop();
  const std::string text = trace::to_json();
  const std::string place = "map_test.cpp\",\"line\":" + std::to_string(line);
  EXPECT_TRUE(text.find(place) != std::string::npos);
  EXPECT_TRUE(text.find("\"op\":\"tanh\"") != std::string::npos);
}

TEST_F(Map, Threads) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t n = 0; n < wrong.size(); ++n) {
    threads.emplace_back([&wrong, n] {
      const Tensor a = leaf({50}, static_cast<float>(n)), b = leaf({50});
      for (int k = 0; k < 20; ++k) wrong[n] += !is_same(map({a, b}, kTenOps), kTenOps(a, b));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace sluice::test
