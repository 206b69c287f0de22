// Emitted CUDA kernels, compiled for the host with the host's prelude, against the interpreter.
//
// If SLUICE_NVRTC names a libnvrtc.so, every source is compiled by it too, for several
// architectures: registers must suffice.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sluice/kernels/cuda/call.h"
#include "sluice/kernels/cuda/emit.h"
#include "sluice/kernels/cuda/expression.h"
#include "sluice/kernels/cuda/plan.h"
#include "sluice/kernels/cuda/prelude.h"
#include "sluice/kernels/interp/interpreter.h"
#include "sluice/tests/program_builder.h"
#include "sluice/tests/strange_floats.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::Op;
using fusion::Program;
using fusion::Schedule;
using fusion::ValueId;
using testing::floats;
using testing::kInf;
using testing::kNan;
using testing::ProgramBuilder;
using testing::strange_floats;

// ---- Compilers.

// Real NVRTC, if the environment names it. Its interface is declared here, so that no toolkit is
// needed to build this.
class Nvrtc {
 public:
  static const Nvrtc* get() {
    static const Nvrtc nvrtc(std::getenv("SLUICE_NVRTC"));
    return nvrtc.library_ == nullptr ? nullptr : &nvrtc;
  }

  // Returns the log; the resources that ptxas reports are in it.
  std::string compile(const std::string& source, const char* architecture) const {
    void* program = nullptr;
    create_(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr);
    std::vector<std::string> options = device_options(/*contracts=*/false);
    options.push_back(absl::StrCat("--gpu-architecture=", architecture));
    options.push_back("--ptxas-options=-v");
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const int status = compile_(program, static_cast<int>(pointers.size()), pointers.data());
    size_t size = 0;
    log_size_(program, &size);
    std::string log(size, '\0');
    log_(program, log.data());
    EXPECT_EQ(status, 0) << architecture << ":\n" << log;
    size_t code_size = 0;
    if (status == 0) code_size_(program, &code_size);
    EXPECT_GT(code_size, 0u);
    destroy_(&program);
    return log;
  }

 private:
  explicit Nvrtc(const char* path) {
    if (path == nullptr || *path == '\0') return;
    library_ = dlopen(path, RTLD_NOW);
    EXPECT_NE(library_, nullptr) << dlerror();
    if (library_ == nullptr) return;
    find("nvrtcCreateProgram", &create_);
    find("nvrtcCompileProgram", &compile_);
    find("nvrtcGetProgramLogSize", &log_size_);
    find("nvrtcGetProgramLog", &log_);
    find("nvrtcGetCUBINSize", &code_size_);
    find("nvrtcDestroyProgram", &destroy_);
  }
  template <typename F>
  void find(const char* name, F* function) {
    *function = reinterpret_cast<F>(dlsym(library_, name));
    ASSERT_NE(*function, nullptr) << name;
  }

  void* library_ = nullptr;
  int (*create_)(void**, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile_)(void*, int, const char* const*);
  int (*log_size_)(void*, size_t*);
  int (*log_)(void*, char*);
  int (*code_size_)(void*, size_t*);
  int (*destroy_)(void**);
};

constexpr const char* kArchitectures[] = {"sm_80", "sm_90", "sm_100"};

// What ptxas says of a source's kernels.
struct Resources {
  int registers = 0;    // the most
  int spill_bytes = 0;  // of all
};

Resources resources_of(const std::string& log) {
  Resources resources;
  auto for_each = [&](const char* pattern, auto f) {
    const std::regex regex(pattern);
    for (std::sregex_iterator it(log.begin(), log.end(), regex), end; it != end; ++it) {
      f(std::stoi((*it)[1]));
    }
  };
  for_each("Used ([0-9]+) registers",
           [&](int n) { resources.registers = std::max(resources.registers, n); });
  for_each("([0-9]+) bytes spill stores", [&](int n) { resources.spill_bytes += n; });
  return resources;
}

void check_with_nvrtc(const std::string& text) {
  if (Nvrtc::get() == nullptr) return;
  for (const char* architecture : kArchitectures) {
    const Resources resources =
        resources_of(Nvrtc::get()->compile(device_source(text), architecture));
    EXPECT_EQ(resources.spill_bytes, 0) << architecture;
    EXPECT_GT(resources.registers, 0);
  }
}

using HostKernel = const char* (*)(unsigned grid, unsigned block, const void* const* arguments);

// A source, compiled for the host; unloaded at the end.
class HostModule {
 public:
  explicit HostModule(const std::string& source) {
    static int count = 0;
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / absl::StrCat("sluice_cuda_emit_", getpid());
    std::filesystem::create_directories(folder);
    const std::string stem = folder / absl::StrCat("source", count++);
    std::ofstream(stem + ".cpp") << source;
    const char* compiler = std::getenv("CXX");
    const std::string command = absl::StrCat(
        compiler != nullptr && *compiler != '\0' ? compiler : "c++", " ",
        absl::StrJoin(host_options(), " "), " -O1 -w -o ", stem, ".so ", stem, ".cpp -lm");
    EXPECT_EQ(std::system(command.c_str()), 0) << command << "\n" << source;
    library_ = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << dlerror();
    if (std::getenv("SLUICE_KEEP_SOURCES") == nullptr) std::filesystem::remove_all(folder);
  }
  ~HostModule() {
    if (library_ != nullptr) dlclose(library_);
  }
  HostModule(const HostModule&) = delete;
  HostModule& operator=(const HostModule&) = delete;

  HostKernel kernel(const std::string& name) const {
    return library_ == nullptr ? nullptr
                               : reinterpret_cast<HostKernel>(dlsym(library_, name.c_str()));
  }

 private:
  void* library_ = nullptr;
};

// ---- Launches.

constexpr int kFewMultiprocessors = 0;  // rows are never split
constexpr int kManyMultiprocessors = 132;

// All stages of a call. Returns what the kernel complained of, or "".
std::string run(HostKernel kernel, const Program& program, const KernelArgs& args,
                int multiprocessors) {
  const Geometry geometry = geometry_of(program, args.extents, multiprocessors);
  // Partial results that nobody has written are not to be read.
  std::vector<uint64_t> partials(geometry.partial_bytes / 8 + 2, 0x7ff4dead7ff4deadull);
  void* const aligned = &partials[reinterpret_cast<uintptr_t>(partials.data()) / 8 % 2];
  std::vector<uint64_t> words(num_words(program));
  EXPECT_LE(8 * words.size(), static_cast<size_t>(kMaxParameterBytes));
  for (int stage = 0; stage < geometry.num_stages; ++stage) {
    if (geometry.num_blocks(stage) == 0) continue;
    pack_call(program, geometry, args, stage, aligned, words.data());
    const void* const parameters[] = {words.data()};
    const char* error = kernel(static_cast<unsigned>(geometry.num_blocks(stage)), kThreads,
                               static_cast<const void* const*>(parameters));
    if (error != nullptr) return error;
  }
  return "";
}

