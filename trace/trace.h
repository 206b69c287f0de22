// What a run of a program did, as plain data. The engine records it, files hold it, sluice-trace
// and the page show it.
//
// The JSON form (trace/json_write.h, docs/trace.schema.json) has the same names and nesting;
// members that have their default value are left out of it. References between objects are indices:
// of a graph in Trace::graphs, of a kernel in Trace::kernels, of a site in Trace::sites and so on;
// -1 is none.
//
// Times are nanoseconds; moments count from the start of the trace.
#ifndef SLUICE_TRACE_TRACE_H_
#define SLUICE_TRACE_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::trace {

// A place in the program's own source.
struct Site {
  std::string file;
  int32_t line = 0;
  std::string function;

  bool operator==(const Site&) const = default;
};

// A value of a window: a recorded op, or an input, which existed before. It is called t<k>, where k
// is its index in Graph::ops.
struct Op {
  std::string op;  // "add"; of an input "input"
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<int32_t> operands;  // ops of the graph, smaller ones; scalars are left out
  bool live = false;              // an op whose value outlives the window
  bool removed = false;           // an op that no kernel computes: its value is unused, or equals
                                  // that of another op or of its operand
  std::string name;               // given by the program
  int32_t site = -1;
  int32_t scope = -1;  // the innermost region it was recorded in
};

enum class StepKind : uint8_t { kKernel, kLibrary };  // "kernel", "library"

// One launch of a kernel, or one call of a library.
struct Step {
  StepKind kind = StepKind::kKernel;
  std::string name;  // "mul+exp+sum"
  // The ops that it computes, in order. An op that several steps compute is in each of them.
  std::vector<int32_t> ops;
  std::vector<int32_t> inputs;   // ops and inputs of the graph that it reads from memory
  std::vector<int32_t> outputs;  // ops that it writes to memory
  std::vector<int32_t> kernels;  // several may run side by side in one launch
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  int64_t flops = 0;  // arithmetic operations, a transcendental counting as one
};

// A value that goes through memory between `producer` and `consumer`, and that fusion might have
// kept in registers.
struct Cut {
  int32_t producer = -1;  // an op, or an input that an earlier window computed
  int32_t consumer = -1;  // -1: nothing in this window reads it
  std::string reason;     // a word: see docs/trace.md
  std::string text;       // a sentence
  int64_t bytes = 0;      // written and read, which fusion would have saved
};

// What windows with the same plan have in common.
struct Graph {
  std::string device;   // "cpu", "cuda:0"
  std::vector<Op> ops;  // the inputs, then what was recorded, in order
  std::vector<Step> steps;
  std::vector<Cut> cuts;
  int64_t temporaries_elided = 0;
  int64_t bytes_elided = 0;
};

struct StepRun {
  int64_t begin = 0;
  int64_t duration = 0;
  bool generic = false;  // ran on the generic tier, as its kernel was not compiled yet
};

// One flush.
struct Window {
  int64_t number = 0;
  int32_t graph = -1;
  int32_t thread = -1;     // that recorded the ops
  std::string cause;       // why it was flushed: "read", "sync", "op budget", ...
  std::string cause_text;  // a sentence: which tensor was read, where
  bool plan_hit = false;
  // When the first of its ops was recorded, when it was flushed, and how long the stages took.
  int64_t begin = 0;
  int64_t flushed = 0;
  int64_t plan_duration = 0;     // to find or make the plan
  int64_t compile_duration = 0;  // to wait for its kernels to be made
  int64_t bind_duration = 0;     // to find memory for it
  int64_t submit_duration = 0;
  // Memory was short: values given up for this window's, their bytes, and how many of those given
  // up before its ops compute again.
  int64_t values_evicted = 0;
  int64_t bytes_evicted = 0;
  int64_t values_recomputed = 0;
  std::vector<StepRun> steps;  // by Graph::steps; empty: not known (yet)
};

struct Kernel {
  std::string name;
  std::string key;       // equal for kernels with the same program, in any process: a hash in hex
  std::string program;   // the loop program, as text
  std::string language;  // of the source: "llvm-ir", "cuda-c++"; empty: it was not compiled
  std::string source;
  std::string assembly;
  std::string origin;  // "compiled", "disk"; empty: it was not compiled
  int64_t compile_duration = 0;
  // Of a GPU's kernel, where the compiler said; -1: unknown.
  int32_t registers = -1;
  int32_t spilled_bytes = -1;
  int32_t shared_bytes = -1;
};

// Work on a thread of its own, such as a compilation.
struct Event {
  std::string lane;  // "compiler 1"
  std::string name;
  int64_t begin = 0;
  int64_t duration = 0;
  int32_t kernel = -1;
};

struct Trace {
  std::string program;  // the executable's name
  std::string build;    // what the library was built with
  bool deterministic = false;
  std::vector<std::string> threads;
  std::vector<std::string> scopes;  // "encoder/layer1"
  std::vector<Site> sites;
  std::vector<Kernel> kernels;
  std::vector<Graph> graphs;
  std::vector<Window> windows;   // the newest ones, in order
  std::vector<Event> events;     // likewise
  int64_t windows_recorded = 0;  // including those that were dropped
  int64_t events_recorded = 0;
};

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_TRACE_H_
