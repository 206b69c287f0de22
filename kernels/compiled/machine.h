// What loading an object depends on the processor for: calls of functions far away, and
// relocations.
#ifndef SLUICE_KERNELS_COMPILED_MACHINE_H_
#define SLUICE_KERNELS_COMPILED_MACHINE_H_

#include <cstddef>
#include <cstdint>

namespace sluice::kernels {

// A place in code or constants that is to refer to `target`.
struct Relocation {
  uint32_t type;  // R_<machine>_...
  char* field;
  uint64_t room;  // bytes from `field` to the section's end
  uint64_t target;
  // The target is a stub: it may be called, but is not the function's address.
  bool is_stub;
};

struct Machine {
  static constexpr size_t kStubBytes = 16;

  const char* name;
  uint16_t elf;  // EM_...
  // Writes a jump to a target at any distance, kStubBytes at most.
  void (*write_stub)(char* stub, const void* target);
  // False, and nothing is written, for a type that compiled kernels do not have, a field that does
  // not fit its section, and a target that is too far.
  bool (*relocate)(const Relocation& relocation);
};

extern const Machine kX86_64, kAarch64;

// The one that this is.
const Machine& host_machine();

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_COMPILED_MACHINE_H_
