// Emits Programs as CUDA C++. The text compiles after the prelude (kernels/gpu/prelude/prelude.h)
// of the device or of the host and needs nothing else.
//
// A source has any number of kernels. A kernel runs its calls in blocks of kThreads threads, with
// no dynamic shared memory (kernels/gpu/run/call.h says how many blocks and in how many launches).
// It has one parameter:
//   - direct: the words of the one call, by value, for one program whose words are not more than
//     kMaxParameterBytes;
//   - by table: a table of calls, each of one of the kernel's programs, by value or by its address
//     in device memory. The blocks of call i are those from its first block on to the next call's.
//
// Bits depend on the program and the extents alone, not on how a call is cut, what else is in the
// source or where buffers lie. The only hint of a program that is followed is `contracts`, an
// option of the compiler (device_options()).
#ifndef SLUICE_KERNELS_GPU_EMIT_EMIT_H_
#define SLUICE_KERNELS_GPU_EMIT_EMIT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "fusion/ir/program.h"
#include "kernels/gpu/emit/row_way.h"

namespace sluice::kernels::cuda {

// A program, verified, and a way that its calls may take (Geometry::way).
struct KernelProgram {
  KernelProgram(const fusion::Program* program, RowWay way = {}) : program(program), way(way) {}

  const fusion::Program* program;
  RowWay way;
};

// Likewise, of one's own.
struct OwnProgram {
  OwnProgram(fusion::Program program, RowWay way) : program(std::move(program)), way(way) {}
  explicit OwnProgram(const KernelProgram& of) : OwnProgram(*of.program, of.way) {}

  bool operator==(const OwnProgram&) const = default;
  operator KernelProgram() const { return {&program, way}; }

  fusion::Program program;
  RowWay way;
};

struct Kernel {
  std::string name;                     // an identifier, the source's own
  std::vector<KernelProgram> programs;  // one, if direct
  bool by_table = false;
  int64_t table_words = 0;  // of a table that is passed by value, padding included; 0: by address
  bool wide = false;        // 64-bit indices, for calls that need them (needs_wide_indices())
};

// Without the prelude. The text depends on nothing but the kernels' members.
std::string emit(absl::Span<const Kernel> kernels);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_EMIT_EMIT_H_
