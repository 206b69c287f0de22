// Tensor: a handle on a lazily computed, immutable n-dimensional array.
#ifndef SLUICE_TENSOR_H_
#define SLUICE_TENSOR_H_

#include <concepts>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <sluice/detail/export.h>
#include <sluice/detail/node_handle.h>
#include <sluice/device.h>
#include <sluice/dtype.h>
#include <sluice/error.h>
#include <sluice/index.h>
#include <sluice/scalar.h>
#include <sluice/shape.h>

namespace SLUICE_EXPORT sluice {

// Where a function is called, for traces: a default argument says it.
using Location = std::source_location;

// A list of axes. Each may be negative: -1 is the last. An empty list stands for all axes.
class Axes {
 public:
  Axes() = default;
  Axes(std::initializer_list<int> axes) : Axes(std::span<const int>(axes.begin(), axes.size())) {}
  Axes(std::span<const int> axes) : axes_(axes.begin(), axes.end()) {}
  Axes(const std::vector<int>& axes) : axes_(axes) {}
  template <std::same_as<int> T>
  Axes(T axis) : axes_{axis} {}

  [[nodiscard]] std::span<const int> span() const { return axes_; }
  [[nodiscard]] bool empty() const { return axes_.empty(); }

 private:
  std::vector<int> axes_;
};

class Operand;

// What std::span can be made of: an array, a std::vector, ... of elements.
template <typename R>
concept ElementRange = requires(const R& values) {
  std::span(values);
  requires Element<typename decltype(std::span(values))::value_type>;
};

// A handle of 8 bytes. Copying it copies the handle, not the data; the data is immutable, so that
// `x += y` changes what this handle names and nothing else. An op only records what to compute. The
// value is computed when it is read (item, to_vector, copy_to), on sync() or flush(), or when the
// pending queue is full. A result that no handle names by then, and that only fusible ops read,
// never touches memory: ops take temporaries by rvalue to let them go early.
//
// Handles may be used from any thread; one handle object is not to be changed by two at once.
// Every member but the ones marked otherwise throws Error (kFailedPrecondition) on an empty handle.
class [[nodiscard("an op changes no tensor: use its result")]] Tensor {
 public:
  Tensor() = default;  // the empty handle
  explicit Tensor(engine::NodeRef node) : node_(std::move(node)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor &&) noexcept = default;
  ~Tensor() = default;

  // Makes this handle name another value; what x(...) or an op returns has no name to change.
  Tensor& operator=(const Tensor&)& = default;
  Tensor& operator=(Tensor&&)& noexcept = default;
  template <typename T>
  Tensor& operator=(const T& value)&& = delete;  // instead: x = x.set({i, j}, value)

  // A tensor that holds a copy of `values` in row-major order. Throws Error (kInvalidArgument) if
  // their count is not the shape's.
  template <Element T>
  static Tensor from(std::span<const T> values, const Shape& shape) {
    return from_bytes(values.data(), values.size(), dtype_of<T>(), shape);
  }
  template <Element T>
  static Tensor from(std::initializer_list<T> values, const Shape& shape) {
    return from(std::span<const T>(values.begin(), values.size()), shape);
  }
  template <Element T>
  static Tensor from(std::initializer_list<T> values) {
    return from(values, Shape{static_cast<int64_t>(values.size())});
  }
  template <ElementRange R>
  static Tensor from(const R& values, const Shape& shape) {
    const std::span elements(values);
    using T = typename decltype(elements)::value_type;
    return from_bytes(elements.data(), elements.size(), dtype_of<T>(), shape);
  }
  template <ElementRange R>
  static Tensor from(const R& values) {
    return from(values, Shape{static_cast<int64_t>(std::size(values))});
  }
  static Tensor from(const std::vector<bool>& values, const Shape& shape);

