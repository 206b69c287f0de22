// From programs to loaded functions: NVRTC, and the cache of kernels on an emulated device.
//
// If SLUICE_NVRTC names a libnvrtc.so, the kernels are also compiled by it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/cache/compile_threads.h"
#include "kernels/cuda/compile/nvrtc.h"
#include "kernels/cuda/kernel_cache.h"
#include "kernels/gpu/emit/emit.h"
#include "kernels/gpu/run/call.h"
#include "kernels/interp/interpreter.h"
#include "tests/emulated_cuda/host_compiler.h"
#include "tests/emulated_cuda/machine.h"
#include "tests/emulated_cuda/runtime_rig.h"
#include "tests/support/program_builder.h"

namespace sluice::kernels::cuda {
namespace {

namespace fs = std::filesystem;
using emulated::HostCompiler;
using fusion::Op;
using fusion::Schedule;
using fusion::ValueId;
using runtime::cuda::CudaStream;
using runtime::cuda::KernelLaunch;
using test::Rig;
using ::testing::HasSubstr;

std::string message_of(const absl::Status& status) { return std::string(status.message()); }

// ---- Programs.

// A program of floats with what it runs on; its last buffer is the output.
class Job {
 public:
  // y = max(x * scale, z)
  static Job pointwise(int64_t n, float scale) {
    Job job(Schedule::kPointwise, {n}, {});
    const ValueId x = job.load(n, {1}), z = job.load(n, {1});
    const ValueId y = job.b_.op(Op::kMul, {x, job.b_.scalar(scale)});
    job.store(job.b_.op(Op::kMaximum, {y, z}), n, {1});
    return job;
  }
  // y = sum of |x| over each row
  static Job row_sum(int64_t rows, int64_t length) {
    Job job(Schedule::kRow, {rows}, {length});
    const ValueId x = job.load(rows * length, {length, 1});
    job.store(job.b_.op(Op::kSum, {job.b_.op(Op::kAbs, {x})}), rows, {1, 0});
    return job;
  }
  // y = x + 1 + ... + 1, a program for each count
  static Job chain(int64_t n, int count) {
    Job job(Schedule::kPointwise, {n}, {});
    ValueId y = job.load(n, {1});
    for (int i = 0; i < count; ++i) y = job.b_.op(Op::kAdd, {y, job.b_.scalar(1.f)});
    job.store(y, n, {1});
    return job;
  }

  const fusion::Program& program() const { return b_.program(); }
  LaunchCode code(const char* label) const { return {{&program()}, false, false, label}; }
  KernelArgs args() { return b_.args(); }
  const std::vector<float>& buffer(size_t i) const { return *memory_[i]; }
  size_t num_buffers() const { return memory_.size(); }

  std::vector<float> expected() {
    const auto interpreter = make_interpreter(program());
    const KernelArgs arguments = args();
    int64_t rows = 1;
    for (int d = 0; d < program().outer_rank; ++d) rows *= arguments.extents[d];
    interpreter->entry().rows(interpreter->context(), &arguments, 0, rows);
    return *memory_.back();
  }

 private:
  Job(Schedule schedule, std::vector<int64_t> kept, std::vector<int64_t> reduced)
      : b_(schedule, std::move(kept), std::move(reduced)) {}

  uint16_t access(int64_t count, std::vector<int64_t> strides) {
    auto values = std::make_unique<std::vector<float>>(count);
    for (size_t i = 0; i < values->size(); ++i) {
      (*values)[i] = static_cast<float>((i * 7919 + memory_.size() * 31) % 1009) / 64 - 7;
    }
    memory_.push_back(std::move(values));
    return b_.access(memory_.back()->data(), std::move(strides));
  }
  ValueId load(int64_t count, std::vector<int64_t> strides) {
    return b_.load(access(count, std::move(strides)));
  }
  void store(ValueId value, int64_t count, std::vector<int64_t> strides) {
    b_.store(value, access(count, std::move(strides)));
  }

