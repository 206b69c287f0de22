// What people type: shapes from anything, -1, negative axes, nested lists, methods, numbers read as
// another type; and assignment that keeps what it assigns to.
#include <gtest/gtest.h>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using Code = ErrorCode;

TEST(Shapes, FromVectorsSpansAndNumbers) {
  const std::vector<int64_t> dims = {2, 3};
  EXPECT_EQ(zeros(dims).shape(), (Shape{2, 3}));
  EXPECT_EQ(zeros(std::span<const int64_t>(dims)).shape(), (Shape{2, 3}));
  EXPECT_EQ(zeros(5).shape(), (Shape{5}));
  EXPECT_EQ(full(size_t{4}, 1.f).shape(), (Shape{4}));
  EXPECT_EQ(broadcast_to(zeros(1), 7).shape(), (Shape{7}));
}

TEST(Shapes, AxesAreChecked) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 4);
  EXPECT_EQ(shape[-3], 2);
  for (const int axis : {3, -4, 9, INT_MIN, INT_MAX}) {
    EXPECT_TRUE(fails_with([&] { static_cast<void>(shape[axis]); }, Code::kOutOfRange,
                           {"(2, 3, 4)", std::to_string(axis)}));
  }
  EXPECT_TRUE(fails_with([&] { static_cast<void>(Shape{}[0]); }, Code::kOutOfRange, {"()"}));
}

TEST(Shapes, Bindings) {
  const auto [rows, columns] = zeros({2, 3}).shape().as<2>();
  EXPECT_EQ(rows, 2);
  EXPECT_EQ(columns, 3);
  EXPECT_TRUE(fails_with(
      [&] {
        return zeros({2, 3}).shape().as<3>();
      },
      Code::kInvalidArgument, {"(2, 3)", "2", "3"}));
}

