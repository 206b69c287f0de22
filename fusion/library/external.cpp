#include "fusion/library/external.h"

#include <utility>

#include "fusion/library/library.h"

namespace sluice::fusion {
namespace {

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

ExternalFunctions& ExternalFunctions::get() {
  static auto* const functions = new ExternalFunctions;
  return *functions;
}

int64_t ExternalFunctions::add(std::shared_ptr<const ExternalFunction> function) {
  std::lock_guard lock(mutex_);
  functions_[next_] = std::move(function);
  return next_++;
}

std::shared_ptr<const ExternalFunction> ExternalFunctions::find(int64_t number) const {
  std::lock_guard lock(mutex_);
  const auto found = functions_.find(number);
  return found == functions_.end() ? nullptr : found->second;
}

void ExternalFunctions::forget(int64_t number) {
  std::lock_guard lock(mutex_);
  functions_.erase(number);
}

std::string ExternalAttributes::text() const {
  return function == nullptr ? "unregistered" : function->name();
}

double ExternalAttributes::cost() const {
  double elements = static_cast<double>(output.shape().numel());
  for (const ExternalArray& input : inputs) elements += static_cast<double>(input.shape().numel());
  return elements;
}

std::shared_ptr<const LibraryAttributes> make_external_attributes(
    const GraphNode& node, absl::Span<const Layout> operands) {
  auto result = std::make_shared<ExternalAttributes>();
  result->function = ExternalFunctions::get().find(node.attrs[0]);
  for (size_t k = 0; k < operands.size(); ++k) {
    result->inputs.push_back(array_of(static_cast<DType>(node.attrs[k + 1]), operands[k]));
  }
  result->output = array_of(node.dtype, contiguous_layout(node.shape));
  return result;
}

}  // namespace sluice::fusion
