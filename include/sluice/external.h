// Ops that a program adds: a function on memory, called like any op.
//
//   const ExternalOp median3({
//       .name = "median3",
//       .inputs = {"x"},
//       .result = [](std::span<const TensorSpec> x, const Attributes&) { return x[0]; },
//       .run = [](const ExternalCall& call) { filter(call.inputs[0].span<float>(),
//                                                    call.output.span<float>()); },
//   });
//   Tensor y = median3({x});              // or call("median3", {x})
//
// What is made of element-wise ops is better a function for map(), which fuses.
#ifndef SLUICE_EXTERNAL_H_
#define SLUICE_EXTERNAL_H_

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <sluice/detail/function.h>
#include <sluice/registry.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {

// What is known of a tensor before it is computed.
struct TensorSpec {
  Shape shape;
  DType dtype = DType::kFloat32;
};

// A tensor's elements in memory, row-major without gaps, during a call.
class ExternalInput {
 public:
  ExternalInput(TensorSpec spec, const void* data) : spec_(spec), data_(data) {}

  [[nodiscard]] const Shape& shape() const { return spec_.shape; }
  [[nodiscard]] DType dtype() const { return spec_.dtype; }
  [[nodiscard]] const void* data() const { return data_; }
  // Throws Error (kInvalidArgument) if T is not the dtype.
  template <Element T>
  [[nodiscard]] std::span<const T> span() const {
    check(dtype_of<T>());
    return {static_cast<const T*>(data_), static_cast<size_t>(spec_.shape.numel())};
  }

 private:
  friend class ExternalOutput;
  void check(DType dtype) const;

  TensorSpec spec_;
  const void* data_;
};

// Likewise, to be written: every element of it.
class ExternalOutput {
 public:
  ExternalOutput(TensorSpec spec, void* data) : as_input_(spec, data), data_(data) {}

  [[nodiscard]] const Shape& shape() const { return as_input_.shape(); }
  [[nodiscard]] DType dtype() const { return as_input_.dtype(); }
  [[nodiscard]] void* data() const { return data_; }
  template <Element T>
  [[nodiscard]] std::span<T> span() const {
    as_input_.check(dtype_of<T>());
    return {static_cast<T*>(data_), static_cast<size_t>(shape().numel())};
  }

 private:
  ExternalInput as_input_;
  void* data_;
};

// What the function of an op is given. The output and the workspace are uninitialised, and overlap
// nothing.
struct ExternalCall {
  std::span<const ExternalInput> inputs;
  ExternalOutput output;
  std::span<std::byte> workspace;  // aligned to 64 bytes
  const Attributes& attributes;    // all of the definition's, with their defaults
};

// What an op is. `name`, `result` and one of `run` and `cuda_source` are needed.
//
// The functions depend on their arguments alone: a call is computed when its result is needed, not
// at all if it is not, and once for two equal ones. Any thread may call them, several at a time;
// they must not use tensors. The engine's plans hold them, and may outlive the ExternalOp.
struct ExternalDefinition {
  std::string name;
  std::vector<std::string> inputs = {"x"};  // names
  std::vector<AttributeInfo> attributes = {};
  std::string doc = {};

  // The result's shape and dtype. Called at the call of the op; what it throws is thrown there.
  std::function<TensorSpec(std::span<const TensorSpec> inputs, const Attributes& attributes)>
      result = {};
  // How many bytes of workspace `run` needs for such inputs; none if empty.
  std::function<size_t(std::span<const TensorSpec> inputs, const Attributes& attributes)>
      workspace = {};
  // Computes the result on the host. It should allocate nothing that grows with its inputs: that is
  // what the workspace is for. What it throws becomes the failure of the result, thrown where that
  // is read. Floats that are NaN are to be written as quiet_NaN(), bools as 0 or 1.
  std::function<void(const ExternalCall&)> run = {};

  // CUDA C++ for GPUs, compiled when the op first runs there. It defines
  //   __device__ void compute(const sluice_call& call, long long i)
  // which writes element i, in row-major order, of call.output, a pointer to void. `call` also has
  // `elements`, the number of these, and for input k `inputs[k]`, with `data`, `rank`, `extents[d]`
  // and `strides[d]` (in elements); sluice_at<T>(call, k, i) is its element i in row-major order.
  // Without a source the op runs on copies in the host's memory, for which the call waits.
  std::string cuda_source = {};

  // The gradient of each input, of its shape, by that of the result: computed by ops, of what these
  // tensors hold and nothing else. An undefined tensor: it is zero. Without it gradients() throws
  // (kUnimplemented) where one of the op is needed.
  std::function<std::vector<Tensor>(const Tensor& g, std::span<const Tensor> inputs,
                                    const Attributes& attributes)>
      gradient = {};
};

// An op by this definition, as long as this lives; op() and call() know it by its name, ops() does
// not list it. Before it is gone, calls that are pending are submitted. One that is recorded by
// another thread meanwhile may fail where its result is read.
class ExternalOp {
 public:
  // Throws Error (kInvalidArgument) if the definition lacks something, kAlreadyExists if there is
  // an op of this name.
  explicit ExternalOp(ExternalDefinition definition);
  ~ExternalOp();
  ExternalOp(ExternalOp&& other) noexcept;
  ExternalOp& operator=(ExternalOp&&) = delete;

  // The op of these tensors. Throws Error (kInvalidArgument) for another number of inputs than the
  // definition's, for inputs on several devices, and for attributes as call() does.
  Tensor operator()(std::initializer_list<Tensor> inputs, const Attributes& attributes = {},
                    Location where = Location::current()) const;
  Tensor operator()(std::span<const Tensor> inputs, const Attributes& attributes = {},
                    Location where = Location::current()) const;

  [[nodiscard]] const OpInfo& info() const;

 private:
  struct Registration;
  Registration* registration_;
};

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_EXTERNAL_H_
