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

#include <sluice/detail/function.h>
#include <sluice/detail/node_handle.h>
#include <sluice/device.h>
#include <sluice/dtype.h>
#include <sluice/error.h>
#include <sluice/index.h>
#include <sluice/scalar.h>
#include <sluice/shape.h>

#pragma GCC visibility push(default)
namespace sluice {

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

// One of the extents that reshape(2, -1) is given, and where.
class Extent {
 public:
  Extent() = default;  // none
  template <std::integral T>
  requires(!std::same_as<T, bool>) Extent(T value, Location where = Location::current())
      : value_(static_cast<int64_t>(value)), given_(true), where_(where) {}

  [[nodiscard]] int64_t value() const { return value_; }
  [[nodiscard]] bool given() const { return given_; }
  [[nodiscard]] const Location& where() const { return where_; }

 private:
  int64_t value_ = 0;
  bool given_ = false;
  Location where_;
};

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
  // from({{1.f, 2.f}, {3.f, 4.f}}): rows, and lists of rows. They must be of one length.
  template <Element T>
  static Tensor from(std::initializer_list<std::initializer_list<T>> rows) {
    std::vector<T> values;
    return from(values, Shape(append(rows, &values)));
  }
  template <Element T>
  static Tensor from(std::initializer_list<std::initializer_list<std::initializer_list<T>>> rows) {
    std::vector<T> values;
    return from(values, Shape(append(rows, &values)));
  }

  // A tensor on memory of the program's own, which nobody may change while the engine needs it. On
  // the CPU nothing is copied if `data` is aligned for the dtype; on a GPU, and otherwise, the
  // values are copied and the memory is given back at once. The engine never writes to it, and does
  // not count it (bytes_live). Values of kBool must be 0 or 1.
  //
  // `data` is the first element; `strides`, in elements, may be 0 or negative, and are row-major's
  // if empty. `deleter` is called exactly once, when the memory is no longer needed: by whichever
  // thread is the last to use it, which may be one of the engine's, so that it must neither throw
  // nor use Sluice. If adopt() throws, it has been called.
  static Tensor adopt(void* data, const Shape& shape, DType dtype,
                      std::function<void()> deleter = {}, const std::vector<int64_t>& strides = {});
  // Likewise, of values that the caller keeps, unchanged, as long as a handle is on the tensor and
  // what reads it has not been computed: once the handles are gone, sync() ends the loan. Throws
  // Error (kInvalidArgument) if the count is not the shape's.
  template <Element T>
  static Tensor borrow(std::span<const T> values, const Shape& shape) {
    return borrow_bytes(values.data(), values.size(), dtype_of<T>(), shape);
  }
  template <ElementRange R>
  static Tensor borrow(const R& values, const Shape& shape) {
    const std::span elements(values);
    using T = typename decltype(elements)::value_type;
    return borrow_bytes(elements.data(), elements.size(), dtype_of<T>(), shape);
  }
  template <ElementRange R>
  requires(!std::ranges::enable_borrowed_range<R>) static Tensor borrow(
      const R&& values, const Shape& shape) = delete;