void interpret(const Program& program, const KernelArgs& args) {
  const auto executable = make_interpreter(program);
  int64_t rows = 1;
  for (int d = 0; d < program.kept_rank; ++d) rows *= args.extents[d];
  if (rows > 0) executable->entry().rows(executable->context(), &args, 0, rows);
}

// ---- Comparison.

// How far apart two values may be.
struct Tolerance {
  int64_t ulps = 0;     // of floats; other types have to be equal
  double relative = 0;  // or of the expected value
};

// Bits of a float as an integer that counts representable numbers.
int64_t ordinal(uint64_t bits, int width) {
  const uint64_t sign = uint64_t{1} << (width - 1);
  return bits & sign ? -static_cast<int64_t>(bits & (sign - 1)) : static_cast<int64_t>(bits);
}

double number(const char* at, DType dtype) {
  return visit_dtype(dtype, [&]<typename T>() -> double {
    if constexpr (std::is_same_v<T, bool>)
      return *at;
    else {
      T value;
      std::memcpy(&value, at, sizeof(T));
      if constexpr (std::is_arithmetic_v<T>)
        return static_cast<double>(value);
      else
        return static_cast<float>(value);
    }
  });
}

bool agree(const char* actual, const char* expected, DType dtype, const Tolerance& tolerance) {
  const size_t size = size_of(dtype);
  if (std::memcmp(actual, expected, size) == 0) return true;
  if (!is_float(dtype)) return false;
  const double want = number(expected, dtype), got = number(actual, dtype);
  if (std::isnan(want) || std::isnan(got)) return false;
  uint64_t a = 0, b = 0;
  std::memcpy(&a, actual, size);
  std::memcpy(&b, expected, size);
  const int width = static_cast<int>(8 * size);
  return std::abs(ordinal(a, width) - ordinal(b, width)) <= tolerance.ulps ||
         std::abs(got - want) <= tolerance.relative * std::abs(want);
}

// ---- Cases.

// Memory of a case. Elements have the bits of T; bools are bytes.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, int8_t, T>;

// A program with its memory, whose outputs are compared.
class Case {
 public:
  Case(std::string name, ProgramBuilder builder)
      : name_(std::move(name)), builder_(std::move(builder)) {}

  ProgramBuilder* operator->() { return &builder_; }

  template <typename T>
  Stored<T>* input(std::vector<Stored<T>> values) {
    auto memory = std::make_shared<std::vector<Stored<T>>>(std::move(values));
    memory_.push_back(memory);
    return memory->data();
  }
  // `count` elements of `dtype`, aligned to 256 bytes and filled with a pattern.
  void* output(DType dtype, int64_t count, Tolerance tolerance = {}) {
    const size_t bytes = static_cast<size_t>(count) * size_of(dtype);
    std::shared_ptr<void> memory(std::aligned_alloc(256, (bytes + 511) / 256 * 256), std::free);
    memory_.push_back(memory);
    outputs_.push_back({static_cast<char*>(memory.get()), count, dtype, tolerance});
    return memory.get();
  }
  uint16_t input_access(DType dtype, const void* data, std::vector<int64_t> strides,
                        int64_t offset = 0, bool general = false) {
    return builder_.access(const_cast<void*>(data), dtype, std::move(strides), offset, general);
  }
  // A row-major output of `extents`, to which `value` is stored; 0 where it does not vary.
  void store(ValueId value, const std::vector<int64_t>& extents, Tolerance tolerance = {}) {
    std::vector<int64_t> strides(extents.size(), 0);
    int64_t count = 1;
    for (size_t d = extents.size(); d-- > 0;) {
      if (extents[d] != 0) strides[d] = count;
      count *= std::max<int64_t>(extents[d], 1);
    }
    const DType dtype = builder_.dtype_of_value(value);
    builder_.store(value, builder_.access(output(dtype, count, tolerance), dtype, strides));
  }

  const std::string& name() const { return name_; }
  const Program& program() const { return builder_.program(); }

  void check(HostKernel kernel, int multiprocessors) {
    const std::vector<std::string> expected =
        run_on([&](const KernelArgs& args) { interpret(program(), args); });
    const std::vector<uint64_t> expected_errors = errors();
    const std::vector<std::string> actual = run_on([&](const KernelArgs& args) {
      EXPECT_FALSE(needs_wide_indices(program(), args));
      EXPECT_EQ(run(kernel, program(), args, multiprocessors), "") << name_;
    });
    EXPECT_EQ(errors(), expected_errors) << name_;
    for (size_t o = 0; o < outputs_.size(); ++o) compare(o, actual[o], expected[o]);
  }
  // The bits of all outputs.
  std::vector<std::string> bits(HostKernel kernel, int multiprocessors) {
    return run_on([&](const KernelArgs& args) {
      EXPECT_EQ(run(kernel, program(), args, multiprocessors), "") << name_;
    });
  }
  // What `f` leaves in the outputs, which are filled with a pattern before.
  template <typename F>
  std::vector<std::string> run_on(const F& f) {
    for (const Output& output : outputs_) std::memset(output.data, 0x5b, output.bytes());
    const KernelArgs args = builder_.args();
    f(args);
    std::vector<std::string> result;
    for (const Output& output : outputs_) result.emplace_back(output.data, output.bytes());
    return result;
  }
  void compare(size_t o, const std::string& actual, const std::string& expected) const {
    const Output& output = outputs_[o];
    const size_t size = size_of(output.dtype);
    for (int64_t i = 0; i < output.count; ++i) {
      const char* got = &actual[i * size];
      const char* want = &expected[i * size];
      ASSERT_TRUE(agree(got, want, output.dtype, output.tolerance))
          << name_ << ": output " << o << " (" << sluice::name_of(output.dtype) << ") at " << i
          << ": " << number(got, output.dtype) << ", not " << number(want, output.dtype);
    }
  }

 private:
  struct Output {
    char* data;
    int64_t count;
    DType dtype;
    Tolerance tolerance;

    size_t bytes() const { return static_cast<size_t>(count) * size_of(dtype); }
  };

  // Which slots were raised, with their index and extent.
  std::vector<uint64_t> errors() const {
    std::vector<uint64_t> result;
    for (int slot = 0; slot < program().num_error_slots; ++slot) {
      const ErrorSlot& error = builder_.error(slot);
      result.push_back(error.raised);
      result.push_back(static_cast<uint64_t>(error.index));
      result.push_back(static_cast<uint64_t>(error.extent));
    }
    return result;
  }

