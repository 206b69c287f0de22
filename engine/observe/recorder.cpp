#include "engine/observe/recorder.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <utility>

#include <sluice/config.h>
#include <sluice/error.h>
#include <sluice/trace.h>
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/observe/debug.h"
#include "engine/observe/describe.h"
#include "engine/observe/explain.h"
#include "engine/observe/names.h"
#include "kernels/cache/compile_log.h"

namespace sluice::engine {
namespace {

// What is kept is bounded: the oldest windows go first.
constexpr size_t kMaxWindows = 16384;
constexpr int64_t kMaxOpsDescribed = 500'000;
constexpr int64_t kMaxStepsKept = 1'000'000;
constexpr size_t kMaxCopies = 1024;
constexpr size_t kMaxKernelStats = 4096;
// Of kernels whose programs take more text than this together, only the first ones' code is shown:
// making it takes milliseconds for each.
constexpr size_t kMaxProgramText = 1 << 20;

uint64_t word_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// $SLUICE_TRACE, or empty.
const std::string& path_at_exit() {
  static const std::string* const path = [] {
    const char* text = std::getenv("SLUICE_TRACE");
    return new std::string(text == nullptr ? "" : text);
  }();
  return *path;
}

// Here, as every program that uses the engine has this file.
[[maybe_unused]] const bool started_by_environment = [] {
  if (!path_at_exit().empty()) {
    std::atexit([] {
      try {
        trace::write(path_at_exit());
      } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
    });
  }
  if (path_at_exit().empty() && debug_level() == 0) return false;
  Recorder::get().start();
  return true;
}();

int64_t nanoseconds(TraceClock::duration duration) {
  return std::chrono::nanoseconds(duration).count();
}

}  // namespace

std::string place_of(const Origin& origin) {
  if (origin.where.line() == 0) return "";
  const std::string_view file = origin.where.file_name();
  const size_t slash = file.rfind('/');
  return absl::StrCat(std::string(slash == file.npos ? file : file.substr(slash + 1)), ":",
                      origin.where.line());
}

int thread_number() {
  static std::atomic<int> threads{0};
  static thread_local const int number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

std::string thread_name(int number) {
  // The first thread that records is nearly always main()'s.
  return number == 0 ? "main" : absl::StrCat("thread ", number + 1);
}

Recorder& Recorder::get() {
  static Recorder* recorder = new Recorder;
  return *recorder;
}

Recorder::Recorder() : start_(TraceClock::now()) {}

void Recorder::start() {
  std::lock_guard lock(mutex_);
  start_ = TraceClock::now();
  windows_.clear();
  windows_recorded_ = ops_described_ = steps_kept_ = 0;
  program_text_ = 0;
  by_event_.clear();
  descriptions_.clear();
  last_.reset();
  last_key_.clear();
  copies_.clear();
  NodeNames::get().forget_all();
  trace_is_recording.store(true, std::memory_order_relaxed);
}

void Recorder::stop() { trace_is_recording.store(debug_level() > 0, std::memory_order_relaxed); }

int64_t Recorder::since_start(TraceClock::time_point moment) const {
  return std::max<int64_t>(0, nanoseconds(moment - start_));
}

std::shared_ptr<FlushRecord> Recorder::begin_flush(const char* cause, std::string why,
                                                   TraceClock::time_point begin, int thread) {
  auto record = std::make_shared<FlushRecord>();
  std::lock_guard lock(mutex_);
  record->window.cause = cause;
  record->window.cause_text = std::move(why);
  record->window.thread = thread;
  record->window.flushed = since_start(TraceClock::now());
  record->window.begin = std::min(since_start(begin), record->window.flushed);
  return record;
}

int32_t Recorder::site_number(const std::source_location& where) {
  if (where.line() == 0) return -1;
  const auto next = static_cast<int32_t>(sites_.size());
  const auto [it, is_new] = site_numbers_.try_emplace(
      {static_cast<const void*>(where.file_name()), static_cast<int>(where.line())}, next);
  if (is_new) {
    sites_.push_back({where.file_name(), where.function_name(), static_cast<int>(where.line())});
  }
  return it->second;
}

int32_t Recorder::sentence_number(const std::string& sentence) {
  const auto next = static_cast<int32_t>(sentences_.size());
  const auto [it, is_new] = sentence_numbers_.try_emplace(sentence, next);
  if (is_new) sentences_.push_back(sentence);
  return it->second;
}

std::vector<Past> Recorder::pasts_of(const Window& window) {
  std::vector<Past> pasts;
  for (const Node* input : window.inputs()) {
    Past& past = pasts.emplace_back();
    const runtime::Buffer* buffer = input->buffer.get();
    if (const auto copy = copies_.find({input, buffer}); copy != copies_.end()) {
      past = {Past::Kind::kOtherDevice, copy->second};
      continue;
    }
    const auto earlier = by_event_.find({buffer->written.stream, buffer->written.ticket});
    if (earlier == by_event_.end()) continue;
    const FlushRecord& record = *earlier->second;
    past = {Past::Kind::kEarlierWindow, sentence_number(record.window.cause_text)};
  }
  return pasts;
}

void Recorder::describe(FlushRecord* record, const Window& window,
                        std::shared_ptr<const ReadyPlan> plan, const runtime::Event& written) {
  std::lock_guard lock(mutex_);
  record->description = find_description(window, std::move(plan));
  record->written = written;
}

std::shared_ptr<DescribedGraph> Recorder::find_description(const Window& window,
                                                           std::shared_ptr<const ReadyPlan> plan) {
  const std::vector<Past> pasts = pasts_of(window);
  key_.clear();
  key_.push_back(word_of(plan.get()));
  for (size_t i = 0; i < window.size(); ++i) {
    const Origin origin = window.origin(i);
    key_.push_back(word_of(origin.where.file_name()));
    key_.push_back(uint64_t{window.node(i)->has_handles()} << 63 |
                   uint64_t{origin.where.line()} << 32 | uint64_t{origin.scope} << 16 |
                   NodeNames::get().number(window.node(i)));
  }
  for (size_t i = 0; i < pasts.size(); ++i) {
    key_.push_back(static_cast<uint64_t>(pasts[i].sentence) << 32 |
                   static_cast<uint64_t>(pasts[i].kind) << 16 |
                   NodeNames::get().number(window.inputs()[i]));
  }
  if (key_ == last_key_) return last_;
  std::weak_ptr<DescribedGraph>& known = descriptions_[key_];
  std::shared_ptr<DescribedGraph> description = known.lock();
  if (description == nullptr) {
    description = make_description(window, std::move(plan), pasts);
    known = description;
    if (descriptions_.size() > 2 * kMaxWindows) {
      absl::erase_if(descriptions_, [](const auto& entry) { return entry.second.expired(); });
    }
  }
  last_ = description;
  last_key_.swap(key_);
  return description;
}

std::shared_ptr<DescribedGraph> Recorder::make_description(const Window& window,
                                                           std::shared_ptr<const ReadyPlan> plan,
                                                           const std::vector<Past>& pasts) {
  auto made = std::make_shared<DescribedGraph>();
  const fusion::Graph graph = window.to_graph();
  made->graph = engine::describe(window, graph, *plan);
  made->graph.device = to_string(window.node(0)->device);
  const size_t num_inputs = window.inputs().size();
  for (size_t i = 0; i < window.size(); ++i) {
    const Origin origin = window.origin(i);
    trace::Op& op = made->graph.ops[num_inputs + i];
    op.site = site_number(origin.where);
    op.scope = int32_t{origin.scope} - 1;
  }
  std::vector<InputPast> inputs;
  for (size_t i = 0; i < pasts.size(); ++i) {
    const auto input = static_cast<int32_t>(i);
    const std::string& sentence = sentences_[pasts[i].sentence];
    if (pasts[i].kind == Past::Kind::kOtherDevice) {
      inputs.push_back({input, "device", sentence});
    } else if (pasts[i].kind == Past::Kind::kEarlierWindow) {
      inputs.push_back(
          {input, "window",
           absl::StrCat("was computed by an earlier window, which ended because ", sentence)});
    }
  }
  std::vector<bool> held(num_inputs + window.size(), false);
  for (size_t i = 0; i < window.size(); ++i) held[num_inputs + i] = window.node(i)->has_handles();
  made->graph.cuts = explain_cuts(made->graph, graph, plan->plan(), held, inputs);
  made->plan = std::move(plan);
  // When the process ends, compilers cannot be asked any more.
  if (!path_at_exit().empty()) describe_kernels(made.get());
  ops_described_ += static_cast<int64_t>(made->graph.ops.size());
  return made;
}

void Recorder::keep(const std::shared_ptr<FlushRecord>& record, bool is_finished) {
  {
    std::lock_guard lock(mutex_);
    record->window.number = windows_recorded_++;
    record->is_kept = true;
    record->is_finished |= is_finished;
    if (record->written.stream != nullptr) {
      by_event_[{record->written.stream, record->written.ticket}] = record.get();
    }
    steps_kept_ += static_cast<int64_t>(record->description->graph.steps.size());
    windows_.push_back(record);
    while (windows_.size() > kMaxWindows ||
           (windows_.size() > 1 &&
            (ops_described_ > kMaxOpsDescribed || steps_kept_ > kMaxStepsKept))) {
      drop_oldest();
    }
  }
  if (debug_level() > 0) print_if_complete(record);
}

void Recorder::drop_oldest() {
  const std::shared_ptr<FlushRecord> record = std::move(windows_.front());
  windows_.pop_front();
  const auto it = by_event_.find({record->written.stream, record->written.ticket});
  if (it != by_event_.end() && it->second == record.get()) by_event_.erase(it);
  steps_kept_ -= static_cast<int64_t>(record->description->graph.steps.size());
  // The record's own, and that of last_ if it is the same.
  const long own = 1 + (last_ == record->description ? 1 : 0);
  if (record->description.use_count() > own) return;
  ops_described_ -= static_cast<int64_t>(record->description->graph.ops.size());
  if (own == 2) {
    last_.reset();
    last_key_.clear();
  }
}

void Recorder::finish_flush(const std::shared_ptr<FlushRecord>& record,
                            std::vector<kernels::StepTime> times) {
  {
    std::lock_guard lock(mutex_);
    record->times = std::move(times);
    record->is_finished = true;
    count_steps(*record);
  }
  if (debug_level() > 0) print_if_complete(record);
}

void Recorder::print_if_complete(const std::shared_ptr<FlushRecord>& record) {
  bool with_kernels = false;
  {
    std::lock_guard lock(mutex_);
    if (!record->is_kept || !record->is_finished) return;
    with_kernels = debug_level() >= 4 && !std::exchange(record->description->is_printed, true);
  }
  print_window(assemble({&record, 1}, with_kernels));
}

void Recorder::count_steps(const FlushRecord& record) {
  const trace::Graph& graph = record.description->graph;
  for (size_t s = 0; s < record.times.size(); ++s) {
    const trace::Step& step = graph.steps[s];
    std::pair<std::string, std::string> key(step.name, graph.device);
    if (kernel_stats_.size() >= kMaxKernelStats && !kernel_stats_.contains(key)) key.first = "...";
    KernelStats& stats = kernel_stats_[key];
    ++stats.count;
    stats.generic += record.times[s].generic;
    stats.nanoseconds += nanoseconds(record.times[s].duration);
    stats.bytes += step.bytes_read + step.bytes_written;
    stats.flops += step.flops;
  }
}

std::vector<KernelStats> Recorder::kernel_stats() {
  std::vector<KernelStats> result;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [key, stats] : kernel_stats_) {
      result.push_back(stats);
      std::tie(result.back().name, result.back().device) = key;
    }
  }
  std::sort(result.begin(), result.end(), [](const KernelStats& a, const KernelStats& b) {
    return std::tie(b.nanoseconds, a.name, a.device) < std::tie(a.nanoseconds, b.name, b.device);
  });
  return result;
}

