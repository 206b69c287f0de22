#include "fusion/plan/planner.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fusion/graph/kept_layouts.h"
#include "fusion/lower/lower.h"
#include "fusion/lower/lower_library.h"
#include "fusion/partition/epilogue_ends.h"
#include "fusion/partition/partition.h"
#include "fusion/plan/epilogues.h"
#include "fusion/plan/launches.h"
#include "fusion/plan/memory/memory_plan.h"
#include "fusion/plan/plan_text.h"
#include "fusion/rewrite/known_programs.h"
#include "fusion/rewrite/simplify.h"

namespace sluice::fusion {
namespace {

class Planner {
 public:
  Planner(Graph graph, const PlanOptions& options) : graph_(std::move(graph)), options_(options) {
    const size_t count = graph_.nodes.size();
    constraints_.copied_view.resize(count, false);
    constraints_.in_memory.resize(count, false);
    constraints_.over_budget.resize(count, false);
    constraints_.breaks_runs.resize(count, false);
    constraints_.is_factor.resize(count, false);
    constraints_.unrolls_rows = options_.unrolls_rows;
    constraints_.unrolls_longer_rows = options_.unrolls_longer_rows;
    constraints_.fuses_scans = options_.fuses_scans;
    constraints_.epilogues = epilogues();
    constraints_.saves_memory = options_.budget != nullptr;
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
      if (is_of_fusion(pass.when) && !options_.fuse) continue;
      if (pass.when == When::kFoldingEpilogues && epilogues() == EpilogueUse::kNone) continue;
      // Kernels that share a launch have their memory at the same time.
      if (pass.when == When::kSharingLaunches && options_.budget != nullptr) continue;
      if (pass.when == When::kShortOfMemory && options_.budget == nullptr) continue;
      const std::string before = options_.observer ? describe() : std::string();
      (this->*pass.run)();
      if (options_.observer) {
        const std::string after = describe();
        if (after != before) options_.observer(pass.name, before, after);
      }
      if (!status_.ok()) {
        return absl::InternalError(absl::StrCat("after ", pass.name, ": ", status_.message()));
      }
    }
    return std::move(plan_);
  }

  enum class When : uint8_t {
    kAlways,
    kFusing,
    kFoldingEpilogues,
    kSharingLaunches,
    kShortOfMemory
  };
  static bool is_of_fusion(When when) {
    return when != When::kAlways && when != When::kShortOfMemory;
  }
  struct Pass {
    const char* name;
    When when;
    void (Planner::*run)();
  };
  static const Pass kPasses[12];

 private:
  std::string describe() const {
    std::string text = absl::StrCat(to_text(graph_), to_text(graph_, plan_));
    for_each_call([&](const KernelCall& call) { absl::StrAppend(&text, to_text(call.program)); });
    return text;
  }

  template <typename F>
  void for_each_call(F f) const {
    for (const Step& step : plan_.steps) {
      for (const KernelCall& call : step.kernels) f(call);
    }
  }

