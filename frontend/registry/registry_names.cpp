// How the enums of the registry are called: apart, for the program that prints the reference.
#include <sluice/registry.h>

namespace sluice {

const char* name_of(AttributeType type) {
  constexpr const char* kNames[] = {"int",   "float", "bool",   "ints",
                                    "pairs", "dtype", "scalar", "string"};
  return kNames[static_cast<int>(type)];
}

const char* name_of(OpKind kind) {
  constexpr const char* kNames[] = {"pointwise", "reduction", "view",    "join",
                                    "gather",    "library",   "composed"};
  return kNames[static_cast<int>(kind)];
}

const char* name_of(Gradient gradient) {
  constexpr const char* kNames[] = {"differentiable", "zero", "none"};
  return kNames[static_cast<int>(gradient)];
}

}  // namespace sluice
