#include "engine/validate/validate.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <sluice/error.h>
#include "absl/strings/str_cat.h"
#include "engine/describe/describe.h"
#include "engine/describe/wording.h"
#include "engine/observe/names.h"
#include "engine/record/node_slab.h"
#include "engine/run/scheduler.h"
#include "engine/validate/host_value.h"
#include "engine/validate/shadow_run.h"

namespace sluice::engine {
namespace {

using fusion::MemoryRef;
using fusion::NodeId;
using kernels::Tier;

std::vector<Tier> tiers_in_use() {
  const Tier tier = tier_in_use();
  if (tier == Tier::kAsync) return {Tier::kInterpreted, Tier::kCompiled};
  return {tier};
}

const char* name_of(Tier tier) { return tier == Tier::kInterpreted ? "interpreted" : "compiled"; }

class Validator {
 public:
  Validator(const Window& window, std::shared_ptr<const ReadyPlan> plan, runtime::Backend* backend,
            runtime::Stream* stream, Validate mode)
      : window_(window),
        plan_(std::move(plan)),
        backend_(backend),
        stream_(stream),
        mode_(mode),
        graph_(window.to_graph()),
        num_inputs_(static_cast<NodeId>(window.inputs().size())),
        tiers_(tiers_in_use()),
        compares_plan_(!config().fast_math),
        values_(graph_.nodes.size()) {}

  void run() {
    if (!inputs_are_there()) return;
    count_readers();
    for (NodeId n = num_inputs_; n < static_cast<NodeId>(graph_.nodes.size()); ++n) {
      check_op(n);
      forget(n);
      for (const fusion::GraphOperand& operand : graph_.nodes[n].operands) {
        if (!operand.is_scalar()) forget(operand.node);
      }
    }
    if (!compares_plan_) return;
    for (const Tier tier : tiers_) check_plan(tier);
  }

 private:
  bool inputs_are_there() const {
    for (const Node* input : window_.inputs()) {
      runtime::wait(input->buffer->written);
      if (input->buffer->failure != nullptr) return false;
    }
    return true;
  }

  // Op by op, a value is kept only while it has readers; its own check counts as one.
  void count_readers() {
    num_readers_.assign(graph_.nodes.size(), 1);
    for (const fusion::GraphNode& node : graph_.nodes) {
      for (const fusion::GraphOperand& operand : node.operands) {
        if (!operand.is_scalar()) ++num_readers_[operand.node];
      }
    }
    if (!compares_plan_) return;
    for (const fusion::Result& result : plan_->plan().results) ++num_readers_[result.node];
    for (const fusion::Output& output : plan_->plan().outputs) ++num_readers_[output.node];
  }
  void forget(NodeId n) {
    if (--num_readers_[n] == 0) values_[n] = {};
  }

  // Null if it is not available.
  Node* value_of(NodeId n) const {
    return n < num_inputs_ ? window_.inputs()[n] : values_[n].get();
  }

  // The value of `output` after a run of a plan with these inputs and results.
  NodeRef make_value(const fusion::Output& output, DType dtype, absl::Span<Node* const> inputs,
                     absl::Span<const runtime::BufferRef> results) const {
    const bool is_input = output.memory.kind == MemoryRef::Kind::kInput;
    const int32_t number = output.memory.index;
    NodeRef value(make_node(Node::kHandle));
    value->dtype = dtype;
    value->device = window_.node(0)->device;
    value->buffer = is_input ? inputs[number]->buffer : results[number];
    value->layout = output.layout;
    if (is_input) value->layout.offset += inputs[number]->layout.offset;
    value->state.store(NodeState::kSubmitted, std::memory_order_release);
    return value;
  }

  // An op as a graph of its own.
  struct Alone {
    fusion::Graph graph;
    std::vector<Node*> inputs;
    std::vector<uint64_t> scalars;
  };

