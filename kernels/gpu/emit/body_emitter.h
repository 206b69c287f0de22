// Emits the instructions of a Program: each becomes a definition `const float v5 = ...;`.
#ifndef SLUICE_KERNELS_GPU_EMIT_BODY_EMITTER_H_
#define SLUICE_KERNELS_GPU_EMIT_BODY_EMITTER_H_

#include <string>
#include <vector>

#include "fusion/ir/program.h"
#include "kernels/gpu/emit/addresses.h"
#include "kernels/gpu/emit/functions.h"
#include "kernels/gpu/emit/plan.h"
#include "kernels/gpu/emit/writer.h"

namespace sluice::kernels::cuda {

class BodyEmitter {
 public:
  // `lanes` is lanes_of(program).
  BodyEmitter(const fusion::Program& program, int lanes, const Addresses& addresses,
              Functions* functions, Writer* writer);

  // Values outside the lanes.
  void emit_outer(const std::vector<fusion::ValueId>& ids);
  // What the lanes of a pass share in another form than the value's: what they divide by, and
  // halves twice in a register. Needs the values outside the lanes.
  void emit_shared(const Plan::Pass& pass);
  // The body of the function that a point team calls with its lanes and the index of the first.
  void emit_points(const Plan::Pass& pass);

  // Of a pass over rows or columns: the members of what it loads ahead, `template <int N>`; the
  // body of the function that loads them into `loads`; that of the function that takes them from
  // there.
  void emit_members(const Plan::Pass& pass);
  void emit_load(const Plan::Pass& pass);
  void emit_pass(const Plan::Pass& pass);

  // The arrays of a row that threads keep, for so many groups. Then, for group k, which begins at
  // the index, the body of the function that loads what a pass is the first to need of them, and of
  // the one that computes the pass.
  void emit_arrays(const Plan::Kept& kept, int groups);
  std::vector<fusion::ValueId> kept_loads(const Plan::Kept& kept, size_t number) const;
  void emit_kept_loads(const std::vector<fusion::ValueId>& loads, bool aligned);
  void emit_kept_pass(const Plan::Pass& pass, const Plan::Kept& kept, size_t number);
  void emit_result(fusion::ValueId reduction);
  void emit_row_store(const fusion::Store& store);

  // The name of a reduction's accumulator, and its combiner type.
  static std::string accumulator(fusion::ValueId reduction);
  std::string combiner(fusion::ValueId reduction);
  // The type of its accumulator in a pass over rows that are kept.
  std::string kept_reduction(const Plan::Pass& pass, fusion::ValueId reduction, int turns);

 private:
  const fusion::Instr& instr(fusion::ValueId id) const { return program_.body[id]; }
  bool moves_vectors(uint16_t access) const;
  // Those of `values` that are loaded for all lanes at once, and without lanes, whatever can be
  // loaded before anything is computed.
  std::vector<fusion::ValueId> loads_of(const std::vector<fusion::ValueId>& values) const;
  // Begins the body of a function of lanes that computes `values`.
  void begin_lanes(const Plan::Pass& pass, const std::vector<fusion::ValueId>& values);
  void end_lanes();
  // True if halves are computed by twos: some lane has one.
  bool is_paired(const Plan::Pass& pass) const;
  // An op of two halves that is one instruction: their sum, difference or product.
  bool is_packed(const fusion::Instr& instr) const;
  // A reduction of halves that takes two at a time: their greatest or least.
  bool takes_pairs(fusion::ValueId reduction) const;
  // The declaration of an array of all lanes.
  std::string array(DType dtype, const std::string& name, const char* count) const;

  // Into arrays: the id after `prefix`.
  void emit_loads(const std::vector<fusion::ValueId>& loads, const char* prefix);
  void emit_stores(const std::vector<fusion::Store>& stores);
  // Computes `values`, but for those that are in an array, reduces and fills the arrays of stores:
  // for each lane, or each two of them.
  void emit_lanes(const Plan::Pass& pass, const std::vector<fusion::ValueId>& values);
  void emit_lane(const Plan::Pass& pass, const std::vector<fusion::ValueId>& values);

  // True if the value is a float32 quotient in the lanes, by one that is known outside of them.
  bool divides_by_outer(const fusion::Instr& instr) const;
  void define(fusion::ValueId id);
  // The text of an instruction's value, in a lane or not.
  std::string value(const fusion::Instr& instr);
  std::string load(const fusion::Instr& instr);
  std::string check_index(const fusion::Instr& instr);
  std::string computed(const fusion::Instr& instr);
  std::string rounded(DType dtype, std::string text) const;
  // The text of an operand in the current place.
  std::string use(fusion::ValueId id) const;
  // Likewise of a half's in two lanes.
  std::string use_pair(fusion::ValueId id) const;
  // The number of the lane at hand.
  std::string lane() const;
  std::string address(uint16_t access) const;
  // `predicate` and, where threads may have no row, the condition that this one has; "" if always
  // true.
  std::string guarded(const std::string& predicate) const;

  const fusion::Program& program_;
  const int lanes_;
  const Addresses& addresses_;
  Functions& functions_;
  Writer& writer_;
  bool in_lanes_ = false;
  bool pairs_ = false;               // the lanes at hand are two
  int half_ = 0;                     // which of them
  bool rounds_ = true;               // else a half's value is left as it is before it is rounded
  bool takes_groups_ = false;        // of a row that is kept
  std::vector<std::string> shared_;  // names that emit_shared() has made
  std::vector<bool> is_lane_;        // values of the pass at hand that lanes have each
  // Of values that are in an array of all lanes: its name.
  std::vector<std::string> in_array_;
  std::vector<std::string> kept_as_;  // the array where a value computed is to be kept, or ""
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_EMIT_BODY_EMITTER_H_
