#include <algorithm>
#include <utility>
#include <vector>

#include <sluice/creation.h>
#include <sluice/ops.h>
#include "absl/container/inlined_vector.h"
#include "engine/observe/counters.h"
#include "frontend/autograd/eviction.h"
#include "frontend/autograd/rules.h"
#include "frontend/record.h"

namespace sluice::frontend {
namespace {

Tensor scalar_tensor(uint64_t bits, DType dtype, Device device) {
  const engine::NodeOperand value{.scalar = bits};
  return record({.caller = {.name = kGradients},
                 .op = fusion::Op::kFull,
                 .dtype = dtype,
                 .operand_dtype = dtype,
                 .device = device,
                 .shape = Shape(),
                 .operands = {&value, 1}});
}

}  // namespace

SLUICE_FAST_TLS Values* Values::innermost_ = nullptr;

Tensor Values::operand(const Tape& tape, size_t k, DType dtype) {
  const TapeOperand& operand = tape.operands[k];
  if (!operand.is_tensor) {
    const bool is_condition = tape.op == fusion::Op::kWhere && k == 0;
    const DType own = is_condition ? DType::kBool : tape.operand_dtype;
    return astype(scalar_tensor(operand.scalar, own, tape.device), dtype);
  }
  engine::NodeRef kept = value_of(tape, k);
  Tensor value = kept == nullptr ? result(operand.tape.get()) : Tensor(std::move(kept));
  return astype(std::move(value), dtype);
}

Tensor Values::result(Tape* tape) {
  if (const auto found = computed_.find(tape); found != computed_.end()) return found->second.value;
  engine::NodeRef pending = engine::Queue::current(tape->device).find_pending(tape->node);
  Tensor value = pending == nullptr ? compute(tape) : Tensor(std::move(pending));
  computed_.emplace(tape, Computed{value, num_computed_++});
  return value;
}

std::vector<Tape*> Values::computed() const {
  std::vector<Tape*> tapes;
  tapes.reserve(computed_.size());
  for (const auto& [tape, computed] : computed_) tapes.push_back(tape);
  std::sort(tapes.begin(), tapes.end(), [this](Tape* a, Tape* b) {
    return computed_.find(a)->second.number > computed_.find(b)->second.number;
  });
  return tapes;
}

// The op again, of the same values: the same bits.
Tensor Values::compute(Tape* tape) {
  absl::InlinedVector<Tensor, 3> values;
  absl::InlinedVector<engine::NodeOperand, 3> operands;
  if (tape->is_evicted.load(std::memory_order_relaxed)) {
    engine::count(engine::counters().values_recomputed);
  }
  for (size_t k = 0; k < tape->operands.size(); ++k) {
    const TapeOperand& operand = tape->operands[k];
    values.emplace_back();
    if (operand.is_tensor) {
      engine::NodeRef kept = value_of(*tape, k);
      values.back() = kept == nullptr ? result(operand.tape.get()) : Tensor(std::move(kept));
    }
    operands.push_back({values.back().node_ref().get(), operand.is_tensor ? 0 : operand.scalar});
  }
  const GradModeScope constants(false);
  const engine::OpCall call{.caller = engine::outermost({.name = tape->name}),
                            .op = tape->op,
                            .dtype = tape->dtype,
                            .operand_dtype = tape->operand_dtype,
                            .device = tape->device,
                            .shape = tape->shape,
                            .operands = operands,
                            .attrs = tape->attrs};
  engine::NodeRef node =
      fusion::is_view(tape->op) ? engine::record_view(call) : engine::record(call);
  if (engine::is_recording()) engine::note_origin(node.get());
  // The same value to gradients of this gradient.
  if (entry_of(node.get()) == nullptr) attach(node.get(), TapeRef(tape));
  return Tensor(std::move(node));
}

const RuleTable& rules() {
  static const RuleTable* const table = [] {
    auto* made = new RuleTable;
    add_pointwise_rules(made);
    add_view_rules(made);
    add_reduction_rules(made);
    add_order_rules(made);
    add_linalg_rules(made);
    add_convolution_rules(made);
    return made;
  }();
  return *table;
}

}  // namespace sluice::frontend
