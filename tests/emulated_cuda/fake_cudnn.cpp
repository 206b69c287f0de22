#include "tests/emulated_cuda/fake_cudnn.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/emulated_cuda/fake_cudnn_descriptors.h"
#include "tests/emulated_cuda/fake_cudnn_graph.h"
#include "tests/emulated_cuda/fake_cudnn_kernel.h"
#include "tests/emulated_cuda/fake_library.h"

namespace sluice::emulated {
namespace {

using fusion::kNumRoles;
using kernels::cuda::Cudnn;
using kernels::cuda::DnnAttribute;
using kernels::cuda::DnnDescriptor;
using kernels::cuda::DnnDescriptorType;
using kernels::cuda::DnnHandle;
using kernels::cuda::DnnHeuristic;
using kernels::cuda::DnnStatus;
using kernels::cuda::DnnType;
using Attribute = DnnAttribute;
using Convolution = FakeCudnn::Convolution;
using Graph = FakeCudnn::Graph;
using Of = DnnDescriptorType;
using Tensor = FakeCudnn::Tensor;
using enum fusion::ConvolutionRole;

constexpr const char* kKernel = "library_convolution";
constexpr const char* kGraphKernel = "library_graph";

Descriptor* object(DnnDescriptor descriptor) { return static_cast<Descriptor*>(descriptor); }

std::vector<FakeCudnn::Engine> usual_engines(const Graph&, DnnHeuristic mode) {
  using Note = FakeCudnn::Note;
  if (mode == DnnHeuristic::kFallback) return {{.notes = {}, .workspace_bytes = 0}};
  return {{.notes = {Note::kNondeterministic}, .workspace_bytes = 0},
          {.notes = {Note::kWinograd, Note::kWinogradTile4x4}, .workspace_bytes = 512},
          {.notes = {}, .workspace_bytes = 1000}};
}

}  // namespace

struct FakeCudnn::Impl {
  EmulatedCuda* emulator = nullptr;
  mutable std::mutex mutex;  // guards all below
  int64_t calls = 0, questions = 0, fails_at = 0;
  DnnStatus failure = DnnStatus::kSuccess;
  std::set<Descriptor*> descriptors;
  std::map<LibraryHandle*, LibraryHandle*> handles;  // for convolutions, and for graphs
  std::vector<Convolution> runs;
  std::vector<std::shared_ptr<const Graph>> graphs;  // which the device may be running
  std::vector<FakeCudnn::Engine> engines_run;
  std::vector<std::string> misuse;

  DnnStatus wrong(DnnStatus status, std::string why) {
    misuse.push_back(std::move(why));
    return status;
  }
};

// The functions of the table. A friend of the one fake that there is.
struct FakeCudnnCalls {
  static FakeCudnn*& current() {
    static FakeCudnn* fake = nullptr;
    return fake;
  }
  struct Call : FakeCall<FakeCudnn::Impl, DnnStatus> {
    Call() : FakeCall(current()->impl_) {}
  };

  static DnnStatus create(DnnHandle* handle) {
    Call call;
    if (call.fails()) return call.status;
    LibraryHandle* const made = open_handle(call.impl.emulator, kKernel);
    if (made == nullptr) return DnnStatus::kNotInitialized;
    LibraryHandle* const for_graphs = open_handle(call.impl.emulator, kGraphKernel);
    if (for_graphs == nullptr) {
      close_handle(call.impl.emulator, made);
      return DnnStatus::kNotInitialized;
    }
    call.impl.handles.emplace(made, for_graphs);
    *handle = reinterpret_cast<DnnHandle>(made);
    return DnnStatus::kSuccess;
  }
  static DnnStatus destroy(DnnHandle opaque) {
    FakeCudnn::Impl& impl = *current()->impl_;
    std::lock_guard lock(impl.mutex);
    auto* const handle = reinterpret_cast<LibraryHandle*>(opaque);
    const auto it = impl.handles.find(handle);
    if (it == impl.handles.end()) {
      return impl.wrong(DnnStatus::kBadParam, "a handle that is none is given back");
    }
    close_handle(impl.emulator, it->second);
    close_handle(impl.emulator, handle);
    impl.handles.erase(it);
    return DnnStatus::kSuccess;
  }
  static DnnStatus set_stream(DnnHandle handle, runtime::cuda::StreamHandle stream) {
    Call call;
    if (call.fails()) return call.status;
    const auto it = call.impl.handles.find(reinterpret_cast<LibraryHandle*>(handle));
    if (it == call.impl.handles.end()) {
      return call.impl.wrong(DnnStatus::kBadParam, "the stream of a handle that is none");
    }
    it->first->stream = it->second->stream = stream;
    return DnnStatus::kSuccess;
  }