  std::string name_;
  ProgramBuilder builder_;
  std::vector<std::shared_ptr<void>> memory_;
  std::vector<Output> outputs_;
};

// Cases that are compiled together, each different program once.
class Cases {
 public:
  Case& add(std::string name, Schedule schedule, std::vector<int64_t> kept,
            std::vector<int64_t> reduced = {}) {
    cases_.push_back(std::make_unique<Case>(
        std::move(name), ProgramBuilder(schedule, std::move(kept), std::move(reduced))));
    return *cases_.back();
  }
  // Every case, whole rows in one launch and rows shared by blocks.
  void check() {
    compile();
    for (const auto& c : cases_) {
      c->check(kernel_of(*c), kFewMultiprocessors);
      c->check(kernel_of(*c), kManyMultiprocessors);
    }
  }
  void compile() {
    std::map<std::string, std::string> name_of_key;
    std::vector<Kernel> kernels;
    for (const auto& c : cases_) {
      const absl::Status status = fusion::verify(c->program());
      ASSERT_TRUE(status.ok()) << c->name() << ": " << status;
      const auto [it, is_new] = name_of_key.try_emplace(fusion::canonical_key(c->program()),
                                                        absl::StrCat("kernel", kernels.size()));
      if (is_new) kernels.push_back({it->second, {&c->program()}});
      names_[c.get()] = it->second;
    }
    const std::string text = emit(kernels);
    check_with_nvrtc(text);
    module_.emplace(host_source(text));
  }
  HostKernel kernel_of(const Case& c) const { return module_->kernel(names_.at(&c)); }
  Case& operator[](size_t i) { return *cases_[i]; }

 private:
  std::vector<std::unique_ptr<Case>> cases_;
  std::map<const Case*, std::string> names_;
  std::optional<HostModule> module_;
};

// ---- Values.

// Floats as elements of another type; integers have their extremes among them.
template <typename T>
std::vector<Stored<T>> elements(const std::vector<float>& values) {
  std::vector<Stored<T>> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    if constexpr (std::is_same_v<T, bool>) {
      result[i] = i % 3 != 0;
    } else if constexpr (std::is_integral_v<T>) {
      result[i] = std::abs(value) < 100 ? static_cast<T>(static_cast<int>(value))
                  : value < 0           ? std::numeric_limits<T>::min()
                                        : std::numeric_limits<T>::max();
    } else {
      result[i] = T(value);
    }
  }
  return result;
}

std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (int t = 0; t < kNumDTypes; ++t) dtypes.push_back(static_cast<DType>(t));
  return dtypes;
}

// An input of `dtype` made of floats.
void* input_of(Case& c, DType dtype, const std::vector<float>& values) {
  return visit_dtype(dtype, [&]<typename T>() -> void* { return c.input<T>(elements<T>(values)); });
}

// ---- Pointwise.

// Library functions are the C library's in one place and SLEEF's or an expression in the other.
Tolerance tolerance_of(Op op, DType dtype) {
  const bool calls_erf = op == Op::kGelu;
  const bool is_library =
      is_float(dtype) && (calls_erf || library_function(op, compute_type(dtype)) != nullptr);
  return {is_library ? is_half(dtype) ? 1 : 8 : 0};
}

TEST(CudaEmitTest, EveryOpOfEveryType) {
  constexpr int64_t kN = 99;
  Cases cases;
  for (const DType dtype : all_dtypes()) {
    Case& c = cases.add(absl::StrCat("all ops of ", name_of(dtype)), Schedule::kPointwise, {kN});
    ValueId operands[3];
    for (int k = 0; k < 3; ++k) {
      std::vector<float> values = k == 0 ? strange_floats(kN) : floats(kN, 5 + k);
      for (int64_t i = 0; i < kN; ++i) {
        if (k > 0 && i % 5 == 0) values[i] = 0;
        if (k > 0 && i % 7 == 0) values[i] = -1;
      }
      operands[k] = c->load(c.input_access(dtype, input_of(c, dtype, values), {1}));
    }
    const ValueId mask = c->load(c.input_access(kBool, input_of(c, kBool, floats(kN)), {1}));
    for (int i = 0; i < fusion::kNumOps; ++i) {
      const Op op = static_cast<Op>(i);
      const fusion::OpInfo& info = fusion::op_info(op);
      if (!is_pointwise(op) || op == Op::kCast || info.rule == fusion::TypeRule::kFixed) continue;
      if (!in_domain(info.domain, dtype)) continue;
      const ValueId v0 = info.rule == fusion::TypeRule::kSelect ? mask : operands[0];
      const ValueId v = info.arity == 1   ? c->op(op, {v0})
                        : info.arity == 2 ? c->op(op, {v0, operands[1]})
                                          : c->op(op, {v0, operands[1], operands[2]});
      c.store(v, {kN}, tolerance_of(op, dtype));
    }
  }
  cases.check();
}

TEST(CudaEmitTest, CastsBetweenAllTypes) {
  constexpr int64_t kN = 150;
  Cases cases;
  for (const DType from : all_dtypes()) {
    Case& c = cases.add(absl::StrCat("casts of ", name_of(from)), Schedule::kPointwise, {kN});
    std::vector<float> values = strange_floats(kN);
    for (int64_t i = 1; i < kN; i += 3) values[i] = std::ldexp(values[i], i % 90 - 20);
    const ValueId v = c->load(c.input_access(from, input_of(c, from, values), {1}));
    for (const DType to : all_dtypes()) c.store(c->cast(v, to), {kN});
  }
  cases.check();
}

TEST(CudaEmitTest, VectorsOfEveryStrideAndAlignment) {
  Cases cases;
  for (const DType dtype :
       {kBool, kUInt8, kInt16, kFloat16, kBFloat16, kFloat32, kInt64, kFloat64}) {
    for (const int64_t n : {1, 5, 31, 64, 1027}) {
      for (const int64_t offset : {0, 1}) {
        for (const int64_t stride : {1, 0, -1, 3}) {
          Case& c = cases.add(
              absl::StrCat(name_of(dtype), " n=", n, " offset=", offset, " stride=", stride),
              Schedule::kPointwise, {n});
          const std::vector<float> values = floats(3 * n + 2);
          const int64_t start = stride < 0 ? n - 1 : 0;
          const ValueId v = c->load(c.input_access(dtype, input_of(c, dtype, values), {stride},
                                                   start + offset, stride != 0));
          const ValueId w = c->load(c.input_access(dtype, input_of(c, dtype, values), {1}));
          c.store(c->op(Op::kMaximum, {v, w}), {n});
          void* const out = c.output(dtype, 2 * n + 1);
          c->store(v, c->access(out, dtype, {stride == 3 ? 2 : 1}, offset));
        }
      }
    }
  }
  cases.check();
}

