#include <sluice/nn/module.h>

#include <algorithm>
#include <utility>

#include <sluice/ops.h>
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/checks.h"
#include "frontend/nn/leaf.h"

namespace sluice::nn {
namespace {

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() || name.empty() ? path + name : absl::StrCat(path, ".", name);
}

// No object is larger; what lies farther away is in other memory.
constexpr std::ptrdiff_t kLargestModule = std::ptrdiff_t{1} << 20;

void append_list(const char* what, const std::vector<std::string>& names, std::string* message) {
  if (names.empty()) return;
  absl::StrAppend(message, message->empty() ? "" : "; ", what, " ", absl::StrJoin(names, ", "));
}

}  // namespace

Parameters::Parameters(std::vector<Tensor*> tensors, std::vector<std::string> names)
    : std::vector<Tensor*>(std::move(tensors)), names_(std::move(names)) {}

std::vector<std::string> Parameters::names() const {
  if (names_.size() == size()) return names_;
  std::vector<std::string> numbers;
  for (size_t i = 0; i < size(); ++i) numbers.push_back(std::to_string(i));
  return numbers;
}

Module::~Module() = default;

void Module::add(std::string name, Kind kind, void* member, void (*modules)(void*, const Visit&)) {
  const char* const op = kind == Kind::kModule      ? "register_module"
                         : kind == Kind::kParameter ? "register_parameter"
                                                    : "register_buffer";
  if ((name.empty() && modules == nullptr) || name.find('.') != std::string::npos) {
    frontend::fail(op, "\"", name, "\" is no name: it is empty or has a '.'");
  }
  const bool is_taken = std::any_of(members_.begin(), members_.end(),
                                    [&](const Member& other) { return other.name == name; });
  if (is_taken) frontend::fail(op, "there is a \"", name, "\" already");
  const std::ptrdiff_t offset = static_cast<char*>(member) - reinterpret_cast<char*>(this);
  if (offset <= 0 || offset > kLargestModule) {
    frontend::fail(op, "\"", name,
                   "\" is no member of this module. Of a std::vector of modules, register the "
                   "vector, not what is in it");
  }
  members_.push_back({std::move(name), kind, offset, modules});
}

void Module::register_modules(std::string name, void* member,
                              void (*modules)(void*, const Visit&)) {
  add(std::move(name), Kind::kModule, member, modules);
}

void Module::register_parameter(std::string name, Tensor& tensor) {
  add(std::move(name), Kind::kParameter, &tensor, nullptr);
  if (tensor.defined()) tensor = frontend::leaf(tensor);
}

void Module::register_buffer(std::string name, Tensor& tensor) {
  add(std::move(name), Kind::kBuffer, &tensor, nullptr);
}

void Module::visit_modules(const std::string& path, const Visit& visit) {
  visit(path, *this);
  for (const Member& member : members_) {
    if (member.kind != Kind::kModule) continue;
    const std::string inner = joined(path, member.name);
    member.modules(at(member), [&](const std::string& name, Module& module) {
      module.visit_modules(joined(inner, name), visit);
    });
  }
}

void Module::visit_tensors(Kind kind, const std::string& path,
                           const std::function<void(const std::string&, Tensor&)>& visit) {
  visit_modules(path, [&](const std::string& name, Module& module) {
    for (const Member& member : module.members_) {
      if (member.kind != kind) continue;
      auto& tensor = *static_cast<Tensor*>(module.at(member));
      if (tensor.defined()) visit(joined(name, member.name), tensor);
    }
  });
}

std::vector<std::pair<std::string, Tensor*>> Module::named_parameters() {
  std::vector<std::pair<std::string, Tensor*>> found;
  visit_tensors(Kind::kParameter, "", [&](const std::string& name, Tensor& tensor) {
    found.emplace_back(name, &tensor);
  });
  return found;
}

