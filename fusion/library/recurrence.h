// Library calls that take a recurrence through a whole sequence, and their gradients.
#ifndef SLUICE_FUSION_LIBRARY_RECURRENCE_H_
#define SLUICE_FUSION_LIBRARY_RECURRENCE_H_

#include <array>
#include <cstdint>
#include <string>

#include <sluice/dtype.h>
#include "fusion/ir/op.h"
#include "fusion/lower/step.h"

namespace sluice::fusion {

// What a step makes of the state; include/sluice/nn/recurrent.h has the formulas.
enum class RecurrenceCell : uint8_t { kRnn, kGru, kLstm };

constexpr int gates_of(RecurrenceCell cell) {
  return cell == RecurrenceCell::kRnn ? 1 : cell == RecurrenceCell::kGru ? 3 : 4;
}
// What goes from step to step: the hidden state, and an LSTM's cell.
constexpr int states_of(RecurrenceCell cell) { return cell == RecurrenceCell::kLstm ? 2 : 1; }
// What a gradient needs besides: the gates, and what a GRU's reset gate is multiplied with.
constexpr int kept_of(RecurrenceCell cell) { return cell == RecurrenceCell::kRnn ? 0 : 4; }

// The attributes of the ops, in their order.
struct RecurrenceFlags {
  int64_t cell = 0;            // a RecurrenceCell
  int64_t is_reverse = 0;      // from the last step to the first
  int64_t keeps = 0;           // the result has what the gradient needs; op kRecurrence alone
  int64_t has_bias = 0;        // else no biases are added; op kRecurrence alone
  int64_t has_hidden = 0;      // else the first hidden state is 0
  int64_t has_cell_state = 0;  // likewise an LSTM's first cell

  static constexpr int kCount = 6;
  template <typename Flags, typename F>
  static void for_each_number(Flags& of, F f) {
    for (auto* number :
         {&of.cell, &of.is_reverse, &of.keeps, &of.has_bias, &of.has_hidden, &of.has_cell_state}) {
      f(*number);
    }
  }
};

// Where an operand is, in elements from the base of its block. Of fewer axes: the last strides.
struct RecurrenceOperand {
  int64_t offset = 0;
  std::array<int64_t, 4> strides{};
};

// Buffers: the op's operands, which fusion/ir/library.def lists, and the result.
struct RecurrenceAttributes : SizedAttributes<RecurrenceAttributes> {
  static constexpr int kMaxOperands = 6;

  DType dtype = DType::kFloat32;  // float32 or float64
  bool is_gradient = false;       // op kRecurrenceGradient
  RecurrenceFlags flags;
  int64_t count = 0, length = 0, hidden = 0;
  std::array<RecurrenceOperand, kMaxOperands> operands;

  template <typename Attributes, typename F>
  static void for_each_number(Attributes& of, F f) {
    RecurrenceFlags::for_each_number(of.flags, f);
    for (auto* number : {&of.count, &of.length, &of.hidden}) f(*number);
    for (auto& operand : of.operands) {
      f(operand.offset);
      for (auto& stride : operand.strides) f(stride);
    }
  }
  RecurrenceCell cell() const { return static_cast<RecurrenceCell>(flags.cell); }
  // Tensors (count, length, hidden) that the forward result consists of.
  int64_t planes() const { return states_of(cell()) + (flags.keeps != 0 ? kept_of(cell()) : 0); }
  std::string text() const override;
  int64_t flops() const override { return 2 * count * length * gates_of(cell()) * hidden * hidden; }
  double cost() const override;
};

// The elements of an op kRecurrenceGradient's result.
int64_t recurrence_gradient_numel(RecurrenceCell cell, int64_t count, int64_t length,
                                  int64_t hidden);

// `call` is of kind kRecurrence.
inline const RecurrenceAttributes& recurrence_of(const LibraryCall& call) {
  return static_cast<const RecurrenceAttributes&>(*call.attributes);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_RECURRENCE_H_
