// Programs with their memory, to be run on the host by the generic CUDA kernel, by the kernels that
// they have of their own and by the interpreter.
#ifndef SLUICE_TESTS_CUDA_CUDA_CASES_H_
#define SLUICE_TESTS_CUDA_CUDA_CASES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/gpu/emit/emit.h"
#include "kernels/gpu/generic/generic.h"
#include "kernels/gpu/run/call.h"
#include "kernels/interp/interpreter.h"
#include "tests/emulated_cuda/kernels.h"
#include "tests/emulated_cuda/test_compiler.h"
#include "tests/ptx_device/memory_map.h"
#include "tests/support/program_builder.h"
#include "tests/support/tolerance.h"

namespace sluice::kernels::cuda::testing {

using fusion::Program;
using fusion::Schedule;
using fusion::ValueId;
using sluice::testing::ProgramBuilder;
using sluice::testing::Tolerance;

// ---- Kernels on the host.

class HostModule {
 public:
  explicit HostModule(const std::string& text)
      : HostModule(emulated::make_test_compiler()->compile(text, /*contracts=*/false)) {}
  explicit HostModule(const absl::StatusOr<CompiledCode>& code) {
    EXPECT_TRUE(code.ok()) << code.status();
    std::string error;
    if (code.ok()) image_ = emulated::open_image(code->image.c_str(), &error);
    EXPECT_NE(image_, nullptr) << error;
  }
  ~HostModule() {
    if (image_ != nullptr) emulated::close_image(image_);
  }
  HostModule(const HostModule&) = delete;
  HostModule& operator=(const HostModule&) = delete;

  // What was wrong, or "".
  std::string launch(const std::string& name, int64_t blocks, const void* parameter) const {
    if (image_ == nullptr) return "no module";
    const emulated::KernelFunction kernel = emulated::find_kernel(image_, name.c_str());
    if (!kernel) return absl::StrCat("no kernel ", name);
    const char* const error =
        kernel({{static_cast<unsigned>(blocks), 1, 1}, {kThreads, 1, 1}, 0}, parameter);
    return error == nullptr ? "" : error;
  }

 private:
  void* image_ = nullptr;
};

inline const HostModule& generic_module() {
  static const HostModule module(generic_source());
  return module;
}

inline std::string launch_generic(const std::vector<TableCall>& calls) {
  const std::vector<uint64_t> table = pack_table(calls);
  int64_t blocks = 0;
  for (const TableCall& call : calls) blocks += call.blocks;
  const uint64_t* const address = table.data();
  const ptx::Accessible accessible(table.data(), 8 * table.size(), /*writable=*/false);
  return generic_module().launch(kGenericKernel, blocks, static_cast<const void*>(&address));
}

// Memory that several stages of a call share; what nobody has written is not to be read.
class Partials {
 public:
  explicit Partials(const Geometry& geometry)
      : words_(geometry.partial_bytes / 8 + 2, 0x7ff4dead7ff4deadull) {}
  void* get() { return &words_[reinterpret_cast<uintptr_t>(words_.data()) / 8 % 2]; }

 private:
  std::vector<uint64_t> words_;
};

// What runs a call says what was wrong, or "".
inline std::string run_interpreter(const Program& program, const KernelArgs& args) {
  const auto executable = make_interpreter(program);
  int64_t rows = 1;
  for (int d = 0; d < program.outer_rank; ++d) rows *= args.extents[d];
  if (rows > 0) executable->entry().rows(executable->context(), &args, 0, rows);
  return "";
}

inline std::string run_generic(const Program& program, const KernelArgs& args,
                               int multiprocessors) {
  const auto code = encode_generic(program);
  if (!code) return "not encoded";
  const Geometry geometry = generic_geometry_of(program, args.extents, multiprocessors);
  Partials partials(geometry);
  const ptx::Accessible accessible(partials.get(), geometry.partial_bytes, /*writable=*/true);
  for (int stage = 0; stage < geometry.num_stages; ++stage) {
    if (geometry.num_blocks(stage) == 0) continue;
    const std::vector<uint64_t> words =
        pack_generic(program, *code, geometry, args, stage, partials.get());
    const std::string error = launch_generic({{0, geometry.num_blocks(stage), words}});
    if (!error.empty()) return error;
  }
  return "";
}

inline std::string run_own(const HostModule& module, const std::string& name,
                           const Program& program, const KernelArgs& args,
                           const Geometry& geometry) {
  Partials partials(geometry);
  const ptx::Accessible accessible(partials.get(), geometry.partial_bytes, /*writable=*/true);
  std::vector<uint64_t> words(num_words(program));
  EXPECT_LE(8 * words.size(), static_cast<size_t>(kMaxParameterBytes));
  for (int stage = 0; stage < geometry.num_stages; ++stage) {
    if (geometry.num_blocks(stage) == 0) continue;
    pack_call(program, geometry, args, stage, partials.get(), words.data());
    const std::string error = module.launch(name, geometry.num_blocks(stage), words.data());
    if (!error.empty()) return error;
  }
  return "";
}

// Rows are whole; blocks share long ones.
inline constexpr int kMultiprocessors[] = {0, 132};

// ---- Cases.

// Floats as elements of another type; integers have their extremes among them.
template <typename T>
T element_of(float value, size_t i) {
  if constexpr (std::is_same_v<T, bool>) {
    return i % 3 != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return std::abs(value) < 100 ? static_cast<T>(static_cast<int>(value))
           : value < 0           ? std::numeric_limits<T>::min()
                                 : std::numeric_limits<T>::max();
  } else {
    return T(value);
  }
}

// A program with its memory.
class Case {
 public:
  Case(std::string name, ProgramBuilder builder)
      : name_(std::move(name)), builder_(std::move(builder)) {}