void Recorder::reset_kernel_stats() {
  std::lock_guard lock(mutex_);
  kernel_stats_.clear();
}

void Recorder::note_copy(const Node& copy, Device from, const Origin& origin) {
  const std::string where = place_of(origin);
  std::lock_guard lock(mutex_);
  if (copies_.size() >= kMaxCopies) copies_.clear();
  copies_[{&copy, copy.buffer.get()}] =
      sentence_number(absl::StrCat("was copied from ", to_string(from), " to ",
                                   to_string(copy.device), where.empty() ? "" : " at ", where));
}

void Recorder::describe_kernels(DescribedGraph* described) {
  std::lock_guard lock(kernels_mutex_);
  if (!described->kernels.empty()) return;
  const kernels::PlanCode& code = *described->plan->code;
  absl::flat_hash_set<std::string> known;  // keys: steps of a loop run the same kernels
  for (size_t s = 0; s < described->graph.steps.size(); ++s) {
    std::vector<kernels::KernelDescription>& of_step = described->kernels.emplace_back();
    of_step = code.describe(s, /*with_code=*/false);
    size_t new_text = 0;
    for (const kernels::KernelDescription& kernel : of_step) {
      if (known.insert(kernel.key).second) new_text += kernel.program.size();
    }
    if (new_text == 0 || program_text_ >= kMaxProgramText) continue;
    of_step = code.describe(s, /*with_code=*/true);
    program_text_ += new_text;
  }
}