  testing::ProgramBuilder b_;
  std::vector<std::unique_ptr<std::vector<float>>> memory_;
};

// ---- On the device.

// A job's memory there.
class Placed {
 public:
  Placed(Rig* rig, CudaStream* stream, Job* job) : rig_(*rig), job_(*job) {
    CudaStream* const uploads = rig_.device().copies().upload_stream();
    for (size_t i = 0; i < job_.num_buffers(); ++i) {
      const std::vector<float>& values = job_.buffer(i);
      float* const there = rig_.allocate(uploads, static_cast<int64_t>(values.size()));
      written_.push_back(rig_.upload(there, values));
      buffers_.push_back(there);
    }
    geometry_ = geometry_of(job_.program(), job_.args().extents,
                            rig_.device().context().info().multiprocessors);
    if (geometry_.partial_bytes > 0) {
      partials_ = *rig_.device().allocator().allocate(geometry_.partial_bytes, stream);
    }
  }
  ~Placed() {
    for (void* buffer : buffers_) rig_.device().allocator().free(buffer);
    if (partials_ != nullptr) rig_.device().allocator().free(partials_);
  }
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;

  const Geometry& geometry() const { return geometry_; }
  const std::vector<runtime::Event>& written() const { return written_; }

  // `in_table`: the emulator translates the addresses in a kernel's parameters, but not those in
  // memory that they point to.
  std::vector<uint64_t> words(int stage, bool in_table = false) {
    const auto at = [&](void* there) -> void* {
      if (!in_table || there == nullptr) return there;
      return emulated::Machine::running->memory.host(reinterpret_cast<uint64_t>(there));
    };
    std::vector<void*> buffers;
    for (void* buffer : buffers_) buffers.push_back(at(buffer));
    KernelArgs args = job_.args();
    args.buffers = buffers.data();
    args.errors = nullptr;
    std::vector<uint64_t> words(num_words(job_.program()));
    pack_call(job_.program(), geometry_, args, stage, at(partials_), words.data());
    return words;
  }
  std::vector<float> output(const runtime::Event& made) {
    const int64_t count = static_cast<int64_t>(job_.buffer(job_.num_buffers() - 1).size());
    return rig_.download(static_cast<float*>(buffers_.back()), count, made);
  }

 private:
  Rig& rig_;
  Job& job_;
  Geometry geometry_;
  std::vector<void*> buffers_;
  void* partials_ = nullptr;
  std::vector<runtime::Event> written_;
};

KernelLaunch launch_of(const CachedKernel& kernel, int64_t blocks, const void* params,
                       size_t bytes) {
  KernelLaunch launch;
  launch.function = kernel.function()->handle;
  launch.grid[0] = static_cast<uint32_t>(blocks);
  launch.block[0] = kThreads;
  launch.params = {static_cast<const std::byte*>(params), bytes};
  return launch;
}

// Sums are added up in an order of the device's own.
void expect_near(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_LE(std::abs(actual[i] - expected[i]), 1e-5 * std::abs(expected[i])) << i;
  }
}

void run_and_check(Rig* rig, const KernelRef& kernel, Job* job) {
  const auto stream = rig->stream();
  Placed placed(rig, stream.get(), job);
  auto outcome = std::make_shared<test::Outcome>();
  const auto launch_all = [&] {
    absl::Status status;
    for (int stage = 0; stage < placed.geometry().num_stages; ++stage) {
      const std::vector<uint64_t> words = placed.words(stage);
      status.Update(stream->launch(
          launch_of(*kernel, placed.geometry().num_blocks(stage), words.data(), 8 * words.size()),
          kernel->label()));
    }
    return status;
  };
  const runtime::Event made = test::submit(stream.get(), launch_all, outcome, placed.written());
  expect_near(placed.output(made), job->expected());
  EXPECT_TRUE(outcome->run.ok()) << outcome->run;
}

// ---- Compilers.

// Counts, and refuses what it is told to.
class TestCompiler : public Compiler {
 public:
  struct Log {
    std::atomic<int> calls{0};
    std::string refuses;  // text that has this
  };
  explicit TestCompiler(std::shared_ptr<Log> log) : log_(std::move(log)) {}

  absl::StatusOr<CompiledCode> compile(const std::string& text, bool contracts) override {
    ++log_->calls;
    if (!log_->refuses.empty() && absl::StrContains(text, log_->refuses)) {
      return absl::InternalError("the text is not to its taste");
    }
    return host_.compile(text, contracts);
  }
  std::string identity() const override { return "test"; }