  static DnnStatus create_descriptor(DnnDescriptorType type, DnnDescriptor* descriptor) {
    Call call;
    if (call.fails()) return call.status;
    auto* const made = new Descriptor;
    made->type = type;
    call.impl.descriptors.insert(made);
    *descriptor = made;
    return DnnStatus::kSuccess;
  }
  static DnnStatus destroy_descriptor(DnnDescriptor descriptor) {
    FakeCudnn::Impl& impl = *current()->impl_;
    std::lock_guard lock(impl.mutex);
    if (impl.descriptors.erase(object(descriptor)) == 0) {
      return impl.wrong(DnnStatus::kBadParam, "a descriptor that is none is given back");
    }
    delete object(descriptor);
    return DnnStatus::kSuccess;
  }

  static DnnStatus set_attribute(DnnDescriptor descriptor, DnnAttribute attribute, DnnType type,
                                 int64_t count, const void* elements) {
    Call call;
    if (call.fails()) return call.status;
    const auto wrong = [&](DnnStatus status, const char* why) {
      return call.impl.wrong(status,
                             absl::StrCat("attribute ", static_cast<int>(attribute), " ", why));
    };
    if (descriptor == nullptr) return wrong(DnnStatus::kBadParamNullPointer, "of nothing");
    if (!call.impl.descriptors.contains(object(descriptor))) {
      return wrong(DnnStatus::kBadParam, "of a descriptor that is none");
    }
    Descriptor& of = *object(descriptor);
    const auto rule = std::find_if(attribute_rules().begin(), attribute_rules().end(),
                                   [&](const AttributeRule& known) {
                                     return known.of == of.type && known.attribute == attribute;
                                   });
    if (rule == attribute_rules().end())
      return wrong(DnnStatus::kBadParam, "is none of its descriptor");
    if (of.is_final) return wrong(DnnStatus::kBadParam, "is set too late");
    if (type != rule->type) return wrong(DnnStatus::kBadParam, "has another type");
    if (count < rule->least || count > rule->most) {
      return wrong(DnnStatus::kBadParam, "has another number of elements");
    }
    if (elements == nullptr) return wrong(DnnStatus::kBadParam, "has no elements");
    std::vector<char>& value = of.values[attribute];
    value.resize(static_cast<size_t>(count) * bytes_of(type));
    std::memcpy(value.data(), elements, value.size());
    if (type != DnnType::kDescriptor) return DnnStatus::kSuccess;
    for (Descriptor* const part : of.get<Descriptor*>(attribute)) {
      if (!call.impl.descriptors.contains(part) || !part->is_final) {
        return wrong(DnnStatus::kBadParamNotFinalized, "is a descriptor that is not final");
      }
    }
    return DnnStatus::kSuccess;
  }

  static DnnStatus finalize(DnnDescriptor descriptor) {
    Call call;
    if (call.fails()) return call.status;
    if (!call.impl.descriptors.contains(object(descriptor))) {
      return call.impl.wrong(DnnStatus::kBadParam, "what is made final is no descriptor");
    }
    Descriptor& of = *object(descriptor);
    const auto wrong = [&](DnnStatus status, const std::string& why) {
      return call.impl.wrong(
          status, absl::StrCat("a descriptor of type ", static_cast<int>(of.type), " ", why));
    };
    if (of.is_final) return wrong(DnnStatus::kBadParam, "is made final twice");
    for (const AttributeRule& rule : attribute_rules()) {
      if (rule.of == of.type && rule.is_needed && !of.values.contains(rule.attribute)) {
        return wrong(DnnStatus::kBadParam,
                     absl::StrCat("has no attribute ", static_cast<int>(rule.attribute)));
      }
    }
    const std::string fault = check_descriptor(&of);
    if (!fault.empty()) return wrong(DnnStatus::kBadParam, fault);
    if (of.type == Of::kExecutionPlan) {
      const auto* const config = of.one<Descriptor*>(Attribute::kPlanEngineConfig);
      if (config->engine.plan_status != DnnStatus::kSuccess) return config->engine.plan_status;
      of.graph = config->graph;
      of.engine = config->engine;
      of.ids = config->ids;
    }
    of.is_final = true;
    return DnnStatus::kSuccess;
  }

