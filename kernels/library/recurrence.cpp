// Recurrences on the CPU, and their gradients: a product and the rest of a step, step by step.
#include "fusion/library/recurrence.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <new>

#include "kernels/library/library.h"
#include "kernels/library/loops/loops.h"
#include "kernels/library/multiply/multiply.h"
#include "kernels/library/scratch.h"
#include "kernels/math/cast.h"
#include "runtime/cpu/parallel.h"

namespace sluice::kernels {
namespace {

using fusion::RecurrenceAttributes;
using fusion::RecurrenceCell;
using fusion::RecurrenceOperand;

// Elements of gates that are worth a task.
constexpr int64_t kGrain = 8192;
// Rows do not depend on each other. Where a step has no more products than that, threads take all
// steps of some rows each, of so many at least: to divide a step among them would take too long.
constexpr int64_t kShortStep = 16 << 20, kMinRows = 8;
// Where a weight of so few elements is turned over for products with so few rows, step after step.
constexpr int64_t kFewRows = 2, kManySteps = 8, kMaxTurned = 65536;

// An operand (planes, rows, steps, width).
struct Sequence {
  const void* data;
  int64_t plane, row, step;
  size_t element_size;

  ConstRecurrenceRows at(int64_t i, int64_t number = 0) const {
    const int64_t first = i * step + number * plane;
    return {static_cast<const char*>(data) + first * static_cast<int64_t>(element_size), row,
            plane};
  }
};

template <typename T>
class Recurrence {
 public:
  Recurrence(const RecurrenceAttributes& attributes, absl::Span<void* const> buffers)
      : a_(attributes),
        buffers_(buffers),
        cell_(attributes.cell()),
        rows_(attributes.count),
        hidden_(attributes.hidden),
        gates_(gates_of(cell_) * hidden_),
        loops_(product_loops(attributes.dtype)) {}
  // The last first, so that the next call gets each block for what it was.
  ~Recurrence() {
    while (!memory_.empty()) memory_.pop_back();
  }
  Recurrence(const Recurrence&) = delete;
  Recurrence& operator=(const Recurrence&) = delete;

  void forward() {
    const int planes = static_cast<int>(a_.planes());
    const Sequence inputs = sequence(0, 1, gates_);
    const Weight weight = weight_of(1);
    int next = 2;
    const bool has_bias = a_.flags.has_bias != 0;
    const T* const input_bias = has_bias ? line(next++, gates_) : nullptr;
    const T* const bias = has_bias ? line(next++, gates_) : nullptr;
    const bool has_hidden = a_.flags.has_hidden != 0, has_cell = a_.flags.has_cell_state != 0;
    const ConstRecurrenceRows hidden = has_hidden ? state(next++) : zeros();
    const ConstRecurrenceRows cell = has_cell ? state(next++) : zeros();
    T* const product = scratch(rows_ * (gates_ + 2 * hidden_));
    T* const before = product + rows_ * gates_;
    T* const cells = before + rows_ * hidden_;
    copy_rows(hidden, before);
    copy_rows(cell, cells);
    auto* const result = static_cast<T*>(buffers_.back());
    MatrixProduct by_state = product_of(gates_, hidden_, {before, hidden_, 1},
                                        {weight.data, weight.strides[0], weight.strides[1]});
    by_state.c = product;
    const auto step =
        library_loops()
            .recurrence_step[sizeof(T) == sizeof(double)][a_.flags.cell][planes > states()];
    for_groups(by_state, [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < a_.length; ++i) {
        const int64_t at = place(i);
        multiply(rows_of(by_state, begin, end));
        RecurrenceStep of{.hidden = hidden_,
                          .product = {product, gates_, hidden_},
                          .inputs = inputs.at(at),
                          .input_bias = input_bias,
                          .bias = bias,
                          .state = {before, hidden_},
                          .cell = {cells, hidden_},
                          .result = {result + at * hidden_, a_.length * hidden_, plane()}};
        for_rows(begin, end, of, step);
      }
    });
  }

