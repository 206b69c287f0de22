#include <sluice/optim/optimizer.h>

#include <algorithm>
#include <utility>

#include <sluice/autograd.h>
#include <sluice/creation.h>
#include <sluice/ops.h>
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/checks.h"
#include "frontend/nn/leaf.h"

namespace sluice::optim {
namespace {

using frontend::describe;
using frontend::fail;

constexpr const char* kMaster = "master";

DType state_dtype(const Tensor& x) { return compute_type(x.dtype()); }

Tensor number(double value) { return full({}, value, DType::kFloat64); }

std::string path_of(const std::string& name, const std::string& slot) {
  return absl::StrCat("state.", name, ".", slot);
}

}  // namespace

Optimizer::Optimizer(const char* name, const nn::Parameters& parameters, double lr) : name_(name) {
  add(parameters, lr);
}

size_t Optimizer::add(const nn::Parameters& parameters, double lr) {
  const size_t group = groups_.size();
  const std::vector<std::string> names = parameters.names();
  std::vector<Parameter> added;
  for (size_t i = 0; i < parameters.size(); ++i) {
    Tensor* const tensor = parameters[i];
    if (tensor == nullptr || !tensor->defined()) fail(name_, "parameter ", names[i], " is empty");
    if (!is_float(tensor->dtype())) {
      fail(name_, "parameter ", names[i], ", ", describe(*tensor), ", is not of floats");
    }
    // Without names they are numbered through all groups.
    const bool is_number = names[i] == std::to_string(i);
    std::string own = is_number ? std::to_string(parameters_.size() + i) : names[i];
    for (const Parameter& other : parameters_) {
      if (other.tensor == tensor) fail(name_, "parameter ", own, " is in two groups");
      if (other.name == own) own = absl::StrCat("group", group, ".", own);
    }
    added.push_back({std::move(own), tensor, group, false, {}, {}});
  }
  for (Parameter& each : added) parameters_.push_back(std::move(each));
  groups_.push_back(lr);
  return group;
}

Tensor Optimizer::initial(size_t, const std::string&, const Tensor& value) const {
  return zeros_like(value);
}

void Optimizer::begin(Parameter* parameter) const {
  if (parameter->has_begun) return;
  parameter->has_begun = true;
  const Tensor& tensor = *parameter->tensor;
  const Tensor value = frontend::detached(tensor).astype(state_dtype(tensor));
  parameter->slot_names = slots_of(parameter->group, tensor.shape());
  for (const std::string& slot : parameter->slot_names) {
    parameter->slots.push_back(initial(parameter->group, slot, value));
  }
  if (is_half(tensor.dtype())) {
    parameter->slot_names.emplace_back(kMaster);
    parameter->slots.push_back(value);
  }
}

void Optimizer::step(std::span<const Tensor> gradients) {
  if (gradients.size() != parameters_.size()) {
    fail(name_, gradients.size(), " gradients for ", parameters_.size(), " parameters");
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    if (gradients[i].defined() && gradients[i].shape() != parameter.tensor->shape()) {
      fail(name_, "gradient ", describe(gradients[i]), " of parameter ", parameter.name, ", ",
           describe(*parameter.tensor));
    }
  }
  const NoGrad guard;
  ++steps_;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    Parameter& parameter = parameters_[i];
    begin(&parameter);
    Tensor& tensor = *parameter.tensor;
    const DType dtype = tensor.dtype(), wide = state_dtype(tensor);
    const bool has_master = is_half(dtype);
    const Tensor value = has_master ? parameter.slots.back() : tensor;
    const size_t own_slots = parameter.slots.size() - (has_master ? 1 : 0);
    Tensor next = updated(parameter.group, {steps_, groups_[parameter.group]}, value,
                          gradients[i].astype(wide), Slots(parameter.slots.data(), own_slots));
    if (has_master) parameter.slots.back() = next;
    const bool is_leaf = tensor.needs_grad();
    tensor = next.astype(dtype);
    if (is_leaf) tensor = frontend::leaf(tensor);
  }
}

