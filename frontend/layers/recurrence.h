// A recurrence over a sequence, in one direction; the frontend's own.
#ifndef SLUICE_FRONTEND_LAYERS_RECURRENCE_H_
#define SLUICE_FRONTEND_LAYERS_RECURRENCE_H_

#include <sluice/tensor.h>
#include "fusion/library/recurrence.h"

namespace sluice::frontend {

struct Recurrence {
  fusion::RecurrenceCell cell = fusion::RecurrenceCell::kLstm;
  bool is_reverse = false;    // from the last step to the first
  Tensor inputs;              // what they give each gate: (n, length, gates * hidden), not empty
  Tensor weight;              // of the state: (gates * hidden, hidden)
  Tensor input_bias, bias;    // of the inputs and the state: (gates * hidden); or both undefined
  Tensor hidden, cell_state;  // first ones (n, hidden); or undefined: 0
};

// After each step (n, length, hidden), and after the last (n, hidden). Cells: an LSTM's.
struct RecurrenceStates {
  Tensor hidden, last_hidden, last_cell;
};

// By one library call for all steps where there is that: on CPUs, in float32 and float64. The
// states have the bits that ops for each step give.
RecurrenceStates recurrence(const char* name, const Recurrence& of);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_LAYERS_RECURRENCE_H_
