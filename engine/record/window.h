// The ops of a queue, in the form in which plans are looked up.
//
// An op is written down as it is recorded, in a few words that say all that a plan may depend on
// and nothing that it must not (scalars' values, addresses): a flush has little left to do.
#ifndef SLUICE_ENGINE_RECORD_WINDOW_H_
#define SLUICE_ENGINE_RECORD_WINDOW_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "engine/observe/call_site.h"
#include "engine/record/node.h"
#include "engine/record/op_words.h"
#include "fusion/graph/graph.h"

namespace sluice::engine {

// An operand of an op: a node, or a scalar in the dtype that the op computes in.
struct NodeOperand {
  Node* node = nullptr;
  uint64_t scalar = 0;  // its bits, if node == nullptr
  // The queue takes over one handle of the caller's, which is gone once the op has been recorded.
  bool consumed = false;
};

// A call of an op. Its shape and dtypes are right; all that it refers to outlives the call.
struct OpCall {
  Caller caller;
  fusion::Op op;
  DType dtype;
  DType operand_dtype;
  Device device;
  const Shape& shape;
  absl::Span<const NodeOperand> operands = {};
  absl::Span<const int64_t> attrs = {};
};

// The settings that a plan depends on.
struct PlanMode {
  bool fuse = true;
  bool fast_math = false;
  bool allow_tf32 = false;
};

// Pins the submitted nodes that its ops read, its inputs. That its own nodes stay is the caller's
// business.
class Window {
 public:
  Window() : words_(1) {}
  ~Window() { clear(); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  void swap(Window& other);

  size_t size() const { return num_ops_; }
  bool empty() const { return num_ops_ == 0; }
  Node* node(size_t i) const { return ops_[i].node; }
  // An op of this window reads op `i`.
  bool is_read(size_t i) const { return ops_[i].is_read != 0; }
  // Equal for ops that do the same with values of the same shapes, wherever these come from.
  uint32_t kind(size_t i) const;
  const std::vector<Node*>& inputs() const { return inputs_; }  // in order of first use
  const std::vector<uint64_t>& scalars() const { return scalars_; }

  // Adds the op that computes `node`, a pending one, and gives it its position. Operands that are
  // pending are in this window. `num_operands`: their number, as a constant if it is one. See
  // window_add.h.
  template <typename Size>
  void add(Node* node, const OpCall& call, Size num_operands);

  // Which call recorded op `i`, and within which scope, if that was said.
  const Caller& caller(size_t i) const { return ops_[i].caller; }
  void set_scope(size_t i, uint16_t scope) { ops_[i].scope = scope; }
  Origin origin(size_t i) const {
    return {ops_[i].caller.where, static_cast<uint16_t>(ops_[i].scope)};
  }

  // f(k) for each operand of op `i` that is op `k` of this window.
  template <typename F>
  void for_each_op_read(size_t i, F f) const {
    for_each_code(i, [&](OperandCode code) {
      if (code.kind == OperandKind::kOp) f(i - code.number);
    });
  }
  // f(node) for each operand that is an input.
  template <typename F>
  void for_each_input_read(size_t i, F f) const {
    for_each_code(i, [&](OperandCode code) {
      if (code.kind == OperandKind::kInput) f(inputs_[code.number]);
    });
  }

  // Op `i` as it was recorded; what the call refers to lives as long as `f` runs.
  void with_call(size_t i, absl::FunctionRef<void(const OpCall&)> f) const;

  // Adds every op for which marks[i] & mark to `target`, in order.
  void copy_to(Window* target, absl::Span<const uint8_t> marks, uint8_t mark) const;

  // Says which values have to be there afterwards (op i: bit i % 64 of word i / 64), and with that
  // all that a plan depends on. Replaces what was said before.
  void complete(absl::Span<const uint64_t> live, PlanMode mode);
  bool live(size_t i) const { return (words_[num_words_ + i / 64] >> i % 64 & 1) != 0; }
  absl::Span<const uint64_t> signature() const {
    return {words_.data(), num_words_ + num_live_words_};
  }

  // As fusion sees a complete window: its inputs, in order, and then its ops.
  fusion::Graph to_graph() const;

  // Inputs may die from now on.
  void unpin_inputs();
  void clear();

 private:
  struct Op {
    Node* node;
    uint64_t begin : 32;  // of its words
    uint64_t is_read : 1;
    uint64_t scope : 16;
    Caller caller;
  };
  class Reader;

  template <typename F>
  void for_each_code(size_t i, F f) const {
    const uint64_t* word = words_.data() + ops_[i].begin;
    const uint32_t count = OpHeader::unpack(*word).num_operands;
    for (uint32_t k = 0; k < count; k += 2) {
      ++word;
      f(OperandCode::unpack(static_cast<uint32_t>(*word)));
      if (k + 1 < count) f(OperandCode::unpack(static_cast<uint32_t>(*word >> 32)));
    }
  }
  OperandCode code_of(const NodeOperand& operand, uint32_t position);
  uint32_t number_of(Node* input);
  uint32_t look_up(Node* input);
  void grow(size_t words);

  // These two never shrink.
  std::vector<Op> ops_;
  std::vector<uint64_t> words_;  // the mode, those of the ops, the live bits
  size_t num_ops_ = 0;
  size_t num_words_ = 1;  // without the live bits
  size_t num_live_words_ = 0;
  std::vector<Node*> inputs_;
  size_t num_described_ = 0;  // of the inputs, by the words
  bool pins_inputs_ = true;
  absl::flat_hash_map<const Node*, uint32_t> input_numbers_;  // empty if there are few
  size_t inputs_before_ = 0;                                  // of the last window
  std::vector<uint64_t> scalars_;
};

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_RECORD_WINDOW_H_
