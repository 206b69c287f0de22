// The generic kernel: compiled once for a device, it interprets any program that encode_generic()
// accepts, so that a fused group runs at once, in one launch, while its own kernel is being
// compiled. Bits are those of its own kernel: the same expressions, the same order of reductions.
// (Where a program `contracts`, its own kernel may differ; this one never contracts.)
//
// It is called as a kernel by table is (call.h), of one program which stands for all:
//
//   const auto code = encode_generic(program);            // once
//   const Geometry geometry = generic_geometry_of(program, extents, multiprocessors);
//   for each stage:
//     words = pack_generic(program, *code, geometry, args, stage, partials);
//     table = pack_table({{0, geometry.num_blocks(stage), words}, ...});  // and other calls
//
// All stages of one call are run by it or none: partial results are not those of other kernels.
#ifndef SLUICE_KERNELS_GPU_GENERIC_GENERIC_H_
#define SLUICE_KERNELS_GPU_GENERIC_GENERIC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "fusion/ir/program.h"
#include "kernels/executable.h"
#include "kernels/gpu/run/call.h"

namespace sluice::kernels::cuda {

inline constexpr char kGenericKernel[] = "sluice_generic";

// The kernel's text, to come after the prelude, as emit() makes it. Always the same.
std::string generic_source();

// The bytecode of a verified program; nullopt if it needs more than the kernel has: slots for
// values, reductions of a pass, words.
std::optional<std::vector<uint64_t>> encode_generic(const fusion::Program& program);

// As geometry_of(), for the generic kernel: only the blocks of pointwise programs differ.
Geometry generic_geometry_of(const fusion::Program& program, const int64_t* extents,
                             int multiprocessors);

// The words of one call at one stage: `code`, of the program, then those of pack_call(). Indices
// always have 64 bits.
std::vector<uint64_t> pack_generic(const fusion::Program& program, absl::Span<const uint64_t> code,
                                   const Geometry& geometry, const KernelArgs& args, int stage,
                                   void* partials);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_GENERIC_GENERIC_H_
