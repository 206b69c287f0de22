#include "fusion/library/external.h"

#include <type_traits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "fusion/library/library.h"

namespace sluice::fusion {
namespace {

// Of equal attributes, and of no others, the same.
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
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void put(T value) { text_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  void put(const std::string& value) {
    put(value.size());
    text_ += value;
  }
  void put(const Scalar& value) {
    put(value.dtype());
    value.kind() == DTypeKind::kFloat ? put(value.as<double>()) : put(value.as<uint64_t>());
  }
  template <typename A, typename B>
  void put(const std::pair<A, B>& value) {
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

ExternalArray array_of(DType dtype, const Layout& layout) {
  ExternalArray array;
  array.dtype = dtype;
  array.rank = layout.shape.rank();
  for (int k = 0; k < array.rank; ++k) array.extents[static_cast<size_t>(k)] = layout.shape[k];
  array.strides = layout.strides;
  array.offset = layout.offset;
  return array;
}

}  // namespace

ExternalCallees& ExternalCallees::get() {
  static auto* const callees = new ExternalCallees;
  return *callees;
}

int64_t ExternalCallees::number_of(const std::shared_ptr<const ExternalDefinition>& definition,
                                   const Attributes& attributes) {
  std::string text = Encoder()(attributes);
  std::lock_guard lock(mutex_);
  const auto [entry, is_new] = numbers_.try_emplace({definition.get(), std::move(text)}, next_);
  if (is_new) {
    callees_[next_++] =
        std::make_shared<const ExternalCallee>(ExternalCallee{definition, attributes});
  }
  return entry->second;
}

std::shared_ptr<const ExternalCallee> ExternalCallees::find(int64_t number) const {
  std::lock_guard lock(mutex_);
  const auto found = callees_.find(number);
  return found == callees_.end() ? nullptr : found->second;
}

void ExternalCallees::forget(const ExternalDefinition* definition) {
  std::lock_guard lock(mutex_);
  std::erase_if(numbers_, [&](const auto& entry) { return entry.first.first == definition; });
  std::erase_if(callees_,
                [&](const auto& entry) { return entry.second->definition.get() == definition; });
}

std::string ExternalAttributes::text() const {
  return callee == nullptr ? "gone" : absl::StrCat(callee->definition->name);
}

double ExternalAttributes::cost() const {
  double elements = static_cast<double>(output.shape().numel());
  for (const ExternalArray& input : inputs) elements += static_cast<double>(input.shape().numel());
  return elements;
}

std::shared_ptr<const LibraryAttributes> make_external_attributes(
    const GraphNode& node, absl::Span<const Layout> operands) {
  auto result = std::make_shared<ExternalAttributes>();
  result->callee = ExternalCallees::get().find(node.attrs[0]);
  for (size_t k = 0; k < operands.size(); ++k) {
    result->inputs.push_back(array_of(static_cast<DType>(node.attrs[k + 1]), operands[k]));
  }
  result->output = array_of(node.dtype, contiguous_layout(node.shape));
  return result;
}

}  // namespace sluice::fusion