TEST(CudaEmitTest, BroadcastAndFlippedViews) {
  Cases cases;
  for (const std::vector<int64_t>& e : std::vector<std::vector<int64_t>>{
           {3, 5, 37}, {2, 7, 64}, {1, 7, 1003}, {33, 1, 4}, {0, 4, 4}, {4, 3, 1}}) {
    const int64_t n = e[0] * e[1] * e[2];
    Case& c = cases.add(absl::StrCat("views of ", absl::StrJoin(e, "x")), Schedule::kPointwise, e);
    const int64_t row = e[2], plane = e[1] * e[2];
    auto load = [&](size_t count, uint32_t seed, std::vector<int64_t> strides, int64_t offset = 0) {
      return c->load(c.input_access(kFloat32, c.input<float>(floats(count + 1, seed)),
                                    std::move(strides), offset, strides[2] != 0));
    };
    const ValueId full = load(n, 1, {plane, row, 1});
    const ValueId line = load(row, 2, {0, 0, 1});
    const ValueId column = load(e[0] * e[1], 3, {e[1], 1, 0});
    const ValueId flipped = load(n, 4, {-plane, row, -1}, (e[0] - 1) * plane + row - 1);
    const ValueId transposed = load(n, 5, {1, e[0], e[0] * e[1]});
    const ValueId hoisted = c->op(Op::kMul, {column, c->scalar(3.f)});
    const ValueId a = c->op(Op::kAdd, {c->op(Op::kMul, {full, line}), hoisted});
    const ValueId b = c->op(Op::kSub, {flipped, transposed});
    const ValueId at = c->coordinate({1000, -3, 1}, 7);
    const ValueId uniform = c->op(Op::kMul, {c->param(5), c->scalar(int64_t{11})});
    c.store(c->op(Op::kAdd, {a, b}), e);
    c.store(hoisted, e);
    c.store(c->op(Op::kAdd, {at, uniform}), e);
  }
  cases.check();
}

TEST(CudaEmitTest, PredicatesGuardMemory) {
  constexpr int64_t kN = 77;
  Cases cases;
  for (const int64_t stride : {1, -1}) {
    Case& c = cases.add("padded", Schedule::kPointwise, {kN});
    const ValueId i = c->coordinate({1});
    const ValueId inside = c->op(
        Op::kLogicalAnd,
        {c->op(Op::kLessEqual, {c->scalar(int64_t{10}), i}), c->op(Op::kLess, {i, c->param(50)})});
    const int64_t offset = stride == 1 ? -10 : 49;
    c.store(
        c->load(c.input_access(kFloat32, c.input<float>(floats(40)), {stride}, offset), {inside}),
        {kN});
    // A predicate that nowhere holds, over an address that is nowhere valid.
    const ValueId never = c->op(Op::kLess, {i, c->scalar(int64_t{0})});
    c.store(
        c->load(c.input_access(kFloat32, c.input<float>({0.f}), {0}, int64_t{1} << 44), {never}),
        {kN});
  }
  cases.check();
}

TEST(CudaEmitTest, GathersAndRaises) {
  constexpr int64_t kN = 41, kTable = 9;
  Cases cases;
  for (const int64_t bad : {-1, 0, 17, 40}) {
    Case& c = cases.add(absl::StrCat("bad index at ", bad), Schedule::kPointwise, {kN});
    std::vector<int64_t> index(kN);
    for (int64_t i = 0; i < kN; ++i) index[i] = i % 18 - 9;
    if (bad >= 0) index[bad] = bad % 2 == 0 ? 9 : -10;
    const ValueId i = c->load(c.input_access(kInt64, c.input<int64_t>(index), {1}));
    const uint16_t table =
        c.input_access(kFloat16, c.input<float16>(elements<float16>(floats(kTable))), {0});
    c.store(c->gather(table, {c->check_index({i, c->param(kTable)})}), {kN});
    // Under a predicate nothing is raised or touched where it does not hold.
    const ValueId small = c->op(Op::kLess, {c->op(Op::kAbs, {i}), c->scalar(int64_t{3})});
    const ValueId checked = c->check_index({i, c->param(3), small});
    c.store(c->gather(table, {checked, small}), {kN});
  }
  cases.check();
}

TEST(CudaEmitTest, RandomBits) {
  constexpr int64_t kN = 70;
  Cases cases;
  Case& c = cases.add("random", Schedule::kPointwise, {kN});
  const ValueId index = c->cast(c->coordinate({1}), kUInt64);
  const ValueId seed = c->scalar(uint64_t{0x123456789abcdef}), stream = c->scalar(uint64_t{7});
  const ValueId low = c->op(Op::kPhilox, {index, seed, stream});
  const ValueId high = c->op(Op::kPhiloxHigh, {index, seed, stream});
  for (const ValueId v : {low, high, c->op(Op::kUniformF32, {low}), c->op(Op::kUniformF64, {high}),
                          c->op(Op::kNormalF32, {low}), c->op(Op::kNormalF64, {low, high})}) {
    c.store(v, {kN});
  }
  cases.check();
}

// ---- Reductions.

constexpr Tolerance kSumTolerance = {8, 1e-5};
const int64_t kLengths[] = {0, 1, 5, 31, 128, 129, 1000, 1024, 1025, 4099, 8192, 8193, 20000};

// A row-major matrix whose rows, or columns, are reduced.
struct Matrix {
  Schedule schedule;
  int64_t rows, length;

  bool by_row() const { return schedule == Schedule::kRow; }
  std::vector<int64_t> strides() const {
    return by_row() ? std::vector<int64_t>{length, 1} : std::vector<int64_t>{1, rows};
  }
  std::string name() const {
    return absl::StrCat(rows, by_row() ? " rows" : " columns", " of ", length);
  }
  ValueId load(Case& c, DType dtype, const std::vector<float>& values) const {
    return c->load(c.input_access(dtype, input_of(c, dtype, values), strides(), 0, true));
  }
  // To an output of the matrix's own layout.
  void store(Case& c, ValueId value, Tolerance tolerance) const {
    const DType dtype = c->dtype_of_value(value);
    void* const out = c.output(dtype, rows * length, tolerance);
    c->store(value, c->access(out, dtype, strides(), 0, true));
  }
};

