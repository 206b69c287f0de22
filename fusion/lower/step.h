// The steps of a plan: launches of kernels and calls of libraries.
//
// Whoever only schedules steps looks at them as Calls: which memory each touches, what its outputs
// depend on, and which nodes it computes.
#ifndef SLUICE_FUSION_LOWER_STEP_H_
#define SLUICE_FUSION_LOWER_STEP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "fusion/graph/graph.h"
#include "fusion/graph/memory_ref.h"
#include "fusion/ir/program.h"

namespace sluice::fusion {

// What an output of a call depends on, for errors that are known only after it ran: indices into
// the call's buffers and error slots.
struct OutputDependence {
  int32_t buffer = 0;  // the output
  std::vector<int32_t> buffers;
  std::vector<int32_t> error_slots;

  bool operator==(const OutputDependence&) const = default;
};

// What a kernel and a library call have in common.
struct Call {
  std::vector<MemoryRef> buffers;  // all that it reads or writes
  std::vector<OutputDependence> outputs;
  std::vector<NodeId> error_slots;  // the node that each slot belongs to
  std::vector<NodeId> nodes;        // what it computes, in order

  const MemoryRef& memory_of(const OutputDependence& output) const {
    return buffers[output.buffer];
  }
  bool operator==(const Call&) const = default;
};

// A Program and its arguments; see kernels::KernelArgs.
struct KernelCall : Call {
  Program program;
  std::vector<int64_t> extents;
  std::vector<int64_t> accesses;
  std::vector<int64_t> params;
  std::vector<int32_t> scalars;  // numbers of the window's scalars

  // Of all dims.
  int64_t num_points() const {
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  }
};

// Applied to each element of a library call's output before it is written.
struct Epilogue {
  Op op = Op::kAdd;  // or another of fusion/ir/epilogue_ops.h
  // Not of activations: float32, in the order of the output's elements, or of those of any one row.
  int32_t operand = -1;  // an index into the call's buffers
  int64_t offset = 0;    // from the base of the block, in elements
  bool one_row = false;
};

// The kinds of library calls: a row each in fusion/ir/library.def.
enum class LibraryKind : uint8_t {
#define SLUICE_LIBRARY_KIND(id, name) k##id,
#include "fusion/ir/library.def"
  kCount
};
inline constexpr int kNumLibraryKinds = static_cast<int>(LibraryKind::kCount);

// The parameters of one call: shapes, strides, options. Each kind derives its own type in its
// header, with a function that gets it from a call. Immutable.
class LibraryAttributes {
 public:
  virtual ~LibraryAttributes() = default;

  // For people, on one line: "1x64x64x64".
  virtual std::string text() const = 0;
  virtual int64_t flops() const = 0;
  virtual double cost() const = 0;  // rough nanoseconds on one core
  // The length of the rows of the output, float32 and without gaps, to which the library applies
  // epilogues; 0 if it applies none.
  virtual int64_t epilogue_row() const { return 0; }
  // All that sizes decide, in some order: extents, strides, offsets.
  virtual std::vector<int64_t> numbers() const = 0;
  // The same call of other sizes.
  virtual std::shared_ptr<const LibraryAttributes> with(
      absl::Span<const int64_t> numbers) const = 0;
};

// `Own`, which has a static for_each_number(attributes, f) that calls f for each of the numbers.
template <typename Own>
class SizedAttributes : public LibraryAttributes {
 public:
  std::vector<int64_t> numbers() const override {
    std::vector<int64_t> result;
    Own::for_each_number(static_cast<const Own&>(*this),
                         [&](int64_t number) { result.push_back(number); });
    return result;
  }
  std::shared_ptr<const LibraryAttributes> with(absl::Span<const int64_t> numbers) const override {
    auto result = std::make_shared<Own>(static_cast<const Own&>(*this));
    auto next = numbers.begin();
    Own::for_each_number(*result, [&](int64_t& number) { number = *next++; });
    return result;
  }

 private:
  friend Own;
  SizedAttributes() = default;
};

// Its buffers are the node's operands, the one output, and the epilogues' operands, in this order.
struct LibraryCall : Call {
  LibraryKind kind{};
  std::shared_ptr<const LibraryAttributes> attributes;  // of the kind's own type
  std::vector<Epilogue> epilogues;                      // in the order in which they apply
  bool allow_tf32 = false;  // operands of float32 may be rounded to TF32, where there is that

  const MemoryRef& output() const { return memory_of(outputs[0]); }
};

// One launch of kernels that don't depend on each other and run side by side, or one library call.
struct Step {
  std::vector<KernelCall> kernels;     // none if it is a library call
  std::optional<LibraryCall> library;  // nullopt if it is a launch
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  double cost = 0;  // rough nanoseconds on one core

  size_t num_calls() const { return library ? 1 : kernels.size(); }
  const Call& call(size_t k) const {
    return library ? static_cast<const Call&>(*library) : kernels[k];
  }
};

// Calls f(const MemoryRef&) for each block that is read or written.
template <typename F>
void for_each_memory(const Step& step, F f) {
  for (size_t k = 0; k < step.num_calls(); ++k) {
    for (const MemoryRef& memory : step.call(k).buffers) f(memory);
  }
}

// Likewise for each that is written.
template <typename F>
void for_each_output(const Step& step, F f) {
  for (size_t k = 0; k < step.num_calls(); ++k) {
    const Call& call = step.call(k);
    for (const OutputDependence& output : call.outputs) f(call.memory_of(output));
  }
}

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_STEP_H_
