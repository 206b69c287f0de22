#include "kernels/library/products/products_impl.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

// Signed integers multiply and add like unsigned ones, which wrap. There are no products of vectors
// of bytes.
void fill_integer_products(ProductTable& table) {
  for (const DType dtype : {DType::kInt8, DType::kUInt8}) {
    Products<uint8_t, uint16_t>::fill(table.of[static_cast<int>(dtype)]);
  }
  for (const DType dtype : {DType::kInt16, DType::kUInt16}) {
    Products<uint16_t, uint16_t>::fill(table.of[static_cast<int>(dtype)]);
  }
  for (const DType dtype : {DType::kInt32, DType::kUInt32}) {
    Products<uint32_t, uint32_t>::fill(table.of[static_cast<int>(dtype)]);
  }
  for (const DType dtype : {DType::kInt64, DType::kUInt64}) {
    Products<uint64_t, uint64_t>::fill(table.of[static_cast<int>(dtype)]);
  }
}

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE
