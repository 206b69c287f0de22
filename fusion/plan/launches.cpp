#include "fusion/plan/launches.h"

#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace sluice::fusion {
namespace {

// A kernel that moves more than this gains nothing from sharing a launch.
constexpr int64_t kMaxSharedBytes = 16LL << 20;
// The most that large kernels may write while small ones that are ready wait to share a launch.
constexpr int64_t kMaxHeldBytes = 16LL << 20;
constexpr size_t kMaxCalls = 256;
// Of all distinct programs of a launch, which some devices compile as one kernel.
constexpr size_t kMaxInstructions = 2048;

class LaunchScheduler {
 public:
  LaunchScheduler(std::vector<Step> steps, size_t num_results) : steps_(std::move(steps)) {
    find_dependence(num_results);
  }

  std::vector<Step> run() && {
    for (size_t s = 0; s < steps_.size(); ++s) make_ready_if_free(s);
    int64_t held = 0;  // bytes written since small steps began to wait
    while (!alone_.empty() || !small_.empty()) {
      if (small_.empty() ||
          (!alone_.empty() && (*alone_.begin() < *small_.begin() ||
                               held + written(*alone_.begin()) <= kMaxHeldBytes))) {
        const size_t step = *alone_.begin();
        if (!small_.empty() && step > *small_.begin()) held += written(step);
        alone_.erase(alone_.begin());
        result_.push_back(std::move(steps_[step]));
        finish(step);
      } else {
        held = 0;
        launch_small();
      }
    }
    return std::move(result_);
  }

 private:
  int64_t written(size_t step) const { return steps_[step].bytes_written; }

  void find_dependence(size_t num_results) {
    std::vector<int> writer(num_results, -1);
    readers_.resize(steps_.size());
    waiting_.resize(steps_.size(), 0);
    for (size_t s = 0; s < steps_.size(); ++s) {
      std::set<int> writers;
      // Steps are in an order in which they can run: the first that touches a block writes it.
      for_each_memory(steps_[s], [&](const MemoryRef& memory) {
        if (memory.kind != MemoryRef::Kind::kResult) return;
        int& first = writer[memory.index];
        if (first < 0) first = static_cast<int>(s);
        if (first != static_cast<int>(s)) writers.insert(first);
      });
      waiting_[s] = static_cast<int>(writers.size());
      for (int w : writers) readers_[w].push_back(s);
    }
  }

  void make_ready_if_free(size_t step) {
    if (waiting_[step] > 0) return;
    const bool is_kernel = !steps_[step].library;
    const int64_t bytes = steps_[step].bytes_read + steps_[step].bytes_written;
    (is_kernel && bytes <= kMaxSharedBytes ? small_ : alone_).insert(step);
  }

  void finish(size_t step) {
    for (size_t reader : readers_[step]) {
      --waiting_[reader];
      make_ready_if_free(reader);
    }
  }

  size_t count_instructions(const std::set<size_t>& steps) const {
    size_t count = 0;
    for (const size_t step : steps) {
      for (const KernelCall& call : steps_[step].kernels) count += call.program.body.size();
    }
    return count;
  }

  void launch_small() {
    std::vector<size_t> members;
    const bool may_be_many = count_instructions(small_) > kMaxInstructions;
    absl::flat_hash_set<std::string> programs;
    size_t instructions = 0;
    size_t calls = 0;
    for (size_t step : small_) {
      for (const KernelCall& call : steps_[step].kernels) {
        const bool is_new = may_be_many && programs.insert(canonical_key(call.program)).second;
        if (is_new) instructions += call.program.body.size();
      }
      calls += steps_[step].kernels.size();
      if (!members.empty() && (calls > kMaxCalls || instructions > kMaxInstructions)) break;
      members.push_back(step);
    }
    Step& launch = steps_[members[0]];
    for (size_t k = 1; k < members.size(); ++k) {
      Step& other = steps_[members[k]];
      launch.kernels.insert(launch.kernels.end(), std::make_move_iterator(other.kernels.begin()),
                            std::make_move_iterator(other.kernels.end()));
      launch.bytes_read += other.bytes_read;
      launch.bytes_written += other.bytes_written;
      launch.cost += other.cost;
    }
    result_.push_back(std::move(launch));
    for (size_t step : members) small_.erase(step);
    for (size_t step : members) finish(step);
  }

  std::vector<Step> steps_;
  std::vector<std::vector<size_t>> readers_;
  std::vector<int> waiting_;  // by step: how many others must run first
  // Steps that are ready, in their original order.
  std::set<size_t> small_, alone_;
  std::vector<Step> result_;
};

}  // namespace

std::vector<Step> merge_launches(std::vector<Step> steps, size_t num_results) {
  if (steps.size() < 2) return steps;
  return LaunchScheduler(std::move(steps), num_results).run();
}

}  // namespace sluice::fusion
