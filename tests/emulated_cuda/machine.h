// The state and the scheduler of the emulated driver.
#ifndef SLUICE_TESTS_EMULATED_CUDA_MACHINE_H_
#define SLUICE_TESTS_EMULATED_CUDA_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/driver/driver.h"
#include "tests/emulated_cuda/device_memory.h"
#include "tests/emulated_cuda/emulated_cuda.h"

namespace sluice::emulated {

using runtime::cuda::ContextHandle;
using runtime::cuda::EventHandle;
using runtime::cuda::FunctionHandle;
using runtime::cuda::GraphExecHandle;
using runtime::cuda::GraphHandle;
using runtime::cuda::GraphNodeHandle;
using runtime::cuda::ModuleHandle;
using runtime::cuda::PoolHandle;
using runtime::cuda::Result;
using runtime::cuda::StreamHandle;

// True within a host function, which must not call the driver.
extern thread_local bool in_host_function;

struct Device {
  int ordinal = 0;
  ContextHandle context = nullptr;  // null: not retained
  int retained = 0;
  Result sticky = Result::kSuccess;
  size_t memory_in_use = 0;
};

// An operation enqueued on a stream.
struct Op {
  std::function<bool()> ready;  // empty: always ready
  std::function<bool()> step;   // returns true when the operation is complete
  // Set when the operation is complete or has been dropped with the device's work.
  std::shared_ptr<bool> done;
};

struct Stream {
  Device* device;
  uint64_t number;
  size_t priority;
  std::deque<Op> ops;
};

struct Event {
  Device* device;
  bool is_timed = false;
  std::shared_ptr<bool> recorded;  // null: never
  uint64_t time = 0;               // of its last completion, by Machine::clock
};

struct Pool {
  Device* device;
  std::set<int> peers;  // that may access its memory
};

// Pending copies hold a reference.
struct PinnedBlock {
  std::unique_ptr<std::byte[]> memory;
  size_t bytes;
};

struct Module {
  Device* device;
  void* library;  // null: the registered kernels
};

struct Function {
  Device* device;
  ModuleHandle module;
  std::string name;
  KernelFunction run;
  bool checks_memory = false;  // see kernels.h
  KernelTraits traits;
  int max_dynamic_shared = 48 << 10;
};

// A launch, checked against the limits.
struct Kernel {
  std::shared_ptr<Function> function;
  Geometry geometry;
  std::vector<std::byte> params;
  struct Pointer {
    size_t at;
    AllocationRef to;  // null: never allocated
  };
  std::vector<Pointer> pointers;
};

struct Graph {
  struct Node {
    GraphNodeHandle handle;
    Kernel kernel;
    std::vector<size_t> after;
  };
  Device* device;
  std::vector<Node> nodes;
};

struct GraphExec {
  Device* device;
  GraphHandle source;
  std::vector<Graph::Node> nodes;
  bool running = false;  // a launch is in progress
};

// Objects by handle. Handles are never reused, so that stale ones are detected.
template <typename Handle, typename T>
using Objects = std::map<Handle, std::shared_ptr<T>>;

// Guarded by `mutex`, which every driver call holds.
class Machine {
 public:
  explicit Machine(const Options& options);

  // --- Faults and findings (machine.cpp).
  // Counts a call. Returns its injected or sticky error, else kSuccess.
  Result begin_call(const char* name);
  // Records a misuse and returns `result`.
  Result violation(Result result, const std::string& what);
  // Makes the device's context unusable and drops its work.
  void raise(Device* device, Result result);

  // --- Handles and contexts (calls_device.cpp).
  template <typename Handle>
  Handle new_handle() {
    return reinterpret_cast<Handle>(next_handle_ += 16);
  }
  // Records a violation and returns null if there is no such object.
  template <typename Handle, typename T>
  std::shared_ptr<T> find(const Objects<Handle, T>& objects, Handle handle) {
    const auto it = objects.find(handle);
    if (it != objects.end()) return it->second;
    violation(Result::kInvalidHandle, "the object does not exist (any more)");
    return nullptr;
  }
  // The device of this thread's current context; null if there is none.
  Device* current();
  static size_t contexts_of_thread();
  // True if current() is `device`; else records a violation.
  bool must_be_current(const Device* device);

