#include "fusion/plan/epilogues.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace sluice::fusion {
namespace {

constexpr size_t kMaxEpilogues = 4;

bool is_activation(Op op) {
  switch (op) {
    case Op::kRelu:
    case Op::kGelu:
    case Op::kTanh:
    case Op::kSigmoid:
    case Op::kSilu: return true;
    default: return false;
  }
}

// A kernel that reads a matmul's result: is it a chain of epilogues?
class Chain {
 public:
  Chain(const MatmulStep& matmul, const KernelCall& call)
      : matmul_(matmul), call_(call), program_(call.program) {}

  // In the order in which they apply; nothing if the kernel is not such a chain.
  std::vector<Epilogue> epilogues() const {
    if (program_.schedule != Schedule::kPointwise || program_.stores.size() != 1 ||
        program_.num_error_slots > 0 || !is_packed(target())) {
      return {};
    }
    const std::vector<int> uses = count_uses();
    std::vector<Epilogue> result;
    ValueId value = program_.stores[0].value;
    while (true) {
      const Instr& instr = program_.body[value];
      if (instr.dtype != DType::kFloat32 || uses[value] != 1) return {};
      if (is_product(value)) break;
      if (matmul_.epilogues.size() + result.size() == kMaxEpilogues) return {};
      if (is_activation(instr.op)) {
        result.push_back({.op = instr.op});
        value = instr.operands[0];
        continue;
      }
      if (instr.op != Op::kAdd) return {};
      const bool first = is_other_load(instr.operands[0]);
      const std::optional<Epilogue> sum = sum_with(instr.operands[first ? 0 : 1]);
      if (!sum) return {};
      result.push_back(*sum);
      value = instr.operands[first ? 1 : 0];
    }
    std::reverse(result.begin(), result.end());
    return result;
  }

 private:
  uint16_t target() const { return program_.stores[0].access; }
  absl::Span<const int64_t> strides(uint16_t access) const {
    const size_t words = program_.rank() + 1;
    return absl::MakeConstSpan(call_.accesses).subspan(access * words, words - 1);
  }
  int64_t offset(uint16_t access) const {
    return call_.accesses[(access + 1) * (program_.rank() + 1) - 1];
  }

  std::vector<int> count_uses() const {
    std::vector<int> uses(program_.body.size(), 0);
    for (const Instr& instr : program_.body) {
      for (int k = 0; k < instr.num_operands; ++k) ++uses[instr.operands[k]];
    }
    ++uses[program_.stores[0].value];
    return uses;
  }

  // True if the access visits each element of the matmul's result, at its place there, once.
  bool is_packed(uint16_t access) const {
    std::vector<std::pair<int64_t, int64_t>> dims;  // (stride, extent)
    for (int d = 0; d < program_.rank(); ++d) {
      if (call_.extents[d] > 1) dims.emplace_back(strides(access)[d], call_.extents[d]);
    }
    std::sort(dims.begin(), dims.end());
    int64_t elements = 1;
    for (const auto& [stride, extent] : dims) {
      if (stride != elements) return false;
      elements *= extent;
    }
    return elements == matmul_.batch * matmul_.m * matmul_.n && offset(access) == 0;
  }

  // True if the access is at the target's element, but for the offset.
  bool follows_target(uint16_t access) const {
    for (int d = 0; d < program_.rank(); ++d) {
      if (call_.extents[d] > 1 && strides(access)[d] != strides(target())[d]) return false;
    }
    return true;
  }

  // True if the access is at the target's column, but for the offset.
  bool follows_column(uint16_t access) const {
    for (int d = 0; d < program_.rank(); ++d) {
      const int64_t extent = call_.extents[d];
      if (extent == 1) continue;
      const int64_t stride = strides(target())[d];
      const bool along_row = stride * extent <= matmul_.n;
      if (!along_row && stride < matmul_.n) return false;  // from one row into the next
      if (strides(access)[d] != (along_row ? stride : 0)) return false;
    }
    return true;
  }

  bool is_load(ValueId value) const {
    const Instr& instr = program_.body[value];
    return instr.op == Op::kLoad && instr.num_operands == 0 && instr.dtype == DType::kFloat32;
  }
  const MemoryRef& memory_of(ValueId load) const {
    return call_.buffers[program_.accesses[program_.body[load].aux].buffer];
  }
  bool is_other_load(ValueId value) const {
    return is_load(value) && memory_of(value) != matmul_.c;
  }
  bool is_product(ValueId value) const {
    if (!is_load(value) || memory_of(value) != matmul_.c) return false;
    const uint16_t access = program_.body[value].aux;
    return follows_target(access) && offset(access) == 0;
  }

  std::optional<Epilogue> sum_with(ValueId value) const {
    if (!is_other_load(value)) return std::nullopt;
    const uint16_t access = program_.body[value].aux;
    const bool whole = follows_target(access);
    if (!whole && !follows_column(access)) return std::nullopt;
    return Epilogue{
        .op = Op::kAdd, .operand = memory_of(value), .offset = offset(access), .one_row = !whole};
  }

  const MatmulStep& matmul_;
  const KernelCall& call_;
  const Program& program_;
};

}  // namespace

void fold_epilogues(Plan* plan) {
  std::vector<Step>& steps = plan->steps;
  struct Use {
    int steps = 0;
    size_t last = 0;
  };
  std::vector<Use> uses(plan->results.size());
  for (size_t s = 0; s < steps.size(); ++s) {
    for_each_memory(steps[s], [&](const MemoryRef& memory) {
      if (memory.kind != MemoryRef::Kind::kResult) return;
      Use& use = uses[memory.index];
      if (use.steps == 0 || use.last != s) ++use.steps;
      use.last = s;
    });
  }

  std::vector<bool> folded(steps.size(), false);
  for (size_t s = 0; s < steps.size(); ++s) {
    MatmulStep* matmul = std::get_if<MatmulStep>(&steps[s].work);
    if (matmul == nullptr || matmul->dtype != DType::kFloat32) continue;
    const Result& product = plan->results[matmul->c.index];
    const Use& use = uses[matmul->c.index];
    if (product.observed || use.steps != 2) continue;
    Step& reader = steps[use.last];
    const KernelStep* kernel = std::get_if<KernelStep>(&reader.work);
    if (kernel == nullptr) continue;
    const KernelCall& call = kernel->calls[0];
    const std::vector<Epilogue> epilogues = Chain(*matmul, call).epilogues();
    if (epilogues.empty()) continue;

    ++plan->temporaries_elided;
    plan->bytes_elided += product.bytes;
    const auto is_of_product = [&](const CutEdge& cut) { return cut.producer == product.node; };
    plan->cuts.erase(std::remove_if(plan->cuts.begin(), plan->cuts.end(), is_of_product),
                     plan->cuts.end());
    matmul->epilogues.insert(matmul->epilogues.end(), epilogues.begin(), epilogues.end());
    matmul->nodes.insert(matmul->nodes.end(), call.nodes.begin(), call.nodes.end());
    matmul->c = call.buffers[call.outputs[0].buffer];
    // What the epilogues read is there when the kernel would have run, not before.
    reader.bytes_read += steps[s].bytes_read - product.bytes;
    reader.cost += steps[s].cost;
    reader.work = MatmulStep(std::move(*matmul));
    folded[s] = true;
  }
  size_t kept = 0;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (folded[s]) continue;
    if (kept != s) steps[kept] = std::move(steps[s]);
    ++kept;
  }
  steps.resize(kept);
}

}  // namespace sluice::fusion
