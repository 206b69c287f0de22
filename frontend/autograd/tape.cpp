#include "frontend/autograd/tape.h"

#include <algorithm>

#include "frontend/autograd/rules.h"
#include "frontend/record.h"

namespace sluice::frontend {
namespace {

using engine::Node;
using engine::NodeRef;
using fusion::Op;
using fusion::OpClass;

// The longest chain of ops that is computed again for one value. Longer ones have every so many
// values in memory.
constexpr int kMaxDepth = 24;

// Entries that nothing refers to any more, of this thread. They are freed one after the other, not
// by recursion: a chain may have millions.
SLUICE_FAST_TLS Tape* garbage = nullptr;
SLUICE_FAST_TLS bool is_collecting = false;

void drop(Tape* tape) {
  if (tape->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  tape->next_to_free = garbage;
  garbage = tape;
  if (is_collecting) return;
  is_collecting = true;
  while (garbage != nullptr) {
    Tape* const next = garbage;
    garbage = next->next_to_free;
    delete next;
  }
  is_collecting = false;
}

void forget_node(engine::Attachment* self, Node* node) {
  auto* const tape = static_cast<Tape*>(self);
  tape->node.compare_exchange_strong(node, nullptr, std::memory_order_acq_rel);
  drop(tape);
}

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
  TapeRef tape(new Tape);
  tape->is_constant = true;
  attach(node, tape.get());
  return tape.get();
}

// Looks up the op of a constant that is pending.
void look_up(Tape* tape, engine::Queue* queue) {
  queue->with_pending_call(tape->node, [&](const engine::OpCall& call) {
    tape->op = call.op;
    tape->dtype = call.dtype;
    tape->operand_dtype = call.operand_dtype;
    tape->device = call.device;
    tape->name = call.caller.name;
    tape->shape = call.shape;
    if (!is_cheap(call.op)) return;
    tape->attrs.assign(call.attrs.begin(), call.attrs.end());
    for (const engine::NodeOperand& operand : call.operands) {
      TapeOperand& own = tape->operands.emplace_back();
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

// True once the entry, of a value that is pending in this thread's queue, is a recipe: what it
// needs is kept, as recipes of at most `depth` ops where that will do.
bool keep_recipe(Tape* tape, int depth, engine::Queue* queue) {
  if (tape->is_recipe.load(std::memory_order_acquire)) return tape->depth <= depth;
  if (depth == 0) return false;
  if (tape->is_constant && tape->op == Op::kInput) look_up(tape, queue);
  if (!is_cheap(tape->op)) return false;
  int own_depth = 1;
  for (TapeOperand& operand : tape->operands) {
    if (!operand.is_tensor || !(operand.value == nullptr)) continue;
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
      operand.value = std::move(node);
    }
  }
  tape->depth = static_cast<uint8_t>(own_depth);
  tape->is_recipe.store(true, std::memory_order_release);
  return true;
}

}  // namespace

SLUICE_FAST_TLS GradMode grad_mode;

TapeRef::TapeRef(Tape* tape) : tape_(tape) {
  if (tape != nullptr) tape->references.fetch_add(1, std::memory_order_relaxed);
}

TapeRef::~TapeRef() {
  if (tape_ != nullptr) drop(tape_);
}

std::atomic<bool> any_entry{false};

void attach(Node* node, Tape* tape) {
  any_entry.store(true, std::memory_order_relaxed);
  tape->references.fetch_add(1, std::memory_order_relaxed);
  tape->node_is_gone = forget_node;
  tape->node.store(node, std::memory_order_release);
  node->attachment.store(tape, std::memory_order_release);
}

TapeRef make_tape(const engine::OpCall& call) {
  if (!grad_mode.is_on || !is_float(call.dtype)) return {};
  const OpRule& rule = rule_of(call.op);
  if (rule.gradient == nullptr) return {};
  uint8_t needs = 0;
  bool is_needed = false;
  for (size_t k = 0; k < call.operands.size(); ++k) {
    const Node* const node = call.operands[k].node;
    if (node == nullptr || tape_of(node) == nullptr || !rule.has(k)) continue;
    is_needed = true;
    needs |= rule.needs_of(k);
  }
  if (!is_needed) return {};
  TapeRef tape(new Tape);
  tape->op = call.op;
  tape->dtype = call.dtype;
  tape->operand_dtype = call.operand_dtype;
  tape->device = call.device;
  tape->name = call.caller.name;
  tape->shape = call.shape;
  tape->attrs.assign(call.attrs.begin(), call.attrs.end());
  tape->checkpoint = grad_mode.checkpoint;
  tape->operands.resize(call.operands.size());
  engine::Queue& queue = engine::Queue::current(call.device);
  int depth = 1;
  bool is_recipe = true;
  for (size_t k = 0; k < call.operands.size(); ++k) {
    TapeOperand& operand = tape->operands[k];
    Node* const node = call.operands[k].node;
    operand.is_tensor = node != nullptr;
    operand.scalar = call.operands[k].scalar;
    if (node == nullptr) continue;
    if (call.op == Op::kConcat) {
      operand.scalar = static_cast<uint64_t>(node->layout.shape[static_cast<int>(call.attrs[0])]);
    }
    if (tape_of(node) != nullptr && rule.has(k)) operand.tape = TapeRef(tape_of(node));
    const bool is_pending =
        !node->submitted() && node->queue.load(std::memory_order_relaxed) == &queue;
    const bool is_needed_later = (needs & (1 << std::min<size_t>(k, 2) | kResult)) != 0;
    if (!is_needed_later && !is_cheap(call.op)) continue;
    if (is_pending) {
      Tape* const source = constant_of(node);
      if (!is_needed_later) {
        operand.tape = TapeRef(source);
        is_recipe = false;
        continue;
      }
      if (keep_recipe(source, kMaxDepth, &queue)) {
        operand.tape = TapeRef(source);
        depth = std::max(depth, source->depth + 1);
        continue;
      }
    }
    operand.value = handle_on(node);
  }
  if (is_recipe && is_cheap(call.op)) {
    tape->depth = static_cast<uint8_t>(depth);
    tape->is_recipe.store(true, std::memory_order_relaxed);
  }
  return tape;
}

Tensor renamed(const char* name, const Tensor& x) { return reshaped(name, x, x.shape()); }

Tensor leaf_of(const char* name, const Tensor& x) {
  TapeRef tape(new Tape);
  tape->dtype = tape->operand_dtype = x.dtype();
  tape->device = x.device();
  tape->shape = x.shape();
  tape->checkpoint = grad_mode.checkpoint;
  const GradModeScope constants(false);
  Tensor leaf = renamed(name, x);
  attach(leaf.node_ref().get(), tape.get());
  return leaf;
}

Tensor with_gradient(const Tensor& y, const std::vector<TapeRef>& xs, Rule rule,
                     bool keeps_result) {
  const bool is_needed =
      std::any_of(xs.begin(), xs.end(), [](const TapeRef& x) { return x.get() != nullptr; });
  if (!grad_mode.is_on || !is_needed || !is_float(y.dtype())) return y;
  Tensor result = leaf_of("with_gradient", y);
  Tape& tape = *tape_of(result);
  tape.rule = std::move(rule);
  if (keeps_result) tape.result = y.node_ref();
  for (const TapeRef& x : xs) tape.operands.push_back({.tape = x, .value = {}});
  return result;
}

Tensor with_gradient(const Tensor& y, std::span<const Tensor> xs, Rule rule, bool keeps_result) {
  std::vector<TapeRef> sources;
  for (const Tensor& x : xs) sources.emplace_back(tape_of(x));
  return with_gradient(y, sources, std::move(rule), keeps_result);
}

}  // namespace sluice::frontend
