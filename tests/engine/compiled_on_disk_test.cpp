// Compiled kernels come from disk the second time: the same bits, nothing compiled, and damage is
// only compiled again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sluice/sluice.h>
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "kernels/cache/disk_cache.h"
#include "kernels/compiled/compiler.h"
#include "kernels/cuda/compile/caching_compiler.h"
#include "tests/support/disk_cache_folder.h"
#include "tests/support/program_builder.h"

namespace sluice::kernels {
namespace {

namespace fs = std::filesystem;
using testing::contents_of;
using ::testing::ElementsAre;
using testing::files_in;
using ::testing::HasSubstr;
using testing::mode_of;
using testing::write_file;

// Of the key in an entry: it follows four words, of which the third is its size.
std::string key_of(const std::string& entry) {
  uint64_t size;
  std::memcpy(&size, entry.data() + 16, sizeof(size));
  return entry.substr(32, size);
}

// What DISABLED_Runs says in a process of its own.
struct Said {
  int64_t compiles = -1;
  int64_t failures = -1;
  int64_t disk_hits = -1;
  std::string bits;
  bool links_llvm = false;  // as a static library does
  bool loads_llvm = false;
  std::string kernels;  // the line of build_info()
};

std::string command_of(const std::string& settings, const char* child) {
  return absl::StrCat(
      settings, " '", fs::read_symlink("/proc/self/exe").string(),
      "' --gtest_also_run_disabled_tests --gtest_filter=CompiledOnDiskChild.DISABLED_", child);
}

Said run_child(const std::string& settings) {
  const std::string command = command_of(settings + " SLUICE_COMPILE=blocking", "Runs");
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const size_t count = fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, count);
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << output;
  Said said;
  std::istringstream text(output.substr(std::min(output.find("SAID "), output.size())));
  std::string word;
  text >> word >> said.compiles >> said.failures >> said.disk_hits >> said.bits >>
      said.links_llvm >> said.loads_llvm;
  std::getline(text, said.kernels);
  EXPECT_TRUE(text) << output;
  return said;
}

bool has_llvm() {
  std::ifstream maps("/proc/self/maps");
  return std::any_of(std::istream_iterator<std::string>(maps), {}, [](const std::string& word) {
    return word.find("libLLVM") != std::string::npos ||
           word.find("sluice_llvm") != std::string::npos;
  });
}

// Not a test: what run_child() runs. Kernels of every kind that calls back into the library: long
// reductions, rows that are kept, tiles, library functions, indices that are checked.
TEST(CompiledOnDiskChild, DISABLED_Runs) {
  const bool links_llvm = has_llvm();
  const Tensor x = reshape(arange(0, 60000, 1, DType::kFloat32), {200, 300}) * 1e-3f;
  const Tensor e = exp(x - max(x, 1, true));
  const std::vector<Tensor> results = {
      e / sum(e, 1, true),
      sum(square(x)),
      sin(x) + asin(x * 0.01f),
      transpose(x) * 2 + reshape(x, {300, 200}),
      take(x, astype(arange(0, 100, 1), DType::kInt64), 0) + 1,
      astype(cos(astype(x, DType::kFloat64)), DType::kFloat16),
  };
  uint64_t hash = 0;
  for (const Tensor& result : results) {
    for (const float value : astype(result, DType::kFloat32).to_vector<float>()) {
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof(bits));
      hash = (hash ^ bits) * 0x100000001b3;
    }
  }
  EXPECT_THROW(static_cast<void>(
                   take(x, Tensor::from(std::vector<int64_t>{1, 1000}, {2}), 0).to_vector<float>()),
               Error);
  const Stats s = stats();
  const bool loads_llvm = has_llvm();
  const std::string info = build_info();
  const std::string kernels = info.substr(info.find("kernels: "));
  std::printf("SAID %lld %lld %lld %llx %d %d %s\n", static_cast<long long>(s.compiles),
              static_cast<long long>(s.compile_failures), static_cast<long long>(s.disk_cache_hits),
              static_cast<unsigned long long>(hash), links_llvm, loads_llvm,
              kernels.substr(0, kernels.find('\n')).c_str());
}

