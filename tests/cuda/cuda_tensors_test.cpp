// Tensors on GPUs as users meet them: copies and reads, memory, indices out of range.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "engine/record/node.h"
#include "tests/cuda/cuda_devices.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// ---- Copies and reads.

struct View {
  const char* name;
  Shape shape;
  Tensor (*make)(const Tensor&);
};
const View kViews[] = {
    {"whole", {4, 6}, [](const Tensor& x) { return x; }},
    {"scalar", {}, [](const Tensor& x) { return x; }},
    {"element",
     {4, 6},
     [](const Tensor& x) { return reshape(slice(slice(x, 0, 2, 3), 1, 3, 4), {}); }},
    {"empty", {3, 0, 2}, [](const Tensor& x) { return x; }},
    {"nothing of it", {4, 6}, [](const Tensor& x) { return slice(x, 0, 2, 2); }},
    {"row", {4, 6}, [](const Tensor& x) { return slice(x, 0, 2, 3); }},
    {"column", {4, 6}, [](const Tensor& x) { return slice(x, 1, 2, 3); }},
    {"transposed", {4, 6}, [](const Tensor& x) { return x.T(); }},
    {"permuted",
     {2, 3, 4},
     [](const Tensor& x) {
       return permute(x, {2, 0, 1});
     }},
    {"strided", {4, 9}, [](const Tensor& x) { return slice(slice(x, 1, 1, 9, 3), 0, 0, 4, 2); }},
    {"flipped",
     {4, 6},
     [](const Tensor& x) {
       return flip(x, {0, 1});
     }},
    {"flipped part", {4, 6}, [](const Tensor& x) { return flip(slice(x, 1, 1, 5), {1}); }},
    {"backwards", {7}, [](const Tensor& x) { return slice(flip(x, {0}), 0, 1, 6, 2); }},
    {"broadcast",
     {3, 1},
     [](const Tensor& x) {
       return broadcast_to(x, {2, 3, 5});
     }},
    {"broadcast scalar",
     {},
     [](const Tensor& x) {
       return broadcast_to(x, {3, 2});
     }},
    {"windows of it", {5, 4}, [](const Tensor& x) { return slice(x.T(), 0, 1, 3).T(); }},
};

std::string name_of_case(const View& view, DType dtype) {
  return absl::StrCat(view.name, " ", std::string(name_of(dtype)));
}

// All that a view of memory on a GPU may be, of every dtype.
TEST_F(CudaDevices, ReadViews) {
  with_seeds({}, [](EmulatedCuda&) {
    std::mt19937_64 rng(1);
    for (const DType dtype : all_dtypes()) {
      for (const View& view : kViews) {
        SCOPED_TRACE(name_of_case(view, dtype));
        const NdArray values = random_array(rng, dtype, view.shape);
        set_default_device(kCpu);
        const Tensor here = to_tensor(values);
        set_default_device(kFirst);
        const Tensor there = to_tensor(values);
        const std::vector<uint8_t> expected = read_bytes(view.make(here));
        const Tensor of_memory = view.make(there);
        EXPECT_EQ(of_memory.device(), kFirst);
        EXPECT_EQ(read_bytes(of_memory), expected);
        const Tensor part = reshape(slice(stack({there, there}), 0, 1, 2), view.shape);
        EXPECT_EQ(read_bytes(view.make(part)), expected) << "of a result";
      }
    }
  });
}

TEST_F(CudaDevices, CopiesKeepBytes) {
  with_seeds({.devices = 2}, [](EmulatedCuda&) {
    std::mt19937_64 rng(2);
    for (const DType dtype : all_dtypes()) {
      for (const View& view : kViews) {
        SCOPED_TRACE(name_of_case(view, dtype));
        const NdArray values = random_array(rng, dtype, view.shape);
        set_default_device(kCpu);
        const Tensor here = view.make(to_tensor(values));
        set_default_device(kFirst);
        const Tensor there = view.make(to_tensor(values));
        const std::vector<uint8_t> expected = read_bytes(here);
        for (const Tensor& x : {here, there}) {
          for (const Device device : {kCpu, kFirst, kSecond}) {
            const Tensor copy = x.to(device);
            EXPECT_EQ(copy.device(), device);
            EXPECT_EQ(copy.dtype(), dtype);
            EXPECT_EQ(copy.shape(), here.shape());
            EXPECT_EQ(read_bytes(copy), expected) << to_string(device);
            EXPECT_EQ(read_bytes(copy.to(kFirst).to(kSecond).to(kCpu)), expected);
          }
        }
      }
    }
    EXPECT_NO_THROW(sync());
  });
}

