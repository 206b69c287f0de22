#include "kernels/host_isa.h"
#include "kernels/library/products/products.h"

namespace sluice::kernels {

#define SLUICE_ISA_PRODUCTS(isa)                   \
  namespace isa {                                  \
  void fill_float_products(ProductTable& table);   \
  void fill_integer_products(ProductTable& table); \
  inline void fill_products(ProductTable& table) { \
    fill_float_products(table);                    \
    fill_integer_products(table);                  \
  }                                                \
  }
SLUICE_ISA_PRODUCTS(baseline)
#if defined(SLUICE_HAVE_ISA_LOOPS)
SLUICE_ISA_PRODUCTS(x86_64_v3)
SLUICE_ISA_PRODUCTS(x86_64_v4)
#endif

const ProductLoops& product_loops(DType dtype) {
  static const ProductTable* const table = [] {
    auto* result = new ProductTable{};
    switch (host_isa()) {
#if defined(SLUICE_HAVE_ISA_LOOPS)
      case Isa::kX86_64V4: x86_64_v4::fill_products(*result); break;
      case Isa::kX86_64V3: x86_64_v3::fill_products(*result); break;
#endif
      default: baseline::fill_products(*result);
    }
    return result;
  }();
  return table->of[static_cast<int>(dtype)];
}

}  // namespace sluice::kernels