void Optimizer::step(const std::map<std::string, Tensor>& gradients) {
  std::vector<Tensor> in_order;
  size_t used = 0;
  for (const Parameter& parameter : parameters_) {
    const auto found = gradients.find(parameter.name);
    in_order.push_back(found == gradients.end() ? Tensor() : found->second);
    used += found != gradients.end();
  }
  if (used != gradients.size()) {
    std::vector<std::string> unknown;
    for (const auto& [name, gradient] : gradients) {
      const bool is_known = std::any_of(parameters_.begin(), parameters_.end(),
                                        [&](const Parameter& p) { return p.name == name; });
      if (!is_known) unknown.push_back(name);
    }
    fail(name_, "no parameter has the name ", absl::StrJoin(unknown, ", "),
         "; pass model.parameters(), which has names, to the optimiser");
  }
  step(in_order);
}

void Optimizer::step() {
  std::vector<Tensor> gradients;
  bool has_any = false;
  for (const Parameter& parameter : parameters_) {
    const Tensor& tensor = *parameter.tensor;
    gradients.push_back(tensor.needs_grad() ? tensor.grad() : Tensor());
    has_any = has_any || gradients.back().defined();
  }
  if (!has_any) {
    throw Error(ErrorCode::kFailedPrecondition,
                absl::StrCat(name_,
                             ": no parameter has a gradient: call backward(loss) before "
                             "step(), or step(gradients)"));
  }
  step(gradients);
}

void Optimizer::zero_grad() {
  for (const Parameter& parameter : parameters_) parameter.tensor->zero_grad();
}

double Optimizer::lr(size_t group) const {
  if (group >= groups_.size()) fail(name_, "there is no group ", group, " of ", groups_.size());
  return groups_[group];
}

void Optimizer::set_lr(double lr) { std::fill(groups_.begin(), groups_.end(), lr); }

void Optimizer::set_lr(size_t group, double lr) {
  if (group >= groups_.size()) fail(name_, "there is no group ", group, " of ", groups_.size());
  groups_[group] = lr;
}

std::map<std::string, Tensor> Optimizer::state_dict() const {
  std::map<std::string, Tensor> state;
  state["steps"] = full({}, steps_, DType::kInt64);
  for (size_t group = 0; group < groups_.size(); ++group) {
    state[absl::StrCat("lr.", group)] = number(groups_[group]);
  }
  for (const Parameter& parameter : parameters_) {
    for (size_t i = 0; i < parameter.slots.size(); ++i) {
      state[path_of(parameter.name, parameter.slot_names[i])] = parameter.slots[i];
    }
  }
  return state;
}

void Optimizer::load_state_dict(const std::map<std::string, Tensor>& state) {
  std::map<std::string, Tensor*> here;
  std::vector<Parameter> loaded = parameters_;
  std::vector<std::string> problems;
  for (Parameter& parameter : loaded) {
    begin(&parameter);
    size_t found = 0;
    for (size_t i = 0; i < parameter.slots.size(); ++i) {
      const std::string path = path_of(parameter.name, parameter.slot_names[i]);
      here[path] = &parameter.slots[i];
      found += state.contains(path);
    }
    // A parameter that never had a gradient has no state.
    if (found == 0) {
      parameter.has_begun = false;
      parameter.slots.clear();
      for (const std::string& slot : parameter.slot_names)
        here.erase(path_of(parameter.name, slot));
      parameter.slot_names.clear();
    }
  }
  std::vector<double> rates;
  for (size_t group = 0; group <= groups_.size(); ++group) {
    const std::string name = group == 0 ? "steps" : absl::StrCat("lr.", group - 1);
    const auto found = state.find(name);
    if (found == state.end() || found->second.numel() != 1) {
      problems.push_back("missing: " + name);
    } else if (group > 0) {
      rates.push_back(found->second.item<double>());
    }
  }
  for (const auto& [name, slot] : here) {
    const auto found = state.find(name);
    if (found == state.end()) {
      problems.push_back("missing: " + name);
    } else if (found->second.shape() != slot->shape()) {
      problems.push_back(absl::StrCat("of another shape: ", name, " ",
                                      to_string(found->second.shape()), " for ",
                                      to_string(slot->shape())));
    }
  }
  for (const auto& [name, tensor] : state) {
    if (name.starts_with("state.") && !here.contains(name))
      problems.push_back("unexpected: " + name);
  }
  if (!problems.empty()) fail(name_, "load_state_dict: ", absl::StrJoin(problems, "; "));
  for (const auto& [name, slot] : here) {
    *slot = state.at(name).to(slot->device()).astype(slot->dtype());
  }
  parameters_ = std::move(loaded);
  groups_ = std::move(rates);
  steps_ = state.at("steps").item<int64_t>();
}

}  // namespace sluice::optim
