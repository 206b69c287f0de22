#include "kernels/cuda/cached_kernel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice::kernels::cuda {
namespace {

using runtime::cuda::Module;

// FNV-1a: the same in every process, so that equal kernels have equal source.
std::string name_of_key(const std::string& key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return absl::StrCat("kernel_", absl::Hex(hash, absl::kZeroPad16));
}

}  // namespace

CachedKernel::CachedKernel(const LaunchCode& code, const std::string& key)
    : programs_(code.programs.begin(), code.programs.end()),
      by_table_(code.by_table),
      table_words_(code.table_words),
      wide_(code.wide),
      // Programs permit contraction; none requires it.
      contracts_(std::all_of(programs_.begin(), programs_.end(),
                             [](const OwnProgram& own) { return own.program.contracts; })),
      label_(code.label),
      name_(name_of_key(key)) {}

Kernel CachedKernel::emitted() const {
  return {name_, {programs_.begin(), programs_.end()}, by_table_, table_words_, wide_};
}

KernelDescription CachedKernel::describe(bool with_code) const {
  KernelDescription result;
  result.key = name_;
  for (const auto& [program, way] : programs_) {
    absl::StrAppend(&result.program, fusion::to_text(program));
  }
  if (with_code) {
    result.language = "cuda-c++";
    const Kernel kernel = emitted();
    result.source = emit({&kernel, 1});
  }
  if (function() != nullptr) {
    result.registers = resources_.registers;
    result.spilled_bytes = resources_.spill_bytes;
    result.shared_bytes = resources_.shared_bytes;
  }
  return result;
}

absl::Status CachedKernel::load(std::shared_ptr<const Module> module, const CompiledCode& code) {
  absl::StatusOr<runtime::cuda::Function> function = module->function(name_.c_str());
  if (!function.ok()) return function.status();
  module_ = std::move(module);
  function_ = *function;
  const auto said =
      std::find_if(code.kernels.begin(), code.kernels.end(),
                   [&](const KernelResources& kernel) { return kernel.name == name_; });
  if (said != code.kernels.end()) {
    resources_ = *said;
  } else {
    resources_ = {name_, function_.registers, function_.spilled_bytes, 0,
                  function_.static_shared_bytes};
  }
  set_failure(absl::OkStatus());
  ready_.store(&function_, std::memory_order_release);
  return absl::OkStatus();
}

void CachedKernel::unload() {
  ready_.store(nullptr, std::memory_order_release);
  module_.reset();
}

void CachedKernel::set_failure(const absl::Status& why) {
  std::lock_guard lock(failure_mutex_);
  failure_ = why.ok() ? why : runtime::cuda::prefixed(absl::StrCat("kernel ", label_), why);
}

absl::Status CachedKernel::failure() const {
  std::lock_guard lock(failure_mutex_);
  return failure_;
}

}  // namespace sluice::kernels::cuda
