// The CUDA runtime layer on an emulated driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/emulated_cuda/host_compiler.h"
#include "tests/emulated_cuda/runtime_rig.h"

namespace sluice::test {
namespace {

using cuda::CudaDevice;
using cuda::CudaStream;
using cuda::Driver;
using cuda::Function;
using cuda::Result;
using emulated::EmulatedCuda;
using emulated::Options;
using runtime::Event;
using testing::Each;
using testing::HasSubstr;

constexpr uint64_t kSeeds = 50;

std::string message_of(const absl::Status& status) { return std::string(status.message()); }

std::vector<float> numbers(int64_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

// --- The driver.

TEST(CudaDriver, SaysThatThereIsNone) {
  const absl::Status status = cuda::load_driver("libno-such-driver.so.1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message_of(status), HasSubstr("there is no CUDA driver: libno-such-driver.so.1"));
  // The real one, which need not be there.
  const absl::StatusOr<const Driver*> real = cuda::driver();
  EXPECT_TRUE(real.ok() || absl::IsFailedPrecondition(real.status())) << real.status();
  EXPECT_EQ(real.ok(), cuda::num_cuda_devices() > 0);
}

TEST(CudaDriver, SaysThatItIsTooOld) {
  const absl::Status missing = cuda::load_driver("libm.so.6").status();
  EXPECT_EQ(message_of(missing),
            "the CUDA driver is too old: libm.so.6 has no cuInit; CUDA 12.1 or later is needed");
  const EmulatedCuda emulator({.driver_version = 11040});
  EXPECT_EQ(message_of(cuda::driver().status()),
            "the CUDA driver is too old: it supports CUDA 11.4; CUDA 12.1 or later is needed");
  EXPECT_EQ(cuda::num_cuda_devices(), 0);
  EXPECT_EQ(cuda::cuda_device(0).status(), cuda::driver().status());
}

TEST(CudaDriver, SaysThatThereIsNoDevice) {
  const EmulatedCuda emulator({.devices = 0});
  EXPECT_THAT(message_of(cuda::driver().status()), HasSubstr("lists no device"));
}

TEST(CudaDriver, SaysThatItCannotStart) {
  EmulatedCuda emulator;
  emulator.fail_call(2, Result::kLaunchFailed);
  EXPECT_EQ(message_of(cuda::driver().status()),
            "the CUDA driver cannot start: CUDA_ERROR_LAUNCH_FAILED (as the emulator has it)");
}

TEST(CudaDriver, ListsDevices) {
  Rig rig(Options{.devices = 3});
  EXPECT_EQ(cuda::num_cuda_devices(), 3);
  EXPECT_EQ(rig.device(2).context().info().name, "Emulated GPU 2");
  EXPECT_EQ(rig.device(2).context().info().compute_capability, 90);
  EXPECT_EQ(message_of(cuda::cuda_device(3).status()),
            "there is no device cuda:3: the CUDA driver lists 3");
}

// --- The allocator.

TEST(CudaAllocator, ReusesABlockAtOnceOnItsOwnStreamOnly) {
  Rig rig(4);  // nothing runs before somebody waits
  const auto a = rig.stream(), b = rig.stream();
  const Function affine = rig.affine();
  runtime::cuda::DeviceAllocator& allocator = rig.device().allocator();
  float* first = rig.allocate(a.get(), 1000);
  a->wait(submit(a.get(), [] { return absl::OkStatus(); }).ticket);
  const Event used = submit(a.get(), [&] {
    return a->launch(affine_launch(affine, {first, first, 1000, 1, 1}), "use");
  });
  allocator.free(first);
  float* other = rig.allocate(b.get(), 1000);
  EXPECT_NE(other, first);  // `a` is not done with it
  float* again = rig.allocate(a.get(), 990);
  EXPECT_EQ(again, first);
  allocator.free(again);
  a->wait(used.ticket);
  float* idle = rig.allocate(b.get(), 1000);
  EXPECT_EQ(idle, first);  // now it is
  allocator.free(other);
  allocator.free(idle);
}

TEST(CudaAllocator, AllocationsAreOrderedLikeWork) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rig rig(seed);
    const Function affine = rig.affine();
    const auto a = rig.stream(), b = rig.stream();
    submit(a.get(), [] { return absl::OkStatus(); });
    rig.device().wait_for_all();
    // Never used, and nothing is submitted behind it.
    rig.device().allocator().free(rig.allocate(a.get(), 8));
    float* x = rig.allocate(b.get(), 8);
    const Event used = submit(b.get(), [&] {
      return b->launch(affine_launch(affine, {x, x, 8, 1, 1}), "use");
    });
    b->wait(used.ticket);
    rig.device().allocator().free(x);
  }
}

TEST(CudaAllocator, ABlockThatWasAdoptedIsFreeForItsNewHome) {
  Rig rig(4);
  const auto a = rig.stream(), b = rig.stream();
  const Function affine = rig.affine();
  runtime::cuda::DeviceAllocator& allocator = rig.device().allocator();
  float* x = rig.allocate(a.get(), 100);
  const auto use = [&](CudaStream* stream, const std::vector<Event>& after) {
    return submit(
        stream,
        [=] {
          return stream->launch(affine_launch(affine, {x, x, 100, 1, 1}), "use");
        },
        nullptr, after);
  };
  const Event used = use(a.get(), {});
  allocator.adopt(x, b.get());
  use(b.get(), {used});
  allocator.free(x);
  float* other = rig.allocate(a.get(), 100);
  EXPECT_NE(other, x);
  EXPECT_EQ(rig.allocate(b.get(), 100), x);
  allocator.free(other);
  allocator.free(x);
}

TEST(CudaAllocator, CountsAndTrims) {
  Rig rig;
  const auto stream = rig.stream();
  runtime::cuda::DeviceAllocator& allocator = rig.device().allocator();
  void* data = *allocator.allocate(5000, stream.get());
  void* nothing = *allocator.allocate(0, stream.get());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % runtime::kBufferAlignment, 0u);
  EXPECT_EQ(allocator.stats().live, 5000);
  allocator.free(data);
  EXPECT_EQ(allocator.stats().live, 0);
  EXPECT_EQ(allocator.stats().peak, 5000);
  EXPECT_EQ(allocator.stats().cached, 5120);
  allocator.reset_peak();
  EXPECT_EQ(allocator.stats().peak, 0);
  allocator.free(nothing);
  allocator.trim();
  EXPECT_EQ(allocator.stats().cached, 0);
  submit(stream.get(), [] { return absl::OkStatus(); });
  rig.device().wait_for_all();
  EXPECT_EQ(rig.emulator.memory_in_use(), 0u);
}

TEST(CudaAllocator, GivesCachedMemoryBackAtTheLimit) {
  Rig rig;
  const auto stream = rig.stream();
  runtime::cuda::DeviceAllocator& allocator = rig.device().allocator();
  allocator.set_limit(10 << 20);
  void* small = *allocator.allocate(4 << 20, stream.get());
  allocator.free(small);
  void* large = *allocator.allocate(8 << 20, stream.get());
  EXPECT_EQ(allocator.stats().cached, 0);
  const absl::Status status = allocator.allocate(4 << 20, stream.get()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(message_of(status),
            "cannot allocate 4.00 MiB on cuda:0: 8.00 MiB are in use of a limit of 10.0 MiB, "
            "the device has 256 MiB");
  EXPECT_EQ(allocator.allocate(~size_t{0}, stream.get()).status().code(),
            absl::StatusCode::kResourceExhausted);
  allocator.free(large);
  allocator.free(*allocator.allocate(10 << 20, stream.get()));
}

TEST(CudaAllocator, WaitsForWorkThatHoldsMemoryBeforeItGivesUp) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rig rig(Options{.seed = seed, .memory_bytes = 4 << 20});
    const auto a = rig.stream(), b = rig.stream(), c = rig.stream();
    const Function affine = rig.affine();
    runtime::cuda::DeviceAllocator& allocator = rig.device().allocator();
    // A batch that lets go of a block of its own and of one of another stream, once it is done.
    float* own = rig.allocate(a.get(), 100000);
    float* foreign = rig.allocate(b.get(), 100000);
    const Event made = submit(b.get(), [&] {
      return b->launch(affine_launch(affine, {foreign, foreign, 8, 0, 1}), "make");
    });
    auto hold = std::shared_ptr<void>(nullptr, [&allocator, own, foreign](void*) {
      allocator.free(own);
      allocator.free(foreign);
    });
    submit(a.get(),
           [&, hold = std::move(hold)] {
             return a->launch(affine_launch(affine, {own, foreign, 8, 1, 1}), "use");
           },
           nullptr, {made});
    // Nearly all of the device, in two sizes.
    for (size_t bytes : {3500000, 3000000}) {
      absl::StatusOr<void*> data = allocator.allocate(bytes, c.get());
      ASSERT_TRUE(data.ok()) << data.status();
      allocator.free(*data);
    }
  }
}