  void gradient() {
    const Sequence result = sequence(0, kept_of(cell_) + states(), hidden_);
    const Weight weight = weight_of(1);
    const Sequence asked = sequence(2, states(), hidden_);
    int next = 3;
    const bool has_hidden = a_.flags.has_hidden != 0, has_cell = a_.flags.has_cell_state != 0;
    const ConstRecurrenceRows hidden = has_hidden ? state(next++) : zeros();
    const ConstRecurrenceRows cell = has_cell ? state(next++) : zeros();
    auto* const of_inputs = static_cast<T*>(buffers_.back());
    const int64_t sequence_numel = rows_ * a_.length * gates_;
    const bool is_gru = cell_ == RecurrenceCell::kGru;
    T* const of_product = is_gru ? of_inputs + sequence_numel : of_inputs;
    T* const carried = of_product + sequence_numel;
    T* const carried_cell = carried + rows_ * hidden_;
    std::fill_n(carried, rows_ * hidden_ * states(), T(0));
    T* const by_product = is_gru ? scratch(rows_ * hidden_) : carried;
    const int64_t row = a_.length * gates_;
    MatrixProduct to_state = product_of(hidden_, gates_, {of_product, row, 1}, turned(weight));
    to_state.c = by_product;
    const auto step =
        library_loops().recurrence_gradient_step[sizeof(T) == sizeof(double)][a_.flags.cell];
    for_groups(to_state, [&](int64_t begin, int64_t end) {
      for (int64_t i = a_.length; i-- > 0;) {
        const int64_t at = place(i);
        RecurrenceGradientStep of{.hidden = hidden_,
                                  .result = result.at(at),
                                  .gradients = asked.at(at),
                                  .state = i == 0 ? hidden : result.at(place(i - 1)),
                                  .cell = i == 0 ? cell : result.at(place(i - 1), 1),
                                  .carried = {carried, hidden_},
                                  .carried_cell = {carried_cell, hidden_},
                                  .of_inputs = {of_inputs + at * gates_, row},
                                  .of_product = {of_product + at * gates_, row}};
        for_rows(begin, end, of, step);
        MatrixProduct product = to_state;
        product.a.data = of_product + at * gates_;
        multiply(rows_of(product, begin, end));
        for (int64_t k = begin * hidden_; is_gru && k < end * hidden_; ++k) {
          carried[k] = math::canonical_nan(carried[k] + by_product[k]);
        }
      }
    });
  }

 private:
  struct Weight {
    const T* data;
    int64_t strides[2];
  };

  int states() const { return fusion::states_of(cell_); }
  int64_t plane() const { return rows_ * a_.length * hidden_; }
  // Of the i-th step.
  int64_t place(int64_t i) const { return a_.flags.is_reverse != 0 ? a_.length - 1 - i : i; }

  T* scratch(int64_t elements) {
    return reinterpret_cast<T*>(
        memory_.emplace_back(static_cast<size_t>(elements) * sizeof(T)).data());
  }

  // The last `rank` axes of an operand, with gaps between the elements of the last filled.
  template <size_t kRank>
  const T* dense_last(int k, const std::array<int64_t, kRank>& extents,
                      std::array<int64_t, kRank>* strides) {
    const RecurrenceOperand& operand = a_.operands[k];
    const T* const data = static_cast<const T*>(buffers_[k]) + operand.offset;
    std::copy_n(operand.strides.end() - kRank, kRank, strides->begin());
    if (strides->back() == 1) return data;
    const std::array<int64_t, kRank> from = *strides;
    int64_t numel = 1;
    for (size_t axis = kRank; axis-- > 0;) {
      (*strides)[axis] = numel;
      numel *= extents[axis];
    }
    T* const copy = scratch(numel);
    const int64_t width = extents.back();
    for (int64_t line = 0; line * width < numel; ++line) {
      const T* of_line = data;
      int64_t rest = line;
      for (size_t axis = kRank - 1; axis-- > 0;) {
        of_line += rest % extents[axis] * from[axis];
        rest /= extents[axis];
      }
      for (int64_t i = 0; i < width; ++i) copy[line * width + i] = of_line[i * from.back()];
    }
    return copy;
  }

