// The dims that a program under construction walks, and the choice of their order from the strides
// of its accesses.
#ifndef SLUICE_FUSION_LOWER_LOOP_NEST_H_
#define SLUICE_FUSION_LOWER_LOOP_NEST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fusion/graph/graph.h"
#include "fusion/graph/index_map.h"
#include "fusion/ir/program.h"

namespace sluice::fusion {

// One dim of the iteration space.
struct Dim {
  int64_t extent = 1;
  bool reduced = false;
  int axis = 0;  // of the group's space
};

struct LoopNest {
  std::vector<Dim> dims;          // outer before reduced
  std::vector<Affine> addresses;  // of the program's accesses, by index along each dim
};

// Drops dims of extent 1, merges dims that every access walks as one. At least one outer dim is
// left and, if there was any, one reduced dim.
void simplify_dims(LoopNest* nest);

// Makes dim `from` dim `to`, which is not before it; those between move up.
void move_dim(LoopNest* nest, size_t from, size_t to);

// Pointwise: orders the dims as what is stored has them, outermost first. To be called before
// simplify_dims().
void sort_dims_as_stored(const Program& program, LoopNest* nest);

// For a program whose results do not depend on the order of reductions: orders the reduced dims as
// memory has them, and turns those round along which all is read backwards. To be called before
// simplify_dims().
void sort_reduced_dims(const Program& program, LoopNest* nest);

// Likewise, but after it: the schedule of which more accesses of elements are consecutive along the
// lanes.
Schedule free_schedule(const Program& program, const LoopNest& nest);

// Reductions: if more accesses of elements are consecutive along some outer dim than along the
// lanes, makes that the last outer dim. True if lanes are then best across rows of the row
// schedule.
bool arrange_lanes(const Program& program, LoopNest* nest);

// Loads that are consecutive along another dim than the lanes' would touch a cache line for each
// element. Gives, by access, whether it is best read by tiles of both dims. Pointwise: moves the
// best such dim before the lane dim. Reductions, whose order is fixed: only of a dim that is there
// already, or, for columns, of the reduced dim.
std::vector<bool> arrange_tiles(const Program& program, LoopNest* nest);

// What each access is for, if that is one thing: to be read at every point, or to be stored to.
enum class AccessRole : uint8_t { kNone, kLoaded, kStored, kOther };
std::vector<AccessRole> roles_of(const Program& program);

// Program::interleaved, of the finished program.
std::vector<std::vector<uint16_t>> find_interleaved(const Program& program, const LoopNest& nest);

// Access::leader, likewise. `blocks`: by buffer, where it lies.
void find_leaders(const LoopNest& nest, const std::vector<GraphNode::Block>& blocks,
                  Program* program);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_LOOP_NEST_H_