// --- Streams.

TEST(CudaStreams, RunsBatchesInOrderAndKeepsThemAlive) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rig rig(seed);
    const auto stream = rig.stream();
    const Function affine = rig.affine();
    float* x = rig.allocate(stream.get(), 100);
    std::vector<std::shared_ptr<Outcome>> outcomes;
    EXPECT_EQ(stream->next_ticket(), 1u);
    for (int i = 0; i < 10; ++i) {
      outcomes.push_back(std::make_shared<Outcome>());
      const Event event = submit(
          stream.get(),
          [&] {
            const float factor = i == 0 ? 0.f : 2.f;
            return stream->launch(affine_launch(affine, {x, x, 100, factor, 1}), "step");
          },
          outcomes.back());
      EXPECT_EQ(event.ticket, static_cast<uint64_t>(i + 1));
      for (int j = 0; j <= i; ++j) {
        const bool done = stream->done(static_cast<uint64_t>(j + 1));
        EXPECT_EQ(outcomes[j]->finished, done);
        EXPECT_EQ(outcomes[j]->destroyed, done);
      }
    }
    stream->wait(5);
    EXPECT_EQ(outcomes[4]->finished, 1);
    // NaN times 0 is NaN: memory that has been written by nobody shows.
    const std::vector<float> values = rig.download(x, 100, {stream.get(), 10});
    EXPECT_TRUE(std::isnan(values[0]));
    EXPECT_TRUE(outcomes[9]->destroyed);
    EXPECT_TRUE(stream->take_failures().empty());
    rig.device().allocator().free(x);
  }
}

