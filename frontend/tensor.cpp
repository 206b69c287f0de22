#include <sluice/tensor.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "engine/engine.h"
#include "engine/observe/call_site.h"
#include "engine/observe/names.h"
#include "frontend/checks.h"
#include "frontend/memory.h"

namespace sluice {

using engine::CallSite;
using frontend::describe;
using frontend::fail;

const engine::Node* Tensor::node(const char* what) const {
  if (node_ == nullptr) [[unlikely]]
    frontend::fail_empty(what);
  return node_.get();
}

const Shape& Tensor::shape() const { return node("shape")->layout.shape; }
DType Tensor::dtype() const { return node("dtype")->dtype; }
Device Tensor::device() const { return node("device")->device; }
bool Tensor::is_materialized() const { return node("is_materialized")->submitted(); }

Tensor Tensor::from_bytes(const void* data, size_t count, DType dtype, const Shape& shape) {
  if (static_cast<int64_t>(count) != shape.numel()) {
    fail("from", count, " values do not fill ", describe(dtype, shape), ", which has ",
         shape.numel(), " elements");
  }
  frontend::check_bytes("from", dtype, shape);
  return Tensor(engine::from_host(data, dtype, shape, default_device()));
}

void Tensor::fail_ragged(const Shape& first, const Shape& other) {
  fail("from", "the lists are not of one length: ", to_string(first), " and ", to_string(other));
}

Tensor Tensor::from(const std::vector<bool>& values, const Shape& shape) {
  const auto bytes = std::make_unique<bool[]>(values.size());
  std::copy(values.begin(), values.end(), bytes.get());
  return from(std::span<const bool>(bytes.get(), values.size()), shape);
}

int64_t Tensor::shape(int axis) const {
  node("shape");
  return shape()[frontend::check_axis("shape", axis, ndim(), *this)];
}

const Tensor& Tensor::eval(Location where) const {
  node("eval");
  const CallSite site(where, "eval");
  engine::evaluate(node_.get(), engine::FlushCause::kEval, runtime::SubmitMode::kDetached);
  return *this;
}

void Tensor::check_read(const char* what, DType dtype, int64_t count) const {
  node(what);
  if (dtype != this->dtype()) {
    fail(what, "asked for ", name_of(dtype), ", but the tensor is ", describe(*this),
         "; astype() converts");
  }
  if (count == numel() || count == kAnyCount) return;
  fail(what, count, " elements were given for ", describe(*this), ", which has ", numel());
}

Scalar Tensor::element(const Location& where) const {
  node("item");
  if (numel() != 1) {
    fail("item", describe(*this), " is not one element; to_vector() reads all");
  }
  return visit_dtype(dtype(), [&]<typename T>() -> Scalar {
    T value;
    read("item", &value, where);
    return value;
  });
}

const Tensor& Tensor::named(std::string_view name) const& {
  node("named");
  if (engine::is_recording()) engine::NodeNames::get().set(node_.get(), name);
  return *this;
}

Tensor Tensor::named(std::string_view name) && {
  static_cast<const Tensor&>(*this).named(name);
  return std::move(*this);
}

void Tensor::wait(const char* what, const Location& where) const {
  node(what);
  const CallSite site(where, what);
  engine::wait(node_.get());
}

void Tensor::read(const char* what, void* destination, const Location& where) const {
  node(what);
  const CallSite site(where, what);
  engine::read(node_.get(), destination);
}

const void* Tensor::values(const Location& where) const {
  const CallSite site(where, "span");
  return engine::read_in_place(node_.get());
}

void Tensor::read_strided(void* destination, size_t count, std::span<const int64_t> strides,
                          const Location& where) const {
  const CallSite site(where, "copy_to");
  const Layout layout = frontend::checked_layout("copy_to", dtype(), shape(), strides);
  if (numel() > 0) {
    const auto [least, greatest] = address_range(layout);
    if (least < 0 || greatest >= static_cast<int64_t>(count)) {
      fail("copy_to", describe(*this), " with strides (", absl::StrJoin(strides, ", "),
           ") reaches elements ", least, " to ", greatest, ", but the span has ", count);
    }
  }
  engine::read(node_.get(), destination, layout);
}

Tensor Tensor::to(Device device, Location where) const {
  node("to");
  const CallSite site(where, "to");
  if (device == this->device()) return *this;
  check_device(device);
  return Tensor(engine::copy_to(node_.get(), device));
}

}  // namespace sluice
