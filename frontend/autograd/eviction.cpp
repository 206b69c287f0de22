#include "frontend/autograd/eviction.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/engine.h"
#include "engine/observe/counters.h"
#include "engine/run/reclaim.h"
#include "frontend/autograd/rules.h"

namespace sluice::frontend {
namespace {

using engine::Node;
using engine::NodeRef;
using fusion::Op;

// Guards the list, and the operands' values of the entries in it.
std::mutex mutex;
Tape* newest = nullptr;

bool can_compute(const Tape& tape) {
  return tape.is_computable || tape.is_recipe.load(std::memory_order_acquire);
}

const Shape& shape_of(const TapeOperand& operand) {
  return operand.value == nullptr ? operand.tape->shape : operand.value->layout.shape;
}

// Of one op, in bytes that a simple op would move in that time.
double own_work(const Tape& tape) {
  constexpr double kMultiplicationsPerByte = 4;
  const auto count = static_cast<double>(tape.shape.numel());
  double bytes = count * static_cast<double>(size_of(tape.dtype));
  for (const TapeOperand& operand : tape.operands) {
    if (operand.is_tensor) bytes += static_cast<double>(shape_of(operand).numel() * 4);
  }
  // Multiplications for each element.
  double terms = 0;
  if (tape.op == Op::kMatmul) {
    terms = static_cast<double>(shape_of(tape.operands[0]).back());
  } else if (tape.op == Op::kConvolution || tape.op == Op::kConvolutionImages) {
    const Shape& filters = shape_of(tape.operands[1]);
    terms = static_cast<double>(filters.numel() / std::max<int64_t>(filters[0], 1));
  } else if (tape.op == Op::kConvolutionFilters) {
    const Shape& places = shape_of(tape.operands[1]);
    terms = static_cast<double>(places.numel() / std::max<int64_t>(places[1], 1));
  }
  return bytes + count * terms / kMultiplicationsPerByte;
}

// Of computing a value again, with what it needs and is in memory no more.
double work_of(const Tape& tape, int* steps) {
  if (--*steps < 0) return 0;
  double work = own_work(tape);
  for (const TapeOperand& operand : tape.operands) {
    if (operand.is_tensor && operand.value == nullptr) work += work_of(*operand.tape, steps);
  }
  return work;
}

// Who keeps a value: operand `k` of an entry, or what a pass has computed again.
struct Holder {
  Tape* tape;
  size_t k;
  Values* pass;
};

// A node with a value that can be computed again.
struct Value {
  const Tape* source = nullptr;  // computes it
  std::vector<Holder> holders;
};

// A block of memory, which views of one another share.
struct Candidate {
  std::vector<std::pair<const Node*, Value>> values;

  int64_t bytes() const { return static_cast<int64_t>(values[0].first->buffer->bytes()); }

  // Nobody else wants a value, or the memory.
  bool is_free() const {
    return values[0].first->buffer.count() == static_cast<int32_t>(values.size()) &&
           std::all_of(values.begin(), values.end(), [](const auto& value) {
             return value.first->references.load() == value.second.holders.size();
           });
  }
};

// Of values of every thread's entries, and of what this thread's passes have computed. An entry
// whose value has been submitted changes no more, but for the values it keeps; what another thread
// is about to read it holds a reference on.
class Eviction {
 public:
  explicit Eviction(Device device) : device_(device) {
    for (Values* pass = Values::innermost(); pass != nullptr; pass = pass->outer()) {
      for (Tape* tape : pass->computed()) {
        add(pass->computed(tape).node_ref().get(), tape, {tape, 0, pass});
      }
    }
    for (Tape* tape = newest; tape != nullptr; tape = tape->previous_listed) {
      if (tape->device != device) continue;
      for (size_t k = 0; k < tape->operands.size(); ++k) {
        const TapeOperand& operand = tape->operands[k];
        if (operand.tape) add(operand.value.get(), operand.tape.get(), {tape, k, nullptr});
      }
    }
    std::reverse(candidates_.begin(), candidates_.end());
    std::erase_if(candidates_, [](const Candidate& candidate) { return !candidate.is_free(); });
  }

