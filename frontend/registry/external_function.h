// What the engine calls of an ExternalDefinition.
#ifndef SLUICE_FRONTEND_REGISTRY_EXTERNAL_FUNCTION_H_
#define SLUICE_FRONTEND_REGISTRY_EXTERNAL_FUNCTION_H_

#include <cstdint>
#include <memory>

#include <sluice/external.h>

namespace sluice::frontend {

// The number (fusion::ExternalFunctions) of the definition's function with all its attributes: the
// same for equal ones, which a plan's key tells apart by it. Thread-safe.
int64_t number_of_function(const std::shared_ptr<const ExternalDefinition>& definition,
                           const Attributes& attributes);

// No node names the definition's functions any more, but those that have been planned.
void forget_functions(const ExternalDefinition* definition);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_REGISTRY_EXTERNAL_FUNCTION_H_
