// One step of a recurrence, without its product: what loops/recurrence.cpp computes.
#ifndef SLUICE_KERNELS_LIBRARY_LOOPS_RECURRENCE_H_
#define SLUICE_KERNELS_LIBRARY_LOOPS_RECURRENCE_H_

#include <cstdint>

namespace sluice::kernels {

// Tensors (planes.., rows, hidden) somewhere in memory, the last axis without gaps. Strides are in
// elements.
template <typename Data>
struct RecurrenceRowsOf {
  Data* data = nullptr;
  int64_t row = 0, plane = 0;
};
using RecurrenceRows = RecurrenceRowsOf<void>;
using ConstRecurrenceRows = RecurrenceRowsOf<const void>;

// Of rows [begin, end) of a batch. The planes of gates are side by side in a row.
struct RecurrenceStep {
  int64_t begin = 0, end = 0, hidden = 0;
  RecurrenceRows product;  // by the state; used up
  ConstRecurrenceRows inputs;
  const void* input_bias = nullptr;  // null: no biases are added
  const void* bias = nullptr;        // of the product
  RecurrenceRows state, cell;        // before, and then after the step
  RecurrenceRows result;             // planes as in the result of Op::kRecurrence
};

// The gradients of what such a step reads, by those of what it gives.
struct RecurrenceGradientStep {
  int64_t begin = 0, end = 0, hidden = 0;
  ConstRecurrenceRows result;       // of the step
  ConstRecurrenceRows gradients;    // of the hidden state and the cell that the step gave, as asked
  ConstRecurrenceRows state, cell;  // before the step
  // The gradients of the state and the cell by the steps that follow. Then, of those before this
  // step, what does not come by way of the product: of the state in a GRU alone.
  RecurrenceRows carried, carried_cell;
  RecurrenceRows of_inputs;   // the gradients of the gates
  RecurrenceRows of_product;  // likewise with regard to the product; of a GRU alone
};

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LIBRARY_LOOPS_RECURRENCE_H_
