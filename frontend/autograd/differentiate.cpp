// The backward pass: from the gradient of a result to those of what it was computed from.
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "absl/container/flat_hash_map.h"
#include "frontend/autograd/joined.h"
#include "frontend/autograd/rules.h"
#include "frontend/autograd/tape.h"

namespace sluice::frontend {
namespace {

// One pass. Walks the tape without recursion: a chain of ops may be as long as memory allows.
class Pass {
 public:
  // Of what gradients are wanted; by default of all leaves.
  Pass() : wants_leaves_(true) {}
  explicit Pass(std::span<Tape* const> targets) : wants_leaves_(false) {
    for (Tape* target : targets) {
      if (target != nullptr) visits_[target].is_target = true;
    }
  }

  void run(Tape* root, const Tensor& seed) {
    put_in_order(root);
    Visit& first = visits_[root];
    if (first.is_wanted) first.gradient = seed;
    while (!order_.empty()) {
      Tape* const tape = order_.back();
      order_.pop_back();
      propagate(tape);
      values_.forget(tape);
    }
  }

  Tensor gradient(Tape* tape) { return visits_[tape].gradient; }
  const std::vector<Tape*>& leaves() const { return leaves_; }

 private:
  struct Visit {
    bool is_target = false;
    bool is_wanted = false;  // leads to a target
    bool is_ordered = false;
    uint32_t uses = 0;
    JoinedGradients joined;  // added when it is propagated; `gradient` has the rest
    Tensor gradient;
  };

  // What an entry has the gradients of: its operands, or what a rule over several ops takes.
  static size_t num_sources(const Tape& tape) {
    return tape.has_rule_over_ops() ? tape.source->sources.size() : tape.operands.size();
  }
  // Null: none, or without a gradient.
  static Tape* source(const Tape& tape, size_t k) {
    const TapeRef& source =
        tape.has_rule_over_ops() ? tape.source->sources[k] : tape.operands[k].tape;
    if (!source || source->is_constant) return nullptr;
    return tape.has_own_rule() || rule_of(tape.op).has(k) ? source.get() : nullptr;
  }

  // Every entry after those of its operands.
  void put_in_order(Tape* root) {
    std::vector<std::pair<Tape*, size_t>> stack{{root, 0}};
    visits_[root].is_ordered = true;
    while (!stack.empty()) {
      auto& [tape, k] = stack.back();
      if (k < num_sources(*tape)) {
        Tape* const next = source(*tape, k++);
        if (next == nullptr) continue;
        Visit& visit = visits_[next];
        ++visit.uses;
        if (visit.is_ordered) continue;
        visit.is_ordered = true;
        stack.emplace_back(next, 0);
        continue;
      }
      finish(tape);
      stack.pop_back();
    }
  }

  void finish(Tape* tape) {
    order_.push_back(tape);
    if (wants_leaves_ && tape->is_leaf()) {
      visits_[tape].is_target = true;
      leaves_.push_back(tape);
    }
    bool is_wanted = visits_[tape].is_target;
    for (size_t k = 0; k < num_sources(*tape) && !is_wanted; ++k) {
      is_wanted = this->is_wanted(*tape, k);
    }
    visits_[tape].is_wanted = is_wanted;
  }

  void propagate(Tape* tape) {
    Visit& visit = visits_[tape];
    if (!visit.joined.empty()) {
      add(&visit.gradient, astype(std::move(visit.joined).total(tape->shape), tape->dtype));
    }
    if (!visit.is_wanted || !visit.gradient.defined()) return;
    const Tensor g = visit.is_target ? visit.gradient : std::move(visit.gradient);
    if (tape->has_own_rule()) {
      std::vector<Tensor> all = tape->source->rule(g, result(tape));
      for (size_t k = 0; k < num_sources(*tape); ++k) {
        if (is_wanted(*tape, k) && k < all.size()) add(*tape, k, std::move(all[k]));
      }
      return;
    }
    const Backward backward{*tape, g, values_};
    const size_t count = num_sources(*tape);
    // A product's first operand, mostly the larger, has been read for the last time when its own
    // gradient takes memory.
    const bool from_last = fusion::class_of(tape->op) == fusion::OpClass::kLibrary;
    for (size_t i = 0; i < count; ++i) {
      const size_t k = from_last ? count - 1 - i : i;
      if (!is_wanted(*tape, k)) continue;
      Visit& to = visits_[source(*tape, k)];
      if (to.joined.take(backward, k, to.uses)) continue;
      add(*tape, k, rule_of(tape->op).gradient(backward, k));
    }
  }

  bool is_wanted(const Tape& tape, size_t k) {
    Tape* const to = source(tape, k);
    return to != nullptr && visits_[to].is_wanted;
  }

  // What a rule of its own is given, whose gradients depend on it in turn.
  Tensor result(Tape* tape) {
    if (tape->has_rule_over_ops()) return values_.result(tape);
    if (tape->source->result == nullptr) return {};
    const GradModeScope constants(false);
    Tensor y = renamed(kGradients, Tensor(tape->source->result));
    attach(y.node_ref().get(), TapeRef(tape));
    return y;
  }

  void add(const Tape& tape, size_t k, Tensor gradient) {
    if (!gradient.defined()) return;
    Tape* const to = source(tape, k);
    Visit& visit = visits_[to];
    if (gradient.shape() != to->shape && visit.joined.take_rows(gradient, to->shape, visit.uses)) {
      return;
    }
    add(&visit.gradient, astype(sum_to(gradient, to->shape), to->dtype));
  }

  static void add(Tensor* total, Tensor gradient) {
    *total = total->defined() ? std::move(*total) + std::move(gradient) : std::move(gradient);
  }

  const bool wants_leaves_;
  absl::flat_hash_map<Tape*, Visit> visits_;
  std::vector<Tape*> order_;
  std::vector<Tape*> leaves_;
  Values values_;
};

}  // namespace

std::vector<Tensor> differentiate(Tape* y, const Tensor& seed, std::span<Tape* const> targets) {
  Pass pass(targets);
  if (y != nullptr) pass.run(y, seed);
  std::vector<Tensor> gradients;
  for (Tape* target : targets) {
    gradients.push_back(target == nullptr ? Tensor() : pass.gradient(target));
  }
  return gradients;
}

std::vector<std::pair<TapeRef, Tensor>> differentiate(Tape* y, const Tensor& seed) {
  Pass pass;
  pass.run(y, seed);
  std::vector<std::pair<TapeRef, Tensor>> gradients;
  for (Tape* leaf : pass.leaves()) gradients.emplace_back(TapeRef(leaf), pass.gradient(leaf));
  return gradients;
}

}  // namespace sluice::frontend