void add_reductions(Cases& cases, const Matrix& m, bool strange) {
  Case& c = cases.add(m.name(), m.schedule, {m.rows}, {m.length});
  const size_t count = static_cast<size_t>(m.rows * m.length + 1);
  std::vector<float> values = strange ? strange_floats(count) : floats(count);
  std::vector<float> whole(count);
  for (size_t i = 0; i < count; ++i) whole[i] = static_cast<float>(static_cast<int>(i % 13) - 5);
  for (float& value : values) value = std::abs(value);  // so that sums don't cancel
  const ValueId x = m.load(c, kFloat32, values);
  const ValueId i = m.load(c, kInt32, whole);
  const ValueId flags = c->op(Op::kLess, {x, c->scalar(0.01f)});
  c.store(c->op(Op::kSum, {x}), {m.rows, 0}, kSumTolerance);
  c.store(c->op(Op::kMax, {x}), {m.rows, 0});
  c.store(c->op(Op::kProd, {i}), {m.rows, 0});
  c.store(c->op(Op::kMin, {i}), {m.rows, 0});
  c.store(c->op(Op::kAny, {flags}), {m.rows, 0});
  c.store(c->op(Op::kAll, {c->op(Op::kLogicalNot, {flags})}), {m.rows, 0});
  if (m.length == 0) return;
  c.store(c->op(Op::kArgMax, {x}), {m.rows, 0});
  c.store(c->op(Op::kArgMin, {i}), {m.rows, 0});
}

TEST(CudaEmitTest, RowReductions) {
  Cases cases;
  for (const int64_t length : kLengths) {
    add_reductions(cases, {Schedule::kRow, length > 5000 ? 2 : 13, length}, false);
    add_reductions(cases, {Schedule::kRow, 3, length}, true);
  }
  cases.check();
}

TEST(CudaEmitTest, ColumnReductions) {
  Cases cases;
  for (const int64_t length : {0, 1, 7, 8, 100, 512, 513, 2000}) {
    add_reductions(cases, {Schedule::kColumn, length > 600 ? 3 : 83, length}, false);
    add_reductions(cases, {Schedule::kColumn, 19, length}, true);
  }
  cases.check();
}

TEST(CudaEmitTest, ArgReductionsOfEqualsTakeTheFirst) {
  Cases cases;
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    for (const float value : {-kInf, kInf, kNan, 0.f}) {
      const Matrix m{schedule, 3, 2000};
      Case& c = cases.add(absl::StrCat(m.name(), " of ", value), schedule, {m.rows}, {m.length});
      const ValueId v = m.load(c, kFloat32, std::vector<float>(m.rows * m.length, value));
      c.store(c->op(Op::kArgMax, {v}), {m.rows, 0});
      c.store(c->op(Op::kArgMin, {v}), {m.rows, 0});
    }
  }
  cases.check();
}

TEST(CudaEmitTest, FullReductionOfAMillion) {
  Cases cases;
  const Matrix m{Schedule::kRow, 1, 1'000'003};
  add_reductions(cases, m, false);
  cases.check();
  const Geometry geometry = geometry_of(cases[0].program(), cases[0]->args().extents, 132);
  EXPECT_EQ(geometry.num_stages, 2);
  EXPECT_EQ(geometry.num_blocks(0), 123);
  EXPECT_EQ(geometry.num_blocks(1), 1);
}

TEST(CudaEmitTest, SeveralReducedDimsAreOneRow) {
  Cases cases;
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    for (const int64_t inner : {7, 8}) {
      constexpr int64_t kRows = 6, kOuter = 33, kMiddle = 5;
      Case& c =
          cases.add(absl::StrCat("inner ", inner), schedule, {2, 3}, {kOuter, kMiddle, inner});
      // Laid out (outer, row, inner, middle).
      const int64_t plane = inner * kMiddle;
      const ValueId v =
          c->load(c.input_access(kFloat32, c.input<float>(floats(kRows * kOuter * plane)),
                                 {3 * plane, plane, kRows * plane, 1, kMiddle}));
      const ValueId w =
          c->load(c.input_access(kFloat32, c.input<float>(floats(kMiddle, 9)), {0, 0, 0, 1, 0}));
      const ValueId bias =
          c->load(c.input_access(kFloat32, c.input<float>(floats(3, 3)), {0, 1, 0, 0, 0}));
      const ValueId y = c->op(Op::kAdd, {c->op(Op::kMul, {v, w}), bias});
      c.store(c->op(Op::kSum, {c->op(Op::kAbs, {y})}), {2, 3, 0, 0, 0}, kSumTolerance);
      c.store(c->op(Op::kArgMax, {y}), {2, 3, 0, 0, 0});
      // Element-level values that vary along some of the reduced dims only.
      void* const out = c.output(kFloat32, kRows * kOuter * plane);
      c->store(y, c->access(out, kFloat32, {3 * kOuter * plane, kOuter * plane, plane, inner, 1}));
    }
  }
  cases.check();
}

// Softmax, its sums stored too.
void add_softmax(Cases& cases, const Matrix& m) {
  Case& c = cases.add(absl::StrCat("softmax of ", m.name()), m.schedule, {m.rows}, {m.length});
  const ValueId x = m.load(c, kFloat32, floats(static_cast<size_t>(m.rows * m.length)));
  const ValueId top = c->op(Op::kMax, {x});
  const ValueId e = c->op(Op::kExp, {c->op(Op::kSub, {x, top})});
  const ValueId sum = c->op(Op::kSum, {e});
  m.store(c, c->op(Op::kDiv, {e, sum}), {64, 1e-5});
  c.store(sum, {m.rows, 0}, kSumTolerance);
}

// Layer norm in half precision with weights, and the row's mean; what is stored is also read by a
// row-level store of the memory that a row-level load reads.
void add_layer_norm(Cases& cases, const Matrix& m) {
  Case& c = cases.add(absl::StrCat("layer norm of ", m.name()), m.schedule, {m.rows}, {m.length});
  const size_t count = static_cast<size_t>(m.rows * m.length);
  const ValueId x = c->cast(m.load(c, kBFloat16, floats(count)), kFloat32);
  const std::vector<int64_t> along = {0, 1};
  const ValueId weight =
      c->load(c.input_access(kFloat32, c.input<float>(floats(m.length, 3)), along, 0, m.by_row()));
  void* const mean_memory = c.output(kFloat32, m.rows, kSumTolerance);
  const uint16_t mean_access = c->access(mean_memory, kFloat32, {1, 0});
  const ValueId shift = c->op(Op::kAbs, {c->load(mean_access)});
  const ValueId n = c->scalar(1.f / static_cast<float>(m.length));
  const ValueId mean = c->op(Op::kMul, {c->op(Op::kSum, {c->op(Op::kAbs, {x})}), n});
  const ValueId d = c->op(Op::kSub, {x, mean});
  const ValueId variance = c->op(Op::kMul, {c->op(Op::kSum, {c->op(Op::kMul, {d, d})}), n});
  const ValueId scale = c->op(Op::kRsqrt, {c->op(Op::kAdd, {variance, c->scalar(1e-5f)})});
  const ValueId y = c->op(Op::kMul, {c->op(Op::kMul, {d, scale}), weight});
  m.store(c, c->cast(y, kBFloat16), {2, 0.01});
  m.store(c, d, {64, 1e-3});
  c->store(c->op(Op::kAdd, {mean, c->op(Op::kMul, {shift, c->scalar(0.f)})}), mean_access);
}

