#include "frontend/registry/external.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <sluice/creation.h>
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/engine.h"
#include "engine/observe/call_site.h"
#include "frontend/autograd/tape.h"
#include "frontend/checks.h"
#include "frontend/composed/compose.h"
#include "frontend/record.h"
#include "frontend/registry/external_function.h"

namespace sluice {

using frontend::External;

struct ExternalOp::Registration {
  explicit Registration(ExternalDefinition definition);
  ~Registration();

  std::shared_ptr<const External> op;
};

namespace frontend {
namespace {

constexpr size_t kMaxInputs = 16;  // that a GPU's kernel takes

struct Table {
  std::mutex mutex;
  // Guarded by mutex.
  std::map<std::string, std::shared_ptr<const External>, std::less<>> ops;
  std::deque<OpInfo> infos;  // op() returns references on them: of all ops that there have been

  OpInfo* add_info() {
    std::lock_guard lock(mutex);
    return &infos.emplace_back();
  }

  static Table& get() {
    static auto* const table = new Table;
    return *table;
  }
};

// The result of an op that is known to run on the inputs' device.
Tensor recorded(const External& op, std::span<const Tensor> inputs, const Attributes& attributes,
                const TensorSpec& result, Device device) {
  absl::InlinedVector<engine::NodeOperand, 4> operands;
  absl::InlinedVector<int64_t, 8> attrs = {number_of_function(op.definition, attributes)};
  for (const Tensor& input : inputs) {
    operands.push_back({input.node_ref().get()});
    attrs.push_back(static_cast<int64_t>(input.dtype()));
  }
  return record({.caller = {.name = op.info.name.c_str()},
                 .op = fusion::Op::kExternal,
                 .dtype = result.dtype,
                 .operand_dtype = result.dtype,
                 .device = device,
                 .shape = result.shape,
                 .operands = operands,
                 .attrs = attrs});
}

}  // namespace

std::shared_ptr<const External> find_external(std::string_view name) {
  Table& table = Table::get();
  std::lock_guard lock(table.mutex);
  const auto found = table.ops.find(name);
  return found == table.ops.end() ? nullptr : found->second;
}

std::vector<std::string> names_of_externals() {
  Table& table = Table::get();
  std::lock_guard lock(table.mutex);
  std::vector<std::string> names;
  for (const auto& [name, op] : table.ops) names.push_back(name);
  return names;
}

namespace {

// The result of a call whose arguments have been checked.
Tensor computed(const External& op, std::span<const Tensor> inputs, const Attributes& attributes,
                const TensorSpec& result, Device device) {
  const ExternalDefinition& definition = *op.definition;
  if (result.shape.numel() == 0) return zeros(result.shape, result.dtype, device);
  const bool is_on_host = device == Device::cpu();
  if (!definition.run && (is_on_host || definition.cuda_source.empty())) {
    throw Error(ErrorCode::kUnimplemented,
                absl::StrCat(op.info.name, ": has no function for the host"));
  }
  if (is_on_host || !definition.cuda_source.empty()) {
    return recorded(op, inputs, attributes, result, device);
  }
  std::vector<Tensor> copies;
  for (const Tensor& input : inputs) copies.push_back(input.to(Device::cpu()));
  return recorded(op, copies, attributes, result, Device::cpu()).to(device);
}

// The definition's gradients, or why there are none.
std::vector<Tensor> gradients_by(const ExternalDefinition& definition, const Tensor& g,
                                 std::span<const Tensor> inputs, const Attributes& attributes) {
  const char* const name = definition.name.c_str();
  if (!definition.gradient) {
    throw Error(ErrorCode::kUnimplemented,
                absl::StrCat(name, ": its definition has no function `gradient`"));
  }
  return checked_gradients(
      name, in_name_of(name, [&] { return definition.gradient(g, inputs, attributes); }), inputs);
}

}  // namespace

Tensor call_external(const External& op, std::span<const Tensor> inputs, const Attributes& given,
                     const Location& where) {
  const char* const name = op.info.name.c_str();
  const ExternalDefinition& definition = *op.definition;
  const engine::CallSite site(where, name);
  check_count(op.info, inputs.size());
  std::vector<TensorSpec> specs;
  for (const Tensor& input : inputs) {
    node_of(name, input);
    common_device(name, inputs[0], input);
    specs.push_back({input.shape(), input.dtype()});
  }
  const std::vector<Attribute> bound = bind(op.info, given);
  Attributes attributes;
  for (size_t k = 0; k < bound.size(); ++k) attributes[op.info.attributes[k].name] = bound[k];
  const TensorSpec result = in_name_of(name, [&] { return definition.result(specs, attributes); });
  const Device device = inputs.empty() ? default_device() : inputs[0].device();
  Tensor y;
  {
    const GradModeScope constants(false);
    y = computed(op, inputs, attributes, result, device);
  }
  return with_gradient(
      y, inputs,
      [definition = op.definition, attributes,
       xs = std::vector<Tensor>(inputs.begin(), inputs.end())](const Tensor& g, const Tensor&) {
        return gradients_by(*definition, g, xs, attributes);
      },
      false);
}

}  // namespace frontend

ExternalOp::Registration::Registration(ExternalDefinition definition) {
  const std::string& name = definition.name;
  const auto lacks = [&](const char* what) {
    frontend::fail(name.empty() ? "ExternalOp" : name.c_str(), "the definition ", what);
  };
  if (name.empty()) lacks("has no name");
  if (!definition.result) lacks("has no function `result`");
  if (!definition.run && definition.cuda_source.empty()) {
    lacks("has neither a function `run` nor a CUDA source");
  }
  if (definition.inputs.size() > frontend::kMaxInputs) lacks("has more than 16 inputs");
  frontend::Table& table = frontend::Table::get();
  OpInfo* const info = table.add_info();
  info->name = name;
  info->kind = OpKind::kLibrary;
  info->gradient = definition.gradient ? Gradient::kDifferentiable : Gradient::kNotDifferentiable;
  info->arity = static_cast<int>(definition.inputs.size());
  info->inputs = definition.inputs;
  info->attributes = definition.attributes;
  info->doc = definition.doc;
  info->signature = absl::StrCat("Tensor ", name, "(",
                                 absl::StrJoin(info->inputs, ", ",
                                               [](std::string* out, const std::string& input) {
                                                 absl::StrAppend(out, "Arg ", input);
                                               }),
                                 ")");
  op = std::make_shared<External>(
      External{*info, std::make_shared<const ExternalDefinition>(std::move(definition))});
  std::lock_guard lock(table.mutex);
  if (frontend::is_own_op(info->name) || !table.ops.emplace(info->name, op).second) {
    throw Error(ErrorCode::kAlreadyExists,
                absl::StrCat("there is an op \"", info->name, "\" already"));
  }
}

ExternalOp::Registration::~Registration() {
  {
    frontend::Table& table = frontend::Table::get();
    std::lock_guard lock(table.mutex);
    table.ops.erase(op->info.name);
  }
  engine::flush_all();  // plans of what is pending hold the definition
  frontend::forget_functions(op->definition.get());
}

ExternalOp::ExternalOp(ExternalDefinition definition)
    : registration_(new Registration(std::move(definition))) {}
ExternalOp::ExternalOp(ExternalOp&& other) noexcept
    : registration_(std::exchange(other.registration_, nullptr)) {}
ExternalOp::~ExternalOp() { delete registration_; }

Tensor ExternalOp::operator()(std::initializer_list<Tensor> inputs, const Attributes& attributes,
                              Location where) const {
  return (*this)(std::span(inputs.begin(), inputs.size()), attributes, where);
}
Tensor ExternalOp::operator()(std::span<const Tensor> inputs, const Attributes& attributes,
                              Location where) const {
  return frontend::call_external(*registration_->op, inputs, attributes, where);
}

const OpInfo& ExternalOp::info() const { return registration_->op->info; }

void ExternalInput::check(DType dtype) const {
  if (dtype == spec_.dtype) return;
  throw Error(ErrorCode::kInvalidArgument,
              absl::StrCat("asked for a span of ", name_of(dtype), ", but this is ",
                           frontend::describe(spec_.dtype, spec_.shape)));
}

}  // namespace sluice