  // False for the empty handle, which this may be asked of. (A Tensor is no bool: that could mean
  // this or item<bool>().)
  [[nodiscard]] bool defined() const { return node_ != nullptr; }

  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] int64_t shape(int axis) const;  // axis may be negative
  [[nodiscard]] int ndim() const { return shape().rank(); }
  [[nodiscard]] int64_t numel() const { return shape().numel(); }
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] Device device() const;

  // True once the result has been submitted to its device (it may still be running there).
  [[nodiscard]] bool is_materialized() const;

  // Submits what this tensor needs and waits for nothing.
  const Tensor& eval(Location where = Location::current()) const;

  // Names the value in traces, for whoever holds a handle on it. Does nothing while none is
  // recorded.
  const Tensor& named(std::string_view name) const&;
  Tensor named(std::string_view name)&&;

  // Reads. Each waits for this tensor's own result. Throws Error (kInvalidArgument) if T is not the
  // tensor's dtype, if item() is asked of more than one element or copy_to() is given a span of
  // another count; and whatever error computing the value met.
  template <Element T>
  [[nodiscard]] T item(Location where = Location::current()) const {
    check_read("item", dtype_of<T>(), 1);
    T value;
    read("item", &value, where);
    return value;
  }
  template <Element T>
  [[nodiscard]] std::vector<T> to_vector(Location where = Location::current()) const {
    check_read("to_vector", dtype_of<T>(), numel());
    wait("to_vector",
         where);  // a value that cannot be had fails here, before memory is taken for it
    const auto count = static_cast<size_t>(numel());
    if constexpr (std::is_same_v<T, bool>) {  // whose vector has no data()
      const auto bytes = to_vector_of<unsigned char>(count, where);
      return std::vector<bool>(bytes.begin(), bytes.end());
    } else {
      return to_vector_of<T>(count, where);
    }
  }
  template <Element T>
  void copy_to(std::span<T> destination, Location where = Location::current()) const {
    check_read("copy_to", dtype_of<T>(), static_cast<int64_t>(destination.size()));
    read("copy_to", destination.data(), where);
  }

  // NumPy's indexing; see Index. x[i] is the i-th element along axis 0. What integers, slices,
  // newaxis and ellipsis select is a view, what tensors select a gather, with NumPy's shapes.
  // Throws Error (kInvalidArgument) for indices that do not fit, kOutOfRange for an integer outside
  // its axis; an element of an index tensor outside its axis is an error where the result is read.
  Tensor operator()(const Index& a, const Index& b = {}, const Index& c = {}, const Index& d = {},
                    const Index& e = {}, const Index& f = {}, const Index& g = {},
                    const Index& h = {}) const;
  Tensor operator[](const Index& index) const;
  Tensor index(std::span<const Index> indices, Location where = Location::current()) const;

  // This tensor with `value` in place of the elements that (*this)(indices...) selects, and with
  // `value` added to them: x = x.set({0, Slice{}}, 1.f). The value is broadcast to their shape and
  // converted to this dtype. Of elements selected more than once, the last value wins in set() (in
  // row-major order of the selection), and all are added, in this order, by add_at().
  Tensor set(std::initializer_list<Index> indices, const Operand& value,
             Location where = Location::current()) const;
  Tensor set(std::span<const Index> indices, const Operand& value,
             Location where = Location::current()) const;
  Tensor add_at(std::initializer_list<Index> indices, const Operand& value,
                Location where = Location::current()) const;
  Tensor add_at(std::span<const Index> indices, const Operand& value,
                Location where = Location::current()) const;

  // Common ops as methods; each is the free function of the same name (include/sluice/ops.h), and T
  // is transpose. Called on a temporary they let it go.
  Tensor astype(DType dtype, Location where = Location::current()) const&;
  Tensor astype(DType dtype, Location where = Location::current())&&;
  Tensor reshape(const Shape& shape, Location where = Location::current()) const&;
  Tensor reshape(const Shape& shape, Location where = Location::current())&&;
  Tensor reshape(std::initializer_list<int64_t> dims, Location where = Location::current()) const&;
  Tensor reshape(std::initializer_list<int64_t> dims, Location where = Location::current())&&;
  Tensor permute(const Axes& axes, Location where = Location::current()) const&;
  Tensor permute(const Axes& axes, Location where = Location::current())&&;
  Tensor transpose(Location where = Location::current()) const&;
  Tensor transpose(Location where = Location::current())&&;
  Tensor T(Location where = Location::current()) const&;
  Tensor T(Location where = Location::current())&&;
  Tensor swapaxes(int a, int b, Location where = Location::current()) const&;
  Tensor swapaxes(int a, int b, Location where = Location::current())&&;
  Tensor slice(int axis, int64_t start, int64_t stop, int64_t step = 1,
               Location where = Location::current()) const&;
  Tensor slice(int axis, int64_t start, int64_t stop, int64_t step = 1,
               Location where = Location::current())&&;
  Tensor squeeze(const Axes& axes = {}, Location where = Location::current()) const&;
  Tensor squeeze(const Axes& axes = {}, Location where = Location::current())&&;
  Tensor expand_dims(int axis, Location where = Location::current()) const&;
  Tensor expand_dims(int axis, Location where = Location::current())&&;
  Tensor broadcast_to(const Shape& shape, Location where = Location::current()) const&;
  Tensor broadcast_to(const Shape& shape, Location where = Location::current())&&;
  Tensor flip(const Axes& axes = {}, Location where = Location::current()) const&;
  Tensor flip(const Axes& axes = {}, Location where = Location::current())&&;
  Tensor sum(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())
      const&;
  Tensor sum(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())&&;
  Tensor prod(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())
      const&;
  Tensor prod(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())&&;
  Tensor max(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())
      const&;
  Tensor max(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())&&;
  Tensor min(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())
      const&;
  Tensor min(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())&&;
  Tensor mean(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())
      const&;
  Tensor mean(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())&&;
  Tensor any(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())
      const&;
  Tensor any(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())&&;
  Tensor all(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())
      const&;
  Tensor all(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())&&;
  Tensor argmax(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())
      const&;
  Tensor argmax(const Axes& axes = {}, bool keepdims = false,
                Location where = Location::current())&&;
  Tensor argmin(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())
      const&;
  Tensor argmin(const Axes& axes = {}, bool keepdims = false,
                Location where = Location::current())&&;
  Tensor logsumexp(const Axes& axes = {}, bool keepdims = false,
                   Location where = Location::current()) const&;
  Tensor logsumexp(const Axes& axes = {}, bool keepdims = false,
                   Location where = Location::current())&&;
  Tensor norm(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())
      const&;
  Tensor norm(const Axes& axes = {}, bool keepdims = false, Location where = Location::current())&&;
  Tensor var(const Axes& axes = {}, bool keepdims = false, int ddof = 0,
             Location where = Location::current()) const&;
  Tensor var(const Axes& axes = {}, bool keepdims = false, int ddof = 0,
             Location where = Location::current())&&;
  Tensor std(const Axes& axes = {}, bool keepdims = false, int ddof = 0,
             Location where = Location::current()) const&;
  Tensor std(const Axes& axes = {}, bool keepdims = false, int ddof = 0,
             Location where = Location::current())&&;
  Tensor exp(Location where = Location::current()) const&;
  Tensor exp(Location where = Location::current())&&;
  Tensor log(Location where = Location::current()) const&;
  Tensor log(Location where = Location::current())&&;
  Tensor sqrt(Location where = Location::current()) const&;
  Tensor sqrt(Location where = Location::current())&&;
  Tensor abs(Location where = Location::current()) const&;
  Tensor abs(Location where = Location::current())&&;
  Tensor square(Location where = Location::current()) const&;
  Tensor square(Location where = Location::current())&&;
  Tensor tanh(Location where = Location::current()) const&;
  Tensor tanh(Location where = Location::current())&&;
  Tensor sigmoid(Location where = Location::current()) const&;
  Tensor sigmoid(Location where = Location::current())&&;
  Tensor relu(Location where = Location::current()) const&;
  Tensor relu(Location where = Location::current())&&;
  Tensor softmax(int axis = -1, Location where = Location::current()) const&;
  Tensor softmax(int axis = -1, Location where = Location::current())&&;
  Tensor matmul(const Tensor& other, Location where = Location::current()) const&;
  Tensor matmul(const Tensor& other, Location where = Location::current())&&;
  Tensor take(const Tensor& indices, int axis, Location where = Location::current()) const&;
  Tensor take(const Tensor& indices, int axis, Location where = Location::current())&&;

  // The same values on `device`: this very tensor if it is there already, else a copy, once this
  // tensor has been computed. Throws Error (kFailedPrecondition) if the process cannot use the
  // device; and whatever error computing the value met. Ops on tensors of two devices throw.
  Tensor to(Device device, Location where = Location::current()) const;

  // Gives up the node (the handle becomes empty) or shows it; for the frontend's own use.
  [[nodiscard]] engine::NodeRef release()&& { return std::move(node_); }
  [[nodiscard]] const engine::NodeRef& node_ref() const { return node_; }

 private:
  const engine::Node* node(const char* what) const;
  static Tensor from_bytes(const void* data, size_t count, DType dtype, const Shape& shape);
  template <typename T>
  std::vector<T> to_vector_of(size_t count, const Location& where) const {
    std::vector<T> values(count);
    read("to_vector", values.data(), where);
    return values;
  }
  void check_read(const char* what, DType dtype, int64_t count) const;
  void wait(const char* what, const Location& where) const;
  void read(const char* what, void* destination, const Location& where) const;

  engine::NodeRef node_;
};

