// Steps of recurrences. The expressions are those of the ops that nn::Recurrent records where there
// is no call for it, so the bits of the states are theirs.
#include "kernels/library/loops/recurrence.h"

#include <cstdint>

#include "fusion/library/recurrence.h"
#include "kernels/independent_turns.h"
#include "kernels/library/loops/loops.h"
#include "kernels/math/functions.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {
namespace {

using fusion::RecurrenceCell;

template <typename T>
T* row_of(const RecurrenceRows& rows, int64_t row, int64_t plane = 0) {
  return static_cast<T*>(rows.data) + row * rows.row + plane * rows.plane;
}
template <typename T>
const T* row_of(const ConstRecurrenceRows& rows, int64_t row, int64_t plane = 0) {
  return static_cast<const T*>(rows.data) + row * rows.row + plane * rows.plane;
}

// `planes` of the row after `row`, if there is one: rows of a step are too far apart for the
// processor to foresee.
template <typename T>
void fetch_next(const ConstRecurrenceRows& rows, int64_t row, int64_t end, int64_t planes,
                int64_t width) {
  constexpr int64_t kLine = 64 / sizeof(T);
  if (row + 1 == end) return;
  for (int64_t plane = 0; plane < planes; ++plane) {
    const T* const next = row_of<T>(rows, row + 1, plane);
    for (int64_t i = 0; i < width; i += kLine) __builtin_prefetch(next + i);
  }
}

template <typename T, RecurrenceCell kCell>
struct Steps {
  static constexpr int64_t kGates = fusion::gates_of(kCell), kStates = fusion::states_of(kCell);

  // The product with its bias and the inputs; of a GRU's last gate the inputs go to `fresh`.
  static void add(const RecurrenceStep& s, T* product, const T* inputs, T* fresh) {
    const T* const bias = static_cast<const T*>(s.bias);
    const T* const input_bias = static_cast<const T*>(s.input_bias);
    const int64_t n = kGates * s.hidden;
    const int64_t added = kCell == RecurrenceCell::kGru ? 2 * s.hidden : n;
    if (bias == nullptr) {
      SLUICE_INDEPENDENT_TURNS for (int64_t i = 0; i < added; ++i) {
        product[i] = inputs[i] + product[i];
      }
      SLUICE_INDEPENDENT_TURNS for (int64_t i = added; i < n; ++i) fresh[i - added] = inputs[i];
    } else {
      SLUICE_INDEPENDENT_TURNS for (int64_t i = 0; i < added; ++i) {
        product[i] = (inputs[i] + input_bias[i]) + (product[i] + bias[i]);
      }
      SLUICE_INDEPENDENT_TURNS for (int64_t i = added; i < n; ++i) {
        fresh[i - added] = inputs[i] + input_bias[i];
        product[i] = product[i] + bias[i];
      }
    }
  }

  template <bool kKeeps>
  static void step(const RecurrenceStep& s) {
    const int64_t n = s.hidden;
    for (int64_t row = s.begin; row < s.end; ++row) {
      T* const a = row_of<T>(s.product, row);
      T *const b = a + n, *const c = b + n, *const d = c + n;
      T* const out = row_of<T>(s.result, row);
      fetch_next<T>(s.inputs, row, s.end, 1, kGates * n);
      add(s, a, row_of<T>(s.inputs, row), out);
      T* const state = row_of<T>(s.state, row);
      T* kept[4];
      for (int k = 0; k < 4; ++k) kept[k] = row_of<T>(s.result, row, kStates + k);
      T *const kept0 = kept[0], *const kept1 = kept[1], *const kept2 = kept[2],
               *const kept3 = kept[3];
      if constexpr (kCell == RecurrenceCell::kRnn) {
        SLUICE_INDEPENDENT_TURNS for (int64_t i = 0; i < n; ++i) {
          state[i] = out[i] = math::canonical_nan(math::tanh(a[i]));
        }
      } else if constexpr (kCell == RecurrenceCell::kGru) {
        SLUICE_INDEPENDENT_TURNS for (int64_t i = 0; i < n; ++i) {
          const T reset = math::sigmoid(a[i]), update = math::sigmoid(b[i]), by_state = c[i];
          const T fresh = math::tanh(out[i] + reset * by_state);
          const T next = (T(1) - update) * fresh + update * state[i];
          state[i] = out[i] = math::canonical_nan(next);
          if constexpr (kKeeps) {
            kept0[i] = reset;
            kept1[i] = update;
            kept2[i] = fresh;
            kept3[i] = by_state;
          }
        }
      } else {
        T *const cell = row_of<T>(s.cell, row), *const cell_out = row_of<T>(s.result, row, 1);
        SLUICE_INDEPENDENT_TURNS for (int64_t i = 0; i < n; ++i) {
          const T in = math::sigmoid(a[i]), forget = math::sigmoid(b[i]);
          const T fresh = math::tanh(c[i]), output = math::sigmoid(d[i]);
          const T next = math::canonical_nan(forget * cell[i] + in * fresh);
          cell[i] = cell_out[i] = next;
          state[i] = out[i] = math::canonical_nan(output * math::tanh(next));
          if constexpr (kKeeps) {
            kept0[i] = in;
            kept1[i] = forget;
            kept2[i] = fresh;
            kept3[i] = output;
          }
        }
      }
    }
  }

