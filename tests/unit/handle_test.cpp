// What a handle can be assigned to, and what it cannot.
#include <array>
#include <concepts>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

static_assert(sizeof(Tensor) == sizeof(void*));
static_assert(std::semiregular<Tensor>);
static_assert(std::is_nothrow_move_constructible_v<Tensor>);
static_assert(std::is_nothrow_move_assignable_v<Tensor>);

// What an op or x(...) returns is no place to write to, and a number is no tensor.
template <typename T, typename U>
concept Adds = requires(T&& x, U&& y) {
  std::forward<T>(x) += std::forward<U>(y);
};
static_assert(!std::is_assignable_v<Tensor, Tensor>);
static_assert(!std::is_assignable_v<Tensor, const Tensor&>);
static_assert(!std::is_assignable_v<Tensor, float>);
static_assert(!std::is_assignable_v<Tensor&, float>);
static_assert(!std::is_assignable_v<const Tensor&, Tensor>);
static_assert(Adds<Tensor&, Tensor> && Adds<Tensor&, float>);
static_assert(!Adds<Tensor, Tensor> && !Adds<Tensor, float>);

TEST(Handle, IsAssignedWhereverItHasAName) {
  const Tensor x = arange(6).reshape({2, 3});
  Tensor a = x(1);
  a = x(0);
  std::vector<Tensor> list{a, x(1)};
  list[0] = list[1];
  list.insert(list.begin(), x(0));
  std::swap(list[0], list[1]);
  std::array<Tensor, 2> pair;
  pair = {a, list[0]};
  std::map<std::string, Tensor> named;
  named["sum"] = pair[0] + pair[1];
  std::tie(a, list[0]) = std::pair{list[0], a};
  named["sum"] += 1;
  EXPECT_EQ(named["sum"].to_vector<int64_t>(), (std::vector<int64_t>{4, 6, 8}));
  EXPECT_EQ(a.to_vector<int64_t>(), (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(list[0].to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2}));
  a = {};
  EXPECT_FALSE(a.defined());
}

TEST(Handle, IsMadeOfAnyContiguousRange) {
  const float array[] = {1, 2};
  const std::vector<float> expected{1, 2};
  EXPECT_EQ(Tensor::from(array).to_vector<float>(), expected);
  EXPECT_EQ(Tensor::from(array, {2, 1}).shape(), (Shape{2, 1}));
  EXPECT_EQ(Tensor::from(std::array{1.f, 2.f}).to_vector<float>(), expected);
  EXPECT_EQ(Tensor::from(expected).to_vector<float>(), expected);
  EXPECT_EQ(Tensor::from(std::span(expected)).to_vector<float>(), expected);
  EXPECT_EQ(Tensor::from(std::vector<bool>{true, false}, {2}).to_vector<bool>(),
            (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace sluice::test