// x is uploaded, y made of it on one stream, z of y on another.
std::vector<float> cross_streams(Rig* rig) {
  const auto a = rig->stream(), b = rig->stream();
  const Function affine = rig->affine();
  CudaStream* uploads = rig->device().copies().upload_stream();
  float* x = rig->allocate(uploads, 64);
  float* y = rig->allocate(a.get(), 64);
  float* z = rig->allocate(b.get(), 64);
  const Event x_made = rig->upload(x, numbers(64));
  const auto launch = [&](CudaStream* stream, float* to, const float* from, float addend,
                          const Event& after) {
    return submit(stream,
                  [=] {
                    return stream->launch(affine_launch(affine, {to, from, 64, 2, addend}), "step");
                  },
                  nullptr, {after});
  };
  const Event y_made = launch(a.get(), y, x, 1, x_made);
  const Event z_made = launch(b.get(), z, y, 1, y_made);
  std::vector<float> values = rig->download(z, 64, z_made);
  rig->device().wait_for_all();
  for (float* data : {x, y, z}) rig->device().allocator().free(data);
  return values;
}

TEST(CudaStreams, WaitForOneAnother) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rig rig(seed);
    const std::vector<float> values = cross_streams(&rig);
    for (int i = 0; i < 64; ++i) ASSERT_EQ(values[i], 4.f * i + 3) << "seed " << seed;
  }
}

// Zeros `count` floats.
Event submit_zeros(Rig* rig, CudaStream* stream, float* data, size_t count) {
  return submit(stream, [=] {
    return stream->enqueue("zero", [=] {
      return rig->device().context().call<&Driver::memset_d8_async>(
          reinterpret_cast<cuda::DevicePtr>(data), static_cast<unsigned char>(0),
          count * sizeof(float), stream->handle());
    });
  });
}

TEST(CudaStreams, AMissingWaitIsFound) {
  int found = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rig rig(seed);
    rig.expects_misuse = true;
    const auto a = rig.stream(), b = rig.stream();
    // Its memory exists, so that only the values tell.
    const Function affine = rig.affine();
    float* y = rig.allocate(a.get(), 64);
    float* z = rig.allocate(b.get(), 64);
    const Event fill = submit_zeros(&rig, a.get(), y, 64);
    a->wait(fill.ticket);
    submit(a.get(), [&] { return a->launch(affine_launch(affine, {y, y, 64, 1, 1}), "make"); });
    const Event used = submit(b.get(), [&] {
      return b->launch(affine_launch(affine, {z, y, 64, 1, 1}), "use");
    });
    found += rig.download(z, 64, used)[0] != 2;
    rig.device().wait_for_all();
    for (float* data : {y, z}) rig.device().allocator().free(data);
  }
  EXPECT_GT(found, 5);
  EXPECT_LT(found, 50);
}

TEST(CudaStreams, AMissingWaitForMemoryIsFound) {
  int found = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rig rig(seed);
    rig.expects_misuse = true;
    const auto a = rig.stream(), b = rig.stream();
    const Function affine = rig.affine();
    float* y = rig.allocate(a.get(), 64);
    auto outcome = std::make_shared<Outcome>();
    const Event used = submit(
        b.get(),
        [&] {
          return b->launch(affine_launch(affine, {y, y, 64, 1, 1}), "use");
        },
        outcome);
    b->wait(used.ticket);
    found += rig.device().context().poisoned();
    rig.device().allocator().free(y);
  }
  EXPECT_GT(found, 5);
}

TEST(CudaStreams, TakeBatchesFromManyThreads) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Rig rig(seed);
    const auto shared = rig.stream();
    const Function affine = rig.affine();
    float* sum = rig.allocate(shared.get(), 1);
    ASSERT_TRUE(rig.device().copies().upload_stream() != nullptr);
    submit_zeros(&rig, shared.get(), sum, 1);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          const Event event = submit(shared.get(), [&] {
            return shared->launch(affine_launch(affine, {sum, sum, 1, 1, 1}), "add");
          });
          float* scratch = rig.allocate(shared.get(), 100 + i);
          rig.device().allocator().free(scratch);
          if (i % 7 == 0) shared->wait(event.ticket);
          if (i % 5 == 0) rig.download(sum, 1, event);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(rig.download(sum, 1, {shared.get(), shared->next_ticket() - 1})[0], 80);
    rig.device().allocator().free(sum);
  }
}

TEST(CudaStreams, ANamedLaunchFailsWithItsName) {
  Rig rig;
  rig.expects_misuse = true;
  const auto stream = rig.stream();
  const Function affine = rig.affine();
  const auto try_launch = [&](auto change) {
    Affine params = {nullptr, nullptr, 0, 1, 1};
    cuda::KernelLaunch launch = affine_launch(affine, params);
    change(&launch);
    auto outcome = std::make_shared<Outcome>();
    submit(
        stream.get(), [&] { return stream->launch(launch, "exp float32[4]"); }, outcome);
    return message_of(outcome->run);
  };
  EXPECT_EQ(try_launch([](cuda::KernelLaunch*) {}), "");
  const std::string refused =
      "exp float32[4]: cuLaunchKernelEx: CUDA_ERROR_INVALID_VALUE (as the emulator has it)";
  EXPECT_EQ(try_launch([](cuda::KernelLaunch* l) { l->grid[1] = 65536; }), refused);
  EXPECT_EQ(try_launch([](cuda::KernelLaunch* l) { l->block[0] = 1025; }), refused);
  EXPECT_EQ(try_launch([](cuda::KernelLaunch* l) { l->grid[0] = 0; }), refused);
  EXPECT_EQ(try_launch([](cuda::KernelLaunch* l) { l->shared_bytes = 49 << 10; }), refused);
  std::vector<std::byte> many(cuda::kMaxParamBytes + 4);
  EXPECT_EQ(try_launch([&](cuda::KernelLaunch* l) { l->params = many; }), refused);
  stream->wait(stream->next_ticket() - 1);
  EXPECT_EQ(stream->take_failures().size(), 5u);
  EXPECT_FALSE(rig.device().context().poisoned());
}

