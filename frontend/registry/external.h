// The ops that the program has registered, by name.
#ifndef SLUICE_FRONTEND_REGISTRY_EXTERNAL_H_
#define SLUICE_FRONTEND_REGISTRY_EXTERNAL_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <sluice/external.h>
#include <sluice/registry.h>

namespace sluice::frontend {

struct External {
  const OpInfo& info;  // valid for good
  std::shared_ptr<const ExternalDefinition> definition;
};

// Null if there is none of this name. Thread-safe.
std::shared_ptr<const External> find_external(std::string_view name);
std::vector<std::string> names_of_externals();

Tensor call_external(const External& op, std::span<const Tensor> inputs,
                     const Attributes& attributes, const Location& where);

// The attributes of a call, in the order of info.attributes, with their defaults. Throws Error
// (kInvalidArgument), naming op and attribute, for one that is missing, unknown or of another type.
std::vector<Attribute> bind(const OpInfo& info, const Attributes& given);

// Throws Error (kInvalidArgument) for a number of inputs that the op does not take.
void check_count(const OpInfo& info, size_t inputs);

// Whether it is an op of Sluice's own.
bool is_own_op(std::string_view name);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_REGISTRY_EXTERNAL_H_
