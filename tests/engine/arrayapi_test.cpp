// The functions of the array API standard and NumPy that are composed of ops, beside NumPy's:
// golden/arrayapi.txt, which golden/make_arrayapi.py writes; and the ops, beside NumPy's and
// SciPy's: golden/ops.txt, of golden/make_ops.py. What they cost, and how they fail.
#include <cfloat>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/golden_calls.h"
#include "tests/support/golden_file.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// Forms that lookup by name does not know.
int int_of(const Attributes& given, const char* name, int otherwise) {
  const auto found = given.find(name);
  return found == given.end() ? otherwise : static_cast<int>(std::get<int64_t>(found->second));
}
Scalar scalar_of(const Attributes& given, const char* name) {
  const Attribute& value = given.find(name)->second;
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  return std::get<double>(value);
}
DType dtype_of(const Attributes& given) {
  return dtype_named(std::get<std::string>(given.find("dtype")->second));
}
Shape shape_of(const Attributes& given) {
  return Shape(
      std::span<const int64_t>(std::get<std::vector<int64_t>>(given.find("shape")->second)));
}
double double_of(const Attributes& given, const char* name) {
  return std::get<double>(given.find(name)->second);
}
const GoldenForms& forms() {
  using X = std::span<const Tensor>;
  using A = const Attributes&;
  static const GoldenForms forms = {
      {"astype",
       [](X x, A given) -> std::vector<Tensor> { return {astype(x[0], dtype_of(given))}; }},
      {"arange",
       [](X, A given) -> std::vector<Tensor> {
         return {arange(scalar_of(given, "start"), scalar_of(given, "stop"),
                        scalar_of(given, "step"), dtype_of(given))};
       }},
      {"linspace",
       [](X, A given) -> std::vector<Tensor> {
         return {linspace(scalar_of(given, "start"), scalar_of(given, "stop"),
                          int_of(given, "num", 0), std::get<bool>(given.find("endpoint")->second),
                          dtype_of(given))};
       }},
      {"eye",
       [](X, A given) -> std::vector<Tensor> {
         return {eye(int_of(given, "n", 0), int_of(given, "m", 0), int_of(given, "k", 0),
                     dtype_of(given))};
       }},
      {"zeros",
       [](X, A given) -> std::vector<Tensor> { return {zeros(shape_of(given), dtype_of(given))}; }},
      {"ones",
       [](X, A given) -> std::vector<Tensor> { return {ones(shape_of(given), dtype_of(given))}; }},
      {"full",
       [](X, A given) -> std::vector<Tensor> {
         return {full(shape_of(given), scalar_of(given, "value"), dtype_of(given))};
       }},
      {"zeros_like",
       [](X x, A given) -> std::vector<Tensor> { return {zeros_like(x[0], dtype_of(given))}; }},
      {"ones_like",
       [](X x, A given) -> std::vector<Tensor> { return {ones_like(x[0], dtype_of(given))}; }},
      {"full_like",
       [](X x, A given) -> std::vector<Tensor> { return {full_like(x[0], 7, dtype_of(given))}; }},
      {"roll.flat",
       [](X x, A given) -> std::vector<Tensor> {
         return {roll(x[0], std::get<int64_t>(given.find("shift")->second))};
       }},
      {"roll.axes",
       [](X x, A given) -> std::vector<Tensor> {
         const auto& axes = std::get<std::vector<int64_t>>(given.find("axes")->second);
         return {roll(x[0], std::get<std::vector<int64_t>>(given.find("shifts")->second),
                      std::vector<int>(axes.begin(), axes.end()))};
       }},
      {"pad",
       [](X x, A given) -> std::vector<Tensor> {
         const auto& ends = std::get<std::vector<int64_t>>(given.find("widths")->second);
         std::vector<std::pair<int64_t, int64_t>> widths;
         for (size_t i = 0; i < ends.size(); i += 2) widths.emplace_back(ends[i], ends[i + 1]);
         return {pad(x[0], widths, int_of(given, "value", 0))};
       }},
      {"trapezoid.x",
       [](X x, A given) -> std::vector<Tensor> {
         return {trapezoid(x[0], x[1], int_of(given, "axis", -1))};
       }},
      {"diff.n",
       [](X x, A given) -> std::vector<Tensor> {
         return {diff(x[0], int_of(given, "n", 1), int_of(given, "axis", -1))};
       }},
      {"bincount.counts",
       [](X x, A given) -> std::vector<Tensor> {
         return {bincount(x[0], {}, int_of(given, "minlength", 0))};
       }},
      {"histogram.range",
       [](X x, A given) -> std::vector<Tensor> {
         const auto [counts, edges] = histogram(x[0], int_of(given, "bins", 10),
                                                double_of(given, "low"), double_of(given, "high"));
         return {counts, edges};
       }},
      {"repeat.counts",
       [](X x, A given) -> std::vector<Tensor> {
         return {repeat(x[0], x[1], int_of(given, "axis", 0))};
       }},
      {"searchsorted.plain",
       [](X x, A given) -> std::vector<Tensor> {
         return {searchsorted(x[0], x[1], std::get<bool>(given.find("right")->second))};
       }},
      {"tensordot.count",
       [](X x, A given) -> std::vector<Tensor> {
         return {tensordot(x[0], x[1], int_of(given, "axes", 2))};
       }},
  };
  return forms;
}