TEST(CudaModules, KnowTheirLimits) {
  Rig rig;
  rig.expects_misuse = true;
  rig.emulator.add_kernel("greedy", run_affine, {.registers = 128, .local_bytes = 16});
  const auto stream = rig.stream();
  const auto module =
      *cuda::Module::load(&rig.device().context(), EmulatedCuda::registered_image());
  EXPECT_THAT(message_of(module->function("nothing").status()),
              HasSubstr("nothing: cuModuleGetFunction: CUDA error 500"));
  EXPECT_FALSE(module->function("greedy", 228 << 10).ok());
  const Function greedy = *module->function("greedy", 227 << 10);
  EXPECT_EQ(greedy.registers, 128);
  EXPECT_EQ(greedy.spilled_bytes, 16);
  EXPECT_EQ(greedy.max_threads, 512);
  Affine params = {nullptr, nullptr, 0, 1, 1};
  cuda::KernelLaunch launch = affine_launch(greedy, params);
  launch.shared_bytes = 227 << 10;
  for (uint32_t threads : {512u, 513u}) {
    launch.block[0] = threads;
    auto outcome = std::make_shared<Outcome>();
    submit(
        stream.get(), [&] { return stream->launch(launch, "greedy"); }, outcome);
    EXPECT_EQ(outcome->run.ok(), threads == 512) << outcome->run;
  }
  rig.device().wait_for_all();
}

TEST(CudaModules, SayWhyTheyCannotBeLoaded) {
  Rig rig;
  const absl::Status status =
      cuda::Module::load(&rig.device().context(), "/no/such/library.so").status();
  EXPECT_THAT(message_of(status), HasSubstr("/no/such/library.so: cannot open"));
}

// --- Copies.

// The user's own pinned memory.
TEST(CudaCopies, OfPinnedMemoryNeedNoStaging) {
  constexpr size_t kBytes = 3 * cuda::Staging::kChunkBytes + 40;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Rig rig(seed);
    cuda::Copies& copies = rig.device().copies();
    const cuda::Driver& driver = rig.emulator.driver();
    void* memory = nullptr;
    {
      const cuda::CurrentContext current(&rig.device().context());
      ASSERT_EQ(driver.mem_host_alloc(&memory, kBytes, cuda::kHostAllocPortable), Result::kSuccess);
    }
    auto* const pinned = static_cast<uint8_t*>(memory);
    std::vector<uint8_t> pageable(kBytes);
    void* data = *rig.device().allocator().allocate(kBytes, copies.upload_stream());
    const auto round_trip = [&](uint8_t* host, uint8_t first) {
      for (size_t i = 0; i < kBytes; ++i) host[i] = static_cast<uint8_t>(first + i % 251);
      const int64_t before = rig.emulator.calls();
      const Event written = *copies.upload(data, host, kBytes);
      std::fill_n(host, kBytes, uint8_t{9});  // the caller's own again
      EXPECT_TRUE(copies.download(host, data, kBytes, written).ok());
      const int64_t calls = rig.emulator.calls() - before;
      for (size_t i = 0; i < kBytes; i += 13) {
        EXPECT_EQ(host[i], static_cast<uint8_t>(first + i % 251)) << i;
      }
      return calls;
    };
    for (int i = 0; i < 2; ++i) {
      const int64_t staged = round_trip(pageable.data(), 1), direct = round_trip(pinned, 2);
      // Each has four chunks, whose copies have events.
      EXPECT_LT(direct, staged - 8);
    }
    rig.device().allocator().free(data);
    rig.device().wait_for_all();
    EXPECT_EQ(driver.mem_free_host(memory), Result::kSuccess);
  }
}

TEST(CudaCopies, HaveAnySize) {
  constexpr size_t kChunk = cuda::Staging::kChunkBytes;
  const auto stream_seeds = {1, 4, 7};
  for (uint64_t seed : stream_seeds) {
    Rig rig(seed);
    cuda::Copies& copies = rig.device().copies();
    runtime::cuda::DeviceAllocator& allocator = rig.device().allocator();
    std::mt19937_64 rng(seed);
    for (size_t bytes : {size_t{0}, size_t{1}, size_t{4093}, kChunk - 1, kChunk, kChunk + 1,
                         2 * kChunk, 3 * kChunk + 17}) {
      std::vector<uint8_t> sent(bytes + 3), got(bytes + 3, 7);
      for (size_t i = 0; i < sent.size(); i += 1 + i / 64) sent[i] = static_cast<uint8_t>(rng());
      const std::vector<uint8_t> kept = sent;
      void* data = *allocator.allocate(bytes, copies.upload_stream());
      const Event written = *copies.upload(data, sent.data() + 3, bytes);
      sent.assign(sent.size(), 9);  // the caller's own again
      ASSERT_TRUE(copies.download(got.data(), data, bytes, written).ok());
      EXPECT_TRUE(std::equal(got.begin(), got.end() - 3, kept.begin() + 3)) << bytes;
      EXPECT_EQ(std::vector<uint8_t>(got.end() - 3, got.end()), std::vector<uint8_t>(3, 7));
      allocator.free(data);
    }
  }
}

