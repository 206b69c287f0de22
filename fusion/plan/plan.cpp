#include "fusion/plan/plan.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fusion/lower/lower.h"
#include "fusion/partition/partition.h"
#include "fusion/plan/epilogues.h"
#include "fusion/plan/launches.h"
#include "fusion/rewrite/simplify.h"

namespace sluice::fusion {
namespace {

// Outputs of less than this may still be in a cache when somebody reads them.
constexpr int64_t kNontemporalBytes = 32LL << 20;

class Planner {
 public:
  Planner(Graph graph, const PlanOptions& options) : graph_(std::move(graph)), options_(options) {
    const size_t count = graph_.nodes.size();
    constraints_.copied_view.resize(count, false);
    constraints_.in_memory.resize(count, false);
    memory_.input.resize(count, -1);
    int32_t inputs = 0;
    for (size_t n = 0; n < count; ++n) {
      if (graph_.nodes[n].op == Op::kInput) memory_.input[n] = inputs++;
    }
    alias_of_.resize(count);
    for (size_t n = 0; n < count; ++n) {
      alias_of_[n] = static_cast<NodeId>(n);
      if (graph_.nodes[n].live) live_.push_back(static_cast<NodeId>(n));
    }
  }

  absl::StatusOr<Plan> run() {
    for (const Pass& pass : kPasses) {
      if (pass.when != When::kAlways && !options_.fuse) continue;
      if (pass.when == When::kFusingFastMath && !options_.fast_math) continue;
      const std::string before = options_.observer ? describe() : std::string();
      (this->*pass.run)();
      if (options_.observer) {
        const std::string after = describe();
        if (after != before) options_.observer(pass.name, before, after);
      }
      const bool last = &pass == std::end(kPasses) - 1;
      if (absl::Status status = last || kVerifyEachPass ? verify_programs() : absl::OkStatus();
          !status.ok()) {
        return absl::InternalError(absl::StrCat("after ", pass.name, ": ", status.message()));
      }
    }
    return std::move(plan_);
  }

  enum class When : uint8_t { kAlways, kFusing, kFusingFastMath };
  struct Pass {
    const char* name;
    When when;
    void (Planner::*run)();
  };
  static const Pass kPasses[9];

 private:
#ifdef NDEBUG
  static constexpr bool kVerifyEachPass = false;
#else
  static constexpr bool kVerifyEachPass = true;
#endif

  std::string describe() const {
    std::string text = absl::StrCat(to_text(graph_), to_text(graph_, plan_));
    for_each_call([&](const KernelCall& call) { absl::StrAppend(&text, to_text(call.program)); });
    return text;
  }

  template <typename F>
  void for_each_call(F f) const {
    for (const Step& step : plan_.steps) {
      const KernelStep* kernel = std::get_if<KernelStep>(&step.work);
      if (kernel == nullptr) continue;
      for (const KernelCall& call : kernel->calls) f(call);
    }
  }

  absl::Status verify_programs() const {
    absl::Status status;
    for_each_call([&](const KernelCall& call) {
      if (!status.ok()) return;
      status = verify(call.program);
      if (status.ok()) return;
      status = absl::InternalError(absl::StrCat(status.message(), "\n", to_text(call.program)));
    });
    return status;
  }

  using GraphPass = int (*)(Graph&, std::vector<NodeId>*);
  void run_graph_pass(GraphPass pass) {
    std::vector<NodeId> replacement;
    if (pass(graph_, &replacement) == 0) return;
    for (NodeId& alias : alias_of_) alias = replacement[alias];
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (replacement[n] == static_cast<NodeId>(n)) continue;
      GraphNode& target = graph_.nodes[replacement[n]];
      target.live = target.live || graph_.nodes[n].live;
      graph_.nodes[n].live = false;
    }
  }
  void remove_identities() { run_graph_pass(fusion::remove_identities); }
  void eliminate_common_subexpressions() {
    run_graph_pass(fusion::eliminate_common_subexpressions);
  }

