#include "frontend/autograd/tape.h"

#include <algorithm>
#include <type_traits>

#include "frontend/autograd/eviction.h"
#include "frontend/autograd/rules.h"
#include "frontend/checks.h"
#include "frontend/record.h"
#include "runtime/for_each_index.h"
#include "runtime/memory/free_slots.h"

namespace sluice::frontend {
namespace {

using engine::Node;
using engine::NodeRef;
using fusion::Op;
using fusion::OpClass;

// The longest chain of ops that is computed again for one value. Longer ones have every so many
// values in memory.
constexpr int kMaxDepth = 24;

SLUICE_FAST_TLS runtime::FreeSlots<Tape> free_tapes;

// An entry without operands; its op, dtypes, device, name and shape are left to the caller.
inline TapeRef new_tape() {
  Tape* const tape = free_tapes.take();
  tape->checkpoint = grad_mode.checkpoint;
  return TapeRef(tape);
}

// What only some entries have.
[[gnu::noinline]] void forget_more(Tape* tape) {
  if (tape->is_listed) unlist_values(tape);
  tape->is_constant = false;
  tape->is_computable = false;
  tape->attrs.clear();
  tape->source.reset();
  tape->has_more = false;
}

inline void free_tape(Tape* tape) {
  if (tape->has_more) [[unlikely]]
    forget_more(tape);
  tape->is_recipe.store(false, std::memory_order_relaxed);
  tape->is_evicted.store(false, std::memory_order_relaxed);
  tape->operands.clear();
  free_tapes.give(tape);
}

// Entries that nothing refers to any more, of this thread. They are freed one after the other, not
// by recursion: a chain may have millions.
SLUICE_FAST_TLS Tape* garbage = nullptr;
SLUICE_FAST_TLS bool is_collecting = false;

// Computing it again costs less than memory does.
bool is_cheap(Op op) {
  switch (fusion::class_of(op)) {
    case OpClass::kSource:
    case OpClass::kPointwise:
    case OpClass::kView:
    case OpClass::kPad:
    case OpClass::kConcat:
    case OpClass::kRoll:
    case OpClass::kGather: return true;
    default: return false;
  }
}

NodeRef handle_on(Node* node) {
  node->add(Node::kHandle);
  return NodeRef(node);
}

// That of a pending value that needs no gradient, made if there is none.
Tape* constant_of(Node* node) {
  if (Tape* const known = entry_of(node)) return known;
  TapeRef tape = new_tape();
  Tape* const made = tape.get();
  made->has_more = made->is_constant = true;
  made->op = Op::kInput;
  attach(node, std::move(tape));
  return made;
}

void set_op(Tape* tape, const engine::OpCall& call) {
  tape->op = call.op;
  tape->dtype = call.dtype;
  tape->operand_dtype = call.operand_dtype;
  tape->device = call.device;
  tape->name = call.caller.name;
  tape->shape = call.shape;
}

// Looks up the op of a constant that is pending.
void look_up(Tape* tape, engine::Queue* queue) {
  queue->with_pending_call(tape->node, [&](const engine::OpCall& call) {
    set_op(tape, call);
    if (!is_cheap(call.op)) return;
    tape->attrs.assign(call.attrs.begin(), call.attrs.end());
    tape->operands.resize(call.operands.size());
    for (size_t k = 0; k < call.operands.size(); ++k) {
      const engine::NodeOperand& operand = call.operands[k];
      TapeOperand& own = tape->operands[k];
      own.is_tensor = operand.node != nullptr;
      own.scalar = operand.scalar;
      if (operand.node == nullptr) continue;
      if (operand.node->submitted()) {
        own.value = handle_on(operand.node);
      } else {
        own.tape = TapeRef(constant_of(operand.node));
      }
    }
  });
}

bool make_recipe(Tape* tape, int depth, engine::Queue* queue);

// True once the entry, of a value that is pending in this thread's queue, is a recipe: what it
// needs is kept, as recipes of at most `depth` ops where that will do.
inline bool keep_recipe(Tape* tape, int depth, engine::Queue* queue) {
  if (tape->is_recipe.load(std::memory_order_acquire)) return tape->depth <= depth;
  return make_recipe(tape, depth, queue);
}

bool make_recipe(Tape* tape, int depth, engine::Queue* queue) {
  if (depth == 0) return false;
  if (tape->is_constant && tape->op == Op::kInput) look_up(tape, queue);
  if (!is_cheap(tape->op)) return false;
  int own_depth = 1;
  for (size_t k = 0; k < tape->operands.size(); ++k) {
    const TapeOperand& operand = tape->operands[k];
    if (!operand.is_tensor || keeps_value(*tape, k)) continue;
    Tape* const source = operand.tape.get();
    if (source == nullptr) return false;
    NodeRef node = queue->find_pending(source->node);
    const bool is_known = source->is_recipe.load(std::memory_order_acquire);
    if (node == nullptr && !is_known) return false;
    if (keep_recipe(source, depth - 1, queue)) {
      own_depth = std::max(own_depth, source->depth + 1);
    } else if (node == nullptr) {
      return false;
    } else {
      keep_value(tape, k, std::move(node));
    }
  }
  tape->depth = static_cast<uint8_t>(own_depth);
  tape->is_recipe.store(true, std::memory_order_release);
  return true;
}

}  // namespace

SLUICE_FAST_TLS GradMode grad_mode;

void collect(Tape* tape) {
  tape->next_to_free = garbage;
  garbage = tape;
  if (is_collecting) return;
  is_collecting = true;
  while (garbage != nullptr) {
    Tape* const next = garbage;
    garbage = next->next_to_free;
    free_tape(next);
  }
  is_collecting = false;
}

std::atomic<bool> any_entry{false};

void forget_node(engine::Attachment* self, Node* node) {
  auto* const tape = static_cast<Tape*>(self);
  tape->node.compare_exchange_strong(node, nullptr, std::memory_order_acq_rel);
  if (tape->references.fetch_sub(1, std::memory_order_acq_rel) == 1) collect(tape);
}

// Under a limit of memory: of what is computed from no tensor, such as a mask of random numbers. An
// entry that reads it needs no value then, even if a flush comes in between.
TapeRef make_constant(const engine::OpCall& call) {
  if (!may_evict() || !grad_mode.is_on || !is_cheap(call.op)) return {};
  int depth = 1;
  for (const engine::NodeOperand& operand : call.operands) {
    if (operand.node == nullptr) continue;
    const Tape* const source = entry_of(operand.node);
    if (source == nullptr || !source->is_constant || !source->is_computable) return {};
    depth = std::max(depth, source->depth + 1);
  }
  if (depth > kMaxDepth) return {};
  TapeRef tape = new_tape();
  set_op(tape.get(), call);
  tape->attrs.assign(call.attrs.begin(), call.attrs.end());
  tape->operands.resize(call.operands.size());
  for (size_t k = 0; k < call.operands.size(); ++k) {
    const engine::NodeOperand& operand = call.operands[k];
    tape->operands[k].is_tensor = operand.node != nullptr;
    tape->operands[k].scalar = operand.scalar;
    if (operand.node != nullptr) tape->operands[k].tape = TapeRef(entry_of(operand.node));
  }
  tape->has_more = tape->is_constant = tape->is_computable = true;
  tape->depth = static_cast<uint8_t>(depth);
  tape->is_recipe.store(true, std::memory_order_relaxed);
  return tape;
}

TapeRef make_tape(const engine::OpCall& call) {
  if (!grad_mode.is_on) return {};
  const OpRule& rule = rule_of(call.op);
  if (!is_float(call.dtype) || rule.gradient == nullptr) return make_constant(call);
  TapeRef tape = new_tape();
  const engine::NodeOperand* const from = call.operands.data();
  const size_t count = call.operands.size();
  tape->operands.resize(count);
  TapeOperand* const operands = tape->operands.begin();
  uint8_t needs = 0;
  bool is_needed = false;
  for (size_t k = 0; k < count; ++k) {
    const Node* const node = from[k].node;
    operands[k].is_tensor = node != nullptr;
    operands[k].scalar = from[k].scalar;
    if (node == nullptr) continue;
    Tape* const source = tape_of(node);
    if (source == nullptr || !rule.has(k)) continue;
    operands[k].tape = TapeRef(source);
    is_needed = true;
    needs |= rule.needs_of(k);
  }
  if (!is_needed) return make_constant(call);
  set_op(tape.get(), call);
  tape->has_more = true;
  tape->attrs.assign(call.attrs.begin(), call.attrs.end());
  engine::Queue& queue = engine::Queue::current(call.device);
  const bool may_be_evicted = may_evict() && call.op != Op::kExternal;
  bool is_recipe = is_cheap(call.op);
  const bool is_kept = is_recipe || may_be_evicted;
  bool keeps_value = false;
  int depth = 1;
  for (size_t k = 0; k < count; ++k) {
    Node* const node = from[k].node;
    if (node == nullptr) continue;
    if (call.op == Op::kConcat) {
      operands[k].scalar =
          static_cast<uint64_t>(node->layout.shape[static_cast<int>(call.attrs[0])]);
    }
    const bool is_needed_later =
        may_be_evicted || (needs & (1 << std::min<size_t>(k, 2) | kResult)) != 0;
    if (!is_needed_later && !is_kept) continue;
    const bool is_pending =
        !node->submitted() && node->queue.load(std::memory_order_relaxed) == &queue;
    if (is_pending) {
      Tape* const source = constant_of(node);
      const bool is_known = is_needed_later && keep_recipe(source, kMaxDepth, &queue);
      if (is_known || !is_needed_later) {
        if (operands[k].tape.get() != source) operands[k].tape = TapeRef(source);
        depth = std::max(depth, source->depth + 1);
        is_recipe = is_recipe && is_known;
        continue;
      }
    }
    Tape* const entry = entry_of(node);
    if (entry != nullptr && entry->is_constant && entry->is_computable) {
      operands[k].tape = TapeRef(entry);
      depth = std::max(depth, entry->depth + 1);
      continue;
    }
    operands[k].value = handle_on(node);
    keeps_value = true;
  }
  if (is_recipe) {
    tape->depth = static_cast<uint8_t>(depth);
    tape->is_recipe.store(true, std::memory_order_relaxed);
  }
  if (may_be_evicted) [[unlikely]] {
    tape->is_computable = true;
    if (keeps_value) list_values(tape.get());
  }
  return tape;
}

namespace {

// What attach_elementwise() asks for: the rules, and what may_evict() does, without the guard of
// its static object. Null until it is first needed.
struct Known {
  const RuleTable& rules = frontend::rules();
  const Config& settings = config();
};
std::atomic<const Known*> known{nullptr};

void attach_slowly(Op op, DType operand_dtype, absl::Span<const engine::NodeOperand> operands,
                   Node* result) {
  if (TapeRef tape = make_tape({.caller = {},
                                .op = op,
                                .dtype = result->dtype,
                                .operand_dtype = operand_dtype,
                                .device = result->device,
                                .shape = result->layout.shape,
                                .operands = operands})) {
    attach(result, std::move(tape));
  }
  static const Known all;
  known.store(&all, std::memory_order_release);
}

}  // namespace

template <size_t kCount>
void attach_elementwise(Op op, DType operand_dtype, const engine::NodeOperand (&from)[kCount],
                        Node* result) {
  if (!grad_mode.is_on) return;
  const Known* const all = known.load(std::memory_order_acquire);
  if (all == nullptr || all->settings.memory_limit != 0) [[unlikely]]
    return attach_slowly(op, operand_dtype, from, result);
  const OpRule& rule = all->rules[static_cast<size_t>(op)];
  if (!is_float(result->dtype) || rule.gradient == nullptr) return;
  constexpr std::integral_constant<size_t, kCount> kAll;
  Tape* entries[kCount];
  unsigned has_gradient = 0, needs = 0;  // bits
  for_each_index(
      kAll, [&](size_t k) __attribute__((always_inline)) {
        Tape* const entry = from[k].node == nullptr ? nullptr : entry_of(from[k].node);
        entries[k] = entry;
        if (entry == nullptr || entry->is_constant || !rule.has_gradient[k]) return;
        has_gradient |= 1U << k;
        needs |= rule.needs[k];
      });
  if (has_gradient == 0) return;
  TapeRef made = new_tape();
  Tape* const tape = made.get();
  tape->op = op;
  tape->dtype = result->dtype;
  tape->operand_dtype = operand_dtype;
  tape->device = result->device;
  tape->name = nullptr;
  tape->shape = result->layout.shape;
  tape->operands.resize(kCount);
  TapeOperand* const operands = tape->operands.begin();
  engine::Queue* const queue = result->queue.load(std::memory_order_relaxed);
  bool is_recipe = true;
  int depth = 1;
  for_each_index(
      kAll, [&](size_t k) __attribute__((always_inline)) {
        TapeOperand& operand = operands[k];
        Node* const node = from[k].node;
        operand.is_tensor = node != nullptr;
        operand.scalar = from[k].scalar;
        if (node == nullptr) return;
        Tape* source = entries[k];
        const bool is_source = (has_gradient & 1U << k) != 0;
        if (is_source) operand.begin_with(source);
        if (!node->submitted() && node->queue.load(std::memory_order_relaxed) == queue) {
          if (source == nullptr) source = constant_of(node);
          const bool is_needed_later = (needs & (1U << k | kResult)) != 0;
          const bool is_known = is_needed_later && keep_recipe(source, kMaxDepth, queue);
          if (is_known || !is_needed_later) {
            if (!is_source) operand.begin_with(source);
            depth = std::max(depth, source->depth + 1);
            is_recipe = is_recipe && is_known;
            return;
          }
        }
        operand.begin_with(handle_on(node));
      });
  if (is_recipe) {
    tape->depth = static_cast<uint8_t>(depth);
    tape->is_recipe.store(true, std::memory_order_relaxed);
  }
  attach(result, std::move(made));
}
template void attach_elementwise(Op, DType, const engine::NodeOperand (&)[1], Node*);
template void attach_elementwise(Op, DType, const engine::NodeOperand (&)[2], Node*);

Tensor renamed(const char* name, const Tensor& x) { return reshaped(name, x, x.shape()); }

Tensor leaf_of(const char* name, const Tensor& x) {
  if (may_evict()) offer_values();
  TapeRef tape = new_tape();
  tape->dtype = tape->operand_dtype = x.dtype();
  tape->device = x.device();
  tape->op = Op::kInput;
  tape->name = nullptr;
  tape->shape = x.shape();
  tape->has_more = true;
  tape->source = std::make_unique<TapeSource>();
  const GradModeScope constants(false);
  Tensor leaf = renamed(name, x);
  attach(leaf.node_ref().get(), std::move(tape));
  return leaf;
}

Tensor with_gradient(const Tensor& y, const std::vector<TapeRef>& xs, Rule rule,
                     bool keeps_result) {
  const bool is_needed =
      std::any_of(xs.begin(), xs.end(), [](const TapeRef& x) { return x.get() != nullptr; });
  if (!grad_mode.is_on || !is_needed || !is_float(y.dtype())) return y;
  Tensor result = leaf_of("with_gradient", y);
  Tape& tape = *tape_of(result);
  tape.source->rule = std::move(rule);
  if (keeps_result) tape.source->result = y.node_ref();
  tape.operands.resize(xs.size());
  for (size_t k = 0; k < xs.size(); ++k) tape.operands[k].tape = xs[k];
  return result;
}

Tensor with_gradient(const Tensor& y, std::span<const Tensor> xs, Rule rule, bool keeps_result) {
  std::vector<TapeRef> sources;
  for (const Tensor& x : xs) sources.emplace_back(tape_of(x));
  return with_gradient(y, sources, std::move(rule), keeps_result);
}

void set_rule(const Tensor& y, std::span<const Tensor> xs, Rule rule) {
  Tape* const tape = tape_of(y);
  if (!grad_mode.is_on || tape == nullptr) return;
  tape->has_more = true;
  tape->source = std::make_unique<TapeSource>();
  tape->source->rule = std::move(rule);
  for (const Tensor& x : xs) tape->source->sources.emplace_back(tape_of(x));
}

std::vector<Tensor> checked_gradients(const char* name, std::vector<Tensor> gradients,
                                      std::span<const Tensor> xs) {
  if (gradients.size() != xs.size()) {
    fail(name, "the rule gave ", gradients.size(), " gradients, for ", xs.size(), " inputs");
  }
  for (size_t k = 0; k < xs.size(); ++k) {
    if (!gradients[k].defined() || gradients[k].shape() == xs[k].shape()) continue;
    fail(name, "the rule gave ", describe(gradients[k]), " as the gradient of input ", k, ", ",
         describe(xs[k]));
  }
  return gradients;
}

}  // namespace sluice::frontend
