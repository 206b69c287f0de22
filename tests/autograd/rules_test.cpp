// The gradient of every op against central differences in float64.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "frontend/autograd/rules.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

Tensor values(const Shape& shape, double low, double high, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<double> all(shape.numel());
  for (double& value : all) value = draw(random);
  return Tensor::from(all, shape);
}

// The gradient by each x, and that of the gradient's weighted sum, against differences.
void check(const std::string& what, const Function& f, const std::vector<Tensor>& xs,
           bool is_smooth = true) {
  SCOPED_TRACE(what);
  for (size_t k = 0; k < xs.size(); ++k) {
    if (!is_float(xs[k].dtype())) continue;
    const auto by_this = [&](const Tensor& x) {
      std::vector<Tensor> all = xs;
      all[k] = x;
      return f(all);
    };
    const GradCheck first = grad_check(by_this, xs[k], 1e-6);
    EXPECT_TRUE(first.passed) << "operand " << k << ", element " << first.element << ": gradient "
                              << first.gradient << ", difference " << first.difference;
    if (!is_smooth) continue;
    const auto gradient = [&](const Tensor& x) {
      return grad([&](const Tensor& v) { return sum(sin(by_this(v))); })(x);
    };
    const GradCheck second = grad_check(gradient, xs[k], 1e-5);
    EXPECT_TRUE(second.passed) << "second order, operand " << k << ", element " << second.element
                               << ": gradient " << second.gradient << ", difference "
                               << second.difference;
  }
}

Tensor square_of(const Tensor& x) { return square(x); }

struct Row {
  const char* name;
  int arity;
  Gradient gradient;
  fusion::Op op;
};

const std::vector<Row>& pointwise_rows() {
  static const std::vector<Row> rows = {
#define SLUICE_POINTWISE_OP(id, name, arity, operands, rule, domain, gradient, doc, ...) \
  {#name, arity, Gradient::gradient, fusion::Op::k##id},
#include "fusion/ir/ops.def"
  };
  return rows;
}

TEST(Rules, EveryDifferentiableOpHasOne) {
  for (const Row& row : pointwise_rows()) {
    EXPECT_EQ(frontend::rule_of(row.op).gradient != nullptr,
              row.gradient == Gradient::kDifferentiable)
        << row.name;
  }
  const std::map<fusion::Op, bool> others = {
#define SLUICE_REDUCTION_OP(id, name, domain, gradient, ...) \
  {fusion::Op::k##id, Gradient::gradient == Gradient::kDifferentiable},
#define SLUICE_ARG_REDUCTION_OP SLUICE_REDUCTION_OP
#include "fusion/ir/ops.def"
#define SLUICE_LIBRARY_OP(id, name, arity, kind, gradient) \
  {fusion::Op::k##id, Gradient::gradient == Gradient::kDifferentiable},
#include "fusion/ir/library.def"
  };
  for (const auto& [op, is_differentiable] : others) {
    EXPECT_EQ(frontend::rule_of(op).gradient != nullptr, is_differentiable) << fusion::name_of(op);
  }
  for (int i = 0; i < fusion::kNumOps; ++i) {
    const auto op = static_cast<fusion::Op>(i);
    switch (fusion::class_of(op)) {
      case fusion::OpClass::kView:
      case fusion::OpClass::kPad:
      case fusion::OpClass::kConcat:
      case fusion::OpClass::kRoll:
      case fusion::OpClass::kGather:
        EXPECT_NE(frontend::rule_of(op).gradient, nullptr) << fusion::name_of(op);
        break;
      default: break;
    }
  }
}

TEST(Rules, Pointwise) {
  const std::map<std::string, std::pair<double, double>> ranges = {{"acosh", {1.2, 3}}};
  const std::vector<std::vector<Shape>> shapes = {
      {{2, 3}, {2, 3}, {2, 3}}, {{2, 1}, {3}, {}}, {{}, {2, 2}, {2, 1}}};
  uint64_t seed = 1;
  for (const Row& row : pointwise_rows()) {
    if (row.gradient != Gradient::kDifferentiable) continue;
    const auto found = ranges.find(row.name);
    const auto [low, high] = found == ranges.end() ? std::pair(0.2, 0.9) : found->second;
    for (const std::vector<Shape>& set : shapes) {
      std::vector<Tensor> xs;
      for (int k = 0; k < row.arity; ++k) xs.push_back(values(set[k], low, high, ++seed));
      if (row.op == fusion::Op::kWhere) xs[0] = xs[0] > 0.5;
      if (row.op == fusion::Op::kClip) {
        xs[1] = xs[1] * 0.4 + 0.1;
        xs[2] = xs[2] * 0.4 + 0.55;
      }
      check(
          row.name, [&](const auto& all) { return call(row.name, all)[0]; }, xs,
          row.op != fusion::Op::kAbs);
    }
  }
}

TEST(Rules, PointwiseElsewhere) {
  for (const auto& [name, low, high] :
       std::vector<std::tuple<const char*, double, double>>{{"abs", -2, -0.5},
                                                            {"sin", -9, 9},
                                                            {"sinc", -0.09, 0.09},
                                                            {"sinc", -3, 3},
                                                            {"gelu", -3, 3},
                                                            {"silu", -4, 4},
                                                            {"mish", -4, 4},
                                                            {"relu", -3, -1},
                                                            {"softplus", -5, 5},
                                                            {"tanh", -3, 3},
                                                            {"sigmoid", -6, 6},
                                                            {"tan", -1, 1},
                                                            {"erf", -2, 2},
                                                            {"reciprocal", -2, -1},
                                                            {"square", -2, 2},
                                                            {"expm1", -2, 2}}) {
    check(name, [name = name](const auto& xs) { return call(name, xs)[0]; },
          {values({7}, low, high, 5)});
  }
  for (const char* name : {"atan2", "hypot", "copysign", "remainder", "logaddexp", "div", "mul"}) {
    check(name, [name](const auto& xs) { return call(name, xs)[0]; },
          {values({7}, 0.5, 2, 6), values({7}, -0.9, -0.6, 7)});
  }
}

TEST(Rules, Scalars) {
  const Tensor x = values({5}, 0.5, 2, 8);
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> cases = {
      {"x * 3", [](const Tensor& a) { return a * 3; }},
      {"3 / x", [](const Tensor& a) { return 3 / a; }},
      {"x - 3", [](const Tensor& a) { return a - 3; }},
      {"3 - x", [](const Tensor& a) { return 3 - a; }},
      {"pow(x, 2)", [](const Tensor& a) { return pow(a, 2); }},
      {"pow(x, 3)", [](const Tensor& a) { return pow(a, 3); }},
      {"pow(x, -1)", [](const Tensor& a) { return pow(a, -1); }},
      {"pow(x, 0.5)", [](const Tensor& a) { return pow(a, 0.5); }},
      {"pow(2, x)", [](const Tensor& a) { return pow(2., a); }},
      {"clip", [](const Tensor& a) { return clip(a, 0.7, 1.3); }},
      {"maximum", [](const Tensor& a) { return maximum(a, 1.); }},
      {"where", [](const Tensor& a) { return where(a > 1., a * a, 0); }},
      {"lerp", [](const Tensor& a) { return lerp(a, a * a, 0.3); }},
  };
  for (const auto& [name, f] : cases) {
    check(name, [f = f](const auto& xs) { return f(xs[0]); }, {x});
  }
}

TEST(Rules, PowersOfZero) {
  const Tensor zero = Tensor::from({0.f}).requires_grad();
  const auto gradient = [&](double power) {
    return gradients(pow(zero, full({}, power)), {zero})[0].item<float>();
  };
  EXPECT_EQ(gradient(1), 1);
  EXPECT_EQ(gradient(2), 0);
  EXPECT_EQ(gradient(0), 0);
  const Tensor two = Tensor::from({2.f}).requires_grad();
  EXPECT_EQ(gradients(pow(zeros({1}), two), {two})[0].item<float>(), 0);
}

TEST(Rules, Ties) {
  const Tensor x = Tensor::from({1.f, 3.f, 3.f, 2.f}).requires_grad();
  EXPECT_EQ(gradients(max(x), {x})[0].to_vector<float>(), (std::vector<float>{0, 0.5, 0.5, 0}));
  EXPECT_EQ(gradients(min(-x), {x})[0].to_vector<float>(), (std::vector<float>{0, -0.5, -0.5, 0}));
  const Tensor y = Tensor::from({1.f, 2.f, 4.f, 2.f}).requires_grad();
  EXPECT_EQ(gradients(sum(maximum(x, y)), {x})[0].to_vector<float>(),
            (std::vector<float>{0.5, 1, 0, 0.5}));
}

TEST(Rules, Views) {
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> cases = {
      {"reshape",
       [](const Tensor& x) {
         return reshape(x, {4, 6});
       }},
      {"permute",
       [](const Tensor& x) {
         return permute(x, {2, 0, 1});
       }},
      {"transpose", [](const Tensor& x) { return transpose(x); }},
      {"broadcast",
       [](const Tensor& x) {
         return broadcast_to(x, {3, 2, 3, 4});
       }},
      {"expand",
       [](const Tensor& x) {
         return broadcast_to(x(ellipsis, Slice{0, 1}), {2, 3, 5});
       }},
      {"slice", [](const Tensor& x) { return slice(x, 1, 1, 3); }},
      {"step", [](const Tensor& x) { return slice(x, 2, 0, 4, 2); }},
      {"step, offset", [](const Tensor& x) { return slice(x, 2, 1, 4, 2); }},
      {"step, short", [](const Tensor& x) { return slice(x, 2, 0, 4, 3); }},
      {"backwards", [](const Tensor& x) { return slice(x, 2, 3, -9, -2); }},
      {"several",
       [](const Tensor& x) {
         return x(Slice{1, 2}, Slice{0, 3, 2}, Slice{1, 3});
       }},
      {"empty", [](const Tensor& x) { return slice(x, 1, 2, 2); }},
      {"flip",
       [](const Tensor& x) {
         return flip(x, {0, 2});
       }},
      {"pad",
       [](const Tensor& x) {
         return pad(x, {{1, 2}, {0, 0}, {0, 3}}, 2);
       }},
      {"roll", [](const Tensor& x) { return roll(x, 3, 2); }},
      {"tile",
       [](const Tensor& x) {
         return tile(x, {2, 1, 3});
       }},
      {"repeat", [](const Tensor& x) { return repeat(x, 3, 1); }},
      {"tril", [](const Tensor& x) { return tril(x); }},
      {"squeeze", [](const Tensor& x) { return squeeze(expand_dims(x, 1)); }},
      {"concat",
       [](const Tensor& x) {
         return concat({x, x * x, ones_like(x)}, 1);
       }},
      {"stack",
       [](const Tensor& x) {
         return stack({sin(x), x}, -1);
       }},
      {"x[1]", [](const Tensor& x) { return x[1]; }},
      {"index",
       [](const Tensor& x) {
         return x(0, Tensor::from({2, 0, 2}), Slice{1, 3});
       }},
      {"mask", [](const Tensor& x) { return x(stop_gradient(x) > 0.); }},
      {"set",
       [](const Tensor& x) {
         return x.set({1, Slice{}, 2}, 3);
       }},
      {"set of every third",
       [](const Tensor& x) {
         const Tensor line = reshape(x, {-1});
         return line.set({Slice{1, {}, 3}}, sin(line(Slice{0, {}, 3})));
       }},
      {"set of tensors",
       [](const Tensor& x) {
         return x.set({Slice{}, Tensor::from({0, 1, 0})}, x(Slice{}, Slice{}) * x);
       }},
      {"add_at",
       [](const Tensor& x) {
         return x.add_at({Slice{}, Tensor::from({0, 1, 0})}, x * x);
       }},
      {"split", [](const Tensor& x) { return split(x, 3, 1)[1]; }},
      {"take",
       [](const Tensor& x) {
         return take(x, {1, 0, -1, 1}, 1);
       }},
      {"take 2d",
       [](const Tensor& x) {
         return take(x, Tensor::from({1, 0, 1, 1}, {2, 2}), 2);
       }},
      {"take_along_axis",
       [](const Tensor& x) { return take_along_axis(x, argmax(stop_gradient(x), 1, true), 1); }},
      {"take_along_axis of one",
       [](const Tensor& x) {
         return take_along_axis(slice(x, 0, 0, 1), zeros({2, 1, 4}, DType::kInt64), 1);
       }},
      {"scatter_add",
       [](const Tensor& x) {
         return scatter_add(x, zeros({2, 3, 1}, DType::kInt64), x * x, 1);
       }},
  };
  for (const auto& [name, f] : cases) {
    check(name, [f = f](const auto& xs) { return f(xs[0]); }, {values({2, 3, 4}, -1, 1, 9)});
  }
}

TEST(Rules, Reductions) {
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&, const Axes&, bool)>>>
      cases = {
          {"sum", [](auto& x, auto& a, bool k) { return sum(x, a, k); }},
          {"prod", [](auto& x, auto& a, bool k) { return prod(x, a, k); }},
          {"max", [](auto& x, auto& a, bool k) { return max(x, a, k); }},
          {"min", [](auto& x, auto& a, bool k) { return min(x, a, k); }},
          {"mean", [](auto& x, auto& a, bool k) { return mean(x, a, k); }},
          {"var", [](auto& x, auto& a, bool k) { return var(x, a, k); }},
          {"std", [](auto& x, auto& a, bool k) { return std(x, a, k); }},
          {"norm", [](auto& x, auto& a, bool k) { return norm(x, a, k); }},
          {"logsumexp", [](auto& x, auto& a, bool k) { return logsumexp(x, a, k); }},
      };
  for (const auto& [name, f] : cases) {
    for (const Axes& axes : {Axes(), Axes(0), Axes({0, 2}), Axes({1})}) {
      for (const bool keepdims : {false, true}) {
        check(name, [&, f = f](const auto& xs) { return f(xs[0], axes, keepdims); },
              {values({3, 2, 4}, -1, 1, 10)});
      }
    }
  }
}

TEST(Rules, ProductsWithZeros) {
  for (const auto& all : {std::vector<double>{1, 0, 2, 3}, {0, 0, 2, 3}, {0, 0, 0, 1}}) {
    const Tensor x = Tensor::from(all);
    check("prod", [](const auto& xs) { return prod(xs[0]); }, {x});
    check("cumprod", [](const auto& xs) { return cumprod(xs[0], 0); }, {x});
  }
}

TEST(Rules, Scans) {
  for (const int axis : {0, 1, -1}) {
    const Tensor x = values({3, 5, 2}, 0.5, 1.5, 11);
    check("cumsum", [&](const auto& xs) { return cumsum(xs[0], axis); }, {x});
    check("cumprod", [&](const auto& xs) { return cumprod(xs[0], axis); }, {x});
    const Tensor any = values({3, 5, 2}, -2, 2, 30);
    check("logcumsumexp", [&](const auto& xs) { return logcumsumexp(xs[0], axis); }, {any});
    check("cummax", [&](const auto& xs) { return cummax(xs[0], axis); }, {any});
    check("cummin", [&](const auto& xs) { return cummin(xs[0], axis); }, {any});
  }
}

TEST(Rules, LogOfASumWithNothing) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from({kNone, 0.f, kNone, 1.f}).requires_grad();
  const std::vector<float> gradient = gradients(logcumsumexp(x, 0)[3], {x})[0].to_vector<float>();
  EXPECT_EQ(gradient[0], 0);
  EXPECT_EQ(gradient[2], 0);
  EXPECT_NEAR(gradient[1], 1 / (1 + std::exp(1.)), 1e-6);
}

TEST(Rules, Sorts) {
  const Tensor x = values({3, 5, 2}, -2, 2, 31);
  for (const int axis : {0, 1, -1}) {
    for (const bool descending : {false, true}) {
      check("sort", [&](const auto& xs) { return sort(xs[0], axis, descending); }, {x});
    }
    check("topk", [&](const auto& xs) { return topk(xs[0], 2, axis).first; }, {x});
    check("median", [&](const auto& xs) { return median(xs[0], axis); }, {x});
    check("quantile", [&](const auto& xs) { return quantile(xs[0], 0.3, axis); }, {x});
  }
  const Tensor tie = Tensor::from({2.f, 1.f, 2.f}).requires_grad();
  EXPECT_EQ(gradients(sort(tie)(Slice{1, 2}), {tie})[0].to_vector<float>(),
            (std::vector<float>{1, 0, 0}));
  EXPECT_FALSE(argsort(tie).needs_grad());
}

TEST(Rules, ScattersOfExtrema) {
  const Tensor x = values({4, 3}, -1, 1, 32), updates = values({5, 3}, -1, 1, 33);
  const Tensor rows = broadcast_to(Tensor::from({0, 2, 2, 3, 0}, {5, 1}), {5, 3});
  check("scatter_max", [&](const auto& xs) { return scatter_max(xs[0], rows, xs[1], 0); },
        {x, updates});
  check("scatter_min", [&](const auto& xs) { return scatter_min(xs[0], rows, xs[1], 0); },
        {x, updates});
  const Tensor one = Tensor::from({1.f}).requires_grad(), two = Tensor::from({1.f, 0.f});
  EXPECT_EQ(gradients(scatter_max(one, Tensor::from({0, 0}), two, 0), {one})[0].item<float>(), 0.5);
}

Tensor well_conditioned(const Shape& shape, uint64_t seed) {
  const int64_t n = shape[shape.rank() - 1], m = shape[shape.rank() - 2];
  return values(shape, -1, 1, seed) + eye(m, n, DType::kFloat64) * arange(1, n + 1) * 1.5;
}

TEST(Rules, Linalg) {
  const auto of_symmetric = [](auto f) {
    return [f](const auto& xs) { return f((xs[0] + matrix_transpose(xs[0])) * 0.5); };
  };
  for (const Shape& batch : {Shape{}, Shape{2}, Shape{2, 1}}) {
    const auto shape = [&](int64_t m, int64_t n) {
      std::vector<int64_t> dims(batch.begin(), batch.end());
      dims.insert(dims.end(), {m, n});
      return Shape(dims);
    };
    const Tensor square = well_conditioned(shape(3, 3), 40);
    const Tensor tall = well_conditioned(shape(4, 2), 41);
    const Tensor wide = well_conditioned(shape(2, 4), 42);
    for (const bool upper : {false, true}) {
      check("cholesky", of_symmetric([&](const Tensor& a) {
              return linalg::cholesky(a + eye(3, 3, DType::kFloat64) * 4, upper);
            }),
            {square});
    }
    for (const Tensor& x : {square, tall, wide}) {
      check("qr", [](const auto& xs) { return sum(linalg::qr(xs[0]).q, Axes(-1)); }, {x});
      check("qr", [](const auto& xs) { return linalg::qr(xs[0]).r; }, {x});
      check("svdvals", [](const auto& xs) { return linalg::svdvals(xs[0]); }, {x});
      // Of the vectors what no choice of their sign changes.
      check("svd",
            [](const auto& xs) {
              const auto [u, s, vh] = linalg::svd(xs[0], false);
              return matmul(u * expand_dims(sin(s), -2), vh);
            },
            {x});
      check("svd, u", [](const auto& xs) { return square_of(linalg::svd(xs[0], false).u); }, {x});
      check("svd, vh", [](const auto& xs) { return square_of(linalg::svd(xs[0], false).vh); }, {x});
    }
    check("eigvalsh", of_symmetric([](const Tensor& a) { return linalg::eigvalsh(a); }), {square});
    check("eigh",
          of_symmetric([](const Tensor& a) { return square_of(linalg::eigh(a).eigenvectors); }),
          {square});
    check("inv", [](const auto& xs) { return linalg::inv(xs[0]); }, {square});
    check("det", [](const auto& xs) { return linalg::det(xs[0]); }, {square});
    check("slogdet", [](const auto& xs) { return linalg::slogdet(xs[0]).logabsdet; }, {square});
    const auto solve = [](const auto& xs) { return linalg::solve(xs[0], xs[1]); };
    check("solve", solve, {square, values(shape(3, 2), -1, 1, 43)});
    check("solve", solve, {square, values({3}, -1, 1, 44)});
    check("pinv", [](const auto& xs) { return linalg::pinv(xs[0]); }, {tall});
  }
}

TEST(Rules, VectorsThatAreArbitraryHaveNoGradient) {
  const Tensor x = values({4, 2}, -1, 1, 45).requires_grad();
  EXPECT_THROW(static_cast<void>(gradients(sum(linalg::qr(x, "complete").r), {x})), Error);
  EXPECT_THROW(static_cast<void>(gradients(sum(linalg::svd(x, true).s), {x})), Error);
}

TEST(Rules, Products) {
  const auto product = [](const auto& xs) { return matmul(xs[0], xs[1]); };
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{2, 3}, {3, 4}},
                                                                 {{3}, {3, 4}},
                                                                 {{2, 3}, {3}},
                                                                 {{3}, {3}},
                                                                 {{2, 2, 3}, {3, 2}},
                                                                 {{2, 1, 2, 3}, {3, 3, 2}},
                                                                 {{2, 3}, {2, 3, 2}}}) {
    check("matmul", product, {values(a, -1, 1, 12), values(b, -1, 1, 13)});
  }
  check("einsum",
        [](const auto& xs) {
          return einsum("bij,bjk->bk", {xs[0], xs[1]});
        },
        {values({2, 3, 2}, -1, 1, 14), values({2, 2, 3}, -1, 1, 15)});
}