  static DnnStatus get_attribute(DnnDescriptor descriptor, DnnAttribute attribute, DnnType type,
                                 int64_t requested, int64_t* count, void* elements) {
    Call call;
    if (call.fails()) return call.status;
    const auto wrong = [&](DnnStatus status, const char* why) {
      return call.impl.wrong(
          status, absl::StrCat("the asked attribute ", static_cast<int>(attribute), " ", why));
    };
    if (!call.impl.descriptors.contains(object(descriptor))) {
      return wrong(DnnStatus::kBadParam, "is of no descriptor");
    }
    Descriptor& of = *object(descriptor);
    // Configurations and engines are final when they are filled in.
    if (!of.is_final) return wrong(DnnStatus::kNotInitialized, "is of one that is not final");
    if (of.type == Of::kEngineHeuristic && attribute == Attribute::kHeuristicResults &&
        type == DnnType::kDescriptor) {
      return recommend(&call, of, requested, count, static_cast<Descriptor**>(elements));
    }
    if (of.type == Of::kEngineConfig && attribute == Attribute::kEngineConfigEngine &&
        type == DnnType::kDescriptor && requested == 1) {
      Descriptor* const engine = *static_cast<Descriptor**>(elements);
      if (!call.impl.descriptors.contains(engine) || engine->type != Of::kEngine) {
        return wrong(DnnStatus::kBadParam, "has no engine to fill in");
      }
      engine->engine = of.engine;
      engine->is_final = true;
      *count = 1;
      return DnnStatus::kSuccess;
    }
    if (of.type == Of::kEngine && attribute == Attribute::kEngineIndex && type == DnnType::kInt64 &&
        requested == 1) {
      *static_cast<int64_t*>(elements) = of.engine.index;
      *count = 1;
      return DnnStatus::kSuccess;
    }
    if (of.type == Of::kEngineConfig && attribute == Attribute::kEngineConfigKnobs &&
        type == DnnType::kDescriptor && requested >= 1) {
      Descriptor* const choice = *static_cast<Descriptor**>(elements);
      if (!call.impl.descriptors.contains(choice) || choice->type != Of::kKnobChoice) {
        return wrong(DnnStatus::kBadParam, "has no knob to fill in");
      }
      choice->engine = of.engine;
      choice->is_final = true;
      *count = 1;
      return DnnStatus::kSuccess;
    }
    if (of.type == Of::kKnobChoice && attribute == Attribute::kKnobChoiceKnob &&
        type == DnnType::kKnob && requested == 1) {
      *static_cast<int*>(elements) = 1;
      *count = 1;
      return DnnStatus::kSuccess;
    }
    if (of.type == Of::kKnobChoice && attribute == Attribute::kKnobChoiceValue &&
        type == DnnType::kInt64 && requested == 1) {
      *static_cast<int64_t*>(elements) = of.engine.knob;
      *count = 1;
      return DnnStatus::kSuccess;
    }
    if (of.type == Of::kEngine && attribute == Attribute::kEngineNumericalNote &&
        type == DnnType::kNote) {
      *count = std::min(requested, static_cast<int64_t>(of.engine.notes.size()));
      std::copy_n(of.engine.notes.begin(), *count, static_cast<FakeCudnn::Note*>(elements));
      return DnnStatus::kSuccess;
    }
    if (of.type == Of::kExecutionPlan && attribute == Attribute::kPlanWorkspaceSize &&
        type == DnnType::kInt64 && requested == 1) {
      *static_cast<int64_t*>(elements) = of.engine.workspace_bytes;
      *count = 1;
      return DnnStatus::kSuccess;
    }
    return wrong(DnnStatus::kBadParam, "is not to be had");
  }
  static DnnStatus recommend(Call* call, const Descriptor& heuristic, int64_t requested,
                             int64_t* count, Descriptor** configs) {
    const auto* const graph = heuristic.one<Descriptor*>(Attribute::kHeuristicOperationGraph);
    const std::vector<FakeCudnn::Engine> engines =
        current()->engines(*graph->graph, heuristic.one<DnnHeuristic>(Attribute::kHeuristicMode));
    if (engines.empty()) return DnnStatus::kNotSupported;
    if (requested == 0) {
      ++call->impl.questions;
      *count = static_cast<int64_t>(engines.size());
      return DnnStatus::kSuccess;
    }
    *count = std::min(requested, static_cast<int64_t>(engines.size()));
    for (int64_t i = 0; i < *count; ++i) {
      if (!call->impl.descriptors.contains(configs[i]) || configs[i]->type != Of::kEngineConfig) {
        return call->impl.wrong(DnnStatus::kBadParam, "there is no configuration to fill in");
      }
      configs[i]->engine = engines[static_cast<size_t>(i)];
      configs[i]->graph = graph->graph;
      configs[i]->ids = graph->ids;
      configs[i]->is_final = true;
    }
    return DnnStatus::kSuccess;
  }

  static DnnStatus execute(DnnHandle opaque, DnnDescriptor plan_descriptor,
                           DnnDescriptor pack_descriptor) {
    Call call;
    if (call.fails()) return call.status;
    auto* const handle = reinterpret_cast<LibraryHandle*>(opaque);
    if (!call.impl.handles.contains(handle) ||
        !call.impl.descriptors.contains(object(plan_descriptor)) ||
        !call.impl.descriptors.contains(object(pack_descriptor))) {
      return call.impl.wrong(DnnStatus::kBadParam, "what is run is none");
    }
    const Descriptor &plan = *object(plan_descriptor), &pack = *object(pack_descriptor);
    if (!plan.is_final || plan.type != Of::kExecutionPlan || !pack.is_final ||
        pack.type != Of::kVariantPack) {
      return call.impl.wrong(DnnStatus::kBadParamNotFinalized, "what is run is not final");
    }
    return plan.graph->convolution != nullptr ? execute_convolution(&call, handle, plan, pack)
                                              : execute_graph(&call, handle, plan, pack);
  }
  static DnnStatus execute_graph(Call* call, LibraryHandle* handle, const Descriptor& plan,
                                 const Descriptor& pack) {
    FakeCudnn::Impl& impl = call->impl;
    const auto ids = pack.get<int64_t>(Attribute::kVariantPackUniqueIds);
    const auto pointers = pack.get<void*>(Attribute::kVariantPackPointers);
    GraphParams params{};
    params.graph = plan.graph.get();
    size_t count = 0;
    for (const auto& [id, node] : plan.graph->tensors) {
      if (node.is_virtual) continue;
      const auto it = std::find(ids.begin(), ids.end(), id);
      void* const data =
          it == ids.end() ? nullptr : pointers[static_cast<size_t>(it - ids.begin())];
      if (data == nullptr || (!node.is_value && reinterpret_cast<uintptr_t>(data) % 16 != 0)) {
        return impl.wrong(DnnStatus::kBadParam, "a tensor is missing or not aligned");
      }
      if (count == kMostPointers) return impl.wrong(DnnStatus::kBadParam, "there are many tensors");
      params.ids[count] = id;
      if (node.is_value) {
        std::memcpy(&params.values[count], data, sizeof(float));
      } else {
        params.pointers[count] = data;
      }
      ++count;
    }
    params.workspace = pack.one<char*>(Attribute::kVariantPackWorkspace);
    params.workspace_bytes = plan.engine.workspace_bytes;
    if (params.workspace == nullptr && params.workspace_bytes > 0) {
      return impl.wrong(DnnStatus::kBadParam, "there is no memory to work in");
    }
    if (plan.engine.run_status != DnnStatus::kSuccess) return plan.engine.run_status;
    impl.graphs.push_back(plan.graph);
    if (!launch(impl.emulator, *impl.handles.at(handle), std::as_bytes(std::span(&params, 1)))) {
      impl.graphs.pop_back();
      return DnnStatus::kExecutionFailed;
    }
    impl.engines_run.push_back(plan.engine);
    return DnnStatus::kSuccess;
  }
  static DnnStatus execute_convolution(Call* call, LibraryHandle* handle, const Descriptor& plan,
                                       const Descriptor& pack) {
    FakeCudnn::Impl& impl = call->impl;
    const Convolution& convolution = *plan.graph->convolution;
    ConvolutionParams params{};
    params.rank = static_cast<int64_t>(convolution.stride.size());
    const auto ids = pack.get<int64_t>(Attribute::kVariantPackUniqueIds);
    const auto pointers = pack.get<void*>(Attribute::kVariantPackPointers);
    for (size_t role = 0; role < kNumRoles; ++role) {
      const auto it = std::find(ids.begin(), ids.end(), plan.ids[role]);
      void* const data = it == ids.end() ? nullptr : pointers[it - ids.begin()];
      if (data == nullptr || reinterpret_cast<uintptr_t>(data) % 16 != 0) {
        return impl.wrong(DnnStatus::kBadParam, "a tensor is missing or not aligned");
      }
      const Tensor& tensor = convolution.tensors[role];
      params.tensors[role].data = data;
      std::copy(tensor.extents.begin(), tensor.extents.end(), params.tensors[role].extents);
      std::copy(tensor.strides.begin(), tensor.strides.end(), params.tensors[role].strides);
    }
    params.workspace = pack.one<char*>(Attribute::kVariantPackWorkspace);
    params.workspace_bytes = plan.engine.workspace_bytes;
    if (params.workspace == nullptr && params.workspace_bytes > 0) {
      return impl.wrong(DnnStatus::kBadParam, "there is no memory to work in");
    }
    params.dtype = static_cast<int64_t>(convolution.tensors[0].dtype);
    params.result = convolution.result;
    params.groups =
        convolution.tensors[kImagesRole].extents[1] / convolution.tensors[kFiltersRole].extents[1];
    std::copy(convolution.stride.begin(), convolution.stride.end(), params.stride);
    std::copy(convolution.dilation.begin(), convolution.dilation.end(), params.dilation);
    std::copy(convolution.before.begin(), convolution.before.end(), params.before);
    if (plan.engine.run_status != DnnStatus::kSuccess) return plan.engine.run_status;
    if (!launch(impl.emulator, *handle, std::as_bytes(std::span(&params, 1)))) {
      return DnnStatus::kExecutionFailed;
    }
    impl.runs.push_back(convolution);
    return DnnStatus::kSuccess;
  }

