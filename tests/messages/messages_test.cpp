// Wrong calls, and what they are told: messages.txt, which SLUICE_RECORD_MESSAGES=1 writes anew.
// Read what it writes: a message names the op that was called, the shapes and dtypes it was given,
// the place of the call if it comes later than the call, and what would be right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/golden.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

class Transcript {
 public:
  // `text` fails with a message that names no other place than `line`, if any.
  void add(const std::string& text, int line, const std::function<void()>& f) {
    const std::string here = absl::StrCat("messages_test.cpp:", line);
    const std::string message = absl::StrReplaceAll(message_of(f), {{here, "HERE"}});
    EXPECT_THAT(message, testing::Not(testing::HasSubstr("messages_test.cpp"))) << text;
    absl::StrAppend(&all_, text, "\n    ", message, "\n");
    ++count_;
  }

  const std::string& all() const { return all_; }
  int count() const { return count_; }

 private:
  std::string all_;
  int count_ = 0;
};

#define WRONG(...) transcript.add(#__VA_ARGS__, __LINE__, [&] { static_cast<void>(__VA_ARGS__); })

TEST(Messages, WrongCalls) {
  Transcript transcript;
  const Tensor m = ones({2, 3}), v = Tensor::from({1.f, 2.f, 3.f}), scalar = full({}, 1.f);
  const Tensor i = Tensor::from<int64_t>({0, 7}), b = zeros({3}, kBool), none;
  const Tensor image = zeros({1, 3, 8, 8});

  // Shapes that do not go together.
  WRONG(m + ones({4}));
  WRONG(m == ones({3, 2}));
  WRONG(maximum(m, ones({2})));
  WRONG(where(b, m, ones({4})));
  WRONG(matmul(m, m));
  WRONG(matmul(v, ones({4})));
  WRONG(matmul(scalar, m));
  WRONG(matmul(ones({2, 4, 3}), ones({5, 3, 2})));
  WRONG(concat({m, ones({2, 4})}, 0));
  WRONG(concat({m, v}, 0));
  WRONG(concat(std::vector<Tensor>{}, 0));
  WRONG(stack({m, ones({3, 2})}, 0));
  WRONG(broadcast_to(m, {3, 3}));
  WRONG(sort(m, 2));
  WRONG(conv2d(image, ones({4, 2, 3, 3})));

  // Shapes that cannot be.
  WRONG(m.reshape({4}));
  WRONG(m.reshape({-1, -1}));
  WRONG(m.reshape({4, -1}));
  WRONG(m.reshape({-2, -3}));
  WRONG(zeros({-1}));
  WRONG(zeros({int64_t{1} << 40, int64_t{1} << 40}));
  WRONG(rand({int64_t{1} << 61}, kFloat64));
  WRONG(zeros({1, 1, 1, 1, 1, 1, 1, 1}).expand_dims(0));
  WRONG(Tensor::from({1.f, 2.f, 3.f}, {2, 2}));
  WRONG(split(v, 2));
  WRONG(pad(m, {{1, 1}}));
  WRONG(max(zeros({0, 3}), 0));
  WRONG(arange(0, 10, 0));
  WRONG(linspace(0, 1, -1));
  WRONG(randint(5, 5, {2}));

  // Axes and indices that are not there.
  WRONG(m.sum(2));
  WRONG(m.mean({0, 0}));
  WRONG(m.permute({0}));
  WRONG(m.squeeze(0));
  WRONG(softmax(m, -3));
  WRONG(m(2, 0));
  WRONG(m(0, 0, 0));
  WRONG(m(Slice{0, 2, 0}));
  WRONG(m.shape(2));

  // Types.
  WRONG(b - b);
  WRONG(~m);
  WRONG(take(m, v, 0));
  WRONG(rand({2}, kInt32));
  WRONG(v.to_vector<double>());
  WRONG(v.item<float>());
  std::vector<float> few(2);
  WRONG(v.copy_to(std::span<float>(few)));

  // Nothing there.
  WRONG(none.shape());
  WRONG(none + m);
  WRONG(matmul(m, none));
  WRONG(concat({m, none}));
  WRONG(call("sofmax", {m}));

  // What only the run can know: the place is that of the call.
  WRONG(take(v, i, 0).to_vector<float>());
  WRONG((exp(take(v, i, 0)) * 2.f).sum().item<float>());
  WRONG(take_along_axis(v, i, 0).to_vector<float>());
  WRONG(v[i].to_vector<float>());
  WRONG(v.set({i}, 0.f).to_vector<float>());
  WRONG((static_cast<void>(gather(v, i, 0).eval()), sync()));

  EXPECT_GE(transcript.count(), 40);
  const std::string path = SLUICE_TEST_MESSAGES "/messages.txt";
  if (std::getenv("SLUICE_RECORD_MESSAGES") != nullptr) {
    std::ofstream(path) << transcript.all();
  }
  std::stringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(transcript.all(), expected.str());
}

// The numbers differ between devices.
TEST(Messages, MemoryThatCannotBeHadSaysWhoHoldsIt) {
  const ConfigGuard guard;
  sync();
  config().memory_limit = 64 << 20;
  const auto mebibytes = [](int64_t n) { return Shape{n << 18}; };
  // Named, and of other lines: they are the greatest.
  const Tensor a = Tensor::from(std::vector<float>(8 << 18, 1.f));
  const int line_of_b = __LINE__ + 1;
  const Tensor b = a + 1.f;
  const int line_of_c = __LINE__ + 1;
  const Tensor c = rand(mebibytes(16)), d = arange(0, 12 << 18, 1, kFloat32);
  sync();
  const int line_of_wrong = __LINE__ + 1;
  const Tensor wrong = softmax(rand({40, 1 << 18}), 0);
  const auto has = [](const std::string& part) { return testing::HasSubstr(part); };
  const auto at = [](const char* op, int line) {
    return absl::StrCat(op, " at messages_test.cpp:", line, " (");
  };
  const std::string message = message_of([&] { wrong.eval(), sync(); });
  EXPECT_THAT(message,
              testing::AllOf(testing::StartsWith("softmax (result float32(40, 262144)): "),
                             has("cannot allocate 40.0 MiB"), has("44.0 MiB are in use"),
                             has("of a limit of 64.0 MiB"), has(at("rand", line_of_c)),
                             has(at("arange", line_of_c)), has("16.0 MiB"), has("12.0 MiB"),
                             has(absl::StrCat(", called at messages_test.cpp:", line_of_wrong))));
  // As large as what from() copied: either may be the third.
  EXPECT_THAT(message, testing::AnyOf(has(at("add", line_of_b)), has("from (8.00 MiB)")));
  EXPECT_EQ(b.to_vector<float>()[0], 2.f);
}

}  // namespace
}  // namespace sluice::test
