#include "tests/emulated_cuda/fake_cudnn.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/driver/kernel_launch.h"
#include "tests/emulated_cuda/fake_cudnn_kernel.h"

namespace sluice::emulated {
namespace {

using fusion::ConvolutionRole;
using fusion::kNumRoles;
using kernels::cuda::Cudnn;
using kernels::cuda::DnnAttribute;
using kernels::cuda::DnnDataType;
using kernels::cuda::DnnDescriptor;
using kernels::cuda::DnnDescriptorType;
using kernels::cuda::DnnHandle;
using kernels::cuda::DnnHeuristic;
using kernels::cuda::DnnStatus;
using kernels::cuda::DnnType;
using Attribute = DnnAttribute;
using Convolution = FakeCudnn::Convolution;
using Tensor = FakeCudnn::Tensor;
using enum fusion::ConvolutionRole;

constexpr const char* kKernel = "library_convolution";

// ---- What descriptors are made of.

struct Rule {
  DnnDescriptorType of;
  Attribute attribute;
  DnnType type;
  int64_t least, most;  // elements
  bool is_needed = true;
};
using Of = DnnDescriptorType;
constexpr Rule kRules[] = {
    {Of::kTensor, Attribute::kTensorDataType, DnnType::kDataType, 1, 1},
    {Of::kTensor, Attribute::kTensorDimensions, DnnType::kInt64, 4, kMostExtents},
    {Of::kTensor, Attribute::kTensorStrides, DnnType::kInt64, 4, kMostExtents},
    {Of::kTensor, Attribute::kTensorUniqueId, DnnType::kInt64, 1, 1},
    {Of::kTensor, Attribute::kTensorAlignment, DnnType::kInt64, 1, 1},
    {Of::kConvolution, Attribute::kConvolutionCompType, DnnType::kDataType, 1, 1},
    {Of::kConvolution, Attribute::kConvolutionMode, DnnType::kConvolutionMode, 1, 1},
    {Of::kConvolution, Attribute::kConvolutionSpatialDims, DnnType::kInt64, 1, 1},
    {Of::kConvolution, Attribute::kConvolutionDilations, DnnType::kInt64, 2, kMostAxes},
    {Of::kConvolution, Attribute::kConvolutionFilterStrides, DnnType::kInt64, 2, kMostAxes},
    {Of::kConvolution, Attribute::kConvolutionPrePaddings, DnnType::kInt64, 2, kMostAxes},
    {Of::kConvolution, Attribute::kConvolutionPostPaddings, DnnType::kInt64, 2, kMostAxes},
    {Of::kOperationConvolutionForward, Attribute::kForwardAlpha, DnnType::kFloat, 1, 1},
    {Of::kOperationConvolutionForward, Attribute::kForwardBeta, DnnType::kFloat, 1, 1},
    {Of::kOperationConvolutionForward, Attribute::kForwardConvolution, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionForward, Attribute::kForwardX, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionForward, Attribute::kForwardW, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionForward, Attribute::kForwardY, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionBackwardData, Attribute::kBackwardDataAlpha, DnnType::kFloat, 1, 1},
    {Of::kOperationConvolutionBackwardData, Attribute::kBackwardDataBeta, DnnType::kFloat, 1, 1},
    {Of::kOperationConvolutionBackwardData, Attribute::kBackwardDataConvolution,
     DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionBackwardData, Attribute::kBackwardDataDx, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionBackwardData, Attribute::kBackwardDataW, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionBackwardData, Attribute::kBackwardDataDy, DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionBackwardFilter, Attribute::kBackwardFilterAlpha, DnnType::kFloat, 1,
     1},
    {Of::kOperationConvolutionBackwardFilter, Attribute::kBackwardFilterBeta, DnnType::kFloat, 1,
     1},
    {Of::kOperationConvolutionBackwardFilter, Attribute::kBackwardFilterConvolution,
     DnnType::kDescriptor, 1, 1},
    {Of::kOperationConvolutionBackwardFilter, Attribute::kBackwardFilterX, DnnType::kDescriptor, 1,
     1},
    {Of::kOperationConvolutionBackwardFilter, Attribute::kBackwardFilterDw, DnnType::kDescriptor, 1,
     1},
    {Of::kOperationConvolutionBackwardFilter, Attribute::kBackwardFilterDy, DnnType::kDescriptor, 1,
     1},
    {Of::kOperationGraph, Attribute::kGraphOperations, DnnType::kDescriptor, 1, 1},
    {Of::kOperationGraph, Attribute::kGraphHandle, DnnType::kHandle, 1, 1},
    {Of::kEngineHeuristic, Attribute::kHeuristicOperationGraph, DnnType::kDescriptor, 1, 1},
    {Of::kEngineHeuristic, Attribute::kHeuristicMode, DnnType::kHeuristic, 1, 1},
    {Of::kExecutionPlan, Attribute::kPlanEngineConfig, DnnType::kDescriptor, 1, 1},
    {Of::kExecutionPlan, Attribute::kPlanHandle, DnnType::kHandle, 1, 1},
    {Of::kVariantPack, Attribute::kVariantPackUniqueIds, DnnType::kInt64, 1, 8},
    {Of::kVariantPack, Attribute::kVariantPackPointers, DnnType::kVoidPtr, 1, 8},
    {Of::kVariantPack, Attribute::kVariantPackWorkspace, DnnType::kVoidPtr, 1, 1},
};

size_t bytes_of(DnnType type) {
  switch (type) {
    case DnnType::kInt64:
    case DnnType::kHandle:
    case DnnType::kVoidPtr:
    case DnnType::kDescriptor: return 8;
    default: return 4;
  }
}

struct Object {
  DnnDescriptorType type{};
  bool is_final = false;
  std::map<Attribute, std::vector<char>> values;
  // Of engine configurations and of plans.
  std::shared_ptr<const Convolution> convolution;
  FakeCudnn::Engine engine;
  std::array<int64_t, kNumRoles> ids{};