  // False for the empty handle, which this may be asked of. (A Tensor is no bool: that could mean
  // this or item<bool>().)
  [[nodiscard]] bool defined() const { return node_ != nullptr; }

  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] int64_t shape(int axis) const;  // axis may be negative
  [[nodiscard]] int ndim() const { return shape().rank(); }
  [[nodiscard]] int64_t numel() const { return shape().numel(); }
  [[nodiscard]] int64_t size() const { return numel(); }
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

  // Reads. Each waits for this tensor's own result, and throws whatever error computing it met.
  //
  // item() is the value of one element, converted to T as astype() would. The others give elements
  // as they are, in row-major order: they throw Error (kInvalidArgument) if T is not the tensor's
  // dtype, or if a span is of another count.
  template <Element T>
  [[nodiscard]] T item(Location where = Location::current()) const {
    return element(where).template as<T>();
  }
  template <Element T>
  [[nodiscard]] std::vector<T> to_vector(Location where = Location::current()) const {
    check_read("to_vector", dtype_of<T>());
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

  // Element (i, j, ...) goes to destination[i * strides[0] + j * strides[1] + ...]; strides are not
  // negative, and the last element must lie within the span.
  template <Element T>
  void copy_to(std::span<T> destination, const std::vector<int64_t>& strides,
               Location where = Location::current()) const {
    check_read("copy_to", dtype_of<T>());
    read_strided(destination.data(), destination.size(), strides, where);
  }
  // The elements where they are, or a copy of what does not lie in row-major order or is on a GPU.
  // They live as long as a handle on this tensor.
  template <Element T>
  [[nodiscard]] std::span<const T> span(Location where = Location::current()) const {
    check_read("span", dtype_of<T>());
    return {static_cast<const T*>(values(where)), static_cast<size_t>(numel())};
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
  // reshape(-1), reshape(2, -1): one extent may be -1 here too.
  Tensor reshape(int64_t extent, Location where = Location::current()) const&;
  Tensor reshape(int64_t extent, Location where = Location::current())&&;
  Tensor reshape(Extent a, Extent b, Extent c = {}, Extent d = {}, Extent e = {}, Extent f = {},
                 Extent g = {}, Extent h = {}) const&;
  Tensor reshape(Extent a, Extent b, Extent c = {}, Extent d = {}, Extent e = {}, Extent f = {},
                 Extent g = {}, Extent h = {})&&;
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
  Tensor neg(Location where = Location::current()) const&;
  Tensor neg(Location where = Location::current())&&;
  Tensor abs(Location where = Location::current()) const&;
  Tensor abs(Location where = Location::current())&&;
  Tensor sign(Location where = Location::current()) const&;
  Tensor sign(Location where = Location::current())&&;
  Tensor exp(Location where = Location::current()) const&;
  Tensor exp(Location where = Location::current())&&;
  Tensor exp2(Location where = Location::current()) const&;
  Tensor exp2(Location where = Location::current())&&;
  Tensor expm1(Location where = Location::current()) const&;
  Tensor expm1(Location where = Location::current())&&;
  Tensor log(Location where = Location::current()) const&;
  Tensor log(Location where = Location::current())&&;
  Tensor log2(Location where = Location::current()) const&;
  Tensor log2(Location where = Location::current())&&;
  Tensor log10(Location where = Location::current()) const&;
  Tensor log10(Location where = Location::current())&&;
  Tensor log1p(Location where = Location::current()) const&;
  Tensor log1p(Location where = Location::current())&&;
  Tensor sqrt(Location where = Location::current()) const&;
  Tensor sqrt(Location where = Location::current())&&;
  Tensor rsqrt(Location where = Location::current()) const&;
  Tensor rsqrt(Location where = Location::current())&&;
  Tensor square(Location where = Location::current()) const&;
  Tensor square(Location where = Location::current())&&;
  Tensor reciprocal(Location where = Location::current()) const&;
  Tensor reciprocal(Location where = Location::current())&&;
  Tensor sin(Location where = Location::current()) const&;
  Tensor sin(Location where = Location::current())&&;
  Tensor cos(Location where = Location::current()) const&;
  Tensor cos(Location where = Location::current())&&;
  Tensor sinc(Location where = Location::current()) const&;
  Tensor sinc(Location where = Location::current())&&;
  Tensor tan(Location where = Location::current()) const&;
  Tensor tan(Location where = Location::current())&&;
  Tensor asin(Location where = Location::current()) const&;
  Tensor asin(Location where = Location::current())&&;
  Tensor acos(Location where = Location::current()) const&;
  Tensor acos(Location where = Location::current())&&;
  Tensor atan(Location where = Location::current()) const&;
  Tensor atan(Location where = Location::current())&&;
  Tensor sinh(Location where = Location::current()) const&;
  Tensor sinh(Location where = Location::current())&&;
  Tensor cosh(Location where = Location::current()) const&;
  Tensor cosh(Location where = Location::current())&&;
  Tensor tanh(Location where = Location::current()) const&;
  Tensor tanh(Location where = Location::current())&&;
  Tensor asinh(Location where = Location::current()) const&;
  Tensor asinh(Location where = Location::current())&&;
  Tensor acosh(Location where = Location::current()) const&;
  Tensor acosh(Location where = Location::current())&&;
  Tensor atanh(Location where = Location::current()) const&;
  Tensor atanh(Location where = Location::current())&&;
  Tensor erf(Location where = Location::current()) const&;
  Tensor erf(Location where = Location::current())&&;
  Tensor erfc(Location where = Location::current()) const&;
  Tensor erfc(Location where = Location::current())&&;
  Tensor floor(Location where = Location::current()) const&;
  Tensor floor(Location where = Location::current())&&;
  Tensor ceil(Location where = Location::current()) const&;
  Tensor ceil(Location where = Location::current())&&;
  Tensor round(Location where = Location::current()) const&;
  Tensor round(Location where = Location::current())&&;
  Tensor trunc(Location where = Location::current()) const&;
  Tensor trunc(Location where = Location::current())&&;
  Tensor isnan(Location where = Location::current()) const&;
  Tensor isnan(Location where = Location::current())&&;
  Tensor isinf(Location where = Location::current()) const&;
  Tensor isinf(Location where = Location::current())&&;
  Tensor isfinite(Location where = Location::current()) const&;
  Tensor isfinite(Location where = Location::current())&&;
  Tensor logical_not(Location where = Location::current()) const&;
  Tensor logical_not(Location where = Location::current())&&;
  Tensor bitwise_not(Location where = Location::current()) const&;
  Tensor bitwise_not(Location where = Location::current())&&;
  Tensor sigmoid(Location where = Location::current()) const&;
  Tensor sigmoid(Location where = Location::current())&&;
  Tensor relu(Location where = Location::current()) const&;
  Tensor relu(Location where = Location::current())&&;
  Tensor gelu(Location where = Location::current()) const&;
  Tensor gelu(Location where = Location::current())&&;
  Tensor silu(Location where = Location::current()) const&;
  Tensor silu(Location where = Location::current())&&;
  Tensor softplus(Location where = Location::current()) const&;
  Tensor softplus(Location where = Location::current())&&;
  Tensor mish(Location where = Location::current()) const&;
  Tensor mish(Location where = Location::current())&&;
  Tensor pow(const Operand& exponent, Location where = Location::current()) const&;
  Tensor pow(const Operand& exponent, Location where = Location::current())&&;
  Tensor maximum(const Operand& other, Location where = Location::current()) const&;
  Tensor maximum(const Operand& other, Location where = Location::current())&&;
  Tensor minimum(const Operand& other, Location where = Location::current()) const&;
  Tensor minimum(const Operand& other, Location where = Location::current())&&;
  Tensor clip(const Operand& lo, const Operand& hi, Location where = Location::current()) const&;
  Tensor clip(const Operand& lo, const Operand& hi, Location where = Location::current())&&;
  Tensor cumsum(int axis, Location where = Location::current()) const&;
  Tensor cumsum(int axis, Location where = Location::current())&&;
  Tensor cumprod(int axis, Location where = Location::current()) const&;
  Tensor cumprod(int axis, Location where = Location::current())&&;
  Tensor softmax(int axis = -1, Location where = Location::current()) const&;
  Tensor softmax(int axis = -1, Location where = Location::current())&&;
  Tensor matmul(const Tensor& other, Location where = Location::current()) const&;
  Tensor matmul(const Tensor& other, Location where = Location::current())&&;
  Tensor take(const Tensor& indices, int axis, Location where = Location::current()) const&;
  Tensor take(const Tensor& indices, int axis, Location where = Location::current())&&;
  Tensor take(std::initializer_list<int64_t> indices, int axis,
              Location where = Location::current()) const&;
  Tensor take(std::initializer_list<int64_t> indices, int axis,
              Location where = Location::current())&&;

  // The same values on `device`: this very tensor if it is there already, else a copy, once this
  // tensor has been computed. Throws Error (kFailedPrecondition) if the process cannot use the
  // device; and whatever error computing the value met. Ops on tensors of two devices throw.
  Tensor to(Device device, Location where = Location::current()) const;

  // A leaf with the same value: what is computed from it needs a gradient (sluice/autograd.h).
  // Throws Error (kInvalidArgument) if the dtype is not a float.
  Tensor requires_grad(Location where = Location::current()) const;
  // True of a leaf, and of what was computed from one.
  [[nodiscard]] bool needs_grad() const;
  // What backward() has added up for this leaf; the empty handle if nothing has been.
  Tensor grad() const;
  // Forgets it.
  void zero_grad() const;

  // Gives up the node (the handle becomes empty) or shows it; for the frontend's own use.
  [[nodiscard]] engine::NodeRef release()&& { return std::move(node_); }
  [[nodiscard]] const engine::NodeRef& node_ref() const { return node_; }

 private:
  const engine::Node* node(const char* what) const;
  static Tensor from_bytes(const void* data, size_t count, DType dtype, const Shape& shape);
  static Tensor borrow_bytes(const void* data, size_t count, DType dtype, const Shape& shape);
  // The extents of nested lists, whose elements are appended to `values`.
  template <typename T>
  static std::vector<int64_t> append(std::initializer_list<T> list, auto* values) {
    std::vector<int64_t> dims;
    if constexpr (Element<T>) {
      values->insert(values->end(), list.begin(), list.end());
    } else {
      for (const T& row : list) {
        std::vector<int64_t> row_dims = append(row, values);
        if (&row != list.begin() && row_dims != dims) fail_ragged(Shape(dims), Shape(row_dims));
        dims = std::move(row_dims);
      }
      if (list.size() == 0) dims.resize(nesting<T>());
    }
    dims.insert(dims.begin(), static_cast<int64_t>(list.size()));
    return dims;
  }
  template <typename T>
  static constexpr int nesting() {
    if constexpr (Element<T>) {
      return 0;
    } else {
      return 1 + nesting<typename T::value_type>();
    }
  }
  [[noreturn]] static void fail_ragged(const Shape& first, const Shape& other);
  Scalar element(const Location& where) const;
  const void* values(const Location& where) const;
  void read_strided(void* destination, size_t count, std::span<const int64_t> strides,
                    const Location& where) const;
  template <typename T>
  std::vector<T> to_vector_of(size_t count, const Location& where) const {
    std::vector<T> values(count);
    read("to_vector", values.data(), where);
    return values;
  }
  static constexpr int64_t kAnyCount = -1;
  void check_read(const char* what, DType dtype, int64_t count = kAnyCount) const;
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
#pragma GCC visibility pop

#endif  // SLUICE_TENSOR_H_