TEST(CudaCopies, MayBeUnderWayWhenTheDeviceIsClosed) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rig rig(seed);
    float* x = rig.allocate(rig.device().copies().upload_stream(), 100);
    rig.upload(x, numbers(100));
    rig.device().allocator().free(x);
  }
}

TEST(CudaCopies, CrossDevices) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rig rig(Options{.seed = seed, .devices = 2});
    const auto source = rig.stream(0), target = rig.stream(1);
    const Function affine = rig.affine(0);
    float* x = rig.allocate(source.get(), 16);
    float* y = rig.allocate(target.get(), 16);
    CudaStream* uploads = rig.device(0).copies().upload_stream();
    float* ones = rig.allocate(uploads, 16);
    const Event uploaded = rig.upload(ones, std::vector<float>(16, 1));
    const Event made =
        submit(source.get(),
               [&] {
                 return source->launch(affine_launch(affine, {x, ones, 16, 2, 3}), "make");
               },
               nullptr, {uploaded});
    const Event copied =
        submit(target.get(),
               [&] { return cuda::copy_between(target.get(), y, rig.device(0).context(), x, 64); },
               nullptr, {made});
    EXPECT_THAT(rig.download(y, 16, copied, 1), Each(5.f));
    rig.device(0).allocator().free(x);
    rig.device(0).allocator().free(ones);
    rig.device(1).allocator().free(y);
  }
}

// --- Failures.

// Its finish() passes on what its inputs' batches found.
TEST(CudaFailures, WhatABatchFindsIsThereBeforeItsReadersFinish) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rig rig(seed);
    const auto a = rig.stream(), b = rig.stream();
    auto first = std::make_shared<Outcome>(), second = std::make_shared<Outcome>();
    const Event made = submit(
        a.get(), [] { return absl::OkStatus(); }, first);
    const Event read = submit(b.get(), [] { return absl::OkStatus(); }, second, {made});
    while (!b->done(read.ticket)) EXPECT_EQ(second->finished, 0);
    EXPECT_EQ(first->finished, 1);
    EXPECT_EQ(second->finished, 1);
  }
}

TEST(CudaFailures, AnAsynchronousOneNamesWhatWasUnderWay) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rig rig(Options{.seed = seed, .devices = 2});
    const auto stream = rig.stream(0), elsewhere = rig.stream(1);
    const Function affine = rig.affine(0);
    float* x = rig.allocate(stream.get(), 8);
    const auto launch = [&](const char* label) {
      return stream->launch(affine_launch(affine, {x, x, 8, 1, 1}), label);
    };
    submit(stream.get(), [&] { return launch("mul float32[8]"); });
    stream->wait(1);
    submit(stream.get(), [&] { return launch("add float32[8]"); });
    auto second = std::make_shared<Outcome>(), third = std::make_shared<Outcome>();
    rig.emulator.fail_kernel(rig.emulator.kernels_run() == 1 ? 2 : 1, Result::kIllegalAddress);
    submit(
        stream.get(),
        [&] {
          const absl::Status status = launch("exp float32[8]");
          return status.ok() ? launch("sin float32[8]") : status;
        },
        second);
    const Event last = submit(
        stream.get(), [&] { return launch("cos float32[8]"); }, third);
    stream->wait(last.ticket);
    const std::string message =
        "cuda:0 (Emulated GPU 0) failed: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was "
        "encountered), reported by ";
    ASSERT_TRUE(rig.device(0).context().poisoned());
    const absl::Status status = rig.device(0).context().failure()->status;
    EXPECT_THAT(message_of(status), testing::StartsWith(message));
    EXPECT_THAT(message_of(status), HasSubstr("; first incomplete: exp float32[8] (launch 3)"));
    EXPECT_THAT(message_of(status), HasSubstr("; last completed: add float32[8] (launch 2)."));
    // Every later call says the same.
    EXPECT_EQ(second->failed, 1);
    EXPECT_EQ(third->failed, 1);
    EXPECT_EQ(second->failure, third->failure);
    EXPECT_EQ(rig.device(0).allocator().allocate(8, stream.get()).status(), status);
    float host[8];
    EXPECT_EQ(rig.device(0).copies().download(host, x, 32, last), status);
    EXPECT_EQ(rig.device(0).copies().upload(x, host, 32).status(), status);
    auto late = std::make_shared<Outcome>();
    stream->wait(submit(
                     stream.get(), [&] { return launch("late"); }, late)
                     .ticket);
    EXPECT_TRUE(absl::IsUnknown(late->run));
    EXPECT_EQ(late->failure->status, status);
    EXPECT_GE(stream->take_failures().size(), 3u);
    // The other device is none the worse.
    elsewhere->wait(submit(elsewhere.get(), [] { return absl::OkStatus(); }).ticket);
    EXPECT_FALSE(rig.device(1).context().poisoned());
    rig.device(0).allocator().free(x);
  }
}

