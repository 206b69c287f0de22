// Why fusion stops at an edge of the graph.
#ifndef SLUICE_FUSION_PARTITION_CUT_H_
#define SLUICE_FUSION_PARTITION_CUT_H_

#include <cstdint>

#include "fusion/graph/graph.h"

namespace sluice::fusion {

// Why a value goes through memory instead of staying in a kernel.
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
  kRuns,       // its reader would walk its rows in short runs
  kCost,       // computing it again at every read would cost more than reading it
  kFusionOff,
};
const char* name_of(CutReason reason);

struct CutEdge {
  NodeId producer = kNoNode;
  CutReason reason = CutReason::kObserved;
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_PARTITION_CUT_H_