TEST_F(CudaDevices, ToTheSameDeviceIsTheSameTensor) {
  with({.devices = 2}, [](EmulatedCuda&) {
    for (const Device device : {kCpu, kFirst, kSecond}) {
      const Tensor pending = square_matrix(device) * 2.f;
      EXPECT_EQ(pending.to(device).node_ref().get(), pending.node_ref().get());
      EXPECT_FALSE(pending.is_materialized());
    }
  });
}

TEST_F(CudaDevices, PendingTensorsAreComputedWhereTheyAre) {
  with_seeds({.devices = 2}, [](EmulatedCuda& emulator) {
    const Tensor x = work(square_matrix(kFirst), 2);
    const std::vector<float> expected = x.to_vector<float>();
    const int64_t kernels = emulator.kernels_run();
    EXPECT_EQ(work(square_matrix(kFirst), 2).to(kCpu).to_vector<float>(), expected);
    EXPECT_GT(emulator.kernels_run(), kernels);
    const Tensor moved = work(square_matrix(kFirst), 2).to(kSecond);
    EXPECT_EQ(work(moved, 2).to_vector<float>(), work(x, 2).to_vector<float>());
  });
}

// ---- Memory.

constexpr int64_t kMiB = int64_t{1} << 20;

void expect_memory_to_run_out() {
  const Tensor base = ones({kMiB / 4});
  sync();
  std::vector<Tensor> held;
  const auto fill = [&] {
    for (int i = 0; i < 16; ++i) {
      held.push_back(exp(base * (0.01f * static_cast<float>(i + 1))));
      static_cast<void>(held.back().to_vector<float>());
    }
  };
  EXPECT_TRUE(
      fails_with(fill, Code::kResourceExhausted, {"exp", "(262144,)", "1.00 MiB", "cuda:0"}));
  EXPECT_GE(held.size(), 3);
  EXPECT_LT(held.size(), 9);
  // Only the last is lost, and that has been said.
  EXPECT_NO_THROW(sync());
  for (size_t i = 0; i + 1 < held.size(); ++i) {
    EXPECT_NEAR(max(held[i]).item<float>(), std::exp(0.01f * static_cast<float>(i + 1)), 1e-5f);
  }
  EXPECT_TRUE(fails_with([&] { return (held.back() + 1.f).to_vector<float>(); },
                         Code::kResourceExhausted, {"exp"}));
  // What is refused as a copy changes nothing either.
  EXPECT_TRUE(fails_with([] { return Tensor::from(std::vector<float>(4 * kMiB), {4 * kMiB}); },
                         Code::kResourceExhausted, {"from", "(4194304,)", "cuda:0"}));
  EXPECT_EQ(sum(base).item<float>(), 262144.f);
  held.clear();
  EXPECT_EQ(sum(exp(base * 0.f)).item<float>(), 262144.f);
  const Tensor again = base + 1.f;
  EXPECT_EQ(again.to_vector<float>(), std::vector<float>(kMiB / 4, 2.f));
  EXPECT_NO_THROW(sync());
}

TEST_F(CudaDevices, MemoryLimit) {
  with_seeds({}, [](EmulatedCuda& emulator) {
    config().memory_limit = 6 * kMiB + kMiB / 2;
    expect_memory_to_run_out();
    EXPECT_LE(emulator.memory_in_use(), config().memory_limit);
  });
}

TEST_F(CudaDevices, MemoryThatTheDeviceDoesNotHave) {
  with_seeds({.memory_bytes = 7 << 20}, [](EmulatedCuda&) { expect_memory_to_run_out(); });
}

TEST_F(CudaDevices, MemoryIsCounted) {
  with_seeds({.devices = 2}, [](EmulatedCuda&) {
    set_default_device(kFirst);
    EXPECT_EQ(stats().bytes_live, 0);
    {
      const Tensor x = Tensor::from(std::vector<float>(kMiB / 4, 1.f), {kMiB / 4});
      EXPECT_EQ(stats().bytes_live, kMiB);
      const Tensor y = x.to(kSecond);
      EXPECT_EQ(stats().bytes_live, 2 * kMiB);
      reset_stats();
      EXPECT_EQ(stats().bytes_allocated_peak, 2 * kMiB);
      EXPECT_EQ(sum(exp(flip(exp(x), {0}))).item<float>() > 0, true);
      {
        const Tensor z = exp(x), w = exp(y);
        sync();
        EXPECT_EQ(stats().bytes_live, 4 * kMiB);
      }
      EXPECT_EQ(stats().bytes_live, 2 * kMiB);
      EXPECT_GE(stats().bytes_allocated_peak, 4 * kMiB);
      EXPECT_LE(stats().bytes_allocated_peak, 6 * kMiB);
    }
    sync();
    EXPECT_EQ(stats().bytes_live, 0);
    reset_stats();
    EXPECT_EQ(stats().bytes_allocated_peak, 0);
  });
}

