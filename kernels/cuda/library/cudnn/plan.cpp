#include "kernels/cuda/library/cudnn/plan.h"

#include <algorithm>

namespace sluice::kernels::cuda {
namespace {

// An engine may need as much memory as transposed copies of all tensors take, and some more.
constexpr int64_t kMuchWorkspace = int64_t{64} << 20;
constexpr int64_t kMostCopies = 4;

DnnDescriptor make_graph(DnnDescriptors* made, const DnnTarget& target, const DnnWork& work) {
  const std::vector<DnnDescriptor> operations = work.make_operations(made);
  const DnnDescriptor graph = made->make(DnnDescriptorType::kOperationGraph);
  made->set(graph, DnnAttribute::kGraphOperations, DnnType::kDescriptor,
            absl::MakeConstSpan(operations));
  if (target.handle != nullptr) {
    made->set(graph, DnnAttribute::kGraphHandle, DnnType::kHandle, target.handle);
  }
  made->finalize(graph);
  return graph;
}

// The library's engines for a graph, as they are recommended.
std::vector<DnnDescriptor> make_configs(DnnDescriptors* made, const DnnTarget& target,
                                        DnnDescriptor graph, DnnHeuristic mode) {
  const DnnDescriptor heuristic = made->make(DnnDescriptorType::kEngineHeuristic);
  made->set(heuristic, DnnAttribute::kHeuristicOperationGraph, DnnType::kDescriptor, graph);
  made->set(heuristic, DnnAttribute::kHeuristicMode, DnnType::kHeuristic, mode);
  if (target.properties != nullptr) {
    made->set(heuristic, DnnAttribute::kHeuristicDeviceProperties, DnnType::kDescriptor,
              target.properties);
  }
  made->finalize(heuristic);
  std::vector<DnnDescriptor> configs(
      static_cast<size_t>(made->get(heuristic, DnnAttribute::kHeuristicResults,
                                    DnnType::kDescriptor, absl::Span<DnnDescriptor>())));
  for (DnnDescriptor& config : configs) config = made->make(DnnDescriptorType::kEngineConfig);
  if (configs.empty() || made->status() != DnnStatus::kSuccess) return {};
  configs.resize(
      static_cast<size_t>(std::min(made->get(heuristic, DnnAttribute::kHeuristicResults,
                                             DnnType::kDescriptor, absl::MakeSpan(configs)),
                                   static_cast<int64_t>(configs.size()))));
  return configs;
}

DnnDescriptor engine_in(DnnDescriptors* made, DnnDescriptor config) {
  DnnDescriptor engine = made->make(DnnDescriptorType::kEngine);
  made->get(config, DnnAttribute::kEngineConfigEngine, DnnType::kDescriptor,
            absl::MakeSpan(&engine, 1));
  return engine;
}

DnnEngine engine_of(DnnDescriptors* made, DnnDescriptor config) {
  DnnEngine engine(1);
  made->get(engine_in(made, config), DnnAttribute::kEngineIndex, DnnType::kInt64,
            absl::MakeSpan(engine));
  std::vector<DnnDescriptor> knobs(kMostDnnKnobs);
  for (DnnDescriptor& knob : knobs) knob = made->make(DnnDescriptorType::kKnobChoice);
  const int64_t count = made->get(config, DnnAttribute::kEngineConfigKnobs, DnnType::kDescriptor,
                                  absl::MakeSpan(knobs));
  for (int64_t i = 0; i < std::min<int64_t>(count, kMostDnnKnobs); ++i) {
    int knob = 0;
    int64_t value = 0;
    made->get(knobs[static_cast<size_t>(i)], DnnAttribute::kKnobChoiceKnob, DnnType::kKnob,
              absl::MakeSpan(&knob, 1));
    made->get(knobs[static_cast<size_t>(i)], DnnAttribute::kKnobChoiceValue, DnnType::kInt64,
              absl::MakeSpan(&value, 1));
    engine.push_back(knob);
    engine.push_back(value);
  }
  return made->status() == DnnStatus::kSuccess ? engine : DnnEngine();
}

std::vector<DnnNote> notes_of(DnnDescriptors* made, DnnDescriptor config) {
  const DnnDescriptor engine = engine_in(made, config);
  std::vector<DnnNote> notes(kMostDnnNotes);
  notes.resize(static_cast<size_t>(std::clamp<int64_t>(
      made->get(engine, DnnAttribute::kEngineNumericalNote, DnnType::kNote, absl::MakeSpan(notes)),
      0, kMostDnnNotes)));
  return notes;
}

DnnDescriptor make_plan(DnnDescriptors* made, const DnnTarget& target, DnnDescriptor config,
                        int64_t* workspace_bytes) {
  const DnnDescriptor plan = made->make(DnnDescriptorType::kExecutionPlan);
  made->set(plan, DnnAttribute::kPlanEngineConfig, DnnType::kDescriptor, config);
  if (target.handle != nullptr) {
    made->set(plan, DnnAttribute::kPlanHandle, DnnType::kHandle, target.handle);
  } else {
    made->set(plan, DnnAttribute::kPlanDeviceProperties, DnnType::kDescriptor, target.properties);
  }
  made->finalize(plan);
  made->get(plan, DnnAttribute::kPlanWorkspaceSize, DnnType::kInt64,
            absl::MakeSpan(workspace_bytes, 1));
  return plan;
}

absl::Status out_of_memory() {
  return absl::ResourceExhaustedError("cuDNN has no memory to make a plan");
}

}  // namespace

bool suits(absl::Span<const DnnNote> notes, bool may_round) {
  return std::none_of(notes.begin(), notes.end(), [&](DnnNote note) {
    switch (note) {
      case DnnNote::kTensorCore:
      case DnnNote::kDownConvertInputs: return !may_round;
      case DnnNote::kReducedPrecisionReduction:
      case DnnNote::kFft:
      case DnnNote::kNondeterministic:
      case DnnNote::kWinograd:
      case DnnNote::kWinogradTile4x4:
      case DnnNote::kWinogradTile6x6:
      case DnnNote::kWinogradTile13x13: return true;
    }
    return false;
  });
}

absl::StatusOr<std::unique_ptr<DnnPlan>> DnnPlan::make(const Cudnn& library,
                                                       const DnnTarget& target,
                                                       const DnnWork& work) {
  std::unique_ptr<DnnPlan> made(new DnnPlan(library));
  const DnnDescriptor graph = make_graph(&made->descriptors_, target, work);
  if (is_out_of_memory(made->descriptors_.status())) return out_of_memory();
  if (made->descriptors_.status() != DnnStatus::kSuccess) return nullptr;
  const int64_t most_workspace = std::max(kMuchWorkspace, kMostCopies * work.bytes);
  for (const DnnHeuristic mode : {DnnHeuristic::kA, DnnHeuristic::kFallback}) {
    DnnDescriptors asked(library);
    for (const DnnDescriptor config : make_configs(&asked, target, graph, mode)) {
      DnnDescriptors attempt(library);
      if (!suits(notes_of(&attempt, config), work.may_round)) continue;
      if (work.engine && (work.engine->empty() || engine_of(&attempt, config) != *work.engine)) {
        continue;
      }
      int64_t workspace_bytes = 0;
      const DnnDescriptor plan = make_plan(&attempt, target, config, &workspace_bytes);
      if (is_out_of_memory(attempt.status())) return out_of_memory();
      if (attempt.status() != DnnStatus::kSuccess || workspace_bytes > most_workspace) continue;
      made->config_ = config;
      made->plan_ = plan;
      made->workspace_bytes_ = workspace_bytes;
      made->descriptors_.take(&asked);
      made->descriptors_.take(&attempt);
      return made;
    }
    if (is_out_of_memory(asked.status())) return out_of_memory();
  }
  return nullptr;
}

std::vector<DnnEngine> engines_for(const Cudnn& library, const DnnTarget& target,
                                   const DnnWork& work) {
  DnnDescriptors made(library);
  const DnnDescriptor graph = make_graph(&made, target, work);
  std::vector<DnnEngine> engines;
  for (const DnnDescriptor config : make_configs(&made, target, graph, DnnHeuristic::kA)) {
    if (suits(notes_of(&made, config), work.may_round)) engines.push_back(engine_of(&made, config));
  }
  return made.status() == DnnStatus::kSuccess ? engines : std::vector<DnnEngine>();
}

DnnEngine DnnPlan::engine() const {
  DnnDescriptors made(library_);
  return engine_of(&made, config_);
}

DnnStatus DnnPlan::run(DnnHandle handle, absl::Span<const int64_t> ids,
                       absl::Span<void* const> tensors, void* workspace) const {
  DnnDescriptors made(library_);
  const DnnDescriptor pack = made.make(DnnDescriptorType::kVariantPack);
  made.set(pack, DnnAttribute::kVariantPackUniqueIds, DnnType::kInt64, ids);
  made.set(pack, DnnAttribute::kVariantPackPointers, DnnType::kVoidPtr, tensors);
  made.set(pack, DnnAttribute::kVariantPackWorkspace, DnnType::kVoidPtr, workspace);
  made.finalize(pack);
  return made.status() == DnnStatus::kSuccess ? library_.execute(handle, plan_, pack)
                                              : made.status();
}

}  // namespace sluice::kernels::cuda
