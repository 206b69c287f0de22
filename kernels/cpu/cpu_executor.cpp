#include "kernels/cpu/cpu_executor.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/container/fixed_array.h"
#include "absl/container/inlined_vector.h"
#include "kernels/cache/cache.h"
#include "kernels/cache/compile_threads.h"
#include "kernels/cpu/launch.h"
#include "kernels/library/library.h"

namespace sluice::kernels {
namespace {

using fusion::KernelCall;
using fusion::Plan;
using fusion::Step;

struct CallCode {
  std::shared_ptr<Kernel> kernel;
  bool scalars_in_order;  // they are consecutive among the window's: no need to gather them
};
// Of a launch; of a library call it is empty.
struct StepCode {
  std::vector<CallCode> calls;
  size_t num_buffers = 0;           // of all calls
  size_t num_gathered_scalars = 0;  // likewise
};

// A plan's first results come sooner if no compilation occupies a core meanwhile. Plans that are
// estimated to take longer than this, in nanoseconds, need their compiled kernels more urgently.
constexpr double kResultsFirst = 5e6;

bool are_in_order(const std::vector<int32_t>& numbers) {
  return std::adjacent_find(numbers.begin(), numbers.end(),
                            [](int32_t a, int32_t b) { return b != a + 1; }) == numbers.end();
}

// Appends its lifetime to a list, if there is one.
class StepTimer {
 public:
  StepTimer(std::vector<StepTime>* times, const int64_t* generic_launches)
      : times_(times), generic_launches_(generic_launches) {
    if (times == nullptr) return;
    generic_before_ = *generic_launches;
    begin_ = std::chrono::steady_clock::now();
  }
  ~StepTimer() {
    if (times_ == nullptr) return;
    times_->push_back(
        {begin_, std::chrono::steady_clock::now() - begin_, *generic_launches_ != generic_before_});
  }
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

 private:
  std::vector<StepTime>* times_;
  const int64_t* generic_launches_;
  int64_t generic_before_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

class CpuRun : public Run {
 public:
  // `code`: by step. `cost`: of all steps.
  CpuRun(const Plan* plan, const std::vector<StepCode>* code, double cost, Tier tier)
      : plan_(*plan), code_(*code), cost_(cost), tier_(tier) {}

  void start(const Bindings& bindings) override {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const StepTimer timer(bindings.timed ? &times_ : nullptr, &generic_launches_);
      const Step& step = plan_.steps[s];
      if (!step.library) {
        run_kernels(s, step.kernels, bindings);
      } else if (!bindings.is_skipped(s, 0)) {
        absl::Status status = run_library(*step.library, bindings.of(*step.library));
        if (!status.ok()) failures_.push_back({s, std::move(status)});
      }
    }
    for (Kernel* kernel : to_compile_) kernel->request_compiled();
  }

  bool may_have_failed() const override { return !failures_.empty() || !slots_.empty(); }
  int64_t generic_launches() const override { return generic_launches_; }
  std::vector<StepTime> step_times() override { return std::move(times_); }

  absl::Status status(size_t step) const override {
    for (const auto& [failed, status] : failures_) {
      if (failed == step) return status;
    }
    return absl::OkStatus();
  }

  const ErrorSlot* error_slots(size_t step, size_t call) const override {
    for (const Slots& slots : slots_) {
      if (slots.step == step && slots.call == call) return slots.slots.get();
    }
    return nullptr;
  }

 private:
  struct Slots {
    size_t step, call;
    std::unique_ptr<ErrorSlot[]> slots;
  };