 private:
  const std::shared_ptr<Log> log_;
  HostCompiler host_;
};

class CudaKernelCacheTest : public ::testing::Test {
 protected:
  KernelRef compiled(const LaunchCode& code) {
    const std::vector<KernelRef> found = cache.find({&code, 1});
    const absl::Status status = cache.compile(found, Tier::kCompiled);
    EXPECT_TRUE(status.ok()) << status;
    return found[0];
  }

  Rig rig;
  const std::shared_ptr<TestCompiler::Log> log = std::make_shared<TestCompiler::Log>();
  KernelCache cache{&rig.device().context(), std::make_unique<TestCompiler>(log)};
};

TEST_F(CudaKernelCacheTest, RunsAPointwiseProgram) {
  Job job = Job::pointwise(5003, 1.5f);
  const KernelRef kernel = compiled(job.code("mul"));
  ASSERT_NE(kernel->function(), nullptr);
  EXPECT_EQ(kernel->resources().name, kernel->name());
  EXPECT_GT(kernel->resources().registers, 0);
  run_and_check(&rig, kernel, &job);
}

TEST_F(CudaKernelCacheTest, RunsRowSumsOfAllSizes) {
  for (const int64_t length : {1, 300, 50'000}) {
    Job job = Job::row_sum(3, length);
    run_and_check(&rig, compiled(job.code("sum")), &job);
  }
  EXPECT_EQ(cache.stats().compiles, 1);
  EXPECT_EQ(cache.stats().hits, 2);
}

TEST_F(CudaKernelCacheTest, RunsSeveralCallsByTable) {
  Job jobs[] = {Job::pointwise(999, 2.f), Job::row_sum(5, 700), Job::pointwise(40, -3.f)};
  const int programs[] = {0, 1, 0};
  const KernelRef kernel =
      compiled({{&jobs[0].program(), &jobs[1].program()}, true, false, "together"});
  const auto stream = rig.stream();
  std::vector<std::unique_ptr<Placed>> placed;
  std::vector<runtime::Event> written;
  for (Job& job : jobs) {
    placed.push_back(std::make_unique<Placed>(&rig, stream.get(), &job));
    const auto& events = placed.back()->written();
    written.insert(written.end(), events.begin(), events.end());
  }
  std::vector<std::vector<uint64_t>> words;
  std::vector<TableCall> calls;
  int64_t blocks = 0;
  for (const auto& each : placed) words.push_back(each->words(0, /*in_table=*/true));
  for (size_t i = 0; i < placed.size(); ++i) {
    calls.push_back({programs[i], placed[i]->geometry().num_blocks(0), words[i]});
    blocks += calls[i].blocks;
  }
  const std::vector<uint64_t> table = pack_table(calls);
  auto& copies = rig.device().copies();
  void* const there = *rig.device().allocator().allocate(8 * table.size(), copies.upload_stream());
  written.push_back(*copies.upload(there, table.data(), 8 * table.size()));
  const runtime::Event made = test::submit(
      stream.get(),
      [&] {
        return stream->launch(launch_of(*kernel, blocks, static_cast<const void*>(&there), 8),
                              kernel->label());
      },
      nullptr, written);
  for (size_t i = 0; i < placed.size(); ++i) {
    expect_near(placed[i]->output(made), jobs[i].expected());
  }
  rig.device().allocator().free(there);
}

TEST_F(CudaKernelCacheTest, EqualLaunchesAreOneKernel) {
  const Job a = Job::pointwise(10, 1.f), b = Job::pointwise(2000, 2.f), c = Job::chain(10, 2);
  const KernelRef kernel = compiled(a.code("a"));
  EXPECT_EQ(compiled(b.code("b")), kernel);
  EXPECT_EQ(log->calls, 1);
  // Whatever differs makes another.
  LaunchCode wide = a.code("wide"), by_table = a.code("by table");
  wide.wide = by_table.by_table = true;
  const LaunchCode two{{&a.program(), &c.program()}, true, false, "two"};
  const LaunchCode other_way{{&c.program(), &a.program()}, true, false, "other way"};
  LaunchCode kept = a.code("kept"), kept_more = kept;
  kept.programs[0].way = {RowWay::kKept, 4};
  kept_more.programs[0].way = {RowWay::kKept, 8};
  const std::vector<LaunchCode> codes = {a.code("a"), c.code("c"), wide, by_table,
                                         two,         other_way,   kept, kept_more};
  const std::vector<KernelRef> found = cache.find(codes);
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t k = 0; k < i; ++k) EXPECT_NE(found[i], found[k]) << i << " " << k;
  }
  EXPECT_EQ(found[0], kernel);
  EXPECT_EQ(cache.stats().misses, 8);
  EXPECT_EQ(cache.stats().hits, 2);
}

