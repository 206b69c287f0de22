// The functions of the frontend as something that can be called with a list of values: each made by
// a template from the function's own type.
#ifndef SLUICE_FRONTEND_REGISTRY_OP_THUNKS_H_
#define SLUICE_FRONTEND_REGISTRY_OP_THUNKS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <sluice/registry.h>

namespace sluice::frontend {

// What a parameter of a C++ function is to the registry. The first eight are those of
// AttributeType.
enum class ParameterType : uint8_t {
  kInt,
  kFloat,
  kBool,
  kInts,
  kPairs,
  kDType,
  kScalar,
  kString,
  kTensor,
  kTensors,
  kLocation,
};
inline bool is_attribute(ParameterType type) { return type < ParameterType::kTensor; }

// What a call gives to each parameter of the function: a tensor or an attribute.
struct Frame {
  std::span<const Tensor> inputs;
  struct Value {
    const Tensor* tensor = nullptr;
    const Attribute* attribute = nullptr;
  };
  std::vector<Value> values;

  template <typename T>
  const T& attribute(size_t k) const {
    return std::get<T>(*values[k].attribute);
  }
};

// A function of the frontend, and how to call it: the latter is compiled once for each type.
struct Thunk {
  using Function = void (*)();
  Function function = nullptr;
  std::vector<Tensor> (*call)(Function function, const Frame& frame) = nullptr;
  std::span<const ParameterType> parameters;
};

// Of every op, by name.
using Thunks = std::map<std::string_view, Thunk>;
Thunks make_thunks();

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_REGISTRY_OP_THUNKS_H_
