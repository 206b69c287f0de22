#include "kernels/cuda/kernel_cache.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "fusion/ir/cost.h"
#include "kernels/cache/compile_log.h"
#include "kernels/cache/compile_threads.h"
#include "kernels/gpu/emit/emit.h"
#include "kernels/gpu/emit/plan.h"
#include "runtime/cuda/driver/module.h"

namespace sluice::kernels::cuda {
namespace {

using runtime::cuda::Module;

// Above this number, kernels that no plan holds are dropped.
constexpr size_t kMaxKernels = 4096;
// After so many failures to load, a kernel is not compiled again.
constexpr int kMaxFailedLoads = 3;
// Limits of one source. NVRTC takes longer to start on a source than to compile a small kernel, but
// no kernel should wait for too many others.
constexpr size_t kMaxKernelsOfSource = 16;
constexpr int64_t kMaxCostOfSource = 4096;
// The cost of compiling a float function, in additions.
constexpr int64_t kCostOfFunction = 64;

int64_t cost_of_compiling(const fusion::Program& program, RowWay way) {
  int64_t cost = 0;
  for (const fusion::Instr& instr : program.body) {
    cost += fusion::is_costly(instr.op) ? kCostOfFunction : 1;
  }
  // A warp's groups are all written out.
  const int times = way.kind == RowWay::kKeptByWarp ? way.groups : 1;
  return cost * lanes_of(program) * times;
}

void append_number(std::string* key, uint64_t number) {
  key->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Equal keys, equal launches. Each part is preceded by its length.
std::string key_of(const LaunchCode& code) {
  std::string key;
  append_number(&key, code.by_table * 2 + code.wide);
  append_number(&key, static_cast<uint64_t>(code.table_words));
  for (const auto& [program, way] : code.programs) {
    const std::string part = fusion::canonical_key(*program);
    append_number(&key, uint64_t{way.kind} << 8 | way.groups);
    append_number(&key, part.size());
    key += part;
  }
  return key;
}

}  // namespace

// ---- Compiling.

// A queue of sources, from which several threads take.
struct KernelCache::Work {
  std::vector<std::vector<KernelRef>> sources;
  std::atomic<size_t> next{0};
  size_t done = 0;  // guarded by Shared::mutex
};

struct KernelCache::Shared {
  using State = CachedKernel::State;

  void run(Work* work) {
    for (size_t i = work->next++; i < work->sources.size(); i = work->next++) {
      compile_source(work->sources[i]);
      std::lock_guard lock(mutex);
      ++work->done;
      changed.notify_all();
    }
  }

  // Compiles the kernels of a source that no other thread has started on.
  void compile_source(absl::Span<const KernelRef> kernels) {
    std::vector<CachedKernel*> mine;
    {
      std::lock_guard lock(mutex);
      if (closed) return;
      for (const KernelRef& kernel : kernels) {
        if (kernel->state_ != State::kWaiting) continue;
        kernel->state_ = State::kCompiling;
        mine.push_back(kernel.get());
      }
      ++running;
    }
    if (!mine.empty()) build(mine);
    std::lock_guard lock(mutex);
    --running;
    changed.notify_all();
  }

  void build(absl::Span<CachedKernel* const> kernels) {
    if (context->poisoned()) {
      settle(kernels, State::kCold, context->failure()->status);
      return;
    }
    std::vector<Kernel> emitted;
    for (const CachedKernel* kernel : kernels) emitted.push_back(kernel->emitted());
    const auto begin = std::chrono::steady_clock::now();
    const absl::StatusOr<CompiledCode> code =
        compiler->compile(emit(emitted), kernels[0]->contracts_);
    const bool from_disk = code.ok() && code->from_disk;
    for (const CachedKernel* kernel : kernels) {
      log_compilation(
          {kernel->name(), "NVRTC", from_disk, begin, std::chrono::steady_clock::now() - begin});
    }
    {
      std::lock_guard lock(mutex);
      stats.sources += !from_disk;
    }
    if (!code.ok() && kernels.size() > 1) {
      // Find out which one is at fault.
      for (CachedKernel* const& kernel : kernels) build({&kernel, 1});
    } else if (!code.ok()) {
      settle(kernels, State::kFailed, code.status());
    } else {
      const absl::Status loaded = load(*code, kernels);
      settle(kernels, loaded.ok() ? State::kReady : State::kCold, loaded, from_disk);
    }
  }