class CompiledOnDisk : public testing::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    if (!llvm_available()) GTEST_SKIP() << "built without LLVM";
  }

  std::string on(const std::string& more = "") const {
    return absl::StrCat("SLUICE_DISK_CACHE=on SLUICE_CACHE_DIR='", folder_.string(), "' ", more);
  }
};

TEST_F(CompiledOnDisk, TheSecondProcessCompilesNothing) {
  const Said without = run_child("SLUICE_DISK_CACHE=off");
  EXPECT_GT(without.compiles, 5);
  EXPECT_EQ(without.disk_hits, 0);

  const Said first = run_child(on());
  EXPECT_EQ(first.compiles, without.compiles);
  EXPECT_EQ(first.disk_hits, 0);
  EXPECT_EQ(first.failures, 0);
  EXPECT_EQ(first.bits, without.bits);

  const Said second = run_child(on());
  EXPECT_EQ(second.compiles, 0);
  EXPECT_EQ(second.disk_hits, first.compiles);
  EXPECT_EQ(second.failures, 0);
  EXPECT_EQ(second.bits, without.bits);
  EXPECT_TRUE(first.loads_llvm);
  EXPECT_EQ(second.loads_llvm, second.links_llvm);

  // Other arithmetic is other code.
  const Said fast = run_child(on("SLUICE_FAST_MATH=1"));
  EXPECT_GT(fast.compiles, 0);
}

TEST_F(CompiledOnDisk, WithoutTheGeneratorKernelsAreInterpreted) {
  const Said with = run_child(on());
  EXPECT_THAT(with.kernels, HasSubstr("LLVM "));
  if (with.links_llvm) GTEST_SKIP() << "LLVM is linked";
  for (const auto& [plugin, problem] : std::vector<std::pair<std::string, std::string>>{
           {"/nowhere/plugin.so", "/nowhere/plugin.so"},
           {"libm.so.6", "libm.so.6 has no sluice_llvm_generator"},
           {SLUICE_TEST_OTHER_PLUGIN, "is of another build of sluice"}}) {
    const std::string setting = absl::StrCat("SLUICE_LLVM_PLUGIN='", plugin, "'");
    const Said without = run_child(absl::StrCat("SLUICE_DISK_CACHE=off ", setting));
    EXPECT_EQ(without.compiles, 0) << plugin;
    EXPECT_EQ(without.failures, 0) << plugin;
    EXPECT_EQ(without.bits, with.bits) << plugin;
    EXPECT_THAT(without.kernels, HasSubstr("kernels: interpreted only ("));
    EXPECT_THAT(without.kernels, HasSubstr(problem));
    // What is on disk needs none.
    const Said loaded = run_child(on(setting));
    EXPECT_EQ(loaded.disk_hits, with.compiles) << plugin;
    EXPECT_EQ(loaded.bits, with.bits) << plugin;
  }
}

// Not a test: it is ended by another thread, after so many microseconds of the first compilations.
TEST(CompiledOnDiskChild, DISABLED_IsEnded) {
  const int delay = std::atoi(std::getenv("SLUICE_TEST_DELAY"));
  Tensor x = rand({64});
  for (int i = 0; i < 4; ++i) (x = tanh(x * 1.5f) + exp(x)).eval();
  std::thread([delay] {
    std::this_thread::sleep_for(std::chrono::microseconds(delay));
    std::exit(0);
  }).join();
}

TEST(CompiledOnDiskExit, AnotherThreadMayEndTheProcessWhileLlvmIsLoaded) {
  for (int delay = 0; delay < 20000; delay += 500) {
    const std::string settings =
        absl::StrCat("SLUICE_DISK_CACHE=off SLUICE_COMPILE=async SLUICE_TEST_DELAY=", delay);
    const int status = std::system((command_of(settings, "IsEnded") + " > /dev/null").c_str());
    ASSERT_EQ(status, 0) << delay << " us";
  }
}

TEST_F(CompiledOnDisk, DamageIsCompiledAgain) {
  const Said first = run_child(on());
  std::mt19937 rng(3);
  for (const fs::path& file : files_in(folder_)) {
    std::string entry = contents_of(file);
    entry[rng() % entry.size()] ^= 1 << rng() % 8;
    write_file(file, entry);
  }
  const Said second = run_child(on());
  EXPECT_EQ(second.compiles, first.compiles);
  EXPECT_EQ(second.disk_hits, 0);
  EXPECT_EQ(second.bits, first.bits);
  const Said third = run_child(on());
  EXPECT_EQ(third.compiles, 0);
  EXPECT_EQ(third.bits, first.bits);
}

TEST_F(CompiledOnDisk, TheFolderIsFoundByTheEnvironment) {
  const auto run = [&](const std::string& settings) {
    return run_child(absl::StrCat("env -u SLUICE_CACHE_DIR -u XDG_CACHE_HOME -u HOME ",
                                  "SLUICE_DISK_CACHE=1 ",
                                  absl::StrReplaceAll(settings, {{"ROOT", root_.string()}})));
  };
  const Said home = run("HOME=ROOT/home");
  EXPECT_EQ(files_in(root_ / "home/.cache/sluice").size(), home.compiles);
  EXPECT_EQ(mode_of(root_ / "home/.cache"), 0700);
  EXPECT_EQ(run("XDG_CACHE_HOME=relative HOME=ROOT/home").compiles, 0);
  run("XDG_CACHE_HOME=ROOT/xdg HOME=ROOT/home");
  EXPECT_EQ(files_in(root_ / "xdg/sluice").size(), home.compiles);
  run("SLUICE_CACHE_DIR=ROOT/mine XDG_CACHE_HOME=ROOT/xdg");
  EXPECT_EQ(files_in(root_ / "mine").size(), home.compiles);

  // Without a cache everything goes on.
  for (const char* settings :
       {"", "SLUICE_CACHE_DIR=/dev/null/nowhere", "SLUICE_CACHE_DIR=/proc/self/nowhere",
        "HOME=ROOT/home SLUICE_CACHE_BYTES=100", "HOME=ROOT/home SLUICE_DISK_CACHE=0"}) {
    const Said without = run(settings);
    EXPECT_EQ(without.compiles, home.compiles) << settings;
    EXPECT_EQ(without.bits, home.bits) << settings;
  }
  EXPECT_EQ(files_in(root_).size(), 3);
}

// A kernel that negates one float.
float negated(const Executable& kernel, testing::ProgramBuilder& b, float* y) {
  const KernelArgs args = b.args();
  *y = 0;
  kernel.entry().rows(kernel.context(), &args, 0, 1);
  return *y;
}

TEST_F(CompiledOnDisk, CodeThatDoesNotLinkIsCompiledAgain) {
  float x = 3, y = 0;
  testing::ProgramBuilder b(fusion::Schedule::kPointwise, {1});
  b.store(b.op(fusion::Op::kNeg, {b.load(b.access(&x, {1}))}), b.access(&y, {1}));
  const auto compile = [&](bool expect_from_cache) {
    const auto cache = open();
    bool from_cache = !expect_from_cache;
    const auto kernel = compile_llvm(b.program(), cache.get(), &from_cache);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    EXPECT_EQ(from_cache, expect_from_cache);
    EXPECT_EQ(negated(**kernel, b, &y), -3.f);
  };
  compile(false);
  compile(true);
  const std::string key = key_of(contents_of(files_in(folder_)[0]));
  for (const std::string object : {"", "no object",
                                   "\x7f"
                                   "ELF"}) {
    open()->insert(key, object);
    compile(false);
    compile(true);
  }
}

