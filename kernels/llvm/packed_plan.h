// How compiled code packs short rows (fusion::Program::packed) into vectors.
//
// Rows of E points are taken in blocks of as many rows as a vector has lanes, L. The L * E points
// of a block are E whole vectors, and which row and column of the block a lane belongs to is known
// when the code is emitted: lane l of vector v is point v * L + l.
//
// Where rows are only moved, under bounds or from where an index says, a row is a block: its
// vectors are as many as hold its points. What the last one has too many lanes for is masked, where
// masks are free. Elsewhere a vector is no longer than a row, and the last one ends with it: some
// points are computed twice. Rows of less than two vectors are blocks of several if whole vectors
// can be read for all that they load; where masks are free, if they load from one place.
#ifndef SLUICE_KERNELS_LLVM_PACKED_PLAN_H_
#define SLUICE_KERNELS_LLVM_PACKED_PLAN_H_

#include <algorithm>
#include <optional>
#include <vector>

#include "fusion/ir/packed_rows.h"
#include "fusion/ir/program.h"

namespace sluice::kernels {

enum class Packing {
  kNone,   // rows are walked like long ones
  kLanes,  // blocks of as many rows as a vector has lanes
  kRow,    // each row is a block
};
Packing packing_of(const fusion::Program& program);

// Whether vectors of several rows are read as whole ones, of which lanes are picked, and stored as
// such; and the lanes that fill a vector with the widest of what is read and stored.
bool reads_windows(const fusion::Program& program);
int lanes_of_moved(const fusion::Program& program);

// Whether all that varies at the points of rows is taken by whole rows, from where an index says,
// which vectors are put together from; and the lanes of those.
bool moves_whole_rows(const fusion::Program& program);
int lanes_of_whole_rows(const fusion::Program& program);

struct PackedPlan {
  // `instrs`: all but the uniform ones, in body order.
  PackedPlan(const fusion::Program& program, const std::vector<fusion::ValueId>& instrs, int lanes);

  // The row and the point in the row of a lane of vector `v` of a block.
  int row_of(int v, int lane) const { return by_row ? 0 : (v * lanes + lane) / points; }
  // Lanes behind the end of a row that is a block have the column of the last.
  int column_of(int v, int lane) const {
    return by_row ? std::min(first_of(v) + lane, points - 1) : (v * lanes + lane) % points;
  }
  // Where each row is a block.
  int first_of(int v) const { return overlaps ? std::min(v * lanes, points - lanes) : v * lanes; }
  int block_rows() const { return by_row ? 1 : lanes; }
  // Where each row is a block: the elements that reading it by whole vectors reads, from the first
  // one on, relative to the row's.
  struct Reach {
    int first, count;
  };
  Reach reach_of(const fusion::Program& program, const fusion::Access& access) const;

  bool by_row;
  bool overlaps;  // the last vector of a row and the one before it
  int lanes;
  int points;   // of a row
  int vectors;  // of a block
  // Values by where they vary, each in body order: not at all along a run of rows (scalars), inside
  // a row only (computed once a run), along the rows only (lanes are rows; once a block), or both.
  std::vector<fusion::ValueId> run, columns, rows, both;
  // Of `both`, by value. Loads of rows that lie close to each other, and gathers of which each
  // lane takes one of two distances: away from the ends of a run the vectors around them are loaded
  // whole and their lanes picked. Where each row is a block: what is read under conditions;
  // likewise loaded whole.
  std::vector<bool> windows;
  // By value: which of its points a load in a window wants, or a gather takes from the first of its
  // distances. kNoValue: all.
  std::vector<fusion::ValueId> conditions;
  // By value: a load whose lanes matter only where its predicate holds.
  std::vector<bool> chosen;
  // Gathers of rows that an index takes whole, of which vectors have several.
  std::vector<bool> whole_rows;
  // Loads that are consecutive along the rows: each column is loaded and the columns interleaved.
  std::vector<bool> interleaved;
  // The rows at both ends of a run where a window may leave the memory that the rows span.
  int rows_before = 0;
  int rows_after = 0;  // counted from the first row of a block
  // A condition that is the same for all points of a row, without which nothing is read. Where each
  // row is a block, one of `windows` is then read whole if it lies in one page, elsewhere if there
  // are rows on both sides.
  std::optional<fusion::ValueId> row_condition;
  // What it is made of, if it holds in all rows between two in which it holds.
  std::vector<fusion::ValueId> row_bounds;

 private:
  void find_chosen(const fusion::Program& program);
  // By value, of a condition of the row and one that is the same in all rows: the latter.
  std::vector<fusion::ValueId> find_row_condition(const fusion::Program& program,
                                                  const std::vector<fusion::Variation>& variation);
  void find_whole_reads(const fusion::Program& program,
                        const std::vector<fusion::Variation>& variation,
                        const std::vector<fusion::ValueId>& in_row_part);
};

// The elements that the lanes of vector `v` take of rows that are a known distance apart, relative
// to the block's first.
struct Window {
  std::vector<int> elements;  // by lane
  int first = 0, last = 0;    // of them all
  int vectors = 0;            // loads from `first` on
};
Window window_of(const PackedPlan& plan, int v, const fusion::Program& program,
                 const fusion::Access& access);
// Where each row is a block: likewise, of an access that is picked (fusion::is_picked_in_row),
// relative to the row's first.
Window window_in_row(const PackedPlan& plan, int v, const fusion::Program& program,
                     const fusion::Access& access);

}  // namespace sluice::kernels

#endif  // SLUICE_KERNELS_LLVM_PACKED_PLAN_H_