  absl::Status load(const CompiledCode& code, absl::Span<CachedKernel* const> kernels) {
    absl::StatusOr<std::unique_ptr<Module>> loaded = Module::load(context, code.image.c_str());
    if (!loaded.ok()) return loaded.status();
    const std::shared_ptr<const Module> module = *std::move(loaded);
    for (CachedKernel* kernel : kernels) {
      const absl::Status status = kernel->load(module, code);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // kCold: the driver failed. Kernels that it has loaded nevertheless are ready.
  void settle(absl::Span<CachedKernel* const> kernels, State state, const absl::Status& why,
              bool from_disk = false) {
    std::lock_guard lock(mutex);
    for (CachedKernel* kernel : kernels) {
      const bool is_ready = kernel->function() != nullptr;
      kernel->state_ = is_ready ? State::kReady : state;
      ++(!is_ready ? stats.compile_failures : from_disk ? stats.disk_hits : stats.compiles);
      if (is_ready) continue;
      kernel->set_failure(why);
      if (state == State::kCold && ++kernel->failed_loads_ >= kMaxFailedLoads) {
        kernel->state_ = State::kFailed;
      }
    }
  }

  runtime::cuda::Context* context;
  std::unique_ptr<Compiler> compiler;

  std::mutex mutex;  // all below is guarded by it
  std::condition_variable changed;
  absl::flat_hash_map<std::string, KernelRef> kernels;
  size_t limit = kMaxKernels;
  int running = 0;  // compile_source() under way
  bool closed = false;
  KernelCacheStats stats;
};

// Keeps the order of the kernels: those needed first are ready first.
std::shared_ptr<KernelCache::Work> KernelCache::divide(std::vector<KernelRef> kernels) {
  std::stable_partition(kernels.begin(), kernels.end(),
                        [](const KernelRef& kernel) { return kernel->contracts_; });
  auto work = std::make_shared<Work>();
  int64_t total = 0;
  for (KernelRef& kernel : kernels) {
    int64_t cost = 0;
    for (const auto& [program, way] : kernel->programs_) cost += cost_of_compiling(program, way);
    total += cost;
    const bool fits = !work->sources.empty() && work->sources.back().size() < kMaxKernelsOfSource &&
                      total <= kMaxCostOfSource &&
                      work->sources.back()[0]->contracts_ == kernel->contracts_;
    if (!fits) {
      work->sources.emplace_back();
      total = cost;
    }
    work->sources.back().push_back(std::move(kernel));
  }
  return work;
}

// ---- The cache.

KernelCache::KernelCache(runtime::cuda::Context* context, std::unique_ptr<Compiler> compiler)
    : shared_(std::make_shared<Shared>()) {
  shared_->context = context;
  shared_->compiler = std::move(compiler);
}

KernelCache::~KernelCache() {
  std::unique_lock lock(shared_->mutex);
  shared_->closed = true;
  shared_->changed.wait(lock, [this] { return shared_->running == 0; });
  for (const auto& [key, kernel] : shared_->kernels) kernel->unload();
}

std::vector<KernelRef> KernelCache::find(absl::Span<const LaunchCode> launches) {
  std::vector<std::string> keys;
  for (const LaunchCode& code : launches) keys.push_back(key_of(code));
  std::vector<KernelRef> found;
  std::lock_guard lock(shared_->mutex);
  auto& kernels = shared_->kernels;
  if (kernels.size() >= shared_->limit) {
    absl::erase_if(kernels, [](const auto& entry) { return entry.second.use_count() == 1; });
    shared_->limit = std::max(kMaxKernels, 2 * kernels.size());
  }
  for (size_t i = 0; i < launches.size(); ++i) {
    const auto [it, is_new] = kernels.try_emplace(std::move(keys[i]));
    if (is_new) it->second = std::make_shared<CachedKernel>(launches[i], it->first);
    ++(is_new ? shared_->stats.misses : shared_->stats.hits);
    found.push_back(it->second);
  }
  return found;
}

absl::Status KernelCache::compile(absl::Span<const KernelRef> kernels, Tier tier) {
  if (tier == Tier::kInterpreted) return absl::OkStatus();
  using State = CachedKernel::State;
  std::vector<KernelRef> cold;
  for (const KernelRef& kernel : kernels) {
    if (kernel->function() == nullptr) cold.push_back(kernel);
  }
  if (cold.empty()) return absl::OkStatus();
  const bool waits = tier == Tier::kCompiled;
  const auto is_mine = [&](const KernelRef& kernel) {
    if (kernel->state_ == State::kCold) {
      kernel->state_ = State::kWaiting;
      return true;
    }
    // Don't wait until another thread gets to it.
    return waits && kernel->state_ == State::kWaiting;
  };
  std::vector<KernelRef> mine;
  {
    std::lock_guard lock(shared_->mutex);
    std::copy_if(cold.begin(), cold.end(), std::back_inserter(mine), is_mine);
  }
  const std::shared_ptr<Work> work = divide(std::move(mine));
  const size_t helpers = work->sources.size() - (waits && !work->sources.empty());
  for (size_t i = 0; i < helpers; ++i) {
    CompileThreads::get().add([shared = shared_, work] { shared->run(work.get()); });
  }
  if (!waits) return absl::OkStatus();

  shared_->run(work.get());
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] {
    return work->done == work->sources.size() &&
           std::none_of(cold.begin(), cold.end(), [](const KernelRef& kernel) {
             return kernel->state_ == State::kCompiling;
           });
  });
  lock.unlock();
  absl::Status status;
  for (const KernelRef& kernel : cold) {
    if (kernel->function() == nullptr) status.Update(kernel->failure());
  }
  return status;
}

void KernelCache::warm_up() {
  CompileThreads::get().add(
      [shared = shared_] { (void)shared->compiler->compile("", /*contracts=*/false); });
}

void KernelCache::wait() {
  using State = CachedKernel::State;
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [this] {
    return std::none_of(shared_->kernels.begin(), shared_->kernels.end(), [](const auto& entry) {
      const State state = entry.second->state_;
      return state == State::kWaiting || state == State::kCompiling;
    });
  });
}

KernelCacheStats KernelCache::stats() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->stats;
}

}  // namespace sluice::kernels::cuda
