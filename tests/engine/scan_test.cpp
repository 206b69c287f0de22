// Cumulative sums and products against loops over the same elements.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/reduction_tree.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

enum class Kind { kSum, kProduct };

Tensor scan(Kind kind, const Tensor& x, int axis) {
  return kind == Kind::kSum ? cumsum(x, axis) : cumprod(x, axis);
}

DType result_dtype(DType dtype) {
  switch (kind_of(dtype)) {
    case DTypeKind::kFloat: return dtype;
    case DTypeKind::kUnsigned: return DType::kUInt64;
    default: return DType::kInt64;
  }
}

// What elements of a line, one after another, combine to in the order of kernels/scan.h; `is_row`:
// the order of the row schedule.
template <typename Word, typename Combine>
class Prefixes {
 public:
  Prefixes(bool is_row, const Combine& combine) : is_row_(is_row), combine_(combine) {}

  Word next(Word element) {
    if (++in_leaf_ == (is_row_ ? 512 : 16)) {
      leaves_.push_back(*leaf());
      vectors_.reset();
      lanes_.clear();
      in_leaf_ = 0;
    }
    if (lanes_.size() == 32) {
      vectors_ = leaf();
      lanes_.clear();
    }
    lanes_.push_back(element);
    if (is_row_) return *join(join(before(), vectors_), lane());
    if (lanes_.size() > 1) lanes_ = {combine_(lanes_[0], element)};
    return *join(before(), lanes_[0]);
  }

 private:
  std::optional<Word> join(std::optional<Word> a, std::optional<Word> b) const {
    return a && b ? combine_(*a, *b) : a ? a : b;
  }
  Word lane() const {
    return reduce_tree(
        0, static_cast<int64_t>(lanes_.size()), [&](int64_t l) { return lanes_[l]; }, combine_);
  }
  std::optional<Word> leaf() const { return join(vectors_, lane()); }
  // A subtree for each bit of the number of leaves, the largest first.
  std::optional<Word> before() const {
    std::optional<Word> result;
    for (int64_t rest = std::ssize(leaves_), first = 0; rest > 0;) {
      const auto count = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(rest)));
      result =
          join(result, reduce_tree(
                           first, count, [&](int64_t leaf) { return leaves_[leaf]; }, combine_));
      first += count;
      rest -= count;
    }
    return result;
  }

  const bool is_row_;
  const Combine& combine_;
  std::vector<Word> leaves_;     // those that are complete
  std::optional<Word> vectors_;  // of the leaf at hand
  std::vector<Word> lanes_;      // of the vector at hand; of a column one, the leaf so far
  int in_leaf_ = -1;
};

// Along an axis whose neighbours are `inner` elements apart.
template <typename T>
std::vector<T> expected(Kind kind, std::vector<T> values, int64_t length, int64_t inner) {
  using Total = std::conditional_t<sizeof(T) == 2, float, T>;
  using Word = std::conditional_t<std::is_integral_v<T>, uint64_t, Total>;  // wraps
  auto combine = [&](Word a, Word b) -> Word { return kind == Kind::kSum ? a + b : a * b; };
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); i += length * inner) {
    for (int64_t j = i; j < i + inner; ++j) {
      Prefixes<Word, decltype(combine)> prefixes(inner == 1, combine);
      for (int64_t k = 0; k < length; ++k) {
        T& value = values[j + k * inner];
        value = T(static_cast<Total>(prefixes.next(static_cast<Word>(+static_cast<Total>(value)))));
      }
    }
  }
  return values;
}

template <typename T>
void expect_same(const std::vector<T>& actual, const std::vector<T>& wanted,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), wanted.size()) << what;
  // A GPU combines the elements of long lines in another order.
  const double tolerance = std::is_integral_v<T> || default_device() == Device::cpu() ? 0
                           : sizeof(T) == 2                                           ? 1e-2
                           : sizeof(T) == 4                                           ? 1e-5
                                                                                      : 1e-12;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      ASSERT_EQ(actual[i], wanted[i]) << what << " at " << i;
    } else {
      const auto a = static_cast<double>(actual[i]);
      const auto w = static_cast<double>(wanted[i]);
      if (std::isnan(w)) {
        ASSERT_TRUE(std::isnan(a)) << what << " at " << i << ": " << a;
      } else if (std::isinf(w) || tolerance == 0) {
        ASSERT_EQ(a, w) << what << " at " << i;
        ASSERT_EQ(std::signbit(a), std::signbit(w)) << what << " at " << i;
      } else {
        ASSERT_LE(std::abs(a - w), tolerance * (1 + std::abs(w))) << what << " at " << i;
      }
    }
  }
}

