#include "kernels/cuda/run/run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cache/compile_threads.h"
#include "runtime/cuda/copies.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using runtime::cuda::CudaDevice;

constexpr size_t kTableAlignment = 16;

}  // namespace

CudaCode::CudaCode(Gpu* gpu, std::vector<fusion::Step>* steps, std::vector<std::string> labels)
    : gpu(gpu), steps(*steps), labels(std::move(labels)), replays(gpu) {
  for (size_t first = 0; first < steps->size();) {
    size_t end = first + 1;
    while (end < steps->size() && !(*steps)[end].library) ++end;
    runs.push_back({end, absl::StrCat(end - first, " steps from ", this->labels[first], " to ",
                                      this->labels[end - 1])});
    first = end;
  }
  const int multiprocessors = gpu->device().context().info().multiprocessors;
  std::vector<LaunchCode> codes;
  for (size_t s = 0; s < steps->size(); ++s) {
    fusion::Step& step = (*steps)[s];
    std::unique_ptr<StepCode>& launch = launches.emplace_back();
    if (step.library) {
      // A copy, as the plan may be gone before its turn comes. The GPU lives as long as the
      // process.
      CompileThreads::get().add(
          [gpu, call = *step.library] { gpu->library(call.kind).prepare(call).IgnoreError(); });
      continue;
    }
    launch = std::make_unique<StepCode>(&step.kernels, multiprocessors);
    codes.push_back(launch->launch_code(this->labels[s]));
    for (const CallCode& call : launch->calls) num_error_slots += call.call->error_slots.size();
  }
  kernels = gpu->kernels().find(codes);
  size_t next = 0;
  for (std::unique_ptr<StepCode>& launch : launches) {
    if (launch != nullptr) launch->kernel = kernels[next++];
  }
}

absl::Status CudaRun::prepare(Tier tier) {
  // Of what is compiled for a lost device nothing may ever come, least of all in a forked process.
  const runtime::cuda::Context& context = code_.gpu->device().context();
  if (context.poisoned()) return context.failure()->status;
  choose_tiers(tier);
  size_t partial_bytes = 0;
  for (size_t s = 0; s < steps_.size(); ++s) {
    StepCode* step = code_.launches[s].get();
    if (step == nullptr) continue;
    table_bytes_ +=
        step->num_stages * round_up(step->table_bytes(steps_[s].is_generic), kTableAlignment);
    partial_bytes = std::max(partial_bytes, step->partial_bytes);
  }
  table_bytes_ = round_up(table_bytes_, runtime::kBufferAlignment);
  CudaDevice& device = code_.gpu->device();
  if (table_bytes_ + partial_bytes > 0) {
    absl::StatusOr<runtime::BufferRef> memory =
        device.allocate(table_bytes_ + partial_bytes, &stream_);
    if (!memory.ok()) return memory.status();
    on_device_ = *std::move(memory);
  }
  const size_t slot_bytes = code_.num_error_slots * sizeof(ErrorSlot);
  if (table_bytes_ + slot_bytes > 0) {
    absl::StatusOr<runtime::cuda::PinnedBlock> memory =
        device.pinned().take(table_bytes_ + slot_bytes);
    if (!memory.ok()) return memory.status();
    on_host_ = *std::move(memory);
    std::memset(on_host_.data() + table_bytes_, 0, slot_bytes);
  }
  return absl::OkStatus();
}

void CudaRun::choose_tiers(Tier tier) {
  steps_.resize(code_.launches.size());
  const auto is_cold = [](const KernelRef& kernel) { return kernel->function() == nullptr; };
  const auto all_ready = [&] {
    return tier != Tier::kInterpreted &&
           std::none_of(code_.kernels.begin(), code_.kernels.end(), is_cold);
  };
  if (all_ready()) return;
  KernelCache& kernels = code_.gpu->kernels();
  kernels.compile(code_.kernels, tier).IgnoreError();
  if (all_ready()) return;
  if (tier == Tier::kAsync) {
    interpret_cold_steps(code_.gpu->generic(), tier);
  } else {
    interpret_cold_steps(code_.gpu->wait_for_generic(), tier);
  }
  // What is left needs a kernel of its own; where that fails the generic one is the last resort.
  std::vector<KernelRef> needed;
  for (size_t s = 0; s < steps_.size(); ++s) {
    const StepCode* step = code_.launches[s].get();
    if (step != nullptr && !steps_[s].is_generic) needed.push_back(step->kernel);
  }
  kernels.compile(needed, Tier::kCompiled).IgnoreError();
  if (std::any_of(needed.begin(), needed.end(), is_cold)) {
    interpret_cold_steps(code_.gpu->wait_for_generic(), Tier::kAsync);
  }
}

