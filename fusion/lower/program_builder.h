// Collects the instructions, accesses and arguments of one Program, each distinct one once.
#ifndef SLUICE_FUSION_LOWER_PROGRAM_BUILDER_H_
#define SLUICE_FUSION_LOWER_PROGRAM_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "fusion/graph/index_map.h"
#include "fusion/lower/step.h"

namespace sluice::fusion {

// One dim of the iteration space.
struct Dim {
  int64_t extent = 1;
  bool reduced = false;
  int axis = 0;  // of the group's space
};

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
  // `value`, made to vary along the reduced dims if it does not.
  ValueId along_row(ValueId value);
  // `value` in `dtype`.
  ValueId cast(ValueId value, DType dtype);
  // a and b, either of which may be kNoValue, which is true.
  ValueId both(ValueId a, ValueId b);

  void store(ValueId value, const MemoryRef& memory, const Affine& address);

  // Says in which block `memory` lies, for counting bytes.
  using Block = decltype(GraphNode::block);
  void set_block(const MemoryRef& memory, const Block& block) { blocks_[buffer(memory)] = block; }

  DType dtype_of(ValueId value) const { return call_.program.body[value].dtype; }

  // Drops dims of extent 1, merges dims that every access walks as one, settles stride classes,
  // finds what outputs depend on, and counts the bytes moved.
  KernelCall finish(int64_t* bytes_read, int64_t* bytes_written) &&;

 private:
  bool varies(const Affine& address, bool reduced) const;
  uint16_t buffer(const MemoryRef& memory);
  void simplify_dims();
  bool mergeable(size_t d) const;
  void write_arguments();
  void move_dim(size_t from, size_t to);
  void arrange_rows();
  void arrange_tiles();
  void classify_rows();
  void find_dependence();
  int64_t bytes_touched(const std::vector<uint16_t>& buffers) const;
  void count_bytes(int64_t* bytes_read, int64_t* bytes_written) const;

  std::vector<Dim> dims_;
  std::vector<Affine> addresses_;                // of the program's accesses
  std::vector<bool> in_tiles_;                   // by access
  absl::flat_hash_map<uint16_t, Block> blocks_;  // by buffer
  absl::flat_hash_map<std::string, uint16_t> access_numbers_;
  absl::flat_hash_map<std::string, ValueId> values_;
  KernelCall call_;
};

}  // namespace sluice::fusion

#endif  // SLUICE_FUSION_LOWER_PROGRAM_BUILDER_H_
