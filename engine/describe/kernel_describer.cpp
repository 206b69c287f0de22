#include "engine/describe/kernel_describer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/observe/counters.h"

namespace sluice::engine {
namespace {

using kernels::KernelDescription;

void shorten(std::string* program) {
  if (program->size() <= KernelDescriber::kMaxBytesShown) return;
  const size_t bytes = program->size();
  program->resize(program->rfind('\n', KernelDescriber::kMaxBytesShown) + 1);
  absl::StrAppend(program, "... (", bytes - program->size(), " more bytes)\n");
}

}  // namespace

std::vector<KernelDescription> KernelDescriber::describe(const kernels::PlanCode& code, size_t step,
                                                         std::chrono::nanoseconds budget) {
  std::lock_guard lock(mutex_);
  std::vector<KernelDescription> result = code.describe(step, /*with_code=*/false);
  count(recorder_counters().kernels_described, static_cast<int64_t>(result.size()));
  bool is_known = true;
  size_t bytes = 0;
  for (const KernelDescription& kernel : result) {
    is_known = is_known && codes_.contains(kernel.key);
    bytes += kernel.program.size();
  }
  if (!is_known && bytes <= kMaxProgramBytes && spent_ < budget) {
    const auto begin = std::chrono::steady_clock::now();
    for (KernelDescription& kernel : code.describe(step, /*with_code=*/true)) {
      codes_[kernel.key] = {std::move(kernel.language), std::move(kernel.source),
                            std::move(kernel.assembly)};
      count(recorder_counters().codes_made);
    }
    spent_ += std::chrono::steady_clock::now() - begin;
  }
  for (KernelDescription& kernel : result) {
    shorten(&kernel.program);
    const auto made = codes_.find(kernel.key);
    if (made == codes_.end()) continue;
    kernel.language = made->second.language;
    kernel.source = made->second.source;
    kernel.assembly = made->second.assembly;
  }
  return result;
}

void KernelDescriber::clear() {
  std::lock_guard lock(mutex_);
  codes_.clear();
  spent_ = {};
}

}  // namespace sluice::engine