void CudaRun::interpret_cold_steps(const runtime::cuda::Function* generic, Tier tier) {
  if (generic == nullptr) return;
  for (size_t s = 0; s < steps_.size(); ++s) {
    StepCode* step = code_.launches[s].get();
    if (step == nullptr || steps_[s].is_generic) continue;
    const bool is_ready = tier != Tier::kInterpreted && step->kernel->function() != nullptr;
    steps_[s].is_generic = !is_ready && step->is_encodable();
  }
}

void CudaRun::start(const Bindings& bindings) {
  lay_out(bindings);
  for (size_t s = 0; s < steps_.size(); ++s) encode(s, bindings);
  const absl::Status copied = copy_tables();
  for (size_t s = 0; s < steps_.size() && !copied.ok(); ++s) {
    const StepCode* step = code_.launches[s].get();
    if (step != nullptr && step->table_bytes(steps_[s].is_generic) > 0) steps_[s].status = copied;
  }
  if (bindings.timed) {
    clock_ = std::make_unique<StepClock>(&stream_);
    clock_->mark();
  }
  // The steps inside a graph cannot be timed.
  const bool has_graphs = clock_ == nullptr && copied.ok();
  size_t next = 0, run = 0;
  for (size_t s = 0; s < steps_.size(); ++s) {
    absl::Status& status = steps_[s].status;
    const std::optional<fusion::LibraryCall>& library = code_.steps[s].library;
    if (library && !bindings.is_skipped(s, 0)) {
      status = code_.gpu->library(library->kind)
                   .enqueue(&stream_, *library, bindings.of(*library), code_.labels[s]);
    }
    // A run of launches begins with the first step, and with each library call.
    if (has_graphs && (s == 0 || library)) next = replay(next, run++);
    for (; next < launches_.size() && launches_[next].step == s; ++next) {
      if (!status.ok()) continue;
      status = stream_.launch(kernel_launch(launches_[next], words_), code_.labels[s]);
    }
    if (clock_ != nullptr) clock_->mark();
  }
}

// Submits the launches up to the next library call as one graph, if that is to be; returns the
// first that is left.
size_t CudaRun::replay(size_t first, size_t run) {
  size_t end = first;
  while (end < launches_.size() && launches_[end].step < code_.runs[run].end) ++end;
  const auto launches = absl::MakeConstSpan(launches_).subspan(first, end - first);
  const bool is_done =
      code_.replays.on(&stream_, run).submit(&stream_, launches, words_, code_.runs[run].label);
  return is_done ? end : first;
}

std::vector<StepTime> CudaRun::step_times() {
  if (clock_ == nullptr) return {};
  std::vector<StepTime> times = clock_->times();
  for (size_t s = 0; s < times.size(); ++s) times[s].generic = steps_[s].is_generic;
  return times;
}

bool CudaRun::may_have_failed() const {
  return code_.num_error_slots > 0 ||
         std::any_of(steps_.begin(), steps_.end(),
                     [](const StepRun& step) { return !step.status.ok(); });
}

absl::Status CudaRun::status(size_t step) const { return steps_[step].status; }

const ErrorSlot* CudaRun::error_slots(size_t step, size_t call) const {
  const std::vector<ErrorSlot*>& errors = steps_[step].memory.errors;
  return errors.empty() ? nullptr : errors[call];
}

std::byte* CudaRun::table_on_device(size_t at) const {
  return static_cast<std::byte*>(on_device_->data()) + at;
}