  // False if an operand is not available.
  bool isolate(NodeId n, Alone* alone) const {
    fusion::GraphNode op = graph_.nodes[n];
    op.live = true;
    for (fusion::GraphOperand& operand : op.operands) {
      if (operand.is_scalar()) {
        alone->scalars.push_back(window_.scalars()[operand.scalar]);
        operand.scalar = alone->graph.num_scalars++;
        continue;
      }
      Node* const value = value_of(operand.node);
      if (value == nullptr) return false;
      fusion::GraphNode& input = alone->graph.nodes.emplace_back();
      input.dtype = input.operand_dtype = value->dtype;
      input.shape = value->layout.shape;
      input.strides = value->layout.strides;
      operand.node = static_cast<NodeId>(alone->inputs.size());
      alone->inputs.push_back(value);
    }
    alone->graph.nodes.push_back(std::move(op));
    return true;
  }

  void check_op(NodeId n) {
    Alone op;
    if (!isolate(n, &op)) return;
    const DType dtype = graph_.nodes[n].dtype;
    const auto plan = prepare(op.graph, {.fuse = false}, window_.node(0)->device);
    const auto run = [&](Tier tier) {
      const ShadowRun shadow = run_shadow(plan, op.inputs, op.scalars, tier, backend_, stream_);
      if (!shadow.status.ok() || shadow.is_out_of_range) return NodeRef();
      return make_value(plan->plan().outputs[0], dtype, op.inputs, shadow.results);
    };
    values_[n] = run(Tier::kInterpreted);
    if (values_[n] == nullptr || plan->plan().steps.empty()) return;
    const HostValue expected(values_[n].get());
    if (tiers_.back() == Tier::kCompiled) {
      if (const NodeRef compiled = run(Tier::kCompiled); !(compiled == nullptr)) {
        compare(n, HostValue(compiled.get()), "compiled", expected, "interpreted");
      }
    }
    if (mode_ == Validate::kAll) check_origin_of_nan(n, expected);
  }

  // Checks results in the order in which they are written, then the outputs.
  void check_plan(Tier tier) {
    const ShadowRun shadow =
        run_shadow(plan_, window_.inputs(), window_.scalars(), tier, backend_, stream_);
    if (!shadow.status.ok()) return;
    for (size_t s = 0; s < plan_->plan().steps.size(); ++s) {
      for (const int32_t r : plan_->written_by[s]) {
        const fusion::Result& result = plan_->plan().results[r];
        if (!result.is_row_major) continue;  // an output
        const NodeId n = result.node;
        const fusion::Output output{
            n, {MemoryRef::Kind::kResult, r}, contiguous_layout(graph_.nodes[n].shape)};
        check_output(output, shadow, absl::StrCat(name_of(tier), name_of_step(s, r)));
      }
    }
    for (const fusion::Output& output : plan_->plan().outputs) {
      check_output(output, shadow, absl::StrCat(name_of(tier), " by the window's plan"));
    }
  }

  void check_output(const fusion::Output& output, const ShadowRun& shadow, const std::string& how) {
    const NodeId n = output.node;
    if (value_of(n) == nullptr) return;
    const NodeRef value =
        make_value(output, graph_.nodes[n].dtype, window_.inputs(), shadow.results);
    compare(n, HostValue(value.get()), how, HostValue(value_of(n)), "interpreted op by op");
  }

  // " in the kernel mul+exp+sum": the call of a step that writes result `r`; empty if none does, as
  // of a result without elements.
  std::string name_of_step(size_t step, int32_t r) const {
    const fusion::Step& work = plan_->plan().steps[step];
    for (size_t number = 0; number < work.num_calls(); ++number) {
      const fusion::Call& call = work.call(number);
      if (!writes(call, r)) continue;
      return absl::StrCat(work.library ? " in the library call " : " in the kernel ",
                          names_of(call.nodes));
    }
    return "";
  }
  static bool writes(const fusion::Call& call, int32_t r) {
    return std::any_of(call.outputs.begin(), call.outputs.end(), [&](const auto& output) {
      return call.memory_of(output) == MemoryRef{MemoryRef::Kind::kResult, r};
    });
  }

  std::string names_of(const std::vector<NodeId>& nodes) const {
    return join_names(graph_, nodes, 16);
  }