  void partition_and_lower() {
    // Each failed attempt adds a constraint, of which there are finitely many.
    while (!attempt(live_)) {
    }
  }

  void simplify_programs() {
    for (Step& step : plan_.steps) {
      KernelStep* kernel = std::get_if<KernelStep>(&step.work);
      if (kernel == nullptr) continue;
      for (KernelCall& call : kernel->calls) {
        call.program.contracts = options_.fast_math;
        if (!options_.observer) {
          fusion::simplify(&call.program, options_.fast_math);
          continue;
        }
        fusion::simplify(&call.program, options_.fast_math,
                         [&](const char* pass, const Program& before, const Program& after) {
                           options_.observer(absl::StrCat("simplify programs: ", pass),
                                             to_text(before), to_text(after));
                         });
      }
    }
  }

  void fold_epilogues() { fusion::fold_epilogues(&plan_); }

  void share_launches() {
    plan_.steps = merge_launches(std::move(plan_.steps), plan_.results.size());
  }

  bool attempt(const std::vector<NodeId>& live) {
    plan_ = Plan{};
    const Partition parts = partition(graph_, constraints_, options_.fuse);
    plan_.cuts = parts.cuts;
    add_results(parts);
    for (const Group& group : parts.groups) {
      count_elided(parts, group);
      if (writes_nothing(parts, group)) continue;
      Step step;
      const bool lowered = group.library
                               ? lower_matmul(graph_, group, memory_, &constraints_, &step)
                               : lower(graph_, parts, group, memory_, &constraints_, &step);
      if (!lowered) return false;
      plan_.steps.push_back(std::move(step));
    }
    return find_outputs(live);
  }

  void add_results(const Partition& parts) {
    memory_.result.assign(graph_.nodes.size(), -1);
    for (const Group& group : parts.groups) {
      for (NodeId member : group.members) {
        if (!parts.stored[member]) continue;
        const GraphNode& node = graph_.nodes[member];
        memory_.result[member] = static_cast<int32_t>(plan_.results.size());
        Result result;
        result.node = member;
        result.bytes = node.shape.numel() * static_cast<int64_t>(size_of(node.dtype));
        plan_.results.push_back(std::move(result));
      }
    }
  }

  bool writes_nothing(const Partition& parts, const Group& group) const {
    return std::all_of(group.members.begin(), group.members.end(), [&](NodeId member) {
      return !parts.stored[member] || graph_.nodes[member].shape.numel() == 0;
    });
  }

  void count_elided(const Partition& parts, const Group& group) {
    for (NodeId member : group.members) {
      const GraphNode& node = graph_.nodes[member];
      if (parts.stored[member] || class_of(node.op) == OpClass::kSource) continue;
      ++plan_.temporaries_elided;
      plan_.bytes_elided += node.shape.numel() * static_cast<int64_t>(size_of(node.dtype));
    }
  }

  bool find_outputs(const std::vector<NodeId>& live) {
    for (NodeId n : live) {
      NodeId blocking = kNoNode;
      const auto located = locate(graph_, constraints_, memory_, alias_of_[n], &blocking);
      if (!located) {
        constraints_.copied_view[blocking] = true;
        return false;
      }
      plan_.outputs.push_back({n, located->memory, located->layout});
      if (located->memory.kind == MemoryRef::Kind::kResult) {
        plan_.results[located->memory.index].observed = true;
      }
    }
    return true;
  }

  void find_lifetimes() {
    for (int32_t s = 0; s < static_cast<int32_t>(plan_.steps.size()); ++s) {
      for_each_memory(plan_.steps[s], [&](const MemoryRef& memory) {
        if (memory.kind == MemoryRef::Kind::kInput) {
          last_input_use_.resize(std::max<size_t>(last_input_use_.size(), memory.index + 1), -1);
          last_input_use_[memory.index] = s;
          return;
        }
        Result& result = plan_.results[memory.index];
        if (result.first_use < 0) result.first_use = s;
        result.last_use = s;
      });
    }
  }

