// Watches who has read and written each place of shared and global memory during a launch.
#ifndef SLUICE_TESTS_PTX_DEVICE_RACE_WATCH_H_
#define SLUICE_TESTS_PTX_DEVICE_RACE_WATCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/ptx_device/program.h"

namespace sluice::ptx {

class RaceWatch {
 public:
  // A thread at a moment. Epochs count the barriers that order accesses.
  struct Access {
    uint32_t thread = 0;       // number_of; 0: nobody
    uint32_t block_epoch = 0;  // barriers of all blocks so far
    uint32_t warp_epoch = 0;   // barriers of its warp so far
    int line = 0;
  };

  // Threads of different blocks are of different warps by their numbers.
  explicit RaceWatch(unsigned threads_of_block)
      : threads_((threads_of_block + kWarp - 1) / kWarp * kWarp) {}

  uint32_t number_of(unsigned block, unsigned thread) const {
    return block * threads_ + thread + 1;
  }

  // Forgets a block's shared memory.
  void begin_block(int shared_bytes);

  // Whether a copy to shared memory is under way, which nobody may touch until it is waited for.
  void set_pending(uint64_t at, int bytes, bool pending);

  // An access of `bytes` (1 to 8) at an offset in shared memory or at an address. `value`: what is
  // written. False: `*wrong` says what is wrong.
  bool shared(const Instruction& insn, const Access& me, uint64_t at, int bytes, uint64_t value,
              std::string* wrong);
  bool global(const Instruction& insn, const Access& me, uint64_t at, int bytes, uint64_t value,
              std::string* wrong);

 private:
  // Of readers two are kept: the first, while it is not ordered, and the last.
  struct Place {
    Access writer, reader, last_reader;
    uint64_t value = 0;
    bool non_coherent = false;
    bool pending = false;
  };
  struct Page {
    Place places[1024];  // of four bytes each
  };

  Place& global_place(uint64_t address);
  bool is_ordered(const Access& before, const Access& me, bool is_shared) const {
    if (before.thread == 0 || before.thread == me.thread) return true;
    // What is most often so, without the divisions.
    if (is_shared && before.block_epoch != me.block_epoch) return true;
    return is_ordered_with(before, me, is_shared);
  }
  bool is_ordered_with(const Access& before, const Access& me, bool is_shared) const;
  std::string who(const Access& access) const;
  // "a race: writes global memory that thread 3 of block 0 (PTX line 12) reads".
  std::string race(const char* does, bool is_shared, const Access& other, const char* did) const;
  bool watch(const Instruction& insn, const Access& me, bool is_shared, uint64_t value,
             Place* place, std::string* wrong) const;

  const unsigned threads_;
  std::vector<Place> shared_;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  Page* last_page_ = nullptr;
  uint64_t last_page_number_ = 0;
};

}  // namespace sluice::ptx

#endif  // SLUICE_TESTS_PTX_DEVICE_RACE_WATCH_H_