// The kernels of `graphs`, which are those of the trace, and when they were compiled.
void Recorder::add_kernels(absl::Span<const std::shared_ptr<DescribedGraph>> graphs,
                           TraceClock::time_point start, trace::Trace* result) {
  absl::flat_hash_map<std::string, int32_t> numbers;
  for (size_t g = 0; g < graphs.size(); ++g) {
    describe_kernels(graphs[g].get());
    std::vector<trace::Step>& steps = result->graphs[g].steps;
    for (size_t s = 0; s < steps.size(); ++s) {
      for (const kernels::KernelDescription& kernel : graphs[g]->kernels[s]) {
        const auto next = static_cast<int32_t>(result->kernels.size());
        const auto [it, is_new] = numbers.try_emplace(kernel.key, next);
        steps[s].kernels.push_back(it->second);
        if (!is_new) continue;
        trace::Kernel& shown = result->kernels.emplace_back();
        shown.name = steps[s].name;
        shown.key = kernel.key;
        shown.program = kernel.program;
        shown.language = kernel.language;
        shown.source = kernel.source;
        shown.assembly = kernel.assembly;
        shown.registers = kernel.registers;
        shown.spilled_bytes = kernel.spilled_bytes;
        shown.shared_bytes = kernel.shared_bytes;
      }
    }
  }
  for (const kernels::Compilation& done : kernels::logged_compilations()) {
    const auto found = numbers.find(done.key);
    const int32_t kernel = found == numbers.end() ? -1 : found->second;
    if (kernel >= 0) {
      result->kernels[kernel].origin = done.from_disk ? "disk" : "compiled";
      result->kernels[kernel].compile_duration = nanoseconds(done.duration);
    }
    if (done.begin < start) continue;
    result->events.push_back({done.lane,
                              kernel >= 0 ? result->kernels[kernel].name : "another kernel",
                              nanoseconds(done.begin - start), nanoseconds(done.duration), kernel});
  }
  result->events_recorded = static_cast<int64_t>(result->events.size());
}

