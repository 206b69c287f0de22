#include "kernels/kernel.h"

#include <chrono>
#include <string>
#include <utility>

#include "fusion/ir/cost.h"
#include "kernels/cache/compile_log.h"
#include "kernels/cache/compile_threads.h"
#include "kernels/cache/disk_cache.h"
#include "kernels/compiled/compiler.h"
#include "kernels/interp/interpreter.h"

namespace sluice::kernels {
namespace {

std::atomic<int64_t> compiles{0};
std::atomic<int64_t> failures{0};
std::atomic<int64_t> disk_hits{0};
std::atomic<int64_t> slower{0};

}  // namespace

std::atomic<fusion::Program (*)(const fusion::Program& program)> compile_instead{nullptr};

Kernel::Kernel(fusion::Program program)
    : program_(std::move(program)), cost_of_point_(fusion::cost_of_point(program_)) {}

const Executable& Kernel::executable(Tier tier) {
  if (tier != Tier::kInterpreted) {
    const Executable* compiled = compiled_.load(std::memory_order_acquire);
    if (compiled == nullptr && tier == Tier::kCompiled) {
      compile();
      compiled = compiled_.load(std::memory_order_acquire);
    }
    const bool interprets = tier == Tier::kAsync && trial_.wants_interpreted();
    if (compiled != nullptr && !interprets) return *compiled;
  }
  std::call_once(interpreted_once_, [this] { interpreted_ = make_interpreter(program_); });
  return *interpreted_;
}

void Kernel::add_run(const Executable& executable, double ns_per_unit) {
  if (trial_.add(is_compiled(executable), ns_per_unit)) {
    slower.fetch_add(1, std::memory_order_relaxed);
  }
}

void Kernel::request_compiled() {
  if (requested_.exchange(true, std::memory_order_relaxed)) return;
  CompileThreads::get().add([kernel = shared_from_this()] { kernel->compile(); });
}

void Kernel::compile() {
  std::call_once(compiled_once_, [this] {
    bool from_disk = false;
    const auto begin = std::chrono::steady_clock::now();
    const auto replace = compile_instead.load(std::memory_order_relaxed);
    auto executable =
        compile_llvm(replace == nullptr ? program_ : replace(program_), disk_cache(), &from_disk);
    if (absl::IsUnavailable(executable.status())) return;  // kernels stay on the interpreter
    log_compilation({digest_of(fusion::canonical_key(program_)), "LLVM", from_disk, begin,
                     std::chrono::steady_clock::now() - begin});
    if (!executable.ok()) {
      failures.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    compiled_owner_ = *std::move(executable);
    (from_disk ? disk_hits : compiles).fetch_add(1, std::memory_order_relaxed);
    compiled_.store(compiled_owner_.get(), std::memory_order_release);
  });
}

KernelDescription Kernel::describe(bool with_code) const {
  KernelDescription result;
  result.key = digest_of(fusion::canonical_key(program_));
  result.program = fusion::to_text(program_);
  if (!with_code) return result;
  const absl::StatusOr<std::string> source = llvm_ir_text(program_);
  if (!source.ok()) return result;
  result.language = "llvm-ir";
  result.source = *source;
  result.assembly = llvm_assembly_text(program_).value_or("");
  return result;
}

CompileCounts compile_counts() {
  return {compiles.load(std::memory_order_relaxed), failures.load(std::memory_order_relaxed),
          disk_hits.load(std::memory_order_relaxed), slower.load(std::memory_order_relaxed)};
}

}  // namespace sluice::kernels