// A tensor as the argument of an op: named, or a temporary that the op lets go of; and where the op
// is called.
class Arg {
 public:
  Arg(const Tensor& tensor, Location where = Location::current())
      : tensor_(&tensor), where_(where) {}
  Arg(Tensor&& tensor, Location where = Location::current())
      : tensor_(&tensor), consumed_(&tensor), where_(where) {}

  [[nodiscard]] const Tensor& tensor() const { return *tensor_; }
  // The temporary whose handle the op takes over, if it is one.
  [[nodiscard]] Tensor* consumed() const { return consumed_; }
  // To be called once the op has been recorded (or has thrown: then not).
  void release() const {
    if (consumed_ != nullptr) *consumed_ = Tensor();
  }
  [[nodiscard]] const Location& where() const { return where_; }

 private:
  const Tensor* tensor_;
  Tensor* consumed_ = nullptr;
  Location where_;
};

// Likewise, a tensor or a Scalar.
class Operand {
 public:
  Operand(const Tensor& tensor, Location where = Location::current())
      : tensor_(&tensor), scalar_(0), where_(where) {}
  Operand(Tensor&& tensor, Location where = Location::current())
      : tensor_(&tensor), consumed_(&tensor), scalar_(0), where_(where) {}
  Operand(const Arg& arg)
      : tensor_(&arg.tensor()), consumed_(arg.consumed()), scalar_(0), where_(arg.where()) {}
  Operand(Scalar scalar, Location where = Location::current()) : scalar_(scalar), where_(where) {}
  template <Element T>
  Operand(T value, Location where = Location::current()) : scalar_(value), where_(where) {}

  [[nodiscard]] bool is_tensor() const { return tensor_ != nullptr; }
  [[nodiscard]] const Tensor& tensor() const { return *tensor_; }
  [[nodiscard]] Scalar scalar() const { return scalar_; }
  // As of an Arg.
  [[nodiscard]] Tensor* consumed() const { return consumed_; }
  [[nodiscard]] const Location& where() const { return where_; }

 private:
  const Tensor* tensor_ = nullptr;
  Tensor* consumed_ = nullptr;
  Scalar scalar_;
  Location where_;
};

}  // namespace sluice

#endif  // SLUICE_TENSOR_H_