TEST(ArrayApi, FunctionsGiveWhatNumPyGives) {
  const ConfigGuard guard;
  config().compile = CompileMode::kOff;  // 10,000 calls
  EXPECT_GT(expect_golden_calls(golden_file("arrayapi.txt"), forms()), 9500);
}

// Many columns are taken where they are, few as rows.
TEST(ArrayApi, CovariancesOfColumnsAreThoseOfRows) {
  for (const int64_t columns : {1, 8, 9, 20}) {
    const Tensor x = astype(randint(-4, 5, {50, columns}), DType::kFloat32);
    EXPECT_TRUE(allclose(cov(x, false), cov(swapaxes(x, 0, 1)), 1e-5, 1e-5).item<bool>());
    EXPECT_EQ(cov(x, false).shape(), cov(swapaxes(x, 0, 1)).shape());
  }
}

TEST(ArrayApi, OpsGiveWhatNumPyAndSciPyGive) {
  const ConfigGuard guard;
  config().compile = CompileMode::kOff;
  EXPECT_GT(expect_golden_calls(golden_file("ops.txt"), forms()), 9500);
}

class Costs : public testing::Test {
 protected:
  void SetUp() override {
    config().compile = CompileMode::kOff;
    sync();
  }
  // What computing these results takes, while they are held.
  struct Work {
    int64_t kernels, library_calls;
    bool operator==(const Work&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const Work& work) {
      return out << work.kernels << " kernels, " << work.library_calls << " library calls";
    }
  };
  static Work work(const std::vector<Tensor>&) {
    reset_stats();
    sync();
    return {stats().kernels_launched, stats().library_calls};
  }
  static Tensor some(const Shape& shape, DType dtype = DType::kFloat32) {
    Tensor x = astype(randint(-4, 5, shape), dtype);
    x.eval();
    sync();
    return x;
  }
  ConfigGuard guard_;
};

TEST_F(Costs, ElementwiseFunctionsAreOneKernel) {
  const Tensor x = some({300, 40}), y = some({40});
  EXPECT_EQ(work({isclose(x, y, 1e-3, 1e-5, true)}), (Work{1, 0}));
  EXPECT_EQ(work({nan_to_num(x / y)}), (Work{1, 0}));
  EXPECT_EQ(work({round(x, 2)}), (Work{1, 0}));
  EXPECT_EQ(work({fmod(x, y) + signbit(x)}), (Work{1, 0}));
  EXPECT_EQ(work({nextafter(x, y)}), (Work{1, 0}));
  const auto [quotient, rest] = divmod(x, 3);
  EXPECT_EQ(work({quotient, rest}), (Work{1, 0}));
  EXPECT_EQ(work({outer(y, y) * 2}), (Work{1, 0}));
  EXPECT_EQ(work({kron(y, y)}), (Work{1, 0}));
  EXPECT_EQ(work({diff(x, 2)}), (Work{1, 0}));
}

