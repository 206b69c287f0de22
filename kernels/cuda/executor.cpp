#include "sluice/kernels/cuda/executor.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "sluice/kernels/cuda/caching_compiler.h"
#include "sluice/kernels/cuda/compile_threads.h"
#include "sluice/kernels/cuda/kernel_cache.h"
#include "sluice/kernels/cuda/matmul.h"
#include "sluice/kernels/cuda/step_code.h"
#include "sluice/runtime/cuda/copies.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::KernelStep;
using fusion::MatmulStep;
using fusion::Step;
using runtime::cuda::CudaDevice;
using runtime::cuda::CudaStream;
using runtime::cuda::KernelLaunch;
using runtime::cuda::PinnedBlock;

size_t round_up(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

int driver_version(const runtime::cuda::Context& context) {
  int version = 0;
  context.driver().driver_get_version(&version);
  return version;
}

std::function<std::unique_ptr<Compiler>()>& compiler_for_testing() {
  static auto* make = new std::function<std::unique_ptr<Compiler>()>;
  return *make;
}

std::unique_ptr<Compiler> make_compiler(const runtime::cuda::Context& context) {
  if (compiler_for_testing()) return compiler_for_testing()();
  return with_disk_cache(
      make_nvrtc_compiler(context.info().compute_capability, driver_version(context)));
}

// Null if there is none.
const CublasLt* find_matmul_library(const runtime::cuda::Context& context) {
  if (compiler_for_testing()) return nullptr;
  return find_cublaslt(driver_version(context)).value_or(nullptr);
}

class Gpu {
 public:
  explicit Gpu(CudaDevice* device)
      : device_(*device),
        kernels_(&device->context(), make_compiler(device->context())),
        matmul_compiler_(make_compiler(device->context())) {}

  CudaDevice& device() { return device_; }
  KernelCache& kernels() { return kernels_; }
  const KernelCache& kernels() const { return kernels_; }

  // Made when it is first needed: loading a library of products takes a while.
  MatmulRunner& matmul() {
    std::call_once(matmul_once_, [this] {
      matmul_ = std::make_unique<MatmulRunner>(&device_.context(), matmul_compiler_.get(),
                                               find_matmul_library(device_.context()));
    });
    return *matmul_;
  }

 private:
  CudaDevice& device_;
  KernelCache kernels_;
  const std::unique_ptr<Compiler> matmul_compiler_;
  std::once_flag matmul_once_;
  std::unique_ptr<MatmulRunner> matmul_;  // made under matmul_once_
};

struct LibraryCode {
  const MatmulStep* step;
  std::string label;
};

// The code of all steps, and what a run of it needs beside the plan's own memory.
struct CudaCode {
  Gpu* gpu = nullptr;
  std::deque<std::variant<StepCode, LibraryCode>> steps;
  std::vector<KernelRef> kernels;
  size_t num_error_slots = 0;
  size_t table_bytes = 0;    // of all steps and stages
  size_t partial_bytes = 0;  // of the step that has the most: they run one after another
};

constexpr size_t kTableAlignment = 16;

class CudaRun : public Run {
 public:
  CudaRun(const CudaCode* code, Tier tier, CudaStream* stream)
      : code_(*code), tier_(tier), stream_(*stream) {}

  absl::Status allocate() {
    CudaDevice& device = code_.gpu->device();
    const size_t device_bytes = code_.table_bytes + code_.partial_bytes;
    if (device_bytes > 0) {
      absl::StatusOr<runtime::BufferRef> memory = device.allocate(device_bytes, &stream_);
      if (!memory.ok()) return memory.status();
      on_device_ = *std::move(memory);
    }
    const size_t host_bytes = code_.table_bytes + code_.num_error_slots * sizeof(ErrorSlot);
    if (host_bytes > 0) {
      absl::StatusOr<PinnedBlock> memory = device.pinned().take(host_bytes);
      if (!memory.ok()) return memory.status();
      on_host_ = *std::move(memory);
      std::memset(on_host_.data(), 0, host_bytes);
    }
    return absl::OkStatus();
  }

  void start(const Bindings& bindings) override {
    code_.gpu->kernels().compile(code_.kernels, Tier::kCompiled).IgnoreError();
    lay_out(bindings);
    const absl::Status copied = copy_tables(bindings);
    for (size_t s = 0; s < code_.steps.size(); ++s) {
      absl::Status status;
      if (const auto* step = std::get_if<StepCode>(&code_.steps[s])) {
        status = step->by_table && !copied.ok() ? copied : launch(s, *step, bindings);
      } else if (!bindings.is_skipped(s, 0)) {
        const auto& library = std::get<LibraryCode>(code_.steps[s]);
        const BoundMatmul matmul(*library.step, &bindings);
        status = code_.gpu->matmul().enqueue(&stream_, matmul.get(), library.label);
      }
      if (!status.ok()) failures_.push_back({s, std::move(status)});
    }
  }

  int64_t generic_launches() const override { return generic_launches_; }

  absl::Status status(size_t step) const override {
    for (const auto& [failed, status] : failures_) {
      if (failed == step) return status;
    }
    return absl::OkStatus();
  }

  const ErrorSlot* error_slots(size_t step, size_t call) const override {
    return memory_[step].errors.empty() ? nullptr : memory_[step].errors[call];
  }

 private:
  std::byte* tables_on_device() const { return static_cast<std::byte*>(on_device_->data()); }

  // Where each step's error slots and partial results are.
  void lay_out(const Bindings& bindings) {
    auto* slots = reinterpret_cast<ErrorSlot*>(on_host_.data() + code_.table_bytes);
    memory_.resize(code_.steps.size());
    for (size_t s = 0; s < code_.steps.size(); ++s) {
      const auto* step = std::get_if<StepCode>(&code_.steps[s]);
      if (step == nullptr) continue;
      if (step->partial_bytes > 0) memory_[s].partials = tables_on_device() + code_.table_bytes;
      for (size_t c = 0; c < step->calls.size(); ++c) {
        const size_t count = step->calls[c].call->error_slots.size();
        const bool needed = count > 0 && !bindings.is_skipped(s, c);
        memory_[s].errors.push_back(needed ? slots : nullptr);
        slots += count;
      }
    }
  }

  // Fills the tables of steps that have them and sends them ahead of the kernels.
  absl::Status copy_tables(const Bindings& bindings) {
    if (code_.table_bytes == 0) return absl::OkStatus();
    size_t at = 0;
    std::vector<std::vector<uint64_t>> words;
    for (size_t s = 0; s < code_.steps.size(); ++s) {
      const auto* step = std::get_if<StepCode>(&code_.steps[s]);
      if (step == nullptr || !step->by_table) continue;
      words.resize(std::max(words.size(), step->calls.size()));
      for (int stage = 0; stage < step->num_stages; ++stage) {
        std::vector<TableCall> calls;
        int64_t blocks = 0;
        for (size_t c = 0; c < step->calls.size(); ++c) {
          const CallCode& call = step->calls[c];
          if (bindings.is_skipped(s, c) || stage >= call.geometry.num_stages) continue;
          pack(*step, c, stage, bindings, memory_[s], &words[c]);
          calls.push_back({call.program, call.geometry.num_blocks(stage), words[c]});
          blocks += calls.back().blocks;
        }
        const std::vector<uint64_t> table = pack_table(calls);
        std::memcpy(on_host_.data() + at, table.data(), 8 * table.size());
        tables_.push_back({s, stage, at, blocks});
        at += round_up(8 * table.size(), kTableAlignment);
      }
    }
    if (at == 0) return absl::OkStatus();
    return stream_.enqueue("arguments of kernels", [&] {
      return code_.gpu->device().context().call<&runtime::cuda::Driver::memcpy_htod_async>(
          reinterpret_cast<runtime::cuda::DevicePtr>(tables_on_device()), on_host_.data(), at,
          stream_.handle());
    });
  }

  absl::Status launch(size_t s, const StepCode& step, const Bindings& bindings) {
    const runtime::cuda::Function* function = step.kernel->function();
    if (function == nullptr) return step.kernel->failure();
    absl::Status status;
    for (int stage = 0; stage < step.num_stages && status.ok(); ++stage) {
      int64_t blocks = 0;
      if (step.by_table) {
        const Table& table = *std::find_if(tables_.begin(), tables_.end(), [&](const Table& t) {
          return t.step == s && t.stage == stage;
        });
        words_.assign(1, reinterpret_cast<uintptr_t>(tables_on_device() + table.at));
        blocks = table.blocks;
      } else if (!bindings.is_skipped(s, 0)) {
        pack(step, 0, stage, bindings, memory_[s], &words_);
        blocks = step.calls[0].geometry.num_blocks(stage);
      }
      if (blocks == 0) continue;
      KernelLaunch kernel;
      kernel.function = function->handle;
      kernel.grid[0] = static_cast<uint32_t>(blocks);
      kernel.block[0] = kThreads;
      kernel.params = {reinterpret_cast<const std::byte*>(words_.data()), 8 * words_.size()};
      status = stream_.launch(kernel, step.label);
    }
    return status;
  }

  struct Table {
    size_t step;
    int stage;
    size_t at;  // from the start of the tables, in bytes
    int64_t blocks;
  };

  const CudaCode& code_;
  const Tier tier_;
  CudaStream& stream_;
  runtime::BufferRef on_device_;  // tables, then partial results
  PinnedBlock on_host_;           // tables, then error slots
  std::vector<StepMemory> memory_;
  std::vector<Table> tables_;
  std::vector<uint64_t> words_;
  int64_t generic_launches_ = 0;
  std::vector<std::pair<size_t, absl::Status>> failures_;
};

class CudaPlanCode : public PlanCode {
 public:
  explicit CudaPlanCode(CudaCode code) : code_(std::move(code)) {}

  absl::StatusOr<std::unique_ptr<Run>> make_run(runtime::Stream* stream, Tier tier) override {
    auto run = std::make_unique<CudaRun>(&code_, tier, static_cast<CudaStream*>(stream));
    const absl::Status status = run->allocate();
    if (!status.ok()) return status;
    return run;
  }

 private:
  const CudaCode code_;
};

class CudaExecutor : public Executor {
 public:
  explicit CudaExecutor(CudaDevice* device) : gpu_(device) {}

  std::unique_ptr<PlanCode> prepare(std::vector<Step>* steps,
                                    std::vector<std::string> labels) override {
    CudaCode code;
    code.gpu = &gpu_;
    const int multiprocessors = gpu_.device().context().info().multiprocessors;
    std::vector<LaunchCode> launches;
    for (size_t s = 0; s < steps->size(); ++s) {
      if (const auto* matmul = std::get_if<MatmulStep>(&(*steps)[s].work)) {
        code.steps.emplace_back(LibraryCode{matmul, std::move(labels[s])});
        // Ahead of the first run. The executor lives as long as the process.
        CompileThreads::get().add([gpu = &gpu_, shape = *matmul] {
          gpu->matmul().prepare(BoundMatmul(shape, nullptr).get()).IgnoreError();
        });
        continue;
      }
      auto& step = std::get<StepCode>(code.steps.emplace_back(
          std::in_place_type<StepCode>, &std::get<KernelStep>((*steps)[s].work), multiprocessors,
          std::move(labels[s])));
      launches.push_back(step.launch_code());
      code.table_bytes += step.num_stages * round_up(step.table_bytes(), kTableAlignment);
      code.partial_bytes = std::max(code.partial_bytes, static_cast<size_t>(step.partial_bytes));
      for (const CallCode& call : step.calls) code.num_error_slots += call.call->error_slots.size();
    }
    code.table_bytes = round_up(code.table_bytes, runtime::kBufferAlignment);
    code.kernels = gpu_.kernels().find(launches);
    size_t next = 0;
    for (auto& step : code.steps) {
      if (auto* own = std::get_if<StepCode>(&step)) own->kernel = code.kernels[next++];
    }
    return std::make_unique<CudaPlanCode>(std::move(code));
  }

  CacheStats cache_stats() const override {
    const KernelCacheStats stats = gpu_.kernels().stats();
    return {stats.compiles, stats.compile_failures, stats.hits, stats.disk_hits};
  }

  void wait_for_compiler() override { gpu_.kernels().wait(); }

 private:
  Gpu gpu_;
};

}  // namespace

std::unique_ptr<Executor> make_executor(CudaDevice* device) {
  return std::make_unique<CudaExecutor>(device);
}

void set_compiler_for_testing(std::function<std::unique_ptr<Compiler>()> make) {
  compiler_for_testing() = std::move(make);
}

}  // namespace sluice::kernels::cuda
