// Devices as users meet them: which there are, several at once, what is said when one cannot be
// used, and its loss.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cuda/driver/driver.h"
#include "tests/cuda/cuda_devices.h"
#include "tests/support/golden.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

constexpr char kLost[] = "This process cannot use the device any more";

// ---- Which there are.

TEST_F(CudaDevices, AreListed) {
  with({.devices = 2}, [](EmulatedCuda&) {
    EXPECT_EQ(devices(), (std::vector<Device>{kCpu, kFirst, kSecond}));
    EXPECT_EQ(default_device(), kFirst);
    EXPECT_EQ(ones({2}).device(), kFirst);
    EXPECT_EQ(Tensor::from({1.f}).device(), kFirst);
    EXPECT_EQ(rand({2}).device(), kFirst);
    EXPECT_EQ(ones({2}, DType::kFloat32, kSecond).device(), kSecond);
    EXPECT_EQ((ones({2}, DType::kFloat32, kSecond) + 1.f).device(), kSecond);
    EXPECT_EQ(ones({2}, DType::kFloat32, kCpu).device(), kCpu);
    set_default_device(kSecond);
    EXPECT_EQ(zeros({2}).device(), kSecond);
    set_default_device(kCpu);
    EXPECT_EQ(zeros({2}).device(), kCpu);
  });
}

TEST_F(CudaDevices, ThatAreNotThereAreNamed) {
  with({.devices = 2}, [](EmulatedCuda&) {
    const Tensor x = Tensor::from({1.f, 2.f});
    for (const int index : {2, 7, -1, 65536}) {
      const Device device = Device::cuda(index);
      const std::vector<std::string> parts = {index == 65536 ? "cuda:" : to_string(device), "2"};
      const auto refused = [&](auto&& f) {
        return fails_with(f, Code::kFailedPrecondition, parts);
      };
      EXPECT_TRUE(refused([&] { set_default_device(device); })) << index;
      EXPECT_TRUE(refused([&] { return x.to(device); })) << index;
      EXPECT_TRUE(refused([&] { return zeros({2}, DType::kFloat32, device); })) << index;
      EXPECT_TRUE(refused([&] { return rand({2}, DType::kFloat32, device); })) << index;
      EXPECT_TRUE(refused([&] { return arange(0, 3, 1, DType::kInt32, device); })) << index;
    }
    EXPECT_EQ(default_device(), kFirst);
    EXPECT_EQ((x + 1.f).to_vector<float>(), (std::vector<float>{2, 3}));
  });
}

TEST_F(CudaDevices, AreChosenByTheEnvironment) {
  const auto expect = [](const char* text, Device device) {
    with({.devices = 2}, [&](EmulatedCuda&) {
      setenv("SLUICE_DEVICE", text, 1);
      EXPECT_EQ(default_device(), device) << text;
      const Tensor x = square_matrix(device);
      EXPECT_EQ(x.device(), device);
      EXPECT_EQ(sum(x - x).item<float>(), 0.f);
    });
  };
  expect("cpu", kCpu);
  expect("cuda", kFirst);
  expect("cuda:0", kFirst);
  expect("cuda:1", kSecond);
  expect("", kFirst);

  const auto refuse = [](const char* text, Code code) {
    with({.devices = 2}, [&](EmulatedCuda&) {
      setenv("SLUICE_DEVICE", text, 1);
      for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(fails_with([] { default_device(); }, code, {"SLUICE_DEVICE", text}));
        EXPECT_TRUE(fails_with([] { return zeros({2}); }, code, {"SLUICE_DEVICE", text}));
      }
      EXPECT_EQ(ones({2}, DType::kFloat32, kSecond).to_vector<float>(), (std::vector<float>{1, 1}));
      set_default_device(kCpu);
      EXPECT_EQ(ones({2}).to_vector<float>(), (std::vector<float>{1, 1}));
    });
  };
  for (const char* text :
       {"nonsense", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "CPU", "cuda:1:2"}) {
    refuse(text, Code::kInvalidArgument);
  }
  refuse("cuda:2", Code::kFailedPrecondition);
  for (const char* text : {"cuda:65536", "cuda:99999999999"}) {
    with({.devices = 2}, [&](EmulatedCuda&) {
      setenv("SLUICE_DEVICE", text, 1);
      EXPECT_THROW(default_device(), Error) << text;
    });
  }
}

// ---- A driver that cannot be used.

