// Library calls of functions that the program has registered.
#ifndef SLUICE_FUSION_LIBRARY_EXTERNAL_H_
#define SLUICE_FUSION_LIBRARY_EXTERNAL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sluice/dtype.h>
#include <sluice/shape.h>
#include "absl/types/span.h"
#include "fusion/lower/step.h"
#include "runtime/layout.h"

namespace sluice::fusion {

// An array in a block of memory.
struct ExternalArray {
  DType dtype = DType::kFloat32;
  int rank = 0;
  std::array<int64_t, kMaxRank> extents{}, strides{};
  int64_t offset = 0;  // from the base of the block, in elements

  Shape shape() const { return Shape(std::span(extents.data(), static_cast<size_t>(rank))); }
  Layout layout() const { return {shape(), strides, offset}; }
};

// A function and the attributes that it is called with. Immutable.
class ExternalFunction {
 public:
  virtual ~ExternalFunction() = default;

  virtual const std::string& name() const = 0;
  virtual const std::string& cuda_source() const = 0;

  // Of `inputs` only dtypes and extents count. These throw what the program's functions throw.
  virtual size_t workspace_bytes(absl::Span<const ExternalArray> inputs) const = 0;
  // `data`: of each input, row-major without gaps; `result`: of the output.
  virtual void run(absl::Span<const ExternalArray> inputs, absl::Span<const void* const> data,
                   const ExternalArray& output, void* result,
                   absl::Span<std::byte> workspace) const = 0;
};

// Those that nodes name, by number. Numbers are not used twice. Thread-safe.
class ExternalFunctions {
 public:
  static ExternalFunctions& get();

  int64_t add(std::shared_ptr<const ExternalFunction> function);
  std::shared_ptr<const ExternalFunction> find(int64_t number) const;  // null: forgotten
  void forget(int64_t number);

 private:
  mutable std::mutex mutex_;  // guards all below
  std::map<int64_t, std::shared_ptr<const ExternalFunction>> functions_;
  int64_t next_ = 0;
};

// Buffers: the inputs, and the output, which has no gaps.
struct ExternalAttributes : SizedAttributes<ExternalAttributes> {
  std::shared_ptr<const ExternalFunction> function;  // null: forgotten before it was planned
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