  // --- Order (machine.cpp).
  // Enqueues an operation. The result becomes true when it is complete.
  std::shared_ptr<bool> push(Stream* stream, std::function<bool()> step,
                             std::function<bool()> ready = nullptr);
  // Runs steps until `done()`.
  Result run_until(const Device* device, const std::function<bool()>& done);
  // Runs some steps by chance: work proceeds between queries.
  void make_progress();
  bool chance(double probability);
  size_t below(size_t count) { return rng_() % count; }
  void schedule(std::shared_ptr<Stream> stream) { scheduled_.push_back(std::move(stream)); }

  // --- Memory (calls_memory.cpp).
  // True if work of `device` may access these bytes; else records a violation. `now`: the work is
  // running, so the error is raised on the device too; otherwise it is being enqueued.
  bool check_access(Device* device, const AllocationRef& allocation, DevicePtr begin, size_t bytes,
                    bool now);
  // The pinned block that contains these bytes; null if there is none.
  std::shared_ptr<PinnedBlock> pinned(const void* begin, size_t bytes);

  // --- Kernels (calls_code.cpp).
  Result prepare(Device* device, FunctionHandle function, const Geometry& geometry, void** params,
                 void** extra, Kernel* kernel);
  // Looks up the allocations that the parameters point to now.
  void resolve(Kernel* kernel);
  void run(const Kernel& kernel);
  // The words from `begin` to the end of its allocation, with device addresses translated.
  std::vector<uint64_t> read_table(DevicePtr begin);

  // The machine that receives driver calls.
  static Machine* running;
  // No call has an effect any more.
  static inline bool torn_down = false;
  static inline bool ends_with_process = false;  // torn_down will be set

  std::mutex mutex;
  const Options options;
  std::vector<Device> devices;
  DeviceMemory memory;
  std::map<std::string, std::pair<KernelFunction, KernelTraits>> registered;
  Objects<StreamHandle, Stream> streams;
  Objects<EventHandle, Event> events;
  Objects<PoolHandle, Pool> pools;
  Objects<ModuleHandle, Module> modules;
  Objects<FunctionHandle, Function> functions;
  Objects<GraphHandle, Graph> graphs;
  Objects<GraphExecHandle, GraphExec> execs;
  Objects<void*, PinnedBlock> pinned_blocks;
  std::map<uint64_t, size_t> freeing;  // by stream: bytes of pending frees
  bool initialized = false;
  uint64_t next_stream = 1;
  uint64_t clock = 0;

  struct Fault {
    int64_t at;
    Result result;
  };
  std::optional<Fault> call_fault;
  std::optional<Fault> kernel_fault;
  std::vector<std::string> violations;
  int64_t calls = 0;
  std::map<std::string, int64_t> calls_by_name;
  std::vector<Launch> launches;  // if it is dry
  int64_t kernels_run = 0;
  int64_t staged_copies = 0;  // see emulated_cuda.h
  const char* last_call = "";

 private:
  bool step();
  // Runs a random number of steps, up to `most`.
  void run_some_steps(size_t most);
  void drop_work(Device* device);

  std::mt19937_64 rng_;
  const double eagerness_;  // probability that work runs before a wait
  // Streams are scheduled by random priorities that change occasionally, not uniformly per step.
  const bool by_priority_;
  uintptr_t next_handle_ = 0x1000;
  bool stepping_ = false;
  std::vector<std::shared_ptr<Stream>> scheduled_;  // includes destroyed ones with pending work
};

// The implementations of the driver calls, named as in the table.
namespace calls {
using namespace runtime::cuda;  // NOLINT: the parameters' types
#define SLUICE_CUDA_CALL(name, symbol, ...) \
  Result name(Machine& machine __VA_OPT__(, ) __VA_ARGS__);
#include "runtime/cuda/driver/driver.def"
#undef SLUICE_CUDA_CALL
}  // namespace calls

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_MACHINE_H_
