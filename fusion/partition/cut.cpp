#include "fusion/partition/cut.h"

namespace sluice::fusion {

const char* name_of(CutReason reason) {
  switch (reason) {
    case CutReason::kObserved: return "observed";
    case CutReason::kReduction: return "reduction";
    case CutReason::kRow: return "row";
    case CutReason::kLibrary: return "library";
    case CutReason::kGather: return "gather";
    case CutReason::kShape: return "shape";
    case CutReason::kOrder: return "order";
    case CutReason::kView: return "view";
    case CutReason::kBudget: return "budget";
    case CutReason::kRuns: return "runs";
    case CutReason::kCost: return "cost";
    case CutReason::kFusionOff: break;
  }
  return "fusion-off";
}

}  // namespace sluice::fusion