  static void gradient(const RecurrenceGradientStep& s) {
    const int64_t n = s.hidden;
    for (int64_t row = s.begin; row < s.end; ++row) {
      fetch_next<T>(s.result, row, s.end, kStates + fusion::kept_of(kCell), n);
      fetch_next<T>(s.gradients, row, s.end, kStates, n);
      const T* const out = row_of<T>(s.result, row);
      const T* const kept0 = row_of<T>(s.result, row, kStates);
      const T* const kept1 = row_of<T>(s.result, row, kStates + 1);
      const T* const kept2 = row_of<T>(s.result, row, kStates + 2);
      const T* const kept3 = row_of<T>(s.result, row, kStates + 3);
      const T* const asked = row_of<T>(s.gradients, row);
      const T* const state = row_of<T>(s.state, row);
      T* const carried = row_of<T>(s.carried, row);
      T* const a = row_of<T>(s.of_inputs, row);
      T *const b = a + n, *const c = b + n, *const d = c + n;
      if constexpr (kCell == RecurrenceCell::kRnn) {
        SLUICE_INDEPENDENT_TURNS for (int64_t i = 0; i < n; ++i) {
          const T g = asked[i] + carried[i];
          a[i] = math::canonical_nan(g * (T(1) - out[i] * out[i]));
        }
      } else if constexpr (kCell == RecurrenceCell::kGru) {
        T* const pa = row_of<T>(s.of_product, row);
        T *const pb = pa + n, *const pc = pb + n;
        SLUICE_INDEPENDENT_TURNS for (int64_t i = 0; i < n; ++i) {
          const T reset = kept0[i], update = kept1[i], fresh = kept2[i], by_state = kept3[i];
          const T g = asked[i] + carried[i];
          const T of_update = g * (state[i] - fresh) * (update * (T(1) - update));
          const T of_fresh = g * (T(1) - update) * (T(1) - fresh * fresh);
          const T of_reset = of_fresh * by_state * (reset * (T(1) - reset));
          a[i] = pa[i] = math::canonical_nan(of_reset);
          b[i] = pb[i] = math::canonical_nan(of_update);
          c[i] = math::canonical_nan(of_fresh);
          pc[i] = math::canonical_nan(of_fresh * reset);
          carried[i] = g * update;
        }
      } else {
        const T* const asked_cell = row_of<T>(s.gradients, row, 1);
        const T *const cell = row_of<T>(s.cell, row), *const next = row_of<T>(s.result, row, 1);
        T* const carried_cell = row_of<T>(s.carried_cell, row);
        SLUICE_INDEPENDENT_TURNS for (int64_t i = 0; i < n; ++i) {
          const T in = kept0[i], forget = kept1[i], fresh = kept2[i], output = kept3[i];
          const T bounded = math::tanh(next[i]);
          const T g = asked[i] + carried[i];
          const T of_cell =
              asked_cell[i] + carried_cell[i] + g * output * (T(1) - bounded * bounded);
          a[i] = math::canonical_nan(of_cell * fresh * (in * (T(1) - in)));
          b[i] = math::canonical_nan(of_cell * cell[i] * (forget * (T(1) - forget)));
          c[i] = math::canonical_nan(of_cell * in * (T(1) - fresh * fresh));
          d[i] = math::canonical_nan(g * bounded * (output * (T(1) - output)));
          carried_cell[i] = math::canonical_nan(of_cell * forget);
        }
      }
    }
  }
};

template <typename T, RecurrenceCell kCell>
void fill_cell(LibraryLoops& table) {
  constexpr int kType = sizeof(T) == sizeof(double) ? 1 : 0;
  constexpr int kNumber = static_cast<int>(kCell);
  table.recurrence_step[kType][kNumber][0] = Steps<T, kCell>::template step<false>;
  table.recurrence_step[kType][kNumber][1] = Steps<T, kCell>::template step<true>;
  table.recurrence_gradient_step[kType][kNumber] = Steps<T, kCell>::gradient;
}

template <typename T>
void fill_type(LibraryLoops& table) {
  fill_cell<T, RecurrenceCell::kRnn>(table);
  fill_cell<T, RecurrenceCell::kGru>(table);
  fill_cell<T, RecurrenceCell::kLstm>(table);
}

}  // namespace

void fill_recurrence(LibraryLoops& table) {
  fill_type<float>(table);
  fill_type<double>(table);
}

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE
