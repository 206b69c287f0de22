// Which values each pass over a row needs, what is known once a row between passes, and which pass
// reduces and stores what. Every back end derives its own plan from this one and adds what is its
// own: lanes, caches, registers.
#ifndef SLUICE_FUSION_IR_PASS_PLAN_H_
#define SLUICE_FUSION_IR_PASS_PLAN_H_

#include <cstdint>
#include <vector>

#include "fusion/ir/program.h"

namespace sluice::fusion {

// All lists are in body order, those of stores in the program's. A value that no store and no
// kCheckIndex depends on is in none. A kCheckIndex of element level that first could be computed
// after the last pass is in none either.
struct PassPlan {
  // Element level: one pass over the elements of a row.
  struct Pass {
    std::vector<ValueId> values;  // that it computes
    std::vector<ValueId> cached;  // that it takes from the first pass which computes them
    std::vector<ValueId> reductions;
    std::vector<Store> stores;
  };

  // `cacheable`, by value: a pass takes such a value from an earlier one that computes it. By
  // default each pass computes all that it needs.
  explicit PassPlan(const Program& program, const std::vector<bool>& cacheable = {});

  // Once a call.
  std::vector<ValueId> uniform;
  // Row level, without reductions' results: rows[p] is known before pass p, rows[passes.size()]
  // after the last pass. A pointwise program has no passes: its points are rows[0].
  std::vector<std::vector<ValueId>> rows;
  std::vector<Pass> passes;
  std::vector<ValueId> reductions;  // of all passes
  std::vector<Store> row_stores;    // once a row

  // The first pass that computes an element-level value, or -1.
  std::vector<int> first_pass;

  // The number in `rows` of the place where a row-level value or a uniform one is first known.
  size_t row_of(ValueId value) const;
  // True if blocks of a row can be reduced apart from each other: there are reductions, all of the
  // first pass, and no scans.
  bool splits_rows() const;

 private:
  std::vector<uint8_t> pass_;  // by value: pass_of()
  bool scans_ = false;
};

// By value: true if it is the same in all lanes (Program::lane_dim).
std::vector<bool> same_in_all_lanes(const Program& program);

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_IR_PASS_PLAN_H_