  ProgramBuilder* operator->() { return &builder_; }
  const std::string& name() const { return name_; }
  const Program& program() const { return builder_.program(); }

  void* input(DType dtype, const std::vector<float>& values) {
    char* const memory = allocate(values.size() * size_of(dtype));
    visit_dtype(dtype, [&]<typename T>() {
      for (size_t i = 0; i < values.size(); ++i) {
        const T value = element_of<T>(values[i], i);
        std::memcpy(memory + i * sizeof(T), &value, sizeof(T));
      }
    });
    return memory;
  }
  // `count` elements, filled with a pattern before each run.
  void* output(DType dtype, int64_t count, Tolerance tolerance = {}) {
    const size_t bytes = static_cast<size_t>(count) * size_of(dtype);
    outputs_.push_back({allocate(bytes), std::string(bytes, '\x5b'), dtype, tolerance});
    return outputs_.back().data;
  }
  // Likewise, with values that the program reads.
  void* in_place(DType dtype, const std::vector<float>& values, Tolerance tolerance = {}) {
    char* const memory = static_cast<char*>(input(dtype, values));
    outputs_.push_back(
        {memory, std::string(memory, values.size() * size_of(dtype)), dtype, tolerance});
    return memory;
  }
  // To a row-major output of `extents`; 0 where the value does not vary.
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

  bool is_valid() const {
    const absl::Status status = fusion::verify(program());
    EXPECT_TRUE(status.ok()) << name_ << ": " << status;
    return status.ok();
  }
  KernelArgs args() { return builder_.args(); }
  bool is_wide() { return needs_wide_indices(program(), args()); }
  // To the memory of the last args(), to the byte, so that an access past an end is found.
  void give_access(std::deque<ptx::Accessible>* accessible) const {
    for (const auto& [memory, bytes] : memory_) accessible->emplace_back(memory.get(), bytes, true);
    for (int slot = 0; slot < program().num_error_slots; ++slot) {
      accessible->emplace_back(&builder_.error(slot), sizeof(ErrorSlot), true);
    }
  }
  // What `f` leaves in outputs().
  template <typename F>
  std::vector<std::string> run_on(const F& f) {
    for (const Output& output : outputs_) {
      std::memcpy(output.data, output.before.data(), output.before.size());
    }
    const KernelArgs args = builder_.args();
    std::deque<ptx::Accessible> accessible;
    give_access(&accessible);
    EXPECT_EQ(f(args), "") << name_;
    return outputs();
  }
  // The bits of all outputs, then which errors were raised.
  std::vector<std::string> outputs() const {
    std::vector<std::string> result;
    for (const Output& output : outputs_) result.emplace_back(output.data, output.before.size());
    for (int slot = 0; slot < program().num_error_slots; ++slot) {
      result.push_back(absl::StrCat(builder_.error(slot).raised.load()));
    }
    return result;
  }