// One sentence for the user.
void expect_no_gpu(const std::vector<std::string>& parts) {
  EXPECT_EQ(devices(), std::vector<Device>{kCpu});
  EXPECT_EQ(default_device(), kCpu);
  const Tensor x = square_matrix(kCpu);
  EXPECT_TRUE(fails_with([&] { return x.to(kFirst); }, Code::kFailedPrecondition, parts));
  EXPECT_TRUE(fails_with([] { set_default_device(kFirst); }, Code::kFailedPrecondition, parts));
  try {
    check_device(kFirst);
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_LT(message.size(), 200) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_NE(message.find("cuda:0"), std::string::npos) << message;
  }
  EXPECT_EQ(sum(work(x, 2) * 0.f).item<float>(), 0.f);
  EXPECT_NO_THROW(sync());
}

void expect_refusal_by_environment(const std::vector<std::string>& parts) {
  setenv("SLUICE_DEVICE", "cuda", 1);
  EXPECT_TRUE(fails_with([] { default_device(); }, Code::kFailedPrecondition, parts));
  EXPECT_TRUE(fails_with([] { return Tensor::from({1.f}); }, Code::kFailedPrecondition, parts));
}

TEST_F(CudaDevices, NoDriver) {
  run_in_child("no driver", [] {
    if (runtime::cuda::load_driver("libcuda.so.1").ok()) return;  // this machine has one
    unsetenv("SLUICE_DEVICE");
    expect_no_gpu({"cuda:0", "no CUDA driver"});
  });
  run_in_child("no driver, but SLUICE_DEVICE=cuda", [] {
    if (runtime::cuda::load_driver("libcuda.so.1").ok()) return;
    expect_refusal_by_environment({"SLUICE_DEVICE=cuda", "no CUDA driver"});
  });
}

TEST_F(CudaDevices, OldDriver) {
  const std::vector<std::string> parts = {"driver is too old", "11.8", "12.1"};
  with({.driver_version = 11080}, [&](EmulatedCuda&) { expect_no_gpu(parts); });
  with({.driver_version = 11080}, [&](EmulatedCuda&) { expect_refusal_by_environment(parts); });
  with({.driver_version = 12010}, [&](EmulatedCuda&) { EXPECT_EQ(default_device(), kFirst); });
}

TEST_F(CudaDevices, DriverWithoutDevices) {
  with({.devices = 0}, [](EmulatedCuda&) { expect_no_gpu({"no device", "CUDA_VISIBLE_DEVICES"}); });
}

// Every call of opening a device fails in turn.
TEST_F(CudaDevices, ThatCannotBeOpenedAreTriedAgain) {
  for (const Result result : {Result::kOutOfMemory, Result::kInvalidValue}) {
    for (int64_t n = 1; n <= 40; ++n) {
      with({.seed = static_cast<uint64_t>(n)}, [&](EmulatedCuda& emulator) {
        SCOPED_TRACE(absl::StrCat("call ", n));
        ASSERT_EQ(devices().size(), 2);
        const int64_t start = emulator.calls();
        emulator.fail_call(n, result);
        try {
          check_device(kFirst);
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("cuda:0"), std::string::npos) << error.what();
        }
        if (emulator.calls() - start < n) emulator.fail_call(1 << 30, result);
        EXPECT_NO_THROW(set_default_device(kFirst));
        EXPECT_EQ((ones({2}) + 1.f).to_vector<float>(), (std::vector<float>{2, 2}));
      });
    }
  }
}

// What a program that names no device would fail for it does without.
TEST_F(CudaDevices, TheDefaultIsTheCpuIfTheGpuCannotBeOpened) {
  with({}, [](EmulatedCuda& emulator) {
    ASSERT_EQ(devices().size(), 2);
    emulator.fail_call(8, Result::kOutOfMemory);
    EXPECT_EQ(default_device(), kCpu);
    EXPECT_EQ((ones({2}) + 1.f).to_vector<float>(), (std::vector<float>{2, 2}));
  });
}

// ---- Several devices.

TEST_F(CudaDevices, CannotBeMixedInOneOp) {
  with({.devices = 2}, [](EmulatedCuda&) {
    const Device all[] = {kCpu, kFirst, kSecond};
    for (const Device one : all) {
      for (const Device other : all) {
        if (one == other) continue;
        const Tensor a = square_matrix(one), b = square_matrix(other);
        const Tensor rows = zeros({2}, DType::kInt64, other);
        const auto refused = [&](const char* op, auto&& f) {
          EXPECT_TRUE(
              fails_with(f, Code::kInvalidArgument, {op, to_string(one), to_string(other)}));
        };
        refused("add", [&] { return a + b; });
        refused("add", [&] {
          Tensor c = a;
          c += b;
        });
        refused("atan2", [&] { return atan2(a, b); });
        refused("less", [&] { static_cast<void>(a < b); });
        refused("matmul", [&] { return matmul(a, b); });
        refused("where", [&] { return where(a > 0.f, a, b); });
        refused("where", [&] { return where(b > 0.f, a, a); });
        refused("clip", [&] { return clip(a, b, b); });
        refused("lerp", [&] { return lerp(a, a, b); });
        refused("concat", [&] { return concat({a, a, b}); });
        refused("stack", [&] { return stack({a, b}); });
        refused("take", [&] { return take(a, rows, 0); });
        refused("take_along_axis", [&] {
          return take_along_axis(a, zeros({8, 8}, DType::kInt64, other), 0);
        });
        EXPECT_EQ(sum(a - b.to(one)).item<float>(), 0.f);
      }
    }
  });
}

// By scale: what work() gives on a GPU.
std::vector<std::vector<float>> expected_work(int count, int steps) {
  std::vector<std::vector<float>> expected;
  for (int i = 0; i < count; ++i) {
    const float scale = 1 + static_cast<float>(i);
    expected.push_back(work(square_matrix(kFirst, scale), steps).to_vector<float>());
  }
  return expected;
}

TEST_F(CudaDevices, WorkTogetherForOneThread) {
  with_seeds({.devices = 2}, [](EmulatedCuda&) {
    constexpr int kTensors = 4;
    const auto expected = expected_work(kTensors, 6);
    std::vector<Tensor> tensors;
    for (int i = 0; i < kTensors; ++i) {
      const float scale = 1 + static_cast<float>(i);
      tensors.push_back(square_matrix(i % 2 == 0 ? kFirst : kSecond, scale));
    }
    for (int step = 0; step < 6; ++step) {
      for (int i = 0; i < kTensors; ++i) {
        tensors[i] = work(tensors[i], 1);
        if ((step + i) % 3 == 0) flush();
      }
    }
    for (int i = kTensors; i-- > 0;) EXPECT_EQ(tensors[i].to_vector<float>(), expected[i]) << i;
    // Round and round.
    Tensor x = square_matrix(kFirst);
    for (int step = 0; step < 6; ++step) x = work(x, 1).to(step % 2 == 0 ? kSecond : kFirst);
    EXPECT_EQ(x.to_vector<float>(), expected[0]);
  });
}

TEST_F(CudaDevices, WorkTogetherForManyThreads) {
  with_seeds({.devices = 2}, [](EmulatedCuda&) {
    constexpr int kThreads = 6;
    const auto expected = expected_work(kThreads, 4);
    // What one thread begins another goes on with.
    std::vector<Tensor> tensors(kThreads);
    for (int round = 0; round < 4; ++round) {
      std::vector<std::thread> threads;
      std::vector<Tensor> next(kThreads);
      for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
          const int from = (i + 1) % kThreads;
          const float scale = 1 + static_cast<float>(from);
          const Tensor x =
              round == 0 ? square_matrix(from % 2 == 0 ? kFirst : kSecond, scale) : tensors[from];
          next[from] = work(x, 1);
          if (i == round) sync();
          if (i == round + 1) static_cast<void>(next[from].to(kCpu));
        });
      }
      for (std::thread& thread : threads) thread.join();
      tensors = next;
    }
    for (int i = 0; i < kThreads; ++i) EXPECT_EQ(tensors[i].to_vector<float>(), expected[i]) << i;
    EXPECT_NO_THROW(sync());
  });
}

// ---- A device that is lost.