  Sequence sequence(int k, int64_t planes, int64_t width) {
    std::array<int64_t, 4> strides;
    const T* const data = dense_last<4>(k, {planes, rows_, a_.length, width}, &strides);
    return {data, strides[0], strides[1], strides[2], sizeof(T)};
  }
  ConstRecurrenceRows state(int k) {
    std::array<int64_t, 2> strides;
    const T* const data = dense_last<2>(k, {rows_, hidden_}, &strides);
    return {data, strides[0]};
  }
  const T* line(int k, int64_t width) {
    std::array<int64_t, 1> strides;
    return dense_last<1>(k, {width}, &strides);
  }
  ConstRecurrenceRows zeros() {
    if (zeros_ == nullptr) {
      zeros_ = scratch(hidden_);
      std::fill_n(zeros_, hidden_, T(0));
    }
    return {zeros_, 0};
  }
  Weight weight_of(int k) const {
    const RecurrenceOperand& operand = a_.operands[k];
    return {static_cast<const T*>(buffers_[k]) + operand.offset,
            {operand.strides[2], operand.strides[3]}};
  }
  void copy_rows(const ConstRecurrenceRows& from, T* to) const {
    for (int64_t row = 0; row < rows_; ++row) {
      std::copy_n(static_cast<const T*>(from.data) + row * from.row, hidden_, to + row * hidden_);
    }
  }

  // Of all rows, step after step: as a matmul op of the same operands.
  MatrixProduct product_of(int64_t columns, int64_t depth, const ProductOperand& rows,
                           const ProductOperand& weight) {
    MatrixProduct product{
        .loops = loops_, .m = rows_, .n = columns, .k = depth, .a = rows, .b = weight};
    const size_t bytes = a_.length > 1 ? packed_bytes_of_b(product) : 0;
    if (bytes > 0) {
      product.packed_b = memory_.emplace_back(bytes).data();
      pack_b(product, product.packed_b);
    }
    return product;
  }

  // As columns along the gates. Few rows are better multiplied with columns without gaps.
  ProductOperand turned(const Weight& weight) {
    const bool pays = rows_ <= kFewRows && a_.length >= kManySteps &&
                      gates_ * hidden_ <= kMaxTurned && weight.strides[0] != 1;
    if (!pays) {
      return {weight.data, weight.strides[1], weight.strides[0]};
    }
    T* const lines = scratch(gates_ * hidden_);
    loops_.pack(weight.data, weight.strides[0], weight.strides[1], gates_, hidden_, gates_, lines);
    return {lines, gates_, 1};
  }

  static MatrixProduct rows_of(const MatrixProduct& product, int64_t begin, int64_t end) {
    MatrixProduct some = product;
    some.m = end - begin;
    some.is_part = some.m < product.m;
    some.a.data = static_cast<const T*>(product.a.data) + begin * product.a.line_stride;
    some.c = static_cast<T*>(product.c) + begin * product.n;
    return some;
  }

  // All steps, whose products are like this one, of some rows at a time.
  template <typename Steps>
  void for_groups(const MatrixProduct& product, const Steps& steps) const {
    const bool is_short = rows_ * gates_ * hidden_ <= kShortStep;
    const int64_t groups = std::min<int64_t>(rows_ / kMinRows, num_threads());
    if (groups <= 1 || !is_short || !has_parts(product)) return steps(0, rows_);
    std::atomic<bool> has_memory = true;
    parallel_for(groups, 1, [&](int64_t first, int64_t last) {
      try {
        for (int64_t group = first; group < last; ++group) {
          steps(group * rows_ / groups, (group + 1) * rows_ / groups);
        }
      } catch (const std::bad_alloc&) {
        has_memory = false;
      }
    });
    if (!has_memory) throw std::bad_alloc();
  }

  // A step of the rows [begin, end).
  template <typename Step, typename Run>
  void for_rows(int64_t begin, int64_t end, const Step& of, Run run) const {
    parallel_for(end - begin, 1 + kGrain / gates_, [&](int64_t first, int64_t last) {
      Step part = of;
      part.begin = begin + first;
      part.end = begin + last;
      run(part);
    });
  }

  const RecurrenceAttributes& a_;
  const absl::Span<void* const> buffers_;
  const RecurrenceCell cell_;
  const int64_t rows_, hidden_, gates_;
  const ProductLoops& loops_;
  std::deque<Scratch> memory_;
  T* zeros_ = nullptr;
};

template <typename T>
void run(const RecurrenceAttributes& attributes, absl::Span<void* const> buffers) {
  Recurrence<T> recurrence(attributes, buffers);
  attributes.is_gradient ? recurrence.gradient() : recurrence.forward();
}

}  // namespace

absl::Status run_recurrence(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  const RecurrenceAttributes& attributes = fusion::recurrence_of(call);
  const bool is_float32 = attributes.dtype == DType::kFloat32;
  try {
    is_float32 ? run<float>(attributes, buffers) : run<double>(attributes, buffers);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("no memory for the state of a recurrence");
  }
  return absl::OkStatus();
}

}  // namespace sluice::kernels