// ---- CUDA.

class FakeCompiler : public cuda::Compiler {
 public:
  explicit FakeCompiler(int* compiles) : compiles_(compiles) {}

  absl::StatusOr<cuda::CompiledCode> compile(const std::string& text, bool contracts) override {
    ++*compiles_;
    if (text == "wrong") return absl::InternalError("wrong");
    cuda::CompiledCode code;
    code.image = std::string("image\0of ", 9) + text;
    code.is_ptx = contracts;
    code.log = "log";
    code.kernels = {{"one", 1, 2, 3, 4}, {"two", 5, 6, 7, 8}};
    return code;
  }
  std::string identity() const override { return "fake"; }
  std::string disk_key(const std::string& text, bool contracts) const override {
    return text == "private" ? "" : absl::StrCat(text, contracts);
  }

 private:
  int* const compiles_;
};

using CachingCompiler = testing::FolderTest;

TEST_F(CachingCompiler, KeepsCode) {
  const auto compile = [&](const std::string& text, bool contracts, int expected_compiles) {
    const auto cache = open();
    int compiles = 0;
    const auto compiler =
        cuda::with_disk_cache(std::make_unique<FakeCompiler>(&compiles), cache.get());
    EXPECT_EQ(compiler->identity(), "fake");
    const auto code = compiler->compile(text, contracts);
    EXPECT_EQ(compiles, expected_compiles) << text;
    ASSERT_EQ(code.ok(), text != "wrong");
    if (!code.ok()) return;
    EXPECT_EQ(code->from_disk, compiles == 0);
    EXPECT_EQ(code->image, std::string("image\0of ", 9) + text);
    EXPECT_EQ(code->is_ptx, contracts);
    EXPECT_EQ(code->log, "log");
    ASSERT_EQ(code->kernels.size(), 2);
    const cuda::KernelResources& two = code->kernels[1];
    EXPECT_EQ(two.name, "two");
    EXPECT_THAT((std::vector{two.registers, two.stack_bytes, two.spill_bytes, two.shared_bytes}),
                ElementsAre(5, 6, 7, 8));
  };
  for (const bool contracts : {false, true}) {
    for (const char* text : {"a", "b"}) {
      compile(text, contracts, 1);
      compile(text, contracts, 0);
    }
  }
  for (const char* text : {"", "private", "wrong"}) {
    compile(text, false, 1);
    compile(text, false, 1);
  }
  EXPECT_EQ(files_in(folder_).size(), 4);

  // A value that is whole, but of another form.
  const fs::path file = files_in(folder_)[0];
  const std::string key = key_of(contents_of(file));
  const bool contracts = key.back() == '1';
  const std::string text = key.substr(key.size() - 2, 1);
  const std::string value = *open()->find(key);
  for (size_t size = 0; size < value.size(); ++size) {
    open()->insert(key, value.substr(0, size));
    compile(text, contracts, 1);
  }
  open()->insert(key, value + "more");
  compile(text, contracts, 1);
  for (size_t at = 0; at + 8 <= value.size(); ++at) {
    std::string damaged = value;
    std::memset(damaged.data() + at, 0xff, 8);
    open()->insert(key, damaged);
    int compiles = 0;
    const auto cache = open();
    EXPECT_TRUE(cuda::with_disk_cache(std::make_unique<FakeCompiler>(&compiles), cache.get())
                    ->compile(text, contracts)
                    .ok());
  }
}

TEST_F(CachingCompiler, IsTheCompilerWhereThereIsNoCache) {
  int compiles = 0;
  auto compiler = std::make_unique<FakeCompiler>(&compiles);
  const cuda::Compiler* const plain = compiler.get();
  EXPECT_EQ(cuda::with_disk_cache(std::move(compiler), nullptr).get(), plain);
}

}  // namespace
}  // namespace sluice::kernels