std::vector<std::pair<std::string, Tensor*>> Module::named_buffers() {
  std::vector<std::pair<std::string, Tensor*>> found;
  visit_tensors(Kind::kBuffer, "", [&](const std::string& name, Tensor& tensor) {
    found.emplace_back(name, &tensor);
  });
  return found;
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> found;
  visit_modules(
      "", [&](const std::string& name, Module& module) { found.emplace_back(name, &module); });
  return found;
}

Parameters Module::parameters() {
  std::vector<Tensor*> tensors;
  std::vector<std::string> names;
  for (auto& [name, tensor] : named_parameters()) {
    tensors.push_back(tensor);
    names.push_back(std::move(name));
  }
  return {std::move(tensors), std::move(names)};
}

std::vector<Tensor*> Module::buffers() {
  std::vector<Tensor*> tensors;
  for (const auto& [name, tensor] : named_buffers()) tensors.push_back(tensor);
  return tensors;
}

int64_t Module::parameter_count() {
  int64_t count = 0;
  for (const Tensor* tensor : parameters()) count += tensor->numel();
  return count;
}

StateDict Module::state_dict() const {
  StateDict state;
  const auto insert = [&](const std::string& name, Tensor& tensor) {
    state.emplace(name, frontend::detached(tensor));
  };
  auto* self = const_cast<Module*>(this);  // visits change nothing themselves
  self->visit_tensors(Kind::kParameter, "", insert);
  self->visit_tensors(Kind::kBuffer, "", insert);
  return state;
}

void Module::load_state_dict(const StateDict& state, bool strict) {
  std::map<std::string, std::pair<Tensor*, Kind>> here;
  for (const Kind kind : {Kind::kParameter, Kind::kBuffer}) {
    visit_tensors(kind, "", [&](const std::string& name, Tensor& tensor) {
      here[name] = {&tensor, kind};
    });
  }
  std::vector<std::string> missing, unexpected, mismatched;
  for (const auto& [name, own] : here) {
    const auto found = state.find(name);
    if (found == state.end()) {
      missing.push_back(name);
    } else if (found->second.shape() != own.first->shape()) {
      mismatched.push_back(absl::StrCat(name, " ", to_string(found->second.shape()), " for ",
                                        to_string(own.first->shape())));
    }
  }
  for (const auto& [name, tensor] : state) {
    if (!here.contains(name)) unexpected.push_back(name);
  }
  std::string message;
  if (strict) {
    append_list("missing:", missing, &message);
    append_list("unexpected:", unexpected, &message);
  }
  append_list("of another shape:", mismatched, &message);
  if (!message.empty()) frontend::fail("load_state_dict", message);
  for (const auto& [name, tensor] : state) {
    const auto found = here.find(name);
    if (found == here.end()) continue;
    auto& [own, kind] = found->second;
    Tensor value = frontend::detached(tensor).to(own->device()).astype(own->dtype());
    *own = kind == Kind::kParameter ? frontend::leaf(value) : std::move(value);
  }
}

void Module::train(bool on) {
  visit_modules("", [&](const std::string&, Module& module) { module.training_ = on; });
}

void Module::to(DType dtype) {
  if (!is_float(dtype)) frontend::fail("Module::to", name_of(dtype), " is no float");
  visit_tensors(Kind::kParameter, "", [&](const std::string&, Tensor& tensor) {
    tensor = frontend::leaf(frontend::detached(tensor).astype(dtype));
  });
  visit_tensors(Kind::kBuffer, "", [&](const std::string&, Tensor& tensor) {
    if (is_float(tensor.dtype())) tensor = tensor.astype(dtype);
  });
}

void Module::to(Device device) {
  visit_tensors(Kind::kParameter, "", [&](const std::string&, Tensor& tensor) {
    tensor = frontend::leaf(frontend::detached(tensor).to(device));
  });
  visit_tensors(Kind::kBuffer, "",
                [&](const std::string&, Tensor& tensor) { tensor = tensor.to(device); });
}

}  // namespace sluice::nn
