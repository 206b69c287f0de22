#include "fusion/library/recurrence.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "fusion/library/library.h"

namespace sluice::fusion {

std::string RecurrenceAttributes::text() const {
  constexpr const char* kNames[] = {"RNN", "GRU", "LSTM"};
  return absl::StrCat(kNames[flags.cell], " ", count, "x", length, "x", hidden,
                      flags.is_reverse != 0 ? ", reverse" : "");
}

double RecurrenceAttributes::cost() const {
  constexpr double kFlopsOfNanosecond = 40, kOfGate = 1, kOfStep = 200;
  const auto elements = static_cast<double>(count * length * gates_of(cell()) * hidden);
  return static_cast<double>(flops()) / kFlopsOfNanosecond + kOfGate * elements +
         kOfStep * static_cast<double>(length);
}

int64_t recurrence_gradient_numel(RecurrenceCell cell, int64_t count, int64_t length,
                                  int64_t hidden) {
  const int64_t rows = cell == RecurrenceCell::kGru ? 6 : gates_of(cell);
  return count * hidden * (length * rows + states_of(cell));
}

std::shared_ptr<const LibraryAttributes> make_recurrence_attributes(
    const GraphNode& node, absl::Span<const Layout> operands) {
  auto result = std::make_shared<RecurrenceAttributes>();
  result->dtype = node.dtype;
  result->is_gradient = node.op == Op::kRecurrenceGradient;
  const int64_t* attr = node.attrs.data();
  RecurrenceFlags::for_each_number(result->flags, [&](int64_t& flag) { flag = *attr++; });
  const Shape& sequence = operands[0].shape;
  result->count = sequence[-3];
  result->length = sequence[-2];
  result->hidden = operands[1].shape[-1];
  for (size_t k = 0; k < operands.size(); ++k) {
    RecurrenceOperand& operand = result->operands[k];
    const int rank = operands[k].shape.rank();
    operand.offset = operands[k].offset;
    std::copy_n(operands[k].strides.begin(), rank, operand.strides.end() - rank);
  }
  return result;
}

}  // namespace sluice::fusion