TEST_F(Costs, ReductionsAreOneKernel) {
  const Tensor x = some({300, 40}), y = some({300, 40});
  EXPECT_EQ(work({nansum(x, 1)}), (Work{1, 0}));
  EXPECT_EQ(work({nanmax(x, 1)}), (Work{1, 0}));
  EXPECT_EQ(work({nanmean(x, 1)}), (Work{1, 0}));
  EXPECT_EQ(work({nanstd(x, 1)}), (Work{1, 0}));
  EXPECT_EQ(work({count_nonzero(x > 2, 1)}), (Work{1, 0}));
  EXPECT_EQ(work({trapezoid(x * x)}), (Work{1, 0}));
  EXPECT_EQ(work({trapezoid(x, y)}), (Work{1, 0}));
  EXPECT_EQ(work({vecdot(x, y)}), (Work{1, 0}));
  EXPECT_EQ(work({sum(diagonal(x))}), (Work{1, 0}));
  EXPECT_EQ(work({allclose(x, x)}).library_calls, 0);
}

// A contraction is one library call: its operands are read as they are.
TEST_F(Costs, ContractionsCopyNothing) {
  const Tensor a = some({20, 30, 40}), b = some({30, 40, 50}), c = some({40, 20, 30});
  EXPECT_EQ(work({tensordot(a, b)}), (Work{0, 1}));
  EXPECT_EQ(work({tensordot(c, b, {2}, {0})}), (Work{0, 1}));
  EXPECT_EQ(work({tensordot(b, b, {0, 1}, {0, 1})}), (Work{0, 1}));
  EXPECT_EQ(work({inner(a, c.permute({1, 2, 0}))}), (Work{0, 1}));
  EXPECT_EQ(work({einsum("abc,bcd->ad", {a, b})}), (Work{0, 1}));
  EXPECT_EQ(work({einsum("abc,bcd->da", {a, b})}), (Work{0, 1}));
  const Tensor x = some({30, 40}), y = some({40, 50}), z = some({30, 50});
  EXPECT_EQ(work({einsum("ij,jk", {x, y})}), (Work{0, 1}));
  EXPECT_EQ(work({einsum("ij,jk->ki", {x, y})}), (Work{0, 1}));
  EXPECT_EQ(work({einsum("ij,ik->jk", {x, z})}), (Work{0, 1}));
  EXPECT_EQ(work({einsum("bij,bjk->bik", {a, some({20, 40, 10})})}), (Work{0, 1}));
  EXPECT_EQ(work({einsum("ij,jk,ik->", {x, y, z})}).library_calls, 1);
}

TEST_F(Costs, EinsumsThatAreNoProductsOfMatricesAreFused) {
  const Tensor x = some({30, 40}), y = some({40}), square = some({30, 30});
  EXPECT_EQ(work({einsum("ij,ij->i", {x + 1, x})}), (Work{1, 0}));
  EXPECT_EQ(work({einsum("ij,j->i", {x, y}) + 1}), (Work{1, 0}));
  EXPECT_EQ(work({einsum("i,j->ij", {y, y})}), (Work{1, 0}));
  EXPECT_EQ(work({einsum("ij,ij,j->ij", {x, x, y})}), (Work{1, 0}));
  EXPECT_EQ(work({einsum("ii", {square})}), (Work{1, 0}));
  EXPECT_EQ(work({einsum("ij->ji", {x}) + 1}), (Work{1, 0}));
}

// Greedily: a matrix and a vector first.
TEST_F(Costs, EinsumContractsWhatIsSmallFirst) {
  const Tensor a = some({64, 64}), v = some({64});
  EXPECT_EQ(work({einsum("ij,jk,k->i", {a, a, v})}).library_calls, 0);
}

TEST_F(Costs, AMaskIsNoMemory) {
  const Tensor x = some({30, 40});
  EXPECT_EQ(work({where(x > 0.5f, x, 0.f)}), (Work{1, 0}));
}