TEST_F(CudaKernelCacheTest, ColdKernelsAreOneSource) {
  std::vector<Job> jobs;
  for (int i = 1; i <= 20; ++i) jobs.push_back(Job::chain(100, i));
  std::vector<LaunchCode> codes;
  for (const Job& job : jobs) codes.push_back(job.code("chain"));
  codes.push_back(codes[0]);
  const std::vector<KernelRef> kernels = cache.find(codes);
  EXPECT_EQ(kernels[0], kernels[20]);
  ASSERT_TRUE(cache.compile(kernels, Tier::kInterpreted).ok());
  EXPECT_EQ(kernels[0]->function(), nullptr);
  ASSERT_TRUE(cache.compile(kernels, Tier::kCompiled).ok());
  EXPECT_EQ(log->calls, 2);  // sixteen and four
  EXPECT_EQ(cache.stats().compiles, 20);
  EXPECT_EQ(cache.stats().sources, 2);
  for (const size_t i : {0, 7, 19}) run_and_check(&rig, kernels[i], &jobs[i]);
}

TEST_F(CudaKernelCacheTest, CompilesOnAnotherThread) {
  std::vector<Job> jobs;
  for (int i = 1; i <= 40; ++i) jobs.push_back(Job::chain(100, i));
  std::vector<LaunchCode> codes;
  for (const Job& job : jobs) codes.push_back(job.code("chain"));
  const std::vector<KernelRef> kernels = cache.find(codes);
  ASSERT_TRUE(cache.compile(kernels, Tier::kAsync).ok());
  ASSERT_TRUE(cache.compile(kernels, Tier::kAsync).ok());
  while (kernels.back()->function() == nullptr) std::this_thread::yield();
  // Those that are still waiting are compiled here.
  ASSERT_TRUE(cache.compile(kernels, Tier::kCompiled).ok());
  EXPECT_EQ(cache.stats().compiles, 40);
  run_and_check(&rig, kernels[33], &jobs[33]);
}

