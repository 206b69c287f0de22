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
  // The body of the function that a team calls with its lanes and the index of the first.
  void emit_pass(const Plan::Pass& pass);
  void emit_result(fusion::ValueId reduction);
  void emit_row_store(const fusion::Store& store);

  // The name of a reduction's accumulator, and its combiner type.
  static std::string accumulator(fusion::ValueId reduction);
  std::string combiner(fusion::ValueId reduction);

 private:
  const fusion::Instr& instr(fusion::ValueId id) const { return program_.body[id]; }
  bool moves_vectors(uint16_t access) const;

  void emit_loads(const std::vector<fusion::ValueId>& loads);
  void emit_stores(const std::vector<fusion::Store>& stores);
  void emit_lane(const Plan::Pass& pass);

  void define(fusion::ValueId id);
  // The text of an instruction's value, in a lane or not.
  std::string value(const fusion::Instr& instr);
  std::string load(const fusion::Instr& instr);
  std::string check_index(const fusion::Instr& instr);
  std::string computed(const fusion::Instr& instr);
  std::string rounded(DType dtype, std::string text) const;
  // The text of an operand in the current place.
  std::string use(fusion::ValueId id) const;
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
  std::vector<bool> is_array_;  // values that were loaded for all lanes at once
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_EMIT_BODY_EMITTER_H_
