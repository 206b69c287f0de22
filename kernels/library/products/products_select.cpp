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
#if defined(SLUICE_HAVE_BFLOAT16_LOOPS)
namespace x86_64_v4 {
void use_amx(ProductLoops& loops);
void use_pairs(ProductLoops& loops);
}  // namespace x86_64_v4
#endif

namespace {

const ProductTable& table() {
  static const ProductTable* const table =
      table_for_host<ProductTable>(SLUICE_ISA_FILLS(fill_products));
  return *table;
}

// On a machine whose operating system lets this process use AMX. It is asked for that when a
// product of bfloat16 needs it, and not before: from then on signal stacks have to have room for 8
// KiB more.
const ProductLoops& bfloat16_loops() {
  static const ProductLoops* const loops = [] {
    auto* const loops = new ProductLoops(table().of[static_cast<int>(DType::kBFloat16)]);
#if defined(SLUICE_HAVE_BFLOAT16_LOOPS)
    if (host_isa() == Isa::kX86_64V4 && has_avx512_bfloat16()) {
      may_use_amx() ? x86_64_v4::use_amx(*loops) : x86_64_v4::use_pairs(*loops);
    }
#endif
    return loops;
  }();
  return *loops;
}

}  // namespace

const ProductLoops& product_loops(DType dtype) {
  if (dtype == DType::kBFloat16) return bfloat16_loops();
  return table().of[static_cast<int>(dtype)];
}

}  // namespace sluice::kernels
