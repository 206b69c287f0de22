// Collects the instructions, accesses and arguments of one Program, each distinct one once.
#ifndef SLUICE_FUSION_LOWER_PROGRAM_BUILDER_H_
#define SLUICE_FUSION_LOWER_PROGRAM_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "fusion/graph/index_map.h"
#include "fusion/ir/numbering.h"
#include "fusion/lower/count_bytes.h"
#include "fusion/lower/loops/loop_nest.h"
#include "fusion/lower/step.h"

namespace sluice::fusion {

class ProgramBuilder {
 public:
  // `dims`: outer before reduced.
  ProgramBuilder(std::vector<Dim> dims, Schedule schedule);

  // An access to `memory` at `address`; nullptr: the address itself is the value.
  uint16_t access(const MemoryRef* memory, DType dtype, const Affine& address);

  ValueId emit(Op op, DType dtype, std::initializer_list<ValueId> operands, uint16_t aux = 0);
  ValueId load(const MemoryRef& memory, DType dtype, const Affine& address, ValueId predicate);
  ValueId coordinate(const Affine& index);
  ValueId scalar(int32_t number, DType dtype);
  ValueId param(int64_t value);
  // An error slot for `node`.
  uint16_t error_slot(NodeId node);
  // `value` at each element of the row: itself if it varies along the reduced dims.
  ValueId along_row(ValueId value);
  // `value` in `dtype`.
  ValueId cast(ValueId value, DType dtype);
  // a and b, either of which may be kNoValue, which is true.
  ValueId both(ValueId a, ValueId b);

  // a + b of int64, either of which may be kNoValue, which is 0.
  ValueId sum(ValueId a, ValueId b);

  void store(ValueId value, const MemoryRef& memory, const Affine& address);

  // Says in which block `memory` lies, for counting bytes.
  using Block = fusion::Block;
  void set_block(const MemoryRef& memory, const Block& block);

  // Of all instructions: see weight_of() and long_code_of().
  int weight() const { return weight_; }

  DType dtype_of(ValueId value) const { return call_.program.body[value].dtype; }

  // Once all is stored: see fusion/lower/loops/loop_nest.h and unroll_planes.h there.
  void sort_dims_as_stored() { fusion::sort_dims_as_stored(call_.program, &nest_); }
  void unroll_planes();
  // Arranges dims, settles stride classes, finds what outputs depend on, and adds the bytes moved
  // to the counts.
  KernelCall finish(int64_t* bytes_read, int64_t* bytes_written) &&;

 private:
  bool varies(const Affine& address, bool reduced) const;
  bool is_across(const Affine& address) const;
  uint16_t buffer(const MemoryRef& memory);
  void write_arguments(const std::vector<bool>& in_tiles);
  void classify_rows();
  void find_dependence();

  LoopNest nest_;
  Blocks blocks_;
  Numbering access_numbers_;
  Numbering values_;
  KernelCall call_;
  int weight_ = 0;
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_PROGRAM_BUILDER_H_
