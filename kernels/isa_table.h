// Tables of loops that are compiled once for each instruction set.
#ifndef SLUICE_KERNELS_ISA_TABLE_H_
#define SLUICE_KERNELS_ISA_TABLE_H_

#include "kernels/host_isa.h"

// Expands each(isa) for the namespaces of all sets that loops are compiled for; and the functions
// `fill` of those namespaces, in the order of Isa. host_isa() is no set that is left out.
#if defined(SLUICE_HAVE_X86_64_V3)
#define SLUICE_EACH_X86_64_V3(each) each(x86_64_v3)
#define SLUICE_X86_64_V3 x86_64_v3
#else
#define SLUICE_EACH_X86_64_V3(each)
#define SLUICE_X86_64_V3 baseline
#endif
#if defined(SLUICE_HAVE_X86_64_V4)
#define SLUICE_EACH_X86_64_V4(each) each(x86_64_v4)
#define SLUICE_X86_64_V4 x86_64_v4
#else
#define SLUICE_EACH_X86_64_V4(each)
#define SLUICE_X86_64_V4 baseline
#endif
#define SLUICE_FOR_EACH_ISA(each) \
  each(baseline) SLUICE_EACH_X86_64_V3(each) SLUICE_EACH_X86_64_V4(each)
#define SLUICE_ISA_FILLS(fill) \
  { &baseline::fill, &SLUICE_X86_64_V3::fill, &SLUICE_X86_64_V4::fill }

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