TEST(Rules, Layers) {
  const Tensor x = values({2, 3, 4}, -1, 1, 16);
  const Tensor w = values({4}, 0.5, 1, 17), b = values({4}, -1, 1, 18);
  check("softmax", [](const auto& xs) { return softmax(xs[0], 1); }, {x});
  check("log_softmax", [](const auto& xs) { return log_softmax(xs[0]); }, {x});
  check("layer_norm", [](const auto& xs) { return layer_norm(xs[0], xs[1], xs[2]); }, {x, w, b});
  check("rms_norm", [](const auto& xs) { return rms_norm(xs[0], xs[1]); }, {x, w});
  const Tensor c = values({3}, 0.5, 1, 19);
  check("batch_norm", [](const auto& xs) { return batch_norm(xs[0], xs[1], xs[2], xs[1], xs[2]); },
        {x, c, c});
  check("attention",
        [](const auto& xs) { return scaled_dot_product_attention(xs[0], xs[1], xs[2], {}, true); },
        {values({1, 2, 3, 2}, -1, 1, 20), values({1, 2, 3, 2}, -1, 1, 21),
         values({1, 2, 3, 2}, -1, 1, 22)});
  const Tensor image = values({1, 2, 5, 5}, -1, 1, 23);
  check(
      "conv2d", [](const auto& xs) { return conv2d(xs[0], xs[1]); },
      {image, values({2, 2, 3, 3}, -1, 1, 24)}, false);
  check(
      "conv2d, strided",
      [](const auto& xs) { return conv2d(xs[0], xs[1], {.stride = 2, .padding = 1}); },
      {image, values({1, 2, 2, 2}, -1, 1, 25)}, false);
  check(
      "conv2d, depthwise", [](const auto& xs) { return conv2d(xs[0], xs[1], {.groups = 2}); },
      {image, values({2, 1, 2, 2}, -1, 1, 26)}, false);
  check(
      "max_pool2d",
      [](const auto& xs) {
        return max_pool2d(xs[0], {2, 2});
      },
      {image}, false);
  check(
      "max_pool2d, overlapping",
      [](const auto& xs) {
        return max_pool2d(xs[0], {3, 3}, {.stride = 1});
      },
      {image}, false);
  check(
      "avg_pool2d",
      [](const auto& xs) {
        return avg_pool2d(xs[0], {2, 2});
      },
      {image}, false);
}

// Half types: the gradient is that of float32, rounded.
TEST(Rules, Halves) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const Tensor exact = values({64}, -3, 3, 27).astype(dtype).astype(DType::kFloat32);
    for (const char* name : {"gelu", "silu", "mish", "tanh", "sigmoid", "sin"}) {
      const auto f = [&](const Tensor& x) { return sum(call(name, {x})[0]); };
      const Tensor expected = grad(f)(exact);
      const Tensor actual = grad(f)(exact.astype(dtype));
      EXPECT_EQ(actual.dtype(), dtype);
      const auto error = max(abs(actual.astype(DType::kFloat32) - expected)).item<float>();
      EXPECT_LT(error, dtype == DType::kFloat16 ? 2e-3 : 2e-2) << name;
    }
    const Tensor mixed = exact.astype(dtype).requires_grad();
    EXPECT_EQ(gradients(sum(mixed * exact), {mixed})[0].dtype(), dtype);
  }
}

}  // namespace
}  // namespace sluice::test