TEST_F(Costs, ViewsCopyNothing) {
  const Tensor x = some({30, 40});
  EXPECT_EQ(work({moveaxis(x, 0, 1) + 1, diagonal(x) * 2}).library_calls, 0);
  EXPECT_EQ(work({diagonal(x), matrix_transpose(x), unstack(x)[3], broadcast_arrays({x, x})[0]}),
            (Work{0, 0}));
  const std::vector<Tensor> grid = meshgrid({x[0], x[1]});
  EXPECT_EQ(work({grid[0] * grid[1]}), (Work{1, 0}));
}

TEST(ArrayApi, ScalarsStandForOperands) {
  const Tensor x = Tensor::from({1.f, -2.5f, 3.f});
  EXPECT_EQ(isclose(x, 3).to_vector<bool>(), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(fmod(x, 2).to_vector<float>(), (std::vector<float>{1, -0.5, 1}));
  EXPECT_EQ(divmod(x, 2).first.to_vector<float>(), (std::vector<float>{0, -2, 1}));
  EXPECT_EQ(divide(1, x).to_vector<float>(), (1 / x).to_vector<float>());
  EXPECT_EQ(multiply(x, 2).to_vector<float>(), (x * 2).to_vector<float>());
  EXPECT_EQ(allclose(x, x + 1e-7f).item<bool>(), true);
  EXPECT_THROW(static_cast<void>(fmod(1, 2)), Error);
}

TEST(ArrayApi, ResultsOfHalfTypesAreRoundedOnce) {
  const Tensor ones = full({4096}, 1, DType::kBFloat16);
  EXPECT_EQ(float(vecdot(ones, ones).item<bfloat16>()), 4096);
  EXPECT_EQ(float(nansum(ones).item<bfloat16>()), 4096);
  EXPECT_EQ(float(einsum("i,i->", {ones, ones}).item<bfloat16>()), 4096);
}

TEST(ArrayApi, DTypesTellAboutThemselves) {
  for (const DType dtype : all_dtypes()) {
    EXPECT_TRUE(can_cast(dtype, dtype));
    EXPECT_TRUE(can_cast(DType::kBool, dtype));
    if (is_float(dtype)) {
      const FInfo info = finfo(dtype);
      const Tensor one = full({}, 1, dtype);
      EXPECT_EQ(astype(nextafter(one, 2), kFloat64).item<double>(), 1 + info.eps);
      EXPECT_EQ(info.bits, static_cast<int>(8 * size_of(dtype)));
      EXPECT_TRUE(isfinite(full({}, info.max, dtype)).item<bool>());
      EXPECT_TRUE(isinf(nextafter(full({}, info.max, dtype), INFINITY)).item<bool>());
    } else {
      EXPECT_THROW(static_cast<void>(finfo(dtype)), Error);
    }
  }
  EXPECT_EQ(finfo(kFloat32).smallest_normal, static_cast<double>(FLT_MIN));
  EXPECT_EQ(finfo(kFloat64).max, DBL_MAX);
  EXPECT_EQ(finfo(kFloat16).max, 65504);
  EXPECT_EQ(iinfo(kInt8).min, -128);
  EXPECT_EQ(iinfo(kUInt64).max, UINT64_MAX);
  EXPECT_EQ(iinfo(kInt64).min, INT64_MIN);
  EXPECT_THROW(static_cast<void>(iinfo(kBool)), Error);
  EXPECT_TRUE(isdtype(kInt8, "integral"));
  EXPECT_FALSE(isdtype(kBool, "numeric"));
  EXPECT_TRUE(isdtype(kFloat16, {"bool", "real floating"}));
  EXPECT_FALSE(isdtype(kUInt8, "signed integer"));
  EXPECT_TRUE(isdtype(kUInt8, kUInt8));
  EXPECT_THROW(static_cast<void>(isdtype(kInt8, "whole")), Error);
  EXPECT_FALSE(can_cast(kInt64, kInt32));
  EXPECT_FALSE(can_cast(kFloat32, kInt64));
  const Tensor x = zeros({2}, kInt16);
  EXPECT_EQ(result_type({x, kInt32}), kInt32);
  EXPECT_EQ(result_type({x, 1}), kInt16);
  EXPECT_EQ(result_type({x, 1.5}), kFloat32);
  EXPECT_EQ(result_type({1.5}), kFloat32);
  EXPECT_EQ(result_type({kFloat16, kBFloat16}), kFloat32);
}

TEST(ArrayApi, TensorsAreMadeFromWhatThereIs) {
  const Tensor x = Tensor::from<int32_t>({1, 2});
  EXPECT_EQ(asarray(x).dtype(), kInt32);
  EXPECT_EQ(asarray(x, kFloat64).to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(asarray(2.5f).item<float>(), 2.5f);
  EXPECT_EQ(asarray(1, kInt8).dtype(), kInt8);
  EXPECT_EQ(asarray({1.f, 2.f}).shape(), (Shape{2}));
  EXPECT_EQ(asarray(std::vector<double>{1, 2, 3}, kFloat32).to_vector<float>(),
            (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(empty_like(x).shape(), (Shape{2}));
  EXPECT_EQ(broadcast_shapes({Shape{3, 1}, Shape{4}, Shape{}}), (Shape{3, 4}));
  EXPECT_THROW(static_cast<void>(broadcast_shapes({Shape{3}, Shape{4}})), Error);
}

TEST(ArrayApi, ErrorsNameTheFunctionThatWasCalled) {
  const Tensor x = zeros({2, 3}), y = zeros({2, 4}), flags = zeros({3}, DType::kBool), none;
  const auto bad = [](auto f, const std::vector<std::string>& parts,
                      ErrorCode code = ErrorCode::kInvalidArgument) {
    EXPECT_TRUE(fails_with([&] { static_cast<void>(f()); }, code, parts));
  };
  bad([&] { return isclose(x, y); }, {"isclose: ", "(2, 3)", "(2, 4)"});
  bad([&] { return multiply(x, y); }, {"multiply: ", "(2, 3)", "(2, 4)"});
  bad([&] { return bitwise_invert(x); }, {"bitwise_invert: ", "float32"});
  bad([&] { return nanmean(x, 2); }, {"nanmean: ", "axis 2"});
  bad([&] { return nanmax(zeros({0})); }, {"nanmax: ", "float32(0,)"});
  bad([&] { return tensordot(x, y); }, {"tensordot: ", "(2, 3)", "(2, 4)"});
  bad([&] { return tensordot(x, y, 3); }, {"tensordot: ", "3"});
  bad([&] { return vecdot(flags, flags); }, {"vecdot: ", "bool"});
  bad([&] { return moveaxis(x, {0, 1}, 0); }, {"moveaxis: ", "float32(2, 3)"});
  bad([&] { return diagonal(flags); }, {"diagonal: ", "bool(3,)"});
  bad([&] { return diff(x, -1); }, {"diff: ", "-1"});
  bad([&] { return repeat(x, Tensor::from<int64_t>({1, 2}), 1); }, {"repeat: ", "int64(2,)"});
  bad([&] { return bincount(x); }, {"bincount: ", "float32(2, 3)"});
  bad([&] { return histogram(x, 0); }, {"histogram: ", "0 bins"});
  bad([&] { return einsum("ij,jk", {x, y}); }, {"einsum: \"ij,jk\"", "j", "3", "float32(2, 4)"});
  bad([&] { return einsum("ij,kj->il", {x, x}); }, {"einsum: ", "l in its result alone"});
  bad([&] { return einsum("i", {x}); }, {"einsum: ", "float32(2, 3)"});
  bad([&] { return einsum("i,i", {flags, flags}); }, {"einsum: ", "bool"});
  bad([&] { return meshgrid({x}); }, {"meshgrid: ", "float32(2, 3)"});
  bad([&] { return positive(none); }, {"positive: ", "empty"}, ErrorCode::kFailedPrecondition);
  bad([&] { return fmod(none, 2); }, {"fmod: ", "empty"}, ErrorCode::kFailedPrecondition);
}

}  // namespace
}  // namespace sluice::test
