#include "kernels/cuda/library/convolution/cudnn_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::ConvolutionRole;
using fusion::kMaxWindowAxes;
using fusion::WindowAxis;
using enum fusion::ConvolutionRole;

// An engine may need as much memory as transposed copies of all tensors take, and some more.
constexpr int64_t kMuchWorkspace = int64_t{64} << 20;
constexpr int64_t kMostCopies = 4;
// What a plan calls its tensors, by role.
constexpr std::array<int64_t, kNumRoles> kIds = {1, 2, 3};

DnnDataType data_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return DnnDataType::kFloat16;
    case DType::kBFloat16: return DnnDataType::kBfloat16;
    default: return DnnDataType::kFloat32;
  }
}

DnnDescriptor make_tensor(DnnDescriptors* made, const DnnConvolution& of, ConvolutionRole role) {
  const std::vector<int64_t> extents = of.extents_of(role);
  std::vector<int64_t> strides(extents.size());
  int64_t stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= extents[i];
  }
  const DnnDescriptor tensor = made->make(DnnDescriptorType::kTensor);
  made->set(tensor, DnnAttribute::kTensorDataType, DnnType::kDataType, data_type(of.dtype));
  made->set(tensor, DnnAttribute::kTensorDimensions, DnnType::kInt64, absl::MakeConstSpan(extents));
  made->set(tensor, DnnAttribute::kTensorStrides, DnnType::kInt64, absl::MakeConstSpan(strides));
  made->set(tensor, DnnAttribute::kTensorUniqueId, DnnType::kInt64, kIds[role]);
  made->set(tensor, DnnAttribute::kTensorAlignment, DnnType::kInt64, kDnnAlignment);
  made->finalize(tensor);
  return tensor;
}

DnnDescriptor make_windows(DnnDescriptors* made, const DnnConvolution& of) {
  const DnnDescriptor windows = made->make(DnnDescriptorType::kConvolution);
  const auto set = [&](DnnAttribute attribute, int64_t WindowAxis::*number) {
    std::array<int64_t, kMaxWindowAxes> numbers{};
    for (int i = 0; i < of.rank; ++i) numbers[i] = of.axes[i].*number;
    made->set(windows, attribute, DnnType::kInt64,
              absl::MakeConstSpan(numbers).first(static_cast<size_t>(of.rank)));
  };
  made->set(windows, DnnAttribute::kConvolutionCompType, DnnType::kDataType, DnnDataType::kFloat32);
  made->set(windows, DnnAttribute::kConvolutionMode, DnnType::kConvolutionMode,
            DnnConvolutionMode::kCrossCorrelation);
  made->set(windows, DnnAttribute::kConvolutionSpatialDims, DnnType::kInt64, int64_t{of.rank});
  set(DnnAttribute::kConvolutionDilations, &WindowAxis::dilation);
  set(DnnAttribute::kConvolutionFilterStrides, &WindowAxis::stride);
  set(DnnAttribute::kConvolutionPrePaddings, &WindowAxis::before);
  set(DnnAttribute::kConvolutionPostPaddings, &WindowAxis::after);
  made->finalize(windows);
  return windows;
}

// An operation and its attributes.
struct Operation {
  DnnDescriptorType type;
  DnnAttribute alpha, beta, windows, tensors[kNumRoles];  // by role
};
const Operation& operation_of(ConvolutionRole result) {
  using A = DnnAttribute;
  using Type = DnnDescriptorType;
  static constexpr Operation kOperations[kNumRoles] = {
      {Type::kOperationConvolutionBackwardData,
       A::kBackwardDataAlpha,
       A::kBackwardDataBeta,
       A::kBackwardDataConvolution,
       {A::kBackwardDataDx, A::kBackwardDataW, A::kBackwardDataDy}},
      {Type::kOperationConvolutionBackwardFilter,
       A::kBackwardFilterAlpha,
       A::kBackwardFilterBeta,
       A::kBackwardFilterConvolution,
       {A::kBackwardFilterX, A::kBackwardFilterDw, A::kBackwardFilterDy}},
      {Type::kOperationConvolutionForward,
       A::kForwardAlpha,
       A::kForwardBeta,
       A::kForwardConvolution,
       {A::kForwardX, A::kForwardW, A::kForwardY}}};
  return kOperations[result];
}

DnnDescriptor make_graph(DnnDescriptors* made, const DnnTarget& target, const DnnConvolution& of) {
  const Operation& kind = operation_of(of.result);
  const DnnDescriptor windows = make_windows(made, of);
  std::array<DnnDescriptor, kNumRoles> tensors{};
  for (const ConvolutionRole role : {kImagesRole, kFiltersRole, kPlacesRole}) {
    tensors[role] = make_tensor(made, of, role);
  }
  const DnnDescriptor operation = made->make(kind.type);
  made->set(operation, kind.windows, DnnType::kDescriptor, windows);
  for (int role = 0; role < kNumRoles; ++role) {
    made->set(operation, kind.tensors[role], DnnType::kDescriptor, tensors[role]);
  }
  made->set(operation, kind.alpha, DnnType::kFloat, 1.0f);
  made->set(operation, kind.beta, DnnType::kFloat, 0.0f);
  made->finalize(operation);
  const DnnDescriptor graph = made->make(DnnDescriptorType::kOperationGraph);
  made->set(graph, DnnAttribute::kGraphOperations, DnnType::kDescriptor, operation);
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

std::vector<DnnNote> notes_of(DnnDescriptors* made, DnnDescriptor config) {
  DnnDescriptor engine = made->make(DnnDescriptorType::kEngine);
  made->get(config, DnnAttribute::kEngineConfigEngine, DnnType::kDescriptor,
            absl::MakeSpan(&engine, 1));
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
  return absl::ResourceExhaustedError("cuDNN has no memory to plan a convolution");
}

}  // namespace