  // Gives up values of `bytes` or more, which die with what it returns.
  std::vector<NodeRef> run(int64_t bytes) {
    std::vector<NodeRef> given_up;
    int64_t freed = 0;
    while (freed < bytes && !candidates_.empty()) {
      // Of several, the first: backward passes want it last.
      const auto cheapest = std::min_element(candidates_.begin(), candidates_.end(),
                                             [](const Candidate& a, const Candidate& b) {
                                               return work_per_byte(a) < work_per_byte(b);
                                             });
      freed += cheapest->bytes();
      give_up(*cheapest, &given_up);
      engine::count(engine::counters().values_evicted,
                    static_cast<int64_t>(cheapest->values.size()));
      candidates_.erase(cheapest);
    }
    engine::count(engine::counters().bytes_evicted, freed);
    return given_up;
  }

 private:
  void add(Node* node, Tape* source, Holder holder) {
    if (node == nullptr || node->device != device_ || !node->submitted() || !can_compute(*source)) {
      return;
    }
    const auto [known, is_new] = index_.try_emplace(node->buffer.get(), candidates_.size());
    if (is_new) candidates_.emplace_back();
    auto& values = candidates_[known->second].values;
    auto value = std::find_if(values.begin(), values.end(),
                              [node](const auto& other) { return other.first == node; });
    if (value == values.end()) value = values.insert(value, {node, {source, {}}});
    value->second.holders.push_back(holder);
  }

  static double work_per_byte(const Candidate& candidate) {
    int steps = 64;
    double work = 0;
    for (const auto& value : candidate.values) work += work_of(*value.second.source, &steps);
    return work / static_cast<double>(std::max<int64_t>(candidate.bytes(), 1));
  }

  static void give_up(const Candidate& candidate, std::vector<NodeRef>* given_up) {
    for (const auto& value : candidate.values) {
      for (const Holder& holder : value.second.holders) {
        if (holder.pass != nullptr) {
          given_up->push_back(holder.pass->take_computed(holder.tape));
          holder.tape->is_evicted.store(true, std::memory_order_relaxed);
        } else {
          TapeOperand& operand = holder.tape->operands[holder.k];
          given_up->push_back(std::exchange(operand.value, {}));
          operand.tape->is_evicted.store(true, std::memory_order_relaxed);
        }
      }
    }
  }

  const Device device_;
  // The oldest first. The order decides between equals: the same program gives up the same values.
  std::vector<Candidate> candidates_;
  absl::flat_hash_map<const runtime::Buffer*, size_t> index_;  // while they are collected
};

bool give_up(Device device, int64_t bytes) {
  // More than is needed now: the next allocation is near, and looking for candidates takes time.
  constexpr int64_t kPartOfMemory = 16;
  std::vector<NodeRef> given_up;  // dies without the lock
  const std::lock_guard lock(mutex);
  given_up = Eviction(device).run(std::max(bytes, config().memory_limit / kPartOfMemory));
  return !given_up.empty();
}

}  // namespace

void offer_values() {
  if (engine::can_reclaim()) return;
  engine::set_reclaimer(give_up);
  engine::flush_all();  // the window under way has begun as a long one
}

void list_values(Tape* tape) {
  static const bool is_set = (engine::set_reclaimer(give_up), true);
  static_cast<void>(is_set);
  const std::lock_guard lock(mutex);
  tape->is_listed = true;
  tape->previous_listed = newest;
  tape->next_listed = nullptr;
  if (newest != nullptr) newest->next_listed = tape;
  newest = tape;
}

void unlist_values(Tape* tape) {
  const std::lock_guard lock(mutex);
  if (tape->previous_listed != nullptr) tape->previous_listed->next_listed = tape->next_listed;
  (tape->next_listed != nullptr ? tape->next_listed->previous_listed : newest) =
      tape->previous_listed;
  tape->is_listed = false;
}

namespace {

// Held while nobody else may give up, or look at, what the entry keeps.
std::unique_lock<std::mutex> lock_of(const Tape& tape) {
  return tape.is_listed ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
}

}  // namespace

NodeRef value_of(const Tape& tape, size_t k) {
  const auto lock = lock_of(tape);
  return tape.operands[k].value;
}

bool keeps_value(const Tape& tape, size_t k) {
  const auto lock = lock_of(tape);
  return !(tape.operands[k].value == nullptr);
}

void keep_value(Tape* tape, size_t k, NodeRef value) {
  const auto lock = lock_of(*tape);
  tape->operands[k].value = std::move(value);
}

}  // namespace sluice::frontend