TEST(CudaFailures, DoNotSpreadToADeviceThatWaits) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rig rig(Options{.seed = seed, .devices = 2});
    const auto source = rig.stream(0), target = rig.stream(1);
    const Function affine = rig.affine(0);
    float* x = rig.allocate(source.get(), 16);
    float* y = rig.allocate(target.get(), 16);
    rig.emulator.fail_kernel(1, Result::kIllegalAddress);
    auto made = std::make_shared<Outcome>(), copied = std::make_shared<Outcome>();
    const Event x_made = submit(
        source.get(),
        [&] {
          return source->launch(affine_launch(affine, {x, x, 16, 2, 3}), "make");
        },
        made);
    const Event y_made =
        submit(target.get(),
               [&] {
                 // Whether the host knows already is a matter of time.
                 const absl::Status status =
                     cuda::copy_between(target.get(), y, rig.device(0).context(), x, 64);
                 return rig.device(0).context().poisoned() ? status : absl::OkStatus();
               },
               copied, {x_made});
    target->wait(y_made.ticket);
    EXPECT_TRUE(rig.device(0).context().poisoned());
    EXPECT_FALSE(rig.device(1).context().poisoned());
    EXPECT_EQ(made->failed, 1);
    EXPECT_EQ(copied->failed, 0);
    rig.device(0).allocator().free(x);
    rig.device(1).allocator().free(y);
  }
}

TEST(CudaFailures, SynchronousLaunchesNameTheCulprit) {
  Rig rig;
  rig.device().context().set_synchronous(true);
  const auto stream = rig.stream();
  const Function affine = rig.affine();
  float* x = rig.allocate(stream.get(), 8);
  rig.emulator.fail_kernel(3, Result::kIllegalAddress);
  std::vector<bool> ok;
  submit(stream.get(), [&] {
    for (int i = 0; i < 4; ++i) {
      const std::string label = absl::StrCat("op", i, " float32[8]");
      ok.push_back(stream->launch(affine_launch(affine, {x, x, 8, 1, 1}), label).ok());
    }
    return absl::OkStatus();
  });
  EXPECT_EQ(ok, (std::vector<bool>{true, true, false, false}));
  EXPECT_THAT(message_of(rig.device().context().failure()->status),
              HasSubstr("reported by cuStreamSynchronize; first incomplete: op2 float32[8] (launch "
                        "3); last completed: op1 float32[8] (launch 2). This process cannot use "
                        "the device any more"));
  rig.device().allocator().free(x);
}

TEST(CudaFailures, TheLogNamesWhatIsIncomplete) {
  std::atomic<uint32_t> progress{0};
  using Progress = const std::atomic<uint32_t>*;
  for (Progress device : {Progress{nullptr}, Progress{&progress}}) {
    cuda::LaunchLog log(device);
    EXPECT_EQ(log.describe(), "");
    EXPECT_EQ(log.add("a", 1), 1u);
    log.add("b", 2);
    log.add(std::string(200, 'c'), 2);
    log.add("refused", 2);
    log.drop(4);
    log.add("d", 3);
    EXPECT_EQ(log.describe(), "first incomplete: a (launch 1)");
    log.set_completed(1);
    EXPECT_EQ(log.describe(),
              "first incomplete: b (launch 2), submitted with all up to launch 3; last completed: "
              "a (launch 1)");
    progress = 3;
    if (device == nullptr) log.set_completed(3);
    EXPECT_EQ(log.describe(), "first incomplete: d (launch 4); last completed: " +
                                  std::string(cuda::LaunchLog::kLabelBytes, 'c') + " (launch 3)");
    for (uint64_t i = 0; i < cuda::LaunchLog::kEntries; ++i) log.add("e", 4);
    EXPECT_EQ(log.describe(), "first incomplete: launch 4; last completed: launch 3");
    log.set_completed(log.last());
    EXPECT_EQ(log.describe(), "");
    progress = 0;
  }
}

// What a program may do: two streams, copies, a kernel, a graph. Gives the first error, or one that
// says that the numbers are wrong.
absl::Status small_scenario(int index) {
  const absl::StatusOr<CudaDevice*> device = cuda::cuda_device(index);
  if (!device.ok()) return device.status();
  cuda::Context& context = (*device)->context();
  runtime::cuda::DeviceAllocator& allocator = (*device)->allocator();
  auto module = cuda::Module::load(&context, EmulatedCuda::registered_image());
  if (!module.ok()) return module.status();
  const absl::StatusOr<Function> affine = (*module)->function("affine");
  if (!affine.ok()) return affine.status();
  auto a = CudaStream::make(*device), b = CudaStream::make(*device);
  if (!a.ok()) return a.status();
  if (!b.ok()) return b.status();

  constexpr int kCount = 100;
  std::vector<void*> blocks;
  absl::Status status;
  const auto allocate = [&](CudaStream* stream) {
    absl::StatusOr<void*> data = allocator.allocate(kCount * sizeof(float), stream);
    status.Update(data.status());
    if (data.ok()) blocks.push_back(*data);
    return data.ok() ? static_cast<float*>(*data) : nullptr;
  };
  float* x = allocate((*device)->copies().upload_stream());
  float* y = allocate(a->get());
  float* z = allocate(b->get());
  auto first = std::make_shared<Outcome>(), second = std::make_shared<Outcome>();
  const auto run = [&] {
    if (!status.ok()) return status;
    const std::vector<float> sent = numbers(kCount);
    absl::StatusOr<Event> uploaded;
    for (int half : {0, kCount / 2}) {
      uploaded =
          (*device)->copies().upload(x + half, sent.data() + half, kCount / 2 * sizeof(float));
      if (!uploaded.ok()) return uploaded.status();
    }
    const Event y_made =
        submit(a->get(),
               [&] {
                 return (*a)->launch(affine_launch(*affine, {y, x, kCount, 2, 1}), "first");
               },
               first, {*uploaded});
    const Affine to_z = {z, y, kCount, 3, 0}, in_place = {z, z, kCount, 1, 5};
    auto graph = cuda::Graph::make(
        &context, std::vector<cuda::GraphNode>{{affine_launch(*affine, to_z), {}},
                                               {affine_launch(*affine, in_place), {0}}});
    if (!graph.ok()) return graph.status();
    const Affine other = {z, z, kCount, 1, 7};
    const absl::Status patched = (*graph)->patch(1, affine_launch(*affine, other));
    if (!patched.ok()) return patched;
    const Event z_made =
        submit(b->get(), [&] { return (*graph)->launch(b->get(), "second"); }, second, {y_made});
    std::vector<float> got(kCount);
    const absl::Status read =
        (*device)->copies().download(got.data(), z, kCount * sizeof(float), z_made);
    // Their results cannot be had: what was read means nothing.
    for (const auto& outcome : {first, second}) {
      if (!outcome->run.ok() && !absl::IsUnknown(outcome->run)) return outcome->run;
      if (outcome->failure != nullptr) return outcome->failure->status;
    }
    if (!read.ok()) return read;
    for (int i = 0; i < kCount; ++i) {
      if (got[i] != 6.f * i + 10) return absl::DataLossError(absl::StrCat("wrong number ", i));
    }
    return absl::OkStatus();
  };
  status = run();
  (*device)->wait_for_all();
  if (status.ok() && (first->finished != 1 || second->finished != 1)) {
    status = absl::DataLossError("a batch was not finished");
  }
  for (void* data : blocks) allocator.free(data);
  return status;
}