TEST_F(CudaKernelCacheTest, ManyThreadsCompileOnce) {
  constexpr int kThreadCount = 8;
  Job jobs[] = {Job::pointwise(70, 3.f), Job::row_sum(4, 9)};
  std::latch start(kThreadCount);
  std::vector<KernelRef> found[kThreadCount];
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreadCount; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      found[t] = cache.find({jobs[t % 2].code("one"), jobs[1 - t % 2].code("other")});
      const absl::Status status = cache.compile(found[t], t < 4 ? Tier::kCompiled : Tier::kAsync);
      EXPECT_TRUE(status.ok()) << status;
      if (t < 4) {
        EXPECT_NE(found[t][0]->function(), nullptr);
        EXPECT_NE(found[t][1]->function(), nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cache.stats().compiles, 2);
  EXPECT_EQ(cache.stats().misses, 2);
  EXPECT_EQ(cache.stats().hits, 2 * kThreadCount - 2);
  for (int t = 0; t < kThreadCount; ++t) EXPECT_EQ(found[t][t % 2], found[0][0]);
  run_and_check(&rig, found[0][0], &jobs[0]);
}

TEST_F(CudaKernelCacheTest, CanGoWhileKernelsWait) {
  std::vector<Job> jobs;
  for (int i = 1; i <= 60; ++i) jobs.push_back(Job::chain(100, i));
  std::vector<KernelRef> kernels;
  {
    KernelCache other(&rig.device().context(), std::make_unique<TestCompiler>(log));
    other.warm_up();
    for (const Job& job : jobs) {
      const LaunchCode code = job.code("chain");
      kernels.push_back(other.find({&code, 1})[0]);
    }
    ASSERT_TRUE(other.compile(kernels, Tier::kAsync).ok());
    while (log->calls == 0) std::this_thread::yield();
  }
  for (const KernelRef& kernel : kernels) EXPECT_EQ(kernel->function(), nullptr);
}

// ---- Failures.

TEST_F(CudaKernelCacheTest, AFailureNamesTheKernelAndStaysWithIt) {
  Job good = Job::pointwise(50, 1.f), bad = Job::row_sum(5, 5), other = Job::chain(50, 3);
  log->refuses = "sl_row_team";
  const std::vector<KernelRef> kernels =
      cache.find({good.code("mul, maximum"), bad.code("abs, sum"), other.code("add")});
  const absl::Status status = cache.compile(kernels, Tier::kCompiled);
  EXPECT_EQ(message_of(status), "kernel abs, sum: the text is not to its taste");
  EXPECT_EQ(kernels[1]->failure(), status);
  EXPECT_EQ(kernels[1]->function(), nullptr);
  // What was in the same source is there.
  EXPECT_TRUE(kernels[0]->failure().ok());
  run_and_check(&rig, kernels[0], &good);
  run_and_check(&rig, kernels[2], &other);
  // It is not tried again.
  const int calls = log->calls;
  EXPECT_EQ(cache.compile(kernels, Tier::kCompiled), status);
  EXPECT_EQ(log->calls, calls);
  EXPECT_EQ(cache.stats().compile_failures, 1);
  Job next = Job::chain(50, 4);
  run_and_check(&rig, compiled(next.code("next")), &next);
}

TEST_F(CudaKernelCacheTest, WhatTheDriverDoesNotLoadIsTriedAgain) {
  Job job = Job::chain(64, 2);
  int failures = 0;
  for (int64_t n = 1; n <= 8; ++n) {
    KernelCache fresh(&rig.device().context(), std::make_unique<TestCompiler>(log));
    const LaunchCode code = job.code("chain");
    const std::vector<KernelRef> kernels = fresh.find({&code, 1});
    rig.emulator.fail_call(n, runtime::cuda::Result::kOutOfMemory);
    const absl::Status status = fresh.compile(kernels, Tier::kCompiled);
    if (!status.ok()) {
      ++failures;
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
      EXPECT_THAT(message_of(status), HasSubstr("kernel chain: "));
      EXPECT_TRUE(fresh.compile(kernels, Tier::kCompiled).ok());
    }
    EXPECT_TRUE(kernels[0]->failure().ok());
    ASSERT_NE(kernels[0]->function(), nullptr) << n;
  }
  EXPECT_GT(failures, 2);
  rig.emulator.fail_call(1 << 20, runtime::cuda::Result::kSuccess);
}

TEST_F(CudaKernelCacheTest, TheHostsCompilerSaysWhatIsWrong) {
  const absl::Status status = HostCompiler().compile("nonsense;", false).status();
  EXPECT_THAT(message_of(status), HasSubstr("nonsense"));
}

// ---- NVRTC.

TEST(CudaNvrtcTest, ReadsWhatPtxasReports) {
  const std::vector<KernelResources> kernels = parse_resources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
      "ptxas info    : Function properties for first\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 42 registers, used 1 barriers, 2064 bytes smem, 400 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90'\n"
      "ptxas info    : Function properties for second\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "first");
  EXPECT_EQ(kernels[0].registers, 42);
  EXPECT_EQ(kernels[0].stack_bytes, 16);
  EXPECT_EQ(kernels[0].spill_bytes, 8);
  EXPECT_EQ(kernels[0].shared_bytes, 2064);
  EXPECT_EQ(kernels[1].name, "second");
  EXPECT_EQ(kernels[1].registers, 8);
  EXPECT_EQ(kernels[1].shared_bytes, 0);
}

TEST(CudaNvrtcTest, SaysThatThereIsNone) {
  EXPECT_THAT(message_of(Nvrtc::load("libno-such-nvrtc.so.1").status()),
              HasSubstr("libno-such-nvrtc.so.1"));
  EXPECT_EQ(message_of(Nvrtc::load("libm.so.6").status()), "libm.so.6 has no nvrtcVersion");
  // No library is for a driver as old as this, unless one is named.
  if (const char* named = std::getenv("SLUICE_NVRTC"); named != nullptr && *named != '\0') return;
  const absl::Status none = make_nvrtc_compiler(90, 9000)->compile("", false).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message_of(none), HasSubstr("there is no CUDA compiler: libnvrtc.so was not found"));
}