// Adds a row-level value to each element and replaces it: no reduction keeps threads in step.
void add_update(Cases& cases, const Matrix& m) {
  Case& c = cases.add(absl::StrCat("update of ", m.name()), m.schedule, {m.rows}, {m.length});
  const ValueId x = m.load(c, kInt32, floats(static_cast<size_t>(m.rows * m.length)));
  const uint16_t row = c->access(c.output(kInt32, m.rows), kInt32, {1, 0});
  const ValueId old = c->load(row);
  m.store(c, c->op(Op::kAdd, {x, old}), {});
  c->store(c->op(Op::kAdd, {old, c->scalar(1)}), row);
}

TEST(CudaEmitTest, RowsOfSeveralPasses) {
  Cases cases;
  for (const int64_t length : {1, 31, 32, 45, 1024, 4096, 8200, 20000}) {
    for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
      if (schedule == Schedule::kColumn && length > 5000) continue;
      add_softmax(cases, {schedule, length > 2000 ? 2 : 11, length});
      add_layer_norm(cases, {schedule, length > 2000 ? 3 : 9, length});
      add_update(cases, {schedule, 5, length});
    }
  }
  cases.check();
}

TEST(CudaEmitTest, HalfAndDoubleReductions) {
  Cases cases;
  for (const DType dtype : {kFloat16, kBFloat16, kFloat64, kInt8, kUInt16, kInt64}) {
    for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
      const Matrix m{schedule, 2, 9000};
      Case& c =
          cases.add(absl::StrCat(name_of(dtype), " ", m.name()), schedule, {m.rows}, {m.length});
      std::vector<float> values = floats(static_cast<size_t>(m.rows * m.length));
      for (float& value : values) value = std::abs(value / 8192);
      const ValueId x = m.load(c, dtype, values);
      const Tolerance tolerance = is_half(dtype) ? Tolerance{1} : kSumTolerance;
      c.store(c->op(Op::kSum, {x}), {m.rows, 0}, tolerance);
      c.store(c->op(Op::kMin, {x}), {m.rows, 0});
      c.store(c->op(Op::kArgMax, {x}), {m.rows, 0});
    }
  }
  cases.check();
}

// ---- Orders.

// No bit of a reduction depends on how a call is cut, on what is fused with it or on where its
// operand lies.
TEST(CudaEmitTest, OrderOfAReductionFollowsFromItsLength) {
  for (const Schedule schedule : {Schedule::kRow, Schedule::kColumn}) {
    const Matrix m{schedule, 5, schedule == Schedule::kRow ? 20'001 : 3001};
    const std::vector<float> x = floats(m.rows * m.length, 1), y = floats(m.rows * m.length, 2);
    std::vector<float> product(x.size()), transposed(x.size());
    for (size_t i = 0; i < x.size(); ++i) product[i] = x[i] * y[i];
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t across = m.by_row() ? m.length : m.rows;
      transposed[i % across * (x.size() / across) + i / across] = product[i];
    }
    Cases cases;
    auto add = [&](const char* name) -> Case& {
      return cases.add(name, schedule, {m.rows}, {m.length});
    };
    Case& fused = add("fused");
    fused.store(
        fused->op(Op::kSum,
                  {fused->op(Op::kMul, {m.load(fused, kFloat32, x), m.load(fused, kFloat32, y)})}),
        {m.rows, 0});
    Case& alone = add("alone");
    alone.store(alone->op(Op::kSum, {m.load(alone, kFloat32, product)}), {m.rows, 0});
    Case& other = add("transposed");
    std::vector<int64_t> strides = {1, m.rows};
    if (!m.by_row()) strides = {m.length, 1};
    other.store(other->op(Op::kSum, {other->load(other.input_access(
                                        kFloat32, other.input<float>(transposed), strides))}),
                {m.rows, 0});
    // Among other work, in other types.
    Case& busy = add("busy");
    const ValueId v = m.load(busy, kFloat32, product);
    busy.store(busy->op(Op::kSum, {v}), {m.rows, 0});
    const ValueId wide = busy->op(Op::kSum, {busy->cast(v, kFloat64)});
    m.store(busy, busy->op(Op::kDiv, {busy->cast(v, kFloat64), wide}), {});
    cases.compile();
    const std::string expected = cases[0].bits(cases.kernel_of(cases[0]), 0)[0];
    for (size_t i = 0; i < 4; ++i) {
      for (const int multiprocessors : {0, 1, 8, 132}) {
        EXPECT_EQ(cases[i].bits(cases.kernel_of(cases[i]), multiprocessors)[0], expected)
            << cases[i].name() << " " << multiprocessors;
      }
    }
  }
}

// ---- Calls.

// The words of stage 0 as far as the members of sl_call and the extents and divisors go.
std::vector<uint64_t> words_of(Case& c, int multiprocessors = kManyMultiprocessors) {
  const KernelArgs args = c->args();
  std::vector<uint64_t> words(num_words(c.program()));
  pack_call(c.program(), geometry_of(c.program(), args.extents, multiprocessors), args, 0, nullptr,
            words.data());
  return words;
}

TEST(CudaEmitTest, VectorsAreUsedWhereAllAreAligned) {
  constexpr int kAligned = 1;
  auto aligned = [](int64_t n, int64_t offset) {
    Case c("aligned", ProgramBuilder(Schedule::kPointwise, {3, n}));
    void* const memory = c.output(kFloat32, 4 * n);
    const ValueId v = c->load(c.input_access(kFloat32, memory, {n + 4, 1}, offset));
    c.store(v, {3, n});
    return words_of(c)[kAligned] == 1;
  };
  EXPECT_TRUE(aligned(64, 0));
  EXPECT_TRUE(aligned(64, 8));
  EXPECT_FALSE(aligned(64, 1));
  EXPECT_FALSE(aligned(65, 0));
}

TEST(CudaEmitTest, DivisorsDivide) {
  constexpr int kDivisors = 11 + 3;
  const int64_t most = std::numeric_limits<int32_t>::max();
  for (const int64_t d : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, int64_t{641},
                          int64_t{4096}, int64_t{1'000'003}, most - 1, most}) {
    Case c("divided", ProgramBuilder(Schedule::kPointwise, {1, d, 1}));
    c->store(c->scalar(1.f), c->access(c.output(kFloat32, 1), kFloat32, {0, 0, 0}));
    const uint64_t divisor = words_of(c)[kDivisors + 1];
    for (int64_t n = 0; n <= most; n += n < 100'000 ? 1 : n / 1000) {
      for (const int64_t m : {n, n / d * d, n / d * d - 1}) {
        if (m < 0) continue;
        const uint64_t high = static_cast<uint64_t>(m) * (divisor & 0xffffffff) >> 32;
        ASSERT_EQ(static_cast<uint32_t>(high + m) >> (divisor >> 32), m / d) << m << " / " << d;
      }
    }
  }
}