class CudaFaults : public testing::TestWithParam<Result> {};

TEST_P(CudaFaults, AtEveryCall) {
  const Result fault = GetParam();
  int refused = 0;
  // How many calls there are depends on the seed a little.
  int beyond = 0;
  for (int64_t n = 1; beyond < 10; ++n) {
    Rig rig(Options{.seed = static_cast<uint64_t>(n), .devices = 2});
    rig.emulator.fail_call(n, fault);
    const absl::Status status = small_scenario(0);
    SCOPED_TRACE(absl::StrCat("call ", n, " gave ", message_of(status)));
    beyond += rig.emulator.calls() < n;
    if (beyond > 0) continue;
    EXPECT_FALSE(absl::IsDataLoss(status));
    EXPECT_TRUE(status.ok() ||
                absl::StrContains(absl::AsciiStrToLower(message_of(status)), "cuda"));
    refused += !status.ok();
    if (!cuda::driver().ok()) continue;
    // The other device never minds; this one works again unless it says that it cannot.
    const absl::Status other = small_scenario(1), again = small_scenario(0);
    EXPECT_TRUE(other.ok()) << other;
    const absl::StatusOr<CudaDevice*> device = cuda::cuda_device(0);
    ASSERT_TRUE(device.ok()) << device.status();
    if ((*device)->context().poisoned()) {
      EXPECT_TRUE(cuda::is_sticky(fault));
      EXPECT_EQ(again, (*device)->context().failure()->status);
      EXPECT_THAT(message_of(again), HasSubstr("This process cannot use the device any more"));
    } else {
      EXPECT_TRUE(again.ok()) << again;
    }
  }
  EXPECT_GT(refused, 30);
}

INSTANTIATE_TEST_SUITE_P(, CudaFaults,
                         testing::Values(Result::kOutOfMemory, Result::kInvalidValue,
                                         Result::kIllegalAddress, Result::kLaunchFailed),
                         [](const auto& info) {
                           return absl::StrCat("Error", static_cast<int>(info.param));
                         });

// --- Graphs.

TEST(CudaGraphs, RunInAnyOrderThatTheirNodesAllow) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rig rig(seed);
    const auto stream = rig.stream(), other = rig.stream();
    std::vector<int> order;
    rig.emulator.add_kernel("note", [&](const emulated::Geometry&, const void* params) {
      order.push_back(*static_cast<const int*>(params));
      return static_cast<const char*>(nullptr);
    });
    const auto module =
        *cuda::Module::load(&rig.device().context(), EmulatedCuda::registered_image());
    const Function note = *module->function("note");
    const int ids[] = {0, 1, 2, 3};
    std::vector<cuda::GraphNode> nodes(4);
    for (int i = 0; i < 4; ++i) {
      nodes[i].kernel.function = note.handle;
      nodes[i].kernel.params = {reinterpret_cast<const std::byte*>(&ids[i]), sizeof(int)};
    }
    nodes[1].after = nodes[2].after = {0};
    nodes[3].after = {1, 2};
    const auto graph = *cuda::Graph::make(&rig.device().context(), nodes);
    EXPECT_EQ(graph->size(), 4);
    // Two launches, on two streams that don't wait for each other.
    submit(stream.get(), [&] { return graph->launch(stream.get(), "graph"); });
    const int changed = 7;
    cuda::KernelLaunch patch = nodes[3].kernel;
    patch.params = {reinterpret_cast<const std::byte*>(&changed), sizeof(int)};
    ASSERT_TRUE(graph->patch(3, patch).ok());
    submit(other.get(), [&] { return graph->launch(other.get(), "graph"); });
    rig.device().wait_for_all();
    ASSERT_EQ(order.size(), 8u);
    for (int half : {0, 4}) {
      EXPECT_EQ(order[half], 0);
      EXPECT_EQ(order[half + 1] + order[half + 2], 3);
    }
    EXPECT_EQ((std::set<int>{order[3], order[7]}), (std::set<int>{3, 7}));
  }
}

// --- The emulator's own promises.

