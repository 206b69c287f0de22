#include "fusion/plan/plan_numbers.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace sluice::fusion {
namespace {

// The numbers among the attributes of an op: every `step`-th, from the first on; 0: none.
size_t step_of_numbers(Op op) {
  switch (op) {
    case Op::kSlice: return 2;  // the starts
    case Op::kPad: return 1;
    default: return 0;
  }
}

bool is_row_major(const GraphNode& node) {
  return node.strides == contiguous_layout(node.shape).strides;
}

// Calls f for each number but the extents.
template <typename Node, typename F>
void for_each_other_number(Node& node, bool has_strides, F f) {
  if (has_strides) {
    for (int k = 0; k < node.shape.rank(); ++k) f(node.strides[k]);
  }
  if (const size_t step = step_of_numbers(node.op); step > 0) {
    for (size_t k = 0; k < node.attrs.size(); k += step) f(node.attrs[k]);
  }
}

template <typename PlanType, typename F>
void for_each_number(PlanType& plan, F f) {
  f(plan.bytes_elided);
  for (auto& result : plan.results) f(result.bytes);
  for (auto& output : plan.outputs) {
    f(output.layout.offset);
    for (auto& stride : output.layout.strides) f(stride);
  }
  for (auto& step : plan.steps) {
    f(step.bytes_read);
    f(step.bytes_written);
    for (auto& call : step.kernels) {
      for (auto& number : call.extents) f(number);
      for (auto& number : call.accesses) f(number);
      for (auto& number : call.params) f(number);
    }
    if (!step.library) continue;
    for (auto& epilogue : step.library->epilogues) f(epilogue.offset);
    std::vector<int64_t> numbers = step.library->attributes->numbers();
    for (auto& number : numbers) f(number);
    if constexpr (!std::is_const_v<PlanType>) {
      step.library->attributes = step.library->attributes->with(numbers);
    }
  }
}

bool same_structure(const KernelCall& a, const KernelCall& b) {
  return static_cast<const Call&>(a) == b && a.program == b.program && a.scalars == b.scalars &&
         a.extents.size() == b.extents.size() && a.accesses.size() == b.accesses.size() &&
         a.params.size() == b.params.size();
}

// Of attributes nothing needs comparing: what are no numbers there the node decides.
bool same_structure(const LibraryCall& a, const LibraryCall& b) {
  return static_cast<const Call&>(a) == b && a.kind == b.kind &&
         std::equal(a.epilogues.begin(), a.epilogues.end(), b.epilogues.begin(), b.epilogues.end(),
                    [](const Epilogue& x, const Epilogue& y) {
                      return x.op == y.op && x.operand == y.operand && x.one_row == y.one_row;
                    });
}

bool same_structure(const Step& a, const Step& b) {
  if (a.library.has_value() != b.library.has_value()) return false;
  if (a.library) return same_structure(*a.library, *b.library);
  return std::equal(a.kernels.begin(), a.kernels.end(), b.kernels.begin(), b.kernels.end(),
                    [](const KernelCall& x, const KernelCall& y) { return same_structure(x, y); });
}

bool same_structure(const Result& a, const Result& b) {
  return a.node == b.node && a.observed == b.observed && a.first_use == b.first_use &&
         a.last_use == b.last_use && a.donors == b.donors;
}

bool same_structure(const Output& a, const Output& b) {
  return a.node == b.node && a.memory == b.memory;
}

bool same_structure(const CutEdge& a, const CutEdge& b) {
  return a.producer == b.producer && a.reason == b.reason;
}

template <typename T>
bool all_same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same_structure(x, y); });
}

}  // namespace

std::vector<int64_t> structure_of(const Graph& graph) {
  std::vector<int64_t> words;
  words.reserve(graph.nodes.size() * 4);
  for (const GraphNode& node : graph.nodes) {
    const bool is_input = node.op == Op::kInput;
    words.push_back(static_cast<int64_t>(node.op) | static_cast<int64_t>(node.dtype) << 8 |
                    static_cast<int64_t>(node.operand_dtype) << 16 |
                    static_cast<int64_t>(node.shape.rank()) << 24 |
                    static_cast<int64_t>(node.live) << 32 |
                    static_cast<int64_t>(is_input && is_row_major(node)) << 33 |
                    static_cast<int64_t>(node.operands.size()) << 34);
    if (is_input) words.push_back(node.block.number);
    for (const GraphOperand& operand : node.operands) {
      words.push_back(int64_t{operand.node} << 32 | static_cast<uint32_t>(operand.scalar));
    }
    const size_t step = step_of_numbers(node.op);
    for (size_t k = 0; k < node.attrs.size(); ++k) {
      if (step == 0 || k % step != 0) words.push_back(node.attrs[k]);
    }
  }
  return words;
}

std::vector<int64_t> numbers_of(const Graph& graph) {
  std::vector<int64_t> numbers;
  numbers.reserve(graph.nodes.size() * 4);
  for (const GraphNode& node : graph.nodes) {
    numbers.insert(numbers.end(), node.shape.begin(), node.shape.end());
  }
  for (const GraphNode& node : graph.nodes) {
    for_each_other_number(node, node.op == Op::kInput && !is_row_major(node),
                          [&](int64_t number) { numbers.push_back(number); });
  }
  return numbers;
}

void set_numbers(absl::Span<const int64_t> numbers, Graph* graph) {
  auto next = numbers.begin();
  std::vector<bool> has_strides;
  for (GraphNode& node : graph->nodes) {
    const bool is_input = node.op == Op::kInput;
    has_strides.push_back(is_input && !is_row_major(node));
    const auto rank = static_cast<size_t>(node.shape.rank());
    node.shape = Shape(std::span<const int64_t>(next, rank));
    next += rank;
    if (is_input && !has_strides.back()) node.strides = contiguous_layout(node.shape).strides;
  }
  for (size_t n = 0; n < graph->nodes.size(); ++n) {
    GraphNode& node = graph->nodes[n];
    for_each_other_number(node, has_strides[n], [&](int64_t& number) { number = *next++; });
    node.block = {};
  }
}

bool same_structure(const Plan& a, const Plan& b) {
  return a.temporaries_elided == b.temporaries_elided && all_same(a.steps, b.steps) &&
         all_same(a.results, b.results) && all_same(a.outputs, b.outputs) &&
         all_same(a.cuts, b.cuts);
}

std::vector<int64_t> numbers_of(const Plan& plan) {
  std::vector<int64_t> numbers;
  for_each_number(plan, [&](int64_t number) { numbers.push_back(number); });
  return numbers;
}

void set_numbers(absl::Span<const PlanNumber> numbers, Plan* plan) {
  auto next = numbers.begin();
  size_t position = 0;
  for_each_number(*plan, [&](int64_t& number) {
    if (next != numbers.end() && next->position == position) number = next++->value;
    ++position;
  });
}

}  // namespace sluice::fusion