TEST(CudaEmitTest, Geometry) {
  const Matrix few{Schedule::kRow, 8, 100'000}, many{Schedule::kRow, 4096, 4096};
  const Matrix narrow{Schedule::kColumn, 3, 1'000'000}, wide{Schedule::kColumn, 100'000, 1000};
  auto check = [](const Matrix& m, int stages, int64_t blocks, int64_t last_blocks) {
    Case c("geometry", ProgramBuilder(m.schedule, {m.rows}, {m.length}));
    c.store(c->op(Op::kSum, {c->load(c->access(nullptr, kFloat32, m.strides()))}), {1, 0});
    const Geometry geometry = geometry_of(c.program(), c->args().extents, kManyMultiprocessors);
    EXPECT_EQ(geometry.num_stages, stages) << m.name();
    EXPECT_EQ(geometry.num_blocks(0), blocks) << m.name();
    EXPECT_EQ(geometry.num_blocks(stages - 1), last_blocks) << m.name();
  };
  check(few, 2, 8 * 13, 8);
  check(many, 1, 4096, 4096);
  check(narrow, 2, 245, 1);  // four columns, eight chunks a block
  check(wide, 1, 3125, 3125);
  check({Schedule::kRow, 0, 100'000}, 2, 0, 0);
  check({Schedule::kRow, 1000, 10}, 1, 16, 16);  // four threads a row
}

// ---- Several calls in one launch.

TEST(CudaEmitTest, SeveralCallsInOneLaunch) {
  Cases cases;
  add_softmax(cases, {Schedule::kRow, 70, 45});
  add_reductions(cases, {Schedule::kRow, 1, 30'000}, false);
  add_reductions(cases, {Schedule::kColumn, 40, 700}, false);
  for (const int64_t n : {1000, 0, 3001}) {
    Case& c = cases.add("pointwise", Schedule::kPointwise, {n});
    const ValueId x = c->load(c.input_access(kFloat32, c.input<float>(floats(n + 1)), {1}));
    c.store(c->op(Op::kMul, {x, c->scalar(1.5f)}), {n});
  }
  constexpr size_t kCases = 6;
  Kernel kernel{"together", {}, /*by_table=*/true};
  for (size_t i = 0; i < 4; ++i) kernel.programs.push_back(&cases[i].program());
  const std::string text = emit({&kernel, 1});
  check_with_nvrtc(text);
  HostModule module(host_source(text));

  std::vector<std::vector<std::string>> expected;
  std::vector<KernelArgs> args;
  std::vector<Geometry> geometry;
  std::vector<std::vector<uint64_t>> partials;
  int stages = 0;
  for (size_t i = 0; i < kCases; ++i) {
    expected.push_back(
        cases[i].run_on([&](const KernelArgs& a) { interpret(cases[i].program(), a); }));
    args.push_back(cases[i]->args());
    geometry.push_back(geometry_of(cases[i].program(), args[i].extents, kManyMultiprocessors));
    partials.emplace_back(geometry[i].partial_bytes / 8);
    stages = std::max(stages, geometry[i].num_stages);
  }
  EXPECT_EQ(stages, 2);
  // The stages of all calls, in a launch each.
  auto launch = [&](int stage) {
    std::vector<std::vector<uint64_t>> words(kCases);
    std::vector<TableCall> calls;
    int64_t blocks = 0;
    for (size_t i = 0; i < kCases; ++i) {
      if (stage >= geometry[i].num_stages) continue;
      words[i].resize(num_words(cases[i].program()));
      pack_call(cases[i].program(), geometry[i], args[i], stage, partials[i].data(),
                words[i].data());
      calls.push_back(
          {static_cast<int>(std::min<size_t>(i, 3)), geometry[i].num_blocks(stage), words[i]});
      blocks += calls.back().blocks;
    }
    const std::vector<uint64_t> table = pack_table(calls);
    const uint64_t* address = table.data();
    const void* const parameters[] = {&address};
    const char* error = module.kernel("together")(static_cast<unsigned>(blocks), kThreads,
                                                  static_cast<const void* const*>(parameters));
    EXPECT_EQ(error, nullptr) << error;
  };
  std::function<void(size_t)> run_from = [&](size_t i) {
    if (i == kCases) {
      for (int stage = 0; stage < stages; ++stage) launch(stage);
      return;
    }
    const std::vector<std::string> actual =
        cases[i].run_on([&](const KernelArgs&) { run_from(i + 1); });
    for (size_t o = 0; o < actual.size(); ++o) cases[i].compare(o, actual[o], expected[i][o]);
  };
  run_from(0);
}

TEST(CudaEmitTest, WideIndices) {
  // Two elements that are further apart than 32 bits can say, as far as the program knows.
  constexpr int64_t kN = 500;
  Case c("wide", ProgramBuilder(Schedule::kPointwise, {3, kN}));
  const ValueId x = c->load(c.input_access(kFloat32, c.input<float>(floats(3 * kN)), {kN, 1}));
  const ValueId far =
      c->load(c.input_access(kFloat32, c.input<float>({1.f}), {int64_t{1} << 40, 1}),
              {c->op(Op::kLess, {c->coordinate({kN, 1}), c->scalar(int64_t{1})})});
  c.store(c->op(Op::kAdd, {x, far}), {3, kN});
  EXPECT_TRUE(needs_wide_indices(c.program(), c->args()));
  const Kernel kernel{"wide", {&c.program()}, false, /*wide=*/true};
  const std::string text = emit({&kernel, 1});
  check_with_nvrtc(text);
  HostModule module(host_source(text));
  const auto expected = c.run_on([&](const KernelArgs& args) { interpret(c.program(), args); });
  c.compare(0, c.bits(module.kernel("wide"), 1)[0], expected[0]);
}

// ---- The host's prelude.

// Runs `body` in one block of the host, with `int* out` at hand.
std::string run_body(const std::string& body, std::vector<int>* out) {
  // The comment asks for the part of the prelude with teams.
  const HostModule module(host_source(absl::StrCat(
      "// sl_row_team\nstruct Args { int* out; };\nSL_KERNEL(k, Args) {", body, "}\n")));
  int* const data = out->data();
  const void* const parameters[] = {&data};
  const char* error = module.kernel("k")(2, kThreads, static_cast<const void* const*>(parameters));
  return error == nullptr ? "" : error;
}

TEST(CudaEmitTest, HostRunsBarriersAndShuffles) {
  std::vector<int> out(2 * kThreads);
  EXPECT_EQ(run_body(R"(
      const int t = sl_thread();
      sl_slot_of<int>(t) = t;
      sl_sync();
      const int other = sl_slot_of<int>(255 - t);
      p.out[sl_block() * 256 + t] = sl_shuffle(other, 3) * 1000 + sl_shuffle_down(t, 2);)",
                     &out),
            "");
  for (int t = 0; t < 2 * kThreads; ++t) {
    const int warp = t % kThreads / 32 * 32, lane = t % 32;
    EXPECT_EQ(out[t], (255 - warp - 3) * 1000 + warp + std::min(lane + 2, lane < 30 ? 31 : lane));
  }
}

TEST(CudaEmitTest, HostFindsMistakes) {
  std::vector<int> out(8);
  EXPECT_THAT(run_body("if (sl_thread() < 100) sl_sync();", &out),
              ::testing::HasSubstr("not all threads"));
  EXPECT_THAT(run_body("if (sl_thread() % 2) sl_sync();\nelse sl_sync();", &out),
              ::testing::HasSubstr("different barriers"));
  EXPECT_THAT(run_body("if (sl_thread() % 2) sl_sync(); else sl_shuffle(1, 0);", &out),
              ::testing::HasSubstr("some of a warp"));
  EXPECT_THAT(run_body("int v[4]; sl_load_vector(v, p.out + 1 + (sl_u64(p.out) / 4 & 3));", &out),
              ::testing::HasSubstr("misaligned"));
}

// Deleting any barrier of the prelude gives wrong results, on the host too.
TEST(CudaEmitTest, EveryBarrierIsNeeded) {
  Cases cases;
  add_layer_norm(cases, {Schedule::kRow, 3, 20'000});
  add_layer_norm(cases, {Schedule::kColumn, 40, 2000});
  add_update(cases, {Schedule::kRow, 3, 2000});
  add_update(cases, {Schedule::kColumn, 40, 2000});
  std::vector<Kernel> kernels;
  for (size_t i = 0; i < 4; ++i) kernels.push_back({absl::StrCat("k", i), {&cases[i].program()}});
  auto results = [&](const std::string& source) {
    const HostModule module(source);
    std::vector<std::string> all;
    for (size_t i = 0; i < kernels.size(); ++i) {
      for (const int multiprocessors : {kFewMultiprocessors, kManyMultiprocessors}) {
        const auto bits = cases[i].run_on([&](const KernelArgs& args) {
          all.push_back(
              run(module.kernel(kernels[i].name), cases[i].program(), args, multiprocessors));
        });
        all.insert(all.end(), bits.begin(), bits.end());
      }
    }
    return all;
  };
  const std::string source = host_source(emit(kernels));
  const std::string teams = "struct sl_row_team";
  std::vector<size_t> barriers;
  for (size_t at = source.find(teams); (at = source.find("sl_sync();", at)) != std::string::npos;
       ++at) {
    barriers.push_back(at);
  }
  ASSERT_EQ(barriers.size(), 6u);
  const std::vector<std::string> expected = results(source);
  for (const size_t at : barriers) {
    std::string mutant = source;
    mutant.replace(at, 10, "{}");
    EXPECT_TRUE(results(mutant) != expected) << source.substr(at - 200, 250);
  }
}

// ---- Text.

TEST(CudaEmitTest, TextIsReadableAndStable) {
  Case c("chain", ProgramBuilder(Schedule::kPointwise, {4, 100}));
  const ValueId x = c->load(c.input_access(kFloat32, c.input<float>(floats(400)), {100, 1}));
  const ValueId y = c->load(c.input_access(kFloat32, c.input<float>(floats(4)), {1, 0}));
  const ValueId z = c->op(Op::kAdd, {c->op(Op::kMul, {x, y}), c->scalar(2.f)});
  c.store(c->op(Op::kExp, {z}), {4, 100});
  const Kernel kernel{"chain", {&c.program()}};
  const std::string text = emit({&kernel, 1});
  EXPECT_EQ(text, emit({&kernel, 1}));
  EXPECT_THAT(text, ::testing::HasSubstr("// program pointwise kept=2"));
  EXPECT_THAT(text, ::testing::HasSubstr("const float v2 = v0[l] * v1;"));
  EXPECT_THAT(text, ::testing::HasSubstr("const float v5 = sl_exp(v4);"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("asm")));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("#include")));
}

TEST(CudaEmitTest, LanesFillVectors) {
  auto lanes = [](DType dtype, int ops, Op op = Op::kMul) {
    Case c("lanes", ProgramBuilder(Schedule::kPointwise, {100}));
    ValueId v = c->load(c.input_access(dtype, c.output(dtype, 100), {1}));
    for (int i = 0; i < ops; ++i) v = op == Op::kMul ? c->op(op, {v, v}) : c->op(op, {v});
    c.store(v, {100});
    return lanes_of(c.program());
  };
  EXPECT_EQ(lanes(kUInt8, 1), 16);
  EXPECT_EQ(lanes(kFloat16, 1), 8);
  EXPECT_EQ(lanes(kFloat32, 10), 4);
  EXPECT_EQ(lanes(kFloat64, 1), 2);
  EXPECT_EQ(lanes(kFloat32, 100, Op::kSin), 1);
}

// What a chain of ten ops costs, for those who look at the output.
TEST(CudaEmitTest, TenOpsNeedFewRegisters) {
  if (Nvrtc::get() == nullptr) GTEST_SKIP() << "SLUICE_NVRTC is not set";
  Case c("ten", ProgramBuilder(Schedule::kPointwise, {1000}));
  const ValueId x = c->load(c.input_access(kFloat32, c.input<float>(floats(1000)), {1}));
  const ValueId y = c->load(c.input_access(kFloat32, c.input<float>(floats(1000)), {1}));
  ValueId v = c->op(Op::kMul, {x, y});
  for (const Op op : {Op::kAdd, Op::kRelu, Op::kMul, Op::kSub, Op::kMaximum, Op::kMul, Op::kAdd,
                      Op::kAbs, Op::kMul}) {
    v = fusion::op_info(op).arity == 1 ? c->op(op, {v}) : c->op(op, {v, x});
  }
  c.store(v, {1000});
  const Kernel kernel{"ten", {&c.program()}};
  for (const char* architecture : kArchitectures) {
    const Resources resources =
        resources_of(Nvrtc::get()->compile(device_source(emit({&kernel, 1})), architecture));
    std::printf("%s: %d registers, %d bytes spilled\n", architecture, resources.registers,
                resources.spill_bytes);
    EXPECT_LE(resources.registers, 32);
    EXPECT_EQ(resources.spill_bytes, 0);
  }
}

}  // namespace
}  // namespace sluice::kernels::cuda
