// Checks emitted CUDA kernels, compiled for the host with the host's prelude, against the
// interpreter.
//
// If SLUICE_NVRTC names a libnvrtc.so, every source is compiled by it too, for several
// architectures: registers must suffice.
#ifndef SLUICE_TESTS_CUDA_CUDA_EMIT_CHECKS_H_
#define SLUICE_TESTS_CUDA_CUDA_EMIT_CHECKS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/compile/compiler.h"
#include "kernels/cuda/library_paths.h"
#include "tests/cuda/cuda_cases.h"

namespace sluice::kernels::cuda::testing {

inline constexpr int kArchitectures[] = {80, 90, 100};

inline bool has_nvrtc() { return !environment_variable("SLUICE_NVRTC").empty(); }

// What the kernels of `text` take of a device, where registers must suffice.
inline std::vector<KernelResources> nvrtc_resources(const std::string& text, int architecture) {
  const auto code = make_nvrtc_compiler(architecture, 13000)->compile(text, /*contracts=*/false);
  EXPECT_TRUE(code.ok()) << code.status();
  if (!code.ok()) return {};
  EXPECT_FALSE(code->is_ptx);
  EXPECT_FALSE(code->image.empty());
  EXPECT_FALSE(code->kernels.empty()) << code->log;
  for (const KernelResources& kernel : code->kernels) {
    EXPECT_GT(kernel.registers, 0) << kernel.name << " for " << architecture;
    EXPECT_EQ(kernel.spill_bytes, 0) << kernel.name << " for " << architecture;
  }
  return code->kernels;
}

inline void check_with_nvrtc(const std::string& text) {
  if (!has_nvrtc()) return;
  for (const int architecture : kArchitectures) (void)nvrtc_resources(text, architecture);
}

inline std::vector<std::string> interpret(Case& c) {
  return c.run_on([&](const KernelArgs& args) { return run_interpreter(c.program(), args); });
}

// Of the last run: which slots were raised, with their index and extent.
inline std::vector<int64_t> errors_of(Case& c) {
  std::vector<int64_t> result;
  for (int slot = 0; slot < c.program().num_error_slots; ++slot) {
    const ErrorSlot& error = c->error(slot);
    result.insert(result.end(), {error.raised, error.index, error.extent});
  }
  return result;
}

// With rows whole and split.
inline void check(const Cases& cases) {
  const OwnKernels own(cases.all());
  check_with_nvrtc(own.text());
  for (Case* const c : cases.all()) {
    EXPECT_FALSE(c->is_wide()) << c->name();
    const std::vector<std::string> expected = interpret(*c);
    const std::vector<int64_t> errors = errors_of(*c);
    for (const int multiprocessors : kMultiprocessors) {
      (void)own.run(*c, multiprocessors);
      EXPECT_EQ(errors_of(*c), errors) << c->name();
      c->expect_near(expected);
    }
  }
}

}  // namespace sluice::kernels::cuda::testing

#endif  // SLUICE_TESTS_CUDA_CUDA_EMIT_CHECKS_H_
