// The state of the emulated driver, and the order in which things happen.
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

// On the thread of a host function, which must not call the driver.
extern thread_local bool in_host_function;

struct Device {
  int ordinal = 0;
  ContextHandle context = nullptr;  // null: nobody has retained it
  int retained = 0;
  Result sticky = Result::kSuccess;
  size_t memory_in_use = 0;
};

// A step of a stream.
struct Op {
  std::function<bool()> ready;  // empty: at once
  std::function<bool()> step;   // true when it is over
  // Set when it is over, or when the device is no more.
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
  uint64_t moment = 0;             // when it was done last, in events of the machine
};

struct Pool {
  Device* device;
};

// Copies under way hold a reference.
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
    AllocationRef to;  // null: nothing has ever been there
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
  bool running = false;  // a launch has begun and is not over
};

// Objects by handle. A handle is never used twice, so that a stale one is known as such.
template <typename Handle, typename T>
using Objects = std::map<Handle, std::shared_ptr<T>>;

// Everything is guarded by `mutex`, which each call of the driver holds.
class Machine {
 public:
  explicit Machine(const Options& options);

  // --- Faults and findings (machine.cpp).
  // Counts a call. Not kSuccess: what it has to return.
  Result begin_call(const char* name);
  // Returns `result`.
  Result violation(Result result, const std::string& what);
  // Makes the device's context unusable and drops its work.
  void raise(Device* device, Result result);

  // --- Handles and contexts (calls_device.cpp).
  template <typename Handle>
  Handle new_handle() {
    return reinterpret_cast<Handle>(next_handle_ += 16);
  }
  // Null, after a violation, if there is no such object.
  template <typename Handle, typename T>
  std::shared_ptr<T> find(const Objects<Handle, T>& objects, Handle handle) {
    const auto it = objects.find(handle);
    if (it != objects.end()) return it->second;
    violation(Result::kInvalidHandle, "the object does not exist (any more)");
    return nullptr;
  }
  // The device whose context is current on this thread; null if there is none.
  Device* current();
  static size_t contexts_of_thread();
  // Whether that is `device`; a violation if not.
  bool must_be_current(const Device* device);

  // --- Order (machine.cpp).
  // Gives a stream something to do.
  std::shared_ptr<bool> push(Stream* stream, std::function<bool()> step,
                             std::function<bool()> ready = nullptr);
  // Runs steps until `done` says so.
  Result run_until(const Device* device, const std::function<bool()>& done);
  // Something may have happened since the last question.
  void let_time_pass();
  bool chance(double probability);
  size_t below(size_t count) { return rng_() % count; }
  void schedule(std::shared_ptr<Stream> stream) { scheduled_.push_back(std::move(stream)); }

  // --- Memory (calls_memory.cpp).
  // Whether work of `device` may use these bytes; else a violation. `now`: as the work runs, when
  // an error is raised too; if not, as it is enqueued.
  bool may_use(Device* device, const AllocationRef& allocation, DevicePtr begin, size_t bytes,
               bool now);
  // The block that has all these bytes; null if they are not pinned.
  std::shared_ptr<PinnedBlock> pinned(const void* begin, size_t bytes);

  // --- Kernels (calls_code.cpp).
  Result prepare(Device* device, FunctionHandle function, const Geometry& geometry, void** params,
                 void** extra, Kernel* kernel);
  // Which memory its parameters point to at this time.
  void resolve(Kernel* kernel);
  void run(const Kernel& kernel);
  // The words from `begin` to the end of its allocation, with addresses that the host can follow.
  std::vector<uint64_t> read_table(DevicePtr begin);

  // What the calls go to.
  static Machine* running;

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
  std::map<uint64_t, size_t> freeing;  // by stream: bytes that it has yet to free
  bool initialized = false;
  uint64_t next_stream = 1;
  uint64_t moments = 0;

  struct Fault {
    int64_t at;
    Result result;
  };
  std::optional<Fault> call_fault;
  std::optional<Fault> kernel_fault;
  std::vector<std::string> violations;
  int64_t calls = 0;
  int64_t kernels_run = 0;
  const char* last_call = "";

 private:
  bool step();
  // Runs up to `most` steps.
  void wander(size_t most);
  void drop_work(Device* device);

  std::mt19937_64 rng_;
  const double eagerness_;  // how likely work runs before anybody waits
  // Streams get ahead of one another by chance, which changes now and then, rather than step by
  // step.
  const bool by_priority_;
  uintptr_t next_handle_ = 0x1000;
  bool stepping_ = false;
  std::vector<std::shared_ptr<Stream>> scheduled_;  // destroyed ones too while they have work
};

// The implementations of the calls, by their names in the table.
namespace calls {
using namespace runtime::cuda;  // NOLINT: the parameters' types
#define SLUICE_CUDA_CALL(name, symbol, ...) \
  Result name(Machine& machine __VA_OPT__(, ) __VA_ARGS__);
#include "runtime/cuda/driver/driver.def"
#undef SLUICE_CUDA_CALL
}  // namespace calls

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_MACHINE_H_
