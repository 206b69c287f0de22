#include "kernels/isa_table.h"
#include "kernels/library/products/products.h"

namespace sluice::kernels {

#define SLUICE_ISA_PRODUCTS(isa)                   \
  namespace isa {                                  \
  void fill_float_products(ProductTable& table);   \
  void fill_integer_products(ProductTable& table); \
  static void fill_products(ProductTable& table) { \
    fill_float_products(table);                    \
    fill_integer_products(table);                  \
  }                                                \
  }
SLUICE_FOR_EACH_ISA(SLUICE_ISA_PRODUCTS)

const ProductLoops& product_loops(DType dtype) {
  static const ProductTable* const table =
      table_for_host<ProductTable>(SLUICE_ISA_FILLS(fill_products));
  return table->of[static_cast<int>(dtype)];
}

}  // namespace sluice::kernels
