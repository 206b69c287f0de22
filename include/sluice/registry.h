// The ops by name, for what is not written in C++: bindings to other languages, importers, tools.
#ifndef SLUICE_REGISTRY_H_
#define SLUICE_REGISTRY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <sluice/dtype.h>
#include <sluice/scalar.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {

// What an op becomes.
enum class OpKind : uint8_t {
  kPointwise,  // part of the kernel that reads it, and no memory of its own
  kReduction,  // what feeds it is fused into it, and what reads it where that walks its rows
  kView,       // reads its operand at other indices
  kJoin,       // lays elements of its operands together, in the kernel that reads it
  kGather,     // fused into its readers; what is indexed has to be in memory
  kLibrary,    // a library call, for the dtypes that a library has it for
  kComposed,   // made of others, and fused as they are
};

enum class Gradient : uint8_t {
  kDifferentiable,
  kZeroGradient,       // a step function: 0 wherever it is defined
  kNotDifferentiable,  // the result is not a float, or its inputs are not
};

enum class AttributeType : uint8_t { kInt, kFloat, kBool, kInts, kPairs, kDType, kScalar, kString };

// "int", "float", "bool", "ints", "pairs", "dtype", "scalar", "string"; "pointwise", ...;
// "differentiable", ...
[[nodiscard]] const char* name_of(AttributeType type);
[[nodiscard]] const char* name_of(OpKind kind);
[[nodiscard]] const char* name_of(Gradient gradient);

// A value of each AttributeType, in that order. Axes and shapes are lists of ints, and so are the
// options of windows: all their numbers, in the order of the struct, or none for the defaults.
using Attribute =
    std::variant<int64_t, double, bool, std::vector<int64_t>,
                 std::vector<std::pair<int64_t, int64_t>>, DType, Scalar, std::string>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

struct AttributeInfo {
  std::string name;
  AttributeType type;
  std::optional<Attribute> default_value;  // none: required
};

inline constexpr int kAnyNumber = -1;

struct OpInfo {
  std::string name;
  OpKind kind;
  Gradient gradient;
  int arity = 0;                    // tensors that it takes, or kAnyNumber
  std::vector<std::string> inputs;  // their names; of any number one for all
  std::vector<AttributeInfo> attributes;
  std::string doc;
  std::string signature;  // of the C++ function: "Tensor softmax(Arg x, int axis = -1)"
  std::string alias_of;   // the op that this is another name of; empty: none
};

// All ops, in the order of the reference.
[[nodiscard]] std::span<const OpInfo> ops();

// Also of an ExternalOp. Throws Error (kNotFound), naming ops with a similar name, if there is none
// of this name.
[[nodiscard]] const OpInfo& op(std::string_view name);

// Calls the op's C++ function. An int64_t stands for an attribute of type float or scalar too, a
// double for one of type scalar. Throws Error as op() and the function do, and kInvalidArgument,
// naming op and attribute, for a number of inputs that the op does not take, and for an attribute
// that is missing, unknown or of another type. "correction" is another name of "ddof".
[[nodiscard]] std::vector<Tensor> call(std::string_view name, std::span<const Tensor> inputs,
                                       const Attributes& attributes = {});
[[nodiscard]] std::vector<Tensor> call(std::string_view name, std::initializer_list<Tensor> inputs,
                                       const Attributes& attributes = {});

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_REGISTRY_H_