TEST(Shapes, ReshapeByNumbers) {
  const Tensor x = arange(12);
  EXPECT_EQ(x.reshape(2, -1).shape(), (Shape{2, 6}));
  EXPECT_EQ(x.reshape(2, 3, 2).shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(x.reshape({3, 4}).reshape(-1).shape(), (Shape{12}));
  EXPECT_EQ(reshape(x.reshape(3, 4), -1).shape(), (Shape{12}));
  EXPECT_EQ(reshape(x, std::vector<int64_t>{4, -1}).shape(), (Shape{4, 3}));
  EXPECT_EQ(x.reshape(Shape{6, 2}).shape(), (Shape{6, 2}));
  EXPECT_EQ(x.size(), 12);
  EXPECT_TRUE(
      fails_with([&] { return x.reshape(5, -1); }, Code::kInvalidArgument, {"reshape", "(12,)"}));
}

TEST(From, NestedLists) {
  const Tensor x = Tensor::from({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
  EXPECT_EQ(x.shape(), (Shape{3, 2}));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const Tensor y = Tensor::from({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}});
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(y.dtype(), DType::kInt32);
  EXPECT_EQ(Tensor::from({{true, false}}).to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_TRUE(fails_with(
      [] {
        return Tensor::from({{1, 2}, {3}});
      },
      Code::kInvalidArgument, {"from", "(2,)", "(1,)"}));
}

TEST(Creation, LiteralsMakeTheDefaultTypes) {
  EXPECT_EQ(full({1}, 1.0).dtype(), DType::kFloat32);
  EXPECT_EQ(full({1}, 1.f).dtype(), DType::kFloat32);
  EXPECT_EQ(full({1}, 1).dtype(), DType::kInt64);
  EXPECT_EQ(full({1}, uint8_t{1}).dtype(), DType::kInt64);
  EXPECT_EQ(full({1}, true).dtype(), DType::kBool);
  EXPECT_EQ(full({1}, float16(1.f)).dtype(), DType::kFloat16);
  EXPECT_EQ(full({1}, 1, DType::kInt8).dtype(), DType::kInt8);
  EXPECT_EQ(arange(0., 1., .1).dtype(), DType::kFloat32);
  EXPECT_EQ(arange(3).dtype(), DType::kInt64);
  EXPECT_TRUE(fails_with([] { return full({1}, UINT64_MAX); }, Code::kInvalidArgument,
                         {"full", "18446744073709551615"}));
  // What has a type keeps it.
  EXPECT_EQ(Tensor::from<double>({1.0}).dtype(), DType::kFloat64);
  EXPECT_EQ(Tensor::from(std::vector<double>{1.0}).dtype(), DType::kFloat64);
  EXPECT_EQ(Tensor::from(std::vector<int>{1}).dtype(), DType::kInt32);
}

TEST(Take, AListOfIndices) {
  const Tensor x = arange(6).reshape(3, 2);
  EXPECT_EQ(take(x, {0, 2}, 0).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 4, 5}));
  EXPECT_EQ(take(x, {-1}, 1).to_vector<int64_t>(), (std::vector<int64_t>{1, 3, 5}));
  EXPECT_EQ(x.take({2, 0}, 0).to_vector<int64_t>(), (std::vector<int64_t>{4, 5, 0, 1}));
}

TEST(Methods, AreTheFunctions) {
  const Tensor x = Tensor::from({-2.f, 0.25f, 0.5f, 3.f}), y = Tensor::from({1.f, 0.f, 2.f, 1.f});
  const auto same = [](const Tensor& a, const Tensor& b) {
    EXPECT_EQ(read_bytes(a), read_bytes(b));
  };
#define SLUICE_ROW_1(name) \
  if (#name != std::string("bitwise_not")) same(x.name(), name(x)), same((x + 0).name(), name(x));
#define SLUICE_ROW_2(name)
#define SLUICE_ROW_3(name)
#define SLUICE_POINTWISE_OP(id, name, arity, ...) SLUICE_ROW_##arity(name)
#include "fusion/ir/ops.def"
#undef SLUICE_ROW_1
#undef SLUICE_ROW_2
#undef SLUICE_ROW_3
  same(arange(4).bitwise_not(), bitwise_not(arange(4)));
  same(x.pow(2), pow(x, 2));
  same(x.pow(y), pow(x, y));
  same(x.maximum(0), maximum(x, 0));
  same((x + 0).minimum(y), minimum(x, y));
  same(x.clip(-1, 1), clip(x, -1, 1));
  same(x.cumsum(0), cumsum(x, 0));
  same(x.cumprod(-1), cumprod(x, 0));
}

TEST(Item, ConvertsAsAstypeDoes) {
  EXPECT_EQ(sum(arange(5) > 2).item<int>(), 2);
  EXPECT_EQ(full({}, 2.75f).item<double>(), 2.75);
  for (const DType from : all_dtypes()) {
    for (const Real value : nasty_values(from)) {
      NdArray one(from, Shape{});
      one.values[0] = value;
      const Tensor x = to_tensor(one);
      for (const DType to : all_dtypes()) {
        const std::vector<uint8_t> expected = read_bytes(x.astype(to));
        const std::vector<uint8_t> actual = visit_dtype(to, [&]<typename T>() {
          const T item = x.item<T>();
          std::vector<uint8_t> bytes(sizeof(T));
          std::memcpy(bytes.data(), &item, sizeof(T));
          return bytes;
        });
        if (is_float(to) && std::isnan(element(expected, to, 0))) {
          EXPECT_TRUE(std::isnan(element(actual, to, 0))) << name_of(from) << name_of(to);
        } else {
          EXPECT_EQ(actual, expected)
              << name_of(from) << " " << static_cast<double>(value) << " as " << name_of(to);
        }
      }
    }
  }
}

TEST(Assignment, KeepsShapeAndDType) {
  const auto bad = [](Tensor c, auto assign, const std::vector<std::string>& parts) {
    const Tensor before = c;
    EXPECT_TRUE(fails_with([&] { assign(c); }, Code::kInvalidArgument, parts));
    EXPECT_EQ(c.shape(), before.shape());
    EXPECT_EQ(c.dtype(), before.dtype());
    EXPECT_EQ(read_bytes(c), read_bytes(before));
  };
  const Tensor row = ones({4}), rows = ones({3, 4}), n = arange(4);
  bad(row, [&](Tensor& c) { c += rows; }, {"+=", "float32(4,)", "float32(3, 4)", "add(x, y)"});
  bad(n, [&](Tensor& c) { c /= 2; }, {"/=", "int64(4,)", "float32(4,)", "astype"});
  bad(n, [&](Tensor& c) { c *= 1.5; }, {"*=", "int64(4,)", "float32(4,)"});
  bad(n, [&](Tensor& c) { c -= row; }, {"-=", "int64(4,)", "float32(4,)"});
  bad(row, [&](Tensor& c) { c += ones({4}, DType::kFloat64); }, {"+=", "float64(4,)"});
  bad(n > 1, [&](Tensor& c) { c += 1; }, {"+=", "bool(4,)"});
  Tensor c = row;
  EXPECT_TRUE(fails_with([&] { c += Tensor(); }, Code::kFailedPrecondition, {"add", "empty"}));
}

TEST(Assignment, TakesWhatFits) {
  Tensor x = ones({3, 4});
  x += ones({4});
  x *= 2;
  x -= arange(4);
  x /= ones({3, 1}, DType::kFloat16);
  EXPECT_EQ(x.dtype(), DType::kFloat32);
  EXPECT_EQ(x[0].to_vector<float>(), (std::vector<float>{4, 3, 2, 1}));
  Tensor n = arange(3);
  n += true;
  n *= Tensor::from<int8_t>({1, 2, 3});
  EXPECT_EQ(n.to_vector<int64_t>(), (std::vector<int64_t>{1, 4, 9}));
}

}  // namespace
}  // namespace sluice::test
