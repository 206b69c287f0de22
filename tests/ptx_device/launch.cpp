// Blocks, warps and groups of threads: who runs next.
#include "tests/ptx_device/launch.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <tuple>

#include "tests/ptx_device/parser.h"
#include "tests/ptx_device/values.h"

namespace sluice::ptx {
namespace {

constexpr int64_t kMaxSteps = 20'000'000'000;
constexpr int kNobody = std::numeric_limits<int>::max();

std::atomic<int64_t> num_modules{0}, num_launches{0}, num_instructions{0};

struct Stop {
  std::string what;
};

void move_all(Warp* warp, uint32_t mask, int pc) {
  for_lanes(mask, [&](int l) { warp->pc[l] = pc; });
}

}  // namespace

Counts counts() { return {num_modules, num_launches, num_instructions}; }

Module::Module(std::unique_ptr<Program> program) : program_(std::move(program)) { ++num_modules; }
Module::~Module() = default;

std::unique_ptr<Module> Module::parse(const std::string& text, std::string* error) {
  std::unique_ptr<Program> program = ptx::parse(text, error);
  if (program == nullptr) return nullptr;
  return std::unique_ptr<Module>(new Module(std::move(program)));
}

bool Module::has(const std::string& kernel) const {
  const auto it = program_->by_name.find(kernel);
  return it != program_->by_name.end() && program_->functions[it->second].is_entry;
}

const char* Module::run(const std::string& kernel, const Geometry& geometry, const void* params,
                        size_t param_bytes) const {
  static thread_local std::string message;
  const Function& entry = program_->functions[program_->by_name.at(kernel)];
  Launch launch(*program_, entry, geometry, params);
  message = launch.run(param_bytes);
  ++num_launches;
  num_instructions += launch.steps();
  return message.empty() ? nullptr : message.c_str();
}

Launch::Launch(const Program& program, const Function& entry, const Geometry& geometry,
               const void* params)
    : program_(program),
      entry_(entry),
      blocks_(geometry.blocks),
      threads_(geometry.threads),
      params_(static_cast<const uint8_t*>(params)),
      map_(MemoryMap::of_thread()),
      shared_bytes_(program.shared_end),
      local_bytes_((program.max_local + 63) / 16 * 16),
      races_(geometry.threads),
      is_random_(geometry.schedule != 0),
      random_(geometry.schedule * 0x9e3779b97f4a7c15ull + 1) {
  for (const std::vector<Variable>* variables : {&program.shared, &entry.shared}) {
    for (const Variable& variable : *variables) {
      const int64_t end = variable.offset + variable.bytes;
      shared_ranges_.emplace_back(variable.offset, end);
      shared_bytes_ = std::max(shared_bytes_, static_cast<int>(end));
    }
  }
  warps_.resize((threads_ + kWarp - 1) / kWarp);
}

std::string Launch::run(size_t param_bytes) {
  try {
    if (entry_.max_threads != 0 && threads_ > static_cast<unsigned>(entry_.max_threads)) {
      error("more threads than .maxntid");
    }
    if (param_bytes != 0 && param_bytes < static_cast<size_t>(entry_.param_bytes)) {
      error("launched with " + std::to_string(param_bytes) + " bytes of parameters, not " +
            std::to_string(entry_.param_bytes));
    }
    for (block_ = 0; block_ < blocks_; ++block_) run_block();
  } catch (const Stop& stop) {
    return stop.what;
  }
  return {};
}

void Launch::error(const std::string& what) { throw Stop{entry_.name + ": " + what}; }

void Launch::error(const Instruction& insn, int lane, const std::string& what) {
  error(what + where(insn, lane));
}

std::string Launch::where(const Instruction& insn, int lane) const {
  return " at PTX line " + std::to_string(insn.line) + " (" + insn.text + "), block " +
         std::to_string(block_) + ", thread " + std::to_string(warp_ * kWarp + lane);
}

uint32_t Launch::next_random() {
  random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
  return static_cast<uint32_t>(random_ >> 33);
}

int Launch::threads_of_warp(int warp) const {
  return std::min(kWarp, static_cast<int>(threads_) - warp * kWarp);
}

void Launch::run_block() {
  ++epoch_;
  races_.begin_block(shared_bytes_);
  copies_.assign((threads_ + kWarp - 1) / kWarp * kWarp, {});
  // Patterns for what nobody has written.
  shared_.assign(static_cast<size_t>(shared_bytes_) + 16, 0xa5);
  local_.resize(program_.max_local == 0 ? 0 : size_t{threads_} * local_bytes_ * kMaxDepth, 0xc3);
  const int count = static_cast<int>(warps_.size());
  for (int w = 0; w < count; ++w) {
    Warp& warp = warps_[w];
    const int threads = threads_of_warp(w);
    warp.alive = threads == kWarp ? 0xffffffffu : (1u << threads) - 1;
    warp.at_barrier = warp.blocked = 0;
    std::fill_n(warp.pc, kWarp, entry_.begin);
    std::fill_n(warp.depth, kWarp, uint8_t{0});
    std::fill_n(warp.carry, kWarp, uint8_t{0});
  }
  do {
    for (int i = 0; i < count; ++i) {
      warp_ = block_ % 2 == 0 ? i : count - 1 - i;
      run_warp(warps_[warp_]);
    }
  } while (pass_barrier());
}

// All threads have ended or wait at a barrier.
bool Launch::pass_barrier() {
  int site = -1;
  bool have_ended = false;
  for (size_t w = 0; w < warps_.size(); ++w) {
    const Warp& warp = warps_[w];
    warp_ = static_cast<int>(w);
    have_ended |= __builtin_popcount(warp.alive) < threads_of_warp(warp_);
    for_lanes(warp.alive, [&](int l) {
      if (site < 0) site = warp.pc[l];
      if (warp.pc[l] == site) return;
      error(program_.code[warp.pc[l]], l,
            "threads wait at different barriers, others" + where(program_.code[site], 0));
    });
  }
  if (site < 0) return false;
  if (have_ended) {
    error(program_.code[site], 0, "a barrier that not all threads of the block come to");
  }
  ++epoch_;
  for (Warp& warp : warps_) {
    warp.at_barrier = 0;
    ++warp.epoch;
    for_lanes(warp.alive, [&](int l) { ++warp.pc[l]; });
  }
  return true;
}

uint64_t* Launch::frame(Warp& warp, int depth) {
  std::vector<uint64_t>& registers = warp.registers[depth];
  if (registers.empty()) {
    const int count = depth == 0 ? entry_.registers : program_.max_registers;
    registers.assign(static_cast<size_t>(count + 1) * kWarp, 0xfff7badbadbadbadull);
    warp.params[depth].resize(frame_bytes() * kWarp);
  }
  return registers.data();
}

void Launch::run_warp(Warp& warp) {
  for (;;) {
    const uint32_t runnable = warp.alive & ~warp.at_barrier & ~warp.blocked;
    if (runnable == 0 && warp.blocked == 0) return;
    if (runnable == 0) {
      release_blocked(warp);
      continue;
    }
    // The deepest frame and the lowest place first: others are then met where branches join, unless
    // the body of a loop comes after its exit. So the block's barrier is passed last.
    int first = __builtin_ctz(runnable);
    if (is_random_) {
      uint32_t rest = runnable;
      for (auto skip = next_random() % __builtin_popcount(runnable); skip > 0; --skip) {
        rest &= rest - 1;
      }
      first = __builtin_ctz(rest);
    } else {
      const auto turn = [&](int l) {
        return std::tuple(program_.code[warp.pc[l]].op == kBar, -warp.depth[l], warp.pc[l]);
      };
      for_lanes(runnable, [&](int l) {
        if (turn(l) < turn(first)) first = l;
      });
    }
    const int depth = warp.depth[first], pc = warp.pc[first];
    uint32_t mask = 0;
    int next = kNobody;  // where others of this depth wait for the group
    for_lanes(runnable, [&](int l) {
      if (warp.depth[l] != depth) return;
      if (warp.pc[l] == pc) {
        mask |= 1u << l;
      } else if (!is_random_ && warp.pc[l] > pc) {
        next = std::min(next, warp.pc[l]);
      }
    });
    slice_ = !is_random_ || mask == runnable ? kNobody : 1 + static_cast<int>(next_random() % 40);
    run_group(warp, mask, depth, pc, next);
  }
}

// Threads wait for others of their warp, of which none can run: those may have ended meanwhile.
void Launch::release_blocked(Warp& warp) {
  for (uint32_t rest = warp.blocked; rest != 0; rest &= rest - 1) {
    const int l = __builtin_ctz(rest);
    uint32_t together = 0;
    for_lanes(warp.blocked, [&](int k) {
      if (warp.pc[k] == warp.pc[l] && warp.depth[k] == warp.depth[l]) together |= 1u << k;
    });
    const Instruction& insn = program_.code[warp.pc[l]];
    const uint64_t named = values(insn.s[insn.ns - 1], frame(warp, warp.depth[l]))[l];
    if ((static_cast<uint32_t>(named) & warp.alive & ~together) != 0) continue;
    warp.blocked &= ~together;
    return;
  }
  const int l = __builtin_ctz(warp.blocked);
  error(program_.code[warp.pc[l]], l, "threads of a warp wait for others that do not come");
}

// Runs the threads of `mask` until they part, wait, reach `next` or have used up their slice.
void Launch::run_group(Warp& warp, uint32_t mask, int depth, int pc, int next) {
  uint64_t* const regs = frame(warp, depth);
  for (;; ++pc) {
    if (pc >= next || --slice_ == 0) return move_all(&warp, mask, pc);
    const Instruction& insn = program_.code[pc];
    if (++steps_ > kMaxSteps) error(insn, 0, "it does not end");
    uint32_t active = mask;
    if (insn.guard >= 0) {
      const uint64_t* const guard = regs + insn.guard * kWarp;
      uint32_t bits = 0;
      for (int l = 0; l < kWarp; ++l) bits |= static_cast<uint32_t>(guard[l] & 1) << l;
      active &= insn.guard_negated ? ~bits : bits;
      if (active == 0) continue;
    }
    const Group group{warp, regs, active, depth};
    switch (insn.op) {
      case kLd:
      case kSt:
      case kAtom:
      case kRed: memory(insn, group); break;
      case kBra:
      case kBrx:
      case kCall:
      case kRet:
      case kExit:
      case kTrap:
      case kBar:
      case kWarpSync:
      case kShfl:
      case kVote:
      case kMma:
      case kLdMatrix:
        if (!control(insn, group, mask, next, &pc)) return;
        break;
      case kCopyAsync: start_copy(insn, group); break;
      case kWaitCopies: wait_for_copies(insn, group); break;
      case kToTf32: convert_to_tf32(insn, group); break;
      default: compute(insn, group);
    }
  }
}

}  // namespace sluice::ptx
