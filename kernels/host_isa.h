// Which of the instruction sets that loops are compiled for this machine has.
#ifndef SLUICE_KERNELS_HOST_ISA_H_
#define SLUICE_KERNELS_HOST_ISA_H_

namespace sluice::kernels {

// Each includes those before it.
enum class Isa { kBaseline, kX86_64V3, kX86_64V4 };

// The last that loops are compiled for and this machine has.
Isa host_isa();

// Whether the processor has AVX-512's products of bfloat16 and conversions to it.
bool has_avx512_bfloat16();

// Whether the processor has AMX for bfloat16, and the operating system lets this process use it,
// which it is asked to.
bool may_use_amx();

// Whether AVX-512's stores of selected lanes (vpcompressd to memory) may be microprograms of more
// than a hundred cycles: on AMD's processors, as measured on a Zen 4.
bool has_slow_compress_stores();

// "x86-64-v4"; "baseline".
const char* name_of(Isa isa);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_HOST_ISA_H_
