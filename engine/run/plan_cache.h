// Plans by window signature.
#ifndef SLUICE_ENGINE_RUN_PLAN_CACHE_H_
#define SLUICE_ENGINE_RUN_PLAN_CACHE_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "fusion/plan/memory/blocks.h"
#include "fusion/plan/plan.h"
#include "kernels/executor.h"

namespace sluice::engine {

// How messages describe a value: op, shape and dtype.
struct ValueLabel {
  fusion::Op op;
  DType dtype;
  Shape shape;
  int32_t caller = -1;  // which of a batch's callers recorded it; -1: none
};
// `name`: of what the user called; null: the op's.
std::string to_string(const ValueLabel& label, const char* name = nullptr);

// Where the results of one plan lie, as place_results() says. Thread-safe.
class BlocksCache {
 public:
  BlocksCache() = default;
  ~BlocksCache();
  BlocksCache(const BlocksCache&) = delete;
  BlocksCache& operator=(const BlocksCache&) = delete;

  // Made when it is first asked for: in a loop the same inputs may be overwritten each time. In
  // `other` if there have been many different answers.
  const fusion::Blocks& of(const fusion::Plan& plan, absl::Span<const fusion::InputMemory> inputs,
                           fusion::Blocks* other) const;

 private:
  struct Entry {
    std::vector<fusion::InputMemory> inputs;
    fusion::Blocks blocks;
    const Entry* next;
  };
  static constexpr int kMaxEntries = 16;

  // An entry stays as it is.
  mutable std::atomic<const Entry*> first_{nullptr};
  mutable std::mutex mutex_;  // of who adds one
  mutable int num_entries_ = 0;
};

struct ReadyPlan;

// Plans that do the same as another in less memory. Thread-safe.
class ThriftyPlans {
 public:
  // One that needs at most `bytes`, by what needed(plan) says, or the one that needs least if it is
  // known that there is none. Else calls make().
  std::shared_ptr<const ReadyPlan> find_or_make(
      int64_t bytes, absl::FunctionRef<int64_t(const ReadyPlan&)> needed,
      absl::FunctionRef<std::shared_ptr<const ReadyPlan>()> make) const;

 private:
  struct Entry {
    int64_t asked_for;  // bytes
    std::shared_ptr<const ReadyPlan> plan;
  };
  static constexpr size_t kMaxEntries = 16;

  mutable std::mutex mutex_;
  mutable std::vector<Entry> entries_;
};

// A plan that is ready to run.
struct ReadyPlan {
  std::unique_ptr<kernels::PlanCode> code;                        // owns the plan
  std::vector<std::vector<std::vector<ValueLabel>>> error_slots;  // by step, call and slot
  std::vector<std::vector<int32_t>> written_by;  // by step: the results that it writes
  std::vector<int32_t> unwritten;                // observed results of no elements
  BlocksCache blocks;
  ThriftyPlans thrifty;
  std::vector<ValueLabel> results;  // by result
  std::vector<uint32_t> labeled;    // ops of the window, by ValueLabel::caller
  int64_t num_nodes = 0;
  int64_t num_ops = 0;  // that something needs
  // Of all steps.
  int64_t kernels = 0, library_calls = 0, bytes_read = 0, bytes_written = 0;
  double cost = 0;

  const fusion::Plan& plan() const { return code->plan(); }
};

// Evicts the least recently used plans when there are more than a number of them, or when together
// they have more than a number of nodes.
class PlanCache {
 public:
  // Null if there is none. The whole signature is compared.
  std::shared_ptr<const ReadyPlan> find(absl::Span<const uint64_t> signature);
  void insert(absl::Span<const uint64_t> signature, std::shared_ptr<const ReadyPlan> plan,
              int64_t max_entries);

 private:
  struct Entry {
    std::vector<uint64_t> signature;
    std::shared_ptr<const ReadyPlan> plan;
  };
  std::list<Entry> entries_;  // the most recently used first
  // Keys are views of the entries' own signatures.
  absl::flat_hash_map<absl::Span<const uint64_t>, std::list<Entry>::iterator> index_;
  int64_t num_nodes_ = 0;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RUN_PLAN_CACHE_H_