TEST(EmulatedCuda, NoticesMisuse) {
  Rig rig(Options{.seed = 4, .devices = 2});
  rig.expects_misuse = true;
  const auto stream = rig.stream(0);
  const Function affine = rig.affine(0);
  const Function foreign = rig.affine(1);
  cuda::Context& context = rig.device(0).context();
  const Driver& driver = rig.emulator.driver();
  const auto last = [&] {
    const std::vector<std::string> all = rig.emulator.violations();
    return all.empty() ? "" : all.back();
  };

  // No context, or another one.
  EXPECT_EQ(driver.event_record(nullptr, stream->handle()), Result::kInvalidHandle);
  EXPECT_THAT(last(), HasSubstr("does not exist"));
  const Affine nothing = {nullptr, nullptr, 0, 1, 1};
  EXPECT_THAT(message_of(stream->launch(affine_launch(affine, nothing), "outside")),
              HasSubstr("cuLaunchKernelEx: CUDA error 201"));
  EXPECT_THAT(last(), HasSubstr("not current"));
  {
    const cuda::CurrentContext current(&context);
    EXPECT_FALSE(stream->launch(affine_launch(foreign, nothing), "foreign").ok());
    EXPECT_THAT(last(), HasSubstr("another device"));

    // Objects that are gone.
    cuda::EventHandle event = nullptr;
    ASSERT_EQ(driver.event_create(&event, cuda::kEventDisableTiming), Result::kSuccess);
    ASSERT_EQ(driver.event_destroy(event), Result::kSuccess);
    EXPECT_EQ(driver.event_query(event), Result::kInvalidHandle);
    EXPECT_EQ(driver.event_destroy(event), Result::kInvalidHandle);

    // Pinned memory that a copy still uses.
    void* pinned = nullptr;
    float* x = rig.allocate(stream.get(), 4);
    ASSERT_EQ(driver.mem_host_alloc(&pinned, 16, 0), Result::kSuccess);
    ASSERT_EQ(driver.memcpy_dtoh_async(pinned, reinterpret_cast<cuda::DevicePtr>(x), 16,
                                       stream->handle()),
              Result::kSuccess);
    ASSERT_EQ(driver.mem_free_host(pinned), Result::kSuccess);
    EXPECT_THAT(last(), HasSubstr("under way"));

    // Memory past its end, and after it was freed.
    EXPECT_EQ(
        driver.memset_d8_async(reinterpret_cast<cuda::DevicePtr>(x), 0, 257, stream->handle()),
        Result::kInvalidValue);
    EXPECT_THAT(last(), HasSubstr("past the end"));
    rig.device(0).allocator().free(x);
    rig.device(0).allocator().trim();
    ASSERT_TRUE(stream->launch(affine_launch(affine, {x, x, 1, 1, 1}), "late").ok());
    EXPECT_THAT(last(), HasSubstr("work is given memory that has been freed"));
    EXPECT_EQ(driver.stream_synchronize(stream->handle()), Result::kIllegalAddress);
    EXPECT_THAT(last(), HasSubstr("running work uses memory that has been freed"));
  }
}

// As the emitted text of kernels becomes one, with the prelude for the host.
TEST(EmulatedCuda, LoadsSharedObjects) {
  const std::string stem = absl::StrCat(testing::TempDir(), "/sluice_emulated_", getpid());
  const std::string source = stem + ".cpp", library = stem + ".so";
  std::ofstream(source) << R"(
    struct Args { float* target; const float* source; int count; };
    extern "C" const char* twice(unsigned grid, unsigned block, const void* const* arguments) {
      const Args& p = *static_cast<const Args*>(arguments[0]);
      if (grid * block < unsigned(p.count)) return "too few threads";
      for (int i = 0; i < p.count; ++i) p.target[i] = 2 * p.source[i];
      return nullptr;
    })";
  const std::string command =
      absl::StrCat(emulated::HostCompiler::program(), " -shared -fPIC -o ", library, " ", source);
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "no compiler";
  std::ifstream file(library, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& image : {library, bytes}) {
    Rig rig;
    const auto module = *cuda::Module::load(&rig.device().context(), image.c_str());
    EXPECT_FALSE(module->function("thrice").ok());
    const Function twice = *module->function("twice");
    CudaStream* stream = rig.device().copies().upload_stream();
    float* x = rig.allocate(stream, 10);
    rig.upload(x, numbers(10));
    const Affine params = {x, x, 10, 0, 0};
    const Event doubled =
        submit(stream, [&] { return stream->launch(affine_launch(twice, params), "twice"); });
    EXPECT_EQ(rig.download(x, 10, doubled)[9], 18);
    rig.device().allocator().free(x);
  }
  std::remove(source.c_str());
  std::remove(library.c_str());
}

TEST(EmulatedCuda, RunsHostFunctionsInOrder) {
  Rig rig;
  const auto stream = rig.stream();
  int value = 0;
  submit(stream.get(), [&] {
    return stream->enqueue("call", [&] {
      return rig.device().context().call<&Driver::launch_host_func>(
          stream->handle(), [](void* data) { ++*static_cast<int*>(data); },
          static_cast<void*>(&value));
    });
  });
  rig.device().wait_for_all();
  EXPECT_EQ(value, 1);
}

TEST(EmulatedCudaDeathTest, TheHostCannotFollowADeviceAddress) {
  Rig rig;
  const auto stream = rig.stream();
  float* x = rig.allocate(stream.get(), 1);
  EXPECT_DEATH(*static_cast<volatile float*>(x) = 1, "");
  rig.device().allocator().free(x);
}

}  // namespace
}  // namespace sluice::test
