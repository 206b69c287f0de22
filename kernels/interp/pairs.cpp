#include "kernels/interp/pairs.h"

#include <optional>
#include <utility>

namespace sluice::kernels::interp {
namespace {

bool is_pairable(const Step& step) {
  return step.kind == StepKind::kMap && is_paired(step.op) && step.round == nullptr;
}

// The operand of `second` that `first` computes for it alone.
std::optional<int> only_use(const Step& first, const Step& second) {
  const bool by_left = second.in[0] == first.out, by_right = second.in[1] == first.out;
  if (by_left == by_right) return std::nullopt;
  const int k = by_left ? 0 : 1;
  if ((second.dying >> k & 1) == 0) return std::nullopt;
  return k;
}

std::optional<Step> pair_of(const Step& first, const Step& second) {
  if (!is_pairable(first) || !is_pairable(second)) return std::nullopt;
  const std::optional<int> k = only_use(first, second);
  if (!k) return std::nullopt;
  const bool reversed = *k == 1 && second.op == fusion::Op::kSub;
  const MapLoops& pair =
      loops().pair[paired_index(first.op)][reversed ? kReversedSub : paired_index(second.op)]
                  [static_cast<int>(second.dtype)];
  if (first.dtype != second.dtype || pair.form[0] == nullptr) return std::nullopt;
  Step step(StepKind::kMap, 3, second.dtype);
  step.out = second.out;
  step.in[0] = first.in[0];
  step.in[1] = first.in[1];
  step.in[2] = second.in[1 - *k];
  step.loops = &pair;
  return step;
}

}  // namespace

void pair_steps(std::vector<Step>* steps) {
  std::vector<Step> paired;
  paired.reserve(steps->size());
  for (const Step& step : *steps) {
    std::optional<Step> pair;
    if (!paired.empty()) pair = pair_of(paired.back(), step);
    if (pair) {
      paired.back() = *pair;
    } else {
      paired.push_back(step);
    }
  }
  *steps = std::move(paired);
}

}  // namespace sluice::kernels::interp