  void compare(NodeId n, const HostValue& actual, const std::string& how, const HostValue& expected,
               const char* how_expected) const {
    const std::optional<int64_t> i = actual.first_difference(expected);
    if (!i) return;
    throw Error(ErrorCode::kDataLoss,
                absl::StrCat("validate: ", describe(n), ": ", element_name(expected.shape(), *i),
                             " is ", actual.element(*i), " ", how, " and ", expected.element(*i),
                             " ", how_expected, describe_operands(n, *i)));
  }

  void check_origin_of_nan(NodeId n, const HostValue& result) const {
    std::optional<int64_t> i = result.first_nan();
    if (!i) return;
    const std::vector<HostValue> operands = operands_of(n);
    const bool is_pointwise = fusion::is_pointwise(graph_.nodes[n].op);
    const auto has_nan = [&](const HostValue& operand) {
      return is_pointwise ? operand.is_nan(broadcast_element(operand.shape(), result.shape(), *i))
                          : operand.first_nan().has_value();
    };
    const int64_t end = is_pointwise ? result.shape().numel() : *i + 1;
    for (; *i < end; ++*i) {
      if (!result.is_nan(*i) || std::any_of(operands.begin(), operands.end(), has_nan)) continue;
      throw Error(ErrorCode::kInvalidArgument,
                  absl::StrCat("validate: ", describe(n), ": ", element_name(result.shape(), *i),
                               " is NaN of operands without one", describe_operands(n, *i)));
    }
  }

  // The operands of an op, which are all available.
  std::vector<HostValue> operands_of(NodeId n) const {
    const fusion::GraphNode& node = graph_.nodes[n];
    std::vector<HostValue> operands;
    for (int k = 0; k < static_cast<int>(node.operands.size()); ++k) {
      const fusion::GraphOperand& operand = node.operands[k];
      if (operand.is_scalar()) {
        operands.emplace_back(fusion::expected_operand_dtype(node, k),
                              window_.scalars()[operand.scalar]);
      } else {
        operands.emplace_back(value_of(operand.node));
      }
    }
    return operands;
  }

  // "exp (`h`, t7 float32(1000,), train.cpp:31)"
  std::string describe(NodeId n) const {
    const fusion::GraphNode& node = graph_.nodes[n];
    const auto i = static_cast<size_t>(n - num_inputs_);
    const std::string name(NodeNames::get().text(window_.node(i)));
    const std::string place = place_of(window_.origin(i));
    return absl::StrCat(fusion::name_of(node.op), " (", name.empty() ? "" : "`" + name + "`, ", "t",
                        n, " ", sluice::name_of(node.dtype), to_string(node.shape),
                        place.empty() ? "" : ", " + place, ")");
  }

  // The operands' elements that element `i` of an element-wise op depends on, or summaries of the
  // operands of another op. "" if operands have been forgotten since.
  std::string describe_operands(NodeId n, int64_t i) const {
    const fusion::GraphNode& node = graph_.nodes[n];
    const bool are_there =
        std::all_of(node.operands.begin(), node.operands.end(), [&](const auto& operand) {
          return operand.is_scalar() || value_of(operand.node) != nullptr;
        });
    if (!are_there) return "";
    std::string text;
    int number = 0;
    for (const HostValue& operand : operands_of(n)) {
      const bool is_one = fusion::is_pointwise(node.op) || operand.shape().rank() == 0;
      absl::StrAppend(&text, "; operand ", number++, ": ",
                      is_one ? operand.element(broadcast_element(operand.shape(), node.shape, i))
                             : operand.summary());
    }
    return text;
  }

  const Window& window_;
  const std::shared_ptr<const ReadyPlan> plan_;
  runtime::Backend* const backend_;
  runtime::Stream* const stream_;
  const Validate mode_;
  const fusion::Graph graph_;
  const NodeId num_inputs_;
  const std::vector<Tier> tiers_;
  const bool compares_plan_;
  // By node, of the ops: the reference, interpreted op by op. Null if it is not available or is no
  // longer needed.
  std::vector<NodeRef> values_;
  std::vector<int64_t> num_readers_;
};

}  // namespace

void validate(const Window& window, const std::shared_ptr<const ReadyPlan>& plan,
              runtime::Backend* backend, runtime::Stream* stream, Validate mode) {
  Validator(window, plan, backend, stream, mode).run();
}

}  // namespace sluice::engine