// ---- Errors.

TEST_F(CudaDevices, AnIndexOutOfRangeFailsItsReaderOnce) {
  with_seeds({}, [](EmulatedCuda&) {
    const Tensor x = Tensor::from({1.f, 2.f, 3.f});
    const Tensor good = x * 3.f;
    const Tensor wrong = take(x, Tensor::from<int64_t>({0, 7, 1}), 0);
    const Tensor after = good + 1.f, dependent = exp(wrong) + x;
    const auto out_of_range = [](const Tensor& t) {
      return fails_with([&] { return t.to_vector<float>(); }, Code::kOutOfRange,
                        {"take", "index 7", "extent 3"});
    };
    EXPECT_TRUE(out_of_range(wrong));
    EXPECT_TRUE(out_of_range(dependent));
    EXPECT_EQ(good.to_vector<float>(), (std::vector<float>{3, 6, 9}));
    EXPECT_EQ(after.to_vector<float>(), (std::vector<float>{4, 7, 10}));
    EXPECT_NO_THROW(sync());
    EXPECT_TRUE(fails_with([&] { return wrong.to(kCpu); }, Code::kOutOfRange, {"take", "index 7"}));

    const Tensor unread = take_along_axis(x, Tensor::from<int32_t>({0, -4}), 0) * 2.f;
    EXPECT_TRUE(
        fails_with([] { sync(); }, Code::kOutOfRange, {"take_along_axis", "-4", "extent 3"}));
    EXPECT_NO_THROW(sync());
    EXPECT_EQ(take(x, Tensor::from<int64_t>({-1}), 0).item<float>(), 3.f);
  });
}

TEST_F(CudaDevices, CopyToEachOtherDirectlyIfTheyCan) {
  for (const bool are_peers : {true, false}) {
    with({.devices = 2, .are_peers = are_peers}, [&](EmulatedCuda& emulator) {
      const Tensor x = square_matrix(kFirst);
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(x.to(kSecond).to(kFirst).to_vector<float>(), x.to_vector<float>());
      }
      EXPECT_EQ(emulator.staged_copies(), are_peers ? 0 : 6);
    });
  }
}

// Their memory is handed to kernels, so it must be there when these run.
TEST_F(CudaDevices, EmptyOperandsAreWaitedFor) {
  const auto empty = [](Shape shape) { return zeros(shape, DType::kFloat32, kCpu); };
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    with({.seed = seed}, [&](EmulatedCuda&) {
      config().compile = CompileMode::kBlocking;
      const Tensor a = empty({3, 0}).to(kFirst), b = empty({0, 5}).to(kFirst);
      EXPECT_EQ(matmul(a, b).to_vector<float>(), std::vector<float>(15));
      EXPECT_EQ(sum(a, {1}).to_vector<float>(), std::vector<float>(3));
    });
    with({.seed = seed, .devices = 2}, [&](EmulatedCuda&) {
      const Tensor a = empty({3, 0}).to(kFirst).to(kSecond);
      EXPECT_EQ(sum(a, {1}).to_vector<float>(), std::vector<float>(3));
    });
  }
}

TEST_F(CudaDevices, SynchronousLaunchesGiveTheSame) {
  std::vector<float> expected;
  ChildProcesses children(1);
  for (const char* text : {"0", "1"}) {
    children.start(
        absl::StrCat("SLUICE_SYNC=", text),
        [&] {
          setenv("SLUICE_SYNC", text, 1);
          emulated::start({.seed = 3});
          const std::vector<float> values = work(square_matrix(kFirst), 5).to_vector<float>();
          return std::string(reinterpret_cast<const char*>(values.data()), 4 * values.size());
        },
        [&](const std::string& answer) {
          std::vector<float> values(answer.size() / 4);
          std::memcpy(values.data(), answer.data(), answer.size());
          EXPECT_EQ(values.size(), 64);
          if (expected.empty()) expected = values;
          EXPECT_EQ(values, expected);
        });
  }
}

}  // namespace
}  // namespace sluice::test