// Places each step's error slots and partial results.
void CudaRun::lay_out(const Bindings& bindings) {
  auto* slots = reinterpret_cast<ErrorSlot*>(on_host_.data() + table_bytes_);
  for (size_t s = 0; s < steps_.size(); ++s) {
    const StepCode* step = code_.launches[s].get();
    if (step == nullptr) continue;
    StepMemory& memory = steps_[s].memory;
    if (step->partial_bytes > 0) memory.partials = table_on_device(table_bytes_);
    for (size_t c = 0; c < step->calls.size(); ++c) {
      const size_t count = step->calls[c].call->error_slots.size();
      memory.errors.push_back(count > 0 && !bindings.is_skipped(s, c) ? slots : nullptr);
      slots += count;
    }
  }
}

void CudaRun::encode(size_t s, const Bindings& bindings) {
  const StepCode* step = code_.launches[s].get();
  if (step == nullptr) return;
  StepRun& run = steps_[s];
  if (!run.is_generic && step->kernel->function() == nullptr) {
    run.status = step->kernel->failure();
    return;
  }
  const bool by_table = step->uses_table(run.is_generic);
  std::vector<uint64_t> words;
  for (int stage = 0; stage < step->num_stages; ++stage) {
    if (by_table) {
      encode_table(s, stage, bindings);
    } else if (!bindings.is_skipped(s, 0)) {
      step->pack(0, stage, /*generic=*/false, bindings, run.memory, &words);
      add_launch(s, static_cast<uint32_t>(step->calls[0].geometry.num_blocks(stage)), words);
    }
  }
}

// The table of one launch: the calls that have blocks at this stage.
void CudaRun::encode_table(size_t s, int stage, const Bindings& bindings) {
  const StepCode& step = *code_.launches[s];
  const bool is_generic = steps_[s].is_generic;
  std::vector<std::vector<uint64_t>> words(step.calls.size());
  std::vector<TableCall> calls;
  int64_t blocks = 0;
  for (size_t c = 0; c < step.calls.size(); ++c) {
    const Geometry& geometry = step.geometry(c, is_generic);
    if (bindings.is_skipped(s, c) || stage >= geometry.num_stages) continue;
    step.pack(c, stage, is_generic, bindings, steps_[s].memory, &words[c]);
    const int program = is_generic ? 0 : step.calls[c].program;
    calls.push_back({program, geometry.num_blocks(stage), words[c]});
    blocks += calls.back().blocks;
  }
  std::vector<uint64_t> table = pack_table(calls);
  if (const size_t by_value = step.table_words(is_generic); by_value > 0) {
    table.resize(by_value);
    add_launch(s, static_cast<uint32_t>(blocks), table);
    return;
  }
  const size_t bytes = sizeof(uint64_t) * table.size();
  std::memcpy(on_host_.data() + table_end_, table.data(), bytes);
  const uint64_t address = reinterpret_cast<uintptr_t>(table_on_device(table_end_));
  table_end_ += round_up(bytes, kTableAlignment);
  add_launch(s, static_cast<uint32_t>(blocks), {&address, 1});
}

void CudaRun::add_launch(size_t s, uint32_t blocks, absl::Span<const uint64_t> words) {
  if (blocks == 0) return;
  const bool is_generic = steps_[s].is_generic;
  const auto* function = is_generic ? code_.gpu->generic() : code_.launches[s]->kernel->function();
  generic_launches_ += is_generic;
  launches_.push_back({s, function, blocks, words_.size(), words.size()});
  words_.insert(words_.end(), words.begin(), words.end());
}

absl::Status CudaRun::copy_tables() {
  if (table_end_ == 0) return absl::OkStatus();
  return stream_.enqueue("arguments of kernels", [&] {
    return code_.gpu->device().context().call<&runtime::cuda::Driver::memcpy_htod_async>(
        reinterpret_cast<runtime::cuda::DevicePtr>(table_on_device(0)), on_host_.data(), table_end_,
        stream_.handle());
  });
}

}  // namespace sluice::kernels::cuda
