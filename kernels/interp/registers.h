// Registers of bytecode while it is being translated, and their layout in the scratch.
#ifndef SLUICE_KERNELS_INTERP_REGISTERS_H_
#define SLUICE_KERNELS_INTERP_REGISTERS_H_

#include <array>
#include <cstdint>
#include <vector>

#include <sluice/dtype.h>
#include "kernels/interp/bytecode.h"

namespace sluice::kernels::interp {

inline constexpr Register kNoRegister = 0xffffffff;

// Hands out registers and takes them back. Those of tiles are numbered apart from the uniform ones
// until lay_out() gives all their final numbers.
class RegisterFile {
 public:
  // One element, never released.
  Register allocate_uniform() { return num_uniform_++; }
  // A tile of elements of `type`, in its compute type.
  Register allocate(DType type);
  // A tile's register may be handed out again; a uniform one is left alone.
  void release(Register reg);

  // Settles the size of tiles and where each register lies, and renumbers all of `code`.
  void lay_out(Bytecode* code) const;

 private:
  static constexpr Register kTileBit = 0x80000000;
  // Tiles are as large as the caches allow, a power of two.
  int64_t tile_size() const;
  void renumber(Bytecode* code) const;

  Register num_uniform_ = 0;
  std::vector<uint8_t> sizes_;                 // of elements, by tile register
  std::array<std::vector<Register>, 9> free_;  // by size of elements
};

}  // namespace sluice::kernels::interp

#endif  // SLUICE_KERNELS_INTERP_REGISTERS_H_
