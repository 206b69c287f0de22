// A launch while it runs (module.h), which its source files share.
#ifndef SLUICE_TESTS_PTX_DEVICE_LAUNCH_H_
#define SLUICE_TESTS_PTX_DEVICE_LAUNCH_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/ptx_device/memory_map.h"
#include "tests/ptx_device/module.h"
#include "tests/ptx_device/program.h"
#include "tests/ptx_device/race_watch.h"

namespace sluice::ptx {

inline constexpr int kMaxDepth = 10;  // of calls

// Where a space begins among generic addresses; 0: global memory.
uint64_t window_of(Space space);

struct Warp {
  uint32_t alive = 0, at_barrier = 0;
  uint32_t blocked = 0;  // at an instruction that waits for other threads of the warp
  uint32_t epoch = 1;    // barriers so far
  int pc[kWarp];
  uint8_t depth[kWarp];
  uint8_t carry[kWarp];
  int caller[kMaxDepth][kWarp];  // the call that a frame returns to

  // By depth. Registers: kWarp values each. Arguments and results: lane after lane.
  std::vector<uint64_t> registers[kMaxDepth];
  std::vector<uint8_t> params[kMaxDepth];
};

class Launch {
 public:
  Launch(const Program& program, const Function& entry, const Geometry& geometry,
         const void* params);

  // Runs all blocks. Returns what was wrong, or "".
  std::string run(size_t param_bytes);
  int64_t steps() const { return steps_; }

 private:
  // What an instruction is executed for: the active threads of a warp, in one frame.
  struct Group {
    Warp& warp;
    uint64_t* regs;
    uint32_t active;
    int depth;
  };

  // The order of threads (launch.cpp).
  void run_block();
  int threads_of_warp(int warp) const;
  bool pass_barrier();  // false: all threads have ended
  void run_warp(Warp& warp);
  void release_blocked(Warp& warp);
  void run_group(Warp& warp, uint32_t mask, int depth, int pc, int next);
  uint64_t* frame(Warp& warp, int depth);

  // Instructions that move threads (launch_control.cpp). True: the group goes on at `*pc`.
  bool control(const Instruction& insn, const Group& group, uint32_t mask, int next, int* pc);
  bool branch(const Instruction& insn, const Group& group, uint32_t mask, int next, int* pc);
  void branch_by_table(const Instruction& insn, const Group& group);
  void call(const Instruction& insn, const Group& group, int pc);
  void leave(const Instruction& insn, const Group& group);
  bool synchronize(const Instruction& insn, const Group& group, uint32_t mask, int pc);
  void vote(const Instruction& insn, const Group& group, uint32_t named);
  void shuffle(const Instruction& insn, const Group& group);

  // Memory (launch_memory.cpp).
  struct Place {
    uint8_t* memory;
    Space space;
    uint64_t address;  // in its space
  };
  void memory(const Instruction& insn, const Group& group);
  void frame_memory(const Instruction& insn, const Group& group);
  Place place(const Instruction& insn, uint64_t address, int lane, int depth);
  void check_global(const Instruction& insn, uint64_t address, int bytes, int lane);
  void watch(const Instruction& insn, const Place& place, int offset, uint64_t value,
             const Warp& warp, int lane);
  void atomic(const Instruction& insn, const Group& group, uint8_t* at, int lane);

  // Tensor cores and copies (launch_tensor.cpp).
  struct AsyncCopy {
    Place to;
    uint64_t from;
    int size, bytes;  // of the target, and of the source: the rest is 0
    int line;
  };
  void multiply_matrices(const Instruction& insn, const Group& group);
  void load_matrices(const Instruction& insn, const Group& group);
  void start_copy(const Instruction& insn, const Group& group);
  void wait_for_copies(const Instruction& insn, const Group& group);
  void convert_to_tf32(const Instruction& insn, const Group& group);

  // Everything else. The functions return false if they do not know the instruction.
  void compute(const Instruction& insn, const Group& group);
  bool move(const Instruction& insn, const Group& group);             // launch_move.cpp
  bool read_special(const Instruction& insn, const Group& group);     // launch_move.cpp
  bool compute_bits(const Instruction& insn, const Group& group);     // launch_bits.cpp
  bool compute_integer(const Instruction& insn, const Group& group);  // launch_integer.cpp
  bool divide_integer(const Instruction& insn, const Group& group);   // launch_integer.cpp
  bool add_with_carry(const Instruction& insn, const Group& group);   // launch_integer.cpp
  bool multiply(const Instruction& insn, const Group& group);         // launch_integer.cpp
  bool compute_float(const Instruction& insn, const Group& group);    // launch_float.cpp
  bool compute_packed(const Instruction& insn, const Group& group);   // launch_packed.cpp
  bool compare(const Instruction& insn, const Group& group);          // launch_compare.cpp
  bool convert(const Instruction& insn, const Group& group);          // launch_convert.cpp

  static const uint64_t* values(const Operand& operand, const uint64_t* regs) {
    return operand.kind == Operand::kReg ? regs + operand.reg * kWarp : operand.row;
  }
  static const uint64_t* source(const Instruction& insn, const Group& group, int i) {
    return i < insn.ns ? values(insn.s[i], group.regs) : nullptr;
  }
  // Where a result goes; what is not wanted goes to a place of its own.
  uint64_t* destination(const Instruction& insn, const Group& group, int i = 0) {
    return insn.d[i].kind == Operand::kReg ? group.regs + insn.d[i].reg * kWarp : unwanted_;
  }
  // Bytes of the parameters of a thread in Warp::params.
  size_t frame_bytes() const { return static_cast<size_t>(program_.max_frame) + 16; }

  [[noreturn]] void error(const std::string& what);
  [[noreturn]] void error(const Instruction& insn, int lane, const std::string& what);
  std::string where(const Instruction& insn, int lane) const;
  uint32_t next_random();

  const Program& program_;
  const Function& entry_;
  const unsigned blocks_, threads_;
  const uint8_t* const params_;
  const MemoryMap& map_;
  const MemoryMap::Range* last_range_ = nullptr;
  std::vector<std::pair<int64_t, int64_t>> shared_ranges_;
  int shared_bytes_ = 0, local_bytes_ = 0;
  std::vector<uint8_t> shared_, local_;
  RaceWatch races_;
  std::vector<std::vector<AsyncCopy>> copies_;  // under way, by thread of the block
  std::vector<Warp> warps_;
  unsigned block_ = 0;
  int warp_ = 0;
  uint32_t epoch_ = 0;
  int64_t steps_ = 0;
  const bool is_random_;
  uint64_t random_;
  int slice_ = 0;  // instructions until another group may run
  uint64_t unwanted_[kWarp];
};

}  // namespace sluice::ptx

#endif  // SLUICE_TESTS_PTX_DEVICE_LAUNCH_H_