  // Keeps the first error.
  void note(const absl::Status& status, const Program& program) {
    if (status.ok() || !status_.ok()) return;
    status_ = absl::InternalError(absl::StrCat(status.message(), "\n", to_text(program)));
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

  void store_factors() {
    if (epilogues() != EpilogueUse::kInPlace) return;
    for (const NodeId factor : find_factors(graph_, constraints_)) {
      constraints_.in_memory[factor] = true;
      constraints_.is_factor[factor] = true;
    }
  }

  void keep_layouts() { memory_.strides = find_kept_layouts(graph_); }

  void partition_and_lower() {
    // Each failed attempt adds a constraint, of which there are finitely many.
    while (!attempt(live_)) {
    }
    for (Step& step : plan_.steps) {
      if (step.library) step.library->allow_tf32 = options_.allow_tf32;
    }
#ifndef NDEBUG
    for_each_call([&](const KernelCall& call) { note(verify(call.program), call.program); });
#endif
  }

  void simplify_programs() {
    for (Step& step : plan_.steps) {
      for (KernelCall& call : step.kernels) {
        call.program.contracts = options_.fast_math;
        if (!options_.observer) {
          note(simplify_once(&call.program, options_.fast_math), call.program);
          continue;
        }
        fusion::simplify(&call.program, options_.fast_math,
                         [&](const char* pass, const Program& before, const Program& after) {
                           options_.observer(absl::StrCat("simplify programs: ", pass),
                                             to_text(before), to_text(after));
                         });
        note(verify(call.program), call.program);
      }
    }
  }

  EpilogueUse epilogues() const {
    if (!options_.fuse) return EpilogueUse::kNone;
    if (options_.fast_math) return EpilogueUse::kAny;
    if (!options_.exact_epilogues) return EpilogueUse::kNone;
    return options_.budget != nullptr ? EpilogueUse::kInPlace : EpilogueUse::kCheap;
  }
  void fold_epilogues() { fusion::fold_epilogues(&plan_, epilogues()); }

  InPlace in_place() const {
    return {.rows = options_.rows_in_place, .products = epilogues() == EpilogueUse::kInPlace};
  }
  void save_memory() { fusion::save_memory(&plan_, *options_.budget, in_place()); }

  void share_launches() {
    plan_.steps = merge_launches(std::move(plan_.steps), plan_.results.size());
  }

  bool attempt(const std::vector<NodeId>& live) {
    plan_ = Plan{};
    const Partition parts = partition(graph_, constraints_, options_.fuse);
    plan_.cuts = parts.cuts;
    add_results(parts);
    // Each group is lowered under the constraints of the partition. What the groups add binds the
    // next attempt: all at once, since a long loop may add one for each of its steps.
    Constraints added = constraints_;
    std::optional<Constraints> found;
    for (const Group& group : parts.groups) {
      count_elided(parts, group);
      if (writes_nothing(parts, group)) continue;
      Step step;
      if (group.library ? lower_library(graph_, group, memory_, &added, &step)
                        : lower(graph_, parts, group, memory_, &added, &step)) {
        plan_.steps.push_back(std::move(step));
      } else {
        if (found) {
          found->add(added);
        } else {
          found = added;
        }
        added = constraints_;
      }
    }
    if (!found) return find_outputs(live);
    constraints_ = *std::move(found);
    return false;
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
        result.is_row_major = !memory_.strides.contains(member);
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
    std::vector<NodeId> to_copy;
    for (NodeId n : live) {
      NodeId blocking = kNoNode;
      const auto located = locate(graph_, constraints_, memory_, alias_of_[n], &blocking);
      if (!located) {
        to_copy.push_back(blocking);
        continue;
      }
      plan_.outputs.push_back({n, located->memory, located->layout});
      if (located->memory.kind == MemoryRef::Kind::kResult) {
        plan_.results[located->memory.index].observed = true;
      }
    }
    for (const NodeId view : to_copy) constraints_.copied_view[view] = true;
    return to_copy.empty();
  }

  void find_lifetimes() { fusion::find_lifetimes(&plan_); }
  void find_donors() { fusion::find_donors(&plan_, in_place()); }
  void find_nontemporal_stores() { fusion::find_nontemporal_stores(&plan_); }

  Graph graph_;
  const PlanOptions options_;
  std::vector<NodeId> live_;  // before the graph passes
  std::vector<NodeId>
      alias_of_;  // by node: the node that computes its value after the graph passes
  Constraints constraints_;
  MemoryMap memory_;
  Plan plan_;
  absl::Status status_;  // of the programs
};

constexpr Planner::Pass Planner::kPasses[] = {
    {"remove identities", When::kFusing, &Planner::remove_identities},
    {"eliminate common subexpressions", When::kFusing, &Planner::eliminate_common_subexpressions},
    {"keep layouts", When::kFusing, &Planner::keep_layouts},
    {"store factors", When::kShortOfMemory, &Planner::store_factors},
    {"partition and lower", When::kAlways, &Planner::partition_and_lower},
    {"simplify programs", When::kAlways, &Planner::simplify_programs},
    {"fold epilogues", When::kFoldingEpilogues, &Planner::fold_epilogues},
    {"save memory", When::kShortOfMemory, &Planner::save_memory},
    {"share launches", When::kSharingLaunches, &Planner::share_launches},
    {"find lifetimes", When::kAlways, &Planner::find_lifetimes},
    {"find donors", When::kAlways, &Planner::find_donors},
    {"find non-temporal stores", When::kAlways, &Planner::find_nontemporal_stores},
};

}  // namespace

std::vector<const char*> plan_passes() {
  std::vector<const char*> names;
  for (const auto& pass : Planner::kPasses) names.push_back(pass.name);
  return names;
}

absl::StatusOr<Plan> make_plan(const Graph& graph, const PlanOptions& options) {
  return Planner(graph, options).run();
}

}  // namespace sluice::fusion
