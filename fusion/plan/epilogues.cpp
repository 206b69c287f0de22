#include "fusion/plan/epilogues.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "fusion/ir/epilogue_ops.h"

namespace sluice::fusion {
namespace {

// An epilogue, and the memory of its operand if it has one.
struct Link {
  Epilogue epilogue;
  MemoryRef operand;
};

// A kernel that reads a library call's output: is it a chain of epilogues?
class Chain {
 public:
  // `elements`: of the output.
  Chain(const LibraryCall& library, int64_t elements, const KernelCall& call)
      : product_(library.output()),
        row_(library.attributes->epilogue_row()),
        elements_(elements),
        max_links_(kMaxEpilogues - library.epilogues.size()),
        call_(call),
        program_(call.program) {}

  // In the order in which they apply; none if the kernel is not such a chain.
  std::vector<Link> links() const {
    if (program_.schedule != Schedule::kPointwise || program_.stores.size() != 1 ||
        program_.num_error_slots > 0 || !is_packed(target())) {
      return {};
    }
    const std::vector<int> uses = count_uses();
    std::vector<Link> result;
    ValueId value = program_.stores[0].value;
    while (true) {
      const Instr& instr = program_.body[value];
      if (instr.dtype != DType::kFloat32 || uses[value] != 1) return {};
      if (is_product(value)) break;
      if (result.size() == max_links_) return {};
      if (is_activation(instr.op)) {
        result.push_back({{.op = instr.op}, {}});
        value = instr.operands[0];
        continue;
      }
      if (!is_epilogue_of_two(instr.op)) return {};
      const bool first = instr.op == Op::kReluGradient || is_other_load(instr.operands[0]);
      const std::optional<Link> link = link_with(instr.op, instr.operands[first ? 0 : 1]);
      if (!link) return {};
      result.push_back(*link);
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

  // True if the access visits each element of the product, at its place there, once.
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
    return elements == elements_ && offset(access) == 0;
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
      const bool along_row = stride * extent <= row_;
      if (!along_row && stride < row_) return false;  // from one row into the next
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
  bool is_other_load(ValueId value) const { return is_load(value) && memory_of(value) != product_; }
  bool is_product(ValueId value) const {
    if (!is_load(value) || memory_of(value) != product_) return false;
    const uint16_t access = program_.body[value].aux;
    return follows_target(access) && offset(access) == 0;
  }

  std::optional<Link> link_with(Op op, ValueId value) const {
    if (!is_other_load(value)) return std::nullopt;
    const uint16_t access = program_.body[value].aux;
    const bool whole = follows_target(access);
    if (!whole && !follows_column(access)) return std::nullopt;
    return Link{{.op = op, .offset = offset(access), .one_row = !whole}, memory_of(value)};
  }

  const MemoryRef product_;
  const int64_t row_, elements_;
  const size_t max_links_;
  const KernelCall& call_;
  const Program& program_;
};

// The steps that touch each result: how many, and the last.
struct OperandUse {
  int steps = 0;
  size_t last = 0;
};
std::vector<OperandUse> find_uses(const Plan& plan) {
  std::vector<OperandUse> uses(plan.results.size());
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    for_each_memory(plan.steps[s], [&](const MemoryRef& memory) {
      if (memory.kind != MemoryRef::Kind::kResult) return;
      OperandUse& use = uses[memory.index];
      if (use.steps == 0 || use.last != s) ++use.steps;
      use.last = s;
    });
  }
  return uses;
}

// Has `library` compute what `call` does, which is the chain of `links`.
void append(const std::vector<Link>& links, const KernelCall& call, LibraryCall* library) {
  OutputDependence& output = library->outputs[0];
  for (const Link& link : links) {
    Epilogue& epilogue = library->epilogues.emplace_back(link.epilogue);
    if (!is_epilogue_of_two(epilogue.op)) continue;
    epilogue.operand = static_cast<int32_t>(library->buffers.size());
    library->buffers.push_back(link.operand);
    output.buffers.push_back(epilogue.operand);
  }
  library->buffers[output.buffer] = call.memory_of(call.outputs[0]);
  library->nodes.insert(library->nodes.end(), call.nodes.begin(), call.nodes.end());
}

}  // namespace

void fold_epilogues(Plan* plan, EpilogueUse use) {
  std::vector<Step>& steps = plan->steps;
  const std::vector<OperandUse> uses = find_uses(*plan);
  std::vector<bool> folded(steps.size(), false);
  for (size_t s = 0; s < steps.size(); ++s) {
    std::optional<LibraryCall>& library = steps[s].library;
    if (!library || library->attributes->epilogue_row() == 0) continue;
    const Result& product = plan->results[library->output().index];
    const OperandUse& readers = uses[library->output().index];
    if (product.observed || readers.steps != 2) continue;
    Step& reader = steps[readers.last];
    if (reader.library) continue;
    const KernelCall& call = reader.kernels[0];
    const auto elements = product.bytes / static_cast<int64_t>(sizeof(float));
    const std::vector<Link> links = Chain(*library, elements, call).links();
    if (links.empty() || !std::all_of(links.begin(), links.end(), [&](const Link& link) {
          return folds(use, link.epilogue.op, product.bytes);
        })) {
      continue;
    }

    ++plan->temporaries_elided;
    plan->bytes_elided += product.bytes;
    const auto is_of_product = [&](const CutEdge& cut) { return cut.producer == product.node; };
    plan->cuts.erase(std::remove_if(plan->cuts.begin(), plan->cuts.end(), is_of_product),
                     plan->cuts.end());
    append(links, call, &*library);
    // The call takes the kernel's place: only then the epilogues' operands are known to be there.
    reader.bytes_read += steps[s].bytes_read - product.bytes;
    reader.cost += steps[s].cost;
    reader.library = std::move(library);
    reader.kernels.clear();
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
