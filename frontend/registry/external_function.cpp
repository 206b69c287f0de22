#include "frontend/registry/external_function.h"

#include <map>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "fusion/library/external.h"

namespace sluice::frontend {
namespace {

using fusion::ExternalArray;

class Function : public fusion::ExternalFunction {
 public:
  Function(std::shared_ptr<const ExternalDefinition> definition, Attributes attributes)
      : definition_(std::move(definition)), attributes_(std::move(attributes)) {}

  const std::string& name() const override { return definition_->name; }
  const std::string& cuda_source() const override { return definition_->cuda_source; }

  size_t workspace_bytes(absl::Span<const ExternalArray> inputs) const override {
    if (!definition_->workspace) return 0;
    std::vector<TensorSpec> specs;
    for (const ExternalArray& input : inputs) specs.push_back({input.shape(), input.dtype});
    return definition_->workspace(specs, attributes_);
  }

  void run(absl::Span<const ExternalArray> inputs, absl::Span<const void* const> data,
           const ExternalArray& output, void* result,
           absl::Span<std::byte> workspace) const override {
    std::vector<ExternalInput> given;
    for (size_t k = 0; k < inputs.size(); ++k) {
      given.emplace_back(TensorSpec{inputs[k].shape(), inputs[k].dtype}, data[k]);
    }
    definition_->run({.inputs = given,
                      .output = {{output.shape(), output.dtype}, result},
                      .workspace = {workspace.data(), workspace.size()},
                      .attributes = attributes_});
  }

 private:
  const std::shared_ptr<const ExternalDefinition> definition_;
  const Attributes attributes_;
};

// Of equal attributes, and of no others, the same text.
class Encoder {
 public:
  std::string operator()(const Attributes& attributes) {
    for (const auto& [name, value] : attributes) {
      put(name);
      put(value.index());
      std::visit([&](const auto& each) { put(each); }, value);
    }
    return std::move(text_);
  }

 private:
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void put(const std::string& value) {
    put(value.size());
    text_ += value;
  }
  void put(const Scalar& value) {
    put(value.dtype());
    value.kind() == DTypeKind::kFloat ? put(value.as<double>()) : put(value.as<uint64_t>());
  }
  void put(const std::pair<int64_t, int64_t>& value) {
    put(value.first);
    put(value.second);
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    put(values.size());
    for (const T& value : values) put(value);
  }

  std::string text_;
};

struct FunctionNumbers {
  std::mutex mutex;
  std::map<std::pair<const ExternalDefinition*, std::string>, int64_t> of;  // guarded by mutex

  static FunctionNumbers& get() {
    static auto* const numbers = new FunctionNumbers;
    return *numbers;
  }
};

}  // namespace

int64_t number_of_function(const std::shared_ptr<const ExternalDefinition>& definition,
                           const Attributes& attributes) {
  FunctionNumbers& numbers = FunctionNumbers::get();
  std::lock_guard lock(numbers.mutex);
  const auto [entry, is_new] = numbers.of.try_emplace({definition.get(), Encoder()(attributes)}, 0);
  if (is_new) {
    entry->second =
        fusion::ExternalFunctions::get().add(std::make_shared<Function>(definition, attributes));
  }
  return entry->second;
}

void forget_functions(const ExternalDefinition* definition) {
  FunctionNumbers& numbers = FunctionNumbers::get();
  std::lock_guard lock(numbers.mutex);
  std::erase_if(numbers.of, [&](const auto& entry) {
    if (entry.first.first != definition) return false;
    fusion::ExternalFunctions::get().forget(entry.second);
    return true;
  });
}

}  // namespace sluice::frontend
