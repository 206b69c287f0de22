#include "frontend/memory.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "engine/engine.h"
#include "frontend/checks.h"

namespace sluice {
namespace frontend {

Layout checked_layout(const char* op, DType dtype, const Shape& shape,
                      std::span<const int64_t> strides) {
  check_bytes(op, dtype, shape);
  Layout layout = contiguous_layout(shape);
  if (strides.empty()) return layout;
  if (strides.size() != static_cast<size_t>(shape.rank())) {
    fail(op, strides.size(), " strides were given for ", describe(dtype, shape));
  }
  // The reach in bytes, in both directions together.
  int64_t reach = 1;
  for (int k = 0; k < shape.rank(); ++k) {
    layout.strides[k] = strides[k];
    int64_t along = 0;
    if (shape[k] > 1 && (strides[k] == INT64_MIN ||
                         __builtin_mul_overflow(std::abs(strides[k]), shape[k] - 1, &along) ||
                         __builtin_add_overflow(reach, along, &reach))) {
      reach = INT64_MAX;
    }
    if (reach > INT64_MAX / static_cast<int64_t>(size_of(dtype))) {
      fail(op, describe(dtype, shape), " with strides (", absl::StrJoin(strides, ", "),
           ") reaches further than int64 can count");
    }
  }
  return layout;
}

Tensor copied(const void* data, const Layout& layout, DType dtype) {
  const Shape& shape = layout.shape;
  const Device device = default_device();
  if (is_contiguous(layout)) return Tensor(engine::from_host(data, dtype, shape, device));
  const size_t size = size_of(dtype);
  const auto values = std::make_unique<char[]>(static_cast<size_t>(shape.numel()) * size);
  copy_elements(shape, size, static_cast<const char*>(data), layout.strides, values.get(),
                contiguous_layout(shape).strides);
  return Tensor(engine::from_host(values.get(), dtype, shape, device));
}

// On a GPU, and where the address does not suit the dtype, the values are copied.
Tensor adopt(const char* op, const void* data, const Shape& shape, DType dtype,
             std::function<void()> deleter, std::span<const int64_t> strides) {
  // Calls the deleter, unless the engine takes it over.
  struct GiveBack {
    std::function<void()> function;
    ~GiveBack() {
      if (function) function();
    }
  } owner{std::move(deleter)};
  const Layout layout = checked_layout(op, dtype, shape, strides);
  if (shape.numel() > 0 && data == nullptr) fail(op, "null was given for ", describe(dtype, shape));
  const size_t size = size_of(dtype);
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (default_device() != Device::cpu() || address % size != 0 || shape.numel() == 0) {
    return copied(data, layout, dtype);
  }
  const auto [least, greatest] = address_range(layout);
  Layout placed = layout;
  placed.offset = -least;
  auto* const start =
      const_cast<char*>(static_cast<const char*>(data)) + least * static_cast<int64_t>(size);
  const size_t bytes = static_cast<size_t>(greatest - least + 1) * size;
  return Tensor(
      engine::from_lent(start, bytes, dtype, placed, std::exchange(owner.function, nullptr)));
}

}  // namespace frontend

Tensor Tensor::adopt(void* data, const Shape& shape, DType dtype, std::function<void()> deleter,
                     const std::vector<int64_t>& strides) {
  return frontend::adopt("adopt", data, shape, dtype, std::move(deleter), strides);
}

Tensor Tensor::borrow_bytes(const void* data, size_t count, DType dtype, const Shape& shape) {
  if (static_cast<int64_t>(count) != shape.numel()) {
    frontend::fail("borrow", count, " values do not fill ", frontend::describe(dtype, shape),
                   ", which has ", shape.numel(), " elements");
  }
  return frontend::adopt("borrow", data, shape, dtype, {}, {});
}

}  // namespace sluice
