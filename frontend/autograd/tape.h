// What gradients need to know of an op that has been recorded: a tape entry hangs on the node of
// each result that needs a gradient.
//
// An entry is also a recipe: with it the value can be computed again. What a gradient needs of an
// operand is kept as a handle only where it is in memory anyway or dear (a leaf, the result of a
// reduction or a library call). Of results of element-wise ops and views the recipe is kept: they
// have no handle for the tape's sake, so that a flush leaves them out of memory.
#ifndef SLUICE_FRONTEND_AUTOGRAD_TAPE_H_
#define SLUICE_FRONTEND_AUTOGRAD_TAPE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <sluice/tensor.h>
#include "absl/container/inlined_vector.h"
#include "engine/engine.h"
#include "fusion/ir/op.h"
#include "runtime/fast_tls.h"

namespace sluice::frontend {

struct Tape;

// A counted reference on an entry.
class TapeRef {
 public:
  TapeRef() = default;
  inline explicit TapeRef(Tape* tape);  // counts another one
  TapeRef(const TapeRef& other) : TapeRef(other.tape_) {}
  TapeRef(TapeRef&& other) noexcept : tape_(std::exchange(other.tape_, nullptr)) {}
  TapeRef& operator=(TapeRef other) noexcept {
    std::swap(tape_, other.tape_);
    return *this;
  }
  ~TapeRef() { reset(); }

  void reset() {
    if (tape_ != nullptr) drop(std::exchange(tape_, nullptr));
  }
  Tape* get() const { return tape_; }
  Tape* release() { return std::exchange(tape_, nullptr); }
  Tape* operator->() const { return tape_; }
  Tape& operator*() const { return *tape_; }
  explicit operator bool() const { return tape_ != nullptr; }

 private:
  static inline void drop(Tape* tape);

  Tape* tape_ = nullptr;
};

struct TapeOperand {
  TapeRef tape;           // null: nothing but the value is known
  engine::NodeRef value;  // null: not kept, or kept as the recipe `tape`
  // Of what is no tensor its bits; of an operand of kConcat its extent along the axis.
  uint64_t scalar = 0;
  bool is_tensor = true;

  // Of an operand that has neither: what assignment does, without asking.
  void begin_with(Tape* known) { std::construct_at(&tape, known); }
  void begin_with(engine::NodeRef kept) { std::construct_at(&value, std::move(kept)); }
};

// Those of an op, of which few have more than three.
class TapeOperands {
 public:
  size_t size() const { return size_; }
  TapeOperand& operator[](size_t k) { return begin()[k]; }
  const TapeOperand& operator[](size_t k) const { return begin()[k]; }
  TapeOperand* begin() { return size_ <= kInline ? inline_.data() : more_.data(); }
  TapeOperand* end() { return begin() + size_; }
  const TapeOperand* begin() const { return size_ <= kInline ? inline_.data() : more_.data(); }
  const TapeOperand* end() const { return begin() + size_; }

  // There were none.
  void resize(size_t size) {
    size_ = static_cast<uint32_t>(size);
    if (size > kInline) more_.resize(size);
  }
  void clear() {
    if (size_ > kInline) [[unlikely]] {
      more_.clear();
    } else {
      const size_t size = size_;
      for (size_t k = 0; k < size; ++k) {
        inline_[k].tape.reset();
        if (!(inline_[k].value == nullptr)) inline_[k].value = {};
      }
    }
    size_ = 0;
  }

 private:
  static constexpr size_t kInline = 3;

  uint32_t size_ = 0;
  std::array<TapeOperand, kInline> inline_;
  std::vector<TapeOperand> more_;
};

// The gradient of each operand, given that of the result and the result. An undefined tensor: none.
using Rule = std::function<std::vector<Tensor>(const Tensor& g, const Tensor& y)>;

// What an entry has that is of no op: that of a leaf, or of the result of a rule of its own.
struct TapeSource {
  Rule rule;                     // of a leaf: none
  engine::NodeRef result;        // what the rule is given: the value, of a node without an entry
  std::vector<TapeRef> sources;  // of a rule over several ops: what it gives the gradients of
  std::mutex mutex;              // of `grad`
  Tensor grad;                   // of a leaf: what backward() has added up
};

// What an entry does when its node is gone.
void forget_node(engine::Attachment* self, engine::Node* node);

// Entries are recycled: one comes from new_tape() alone.
struct Tape : engine::Attachment {
  // For good: an entry may be hung on a new node while another thread drops its last one.
  Tape() : Attachment{forget_node} {}

  std::atomic<uint32_t> references{0};
  // Of the checkpoint within which it was recorded; 0: none.
  uint32_t checkpoint = 0;
  // A node with the value while there is one; another thread may be about to clear it.
  std::atomic<engine::Node*> node{nullptr};
  const char* name = nullptr;  // what the user called, if that is another name than the op's
  fusion::Op op = fusion::Op::kInput;
  DType dtype = DType::kFloat32;
  DType operand_dtype = DType::kFloat32;
  Device device = Device::cpu();
  // Whether it may be a constant or computable, be listed, or have attributes or a source: what an
  // element-wise op's has not, which is sooner free.
  bool has_more = false;
  // Needs no gradient. The entry is there for recipes of what reads it, and for those alone: its op
  // and operands are looked up when they are needed.
  bool is_constant = false;
  // The value can be had from the operands, by at most `depth` ops one after another.
  std::atomic<bool> is_recipe{false};
  uint8_t depth = 0;
  // The value can be had from the operands, by ops that may be dear (eviction.h); of a constant:
  // and without any value that is kept for it.
  bool is_computable = false;
  std::atomic<bool> is_evicted{false};  // the value has been in memory, and was given up
  Shape shape;
  TapeOperands operands;
  absl::InlinedVector<int64_t, 2> attrs;
  // Of what is no constant: if `op` is kInput, or by set_rule().
  std::unique_ptr<TapeSource> source;