  static Cudnn make_table() {
    Cudnn table;
    table.get_version = [] { return size_t{91900}; };
    table.get_cudart_version = [] { return size_t{13000}; };
    table.create = create;
    table.destroy = destroy;
    table.set_stream = set_stream;
    table.create_descriptor = create_descriptor;
    table.destroy_descriptor = destroy_descriptor;
    table.finalize = finalize;
    table.set_attribute = set_attribute;
    table.get_attribute = get_attribute;
    table.execute = execute;
    return table;
  }
};

FakeCudnn::FakeCudnn(EmulatedCuda* emulator) : engines(usual_engines), impl_(new Impl) {
  impl_->emulator = emulator;
  emulator->add_kernel(kKernel, run_convolution);
  emulator->add_kernel(kGraphKernel, run_graph);
  FakeCudnnCalls::current() = this;
}

FakeCudnn::~FakeCudnn() {
  FakeCudnnCalls::current() = nullptr;
  delete impl_;
}

const Cudnn* FakeCudnn::table() {
  static const Cudnn kTable = FakeCudnnCalls::make_table();
  return &kTable;
}

void FakeCudnn::fail_call(int64_t n, Status status) {
  std::lock_guard lock(impl_->mutex);
  impl_->fails_at = n == 0 ? 0 : impl_->calls + n;
  impl_->failure = status;
}

int64_t FakeCudnn::calls() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->calls;
}

int64_t FakeCudnn::objects() const {
  std::lock_guard lock(impl_->mutex);
  return static_cast<int64_t>(impl_->descriptors.size() + impl_->handles.size());
}

int64_t FakeCudnn::questions() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->questions;
}

std::vector<FakeCudnn::Convolution> FakeCudnn::runs() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->runs;
}

std::vector<std::shared_ptr<const FakeCudnn::Graph>> FakeCudnn::graphs() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->graphs;
}

std::vector<FakeCudnn::Engine> FakeCudnn::engines_run() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->engines_run;
}

std::vector<std::string> FakeCudnn::misuse() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->misuse;
}

}  // namespace sluice::emulated
