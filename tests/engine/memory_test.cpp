// Tensors on the program's own memory: who frees it and when, that it is never written, and reads
// in place.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using Code = ErrorCode;

bool on_cpu() { return default_device() == Device::cpu(); }

// Memory on the heap that counts its deletions; a sanitizer sees each use after them.
struct Owned {
  explicit Owned(size_t count) : values(new float[count]) {
    std::iota(values, values + count, 0.f);
  }
  std::function<void()> deleter() {
    return [this] {
      ++deletions;
      delete[] values;
      values = nullptr;
    };
  }
  float* values;
  std::atomic<int> deletions{0};
};

TEST(Adopt, IsReadInPlaceAndFreedOnce) {
  Owned owned(6);
  const float* const data = owned.values;
  {
    const Tensor x = Tensor::adopt(owned.values, {2, 3}, DType::kFloat32, owned.deleter());
    EXPECT_EQ(owned.deletions, on_cpu() ? 0 : 1);
    EXPECT_TRUE(x.is_materialized());
    if (on_cpu()) {
      EXPECT_EQ(x.span<float>().data(), data);
    }
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ((x.T() + 1).to_vector<float>(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  }
  sync();
  EXPECT_EQ(owned.deletions, 1);
}

TEST(Adopt, LivesWhileSomethingPendingReadsIt) {
  Owned owned(1000);
  Tensor sum_of_it;
  {
    const Tensor x = Tensor::adopt(owned.values, {1000}, DType::kFloat32, owned.deleter());
    sum_of_it = sum(x * 2);
  }
  EXPECT_EQ(owned.deletions, on_cpu() ? 0 : 1);
  EXPECT_EQ(sum_of_it.item<float>(), 999000.f);
  sync();
  EXPECT_EQ(owned.deletions, 1);
}

TEST(Adopt, ViewsKeepIt) {
  Owned owned(12);
  Tensor row;
  {
    const Tensor x = Tensor::adopt(owned.values, {3, 4}, DType::kFloat32, owned.deleter());
    row = x[1];
  }
  EXPECT_EQ(row.to_vector<float>(), (std::vector<float>{4, 5, 6, 7}));
  row = Tensor();
  EXPECT_EQ(owned.deletions, 1);
}

TEST(Adopt, IsNeverWritten) {
  std::vector<float> values(4096, 1.f);
  const std::vector<float> before = values;
  // A chain that would be computed in place, of a temporary, of the engine's own memory.
  Tensor y = Tensor::adopt(values.data(), {4096}, DType::kFloat32) + 1;
  for (int i = 0; i < 10; ++i) {
    y = y * 2;
    y.eval();
  }
  EXPECT_EQ(y.to_vector<float>()[7], 2048.f);
  EXPECT_EQ(values, before);
  Tensor z = Tensor::borrow(values, {4096});
  z += 1;
  z.eval();
  EXPECT_EQ(z.to_vector<float>()[7], 2.f);
  EXPECT_EQ(values, before);
}

TEST(Adopt, TheDeleterRunsOnceIfAdoptThrows) {
  for (const std::vector<int64_t>& strides :
       {std::vector<int64_t>{1}, std::vector<int64_t>{INT64_MAX / 2, 1}}) {
    Owned owned(6);
    EXPECT_TRUE(fails_with(
        [&] {
          return Tensor::adopt(owned.values, {3, 2}, DType::kFloat32, owned.deleter(), strides);
        },
        Code::kInvalidArgument, {"adopt", "float32(3, 2)", "strides"}));
    EXPECT_EQ(owned.deletions, 1);
  }
  int deletions = 0;
  EXPECT_TRUE(
      fails_with([&] { return Tensor::adopt(nullptr, {2}, DType::kInt8, [&] { ++deletions; }); },
                 Code::kInvalidArgument, {"adopt", "null", "int8(2,)"}));
  EXPECT_EQ(deletions, 1);
}

TEST(Adopt, NothingNeedsNoMemory) {
  int deletions = 0;
  const Tensor x = Tensor::adopt(nullptr, {0, 3}, DType::kInt8, [&] { ++deletions; });
  EXPECT_EQ(deletions, 1);
  EXPECT_EQ(x.shape(), (Shape{0, 3}));
  EXPECT_EQ(sum(x).item<int>(), 0);
}

TEST(Adopt, Strides) {
  std::vector<int32_t> values(12);
  std::iota(values.begin(), values.end(), 0);
  const auto adopted = [&](int first, const Shape& shape, const std::vector<int64_t>& strides) {
    return Tensor::adopt(values.data() + first, shape, DType::kInt32, {}, strides);
  };
  const Tensor columns = adopted(0, {3, 4}, {1, 3});
  EXPECT_EQ(columns.to_vector<int32_t>(),
            (std::vector<int32_t>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}));
  EXPECT_EQ(columns[1].to_vector<int32_t>(), (std::vector<int32_t>{1, 4, 7, 10}));
  const Tensor reversed = adopted(11, {4, 3}, {-3, -1});
  EXPECT_EQ(reversed.to_vector<int32_t>()[0], 11);
  EXPECT_EQ((reversed + 0)(3, 2).item<int>(), 0);
  EXPECT_EQ(adopted(5, {2, 2}, {0, 1}).to_vector<int32_t>(), (std::vector<int32_t>{5, 6, 5, 6}));
  EXPECT_EQ(adopted(1, {2, 2}, {4, 2}).to_vector<int32_t>(), (std::vector<int32_t>{1, 3, 5, 7}));
}

TEST(Adopt, MemoryThatIsNotAlignedIsCopied) {
  alignas(8) char bytes[20] = {};
  const float values[] = {1, 2, 3};
  std::memcpy(bytes + 1, values, sizeof(values));
  int deletions = 0;
  const Tensor x = Tensor::adopt(bytes + 1, {3}, DType::kFloat32, [&] { ++deletions; });
  EXPECT_EQ(deletions, 1);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3}));
}

