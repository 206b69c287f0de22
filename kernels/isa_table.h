// Tables of loops that are compiled once for each instruction set.
#ifndef SLUICE_KERNELS_ISA_TABLE_H_
#define SLUICE_KERNELS_ISA_TABLE_H_

#include "kernels/host_isa.h"

// Expands each(isa) for the namespaces of all sets that loops are compiled for; and the functions
// `fill` of those namespaces, in the order of Isa.
#if defined(SLUICE_HAVE_ISA_LOOPS)
#define SLUICE_FOR_EACH_ISA(each) each(baseline) each(x86_64_v3) each(x86_64_v4)
#define SLUICE_ISA_FILLS(fill) \
  { &baseline::fill, &x86_64_v3::fill, &x86_64_v4::fill }
#else
#define SLUICE_FOR_EACH_ISA(each) each(baseline)
#define SLUICE_ISA_FILLS(fill) \
  { &baseline::fill }
#endif

namespace sluice::kernels {

// A table filled by the function for host_isa(); it is never destroyed.
template <typename Table, int kSets>
const Table* table_for_host(void (*const (&fills)[kSets])(Table&)) {
  auto* const table = new Table{};
  fills[static_cast<int>(host_isa())](*table);
  return table;
}

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_ISA_TABLE_H_