void check(Kind kind, const Tensor& x, int axis) {
  const int from_front = axis < 0 ? axis + x.ndim() : axis;
  int64_t inner = 1;
  for (int k = from_front + 1; k < x.ndim(); ++k) inner *= x.shape(k);
  const Tensor y = scan(kind, x, axis);
  ASSERT_EQ(y.dtype(), result_dtype(x.dtype()));
  ASSERT_EQ(y.shape(), x.shape());
  visit_dtype(y.dtype(), [&]<typename T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      const std::vector<T> values = astype(x, y.dtype()).to_vector<T>();
      expect_same(y.to_vector<T>(), expected(kind, values, x.shape(axis), inner),
                  std::string(kind == Kind::kSum ? "cumsum of " : "cumprod of ") +
                      name_of(x.dtype()) + to_string(x.shape()) + " along " + std::to_string(axis));
    }
  });
}

// About 1, so that products stay finite; integers wrap.
Tensor sample(const Shape& shape, DType dtype) {
  if (kind_of(dtype) == DTypeKind::kFloat) return astype(rand(shape) * 0.4 + 0.8, dtype);
  return astype(randint(0, 1 << 20, shape) * 7 + 3, dtype);
}

class Scan : public testing::TestWithParam<DType> {};

TEST_P(Scan, EveryAxis) {
  for (const Shape& shape : {Shape{1}, Shape{7}, Shape{3000}, Shape{3, 70, 5}, Shape{11, 300},
                             Shape{300, 2}, Shape{2, 1500, 3}}) {
    for (const Kind kind : {Kind::kSum, Kind::kProduct}) {
      for (int axis = -1; axis < shape.rank(); ++axis) {
        check(kind, sample(shape, GetParam()), axis);
      }
    }
  }
}

// What whole steps of 32 leave is taken by parts of 8.
TEST_P(Scan, EveryEndOfARow) {
  for (int64_t length = 17; length <= 72; ++length) {
    for (const Kind kind : {Kind::kSum, Kind::kProduct}) {
      check(kind, sample({5, length}, GetParam()), 1);
    }
  }
}

// On a GPU of many pieces, and of few.
TEST(LongScans, OfSumsAndProducts) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt64}) {
    check(Kind::kSum, sample({36000}, dtype), 0);
    check(Kind::kProduct, sample({2, 5000}, dtype), 1);
  }
}

TEST_P(Scan, ViewsAreReadInPlace) {
  const Tensor x = sample({6, 40, 9}, GetParam());
  x.eval();
  for (const Kind kind : {Kind::kSum, Kind::kProduct}) {
    for (int axis = 0; axis < 3; ++axis) {
      check(kind, permute(x, {2, 0, 1}), axis);
      check(kind, flip(x, {axis}), axis);
      check(kind, broadcast_to(reshape(sample({5}, GetParam()), {5, 1, 1}), {5, 3, 2}), axis);
    }
  }
}

TEST_P(Scan, OfNothing) {
  for (int axis = 0; axis < 2; ++axis) {
    const Tensor y = cumsum(zeros({0, 3}, GetParam()), axis);
    EXPECT_EQ(y.shape(), (Shape{0, 3}));
    EXPECT_EQ(y.dtype(), result_dtype(GetParam()));
    y.eval();
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, Scan, testing::ValuesIn(all_dtypes()),
                         [](const auto& info) { return name_of(info.param); });

TEST(ScanFloats, KeepNansInfinitiesAndSignsOfZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Kind kind : {Kind::kSum, Kind::kProduct}) {
    check(kind, Tensor::from({-0.f, -0.f, 0.f, 1.f, nan, 2.f}), 0);
    check(kind, Tensor::from({1.f, infinity, 2.f, -infinity, 3.f}), 0);
    check(kind, concat({full({1500}, 1.f), Tensor::from({nan}), full({700}, 1.f)}, 0), 0);
  }
}

bool is_cpu() { return default_device() == Device::cpu(); }

// What `f` launches: kernels, and calls of libraries.
struct Launches {
  int64_t kernels, calls;
  bool operator==(const Launches&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Launches& launches) {
  return out << launches.kernels << " kernels, " << launches.calls << " calls";
}
template <typename F>
Launches launches_of(const F& f) {
  sync();
  const Stats before = stats();
  f();
  const Stats after = stats();
  return {after.kernels_launched - before.kernels_launched,
          after.library_calls - before.library_calls};
}

// The bits that `f` gives op by op and fused, interpreted and compiled.
template <typename F>
void expect_same_bits_in_all_modes(const F& f) {
  ConfigGuard guard;
  std::vector<std::vector<uint8_t>> bits;
  for (const bool fuse : {false, true}) {
    for (const CompileMode compile : {CompileMode::kOff, CompileMode::kBlocking}) {
      config().fuse = fuse;
      config().compile = compile;
      bits.push_back(read_bytes(f()));
      EXPECT_EQ(bits.back(), bits[0])
          << "fused: " << fuse << ", compiled: " << (compile == CompileMode::kBlocking);
    }
  }
}

// Along all axes of rows of a leaf, of several, of unrolled ones, of few and of many.
std::vector<Shape> shapes_of_rows() {
  return {{5000}, {3, 700}, {700, 3}, {4, 1500, 2}, {200, 5}, {5, 200}, {100, 16, 2}, {70, 33}};
}

TEST(ScanFusion, OneKernelWithWhatComesBeforeAndAfter) {
  const Tensor n = rand({1});
  n.eval();
  for (const Shape& shape : shapes_of_rows()) {
    const Tensor x = rand(shape), w = rand(shape);
    x.eval(), w.eval();
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const Launches launches = launches_of([&] { (cumsum(x * w, axis) / n).eval(); });
      EXPECT_EQ(launches, is_cpu() ? (Launches{1, 0}) : (Launches{2, 1}))
          << to_string(shape) << " along " << axis;
      expect_same_bits_in_all_modes([&] { return cumsum(x * w, axis) / n; });
    }
  }
}