  template <typename T>
  std::vector<T> get(Attribute attribute) const {
    const auto it = values.find(attribute);
    if (it == values.end()) return {};
    std::vector<T> elements(it->second.size() / sizeof(T));
    std::memcpy(elements.data(), it->second.data(), it->second.size());
    return elements;
  }
  template <typename T>
  T one(Attribute attribute) const {
    const std::vector<T> elements = get<T>(attribute);
    return elements.empty() ? T{} : elements[0];
  }
};

Object* object(DnnDescriptor descriptor) { return static_cast<Object*>(descriptor); }

struct Handle {
  runtime::cuda::StreamHandle stream = nullptr;
  runtime::cuda::ModuleHandle module = nullptr;
  runtime::cuda::FunctionHandle kernel = nullptr;
  bool is_busy = false;
};

std::vector<FakeCudnn::Engine> usual_engines(const Convolution&, DnnHeuristic mode) {
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
  std::set<Object*> descriptors;
  std::set<Handle*> handles;
  std::vector<Convolution> runs;
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
  // A call under way: it holds the lock.
  struct Call {
    Call() : impl(*current()->impl_), lock(impl.mutex) {
      if (++impl.calls == impl.fails_at) status = impl.failure;
    }
    bool fails() const { return status != DnnStatus::kSuccess; }
    FakeCudnn::Impl& impl;
    std::lock_guard<std::mutex> lock;
    DnnStatus status = DnnStatus::kSuccess;
  };

  static DnnStatus create(DnnHandle* handle) {
    Call call;
    if (call.fails()) return call.status;
    auto made = std::make_unique<Handle>();
    const runtime::cuda::Driver& driver = call.impl.emulator->driver();
    if (driver.module_load_data_ex(&made->module, EmulatedCuda::registered_image(), 0, nullptr,
                                   nullptr) != runtime::cuda::Result::kSuccess) {
      return DnnStatus::kNotInitialized;
    }
    if (driver.module_get_function(&made->kernel, made->module, kKernel) !=
        runtime::cuda::Result::kSuccess) {
      driver.module_unload(made->module);
      return DnnStatus::kNotInitialized;
    }
    call.impl.handles.insert(made.get());
    *handle = reinterpret_cast<DnnHandle>(made.release());
    return DnnStatus::kSuccess;
  }
  static DnnStatus destroy(DnnHandle opaque) {
    FakeCudnn::Impl& impl = *current()->impl_;
    std::lock_guard lock(impl.mutex);
    auto* const handle = reinterpret_cast<Handle*>(opaque);
    if (impl.handles.erase(handle) == 0) {
      return impl.wrong(DnnStatus::kBadParam, "a handle that is none is given back");
    }
    impl.emulator->driver().module_unload(handle->module);
    delete handle;
    return DnnStatus::kSuccess;
  }
  static DnnStatus set_stream(DnnHandle handle, runtime::cuda::StreamHandle stream) {
    Call call;
    if (call.fails()) return call.status;
    if (!call.impl.handles.contains(reinterpret_cast<Handle*>(handle))) {
      return call.impl.wrong(DnnStatus::kBadParam, "the stream of a handle that is none");
    }
    reinterpret_cast<Handle*>(handle)->stream = stream;
    return DnnStatus::kSuccess;
  }

  static DnnStatus create_descriptor(DnnDescriptorType type, DnnDescriptor* descriptor) {
    Call call;
    if (call.fails()) return call.status;
    auto* const made = new Object;
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
    Object& of = *object(descriptor);
    const auto* const rule = std::find_if(
        std::begin(kRules), std::end(kRules),
        [&](const Rule& known) { return known.of == of.type && known.attribute == attribute; });
    if (rule == std::end(kRules)) return wrong(DnnStatus::kBadParam, "is none of its descriptor");
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
    const auto* const part = of.one<Object*>(attribute);
    if (!call.impl.descriptors.contains(const_cast<Object*>(part)) || !part->is_final) {
      return wrong(DnnStatus::kBadParamNotFinalized, "is a descriptor that is not final");
    }
    return DnnStatus::kSuccess;
  }

  static DnnStatus finalize(DnnDescriptor descriptor) {
    Call call;
    if (call.fails()) return call.status;
    if (!call.impl.descriptors.contains(object(descriptor))) {
      return call.impl.wrong(DnnStatus::kBadParam, "what is made final is no descriptor");
    }
    Object& of = *object(descriptor);
    const auto wrong = [&](DnnStatus status, const std::string& why) {
      return call.impl.wrong(
          status, absl::StrCat("a descriptor of type ", static_cast<int>(of.type), " ", why));
    };
    if (of.is_final) return wrong(DnnStatus::kBadParam, "is made final twice");
    for (const Rule& rule : kRules) {
      if (rule.of == of.type && rule.is_needed && !of.values.contains(rule.attribute)) {
        return wrong(DnnStatus::kBadParam,
                     absl::StrCat("has no attribute ", static_cast<int>(rule.attribute)));
      }
    }
    const std::string fault = check(&of);
    if (!fault.empty()) return wrong(DnnStatus::kBadParam, fault);
    if (of.type == Of::kExecutionPlan) {
      const auto* const config = of.one<Object*>(Attribute::kPlanEngineConfig);
      if (config->engine.plan_status != DnnStatus::kSuccess) return config->engine.plan_status;
      of.convolution = config->convolution;
      of.engine = config->engine;
      of.ids = config->ids;
    }
    of.is_final = true;
    return DnnStatus::kSuccess;
  }

  // What is wrong with a descriptor that has all of its attributes.
  static std::string check(Object* of) {
    switch (of->type) {
      case Of::kTensor: return check_tensor(*of);
      case Of::kConvolution: return check_windows(*of);
      case Of::kOperationConvolutionForward:
        return check_operation(of, kPlacesRole, Attribute::kForwardAlpha, Attribute::kForwardBeta,
                               Attribute::kForwardConvolution,
                               {Attribute::kForwardX, Attribute::kForwardW, Attribute::kForwardY});
      case Of::kOperationConvolutionBackwardData:
        return check_operation(
            of, kImagesRole, Attribute::kBackwardDataAlpha, Attribute::kBackwardDataBeta,
            Attribute::kBackwardDataConvolution,
            {Attribute::kBackwardDataDx, Attribute::kBackwardDataW, Attribute::kBackwardDataDy});
      case Of::kOperationConvolutionBackwardFilter:
        return check_operation(of, kFiltersRole, Attribute::kBackwardFilterAlpha,
                               Attribute::kBackwardFilterBeta,
                               Attribute::kBackwardFilterConvolution,
                               {Attribute::kBackwardFilterX, Attribute::kBackwardFilterDw,
                                Attribute::kBackwardFilterDy});
      case Of::kOperationGraph: {
        const auto* const operation = of->one<Object*>(Attribute::kGraphOperations);
        if (operation->convolution == nullptr) return "has no operation";
        of->convolution = operation->convolution;
        of->ids = operation->ids;
        return "";
      }
      case Of::kVariantPack:
        return of->get<int64_t>(Attribute::kVariantPackUniqueIds).size() ==
                       of->get<void*>(Attribute::kVariantPackPointers).size()
                   ? ""
                   : "has other names than pointers";
      default: return "";
    }
  }
  static std::string check_tensor(const Object& of) {
    const auto extents = of.get<int64_t>(Attribute::kTensorDimensions);
    const auto strides = of.get<int64_t>(Attribute::kTensorStrides);
    if (extents.size() != strides.size()) return "has other strides than extents";
    for (size_t i = 0; i < extents.size(); ++i) {
      if (extents[i] < 1 || strides[i] < 1) return "has no elements, or none of their own";
    }
    const auto alignment = of.one<int64_t>(Attribute::kTensorAlignment);
    return alignment > 0 && alignment % 4 == 0 ? "" : "is not aligned";
  }
  static std::string check_windows(const Object& of) {
    const auto rank = static_cast<size_t>(of.one<int64_t>(Attribute::kConvolutionSpatialDims));
    for (const Attribute attribute :
         {Attribute::kConvolutionDilations, Attribute::kConvolutionFilterStrides,
          Attribute::kConvolutionPrePaddings, Attribute::kConvolutionPostPaddings}) {
      const auto numbers = of.get<int64_t>(attribute);
      const bool is_padding = attribute == Attribute::kConvolutionPrePaddings ||
                              attribute == Attribute::kConvolutionPostPaddings;
      if (numbers.size() != rank) return "has another number of axes";
      for (const int64_t number : numbers) {
        if (number < (is_padding ? 0 : 1)) return "has windows that are none";
      }
    }
    if (of.one<DnnDataType>(Attribute::kConvolutionCompType) != DnnDataType::kFloat32) {
      return "does not sum in float32";
    }
    return of.one<int>(Attribute::kConvolutionMode) == 1 ? "" : "turns its filters round";
  }
  static std::string check_operation(Object* of, ConvolutionRole result, Attribute alpha,
                                     Attribute beta, Attribute windows,
                                     const std::array<Attribute, kNumRoles>& tensors) {
    auto convolution = std::make_shared<Convolution>();
    const auto* const parameters = of->one<Object*>(windows);
    if (parameters->type != Of::kConvolution) return "has no windows";
    if (of->one<float>(alpha) != 1 || of->one<float>(beta) != 0) return "scales its result";
    convolution->result = result;
    convolution->stride = parameters->get<int64_t>(Attribute::kConvolutionFilterStrides);
    convolution->dilation = parameters->get<int64_t>(Attribute::kConvolutionDilations);
    convolution->before = parameters->get<int64_t>(Attribute::kConvolutionPrePaddings);
    convolution->after = parameters->get<int64_t>(Attribute::kConvolutionPostPaddings);
    for (int role = 0; role < kNumRoles; ++role) {
      const auto* const tensor = of->one<Object*>(tensors[static_cast<size_t>(role)]);
      if (tensor->type != Of::kTensor) return "has no tensor";
      convolution->tensors[role] = {tensor->one<DnnDataType>(Attribute::kTensorDataType),
                                    tensor->get<int64_t>(Attribute::kTensorDimensions),
                                    tensor->get<int64_t>(Attribute::kTensorStrides)};
      of->ids[static_cast<size_t>(role)] = tensor->one<int64_t>(Attribute::kTensorUniqueId);
    }
    if (std::set<int64_t>(of->ids.begin(), of->ids.end()).size() != kNumRoles) {
      return "has tensors of one name";
    }
    std::string fault = check_shapes(*convolution);
    if (fault.empty()) of->convolution = std::move(convolution);
    return fault;
  }
  static std::string check_shapes(const Convolution& of) {
    const auto &x = of.tensors[kImagesRole].extents, &w = of.tensors[kFiltersRole].extents;
    const auto& y = of.tensors[kPlacesRole].extents;
    const size_t rank = of.stride.size();
    if (x.size() != 2 + rank || w.size() != 2 + rank || y.size() != 2 + rank) {
      return "has tensors of other ranks";
    }
    for (const Tensor& tensor : of.tensors) {
      if (tensor.dtype != of.tensors[0].dtype) return "has several types";
    }
    if (x[0] != y[0] || w[0] != y[1] || x[1] % w[1] != 0 || y[1] % (x[1] / w[1]) != 0) {
      return "has channels that do not agree";
    }
    for (size_t i = 0; i < rank; ++i) {
      const int64_t rest =
          x[2 + i] + of.before[i] + of.after[i] - of.dilation[i] * (w[2 + i] - 1) - 1;
      if (rest < 0 || y[2 + i] != rest / of.stride[i] + 1) return "has other places than windows";
    }
    return "";
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
    Object& of = *object(descriptor);
    // Configurations and engines are final when they are filled in.
    if (!of.is_final) return wrong(DnnStatus::kNotInitialized, "is of one that is not final");
    if (of.type == Of::kEngineHeuristic && attribute == Attribute::kHeuristicResults &&
        type == DnnType::kDescriptor) {
      return recommend(&call, of, requested, count, static_cast<Object**>(elements));
    }
    if (of.type == Of::kEngineConfig && attribute == Attribute::kEngineConfigEngine &&
        type == DnnType::kDescriptor && requested == 1) {
      Object* const engine = *static_cast<Object**>(elements);
      if (!call.impl.descriptors.contains(engine) || engine->type != Of::kEngine) {
        return wrong(DnnStatus::kBadParam, "has no engine to fill in");
      }
      engine->engine = of.engine;
      engine->is_final = true;
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
  static DnnStatus recommend(Call* call, const Object& heuristic, int64_t requested, int64_t* count,
                             Object** configs) {
    const auto* const graph = heuristic.one<Object*>(Attribute::kHeuristicOperationGraph);
    const std::vector<FakeCudnn::Engine> engines = current()->engines(
        *graph->convolution, heuristic.one<DnnHeuristic>(Attribute::kHeuristicMode));
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
      configs[i]->convolution = graph->convolution;
      configs[i]->ids = graph->ids;
      configs[i]->is_final = true;
    }
    return DnnStatus::kSuccess;
  }

  static DnnStatus execute(DnnHandle opaque, DnnDescriptor plan_descriptor,
                           DnnDescriptor pack_descriptor) {
    Call call;
    if (call.fails()) return call.status;
    auto* const handle = reinterpret_cast<Handle*>(opaque);
    if (!call.impl.handles.contains(handle) ||
        !call.impl.descriptors.contains(object(plan_descriptor)) ||
        !call.impl.descriptors.contains(object(pack_descriptor))) {
      return call.impl.wrong(DnnStatus::kBadParam, "what is run is none");
    }
    const Object &plan = *object(plan_descriptor), &pack = *object(pack_descriptor);
    if (!plan.is_final || plan.type != Of::kExecutionPlan || !pack.is_final ||
        pack.type != Of::kVariantPack) {
      return call.impl.wrong(DnnStatus::kBadParamNotFinalized, "what is run is not final");
    }
    const Convolution& convolution = *plan.convolution;
    ConvolutionParams params{};
    params.rank = static_cast<int64_t>(convolution.stride.size());
    const auto ids = pack.get<int64_t>(Attribute::kVariantPackUniqueIds);
    const auto pointers = pack.get<void*>(Attribute::kVariantPackPointers);
    for (size_t role = 0; role < kNumRoles; ++role) {
      const auto it = std::find(ids.begin(), ids.end(), plan.ids[role]);
      void* const data = it == ids.end() ? nullptr : pointers[it - ids.begin()];
      if (data == nullptr || reinterpret_cast<uintptr_t>(data) % 16 != 0) {
        return call.impl.wrong(DnnStatus::kBadParam, "a tensor is missing or not aligned");
      }
      const Tensor& tensor = convolution.tensors[role];
      params.tensors[role].data = data;
      std::copy(tensor.extents.begin(), tensor.extents.end(), params.tensors[role].extents);
      std::copy(tensor.strides.begin(), tensor.strides.end(), params.tensors[role].strides);
    }
    params.workspace = pack.one<char*>(Attribute::kVariantPackWorkspace);
    params.workspace_bytes = plan.engine.workspace_bytes;
    if (params.workspace == nullptr && params.workspace_bytes > 0) {
      return call.impl.wrong(DnnStatus::kBadParam, "there is no memory to work in");
    }
    params.dtype = static_cast<int64_t>(convolution.tensors[0].dtype);
    params.result = convolution.result;
    params.groups =
        convolution.tensors[kImagesRole].extents[1] / convolution.tensors[kFiltersRole].extents[1];
    std::copy(convolution.stride.begin(), convolution.stride.end(), params.stride);
    std::copy(convolution.dilation.begin(), convolution.dilation.end(), params.dilation);
    std::copy(convolution.before.begin(), convolution.before.end(), params.before);
    if (plan.engine.run_status != DnnStatus::kSuccess) return plan.engine.run_status;
    runtime::cuda::LaunchConfig config = {};
    std::fill_n(config.grid, 3, 1u);
    std::fill_n(config.block, 3, 1u);
    config.stream = handle->stream;
    runtime::cuda::ParamList list({reinterpret_cast<const std::byte*>(&params), sizeof(params)});
    if (call.impl.emulator->driver().launch_kernel_ex(
            &config, handle->kernel, nullptr, list.extra()) != runtime::cuda::Result::kSuccess) {
      return DnnStatus::kExecutionFailed;
    }
    call.impl.runs.push_back(convolution);
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

std::vector<std::string> FakeCudnn::misuse() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->misuse;
}

}  // namespace sluice::emulated
