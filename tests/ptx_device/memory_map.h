// The memory that a launch may access besides its parameters, shared and local memory.
#ifndef SLUICE_TESTS_PTX_DEVICE_MEMORY_MAP_H_
#define SLUICE_TESTS_PTX_DEVICE_MEMORY_MAP_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace sluice::ptx {

class MemoryMap {
 public:
  struct Range {
    uint64_t begin, end;
    bool writable;
  };

  void add(const void* memory, size_t bytes, bool writable) {
    const auto begin = reinterpret_cast<uint64_t>(memory);
    ranges_[begin] = {begin, begin + bytes, writable};
  }
  void remove(const void* memory) { ranges_.erase(reinterpret_cast<uint64_t>(memory)); }

  // The range that begins last at or before `address`; null if there is none.
  const Range* before(uint64_t address) const {
    const auto after = ranges_.upper_bound(address);
    return after == ranges_.begin() ? nullptr : &std::prev(after)->second;
  }
  const std::map<uint64_t, Range>& ranges() const { return ranges_; }

  // What launches of this thread may access.
  static MemoryMap& of_thread() {
    static thread_local MemoryMap map;
    return map;
  }

 private:
  std::map<uint64_t, Range> ranges_;
};

// Adds memory to the thread's map while it lives.
class Accessible {
 public:
  Accessible(const void* memory, size_t bytes, bool writable) : memory_(memory) {
    MemoryMap::of_thread().add(memory, bytes, writable);
  }
  ~Accessible() { MemoryMap::of_thread().remove(memory_); }
  Accessible(const Accessible&) = delete;
  Accessible& operator=(const Accessible&) = delete;

 private:
  const void* const memory_;
};

}  // namespace sluice::ptx

#endif  // SLUICE_TESTS_PTX_DEVICE_MEMORY_MAP_H_