trace::Trace Recorder::snapshot() {
  std::vector<std::shared_ptr<FlushRecord>> records;
  {
    std::lock_guard lock(mutex_);
    records.assign(windows_.begin(), windows_.end());
  }
  trace::Trace result = assemble(records, /*with_kernels=*/true);
  std::lock_guard lock(mutex_);
  result.windows_recorded = windows_recorded_;
  return result;
}

trace::Trace Recorder::assemble(absl::Span<const std::shared_ptr<FlushRecord>> records,
                                bool with_kernels) {
  trace::Trace result;
  result.program = program_invocation_short_name;
  result.build = build_info();
  result.deterministic = config().deterministic;
  result.windows_recorded = static_cast<int64_t>(records.size());
  std::vector<std::shared_ptr<DescribedGraph>> graphs;
  TraceClock::time_point start;
  {
    std::lock_guard lock(mutex_);
    start = start_;
    absl::flat_hash_map<const DescribedGraph*, int32_t> numbers;
    int threads = 0;
    for (const std::shared_ptr<FlushRecord>& record : records) {
      const auto next = static_cast<int32_t>(graphs.size());
      const auto [it, is_new] = numbers.try_emplace(record->description.get(), next);
      if (is_new) graphs.push_back(record->description);
      trace::Window& window = result.windows.emplace_back(record->window);
      window.graph = it->second;
      threads = std::max(threads, window.thread + 1);
      for (const kernels::StepTime& time : record->times) {
        window.steps.push_back({since_start(time.begin), nanoseconds(time.duration), time.generic});
      }
    }
    for (const Site& site : sites_) result.sites.push_back({site.file, site.line, site.function});
    for (int t = 0; t < threads; ++t) result.threads.push_back(thread_name(t));
  }
  int32_t scopes = 0;
  for (const std::shared_ptr<DescribedGraph>& described : graphs) {
    result.graphs.push_back(described->graph);
    for (const trace::Op& op : described->graph.ops) scopes = std::max(scopes, op.scope + 1);
  }
  for (int32_t k = 1; k <= scopes; ++k) {
    result.scopes.emplace_back(Names::of_scopes().text(static_cast<uint16_t>(k)));
  }
  if (with_kernels) add_kernels(graphs, start, &result);
  return result;
}

}  // namespace sluice::engine
