// What programs become by simplify(), so that a structure that comes again with other sizes is not
// simplified again.
#ifndef SLUICE_FUSION_REWRITE_KNOWN_PROGRAMS_H_
#define SLUICE_FUSION_REWRITE_KNOWN_PROGRAMS_H_

#include "absl/status/status.h"
#include "fusion/ir/program.h"

namespace sluice::fusion {

// As simplify() and then verify(), whose status it returns. Looks first whether an equal program
// has gone through this before. Thread-safe.
absl::Status simplify_once(Program* program, bool fast_math);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_REWRITE_KNOWN_PROGRAMS_H_
