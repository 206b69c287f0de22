#include "kernels/library/products/products_impl.h"

namespace sluice::kernels::SLUICE_ISA_NAMESPACE {

void fill_float_products(ProductTable& table) {
  Products<float, float>::fill(table.of[static_cast<int>(DType::kFloat32)]);
  Products<Float16, float>::fill(table.of[static_cast<int>(DType::kFloat16)]);
  Products<BFloat16, float>::fill(table.of[static_cast<int>(DType::kBFloat16)]);
  Products<double, double>::fill(table.of[static_cast<int>(DType::kFloat64)]);
}

}  // namespace sluice::kernels::SLUICE_ISA_NAMESPACE