// Kernels that read a vector further than the values reach would fault here.
TEST(Adopt, NothingBesideTheValuesIsRead) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* const pages =
      static_cast<char*>(mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_READ | PROT_WRITE), 0);
  for (const bool at_end : {false, true}) {
    for (const int64_t count : {1, 3, 5, 17, 64, 131}) {
      auto* const values = reinterpret_cast<float*>(
          pages + page + (at_end ? page - static_cast<size_t>(count) * sizeof(float) : 0));
      std::fill(values, values + count, 2.f);
      for (const CompileMode mode : {CompileMode::kOff, CompileMode::kBlocking}) {
        const ConfigGuard guard;
        config().compile = mode;
        const Tensor x = Tensor::adopt(values, {count}, DType::kFloat32);
        EXPECT_EQ(sum(x * 3).item<double>(), 6. * static_cast<double>(count));
        EXPECT_EQ((x.flip() + 1).to_vector<float>()[0], 3.f);
        EXPECT_EQ(cumsum(x, 0).to_vector<float>().back(), 2.f * static_cast<float>(count));
        EXPECT_EQ(matmul(x, x).item<double>(), 4. * static_cast<double>(count));
      }
      sync();
    }
  }
  munmap(pages, 3 * page);
}

TEST(Adopt, TheLastHandleMayGoOnAnotherThread) {
  Owned owned(100);
  std::thread([x = Tensor::adopt(owned.values, {100}, DType::kFloat32, owned.deleter())]() mutable {
    EXPECT_EQ(sum(x).item<float>(), 4950.f);
    x = Tensor();
  }).join();
  sync();
  EXPECT_EQ(owned.deletions, 1);
}

TEST(Adopt, IsNotCounted) {
  if (!on_cpu()) GTEST_SKIP() << "copied";
  std::vector<double> values(10000, 1.);
  sync();
  const int64_t before = stats().bytes_live;
  const Tensor x = Tensor::borrow(values, {100, 100});
  EXPECT_EQ(stats().bytes_live, before);
  const Tensor y = (x + 1).eval();
  EXPECT_EQ(stats().bytes_live, before + 80000);
}

TEST(Borrow, CopiesNothingOnTheCpu) {
  std::vector<double> values = {1, 2, 3, 4};
  const Tensor x = Tensor::borrow(values, {2, 2});
  if (on_cpu()) {
    EXPECT_EQ(x.span<double>().data(), values.data());
  }
  EXPECT_EQ(x.dtype(), DType::kFloat64);
  EXPECT_EQ(sum(x, 1).to_vector<double>(), (std::vector<double>{3, 7}));
  const Tensor part = Tensor::borrow(std::span<const double>(values).subspan(1), {3});
  EXPECT_EQ(part.to_vector<double>(), (std::vector<double>{2, 3, 4}));
  EXPECT_TRUE(fails_with([&] { return Tensor::borrow(values, {3}); }, Code::kInvalidArgument,
                         {"borrow", "4", "float64(3,)"}));
}

TEST(Borrow, SyncEndsTheLoan) {
  Tensor total;
  {
    std::vector<float> values(1000, 0.5f);
    total = sum(Tensor::borrow(values, {1000}));
    sync();
    std::fill(values.begin(), values.end(), 9.f);
  }
  EXPECT_EQ(total.item<float>(), 500.f);
}

TEST(Span, OfAResultIsWhereTheResultIs) {
  const Tensor x = arange(6).reshape(2, 3) + 1;
  const std::span<const int64_t> values = x.span<int64_t>();
  EXPECT_EQ(std::vector<int64_t>(values.begin(), values.end()),
            (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(x.span<int64_t>().data(), values.data());
  EXPECT_TRUE(fails_with([&] { return x.span<int>(); }, Code::kInvalidArgument,
                         {"span", "int32", "int64(2, 3)"}));
  EXPECT_TRUE(
      fails_with([&] { return Tensor().span<int>(); }, Code::kFailedPrecondition, {"span"}));
}

TEST(Span, OfAViewIsACopyThatLivesAsLong) {
  Tensor base = (arange(6).reshape(2, 3) + 1).eval();
  Tensor view = base.T();
  base = Tensor();
  const std::span<const int64_t> values = view.span<int64_t>();
  EXPECT_EQ(view.span<int64_t>().data(), values.data());
  const Tensor other = view + 1;
  sync();
  EXPECT_EQ(std::vector<int64_t>(values.begin(), values.end()),
            (std::vector<int64_t>{1, 4, 2, 5, 3, 6}));
  // Each view has its own.
  const Tensor row = view[0];
  EXPECT_EQ(row.span<int64_t>()[1], 4);
  EXPECT_EQ(values[1], 4);
}

TEST(Span, ACopyDoesNotOutliveTheValuesThatItShows) {
  Tensor x = (arange(6).reshape(2, 3) + 1).eval();
  {
    const Tensor view = x.T();
    EXPECT_EQ(view.span<int64_t>()[1], 4);
  }
  // In place of x, if the engine likes.
  x = x * 10;
  x.eval();
  const Tensor view = x.T();
  EXPECT_EQ(view.span<int64_t>()[1], 40);
}

TEST(Span, Nothing) { EXPECT_TRUE(zeros({0, 3}).span<float>().empty()); }

TEST(CopyTo, Strided) {
  const Tensor x = arange(6).reshape(2, 3);
  std::vector<int64_t> out(8, -1);
  x.copy_to(std::span(out), {1, 2});
  EXPECT_EQ(out, (std::vector<int64_t>{0, 3, 1, 4, 2, 5, -1, -1}));
  x.T().eval().copy_to(std::span(out), {1, 3});
  EXPECT_EQ(out, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, -1, -1}));
  const auto bad = [&](const std::vector<int64_t>& strides) {
    EXPECT_TRUE(fails_with([&] { x.copy_to(std::span(out), strides); }, Code::kInvalidArgument,
                           {"copy_to", "int64(2, 3)"}));
  };
  bad({4, 2});
  bad({-1, 2});
  bad({1});
  bad({INT64_MAX, INT64_MAX});
  std::vector<float> floats(6);
  EXPECT_TRUE(fails_with(
      [&] {
        x.copy_to(std::span(floats), {3, 1});
      },
      Code::kInvalidArgument, {"copy_to", "float32", "int64(2, 3)"}));
}

}  // namespace
}  // namespace sluice::test
