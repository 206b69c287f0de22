#include "kernels/isa_table.h"
#include "kernels/library/library.h"
#include "kernels/library/loops/loops.h"

namespace sluice::kernels {

#define SLUICE_ISA_LIBRARY_LOOPS(isa)                   \
  namespace isa {                                       \
  void fill_recurrence(LibraryLoops& table);            \
  void fill_scatter(LibraryLoops& table);               \
  void fill_search(LibraryLoops& table);                \
  void fill_sort(LibraryLoops& table);                  \
  void fill_vector_sort(LibraryLoops& table);           \
  void fill_small_factor(LibraryLoops& table);          \
  static void fill_library_loops(LibraryLoops& table) { \
    fill_recurrence(table);                             \
    fill_scatter(table);                                \
    fill_search(table);                                 \
    fill_sort(table);                                   \
    fill_vector_sort(table);                            \
    fill_small_factor(table);                           \
  }                                                     \
  }
SLUICE_FOR_EACH_ISA(SLUICE_ISA_LIBRARY_LOOPS)

const LibraryLoops& library_loops() {
  static const LibraryLoops* const table =
      table_for_host<LibraryLoops>(SLUICE_ISA_FILLS(fill_library_loops));
  return *table;
}

absl::Status run_scatter(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  library_loops().scatter(fusion::scatter_of(call), buffers.data());
  return absl::OkStatus();
}

absl::Status run_search(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  library_loops().search(fusion::search_of(call), buffers.data());
  return absl::OkStatus();
}

absl::Status run_sort(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  library_loops().sort(fusion::sort_of(call), buffers.data());
  return absl::OkStatus();
}

}  // namespace sluice::kernels
