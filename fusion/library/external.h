// Library calls of functions that the program has registered.
#ifndef SLUICE_FUSION_LIBRARY_EXTERNAL_H_
#define SLUICE_FUSION_LIBRARY_EXTERNAL_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sluice/external.h>
#include "fusion/lower/step.h"
#include "runtime/layout.h"

namespace sluice::fusion {

// A function and the attributes that it is called with.
struct ExternalCallee {
  std::shared_ptr<const ExternalDefinition> definition;
  Attributes attributes;  // all of the definition's
};

// Those that nodes name, by number. Numbers are not used twice. Thread-safe.
class ExternalCallees {
 public:
  static ExternalCallees& get();

  // The same for equal attributes, which alone a plan's key would not tell apart.
  int64_t number_of(const std::shared_ptr<const ExternalDefinition>& definition,
                    const Attributes& attributes);
  // Null if it has been forgotten.
  std::shared_ptr<const ExternalCallee> find(int64_t number) const;
  // All of this definition.
  void forget(const ExternalDefinition* definition);

 private:
  mutable std::mutex mutex_;  // guards all below
  std::map<std::pair<const ExternalDefinition*, std::string>, int64_t> numbers_;
  std::map<int64_t, std::shared_ptr<const ExternalCallee>> callees_;
  int64_t next_ = 0;
};

// An array in a block of memory.
struct ExternalArray {
  DType dtype = DType::kFloat32;
  int rank = 0;
  std::array<int64_t, kMaxRank> extents{}, strides{};
  int64_t offset = 0;  // from the base of the block, in elements

  Shape shape() const { return Shape(std::span(extents.data(), static_cast<size_t>(rank))); }
  Layout layout() const { return {shape(), strides, offset}; }
};

// Buffers: the inputs, and the output, which has no gaps.
struct ExternalAttributes : SizedAttributes<ExternalAttributes> {
  std::shared_ptr<const ExternalCallee> callee;  // null: forgotten before it was planned
  std::vector<ExternalArray> inputs;
  ExternalArray output;

  template <typename Attributes, typename F>
  static void for_each_number(Attributes& of, F f) {
    const auto visit = [&](auto& array) {
      f(array.offset);
      for (int k = 0; k < array.rank; ++k) {
        f(array.extents[static_cast<size_t>(k)]);
        f(array.strides[static_cast<size_t>(k)]);
      }
    };
    for (auto& input : of.inputs) visit(input);
    visit(of.output);
  }
  std::string text() const override;
  int64_t flops() const override { return 0; }
  double cost() const override;
};

// `call` is of kind kExternal.
inline const ExternalAttributes& external_of(const LibraryCall& call) {
  return static_cast<const ExternalAttributes&>(*call.attributes);
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LIBRARY_EXTERNAL_H_
