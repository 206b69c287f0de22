// Emits one Program as a namespace with its arguments and a function that a block runs.
#ifndef SLUICE_KERNELS_GPU_EMIT_PROGRAM_EMITTER_H_
#define SLUICE_KERNELS_GPU_EMIT_PROGRAM_EMITTER_H_

#include <string>

#include "fusion/ir/program.h"
#include "kernels/gpu/emit/functions.h"
#include "kernels/gpu/emit/row_way.h"
#include "kernels/gpu/emit/writer.h"

namespace sluice::kernels::cuda {

// Appends `namespace <name> { struct Args; void run(const Args&, Index block); }` to `writer`, and
// what it calls to `functions`. `wide`: indices have 64 bits, else 32. Returns blocks_of() the
// plan.
int emit_program(const fusion::Program& program, RowWay way, const std::string& name, bool wide,
                 Functions* functions, Writer* writer);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_EMIT_PROGRAM_EMITTER_H_