  // Pointwise kernels load everything that a point needs before they store its results.
  void find_donors() {
    for (int32_t s = 0; s < static_cast<int32_t>(plan_.steps.size()); ++s) {
      const KernelStep* kernel = std::get_if<KernelStep>(&plan_.steps[s].work);
      if (kernel == nullptr) continue;
      // By block: in how many calls of the launch it takes part. Calls run side by side.
      absl::flat_hash_map<std::pair<MemoryRef::Kind, int32_t>, int> calls;
      for_each_memory(plan_.steps[s], [&](const MemoryRef& memory) {
        ++calls[std::make_pair(memory.kind, memory.index)];
      });
      for (const KernelCall& call : kernel->calls) {
        if (call.program.schedule != Schedule::kPointwise) continue;
        std::vector<bool> is_output(call.buffers.size(), false);
        for (const OutputDependence& output : call.outputs) is_output[output.buffer] = true;
        for (size_t b = 0; b < call.buffers.size(); ++b) {
          const MemoryRef& donor = call.buffers[b];
          if (is_output[b] || calls[std::make_pair(donor.kind, donor.index)] > 1) continue;
          if (!dies_at(donor, s)) continue;
          for (size_t o = 0; o < call.outputs.size(); ++o) {
            if (!read_in_place(call, static_cast<uint16_t>(b), call.program.stores[o])) continue;
            const MemoryRef& target = call.buffers[call.outputs[o].buffer];
            plan_.results[target.index].donors.push_back(donor);
          }
        }
      }
    }
  }

  // Kernels whose outputs no cache can hold until somebody reads them. Those that turn out to work
  // in place too: what they have read is in the caches, but has to leave them all the same.
  void find_nontemporal_stores() {
    for (Step& step : plan_.steps) {
      KernelStep* kernel = std::get_if<KernelStep>(&step.work);
      if (kernel == nullptr) continue;
      for (KernelCall& call : kernel->calls) {
        call.program.nontemporal = may_be_nontemporal(call);
      }
    }
  }

  bool may_be_nontemporal(const KernelCall& call) const {
    const Program& program = call.program;
    const size_t words = program.rank() + 1;
    int64_t bytes = 0;
    for (size_t o = 0; o < call.outputs.size(); ++o) {
      const Result& result = plan_.results[call.buffers[call.outputs[o].buffer].index];
      const uint16_t number = program.stores[o].access;
      const Access& access = program.accesses[number];
      if (program.reduced_rank > 0 && !access.varies_along_reduced) continue;
      if (access.lanes != StrideClass::kUnit) return false;
      // Vectors begin at multiples of their length along the lane dim.
      const auto size = static_cast<int64_t>(size_of(access.dtype));
      const int64_t* strides = call.accesses.data() + number * words;
      for (int d = 0; d < program.rank(); ++d) {
        if (d != program.lane_dim() && strides[d] * size % kNontemporalAlignment != 0) return false;
      }
      bytes += result.bytes;
    }
    return bytes >= kNontemporalBytes;
  }

  bool dies_at(const MemoryRef& memory, int32_t step) const {
    if (memory.kind == MemoryRef::Kind::kInput) {
      // An output may be a view of an input.
      const bool lives_on =
          std::any_of(plan_.outputs.begin(), plan_.outputs.end(),
                      [&](const Output& output) { return output.memory == memory; });
      return !lives_on && last_input_use_[memory.index] == step;
    }
    const Result& result = plan_.results[memory.index];
    return !result.observed && result.last_use == step;
  }

  // True if the kernel touches buffer `b` only where it stores that result, in elements of its
  // size.
  static bool read_in_place(const KernelCall& call, uint16_t b, const Store& store) {
    const Program& program = call.program;
    const size_t words = program.rank() + 1;
    for (size_t i = 0; i < program.accesses.size(); ++i) {
      const Access& access = program.accesses[i];
      if (access.buffer != b) continue;
      if (size_of(access.dtype) != size_of(program.accesses[store.access].dtype) ||
          !std::equal(call.accesses.begin() + i * words, call.accesses.begin() + (i + 1) * words,
                      call.accesses.begin() + store.access * words)) {
        return false;
      }
    }
    return std::none_of(program.body.begin(), program.body.end(),
                        [](const Instr& instr) { return instr.op == Op::kGather; });
  }