  // That outputs() are those expected, within their tolerances.
  void expect_near(const std::vector<std::string>& expected) const {
    const std::vector<std::string> actual = outputs();
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t o = 0; o < outputs_.size(); ++o) {
      const auto& [_, before, dtype, tolerance] = outputs_[o];
      for (size_t at = 0; at < before.size(); at += size_of(dtype)) {
        const char *const got = &actual[o][at], *const want = &expected[o][at];
        ASSERT_TRUE(sluice::testing::agree(got, want, dtype, tolerance))
            << name_ << ": output " << o << " (" << name_of(dtype) << ") at " << at / size_of(dtype)
            << ": " << sluice::testing::number_at(got, dtype) << ", not "
            << sluice::testing::number_at(want, dtype);
      }
    }
    for (size_t o = outputs_.size(); o < actual.size(); ++o) EXPECT_EQ(actual[o], expected[o]);
  }

 private:
  struct Output {
    char* data;
    std::string before;
    DType dtype;
    Tolerance tolerance;
  };

  char* allocate(size_t bytes) {
    const std::shared_ptr<void> memory(std::aligned_alloc(256, (bytes + 511) / 256 * 256),
                                       std::free);
    memory_.emplace_back(memory, bytes);
    return static_cast<char*>(memory.get());
  }

  std::string name_;
  ProgramBuilder builder_;
  std::vector<std::pair<std::shared_ptr<void>, size_t>> memory_;
  std::vector<Output> outputs_;
};

// The kernels that cases have of their own, compiled together, each different one once.
class OwnKernels {
 public:
  // For geometries on any number of multiprocessors. `with_plain`: for plain_geometry() too.
  explicit OwnKernels(const std::vector<Case*>& cases, bool with_plain = false) {
    std::vector<Kernel> kernels;
    const auto add = [&](Case& c, RowWay way) {
      std::string& name = names_[key_of(c, way)];
      if (!name.empty()) return;
      name = absl::StrCat("kernel", kernels.size());
      kernels.push_back({name, {{&c.program(), way}}, false, c.is_wide()});
    };
    for (Case* const c : cases) {
      if (!c->is_valid()) continue;
      for (const int multiprocessors : kMultiprocessors) {
        add(*c, geometry_of(c->program(), c->args().extents, multiprocessors).way);
      }
      if (with_plain) add(*c, {});
    }
    text_ = emit(kernels);
    module_.emplace(text_);
  }

  const std::string& text() const { return text_; }
  size_t num_kernels() const { return names_.size(); }
  // What it leaves in the case's outputs().
  std::vector<std::string> run(Case& c, int multiprocessors) const {
    return run(c, geometry_of(c.program(), c.args().extents, multiprocessors));
  }
  std::vector<std::string> run(Case& c, const Geometry& geometry) const {
    const std::string& name = names_.at(key_of(c, geometry.way));
    return c.run_on([&](const KernelArgs& args) {
      return run_own(*module_, name, c.program(), args, geometry);
    });
  }

 private:
  static std::string key_of(Case& c, RowWay way) {
    return absl::StrCat(c.is_wide(), int{way.kind}, " ", int{way.groups}, " ",
                        fusion::canonical_key(c.program()));
  }

  std::map<std::string, std::string> names_;  // of kernels, by key
  std::string text_;
  std::optional<HostModule> module_;
};

// No rows are split, kept or a thread's for several: all work of the order's threads is their own.
inline Geometry plain_geometry(Case& c) {
  return geometry_of(c.program(), c.args().extents, 0, /*takes_turns=*/false);
}

class Cases {
 public:
  Case& add(std::string name, Schedule schedule, std::vector<int64_t> kept,
            std::vector<int64_t> reduced = {}) {
    cases_.push_back(std::make_unique<Case>(
        std::move(name), ProgramBuilder(schedule, std::move(kept), std::move(reduced))));
    return *cases_.back();
  }
  Case& operator[](size_t i) { return *cases_[i]; }
  size_t size() const { return cases_.size(); }
  std::vector<Case*> all() const {
    std::vector<Case*> all;
    for (const auto& c : cases_) all.push_back(c.get());
    return all;
  }

 private:
  std::vector<std::unique_ptr<Case>> cases_;
};

inline std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (int t = 0; t < kNumDTypes; ++t) dtypes.push_back(static_cast<DType>(t));
  return dtypes;
}

inline ValueId add_load(Case& c, DType dtype, const std::vector<float>& values,
                        std::vector<int64_t> strides, int64_t offset = 0, bool general = false) {
  return c->load(c->access(c.input(dtype, values), dtype, std::move(strides), offset, general));
}

}  // namespace sluice::kernels::cuda::testing

#endif  // SLUICE_TESTS_CUDA_CUDA_CASES_H_
