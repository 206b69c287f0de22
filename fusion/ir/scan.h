// Scans as instructions of a Program: element i of the row is what elements 0 to i of the operand
// combine to.
//
// A scan needs a single reduced dim and an operand of element level, and is of element level
// itself. It belongs to the pass of its operand, which comes by once and in order: what a scan
// keeps from one element to the next is the back end's. So a prologue and an epilogue fuse with it
// as with any other instruction. Rows are never cut in blocks, and lanes do not run across rows of
// the row schedule.
#ifndef SLUICE_FUSION_IR_SCAN_H_
#define SLUICE_FUSION_IR_SCAN_H_

#include <cstddef>
#include <iterator>

#include "fusion/ir/program.h"

namespace sluice::fusion {

struct ScanInfo {
  Op scan;
  Op combining_op;  // pointwise, of what comes before and what follows
  Op like;          // the reduction that has its identity
};
inline constexpr ScanInfo kScans[] = {
#define SLUICE_SCAN(id, combining_op, like) {Op::k##id, Op::k##combining_op, Op::k##like},
#include "fusion/ir/scans.def"
};

// The op's place in kScans.
constexpr size_t scan_index(Op op) {
  return static_cast<size_t>(op) - static_cast<size_t>(Op::kCumsum);
}
constexpr bool is_scan(Op op) { return scan_index(op) < std::size(kScans); }
static_assert(scan_index(Op::kLogcumsumexp) + 1 == std::size(kScans));

constexpr Op op_of_scan(Op scan) { return kScans[scan_index(scan)].combining_op; }
constexpr Op reduction_like(Op scan) { return kScans[scan_index(scan)].like; }

bool has_scans(const Program& program);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_IR_SCAN_H_