// Its code would not load.
TEST(CudaNvrtcTest, ThatIsTooNewForTheDriverIsNotUsed) {
  if (const char* named = std::getenv("SLUICE_NVRTC"); named != nullptr && *named != '\0') return;
  const fs::path home = fs::temp_directory_path() / absl::StrCat("sluice_nvrtc_", getpid());
  fs::create_directories(home / "lib64");
  std::ofstream source(home / "nvrtc.c");
  source << "int nvrtcVersion(int* major, int* minor) { *major = 12; *minor = 1; return 0; }\n"
            "int nvrtcGetNumSupportedArchs(int* count) { *count = 0; return 0; }\n";
  for (const char* const name :
       {"GetErrorString", "GetSupportedArchs", "CreateProgram", "DestroyProgram", "CompileProgram",
        "GetProgramLogSize", "GetProgramLog", "GetCUBINSize", "GetCUBIN", "GetPTXSize", "GetPTX"}) {
    source << "int nvrtc" << name << "(void) { return 0; }\n";
  }
  source.close();
  const std::string command = absl::StrCat("cc -shared -fPIC -o ", (home / "lib64").string(),
                                           "/libnvrtc.so.12 ", (home / "nvrtc.c").string());
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "no compiler";
  setenv("CUDA_HOME", home.c_str(), 1);
  const absl::Status unfit = make_nvrtc_compiler(90, 11080)->compile("", false).status();
  unsetenv("CUDA_HOME");
  EXPECT_THAT(message_of(unfit), HasSubstr("whose code a driver for CUDA 11 does not load"));
  fs::remove_all(home);
}

class CudaRealNvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* named = std::getenv("SLUICE_NVRTC");
    if (named == nullptr || *named == '\0') GTEST_SKIP() << "SLUICE_NVRTC is not set";
  }
};

TEST_F(CudaRealNvrtcTest, CompilesForEachArchitecture) {
  const Job jobs[] = {Job::pointwise(10, 1.f), Job::row_sum(4, 9)};
  const std::vector<Kernel> kernels = {
      {"first", {&jobs[0].program()}},
      {"second", {&jobs[1].program()}},
      {"both", {&jobs[0].program(), &jobs[1].program()}, /*by_table=*/true}};
  for (const int architecture : {80, 90, 100}) {
    const auto compiler = make_nvrtc_compiler(architecture, 13000);
    EXPECT_THAT(compiler->identity(), HasSubstr(absl::StrCat(" sm_", architecture)));
    for (const bool contracts : {false, true}) {
      const absl::StatusOr<CompiledCode> code = compiler->compile(emit(kernels), contracts);
      ASSERT_TRUE(code.ok()) << code.status();
      EXPECT_FALSE(code->is_ptx);
      EXPECT_EQ(code->image.substr(1, 3), "ELF");
      EXPECT_EQ(code->kernels.size(), 3u) << code->log;
      for (const KernelResources& kernel : code->kernels) {
        EXPECT_GT(kernel.registers, 0) << code->log;
        EXPECT_EQ(kernel.spill_bytes, 0) << code->log;
        EXPECT_EQ(kernel.shared_bytes > 0, kernel.name != "first") << code->log;
      }
    }
  }
}

TEST_F(CudaRealNvrtcTest, CompilesToPtxForWhatItDoesNotKnow) {
  const Job job = Job::chain(10, 1);
  const Kernel kernel{"k", {&job.program()}};
  const auto compiler = make_nvrtc_compiler(999, 13000);
  const absl::StatusOr<CompiledCode> code = compiler->compile(emit({&kernel, 1}), false);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_TRUE(code->is_ptx);
  EXPECT_THAT(code->image, HasSubstr(".entry k"));
  EXPECT_THAT(compiler->identity(), HasSubstr(" compute_"));
  const absl::Status ancient = make_nvrtc_compiler(20, 13000)->compile("", false).status();
  EXPECT_THAT(message_of(ancient), HasSubstr("does not compile for compute capability 2.0"));
}

TEST_F(CudaRealNvrtcTest, SaysWhatIsWrong) {
  const absl::Status status = make_nvrtc_compiler(90, 13000)->compile("nonsense;", false).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(message_of(status), HasSubstr("for sm_90: NVRTC_ERROR_COMPILATION"));
  EXPECT_THAT(message_of(status), HasSubstr("nonsense"));
}

}  // namespace
}  // namespace sluice::kernels::cuda
