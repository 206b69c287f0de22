// A plan: everything that running a window takes but the pointers and the scalars.
//
// It is made once for a window's signature and run many times. It names memory by MemoryRef: the
// k-th input of the window, or the k-th result, a block that the plan itself has filled.
#ifndef SLUICE_FUSION_PLAN_PLAN_H_
#define SLUICE_FUSION_PLAN_PLAN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "fusion/graph/graph.h"
#include "fusion/ir/program.h"

namespace sluice::fusion {

struct MemoryRef {
  enum class Kind : uint8_t { kInput, kResult };
  Kind kind = Kind::kInput;
  int32_t index = 0;

  bool operator==(const MemoryRef&) const = default;
};

// A block the plan allocates: row-major, no gaps.
struct Result {
  NodeId node = kNoNode;
  int64_t bytes = 0;
  bool observed = false;   // outlives the plan; else it is given back after `last_use`
  int32_t first_use = -1;  // the step that writes it; none if it is empty or no longer needed
  int32_t last_use = -1;   // the last step that touches it
  // Inputs or results whose memory it may take over, as this step reads each element of theirs just
  // before it writes the same element of its own. Inputs only if nobody else holds their memory.
  std::vector<MemoryRef> donors;
};

// Why an operand goes through memory instead of staying in a kernel.
enum class CutReason : uint8_t {
  kObserved,   // someone holds the result
  kReduction,  // a reduction's result is complete only when its kernel is
  kRow,        // its rows are too long and too few for one kernel to reduce and then use them
  kLibrary,    // a library call reads or writes it
  kGather,     // it is read at computed indices
  kShape,      // its readers run over different iteration spaces
  kOrder,      // fusing its readers would make two kernels wait for each other
  kView,       // it is read through a view that no index map can express
  kBudget,     // the kernel would grow past its limits
  kCost,       // computing it again at every read would cost more than reading it
  kFusionOff,
};
const char* name_of(CutReason reason);

struct CutEdge {
  NodeId producer = kNoNode;
  CutReason reason = CutReason::kObserved;
};

// What an output of a step depends on, for errors that are known only after it ran: bits over the
// step's buffers and over its error slots.
struct OutputDependence {
  int32_t buffer = 0;  // the output, an index into KernelCall::buffers
  std::vector<int32_t> buffers;
  std::vector<int32_t> error_slots;
};

// A Program and its arguments.
struct KernelCall {
  Program program;
  std::vector<MemoryRef> buffers;
  std::vector<int64_t> extents;   // KernelArgs::extents
  std::vector<int64_t> accesses;  // KernelArgs::accesses
  std::vector<int64_t> params;
  std::vector<int32_t> scalars;  // numbers of the window's scalars
  std::vector<OutputDependence> outputs;
  std::vector<NodeId> error_slots;  // the node that each slot belongs to
  std::vector<NodeId> nodes;        // what it computes, in order
};

// One launch, of one call or of several that don't depend on each other and run side by side.
struct KernelStep {
  std::vector<KernelCall> calls;
};

// What is done to each element of a matrix product before it is written.
struct Epilogue {
  Op op = Op::kAdd;  // or an activation: kRelu, kGelu, kTanh, kSigmoid, kSilu
  // kAdd only: float32, in the order of the product's elements, or of those of any one row.
  MemoryRef operand;
  int64_t offset = 0;  // from the base of the block, in elements
  bool one_row = false;
};

// C = A B over `batch` matrices; layouts are (batch, row, column) strides in elements.
struct MatmulStep {
  std::vector<NodeId> nodes;  // the matmul and what its epilogues compute, in order
  DType dtype = DType::kFloat32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  MemoryRef a, b, c;
  int64_t a_offset = 0, b_offset = 0;  // from the base of the block, in elements
  int64_t a_strides[3] = {}, b_strides[3] = {};
  std::vector<Epilogue> epilogues;  // in the order in which they apply
};

struct Step {
  std::variant<KernelStep, MatmulStep> work;
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  double cost = 0;  // rough nanoseconds on one core
};

// Calls f(const MemoryRef&) for each block that is read or written.
template <typename F>
void for_each_memory(const MatmulStep& matmul, F f) {
  for (const MemoryRef& memory : {matmul.a, matmul.b, matmul.c}) f(memory);
  for (const Epilogue& epilogue : matmul.epilogues) {
    if (epilogue.op == Op::kAdd) f(epilogue.operand);
  }
}
template <typename F>
void for_each_memory(const Step& step, F f) {
  if (const KernelStep* kernel = std::get_if<KernelStep>(&step.work)) {
    for (const KernelCall& call : kernel->calls) {
      for (const MemoryRef& memory : call.buffers) f(memory);
    }
  } else {
    for_each_memory(std::get<MatmulStep>(step.work), f);
  }
}

// Likewise for each that is written.
template <typename F>
void for_each_output(const Step& step, F f) {
  if (const KernelStep* kernel = std::get_if<KernelStep>(&step.work)) {
    for (const KernelCall& call : kernel->calls) {
      for (const OutputDependence& output : call.outputs) f(call.buffers[output.buffer]);
    }
  } else {
    f(std::get<MatmulStep>(step.work).c);
  }
}

// Where a live node's value is found afterwards.
struct Output {
  NodeId node = kNoNode;
  MemoryRef memory;
  Layout layout;  // its offset is relative to the base address of `memory`
};

struct Plan {
  std::vector<Step> steps;
  std::vector<Result> results;
  std::vector<Output> outputs;
  std::vector<CutEdge> cuts;
  int64_t temporaries_elided = 0;
  int64_t bytes_elided = 0;
};

struct PlanOptions {
  bool fuse = true;
  bool fast_math = false;  // arithmetic may change bits
  // If set, called for each pass that changed something, in order.
  std::function<void(const std::string& pass, const std::string& before, const std::string& after)>
      observer;
};

// The passes that make a plan, in the order in which they run.
std::vector<const char*> plan_passes();

// Never fails for a graph the frontend can make; InternalError if a Program does not verify.
absl::StatusOr<Plan> make_plan(const Graph& graph, const PlanOptions& options);

std::string to_text(const Graph& graph, const Plan& plan);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PLAN_PLAN_H_