TEST_F(CudaDevices, ALostDeviceFailsAlike) {
  with_seeds({.devices = 2}, [](EmulatedCuda& emulator) {
    // Of these some are destroyed after main.
    static Tensor here, there, elsewhere, pending;
    here = square_matrix(kCpu);
    there = square_matrix(kFirst);
    elsewhere = square_matrix(kSecond);
    const std::vector<float> expected = work(elsewhere, 2).to_vector<float>();
    const Tensor before = work(there, 1);
    static_cast<void>(before.to_vector<float>());
    const Tensor unread = work(here, 2);
    emulator.fail_kernel(3, Result::kIllegalAddress);
    const Tensor culprit = work(there, 2);
    const std::string first = message_of([] { sync(); });
    const size_t begin = first.find("cuda:0 (Emulated GPU 0) failed: CUDA_ERROR_ILLEGAL_ADDRESS");
    ASSERT_NE(begin, std::string::npos) << first;
    const std::string message = first.substr(begin);
    EXPECT_NE(message.find("first incomplete: "), std::string::npos) << message;
    EXPECT_NE(message.find(kLost), std::string::npos) << message;

    const auto lost = [&](const std::function<void()>& f) {
      return fails_with(f, Code::kInternal, {message});
    };
    EXPECT_TRUE(lost([&] { return culprit.to_vector<float>(); }));
    EXPECT_TRUE(lost([&] { return before.to_vector<float>(); }));
    EXPECT_TRUE(lost([&] { return before.to(kSecond); }));
    EXPECT_TRUE(lost([&] { return (there + 1.f).to_vector<float>(); }));
    EXPECT_TRUE(lost([&] { return work(there, 1).to(kCpu); }));
    EXPECT_TRUE(lost([] { return sum(square_matrix(kFirst)).item<float>(); }));
    EXPECT_TRUE(lost([] { return here.to(kFirst); }));
    EXPECT_TRUE(lost([] {
      set_default_device(kFirst);
      static_cast<void>(Tensor::from({1.f}));
    }));
    std::thread([&] {
      EXPECT_TRUE(lost([] { return (there * 2.f).to_vector<float>(); }));
      EXPECT_TRUE(lost([] { return (square_matrix(kFirst) + 1.f).to_vector<float>(); }));
    }).join();
    message_of([] { sync(); });
    EXPECT_NO_THROW(sync());

    // Everything else goes on.
    EXPECT_EQ(work(elsewhere, 2).to_vector<float>(), expected);
    EXPECT_EQ(unread.to_vector<float>(), work(here, 2).to_vector<float>());
    EXPECT_EQ(here.to(kSecond).to_vector<float>(), here.to_vector<float>());
    EXPECT_EQ(devices().size(), 3);
    EXPECT_NO_THROW(static_cast<void>(stats()));
    pending = there + elsewhere.to(kCpu).numel();
  });
}

TEST_F(CudaDevices, MayBeInUseWhenTheProcessEnds) {
  with_seeds({.devices = 2}, [](EmulatedCuda&) {
    static std::vector<Tensor> tensors;
    for (const Device device : {kCpu, kFirst, kSecond}) {
      tensors.push_back(square_matrix(device));
      tensors.push_back(work(tensors.back(), 3));
      tensors.back().eval();
      tensors.push_back(work(tensors.back(), 3));
    }
  });
}

// Even if the CPU was used before the driver was loaded.
TEST_F(CudaDevices, HaveDoneTheirWorkWhenTheDriverIsTornDown) {
  static EmulatedCuda* used = nullptr;
  static int64_t launched = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    run_in_child(absl::StrCat("seed ", seed), [&] {
      std::atexit([] {  // the last to run
        if (used->kernels_run() >= launched) return;
        std::fprintf(stderr, "%lld kernels ran of %lld\n",
                     static_cast<long long>(used->kernels_run()), static_cast<long long>(launched));
        std::_Exit(3);
      });
      unsetenv("SLUICE_DEVICE");
      used = &emulated::start({.seed = seed});
      static_cast<void>((square_matrix(kCpu) + 1.f).to_vector<float>());
      reset_stats();
      work(square_matrix(kFirst), 5).eval();
      launched = stats().kernels_launched;
      EXPECT_GT(launched, 0);
    });
  }
}

TEST_F(CudaDevices, AreNotForForkedProcesses) {
  for (const CompileMode mode : {CompileMode::kAsync, CompileMode::kBlocking, CompileMode::kOff}) {
    with({}, [&](EmulatedCuda&) {
      config().compile = mode;
      const Tensor x = square_matrix(kFirst);
      x.eval();
      sync();
      std::fflush(nullptr);
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        alarm(20);
        const bool right = fails_with([&] { return tanh(x * 2.f).to_vector<float>(); },
                                      Code::kFailedPrecondition, {"forked"}) &&
                           fails_with([] { return square_matrix(kFirst).to_vector<float>(); },
                                      Code::kFailedPrecondition, {"forked"});
        std::_Exit(right ? 0 : 1);
      }
      int status = 0;
      EXPECT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
      EXPECT_EQ((x + 1.f).to_vector<float>().size(), 64u);
    });
  }
}

}  // namespace
}  // namespace sluice::test