  Graph graph_;
  const PlanOptions options_;
  std::vector<NodeId> live_;      // before simplification
  std::vector<NodeId> alias_of_;  // by node: the node that computes its value after simplification
  Constraints constraints_;
  MemoryMap memory_;
  std::vector<int32_t> last_input_use_;
  Plan plan_;
};

constexpr Planner::Pass Planner::kPasses[] = {
    {"remove identities", When::kFusing, &Planner::remove_identities},
    {"eliminate common subexpressions", When::kFusing, &Planner::eliminate_common_subexpressions},
    {"partition and lower", When::kAlways, &Planner::partition_and_lower},
    {"simplify programs", When::kAlways, &Planner::simplify_programs},
    {"fold epilogues", When::kFusingFastMath, &Planner::fold_epilogues},
    {"share launches", When::kFusing, &Planner::share_launches},
    {"find lifetimes", When::kAlways, &Planner::find_lifetimes},
    {"find donors", When::kAlways, &Planner::find_donors},
    {"find non-temporal stores", When::kAlways, &Planner::find_nontemporal_stores},
};

std::string names_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  return absl::StrJoin(nodes, " ", [&](std::string* out, NodeId n) {
    absl::StrAppend(out, name_of(graph.nodes[n].op));
  });
}

}  // namespace

const char* name_of(CutReason reason) {
  switch (reason) {
    case CutReason::kObserved: return "observed";
    case CutReason::kReduction: return "reduction";
    case CutReason::kRow: return "row";
    case CutReason::kLibrary: return "library";
    case CutReason::kGather: return "gather";
    case CutReason::kShape: return "shape";
    case CutReason::kOrder: return "order";
    case CutReason::kView: return "view";
    case CutReason::kBudget: return "budget";
    case CutReason::kCost: return "cost";
    case CutReason::kFusionOff: break;
  }
  return "fusion-off";
}

std::vector<const char*> plan_passes() {
  std::vector<const char*> names;
  for (const auto& pass : Planner::kPasses) names.push_back(pass.name);
  return names;
}

absl::StatusOr<Plan> make_plan(const Graph& graph, const PlanOptions& options) {
  return Planner(graph, options).run();
}

std::string to_text(const Graph& graph, const Plan& plan) {
  std::string text;
  for (const Step& step : plan.steps) {
    if (const KernelStep* kernel = std::get_if<KernelStep>(&step.work)) {
      size_t outputs = 0;
      for (const KernelCall& call : kernel->calls) outputs += call.outputs.size();
      absl::StrAppend(&text, "  kernel: ",
                      absl::StrJoin(kernel->calls, " || ",
                                    [&](std::string* out, const KernelCall& call) {
                                      absl::StrAppend(out, names_of(graph, call.nodes));
                                    }),
                      " | ", outputs, " out");
    } else {
      const MatmulStep& matmul = std::get<MatmulStep>(step.work);
      absl::StrAppend(&text, "  library: ", names_of(graph, matmul.nodes), " ", matmul.batch, "x",
                      matmul.m, "x", matmul.n, "x", matmul.k);
    }
    absl::StrAppend(&text, " | reads ", step.bytes_read, " B, writes ", step.bytes_written, " B\n");
  }
  for (const CutEdge& cut : plan.cuts) {
    const GraphNode& node = graph.nodes[cut.producer];
    absl::StrAppend(&text, "  not fused: t", cut.producer, " ", name_of(node.op), " ",
                    sluice::name_of(node.dtype), to_string(node.shape),
                    " goes through memory: ", name_of(cut.reason), "\n");
  }
  return text;
}

}  // namespace sluice::fusion
