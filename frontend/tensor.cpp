#include "sluice/frontend/tensor.h"

#include <string_view>
#include <utility>

#include "sluice/frontend/checks.h"
#include "sluice/frontend/ops.h"
#include "sluice/frontend/record.h"

namespace sluice {

using frontend::describe;
using frontend::fail;

void Tensor::fail_empty(const char* what) { frontend::fail_empty(what); }

Tensor Tensor::from_bytes(const void* data, size_t count, DType dtype, const Shape& shape) {
  if (static_cast<int64_t>(count) != shape.numel()) {
    fail("from", count, " values do not fill ", describe(dtype, shape), ", which has ",
         shape.numel(), " elements");
  }
  frontend::check_bytes("from", dtype, shape);
  return Tensor(engine::from_host(data, dtype, shape, default_device()));
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

const Tensor& Tensor::eval() const {
  node("eval");
  engine::evaluate(node_.get(), engine::FlushCause::kEval, runtime::SubmitMode::kDetached);
  return *this;
}

void Tensor::check_read(const char* what, DType dtype, int64_t count) const {
  node(what);
  if (dtype != this->dtype()) {
    fail(what, "asked for ", name_of(dtype), ", but the tensor is ", describe(*this));
  }
  if (count == numel()) return;
  if (std::string_view(what) == "item") fail(what, describe(*this), " is not one element");
  fail(what, count, " elements were given for ", describe(*this), ", which has ", numel());
}

void Tensor::wait(const char* what) const {
  node(what);
  engine::wait(node_.get());
}

void Tensor::read(const char* what, void* destination) const {
  node(what);
  engine::read(node_.get(), destination);
}

Tensor Tensor::to(Device device) const {
  node("to");
  if (device == this->device()) return *this;
  check_device(device);
  return Tensor(engine::copy_to(node_.get(), device));
}

#define SLUICE_THIS *this
#define SLUICE_METHOD(name, parameters, without_defaults, call) \
  Tensor Tensor::name without_defaults const& { return call; }
#include "sluice/frontend/methods.def"
#undef SLUICE_THIS

#define SLUICE_THIS std::move(*this)
#define SLUICE_METHOD(name, parameters, without_defaults, call) \
  Tensor Tensor::name without_defaults&& { return call; }
#include "sluice/frontend/methods.def"
#undef SLUICE_THIS

}  // namespace sluice