TEST(ScanFusion, AllKindsAndDtypes) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64,
                            DType::kInt32, DType::kUInt64}) {
    for (const Shape& shape : {Shape{1100}, Shape{90, 7}, Shape{3, 40}}) {
      const Tensor x = sample(shape, dtype);
      x.eval();
      const int axis = shape.rank() - 1;
      for (const auto& f : {cumsum, cumprod, cummax, cummin, logcumsumexp}) {
        for (const int along : {0, axis}) {
          expect_same_bits_in_all_modes([&] { return abs(f(x - 1, along)) + x; });
        }
      }
    }
  }
}

TEST(ScanFusion, WithReductionsAndOtherScansOfTheSameRows) {
  const Tensor x = rand({80, 300});
  x.eval();
  auto normalised = [&] {
    const Tensor y = x - mean(x, 1, true);
    return cumsum(y, 1) / (1 + max(abs(cumsum(y * y, 1)), 1, true));
  };
  const Launches launches = launches_of([&] { normalised().eval(); });
  if (is_cpu()) {
    EXPECT_EQ(launches, (Launches{1, 0}));
  }
  expect_same_bits_in_all_modes(normalised);
  expect_same_bits_in_all_modes([&] { return sum(cumsum(x, 1), 1); });
  expect_same_bits_in_all_modes([&] { return sum(cumsum(x, 1), 0); });
  expect_same_bits_in_all_modes([&] { return cumsum(cumsum(x, 1), 0); });
  expect_same_bits_in_all_modes([&] { return cumsum(cummax(x, 1), 1); });
  expect_same_bits_in_all_modes([&] { return flip(cumsum(flip(x, {1}), 1), {1}) * x; });
  expect_same_bits_in_all_modes([&] { return cumsum(reshape(x * x, {24000}), 0); });
  expect_same_bits_in_all_modes([&] { return cumsum(reshape(permute(x, {1, 0}), {24000}), 0); });
  expect_same_bits_in_all_modes([&] { return cumsum(concat({x, x * 2}, 1), 1); });
  expect_same_bits_in_all_modes([&] { return pad(cumsum(x, 1), {{0, 0}, {1, 0}}); });
  expect_same_bits_in_all_modes(
      [&] { return cumsum(roll(x, 3, 1), 1) + roll(cumsum(x, 1), 2, 1); });
}

TEST(ScanFusion, SeveralReaders) {
  const Tensor x = rand({80, 300});
  x.eval();
  Tensor a, b, c;
  const Launches launches = launches_of([&] {
    c = cumsum(x * x, 1);
    a = exp(c);
    b = c / x;
    sync();
  });
  if (is_cpu()) {
    EXPECT_EQ(launches, (Launches{1, 0}));
  }
}

// The gradient goes backwards along the axis: the same, of views.
TEST(ScanFusion, GradientsAreKernelsToo) {
  const Tensor x = rand({80, 300}), w = rand({80, 300});
  x.eval(), w.eval();
  for (const int axis : {0, 1}) {
    auto gradient = [&] {
      return grad([&](const Tensor& y) { return sum(cumsum(y * w, axis) / 3 * w); })(x);
    };
    const Launches launches = launches_of([&] { gradient().eval(); });
    if (is_cpu()) {
      EXPECT_EQ(launches.calls, 0);
      EXPECT_LE(launches.kernels, 2);
    }
    expect_same_bits_in_all_modes(gradient);
  }
}

// What threads could share is not given to the one that scans.
TEST(ScanFusion, CostlyOpsKeepAwayFromFewLongRows) {
  const Tensor x = rand({200000});
  x.eval();
  const Launches launches = launches_of([&] { exp(cumsum(sin(x), 0)).eval(); });
  if (is_cpu()) {
    EXPECT_EQ(launches, (Launches{3, 0}));
  }
  const Launches cheap = launches_of([&] { (cumsum(x * 2, 0) / 3).eval(); });
  if (is_cpu()) {
    EXPECT_EQ(cheap, (Launches{1, 0}));
  }
}

TEST(ScanErrors, NameTheOpAndTheAxis) {
  EXPECT_THROW(static_cast<void>(cumsum(zeros({2, 3}), 2)), Error);
  EXPECT_THROW(static_cast<void>(cumprod(zeros({2, 3}), -3)), Error);
  EXPECT_THROW(static_cast<void>(cumsum(full({}, 1.f), 0)), Error);
  EXPECT_THROW(static_cast<void>(cumsum(Tensor(), 0)), Error);
}

}  // namespace
}  // namespace sluice::test