  void run_kernels(size_t s, const std::vector<KernelCall>& kernels, const Bindings& bindings) {
    const StepCode& step_code = code_[s];
    absl::FixedArray<void*, 16> buffers(step_code.num_buffers);
    absl::FixedArray<uint64_t, 16> gathered(step_code.num_gathered_scalars);
    void** next_buffer = buffers.data();
    uint64_t* next_gathered = gathered.data();
    absl::InlinedVector<Call, 1> calls;
    bool all_compiled = true;
    Kernel* compared = nullptr;  // the launch's only kernel, if it is in a trial
    for (size_t k = 0; k < kernels.size(); ++k) {
      if (bindings.is_skipped(s, k)) continue;
      const KernelCall& call = kernels[k];
      void** const own_buffers = next_buffer;
      for (const fusion::MemoryRef& ref : call.buffers) *next_buffer++ = bindings.at(ref);
      const CallCode& code = step_code.calls[k];
      const uint64_t* scalars = bindings.scalars.data();
      if (!code.scalars_in_order) {
        scalars = next_gathered;
        for (int32_t number : call.scalars) *next_gathered++ = bindings.scalars[number];
      } else if (!call.scalars.empty()) {
        scalars += call.scalars[0];
      }
      ErrorSlot* slots = nullptr;
      if (!call.error_slots.empty()) {
        slots_.push_back({s, k, std::make_unique<ErrorSlot[]>(call.error_slots.size())});
        slots = slots_.back().slots.get();
      }
      Kernel& kernel = *code.kernel;
      const Executable& executable = kernel.executable(tier_);
      if (bindings.compares_tiers && tier_ == Tier::kAsync && kernels.size() == 1 &&
          plan_.steps[s].cost >= TierTrial::kWorthTiming && !kernel.trial().is_over()) {
        compared = &kernel;
      }
      if (!kernel.is_compiled(executable)) {
        all_compiled = false;
        if (tier_ == Tier::kAsync) compile(&kernel);
      }
      const KernelArgs args{own_buffers, call.extents.data(), call.accesses.data(),
                            scalars,     call.params.data(),  slots};
      calls.push_back({&kernel.program(), &executable, args, kernel.cost_of_point()});
    }
    generic_launches_ += !all_compiled;
    if (compared == nullptr || calls.empty()) return launch(calls);
    const auto begin = std::chrono::steady_clock::now();
    launch(calls);
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    compared->add_run(*calls[0].executable, taken.count() / plan_.steps[s].cost);
  }

  void compile(Kernel* kernel) {
    if (cost_ > kResultsFirst) return kernel->request_compiled();
    to_compile_.push_back(kernel);
  }

  const Plan& plan_;
  const std::vector<StepCode>& code_;
  const double cost_;
  const Tier tier_;
  std::vector<Kernel*> to_compile_;  // once the results are there
  int64_t generic_launches_ = 0;
  std::vector<StepTime> times_;
  std::vector<Slots> slots_;
  std::vector<std::pair<size_t, absl::Status>> failures_;
};

class CpuPlanCode : public PlanCode {
 public:
  explicit CpuPlanCode(Plan plan) : PlanCode(std::move(plan)) {
    for (Step& step : steps()) {
      cost_ += step.cost;
      StepCode& code = code_.emplace_back();
      for (KernelCall& call : step.kernels) {
        const bool in_order = are_in_order(call.scalars);
        code.calls.push_back({find_kernel(std::exchange(call.program, {})), in_order});
        code.num_buffers += call.buffers.size();
        if (!in_order) code.num_gathered_scalars += call.scalars.size();
      }
    }
  }

  absl::StatusOr<std::unique_ptr<Run>> make_run(runtime::Stream*, Tier tier) override {
    return std::make_unique<CpuRun>(&plan(), &code_, cost_, tier);
  }

  std::vector<KernelDescription> describe(size_t step, bool with_code) const override {
    std::vector<KernelDescription> kernels;
    for (const CallCode& call : code_[step].calls) {
      kernels.push_back(call.kernel->describe(with_code));
    }
    return kernels;
  }

 private:
  std::vector<StepCode> code_;  // by step
  double cost_ = 0;             // of all steps
};

class CpuExecutor : public Executor {
 public:
  std::unique_ptr<PlanCode> prepare(Plan plan, StepLabel, Tier) override {
    return std::make_unique<CpuPlanCode>(std::move(plan));
  }
  CacheStats cache_stats() const override { return kernels::cache_stats(); }
  void wait_for_compiler() override { CompileThreads::get().wait(); }
};

}  // namespace

Executor& cpu_executor() {
  static Executor* executor = new CpuExecutor;
  return *executor;
}

}  // namespace sluice::kernels