DnnDescriptors::~DnnDescriptors() {
  for (size_t i = made_.size(); i-- > 0;) library_.destroy_descriptor(made_[i]);
}

DnnDescriptor DnnDescriptors::make(DnnDescriptorType type) {
  DnnDescriptor descriptor = nullptr;
  if (status_ != DnnStatus::kSuccess) return nullptr;
  status_ = library_.create_descriptor(type, &descriptor);
  if (status_ != DnnStatus::kSuccess) return nullptr;
  made_.push_back(descriptor);
  return descriptor;
}

void DnnDescriptors::finalize(DnnDescriptor descriptor) {
  if (status_ == DnnStatus::kSuccess) status_ = library_.finalize(descriptor);
}

void DnnDescriptors::take(DnnDescriptors* other) {
  made_.insert(made_.end(), other->made_.begin(), other->made_.end());
  other->made_.clear();
}

DnnConvolution::DnnConvolution(const fusion::ConvolutionAttributes& of, bool allow_tf32)
    : dtype(of.dtype),
      result(of.result),
      batch(of.batch),
      groups(of.groups),
      inputs(of.inputs),
      outputs(of.outputs),
      rank(std::max(of.rank, 2)),
      allow_tf32(allow_tf32 && of.dtype == DType::kFloat32) {
  // Those that there are, last.
  std::copy_n(of.axes.begin(), of.rank, axes.begin() + (rank - of.rank));
}

std::vector<int64_t> DnnConvolution::extents_of(ConvolutionRole role) const {
  std::vector<int64_t> extents = {role == kFiltersRole ? outputs : batch,
                                  role == kFiltersRole  ? inputs / groups
                                  : role == kImagesRole ? inputs
                                                        : outputs};
  for (int i = 0; i < rank; ++i) {
    extents.push_back(role == kFiltersRole  ? axes[i].window
                      : role == kImagesRole ? axes[i].extent
                                            : axes[i].places);
  }
  return extents;
}

int64_t DnnConvolution::bytes() const {
  int64_t elements = 0;
  for (const ConvolutionRole role : {kImagesRole, kFiltersRole, kPlacesRole}) {
    int64_t count = 1;
    for (const int64_t extent : extents_of(role)) count *= extent;
    elements += count;
  }
  return elements * static_cast<int64_t>(size_of(dtype));
}

bool suits(const DnnConvolution& convolution, absl::Span<const DnnNote> notes) {
  return std::none_of(notes.begin(), notes.end(), [&](DnnNote note) {
    switch (note) {
      case DnnNote::kTensorCore:
      case DnnNote::kDownConvertInputs:
        return convolution.dtype == DType::kFloat32 && !convolution.allow_tf32;
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
                                                       const DnnConvolution& convolution) {
  std::unique_ptr<DnnPlan> made(new DnnPlan(library));
  const DnnDescriptor graph = make_graph(&made->descriptors_, target, convolution);
  if (is_out_of_memory(made->descriptors_.status())) return out_of_memory();
  if (made->descriptors_.status() != DnnStatus::kSuccess) return nullptr;
  const int64_t most_workspace = std::max(kMuchWorkspace, kMostCopies * convolution.bytes());
  for (const DnnHeuristic mode : {DnnHeuristic::kA, DnnHeuristic::kFallback}) {
    DnnDescriptors asked(library);
    for (const DnnDescriptor config : make_configs(&asked, target, graph, mode)) {
      DnnDescriptors attempt(library);
      if (!suits(convolution, notes_of(&attempt, config))) continue;
      int64_t workspace_bytes = 0;
      const DnnDescriptor plan = make_plan(&attempt, target, config, &workspace_bytes);
      if (is_out_of_memory(attempt.status())) return out_of_memory();
      if (attempt.status() != DnnStatus::kSuccess || workspace_bytes > most_workspace) continue;
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

DnnStatus DnnPlan::run(DnnHandle handle, const std::array<void*, kNumRoles>& tensors,
                       void* workspace) const {
  DnnDescriptors made(library_);
  const DnnDescriptor pack = made.make(DnnDescriptorType::kVariantPack);
  made.set(pack, DnnAttribute::kVariantPackUniqueIds, DnnType::kInt64, absl::MakeConstSpan(kIds));
  made.set(pack, DnnAttribute::kVariantPackPointers, DnnType::kVoidPtr,
           absl::MakeConstSpan(tensors));
  made.set(pack, DnnAttribute::kVariantPackWorkspace, DnnType::kVoidPtr, workspace);
  made.finalize(pack);
  return made.status() == DnnStatus::kSuccess ? library_.execute(handle, plan_, pack)
                                              : made.status();
}

}  // namespace sluice::kernels::cuda
