// Programs with their memory, to be run on the host by the generic CUDA kernel and by the kernels
// that they have of their own.
#ifndef SLUICE_TESTS_CUDA_CASES_H_
#define SLUICE_TESTS_CUDA_CASES_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sluice/kernels/cuda/call.h"
#include "sluice/kernels/cuda/emit.h"
#include "sluice/kernels/cuda/generic.h"
#include "sluice/tests/emulated_cuda/host_compiler.h"
#include "sluice/tests/program_builder.h"

namespace sluice::kernels::cuda::testing {

using fusion::Program;
using fusion::Schedule;
using fusion::ValueId;
using sluice::testing::ProgramBuilder;

// ---- Kernels on the host.

class HostModule {
 public:
  explicit HostModule(const std::string& text) {
    const auto code = emulated::HostCompiler().compile(text, /*contracts=*/false);
    EXPECT_TRUE(code.ok()) << code.status();
    if (code.ok()) library_ = dlopen(code->image.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr);
  }
  ~HostModule() {
    if (library_ != nullptr) dlclose(library_);
  }
  HostModule(const HostModule&) = delete;
  HostModule& operator=(const HostModule&) = delete;

  // What was wrong, or "".
  std::string launch(const std::string& name, int64_t blocks, const void* parameter) const {
    using Entry = const char*(unsigned grid, unsigned block, const void* const* arguments);
    auto* const entry = reinterpret_cast<Entry*>(dlsym(library_, name.c_str()));
    if (entry == nullptr) return absl::StrCat("no kernel ", name);
    const char* const error = entry(static_cast<unsigned>(blocks), kThreads, &parameter);
    return error == nullptr ? "" : error;
  }

 private:
  void* library_ = nullptr;
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
  return generic_module().launch(kGenericKernel, blocks, &address);
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

inline std::string run_generic(const Program& program, const KernelArgs& args,
                               int multiprocessors) {
  const auto code = encode_generic(program);
  if (!code) return "not encoded";
  const Geometry geometry = generic_geometry_of(program, args.extents, multiprocessors);
  Partials partials(geometry);
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
                           const Program& program, const KernelArgs& args, int multiprocessors) {
  const Geometry geometry = geometry_of(program, args.extents, multiprocessors);
  Partials partials(geometry);
  std::vector<uint64_t> words(num_words(program));
  for (int stage = 0; stage < geometry.num_stages; ++stage) {
    if (geometry.num_blocks(stage) == 0) continue;
    pack_call(program, geometry, args, stage, partials.get(), words.data());
    const std::string error = module.launch(name, geometry.num_blocks(stage), words.data());
    if (!error.empty()) return error;
  }
  return "";
}

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
  void* output(DType dtype, int64_t count) {
    const size_t bytes = static_cast<size_t>(count) * size_of(dtype);
    outputs_.push_back({allocate(bytes), std::string(bytes, '\x5b')});
    return outputs_.back().data;
  }
  // Likewise, with values that the program reads.
  void* in_place(DType dtype, const std::vector<float>& values) {
    char* const memory = static_cast<char*>(input(dtype, values));
    outputs_.push_back({memory, std::string(memory, values.size() * size_of(dtype))});
    return memory;
  }
  // To a row-major output of `extents`; 0 where the value does not vary.
  void store(ValueId value, const std::vector<int64_t>& extents) {
    std::vector<int64_t> strides(extents.size(), 0);
    int64_t count = 1;
    for (size_t d = extents.size(); d-- > 0;) {
      if (extents[d] != 0) strides[d] = count;
      count *= std::max<int64_t>(extents[d], 1);
    }
    const DType dtype = builder_.dtype_of_value(value);
    builder_.store(value, builder_.access(output(dtype, count), dtype, strides, 0, true));
  }

  KernelArgs args() { return builder_.args(); }
  // What `f` leaves in outputs().
  template <typename F>
  std::vector<std::string> run_on(const F& f) {
    for (const Output& output : outputs_) {
      std::memcpy(output.data, output.before.data(), output.before.size());
    }
    EXPECT_EQ(f(builder_.args()), "") << name_;
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

 private:
  struct Output {
    char* data;
    std::string before;
  };

  char* allocate(size_t bytes) {
    memory_.emplace_back(std::aligned_alloc(256, (bytes + 511) / 256 * 256), std::free);
    return static_cast<char*>(memory_.back().get());
  }

  std::string name_;
  ProgramBuilder builder_;
  std::vector<std::shared_ptr<void>> memory_;
  std::vector<Output> outputs_;
};

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

  // Those that the generic kernel can do give the bits that their own kernels give, with rows whole
  // and split. Returns how many they are.
  int check() {
    std::vector<std::pair<Case*, std::string>> checked;  // and the name of its kernel
    std::map<std::string, std::string> names;            // by key
    std::vector<Kernel> kernels;
    for (const auto& c : cases_) {
      const absl::Status status = fusion::verify(c->program());
      EXPECT_TRUE(status.ok()) << c->name() << ": " << status;
      if (!status.ok() || !encode_generic(c->program())) continue;
      const auto [it, is_new] =
          names.try_emplace(key_of(*c), absl::StrCat("kernel", kernels.size()));
      if (is_new) kernels.push_back({it->second, {&c->program()}, false, is_wide(*c)});
      checked.emplace_back(c.get(), it->second);
    }
    const HostModule own(emit(kernels));
    for (const auto& [c, name] : checked) {
      for (const int multiprocessors : {0, 132}) {
        const auto expected = c->run_on([&](const KernelArgs& args) {
          return run_own(own, name, c->program(), args, multiprocessors);
        });
        const auto actual = c->run_on([&](const KernelArgs& args) {
          return run_generic(c->program(), args, multiprocessors);
        });
        for (size_t o = 0; o < expected.size(); ++o) {
          EXPECT_TRUE(actual[o] == expected[o]) << c->name() << ": output " << o << " of\n"
                                                << fusion::to_text(c->program());
        }
      }
    }
    return static_cast<int>(checked.size());
  }
  void check_all() { EXPECT_EQ(check(), static_cast<int>(size())); }

 private:
  static bool is_wide(Case& c) { return needs_wide_indices(c.program(), c.args()); }
  static std::string key_of(Case& c) {
    return absl::StrCat(is_wide(c), fusion::canonical_key(c.program()));
  }

  std::vector<std::unique_ptr<Case>> cases_;
};

inline std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (int t = 0; t < kNumDTypes; ++t) dtypes.push_back(static_cast<DType>(t));
  return dtypes;
}

inline ValueId add_load(Case& c, DType dtype, const std::vector<float>& values,
                        std::vector<int64_t> strides, int64_t offset = 0) {
  return c->load(c->access(c.input(dtype, values), dtype, std::move(strides), offset, true));
}

}  // namespace sluice::kernels::cuda::testing

#endif  // SLUICE_TESTS_CUDA_CASES_H_
