// Runs PTX, as NVRTC makes it, on one thread of the host: a warp at a time, its threads in lockstep
// as long as they are together and by themselves where they part. Written from the PTX ISA's
// description; it shares nothing with the emitter or the preludes.
//
// A launch stops with an error at the first
//  - access that is misaligned, outside of the MemoryMap, of shared variables, parameters or local
//    memory; write to a parameter or to memory that is not writable
//  - read of shared memory that nobody has written
//  - race: two threads access the same place, one of them writes another value, and neither a
//    barrier of their block nor, in a warp, bar.warp.sync is between. Shuffles order nothing, and
//    nothing orders blocks; atomics and .relaxed accesses are none with one another. Elements of
//    one and two bytes in global memory are only watched at multiples of four bytes
//  - ld.global.nc of memory that the launch writes
//  - access to what cp.async copies to before the copy has been waited for; a copy that never is
//  - barrier that not all threads of a block come to; bar.warp.sync, shuffle or vote whose mask
//  names
//    other threads than take part
//  - integer division by zero or overflow, trap, too many threads, too few bytes of parameters
// A shuffle from a thread that takes no part gives 0xbadbeef5. Other memory that nobody has written
// has patterns too.
//
// mma.sync adds products one at a time, by fma. Approximate instructions (ex2.approx and such) are
// rounded correctly here, so they do not have the bits of a GPU's tables. What ptxas makes of PTX
// is not seen.
#ifndef SLUICE_TESTS_PTX_DEVICE_MODULE_H_
#define SLUICE_TESTS_PTX_DEVICE_MODULE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace sluice::ptx {

struct Program;

// What this process has run.
struct Counts {
  int64_t modules = 0, launches = 0;
  int64_t instructions = 0;  // of warps
};
Counts counts();

struct Geometry {
  unsigned blocks = 1, threads = 1;  // threads of a block
  // 0: threads of a warp that have parted run in the order of their instructions, so that they meet
  // again soon. Else the seed of a random order, a few instructions at a time.
  uint64_t schedule = 0;
};

class Module {
 public:
  // Null and an error if the text has something that the machine does not know.
  static std::unique_ptr<Module> parse(const std::string& text, std::string* error);
  ~Module();

  bool has(const std::string& kernel) const;
  // Null, or what was wrong, valid until this thread's next launch. `params` is the kernel's
  // parameters, `param_bytes` their size (0: unknown, not checked).
  const char* run(const std::string& kernel, const Geometry& geometry, const void* params,
                  size_t param_bytes) const;

 private:
  explicit Module(std::unique_ptr<Program> program);

  const std::unique_ptr<Program> program_;
};

}  // namespace sluice::ptx

#endif  // SLUICE_TESTS_PTX_DEVICE_MODULE_H_
