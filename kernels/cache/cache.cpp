#include "kernels/cache/cache.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "fusion/ir/cost.h"
#include "kernels/cache/compile_log.h"
#include "kernels/cache/compile_threads.h"
#include "kernels/cache/disk_cache.h"
#include "kernels/interp/interpreter.h"
#include "kernels/llvm/compiler.h"

namespace sluice::kernels {
namespace {

// Past this many, kernels that no plan holds are dropped.
constexpr size_t kMaxKernels = 4096;

std::atomic<int64_t> compiles{0};
std::atomic<int64_t> compile_failures{0};
std::atomic<int64_t> hits{0};
std::atomic<int64_t> disk_hits{0};

class Cache {
 public:
  static Cache& get() {
    static Cache* cache = new Cache;
    return *cache;
  }

  // True if the kernel was there.
  bool find(fusion::Program program, std::shared_ptr<Kernel>* kernel) {
    std::string key = fusion::canonical_key(program);
    std::lock_guard lock(mutex_);
    if (kernels_.size() >= limit_) drop_unused();
    const auto [it, inserted] = kernels_.try_emplace(std::move(key));
    if (inserted) it->second = std::make_shared<Kernel>(std::move(program));
    *kernel = it->second;
    return !inserted;
  }

 private:
  void drop_unused() {
    absl::erase_if(kernels_, [](const auto& entry) { return entry.second.use_count() == 1; });
    limit_ = std::max(kMaxKernels, 2 * kernels_.size());
  }

  std::mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<Kernel>> kernels_;
  size_t limit_ = kMaxKernels;
};

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
    if (compiled != nullptr) return *compiled;
  }
  std::call_once(interpreted_once_, [this] { interpreted_ = make_interpreter(program_); });
  return *interpreted_;
}

void Kernel::request_compiled() {
  // Whether LLVM is there is not asked here: that makes it ready, which takes milliseconds.
  if (requested_.exchange(true, std::memory_order_relaxed)) return;
  CompileThreads::get().add([kernel = shared_from_this()] { kernel->compile(); });
}

void Kernel::compile() {
  std::call_once(compiled_once_, [this] {
    if (!llvm_available()) return;
    bool from_disk = false;
    const auto begin = std::chrono::steady_clock::now();
    const auto replace = compile_instead.load(std::memory_order_relaxed);
    auto executable =
        compile_llvm(replace == nullptr ? program_ : replace(program_), disk_cache(), &from_disk);
    log_compilation({digest_of(fusion::canonical_key(program_)), "LLVM", from_disk, begin,
                     std::chrono::steady_clock::now() - begin});
    if (!executable.ok()) {
      compile_failures.fetch_add(1, std::memory_order_relaxed);
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

std::shared_ptr<Kernel> find_kernel(fusion::Program program) {
  std::shared_ptr<Kernel> kernel;
  if (Cache::get().find(std::move(program), &kernel)) hits.fetch_add(1, std::memory_order_relaxed);
  return kernel;
}

CacheStats cache_stats() {
  return {compiles.load(std::memory_order_relaxed),
          compile_failures.load(std::memory_order_relaxed), hits.load(std::memory_order_relaxed),
          disk_hits.load(std::memory_order_relaxed)};
}

}  // namespace sluice::kernels