  // The list of eviction.h.
  bool is_listed = false;
  Tape* previous_listed = nullptr;
  Tape* next_listed = nullptr;
  Tape* next_to_free = nullptr;

  bool is_leaf() const { return source != nullptr && !source->rule; }
  bool has_own_rule() const { return source != nullptr && source->rule; }
  bool has_rule_over_ops() const { return source != nullptr && !source->sources.empty(); }
};

inline TapeRef::TapeRef(Tape* tape) : tape_(tape) {
  if (tape != nullptr) tape->references.fetch_add(1, std::memory_order_relaxed);
}

// Frees an entry that nothing refers to any more.
void collect(Tape* tape);
inline void TapeRef::drop(Tape* tape) {
  if (tape->references.fetch_sub(1, std::memory_order_acq_rel) == 1) collect(tape);
}

// What the calling thread records has gradients.
struct GradMode {
  bool is_on = true;
  int depth = 0;            // Differentiations under way
  uint32_t checkpoint = 0;  // the one under way
};
extern SLUICE_FAST_TLS GradMode grad_mode;

// Sets whether there are gradients, for its lifetime.
class GradModeScope {
 public:
  explicit GradModeScope(bool is_on) : outer_(std::exchange(grad_mode.is_on, is_on)) {}
  ~GradModeScope() { grad_mode.is_on = outer_; }
  GradModeScope(const GradModeScope&) = delete;
  GradModeScope& operator=(const GradModeScope&) = delete;

 private:
  const bool outer_;
};

// The entry of a value, if it has one; and if it needs a gradient.
inline Tape* entry_of(const engine::Node* node) {
  return static_cast<Tape*>(node->attachment.load(std::memory_order_acquire));
}
inline Tape* tape_of(const engine::Node* node) {
  Tape* const tape = entry_of(node);
  return tape != nullptr && !tape->is_constant ? tape : nullptr;
}
inline Tape* tape_of(const Tensor& x) { return tape_of(x.node_ref().get()); }

// False until the first entry hangs on a node. Programs without gradients pay for this test alone.
extern __attribute__((visibility("hidden"))) std::atomic<bool> any_entry;
inline bool may_have_entries() { return any_entry.load(std::memory_order_relaxed); }

// Hangs the entry on a node that nobody else knows yet.
inline void attach(engine::Node* node, TapeRef tape) {
  any_entry.store(true, std::memory_order_relaxed);
  tape->node.store(node, std::memory_order_release);
  node->attachment.store(tape.release(), std::memory_order_release);
}

// The entry of a call that is about to be recorded; null if its result needs no gradient.
TapeRef make_tape(const engine::OpCall& call);
inline bool has_tape(const engine::OpCall& call) {
  if (!may_have_entries()) return false;
  for (const engine::NodeOperand& operand : call.operands) {
    if (operand.node != nullptr &&
        operand.node->attachment.load(std::memory_order_relaxed) != nullptr) {
      return true;
    }
  }
  return false;
}

// What make_tape() and attach() do for an element-wise op of one or two operands, in half of their
// instructions. `result` was recorded just now, with the operands' shape, on the operands' device.
template <size_t kCount>
void attach_elementwise(fusion::Op op, DType operand_dtype,
                        const engine::NodeOperand (&operands)[kCount], engine::Node* result);

// y, which was computed from `xs` within a GradModeScope(false), with a gradient: `rule` gives that
// of each x, of its shape. For functions that are no op, and those whose ops would give a gradient
// that is dearer or less exact. y itself if no x needs a gradient, or there are none now.
//
// What the rule holds is kept in memory as long as the result needs a gradient: xs are fine. So
// that the gradient has a gradient, it should compute with the xs and with what it is given, not
// with other tensors that depend on the xs. `keeps_result`: false if the rule does without y, which
// is then the empty handle.
Tensor with_gradient(const Tensor& y, std::span<const Tensor> xs, Rule rule,
                     bool keeps_result = true);

// Likewise by what these are the entries of.
Tensor with_gradient(const Tensor& y, const std::vector<TapeRef>& xs, Rule rule,
                     bool keeps_result = true);

// Gives y, the result of an op at the end of several that made it of `xs`, a gradient in place of
// that of those ops: `rule` gives that of each x. The op has to have a rule by all its operands: y
// is what those give, if it has to be computed again, and takes no memory for the rule.
void set_rule(const Tensor& y, std::span<const Tensor> xs, Rule rule);

// The gradients that a rule of the user's gave of xs. Throws Error (kInvalidArgument), in the name
// of `name`, unless there is one for each, of its shape or undefined.
std::vector<Tensor> checked_gradients(const char* name, std::vector<Tensor> gradients,
                                      std::span<const Tensor> xs);

// A leaf with x's value.
Tensor leaf_of(const char* name, const Tensor& x);

// The gradients, weighted by `seed`, of what `y` is the entry of, by what `targets` are of; those
// that it does not depend on, and of null, are empty. They are recorded with or without gradients
// of their own, as grad_mode says.
std::vector<Tensor> differentiate(Tape* y, const Tensor& seed, std::span<Tape* const> targets);
// Likewise by every leaf that it depends on.
std::vector<std::pair<TapeRef, Tensor>> differentiate(Tape* y, const Tensor& seed);

// The same value under another name: a view.
Tensor renamed(const char* name, const Tensor& x);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_AUTOGRAD_TAPE_H_
